//! Packets offered and carried over time, with the lost ones between them.

use super::load::{seconds, width};
use super::span::{BinSpan, DIRECTIONS, HEIGHT};
use super::{Axis, Cell, Chart, Column, Data, Figure, Ink, Layer, LegendKey, Panel, Plot, Table};
use crate::model::pairs::{Direction, LossPlace, MatchReport, SpreadBin, TunnelWay};
use crate::report::words::names::sa_title;
use crate::report::words::number::{count, decimal, duration, grouped};

/// Bins that are drawn: more are merged. Each has several points in each of up to four panels, and the page is to stay small.
const BINS: usize = 120;

/// Bins in the table of a figure.
const ROWS: usize = 30;

/// Marks of single packets; of more the area says it.
const MARKS: usize = 400;

/// One direction whose bins say what was offered.
struct Series<'r> {
    direction: &'r Direction,
    index: u32,
    bins: Vec<&'r SpreadBin>,
    offered: u64,
    lost: u64,
}

/// Packets per second offered and carried, bin by bin; bins without packets are 0.
fn rates(series: &Series<'_>, span: BinSpan) -> Vec<(f64, f64)> {
    let mut sums = vec![(0_u64, 0_u64); span.bins];
    for bin in &series.bins {
        if let Some((offered, carried)) = span.bin_of(bin.start_ns).and_then(|at| sums.get_mut(at)) {
            *offered = offered.saturating_add(bin.offered_frames.unwrap_or(0));
            *carried = carried.saturating_add(bin.carried_frames);
        }
    }
    // Packets of a bin are far below 2^53.
    let per_s = |packets: u64| packets as f64 * 1e9 / span.bin_ns as f64;
    sums.into_iter().map(|(offered, carried)| (per_s(offered), per_s(carried))).collect()
}

/// The figure; `None` where no direction's loss is known bin by bin, or the captures span too few bins.
pub(in crate::report::document) fn figure(report: &MatchReport) -> Option<Figure> {
    let series = busiest(report);
    let all = span(report, &series)?;
    let drawn = all.within(BINS);
    let shown: Vec<&Series<'_>> = series.iter().take(DIRECTIONS).collect();
    let rates: Vec<Vec<(f64, f64)>> = shown.iter().map(|one| rates(one, drawn)).collect();
    let most = rates.iter().flatten().map(|(offered, _)| *offered).fold(0.0, f64::max);
    let several = shown.len() > 1;
    let mut panels = Vec::new();
    let mut marked = false;
    for (one, rates) in shown.iter().zip(&rates) {
        let marks = marks(report, one, drawn);
        marked |= !marks.is_empty();
        panels.push(panel(one, rates, marks, (drawn, most), several)?);
    }
    let mut key = vec![LegendKey::new(Ink::Offered, "offered"), LegendKey::new(Ink::Carried, "carried")];
    if shown.iter().any(|one| one.lost > 0) {
        key.push(LegendKey::new(Ink::Missing, "the difference: lost"));
    }
    if marked {
        key.push(LegendKey::new(Ink::Lost, "a lost packet"));
    }
    Some(Figure {
        title: title(&shown),
        about: format!("Packets per second, by their time at the first tap, bins of {}.", width(drawn.bin_ns)),
        key,
        panels,
        note: note(report, &series, shown.len()),
        data: Some(data(&shown, all.within(ROWS))),
    })
}

/// Directions whose bins say what was offered, those with the most packets first.
fn busiest(report: &MatchReport) -> Vec<Series<'_>> {
    let mut all: Vec<Series<'_>> = Vec::new();
    for (index, direction) in (0_u32..).zip(&report.directions) {
        let bins: Vec<&SpreadBin> = report.bins.iter().filter(|bin| bin.direction == index).collect();
        let offered: Option<u64> = bins.iter().map(|bin| bin.offered_frames).sum();
        let lost: Option<u64> = bins.iter().map(|bin| bin.lost_frames).sum();
        if let (Some(offered), Some(lost), None) = (offered.filter(|own| *own > 0), lost, &direction.bins_why) {
            all.push(Series { direction, index, bins, offered, lost });
        }
    }
    all.sort_by_key(|one| (std::cmp::Reverse(one.offered), one.index));
    all
}

