//! Packets by the order in which they left, trial by trial, where contents do not tell them apart.

use std::collections::BTreeMap;

use super::busy::FullQueue;
use super::pair::{AskedLengths, Span, TapTimes, early_begin, leaving};
use super::row::{At, FrameRow, MISSING, Sighted, Unclear};
use super::tail_drop::{Paced, by_length, paced, subset, tail_drop, within_latency};
use crate::model::trials::Basis;
use crate::trials::limits::{MAX_CELLS, TAPS_APART};
use crate::trials::read::Place;
use crate::trials::read::tap::Outer;

/// What came out of a tap: for each packet that came in, its frame there.
pub(super) struct Found<'f> {
    pub(super) frames: Vec<Option<&'f Sighted>>,
    pub(super) basis: Vec<Basis>,
    pub(super) unclear: Vec<Unclear>,
}

/// The packets of one span and the frames that left while they were on their way.
struct Leaving<'r, 'f> {
    span: Span,
    /// Times at which packets came in.
    came: &'r [i64],
    asked: AskedLengths,
    /// Frames and their times.
    left: Vec<(&'f Sighted, i64)>,
    /// When packets passed the tap before, and which.
    wire: Vec<(i64, usize)>,
    /// Loads of one rate, as places in the row.
    parts: &'r [(usize, usize)],
    /// Whether packets seem to leave before any came.
    early: bool,
}

/// Which packets of a span the frames are.
struct Assigned<'f> {
    chosen: Vec<(usize, &'f Sighted)>,
    basis: Basis,
    /// Packets for which others fit as well, as places in the row.
    unclear: Vec<(usize, usize)>,
    /// Whether a full queue may have chosen them.
    queued: bool,
}

impl<'f> Assigned<'f> {
    /// Packets that are known.
    const fn known(chosen: Vec<(usize, &'f Sighted)>, basis: Basis) -> Self {
        Self { chosen, basis, unclear: Vec::new(), queued: false }
    }
}

/// How it is known which packets came out where not all did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fewer {
    /// By their latency.
    Told,
    /// If a full queue dropped the others.
    Queued,
    /// Others may have.
    Open,
}

/// Time on the way of packets of trials that lost none: the least, and the least and greatest of the trial in which it varied least.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct OnTheWay {
    least: i64,
    quiet: (i64, i64),
}

/// The same by the lengths of the packets: from the first tap, and from the tap before.
#[derive(Default)]
struct Idle<'a> {
    way: BTreeMap<&'a [u16], OnTheWay>,
    hop: BTreeMap<&'a [u16], OnTheWay>,
}

/// Frames by order, within each span. `parts`: loads of one rate, in the spans.
pub(super) fn by_order<'f>(
    row: &FrameRow,
    (place, at): (Place, &'f At),
    times: &[i64],
    records: &[Outer],
    (spans, parts): (&[Span], &[(usize, usize)]),
    rules: TapTimes,
) -> Found<'f> {
    let slack = rules.slack;
    let all: Vec<Leaving<'_, 'f>> = whole_bunches(row, at, times, spans, rules)
        .iter()
        .map(|(span, early)| {
            let asked = AskedLengths::of(row, at, span);
            let mut left = leaving(at, times, span, slack, |frame| asked.may_be(frame));
            if at.tunnel {
                by_number(&mut left, records);
            }
            let came = row.t.get(span.from..span.to).unwrap_or_default();
            let wire = if at.tunnel { Vec::new() } else { wire(row, place, span) };
            Leaving { span: *span, came, asked, left, wire, parts, early: *early }
        })
        .collect();
    let mut idle = Idle::default();
    for own in all.iter().filter(|own| own.left.len() == own.came.len() && !own.early) {
        put(&mut idle.way, &own.asked.made, own.came.iter().zip(&own.left).map(|(t, (_, d))| d - t));
    }
    for own in all.iter().filter(|own| own.left.len() == own.wire.len()) {
        put(&mut idle.hop, &own.asked.made, own.wire.iter().zip(&own.left).map(|((t, _), (_, d))| d - t));
    }
    let mut found =
        Found { frames: vec![None; row.t.len()], basis: Vec::with_capacity(spans.len()), unclear: Vec::new() };
    for own in &all {
        let Assigned { chosen, basis, mut unclear, queued } = own.assign(&idle, records, at.tunnel, slack);
        if own.early {
            unclear = own.whole();
        }
        for (i, frame) in chosen {
            if let Some(slot) = found.frames.get_mut(own.span.from + i) {
                *slot = Some(frame);
            }
        }
        let more = own.left.len() > own.came.len();
        found.unclear.extend(unclear.into_iter().map(|(from, to)| Unclear { place, from, to, more, queued }));
        found.basis.push(basis);
    }
    found
}

