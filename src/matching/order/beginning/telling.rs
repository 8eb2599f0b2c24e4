//! Whether times identify the direction of packets whose lengths are the same both ways.

use crate::matching::order::align::Plain;
use crate::matching::order::delay::median;
use crate::matching::order::lengths::correlation;

/// Consecutive pairs that follow each other on both sides. Shorter runs may be chance: of packets with one length the nearest in time is taken, which
/// correlates gaps by itself.
const RUN: usize = 8;
/// Gaps around each one whose median is the local rate.
const AROUND: usize = 4;
/// Multiples of the median deviation beyond which a gap is a pause or a change of the rate.
const PAUSE: i64 = 6;
/// Standard deviations from chance: the best of many alignments is tested.
const DEVIATIONS: f64 = 5.0;

/// Whether the gaps between neighbouring packets correlate on both sides.
///
/// Two loads with one rate keep a constant distance, and two with one rate profile change it together: neither identifies a direction. So the local rate
/// and gaps that are long on both sides do not count, nor do deviations up to `step`, the resolution of the timestamps in nanoseconds. `pairs`: index
/// of the plaintext packet and time in the tunnel, in the order of the tunnel.
pub(super) fn gaps_tell(pairs: &[(usize, i64)], plain: &[Plain], step: i64) -> bool {
    let mut residuals: Vec<(i64, i64)> = Vec::new();
    for run in pairs.chunk_by(|(before, _), (after, _)| *after == before + 1).filter(|run| run.len() >= RUN) {
        let gaps = |ns: &dyn Fn(&(usize, i64)) -> i64| -> Vec<i64> {
            let times: Vec<i64> = run.iter().map(ns).collect();
            times.windows(2).map(|two| two.last().zip(two.first()).map_or(0, |(b, a)| b.saturating_sub(*a))).collect()
        };
        let here = without_rate(&gaps(&|(at, _)| plain.get(*at).map_or(0, |plain| plain.ns)), step);
        let there = without_rate(&gaps(&|(_, ns)| *ns), step);
        residuals.extend(here.into_iter().zip(there));
    }
    let usual =
        |of: &dyn Fn(&(i64, i64)) -> i64| median(residuals.iter().map(|both| of(both).saturating_abs()).collect());
    let (Some(here), Some(there)) = (usual(&|both| both.0), usual(&|both| both.1)) else { return false };
    let is_pause = |(a, b): &(i64, i64)| {
        a.saturating_abs() > here.saturating_mul(PAUSE) && b.saturating_abs() > there.saturating_mul(PAUSE)
    };
    let (here, there): (Vec<f64>, Vec<f64>) =
        residuals.iter().filter(|both| !is_pause(both)).map(|(a, b)| (*a as f64, *b as f64)).unzip();
    // Fisher transformation: `atanh(r)` of unrelated samples has a standard deviation of `1 / sqrt(n - 3)`.
    let spread = (here.len().saturating_sub(3).max(1) as f64).sqrt();
    correlation(&here, &there) >= (DEVIATIONS / spread).tanh()
}

/// Gaps without the local rate; 0 for what the resolution of the timestamps may have made.
fn without_rate(gaps: &[i64], step: i64) -> Vec<i64> {
    let residual = |(at, gap): (usize, &i64)| {
        let around = gaps.get(at.saturating_sub(AROUND)..gaps.len().min(at + AROUND + 1)).unwrap_or_default();
        let off = gap.saturating_sub(median(around.to_vec()).unwrap_or(*gap));
        if off.saturating_abs() > 2 * step { off } else { 0 }
    };
    gaps.iter().enumerate().map(residual).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number below `most` that looks like chance.
    fn mixed(at: u64, most: u64) -> i64 {
        let word = (at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((word ^ word >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33) as i64 % most as i64
    }

    /// Times of packets with a gap for each, in nanoseconds.
    fn times(gaps: impl Iterator<Item = i64>) -> Vec<i64> {
        gaps.scan(0, |ns, gap| {
            *ns += gap;
            Some(*ns)
        })
        .collect()
    }

    fn tell(here: &[i64], there: &[i64], step: i64) -> bool {
        let plain: Vec<Plain> = here.iter().map(|ns| Plain { ns: ns / step * step, bytes: 100, skip: 0.0 }).collect();
        let pairs: Vec<(usize, i64)> = there.iter().map(|ns| ns / step * step).enumerate().collect();
        gaps_tell(&pairs, &plain, step)
    }

    #[test]
    fn only_gaps_in_common_identify_a_direction() {
        // The rate doubles every 100 packets, with pauses of a second at the same places.
        let profile = |at: u64| (4_000_000 >> (at / 100 % 3)) + if at % 50 == 49 { 1_000_000_000 } else { 0 };
        for uneven in [1, 100_000, 900_000] {
            let sent = times((0..600).map(|at| profile(at) + mixed(at, uneven)));
            let other = times((0..600).map(|at| profile(at) + mixed(at + 9_000, uneven)));
            let delayed: Vec<i64> = (0..).zip(&sent).map(|(at, ns)| ns + mixed(at + 50_000, 40_000)).collect();
            assert_eq!(tell(&sent, &delayed, 1), uneven > 40_000, "{uneven}");
            assert!(!tell(&sent, &other, 1), "{uneven}");
        }
    }

    #[test]
    fn roundings_of_the_timestamps_are_no_gaps_in_common() {
        let even = times((0..600).map(|_| 333_333));
        let later: Vec<i64> = even.iter().map(|ns| ns + 70_000).collect();
        assert!(!tell(&even, &later, 1_000) && !tell(&even, &later, 1));
    }
}
