//! Silences of a load that are too short to end it.

/// The longest silence of a load that is no even one, in seconds: the line through its packets is neither the rate between silences nor the mean.
/// Bursts that come at one pace have no such silence.
pub(super) fn pause(t: &[i64], offered_fps: Option<f64>) -> Option<f64> {
    let mut gaps: Vec<i64> = t.iter().zip(t.iter().skip(1)).map(|(a, b)| b - a).collect();
    gaps.sort_unstable();
    let (usual, longest) = (*gaps.get(gaps.len() / 2)?, *gaps.last()?);
    let mean = gaps.len() as f64 * 1e9 / gaps.iter().sum::<i64>().max(1) as f64;
    let is_uneven = (offered_fps? / mean - 1.0).abs() > UNEVEN;
    let least = PAUSE_NS.max(usual.saturating_mul(PERIODS));
    let pauses = gaps.iter().rev().take_while(|gap| **gap > least).count();
    (is_uneven && (1..=FEW).contains(&pauses)).then_some(longest as f64 / 1e9)
}

/// A shorter silence is no pause, in nanoseconds.
const PAUSE_NS: i64 = 100_000_000;
/// Nor is one of fewer periods of the load.
const PERIODS: i64 = 20;
/// More silences are the pace of bursts.
const FEW: usize = 8;
/// By what part the two ways to tell the rate of a load with pauses differ.
const UNEVEN: f64 = 0.01;
