//! One trial's packets, made ready to be measured.

use super::association::{Clocks, FrameRow, MISSING};
use super::begins;
use super::figures::load::Headers;
use super::figures::{Measured, Sample, measure};
use super::finish::Found;
use super::left_out;
use super::limits::TAPS_APART;
use super::read::skipped::missing;
use super::read::{Place, Taps};
use super::settings::TrialsSettings;
use super::thinned::{Thin, ThinSample};
use super::untold::InTunnelTold;
use crate::model::trials::{Basis, Kind, Reason};
use crate::transform::size::ethernet::PREAMBLE_AND_IFG;

/// The figures of a trial.
pub(super) fn measured(
    taps: &Taps,
    row: &FrameRow,
    found: &Found,
    clocks: &Clocks,
    settings: &TrialsSettings,
) -> Option<Measured> {
    let (from, to) = (found.stretch.from, found.stretch.to);
    let (first, last) = (row.first()?, row.last());
    let t = row.t.get(from..to)?;
    let headers = |i: usize| row.flow.get(from + i).map_or_else(Headers::default, |flow| Headers::of(taps, *flow));
    let out = row.out.get(from..to).unwrap_or_default();
    let in_tunnel = row.is_from_tunnel();
    let out_tunnel = last.is_some_and(|place| taps.is_tunnel(place));
    let l1_at = |record: u32| {
        taps.place(first).tunnelled.records.get(record as usize).map_or(0, |own| own.share.mean().round() as u16)
    };
    // Where the first tap is the tunnel's, its frames are those that came in.
    let own: Vec<(i64, u16)> = if in_tunnel {
        let records = row.record.get(from..to).unwrap_or_default();
        t.iter().zip(records).map(|(t, record)| (*t, l1_at(*record))).collect()
    } else {
        Vec::new()
    };
    let tunnel = if in_tunnel { own.as_slice() } else { row.middle.get(from..to).unwrap_or_default() };
    let l2_of = |i: usize| tunnel.get(i).map_or(0, |(_, l1)| u32::from(*l1).saturating_sub(PREAMBLE_AND_IFG as u32));
    let skipped = missing(&row.skips, found.begin, found.following);
    let sequenced = taps.is_tunnel(Place::Middle) && taps.place(Place::Middle).sas.iter().any(|sa| sa.key.is_some());
    let sample = Sample {
        number: found.number,
        direction: row.direction,
        kind: found.stretch.kind,
        start_ns: start(taps, first, found, clocks),
        t,
        size: row.size.get(from..to)?,
        headers: &headers,
        out,
        tunnel,
        outer_l2: (in_tunnel.then_some(&l2_of as &dyn Fn(usize) -> u32), out_tunnel.then_some(&l2_of as &_)),
        middle: row.places.len() == 3,
        ipsec: taps.is_tunnel(Place::Middle),
        steady: if found.stretch.kind == Kind::Trial { found.stretch.steady } else { found.begin },
        basis: found.basis,
        sequence_lost: sequenced.then_some(skipped),
        control: control(taps, first, found, clocks),
        link_rate: settings.link_rate_bps,
        grain: row.places.iter().map(|place| taps.place(*place).grain.step()).max().unwrap_or(0),
        lost_behind: &|x, y| missing(&row.skips, x, y),
        no_latency: no_latency(taps, row, found, clocks),
        depends_on_offset: clocks.depends_on_offset,
        inside: carried_in(row, found),
        shared: row.is_queue_shared((from, to)),
        sooner: sooner(row),
        more_out: last.and_then(|last| row.unclear(last, (from, to))).is_some_and(|own| own.more),
        no_tunnel: no_tunnel(taps, row, found, clocks),
        no_device: row.unclear(Place::Middle, (from, to)).map(|_| unclear(found)),
        open_queue: row.open_queue(found.basis, (from, to)),
        opaque: row.opaque,
        least: &|size| row.lengths.least_of(size),
        thin: row.thin.as_ref().map(|thin| thin_sample(thin, from, taps.apart(), !out_tunnel)),
    };
    let mut measured = measure(&sample)?;
    leave_open(&mut measured, row, found, clocks);
    if found.basis == Basis::Sequence {
        by_numbers(&mut measured, skipped);
    } else if out.iter().all(|d| *d == MISSING) {
        measured.trial.basis = Basis::None;
    }
    Some(measured)
}

