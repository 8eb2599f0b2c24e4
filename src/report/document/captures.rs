//! The first lines: what was read.

use jiff::tz::TimeZone;

use super::table::{Cell, Column, Priority, Table};
use super::{Block, Section, View};
use crate::model::report::{Capture, Exactness, Report, Severity};
use crate::report::words::names;
use crate::report::words::number::{bytes, count, duration, grouped};

/// Above this many captures the complete ones are summed up per tap, unless all rows are asked for.
pub(super) const LISTED: usize = 12;

/// What was read: each capture, or their sums per tap; and what they held.
pub(super) fn sections(report: &Report, view: &View) -> Vec<Section> {
    let mut read = Section::default();
    let mut sums = None;
    if report.captures.len() <= LISTED || view.all {
        for capture in report.captures.iter().filter(|capture| capture.error.is_none()) {
            let tap = if report.taps.len() > 1 { format!("; tap {}", capture.tap) } else { String::new() };
            let digest = if view.all { digest(capture) } else { String::new() };
            read.say(format!("{}: {}{tap}{digest}", capture.path, describe(&view.zone, capture)));
        }
    } else {
        sums = Some(summed(&view.zone, report));
    }
    let mut held = Section::default();
    let place = if sums.is_some() { &mut held } else { &mut read };
    unread(place, report);
    damage(place, report);
    totals(place, report);
    if !report.filters.is_empty() {
        place.say(format!("Only frames that pass {}.", report.filters.join(" ")));
    }
    exactness(place, report.exactness, &report.degraded_why);
    [Some(read), sums, Some(held)].into_iter().flatten().collect()
}

/// Why figures are not exact, where they are not.
pub(super) fn exactness(section: &mut Section, exactness: Exactness, why: &[String]) {
    if exactness == Exactness::Degraded {
        section.say(format!("Not exact: {}", why.join(" ")));
    }
}

/// Inputs of which nothing is in the report.
fn unread(section: &mut Section, report: &Report) {
    for error in report.captures.iter().filter_map(|capture| capture.error.as_deref()) {
        let (severity, label) = (Severity::Error, "not read".to_owned());
        section.blocks.push(Block::Alert { severity, label, text: format!("{error}.") });
    }
}

/// Damage that no finding names: findings may be filtered, and damage must not go unsaid.
fn damage(section: &mut Section, report: &Report) {
    if report.findings.iter().any(|finding| matches!(&*finding.code, "capture-cut" | "capture-damaged")) {
        return;
    }
    for (capture, damage) in report.captures.iter().filter_map(|capture| Some((capture, capture.damage.as_ref()?))) {
        let (label, severity) =
            if damage.kind == "cut" { ("cut", Severity::Note) } else { ("damaged", Severity::Warning) };
        let text = format!(
            "{}: byte {} (frame {}): {}; {} read.",
            capture.path,
            damage.offset,
            damage.frame,
            damage.what,
            count(capture.frames, "frame"),
        );
        section.blocks.push(Block::Alert { severity, label: label.to_owned(), text });
    }
}

/// `pcap, Ethernet, 1 545 frames in 15.02 s from 2026-11-21 04:41:02 UTC, complete`
pub(super) fn describe(zone: &TimeZone, capture: &Capture) -> String {
    let mut parts = vec![capture.format.to_string()];
    parts.extend(capture.compression.as_ref().map(ToString::to_string));
    parts.extend(capture.link_types.iter().map(|name| names::link_type(name)));
    parts.extend(interfaces(capture));
    let span = span(zone, capture.first_ns, capture.last_ns);
    parts.push(count(capture.frames, "frame") + &span);
    parts.push(if capture.complete { "complete".to_owned() } else { "not complete".to_owned() });
    parts.join(", ")
}

/// `; xxh3-128 99aa06d3014798d86001c324468d497f`, or why there is none.
fn digest(capture: &Capture) -> String {
    match (&capture.digest, &capture.digest_missing) {
        (Some(digest), _) => format!("; {} {}", digest.algorithm, digest.hex),
        (None, Some(why)) => format!("; no digest: {why}"),
        (None, None) => String::new(),
    }
}

/// Most names of interfaces that are listed.
const NAMED: usize = 4;

