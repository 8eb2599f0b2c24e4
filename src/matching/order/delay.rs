//! How far apart the two timestamps of a pair are.

mod median;

pub(in crate::matching) use self::median::median_in;
pub(super) use self::median::{BLOCK, SortedBlock};

/// The least that differences are taken to vary, in nanoseconds: the step of most captures.
const STEP: f64 = 1_000.0;

/// Pairs that tell by how much differences vary, and how many times as much as they say is left of what was believed before.
const MANY: usize = 64;
const LEFT: f64 = 16.0;

/// What is known of the times.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(in crate::matching) struct Delay {
    /// The usual difference between the two timestamps; `None` while it is not known.
    pub(in crate::matching) base: Option<f64>,
    /// How much differences vary, in nanoseconds.
    pub(in crate::matching) spread: f64,
    /// How much they vary from one packet to the next.
    pub(in crate::matching) jitter: f64,
    /// No packet leaves before it came: the difference never passes this edge. `true`: it never lies below.
    pub(in crate::matching) edge: Option<(f64, bool)>,
}

impl Delay {
    /// From the differences of pairs in their order: their median, how much they vary around it, and from one to the next.
    pub(in crate::matching) fn of(differences: &[i64]) -> Option<Self> {
        let middle = median(differences.to_vec())?;
        let spread = median(differences.iter().map(|own| apart(*own, middle)).collect())?;
        let steps: Vec<i64> =
            differences.windows(2).filter_map(|two| Some(apart(*two.first()?, *two.get(1)?))).collect();
        // Bursts make most steps tiny and some long: both count.
        let mean = steps.iter().fold(0_i64, |sum, step| sum.saturating_add(*step))
            / i64::try_from(steps.len().max(1)).unwrap_or(i64::MAX);
        let jitter = median(steps).unwrap_or(spread).max(mean / 6);
        Some(Self {
            base: Some(middle as f64),
            spread: (spread as f64).max(STEP),
            jitter: (jitter as f64).max(STEP),
            edge: None,
        })
    }

    /// What the pairs of one more block say. `above`: packets of this direction are stamped later in the tunnel, so that no difference
    /// is below its edge.
    pub(in crate::matching) fn learn(old: Option<Self>, differences: &[i64], above: bool, first: bool) -> Option<Self> {
        let new = Self::of(differences)?;
        let old = old.filter(|delay| delay.base.is_some());
        // A beginning that looked in the wrong place knew little: many pairs that agree leave no more of it than this.
        let most = if first && differences.len() >= MANY { LEFT } else { f64::INFINITY };
        let blend = |old: f64, new: f64| (0.7 * old + 0.3 * new).min(most * new);
        let (spread, jitter) = match old {
            // Few pairs say little.
            Some(old) if differences.len() < 16 => (old.spread, old.jitter),
            Some(old) => (blend(old.spread, new.spread), blend(old.jitter, new.jitter)),
            None => (new.spread, new.jitter),
        };
        let extreme = if above { differences.iter().min() } else { differences.iter().max() };
        let edge = extreme.map(|edge| *edge as f64);
        let edge = match (old.and_then(|old| old.edge), edge) {
            // Clocks drift apart: the edge follows, but not at once.
            (Some((old, _)), Some(new)) => Some(if (new < old) == above { new } else { 0.9 * old + 0.1 * new }),
            (None, edge) => edge,
            (Some((old, _)), None) => Some(old),
        };
        Some(Self { base: new.base, spread, jitter, edge: edge.map(|edge| (edge, above)) })
    }
}

/// How far two values are apart.
fn apart(one: i64, other: i64) -> i64 {
    one.saturating_sub(other).saturating_abs()
}

/// The value in the middle; of an even number, the upper one.
pub(in crate::matching) fn median(mut values: Vec<i64>) -> Option<i64> {
    median_in(&mut values)
}

/// The same of at most `N` values.
pub(super) fn median_of<const N: usize>(values: impl Iterator<Item = i64>) -> Option<i64> {
    let mut own = [0; N];
    let mut count = 0;
    for (place, value) in own.iter_mut().zip(values) {
        *place = value;
        count += 1;
    }
    median_in(own.get_mut(..count)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_summed_up() {
        let delay = Delay::of(&[10_000, 12_000, 11_000, 11_500, 90_000]).expect("a delay");
        assert_eq!((delay.base, delay.spread), (Some(11_500.0), 1_000.0));
        assert_eq!(delay.jitter, ((2_000 + 1_000 + 500 + 78_500) / 4 / 6) as f64);
        assert!(Delay::of(&[]).is_none());
    }

    #[test]
    fn the_widest_differences_do_not_overflow() {
        let delay = Delay::of(&[i64::MIN, i64::MAX, i64::MIN, i64::MAX]).expect("a delay");
        assert!(delay.spread > 1e18 && delay.jitter > 1e17, "{delay:?}");
    }
}
