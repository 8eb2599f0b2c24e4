//! Silences of a load that are too short to end it.

use crate::trials::limits::FEWEST;

/// The longest silence of a load that is no even one, in seconds: the line through its packets is neither the rate between silences nor the mean.
/// Bursts that come at one pace have no such silence. Nor is the one before a few last packets a pause: testers send their last one again.
pub(super) fn pause(t: &[i64], offered_fps: Option<f64>) -> Option<f64> {
    let gaps: Vec<i64> = t.iter().zip(t.iter().skip(1)).map(|(a, b)| b - a).collect();
    let mut sorted = gaps.clone();
    sorted.sort_unstable();
    let usual = *sorted.get(sorted.len() / 2)?;
    let least = PAUSE_NS.max(usual.saturating_mul(PERIODS));
    let few = FEWEST.max(t.len() / FEW_OF);
    let within = gaps.get(few.saturating_sub(1)..t.len().saturating_sub(few).min(gaps.len()))?;
    let (pauses, longest) = (within.iter().filter(|gap| **gap > least).count(), *within.iter().max()?);
    let mean = gaps.len() as f64 * 1e9 / gaps.iter().sum::<i64>().max(1) as f64;
    let is_uneven = (offered_fps? / mean - 1.0).abs() > UNEVEN;
    (is_uneven && (1..=FEW).contains(&pauses)).then_some(longest as f64 / 1e9)
}

/// A shorter silence is no pause, in nanoseconds.
const PAUSE_NS: i64 = 100_000_000;
/// Nor is one of fewer periods of the load.
const PERIODS: i64 = 20;
/// A part of the packets that is none of the load, as 1 in N, where it comes behind or before a silence.
const FEW_OF: usize = 100;
/// More silences are the pace of bursts.
const FEW: usize = 8;
/// By what part the two ways to tell the rate of a load with pauses differ.
const UNEVEN: f64 = 0.01;
