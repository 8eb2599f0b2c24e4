//! The SA table.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::table::{Cell, Column, Priority, Subject, Table};
use super::{Section, View};
use crate::model::Encapsulation;
use crate::model::report::{DirectionRate, IcvChecks, OverheadBasis, ReplayWindow, Report, Sa, SaMode, TransformBasis};
use crate::report::words::names;
use crate::report::words::number::{count, count_of, grouped, range};

/// The SAs of each tap; where there are too many, those with the most frames.
pub(super) fn section(report: &Report, view: &View) -> Section {
    let mut section = Section::titled("Security associations");
    for tap in &report.taps {
        let sas: Vec<&Sa> = report.sas.iter().filter(|sa| sa.tap == tap.name).collect();
        if sas.is_empty() {
            continue;
        }
        if report.taps.len() > 1 {
            section.caption(format!("Tap {}", tap.name));
        }
        let mut table = Table::new([
            Column::words("SA"),
            Column::words("from > to").priority(Priority::Title),
            Column::counts("frames"),
            Column::counts("frags"),
            Column::counts("lost"),
            Column::counts("dup"),
            Column::counts("late"),
            Column::words("mode").priority(Priority::Detail),
            Column::words("carried in").priority(Priority::Detail),
            Column::words("transform").priority(Priority::Detail),
            Column::words("overhead").priority(Priority::Detail),
            Column::remark(),
        ]);
        let sent_on = report.findings.iter().any(|finding| finding.code == "sa-forwarded" && finding.tap == tap.name);
        let copy = if sent_on { ("frame sent on", "frames sent on") } else { ("TAP copy", "TAP copies") };
        for sa in busiest(&sas, view.shown(sas.len())) {
            table.row_about(Subject::new(&sa.tap, &sa.id), row(sa, direction(report, sa), copy));
        }
        section.table(table);
        section.more(view, sas.len(), "SAs", "--table sas --format csv");
    }
    section
}

/// The `n` SAs with the most frames, in the order in which they are reported.
fn busiest<'r>(sas: &[&'r Sa], n: usize) -> Vec<&'r Sa> {
    let mut order: Vec<usize> = (0..sas.len()).collect();
    order.sort_by_key(|at| Reverse(sas.get(*at).map_or(0, |sa| sa.frames)));
    let kept: BTreeSet<usize> = order.into_iter().take(n).collect();
    kept.into_iter().filter_map(|at| sas.get(at).copied()).collect()
}

/// The direction of the rates that the SA's frames are in.
fn direction<'r>(report: &'r Report, sa: &Sa) -> Option<&'r DirectionRate> {
    report.rates.directions.iter().find(|rate| rate.tap == sa.tap && rate.sas.contains(&sa.id))
}

fn row(sa: &Sa, direction: Option<&DirectionRate>, copy: (&str, &str)) -> [Cell; 12] {
    let ends = format!("{} > {}", sa.src, sa.dst);
    let sequence = |pick: fn(&crate::model::report::Sequence) -> u64| Cell::count(sa.sequence.as_ref().map(pick));
    [
        Cell::text(format!("{} {}", sa.proto.title(), sa.spi_hex)),
        match direction {
            Some(rate) => Cell::Link(ends, Subject::new(&rate.tap, &rate.direction)),
            None => Cell::text(ends),
        },
        Cell::Count(sa.frames),
        Cell::some(sa.fragments),
        sequence(|s| s.lost),
        sequence(|s| s.duplicate),
        sequence(|s| s.late),
        Cell::text(if sa.mode == SaMode::Unknown { "" } else { sa.mode.name() }),
        if sa.encapsulation == Encapsulation::Native {
            Cell::Blank
        } else {
            Cell::text(sa.encapsulation.name().to_uppercase())
        },
        Cell::text(names::transform(sa)),
        Cell::text(overhead(sa)),
        Cell::text(remarks(sa, copy)),
    ]
}

