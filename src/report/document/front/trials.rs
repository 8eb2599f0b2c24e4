//! The front of a report of trials.

use super::super::View;
use super::{Front, Merit, Sentence, Station, commands, date, marks};
use crate::model::report::Exactness;
use crate::model::trials::{Direction, TrialsReport};
use crate::report::words::number::{count, decimal};

/// Key figures.
const MERITS: usize = 4;

/// The front. `answers`: what the run says, a sentence each.
pub(in crate::report::document) fn front(report: &TrialsReport, answers: &[String], view: &View) -> Front {
    let captures = report.taps.iter().flat_map(|tap| &tap.captures);
    Front {
        subject: subject(report),
        date: date(captures.filter_map(|capture| capture.first_ns).min(), &view.zone),
        author: String::new(),
        lede: answers.iter().map(|answer| Sentence::default().then(answer)).collect(),
        marks: marks(&report.findings, report.exactness == Exactness::Exact, !report.trials.is_empty()),
        merits: merits(report),
        stations: report
            .taps
            .iter()
            .map(|tap| Station { tapped: true, name: format!("Tap {}", tap.name), seen: count(tap.frames, "frame") })
            .collect(),
        trust: Vec::new(),
        commands: commands::trials(report),
        captures: commands::captures(report.taps.iter().flat_map(|tap| &tap.captures)),
        sources: vec![report.schema.to_string()],
    }
}

fn subject(report: &TrialsReport) -> String {
    let ends = report.bench.flows.first().map(|flow| match flow.direction {
        Direction::Fwd => (&flow.src, &flow.dst),
        Direction::Rev => (&flow.dst, &flow.src),
    });
    match ends {
        Some((a, b)) => format!("What a benchmark run between {a} and {b} measured"),
        None => "What a benchmark run measured".to_owned(),
    }
}

/// Throughput of the first sizes.
fn merits(report: &TrialsReport) -> Vec<Merit> {
    let of = |row: &crate::model::trials::Throughput| {
        let (rate, what) = match (row.equilibrium, row.rfc1242) {
            (Some(rate), _) => (rate, "equilibrium throughput"),
            (None, rate) => (rate?, "throughput (RFC 1242)"),
        };
        let way = if row.direction == Direction::Rev { ", rev" } else { "" };
        Some(Merit {
            figure: decimal(rate.fps, if rate.fps < 1_000.0 { 1 } else { 0 }),
            unit: "/s".to_owned(),
            what: format!("{what} at {} B{way}", row.size_class),
            detail: format!("{} Mbit/s on layer 1", decimal(rate.l1_bps / 1e6, 3)),
        })
    };
    let mut merits: Vec<Merit> = report.throughput.iter().filter_map(of).take(MERITS).collect();
    if merits.is_empty() {
        merits.push(Merit {
            figure: report.trials.len().to_string(),
            unit: String::new(),
            what: "trials".to_owned(),
            detail: String::new(),
        });
    }
    merits
}
