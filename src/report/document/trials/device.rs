//! The device: model, buffers, bursts; searches and transfers.

use super::super::table::{Cell, Column, Priority, Table};
use super::super::{Section, View};
use super::size_of;
use crate::model::trials::{Fix, Model, TrialsReport, Unit};
use crate::report::words::number::{decimal, duration};

fn time(ns: f64) -> String {
    duration(ns.max(0.0).round() as u64)
}

pub(super) fn model(report: &TrialsReport, view: &View) -> Section {
    let mut section = Section::titled("Device model");
    for row in report.model.iter().take(view.shown(report.model.len())) {
        section.say(sentence(row));
    }
    section
}

fn sentence(row: &Model) -> String {
    let sizes: Vec<String> = row.sizes.iter().map(u64::to_string).collect();
    let of = format!("{} {}, sizes {}", row.direction.name(), row.ways.name(), sizes.join(", "));
    let mbps = |bps: f64| decimal(bps / 1e6, 2);
    let worst = row.residual_pct.iter().fold(0.0, |worst: f64, own| if own.abs() > worst.abs() { *own } else { worst });
    let left = format!("residuals up to {} %", decimal(worst.abs(), 2));
    match (row.r_alg_bps, row.t_fix_ns, row.t_fix_basis) {
        (Some(rate), Some(fix), _) => {
            format!("{of}: {} per packet and {} Mbit/s of packet bytes ({left}).", time(fix), mbps(rate))
        }
        (Some(rate), None, _) => format!(
            "{of}: {} Mbit/s of packet bytes; time per packet undetermined (at most {}; {left}).",
            mbps(rate),
            row.t_fix_at_most_ns.map_or_else(|| "-".to_owned(), time)
        ),
        (None, fix, Fix::PerPacket) => format!(
            "{of}: {} per packet at every size ({}/s); rate per byte undetermined (at least {} Mbit/s; {left}).",
            fix.map_or_else(|| "-".to_owned(), time),
            fix.map_or_else(|| "-".to_owned(), |ns| decimal(1e9 / ns, 1)),
            row.r_alg_at_least_bps.map_or_else(|| "-".to_owned(), mbps)
        ),
        _ => format!("{of}: undetermined."),
    }
}

pub(super) fn buffers(report: &TrialsReport, view: &View) -> Section {
    let mut section = Section::titled("Buffer");
    let mut table = Table::new([
        Column::words("way"),
        Column::words("size"),
        Column::figures("room", "packets"),
        Column::figures("room", "B"),
    ]);
    for row in &report.buffers {
        let way = format!("{} {}", row.direction.name(), row.ways.name());
        for size in &row.by_size {
            table.row([
                Cell::text(way.clone()),
                Cell::text(size.size_class.clone()),
                Cell::Decimal(size.frames, 1),
                Cell::Decimal(size.octets, 0),
            ]);
        }
        match (row.unit, row.frames_at_least) {
            (Unit::Frames, _) => section.say(format!("{way}: the buffer counts packets.")),
            (Unit::Octets, _) => section.say(format!("{way}: the buffer counts bytes.")),
            (Unit::Undetermined, Some(frames)) => {
                section.say(format!("{way}: no trial overflowed; at least {} packets waited.", decimal(frames, 1)));
            }
            _ => {}
        }
    }
    table.rows.truncate(view.shown(table.rows.len()));
    section.table(table);
    section
}

pub(super) fn bursts(report: &TrialsReport, view: &View) -> Section {
    let mut section = Section::titled("Back-to-back bursts");
    let mut table = Table::new([
        Column::words("size"),
        Column::words("way"),
        Column::counts("bursts"),
        Column::figures("rate", "/s"),
        Column::figures("longest without loss", "packets"),
        Column::figures("shortest with loss", "packets"),
        Column::figures("buffer", "packets"),
    ]);
    for row in report.back_to_back.iter().take(view.shown(report.back_to_back.len())) {
        table.row([
            Cell::text(row.size_class.clone()),
            Cell::text(row.direction.name()),
            Cell::Count(row.bursts),
            Cell::decimal(row.burst_fps, 1),
            Cell::count(row.longest_lossless_frames),
            Cell::count(row.shortest_lossy_frames),
            Cell::decimal(row.buffer_frames, 1),
        ]);
    }
    section.table(table);
    section
}

pub(super) fn search(report: &TrialsReport, view: &View) -> Section {
    let mut section = Section::titled("Search");
    for row in report.search.iter().take(view.shown(report.search.len())) {
        let size = format!("{} {}", size_of(&row.size_class), row.direction.name());
        let load = |bps: f64| format!("{} Mbit/s", decimal(bps / 1e6, 4));
        let best = row
            .equilibrium_load
            .map_or_else(|| "no load was equal".to_owned(), |bps| format!("highest equal load {}", load(bps)));
        if let Some(bps) = row.repeat_load {
            section.say(format!("{size}: repeat {} first, longer: its trial is undetermined.", load(bps)));
        }
        section.say(match row.next_load {
            Some(next) => format!(
                "{size}: iteration {}, try {} at {} next{} (step {}, {}); {best}.",
                row.iteration,
                load(next),
                row.rate_layer,
                row.next_fps.map_or_else(String::new, |fps| format!(" = {}/s", decimal(fps, 2))),
                load(row.step),
                row.phase.name()
            ),
            None => format!("{size}: ended after {} iterations, {} trials; {best}.", row.iteration, row.trials_used),
        });
    }
    section
}

pub(super) fn transfers(report: &TrialsReport, view: &View) -> Section {
    let mut section = Section::titled("TCP transfers");
    let mut table = Table::new([
        Column::words("from > to").priority(Priority::Title),
        Column::words("way"),
        Column::figures("payload", "B"),
        Column::counts("segments"),
        Column::counts("sent again"),
        Column::figures("data", "s"),
        Column::figures("goodput", "Mbit/s"),
        Column::figures("elapsed", "s"),
        Column::figures("elapsed", "Mbit/s"),
    ]);
    for row in report.transfers.iter().take(view.shown(report.transfers.len())) {
        table.row([
            Cell::text(format!("{}:{} > {}:{}", row.src, row.source_port, row.dst, row.destination_port)),
            Cell::text(row.direction.name()),
            Cell::Count(row.payload_bytes),
            Cell::Count(row.segments),
            Cell::Count(row.retransmitted_segments),
            Cell::decimal(row.seconds, 3),
            Cell::decimal(row.goodput_l4_bps.map(|bps| bps / 1e6), 3),
            Cell::decimal(row.elapsed_seconds, 3),
            Cell::decimal(row.elapsed_l4_bps.map(|bps| bps / 1e6), 3),
        ]);
    }
    section.table(table);
    section.more(view, report.transfers.len(), "transfers", "--format csv --table transfers");
    section
}
