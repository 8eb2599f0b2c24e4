//! Events: what began, ended or changed.

use super::table::{Cell, Column, Priority, Table};
use super::{Section, View};
use crate::model::report::{EventKind, Report};
use crate::report::words::names;

/// Changes on the way; starts and stops of SAs are in JSON only.
pub(super) fn section(report: &Report, view: &View) -> Section {
    let changes: Vec<_> =
        report.events.iter().filter(|event| !matches!(event.what, EventKind::SaStart | EventKind::SaStop)).collect();
    let mut section = Section::titled("Events");
    let mut table = Table::new([
        Column::words("time"),
        Column::words("tap"),
        Column::words("what"),
        Column::words("SA").priority(Priority::Detail),
        Column::words("after").priority(Priority::Detail),
        Column::words("at").priority(Priority::Detail),
    ]);
    for event in changes.iter().take(view.shown(changes.len())) {
        table.row([
            event.when.0.ns().map_or(Cell::Unknown, |ns| Cell::text(names::time_of_day(ns, &view.zone))),
            Cell::text(if report.taps.len() > 1 { &*event.tap } else { "" }),
            Cell::text(event.what.name()),
            Cell::text(names::sa_title(&event.sa)),
            Cell::text(event.from_sa.as_deref().map(names::sa_title).unwrap_or_default()),
            Cell::text(names::frame(report, event.frame)),
        ]);
    }
    section.table(table);
    section.more(view, changes.len(), "events", "--format json");
    section
}
