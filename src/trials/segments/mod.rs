//! Trials in the load of one direction: silences, runs of one size, plateaus of the rate.

mod bins;
mod given;
mod ramps;
mod split;

pub use given::{GivenTrial, read_given};
pub(crate) use given::{given, given_missed};

use bins::{Bins, calm, median, noise};

use super::limits::{FEWEST, RUN, SIDE};
use super::thinned::between;
use crate::model::trials::Kind;

/// A stretch of the load, as places in the row of its frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stretch {
    pub(crate) kind: Kind,
    /// First frame.
    pub(crate) from: usize,
    /// Behind the last frame.
    pub(crate) to: usize,
    /// Time from which the load is steady.
    pub(crate) steady: i64,
}

/// Thresholds that the user may set, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cuts {
    pub(crate) gap: i64,
    pub(crate) least: i64,
}

/// The load of one direction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OfferedLoad<'l> {
    pub(crate) times: &'l [i64],
    pub(crate) sizes: &'l [u16],
    /// Frames up to each record, where these stand for more than themselves.
    pub(crate) sent: Option<&'l [f64]>,
    /// Of each of these, whether all frames that it stands for have its size.
    pub(crate) alike: Option<&'l [bool]>,
}

impl<'l> OfferedLoad<'l> {
    fn times(self, from: usize, to: usize) -> &'l [i64] {
        self.times.get(from..to).unwrap_or_default()
    }

    /// Frames of some records.
    fn count(self, from: usize, to: usize) -> usize {
        self.sent.map_or(to - from, |sent| between(sent, from, to).round() as usize)
    }

    /// Whether a record stands for frames of its own size alone.
    fn is_alike(self, at: usize) -> bool {
        self.alike.is_none_or(|alike| alike.get(at) == Some(&true))
    }

    fn bins(self, from: usize, to: usize) -> Option<Bins> {
        let times = self.times(from, to);
        match self.sent {
            Some(sent) => {
                let before = between(sent, 0, from);
                Bins::of_sums(times, &sent.get(from..to)?.iter().map(|sum| sum - before).collect::<Vec<f64>>())
            }
            None => Bins::of(times),
        }
    }
}

/// Finds the trials in a row of frames, in order of time.
pub(crate) fn find(load: OfferedLoad<'_>, cuts: Cuts) -> Vec<Stretch> {
    let mut found = Vec::new();
    for (from, to) in silences(load.times, cuts.gap) {
        for (from, to) in runs(load, from, to) {
            for (from, to, ramp) in ramps::ramps(load, split::by_rate(load, from, to, cuts)) {
                let own = stretch(load, from, to, cuts);
                found.push(if ramp && own.kind == Kind::Trial { Stretch { kind: Kind::Ramp, ..own } } else { own });
            }
        }
    }
    found
}

fn stretch(load: OfferedLoad<'_>, from: usize, to: usize, cuts: Cuts) -> Stretch {
    let part = load.times(from, to);
    let (first, last) = (part.first().copied().unwrap_or(0), part.last().copied().unwrap_or(0));
    let kind = if load.count(from, to) < FEWEST {
        Kind::Stray
    } else if last - first < cuts.least {
        Kind::Burst
    } else {
        Kind::Trial
    };
    let steady = if kind == Kind::Trial { steady_from(first, load.bins(from, to), cuts) } else { first };
    Stretch { kind, from, to, steady }
}

/// Cuts at silences.
pub(crate) fn silences(times: &[i64], gap: i64) -> Vec<(usize, usize)> {
    let mut pieces = Vec::new();
    let mut from = 0;
    for (at, pair) in times.windows(2).enumerate() {
        if let [a, b] = pair
            && b - a > gap
        {
            pieces.push((from, at + 1));
            from = at + 1;
        }
    }
    if !times.is_empty() {
        pieces.push((from, times.len()));
    }
    pieces
}

/// Records that a run of one size has at least: one record of a mix that stands for many is none.
const LEAST_RECORDS: usize = 8;

/// A run of frames of one size.
#[derive(Clone, Copy)]
struct SizeRun {
    begin: usize,
    end: usize,
    size: Option<u16>,
}

