//! Packets by what became of them: the summary, what is outside the tunnel, what was lost, and what both ends saw.

use super::super::page::{Page, Tone};
use super::super::table::{Column, Fit, Table};
use super::times::{cells, columns};
use super::words::{frame, short};
use crate::model::pairs::{MatchReport, Pairs};
use crate::report::escape::printable;
use crate::report::names;
use crate::report::number::{count, decimal, grouped};

/// Rows of lost packets and of flows outside the tunnel.
const FIRST: usize = 10;

/// How many pairs there are, and how they are known.
pub(super) fn summary(page: &mut Page<'_>, report: &MatchReport) {
    let Pairs {
        matched,
        ambiguous,
        unmatched_plain,
        unmatched_tunnel,
        repeated_tunnel,
        outside_plain,
        uncovered_plain,
        uncovered_tunnel,
        uncovered_exit,
        undetermined_plain,
        undetermined_tunnel,
        by_basis,
    } = report.pairs;
    page.heading("Pairs");
    let rows = [
        (matched, "matched: a packet of the plain side and a packet in the tunnel are the same"),
        (by_basis.content, "of these by content: the inner packet is visible, and the same"),
        (
            by_basis.decrypted,
            "of these by decryption: the inner packet was decrypted with a key of --config, and is the same",
        ),
        (by_basis.order, "of these by order: paired by length, sequence and timing; contents encrypted"),
        (ambiguous, "of these ambiguous: confidence below 0.9, as among packets of one length close together"),
        (unmatched_plain, "lost: plaintext packets that should be in the tunnel and were not seen there"),
        (
            unmatched_tunnel,
            "in the tunnel alone: no plaintext packet is known (other traffic, dummy packets, or lost behind it)",
        ),
        (repeated_tunnel, "repeated in the tunnel: their sequence number was there before"),
        (outside_plain, "outside: plaintext packets of traffic that does not go through the tunnel"),
        (uncovered_plain, "not covered: plaintext packets outside the time that the tunnel's capture covers; not lost"),
        (
            uncovered_tunnel,
            "not covered: packets in the tunnel outside the time that the plain capture covers; not lost",
        ),
        (uncovered_exit.unwrap_or(0), "not covered: packets of the plain or exit side outside the time of the other"),
        (undetermined_plain, "not determined: plaintext packets that several alignments explain equally well"),
        (undetermined_tunnel, "not determined: packets in the tunnel that several alignments explain equally well"),
    ];
    let width = rows.iter().map(|(n, _)| grouped(*n).len()).max().unwrap_or(0);
    for (n, what) in rows.iter().enumerate().filter(|(at, (n, _))| *at == 0 || *n > 0).map(|(_, row)| row) {
        page.tagged_line(Tone::Heading, 2, &format!("{:>width$}", grouped(*n)), what);
    }
}

/// What does not go through the tunnel.
pub(super) fn outside(page: &mut Page<'_>, report: &MatchReport) {
    if report.outside.is_empty() {
        return;
    }
    page.heading_with("Outside the tunnel", "plaintext traffic of which nothing was found inside it");
    let mut table = Table::new(vec![
        Column::left("from > to").fit(Fit::Above),
        Column::left("protocol"),
        Column::right("packets"),
        Column::right("in clear\nbeside it"),
    ]);
    let mut flows: Vec<_> = report.outside.iter().collect();
    flows.sort_by_key(|flow| std::cmp::Reverse(flow.packets));
    for flow in flows.iter().take(FIRST) {
        table.row([
            format!("{} > {}", printable(&flow.src), printable(&flow.dst)),
            protocol(flow.protocol),
            grouped(flow.packets),
            grouped(flow.clear),
        ]);
    }
    table.print(page);
    rest(page, flows.len(), "outside");
}

fn rest(page: &mut Page<'_>, rows: usize, table: &str) {
    if rows > FIRST {
        let more = grouped((rows - FIRST) as u64);
        page.wrapped(2, 2, &format!("and {more} more; `spiglass match --format csv --table {table}` lists all."));
    }
}

/// An IP protocol by its name where it is a frequent one.
fn protocol(number: u8) -> String {
    let name = match number {
        1 => "ICMP",
        2 => "IGMP",
        6 => "TCP",
        17 => "UDP",
        47 => "GRE",
        50 => "ESP",
        51 => "AH",
        58 => "ICMPv6",
        89 => "OSPF",
        number => return number.to_string(),
    };
    format!("{number} {name}")
}

