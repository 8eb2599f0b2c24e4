//! Packets by the order in which they left, trial by trial, where contents do not tell them apart.

use super::beside::is_beside;
use super::both_ways::QueuedSpan;
use super::pair::{AskedLengths, Span, TapTimes, early_begin, leaving};
use super::queue::{Assigned, Idle, Leaving, QueueRoom};
use super::row::{At, FrameRow, MISSING, Sighted, Unclear};
use crate::model::trials::Basis;
use crate::trials::read::Place;
use crate::trials::read::tap::Outer;

/// What came out of a tap: for each packet that came in, its frame there.
pub(super) struct Found<'f> {
    pub(super) frames: Vec<Option<&'f Sighted>>,
    pub(super) basis: Vec<Basis>,
    pub(super) unclear: Vec<Unclear>,
    /// Frames of packets that the first tap missed.
    pub(super) missed: u64,
    pub(super) queued: Vec<QueuedSpan>,
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
    let flows = flows_told(row, at);
    let all: Vec<Leaving<'_, 'f>> = whole_bunches(row, at, times, spans, rules)
        .iter()
        .map(|(span, early)| {
            let asked = AskedLengths::of(row, at, span);
            let mut left = leaving(at, times, span, slack, |frame| asked.may_be(frame));
            if at.tunnel {
                by_number(&mut left, records);
            }
            let came = row.t.get(span.from..span.to).unwrap_or_default().into();
            let wire = if at.tunnel { Vec::new() } else { wire(row, place, span) };
            let flows = flows.get(span.from..span.to).unwrap_or_default().into();
            let own = Leaving { span: *span, came, spots: Vec::new(), flows, asked, left, wire, parts, early: *early };
            if at.tunnel && row.places.get(1) == Some(&place) { own.with_beside(&row.beside, rules) } else { own }
        })
        .collect();
    let idle = Idle::of(&all);
    let assigned: Vec<Assigned<'f>> = all.iter().map(|own| own.assign(&idle, records, at.tunnel, slack)).collect();
    let mut found = Found {
        frames: vec![None; row.t.len()],
        basis: Vec::with_capacity(spans.len()),
        unclear: Vec::new(),
        missed: 0,
        queued: Vec::new(),
    };
    for (own, assigned) in all.iter().zip(&assigned) {
        let room = QueueRoom::of(own, assigned, idle.least(own)).filter(|_| !assigned.crossed);
        let Span { from, to, .. } = own.span;
        let (guessed, open) = (assigned.guessed, assigned.doubtful);
        found.queued.push(QueuedSpan { place, from, to, guessed, open, shared: false, beside: false, room });
    }
    if assigned.iter().any(|own| own.crossed) {
        found.add_flows(place, &all, records, slack);
    } else {
        all.iter().zip(assigned).for_each(|own| found.add(place, vec![own]));
    }
    found
}

impl<'f> Found<'f> {
    /// Adds the packets of several flows that overtake each other.
    fn add_flows(&mut self, place: Place, all: &[Leaving<'_, 'f>], records: &[Outer], slack: i64) {
        let each: Vec<Vec<Leaving<'_, 'f>>> = all.iter().map(Leaving::by_flow).collect();
        let of_flows: Vec<usize> = each.iter().map(Vec::len).collect();
        let each: Vec<Leaving<'_, 'f>> = each.into_iter().flatten().collect();
        let idle = Idle::of(&each);
        let mut rest = each.as_slice();
        let mut spans = Vec::with_capacity(all.len());
        for flows in of_flows {
            let (own, others) = rest.split_at(flows.min(rest.len()));
            spans.push(own);
            rest = others;
        }
        // Of one queue the flows part behind it, and with their own time taken off they are in its order.
        let together: Vec<Option<Leaving<'_, 'f>>> =
            all.iter().zip(&spans).map(|(own, flows)| own.together(flows, &idle)).collect();
        let whole: Vec<Leaving<'_, 'f>> =
            together.iter().flatten().filter(|own| own.left.len() == own.came.len()).cloned().collect();
        let idle_together = Idle::of(&whole);
        for ((own, flows), together) in all.iter().zip(spans).zip(together) {
            let lost = own.left.len() < own.came.len();
            let together = together.filter(|_| lost);
            if let Some(one) = &together {
                let assigned = one.assign(&idle_together, records, false, slack);
                if !assigned.crossed {
                    self.add(place, vec![(own, assigned)]);
                    continue;
                }
            }
            let mut parts: Vec<_> = flows.iter().map(|own| (own, own.assign(&idle, records, false, slack))).collect();
            // A queue of its own that drops packets drops many of them.
            for (own, assigned) in &mut parts {
                let lost = own.came.len().saturating_sub(own.left.len());
                if assigned.queued && lost * FEW_OF < own.came.len() {
                    assigned.unclear = own.whole();
                }
            }
            // What a queue of all flows dropped, no queue of one of them explains.
            if let Some((_, first)) = parts.first_mut()
                && together.is_some_and(|one| one.is_paced())
            {
                first.unclear = own.whole();
            }
            self.add(place, parts);
        }
    }

    /// Adds what became of the packets of a span, or of each flow of it.
    fn add(&mut self, place: Place, parts: Vec<(&Leaving<'_, 'f>, Assigned<'f>)>) {
        let tail_drop = parts.iter().any(|(_, own)| own.basis == Basis::TailDrop);
        let basis = parts.iter().map(|(_, own)| own.basis).find(|basis| *basis != Basis::None);
        self.basis.push(if tail_drop { Basis::TailDrop } else { basis.unwrap_or(Basis::None) });
        for (own, Assigned { chosen, mut unclear, queued, missed, .. }) in parts {
            self.missed += missed;
            if own.early {
                unclear = own.whole();
            }
            for (i, frame) in chosen {
                if let Some(slot) = self.frames.get_mut(own.span.from.saturating_add(i)) {
                    *slot = Some(frame);
                }
            }
            let more = own.left.len() > own.came.len();
            self.unclear.extend(unclear.into_iter().map(|(from, to)| Unclear { place, from, to, more, queued }));
        }
    }
}

/// Flows of the packets that came in, where a tap shows the same ones; none where there is one alone, or where addresses are changed on
/// the way.
fn flows_told<'r>(row: &'r FrameRow, at: &At) -> &'r [u16] {
    let mut known: Vec<u16> = row.flow.clone();
    known.sort_unstable();
    known.dedup();
    if at.tunnel || known.len() < 2 {
        return &[];
    }
    let met = at.frames.iter().filter(|frame| known.binary_search(&frame.stream).is_ok()).count();
    if met * 100 >= at.frames.len() * 99 { &row.flow } else { &[] }
}

/// The spans, each with the whole of the departures that begin before its packets came, and whether they do.
fn whole_bunches(row: &FrameRow, at: &At, times: &[i64], spans: &[Span], rules: TapTimes) -> Vec<(Span, bool)> {
    let begin = |span: &Span| {
        let asked = AskedLengths::of(row, at, span);
        let beside = |frame: &Sighted, t: i64| at.tunnel && is_beside(&row.beside, (frame, t), rules.slack);
        early_begin(at, times, span, rules, |frame, t| asked.may_be(frame) && !beside(frame, t))
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

/// Where a queue is too short, more than one of so many packets is lost.
const FEW_OF: usize = 100;
/// Neighbours are closer in number than this.
const NUMBERED: i64 = 4_096;
