//! Throughput of each size: equilibrium, RFC 1242, highest forwarded rates, service rate, loss by load.

use std::collections::BTreeSet;

use crate::model::trials::{
    Basis, Bound, Figure, Kind, Limit, Limits, Loss, OpenFigure, Rates, Reason, State, Throughput, Trial, Ways,
};
use crate::trials::figures::fit::median;
use crate::trials::figures::group;
use crate::trials::limits::{FULL, LENGTHS, SAME_LOAD};

/// The tunnel's link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Circuit {
    /// Its rate, where that is known.
    pub(crate) rate_bps: Option<u64>,
    /// The share of equal rates.
    pub(crate) equal: f64,
}

/// A row for each direction, ways, size and length.
pub(crate) fn throughput(trials: &[Trial], circuit: Circuit) -> Vec<Throughput> {
    let out = |t: &Trial| {
        let is_open = t.ways == Ways::BothUnequal || has_more_out(t) || t.pause_seconds.is_some();
        is_open || matches!(t.state, State::Stalled | State::Silent)
    };
    let all: Vec<&Trial> = trials.iter().filter(|t| t.kind == Kind::Trial).collect();
    let usable: Vec<&Trial> = all.iter().copied().filter(|t| !out(t) && t.offered_fps.is_some()).collect();
    let keys: BTreeSet<_> = usable.iter().map(|t| (t.direction.name(), t.ways.name(), t.size_class.clone())).collect();
    let mut rows = Vec::new();
    for key in keys {
        let same = |t: &&Trial| (t.direction.name(), t.ways.name(), &t.size_class) == (key.0, key.1, &key.2);
        let mut left: Vec<&Trial> = usable.iter().copied().filter(same).collect();
        left.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        let left_out: Vec<u64> = all
            .iter()
            .filter(|t| out(t) && (t.direction.name(), &t.size_class) == (key.0, &key.2))
            .map(|t| t.trial)
            .collect();
        let mut of_length: Vec<&Trial> = Vec::new();
        for trial in left {
            if of_length.last().is_some_and(|last| trial.seconds > LENGTHS * last.seconds) {
                rows.extend(row(std::mem::take(&mut of_length), &left_out, circuit));
            }
            of_length.push(trial);
        }
        rows.extend(row(of_length, &left_out, circuit));
    }
    rows
}

fn forwarded(t: &Trial) -> Option<Rates> {
    Some(Rates {
        fps: t.forwarded_fps?,
        l1_bps: t.forwarded_l1_bps?,
        l2_bps: t.forwarded_l2_bps?,
        l3_bps: t.forwarded_l3_bps?,
        l4_bps: t.forwarded_l4_bps,
    })
}

fn offered(t: &Trial) -> Option<Rates> {
    Some(Rates {
        fps: t.offered_fps?,
        l1_bps: t.offered_l1_bps?,
        l2_bps: t.offered_l2_bps?,
        l3_bps: t.offered_l3_bps?,
        l4_bps: t.offered_l4_bps,
    })
}

/// Rates at which a load itself was forwarded: what a queue of the load before sends on is none of it. `equal`: the share of equal rates.
fn own_forwarded(t: &Trial, equal: f64) -> Option<Rates> {
    let more = t.forwarded_fps.zip(t.offered_fps).is_some_and(|(left, came)| left > (1.0 + equal) * came);
    if more { offered(t) } else { forwarded(t) }
}

/// Whether more came out than went in, so that what was lost is not known.
fn has_more_out(t: &Trial) -> bool {
    let open = OpenFigure { figure: Figure::Forwarded, reason: Reason::AssociationUnclear };
    t.undetermined.contains(&open)
}

/// Whether a trial lost packets beyond doubt: one or two may be those of the load before or behind.
fn has_lost(t: &Trial) -> bool {
    t.lost > t.lost_error
}

fn fps(t: &Trial) -> f64 {
    t.offered_fps.unwrap_or(0.0)
}

/// The highest load that passes, and the lowest higher one that fails.
fn edge<'t>(
    trials: &[&'t Trial],
    passes: impl Fn(&Trial) -> bool,
    fails: impl Fn(&Trial) -> bool,
) -> (Option<&'t Trial>, Limits) {
    let low = trials.iter().copied().rfind(|t| passes(t));
    let above = trials.iter().find(|t| fails(t) && low.is_none_or(|low| fps(t) > fps(low)));
    (low, [low.map(fps), above.map(|t| fps(t))])
}

