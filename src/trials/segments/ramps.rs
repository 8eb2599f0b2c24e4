//! Loads that rise or fall all the time. Cut where the rate changes, such a load falls into parts that follow each other without a step:
//! each goes on where the one before ended.

use super::OfferedLoad;
use super::bins::Bins;
use crate::trials::figures::fit::{Line, line};
use crate::trials::limits::{RAMP, SLOPED};

/// A part of the load, and how its rate changes.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Sloped {
    from: usize,
    to: usize,
    /// Frames per second.
    mean: f64,
    /// By how much the rate rises from the beginning to the end, and the standard error of that.
    rise: f64,
    error: f64,
    /// Means of three thirds.
    thirds: [f64; 3],
}

impl Sloped {
    fn of(load: OfferedLoad<'_>, (from, to): (usize, usize)) -> Option<Self> {
        let bins = load.bins(from, to).filter(|bins| bins.counts.len() >= SLICES);
        let Bins { width, counts } = bins.or_else(|| slices(load.times(from, to)).filter(|_| load.sent.is_none()))?;
        let per_second = 1e9 / width as f64;
        let points: Vec<(f64, f64)> = counts.iter().enumerate().map(|(k, n)| (k as f64, n * per_second)).collect();
        let Line { slope, error, .. } = line(&points)?;
        let n = counts.len() as f64;
        let mean = |counts: &[f64]| counts.iter().sum::<f64>() * per_second / counts.len().max(1) as f64;
        let third = counts.len() / 3;
        let (first, others) = counts.split_at_checked(third)?;
        let (middle, last) = others.split_at_checked(others.len() - third)?;
        let thirds = [mean(first), mean(middle), mean(last)];
        // Counts are whole: a rate that stays has an error, too.
        let error = error.max(per_second / n.powi(3).sqrt());
        Some(Self { from, to, mean: mean(&counts), rise: slope * n, error: error * n, thirds })
    }

    /// Whether the rate changes as much within this part as from it to its neighbours.
    fn goes_on(&self, before: Option<f64>, after: Option<f64>) -> bool {
        let steps: Vec<f64> = [before, after].into_iter().flatten().collect();
        let usual = steps.iter().sum::<f64>() / steps.len().max(1) as f64;
        !steps.is_empty()
            && self.rise * usual > 0.0
            && self.rise.abs() >= 0.5 * usual.abs()
            && self.rise.abs() > SLOPED * self.error
    }

    /// Whether this part alone is a ramp: it changes by a quarter, and as much in its second half as in its first.
    fn is_ramp(&self) -> bool {
        let [first, middle, last] = self.thirds;
        let (one, two) = (middle - first, last - middle);
        self.rise.abs() >= RAMP * self.mean
            && self.rise.abs() > 2.0 * SLOPED * self.error
            && one * two > 0.0
            && two.abs() >= 0.5 * one.abs()
            && one.abs() >= 0.5 * two.abs()
    }
}

/// Slices of a part that has few frames.
const SLICES: usize = 6;

fn slices(times: &[i64]) -> Option<Bins> {
    let (first, last) = (*times.first()?, *times.last()?);
    let width = (last - first) / SLICES as i64;
    let mut counts = vec![0.0; SLICES];
    for t in times.iter().filter(|_| width > 0) {
        if let Some(count) = usize::try_from((t - first) / width).ok().and_then(|at| counts.get_mut(at)) {
            *count += 1.0;
        }
    }
    (width > 0).then_some(Bins { width, counts })
}

/// The parts of a load without a silence, and which of them are ramps; parts of one ramp are one.
pub(super) fn ramps(load: OfferedLoad<'_>, parts: Vec<(usize, usize)>) -> Vec<(usize, usize, bool)> {
    let sloped: Vec<Option<Sloped>> = parts.iter().map(|part| Sloped::of(load, *part)).collect();
    let at = |k: usize| sloped.get(k).copied().flatten();
    // The step to the next part.
    let step = |k: usize| Some(at(k + 1)?.mean - at(k)?.mean);
    let mut ramp: Vec<bool> = (0..parts.len())
        .map(|k| {
            at(k).is_some_and(|own| {
                // At the end of a ramp a plateau follows without a step.
                let same = |step: &f64| step * own.rise > 0.0;
                let before = k.checked_sub(1).and_then(step).filter(same);
                own.is_ramp() || own.goes_on(before, step(k).filter(same))
            })
        })
        .collect();
    let mut from = 0;
    while from < parts.len() {
        let sign = |k: usize| step(k).map(f64::signum);
        let to =
            (from + 1..parts.len()).find(|k| sign(*k).is_none() || sign(*k) != sign(from)).unwrap_or(parts.len() - 1);
        let run: Vec<Sloped> = (from..=to).filter_map(at).collect();
        for k in of_one_ramp(&run) {
            if let Some(own) = ramp.get_mut(from + k) {
                *own = true;
            }
        }
        from = to.max(from + 1);
    }
    let mut found: Vec<(usize, usize, bool)> = Vec::new();
    for (k, (from, to)) in parts.iter().copied().enumerate() {
        let own = ramp.get(k) == Some(&true);
        let rises = |k: usize| step(k).is_some_and(|step| step > 0.0);
        let goes_on = k >= 1 && (k < 2 || rises(k - 1) == rises(k - 2));
        match found.last_mut().filter(|last| last.2 && own && goes_on) {
            Some(last) => last.1 = to,
            None => found.push((from, to, own)),
        }
    }
    found
}

