//! Figures of tunnels in two reports. SAs come and go with every rekeying, so figures are those of all SAs from one address to another.

use std::collections::BTreeMap;

use super::Allowed;
use crate::model::pairs::MatchReport;
use crate::model::report::Report;
use crate::model::report::diff::{FigureChange, FigureKind};
use crate::report::metrics::tunnels::carried;

/// Tap, from, to, figure.
type Figures = BTreeMap<(String, String, String, FigureKind), Option<f64>>;

/// Overhead and loss of each pair of addresses, rates of each direction.
pub(super) fn of_reports(old: &Report, new: &Report, allowed: &Allowed) -> Vec<FigureChange> {
    // Taps are named after files: with one tap in each report, that is the same one.
    let one = old.taps.len() <= 1 && new.taps.len() <= 1;
    let name = |report: &Report| {
        if one { new.taps.first().or(report.taps.first()).map(|tap| tap.name.to_string()) } else { None }
    };
    changes(&of_report(old, name(old)), &of_report(new, name(new)), allowed)
}

fn of_report(report: &Report, tap: Option<String>) -> Figures {
    let mut figures = Figures::new();
    for ((own, from, to), sum) in carried(report) {
        let tap = tap.clone().unwrap_or(own);
        let mut put = |kind, value| figures.insert((tap.clone(), from.clone(), to.clone(), kind), value);
        put(FigureKind::LossPct, sum.loss().map(|loss| 100.0 * loss));
        put(FigureKind::OverheadMeanBytes, sum.overhead_bytes());
    }
    for rate in &report.rates.directions {
        let tap = tap.clone().unwrap_or_else(|| rate.tap.to_string());
        let mut put = |kind, value| figures.insert((tap.clone(), rate.from.clone(), rate.to.clone(), kind), value);
        put(FigureKind::FramesPerS, rate.frames_per_s);
        put(FigureKind::L1Bps, rate.l1_bps);
    }
    figures
}

/// Loss and latency of each pair of addresses that has one row in each report.
pub(super) fn of_matches(old: &MatchReport, new: &MatchReport, allowed: &Allowed) -> Vec<FigureChange> {
    changes(&of_match(old), &of_match(new), allowed)
}

fn of_match(report: &MatchReport) -> Figures {
    let mut rows = BTreeMap::<(String, String), u32>::new();
    let ends = |row: &crate::model::pairs::Direction| (row.src.to_string(), row.dst.to_string());
    for row in &report.directions {
        let count = rows.entry(ends(row)).or_default();
        *count = count.saturating_add(1);
    }
    let mut figures = Figures::new();
    for row in report.directions.iter().filter(|row| rows.get(&ends(row)) == Some(&1)) {
        let (from, to) = ends(row);
        let mut put = |kind, value| figures.insert((String::new(), from.clone(), to.clone(), kind), value);
        put(FigureKind::LossPct, row.loss_pct);
        let times = row.latency_ns.times;
        put(FigureKind::LatencyP50Ns, times.map(|times| times.p50 as f64));
        put(FigureKind::LatencyP99Ns, times.map(|times| times.p99 as f64));
    }
    figures
}

fn changes(old: &Figures, new: &Figures, allowed: &Allowed) -> Vec<FigureChange> {
    // A direction that only one report has is a new or a gone SA.
    let both = new.iter().filter_map(|(key, after)| Some((key, *old.get(key)?, *after)));
    let known = both.filter(|(_, before, after)| before.is_some() || after.is_some());
    known
        .map(|((tap, from, to, figure), before, after)| FigureChange {
            figure: *figure,
            tap: tap.clone(),
            from: from.clone(),
            to: to.clone(),
            before,
            after,
            beyond: before.zip(after).is_none_or(|(before, after)| is_beyond(*figure, before, after, allowed)),
        })
        .collect()
}

fn is_beyond(figure: FigureKind, before: f64, after: f64, allowed: &Allowed) -> bool {
    let share = |pct: f64| before.abs() * pct / 100.0;
    let limit = match figure {
        FigureKind::OverheadMeanBytes => allowed.overhead_bytes,
        FigureKind::LossPct => allowed.loss_pct,
        FigureKind::FramesPerS | FigureKind::L1Bps => share(allowed.rate_pct),
        FigureKind::LatencyP50Ns | FigureKind::LatencyP99Ns => share(allowed.latency_pct),
    };
    (after - before).abs() > limit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_may_differ_by_what_is_allowed_and_no_more() {
        let allowed = Allowed::default();
        assert!(
            !is_beyond(FigureKind::LossPct, 0.0, 0.1, &allowed) && is_beyond(FigureKind::LossPct, 0.0, 0.2, &allowed)
        );
        assert!(
            !is_beyond(FigureKind::L1Bps, 100.0, 119.0, &allowed)
                && is_beyond(FigureKind::L1Bps, 100.0, 79.0, &allowed)
        );
        assert!(is_beyond(FigureKind::LatencyP50Ns, -10.0, 10.0, &allowed));
        let one = |value| Figures::from([((String::new(), "a".into(), "b".into(), FigureKind::LossPct), value)]);
        assert!(changes(&one(Some(1.0)), &one(None), &allowed)[0].beyond, "no longer determined");
        assert!(changes(&one(None), &one(None), &allowed).is_empty());
        assert!(changes(&Figures::new(), &one(Some(1.0)), &allowed).is_empty());
    }
}
