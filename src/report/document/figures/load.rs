//! Rates over time, with findings where they begin.

pub(in crate::report::document) mod by_sa;

use super::scale::{Tick, step};
use super::span::{BinSpan, DIRECTIONS, HEIGHT};
use super::{Axis, Cell, Chart, Column, Data, Figure, Ink, Layer, LegendKey, Panel, Plot, Table};
use crate::model::report::{DirectionRate, LengthBasis, Report, Sa, Severity};
use crate::report::document::rates::endpoints;
use crate::report::words::number::{RateUnit, duration};

/// Bins that are drawn: more are merged.
const BINS: usize = 600;

/// Bins in the table of a figure.
const ROWS: usize = 60;

/// Findings that are marked in a chart.
const FLAGS: usize = 6;

/// Rates of one direction, in bins one after the other.
struct Series<'r> {
    index: u32,
    rate: &'r DirectionRate,
    bytes: u64,
}

/// Layer 1 rates of a direction, bin by bin; bins without frames are 0.
fn rates(report: &Report, direction: u32, span: BinSpan) -> Vec<f64> {
    let mut bytes = vec![0_u64; span.bins];
    for bin in report.rates.bins.iter().filter(|bin| bin.direction == direction) {
        if let Some(sum) = span.bin_of(bin.start_ns).and_then(|at| bytes.get_mut(at)) {
            *sum = sum.saturating_add(bin.l1_bytes);
        }
    }
    // Bytes of one bin are far below 2^53.
    bytes.into_iter().map(|bytes| bytes as f64 * 8e9 / span.bin_ns as f64).collect()
}

/// The figure; `None` where the capture spans too few bins.
pub(in crate::report::document) fn figure(report: &Report) -> Option<Figure> {
    let all = span(report)?;
    let drawn = all.within(BINS);
    let series = busiest(report);
    let shown: Vec<&Series<'_>> = series.iter().take(DIRECTIONS).collect();
    let busiest = shown.first()?;
    let rates: Vec<Vec<f64>> = shown.iter().map(|one| rates(report, one.index, drawn)).collect();
    let most = rates.iter().flatten().copied().fold(0.0, f64::max);
    let unit = RateUnit::for_rates([Some(most)]);
    let several = shown.len() > 1;
    let mut panels = Vec::new();
    let mut flagged = false;
    let mut taps: Vec<&str> = Vec::new();
    for (one, rates) in shown.iter().zip(&rates) {
        let marks = if taps.contains(&&*one.rate.tap) { Vec::new() } else { flags(report, &one.rate.tap, drawn) };
        taps.push(&one.rate.tap);
        flagged |= !marks.is_empty();
        panels.push(panel(report, one, rates, (drawn, most, unit), marks, several)?);
    }
    let mut key = vec![LegendKey::new(Ink::Carried, "layer 1 rate")];
    if flagged {
        key.push(LegendKey::new(Ink::Flag, "a finding of this tap, at its first frame"));
    }
    let merged = if drawn.bin_ns == all.bin_ns {
        String::new()
    } else {
        format!(", {} merged into one", drawn.bin_ns.checked_div(all.bin_ns).unwrap_or(1))
    };
    let left = series.len().saturating_sub(shown.len());
    let mut note = "The first and the last bin may not be full.".to_owned();
    if left > 0 {
        note.push_str(&format!(
            " The {} busiest of {} directions; the table has the others.",
            shown.len(),
            series.len()
        ));
    }
    Some(Figure {
        title: title(busiest.rate, report.rates.bin_ns),
        about: format!("{} on layer 1, bins of {}{merged}.", unit.name, width(drawn.bin_ns)),
        key,
        panels,
        note,
        data: Some(data(report, &shown, all.within(ROWS))),
    })
}

/// From the first bin to the last.
fn span(report: &Report) -> Option<BinSpan> {
    let bins = &report.rates.bins;
    BinSpan::over(bins.iter().map(|bin| bin.start_ns), report.rates.bin_ns, bins.len())
}

/// The directions that have bins, those with the most bytes first.
fn busiest(report: &Report) -> Vec<Series<'_>> {
    let mut series: Vec<Series<'_>> = Vec::new();
    for (index, rate) in (0_u32..).zip(&report.rates.directions) {
        let bins = report.rates.bins.iter().filter(|bin| bin.direction == index);
        let bytes = bins.map(|bin| bin.l1_bytes).fold(0, u64::saturating_add);
        if bytes > 0 {
            series.push(Series { index, rate, bytes });
        }
    }
    series.sort_by_key(|one| std::cmp::Reverse(one.bytes));
    series
}

/// Warnings and errors of a tap by the time of their first frame, with their numbers; of those close together the first.
fn flags(report: &Report, tap: &str, span: BinSpan) -> Vec<(f64, usize)> {
    let mut flags: Vec<(f64, usize)> = Vec::new();
    for (number, finding) in (1..).zip(&report.findings) {
        // What concerns an SA as a whole does not begin where the SA does.
        let begins = |sa: &&Sa| Some(&sa.id) == finding.sa.as_ref() && Some(sa.first_frame) == finding.first_frame;
        let whole = report.sas.iter().filter(|sa| *sa.tap == *tap).any(|sa| begins(&sa));
        let own = &*finding.tap == tap && finding.severity > Severity::Note && !whole;
        let Some(ns) = finding.first_ns.filter(|_| own) else { continue };
        let Some(at) = span.bin_of(ns).and_then(|_| ns.checked_sub(span.start_ns)) else { continue };
        let (at, apart) = (at as f64 / 1e9, span.seconds(span.bins) / 40.0);
        if flags.len() < FLAGS && flags.iter().all(|(other, _)| (at - other).abs() > apart) {
            flags.push((at, number));
        }
    }
    flags
}

