//! Latency by packet size: median, range and maximum.

use super::scale::{Tick, decades};
use super::sources::SizedRow;
use super::{Axis, Cell, Chart, Column, Data, Figure, Ink, Layer, LegendKey, Panel, Plot, Sized, Table};
use crate::model::pairs::{ClockBasis, Direction, MatchReport, Times};
use crate::report::words::number::{count, duration, grouped};

const HEIGHT: u16 = 220;

/// Sizes that are drawn; more are in the table.
const SIZES: usize = 12;

/// The figure of the busiest direction; `None` where fewer than two sizes have times.
pub(in crate::report::document) fn figure(report: &MatchReport, sized: &Sized<'_>) -> Option<Figure> {
    let direction = report.directions.iter().find(|direction| *direction.sa == *sized.sa)?;
    let all: Vec<(&SizedRow, Times)> = sized.rows.iter().filter_map(|row| Some((row, row.times?))).collect();
    let mut shown = all.clone();
    shown.sort_by_key(|(row, _)| std::cmp::Reverse(row.frames));
    shown.truncate(SIZES);
    shown.sort_by_key(|(row, _)| row.inner);
    if shown.len() < 2 {
        return None;
    }
    let (y, logarithmic) = vertical(&shown)?;
    let ticks = shown.iter().enumerate().map(|(n, (row, _))| Tick {
        minor: shown.len() > 6 && n % 2 == 1,
        ..Tick::new(n as f64 + 0.5, grouped(row.inner))
    });
    let x = Axis::new(0.0, shown.len() as f64, false, ticks.collect())?;
    let layers = shown.iter().enumerate().map(|(n, (row, times))| Layer::Spread {
        x: n as f64 + 0.5,
        // Nanoseconds below 2^53.
        least: times.min as f64,
        median: times.p50 as f64,
        high: times.p99 as f64,
        most: times.max as f64,
        label: format!(
            "{} B: median {}, 99 % within {}, slowest {}; {}",
            grouped(row.inner),
            time(times.p50),
            time(times.p99),
            time(times.max),
            count(row.frames, "pair"),
        ),
    });
    let title = title(direction);
    let chart = Chart::Plot(Plot { height: HEIGHT, x, y, layers: layers.collect() });
    let scale = if logarithmic { ", logarithmic" } else { "" };
    let left = all.len().saturating_sub(shown.len());
    let more = if left > 0 { format!(" {} more sizes are in the table.", grouped(left as u64)) } else { String::new() };
    Some(Figure {
        about: format!("Latency by IP length in bytes{scale}, {}: {}.", sized.whose, direction.latency_ns.definition),
        key: vec![
            LegendKey::new(Ink::Median, "median"),
            LegendKey::new(Ink::Range, "fastest to 99 %"),
            LegendKey::new(Ink::Most, "slowest"),
        ],
        panels: vec![Panel { caption: String::new(), message: title.clone(), chart }],
        note: format!("{}{more}", caveat(direction)),
        data: Some(data(&all)),
        title,
    })
}

/// A time as in tables, with its sign.
fn time(ns: i64) -> String {
    Cell::Time(ns).show()
}

/// From the least to the most, in decades where times differ by more than a factor of 8 and all are positive.
fn vertical(shown: &[(&SizedRow, Times)]) -> Option<(Axis, bool)> {
    let least = shown.iter().map(|(_, times)| times.min).min()?;
    let most = shown.iter().map(|(_, times)| times.max).max()?;
    if least > 0 && most / 8 >= least {
        let (from, to, ticks) = decades(least as f64, most as f64)?;
        let ticks = ticks.into_iter().map(|tick| Tick::new(tick, round(tick))).collect();
        return Some((Axis::new(from, to, true, ticks)?, true));
    }
    if least >= 0 {
        return Some((Axis::zero_to(most.max(1) as f64, round)?, false));
    }
    let step = super::scale::step((most as f64 - least as f64).max(1.0) / 4.0);
    let (first, last) = ((least as f64 / step).floor(), (most as f64 / step).ceil());
    let ticks = (0..=8).map(|n| (first + f64::from(n)) * step).take_while(|tick| *tick <= last * step + step / 2.0);
    let ticks = ticks.map(|tick| Tick::new(tick, round(tick))).collect();
    Some((Axis::new(first * step, last.max(first + 1.0) * step, false, ticks)?, false))
}

/// A round time: `20 us`, `2.5 ms`.
fn round(ns: f64) -> String {
    let (value, unit) = match ns.abs() {
        0.0 => return "0".to_owned(),
        n if n < 1e3 => (ns, "ns"),
        n if n < 1e6 => (ns / 1e3, "us"),
        n if n < 1e9 => (ns / 1e6, "ms"),
        _ => (ns / 1e9, "s"),
    };
    let text = format!("{value:.3}");
    format!("{} {unit}", text.trim_end_matches('0').trim_end_matches('.'))
}

/// The median with how well it is known; relative times where the offset of the clocks is not known.
fn title(direction: &Direction) -> String {
    let Some(times) = direction.latency_ns.times else { return "Latency by packet size".to_owned() };
    let median = time(times.p50);
    match (direction.clock.basis, direction.clock.uncertainty_ns) {
        (ClockBasis::OneClock, _) => format!("The median packet takes {median} from tap to tap"),
        (ClockBasis::BothDirections, Some(ns)) => {
            format!("The median packet takes {median} from tap to tap, known to within {}", duration(ns.unsigned_abs()))
        }
        (ClockBasis::OneDirection, _) => {
            let more = times.p99.saturating_sub(times.min);
            format!("99 % of the packets take at most {} longer than the fastest", time(more))
        }
        _ => "Latency by packet size".to_owned(),
    }
}

/// What the times rest on.
fn caveat(direction: &Direction) -> &'static str {
    match direction.clock.basis {
        ClockBasis::OneClock => "One clock stamped both sides.",
        ClockBasis::BothDirections => {
            "The clocks are compared by packets of both directions; differences between sizes do not depend on that."
        }
        ClockBasis::OneDirection => "Only one direction was matched: times are relative to the fastest packet.",
        ClockBasis::Unknown => "The clocks could not be compared.",
    }
}

fn data(rows: &[(&SizedRow, Times)]) -> Data {
    let times = ["min", "p50", "p90", "p99", "max"].map(Column::counts);
    let first = [Column::figures("packet", "B"), Column::counts("pairs")];
    let mut table = Table::new(first.into_iter().chain(times));
    for (row, times) in rows {
        let Times { min, p50, p90, p99, max, .. } = *times;
        let first = [Cell::Count(row.inner), Cell::Count(row.frames)];
        table.row(first.into_iter().chain([min, p50, p90, p99, max].map(Cell::Time)));
    }
    Data { caption: "Latency by packet size".to_owned(), table }
}
