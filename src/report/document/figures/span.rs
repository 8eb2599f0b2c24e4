//! The time that charts over time span, in bins.

/// Height of a chart.
pub(super) const HEIGHT: u16 = 220;

/// Directions that are drawn, one below the other.
pub(super) const DIRECTIONS: usize = 4;

/// Fewest bins that are worth a chart.
const FEWEST: usize = 3;

/// Time in bins of one width.
#[derive(Clone, Copy)]
pub(super) struct BinSpan {
    pub(super) start_ns: i64,
    pub(super) bin_ns: u64,
    pub(super) bins: usize,
}

impl BinSpan {
    /// From the first bin to the last. `None` where that are too few bins, or where a clock that jumped makes it longer than bins can be
    /// counted: of `given` bins few are empty, but for a capture with a hole.
    pub(super) fn over(starts: impl Iterator<Item = i64> + Clone, bin_ns: u64, given: usize) -> Option<Self> {
        let (first, last) = (starts.clone().min()?, starts.max()?);
        let bins = u64::try_from(last.checked_sub(first)?).ok()?.checked_div(bin_ns)?;
        let bins = usize::try_from(bins).ok()?.checked_add(1)?;
        (bins >= FEWEST && bins <= given.saturating_mul(1000)).then_some(Self { start_ns: first, bin_ns, bins })
    }

    /// The same time in at most `most` bins, whole ones merged.
    pub(super) fn within(self, most: usize) -> Self {
        let factor = self.bins.div_ceil(most).max(1);
        Self { bin_ns: self.bin_ns.saturating_mul(factor as u64), bins: self.bins.div_ceil(factor), ..self }
    }

    pub(super) fn seconds(self, bins: usize) -> f64 {
        bins as f64 * self.bin_ns as f64 / 1e9
    }

    pub(super) fn since(self, ns: i64) -> f64 {
        ns.saturating_sub(self.start_ns) as f64 / 1e9
    }

    pub(super) fn bin_of(self, ns: i64) -> Option<usize> {
        let since = u64::try_from(ns.checked_sub(self.start_ns)?).ok()?;
        usize::try_from(since.checked_div(self.bin_ns)?).ok().filter(|bin| *bin < self.bins)
    }
}
