//! Packets that came in and packets that left, trial by trial.

use super::clocks::Clocks;
use super::lengths::Lengths;
use super::row::{At, FrameRow, MISSING, Sighted};
use super::tail_drop::{by_length, paced, tail_drop};
use crate::model::trials::Basis;
use crate::trials::limits::MAX_CELLS;
use crate::trials::read::Place;
use crate::trials::read::tap::{ContentDigest, Outer};
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

/// What came out of a tap: for each packet that came in, its frame there.
struct Found<'f> {
    frames: Vec<Option<&'f Sighted>>,
    basis: Vec<Basis>,
}

/// Finds the frames of a row at one more tap, and how they are known, span by span. `slack`: by how much departures may seem to precede
/// arrivals.
pub(crate) fn pair(
    row: &mut FrameRow,
    (place, at): (Place, &At),
    records: &[Outer],
    clocks: &Clocks,
    spans: &[Span],
    slack: i64,
) -> Vec<Basis> {
    let times: Vec<i64> = at.frames.iter().map(|frame| clocks.map(place, frame.t)).collect();
    let exact = is_exact(row, at);
    if row.thin.is_some() {
        return thin(row, (place, at), records, clocks, spans, (slack, exact));
    }
    let Found { frames, basis } = if exact {
        let basis = if at.tunnel && !at.visible { Basis::Decrypted } else { Basis::Content };
        Found { frames: by_content(row, at, &times, slack), basis: vec![basis; spans.len()] }
    } else {
        by_order(row, at, &times, records, spans, slack)
    };
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
            let l1 = if at.tunnel { records.get(frame.record as usize).map_or(0, |own| own.l1) } else { 0 };
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
    records: &[Outer],
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
            let asked = Asked::of(row, at, span);
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
    let last = row.last() == Some(place);
    if let Some(thin) = &mut row.thin {
        if at.tunnel || !last {
            thin.tunnelled.clone_from(&met.sums);
        }
        if last {
            (thin.received, thin.exits) = (met.sums, met.times);
            thin.exits.sort_unstable();
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

/// Frames by content, the earliest of equal ones first.
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
    frames
}

/// Lengths that a trial's packets have at another tap.
struct Asked {
    /// Any length may be any other.
    open: bool,
    /// Lengths there are outer ones.
    hidden: bool,
    /// Lengths that the packets came in with are to be told as outer ones.
    outside: bool,
    /// Of each packet.
    lengths: Vec<u16>,
    /// Each once, in order.
    made: Vec<u16>,
    /// Outer lengths by inner ones.
    known: Lengths,
}

impl Asked {
    fn of(row: &FrameRow, at: &At, span: &Span) -> Self {
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

    /// Length of a frame, comparable with the lengths of the frames that came in.
    fn told(&self, frame: &Sighted) -> u16 {
        if self.hidden && !self.open { frame.size } else { self.outside(frame.size) }
    }

    /// Whether a frame may be of the trial.
    fn may_be(&self, frame: &Sighted) -> bool {
        self.open || self.made.binary_search(&self.told(frame)).is_ok()
    }
}

/// Frames that left while packets of a span were on their way.
fn leaving<'f>(
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

/// Frames by order, within each trial.
fn by_order<'f>(row: &FrameRow, at: &'f At, times: &[i64], records: &[Outer], spans: &[Span], slack: i64) -> Found<'f> {
    let mut frames: Vec<Option<&Sighted>> = vec![None; row.t.len()];
    let mut basis = Vec::with_capacity(spans.len());
    for span in spans {
        let came = row.t.get(span.from..span.to).unwrap_or_default();
        let asked = Asked::of(row, at, span);
        let mut left = leaving(at, times, span, slack, |frame| asked.may_be(frame));
        if at.tunnel {
            by_number(&mut left, records);
        }
        let told = |frame: &Sighted| asked.told(frame);
        let (chosen, how) = assign(came, &asked.lengths, &left, records, &told, asked.made.len() > 1, at.tunnel);
        for (i, frame) in chosen {
            if let Some(own) = frames.get_mut(span.from + i) {
                *own = Some(frame);
            }
        }
        basis.push(how);
    }
    Found { frames, basis }
}

/// Packets in the order in which they were numbered: a device numbers them as it takes them, and may send them in another order.
fn by_number(left: &mut [(&Sighted, i64)], records: &[Outer]) {
    let record = |frame: &Sighted| records.get(frame.record as usize);
    let Some(first) = left.first().and_then(|(frame, _)| record(frame)) else { return };
    let (sa, origin) = (first.sa, first.sequence);
    let number = |frame: &Sighted| {
        record(frame).filter(|own| own.sa == sa).map(|own| i64::from(own.sequence.wrapping_sub(origin) as i32))
    };
    let Some(numbers) = left.iter().map(|(frame, _)| number(frame)).collect::<Option<Vec<i64>>>() else { return };
    // Numbers that begin anew, or none at all, say nothing.
    let near = |pair: &[i64]| pair.last().zip(pair.first()).is_some_and(|(b, a)| (b - a).abs() < NUMBERED && b != a);
    if numbers.windows(2).all(near) {
        left.sort_by_key(|(frame, _)| number(frame));
    }
}

/// Neighbours are closer in number than this.
const NUMBERED: i64 = 4_096;

/// Which arrivals of one trial the departures are.
fn assign<'f>(
    came: &[i64],
    lengths: &[u16],
    left: &[(&'f Sighted, i64)],
    records: &[Outer],
    told: &dyn Fn(&Sighted) -> u16,
    several: bool,
    tunnel: bool,
) -> (Vec<(usize, &'f Sighted)>, Basis) {
    if left.is_empty() {
        return (Vec::new(), Basis::None);
    }
    if left.len() >= came.len() {
        let chosen: Vec<usize> = (0..came.len()).collect();
        let row: Vec<(i64, Option<&Sighted>)> =
            left.iter().take(came.len()).map(|(frame, t)| (*t, Some(*frame))).collect();
        return (settle(&chosen, &row, lengths, told, several), Basis::Order);
    }
    // A number that is missing was a packet, too, lost behind encryption: it left about when its neighbours did.
    let lost = came.len() - left.len();
    let mut row: Vec<(i64, Option<&Sighted>)> = Vec::with_capacity(came.len());
    let mut before: Option<(&Outer, i64)> = None;
    for (frame, t) in left {
        let record = if tunnel { records.get(frame.record as usize) } else { None };
        if let (Some(record), Some((last, at))) = (record, before)
            && record.sa == last.sa
        {
            let step = i64::from(record.sequence.wrapping_sub(last.sequence) as i32) - 1;
            if step > 0 && step as usize <= lost {
                row.extend(std::iter::repeat_n((at.midpoint(*t), None), step as usize));
            }
        }
        row.push((*t, Some(*frame)));
        before = record.map(|record| (record, *t)).or(before);
    }
    if row.len() > came.len() {
        row.retain(|(_, frame)| frame.is_some());
    }
    let mut times: Vec<i64> = row.iter().map(|(t, _)| *t).collect();
    times.sort_unstable();
    let chosen = paced(came, &times).unwrap_or_else(|| tail_drop(came, &times));
    (settle(&chosen, &row, lengths, told, several), Basis::TailDrop)
}

/// Lengths must agree.
fn settle<'f>(
    chosen: &[usize],
    row: &[(i64, Option<&'f Sighted>)],
    lengths: &[u16],
    told: &dyn Fn(&Sighted) -> u16,
    several: bool,
) -> Vec<(usize, &'f Sighted)> {
    let own: Vec<u16> = row.iter().map(|(_, frame)| frame.map_or(0, told)).collect();
    let agree = || chosen.iter().zip(&own).all(|(i, size)| *size == 0 || lengths.get(*i) == Some(size));
    let moved = if several && !agree() { by_length(chosen, lengths, &own, MAX_CELLS) } else { None };
    let chosen = moved.as_deref().unwrap_or(chosen);
    chosen.iter().zip(row).filter_map(|(i, (_, frame))| Some((*i, (*frame)?))).collect()
}
