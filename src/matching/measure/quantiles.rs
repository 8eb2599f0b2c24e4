//! Distributions of times: least, most and mean exactly, quantiles to within one part in 256.

/// Buckets of an octave: a value lies within one part in this many of its bucket's.
const STEPS: u32 = 7;

/// A distribution of nanoseconds. Sums and counts: any order of values gives the same.
#[derive(Clone, PartialEq, Debug, Default)]
pub(in crate::matching) struct Quantiles {
    count: u64,
    sum: i128,
    least: i64,
    most: i64,
    /// Bucket of the first count.
    base: i32,
    counts: Vec<u32>,
}

/// Buckets that a range of the report joins.
const JOINED: i32 = 8;

/// Buckets that one distribution has: thirty octaves. What lies outside counts at the edge.
const WIDEST: usize = 4_096;

/// A value, and where it counts in every distribution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::matching) struct Bucketed {
    ns: i64,
    bucket: i32,
}

impl Bucketed {
    #[inline]
    pub(in crate::matching) fn of(ns: i64) -> Self {
        Self { ns, bucket: bucket(ns) }
    }
}

impl Quantiles {
    #[inline]
    pub(in crate::matching) fn add(&mut self, ns: i64) {
        self.add_bucketed(Bucketed::of(ns));
    }

    /// Takes in a value that other distributions take in, too.
    #[inline]
    pub(in crate::matching) fn add_bucketed(&mut self, Bucketed { ns, bucket }: Bucketed) {
        if self.count == 0 {
            (self.least, self.most) = (ns, ns);
        }
        self.count += 1;
        self.sum += i128::from(ns);
        self.least = self.least.min(ns);
        self.most = self.most.max(ns);
        let at = self.place(bucket);
        if let Some(count) = self.counts.get_mut(at) {
            *count = count.saturating_add(1);
        }
    }

    /// Place of a bucket, made where there is none yet.
    #[inline]
    fn place(&mut self, bucket: i32) -> usize {
        let at = i64::from(bucket) - i64::from(self.base);
        match usize::try_from(at) {
            Ok(at) if at < self.counts.len() => at,
            _ => self.widen(bucket),
        }
    }

    #[cold]
    fn widen(&mut self, bucket: i32) -> usize {
        /// Buckets that are added at once.
        const STEP: usize = 64;
        if self.counts.is_empty() {
            self.base = bucket.saturating_sub(STEP as i32 / 2);
            self.counts.resize(STEP, 0);
        }
        let at = i64::from(bucket) - i64::from(self.base);
        if let Ok(at) = usize::try_from(at) {
            let wanted = (at + 1).next_multiple_of(STEP).min(WIDEST);
            if wanted > self.counts.len() {
                self.counts.resize(wanted, 0);
            }
            return at.min(self.counts.len() - 1);
        }
        let more = usize::try_from(-at).unwrap_or(WIDEST).next_multiple_of(STEP).min(WIDEST - self.counts.len());
        self.counts.splice(0..0, std::iter::repeat_n(0, more));
        self.base = self.base.saturating_sub(more as i32);
        usize::try_from(i64::from(bucket) - i64::from(self.base)).unwrap_or(0)
    }

