//! How fast a clock is: what the first packets after silences and what loads say, each with its error, and whether they agree.

use std::collections::BTreeMap;

use crate::trials::limits::DRIFT;

/// A time of a group of packets that take as long as each other, and how late they are by it, in seconds.
pub(super) type Late<G> = (G, f64, f64);

/// A drift, with the error that it has at most in 99 of 100 cases.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct DriftInterval {
    pub(super) slope: f64,
    pub(super) error: f64,
}

impl DriftInterval {
    /// By a line through times that are late by the drift alone. That few points are on a line by chance, in steps of `stamp`, says nothing.
    pub(super) fn of<G: Ord + Copy>(points: &[Late<G>], stamp: f64) -> Option<Self> {
        let line = Line::through(points)?;
        Some(Self { slope: line.slope, error: student(line.free) * line.error.max(stamp / line.spread) })
    }

    /// The same of a clock that was put right by a drift before.
    pub(super) fn beside(self, drift: f64) -> Self {
        Self { slope: self.slope + drift, ..self }
    }

    /// The drift that it tells.
    fn told(self) -> Option<f64> {
        if self.slope.abs() > self.error { Some(self.slope) } else { (self.error < NO_DRIFT).then_some(0.0) }
    }

    /// Whether both may be true.
    fn agrees(self, other: Self) -> bool {
        (self.slope - other.slope).abs() <= self.error + other.error
    }

    /// Whether a clock may be as fast: a queue that grows is later and later by more.
    fn is_possible(self) -> bool {
        self.slope.abs() - self.error < DRIFT
    }
}

/// How fast a clock is taken to be.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Drift {
    /// What times are put right by.
    pub(crate) slope: f64,
    /// By how much that may be wrong; `None` where nothing tells.
    pub(crate) error: Option<f64>,
    /// Whether it is told, or that there is none.
    pub(crate) known: bool,
    /// Whether what tells it contradicts each other.
    pub(crate) contradicted: bool,
}

impl Drift {
    /// Of taps of one clock.
    pub(crate) const NONE: Self = Self { slope: 0.0, error: Some(0.0), known: true, contradicted: false };

    /// By what the first packets after silences say and what loads say. What the first packets tell stands: they meet an idle device, and the
    /// packets of a load may not. What contradicts it makes it doubtful.
    pub(super) fn of(first: Option<DriftInterval>, loads: &[DriftInterval]) -> Self {
        let all = || first.iter().chain(loads).filter(|own| own.is_possible());
        let stands = first.as_ref().filter(|own| own.is_possible() && own.error < NO_DRIFT);
        let Some(best) = stands.or_else(|| all().min_by(|a, b| a.error.total_cmp(&b.error))) else {
            return Self::default();
        };
        let against: Vec<&DriftInterval> = all().filter(|own| !own.agrees(*best)).collect();
        let slope = best.told().unwrap_or(0.0);
        let error = best.error + (best.slope - slope).abs();
        let apart = against.iter().map(|own| (own.slope - slope).abs() + own.error).fold(error, f64::max);
        let contradicted = !against.is_empty();
        Self { slope, error: Some(apart), known: best.told().is_some() && !contradicted, contradicted }
    }

    /// The same by packets that go the other way.
    pub(super) fn turned(self) -> Self {
        Self { slope: -self.slope / (1.0 + self.slope), ..self }
    }
}

/// A line through the points of several groups, with an intercept for each group.
pub(super) struct Line {
    pub(super) slope: f64,
    /// Standard error of the slope.
    pub(super) error: f64,
    /// Points more than the line has unknowns.
    pub(super) free: usize,
    /// Root of the sum of the squares by which the times of points are off those of their group.
    pub(super) spread: f64,
}

