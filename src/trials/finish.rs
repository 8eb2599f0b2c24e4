//! Everything that follows when all taps are read.

use super::association::row::{At, Unclear};
use super::association::stepped::{self, Forward};
use super::association::{
    ClockFigures, Clocks, FrameRow, Span, TapTimes, at_pauses, both_ways, drained, from_last, joined, packets_beside,
    pair, row,
};
use super::begins;
use super::figures::judge;
use super::figures::load::Headers;
use super::left_out;
use super::limits::{CLOCKS_APART, MAX_FORWARD, SLACK_NS, WAYS};
use super::read::ways::Ways;
use super::read::{Place, Taps};
use super::segments::{self, Cuts, Stretch, find, given, given_missed, silences};
use super::settings::TrialsSettings;
use super::shown::ShownTrial;
use super::sizes::baseline::ClearTrial;
use super::sizes::{Circuit, back_to_back, baseline, buffers, loss, model, search, throughput};
use super::transfers::transfers;
use super::trial;
use super::untold::{InTunnelTold, in_either, untold};
use crate::model::trials::{
    BackToBack, Baseline, Basis, Buffer, Direction, Flow, Kind, Loss, Model, Search, Segment, Throughput, Transfer,
    Trial, Ways as LoadedWays,
};

/// What a run found, before it is a report.
#[derive(Debug, Default)]
pub(crate) struct Figured {
    pub(crate) trials: Vec<Trial>,
    pub(crate) throughput: Vec<Throughput>,
    pub(crate) loss: Vec<Loss>,
    pub(crate) model: Vec<Model>,
    pub(crate) buffers: Vec<Buffer>,
    pub(crate) back_to_back: Vec<BackToBack>,
    pub(crate) search: Vec<Search>,
    pub(crate) transfers: Vec<Transfer>,
    pub(crate) baseline: Vec<Baseline>,
    pub(crate) segments: Vec<Segment>,
    pub(crate) flows: Vec<Flow>,
    /// Of each tap: offset and, where it is known, drift of its clock.
    pub(crate) clocks: [Option<ClockFigures>; 3],
    pub(crate) depends_on_offset: bool,
    /// More packets of a direction went out than came in: the direction, in, out.
    pub(crate) swapped: Vec<(Direction, u64, u64)>,
    /// The frames of trials.
    pub(crate) shown: Vec<ShownTrial>,
    /// Trials, with their direction, in which frames of the trial before were still inside.
    pub(crate) carried_in: Vec<(u64, Direction)>,
    pub(crate) degraded: Vec<String>,
    /// Why no load is a trial although packets of one came in.
    pub(crate) missed: Option<String>,
}

/// A trial before it is measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    /// 0 into the tunnel, 1 out of it.
    pub(super) way: usize,
    pub(super) stretch: Stretch,
    pub(super) begin: i64,
    pub(super) end: i64,
    /// Time of the first frame of what follows.
    pub(super) following: i64,
    pub(super) basis: Basis,
    /// Number of the trial; directions that are loaded together share one.
    pub(super) number: u64,
    /// What is known of it in the tunnel.
    pub(super) told: InTunnelTold,
    /// Which ways are loaded, where the load of the other direction is not used.
    pub(super) mate: Option<LoadedWays>,
}

/// What the taps were, and what else is known.
pub(crate) struct TapsGiven<'g> {
    /// Which taps there are.
    pub(crate) present: [bool; 3],
    /// Which captures end in the middle of a record.
    pub(crate) cut: [bool; 3],
    /// Trials of a run to compare with.
    pub(crate) clear: &'g [ClearTrial],
}

/// Figures of all that was read.
pub(crate) fn finish(mut taps: Taps, settings: &TrialsSettings, known: &TapsGiven<'_>) -> Figured {
    taps.sort();
    for _ in 0..MAX_FORWARD {
        let Some(step) = set_forward(&taps, settings, known) else { break };
        taps.undo(step);
        if step.by == 0 {
            break;
        }
    }
    figured(&taps, settings, known)
}