/// What the records of a trial stand for.
fn thin_sample(thin: &Thin, from: usize, apart: i64, in_clear: bool) -> ThinSample<'_> {
    ThinSample {
        from,
        share: &thin.share,
        sent: &thin.sent,
        tunnelled: &thin.tunnelled,
        received: &thin.received,
        exits: &thin.exits,
        in_clear,
        wires: &thin.wires,
        apart,
    }
}

/// Control frames during a trial where its packets come in, and their octets at layer 1.
fn control(taps: &Taps, first: Place, found: &Found, clocks: &Clocks) -> (u64, u64) {
    let during = |(at, ..): &&(i64, u32, u64)| (found.begin..=found.end).contains(&clocks.map(first, *at));
    let frames = taps.place(first).control.iter().filter(during);
    frames.fold((0, 0), |(n, l1), (_, more, octets)| (n + u64::from(*more), l1 + octets))
}

/// Time of the first frame as its capture states it.
fn start(taps: &Taps, first: Place, found: &Found, clocks: &Clocks) -> i64 {
    let offset = clocks.get(first).map_or(0, |clock| clock.ahead(found.begin));
    let own = found.begin.saturating_add(offset);
    if offset == 0 { taps.place(first).raw(found.begin) } else { own }
}

/// What is open of a trial: losses near its borders, and times where nothing tells in which direction of the tunnel it is.
fn leave_open(measured: &mut Measured, row: &FrameRow, found: &Found, clocks: &Clocks) {
    let places = row.first().zip(row.last()).zip(row.places.get(1).copied());
    if let Some(((first, last), next)) = places {
        measured.adrift = [last, next].map(|place| clocks.adrift([first, place], (found.begin, found.end)));
    }
    measured.trial.lost_error = lost_error(row, found);
    measured.mate = found.mate;
    if found.told == InTunnelTold::Alike && row.places.len() == 2 {
        measured.without_times(Reason::TunnelUnclear);
    }
}

/// Why frames in the tunnel are not known.
fn unclear(found: &Found) -> Reason {
    if found.told == InTunnelTold::Way { Reason::AssociationUnclear } else { Reason::TunnelUnclear }
}

/// Why the tunnel tap says nothing of a trial although there is one.
fn no_tunnel(taps: &Taps, row: &FrameRow, found: &Found, clocks: &Clocks) -> Option<Reason> {
    let place = row.places.iter().copied().skip(1).find(|place| *place == Place::Middle)?;
    let stops = row.places.len() == 3 && left_out::stopped_first(taps, clocks, place, row, found);
    if stops || left_out::uncovered(taps, clocks, place, row, found).is_some() {
        return Some(Reason::CaptureCut);
    }
    if found.told == InTunnelTold::Nothing {
        return Some(Reason::TunnelUnclear);
    }
    let (from, to) = (found.stretch.from, found.stretch.to);
    // What came out was in the tunnel: where none of it was found there, frames of the tunnel were not recognised.
    let none = row.middle.get(from..to).unwrap_or_default().iter().all(|(t, _)| *t == MISSING);
    if none && row.out.get(from..to).unwrap_or_default().iter().any(|d| *d != MISSING) {
        return Some(Reason::AssociationUnclear);
    }
    let unclear = row.unclear(place, (from, to));
    unclear.filter(|own| own.more).map(|_| Reason::AssociationUnclear)
}

/// Why a trial has no latency although its packets were seen at both ends.
fn no_latency(taps: &Taps, row: &FrameRow, found: &Found, clocks: &Clocks) -> Option<Reason> {
    let last = row.last()?;
    let set = |place: Place| {
        taps.place(place).steps.iter().filter(|step| !step.doubtful).any(|step| {
            let at = clocks.map(place, step.at);
            at >= found.begin && at <= found.end.max(found.following.min(found.end + 1_000_000_000))
        })
    };
    if row.places.iter().any(|place| set(*place)) {
        return Some(Reason::ClockStep);
    }
    // A path that became longer makes the loads after it doubtful, and one that became shorter, which looks like a clock of the input, those
    // before it.
    let doubtful = |place: Place| {
        let mut steps = taps.place(place).steps.iter().filter(|step| step.doubtful);
        steps.any(|step| row.first() == Some(place) || clocks.map(place, step.at) <= found.begin)
    };
    if row.places.iter().any(|place| doubtful(*place)) {
        return Some(Reason::NoIdlePacket);
    }
    let known = |place: Option<Place>| place.is_some_and(|place| clocks.get(place).is_some());
    if !known(row.first()) || !known(Some(last)) {
        return Some(Reason::NoAnchor);
    }
    let (from, to) = (found.stretch.from, found.stretch.to);
    if found.told == InTunnelTold::Way && row.unclear(last, (from, to)).is_some() {
        return Some(Reason::AssociationUnclear);
    }
    // Packets that left before they came, by their content: the clocks contradict each other. A single one has another reason, and voids
    // no others.
    let came = row.t.get(from..to).unwrap_or_default();
    let left = row.out.get(from..to).unwrap_or_default();
    let sooner = sooner(row);
    let impossible = came.iter().zip(left).filter(|(t, d)| **d != MISSING && **d < **t - sooner).count();
    (impossible > 1 + came.len() / IMPOSSIBLE_OF && row.thin.is_none()).then_some(Reason::ClockStep)
}