/// Runs of one size that are long. A few frames of other sizes between two runs of the same one end none.
fn long_runs(load: OfferedLoad<'_>, from: usize, to: usize) -> Vec<SizeRun> {
    let mut runs: Vec<SizeRun> = Vec::new();
    let mut begin = from;
    while begin < to {
        let size = load.sizes.get(begin).copied();
        let other = |at: &usize| load.sizes.get(*at).copied() != size || !load.is_alike(*at);
        let end = (begin + 1..to).find(other).unwrap_or(to);
        if end - begin >= LEAST_RECORDS && load.count(begin, end) >= RUN {
            match runs.last_mut() {
                Some(last) if last.size == size && load.count(last.end, begin) < FEWEST => last.end = end,
                _ => runs.push(SizeRun { begin, end, size }),
            }
        }
        begin = end;
    }
    runs
}

/// Cuts long runs of one size off; what is between them is a mix.
fn runs(load: OfferedLoad<'_>, from: usize, to: usize) -> Vec<(usize, usize)> {
    let mut cuts = vec![from];
    let mut before: Option<u16> = None;
    for SizeRun { begin, end, size } in long_runs(load, from, to) {
        if begin > from && before != size {
            cuts.push(begin);
        }
        if end < to {
            cuts.push(end);
        }
        before = size;
    }
    cuts.push(to);
    cuts.sort_unstable();
    cuts.dedup();
    cuts.windows(2).filter_map(|pair| if let [a, b] = pair { Some((*a, *b)) } else { None }).collect()
}

/// Time from which a trial is steady: a tester's ramp is left out.
fn steady_from(first: i64, bins: Option<Bins>, cuts: Cuts) -> i64 {
    let Some(Bins { width, counts }) = bins else { return first };
    if counts.len() < SIDE {
        return first;
    }
    let calm = calm(width, &counts, cuts.gap);
    let mut quiet: Vec<f64> = counts.iter().zip(&calm).filter(|(_, calm)| **calm).map(|(count, _)| *count).collect();
    if quiet.is_empty() {
        quiet.clone_from(&counts);
    }
    let plateau = median(&mut quiet);
    let near = (0.1 * plateau).max(2.0).max(4.0 * noise(&counts, 1));
    match counts.iter().position(|count| (count - plateau).abs() <= near) {
        None | Some(0) => first,
        Some(k) => first + (k + k.div_ceil(4).max(2)) as i64 * width,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records of a mix that happen to have one size, one after the other, are no run of it: what they stand for has other sizes.
    #[test]
    fn records_that_stand_for_others_make_no_run() {
        let times: Vec<i64> = (0..200).map(|k| k * 1_000_000).collect();
        let sent: Vec<f64> = (1..=200).map(|k| f64::from(k) * 8.0).collect();
        let sizes: Vec<u16> = (0..200).map(|k| if (90..110).contains(&k) { 40 } else { 40 + 36 * (k % 5) }).collect();
        let cuts = |alike: &[bool]| {
            let load = OfferedLoad { times: &times, sizes: &sizes, sent: Some(&sent), alike: Some(alike) };
            runs(load, 0, 200).len()
        };
        assert_eq!(cuts(&[false; 200]), 1);
        assert!(cuts(&[true; 200]) > 1);
    }

    /// A ping amid packets of one size ends no load; a mix does.
    #[test]
    fn a_few_frames_of_another_size_end_no_run() {
        let times: Vec<i64> = (0..400).map(|k| k * 1_000_000).collect();
        let cuts = |others: std::ops::Range<usize>| {
            let size = |k: usize| if others.contains(&k) { 84 + 4 * (k % 3) as u16 } else { 64 };
            let sizes: Vec<u16> = (0..400).map(size).collect();
            runs(OfferedLoad { times: &times, sizes: &sizes, sent: None, alike: None }, 0, 400)
        };
        assert_eq!(cuts(200..201), [(0, 400)]);
        assert_eq!(cuts(200..260).first(), Some(&(0, 200)));
    }
}
