//! The counters of SAs: the latest number of each, unwrapped.

/// The counter of one SA.
#[derive(Clone, Copy, Debug)]
pub(in crate::matching) struct Counter {
    pub(super) raw: u32,
    pub(super) ns: i64,
    pub(super) number: i64,
    pub(super) highest: i64,
    pub(super) run: u32,
    /// The last number that was settled, and its run.
    pub(in crate::matching) settled: Option<(u32, i64)>,
    /// The highest missing number that was dropped from the list of holes for lack of room.
    pub(in crate::matching) forgotten: i64,
}

impl Counter {
    /// The number as it would have been sent.
    pub(in crate::matching) fn raw_number(&self, number: i64) -> u32 {
        (i64::from(self.raw) + number - self.number) as u32
    }
}

/// The counters of all SAs, by their number.
#[derive(Debug, Default)]
pub(in crate::matching) struct LaneCounters(Vec<Option<Counter>>);

impl LaneCounters {
    /// The counter of an SA, which is `first` where there was none, and whether there was none. There always is one now.
    #[inline]
    pub(super) fn entry(&mut self, sa: u32, first: Counter) -> Option<(&mut Counter, bool)> {
        let at = sa as usize;
        if at >= self.0.len() {
            self.0.resize(at + 1, None);
        }
        let own = self.0.get_mut(at)?;
        let is_new = own.is_none();
        Some((own.get_or_insert(first), is_new))
    }

    #[inline]
    pub(in crate::matching) fn get(&self, sa: u32) -> Option<&Counter> {
        self.0.get(sa as usize)?.as_ref()
    }

    #[inline]
    pub(in crate::matching) fn get_mut(&mut self, sa: u32) -> Option<&mut Counter> {
        self.0.get_mut(sa as usize)?.as_mut()
    }
}
