//! Rates per direction, PAUSE frames, peaks.

use super::table::{Cell, Column, Priority, Subject, Table};
use super::{Section, View, figures};
use crate::model::report::{DirectionRate, LengthBasis, Report};
use crate::report::words::names;
use crate::report::words::number::{RateUnit, decimal, duration};

pub(super) fn directions(report: &Report, view: &View) -> Section {
    let rates = &report.rates;
    if rates.directions.is_empty() {
        return Section::default();
    }
    if rates.directions.iter().all(|direction| direction.l1_with_control_bps.is_none()) {
        return Section::noted("Rates", "None: all frames of a direction have the same timestamp, or none is known.");
    }
    let unit = RateUnit::for_rates(rates.directions.iter().map(|direction| direction.l1_with_control_bps));
    let mut section = Section::noted(
        "Rates by direction",
        format!("{} between the first and last frame of each; peak over {}", unit.name, duration(rates.bin_ns)),
    );
    charts(&mut section, report);
    let mut table = Table::new([
        Column::words("from > to").priority(Priority::Title),
        Column::words("tap"),
        Column::counts("frames"),
        Column::figures("seconds", "").priority(Priority::Optional),
        Column::figures("frames/s", ""),
        Column::figures("L1", ""),
        Column::figures("L1 with\ncontrol", ""),
        Column::figures("L2\nwith FCS", ""),
        Column::figures("L3", ""),
        Column::figures("goodput", ""),
        Column::figures("clear\nL3", ""),
        Column::figures("peak\nL1", ""),
        Column::figures("of link", "%"),
        Column::remark(),
    ]);
    for direction in rates.directions.iter().take(view.shown(rates.directions.len())) {
        let with_control = direction.control_l1_bps.is_some_and(|bps| bps > 0.0);
        let cells = [
            Cell::text(&*direction.direction),
            Cell::text(if report.taps.len() > 1 { &*direction.tap } else { "" }),
            Cell::Count(direction.frames),
            Cell::decimal(direction.seconds, 2),
            Cell::decimal(direction.frames_per_s, 1),
            unit.cell(direction.l1_bps),
            if with_control { unit.cell(direction.l1_with_control_bps) } else { Cell::Blank },
            unit.cell(direction.l2_bps),
            unit.cell(direction.l3_bps),
            goodput(direction, unit),
            direction.clear_bps.filter(|bps| *bps > 0.0).map_or(Cell::Blank, |bps| unit.cell(Some(bps))),
            unit.cell(direction.peak.map(|peak| peak.l1_bps)),
            Cell::decimal(direction.utilisation_pct, 2),
            Cell::text(remark(view, direction)),
        ];
        table.row_about(Subject::new(&direction.tap, &direction.direction), cells);
    }
    section.table(table);
    section.more(view, rates.directions.len(), "directions", "--format json");
    if rates.directions.iter().any(|direction| direction.l1_basis == LengthBasis::Assumed) {
        section.say(
            "L1 and L2 of some frames are assumed: the link is not Ethernet, segmentation offload made the frames, or they were \
             sliced.",
        );
    }
    section
}

/// Rates over time: by direction, and by SA.
fn charts(section: &mut Section, report: &Report) {
    section.figure(figures::load::figure(report));
    section.figure(figures::load::by_sa::figure(report));
}

/// `192.168.1.1 > 192.168.1.2; peak at 04:41:02.000000 with 8 700 frames/s`
fn remark(view: &View, direction: &DirectionRate) -> String {
    let peak = direction.peak.map(|peak| {
        let at = names::time_of_day(peak.start_ns, &view.zone);
        format!("peak at {at} with {} frames/s", decimal(peak.frames_per_s, 0))
    });
    [endpoints(direction), peak].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// `192.168.1.1 > 192.168.1.2`, `192.168.1.1 > 192.168.1.2 and 3 more`: who sends IP packets to whom in a direction of MAC addresses.
pub(super) fn endpoints(direction: &DirectionRate) -> Option<String> {
    let own = direction.endpoints.iter().filter(|ends| **ends != direction.direction).collect::<Vec<_>>();
    match own.as_slice() {
        [] => None,
        [one] => Some((*one).clone()),
        [first, more @ ..] => Some(format!("{first} and {} more", more.len())),
    }
}

/// Exact, or the range that a transform allows.
fn goodput(direction: &DirectionRate, unit: RateUnit) -> Cell {
    let range =
        |min, max, condition: &str| Cell::text(format!("{}-{}{condition}", unit.show(Some(min)), unit.show(Some(max))));
    let if_no_tfc = direction.if_no_tfc.and_then(|range| range.goodput_min_bps.zip(range.goodput_max_bps));
    match (direction.goodput_bps, direction.goodput_min_bps.zip(direction.goodput_max_bps), if_no_tfc) {
        (Some(bps), _, _) if bps > 0.0 => unit.cell(Some(bps)),
        (None, Some((min, max)), _) => range(min, max, ""),
        (None, None, Some((min, max))) => range(min, max, " if no TFC/IPComp"),
        _ => Cell::Blank,
    }
}

pub(super) fn pause(report: &Report, view: &View) -> Section {
    let mut section = Section::titled("PAUSE and priority flow control");
    let mut table = Table::new([
        Column::words("from > to").priority(Priority::Title),
        Column::words("class"),
        Column::counts("frames"),
        Column::counts("quanta"),
        Column::figures("stopped", ""),
    ]);
    let rows = &report.rates.pause;
    for row in rows.iter().take(view.shown(rows.len())) {
        table.row([
            Cell::text(&*row.direction),
            Cell::text(row.class.map_or_else(|| "802.3x".to_owned(), |class| format!("PFC {class}"))),
            Cell::Count(row.frames),
            Cell::Count(row.quanta),
            Cell::text(row.stopped_ns.map_or_else(|| "needs --link-rate".to_owned(), duration)),
        ]);
    }
    section.table(table);
    section.more(view, rows.len(), "senders", "--format json");
    section
}