/// Directions of the packets, and the frames of each at each of its taps.
fn seen(taps: &Taps, ways: &Ways, settings: &TrialsSettings, known: &TapsGiven<'_>) -> [Vec<(Place, At)>; 2] {
    let all = [Place::Near, Place::Middle, Place::Far];
    let mut places: Vec<Place> = all.into_iter().filter(|p| known.present.get(*p as usize) == Some(&true)).collect();
    let fwd = row::sightings(taps, ways, Direction::Fwd, &places, settings);
    places.reverse();
    [fwd, row::sightings(taps, ways, Direction::Rev, &places, settings)]
}

/// A clock that was set forward, as the packets show.
fn set_forward(taps: &Taps, settings: &TrialsSettings, known: &TapsGiven<'_>) -> Option<Forward> {
    let ways = Ways::of(taps, settings.one_clock, settings.ends);
    let both = seen(taps, &ways, settings, known);
    let clocks = Clocks::of(taps, &both, wide(settings.gap_ns), settings.one_clock);
    let mut open = None;
    for (way, seen) in both.iter().enumerate() {
        let Load { row, raw, .. } = load(taps, seen, way, &clocks, settings);
        let chained = busy_chains(&row, seen, &clocks, wide(settings.gap_ns));
        let mut later: Vec<&(Place, At)> = seen.iter().skip(1).collect();
        later.reverse();
        let rules = stepped::ShiftRules { gap: wide(settings.gap_ns), one_clock: settings.one_clock };
        for (place, at) in later {
            let others = || seen.iter().skip(1).filter(|(other, _)| other != place);
            let silent =
                |from: i64, to: i64| others().any(|(other, at)| stepped::is_silent(*other, at, &clocks, (from, to)));
            let found = stepped::forward(&row, &raw, (*place, at), &clocks, &chained, rules, &silent);
            if found.is_some_and(|found| found.by != 0) {
                return found;
            }
            open = open.or(found);
        }
    }
    open
}

/// The clocks of all taps, compared by what the first packets of loads and then the packets that are paired tell.
fn compared(taps: &Taps, both: &[Vec<(Place, At)>; 2], settings: &TrialsSettings) -> Clocks {
    let mut clocks = Clocks::of(taps, both, wide(settings.gap_ns), settings.one_clock);
    if !settings.one_clock {
        let rows = |clocks: &Clocks| -> Vec<FrameRow> {
            both.iter().enumerate().map(|(way, seen)| direction(taps, seen, way, clocks, settings).0).collect()
        };
        let mut own = rows(&clocks);
        if clocks.refine(&own, wide(settings.gap_ns)) {
            own = rows(&clocks);
        }
        clocks.balance(&own);
        let wrong = clocks.impossible(&own);
        clocks.doubt(&wrong);
    }
    clocks
}

