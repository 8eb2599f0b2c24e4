//! A report of trials: first the answer, then findings, figures by size, the device, and the trials one by one.

mod answer;
mod charts;
mod device;
mod single;
mod sizes;

use super::figures::Figure;
use super::findings::{self, Found};
use super::{Document, Section, View, captures, front};
use crate::model::report::{Capture, LengthBasis};
use crate::model::trials::{Direction, Reason, Tap, TrialsReport};
use crate::report::words::number::{count, decimal};

/// The whole report.
pub(super) fn document(report: &TrialsReport, view: &View) -> Document {
    let answers = answer::sentences(report);
    let front = front::trials::front(report, &answers, view);
    let mut document = Document { front, ..Document::default() };
    let mut answer = Section::default();
    answers.into_iter().for_each(|sentence| answer.say(sentence));
    document.push(answer);
    let captures: Vec<Capture> = report.taps.iter().flat_map(|tap| tap.captures.iter().cloned()).collect();
    let is_unread = report.taps.iter().any(|tap| tap.captures.is_empty());
    let found = Found { findings: &report.findings, captures: &captures, sas: &[], several_taps: false, is_unread };
    document.push(findings::section(&found, view));
    document.push(drawn(sizes::throughput(report, view), charts::forwarded(report)));
    document.push(device::model(report, view));
    document.push(device::buffers(report, view));
    document.push(device::bursts(report, view));
    document.push(device::search(report, view));
    document.push(sizes::baseline(report, view));
    document.push(single::trials(report, view));
    document.push(drawn(single::latency(report, view), charts::latency(report)));
    document.push(drawn(sizes::loss(report, view), charts::lost(report)));
    document.push(device::transfers(report, view));
    document.push(single::segments(report, view));
    document.push(bench(report));
    document
}

/// A section with a chart of its figures.
fn drawn(mut section: Section, figure: Option<Figure>) -> Section {
    if !section.blocks.is_empty() {
        section.figure(figure);
    }
    section
}

/// The clock of a tap against that of the first.
fn clock(tap: &Tap) -> String {
    let seconds = |offset: i64| decimal(offset as f64 / 1e9, 6);
    match (tap.clock_offset_ns, tap.clock_drift_ppm) {
        (Some(offset), Some(drift)) if offset != 0 || tap.clock_drift_uncertainty_ppm > Some(0.0) => {
            let within =
                tap.clock_drift_uncertainty_ppm.map(|error| format!(" (to within {})", decimal(error.max(0.01), 2)));
            format!("; clock {} s ahead, {} ppm fast{}", seconds(offset), decimal(drift, 1), within.unwrap_or_default())
        }
        (Some(offset), None) => {
            let doubt = tap.undetermined.iter().any(|open| open.reason == Reason::DriftContradicted);
            let why = if doubt { " (what tells it contradicts each other)" } else { "" };
            let wrong = tap.clock_uncertainty_ns.filter(|ns| *ns > 0);
            let by = wrong.map(|ns| format!(": times may be wrong by {} us", decimal(ns as f64 / 1e3, 1)));
            format!("; clock {} s ahead, drift unknown{why}{}", seconds(offset), by.unwrap_or_default())
        }
        (None, _) => "; clock not comparable".to_owned(),
        _ => String::new(),
    }
}

/// Taps, clocks and thresholds.
fn bench(report: &TrialsReport) -> Section {
    let mut section = Section::titled("Bench");
    for tap in &report.taps {
        let files: Vec<&str> = tap.captures.iter().map(|capture| capture.path.as_str()).collect();
        let clock = if report.bench.one_clock { String::new() } else { clock(tap) };
        section.say(format!(
            "{}: {}; {}, {} in clear, {} in a tunnel{clock}.",
            tap.name,
            files.join(", "),
            count(tap.frames, "frame"),
            count(tap.packets, "packet"),
            tap.tunnelled
        ));
    }
    let assumed: Vec<&str> =
        report.taps.iter().filter(|tap| tap.l1_basis == LengthBasis::Assumed).map(|tap| tap.name.as_ref()).collect();
    if !assumed.is_empty() {
        section.say(format!(
            "Lengths at layers 1 and 2 are assumed ({}): the link is not Ethernet, and frames count as if it were.",
            assumed.join(", ")
        ));
    }
    if report.bench.depends_on_offset {
        let has = |direction| report.trials.iter().any(|trial| trial.direction == direction);
        section.say(if has(Direction::Fwd) && has(Direction::Rev) {
            "Several clocks: the least latency is taken to be equal both ways. The latency of one way is uncertain, the sum of both is not."
        } else {
            "One direction only: the least latency between taps is taken for zero."
        });
    }
    captures::exactness(&mut section, report.exactness, &report.degraded_why);
    section
}

/// ` of size 512`: a size in a sentence.
fn size_of(class: &str) -> String {
    match class.split_once(':') {
        Some(("outer", size)) => format!("Packets of {size} bytes outside"),
        Some(("mix", sizes)) => format!("Mix of {} bytes", sizes.replace(',', ", ")),
        _ if class == "random" => "Random sizes".to_owned(),
        _ => format!("{class}-byte packets"),
    }
}

/// ` (rev)`: which way and how many, where it is not the usual one.
fn way(direction: crate::model::trials::Direction, ways: crate::model::trials::Ways) -> String {
    use crate::model::trials::{Direction, Ways};
    match (direction, ways) {
        (Direction::Fwd, Ways::One) => String::new(),
        (direction, Ways::One) => format!(" {}", direction.name()),
        (direction, ways) => format!(" {}, {} ways", direction.name(), ways.name()),
    }
}