/// From the first bin to the last.
fn span(report: &MatchReport, series: &[Series<'_>]) -> Option<BinSpan> {
    let starts = series.iter().flat_map(|one| &one.bins).map(|bin| bin.start_ns);
    BinSpan::over(starts, report.bin_ns?, report.bins.len())
}

/// Plaintext packets of a direction that were lost, where all of them are listed and few.
fn marks(report: &MatchReport, one: &Series<'_>, span: BinSpan) -> Vec<(f64, String)> {
    // Which direction a listed packet is of is known where one alone lost any.
    let encapsulated = |own: &&Direction| own.way == TunnelWay::Encapsulated && own.lost_before_tunnel != Some(0);
    let alone = report.directions.iter().filter(encapsulated).count() == 1;
    if one.direction.way != TunnelWay::Encapsulated || !alone {
        return Vec::new();
    }
    let lost = report.lost.iter().filter(|lost| lost.verdict == LossPlace::BeforeTunnel);
    let times: Vec<i64> = lost.filter_map(|lost| lost.time.map(|time| time.0)).collect();
    if times.len() as u64 != one.lost || times.len() > MARKS {
        return Vec::new();
    }
    times.iter().map(|ns| (span.since(*ns), format!("after {} s", decimal(span.since(*ns), 6)))).collect()
}

fn panel(
    one: &Series<'_>,
    rates: &[(f64, f64)],
    marks: Vec<(f64, String)>,
    (span, most): (BinSpan, f64),
    several: bool,
) -> Option<Panel> {
    let steps = || steps(rates, span).into_iter();
    let mut layers = vec![Layer::Area(Ink::Carried, steps().map(|(x, (_, carried))| (x, carried)).collect())];
    if one.lost > 0 {
        layers
            .push(Layer::Between(Ink::Missing, steps().map(|(x, (offered, carried))| (x, carried, offered)).collect()));
    }
    layers.push(Layer::Line(Ink::Offered, steps().map(|(x, (offered, _))| (x, offered)).collect()));
    layers.push(Layer::Line(Ink::Carried, steps().map(|(x, (_, carried))| (x, carried)).collect()));
    if !marks.is_empty() {
        layers.push(Layer::Rug(Ink::Lost, marks));
    }
    let y = Axis::zero_to(most, |value| decimal(value, usize::from(most < 8.0)))?;
    let chart = Chart::Plot(Plot { height: HEIGHT, x: seconds(span.seconds(span.bins))?, y, layers });
    let whose = format!("{}, {}", sa_title(&one.direction.sa), one.direction.way.name());
    let message = format!(
        "{whose}: {} offered in {}, {} lost",
        count(one.offered, "packet"),
        duration((span.seconds(span.bins) * 1e9) as u64),
        grouped(one.lost)
    );
    Some(Panel { caption: if several { whose } else { String::new() }, message, chart })
}

/// Both ends of every stretch of bins with the same rates, in seconds, and what was offered and carried.
fn steps(rates: &[(f64, f64)], span: BinSpan) -> Vec<(f64, (f64, f64))> {
    let mut steps: Vec<(f64, (f64, f64))> = Vec::new();
    for (n, rate) in rates.iter().enumerate() {
        match steps.last_mut() {
            Some((end, before)) if before == rate => *end = span.seconds(n + 1),
            _ => steps.extend([(span.seconds(n), *rate), (span.seconds(n + 1), *rate)]),
        }
    }
    steps
}

/// `1 250 packets offered, 10 lost`: of the directions that are drawn.
fn title(shown: &[&Series<'_>]) -> String {
    let (offered, lost): (u64, u64) = shown.iter().fold((0, 0), |sum, one| (sum.0 + one.offered, sum.1 + one.lost));
    let offered = count(offered, "packet");
    match lost {
        0 => format!("{offered} offered, all of them carried"),
        lost => format!("{offered} offered, {} lost on the way", grouped(lost)),
    }
}

fn note(report: &MatchReport, series: &[Series<'_>], shown: usize) -> String {
    let mut note = "The first and the last bin may not be full.".to_owned();
    if series.len() > shown {
        note.push_str(&format!(" The {shown} busiest of {} directions.", series.len()));
    }
    let open = report.directions.iter().filter(|own| own.matched > 0 && own.bins_why.is_some()).count();
    if open > 0 {
        note.push_str(&format!(" Not drawn: {}, whose loss is not determined.", count(open as u64, "direction")));
    }
    note
}

fn data(shown: &[&Series<'_>], span: BinSpan) -> Data {
    let series: Vec<Vec<(f64, f64)>> = shown.iter().map(|one| rates(one, span)).collect();
    let columns = shown.iter().flat_map(|one| {
        let of = if shown.len() > 1 { format!(" {}", sa_title(&one.direction.sa)) } else { String::new() };
        ["offered", "carried"].map(|what| Column::figures(&format!("{what}{of}"), "packets/s"))
    });
    let mut table = Table::new(std::iter::once(Column::figures("from", "s")).chain(columns));
    for n in 0..span.bins {
        let cells = series
            .iter()
            .filter_map(|rates| rates.get(n))
            .flat_map(|(offered, carried)| [Cell::Decimal(*offered, 1), Cell::Decimal(*carried, 1)]);
        table.row(std::iter::once(Cell::Decimal(span.seconds(n), 3)).chain(cells));
    }
    Data { caption: format!("Packets offered and carried in bins of {}", width(span.bin_ns)), table }
}