fn figured(taps: &Taps, settings: &TrialsSettings, known: &TapsGiven<'_>) -> Figured {
    let ways = Ways::of(taps, settings.one_clock, settings.ends);
    let all = [Place::Near, Place::Middle, Place::Far];
    let places: Vec<Place> = all.into_iter().filter(|p| known.present.get(*p as usize) == Some(&true)).collect();
    let (transfers, mut degraded) = (transfers(taps, &ways, &places), left_out::degraded(taps));
    degraded.extend(ways.untold());
    let mut out = Figured { transfers, degraded, ..Figured::default() };
    let both = seen(taps, &ways, settings, known);
    let clocks = compared(taps, &both, settings);
    out.depends_on_offset = clocks.depends_on_offset;
    let (mut rows, mut found): (Vec<FrameRow>, Vec<Found>) = (Vec::new(), Vec::new());
    for (way, seen) in both.iter().enumerate() {
        let (row, own) = direction(taps, seen, way, &clocks, settings);
        out.swapped.extend(left_out::swapped(&row, seen, &clocks));
        out.degraded.extend(left_out::never_came(&row, seen, &clocks).or_else(|| begins::missed(&row)));
        out.flows.extend(left_out::flows(taps, &row));
        found.extend(own);
        rows.push(row);
    }
    both_ways(&mut rows, apart(taps, settings));
    out.missed = settings.given.as_ref().filter(|_| found.is_empty()).and_then(|trials| given_missed(&rows, trials));
    let until = left_out::cut_at(taps, &clocks, known.cut, wide(settings.gap_ns));
    let is_cut = |found: &Found| {
        if until.is_some_and(|until| found.end >= until) {
            return Some("The capture ends in the middle of a record during or right after it.".to_owned());
        }
        let skipped = settings.skip_start_ns > 0 && found.stretch.steady > found.end;
        let why = skipped.then(|| "--skip-start leaves nothing of it.".to_owned());
        why.or_else(|| why_unused(taps, &clocks, rows.get(found.way)?, found))
    };
    let used = |found: &Found| matches!(found.stretch.kind, Kind::Trial | Kind::Burst) && is_cut(found).is_none();
    let (kept, left): (Vec<Found>, Vec<Found>) = found.into_iter().partition(used);
    out.segments = left_out::segments(taps, &rows, &left, is_cut);
    let kept = number(kept.into_iter().map(|own| Found { mate: mate(&own, &left, &rows), ..own }).collect());
    out.carried_in = left_out::carried_in(&rows, &kept);
    let first = rows.iter().filter_map(|row| row.t.first().copied()).min().unwrap_or(0);
    let times: Vec<(i64, i64)> = kept.iter().map(|found| (found.begin, found.end)).collect();
    out.clocks = all.map(|place| clocks.figures(place, first, &times));
    let each = kept.iter().filter_map(|found| {
        let row = rows.get(found.way)?;
        let own = trial::measured(taps, row, found, &clocks, settings)?;
        out.shown.extend(ShownTrial::of(taps, row, found, &own.trial));
        Some(own)
    });
    out.trials = judge(each.collect(), settings.equal);
    let circuit = Circuit { rate_bps: settings.tunnel_rate_bps.or(settings.link_rate_bps), equal: settings.equal };
    out.throughput = throughput(&out.trials, circuit);
    out.loss = loss(&out.trials);
    out.model = model::models(&out.throughput);
    out.buffers = buffers(&out.throughput, &out.trials);
    out.back_to_back = back_to_back(&out.trials);
    out.baseline = baseline::compare(&out.trials, known.clear, out.depends_on_offset);
    if let Some(asked) = &settings.search {
        let flow = rows.iter().find_map(|row| row.flow.first());
        let headers = flow.map_or_else(Headers::default, |flow| Headers::of(taps, *flow));
        out.search = search::searches(&out.trials, asked, settings.rate_layer, settings.equal, headers);
    }
    out
}

/// The load of one direction.
struct Load {
    row: FrameRow,
    /// Times as the first tap states them.
    raw: Vec<i64>,
    stretches: Vec<Stretch>,
    spans: Vec<Span>,
}

/// The packets of one direction, and the trials among them.
fn load(taps: &Taps, seen: &[(Place, At)], way: usize, clocks: &Clocks, settings: &TrialsSettings) -> Load {
    let direction = if way == 0 { Direction::Fwd } else { Direction::Rev };
    let mut row = row::row(taps, direction, seen, wide(settings.gap_ns));
    let raw = row.t.clone();
    if let Some(first) = row.first() {
        row.t.iter_mut().for_each(|t| *t = clocks.map(first, *t));
    }
    let cuts = Cuts { gap: wide(settings.gap_ns), least: wide(settings.least_ns) };
    let skip = wide(settings.skip_start_ns);
    let mut stretches = match &settings.given {
        Some(trials) => given(&row, trials, direction, cuts.least, skip),
        None => {
            let thin = row.thin.as_ref();
            let (sent, alike) = (thin.map(|thin| thin.sent.as_slice()), thin.map(|thin| thin.alike.as_slice()));
            find(segments::OfferedLoad { times: &row.t, sizes: &row.size, sent, alike }, cuts)
        }
    };
    let time = |i: usize| row.t.get(i).copied().unwrap_or(0);
    for stretch in stretches.iter_mut().filter(|_| skip > 0) {
        stretch.steady = stretch.steady.max(time(stretch.from).saturating_add(skip));
    }
    let following = |k: usize, s: &Stretch| {
        let drained = || drained(seen, clocks, time(s.to - 1), wide(settings.gap_ns));
        stretches.get(k + 1).map_or_else(drained, |next| time(next.from))
    };
    let span =
        |(k, s): (usize, &Stretch)| Span { from: s.from, to: s.to, begin: time(s.from), following: following(k, s) };
    let spans: Vec<Span> = stretches.iter().enumerate().map(span).collect();
    Load { row, raw, stretches, spans }
}

