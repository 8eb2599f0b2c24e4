//! A device that still sends what it holds: loads that it joins, and losses that only a full queue explains.

use std::collections::BTreeMap;

use super::super::pair::Span;
use crate::trials::limits::{DRAINED, FEWEST, TAPS_APART};

/// Spans, joined where the device did not fall silent between them: what one load left inside comes out in the next. `came`: times of all
/// packets; `out`: times at a later tap.
pub(crate) fn joined(spans: &[Span], came: &[i64], out: &[i64]) -> Vec<Span> {
    let mut all: Vec<Span> = Vec::with_capacity(spans.len());
    for span in spans {
        match all.last_mut().filter(|last| is_busy(last, span.begin, came, out)) {
            Some(last) => (last.to, last.following) = (span.to, span.following),
            None => all.push(*span),
        }
    }
    all
}

/// Spans, parted at pauses too short to end a load in which the device sent what it held and fell silent at every tap. What one part of the
/// load lost then says nothing of another. `outs`: times at each later tap.
pub(crate) fn at_pauses(spans: &[Span], came: &[i64], outs: &[Vec<i64>]) -> Vec<Span> {
    let mut all: Vec<Span> = Vec::with_capacity(spans.len());
    for span in spans {
        let own = came.get(span.from..span.to).unwrap_or_default();
        let mut gaps: Vec<i64> = own.windows(2).filter_map(|two| Some(two.last()? - two.first()?)).collect();
        gaps.sort_unstable();
        let usual = gaps.get(gaps.len() / 2).copied().unwrap_or(0);
        let drained = |end: i64, next: i64| {
            outs.iter().all(|out| {
                let last = out.partition_point(|t| *t < next).checked_sub(1).and_then(|last| out.get(last));
                last.is_some_and(|last| next - last >= PAUSE_NS / 2 && *last >= end - WAITING_FEW * usual)
            })
        };
        let mut rest = *span;
        for (at, two) in own.windows(2).enumerate() {
            let (Some(end), Some(next)) = (two.first(), two.last()) else { continue };
            let cut = span.from + at + 1;
            let enough = cut - rest.from >= FEWEST && span.to - cut >= FEWEST;
            // A tester that sends in groups pauses behind each.
            let alike = gaps.len() - gaps.partition_point(|gap| *gap * 2 <= next - end);
            if enough
                && alike * RARE_OF <= own.len()
                && next - end > PAUSE_NS.max(PAUSE_OF * usual)
                && drained(*end, *next)
            {
                all.push(Span { to: cut, following: *next, ..rest });
                rest = Span { from: cut, begin: *next, ..rest };
            }
        }
        all.push(rest);
    }
    all
}

/// A shorter silence of a load is no pause, in nanoseconds, nor is one of fewer times its period.
const PAUSE_NS: i64 = 100_000_000;
const PAUSE_OF: i64 = 20;
/// Of so many packets at most one is followed by such a pause: where more are, the tester sends in groups.
const RARE_OF: usize = 64;
/// What left last did so at most as many periods before the load pauses: a device that sent nothing since an earlier time holds what came in
/// after it.
const WAITING_FEW: i64 = 8;

/// Whether the device went on sending at its pace from the end of a span to the begin of the next one.
fn is_busy(span: &Span, next: i64, came: &[i64], out: &[i64]) -> bool {
    let Some(end) = span.to.checked_sub(1).and_then(|last| came.get(last)) else { return false };
    let place = |t: i64| out.partition_point(|own| *own < t);
    let (begin, ended, next) = (place(span.begin), place(*end), place(next));
    let gaps = |from: usize, to: usize| -> Vec<i64> {
        let own = out.get(from..to).unwrap_or_default();
        own.windows(2).filter_map(|two| Some(two.last()? - two.first()?)).collect()
    };
    if next.saturating_sub(ended) < DRAINED || next >= out.len() {
        return false;
    }
    let mut during = gaps(begin.max(ended.saturating_sub(64)), ended);
    if during.len() < DRAINED {
        during = gaps(ended, next);
    }
    during.sort_unstable();
    let usual = during.get(during.len() / 2).copied().unwrap_or(0);
    let longest = gaps(ended.saturating_sub(1), next + 1).into_iter().max().unwrap_or(i64::MAX);
    longest <= usual.saturating_mul(4).saturating_add(1_000_000)
}

