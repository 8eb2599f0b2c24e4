//! Packets by what became of them: the summary, what is outside the tunnel, what was lost, and what both ends saw.

use super::super::table::{Cell, Column, Priority, Table};
use super::super::{Block, KeyFigure, Section, View, captures, figures};
use super::times::{cells, columns};
use super::words::{frame, short};
use crate::model::pairs::{EndsWay, LossPlace, MatchReport, Pairs};
use crate::report::words::names;
use crate::report::words::number::{count, count_of, decimal, grouped};

/// How many pairs there are, and how they are known.
pub(super) fn summary(report: &MatchReport) -> Section {
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
    // What of them was lost, no sum says where a direction leaves it open.
    let open = report.directions.iter().any(|direction| direction.undetermined.is_some());
    let missing = if open {
        "missing in the tunnel: plaintext packets; how many of them were lost is not determined in every direction"
    } else {
        "lost: plaintext packets missing in the tunnel"
    };
    let rows = [
        (matched, "matched: a packet of the plain side and a packet in the tunnel are the same"),
        (by_basis.content, "of these by content: the inner packet is visible, and the same"),
        (
            by_basis.decrypted,
            "of these by decryption: the inner packet was decrypted with a key of --config, and is the same",
        ),
        (by_basis.order, "of these by order: paired by length, sequence and timing; contents encrypted"),
        (ambiguous, "of these ambiguous: confidence below 0.9, as among packets of one length close together"),
        (unmatched_plain, missing),
        (
            unmatched_tunnel,
            "in the tunnel alone: no plaintext packet is known (other traffic, dummy packets, or lost after it)",
        ),
        (repeated_tunnel, "repeated in the tunnel: their sequence number was there before"),
        (outside_plain, "outside: plaintext packets of traffic that does not go through the tunnel"),
        (uncovered_plain, "not covered: plaintext packets outside the time that the tunnel's capture covers; not lost"),
        (
            uncovered_tunnel,
            "not covered: packets in the tunnel outside the time that the plain capture covers; not lost",
        ),
        (uncovered_exit.unwrap_or(0), "not covered: packets of the plain or exit side outside the time of the other"),
        (undetermined_plain, "not determined: plaintext packets of which is not known whether they are in the tunnel"),
        (
            undetermined_tunnel,
            "not determined: packets in the tunnel of which is not known which plaintext packets they are",
        ),
    ];
    let mut section = Section::titled("Pairs");
    let shown = rows.iter().enumerate().filter(|(at, (n, _))| *at == 0 || *n > 0);
    let figures = shown.map(|(_, (n, what))| KeyFigure { figure: Cell::Count(*n), meaning: (*what).to_owned() });
    section.blocks.push(Block::KeyFigures(figures.collect()));
    section
}

/// What does not go through the tunnel.
pub(super) fn outside(report: &MatchReport, view: &View) -> Section {
    if report.outside.is_empty() {
        return Section::default();
    }
    let mut section = Section::noted("Outside the tunnel", "plaintext traffic of which nothing was found inside it");
    let mut table = Table::new([
        Column::words("from > to").priority(Priority::Title),
        Column::words("protocol"),
        Column::counts("packets"),
        Column::counts("in clear\nbeside it"),
    ]);
    let mut flows: Vec<_> = report.outside.iter().collect();
    flows.sort_by_key(|flow| std::cmp::Reverse(flow.packets));
    for flow in flows.iter().take(view.shown(flows.len())) {
        table.row([
            Cell::text(format!("{} > {}", flow.src, flow.dst)),
            Cell::text(protocol(flow.protocol)),
            Cell::Count(flow.packets),
            Cell::Count(flow.clear),
        ]);
    }
    section.table(table);
    section.more(view, flows.len(), "flows", "--format csv --table outside");
    section
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
fn place(verdict: LossPlace) -> &'static str {
    match verdict {
        LossPlace::BeforeTunnel => "before tunnel tap",
        LossPlace::BehindTunnel => "after tunnel tap",
        LossPlace::EndToEnd => "end to end",
    }
}

