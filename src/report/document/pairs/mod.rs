//! A report of pairs: which plaintext packet became which tunnelled packet, and what it cost; what matters first.

mod directions;
mod packets;
mod padding;
mod sizes;
mod times;
mod words;

use super::findings::{self, Found};
use super::{Document, View, captures};
use crate::model::pairs::MatchReport;

/// The whole report.
pub(super) fn document(report: &MatchReport, view: &View) -> Document {
    let mut document = Document::default();
    let mut sides = packets::sides(report, view);
    captures::exactness(&mut sides, report.exactness, &report.degraded_why);
    document.push(sides);
    let captures = words::all_captures(report);
    let found = Found { findings: &report.findings, captures: &captures, sas: &[], several_taps: false };
    document.push(findings::section(&found, view));
    document.push(packets::summary(report));
    document.push(directions::section(report, view));
    document.push(times::clocks(report, view));
    document.push(times::latency(report, view));
    document.push(sizes::section(report, view));
    document.push(directions::headers(report, view));
    document.push(padding::section(report, view));
    document.push(packets::ends(report, view));
    document.push(packets::outside(report, view));
    document.push(packets::lost(report, view));
    document
}
