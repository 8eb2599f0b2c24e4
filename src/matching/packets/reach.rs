//! How far apart the timestamps of pairs are: ever, and lately, for clocks drift and queues fill.

/// Pairs after which the latest are counted anew.
const PAIRS: u32 = 256;
/// With so many pairs that are sure the others do not count: of packets that are alike some are paired wrongly.
const ENOUGH: u32 = 16;

/// Least and greatest difference of the timestamps of a pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(in crate::matching) struct Reach {
    ever: Option<(i64, i64)>,
    /// The same of pairs that are sure, and how many these are.
    sure: Option<(i64, i64)>,
    sure_count: u32,
    /// Those of the latest pairs, and of as many before.
    latest: Option<(i64, i64)>,
    before: Option<(i64, i64)>,
    count: u32,
}

/// Both together.
fn joined(one: Option<(i64, i64)>, other: Option<(i64, i64)>) -> Option<(i64, i64)> {
    match (one, other) {
        (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
        (one, other) => one.or(other),
    }
}

impl Reach {
    /// Takes in the difference of a pair that is `sure` or not.
    pub(in crate::matching) fn add(&mut self, difference: i64, sure: bool) {
        let own = Some((difference, difference));
        self.ever = joined(self.ever, own);
        if sure {
            self.sure = joined(self.sure, own);
            self.sure_count = self.sure_count.saturating_add(1);
        } else if self.is_proved() {
            return;
        }
        if self.count >= PAIRS {
            (self.before, self.latest, self.count) = (self.latest, None, 0);
        }
        self.latest = joined(self.latest, own);
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
    pub(in crate::matching) const fn ever(&self) -> Option<(i64, i64)> {
        if self.is_proved() { self.sure } else { self.ever }
    }

    /// Least, middle and greatest of the latest.
    pub(in crate::matching) fn lately(&self) -> Option<(i64, i64, i64)> {
        joined(self.latest, self.before).map(|(least, most)| (least, i64::midpoint(least, most), most))
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
