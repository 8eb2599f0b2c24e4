//! Figures by packet size.

use super::super::table::{Cell, Column, Priority, Table};
use super::super::{Section, View};
use crate::model::trials::{Baseline, Figure, Limits, OpenFigure, Rates, Reason, TrialsReport};
use crate::report::words::number::{RateUnit, decimal};

/// Frames per second of a rate.
fn fps(rates: Option<Rates>) -> Cell {
    Cell::decimal(rates.map(|rates| rates.fps), 1)
}

fn bracket(limits: Limits) -> Cell {
    let end = |fps: Option<f64>| fps.map_or_else(|| "-".to_owned(), |fps| decimal(fps, 1));
    let [low, high] = limits;
    Cell::text(format!("{} .. {}", end(low), end(high)))
}

pub(super) fn throughput(report: &TrialsReport, view: &View) -> Section {
    let mut section = Section::titled("Throughput");
    let rows = &report.throughput;
    let unit = RateUnit::for_rates(rows.iter().map(|row| row.equilibrium.map(|rates| rates.l1_bps)));
    let mut table = Table::new([
        Column::words("size"),
        Column::words("way"),
        Column::figures("trial", "s"),
        Column::figures("equilibrium", "/s"),
        Column::figures("L1", unit.name).priority(Priority::Optional),
        Column::words("between offered").priority(Priority::Optional),
        Column::figures("RFC 1242", "/s"),
        Column::figures("MFR", "/s"),
        Column::figures("MFRZL", "/s").priority(Priority::Optional),
        Column::figures("service", "/s"),
        Column::words("limit"),
        Column::figures("buffer", "packets"),
    ]);
    for row in rows.iter().take(view.shown(rows.len())) {
        table.row([
            Cell::text(row.size_class.clone()),
            Cell::text(format!("{} {}", row.direction.name(), row.ways.name())),
            Cell::Decimal(row.trial_seconds, 2),
            fps(row.equilibrium),
            unit.cell(row.equilibrium.map(|rates| rates.l1_bps)),
            bracket(row.equilibrium_bracket_fps),
            fps(row.rfc1242),
            fps(row.mfr),
            fps(row.mfrzl),
            Cell::decimal(row.service_fps, 1),
            row.limit.map_or(Cell::Unknown, |limit| Cell::text(limit.name())),
            Cell::decimal(row.buffer_frames, 1),
        ]);
    }
    section.table(table);
    section.more(view, rows.len(), "sizes", "--format csv --table throughput");
    section
}

pub(super) fn loss(report: &TrialsReport, view: &View) -> Section {
    let mut section = Section::titled("Loss by load");
    let mut table = Table::new([
        Column::words("size"),
        Column::words("way"),
        Column::figures("load", "% of link"),
        Column::figures("loss", "%"),
        Column::words("state"),
    ]);
    for row in report.loss.iter().take(view.shown(report.loss.len())) {
        table.row([
            Cell::text(row.size_class.clone()),
            Cell::text(format!("{} {}", row.direction.name(), row.ways.name())),
            Cell::Decimal(row.load_pct, 2),
            Cell::Decimal(row.loss_pct, 2),
            Cell::text(row.state.name()),
        ]);
    }
    section.table(table);
    section.more(view, report.loss.len(), "loads", "--format csv --table loss");
    section
}

/// Whether the latencies of one of the runs rest on an offset of clocks that is not known.
fn is_guessed(row: &Baseline) -> bool {
    row.undetermined.contains(&OpenFigure { figure: Figure::Increase, reason: Reason::DependsOnOffset })
}

pub(super) fn baseline(report: &TrialsReport, view: &View) -> Section {
    let mut section = Section::titled("Latency over the baseline");
    let mut table = Table::new([
        Column::words("size"),
        Column::words("way"),
        Column::figures("offered", "/s"),
        Column::figures("in clear, mean", ""),
        Column::figures("mean", ""),
        Column::figures("increase", "%"),
        Column::figures("of baseline", "%"),
        Column::words("loss"),
    ]);
    let time = |ns: Option<f64>| ns.map_or(Cell::Unknown, |ns| Cell::Time(ns.round() as i64));
    for row in report.baseline.iter().take(view.shown(report.baseline.len())) {
        table.row([
            Cell::text(row.size_class.clone()),
            Cell::text(row.direction.name()),
            Cell::decimal(row.offered_fps, 1),
            time(row.baseline_mean_ns),
            time(row.latency_mean_ns),
            Cell::decimal(row.increase_pct, 2),
            Cell::decimal(row.of_baseline_pct, 2),
            Cell::text(if row.comparable || is_guessed(row) { "" } else { "with loss" }),
        ]);
    }
    section.table(table);
    section.more(view, report.baseline.len(), "trials", "--format csv --table baseline");
    if report.baseline.iter().any(is_guessed) {
        section.say("Increase not determined: several clocks stamped one of the runs, so that its latencies depend on their offset (--one-clock).");
    }
    section
}