    /// Takes in another distribution.
    pub(in crate::matching) fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        (self.least, self.most) = if self.count == 0 {
            (other.least, other.most)
        } else {
            (self.least.min(other.least), self.most.max(other.most))
        };
        self.count += other.count;
        self.sum += other.sum;
        for (bucket, more) in (other.base..).zip(&other.counts).filter(|(_, more)| **more > 0) {
            let at = self.place(bucket);
            if let Some(count) = self.counts.get_mut(at) {
                *count = count.saturating_add(*more);
            }
        }
    }

    /// Whether quantiles would be others with the times of pairs that are guesses: packets that wait in a queue have others around them, so that it is
    /// not known which is which, and those that are sure are the quick ones.
    pub(in crate::matching) fn moves_with(&self, guesses: &Self) -> bool {
        /// Fewer guesses say nothing.
        const LEAST: u64 = 4;
        /// A quantile may be off by one part in so many, and by so much.
        const PART: u64 = 4;
        const LEAST_NS: u64 = 20_000;
        let mut all = self.clone();
        all.merge(guesses);
        guesses.count >= LEAST
            && [0.5, 0.9, 0.99].into_iter().any(|share| {
                let (own, whole) = (self.at(share), all.at(share));
                let off = own.abs_diff(whole);
                off > LEAST_NS && off.saturating_mul(PART) > own.unsigned_abs()
            })
    }

    /// How many values lie in which range, ranges in order and without gaps between neighbours: from the first figure on, below the second.
    /// A range is at most a sixteenth of its values wide.
    pub(in crate::matching) fn ranges(&self) -> Vec<(i64, i64, u64)> {
        let mut ranges: Vec<(i32, u64)> = Vec::new();
        for (bucket, count) in (self.base..).zip(&self.counts).filter(|(_, count)| **count > 0) {
            let range = bucket.div_euclid(JOINED);
            match ranges.last_mut() {
                Some((last, sum)) if *last == range => *sum += u64::from(*count),
                _ => ranges.push((range, u64::from(*count))),
            }
        }
        let shown = |(range, count): &(i32, u64)| {
            let first = range.saturating_mul(JOINED);
            (edge(first), edge(first.saturating_add(JOINED)), *count)
        };
        let mut ranges: Vec<(i64, i64, u64)> = ranges.iter().map(shown).collect();
        // What lies beyond the widest distribution counts at its edges.
        if let Some((from, ..)) = ranges.first_mut() {
            *from = (*from).min(self.least);
        }
        if let Some((_, to, _)) = ranges.last_mut() {
            *to = (*to).max(self.most.saturating_add(1));
        }
        ranges
    }

    pub(in crate::matching) const fn count(&self) -> u64 {
        self.count
    }

    pub(in crate::matching) const fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(in crate::matching) const fn least(&self) -> i64 {
        self.least
    }

    pub(in crate::matching) const fn most(&self) -> i64 {
        self.most
    }

    pub(in crate::matching) fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 }
    }

    /// The smallest value that at least `share` of all do not exceed, to within the width of a bucket.
    pub(in crate::matching) fn at(&self, share: f64) -> i64 {
        let rank = (share * self.count as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (bucket, count) in (self.base..).zip(&self.counts) {
            seen += u64::from(*count);
            if seen >= rank {
                return middle(bucket).clamp(self.least, self.most);
            }
        }
        self.most
    }
}

/// Bucket of a value: exact up to 128, then 128 buckets to an octave; negative ones mirrored.
fn bucket(ns: i64) -> i32 {
    let size = ns.unsigned_abs();
    let octave = size.checked_ilog2().unwrap_or(0).saturating_sub(STEPS);
    let bucket = ((octave << STEPS) as u64 + (size >> octave)) as i32;
    if ns < 0 { -bucket } else { bucket }
}

/// The least value of a bucket.
fn edge(bucket: i32) -> i64 {
    let least = |bucket: u32| {
        let octave = (bucket >> STEPS).saturating_sub(1);
        let value = u64::from(bucket - (octave << STEPS)).checked_shl(octave).unwrap_or(u64::MAX);
        i64::try_from(value).unwrap_or(i64::MAX)
    };
    if bucket < 0 { 1 - least(bucket.unsigned_abs() + 1) } else { least(bucket.unsigned_abs()) }
}

