//! Two reports compared.

use crate::catalogue;
use crate::model::report::Exactness;
use crate::model::report::diff::{
    Compared, DiffReport, FigureChange, FigureKind, FindingChange, FindingChangeKind, SaChangeKind,
};
use crate::report::document::front::{Front, Sentence};
use crate::report::document::table::{Cell, Column, Table};
use crate::report::document::{Block, Document, FindingBlock, Section, View};
use crate::report::words::names;
use crate::report::words::number::{count, decimal, grouped};

pub(in crate::report::document) fn document(diff: &DiffReport, view: &View) -> Document {
    let front = Front {
        subject: format!("{} and {}", diff.old.path, diff.new.path),
        lede: vec![Sentence::new(&answer(diff))],
        ..Front::default()
    };
    let mut document = Document { front, ..Document::default() };
    let mut read = Section { name: "Reports", ..Section::default() };
    read.say(side("Old", &diff.old, view));
    read.say(side("New", &diff.new, view));
    read.say(answer(diff));
    if diff.new.exactness == Exactness::Degraded {
        read.say("The new report is not exact: what seems gone may be missing from it.");
    }
    if diff.old.exactness == Exactness::Degraded {
        read.say("The old report is not exact: what seems new may be missing from it.");
    }
    document.push(read);
    document.push(findings(diff));
    document.push(sas(diff, view));
    document.push(figures(diff, view));
    document
}

/// `2 findings began, 1 ended; 1 SA is new; 1 of 12 figures changed.`
fn answer(diff: &DiffReport) -> String {
    let of = |kind| diff.findings.iter().filter(|one| one.change == kind).count() as u64;
    let sas = |kind| diff.sas.iter().filter(|one| one.change == kind).count() as u64;
    let beyond = diff.beyond().count() as u64;
    let parts = [
        (of(FindingChangeKind::Begun), "finding", "began"),
        (of(FindingChangeKind::Changed), "finding", "changed"),
        (of(FindingChangeKind::Ended), "finding", "ended"),
        (sas(SaChangeKind::New), "SA", "new"),
        (sas(SaChangeKind::Gone), "SA", "gone"),
    ];
    let mut said: Vec<String> = parts
        .into_iter()
        .filter(|(n, ..)| *n > 0)
        .map(|(n, what, became)| format!("{} {became}", count(n, what)))
        .collect();
    if beyond > 0 {
        said.push(format!("{} of {} changed", grouped(beyond), count(diff.figures.len() as u64, "figure")));
    }
    if said.is_empty() {
        return format!(
            "Nothing changed beyond what is allowed; {} compared.",
            count(diff.figures.len() as u64, "figure")
        );
    }
    format!("{}.", said.join(", "))
}

fn side(which: &str, side: &Compared, view: &View) -> String {
    let from = side.first_ns.map(|ns| format!(" from {}", names::moment(ns, &view.zone))).unwrap_or_default();
    format!("{which}: {}, {} in {}{from}.", side.path, count(side.frames, "frame"), count(side.captures, "capture"))
}

fn findings(diff: &DiffReport) -> Section {
    let mut section = Section::titled("Findings");
    for kind in [FindingChangeKind::Begun, FindingChangeKind::Changed, FindingChangeKind::Ended] {
        let of_kind: Vec<(usize, &FindingChange)> =
            diff.findings.iter().enumerate().filter(|(_, one)| one.change == kind).collect();
        if !of_kind.is_empty() {
            section.caption(match kind {
                FindingChangeKind::Begun => "Begun",
                FindingChangeKind::Changed => "Changed",
                FindingChangeKind::Ended => "Ended, as they were",
            });
        }
        section
            .blocks
            .extend(of_kind.into_iter().map(|(n, one)| Block::Finding(Box::new(block(one, n.saturating_add(1))))));
    }
    section
}

fn block(change: &FindingChange, number: usize) -> FindingBlock {
    let counts = match (change.count_before, change.count) {
        (Some(before), Some(now)) if before != now => format!("{} before, {} now. ", grouped(before), grouped(now)),
        _ => String::new(),
    };
    FindingBlock {
        severity: change.severity,
        code: change.code.clone(),
        number,
        title: catalogue::lookup(&change.code).map_or_else(String::new, |entry| entry.title.to_owned()),
        cause: String::new(),
        remedy: String::new(),
        concerns: change.sa.as_deref().map(names::sa_title).unwrap_or_default(),
        subject: None,
        evidence: format!("{counts}{}", change.evidence),
        config: Vec::new(),
        advice: Vec::new(),
        filter: String::new(),
        fixes: Vec::new(),
    }
}

fn sas(diff: &DiffReport, view: &View) -> Section {
    let mut section = Section::titled("Security associations");
    let mut table =
        Table::new([Column::words("change"), Column::words("SA"), Column::words("tap"), Column::counts("frames")]);
    for one in diff.sas.iter().take(view.shown(diff.sas.len())) {
        let frames = one.frames.map_or(Cell::Unknown, Cell::Count);
        table.row([
            Cell::text(one.change.name()),
            Cell::text(names::sa_title(&one.sa)),
            Cell::text(one.tap.as_str()),
            frames,
        ]);
    }
    section.table(table);
    section.more(view, diff.sas.len(), "SAs", "--format json");
    section
}

fn figures(diff: &DiffReport, view: &View) -> Section {
    let mut section = Section::titled("Figures");
    let shown: Vec<&FigureChange> = diff.figures.iter().filter(|one| view.all || one.beyond).collect();
    let mut table = Table::new([
        Column::words("figure"),
        Column::words("from > to"),
        Column::figures("before", ""),
        Column::figures("now", ""),
        Column::figures("change", ""),
    ]);
    for one in shown.iter().take(view.shown(shown.len())) {
        let value = |value: Option<f64>| value.map_or(Cell::Unknown, |value| Cell::text(figure(one.figure, value)));
        let change = match one.before.zip(one.after) {
            None => Cell::text(if one.after.is_some() { "now determined" } else { "no longer determined" }),
            Some((before, after)) if after >= before => Cell::text(format!("+{}", figure(one.figure, after - before))),
            Some((before, after)) => Cell::text(format!("-{}", figure(one.figure, before - after))),
        };
        table.row([
            Cell::text(one.figure.title()),
            Cell::text(format!("{} > {}", one.from, one.to)),
            value(one.before),
            value(one.after),
            change,
        ]);
    }
    section.table(table);
    section.more(view, shown.len(), "figures", "--format json");
    section
}

/// With its unit.
fn figure(kind: FigureKind, value: f64) -> String {
    match kind {
        FigureKind::OverheadMeanBytes => format!("{} B", decimal(value, 1)),
        FigureKind::LossPct => format!("{} %", decimal(value, 2)),
        FigureKind::FramesPerS => format!("{} frames/s", decimal(value, 1)),
        FigureKind::L1Bps => format!("{} Mbit/s", decimal(value / 1e6, 3)),
        FigureKind::LatencyP50Ns | FigureKind::LatencyP99Ns => format!("{} us", decimal(value / 1e3, 1)),
    }
}

impl FigureKind {
    /// In words.
    pub(in crate::report::document) const fn title(self) -> &'static str {
        match self {
            Self::OverheadMeanBytes => "mean overhead",
            Self::LossPct => "loss",
            Self::FramesPerS => "frames",
            Self::L1Bps => "rate at L1",
            Self::LatencyP50Ns => "median latency",
            Self::LatencyP99Ns => "latency, 99 of 100",
        }
    }
}