fn row(mut trials: Vec<&Trial>, left_out: &[u64], circuit: Circuit) -> Option<Throughput> {
    trials.sort_by(|a, b| fps(a).total_cmp(&fps(b)));
    let first = *trials.first()?;
    let fails = |t: &Trial| match t.ratio {
        Some(ratio) => matches!(t.state, State::Overloaded | State::Lossy) && ratio < 1.0 - circuit.equal,
        // Whatever the queue did, what was lost was not forwarded.
        None => t.basis != Basis::Sequence && t.loss_pct > 100.0 * circuit.equal,
    };
    let (equal, equal_edge) = edge(&trials, |t| t.state == State::Equal, fails);
    let (clean, clean_edge) = edge(&trials, |t| t.lost == 0, has_lost);
    let highest = |trials: &mut dyn Iterator<Item = &Trial>| {
        trials
            .filter_map(|t| Some((own_forwarded(t, circuit.equal)?, t.offered_fps)))
            .max_by(|a, b| a.0.fps.total_cmp(&b.0.fps))
    };
    let best = highest(&mut trials.iter().copied());
    let mfrzl = highest(&mut trials.iter().copied().filter(|t| t.lost == 0));
    let overloaded = mildest(&trials, equal);
    let [low, high] = equal_edge;
    let basis = match (low, high) {
        (Some(_), Some(_)) => Bound::Bracketed,
        (Some(_), None) => Bound::AtLeast,
        (None, _) if trials.iter().any(|t| fails(t)) => Bound::AtMost,
        (None, _) => Bound::None,
    };
    let monotone =
        trials.iter().enumerate().all(|(k, t)| !has_lost(t) || trials.iter().skip(k + 1).all(|t| t.lost > 0));
    let limit = overloaded.and_then(|t| {
        let circuit_bps = t.tunnel_l1_bps.or(t.forwarded_l1_bps)?;
        let full = circuit.rate_bps.is_some_and(|rate| circuit_bps >= FULL * rate as f64);
        Some(if full { Limit::Link } else { Limit::Device })
    });
    let buffer = trials.iter().filter_map(|t| t.buffer_frames).max_by(f64::total_cmp);
    let mut row = Throughput {
        direction: first.direction,
        ways: first.ways,
        size_class: first.size_class.clone(),
        trial_seconds: median(trials.iter().map(|t| t.seconds))?,
        trials: trials.len() as u64,
        left_out: left_out.to_vec(),
        equilibrium: equal.and_then(|t| own_forwarded(t, circuit.equal)),
        equilibrium_bracket_fps: equal_edge,
        equilibrium_basis: basis,
        rfc1242: clean.and_then(offered),
        rfc1242_bracket_fps: clean_edge,
        mfr: best.map(|(rates, _)| rates),
        mfr_offered_fps: best.and_then(|(_, offered)| offered),
        mfrzl: mfrzl.map(|(rates, _)| rates),
        frmol_fps: trials.last().and_then(|t| own_forwarded(t, circuit.equal)).map(|rates| rates.fps),
        service_fps: overloaded.and_then(|t| t.forwarded_fps),
        limit,
        monotone,
        buffer_frames: buffer,
        undetermined: Vec::new(),
    };
    let buffer = trials.iter().find_map(|t| queue_unclear(t)).unwrap_or(Reason::NotOverloaded);
    let reasons = [
        (row.equilibrium.is_none(), Figure::Equilibrium, Reason::NoEqualTrial),
        (high.is_none(), Figure::EquilibriumAbove, Reason::NoFailingTrial),
        (row.rfc1242.is_none(), Figure::Rfc1242, Reason::NoLosslessTrial),
        (row.rfc1242_bracket_fps[1].is_none(), Figure::Rfc1242Above, Reason::NoFailingTrial),
        (row.mfrzl.is_none(), Figure::Mfrzl, Reason::NoLosslessTrial),
        (row.service_fps.is_none(), Figure::Service, Reason::NoOverload),
        (row.limit.is_none(), Figure::Limit, Reason::NoOverload),
        (row.buffer_frames.is_none(), Figure::Buffer, buffer),
    ];
    let open = reasons.into_iter().filter(|(null, _, _)| *null);
    row.undetermined = open.map(|(_, figure, reason)| OpenFigure { figure, reason }).collect();
    Some(row)
}

/// The mildest overload. A device that forwards a load whole is at its limit in none that is lower: it was disturbed there.
fn mildest<'t>(trials: &[&'t Trial], equal: Option<&Trial>) -> Option<&'t Trial> {
    let is_limit = |t: &Trial| equal.is_none_or(|own| fps(t) >= (1.0 - SAME_LOAD) * fps(own));
    trials.iter().copied().find(|t| t.state == State::Overloaded && is_limit(t))
}

/// Where a trial does not say what its queue held although it was full.
pub(super) fn queue_unclear(trial: &Trial) -> Option<Reason> {
    let open = OpenFigure { figure: Figure::Buffer, reason: Reason::QueueUnclear };
    trial.undetermined.contains(&open).then_some(Reason::QueueUnclear)
}

/// Loss by load, in order of time.
pub(crate) fn loss(trials: &[Trial]) -> Vec<Loss> {
    let of = |t: &Trial| {
        Some(Loss {
            trial: t.trial,
            direction: t.direction,
            ways: t.ways,
            size_class: t.size_class.clone(),
            load_pct: t.load_pct?,
            loss_pct: t.loss_pct,
            state: t.state,
        })
    };
    trials.iter().filter(|t| t.kind == Kind::Trial && !has_more_out(t)).filter_map(of).collect()
}

/// Trials of one group, for what is decided over all sizes.
pub(crate) fn same_way(a: &Trial, b: (crate::model::trials::Direction, Ways)) -> bool {
    let (direction, ways, _) = group(a);
    (direction, ways) == b
}