/// The value in the middle of a bucket.
fn middle(bucket: i32) -> i64 {
    let size = bucket.unsigned_abs();
    let octave = (size >> STEPS).saturating_sub(1);
    let mantissa = u64::from(size - (octave << STEPS));
    let value = (mantissa << octave) + ((1_u64 << octave) >> 1);
    let value = i64::try_from(value).unwrap_or(i64::MAX);
    if bucket < 0 { -value } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guesses_that_are_slower_than_the_others_move_the_quantiles() {
        let of = |count: i64, ns: i64| {
            let mut times = Quantiles::default();
            (0..count).for_each(|n| times.add(ns + n * 10));
            times
        };
        let sure = of(970, 80_000);
        assert!(sure.moves_with(&of(30, 20_000_000)), "a hundredth of all");
        assert!(!sure.moves_with(&of(30, 80_000)), "like the others");
        assert!(!sure.moves_with(&of(3, 20_000_000)), "a few");
        assert!(!sure.moves_with(&Quantiles::default()));
        assert!(of(200, 80_000).moves_with(&of(800, 5_000_000)), "most of them wait");
    }

    #[test]
    fn a_bucket_is_within_one_part_in_256() {
        for ns in [0, 1, 127, 128, 129, 255, 256, 1_000, 20_000, 123_456_789, i64::MAX / 2] {
            for ns in [ns, -ns] {
                let shown = middle(bucket(ns));
                assert!((shown - ns).unsigned_abs() <= ns.unsigned_abs() / 256, "{ns}: {shown}");
            }
        }
    }

    #[test]
    fn quantiles_are_of_the_values() {
        let mut times = Quantiles::default();
        (1..=1_000).rev().for_each(|ms| times.add(ms * 1_000_000));
        assert_eq!((times.least(), times.most()), (1_000_000, 1_000_000_000));
        assert!((times.mean() - 500_500_000.0).abs() < 1.0);
        for (share, ms) in [(0.5, 500), (0.9, 900), (0.99, 990), (1.0, 1_000)] {
            let shown = times.at(share);
            assert!((shown - ms * 1_000_000).abs() <= ms * 1_000_000 / 250, "{share}: {shown}");
        }
    }

    /// Ranges hold the values that fall into them, and the sum of two distributions is that of all values.
    #[test]
    fn ranges_hold_their_values() {
        let values: Vec<i64> = (-300..300).map(|n: i64| n.pow(3) / 7).collect();
        let mut all = Quantiles::default();
        values.iter().for_each(|ns| all.add(*ns));
        let ranges = all.ranges();
        assert!(ranges.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{ranges:?}");
        for (from, to, count) in &ranges {
            let held = values.iter().filter(|ns| (*from..*to).contains(ns)).count() as u64;
            assert_eq!(held, *count, "{from} to {to}");
            let size = from.abs().min((to - 1).abs());
            assert!(size < 128 || to - from <= size / 16 + 1, "{from} to {to}");
        }
        let (mut one, mut other) = (Quantiles::default(), Quantiles::default());
        values.iter().for_each(|ns| if ns % 3 == 0 { one.add(*ns) } else { other.add(*ns) });
        one.merge(&other);
        assert_eq!((one.ranges(), one.least(), one.most(), one.mean()), (ranges, all.least(), all.most(), all.mean()));
        assert_eq!(one.at(0.5), all.at(0.5));
    }

    /// Room is made where a value has none, above and below.
    #[test]
    fn the_order_of_values_changes_nothing() {
        let values: Vec<i64> = (-400..400).map(|n: i64| n.pow(3) / 100).collect();
        let of = |values: &mut dyn Iterator<Item = i64>| {
            let mut times = Quantiles::default();
            values.for_each(|ns| times.add(ns));
            [0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0].map(|share| times.at(share))
        };
        let rising = of(&mut values.iter().copied());
        for (rank, shown) in [(7, rising[1]), (79, rising[2]), (599, rising[5]), (719, rising[6]), (791, rising[7])] {
            let want = values[rank];
            assert!((shown - want).abs() <= want.abs() / 250 + 1, "{shown} for {want}");
        }
        assert_eq!(of(&mut values.iter().rev().copied()), rising);
        let shuffled: Vec<i64> = (0..800).map(|n| values[n * 313 % 800]).collect();
        assert_eq!(of(&mut shuffled.into_iter()), rising);
    }
}