/// Where a packet was lost.
fn place(verdict: &str) -> &'static str {
    match verdict {
        "before-tunnel" => "before tunnel tap",
        "behind-tunnel" => "after tunnel tap",
        _ => "end to end",
    }
}

/// The first of those that were lost.
pub(super) fn lost(page: &mut Page<'_>, report: &MatchReport) {
    if report.lost.is_empty() {
        return;
    }
    page.heading_with("Lost packets", "plaintext frames that did not reach the next tap");
    let mut table = Table::new(vec![
        Column::left("frame"),
        Column::left("at"),
        Column::right("inner B"),
        Column::left("lost").fit(Fit::Below),
        Column::left("SA").fit(Fit::Below),
        Column::right("number"),
        Column::right("confidence"),
    ]);
    for lost in report.lost.iter().take(FIRST) {
        table.row([
            frame(&report.plain, lost.frame),
            lost.time.map(|time| names::time_of_day(time.0, page.zone())).unwrap_or_default(),
            grouped(lost.inner_bytes),
            place(lost.verdict).to_owned(),
            lost.sa.as_deref().map(short).unwrap_or_default(),
            lost.sequence.map(|number| number.to_string()).unwrap_or_default(),
            decimal(lost.confidence, 2),
        ]);
    }
    table.print(page);
    if report.lost.iter().any(|lost| lost.sequence.is_some()) {
        page.wrapped(
            2,
            2,
            "A number is the gap that the packet left in its SA: it was lost after the gateway had encrypted it.",
        );
    }
    rest(page, report.lost.len(), "lost");
}

/// From one plaintext side to the other.
pub(super) fn ends(page: &mut Page<'_>, report: &MatchReport) {
    if report.ends.is_empty() {
        return;
    }
    page.heading_with("Plain side to exit side", "the same packet seen at both ends, known by its content");
    let mut table = Table::new(columns("matched"));
    for end in report.ends.iter().take(super::directions::ROWS) {
        let [min, p50, p90, p99, max, mean] = end.latency_ns.as_ref().map(cells).unwrap_or_default();
        let way = match end.way {
            "plain-to-exit" => "from the plain side to the exit, by the TTL",
            "exit-to-plain" => "from the exit to the plain side, by the TTL",
            _ => "the TTL is the same on both sides and does not tell which way",
        };
        let depends = match (&end.latency_ns, end.depends_on_offset) {
            (None, _) => "",
            (Some(_), true) => "; times are as right as the offset of the clocks",
            (Some(_), false) => "; one clock stamped both",
        };
        let from_to = format!("{} > {}", printable(&end.src), printable(&end.dst));
        let gone = match end.loss_pct {
            Some(share) if end.lost > 0 => format!("; {} lost ({} %)", grouped(end.lost), decimal(share, 2)),
            Some(_) => "; none lost".to_owned(),
            None => String::new(),
        };
        table.row([grouped(end.matched), from_to, min, p50, p90, p99, max, mean, format!("{way}{gone}{depends}")]);
    }
    table.print(page);
    super::directions::more(page, report.ends.len(), "ends");
}

/// The captures of each side, and how many of its packets could be paired.
pub(super) fn sides(page: &mut Page<'_>, report: &MatchReport) {
    use super::super::captures::{LISTED, describe};
    let sides = [("plain", Some(&report.plain)), ("tunnel", Some(&report.tunnel)), ("exit", report.exit.as_ref())];
    for (name, side) in sides.into_iter().filter_map(|(name, side)| Some((name, side?))) {
        let what = if name == "tunnel" { "packet in a tunnel" } else { "IP packet" };
        let packets = count(side.packets, what).replace("packet in a tunnels", "packets in a tunnel");
        let one = side.captures.len() <= 1;
        for capture in side.captures.iter().take(LISTED) {
            let packets = if one { format!("; {packets}") } else { String::new() };
            let line = format!("{}: {}{packets}", printable(&capture.path), describe(page, capture));
            page.tagged_line(Tone::Heading, 0, &format!("{name:6}"), &line);
        }
        if side.captures.len() > LISTED {
            let more = side.captures.len() - LISTED;
            page.tagged_line(Tone::Heading, 0, "      ", &format!("and {}", count(more as u64, "more capture")));
        }
        if !one {
            let incomplete = side.captures.iter().filter(|capture| !capture.complete).count() as u64;
            let incomplete =
                if incomplete > 0 { format!(", {} not complete", count(incomplete, "capture")) } else { String::new() };
            let all = format!("{} in all, {packets}{incomplete}", count(side.frames, "frame"));
            page.tagged_line(Tone::Heading, 0, &format!("{name:6}"), &all);
        }
    }
}
