//! Sets of integers as sorted, disjoint, non-touching intervals.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A set of `i64`, held as half-open intervals `[start, end)`.
#[derive(Clone, Debug, Default)]
pub(crate) struct IntervalSet {
    parts: Parts,
}

/// Intervals in order. Most sets have one or a few; of a stream that a load balancer shares out, one a frame, which come at the end and
/// are dropped at the beginning; and of numbers that somebody made up they come anywhere.
#[derive(Clone, Debug)]
enum Parts {
    Few(Vec<(i64, i64)>),
    /// The end of each, by its start.
    Many(BTreeMap<i64, i64>),
}

/// Sets of more intervals are held in a tree.
const FEW: usize = 64;

impl Default for Parts {
    fn default() -> Self {
        Self::Few(Vec::new())
    }
}

impl Parts {
    /// The last interval that begins at or before `n`.
    fn before(&self, n: i64) -> Option<(i64, i64)> {
        match self {
            Self::Few(parts) => parts.get(parts.partition_point(|part| part.0 <= n).checked_sub(1)?).copied(),
            Self::Many(parts) => parts.range(..=n).next_back().map(|(start, end)| (*start, *end)),
        }
    }

    /// The last interval: its start, and its end to be moved.
    fn last_mut(&mut self) -> Option<(i64, &mut i64)> {
        match self {
            Self::Few(parts) => parts.last_mut().map(|(start, end)| (*start, end)),
            Self::Many(parts) => parts.last_entry().map(|last| (*last.key(), last.into_mut())),
        }
    }

    /// Puts an interval in its place, instead of one that begins where it does.
    fn put(&mut self, start: i64, end: i64) {
        match self {
            Self::Few(parts) if parts.len() < FEW && parts.last().is_none_or(|last| last.0 < start) => {
                parts.push((start, end));
            }
            Self::Few(parts) => match parts.binary_search_by_key(&start, |part| part.0) {
                Ok(at) => parts.get_mut(at).into_iter().for_each(|part| part.1 = end),
                Err(at) if parts.len() < FEW => parts.insert(at, (start, end)),
                Err(_) => {
                    let mut many: BTreeMap<i64, i64> = parts.iter().copied().collect();
                    many.insert(start, end);
                    *self = Self::Many(many);
                }
            },
            Self::Many(parts) => {
                parts.insert(start, end);
            }
        }
    }

    /// Takes out the interval that begins at `start`; its end.
    fn take(&mut self, start: i64) -> Option<i64> {
        match self {
            Self::Few(parts) => {
                let at = parts.binary_search_by_key(&start, |part| part.0).ok()?;
                Some(parts.remove(at).1)
            }
            Self::Many(parts) => parts.remove(&start),
        }
    }
}

impl PartialEq for IntervalSet {
    fn eq(&self, other: &Self) -> bool {
        self.parts().eq(other.parts())
    }
}

impl Eq for IntervalSet {}

impl FromIterator<(i64, i64)> for IntervalSet {
    /// The intervals must be in order and apart.
    fn from_iter<I: IntoIterator<Item = (i64, i64)>>(intervals: I) -> Self {
        let mut intervals = intervals.into_iter();
        let few: Vec<(i64, i64)> = intervals.by_ref().take(FEW).collect();
        let parts = match intervals.next() {
            None => Parts::Few(few),
            Some(next) => Parts::Many(few.into_iter().chain([next]).chain(intervals).collect()),
        };
        Self { parts }
    }
}

/// A set as it is written, perhaps by somebody else.
#[derive(Serialize, Deserialize)]
#[serde(rename = "IntervalSet")]
struct Written {
    parts: Vec<(i64, i64)>,
}

impl Serialize for IntervalSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Written { parts: self.parts().collect() }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for IntervalSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Written { parts } = Written::deserialize(deserializer)?;
        let sorted = parts.iter().all(|part| part.0 < part.1)
            && parts.iter().zip(parts.iter().skip(1)).all(|(before, after)| before.1 < after.0);
        if sorted {
            Ok(parts.into_iter().collect())
        } else {
            Err(serde::de::Error::custom("its intervals of sequence numbers are not in order"))
        }
    }
}

