//! Rates per direction, PAUSE frames, peaks.

use super::page::Page;
use super::table::{Column, Fit, Table};
use crate::model::report::{DirectionRate, Report};
use crate::report::escape::printable;
use crate::report::names;
use crate::report::number::{RateUnit, decimal, duration, grouped};

pub(super) fn print(page: &mut Page<'_>, report: &Report) {
    let rates = &report.rates;
    if rates.directions.iter().any(|direction| direction.l1_with_control_bps.is_some()) {
        directions(page, report);
    } else if !rates.directions.is_empty() {
        page.heading_with("Rates", "None: all frames of a direction have one time, or times are unknown.");
    }
    pause(page, report);
}

fn directions(page: &mut Page<'_>, report: &Report) {
    let rates = &report.rates;
    let unit = RateUnit::for_rates(rates.directions.iter().map(|direction| direction.l1_with_control_bps));
    page.heading_with(
        "Rates by direction",
        &format!("{} between the first and last frame of each; peak over {}", unit.name, duration(rates.bin_ns)),
    );
    let mut table = Table::new(vec![
        Column::left("from > to").fit(Fit::Above),
        Column::left("tap"),
        Column::right("frames"),
        Column::right("seconds").fit(Fit::Drop),
        Column::right("frames/s"),
        Column::right("L1"),
        Column::right("L1 with\ncontrol"),
        Column::right("L2\nwith FCS"),
        Column::right("L3"),
        Column::right("goodput"),
        Column::right("clear\nL3"),
        Column::right("peak\nL1"),
        Column::right("of link\n%"),
        Column::left("").fit(Fit::Remark),
    ]);
    for direction in &rates.directions {
        let with_control = direction.control_l1_bps.is_some_and(|bps| bps > 0.0);
        table.row([
            printable(&direction.direction).into_owned(),
            if report.taps.len() > 1 { printable(&direction.tap).into_owned() } else { String::new() },
            grouped(direction.frames),
            direction.seconds.map_or_else(|| "-".to_owned(), |seconds| decimal(seconds, 2)),
            direction.frames_per_s.map_or_else(|| "-".to_owned(), |rate| decimal(rate, 1)),
            unit.show(direction.l1_bps),
            if with_control { unit.show(direction.l1_with_control_bps) } else { String::new() },
            unit.show(direction.l2_bps),
            unit.show(direction.l3_bps),
            goodput(direction, unit),
            direction.clear_bps.filter(|bps| *bps > 0.0).map_or_else(String::new, |bps| unit.show(Some(bps))),
            unit.show(direction.peak.map(|peak| peak.l1_bps)),
            direction.utilisation_pct.map_or_else(|| "-".to_owned(), |pct| decimal(pct, 2)),
            remark(page, direction),
        ]);
    }
    table.print(page);
    if rates.directions.iter().any(|direction| direction.l1_basis == "assumed") {
        page.wrapped(
            2,
            6,
            "L1 and L2 of some frames are assumed: the link is not Ethernet, segmentation offload made the frames, or they were sliced.",
        );
    }
}

/// `peak at 04:41:02.000000 with 8 700 frames/s`
fn remark(page: &Page<'_>, direction: &DirectionRate) -> String {
    direction.peak.map_or_else(String::new, |peak| {
        let at = names::time_of_day(peak.start_ns, page.zone());
        format!("peak at {at} with {} frames/s", decimal(peak.frames_per_s, 0))
    })
}

/// Exact, or the range that a transform allows.
fn goodput(direction: &DirectionRate, unit: RateUnit) -> String {
    let range = |min, max, condition: &str| format!("{}-{}{condition}", unit.show(Some(min)), unit.show(Some(max)));
    let if_no_tfc = direction.if_no_tfc.and_then(|range| range.goodput_min_bps.zip(range.goodput_max_bps));
    match (direction.goodput_bps, direction.goodput_min_bps.zip(direction.goodput_max_bps), if_no_tfc) {
        (Some(bps), _, _) if bps > 0.0 => unit.show(Some(bps)),
        (None, Some((min, max)), _) => range(min, max, ""),
        (None, None, Some((min, max))) => range(min, max, " if no TFC"),
        _ => String::new(),
    }
}

fn pause(page: &mut Page<'_>, report: &Report) {
    if report.rates.pause.is_empty() {
        return;
    }
    page.heading("PAUSE and priority flow control");
    let mut table = Table::new(vec![
        Column::left("from > to").fit(Fit::Above),
        Column::left("class"),
        Column::right("frames"),
        Column::right("quanta"),
        Column::right("stopped"),
    ]);
    for row in &report.rates.pause {
        table.row([
            printable(&row.direction).into_owned(),
            row.class.map_or_else(|| "802.3x".to_owned(), |class| format!("PFC {class}")),
            grouped(row.frames),
            grouped(row.quanta),
            row.stopped_ns.map_or_else(|| "needs --link-rate".to_owned(), duration),
        ]);
    }
    table.print(page);
}