/// The trials of one direction, and where their packets went.
fn direction(
    taps: &Taps,
    seen: &[(Place, At)],
    way: usize,
    clocks: &Clocks,
    settings: &TrialsSettings,
) -> (FrameRow, Vec<Found>) {
    let Load { mut row, stretches, spans, .. } = load(taps, seen, way, clocks, settings);
    let slack = slack(taps, seen, settings);
    let last = |stretch: &Stretch| row.t.get(stretch.to.wrapping_sub(1)).copied().unwrap_or(0);
    let one = |(stretch, span): (&Stretch, &Span)| {
        let (begin, end, following) = (span.begin, last(stretch), span.following);
        let told = in_either(taps, clocks, seen, (begin, end, following), slack);
        Found { way, stretch: *stretch, begin, end, following, basis: Basis::None, number: 0, told, mate: None }
    };
    let mut found: Vec<Found> = stretches.iter().zip(&spans).map(one).collect();
    row.slack = slack;
    row.beside = packets_beside(seen, clocks, slack);
    let chained = busy_chains(&row, seen, clocks, wide(settings.gap_ns));
    row.spans.clone_from(&chained);
    let parts: Vec<(usize, usize)> = spans.iter().map(|span| (span.from, span.to)).collect();
    let rules = TapTimes { slack, gap: wide(settings.gap_ns) };
    for (place, at) in seen.iter().skip(1) {
        let tap = taps.place(*place);
        let bases = pair(&mut row, (*place, at), tap.records(), clocks, (&chained, &parts), rules);
        if at.open {
            let (from, to, place) = (0, row.t.len(), *place);
            row.unclear.push(Unclear { place, from, to, more: false, queued: false });
        }
        if row.last() == Some(*place) {
            let of = |found: &Found| {
                let chain = chained.partition_point(|span| span.to <= found.stretch.from);
                bases.get(chain).copied().unwrap_or(Basis::None)
            };
            for found in &mut found {
                let basis = of(found);
                let decrypted = basis == Basis::Content && at.tunnel && tap.decrypted > 0;
                found.basis = if decrypted { Basis::Decrypted } else { basis };
            }
        }
    }
    if let [_, (middle, wire), (last, exit)] = seen
        && !wire.open
    {
        let records = &taps.place(*middle).tunnelled.records;
        from_last(&mut row, (*middle, wire), (*last, exit), records, clocks, &chained, slack);
    }
    row.leaving = begins::leaving(&row, seen, clocks);
    row.recording = row.first().and_then(|first| Some(clocks.map(first, taps.place(first).earliest?)));
    row.recorded = row.last().and_then(|last| Some(clocks.map(last, taps.place(last).latest?)));
    if let Some((place, at)) = seen.iter().find(|(_, at)| at.tunnel) {
        row.skips = taps.place(*place).skipped.of(&at.sas, |t| clocks.map(*place, t));
    }
    if row.is_from_tunnel() && row.last().is_none() {
        found.iter_mut().for_each(|found| found.basis = Basis::Sequence);
    }
    (row, found)
}

/// By how much departures may seem to precede arrivals.
fn slack(taps: &Taps, seen: &[(Place, At)], settings: &TrialsSettings) -> i64 {
    // A clock that was set is put right to about one frame, and no time is better than the stamps.
    let set = seen.iter().any(|(place, _)| !taps.place(*place).steps.is_empty());
    let grain = seen.iter().map(|(place, _)| taps.place(*place).grain.step()).max().unwrap_or(0);
    // What may be in either direction of the tunnel may be compared with the load of the other one, which begins earlier.
    let open = seen.iter().any(|(_, at)| at.open);
    grain.max(if settings.one_clock && !set && !open { 0 } else { SLACK_NS })
}

