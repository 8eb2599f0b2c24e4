//! Rates over time by SA, where several of one protocol go one way: keys that change, or load that is shared.

use std::collections::BTreeMap;

use super::super::span::{BinSpan, DIRECTIONS, HEIGHT};
use super::super::{Axis, Cell, Chart, Column, Data, Figure, Ink, Layer, LegendKey, Panel, Plot, Table};
use super::{seconds, short, steps, width};
use crate::model::Address;
use crate::model::report::{Report, Sa, SaTimeBin};
use crate::report::words::number::{RateUnit, decimal, duration};

/// Bins that are drawn: more are merged.
const BINS: usize = 150;

/// Bins in the table of the figure.
const ROWS: usize = 60;

/// An SA with its bins.
struct Series<'r> {
    sa: &'r Sa,
    bins: Vec<&'r SaTimeBin>,
    bytes: u64,
}

/// SAs of one tap and protocol with one source and one destination.
struct Way<'r> {
    /// Those with bins, those with the most bytes first.
    series: Vec<Series<'r>>,
    /// How many there are.
    sas: usize,
    bytes: u64,
}

/// The figure; `None` where no way has several SAs, or they span too few bins.
pub(in crate::report::document) fn figure(report: &Report) -> Option<Figure> {
    let ways = ways(report);
    let way = ways.iter().filter(|way| way.series.len() > 1).max_by_key(|way| way.bytes)?;
    let all = span(way)?;
    let drawn = all.within(BINS);
    let shown = way.series.get(..way.series.len().min(DIRECTIONS))?;
    let rates: Vec<Vec<f64>> = shown.iter().map(|one| one.rates(drawn)).collect();
    let most = rates.iter().flatten().copied().fold(0.0, f64::max);
    let unit = RateUnit::for_rates([Some(most)]);
    let y = Axis::zero_to(unit.of(most), short)?;
    let x = seconds(drawn.seconds(drawn.bins))?;
    let mut panels = Vec::new();
    for (one, rates) in shown.iter().zip(&rates) {
        let scaled: Vec<(f64, f64)> = steps(rates, drawn).into_iter().map(|(x, rate)| (x, unit.of(rate))).collect();
        let layers = vec![Layer::Area(Ink::Carried, scaled.clone()), Layer::Line(Ink::Carried, scaled)];
        let peak = rates.iter().copied().fold(0.0, f64::max);
        let message = format!(
            "{}: layer 1 rate over {}, at most {} {} in one bin",
            one.sa.id,
            duration((drawn.seconds(drawn.bins) * 1e9) as u64),
            unit.show(Some(peak)),
            unit.name
        );
        let chart = Chart::Plot(Plot { height: HEIGHT, x: x.clone(), y: y.clone(), layers });
        panels.push(Panel { caption: one.name(), message, chart });
    }
    let first = shown.first()?;
    let tap = if report.taps.len() > 1 { format!(", tap {}", first.sa.tap) } else { String::new() };
    let ends = format!("{} > {}{tap}", first.sa.src, first.sa.dst);
    let merged = if drawn.bin_ns == all.bin_ns { "" } else { ", merged" };
    let left = way.sas.saturating_sub(shown.len());
    let others = format!(" The {} busiest of {} SAs.", shown.len(), way.sas);
    let fragments = "Later fragments bear no SPI and are in no bin.";
    Some(Figure {
        title: title(way, &ends),
        about: format!("{ends}: {} on layer 1 by SA, bins of {}{merged}.", unit.name, width(drawn.bin_ns)),
        key: vec![LegendKey::new(Ink::Carried, "layer 1 rate of the SA")],
        panels,
        note: if left > 0 { format!("{fragments}{others}") } else { fragments.to_owned() },
        data: Some(data(shown, all.within(ROWS))),
    })
}

impl Series<'_> {
    fn name(&self) -> String {
        format!("{} {}", self.sa.proto.title(), self.sa.spi_hex)
    }

    /// Layer 1 rates bin by bin; bins without frames are 0.
    fn rates(&self, span: BinSpan) -> Vec<f64> {
        let mut bytes = vec![0_u64; span.bins];
        for bin in &self.bins {
            if let Some(sum) = span.bin_of(bin.start_ns).and_then(|at| bytes.get_mut(at)) {
                *sum = sum.saturating_add(bin.l1_bytes);
            }
        }
        // Bytes of one bin are far below 2^53.
        bytes.into_iter().map(|bytes| bytes as f64 * 8e9 / span.bin_ns as f64).collect()
    }
}

/// All ways that an SA goes.
fn ways(report: &Report) -> Vec<Way<'_>> {
    let mut bins: BTreeMap<u32, Vec<&SaTimeBin>> = BTreeMap::new();
    report.rates.sa_bins.iter().for_each(|bin| bins.entry(bin.sa).or_default().push(bin));
    let mut ways: Vec<Way<'_>> = Vec::new();
    let mut places: BTreeMap<(&str, &str, Address, Address), usize> = BTreeMap::new();
    for (index, sa) in (0_u32..).zip(&report.sas) {
        let key = (&*sa.tap, sa.proto.name(), sa.src.0, sa.dst.0);
        let place = *places.entry(key).or_insert(ways.len());
        if place == ways.len() {
            ways.push(Way { series: Vec::new(), sas: 0, bytes: 0 });
        }
        let Some(way) = ways.get_mut(place) else { continue };
        way.sas += 1;
        if let Some(bins) = bins.remove(&index) {
            let bytes = bins.iter().map(|bin| bin.l1_bytes).fold(0, u64::saturating_add);
            way.bytes = way.bytes.saturating_add(bytes);
            way.series.push(Series { sa, bins, bytes });
        }
    }
    ways.iter_mut().for_each(|way| way.series.sort_by_key(|one| std::cmp::Reverse(one.bytes)));
    ways
}

fn span(way: &Way<'_>) -> Option<BinSpan> {
    let bins = || way.series.iter().flat_map(|one| &one.bins);
    // All bins of a tap are equally wide.
    let width = bins().map(|bin| bin.bin_ns).max()?;
    BinSpan::over(bins().map(|bin| bin.start_ns), width, bins().count())
}

/// The share of the busiest SA; a name where the others are not all known, or bytes of later fragments are missing.
fn title(way: &Way<'_>, ends: &str) -> String {
    let is_whole = way.series.len() == way.sas && way.series.iter().all(|one| one.sa.fragments == 0);
    match way.series.first() {
        Some(first) if is_whole && way.bytes > 0 => {
            let share = decimal(first.bytes as f64 * 100.0 / way.bytes as f64, 0);
            format!("Of {} SAs {ends}, {} carries {share} % of the bytes on layer 1", way.sas, first.name())
        }
        _ => "Rates over time by SA".to_owned(),
    }
}

fn data(shown: &[Series<'_>], span: BinSpan) -> Data {
    let series: Vec<Vec<f64>> = shown.iter().map(|one| one.rates(span)).collect();
    let unit = RateUnit::for_rates(series.iter().flatten().map(|rate| Some(*rate)));
    let columns = shown.iter().map(|one| Column::figures(&one.name(), unit.name));
    let mut table = Table::new(std::iter::once(Column::figures("from", "s")).chain(columns));
    for n in 0..span.bins {
        let cells = series.iter().map(|rates| unit.cell(rates.get(n).copied()));
        table.row(std::iter::once(Cell::Decimal(span.seconds(n), 1)).chain(cells));
    }
    Data { caption: format!("Layer 1 rates by SA in bins of {}", width(span.bin_ns)), table }
}
