//! Sets of integers as sorted, disjoint, non-touching intervals.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// A set of `i64`, held as half-open intervals `[start, end)`. Numbers come at its end, and old ones are dropped at its beginning: of
/// a stream that a load balancer shares out, one with every frame.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "Written")]
pub(crate) struct IntervalSet {
    parts: VecDeque<(i64, i64)>,
}

/// A set as it is written, perhaps by somebody else.
#[derive(Deserialize)]
struct Written {
    parts: VecDeque<(i64, i64)>,
}

impl TryFrom<Written> for IntervalSet {
    type Error = &'static str;

    fn try_from(Written { parts }: Written) -> Result<Self, Self::Error> {
        let sorted = parts.iter().all(|part| part.0 < part.1)
            && parts.iter().zip(parts.iter().skip(1)).all(|(before, after)| before.1 < after.0);
        if sorted { Ok(Self { parts }) } else { Err("its intervals of sequence numbers are not in order") }
    }
}

impl IntervalSet {
    pub(crate) fn single(start: i64, end: i64) -> Self {
        Self { parts: (start < end).then_some((start, end)).into_iter().collect() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// How many numbers are in the set.
    pub(crate) fn len(&self) -> u64 {
        self.parts.iter().map(|&(start, end)| start.abs_diff(end)).sum()
    }

    /// The intervals in order.
    pub(crate) const fn parts(&self) -> &VecDeque<(i64, i64)> {
        &self.parts
    }

    pub(crate) fn min(&self) -> Option<i64> {
        self.parts.front().map(|p| p.0)
    }

    /// Adds one number; false if it was there.
    pub(crate) fn insert(&mut self, n: i64) -> bool {
        // Numbers mostly arrive at or near the end.
        if let Some(last) = self.parts.back_mut() {
            if n == last.1 {
                last.1 += 1;
                return true;
            }
            if n >= last.0 && n < last.1 {
                return false;
            }
        }
        let at = self.parts.partition_point(|p| p.1 < n);
        // `at` is the first interval that ends at or behind `n`.
        match self.parts.get(at).copied() {
            Some((start, end)) if start <= n && n < end => false,
            Some((start, end)) if end == n => {
                match self.parts.get(at + 1).copied() {
                    Some((next, next_end)) if next == n + 1 => {
                        self.parts.remove(at + 1);
                        self.set(at, (start, next_end));
                    }
                    _ => self.set(at, (start, n + 1)),
                }
                true
            }
            Some((start, end)) if start == n + 1 => {
                self.set(at, (n, end));
                true
            }
            _ => {
                self.parts.insert(at, (n, n + 1));
                true
            }
        }
    }

    fn set(&mut self, at: usize, part: (i64, i64)) {
        if let Some(slot) = self.parts.get_mut(at) {
            *slot = part;
        }
    }

    /// Adds `[start, end)`.
    pub(crate) fn insert_range(&mut self, start: i64, end: i64) {
        if start >= end {
            return;
        }
        let from = self.parts.partition_point(|p| p.1 < start);
        let to = self.parts.partition_point(|p| p.0 <= end);
        if from >= to {
            self.parts.insert(from, (start, end));
            return;
        }
        let low = self.parts.get(from).map_or(start, |first| first.0.min(start));
        let high = self.parts.get(to - 1).map_or(end, |last| last.1.max(end));
        self.set(from, (low, high));
        self.parts.drain(from + 1..to);
    }

    /// The union of both.
    pub(crate) fn union(&mut self, other: &Self) {
        if other.is_empty() {
            return;
        }
        if self.parts.back().is_none_or(|last| other.parts.front().is_some_and(|first| first.0 > last.1)) {
            self.parts.reserve_exact(other.parts.len());
            self.parts.extend(&other.parts);
            return;
        }
        // Spans of a stream without loss: the later goes on where this one ends.
        if let (Some(last), Some(first)) = (self.parts.back_mut(), other.parts.front())
            && first.0 == last.1
        {
            last.1 = first.1;
            self.parts.extend(other.parts.iter().skip(1));
            return;
        }
        let own = std::mem::take(&mut self.parts);
        let (mut a, mut b) = (own.into_iter().peekable(), other.parts.iter().copied().peekable());
        loop {
            let next = match (a.peek(), b.peek()) {
                (Some(x), Some(y)) if x.0 <= y.0 => a.next(),
                (_, Some(_)) => b.next(),
                (Some(_), None) => a.next(),
                (None, None) => break,
            };
            let Some((start, end)) = next else { break };
            match self.parts.back_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                _ => self.parts.push_back((start, end)),
            }
        }
    }

    /// What is in `self` and not in `other`.
    #[must_use]
    pub(crate) fn minus(&self, other: &Self) -> Self {
        let mut parts = VecDeque::with_capacity(self.parts.len());
        let mut cuts = other.parts.iter().copied().peekable();
        for &(start, end) in &self.parts {
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
                    parts.push_back((at, cut_start));
                }
                at = cut_end;
                if cut_end >= end {
                    break;
                }
                cuts.next();
            }
            if at < end {
                parts.push_back((at, end));
            }
        }
        Self { parts }
    }

    /// The members up to and including `n`.
    #[must_use]
    pub(crate) fn up_to(&self, n: i64) -> Self {
        let mut parts: VecDeque<_> = self.parts.iter().copied().take_while(|p| p.0 <= n).collect();
        if let Some(last) = parts.back_mut() {
            last.1 = last.1.min(n + 1);
        }
        Self { parts }
    }

    /// Moves every member by `by`.
    pub(crate) fn shift(&mut self, by: i64) {
        if by != 0 {
            for part in &mut self.parts {
                part.0 += by;
                part.1 += by;
            }
        }
    }

    /// Drops all intervals that end at or below `n`; returns them.
    pub(crate) fn drop_below(&mut self, n: i64) -> Vec<(i64, i64)> {
        let keep = self.parts.partition_point(|p| p.1 <= n);
        self.parts.drain(..keep).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// The intervals are in order and do not touch.
    fn are_apart(set: &IntervalSet) -> bool {
        set.parts().iter().zip(set.parts().iter().skip(1)).all(|(before, after)| before.1 < after.0)
    }

    fn members(set: &IntervalSet) -> BTreeSet<i64> {
        set.parts().iter().flat_map(|&(s, e)| s..e).collect()
    }

    fn build(numbers: &[i64]) -> IntervalSet {
        let mut set = IntervalSet::default();
        for &n in numbers {
            set.insert(n);
        }
        set
    }

    proptest! {
        #[test]
        fn behaves_like_a_set(a in prop::collection::vec(-40i64..40, 0..60), b in prop::collection::vec(-40i64..40, 0..60), n in -45i64..45, r in 0i64..20) {
            let (sa, sb): (BTreeSet<i64>, BTreeSet<i64>) = (a.iter().copied().collect(), b.iter().copied().collect());
            let (ia, ib) = (build(&a), build(&b));
            prop_assert_eq!(members(&ia), sa.clone());
            prop_assert!(are_apart(&ia));
            prop_assert_eq!(ia.len(), sa.len() as u64);
            let mut union = ia.clone();
            union.union(&ib);
            prop_assert_eq!(members(&union), sa.union(&sb).copied().collect());
            prop_assert!(are_apart(&union));
            prop_assert_eq!(members(&ia.minus(&ib)), sa.difference(&sb).copied().collect());
            prop_assert_eq!(members(&ia.up_to(n)), sa.iter().copied().filter(|&x| x <= n).collect());
            let mut ranged = ia.clone();
            ranged.insert_range(n, n + r);
            prop_assert_eq!(members(&ranged), sa.iter().copied().chain(n..n + r).collect());
            prop_assert!(are_apart(&ranged));
        }
    }
}