/// The spans, each with the whole of the departures that begin before its packets came, and whether they do.
fn whole_bunches(row: &FrameRow, at: &At, times: &[i64], spans: &[Span], rules: TapTimes) -> Vec<(Span, bool)> {
    let begin = |span: &Span| {
        let asked = AskedLengths::of(row, at, span);
        early_begin(at, times, span, rules, |frame| asked.may_be(frame))
    };
    let mut all: Vec<(Span, bool)> = spans.iter().map(|span| (*span, false)).collect();
    for (k, span) in spans.iter().enumerate() {
        let Some(begin) = begin(span) else { continue };
        let begin = begin.saturating_add(rules.slack);
        if let Some((own, early)) = all.get_mut(k) {
            (own.begin, *early) = (begin, true);
        }
        if let Some((before, _)) = k.checked_sub(1).and_then(|before| all.get_mut(before)) {
            before.following = begin;
        }
    }
    all
}

fn put<'a>(known: &mut BTreeMap<&'a [u16], OnTheWay>, made: &'a [u16], times: impl Iterator<Item = i64> + Clone) {
    let (Some(least), Some(most)) = (times.clone().min(), times.max()) else { return };
    let own = known.entry(made).or_insert(OnTheWay { least, quiet: (least, most) });
    own.least = own.least.min(least);
    if most - least < own.quiet.1 - own.quiet.0 {
        own.quiet = (least, most);
    }
}

/// The packets of a span at the tap before this one, in order of time there; none where it is not known which they are.
fn wire(row: &FrameRow, place: Place, span: &Span) -> Vec<(i64, usize)> {
    let before = row.places.iter().position(|own| *own == place).and_then(|at| row.places.get(at.checked_sub(1)?));
    if before.is_none_or(|before| Some(*before) == row.first() || row.unclear(*before, (span.from, span.to)).is_some())
    {
        return Vec::new();
    }
    let seen = row.middle.get(span.from..span.to).unwrap_or_default().iter().enumerate();
    let mut wire: Vec<(i64, usize)> = seen.filter(|(_, (t, _))| *t != MISSING).map(|(i, (t, _))| (*t, i)).collect();
    wire.sort_unstable();
    wire
}

