//! A report of pairs: which plaintext packet became which tunnelled packet, and what it cost; what matters first.

mod directions;
mod packets;
mod padding;
mod sizes;
mod times;
mod words;

use super::findings::{self, Found};
use super::{Document, Place, Section, View, captures, front};
use crate::model::pairs::MatchReport;

/// The whole report.
pub(super) fn document(report: &MatchReport, view: &View) -> Document {
    let mut document = Document { front: front::pairs::front(report, view), ..Document::default() };
    let mut sides = packets::sides(report, view);
    captures::exactness(&mut sides, report.exactness, &report.degraded_why);
    document.push(Section { name: "Captures", ..sides.at(Place::Basis) });
    let captures = words::all_captures(report);
    // A capture that could not be read is not among those of its side.
    let mut sides = [&report.plain, &report.tunnel].into_iter().chain(&report.exit);
    let is_unread = sides.any(|side| side.captures.is_empty());
    let found = Found { findings: &report.findings, captures: &captures, sas: &[], several_taps: false, is_unread };
    document.push(findings::section(&found, view));
    document.push(packets::summary(report).at(Place::Basis));
    document.push(directions::section(report, view));
    document.push(times::clocks(report, view).at(Place::Basis));
    document.push(times::latency(report, view).at(Place::Reference));
    document.push(sizes::section(report, view).at(Place::Cost));
    document.push(directions::headers(report, view).at(Place::Reference));
    document.push(padding::section(report, view).at(Place::Reference));
    document.push(packets::ends(report, view).at(Place::Reference));
    document.push(packets::outside(report, view).at(Place::Reference));
    document.push(packets::lost(report, view).at(Place::Reference));
    document
}
