//! Loads that follow each other without a silence: binary segmentation of the rate.

use super::bins::{Bins, calm, median, noise_of_means};
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
    /// Packets that come together on average.
    clump: f64,
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
            // A group more or less at a border is no other rate, however regular the groups are.
            if (x - y).abs() <= self.clump * (1.0 / n as f64 + 1.0 / m as f64) {
                continue;
            }
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

/// Packets of a group on average: those that are far closer to each other than packets are on average.
fn clump(times: &[i64]) -> f64 {
    let length = times.last().zip(times.first()).map_or(0, |(last, first)| last - first);
    let apart = length / 4 / (times.len() as i64 - 1).max(1);
    let groups = times.windows(2).filter(|two| two.last().zip(two.first()).is_some_and(|(b, a)| b - a >= apart));
    times.len() as f64 / (groups.count() + 1) as f64
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
    let clump = if load.sent.is_some() { 1.0 } else { clump(part) };
    let mut sums = Sums { counts: vec![0.0], calm: vec![0], wander, least, clump };
    let (mut sum, mut n) = (0.0, 0);
    for (count, calm) in counts.iter().zip(&calm) {
        if *calm {
            sum += count;
            n += 1;
        }
        sums.counts.push(sum);
        sums.calm.push(n);
    }
    let mut borders = Vec::new();
    sums.split(0, counts.len(), &mut borders);
    let plateaus = Plateaus { width, counts: &counts, calm: &calm, noise: wander };
    let mut parts = Vec::new();
    let mut begin = from;
    for transition in plateaus.transitions(&plateaus.without_ramps(&borders)) {
        let at = from + transition.begin(part, width, load.sent.is_none());
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

/// Bins in which one load ends and another begins.
#[derive(Clone, Copy, Debug)]
struct Transition {
    low: usize,
    high: usize,
    /// Frames per bin before and after.
    levels: (f64, f64),
}

impl Transition {
    /// The first frame of the second load. `all`: each time is that of one frame.
    fn begin(self, part: &[i64], width: i64, all: bool) -> usize {
        let first = part.first().copied().unwrap_or(0);
        let place = |bin: usize| part.partition_point(|t| *t < first.saturating_add(bin as i64 * width));
        // Behind the pause between them, if there is one.
        let (low, high) = (place(self.low), place(self.high));
        let pauses = part.get(low.saturating_sub(1)..(high + 1).min(part.len())).unwrap_or_default().windows(2);
        let pause = pauses.map(|two| two.last().zip(two.first()).map_or(0, |(b, a)| b - a)).enumerate();
        match pause.max_by_key(|(_, pause)| *pause).filter(|(_, pause)| *pause >= width) {
            Some((at, _)) => low.saturating_sub(1) + at + 1,
            None if all => {
                let around = (place(self.low.saturating_sub(SIDE)), place(self.high + SIDE));
                self.likeliest(part, around, width)
            }
            None => low,
        }
    }

    /// Where frames that come at random at the rates of both loads change most likely from the one to the other.
    fn likeliest(self, part: &[i64], (from, to): (usize, usize), width: i64) -> usize {
        let begin = part.get(from).copied().unwrap_or(0);
        let (x, y) = (self.levels.0.max(0.5), self.levels.1.max(0.5));
        let likelihood = |at: usize| {
            let bins = (part.get(at).copied().unwrap_or(begin) - begin) as f64 / width as f64;
            (at - from) as f64 * (x / y).ln() - (x - y) * bins
        };
        (from..to).max_by(|a, b| likelihood(*a).total_cmp(&likelihood(*b))).unwrap_or(from)
    }
}

/// The levels between borders.
struct Plateaus<'b> {
    width: i64,
    counts: &'b [f64],
    calm: &'b [bool],
    noise: f64,
}

impl Plateaus<'_> {
    fn bins(&self, (from, to): (usize, usize)) -> &[f64] {
        self.counts.get(from..to).unwrap_or_default()
    }

    /// Whether a part is short and rises or falls.
    fn is_ramp(&self, (from, to): (usize, usize)) -> bool {
        let third = ((to - from) / 3).max(1);
        let sum = |from: usize, to: usize| self.bins((from, to)).iter().sum::<f64>();
        let (x, y) = (sum(from, from + third), sum(to - third, to));
        (to - from) as i64 * self.width < RAMP_NS && (x - y).abs() > x.max(y) / 4.0
    }

    /// The level that most bins of a part have, how far they may be off, and how many have it.
    fn level(&self, part: (usize, usize)) -> (f64, f64, usize) {
        let bins = self.bins(part);
        let middle = median(&mut bins.to_vec());
        let near = (0.1 * middle).max(2.0).max(4.0 * self.noise);
        let (sum, n) =
            bins.iter().filter(|own| (**own - middle).abs() <= near).fold((0.0, 0), |(s, n), b| (s + b, n + 1));
        (sum / f64::from(n).max(1.0), near, n as usize)
    }

    /// Whether two parts have the same level, but for a few bins: those of a ramp that a short part ends or begins with.
    fn is_same(&self, one: (usize, usize), other: (usize, usize)) -> bool {
        let is_short = [one, other].iter().any(|(from, to)| ((to - from) as i64) * self.width < RAMP_NS);
        let ((x, _, n), (y, _, m)) = (self.level(one), self.level(other));
        let chance = SCORE * self.noise * (1.0 / n.max(1) as f64 + 1.0 / m.max(1) as f64).sqrt();
        is_short && (x - y).abs() <= chance.max(LEVELS * x.max(y))
    }

    /// Borders without those of short parts that rise or fall: such a part belongs to the one that follows, of which it is the tester's
    /// ramp; and to the one before where nothing follows, or the same rate.
    fn without_ramps(&self, borders: &[usize]) -> Vec<(usize, usize)> {
        let edges: Vec<usize> = std::iter::once(0).chain(borders.iter().copied()).chain([self.counts.len()]).collect();
        let mut parts: Vec<(usize, usize)> = Vec::new();
        let mut ramp = None;
        for part in edges.windows(2).filter_map(|two| Some((*two.first()?, *two.last()?))) {
            if self.is_ramp(part) {
                ramp.get_or_insert(part.0);
                continue;
            }
            let begin = ramp.take().unwrap_or(part.0);
            match parts.last_mut().filter(|last| self.is_same(**last, part)) {
                Some(last) => last.1 = part.1,
                None => parts.push((begin, part.1)),
            }
        }
        if let Some(begin) = ramp {
            match parts.last_mut() {
                Some(last) => last.1 = self.counts.len(),
                None => parts.push((begin, self.counts.len())),
            }
        }
        parts
    }

    /// In which bins each of some parts ends and the next begins: from the last bin of the level of the one to the first of the
    /// other, over bins of a pause that were not counted.
    fn transitions(&self, parts: &[(usize, usize)]) -> Vec<Transition> {
        let neighbours = parts.windows(2).filter_map(|two| Some((*two.first()?, *two.last()?)));
        let bounds = neighbours.map(|(one, other)| {
            let ((x, near_x, _), (y, near_y, _)) = (self.level(one), self.level(other));
            let is_on =
                |bins: &[f64], level: f64, near: f64| bins.iter().map(|own| (own - level).abs() <= near).collect();
            let before: Vec<bool> = is_on(self.bins(one), x, near_x);
            let behind: Vec<bool> = is_on(self.bins(other), y, near_y);
            let low = one.0 + before.iter().rposition(|on| *on).map_or(before.len(), |last| last + 1);
            let high = other.0 + behind.iter().position(|on| *on).unwrap_or(0);
            let is_odd = |bin: &usize| self.calm.get(*bin) == Some(&false);
            let odd_before = (one.0..one.1).rev().take_while(is_odd).count();
            let odd_behind = (other.0..other.1).take_while(is_odd).count();
            Transition { low: low.min(one.1 - odd_before), high: high.max(other.0 + odd_behind), levels: (x, y) }
        });
        bounds.collect()
    }
}