/// What a full queue would have let out of all that came.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FullQueue<'q> {
    pub(crate) came: &'q [i64],
    pub(crate) left: &'q [i64],
    /// Lengths of what left.
    pub(crate) sizes: &'q [u16],
    /// Places of the arrivals that left, in order.
    pub(crate) chosen: &'q [usize],
}

impl FullQueue<'_> {
    /// Whether a full queue explains which arrivals of a part were lost: it drops while it is full, and what waits in it leaves at the pace
    /// of the device, without a hole where a packet was lost.
    pub(crate) fn explains(&self, (from, to): (usize, usize)) -> bool {
        // How many were inside when each lost one came.
        let (mut gone, mut next) = (0, 0);
        let mut inside: Vec<usize> = Vec::new();
        for (at, t) in self.came.iter().enumerate().take(to) {
            while self.left.get(gone).is_some_and(|d| d <= t) {
                gone += 1;
            }
            if self.chosen.get(next) == Some(&at) {
                next += 1;
            } else if at >= from {
                inside.push(next.saturating_sub(gone));
            }
        }
        let lost = inside.len();
        let room = inside.iter().copied().max().unwrap_or(0);
        let not_full = inside.iter().filter(|own| **own + 1 < room).count();
        not_full <= 2.max(lost / 5) && self.holes((from, to)) * 4 <= lost.max((to - from) / 200)
    }

    /// The same by time alone, where no full queue explains the losses: of each part the first arrivals, as many as left from its begin until
    /// that of the next one. Counts of parts are right but for what was inside then; which packets left is open.
    pub(crate) fn by_time(&self, parts: &[(usize, usize)]) -> Option<Vec<usize>> {
        let late = |(at, d): (&usize, &i64)| Some(d - self.came.get(*at)?);
        let least = self.chosen.iter().zip(self.left).filter_map(late).min()?.max(0);
        let mut chosen = Vec::with_capacity(self.left.len());
        for (k, (from, to)) in parts.iter().enumerate() {
            let next = parts.get(k + 1).and_then(|(next, _)| self.came.get(*next));
            let until = next.map_or(self.left.len(), |next| self.left.partition_point(|d| *d < next + least));
            // What finds no room among the arrivals of its part is of the next one.
            let own = until.saturating_sub(chosen.len()).min(to - from);
            chosen.extend(*from..from + own);
        }
        (chosen.len() == self.left.len()).then_some(chosen)
    }

    /// Departures of packets of a part that waited, and that come far later after the one before than those of their size do on average.
    fn holes(&self, (from, to): (usize, usize)) -> usize {
        let late = |j: usize| Some(self.left.get(j)? - self.came.get(*self.chosen.get(j)?)?);
        let least = (0..self.left.len()).filter_map(late).min().unwrap_or(0);
        let (first, last) = (self.chosen.partition_point(|at| *at < from), self.chosen.partition_point(|at| *at < to));
        let time = |j: usize| self.left.get(j).copied().unwrap_or(0);
        let mut paces: Vec<i64> = (first + 1..last).map(|j| time(j) - time(j - 1)).collect();
        paces.sort_unstable();
        let pace = paces.get(paces.len() / 2).copied().unwrap_or(0);
        if let Some(holes) = self.between_batches((first, last)) {
            return holes;
        }
        // Behind others in the queue: the device was busy until then.
        let waited = |j: &usize| late(*j).is_some_and(|late| late - least > pace);
        let gap = |j: usize| (self.sizes.get(j).copied().unwrap_or(0), time(j) - time(j - 1));
        let gaps: Vec<(u16, i64)> = (first.max(1)..last).filter(waited).map(gap).collect();
        let mut sums: BTreeMap<u16, (i64, i64)> = BTreeMap::new();
        for (size, gap) in &gaps {
            let own = sums.entry(*size).or_default();
            *own = (own.0 + gap, own.1 + 1);
        }
        let most = |size: u16| {
            sums.get(&size).map_or(i64::MAX, |(sum, n)| (1.5 * *sum as f64 / *n as f64) as i64 + TAPS_APART)
        };
        gaps.iter().filter(|(size, gap)| *gap > most(*size)).count()
    }
}