fn panel(
    report: &Report,
    one: &Series<'_>,
    rates: &[f64],
    (span, most, unit): (BinSpan, f64, RateUnit),
    flags: Vec<(f64, usize)>,
    several: bool,
) -> Option<Panel> {
    let tap = if report.taps.len() > 1 { format!(", tap {}", one.rate.tap) } else { String::new() };
    let ends = endpoints(one.rate).map(|ends| format!(" ({ends})")).unwrap_or_default();
    let whose = format!("{}{ends}{tap}", one.rate.direction);
    let points = steps(rates, span);
    let mut layers = vec![Layer::Area(Ink::Carried, points.clone()), Layer::Line(Ink::Carried, points)];
    layers.extend(flags.into_iter().map(|(x, number)| Layer::Flag { x, number }));
    let y = Axis::zero_to(unit.of(most), short)?;
    let scaled = layers.into_iter().map(|layer| scale(layer, unit)).collect();
    let chart = Chart::Plot(Plot { height: HEIGHT, x: seconds(span.seconds(span.bins))?, y, layers: scaled });
    let peak = rates.iter().copied().fold(0.0, f64::max);
    let message = format!(
        "{whose}: layer 1 rate over {}, at most {} {} in one bin",
        duration((span.seconds(span.bins) * 1e9) as u64),
        unit.show(Some(peak)),
        unit.name
    );
    Some(Panel { caption: if several { whose } else { String::new() }, message, chart })
}

/// Points at both ends of every bin.
pub(super) fn steps(rates: &[f64], span: BinSpan) -> Vec<(f64, f64)> {
    (0..).zip(rates).flat_map(|(n, rate)| [(span.seconds(n), *rate), (span.seconds(n + 1), *rate)]).collect()
}

fn scale(layer: Layer, unit: RateUnit) -> Layer {
    let points = |points: Vec<(f64, f64)>| points.into_iter().map(|(x, y)| (x, unit.of(y))).collect();
    match layer {
        Layer::Area(ink, of) => Layer::Area(ink, points(of)),
        Layer::Line(ink, of) => Layer::Line(ink, points(of)),
        other => other,
    }
}

/// A width of bins: `500 ms`.
pub(in crate::report::document) fn width(ns: u64) -> String {
    duration(ns).replace(".00 ", " ").replace(".0 ", " ")
}

/// `12.5`, `300`: as few decimals as the value has.
pub(super) fn short(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Seconds, minutes or hours since the first bin.
pub(super) fn seconds(end: f64) -> Option<Axis> {
    let (unit, of) = match end {
        end if end < 600.0 => ("s", 1.0),
        end if end < 36_000.0 => ("min", 60.0),
        _ => ("h", 3600.0),
    };
    let step = step(end / of / 8.0);
    let count = (end / of / step + 1e-9).floor() as usize;
    let label = |n: usize| {
        let text = short(n as f64 * step);
        if n == count { format!("{text} {unit}") } else { text }
    };
    let ticks =
        (0..=count).map(|n| Tick { minor: n % 2 == 1 && n != count, ..Tick::new(n as f64 * step * of, label(n)) });
    Axis::new(0.0, end, false, ticks.collect())
}

/// The peak and the mean of the busiest direction; a name where either is not known.
fn title(rate: &DirectionRate, bin_ns: u64) -> String {
    let Some((mean, peak)) = rate.l1_bps.zip(rate.peak).filter(|(mean, peak)| *mean > 0.0 && peak.l1_bps >= *mean)
    else {
        return "Rates over time".to_owned();
    };
    let unit = RateUnit::for_rates([Some(peak.l1_bps)]);
    let assumed = if rate.l1_basis == LengthBasis::Assumed { ", lengths on the wire assumed" } else { "" };
    format!(
        "The busiest direction has up to {} {name} in {}, {} {name} on average{assumed}",
        unit.show(Some(peak.l1_bps)),
        width(bin_ns),
        unit.show(Some(mean)),
        name = unit.name,
    )
}

fn data(report: &Report, shown: &[&Series<'_>], span: BinSpan) -> Data {
    let series: Vec<Vec<f64>> = shown.iter().map(|one| rates(report, one.index, span)).collect();
    let unit = RateUnit::for_rates(series.iter().flatten().map(|rate| Some(*rate)));
    let columns = shown.iter().map(|one| Column::figures(&one.rate.direction, unit.name));
    let mut table = Table::new(std::iter::once(Column::figures("from", "s")).chain(columns));
    for n in 0..span.bins {
        let cells = series.iter().map(|rates| unit.cell(rates.get(n).copied()));
        table.row(std::iter::once(Cell::Decimal(span.seconds(n), 1)).chain(cells));
    }
    Data { caption: format!("Layer 1 rates in bins of {}", width(span.bin_ns)), table }
}
