//! Loads that follow each other without a silence: binary segmentation of the rate.

use super::bins::{Bins, calm, noise_of_means};
use super::{Cuts, OfferedLoad};
use crate::trials::limits::{FEWEST, LEVELS, RAMP_NS, SCORE, SIDE};

/// Sums over calm bins before each border.
struct Sums {
    counts: Vec<f64>,
    calm: Vec<usize>,
    /// Noise of one bin.
    wander: f64,
    /// Bins of a side, at least.
    least: usize,
}

impl Sums {
    /// Mean of the calm bins between two borders, and how many they are.
    fn mean(&self, from: usize, to: usize) -> Option<(f64, usize)> {
        let n = self.calm.get(to)? - self.calm.get(from)?;
        let sum = self.counts.get(to)? - self.counts.get(from)?;
        (n >= SIDE).then(|| (sum / n as f64, n))
    }

    /// Cuts between two borders where the levels differ most.
    fn split(&self, from: usize, to: usize, cuts: &mut Vec<usize>) {
        let mut best: Option<(f64, usize, f64)> = None;
        for at in from + self.least..=to.saturating_sub(self.least) {
            let (Some((x, n)), Some((y, m))) = (self.mean(from, at), self.mean(at, to)) else { continue };
            let score = (x - y).abs() / (self.wander * (1.0 / n as f64 + 1.0 / m as f64).sqrt());
            if best.is_none_or(|(most, _, _)| score > most) {
                best = Some((score, at, (x - y).abs() / x.max(y)));
            }
        }
        if let Some((score, at, levels)) = best
            && score > SCORE
            && levels > LEVELS
        {
            self.split(from, at, cuts);
            cuts.push(at);
            self.split(at, to, cuts);
        }
    }
}

/// Cuts where the rate changes. Each part is looked at again with the bins of its own rate: those of the whole are too wide for loads
/// that follow much lower ones.
pub(super) fn by_rate(load: OfferedLoad<'_>, from: usize, to: usize, cuts: Cuts) -> Vec<(usize, usize)> {
    let width = |from: usize, to: usize| load.bins(from, to).map(|bins| bins.width);
    let mut done = Vec::new();
    let mut open = vec![(from, to, width(from, to))];
    while let Some((from, to, whole)) = open.pop() {
        let parts = once(load, from, to, cuts);
        for (a, b) in parts.iter().rev() {
            let own = width(*a, *b);
            if parts.len() > 1 && own < whole { open.push((*a, *b, own)) } else { done.push((*a, *b)) }
        }
    }
    done.sort_unstable();
    done
}

/// Cuts with bins of one width.
fn once(load: OfferedLoad<'_>, from: usize, to: usize, cuts: Cuts) -> Vec<(usize, usize)> {
    let part = load.times(from, to);
    let whole = vec![(from, to)];
    if load.count(from, to) < FEWEST {
        return whole;
    }
    let Some(Bins { width, counts }) = load.bins(from, to) else { return whole };
    let least =
        SIDE.max(usize::try_from(cuts.least.div_euclid(width) + i64::from(cuts.least % width > 0)).unwrap_or(SIDE));
    if counts.len() < 2 * least {
        return whole;
    }
    let calm = calm(width, &counts, cuts.gap);
    let wander = noise_of_means(&counts);
    let mut sums = Sums { counts: vec![0.0], calm: vec![0], wander, least };
    let (mut sum, mut n) = (0.0, 0);
    for (count, calm) in counts.iter().zip(calm) {
        if calm {
            sum += count;
            n += 1;
        }
        sums.counts.push(sum);
        sums.calm.push(n);
    }
    let mut borders = Vec::new();
    sums.split(0, counts.len(), &mut borders);
    let first = part.first().copied().unwrap_or(0);
    let mut parts = Vec::new();
    let mut begin = from;
    for border in without_ramps(width, &counts, &borders) {
        let edge = first + border as i64 * width;
        let at = from + part.partition_point(|t| *t < edge);
        if at > begin {
            parts.push((begin, at));
            begin = at;
        }
    }
    if begin < to {
        parts.push((begin, to));
    }
    parts
}

/// Borders without those of short parts that rise or fall: these belong to their neighbours.
fn without_ramps(width: i64, counts: &[f64], borders: &[usize]) -> Vec<usize> {
    let edges: Vec<usize> = std::iter::once(0).chain(borders.iter().copied()).chain([counts.len()]).collect();
    let flat: Vec<bool> = edges
        .windows(2)
        .map(|pair| {
            let [a, b] = pair else { return true };
            let third = ((b - a) / 3).max(1);
            let sum = |from: usize, to: usize| counts.get(from..to).unwrap_or_default().iter().sum::<f64>();
            let (x, y) = (sum(*a, a + third), sum(b - third, *b));
            (x - y).abs() <= x.max(y) / 4.0 || (b - a) as i64 * width >= RAMP_NS
        })
        .collect();
    let kept = borders.iter().zip(flat.windows(2)).filter(|(_, pair)| pair.iter().all(|flat| *flat));
    kept.map(|(border, _)| *border).collect()
}