/// `interface eth1`, `3 interfaces (eth0, eth1)`: what the capture names, where it names any or has several.
fn interfaces(capture: &Capture) -> Option<String> {
    let names = || capture.interfaces.iter().filter_map(|own| own.name.as_deref()).filter(|name| !name.is_empty());
    let (all, named) = (capture.interfaces.len(), names().count());
    match (all, named) {
        (0 | 1, 0) => None,
        (1, _) => names().next().map(|name| format!("interface {name}")),
        (_, 0) => Some(count(all as u64, "interface")),
        _ => {
            let more = named.checked_sub(NAMED + 1).map(|more| format!(" and {} more", more + 1)).unwrap_or_default();
            let listed = names().take(NAMED).collect::<Vec<_>>().join(", ");
            Some(format!("{} ({listed}{more})", count(all as u64, "interface")))
        }
    }
}

/// ` in 15.02 s from 2026-11-21 04:41:02 UTC`, or nothing where no time is known.
fn span(zone: &TimeZone, first: Option<i64>, last: Option<i64>) -> String {
    match (first, last) {
        (Some(first), Some(last)) if first == last => format!(" at {}", names::moment(first, zone)),
        (Some(first), Some(last)) => {
            let ns = u64::try_from(last.saturating_sub(first)).unwrap_or(0);
            format!(" in {} from {}", duration(ns), names::moment(first, zone))
        }
        _ => String::new(),
    }
}

/// One row per tap; captures that are not complete are named by their damage.
fn summed(zone: &TimeZone, report: &Report) -> Section {
    let mut section = Section::titled("Captures");
    let mut table = Table::new([
        Column::words("tap"),
        Column::counts("files"),
        Column::counts("frames"),
        Column::figures("read", ""),
        Column::words("time").priority(Priority::Detail),
    ]);
    for tap in &report.taps {
        let captures: Vec<&Capture> = tap.captures.iter().filter_map(|i| report.captures.get(*i as usize)).collect();
        let first = captures.iter().filter_map(|capture| capture.first_ns).min();
        let last = captures.iter().filter_map(|capture| capture.last_ns).max();
        table.row([
            Cell::text(&*tap.name),
            Cell::Count(captures.len() as u64),
            Cell::Count(captures.iter().map(|capture| capture.frames).sum()),
            Cell::text(bytes(captures.iter().map(|capture| capture.bytes).sum())),
            Cell::text(span(zone, first, last).trim_start()),
        ]);
    }
    section.table(table);
    section
}

/// What kinds of frames there were, where more than plain ones.
fn totals(section: &mut Section, report: &Report) {
    let totals = &report.totals;
    let mut parts = Vec::new();
    for (n, what) in [
        (totals.control_frames, if totals.control_frames == 1 { "control frame" } else { "control frames" }),
        (totals.fragments, if totals.fragments == 1 { "fragment" } else { "fragments" }),
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
        section.say(format!("{}: {}.", count(totals.frames, "frame"), parts.join(", ")));
    }
    if report.taps.is_empty() && report.captures.iter().all(|capture| capture.error.is_some()) {
        let alone = report.exactness == Exactness::Exact;
        section.say(if alone { "No capture was read; configurations alone." } else { "No capture could be read." });
    } else if report.sas.is_empty() && report.tunnels.is_empty() && report.sizes.is_empty() {
        let hidden = report.hidden_frames();
        let (unread, names): (u64, Vec<&str>) = (hidden.values().sum(), hidden.keys().copied().collect());
        let (carry, their) = if unread == 1 { ("carries", "its") } else { ("carry", "their") };
        let but = if names.is_empty() {
            String::new()
        } else {
            format!("; {} {carry} {}: {their} contents were not read", count(unread, "frame"), names.join(" or "))
        };
        let frames = count(totals.frames, "frame");
        section.say(if totals.undissected > 0 && totals.undissected == totals.frames {
            format!("None of {frames} could be read, so whether there is IPsec is not known.")
        } else {
            match report.has_unread_stream() {
                true => format!("IKE or ESP in TCP was seen in {frames} and not read{but}."),
                false => format!("No IPsec or IP tunnel seen in {frames}{but}."),
            }
        });
    }
}