/// Of parts that rise, or fall, one after the other: those of a ramp. Rates that change within them as much as from one to the next are
/// those of a ramp, which may begin and end with a plateau.
fn of_one_ramp(run: &[Sloped]) -> std::ops::Range<usize> {
    let steps: Vec<f64> = run.windows(2).filter_map(|two| Some(two.last()?.mean - two.first()?.mean)).collect();
    let (all, within) = (steps.iter().sum::<f64>(), run.iter().map(|own| own.rise).sum::<f64>());
    let error = run.iter().map(|own| own.error.powi(2)).sum::<f64>().sqrt();
    if run.len() < 3 || within * all <= 0.0 || within.abs() < 0.5 * all.abs() || within.abs() <= 2.0 * SLOPED * error {
        return 0..0;
    }
    let usual = all / steps.len().max(1) as f64;
    let is_level = |own: &Sloped| own.rise * usual <= 0.0 || own.rise.abs() + SLOPED * own.error < 0.5 * usual.abs();
    let from = run.iter().take_while(|own| is_level(own)).count();
    let to = run.len() - run.iter().rev().take_while(|own| is_level(own)).count();
    from..to.max(from)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times of a load whose rate goes through these, each for so long.
    fn times(rate: impl Fn(f64) -> f64, seconds: f64) -> Vec<i64> {
        let mut now = 0.0;
        let mut times = Vec::new();
        while now < seconds {
            times.push((now * 1e9) as i64);
            now += 1.0 / rate(now);
        }
        times
    }

    fn kinds(times: &[i64]) -> Vec<(f64, bool)> {
        let sizes = vec![512; times.len()];
        let load = OfferedLoad { times, sizes: &sizes, sent: None };
        let cuts = super::super::Cuts { gap: 500_000_000, least: 500_000_000 };
        let parts = super::super::split::by_rate(load, 0, times.len(), cuts);
        ramps(load, parts).iter().map(|(from, _, ramp)| ((times[*from] as f64 / 1e8).round() / 10.0, *ramp)).collect()
    }

    #[test]
    fn a_load_that_rises_all_the_time_is_one_ramp() {
        assert_eq!(kinds(&times(|t| 100.0 + 70.0 * t, 20.0)), [(0.0, true)]);
        assert_eq!(kinds(&times(|t| 100.0 + 160.0 * t, 5.0)), [(0.0, true)]);
        assert_eq!(kinds(&times(|t| 1_500.0 - 70.0 * t, 20.0)), [(0.0, true)]);
        assert_eq!(kinds(&times(|t| 400.0 + 300.0 * t, 1.2)), [(0.0, true)]);
    }

    #[test]
    fn steps_are_no_ramp() {
        let stairs = times(|t| 500.0 + 50.0 * t.floor(), 16.0);
        assert_eq!(kinds(&stairs).iter().filter(|(_, ramp)| *ramp).count(), 0, "{:?}", kinds(&stairs));
        assert_eq!(kinds(&stairs).len(), 16);
        let steady = times(|_| 900.0, 10.0);
        assert_eq!(kinds(&steady), [(0.0, false)]);
    }

    #[test]
    fn a_ramp_before_a_plateau_is_told_from_it() {
        let found = kinds(&times(|t| (450.0 * t).clamp(50.0, 900.0), 8.0));
        let (last, before) = found.split_last().unwrap();
        assert!(!last.1 && (1.7..2.3).contains(&last.0) && before.iter().all(|(_, ramp)| *ramp), "{found:?}");
    }
}
