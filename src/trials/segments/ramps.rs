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
        let load = OfferedLoad { times, sizes: &sizes, sent: None, alike: None };
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
    fn another_load_after_a_short_pause_is_another_one() {
        for (first, second) in [(1_400.0, 700.0), (700.0, 1_400.0), (900.0, 1_000.0), (3_000.0, 300.0)] {
            for pause in [0, 100, 200, 300, 400] {
                let mut both = times(|_| first, 1.2);
                both.extend(times(|_| second, 1.2).iter().map(|t| t + 1_200_000_000 + pause * 1_000_000));
                let begin = 1.2 + pause as f64 / 1e3;
                assert_eq!(kinds(&both), [(0.0, false), (begin, false)], "{first} {second} {pause} ms");
            }
        }
    }

    /// Loads of other rates one after the other, with pauses too short to end a trial: each is found, with its frames.
    #[test]
    fn loads_in_a_row_are_told_apart() {
        let mut ramped = 0;
        for seed in 1..=300_u64 {
            let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mut random = |most: f64| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 11) as f64 / (1_u64 << 53) as f64 * most
            };
            let (mut all, mut begins, mut now, mut rate) = (Vec::new(), Vec::new(), 0.0, 0.0);
            let jitter = random(0.8);
            for _ in 0..2 + random(4.0) as usize {
                let before: f64 = rate;
                while (rate - before).abs() <= 0.1 * rate.max(before) {
                    rate = 100.0 * 50.0_f64.powf(random(1.0));
                }
                begins.push(all.len());
                let n = (rate * (1.5 + random(4.0))) as usize;
                all.extend((0..n).map(|k| ((now + (k as f64 + random(jitter)) / rate) * 1e9) as i64));
                now += n as f64 / rate + if random(1.0) < 0.3 { 0.0 } else { random(0.45) };
            }
            let sizes = vec![512; all.len()];
            let load = OfferedLoad { times: &all, sizes: &sizes, sent: None, alike: None };
            let cuts = super::super::Cuts { gap: 500_000_000, least: 500_000_000 };
            let found = ramps(load, super::super::split::by_rate(load, 0, all.len(), cuts));
            // What is called a ramp has no figures: that is no wrong answer, but it must be rare.
            ramped += usize::from(found.iter().any(|own| own.2));
            begins.push(all.len());
            let is_load = |from: usize, to: usize| {
                begins.windows(2).any(|own| own[0].abs_diff(from) <= 40 && own[1].abs_diff(to) <= 40)
            };
            for (from, to, _) in found.iter().filter(|own| !own.2) {
                assert!(is_load(*from, *to), "{seed}: jitter {jitter:.2} {begins:?} {found:?}");
            }
        }
        assert!(ramped <= 3, "{ramped}");
    }

    #[test]
    fn a_pause_in_one_load_is_none_between_two() {
        for pause in [20, 100, 200, 300, 400] {
            let mut both = times(|_| 1_000.0, 1.2);
            both.extend(times(|_| 1_000.0, 1.5).iter().map(|t| t + 1_200_000_000 + pause * 1_000_000));
            assert_eq!(kinds(&both), [(0.0, false)], "{pause} ms");
        }
    }

    /// Bins hold two groups or three: four bins always hold as many, two parts of an odd number of bins do not.
    #[test]
    fn groups_of_packets_are_one_load() {
        for (rate, group) in [(200, 8), (250, 8), (1_000, 32), (700, 64), (333, 16)] {
            for tenths in 10..40 {
                let n = rate * tenths / 10 / group * group;
                let times: Vec<i64> =
                    (0..n).map(|k| (k - k % group) * 1_000_000_000 / rate + k % group * 6_000).collect();
                assert_eq!(kinds(&times).len(), 1, "{rate} {group} {tenths}: {:?}", kinds(&times));
            }
        }
    }

    #[test]
    fn a_ramp_between_two_loads_belongs_to_the_second() {
        for (first, second) in [(500.0, 1_000.0), (1_000.0, 500.0), (400.0, 2_000.0)] {
            for ramp in [0.1, 0.4, 0.7, 0.9] {
                let load = times(|t| first + (second - first) * ((t - 5.0) / ramp).clamp(0.0, 1.0), 10.0 + ramp);
                let found = kinds(&load);
                let level: Vec<f64> = found.iter().filter(|(_, ramp)| !*ramp).map(|(begin, _)| *begin).collect();
                let [one, other] = level[..] else { panic!("{first} {second} {ramp}: {found:?}") };
                assert!(one < 0.1 && (4.9..5.5 + ramp).contains(&other), "{first} {second} {ramp}: {found:?}");
            }
        }
    }

    #[test]
    fn a_ramp_before_a_plateau_is_told_from_it() {
        let found = kinds(&times(|t| (450.0 * t).clamp(50.0, 900.0), 8.0));
        let (last, before) = found.split_last().unwrap();
        assert!(!last.1 && (1.7..2.3).contains(&last.0) && before.iter().all(|(_, ramp)| *ramp), "{found:?}");
    }
}
