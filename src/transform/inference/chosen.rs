//! Sizes that somebody chose: a test walks through them, or has a few of them. Whatever the cipher's block is, lengths around chosen
//! sizes may agree modulo a larger one.

use std::collections::BTreeMap;

/// Packets of each length from which on they tell a choice from chance.
const OFTEN: u64 = 8;
/// Fewer lengths are no walk.
const LEAST: usize = 4;
/// More lengths than somebody writes down.
const FEW: usize = 24;

/// How many lengths might have disagreed modulo the grain.
pub(super) fn chances(lengths: &[u32], grain: u32) -> i32 {
    // Test sizes are often multiples of 64; what differs modulo sixteen grains is taken for independent.
    let mut independent: Vec<u32> = lengths.iter().map(|length| length % (grain * 16)).collect();
    independent.sort_unstable();
    independent.dedup();
    i32::try_from(independent.len()).unwrap_or(i32::MAX).saturating_sub(1).min(20)
}

/// Whether packets have sizes that somebody chose: lengths (in ascending order) with the number of packets of each.
#[must_use]
pub fn are_chosen(sizes: &[(u32, u64)]) -> bool {
    is_sweep(sizes) || are_few(sizes) || are_in_wide_steps(sizes)
}

/// The greatest step in which all lengths are.
fn step(sizes: &[(u32, u64)]) -> u32 {
    let first = sizes.first().map_or(0, |(length, _)| *length);
    sizes.iter().fold(0, |step, (length, _)| common_divisor(step, length.abs_diff(first)))
}

/// Whether all lengths agree modulo more than the largest block: then the sizes are in steps, whatever the cipher's block is.
fn are_in_wide_steps(sizes: &[(u32, u64)]) -> bool {
    /// The block of AES.
    const WIDEST: u32 = 16;
    /// Of fewer lengths that is chance.
    const LEAST: usize = 6;
    sizes.len() >= LEAST && step(sizes) > WIDEST
}

fn common_divisor(one: u32, other: u32) -> u32 {
    if other == 0 { one } else { common_divisor(other, one % other) }
}

/// Whether sizes were walked through: in the order of their lengths, packets that come first are first, or last, each time; or most times,
/// and the next length shortly before or behind, where first packets were lost. `firsts`: where the first packet of each length is.
#[must_use]
pub fn are_walked<P: Ord>(firsts: &[P]) -> bool {
    /// Fewer lengths are in order by chance, all of them or most.
    const LEAST: usize = 8;
    const MANY: usize = 16;
    /// Lengths that a late packet stands between.
    const NEAR: usize = 2;
    let steps = firsts.len().saturating_sub(1);
    let rising = firsts.iter().zip(firsts.iter().skip(1)).filter(|(before, after)| before < after).count();
    let mut order: Vec<&P> = firsts.iter().collect();
    order.sort_unstable();
    let ranks: Vec<usize> = firsts.iter().map(|first| order.partition_point(|other| *other < first)).collect();
    let near =
        ranks.iter().zip(ranks.iter().skip(1)).filter(|(before, after)| before.abs_diff(**after) <= NEAR).count();
    let orderly = rising.max(steps - rising) * 10;
    let mostly = firsts.len() >= MANY && orderly * 2 >= steps * 15 && near * 2 >= steps;
    firsts.len() >= LEAST && orderly >= steps * 9 || mostly
}

/// Whether there are few lengths and nearly each of them is that of many packets. Traffic that nobody arranged has lengths of single packets, too.
fn are_few(sizes: &[(u32, u64)]) -> bool {
    let often = sizes.iter().filter(|(_, packets)| *packets >= OFTEN).count();
    sizes.len() <= FEW && often * 4 >= sizes.len() * 3
}

/// Whether packets have sizes that a generator walked through: lengths in equal steps, each as often as the others.
pub(super) fn is_sweep(sizes: &[(u32, u64)]) -> bool {
    if sizes.len() < LEAST {
        return false;
    }
    let mut steps: BTreeMap<u32, usize> = BTreeMap::new();
    for (before, after) in sizes.iter().zip(sizes.iter().skip(1)) {
        *steps.entry(after.0.abs_diff(before.0)).or_default() += 1;
    }
    let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
    for (_, packets) in sizes {
        *counts.entry(*packets).or_default() += 1;
    }
    // A random choice spreads the counts as their mean, a walk of which packets were lost much less.
    let total: u64 = sizes.iter().map(|(_, packets)| packets).sum();
    let mean = total / sizes.len() as u64;
    let squares = sizes.iter().map(|(_, packets)| u128::from(packets.abs_diff(mean)).pow(2)).sum::<u128>();
    let narrow = mean >= OFTEN && squares.saturating_mul(4) <= u128::from(total);
    let equal = steps.values().max().copied().unwrap_or(0);
    // A walk that is cut off has been through some sizes once more.
    let even = counts.iter().map(|(count, n)| n + counts.get(&(count + 1)).copied().unwrap_or(0)).max().unwrap_or(0);
    equal * 10 >= (sizes.len() - 1) * 9 && (even * 20 >= sizes.len() * 17 || narrow)
}
