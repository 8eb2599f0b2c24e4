//! The clocks of the two sides, and the time between the taps.

use super::super::page::Page;
use super::super::table::{Column, Fit, Table};
use super::directions::{ROWS, from_to, more};
use super::words::{apart, mean_time, short, time};
use crate::model::pairs::{Clock, MatchReport, Times};
use crate::report::number::decimal;

pub(super) fn clocks(page: &mut Page<'_>, report: &MatchReport) {
    // Directions between the same captures have the same clocks: they are told once.
    let mut told: Vec<(Clock, Vec<String>)> = Vec::new();
    for direction in report.directions.iter().filter(|direction| direction.matched > 0) {
        match told.iter_mut().find(|(clock, _)| alike(clock, &direction.clock)) {
            Some((_, sas)) => sas.push(short(&direction.sa)),
            None => told.push((direction.clock, vec![short(&direction.sa)])),
        }
    }
    if told.is_empty() {
        return;
    }
    page.heading("Clock");
    let several = told.len() > 1;
    for (clock, sas) in told.iter().take(ROWS) {
        let whose = if several { format!("{}: ", sas.join(", ")) } else { String::new() };
        page.wrapped(2, 2, &format!("{whose}{}", words(clock)));
    }
}

fn alike(a: &Clock, b: &Clock) -> bool {
    (a.offset_ns, a.uncertainty_ns, a.basis) == (b.offset_ns, b.uncertainty_ns, b.basis)
        && a.drift_ppm.map(f64::to_bits) == b.drift_ppm.map(f64::to_bits)
}

fn words(clock: &Clock) -> String {
    let offset = match clock.offset_ns {
        Some(0) => "The tunnel's clock agrees with the plain one".to_owned(),
        Some(ns) => {
            let side = if ns > 0 { "ahead of" } else { "behind" };
            format!("The tunnel's clock is {} {side} the plain one at the first pair", apart(ns))
        }
        None => "The offset of the clocks is not known".to_owned(),
    };
    let within = clock.uncertainty_ns.filter(|_| clock.offset_ns.is_some());
    let within = within.map_or_else(String::new, |ns| format!(" (to within {})", apart(ns)));
    let drift = match (clock.drift_ppm, clock.drift_uncertainty_ppm) {
        (Some(ppm), Some(error)) if ppm.abs() <= error => {
            format!("; no drift shows ({} ppm, to within {})", decimal(ppm, 1), decimal(error, 1))
        }
        (Some(ppm), error) => {
            let pace = if ppm < 0.0 { "slow" } else { "fast" };
            let error = error.map_or_else(String::new, |error| format!(" (to within {})", decimal(error, 1)));
            format!(" and runs {} ppm {pace}{error}", decimal(ppm.abs(), 1))
        }
        (None, _) => String::new(),
    };
    match clock.basis {
        "one-clock" => {
            "One clock stamped both sides: there is no offset and no drift, and latencies are what they say.".to_owned()
        }
        "both-directions" => format!(
            "{offset}{within}{drift}. Known by packets of both directions, whose fastest are taken to be equally long on their way: the \
             latency of each way may be off by the uncertainty, their sum is not."
        ),
        "one-direction" => format!(
            "{offset}{within}{drift}. Known by packets of one direction alone, so the fastest is taken to need no time: latency is \
             relative to the fastest packet."
        ),
        _ => "The clocks could not be compared: times between the taps are not known.".to_owned(),
    }
}

pub(super) fn latency(page: &mut Page<'_>, report: &MatchReport) {
    let timed = report.timed();
    if timed.is_empty() {
        return;
    }
    page.heading("Latency");
    let mut table = Table::new(columns("SA"));
    for (direction, times) in timed.iter().take(ROWS) {
        let [min, p50, p90, p99, max, mean] = cells(times);
        let depends =
            if direction.latency_ns.depends_on_offset { "; as right as the offset of the clocks" } else { "" };
        let through = direction.latency_ns.cut_through.map_or_else(String::new, |times| {
            let [min, p50, p90, p99, max, mean] = cells(&times);
            format!("first bit in to first bit out: min {min}, p50 {p50}, p90 {p90}, p99 {p99}, max {max}, mean {mean}")
        });
        let definition = format!("{}{depends}", direction.latency_ns.definition);
        table.row([short(&direction.sa), from_to(direction), min, p50, p90, p99, max, mean, definition, through]);
    }
    table.print(page);
    more(page, timed.len(), "directions");
}

/// Columns for a distribution, between whose it is and two remarks.
pub(super) fn columns(whose: &str) -> Vec<Column<'_>> {
    vec![
        Column::left(whose),
        Column::left("from > to").fit(Fit::Above),
        Column::right("min"),
        Column::right("p50"),
        Column::right("p90"),
        Column::right("p99"),
        Column::right("max"),
        Column::right("mean"),
        Column::left("").fit(Fit::Remark),
        Column::left("").fit(Fit::Remark),
    ]
}

/// A distribution as cells.
pub(super) fn cells(times: &Times) -> [String; 6] {
    let Times { min, p50, p90, p99, max, mean } = *times;
    [time(min), time(p50), time(p90), time(p99), time(max), mean_time(mean)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_basis_says_what_it_means() {
        let clock = Clock {
            offset_ns: Some(-7_200_000_004_683),
            drift_ppm: Some(50.2),
            uncertainty_ns: Some(10_413),
            drift_uncertainty_ppm: Some(0.4),
            basis: "both-directions",
        };
        let both = words(&clock);
        assert!(both.starts_with("The tunnel's clock is 7 200.000005 s behind the plain one"), "{both}");
        assert!(both.contains("runs 50.2 ppm fast (to within 0.4)") && both.contains("their sum is not"), "{both}");
        let one = words(&Clock { basis: "one-direction", drift_ppm: Some(0.1), ..clock });
        assert!(one.contains("relative to the fastest packet") && one.contains("no drift shows"), "{one}");
        assert!(words(&Clock { basis: "one-clock", ..clock }).contains("One clock"));
        assert!(words(&Clock { basis: "unknown", ..clock }).contains("could not be compared"));
    }
}