impl<'f> Leaving<'_, 'f> {
    fn assign(&self, idle: &Idle<'_>, records: &[Outer], tunnel: bool, slack: i64) -> Assigned<'f> {
        if self.left.is_empty() {
            return Assigned::known(Vec::new(), Basis::None);
        }
        let way = idle.way.get(self.asked.made.as_slice()).copied();
        let basis = if self.left.len() >= self.came.len() { Basis::Order } else { Basis::TailDrop };
        if let Some(chosen) = self.through(idle.hop.get(self.asked.made.as_slice()).copied(), slack) {
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
            let met = if more { subset(self.came, &times, way.map(|way| way.least), slack) } else { None };
            let row = whole(met.as_deref().unwrap_or(&all));
            let mut assigned = Assigned::known(self.settle(&all, &row), basis);
            if more && met.is_none() {
                assigned.unclear = self.whole();
            }
            return assigned;
        }
        let row = self.with_missing(records, tunnel);
        let mut times: Vec<i64> = row.iter().map(|(t, _)| *t).collect();
        times.sort_unstable();
        if times.len() == self.came.len() {
            let all: Vec<usize> = (0..self.came.len()).collect();
            return Assigned::known(self.settle(&all, &row), basis);
        }
        let (chosen, known) = self.of_fewer(&times, way, slack);
        let chosen = self.by_lengths(chosen, &row);
        // Losses that no full queue explains leave open which packets came out.
        let queued = known == Fewer::Queued;
        let (chosen, unclear) = match known {
            Fewer::Told => (chosen, Vec::new()),
            Fewer::Open => (chosen, self.whole()),
            Fewer::Queued => self.explained(&times, &self.sizes(&row), chosen),
        };
        Assigned { chosen: Self::shown(&chosen, &row), basis, unclear, queued }
    }

    /// All packets of the span.
    fn whole(&self) -> Vec<(usize, usize)> {
        vec![(self.span.from, self.span.to)]
    }

    /// What a full queue explains of the losses, and of which packets it does not.
    fn explained(&self, left: &[i64], sizes: &[u16], chosen: Vec<usize>) -> (Vec<usize>, Vec<(usize, usize)>) {
        let queue = FullQueue { came: self.came, left, sizes, chosen: &chosen };
        let Span { from: begin, to: end, .. } = self.span;
        let own = self.parts.iter().filter(|(from, to)| *from < end && begin < *to);
        let parts: Vec<(usize, usize)> =
            own.map(|(from, to)| (from.max(&begin) - begin, to.min(&end) - begin)).collect();
        if parts.iter().all(|part| queue.explains(*part)) {
            return (chosen, Vec::new());
        }
        let by_time = if parts.len() > 1 { queue.by_time(&parts) } else { None };
        (by_time.unwrap_or(chosen), self.whole())
    }

    /// Lengths of what left, in order of time.
    fn sizes(&self, row: &[(i64, Option<&'f Sighted>)]) -> Vec<u16> {
        let own = |(t, frame): &(i64, Option<&Sighted>)| (*t, frame.map_or(0, |frame| self.asked.told(frame)));
        let mut sizes: Vec<(i64, u16)> = row.iter().map(own).collect();
        sizes.sort_by_key(|(t, _)| *t);
        sizes.into_iter().map(|(_, size)| size).collect()
    }

    /// Which packets came out where not all did, and how that is known.
    fn of_fewer(&self, times: &[i64], way: Option<OnTheWay>, slack: i64) -> (Vec<usize>, Fewer) {
        match paced(self.came, times, way.map(|way| way.least)) {
            Paced::One(chosen) => return (chosen, Fewer::Told),
            Paced::Several(chosen) => return (chosen, Fewer::Open),
            Paced::No => {}
        }
        if let Some(chosen) = way.and_then(|way| within_latency(self.came, times, way.quiet)) {
            return (chosen, Fewer::Told);
        }
        // Times of several clocks agree less well.
        let exact = if slack > 0 { TAPS_APART / 5 } else { 1_000 };
        let least = way.map_or(-slack, |way| way.least - (way.least.abs() / 20).max(exact));
        let (chosen, all) = tail_drop(self.came, times, least);
        let early = way.is_some_and(|way| self.is_early(&chosen, times, way.least));
        (chosen, if early || !all { Fewer::Open } else { Fewer::Queued })
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
        if passed.iter().zip(&left).any(early) {
            return None;
        }
        let chosen: Option<Vec<(usize, &Sighted)>> =
            passed.iter().zip(&self.left).map(|(at, (frame, _))| Some((self.wire.get(*at)?.1, *frame))).collect();
        let fits = |(i, frame): &(usize, &Sighted)| {
            let own = self.asked.told(frame);
            own == 0 || self.asked.lengths.get(*i) == Some(&own)
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

    /// Lengths must agree.
    fn by_lengths(&self, chosen: Vec<usize>, row: &[(i64, Option<&'f Sighted>)]) -> Vec<usize> {
        let lengths = self.asked.lengths.as_slice();
        let own: Vec<u16> = row.iter().map(|(_, frame)| frame.map_or(0, |frame| self.asked.told(frame))).collect();
        let agree = || chosen.iter().zip(&own).all(|(i, size)| *size == 0 || lengths.get(*i) == Some(size));
        let several = self.asked.made.len() > 1;
        let moved = if several && !agree() { by_length(&chosen, lengths, &own, MAX_CELLS) } else { None };
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

/// Packets in the order in which they were numbered: a device numbers them as it takes them, and may send them in another order.
fn by_number(left: &mut [(&Sighted, i64)], records: &[Outer]) {
    let record = |frame: &Sighted| records.get(frame.record as usize);
    let Some(first) = left.first().and_then(|(frame, _)| record(frame)) else { return };
    let (sa, origin) = (first.stream, first.detail.sequence);
    let number = |frame: &Sighted| {
        record(frame)
            .filter(|own| own.stream == sa)
            .map(|own| i64::from(own.detail.sequence.wrapping_sub(origin) as i32))
    };
    let Some(numbers) = left.iter().map(|(frame, _)| number(frame)).collect::<Option<Vec<i64>>>() else { return };
    // Numbers that begin anew, or none at all, say nothing.
    let near = |pair: &[i64]| pair.last().zip(pair.first()).is_some_and(|(b, a)| (b - a).abs() < NUMBERED && b != a);
    let mut each = numbers.clone();
    each.sort_unstable();
    each.dedup();
    if numbers.windows(2).all(near) && each.len() == numbers.len() {
        left.sort_by_key(|(frame, _)| number(frame));
    }
}

/// Neighbours are closer in number than this.
const NUMBERED: i64 = 4_096;