/// Why a trial is not used although it is one.
fn why_unused(taps: &Taps, clocks: &Clocks, row: &FrameRow, found: &Found) -> Option<String> {
    untold(found, &row.places).or_else(|| left_out::unused(taps, clocks, row, found))
}

/// By how much times of different taps may be wrong against each other, in nanoseconds.
fn apart(taps: &Taps, settings: &TrialsSettings) -> i64 {
    let places = [Place::Near, Place::Middle, Place::Far].map(|place| taps.place(place));
    let grain = places.iter().map(|tap| tap.grain.step()).max().unwrap_or(0);
    let set = places.iter().any(|tap| !tap.steps.is_empty());
    grain.max(if settings.one_clock && !set { 0 } else { CLOCKS_APART })
}

/// A length of time that the user gave.
fn wide(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

/// Loads that meet what others left inside: where any tap shows that the device sent on between two of them, both are one span.
fn busy_chains(row: &FrameRow, seen: &[(Place, At)], clocks: &Clocks, gap: i64) -> Vec<Span> {
    let times = |(place, at): &(Place, At)| -> Vec<i64> {
        at.frames.iter().filter(|frame| frame.test).map(|frame| clocks.map(*place, frame.t)).collect()
    };
    let outs: Vec<Vec<i64>> = seen.iter().skip(1).map(times).collect();
    let drained = |last: i64| drained(seen, clocks, last, gap);
    let spans = at_pauses(&chains(&row.t, gap, &drained), &row.t, &outs);
    outs.iter().fold(spans, |spans, out| joined(&spans, &row.t, out))
}

/// Loads that follow each other without a silence share a queue: what one leaves inside comes out in the next. They are paired as one
/// span, whatever trials are made of them.
fn chains(times: &[i64], gap: i64, drained: &dyn Fn(i64) -> i64) -> Vec<Span> {
    let time = |i: usize| times.get(i).copied().unwrap_or(0);
    let silences = silences(times, gap);
    let next = silences.iter().skip(1).map(|(from, _)| time(*from));
    let followings = next.chain(silences.last().map(|(_, to)| drained(time(to - 1))));
    silences
        .iter()
        .zip(followings)
        .map(|((from, to), following)| Span { from: *from, to: *to, begin: time(*from), following })
        .collect()
}

/// Whether two loads are at the same time: half of the shorter one.
fn overlaps(one: &Found, other: &Found) -> bool {
    let overlap = other.end.min(one.end) - other.begin.max(one.begin);
    let shorter = (other.end - other.begin).min(one.end - one.begin);
    other.way != one.way && overlap as f64 >= 0.5 * shorter as f64
}

/// Which ways are loaded together with a trial of which the other direction's load is not used.
fn mate(own: &Found, left: &[Found], rows: &[FrameRow]) -> Option<LoadedWays> {
    let is_load = |other: &&Found| matches!(other.stretch.kind, Kind::Trial | Kind::Burst) && overlaps(own, other);
    let other = left.iter().find(is_load)?;
    let load = |found: &Found| {
        let (row, Stretch { from, to, .. }) = (rows.get(found.way)?, found.stretch);
        Some((row.count(from, to) as f64 / (found.end - found.begin).max(1) as f64, *row.size.get(from)?))
    };
    let ((rate, size), (others, other_size)) = (load(own)?, load(other)?);
    let near = (rate / others - 1.0).abs() <= WAYS && size == other_size;
    Some(if near { LoadedWays::Both } else { LoadedWays::BothUnequal })
}

/// Numbers the trials in order of time. Directions that overlap by half of the shorter are one trial.
fn number(mut found: Vec<Found>) -> Vec<Found> {
    found.sort_by_key(|found| (found.begin, found.way));
    let mut last = 0;
    for at in 0..found.len() {
        let Some(own) = found.get(at).copied() else { continue };
        let mate = found.iter().take(at).find(|other| overlaps(&own, other));
        let number = mate.map_or(last + 1, |mate| mate.number);
        last = last.max(number);
        if let Some(own) = found.get_mut(at) {
            own.number = number;
        }
    }
    found
}
