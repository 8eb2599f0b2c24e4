//! The value in the middle, of few values without a branch that depends on them, of many by counting where it lies.

/// Values that are sorted at once.
pub(in crate::matching::order) const BLOCK: usize = 8;

/// Eight values, the least first. Networks sort them: which two are compared does not depend on what came of the others.
#[derive(Clone, Copy, Debug)]
pub(in crate::matching::order) struct SortedBlock([i64; BLOCK]);

/// Both values, the lesser first.
#[inline(always)]
fn two(one: i64, other: i64) -> (i64, i64) {
    (one.min(other), one.max(other))
}

impl SortedBlock {
    /// No values: all are greater than any that is asked for.
    const NONE: Self = Self([i64::MAX; BLOCK]);

    #[inline]
    pub(in crate::matching::order) fn of([a, b, c, d, e, f, g, h]: [i64; BLOCK]) -> Self {
        let ((a, c), (b, d), (e, g), (f, h)) = (two(a, c), two(b, d), two(e, g), two(f, h));
        let ((a, e), (b, f), (c, g), (d, h)) = (two(a, e), two(b, f), two(c, g), two(d, h));
        let ((a, b), (c, d), (e, f), (g, h)) = (two(a, b), two(c, d), two(e, f), two(g, h));
        let ((c, e), (d, f)) = (two(c, e), two(d, f));
        let ((b, e), (d, g)) = (two(b, e), two(d, g));
        let ((b, c), (d, e), (f, g)) = (two(b, c), two(d, e), two(f, g));
        Self([a, b, c, d, e, f, g, h])
    }

    /// Sorts values that fall and then rise, or rise and then fall.
    #[inline]
    fn of_bitonic([a, b, c, d, e, f, g, h]: [i64; BLOCK]) -> Self {
        let ((a, e), (b, f), (c, g), (d, h)) = (two(a, e), two(b, f), two(c, g), two(d, h));
        let ((a, c), (b, d), (e, g), (f, h)) = (two(a, c), two(b, d), two(e, g), two(f, h));
        let ((a, b), (c, d), (e, f), (g, h)) = (two(a, b), two(c, d), two(e, f), two(g, h));
        Self([a, b, c, d, e, f, g, h])
    }

    /// The values of both, the lesser half of them first.
    #[inline]
    fn merge(self, other: Self) -> [Self; 2] {
        let (mut low, mut high) = (self.0, other.0);
        high.reverse();
        low.iter_mut().zip(&mut high).for_each(|(low, high)| (*low, *high) = two(*low, *high));
        [Self::of_bitonic(low), Self::of_bitonic(high)]
    }

    /// How far each is from a value.
    #[inline]
    fn apart(self, from: i64) -> Self {
        Self::of_bitonic(self.0.map(|own| own.saturating_sub(from).saturating_abs()))
    }

    /// The ninth of sixteen values.
    #[inline]
    fn middle(self, other: Self) -> i64 {
        self.0.iter().zip(other.0.iter().rev()).fold(i64::MAX, |least, (own, other)| least.min(*own.max(other)))
    }

    /// The middle of sixteen values, and that of their distances from it.
    #[inline]
    pub(in crate::matching::order) fn middle_and_spread(self, other: Self) -> (i64, i64) {
        let base = self.middle(other);
        (base, self.apart(base).middle(other.apart(base)))
    }
}

/// The value at a place of two sorted lists together.
#[inline]
fn at_place(one: &[i64], other: &[i64], place: usize) -> Option<i64> {
    // The `place + 1` least values are some first values of one list and some of the other. For every way to divide that number the greater of
    // the two last ones is at least the value sought, and for the right division it is that value.
    let count = place + 1;
    let greatest = |from: &[i64], count: usize| {
        count.checked_sub(1).map_or(i64::MIN, |last| from.get(last).copied().unwrap_or(i64::MAX))
    };
    (count.saturating_sub(other.len())..=count.min(one.len()))
        .map(|own| greatest(one, own).max(greatest(other, count - own)))
        .min()
}

