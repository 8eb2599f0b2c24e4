//! The clocks of the two sides, and the time between the taps.

use super::super::table::{Cell, Column, Priority, Table};
use super::super::{Block, Section, View, figures};
use super::directions::from_to;
use super::words::{apart, short};
use crate::model::pairs::{Clock, ClockBasis, Direction, MatchReport, Times};
use crate::report::words::number::decimal;

pub(super) fn clocks(report: &MatchReport, view: &View) -> Section {
    // Directions between the same captures have the same clocks: one sentence serves them all.
    let mut clocks: Vec<(Clock, Vec<String>)> = Vec::new();
    for direction in report.directions.iter().filter(|direction| direction.matched > 0) {
        match clocks.iter_mut().find(|(clock, _)| alike(clock, &direction.clock)) {
            Some((_, sas)) => sas.push(short(&direction.sa)),
            None => clocks.push((direction.clock, vec![short(&direction.sa)])),
        }
    }
    let mut section = Section::titled("Clock");
    match clocks.as_slice() {
        [] => {}
        [(clock, _)] => section.say(words(clock)),
        several => {
            let of = |(clock, sas): &(Clock, Vec<String>)| format!("{}: {}", sas.join(", "), words(clock));
            section.blocks.push(Block::List(several.iter().take(view.shown(several.len())).map(of).collect()));
            section.more(view, several.len(), "clocks", "--format json");
        }
    }
    section
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
            format!("; no measurable drift ({} ppm, to within {})", decimal(ppm, 1), decimal(error, 1))
        }
        (Some(ppm), error) => {
            let pace = if ppm < 0.0 { "slow" } else { "fast" };
            let error = error.map_or_else(String::new, |error| format!(" (to within {})", decimal(error, 1)));
            format!(" and runs {} ppm {pace}{error}", decimal(ppm.abs(), 1))
        }
        (None, _) => String::new(),
    };
    match clock.basis {
        ClockBasis::OneClock if clock.offset_ns.is_none() => "One clock is said to have stamped both sides, but packets arrive before they were sent: the offset of the clocks is not known."
            .to_owned(),
        ClockBasis::OneClock => "One clock stamped both sides: no offset, no drift.".to_owned(),
        ClockBasis::BothDirections if clock.offset_ns.is_none() => {
            format!("{offset}: the pairs of both directions are not sure enough, or contradict each other.")
        }
        ClockBasis::BothDirections => format!(
            "{offset}{within}{drift}. This assumes equal minimum delay both ways: one-way latency is uncertain by as much, the \
             round trip is not."
        ),
        ClockBasis::OneDirection => format!(
            "{offset}{within}{drift}. Only one direction was matched: latency is relative to the fastest packet, and a drift cannot be told from a way \
             that grows longer or shorter all the time."
        ),
        ClockBasis::Unknown => "The clocks could not be compared: latency is not determined.".to_owned(),
    }
}

pub(super) fn latency(report: &MatchReport, view: &View) -> Section {
    let timed = report.timed();
    let mut section = Section::titled("Latency");
    if let Some(sized) = figures::of_match(report) {
        section.figure(figures::times::figure(report, &sized));
    }
    let mut table = Table::new(columns("SA"));
    for (direction, times) in timed.iter().take(view.shown(timed.len())) {
        let [min, p50, p90, p99, max, mean] = cells(times);
        let depends =
            if direction.latency_ns.depends_on_offset { "; accuracy limited by the clock offset (above)" } else { "" };
        let of = |what: &str, times: Option<Times>| {
            let [min, p50, p90, p99, max, mean] = cells(&times?).map(|cell| cell.show());
            Some(format!("{what}: min {min}, p50 {p50}, p90 {p90}, p99 {p99}, max {max}, mean {mean}"))
        };
        let stored = of("store and forward (RFC 1242), last bit in to first bit out", direction.latency_sf_ns);
        let through = of("bit forwarding (RFC 1242), first bit in to first bit out", direction.latency_ct_ns);
        let through = stored.into_iter().chain(through).collect::<Vec<_>>().join("; ");
        let definition = Cell::text(format!("{}{depends}", direction.latency_ns.definition));
        let (sa, from_to) = (Cell::text(short(&direction.sa)), Cell::text(from_to(direction)));
        table.row([sa, from_to, min, p50, p90, p99, max, mean, definition, Cell::text(through)]);
    }
    section.table(table);
    section.more(view, timed.len(), "directions", "--format csv --table directions");
    let why = |own: &Direction| {
        let why = own.latency_why.as_deref().filter(|_| own.matched > 0)?;
        Some(format!("{}: not determined, because {why}.", short(&own.sa)))
    };
    let untimed: Vec<String> = report.directions.iter().filter_map(why).collect();
    if !untimed.is_empty() {
        let shown = view.shown(untimed.len());
        let more = untimed.len();
        section.blocks.push(Block::List(untimed.into_iter().take(shown).collect()));
        section.more(view, more, "directions", "--format json");
    }
    section
}

/// Columns for a distribution, between whose it is and two remarks.
pub(super) fn columns(whose: &str) -> Vec<Column> {
    let figures = ["min", "p50", "p90", "p99", "max", "mean"].map(Column::counts);
    let first = [Column::words(whose), Column::words("from > to").priority(Priority::Title)];
    first.into_iter().chain(figures).chain([Column::remark(), Column::remark()]).collect()
}

/// A distribution as cells.
pub(super) fn cells(times: &Times) -> [Cell; 6] {
    let Times { min, p50, p90, p99, max, mean } = *times;
    // Nanoseconds below 2^53: fractions of one are of no interest.
    [min, p50, p90, p99, max, mean.round() as i64].map(Cell::Time)
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
            basis: ClockBasis::BothDirections,
        };
        let both = words(&clock);
        assert!(both.starts_with("The tunnel's clock is 7 200.000005 s behind the plain one"), "{both}");
        assert!(both.contains("runs 50.2 ppm fast (to within 0.4)") && both.contains("round trip is not"), "{both}");
        let one = words(&Clock { basis: ClockBasis::OneDirection, drift_ppm: Some(0.1), ..clock });
        assert!(one.contains("relative to the fastest packet") && one.contains("no measurable drift"), "{one}");
        assert!(words(&Clock { basis: ClockBasis::OneClock, ..clock }).contains("One clock"));
        assert!(words(&Clock { basis: ClockBasis::Unknown, ..clock }).contains("could not be compared"));
    }
}
