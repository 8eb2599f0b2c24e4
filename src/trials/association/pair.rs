//! Packets that came in and packets that left, trial by trial.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use super::both_ways::QueuedSpan;
use super::clocks::Clocks;
use super::lengths::Lengths;
use super::order::{Found, by_order};
use super::row::{At, FrameRow, MISSING, Sighted};
use crate::model::trials::Basis;
use crate::trials::limits::TAPS_APART;
use crate::trials::read::Place;
use crate::trials::read::tap::{ContentDigest, TapRecords};
use crate::trials::thinned::{self, Window};

/// A trial's place in a row: its frames, and until when what leaves is its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// Time of the first frame.
    pub(crate) begin: i64,
    /// Time of the first frame of what follows.
    pub(crate) following: i64,
}

/// How times of two taps compare.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TapTimes {
    /// By how much departures may seem to precede arrivals.
    pub(crate) slack: i64,
    /// A longer silence ends a load.
    pub(crate) gap: i64,
}

/// Finds the frames of a row at one more tap, and how they are known, span by span. `parts`: loads of one rate in them.
pub(crate) fn pair(
    row: &mut FrameRow,
    (place, at): (Place, &At),
    records: TapRecords<'_>,
    clocks: &Clocks,
    (spans, parts): (&[Span], &[(usize, usize)]),
    rules: TapTimes,
) -> Vec<Basis> {
    let slack = rules.slack;
    let times: Vec<i64> = at.frames.iter().map(|frame| clocks.map(place, frame.t)).collect();
    let exact = is_exact(row, at);
    if row.thin.is_some() {
        return thin(row, (place, at), records, clocks, spans, (slack, exact));
    }
    let Found { frames, basis, unclear, missed, queued } = if exact {
        let basis = if at.tunnel && !at.visible { Basis::Decrypted } else { Basis::Content };
        Found {
            frames: by_content(row, at, &times, slack),
            basis: vec![basis; spans.len()],
            unclear: Vec::new(),
            missed: 0,
            queued: Vec::new(),
        }
    } else {
        by_order(row, (place, at), &times, records.tunnelled, (spans, parts), rules)
    };
    row.unclear.extend(unclear);
    row.queued.extend(queued);
    row.missed = row.missed.max(missed);
    let time = |frame: &Sighted| clocks.map(place, frame.t);
    // In clear a packet shows its own length.
    if !at.tunnel && !row.outer.is_empty() {
        for (size, frame) in row.size.iter_mut().zip(&frames) {
            *size = frame.map_or(*size, |frame| frame.size);
        }
    }
    if row.last() == Some(place) {
        row.out = frames.iter().map(|frame| frame.map_or(MISSING, time)).collect();
    }
    if at.tunnel || row.last() != Some(place) {
        let seen = |frame: &Sighted| {
            let l1 =
                if at.tunnel { records.tunnelled.get(frame.record as usize).map_or(0, |own| own.detail.l1) } else { 0 };
            (time(frame), l1)
        };
        row.middle = frames.iter().map(|frame| frame.map_or((MISSING, 0), seen)).collect();
    }
    basis
}

/// The same where not every record was kept.
fn thin(
    row: &mut FrameRow,
    (place, at): (Place, &At),
    records: TapRecords<'_>,
    clocks: &Clocks,
    spans: &[Span],
    (slack, exact): (i64, bool),
) -> Vec<Basis> {
    let times: Vec<i64> = at.frames.iter().map(|frame| clocks.map(place, frame.t)).collect();
    let same = if exact { by_content(row, at, &times, slack) } else { Vec::new() };
    let how = if at.tunnel && !at.visible { Basis::Decrypted } else { Basis::Content };
    let windows: Vec<Window<'_>> = spans
        .iter()
        .map(|span| {
            let asked = AskedLengths::of(row, at, span);
            let left = leaving(at, &times, span, slack, |frame| exact || asked.may_be(frame));
            Window { left, span: *span }
        })
        .collect();
    let time = |frame: &Sighted| clocks.map(place, frame.t);
    let met = thinned::pair(row, at, records, &windows, exact.then_some((same.as_slice(), how)), &time);
    if !at.tunnel && !row.outer.is_empty() {
        for (size, own) in row.size.iter_mut().zip(&met.at) {
            *size = own.map_or(*size, |(_, size, _)| size);
        }
        if let Some(thin) = &mut row.thin {
            thin.share.iter_mut().zip(&row.size).for_each(|(share, size)| share.resize(*size));
        }
    }
    if row.last() == Some(place) {
        row.out = met.times();
    }
    if at.tunnel || row.last() != Some(place) {
        row.middle = met.wire();
    }
    row.queued.extend(spans.iter().zip(&met.guessed).map(|(span, guessed)| QueuedSpan {
        place,
        from: span.from,
        to: span.to,
        guessed: *guessed,
        open: false,
        shared: false,
        beside: false,
        room: None,
    }));
    let last = row.last() == Some(place);
    if let Some(thin) = &mut row.thin {
        if at.tunnel || !last {
            thin.tunnelled.clone_from(&met.sums);
        }
        if at.tunnel {
            thin.wires.clone_from(&met.shares);
        }
        if last {
            (thin.received, thin.exits) = (met.sums, met.shares);
            thin.exits.sort_unstable_by_key(|(d, _)| *d);
        }
    }
    met.basis
}

