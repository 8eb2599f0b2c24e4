//! Latencies, the growth of the queue, stalls.

use super::fit::{Line, line, rank};
use crate::trials::limits::{SLICES, STALL_FRAMES, STALL_NS};

/// A distribution.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Spread {
    pub(crate) min: i64,
    pub(crate) p50: i64,
    pub(crate) p99: i64,
    pub(crate) max: i64,
    pub(crate) mean: f64,
}

impl Spread {
    pub(crate) fn of(mut values: Vec<i64>) -> Option<Self> {
        values.sort_unstable();
        let mean = values.iter().map(|v| *v as f64).sum::<f64>() / values.len() as f64;
        let (min, max) = (*values.first()?, *values.last()?);
        Some(Self { min, p50: rank(&values, 0.5)?, p99: rank(&values, 0.99)?, max, mean })
    }
}

/// Growth of the latency over the steady part: its slope through the means of equal slices, and the standard error.
pub(crate) fn growth(good: &[(i64, i64)], start: i64, end: i64) -> (f64, f64) {
    let mut slices = [(0.0, 0.0, 0_u64); SLICES];
    for (t, d) in good {
        let at =
            (i128::from(t - start) * SLICES as i128 / i128::from((end - start).max(1))).clamp(0, SLICES as i128 - 1);
        if let Some((x, y, n)) = slices.get_mut(at as usize) {
            *x += (t - start) as f64;
            *y += (d - t) as f64;
            *n += 1;
        }
    }
    let means: Vec<(f64, f64)> =
        slices.iter().filter(|(_, _, n)| *n > 0).map(|(x, y, n)| (x / *n as f64 / 1e9, y / *n as f64 / 1e9)).collect();
    if means.len() < 3 {
        return (0.0, 1.0);
    }
    line(&means).map_or((0.0, 1.0), |Line { slope, error, .. }| (slope, error))
}

/// Most packets inside at once. `got`: time in and out of the packets that came out, in the order they came in; `outs`: times out,
/// sorted.
pub(crate) fn backlog(got: &[(i64, i64)], outs: &[i64]) -> u64 {
    let (mut gone, mut most) = (0, 0);
    for (k, (t, _)) in got.iter().enumerate() {
        while outs.get(gone).is_some_and(|out| out <= t) {
            gone += 1;
        }
        most = most.max((k + 1).saturating_sub(gone));
    }
    most as u64
}

/// The longest silence of the output while packets came in or were inside, in nanoseconds; 0 for none. `outs`: times at which packets left,
/// in order, and at which they had come. `went_on`: whether the device worked on from one time to another.
pub(crate) fn stall(
    came: &[i64],
    outs: &[(i64, i64)],
    end: i64,
    least: i64,
    went_on: &dyn Fn(i64, i64) -> bool,
) -> i64 {
    let mut longest = 0;
    for pair in outs.windows(2) {
        let [(x, _), (y, next)] = pair else { continue };
        if y - x > STALL_NS.max(longest) && *x <= end {
            let from = came.partition_point(|t| t + least <= *x);
            let to = came.partition_point(|t| t + least < *y);
            let is_inside = next + least <= *x;
            let first = if is_inside { *x } else { came.get(from).map_or(*y, |t| t + least) };
            if to.saturating_sub(from) >= STALL_FRAMES && !went_on(*x, *y) {
                longest = longest.max(silence((*x, *y), first));
            }
        }
    }
    longest
}

/// How long a device that was silent had packets to send, in nanoseconds; 0 for no stall. `first`: when an idle device would have sent the
/// first of them. A tester that pauses between groups of packets makes a silence that is not the device's.
pub(crate) fn silence((from, to): (i64, i64), first: i64) -> i64 {
    let own = if first - from > (to - from) / STALL_FRAMES as i64 { to - first } else { to - from };
    if own > STALL_NS { own } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_growing_queue_has_a_slope() {
        let good: Vec<(i64, i64)> = (0..1_000).map(|i| (i * 1_000_000, i * 1_100_000 + 500)).collect();
        let (slope, error) = growth(&good, 0, 999_000_000);
        assert!((slope - 0.1).abs() < 1e-6 && error < 1e-6, "{slope} {error}");
        assert_eq!(growth(&good[..1], 0, 1), (0.0, 1.0));
    }

    #[test]
    fn a_silence_counts_only_while_packets_come_in() {
        let came: Vec<i64> = (0..100).map(|i| i * 10_000_000).collect();
        let outs = |outs: &[i64]| outs.iter().map(|out| (*out, *out)).collect::<Vec<_>>();
        assert_eq!(
            stall(&came, &outs(&[0, 10_000_000, 310_000_000, 320_000_000]), 990_000_000, 0, &|_, _| false),
            300_000_000
        );
        assert_eq!(stall(&came, &outs(&[0, 10_000_000, 90_000_000]), 990_000_000, 0, &|_, _| false), 0);
        assert_eq!(stall(&came, &outs(&[990_000_000, 1_500_000_000]), 990_000_000, 0, &|_, _| false), 0);
    }

    #[test]
    fn a_tester_that_pauses_between_groups_stalls_no_device() {
        let group = |at: i64| (0..32).map(move |i| at * 1_000_000 + i * 6_000);
        let came: Vec<i64> = [0, 50, 250].into_iter().flat_map(group).collect();
        let served = |late: i64| -> Vec<(i64, i64)> {
            let own = |at: i64| (1..=32).map(move |i| (at + i) * 1_000_000);
            [0, 50, 250 + late].into_iter().flat_map(own).zip(came.iter().copied()).collect()
        };
        assert_eq!(stall(&came, &served(0), 251_000_000, 1_000_000, &|_, _| false), 0);
        // The device itself was silent for 140 ms of 308.
        assert_eq!(stall(&came, &served(140), 251_000_000, 1_000_000, &|_, _| false), 140_000_000);
        // It held most of a group, and was silent longer than the tester.
        let mut held = served(0);
        held.iter_mut().skip(40).for_each(|(out, _)| *out += 240_000_000);
        assert_eq!(stall(&came, &held, 251_000_000, 1_000_000, &|_, _| false), 241_000_000);
    }

    #[test]
    fn the_backlog_counts_what_is_inside() {
        let got = [(0, 100), (10, 110), (20, 120), (115, 200)];
        assert_eq!(backlog(&got, &[100, 110, 120, 200]), 3);
    }
}
