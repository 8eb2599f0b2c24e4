//! Ethernet, ESP and AH padding.

use super::page::Page;
use super::table::{Column, Fit, Table};
use crate::model::report::Report;
use crate::report::escape::printable;
use crate::report::names;
use crate::report::number::{count, grouped, range};

pub(super) fn print(page: &mut Page<'_>, report: &Report) {
    let padding = &report.padding;
    if padding.ethernet.is_empty() && padding.esp.is_empty() && padding.ah.is_empty() {
        return;
    }
    page.heading("Padding");
    let several = report.taps.len() > 1;
    let tap = |tap: &str| if several { printable(tap).into_owned() } else { String::new() };

    let mut ethernet = Table::new(vec![
        Column::left("Ethernet padding").fit(Fit::Above),
        Column::left("tap"),
        Column::right("frames"),
        Column::right("octets"),
        Column::left("pattern"),
        Column::left("examples").fit(Fit::Below),
    ]);
    for row in &padding.ethernet {
        let examples = names::frames(report, row.examples.get(..3).unwrap_or(&row.examples));
        ethernet.row([
            printable(&row.direction).into_owned(),
            tap(&row.tap),
            grouped(row.frames),
            range(signed(row.pad_bytes_min), signed(row.pad_bytes_max)),
            match row.pattern {
                "zero" => "all 0x00",
                "ff" => "all 0xff",
                "repeated" => "one octet repeated",
                _ => "other",
            }
            .to_owned(),
            examples,
        ]);
    }
    if !ethernet.is_empty() {
        ethernet.print(page);
    }

    let mut esp = Table::new(vec![
        Column::left("ESP padding").fit(Fit::Above),
        Column::left("tap"),
        Column::right("1,2,3,..."),
        Column::right("other"),
        Column::right("longer than\nneeded"),
        Column::left("basis"),
        Column::left("pad octets").fit(Fit::Below),
    ]);
    for row in &padding.esp {
        let mut lengths: Vec<String> = row
            .pad_lengths
            .iter()
            .take(16)
            .map(|(octets, frames)| format!("{octets} in {}", count(*frames, "frame")))
            .collect();
        if row.pad_lengths.len() > 16 {
            lengths.push(format!("{} more lengths", row.pad_lengths.len() - 16));
        }
        esp.row([
            names::sa_title(&row.sa),
            tap(&row.tap),
            grouped(row.monotonic),
            grouped(row.other),
            grouped(row.longer_than_needed),
            row.basis.to_owned(),
            lengths.join(", "),
        ]);
    }
    if !esp.is_empty() {
        if !ethernet.is_empty() {
            page.blank();
        }
        esp.print(page);
    }

    let mut ah = Table::new(vec![
        Column::left("AH ICV padding").fit(Fit::Above),
        Column::left("tap"),
        Column::right("frames"),
        Column::right("not zero"),
    ]);
    for row in &padding.ah {
        ah.row([names::sa_title(&row.sa), tap(&row.tap), grouped(row.frames), grouped(row.nonzero)]);
    }
    if !ah.is_empty() {
        if !ethernet.is_empty() || !esp.is_empty() {
            page.blank();
        }
        ah.print(page);
    }
}

fn signed(octets: u64) -> i64 {
    i64::try_from(octets).unwrap_or(i64::MAX)
}
