//! The packets of one load and what came out of it: which of them that is.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::super::pair::{AskedLengths, Span};
use super::super::row::Sighted;
use super::busy::FullQueue;
use super::idle::{Idle, IdleKey, OnTheWay};
use super::tail_drop::{LetThrough, Paced, by_length, paced, subset, tail_drop, within_drifted, within_latency};
use crate::model::trials::Basis;
use crate::trials::limits::{MAX_CELLS, TAPS_APART};
use crate::trials::read::tap::Outer;

/// The packets of one span, or one flow of them, and the frames that left while they were on their way.
#[derive(Clone)]
pub(in crate::trials::association) struct Leaving<'r, 'f> {
    pub(in crate::trials::association) span: Span,
    /// Times at which packets came in.
    pub(in crate::trials::association) came: Cow<'r, [i64]>,
    /// Their places in the span where they are those of one flow, or where packets beside the load are among them; all of them where there
    /// is none.
    pub(in crate::trials::association) spots: Vec<usize>,
    /// Their flows, where the tap shows them as well; empty where it does not.
    pub(in crate::trials::association) flows: Cow<'r, [u16]>,
    pub(in crate::trials::association) asked: AskedLengths,
    /// Frames and their times.
    pub(in crate::trials::association) left: Vec<(&'f Sighted, i64)>,
    /// When packets passed the tap before, and which.
    pub(in crate::trials::association) wire: Vec<(i64, usize)>,
    /// Loads of one rate, as places in the row.
    pub(in crate::trials::association) parts: &'r [(usize, usize)],
    /// Whether packets seem to leave before any came.
    pub(in crate::trials::association) early: bool,
}

/// Which packets of a span the frames are.
pub(in crate::trials::association) struct Assigned<'f> {
    /// Places in the span, and their frames.
    pub(in crate::trials::association) chosen: Vec<(usize, &'f Sighted)>,
    pub(in crate::trials::association) basis: Basis,
    /// Packets for which others fit as well, as places in the row.
    pub(in crate::trials::association) unclear: Vec<(usize, usize)>,
    /// Whether a full queue may have chosen them.
    pub(in crate::trials::association) queued: bool,
    /// Whether that not all came out leaves open which did, but for a rule.
    pub(in crate::trials::association) guessed: bool,
    /// Whether with room for one packet less in the queue others left.
    pub(in crate::trials::association) doubtful: bool,
    /// Whether a packet would have become one of another flow.
    pub(in crate::trials::association) crossed: bool,
    /// Frames of packets that the first tap missed, as its gaps show.
    pub(in crate::trials::association) missed: u64,
}

impl<'f> Assigned<'f> {
    /// Packets that are known.
    const fn known(chosen: Vec<(usize, &'f Sighted)>, basis: Basis) -> Self {
        Self {
            chosen,
            basis,
            unclear: Vec::new(),
            queued: false,
            guessed: false,
            doubtful: false,
            crossed: false,
            missed: 0,
        }
    }
}

/// How it is known which packets came out where not all did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fewer {
    /// By their latency.
    Told,
    /// If a full queue dropped the others.
    Queued,
    /// The same, and with room for one packet less others.
    Doubtful,
    /// Others may have.
    Open,
}

/// Of so many packets one may contradict the times of the taps.
const CONTRADICTED_OF: usize = 1_000;

impl<'f> Leaving<'_, 'f> {
    pub(super) fn idle_key(&self) -> IdleKey<'_> {
        (self.asked.made.as_slice(), self.flows.first().copied().filter(|_| !self.spots.is_empty()))
    }

    /// When packets passed the tap before, where all did, in the order in which they came: the queue that they wait in is behind it.
    pub(in crate::trials::association) fn waits(&self) -> Option<Vec<i64>> {
        let in_order = self.wire.len() == self.came.len() && self.wire.iter().enumerate().all(|(at, (_, i))| at == *i);
        (in_order && !self.wire.is_empty()).then(|| self.wire.iter().map(|(t, _)| *t).collect())
    }

    /// The place of a packet beside the load, which has none.
    pub(in crate::trials::association) const BESIDE: usize = usize::MAX;

    /// The place in the span of a packet.
    fn spot(&self, i: usize) -> usize {
        if self.spots.is_empty() { i } else { self.spots.get(i).copied().unwrap_or(Self::BESIDE) }
    }

    /// The same of each flow alone: a flow keeps its order, and one may overtake another.
    pub(in crate::trials::association) fn by_flow(&self) -> Vec<Self> {
        let mut spots: BTreeMap<u16, Vec<usize>> = BTreeMap::new();
        for (i, flow) in self.flows.iter().enumerate() {
            spots.entry(*flow).or_default().push(i);
        }
        let of = |(flow, spots): (u16, Vec<usize>)| Self {
            span: self.span,
            came: spots.iter().filter_map(|i| self.came.get(*i).copied()).collect(),
            flows: vec![flow; spots.len()].into(),
            asked: self.asked.some(&spots),
            left: self.left.iter().filter(|(frame, _)| frame.stream == flow).copied().collect(),
            wire: Vec::new(),
            parts: self.parts,
            early: self.early,
            spots,
        };
        spots.into_iter().map(of).collect()
    }

    /// Which of the packets came out.
    pub(in crate::trials::association) fn assign(
        &self,
        idle: &Idle<'_>,
        records: &[Outer],
        tunnel: bool,
        slack: i64,
    ) -> Assigned<'f> {
        let mut assigned = self.assign_here(idle, records, tunnel, slack);
        let is_other = |(i, frame): &(usize, &Sighted)| self.flows.get(*i).is_some_and(|flow| *flow != frame.stream);
        assigned.crossed = assigned.chosen.iter().any(is_other);
        assigned.chosen.iter_mut().for_each(|(i, _)| *i = self.spot(*i));
        assigned
    }

    fn assign_here(&self, idle: &Idle<'_>, records: &[Outer], tunnel: bool, slack: i64) -> Assigned<'f> {
        if self.left.is_empty() {
            return Assigned::known(Vec::new(), Basis::None);
        }
        let [way, hop] = [&idle.way, &idle.hop].map(|idle| idle.get(&self.idle_key()).copied());
        let basis = if self.left.len() >= self.came.len() { Basis::Order } else { Basis::TailDrop };
        if let Some(chosen) = self.through(hop, slack) {
            return Assigned::known(chosen, basis);
        }
        let whole = |left: &[usize]| -> Vec<(i64, Option<&'f Sighted>)> {
            left.iter().filter_map(|at| self.left.get(*at)).map(|(frame, t)| (*t, Some(*frame))).collect()
        };
        if self.left.len() >= self.came.len() {
            let all: Vec<usize> = (0..self.came.len()).collect();
            let times: Vec<i64> = self.left.iter().map(|(_, t)| *t).collect();
            // Of more frames than packets it is not known which ones are others'.
            let more = self.left.len() > self.came.len();
            let least = way.map(|way| way.least);
            let met = if more { subset(&self.came, &times, least, slack) } else { None };
            let row = whole(met.as_deref().unwrap_or(&all));
            let mut assigned = Assigned::known(self.settle(&all, &row), basis);
            match met {
                Some(met) => assigned.missed = self.missed(&times, &met),
                None if more => assigned.unclear = self.whole(),
                None => {}
            }
            return assigned;
        }
        if let Some(seen) = self.of_lengths_seen() {
            let all: Vec<usize> = (0..self.left.len()).collect();
            return Assigned::known(self.settle(&seen, &whole(&all)), Basis::Order);
        }
        let row = self.with_missing(records, tunnel);
        let mut times: Vec<i64> = row.iter().map(|(t, _)| *t).collect();
        times.sort_unstable();
        if times.len() == self.came.len() {
            let all: Vec<usize> = (0..self.came.len()).collect();
            return Assigned::known(self.settle(&all, &row), basis);
        }
        let (chosen, known) = self.of_fewer(&times, [way, hop], slack);
        let chosen = self.by_lengths(chosen, &row);
        // Losses that no full queue explains leave open which packets came out.
        let queued = matches!(known, Fewer::Queued | Fewer::Doubtful);
        let doubtful = known == Fewer::Doubtful;
        let (chosen, unclear) = match known {
            Fewer::Told => (chosen, Vec::new()),
            Fewer::Open => (chosen, self.whole()),
            Fewer::Queued | Fewer::Doubtful => self.explained(&times, &self.sizes(&row), chosen),
        };
        let chosen = Self::shown(&chosen, &row);
        Assigned { chosen, basis, unclear, queued, guessed: true, doubtful, crossed: false, missed: 0 }
    }

    /// The packets whose lengths come out at all, where as many of them came as left: of the other lengths each packet was lost.
    fn of_lengths_seen(&self) -> Option<Vec<usize>> {
        let mut seen: Vec<u16> = self.left.iter().map(|(frame, _)| self.asked.told(frame)).collect();
        seen.sort_unstable();
        seen.dedup();
        let is_seen = |i: &usize| self.asked.lengths.get(*i).is_some_and(|own| seen.binary_search(own).is_ok());
        let own: Vec<usize> = (0..self.came.len()).filter(is_seen).collect();
        (own.len() == self.left.len()).then_some(own)
    }

    /// All packets of the span.
    pub(in crate::trials::association) fn whole(&self) -> Vec<(usize, usize)> {
        vec![(self.span.from, self.span.to)]
    }

    /// What a full queue explains of the losses, and of which packets it does not.
    fn explained(&self, left: &[i64], sizes: &[u16], chosen: Vec<usize>) -> (Vec<usize>, Vec<(usize, usize)>) {
        let waits = self.waits();
        let came = waits.as_deref().unwrap_or(&self.came);
        let queue = FullQueue { came, left, sizes, chosen: &chosen };
        let Span { from: begin, to: end, .. } = self.span;
        let own = self.parts.iter().filter(|(from, to)| *from < end && begin < *to);
        let place = |at: usize| {
            let behind = |spot: &usize| *spot != Self::BESIDE && *spot >= at;
            if self.spots.is_empty() { at } else { self.spots.iter().position(behind).unwrap_or(self.spots.len()) }
        };
        let parts: Vec<(usize, usize)> =
            own.map(|(from, to)| (place(from.max(&begin) - begin), place(to.min(&end) - begin))).collect();
        if parts.iter().all(|part| queue.explains(*part)) {
            return (chosen, Vec::new());
        }
        let by_time = if parts.len() > 1 { queue.by_time(&parts) } else { None };
        (by_time.unwrap_or(chosen), self.whole())
    }

    /// How many frames that are no packet's left when packets of the load should have that came in where the first tap shows a gap. 0 where
    /// others are among them. `met`: the frames that are packets'.
    fn missed(&self, times: &[i64], met: &[usize]) -> u64 {
        let late: Vec<i64> = met.iter().zip(self.came.iter()).filter_map(|(at, t)| Some(times.get(*at)? - t)).collect();
        let mut gaps: Vec<i64> = self.came.windows(2).filter_map(|two| Some(two.last()? - two.first()?)).collect();
        gaps.sort_unstable();
        let (Some(period), Some(late)) = (gaps.get(gaps.len() / 2), late.iter().min()) else { return 0 };
        let in_gap = |d: &i64| {
            let next = self.came.partition_point(|t| *t < d - late);
            let around = next.checked_sub(1).and_then(|before| Some((self.came.get(before)?, self.came.get(next)?)));
            around.is_some_and(|(before, behind)| (behind - before) * 2 >= period * 3)
        };
        let others: Vec<&i64> =
            times.iter().enumerate().filter(|(at, _)| met.binary_search(at).is_err()).map(|(_, d)| d).collect();
        if others.iter().all(|d| in_gap(d)) { others.len() as u64 } else { 0 }
    }

    /// The same with each flow's own time on the way taken off: in which order packets left before their ways parted. `flows`: those of
    /// each flow. `None` where that time is not known of every flow.
    pub(in crate::trials::association) fn together(&self, flows: &[Self], idle: &Idle<'_>) -> Option<Self> {
        let least = |own: &Self| Some((*own.flows.first()?, idle.way.get(&own.idle_key())?.least));
        let least: BTreeMap<u16, i64> = flows.iter().map(least).collect::<Option<_>>()?;
        let floor = *least.values().min()?;
        let own = |(frame, t): &(&'f Sighted, i64)| Some((*frame, t - least.get(&frame.stream)? + floor));
        let mut left: Vec<(&Sighted, i64)> = self.left.iter().map(own).collect::<Option<_>>()?;
        left.sort_by_key(|(_, t)| *t);
        let (came, flows, wire) = (self.came.clone(), self.flows.clone(), self.wire.clone());
        let Self { span, parts, early, .. } = *self;
        Some(Self { span, came, spots: Vec::new(), flows, asked: self.asked.clone(), left, wire, parts, early })
    }

    /// Whether frames leave one after another at one pace, as those of one queue do.
    pub(in crate::trials::association) fn is_paced(&self) -> bool {
        let mut gaps: Vec<i64> = self.left.windows(2).filter_map(|two| Some(two.last()?.1 - two.first()?.1)).collect();
        gaps.sort_unstable();
        let pace = gaps.get(gaps.len() / 2).copied().unwrap_or(0);
        gaps.iter().filter(|gap| (**gap - pace).abs() * 4 <= pace).count() * 5 >= gaps.len() * 4
    }

    /// Lengths of what left, in order of time.
    fn sizes(&self, row: &[(i64, Option<&'f Sighted>)]) -> Vec<u16> {
        let own = |(t, frame): &(i64, Option<&Sighted>)| (*t, frame.map_or(0, |frame| self.asked.told(frame)));
        let mut sizes: Vec<(i64, u16)> = row.iter().map(own).collect();
        sizes.sort_by_key(|(t, _)| *t);
        sizes.into_iter().map(|(_, size)| size).collect()
    }

    /// Which packets came out where not all did, and how that is known.
    fn of_fewer(&self, times: &[i64], [way, hop]: [Option<OnTheWay>; 2], slack: i64) -> (Vec<usize>, Fewer) {
        match paced(&self.came, times, way.map(|way| way.least)) {
            Paced::One(chosen) => return (chosen, Fewer::Told),
            Paced::Several(chosen) => return (chosen, Fewer::Open),
            Paced::No => {}
        }
        let drifted = |quiet| if slack > 0 { within_drifted(&self.came, times, quiet) } else { None };
        let quiet = way.map(|way| way.quiet);
        if let Some(chosen) = quiet.and_then(|own| within_latency(&self.came, times, own).or_else(|| drifted(own))) {
            return (chosen, Fewer::Told);
        }
        // Times of several clocks agree less well.
        let exact = if slack > 0 { TAPS_APART / 5 } else { 1_000 };
        let waits = self.waits();
        let idle = if waits.is_some() { hop } else { way };
        let least = idle.map_or(-slack, |idle| idle.least - (idle.least.abs() / 20).max(exact));
        let LetThrough { chosen, all, firm } = tail_drop(waits.as_deref().unwrap_or(&self.came), times, least);
        let early = way.is_some_and(|way| self.is_early(&chosen, times, way.least));
        let known = if firm { Fewer::Queued } else { Fewer::Doubtful };
        (chosen, if early || !all { Fewer::Open } else { known })
    }

    /// Whether most of the chosen packets would be faster than any packet of a trial that lost none.
    fn is_early(&self, chosen: &[usize], times: &[i64], way: i64) -> bool {
        let early =
            |(i, d): (&usize, &i64)| self.came.get(*i).is_some_and(|t| d - t < way - (way.abs() / 20).max(TAPS_APART));
        chosen.iter().zip(times).filter(|pair| early(*pair)).count() * 2 > chosen.len()
    }

    /// What left the tap before in some order left this one in that order: a device may number packets in another one than it sends them
    /// in, and what overtook before has overtaken.
    fn through(&self, hop: Option<OnTheWay>, slack: i64) -> Option<Vec<(usize, &'f Sighted)>> {
        let (wire, left): (Vec<i64>, Vec<i64>) =
            (self.wire.iter().map(|(t, _)| *t).collect(), self.left.iter().map(|(_, t)| *t).collect());
        let passed: Vec<usize> = match wire.len().checked_sub(left.len())? {
            0 => (0..left.len()).collect(),
            _ => match paced(&wire, &left, hop.map(|hop| hop.least)) {
                Paced::One(passed) => passed,
                Paced::Several(_) | Paced::No => within_latency(&wire, &left, hop?.quiet)?,
            },
        };
        // A clock that was set at one of the taps makes nonsense of the other's.
        let early = |(at, left): (&usize, &i64)| wire.get(*at).is_none_or(|t| *left < t - slack.max(TAPS_APART));
        // One packet that contradicts its time voids no others.
        if passed.iter().zip(&left).filter(|pair| early(*pair)).count() * CONTRADICTED_OF
            > left.len().max(CONTRADICTED_OF)
        {
            return None;
        }
        let chosen: Option<Vec<(usize, &Sighted)>> =
            passed.iter().zip(&self.left).map(|(at, (frame, _))| Some((self.wire.get(*at)?.1, *frame))).collect();
        let fits = |(i, frame): &(usize, &Sighted)| {
            let own = self.asked.told(frame);
            let flow = self.flows.get(*i).is_none_or(|flow| *flow == frame.stream);
            flow && (own == 0 || self.asked.lengths.get(*i) == Some(&own))
        };
        chosen.filter(|chosen| chosen.iter().all(fits))
    }

    /// The frames, and the packets that are missing by number: these were lost behind encryption, and left about when their neighbours did.
    fn with_missing(&self, records: &[Outer], tunnel: bool) -> Vec<(i64, Option<&'f Sighted>)> {
        let lost = self.came.len() - self.left.len();
        let mut row: Vec<(i64, Option<&Sighted>)> = Vec::with_capacity(self.came.len());
        let mut before: Option<(&Outer, i64)> = None;
        for (frame, t) in &self.left {
            let record = if tunnel { records.get(frame.record as usize) } else { None };
            if let (Some(record), Some((last, at))) = (record, before)
                && record.stream == last.stream
            {
                let step = i64::from(record.detail.sequence.wrapping_sub(last.detail.sequence) as i32) - 1;
                if step > 0 && step as usize <= lost {
                    row.extend(std::iter::repeat_n((at.midpoint(*t), None), step as usize));
                }
            }
            row.push((*t, Some(*frame)));
            before = record.map(|record| (record, *t)).or(before);
        }
        if row.len() > self.came.len() {
            row.retain(|(_, frame)| frame.is_some());
        }
        row
    }

    /// Lengths must agree, and flows where the tap shows them.
    fn by_lengths(&self, chosen: Vec<usize>, row: &[(i64, Option<&'f Sighted>)]) -> Vec<usize> {
        let several = self.asked.made.len() > 1 || self.flows.iter().any(|flow| self.flows.first() != Some(flow));
        if !several {
            return chosen;
        }
        let label = |size: u16, flow: Option<u16>| match size {
            0 => 0,
            size => flow.map_or(0, |flow| u32::from(flow) + 1) << 16 | u32::from(size),
        };
        let came = self.asked.lengths.iter().enumerate().map(|(i, size)| label(*size, self.flows.get(i).copied()));
        let came: Vec<u32> = came.collect();
        let told =
            |frame: &&Sighted| label(self.asked.told(frame), Some(frame.stream).filter(|_| !self.flows.is_empty()));
        let own: Vec<u32> = row.iter().map(|(_, frame)| frame.as_ref().map_or(0, told)).collect();
        let agree = || chosen.iter().zip(&own).all(|(i, label)| *label == 0 || came.get(*i) == Some(label));
        let moved = if agree() { None } else { by_length(&chosen, &came, &own, MAX_CELLS) };
        moved.unwrap_or(chosen)
    }

    /// The chosen packets that were seen.
    fn shown(chosen: &[usize], row: &[(i64, Option<&'f Sighted>)]) -> Vec<(usize, &'f Sighted)> {
        chosen.iter().zip(row).filter_map(|(i, (_, frame))| Some((*i, (*frame)?))).collect()
    }

    /// The same, where which packets are chosen is known.
    fn settle(&self, chosen: &[usize], row: &[(i64, Option<&'f Sighted>)]) -> Vec<(usize, &'f Sighted)> {
        Self::shown(&self.by_lengths(chosen.to_vec(), row), row)
    }
}
