//! Which packets came out, where not every record was kept.

use super::queue::let_in;
use super::{Curve, PassedFrames, between};
use crate::model::trials::Basis;
use crate::trials::association::row::{At, Sighted};
use crate::trials::association::{FrameRow, MISSING, Span};
use crate::trials::read::kept::Share;
use crate::trials::read::tap::TapRecords;

/// What is known of each record of a row at another tap.
pub(crate) struct MetAgain {
    /// Time there, length of the packet there, and octets there.
    pub(crate) at: Vec<Option<(i64, u16, f64)>>,
    /// Packets that were seen there up to each record.
    pub(crate) sums: Vec<f64>,
    /// The records there that are of the row: when, and what they stand for.
    pub(crate) shares: Vec<(i64, Share)>,
    pub(crate) basis: Vec<Basis>,
    /// Whether which left follows from a full queue alone.
    pub(crate) guessed: Vec<bool>,
}

/// Frames at a tap that may be of a span.
pub(crate) struct Window<'f> {
    pub(crate) left: Vec<(&'f Sighted, i64)>,
    pub(crate) span: Span,
}

/// The packets of a row at another tap, span by span. `known`: the records there of the same content, where contents tell packets apart.
pub(crate) fn pair(
    row: &FrameRow,
    at: &At,
    records: TapRecords<'_>,
    windows: &[Window<'_>],
    known: Option<(&[Option<&Sighted>], Basis)>,
    time: &dyn Fn(&Sighted) -> i64,
) -> MetAgain {
    let rows = row.t.len();
    let mut met = MetAgain {
        at: vec![None; rows],
        sums: Vec::with_capacity(rows),
        shares: Vec::new(),
        basis: Vec::new(),
        guessed: Vec::new(),
    };
    for window in windows {
        let Span { from, to, .. } = window.span;
        // Between spans nothing comes out.
        let before = met.sums.last().copied().unwrap_or(0.0);
        met.sums.resize(from.max(met.sums.len()), before);
        let sums = match known {
            Some((same, basis)) => {
                let within = |(t, _): &(i64, &Sighted)| *t < window.span.following;
                let times = |i: usize| same.get(i).copied().flatten().map(|own| (time(own), own)).filter(within);
                met.basis.push(basis);
                met.guessed.push(false);
                by_content(row, at, records, window, &times, &mut met.at)
            }
            None => {
                let (sums, basis, guessed) = by_order(row, at, records, window, &mut met.at);
                met.basis.push(basis);
                met.guessed.push(guessed);
                sums
            }
        };
        met.sums.extend(sums.into_iter().take(to - from).map(|sum| before + sum));
        met.shares.extend(window.left.iter().filter_map(|(frame, t)| Some((*t, share(at, records, frame)?))));
    }
    let last = met.sums.last().copied().unwrap_or(0.0);
    met.sums.resize(rows, last);
    met
}

/// What a frame stands for.
fn share(at: &At, records: TapRecords<'_>, frame: &Sighted) -> Option<Share> {
    let record = frame.record as usize;
    if at.tunnel { Some(records.tunnelled.get(record)?.share) } else { Some(records.plain.get(record)?.share) }
}

/// SA of a frame, its sequence number, and its octets.
fn outer(at: &At, records: TapRecords<'_>, frame: &Sighted) -> (u16, Option<u32>, f64) {
    match records.tunnelled.get(frame.record as usize).filter(|_| at.tunnel) {
        Some(own) => (own.stream, Some(own.detail.sequence), own.share.mean()),
        None => (frame.stream, None, 0.0),
    }
}

fn curve(at: &At, records: TapRecords<'_>, left: &[(&Sighted, i64)]) -> Curve {
    let of = |(frame, t): &(&Sighted, i64)| PassedFrames {
        stream: outer(at, records, frame).0,
        t: *t,
        frames: f64::from(frame.frames),
    };
    Curve::of(&left.iter().map(of).collect::<Vec<_>>())
}

type Times<'t, 'f> = dyn Fn(usize) -> Option<(i64, &'f Sighted)> + 't;

/// By content: counts are those of all frames there, times those of the same packets.
fn by_content(
    row: &FrameRow,
    at: &At,
    records: TapRecords<'_>,
    window: &Window<'_>,
    times: &Times<'_, '_>,
    met: &mut [Option<(i64, u16, f64)>],
) -> Vec<f64> {
    let Span { from, to, .. } = window.span;
    let sent = row.thin.as_ref().map(|thin| thin.sent.as_slice()).unwrap_or_default();
    let curve = curve(at, records, &window.left);
    let most = curve.total().min(between(sent, from, to).round());
    // Points that are known: packets sent, and packets there.
    let mut points = vec![(0.0, 0.0)];
    for i in from..to {
        let Some((t, frame)) = times(i) else { continue };
        if let Some(slot) = met.get_mut(i) {
            *slot = Some((t, frame.size, outer(at, records, frame).2));
        }
        let came = between(sent, from, i + 1);
        let least = points.last().map_or(0.0, |(_, there)| *there);
        points.push((came, curve.at(t).min(came).min(most).max(least)));
    }
    points.push((between(sent, from, to), most));
    let mut next = 1;
    let mut sums = Vec::with_capacity(to - from);
    for i in from..to {
        let came = between(sent, from, i + 1);
        while next + 1 < points.len() && points.get(next).is_some_and(|(x, _)| *x < came) {
            next += 1;
        }
        let [(x, low), (y, high)] =
            points.get(next - 1..=next).and_then(<[_]>::first_chunk).copied().unwrap_or_default();
        let part = if y > x { ((came - x) / (y - x)).clamp(0.0, 1.0) } else { 1.0 };
        sums.push(low + part * (high - low));
    }
    sums
}

/// By order: the k-th is the k-th; where fewer came out, a full queue dropped the others.
fn by_order(
    row: &FrameRow,
    at: &At,
    records: TapRecords<'_>,
    window: &Window<'_>,
    met: &mut [Option<(i64, u16, f64)>],
) -> (Vec<f64>, Basis, bool) {
    let Span { from, to, .. } = window.span;
    let sent = row.thin.as_ref().map(|thin| thin.sent.as_slice()).unwrap_or_default();
    if window.left.is_empty() {
        return (vec![0.0; to - from], Basis::None, false);
    }
    let all = between(sent, from, to);
    let plain = curve(at, records, &window.left);
    let came_out = plain.total();
    let mut guessed = false;
    let (left, sums, basis) = if came_out >= all - 0.5 {
        let sums: Vec<f64> = (from..to).map(|i| between(sent, from, i + 1)).collect();
        (plain, sums, Basis::Order)
    } else {
        let numbered = with_missing(at, records, window, all - came_out).unwrap_or(plain);
        let arrivals: Vec<(i64, f64)> =
            (from..to).map(|i| (row.t.get(i).copied().unwrap_or(0), between(sent, i, i + 1))).collect();
        let sums = if numbered.total() >= all - 0.5 {
            (from..to).map(|i| between(sent, from, i + 1)).collect()
        } else {
            guessed = true;
            let_in(&arrivals, &numbered)
        };
        (numbered, sums, Basis::TailDrop)
    };
    let mut before = 0.0;
    for (i, sum) in (from..to).zip(&sums) {
        // A record stands for its last frame, which came last.
        if *sum > before + 1e-6
            && let Some(t) = left.when(*sum)
        {
            let near = window.left.partition_point(|(_, own)| *own < t).min(window.left.len() - 1);
            let own = window.left.get(near).map(|(frame, _)| *frame);
            if let (Some(slot), Some(frame)) = (met.get_mut(i), own) {
                *slot = Some((t, frame.size, outer(at, records, frame).2));
            }
        }
        before = *sum;
    }
    let share = came_out.min(all) / sums.last().copied().filter(|sum| *sum > 0.0).unwrap_or(1.0);
    (sums.into_iter().map(|sum| sum * share).collect(), basis, guessed)
}

/// The same with the packets that are missing by their numbers, where that is not too many.
fn with_missing(at: &At, records: TapRecords<'_>, window: &Window<'_>, lost: f64) -> Option<Curve> {
    if !at.tunnel {
        return None;
    }
    let mut before: std::collections::BTreeMap<u16, u32> = std::collections::BTreeMap::new();
    let mut missing = 0.0;
    let passed: Vec<PassedFrames> = window
        .left
        .iter()
        .map(|(frame, t)| {
            let (sa, sequence, _) = outer(at, records, frame);
            let frames = f64::from(frame.frames);
            let step = sequence.and_then(|own| Some(own.wrapping_sub(before.insert(sa, own)?) as i32));
            let more = step.map_or(0.0, |step| f64::from(step) - frames).max(0.0);
            let more = if more <= lost { more } else { 0.0 };
            missing += more;
            PassedFrames { stream: sa, t: *t, frames: frames + more }
        })
        .collect();
    (missing > 0.0 && missing <= lost + 0.5).then(|| Curve::of(&passed))
}

/// What a row of records keeps of where they were met.
impl MetAgain {
    /// Times; `MISSING` for none.
    pub(crate) fn times(&self) -> Vec<i64> {
        self.at.iter().map(|own| own.map_or(MISSING, |(t, _, _)| t)).collect()
    }

    /// Times and octets at layer 1.
    pub(crate) fn wire(&self) -> Vec<(i64, u16)> {
        self.at.iter().map(|own| own.map_or((MISSING, 0), |(t, _, l1)| (t, l1.round() as u16))).collect()
    }
}

/// What records of a row stand for, and how many packets passed up to each.
pub(crate) fn sums(streams: &[u16], times: &[i64], shares: &[Share]) -> Vec<f64> {
    let records =
        streams.iter().zip(times).zip(shares).map(|((stream, t), share)| PassedFrames::new(*stream, *t, *share));
    Curve::of(&records.collect::<Vec<_>>()).n
}
