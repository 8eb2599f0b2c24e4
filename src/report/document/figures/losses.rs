//! Lost packets over time.

use super::load::seconds;
use super::{Axis, Cell, Chart, Column, Data, Figure, Ink, Layer, LegendKey, Panel, Plot, Table};
use crate::model::pairs::{LossPlace, MatchReport};
use crate::report::words::number::{count, decimal, duration, grouped};

const HEIGHT: u16 = 220;

/// Marks of single packets; of more there are only counts.
const MARKS: usize = 400;

/// Stretches of time that losses are counted in.
const BINS: usize = 40;

/// The figure: packets that did not reach the tap of the tunnel, when the plain tap saw them. `None` where the list is not all of them, or
/// the loss is not determined.
pub(in crate::report::document) fn figure(report: &MatchReport) -> Option<Figure> {
    let (first, last) = (report.plain.first_ns?, report.plain.last_ns?);
    let loss = super::super::front::pairs::loss(report)?;
    let lost = report.lost.iter().filter(|lost| lost.verdict == LossPlace::BeforeTunnel);
    let times: Option<Vec<i64>> = lost.map(|lost| lost.time.map(|time| time.0)).collect();
    let mut times = times?;
    times.sort_unstable();
    if times.is_empty() || times.len() as u64 != loss.lost || last <= first {
        return None;
    }
    // Seconds: nanoseconds of a capture are far below 2^53.
    let since = |ns: i64| ns.saturating_sub(first) as f64 / 1e9;
    let end = since(last);
    let bin = end / BINS as f64;
    let mut counts = vec![0_u64; BINS];
    for ns in &times {
        let at = ((since(*ns) / bin).max(0.0) as usize).min(BINS - 1);
        if let Some(count) = counts.get_mut(at) {
            *count += 1;
        }
    }
    let points: Vec<(f64, f64)> = (0_u32..)
        .zip(&counts)
        .flat_map(|(n, count)| [(f64::from(n) * bin, *count as f64), (f64::from(n + 1) * bin, *count as f64)])
        .collect();
    let most = counts.iter().copied().max().unwrap_or(0);
    let title = title(&loss, since(*times.first()?), since(*times.last()?));
    let mut layers = vec![Layer::Area(Ink::Missing, points)];
    let mut key = vec![LegendKey::new(Ink::Missing, "packets lost")];
    if times.len() <= MARKS {
        let marks = times.iter().map(|ns| (since(*ns), format!("after {} s", decimal(since(*ns), 6))));
        layers.push(Layer::Rug(Ink::Lost, marks.collect()));
        key.push(LegendKey::new(Ink::Lost, "a lost packet"));
    }
    let y = Axis::zero_to((most as f64).max(4.0), |value| decimal(value, 0))?;
    let chart = Chart::Plot(Plot { height: HEIGHT, x: seconds(end)?, y, layers });
    let width = duration((bin * 1e9) as u64);
    Some(Figure {
        about: format!("Packets that did not reach the tap of the tunnel, by the time at the plain tap, {width} each."),
        key,
        panels: vec![Panel { caption: String::new(), message: title.clone(), chart }],
        note: "Time since the first frame of the plain tap.".to_owned(),
        data: Some(data(&counts, bin)),
        title,
    })
}

/// `43 of 189 packets were lost before the tunnel tap, between 6.21 s and 8.02 s`.
fn title(loss: &super::super::front::pairs::LossSum, first: f64, last: f64) -> String {
    let lost = format!("{} of {}", grouped(loss.lost), count(loss.all, "packet"));
    if loss.lost == 1 {
        return format!("{lost} was lost before the tunnel tap, after {} s", decimal(first, 2));
    }
    format!("{lost} were lost before the tunnel tap, between {} s and {} s", decimal(first, 2), decimal(last, 2))
}

fn data(counts: &[u64], bin: f64) -> Data {
    let mut table = Table::new([Column::figures("from", "s"), Column::counts("lost")]);
    for (n, count) in (0_u32..).zip(counts).filter(|(_, count)| **count > 0) {
        table.row([Cell::Decimal(f64::from(n) * bin, 3), Cell::Count(*count)]);
    }
    Data { caption: "Packets lost over time".to_owned(), table }
}