/// Whether contents tell packets apart: a tester may send the same packet again and again.
pub(super) fn is_exact(row: &FrameRow, at: &At) -> bool {
    if at.frames.first().is_none_or(|frame| frame.key == ContentDigest::NONE) {
        return false;
    }
    let mut keys: Vec<ContentDigest> = row.key.iter().copied().filter(|key| *key != ContentDigest::NONE).collect();
    keys.sort_unstable();
    keys.dedup();
    keys.len() as f64 > 0.99 * row.key.len() as f64
}

/// Frames by content, the earliest of equal ones first. A content that is there once at each tap is the same packet, even if the clocks contradict that.
fn by_content<'f>(row: &FrameRow, at: &'f At, times: &[i64], slack: i64) -> Vec<Option<&'f Sighted>> {
    let mut known: Vec<(ContentDigest, u32)> = row.key.iter().enumerate().map(|(i, key)| (*key, i as u32)).collect();
    known.sort_unstable();
    let mut frames: Vec<Option<&Sighted>> = vec![None; row.t.len()];
    for (frame, t) in at.frames.iter().zip(times) {
        let from = known.partition_point(|(key, _)| *key < frame.key);
        let alike = known.get(from..).unwrap_or_default().iter().take_while(|(key, _)| *key == frame.key);
        for (_, i) in alike {
            let came = row.t.get(*i as usize).copied().unwrap_or(i64::MAX);
            if let Some(own @ None) = frames.get_mut(*i as usize)
                && came <= t.saturating_add(slack)
            {
                *own = Some(frame);
                break;
            }
        }
    }
    let mut early: HashMap<u32, Option<&Sighted>, FixedState> = HashMap::default();
    for frame in &at.frames {
        let from = known.partition_point(|(key, _)| *key < frame.key);
        let Some((key, i)) = known.get(from).filter(|(key, _)| *key == frame.key && *key != ContentDigest::NONE) else {
            continue;
        };
        let alone = known.get(from + 1).is_none_or(|(next, _)| next != key);
        if alone && frames.get(*i as usize).is_some_and(Option::is_none) {
            early.entry(*i).and_modify(|own| *own = None).or_insert(Some(frame));
        }
    }
    for (i, frame) in early {
        if let Some(own) = frames.get_mut(i as usize) {
            *own = frame;
        }
    }
    frames
}

/// What a tunnel adds to a packet, in octets, at most.
const ADDED: u16 = 200;

/// Lengths that a trial's packets have at another tap.
#[derive(Clone)]
pub(super) struct AskedLengths {
    /// Any length may be any other.
    open: bool,
    /// Lengths there are outer ones.
    hidden: bool,
    /// Lengths that the packets came in with are to be told as outer ones.
    outside: bool,
    /// Of each packet.
    pub(super) lengths: Vec<u16>,
    /// Each once, in order.
    pub(super) made: Vec<u16>,
    /// Outer lengths by inner ones.
    known: Lengths,
}