impl IntervalSet {
    pub(crate) fn single(start: i64, end: i64) -> Self {
        Self { parts: Parts::Few(if start < end { vec![(start, end)] } else { Vec::new() }) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.intervals() == 0
    }

    /// How many numbers are in the set.
    pub(crate) fn len(&self) -> u64 {
        self.parts().map(|(start, end)| start.abs_diff(end)).sum()
    }

    /// How many intervals there are.
    pub(crate) fn intervals(&self) -> usize {
        match &self.parts {
            Parts::Few(parts) => parts.len(),
            Parts::Many(parts) => parts.len(),
        }
    }

    /// The intervals in order.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (i64, i64)> + '_ {
        let (few, many) = match &self.parts {
            Parts::Few(parts) => (Some(parts.iter().copied()), None),
            Parts::Many(parts) => (None, Some(parts.iter().map(|(start, end)| (*start, *end)))),
        };
        few.into_iter().flatten().chain(many.into_iter().flatten())
    }

    pub(crate) fn min(&self) -> Option<i64> {
        self.parts().next().map(|part| part.0)
    }

    /// Adds one number; false if it was there.
    pub(crate) fn insert(&mut self, n: i64) -> bool {
        // Numbers mostly arrive at or near the end.
        if let Some((_, end)) = self.parts.last_mut()
            && n >= *end
        {
            if n == *end {
                *end += 1;
            } else {
                self.parts.put(n, n + 1);
            }
            return true;
        }
        let before = self.parts.before(n);
        if before.is_some_and(|(_, end)| n < end) {
            return false;
        }
        let end = self.parts.take(n + 1).unwrap_or(n + 1);
        let start = before.filter(|(_, end)| *end == n).map_or(n, |(start, _)| start);
        self.parts.put(start, end);
        true
    }

    /// Adds `[start, end)`.
    pub(crate) fn insert_range(&mut self, start: i64, end: i64) {
        if start >= end {
            return;
        }
        if let Some((last, last_end)) = self.parts.last_mut()
            && start >= last
        {
            if start <= *last_end {
                *last_end = end.max(*last_end);
            } else {
                self.parts.put(start, end);
            }
            return;
        }
        let (mut low, mut high) = (start, end);
        while let Some((own, own_end)) = self.parts.before(end)
            && own_end >= start
        {
            self.parts.take(own);
            (low, high) = (low.min(own), high.max(own_end));
        }
        self.parts.put(low, high);
    }

    /// The union of both.
    pub(crate) fn union(&mut self, other: &Self) {
        if self.is_empty() {
            *self = other.clone();
            return;
        }
        other.parts().for_each(|(start, end)| self.insert_range(start, end));
    }

    /// What is in `self` and not in `other`.
    #[must_use]
    pub(crate) fn minus(&self, other: &Self) -> Self {
        let mut parts = Vec::new();
        let mut cuts = other.parts().peekable();
        for (start, end) in self.parts() {
            let mut at = start;
            while let Some(&(cut_start, cut_end)) = cuts.peek() {
                if cut_end <= at {
                    cuts.next();
                    continue;
                }
                if cut_start >= end {
                    break;
                }
                if cut_start > at {
                    parts.push((at, cut_start));
                }
                at = cut_end;
                if cut_end >= end {
                    break;
                }
                cuts.next();
            }
            if at < end {
                parts.push((at, end));
            }
        }
        parts.into_iter().collect()
    }

    /// The members of `[start, end)`.
    #[must_use]
    pub(crate) fn between(&self, start: i64, end: i64) -> Self {
        let own = match &self.parts {
            Parts::Few(parts) => {
                let parts = parts.get(parts.partition_point(|part| part.1 <= start)..).unwrap_or_default();
                parts.iter().copied().take_while(|part| part.0 < end).collect::<Vec<_>>()
            }
            Parts::Many(parts) => {
                let first = parts.range(..=start).next_back().filter(|(_, own)| **own > start);
                let rest = parts.range(start + 1..end.max(start + 1));
                first.into_iter().chain(rest).map(|(start, end)| (*start, *end)).collect()
            }
        };
        let cut = own.into_iter().map(|(low, high)| (low.max(start), high.min(end)));
        cut.filter(|(low, high)| low < high).collect()
    }

