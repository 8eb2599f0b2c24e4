//! The trials one by one, and what is none.

use super::super::table::{Cell, Column, Priority, Table};
use super::super::{Section, View};
use crate::model::trials::{Figure, OpenFigure, Reason, Trial, TrialsReport};

/// A size without the numbers of a long mix.
fn names(trial: &Trial) -> [Cell; 3] {
    [
        Cell::Count(trial.trial),
        Cell::text(format!("{} {}", trial.direction.name(), trial.ways.name())),
        Cell::text(trial.size_class.clone()),
    ]
}

pub(super) fn trials(report: &TrialsReport, view: &View) -> Section {
    let mut section = Section::titled("Trials");
    let mut table = Table::new([
        Column::counts("trial"),
        Column::words("way"),
        Column::words("size"),
        Column::figures("length", "s"),
        Column::counts("sent"),
        Column::counts("lost"),
        Column::figures("loss", "%"),
        Column::figures("offered", "/s"),
        Column::figures("forwarded", "/s"),
        Column::figures("circuit", "Mbit/s").priority(Priority::Optional),
        Column::words("state"),
        Column::words("known by").priority(Priority::Optional),
    ]);
    for trial in report.trials.iter().take(view.shown(report.trials.len())) {
        let [number, way, size] = names(trial);
        table.row([
            number,
            way,
            size,
            Cell::Decimal(trial.seconds, 3),
            Cell::Count(trial.sent),
            Cell::Count(trial.lost),
            Cell::Decimal(trial.loss_pct, 2),
            Cell::decimal(trial.offered_fps, 1),
            Cell::decimal(trial.forwarded_fps, 1),
            Cell::decimal(trial.tunnel_l1_bps.map(|bps| bps / 1e6), 3),
            Cell::text(trial.state.name()),
            Cell::text(trial.basis.name()),
        ]);
    }
    section.table(table);
    section.more(view, report.trials.len(), "trials", "--format csv --table trials");
    for trial in report.trials.iter().filter(|trial| trial.lost > 0 && trial.lost_error > 0).take(NAMED) {
        section.say(format!(
            "Of the {} packets that trial {} lost, up to {} may be those of the load before or behind: loads without a pause share a queue.",
            trial.lost, trial.trial, trial.lost_error
        ));
    }
    for (why, trials) in not_determined(report, Figure::State, WITHOUT_STATE) {
        section.say(format!("State not determined for {trials}: {why}."));
    }
    section
}

pub(super) fn latency(report: &TrialsReport, view: &View) -> Section {
    let mut section = Section::titled("Latency, last bit in to last bit out");
    let time = |ns: Option<i64>| ns.map_or(Cell::Unknown, Cell::Time);
    let timed: Vec<&Trial> = report.trials.iter().filter(|trial| trial.latency_min_ns.is_some()).collect();
    let mut table = Table::new([
        Column::counts("trial"),
        Column::words("way"),
        Column::words("size"),
        Column::counts("min"),
        Column::counts("p50"),
        Column::counts("p99"),
        Column::counts("max"),
        Column::counts("SF p50").priority(Priority::Optional),
        Column::counts("device p50").priority(Priority::Optional),
        Column::figures("most inside", "packets"),
        Column::remark(),
    ]);
    for trial in timed.iter().take(view.shown(timed.len())) {
        let [number, way, size] = names(trial);
        let modelled = if trial.latency_modelled { "modelled by a full first-in-first-out queue" } else { "" };
        table.row([
            number,
            way,
            size,
            time(trial.latency_min_ns),
            time(trial.latency_p50_ns),
            time(trial.latency_p99_ns),
            time(trial.latency_max_ns),
            time(trial.latency_sf_p50_ns),
            time(trial.device_latency_p50_ns),
            Cell::count(trial.backlog_max_frames),
            Cell::text(modelled),
        ]);
    }
    section.table(table);
    section.more(view, timed.len(), "trials", "--format csv --table trials");
    for (why, trials) in not_determined(report, Figure::Latency, WITHOUT_LATENCY) {
        section.say(format!("Latency not determined for {trials}: {why}."));
    }
    section
}

/// Why trials have no latency although packets came out.
const WITHOUT_LATENCY: &[(Reason, &str)] = &[
    (Reason::ClockStep, "a clock was set during the trial"),
    (Reason::NoAnchor, "nothing compares the clocks"),
    (
        Reason::NoIdlePacket,
        "not even the fastest packet was as fast as in other trials that met an idle device; the path or a clock changed, or the device \
         was busy",
    ),
    (Reason::AssociationUnclear, "several frames fit the same packet"),
    (Reason::TunnelUnclear, "nothing tells which direction of the tunnel carries which load"),
    (
        Reason::QueueUnclear,
        "a full queue would have held another number of packets than in other loads, so the device drops by another rule, or both \
         directions share its queue",
    ),
];

/// Why the state of trials that have a latency is open.
const WITHOUT_STATE: &[(Reason, &str)] = &[
    (Reason::TooFewFrames, "whether a queue grew is within the error of its slope; a longer trial tells"),
    (Reason::NoIdlePacket, "no trial of this size met an idle device, so a full queue and a bad link look alike"),
];

/// For which trials a figure is open, by reason.
fn not_determined(
    report: &TrialsReport,
    figure: Figure,
    reasons: &'static [(Reason, &'static str)],
) -> impl Iterator<Item = (&'static str, String)> {
    let open = move |trial: &Trial, figure, reason| trial.undetermined.contains(&OpenFigure { figure, reason });
    reasons.iter().filter_map(move |&(reason, why)| {
        // What follows from a latency that is open is said there.
        let is_own = |trial: &&Trial| {
            open(trial, figure, reason) && (figure == Figure::Latency || !open(trial, Figure::Latency, reason))
        };
        let numbers: Vec<String> = report.trials.iter().filter(is_own).map(|trial| trial.trial.to_string()).collect();
        let shown = numbers.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
        let more = if numbers.len() > NAMED { " and others" } else { "" };
        let noun = if numbers.len() == 1 { "trial" } else { "trials" };
        (!numbers.is_empty()).then(|| (why, format!("{noun} {shown}{more}")))
    })
}

/// Trials that are named in one sentence.
const NAMED: usize = 12;

pub(super) fn segments(report: &TrialsReport, view: &View) -> Section {
    let mut section = Section::titled("No trial");
    let mut table = Table::new([
        Column::words("start"),
        Column::words("way"),
        Column::words("what"),
        Column::figures("length", "s"),
        Column::counts("frames"),
        Column::remark(),
    ]);
    for row in report.segments.iter().take(view.shown(report.segments.len())) {
        table.row([
            Cell::text(row.start.to_string()),
            Cell::text(row.direction.name()),
            Cell::text(row.kind.name()),
            Cell::Decimal(row.seconds, 3),
            Cell::Count(row.frames),
            Cell::text(row.why.clone()),
        ]);
    }
    section.table(table);
    section.more(view, report.segments.len(), "segments", "--format csv --table segments");
    section
}
