//! The share of the circuit that is left to packets, by size: measured points over a calculated line.

use super::calculated::{self, Calculated};
use super::scale::Tick;
use super::{Axis, Chart, Dot, Figure, Ink, Layer, LegendKey, Panel, Plot, Sized};
use crate::report::words::number::{count, decimal, grouped};
use crate::transform::calculation::Calculation;

const HEIGHT: u16 = 300;

/// Sizes at which the axis has ticks: those of RFC 2544 and the ends of Ethernet.
const SIZES: [u64; 9] = [40, 64, 128, 256, 512, 1024, 1500, 4096, 9000];

/// The figure; `None` where fewer than two sizes have a share.
pub(in crate::report::document) fn figure(sized: &Sized<'_>) -> Option<Figure> {
    let dots: Vec<(u64, f64, u64)> =
        sized.rows.iter().filter_map(|row| Some((row.inner, row.share()?, row.frames))).collect();
    let (first, last) = (*dots.first()?, *dots.last()?);
    // Compression gains: then the packets are no share of what the circuit carries.
    if dots.iter().any(|(_, share, _)| *share > 100.0) {
        return None;
    }
    let line = calculated::shares(sized);
    let title = match (first, last) {
        ((small, left, _), (large, most, _)) if large > small => format!(
            "A circuit full of {}-byte packets keeps {} % of itself for them, one of {}-byte packets {} %",
            grouped(small),
            decimal(left, 1),
            grouped(large),
            decimal(most, 1),
        ),
        _ => return None,
    };
    let words = |(size, share, frames): &(u64, f64, u64)| {
        format!(
            "{} B: {} %, {}",
            grouped(*size),
            decimal(*share, 1),
            count(*frames, sized.counted.trim_end_matches('s'))
        )
    };
    let points = dots.iter().map(|dot| Dot { x: dot.0 as f64, y: dot.1, label: words(dot) }).collect();
    let mut key = vec![LegendKey::new(Ink::Measured, "measured")];
    let mut layers = Vec::new();
    if let Some(Calculated { name, points }) = line {
        key.push(LegendKey::new(Ink::Calculated, format!("calculated for {name}")));
        layers.push(Layer::Area(Ink::Calculated, points.clone()));
        layers.push(Layer::Line(Ink::Calculated, points));
    }
    layers.push(Layer::Dots(Ink::Measured, points));
    for (size, share, _) in [first, last] {
        let text = format!("{} B: {} %", grouped(size), decimal(share, 1));
        layers.push(Layer::Call { x: size as f64, y: share, text });
    }
    let panel = panel(first.0, last.0, layers, title.clone())?;
    Some(Figure {
        title,
        about: format!(
            "Share of a full circuit that is left to the packets, by IP length in bytes (logarithmic), {}.",
            sized.whose
        ),
        key,
        panels: vec![panel],
        note: "Layer 1: frame with FCS, preamble and gap, in clear over in the tunnel.".to_owned(),
        data: None,
    })
}

/// The shares that transforms of `calc` leave; at least two sizes are needed.
pub(in crate::report::document) fn calculation(answer: &Calculation) -> Option<Figure> {
    let costs = answer.transforms.first().filter(|_| answer.transforms.len() == 1)?;
    let mut points: Vec<(f64, f64)> = costs
        .sizes
        .iter()
        .filter(|cost| cost.fragments == Some(1) && cost.l1_tunnel_bytes > 0)
        .map(|cost| (cost.inner_bytes as f64, cost.l1_plain_bytes as f64 / cost.l1_tunnel_bytes as f64 * 100.0))
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points.dedup_by(|a, b| a.0 == b.0);
    let ((small, left), (large, most)) = (*points.first()?, *points.last()?);
    let whole = |size: f64| decimal(size, 0);
    let title = format!(
        "A circuit full of {}-byte packets keeps {} % of itself for them, one of {}-byte packets {} %",
        whole(small),
        decimal(left, 1),
        whole(large),
        decimal(most, 1),
    );
    let layers = vec![Layer::Area(Ink::Calculated, points.clone()), Layer::Line(Ink::Calculated, points)];
    let panel = panel(small as u64, large as u64, layers, title.clone())?;
    Some(Figure {
        title,
        about: "Share of a full circuit that is left to the packets, by IP length in bytes (logarithmic).".to_owned(),
        key: vec![LegendKey::new(Ink::Calculated, format!("calculated for {}", costs.transform))],
        panels: vec![panel],
        note: "Layer 1: frame with FCS, preamble and gap, in clear over in the tunnel. Only sizes that fit the MTU; \
               between them the line is straight."
            .to_owned(),
        data: None,
    })
}

fn panel(from: u64, to: u64, layers: Vec<Layer>, message: String) -> Option<Panel> {
    let mut sizes: Vec<u64> = SIZES.into_iter().filter(|size| (from..=to).contains(size)).collect();
    sizes.extend([from, to]);
    sizes.sort_unstable();
    sizes.dedup();
    // A tick next to an end would be written over it.
    let near = |a: u64, b: u64| a != b && (a as f64 / b as f64).ln().abs() < 0.25;
    sizes.retain(|size| [from, to].contains(size) || !(near(*size, from) || near(*size, to)));
    let minor = sizes.len() > 5;
    let ends = [from, to];
    let ticks = sizes.iter().enumerate().map(|(n, size)| Tick {
        minor: minor && n % 2 == 1 && !ends.contains(size),
        ..Tick::new(*size as f64, grouped(*size))
    });
    let x = Axis::new(from as f64, to as f64, true, ticks.collect())?;
    let shares = [0, 25, 50, 75, 100].map(|share| Tick::new(f64::from(share), format!("{share} %")));
    let y = Axis::new(0.0, 100.0, false, shares.to_vec())?;
    let chart = Chart::Plot(Plot { height: HEIGHT, x, y, layers });
    Some(Panel { caption: String::new(), message, chart })
}