impl AskedLengths {
    pub(super) fn of(row: &FrameRow, at: &At, span: &Span) -> Self {
        let sizes = row.size.get(span.from..span.to).unwrap_or_default();
        let outer = row.outer.get(span.from..span.to).unwrap_or_default();
        let open = row.lengths.open || row.opaque;
        let hidden = at.tunnel && !at.visible;
        let known = row.lengths.clone();
        let mut asked =
            Self { open, hidden, outside: hidden || !outer.is_empty(), lengths: Vec::new(), made: Vec::new(), known };
        asked.lengths = if outer.is_empty() || open {
            sizes.iter().map(|size| asked.outside(*size)).collect()
        } else {
            outer.to_vec()
        };
        asked.made.clone_from(&asked.lengths);
        asked.made.sort_unstable();
        asked.made.dedup();
        asked
    }

    fn outside(&self, size: u16) -> u16 {
        if self.open {
            0
        } else if self.outside {
            self.known.outer_of(size).unwrap_or(u16::MAX)
        } else {
            size
        }
    }

    /// Those of some of the packets.
    pub(super) fn some(&self, spots: &[usize]) -> Self {
        let lengths: Vec<u16> = spots.iter().filter_map(|i| self.lengths.get(*i).copied()).collect();
        let mut made = lengths.clone();
        made.sort_unstable();
        made.dedup();
        Self { lengths, made, known: self.known.clone(), ..*self }
    }

    /// Length of a frame, comparable with the lengths of the frames that came in.
    pub(super) fn told(&self, frame: &Sighted) -> u16 {
        self.told_as(frame.size)
    }

    /// The same of a length at the tap.
    pub(super) fn told_as(&self, size: u16) -> u16 {
        if self.hidden && !self.open { size } else { self.outside(size) }
    }

    /// Whether the trial's packets have this length at the tap.
    pub(super) fn may_have(&self, size: u16) -> bool {
        self.open || self.made.binary_search(&self.told_as(size)).is_ok()
    }

    /// Whether a packet of this length may be as long in the tunnel as the trial's are.
    pub(super) fn may_hold(&self, size: u16) -> bool {
        let fits = |outer: &u16| (1..=ADDED).contains(&outer.saturating_sub(size));
        self.open || self.hidden && self.made.iter().any(fits)
    }

    /// Whether a frame may be of the trial.
    pub(super) fn may_be(&self, frame: &Sighted) -> bool {
        self.may_have(frame.size)
    }
}

/// When the departures of a span begin, where that is before any of its packets came: after a silence, and less than another one before the
/// first of them. The clocks contradict each other.
pub(super) fn early_begin(
    at: &At,
    times: &[i64],
    span: &Span,
    rules: TapTimes,
    mine: impl Fn(&Sighted, i64) -> bool,
) -> Option<i64> {
    let usual = span.begin.saturating_sub(rules.slack.max(TAPS_APART));
    let from = times.partition_point(|t| *t < usual);
    let own = |k: usize| Some((at.frames.get(k)?, *times.get(k)?));
    let (_, mut begin) = (from..times.len()).filter_map(own).find(|(frame, t)| mine(frame, *t))?;
    for (_, t) in (0..from).rev().filter_map(own).filter(|(frame, t)| mine(frame, *t)) {
        if begin - t > rules.gap || t < span.begin.saturating_sub(rules.gap) {
            break;
        }
        begin = t;
    }
    // What goes on from before has another begin.
    let before = times.partition_point(|t| *t < begin);
    let last = (0..before).rev().filter_map(own).find(|(frame, t)| mine(frame, *t));
    // Where a capture begins within a load, packets that were inside leave beside its own.
    let until = times.partition_point(|t| *t < span.following);
    let more = || (before..until).filter_map(own).filter(|(frame, t)| mine(frame, *t)).count() > span.to - span.from;
    (begin < usual && last.map_or_else(|| !more(), |(_, t)| begin - t > rules.gap)).then_some(begin)
}

/// Frames that left while packets of a span were on their way.
pub(super) fn leaving<'f>(
    at: &'f At,
    times: &[i64],
    span: &Span,
    slack: i64,
    mine: impl Fn(&Sighted) -> bool,
) -> Vec<(&'f Sighted, i64)> {
    let from = times.partition_point(|t| *t < span.begin.saturating_sub(slack));
    let to = times.partition_point(|t| *t < span.following.saturating_sub(slack)).max(from);
    let within = at.frames.get(from..to).unwrap_or_default().iter().zip(times.get(from..to).unwrap_or_default());
    within.filter(|(frame, _)| mine(frame)).map(|(frame, t)| (frame, *t)).collect()
}