/// The first of those that were lost.
pub(super) fn lost(report: &MatchReport, view: &View) -> Section {
    if report.lost.is_empty() {
        return Section::default();
    }
    let mut section = Section::noted("Lost packets", "plaintext frames that did not reach the next tap");
    section.figure(figures::losses::figure(report));
    let mut table = Table::new([
        Column::words("frame"),
        Column::words("at"),
        Column::figures("inner", "B"),
        Column::words("lost").priority(Priority::Detail),
        Column::words("SA").priority(Priority::Detail),
        Column::counts("number"),
        Column::counts("confidence"),
    ]);
    for lost in report.lost.iter().take(view.shown(report.lost.len())) {
        table.row([
            Cell::text(frame(&report.plain, lost.frame)),
            Cell::text(lost.time.map(|time| names::time_of_day(time.0, &view.zone)).unwrap_or_default()),
            Cell::Count(lost.inner_bytes),
            Cell::text(place(lost.verdict)),
            Cell::text(lost.sa.as_deref().map(short).unwrap_or_default()),
            Cell::text(lost.sequence.map(|number| number.to_string()).unwrap_or_default()),
            Cell::Decimal(lost.confidence, 2),
        ]);
    }
    section.table(table);
    section.more(view, report.lost.len(), "packets", "--format csv --table lost");
    if report.lost.iter().any(|lost| lost.sequence.is_some()) {
        section
            .say("A sequence number is the one that is missing in the SA: the packet was lost after the gateway had encrypted it.");
    }
    section
}

/// From one plaintext side to the other.
pub(super) fn ends(report: &MatchReport, view: &View) -> Section {
    if report.ends.is_empty() {
        return Section::default();
    }
    let mut section =
        Section::noted("Plain side to exit side", "the same packet seen at both ends, known by its content");
    let mut table = Table::new(columns("matched"));
    for end in report.ends.iter().take(view.shown(report.ends.len())) {
        let unknown = [Cell::Blank, Cell::Blank, Cell::Blank, Cell::Blank, Cell::Blank, Cell::Blank];
        let [min, p50, p90, p99, max, mean] = end.latency_ns.as_ref().map_or(unknown, cells);
        let way = match end.way {
            EndsWay::PlainToExit => "from the plain side to the exit, by the TTL",
            EndsWay::ExitToPlain => "from the exit to the plain side, by the TTL",
            EndsWay::Unknown => "way not determined: the TTL is the same on both sides",
        };
        let depends = match (&end.latency_ns, end.depends_on_offset) {
            (None, _) => "",
            (Some(_), true) => "; accuracy limited by the clock offset",
            (Some(_), false) => "; one clock stamped both",
        };
        let gone = match end.loss_pct {
            Some(share) if end.lost > 0 => format!("; {} lost ({} %)", grouped(end.lost), decimal(share, 2)),
            Some(_) => "; none lost".to_owned(),
            None => String::new(),
        };
        let from_to = Cell::text(format!("{} > {}", end.src, end.dst));
        let remark = Cell::text(format!("{way}{gone}{depends}"));
        table.row([Cell::text(grouped(end.matched)), from_to, min, p50, p90, p99, max, mean, remark]);
    }
    section.table(table);
    section.more(view, report.ends.len(), "rows", "--format csv --table ends");
    section
}

/// The captures of each side, and how many of its packets could be paired.
pub(super) fn sides(report: &MatchReport, view: &View) -> Section {
    let mut section = Section::default();
    let mut lines = Vec::new();
    let sides = [("plain", Some(&report.plain)), ("tunnel", Some(&report.tunnel)), ("exit", report.exit.as_ref())];
    for (name, side) in sides.into_iter().filter_map(|(name, side)| Some((name, side?))) {
        let (one, many) = match name {
            "tunnel" => ("packet in a tunnel", "packets in a tunnel"),
            _ => ("IP packet", "IP packets"),
        };
        let own = if name == "plain" && side.tunnelled > 0 { ", without those of the tunnel itself" } else { "" };
        let packets = format!("{}{own}", count_of(side.packets, one, many));
        let alone = side.captures.len() <= 1;
        let listed = if view.all { usize::MAX } else { captures::LISTED };
        let mut line = |text: String| lines.push(KeyFigure { figure: Cell::text(name), meaning: text });
        for capture in side.captures.iter().take(listed) {
            let packets = if alone { format!("; {packets}") } else { String::new() };
            line(format!("{}: {}{packets}", capture.path, captures::describe(&view.zone, capture)));
        }
        let more = side.captures.len().saturating_sub(listed) as u64;
        if more > 0 {
            line(format!("and {}; `--all` lists all", count(more, "more capture")));
        }
        if !alone {
            let incomplete = side.captures.iter().filter(|capture| !capture.complete).count() as u64;
            let incomplete =
                if incomplete > 0 { format!(", {} not complete", count(incomplete, "capture")) } else { String::new() };
            line(format!("{} in all, {packets}{incomplete}", count(side.frames, "frame")));
        }
    }
    section.blocks.push(Block::KeyFigures(lines));
    section
}