impl Line {
    pub(super) fn through<G: Ord + Copy>(points: &[Late<G>]) -> Option<Self> {
        let mut groups: BTreeMap<G, (f64, f64, f64)> = BTreeMap::new();
        for (group, x, y) in points {
            let (n, xs, ys) = groups.entry(*group).or_default();
            (*n, *xs, *ys) = (*n + 1.0, *xs + x, *ys + y);
        }
        let centred = points.iter().filter_map(|(group, x, y)| {
            let (n, xs, ys) = groups.get(group)?;
            Some((x - xs / n, y - ys / n))
        });
        let centred: Vec<(f64, f64)> = centred.collect();
        let free = points.len().checked_sub(groups.len() + 1).filter(|free| *free > 0)?;
        let sxx: f64 = centred.iter().map(|(x, _)| x * x).sum();
        let slope = centred.iter().map(|(x, y)| x * y).sum::<f64>() / sxx;
        let left: f64 = centred.iter().map(|(x, y)| (y - slope * x).powi(2)).sum();
        (sxx > 0.0).then(|| Self { slope, error: (left / free as f64 / sxx).sqrt(), free, spread: sxx.sqrt() })
    }
}

/// Standard errors within which lines with so many points more than unknowns are, by Student's t: all three that tell a drift in 99 of 100 cases.
pub(super) fn student(free: usize) -> f64 {
    match free {
        0 => f64::INFINITY,
        1..=10 => FEW.get(free - 1).copied().unwrap_or(f64::INFINITY),
        _ => 2.935 + 8.8 / free as f64,
    }
}

/// The same for 1 to 10 points more.
const FEW: [f64; 10] = [190.98, 17.28, 8.58, 6.25, 5.25, 4.70, 4.36, 4.12, 3.95, 3.83];

/// A clock whose drift is known to be less has none.
pub(super) const NO_DRIFT: f64 = 1e-6;

#[cfg(test)]
mod tests {
    use super::*;

    fn said(ppm: f64, error: f64) -> DriftInterval {
        DriftInterval { slope: ppm * 1e-6, error: error * 1e-6 }
    }

    #[test]
    fn first_packets_stand_and_what_contradicts_them_leaves_nothing() {
        let agreed = Drift::of(Some(said(20.0, 0.5)), &[said(20.3, 0.1)]);
        assert!((agreed.slope - 20e-6).abs() < 1e-12 && agreed.known, "{agreed:?}");
        // Packets that are faster the busier the device is.
        let doubtful = Drift::of(Some(said(0.0, 0.1)), &[said(-1.5, 0.2)]);
        assert!(doubtful.slope.abs() < 1e-12 && !doubtful.known && doubtful.contradicted, "{doubtful:?}");
        assert!(doubtful.error.is_some_and(|error| (error * 1e6 - 1.7).abs() < 1e-9), "{doubtful:?}");
        // Few first packets say little; what loads say is within it.
        let loads = Drift::of(Some(said(3.0, 40.0)), &[said(20.0, 0.1), said(20.1, 3.0)]);
        assert!((loads.slope - 20e-6).abs() < 1e-12 && loads.known, "{loads:?}");
        assert!(!Drift::of(Some(said(3.0, 40.0)), &[]).known);
        // A queue that grows is no clock.
        assert_eq!(Drift::of(None, &[said(20_000.0, 3.0)]), Drift::default());
    }

    #[test]
    fn few_points_on_a_line_say_little() {
        let line = |n: u32, off: f64| -> Vec<Late<()>> {
            let late = |k: u32| if k.is_multiple_of(2) { off } else { -off };
            (0..n).map(|k| ((), f64::from(k) * 10.0, f64::from(k) * 2e-4 + late(k))).collect()
        };
        let of = |n: u32, off: f64| DriftInterval::of(&line(n, off), 1e-9).expect("a line");
        assert!(of(3, 1e-5).error > 50.0 * of(12, 1e-5).error);
        assert!((of(12, 1e-5).slope - 20e-6).abs() < of(12, 1e-5).error);
        assert!(DriftInterval::of(&line(2, 0.0), 1e-9).is_none());
        // A load that is slower all along says nothing of the others.
        let slower = |k: u32, (_, x, y): Late<()>| (k / 6, x, y + if k < 6 { 0.0 } else { 1e-3 });
        let groups: Vec<Late<u32>> = line(12, 1e-5).into_iter().zip(0..).map(|(own, k)| slower(k, own)).collect();
        assert!((DriftInterval::of(&groups, 1e-9).expect("a line").slope - 20e-6).abs() < 1e-6);
    }
}