impl FullQueue<'_> {
    /// The same of a device that sends what is done all at once, from time to time: holes between its batches. `None` where it does not.
    fn between_batches(&self, (first, last): (usize, usize)) -> Option<usize> {
        let (left, sizes) = (self.left.get(first..last)?, self.sizes.get(first..last)?);
        let mean = (left.last()? - left.first()?) / (left.len() as i64 - 1).max(1);
        let begins: Vec<i64> = left
            .windows(2)
            .filter_map(|two| two.last().zip(two.first()))
            .filter(|(d, before)| **d - **before >= mean / CLOSE)
            .map(|(d, _)| *d)
            .collect();
        if sizes.iter().any(|size| sizes.first() != Some(size)) || begins.len() * 4 > left.len() * 3 {
            return None;
        }
        let apart: Vec<i64> = begins.windows(2).filter_map(|two| Some(two.last()? - two.first()?)).collect();
        let most = apart.iter().sum::<i64>() * 3 / (2 * apart.len() as i64).max(1) + TAPS_APART;
        Some(apart.iter().filter(|apart| **apart > most).count())
    }
}

/// Packets of one batch are closer than this part of what packets are on average.
const CLOSE: i64 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    /// A first-in-first-out device that holds at most `room` packets: which left, and when.
    fn served(came: &[i64], room: usize, service: i64) -> (Vec<usize>, Vec<i64>) {
        let (mut chosen, mut left): (Vec<usize>, Vec<i64>) = (Vec::new(), Vec::new());
        for (at, t) in came.iter().enumerate() {
            if left.iter().filter(|d| *d > t).count() < room {
                chosen.push(at);
                left.push((*t).max(left.last().copied().unwrap_or(0)) + service);
            }
        }
        (chosen, left)
    }

    #[test]
    fn a_queue_that_is_full_leaves_no_holes() {
        let came: Vec<i64> = (0..2_000).map(|i| i * 1_000_000 + i * i % 7 * 100_000).collect();
        let (chosen, left) = served(&came, 20, 1_250_000);
        let sizes = vec![512; left.len()];
        let queue = FullQueue { came: &came, left: &left, sizes: &sizes, chosen: &chosen };
        assert!(left.len() < came.len() && queue.explains((0, 2_000)) && queue.explains((500, 900)));
    }

    #[test]
    fn packets_that_are_lost_one_by_one_leave_holes() {
        let came: Vec<i64> = (0..2_000).map(|i| i * 1_000_000 + i * i % 7 * 100_000).collect();
        let kept: Vec<usize> = (0..2_000).filter(|i| i % 50 != 7).collect();
        let left: Vec<i64> = kept.iter().map(|i| came[*i] + 5_300_000 + (*i as i64 * 13) % 5 * 60_000).collect();
        // As a queue with room for six packets would have it.
        let chosen = super::super::tail_drop::tail_drop(&came, &left, 0).chosen;
        let sizes = vec![512; left.len()];
        let queue = FullQueue { came: &came, left: &left, sizes: &sizes, chosen: &chosen };
        assert!(!queue.explains((0, 2_000)) && !queue.explains((500, 900)));
    }

    #[test]
    fn a_queue_that_drains_into_the_next_load_joins_both() {
        let load = |at: i64, n: i64| (0..n).map(move |i| (at + i) * 1_000_000);
        let came: Vec<i64> = load(0, 1_000).chain(load(1_800, 1_000)).collect();
        let span = |from: usize, to: usize, following: i64| Span { from, to, begin: came[from], following };
        let spans = [span(0, 1_000, came[1_000]), span(1_000, 2_000, i64::MAX)];
        let joins = |service: i64| joined(&spans, &came, &served(&came, 5_000, service).1).len() == 1;
        assert!(joins(2_000_000) && !joins(1_500_000) && !joins(900_000));
    }
}
