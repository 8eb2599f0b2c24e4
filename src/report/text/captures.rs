//! The first lines: what was read.

use super::page::{Page, Tone};
use super::table::{Align, Column, Fit, Table};
use crate::model::report::{Capture, Exactness, Report, Severity};
use crate::report::escape::printable;
use crate::report::names;
use crate::report::number::{bytes, count, duration, grouped};

/// Above this many captures the complete ones are summed up per tap.
pub(super) const LISTED: usize = 12;

pub(super) fn print(page: &mut Page<'_>, report: &Report) {
    if let [capture] = report.captures.as_slice() {
        page.wrapped(0, 4, &format!("{}: {}", printable(&capture.path), describe(page, capture)));
    } else if report.captures.len() <= LISTED {
        for capture in &report.captures {
            let tap = if report.taps.len() > 1 { format!("; tap {}", printable(&capture.tap)) } else { String::new() };
            page.wrapped(0, 4, &format!("{}: {}{tap}", printable(&capture.path), describe(page, capture)));
        }
    } else {
        summed(page, report);
    }
    // Findings name damage too; where there is none of that kind (a filtered list), it must not go unsaid.
    let told = report.findings.iter().any(|finding| matches!(finding.code, "capture-cut" | "capture-damaged"));
    for capture in report.captures.iter().filter(|_| !told) {
        if let Some(damage) = &capture.damage {
            let (kind, severity) =
                if damage.kind == "cut" { ("cut", Severity::Note) } else { ("damaged", Severity::Warning) };
            let read = if capture.frames == 1 { "frame was" } else { "frames were" };
            page.tagged_text(
                Tone::Finding(severity),
                kind,
                &format!(
                    ": {}: byte {} (frame {}): {}; {} {read} read.",
                    printable(&capture.path),
                    damage.offset,
                    damage.frame,
                    damage.what,
                    grouped(capture.frames),
                ),
            );
        }
    }
    totals(page, report);
    if !report.filters.is_empty() {
        page.wrapped(0, 4, &format!("Only frames that {} leaves.", printable(&report.filters.join(" "))));
    }
    if report.exactness == Exactness::Degraded {
        page.wrapped(0, 4, &format!("Not exact: {}", report.degraded_why.join(" ")));
    }
}

/// `pcap, Ethernet, 1 545 frames in 15.02 s from 2026-11-21 04:41:02 UTC, complete`
pub(super) fn describe(page: &Page<'_>, capture: &Capture) -> String {
    let mut parts = vec![printable(&capture.format).into_owned()];
    if let Some(compression) = &capture.compression {
        parts.push(printable(compression).into_owned());
    }
    parts.extend(capture.link_types.iter().map(|name| names::link_type(name)));
    if capture.interfaces.len() > 1 {
        parts.push(count(capture.interfaces.len() as u64, "interface"));
    }
    parts.push(count(capture.frames, "frame") + &span(page, capture.first_ns, capture.last_ns));
    parts.push(if capture.complete { "complete".to_owned() } else { "not complete".to_owned() });
    parts.join(", ")
}

/// ` in 15.02 s from 2026-11-21 04:41:02 UTC`, or nothing where no time is known.
fn span(page: &Page<'_>, first: Option<i64>, last: Option<i64>) -> String {
    match (first, last) {
        (Some(first), Some(last)) if first == last => format!(" at {}", names::moment(first, page.zone())),
        (Some(first), Some(last)) => {
            let ns = u64::try_from(last.saturating_sub(first)).unwrap_or(0);
            format!(" in {} from {}", duration(ns), names::moment(first, page.zone()))
        }
        _ => String::new(),
    }
}

/// One row per tap; captures that are not complete are named below by their damage.
fn summed(page: &mut Page<'_>, report: &Report) {
    page.heading("Captures");
    let mut table = Table::new(vec![
        Column::left("tap"),
        Column::right("files"),
        Column::right("frames"),
        Column::right("read"),
        Column { head: "time", align: Align::Left, fit: Fit::Below },
    ]);
    for tap in &report.taps {
        let captures: Vec<&Capture> = tap.captures.iter().filter_map(|i| report.captures.get(*i as usize)).collect();
        let first = captures.iter().filter_map(|capture| capture.first_ns).min();
        let last = captures.iter().filter_map(|capture| capture.last_ns).max();
        table.row([
            printable(&tap.name).into_owned(),
            grouped(captures.len() as u64),
            grouped(captures.iter().map(|capture| capture.frames).sum()),
            bytes(captures.iter().map(|capture| capture.bytes).sum()),
            span(page, first, last).trim_start().to_owned(),
        ]);
    }
    table.print(page);
}

/// What kinds of frames there were, where more than plain ones.
fn totals(page: &mut Page<'_>, report: &Report) {
    let totals = &report.totals;
    let mut parts = Vec::new();
    for (n, what) in [
        (totals.control_frames, "control frames"),
        (totals.fragments, "fragments"),
        (totals.truncated_by_snaplen, "cut by the snapshot length"),
        (totals.offloaded, "made by segmentation offload (never on the wire like this)"),
        (totals.undissected, "not understood up to the network layer"),
    ] {
        if n > 0 {
            parts.push(format!("{} {what}", grouped(n)));
        }
    }
    let ipsec = totals.ipsec_frames;
    if ipsec > 0 && ipsec == totals.frames {
        parts.insert(0, if ipsec == 1 { "with IPsec".to_owned() } else { "all with IPsec".to_owned() });
    } else if ipsec > 0 || !parts.is_empty() {
        parts.insert(0, format!("{} with IPsec", grouped(ipsec)));
    }
    if !parts.is_empty() {
        page.wrapped(0, 4, &format!("{}: {}.", count(totals.frames, "frame"), parts.join(", ")));
    }
    if report.captures.is_empty() && report.taps.is_empty() {
        let alone = report.exactness == Exactness::Exact;
        page.wrapped(
            0,
            4,
            if alone { "No capture was read; configurations alone." } else { "No capture could be read." },
        );
    } else if report.sas.is_empty() && report.tunnels.is_empty() && report.sizes.is_empty() {
        page.wrapped(0, 4, &format!("No IPsec or IP tunnel seen in {}.", count(totals.frames, "frame")));
    }
}
