//! Ethernet, ESP and AH padding.

use super::table::{Cell, Column, Priority, Table};
use super::{Section, View};
use crate::model::report::{Pattern, Report};
use crate::report::words::names;
use crate::report::words::number::count;

/// Padding lengths of an SA that are listed unless all are asked for.
const LENGTHS: usize = 16;

pub(super) fn section(report: &Report, view: &View) -> Section {
    let mut section = Section::titled("Padding");
    let several = report.taps.len() > 1;
    let tap = |tap: &str| Cell::text(if several { tap } else { "" });
    ethernet(&mut section, report, view, &tap);
    esp(&mut section, report, view, &tap);

    let mut ah = Table::new([
        Column::words("AH ICV padding").priority(Priority::Title),
        Column::words("tap"),
        Column::counts("frames"),
        Column::counts("not zero"),
    ]);
    for row in report.padding.ah.iter().take(view.shown(report.padding.ah.len())) {
        ah.row([
            Cell::text(names::sa_title(&row.sa)),
            tap(&row.tap),
            Cell::Count(row.frames),
            Cell::Count(row.nonzero),
        ]);
    }
    section.table(ah);
    section.more(view, report.padding.ah.len(), "SAs", "--format json");
    section
}

fn ethernet(section: &mut Section, report: &Report, view: &View, tap: &dyn Fn(&str) -> Cell) {
    let rows = &report.padding.ethernet;
    let mut table = Table::new([
        Column::words("Ethernet padding").priority(Priority::Title),
        Column::words("tap"),
        Column::counts("frames"),
        Column::figures("padding", "B"),
        Column::words("pattern"),
        Column::words("examples").priority(Priority::Detail),
    ]);
    for row in rows.iter().take(view.shown(rows.len())) {
        let pattern = match row.pattern {
            Pattern::Zero => "all 0x00",
            Pattern::Ff => "all 0xff",
            Pattern::Repeated => "one byte repeated",
            Pattern::Other => "other",
        };
        table.row([
            Cell::text(&*row.direction),
            tap(&row.tap),
            Cell::Count(row.frames),
            Cell::Range(signed(row.pad_bytes_min), signed(row.pad_bytes_max)),
            Cell::text(pattern),
            Cell::text(names::frames(report, row.examples.get(..3).unwrap_or(&row.examples))),
        ]);
    }
    section.table(table);
    section.more(view, rows.len(), "rows", "--format json");
}

fn esp(section: &mut Section, report: &Report, view: &View, tap: &dyn Fn(&str) -> Cell) {
    let rows = &report.padding.esp;
    let mut table = Table::new([
        Column::words("ESP padding").priority(Priority::Title),
        Column::words("tap"),
        Column::counts("1,2,3,..."),
        Column::counts("other"),
        Column::counts("longer than\nneeded"),
        Column::words("basis"),
        Column::words("pad bytes").priority(Priority::Detail),
    ]);
    for row in rows.iter().take(view.shown(rows.len())) {
        let shown = if view.all { usize::MAX } else { LENGTHS };
        let lengths = row.pad_lengths.iter().take(shown);
        let mut lengths: Vec<String> =
            lengths.map(|(bytes, frames)| format!("{bytes} in {}", count(*frames, "frame"))).collect();
        let more = row.pad_lengths.len().saturating_sub(shown);
        if more > 0 {
            lengths.push(count(more as u64, "more length"));
        }
        table.row([
            Cell::text(names::sa_title(&row.sa)),
            tap(&row.tap),
            Cell::Count(row.monotonic),
            Cell::Count(row.other),
            Cell::Count(row.longer_than_needed),
            Cell::text(row.basis.name()),
            Cell::text(lengths.join(", ")),
        ]);
    }
    section.table(table);
    section.more(view, rows.len(), "SAs", "--format json");
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
