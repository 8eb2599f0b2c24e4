//! What began, ended or changed.

use super::page::Page;
use super::table::{Column, Fit, Table};
use crate::model::report::Report;
use crate::report::escape::printable;
use crate::report::names;
use crate::report::number::grouped;

/// Starts and stops of SAs are in the SA table's JSON; the text shows what changed on the way, and at most this much.
const ROWS: usize = 50;

pub(super) fn print(page: &mut Page<'_>, report: &Report) {
    let changes: Vec<_> = report.events.iter().filter(|event| !matches!(event.what, "sa-start" | "sa-stop")).collect();
    if changes.is_empty() {
        return;
    }
    page.heading("Events");
    let mut table = Table::new(vec![
        Column::left("time"),
        Column::left("tap"),
        Column::left("what"),
        Column::left("SA").fit(Fit::Below),
        Column::left("after").fit(Fit::Below),
        Column::left("at").fit(Fit::Below),
    ]);
    for event in changes.iter().take(ROWS) {
        table.row([
            event.when.0.ns().map_or_else(|| "-".to_owned(), |ns| names::time_of_day(ns, page.zone())),
            if report.taps.len() > 1 { printable(&event.tap).into_owned() } else { String::new() },
            event.what.to_owned(),
            names::sa_title(&event.sa),
            event.from_sa.as_deref().map(names::sa_title).unwrap_or_default(),
            names::frame(report, event.frame),
        ]);
    }
    table.print(page);
    if changes.len() > ROWS {
        page.wrapped(2, 2, &format!("and {} more; `--format json` lists all.", grouped((changes.len() - ROWS) as u64)));
    }
}