    /// The members up to and including `n`.
    #[must_use]
    pub(crate) fn up_to(&self, n: i64) -> Self {
        self.parts().take_while(|part| part.0 <= n).map(|(start, end)| (start, end.min(n + 1))).collect()
    }

    /// Moves every member by `by`.
    pub(crate) fn shift(&mut self, by: i64) {
        if by != 0 {
            *self = self.parts().map(|(start, end)| (start + by, end + by)).collect();
        }
    }

    /// Drops all intervals that end at or below `n`; returns them.
    pub(crate) fn drop_below(&mut self, n: i64) -> Vec<(i64, i64)> {
        match &mut self.parts {
            Parts::Few(parts) => parts.drain(..parts.partition_point(|part| part.1 <= n)).collect(),
            Parts::Many(parts) => {
                let mut dropped = Vec::new();
                while let Some(first) = parts.first_entry().filter(|first| *first.get() <= n) {
                    dropped.push(first.remove_entry());
                }
                dropped
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// The intervals are in order and do not touch.
    fn are_apart(set: &IntervalSet) -> bool {
        set.parts().zip(set.parts().skip(1)).all(|(before, after)| before.1 < after.0)
    }

    fn members(set: &IntervalSet) -> BTreeSet<i64> {
        set.parts().flat_map(|(s, e)| s..e).collect()
    }

    fn build(numbers: &[i64]) -> IntervalSet {
        let mut set = IntervalSet::default();
        for &n in numbers {
            set.insert(n);
        }
        set
    }

    /// Few in a small space, or so many in a large one that they make a tree.
    fn numbers() -> impl Strategy<Value = Vec<i64>> {
        prop_oneof![prop::collection::vec(-40i64..40, 0..60), prop::collection::vec(-400i64..400, 150..400)]
    }

    proptest! {
        #[test]
        fn behaves_like_a_set(a in numbers(), b in numbers(), n in -45i64..45, r in 0i64..20, by in -9i64..9) {
            let (sa, sb): (BTreeSet<i64>, BTreeSet<i64>) = (a.iter().copied().collect(), b.iter().copied().collect());
            let (ia, ib) = (build(&a), build(&b));
            prop_assert_eq!(members(&ia), sa.clone());
            prop_assert!(are_apart(&ia));
            prop_assert_eq!(ia.len(), sa.len() as u64);
            let mut union = ia.clone();
            union.union(&ib);
            prop_assert_eq!(members(&union), sa.union(&sb).copied().collect());
            prop_assert!(are_apart(&union));
            prop_assert_eq!(members(&ia.up_to(n)), sa.iter().copied().filter(|&x| x <= n).collect());
            prop_assert_eq!(members(&ia.minus(&ib)), sa.difference(&sb).copied().collect());
            prop_assert_eq!(members(&ia.between(n, n + r)), sa.iter().copied().filter(|x| (n..n + r).contains(x)).collect());
            prop_assert!(are_apart(&ia.between(n, n + r)));
            let mut moved = ia.clone();
            moved.shift(by);
            prop_assert_eq!(members(&moved), sa.iter().map(|x| x + by).collect());
            let mut rest = ia.clone();
            let dropped: IntervalSet = rest.drop_below(n).into_iter().collect();
            prop_assert!(rest.min().is_none_or(|least| rest.parts().next().unwrap().1 > n && least > members(&dropped).last().copied().unwrap_or(i64::MIN)));
            rest.union(&dropped);
            prop_assert_eq!(&rest, &ia);
            let bytes = postcard::to_stdvec(&ia).unwrap();
            prop_assert_eq!(&postcard::from_bytes::<IntervalSet>(&bytes).unwrap(), &ia);
            let mut ranged = ia.clone();
            ranged.insert_range(n, n + r);
            prop_assert_eq!(members(&ranged), sa.iter().copied().chain(n..n + r).collect());
            prop_assert!(are_apart(&ranged));
        }
    }
}
