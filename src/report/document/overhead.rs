//! Overhead by packet size, as the tables of router tests show it: sizes, bytes on the wire, frames per second, and
//! the two rates: end to end (the plain packets) and on the circuit (the tunnelled ones).

use std::collections::BTreeMap;

use super::table::{Cell, Column, Priority, Table};
use super::{Block, Section, View, at_tap, classes, figures};
use crate::model::report::{OuterSize, Parts, Report, Size};
use crate::report::words::names;
use crate::report::words::number::{RateUnit, count, grouped};

/// Sizes of packets whose inner length is known.
pub(super) fn sizes(report: &Report, view: &View) -> Section {
    let mut section = Section::titled("Overhead by packet size");
    if let Some(sized) = figures::of_report(report) {
        section.figure(figures::overhead::figure(&sized));
        section.figure(figures::share::figure(&sized));
    }
    for group in groups(&report.sizes) {
        one(&mut section, report, view, &group);
    }
    section
}

/// Rows of one tap, direction, SA, encapsulation and basis, in order of size.
pub(super) fn groups(sizes: &[Size]) -> Vec<Vec<&Size>> {
    let mut groups: BTreeMap<_, Vec<&Size>> = BTreeMap::new();
    for size in sizes {
        let key = (&size.tap, &size.direction, &size.sa, &size.encapsulation, size.basis.name());
        groups.entry(key).or_default().push(size);
    }
    let mut groups: Vec<_> = groups.into_values().collect();
    for group in &mut groups {
        group.sort_by_key(|size| size.inner_bytes);
    }
    groups
}

fn one(section: &mut Section, report: &Report, view: &View, group: &[&Size]) {
    let Some(first) = group.first() else { return };
    let sa = first.sa.as_deref().and_then(names::sa_parts).map(|(protocol, spi, _)| format!(", {protocol} {spi}"));
    let tap = at_tap(report.taps.len() > 1, &first.tap);
    let tap = if tap.is_empty() { tap } else { format!(",{tap}") };
    section.caption(format!(
        "{}, {}{}, {}{tap}",
        first.direction,
        first.encapsulation,
        sa.unwrap_or_default(),
        first.basis,
    ));
    let parts: Vec<Parts> = group.iter().map(|size| size.parts).collect();
    section.parts(&parts);
    let rows = classes::rows(group, view.all);
    let unit = RateUnit::for_rates(rows.iter().map(|row| row.l1_tunnel_bps));
    let mut table = Table::new([
        Column::figures("inner", "B"),
        Column::counts("frames"),
        Column::figures("frames/s", ""),
        Column::figures("outer", "B"),
        Column::figures("over-\nhead", "B"),
        Column::figures("of\ninner", "%"),
        Column::figures("L1\nplain", "B"),
        Column::figures("L1\ntunnel", "B"),
        Column::figures("end to\nend", unit.name),
        Column::figures("circuit", unit.name),
        Column::figures("plain\nshare", "%").priority(Priority::Optional),
    ]);
    for row in &rows {
        table.row([
            Cell::text(&*row.label),
            Cell::Count(row.frames),
            Cell::decimal(row.frames_per_s, if row.frames_per_s.is_some_and(|rate| rate < 100.0) { 2 } else { 0 }),
            Cell::Range(row.outer_bytes.0, row.outer_bytes.1),
            Cell::Range(row.overhead_bytes.0, row.overhead_bytes.1),
            Cell::Decimal(row.overhead_of_inner_pct, 1),
            Cell::mean(row.l1_plain_bytes),
            Cell::mean(row.l1_tunnel_bytes),
            unit.cell(row.l1_plain_bps),
            unit.cell(row.l1_tunnel_bps),
            Cell::Decimal(row.circuit_share_pct, 1),
        ]);
    }
    section.table(table);
    if rows.len() < group.len() {
        section.say(format!(
            "{} in {}: the most frequent alone, the rest in classes of RFC 2544; `--table sizes --format csv` lists each with its \
             rate.",
            count(group.len() as u64, "size"),
            count(rows.len() as u64, "row"),
        ));
    }
}

impl Section {
    /// `parts in B: outer IP 20, AH 24, padding 2 to 6, ...`, over all sizes of a group.
    pub(super) fn parts(&mut self, group: &[Parts]) {
        type Pick = fn(&Parts) -> f64;
        let named: [(&str, Pick); 12] = [
            ("outer IP", |p| p.outer_ip),
            ("UDP", |p| p.udp),
            ("TCP", |p| p.tcp),
            ("GRE", |p| p.gre),
            ("inner link", |p| p.link),
            ("AH", |p| p.ah),
            ("ESP header", |p| p.esp_header),
            ("IV", |p| p.iv),
            ("ESP padding", |p| p.esp_pad),
            ("ESP trailer", |p| p.esp_trailer),
            ("ICV", |p| p.icv),
            ("fragmentation", |p| p.fragmentation),
        ];
        let mean = |bytes: f64| Cell::mean(bytes).show();
        let mut parts = Vec::new();
        for (name, pick) in named {
            let (min, max) = group
                .iter()
                .map(pick)
                .fold((f64::INFINITY, 0.0_f64), |(min, max), bytes| (min.min(bytes), max.max(bytes)));
            if max > 0.0 {
                let bytes = if max - min < 0.05 { mean(max) } else { format!("{} to {}", mean(min), mean(max)) };
                parts.push(format!("{name} {bytes}"));
            }
        }
        if !parts.is_empty() {
            self.caption(format!("parts in B: {}", parts.join(", ")));
        }
    }
}

/// Sizes on the outside of SAs whose inner packets cannot be seen.
pub(super) fn outer_sizes(report: &Report, view: &View) -> Section {
    let mut section = Section::titled("Outer packet sizes");
    let mut groups: BTreeMap<(&str, &str), Vec<&OuterSize>> = BTreeMap::new();
    for size in &report.outer_sizes {
        groups.entry((&size.tap, &size.sa)).or_default().push(size);
    }
    if groups.is_empty() {
        return section;
    }
    section.note = "SAs whose inner packets are not visible; IP length on the outside, number of packets".to_owned();
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, sizes)| std::cmp::Reverse(sizes.iter().map(|size| size.frames).sum::<u64>()));
    let all = groups.len();
    let mut shown: Vec<_> = groups.into_iter().take(view.shown(all)).collect();
    shown.sort_by_key(|(key, _)| *key);
    for ((tap, sa), mut sizes) in shown {
        sizes.sort_by_key(|size| size.outer_bytes);
        section.caption(format!("{}{}", names::sa_title(sa), at_tap(report.taps.len() > 1, tap)));
        let rows = classes::outer_rows(&sizes, view.all);
        let items = rows.into_iter().map(|(label, frames)| format!("{label} B: {}", grouped(frames)));
        section.blocks.push(Block::Items(items.collect()));
    }
    section.more(view, all, "SAs", "--format json");
    section
}