/// Of so many packets one may have left before it came.
const IMPOSSIBLE_OF: usize = 1_000;

/// By how much departures may seem to precede arrivals.
fn sooner(row: &FrameRow) -> i64 {
    row.slack.max(TAPS_APART)
}

/// Packets that were inside when a load began.
fn carried_in(row: &FrameRow, found: &Found) -> usize {
    let before = row.out.get(..found.stretch.from).unwrap_or_default();
    before.iter().filter(|d| **d > found.begin).count() + begins::carried(row, found)
}

/// By how many packets the losses of a load may be those of another one. Loads that share a queue of equal packets are told apart by what
/// the queue had room for, which is known to about one packet at either end; where no full queue explains the losses, by time.
fn lost_error(row: &FrameRow, found: &Found) -> u64 {
    let (from, to) = (found.stretch.from, found.stretch.to);
    let out = row.out.get(from..to).unwrap_or_default();
    let still = out.iter().filter(|d| **d != MISSING && **d > found.following).count();
    if found.basis != Basis::TailDrop {
        return behind_others(row, found);
    }
    let open = row.last().is_some_and(|last| row.unclear(last, (from, to)).is_some());
    let of = |inside: usize| if open { inside } else { inside.min(AT_BORDER) };
    ((of(carried_in(row, found)) + of(still)) as u64).max(behind_others(row, found))
}

/// Packets that were lost while what the load before left was still inside, or, where packets wait less and less, before none waited: a queue
/// that another load filled is no verdict on this one.
fn behind_others(row: &FrameRow, found: &Found) -> u64 {
    let (from, to) = (found.stretch.from, found.stretch.to);
    let before = row.out.get(..from).unwrap_or_default().iter().copied().max();
    let Some(gone) = before.filter(|gone| *gone > found.begin && row.thin.is_none()) else { return 0 };
    let own = || row.t.get(from..to).unwrap_or_default().iter().zip(row.out.get(from..to).unwrap_or_default());
    let late = || own().filter(|(_, d)| **d != MISSING).map(|(t, d)| (*t, d - t));
    let period = (found.end - found.begin) / (to - from).max(1) as i64;
    let idle = late().map(|(_, late)| late).min().unwrap_or(0);
    let shrinks = late().next().zip(late().next_back()).is_some_and(|((_, first), (_, last))| last + period < first);
    let empty = late().find(|(_, late)| *late <= idle + period).map_or(found.end, |(t, _)| t);
    let gone = if shrinks { gone.max(empty) } else { gone };
    own().filter(|(t, d)| **t < gone && **d == MISSING).count() as u64
}

/// Packets that may be of either of two loads.
const AT_BORDER: usize = 2;

/// With the tunnel tap alone: packets that are missing were offered.
fn by_numbers(measured: &mut Measured, missing: u64) {
    let trial = &mut measured.trial;
    let (sent, received) = (trial.sent + missing, trial.sent);
    trial.offered_fps = trial.offered_fps.map(|fps| fps * sent as f64 / received as f64);
    let scale = sent as f64 / received.max(1) as f64;
    for rate in [
        &mut trial.offered_l1_bps,
        &mut trial.offered_l2_bps,
        &mut trial.offered_l3_bps,
        &mut trial.offered_l4_bps,
        &mut trial.load_pct,
    ] {
        *rate = rate.map(|rate| rate * scale);
    }
    (trial.sent, trial.received, trial.lost) = (sent, received, missing);
    trial.loss_pct = 100.0 * missing as f64 / sent.max(1) as f64;
    trial.lost_before_tunnel = None;
    trial.lost_behind_tunnel = None;
}
