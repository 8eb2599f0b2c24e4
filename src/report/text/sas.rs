//! The SA table.

use super::page::Page;
use super::table::{Column, Fit, Table};
use crate::model::report::{IcvChecks, ReplayWindow, Report, Sa};
use crate::report::names;
use crate::report::number::{count, grouped, range};

/// At most this many rows; thousands of SAs are for JSON and CSV.
const ROWS: usize = 200;

pub(super) fn print(page: &mut Page<'_>, report: &Report) {
    if report.sas.is_empty() {
        return;
    }
    page.heading("Security associations");
    for tap in &report.taps {
        let sas: Vec<&Sa> = report.sas.iter().filter(|sa| sa.tap == tap.name).collect();
        if sas.is_empty() {
            continue;
        }
        if report.taps.len() > 1 {
            page.wrapped(2, 6, &format!("Tap {}", tap.name));
        }
        let mut table = Table::new(vec![
            Column::left("SA"),
            Column::left("from > to").fit(Fit::Above),
            Column::right("frames"),
            Column::right("frags"),
            Column::right("lost"),
            Column::right("dup"),
            Column::right("late"),
            Column::left("mode").fit(Fit::Below),
            Column::left("carried in").fit(Fit::Below),
            Column::left("transform").fit(Fit::Below),
            Column::left("overhead").fit(Fit::Below),
            Column::left("").fit(Fit::Remark),
        ]);
        for sa in sas.iter().take(ROWS) {
            table.row(row(sa));
        }
        table.print(page);
        if sas.len() > ROWS {
            let more = (sas.len() - ROWS) as u64;
            page.wrapped(2, 2, &format!("and {} more; `--table sas --format csv` lists all.", grouped(more)));
        }
    }
}

fn row(sa: &Sa) -> [String; 12] {
    let sequence = |pick: fn(&crate::model::report::Sequence) -> u64| {
        sa.sequence.as_ref().map_or_else(|| "-".to_owned(), |sequence| grouped(pick(sequence)))
    };
    let protocol = match sa.proto {
        "esp" => "ESP",
        "ah" => "AH",
        "ipcomp" => "IPComp",
        other => other,
    };
    [
        format!("{protocol} {}", sa.spi_hex),
        format!("{} > {}", sa.src, sa.dst),
        grouped(sa.frames),
        if sa.fragments > 0 { grouped(sa.fragments) } else { String::new() },
        sequence(|s| s.lost),
        sequence(|s| s.duplicate),
        sequence(|s| s.late),
        if sa.mode == "unknown" { String::new() } else { sa.mode.to_owned() },
        if sa.encapsulation == "native" { String::new() } else { sa.encapsulation.to_uppercase() },
        names::transform(sa),
        overhead(sa),
        remarks(sa),
    ]
}

/// `58-73 B modelled`; where only the protection is known, that.
fn overhead(sa: &Sa) -> String {
    let known = &sa.overhead;
    match (known.min_bytes, known.max_bytes, &sa.protection_bytes) {
        (Some(min), Some(max), _) => {
            let basis = if known.basis == "visible" { String::new() } else { format!(" ({})", known.basis) };
            format!("{} B{basis}", range(min, max))
        }
        (_, _, Some(protection)) => {
            let range = range(
                i64::try_from(protection.min).unwrap_or(i64::MAX),
                i64::try_from(protection.max).unwrap_or(i64::MAX),
            );
            let header = if sa.src.0.is_v4() { 20 } else { 40 };
            format!("ESP {range} B, + {header} B if tunnel mode, + GRE if any")
        }
        _ => "unknown".to_owned(),
    }
}

/// What the columns have no room for: restarts, wraps, windows that would drop, copies, what keys verify.
fn remarks(sa: &Sa) -> String {
    let mut parts = Vec::new();
    if sa.copies_removed > 0 {
        parts.push(format!(
            "{} left out of these figures",
            count(sa.copies_removed, "TAP copy").replace("copys", "copies")
        ));
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
    if let Some(evidence) = sa.transform.evidence.as_ref().filter(|_| sa.transform.basis == "unknown") {
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
