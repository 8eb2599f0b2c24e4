//! Overhead by packet size, as the tables of router tests show it: sizes, octets on the wire, frames per second, and
//! the two rates: end to end (the plain packets) and on the circuit (the tunnelled ones).

use std::collections::BTreeMap;

use super::page::Page;
use super::table::{Column, Fit, Table};
use crate::model::report::{OuterSize, Parts, Report, Size};
use crate::report::classes;
use crate::report::escape::printable;
use crate::report::names;
use crate::report::number::{RateUnit, count, decimal, grouped, range};

pub(super) fn print(page: &mut Page<'_>, report: &Report) {
    if !report.sizes.is_empty() {
        page.heading("Overhead by packet size");
        for (n, group) in groups(&report.sizes).into_iter().enumerate() {
            if n > 0 {
                page.blank();
            }
            one(page, report, &group);
        }
    }
    outer(page, report);
}

/// Rows of one tap, direction, SA, encapsulation and basis, in order of size.
fn groups(sizes: &[Size]) -> Vec<Vec<&Size>> {
    let mut groups: BTreeMap<_, Vec<&Size>> = BTreeMap::new();
    for size in sizes {
        let key = (&size.tap, &size.direction, &size.sa, &size.encapsulation, size.basis);
        groups.entry(key).or_default().push(size);
    }
    let mut groups: Vec<_> = groups.into_values().collect();
    for group in &mut groups {
        group.sort_by_key(|size| size.inner_bytes);
    }
    groups
}

fn one(page: &mut Page<'_>, report: &Report, group: &[&Size]) {
    let Some(first) = group.first() else { return };
    let sa = first.sa.as_deref().and_then(names::sa_parts).map(|(protocol, spi, _)| format!(", {protocol} {spi}"));
    page.wrapped(
        2,
        6,
        &format!(
            "{}, {}{}, {}{}",
            printable(&first.direction),
            printable(&first.encapsulation),
            sa.unwrap_or_default(),
            first.basis,
            super::tap_suffix(report, &first.tap).replace("   at", ", at"),
        ),
    );
    let parts: Vec<Parts> = group.iter().map(|size| size.parts).collect();
    page.wrapped(2, 6, &parts_line(&parts));

    let folded = group.len() > classes::EXACT_ROWS;
    let rows = if folded { classes::fold(group) } else { classes::exact(group) };
    let unit = RateUnit::for_rates(rows.iter().map(|row| row.l1_tunnel_bps));
    let end_to_end = format!("end to\nend\n{}", unit.name);
    let circuit = format!("\ncircuit\n{}", unit.name);
    let mut table = Table::new(vec![
        Column::right("inner\nB"),
        Column::right("frames"),
        Column::right("frames/s"),
        Column::right("outer\nB"),
        Column::right("over-\nhead\nB"),
        Column::right("of\ninner\n%"),
        Column::right("L1\nplain\nB"),
        Column::right("L1\ntunnel\nB"),
        Column::right(&end_to_end),
        Column::right(circuit.trim_start()),
        Column::right("plain\nshare\n%").fit(Fit::Drop),
    ]);
    for row in &rows {
        table.row([
            row.label.clone(),
            grouped(row.frames),
            row.frames_per_s.map_or_else(|| "-".to_owned(), |rate| decimal(rate, if rate < 100.0 { 2 } else { 0 })),
            plain_range(row.outer_bytes),
            plain_range(row.overhead_bytes),
            decimal(row.overhead_of_inner_pct, 1),
            mean(row.l1_plain_bytes),
            mean(row.l1_tunnel_bytes),
            unit.show(row.l1_plain_bps),
            unit.show(row.l1_tunnel_bps),
            decimal(row.circuit_share_pct, 1),
        ]);
    }
    table.print(page);
    if folded {
        page.wrapped(
            2,
            6,
            &format!(
                "{} folded into the classes of RFC 2544; `--table sizes --format csv` lists each with its rate.",
                count(group.len() as u64, "size")
            ),
        );
    }
}

/// A range short enough for a column: `58-73`; negative ends need the word.
pub(super) fn plain_range((from, to): (i64, i64)) -> String {
    if from < 0 || from == to { range(from, to) } else { format!("{from}-{to}") }
}

/// A mean without decimals where it is whole.
fn mean(value: f64) -> String {
    decimal(value, if (value - value.round()).abs() < 0.05 { 0 } else { 1 })
}

/// `parts: outer IP 20, AH 24, padding 2 to 6, ... B`, over all sizes of the group.
pub(super) fn parts_line(group: &[Parts]) -> String {
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
    let mut parts = Vec::new();
    for (name, pick) in named {
        let (min, max) = group
            .iter()
            .map(pick)
            .fold((f64::INFINITY, 0.0_f64), |(min, max), octets| (min.min(octets), max.max(octets)));
        if max > 0.0 {
            let octets = if max - min < 0.05 { mean(max) } else { format!("{} to {}", mean(min), mean(max)) };
            parts.push(format!("{name} {octets}"));
        }
    }
    if parts.is_empty() { String::new() } else { format!("parts in B: {}", parts.join(", ")) }
}

/// Sizes on the outside of SAs whose inner packets cannot be seen.
fn outer(page: &mut Page<'_>, report: &Report) {
    if report.outer_sizes.is_empty() {
        return;
    }
    page.heading_with(
        "Outer packet sizes",
        "SAs whose inner packets are not visible; IP length on the outside, number of packets",
    );
    let mut groups: BTreeMap<(&str, &str), Vec<&OuterSize>> = BTreeMap::new();
    for size in &report.outer_sizes {
        groups.entry((&size.tap, &size.sa)).or_default().push(size);
    }
    for ((tap, sa), mut sizes) in groups {
        sizes.sort_by_key(|size| size.outer_bytes);
        page.wrapped(2, 6, &format!("{}{}", names::sa_title(sa), super::tap_suffix(report, tap)));
        let cells: Vec<String> = if sizes.len() > classes::EXACT_ROWS {
            classes::fold_outer(&sizes)
                .into_iter()
                .map(|(label, frames)| format!("{label} B: {}", grouped(frames)))
                .collect()
        } else {
            sizes.iter().map(|size| format!("{} B: {}", size.outer_bytes, grouped(size.frames))).collect()
        };
        page.items(6, &cells);
    }
}
