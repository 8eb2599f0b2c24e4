//! How far apart the timestamps of pairs are: ever, and lately, for clocks drift and queues fill.

/// Pairs after which the latest are counted anew.
const PAIRS: u32 = 256;
/// With so many pairs that are sure the others do not count: of packets that are alike some are paired wrongly.
const ENOUGH: u32 = 16;

/// Least and greatest of some differences; the least is above the greatest where there are none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Extremes {
    least: i64,
    most: i64,
}

impl Default for Extremes {
    fn default() -> Self {
        Self { least: i64::MAX, most: i64::MIN }
    }
}

impl Extremes {
    #[inline]
    fn add(&mut self, difference: i64) {
        (self.least, self.most) = (self.least.min(difference), self.most.max(difference));
    }

    fn joined(self, other: Self) -> Self {
        Self { least: self.least.min(other.least), most: self.most.max(other.most) }
    }

    const fn get(self) -> Option<(i64, i64)> {
        if self.least <= self.most { Some((self.least, self.most)) } else { None }
    }
}

/// Least and greatest difference of the timestamps of a pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(in crate::matching) struct Reach {
    ever: Extremes,
    /// The same of pairs that are sure, and how many these are.
    sure: Extremes,
    sure_count: u32,
    /// Those of the latest pairs, and of as many before.
    latest: Extremes,
    before: Extremes,
    count: u32,
    /// Whether the latest are pairs that are sure and do not count in `sure` yet.
    unsummed: bool,
}

impl Reach {
    /// Takes in the difference of a pair that is `sure` or not.
    #[inline]
    pub(in crate::matching) fn add(&mut self, difference: i64, sure: bool) {
        if sure && self.unsummed && self.count < PAIRS {
            self.latest.add(difference);
            self.count += 1;
            self.sure_count = self.sure_count.saturating_add(1);
        } else {
            self.add_at_length(difference, sure);
        }
    }

    fn add_at_length(&mut self, difference: i64, sure: bool) {
        self.ever.add(difference);
        if sure {
            self.sure.add(difference);
            self.sure_count = self.sure_count.saturating_add(1);
        } else if self.is_proved() {
            return;
        }
        if self.count >= PAIRS {
            if self.unsummed {
                self.sure = self.sure.joined(self.latest);
            }
            (self.before, self.latest, self.count) = (self.latest, Extremes::default(), 0);
            self.unsummed = self.is_proved();
        }
        self.latest.add(difference);
        self.count += 1;
    }

    /// Whether so many pairs are sure that the others do not count.
    pub(in crate::matching) const fn is_proved(&self) -> bool {
        self.sure_count >= ENOUGH
    }

    /// Pairs that are sure.
    pub(in crate::matching) const fn sure(&self) -> u64 {
        self.sure_count as u64
    }

    /// Least and greatest of all.
    pub(in crate::matching) fn ever(&self) -> Option<(i64, i64)> {
        let sure = if self.unsummed { self.sure.joined(self.latest) } else { self.sure };
        if self.is_proved() { sure.get() } else { self.ever.get() }
    }

    /// Least, middle and greatest of the latest.
    pub(in crate::matching) fn lately(&self) -> Option<(i64, i64, i64)> {
        self.latest.joined(self.before).get().map(|(least, most)| (least, i64::midpoint(least, most), most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_differences_follow_a_drift() {
        let mut reach = Reach::default();
        assert_eq!((reach.ever(), reach.lately()), (None, None));
        (0..10_000).for_each(|at| reach.add(at, true));
        assert_eq!(reach.ever(), Some((0, 9_999)));
        let (least, usual, most) = reach.lately().expect("there are pairs");
        assert!(most == 9_999 && least > 9_400 && (least..most).contains(&usual), "{least} {usual}");
    }
    #[test]
    fn pairs_that_are_sure_outweigh_the_others() {
        let mut reach = Reach::default();
        reach.add(-50_000, false);
        (0..15).for_each(|at| reach.add(at, true));
        assert_eq!(reach.ever(), Some((-50_000, 14)));
        reach.add(15, true);
        reach.add(900_000, false);
        assert_eq!(reach.ever(), Some((0, 15)));
    }
}