/// `58 to 73 B (modelled)`; where only the protection is known, that.
fn overhead(sa: &Sa) -> String {
    let known = &sa.overhead;
    match (known.min_bytes, known.max_bytes, &sa.protection_bytes) {
        (Some(min), Some(max), _) => {
            let basis =
                if known.basis == OverheadBasis::Visible { String::new() } else { format!(" ({})", known.basis) };
            format!("{} B{basis}", range(min, max))
        }
        (_, _, Some(protection)) => {
            let signed = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
            let (min, max) = (signed(protection.min), signed(protection.max));
            let header = if sa.src.0.is_v4() { 20 } else { 40 } + carrier_bytes(sa.encapsulation);
            let tunnel = range(min.saturating_add(header), max.saturating_add(header));
            let carrier = match sa.encapsulation {
                Encapsulation::Udp => " with UDP",
                Encapsulation::Tcp => " with TCP without options",
                Encapsulation::Native | Encapsulation::Wesp => "",
            };
            let without = "without GRE and TFC padding";
            format!("ESP adds {} B ({tunnel} B in tunnel mode{carrier}, {without})", range(min, max))
        }
        _ => "unknown".to_owned(),
    }
}

/// Bytes between the outer IP header and ESP: a UDP header (RFC 3948 section 2.1), or a TCP header without options and the length of the message
/// (RFC 9329 section 3.1).
const fn carrier_bytes(encapsulation: Encapsulation) -> i64 {
    match encapsulation {
        Encapsulation::Native | Encapsulation::Wesp => 0,
        Encapsulation::Udp => 8,
        Encapsulation::Tcp => 20 + 2,
    }
}

/// What the columns have no room for: restarts, wraps, windows that would drop, copies, what keys verify. `copy`: one of the frames that were taken out,
/// and several.
fn remarks(sa: &Sa, copy: (&str, &str)) -> String {
    let mut parts = Vec::new();
    if sa.copies_removed > 0 {
        let copies = count_of(sa.copies_removed, copy.0, copy.1);
        parts.push(format!("{copies} left out of these figures"));
    }
    if let Some(sequence) = &sa.sequence {
        if sequence.gaps > 0 {
            parts.push(format!("{}, longest {}", count(sequence.gaps, "gap"), grouped(sequence.longest_gap)));
        }
        if sequence.restarts > 0 {
            parts.push(count(sequence.restarts, "counter restart"));
        }
        if sequence.wraps > 0 {
            parts.push(count(sequence.wraps, "counter wrap"));
        }
        if !sequence.replay_window.is_empty() {
            parts.push(windows(&sequence.replay_window));
        }
    }
    if let Some(IcvChecks { verified, failed, not_checked, .. }) = sa.icv_checks {
        let counts = [(verified, "verified"), (failed, "failed"), (not_checked, "not checked")];
        let words = counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{} {what}", grouped(*n)));
        parts.push(format!("ICVs: {}", words.collect::<Vec<_>>().join(", ")));
    }
    // Where a transform is not decided, why.
    if let Some(evidence) = sa.transform.evidence.as_ref().filter(|_| sa.transform.basis == TransformBasis::Unknown) {
        parts.push(format!("transform: {}", evidence.trim_end_matches('.')));
    }
    parts.join("; ")
}

/// `an anti-replay window of 32 would drop 7, of 64 to 4096 would drop 2`: neighbours with one figure are one range.
fn windows(windows: &[ReplayWindow]) -> String {
    let mut ranges: Vec<(u32, u32, u64)> = Vec::new();
    for window in windows {
        match ranges.last_mut() {
            Some((_, to, drops)) if *drops == window.would_drop => *to = window.size,
            _ => ranges.push((window.size, window.size, window.would_drop)),
        }
    }
    let words: Vec<String> = ranges
        .into_iter()
        .map(|(from, to, drops)| format!("of {} would drop {}", range(i64::from(from), i64::from(to)), grouped(drops)))
        .collect();
    format!("an anti-replay window {}", words.join(", "))
}