/// The value in the middle of at most 32; of an even number, the upper one.
fn of_few(values: &[i64]) -> Option<i64> {
    let place = values.len() / 2;
    let mut blocks = [SortedBlock::NONE; 4];
    for (block, own) in blocks.iter_mut().zip(values.chunks(BLOCK)) {
        let mut room = [i64::MAX; BLOCK];
        room.iter_mut().zip(own).for_each(|(room, own)| *room = *own);
        *block = SortedBlock::of(room);
    }
    let [a, b, c, d] = blocks;
    if values.len() <= 2 * BLOCK {
        return at_place(&a.0, &b.0, place).filter(|_| !values.is_empty());
    }
    let flat = |[low, high]: [SortedBlock; 2]| [low.0, high.0];
    at_place(flat(a.merge(b)).as_flattened(), flat(c.merge(d)).as_flattened(), place)
}

/// The value in the middle; of an even number, the upper one. The values change places.
pub(in crate::matching) fn median_in(values: &mut [i64]) -> Option<i64> {
    /// The least number of values for which counting by ranges is worth it.
    const MANY: usize = 128;
    /// How many ranges of values are counted.
    const RANGES: usize = 256;
    if values.len() <= 4 * BLOCK {
        return of_few(values);
    }
    let place = values.len() / 2;
    if values.len() < MANY {
        return Some(*values.select_nth_unstable(place).1);
    }
    let (least, most) =
        values.iter().fold((i64::MAX, i64::MIN), |(least, most), own| (least.min(*own), most.max(*own)));
    let shift = (u64::BITS - most.abs_diff(least).leading_zeros()).saturating_sub(RANGES.ilog2());
    let range = |value: i64| (value.wrapping_sub(least).cast_unsigned() >> shift) as usize;
    let mut counts = [0_u32; RANGES];
    for value in &*values {
        if let Some(count) = counts.get_mut(range(*value)) {
            *count += 1;
        }
    }
    let mut below = 0_usize;
    let own = counts.iter().position(|count| {
        let is_here = below + *count as usize > place;
        below += if is_here { 0 } else { *count as usize };
        is_here
    })?;
    // Those of its range come first.
    let mut count = 0;
    for at in 0..values.len() {
        if values.get(at).is_some_and(|value| range(*value) == own) {
            values.swap(count, at);
            count += 1;
        }
    }
    let same = values.get_mut(..count)?;
    let place = place.checked_sub(below).filter(|place| *place < same.len())?;
    Some(*same.select_nth_unstable(place).1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sorted(values: &[i64]) -> Option<i64> {
        let mut values = values.to_vec();
        values.sort_unstable();
        values.get(values.len() / 2).copied()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn the_middle_is_that_of_sorted_values(
            few in prop::collection::vec(prop_oneof![-3_i64..3, any::<i64>()], 0..70),
            many in prop::collection::vec(-50_000_i64..50_000, 0..600),
            far in prop::collection::vec(any::<i64>(), 0..4),
        ) {
            prop_assert_eq!(median_in(&mut few.clone()), sorted(&few));
            let many = [many, far].concat();
            prop_assert_eq!(median_in(&mut many.clone()), sorted(&many));
        }

        #[test]
        fn of_two_sorted_blocks_it_is_that_of_all(one in any::<[i64; BLOCK]>(), other in prop::array::uniform8(-9_i64..9), wide in any::<bool>()) {
            let one = if wide { one } else { one.map(|own| own % 50) };
            let all: Vec<i64> = one.into_iter().chain(other).collect();
            let base = sorted(&all);
            let apart: Vec<i64> = all.iter().map(|own| own.saturating_sub(base.unwrap_or(0)).saturating_abs()).collect();
            let shown = SortedBlock::of(one).middle_and_spread(SortedBlock::of(other));
            prop_assert_eq!(Some(shown), base.zip(sorted(&apart)));
        }
    }
}
