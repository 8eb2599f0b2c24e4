//! Charts of loads: what was forwarded of what was offered, what was lost, and how late packets were, size by size.

use super::super::figures::{Axis, Chart, Dot, Figure, Ink, Layer, LegendKey, Panel, Plot};
use super::{size_of, way};
use crate::model::trials::{Kind, Trial, TrialsReport};
use crate::report::words::number::decimal;

const HEIGHT: u16 = 220;

/// Sizes that are drawn, one below the other.
const SIZES: usize = 6;

/// Fewest loads of a size that are worth a chart.
const FEWEST: usize = 2;

/// The trials of one direction, ways and size, by offered load.
type Group<'r> = Vec<&'r Trial>;

fn groups(report: &TrialsReport) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for trial in report.trials.iter().filter(|trial| trial.kind == Kind::Trial && trial.offered_fps.is_some()) {
        let key = |trial: &Trial| (trial.direction, trial.ways, trial.size_class.clone());
        match groups.iter_mut().find(|group| group.first().is_some_and(|own| key(own) == key(trial))) {
            Some(group) => group.push(trial),
            None => groups.push(vec![trial]),
        }
    }
    for group in &mut groups {
        group.sort_by(|a, b| a.offered_fps.unwrap_or(0.0).total_cmp(&b.offered_fps.unwrap_or(0.0)));
    }
    groups.retain(|group| group.len() >= FEWEST);
    groups
}

/// A figure with a panel for each size; `None` where no size has a panel.
fn figure(
    report: &TrialsReport,
    (title, about): (&str, &str),
    key: Vec<LegendKey>,
    panel: impl Fn(&Group<'_>) -> Option<(Plot, String)>,
) -> Option<Figure> {
    let groups = groups(report);
    let mut panels = Vec::new();
    for group in groups.iter().take(SIZES) {
        let Some((plot, message)) = panel(group) else { continue };
        let caption =
            group.first().map(|own| format!("{}{}", size_of(&own.size_class), way(own.direction, own.ways)))?;
        panels.push(Panel { message: format!("{caption}: {message}"), caption, chart: Chart::Plot(plot) });
    }
    let left = groups.len().saturating_sub(SIZES);
    let note = if left > 0 { format!("The first {SIZES} sizes; the table has {left} more.") } else { String::new() };
    (!panels.is_empty()).then(|| Figure {
        title: title.to_owned(),
        about: about.to_owned(),
        key,
        panels,
        note,
        data: None,
    })
}

fn most(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, f64::max)
}

/// As few decimals as a tick needs.
fn short(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn thousands(fps: f64) -> String {
    short(fps / 1e3)
}

fn offered(group: &Group<'_>) -> Option<Axis> {
    Axis::zero_to(most(group.iter().filter_map(|trial| trial.offered_fps)), thousands)
}

/// Forwarded over offered rate.
pub(super) fn forwarded(report: &TrialsReport) -> Option<Figure> {
    let key = vec![
        LegendKey::new(Ink::Calculated, "all that is offered"),
        LegendKey::new(Ink::Measured, "forwarded in a trial"),
    ];
    let words =
        ("Forwarded over offered rate", "Thousand packets per second that came out, over those that were offered.");
    figure(report, words, key, |group| {
        let points: Vec<(f64, f64, &Trial)> =
            group.iter().filter_map(|trial| Some((trial.offered_fps?, trial.forwarded_fps?, *trial))).collect();
        let best = points.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        let x = offered(group)?;
        let top = x.to;
        let y = Axis::zero_to(most(points.iter().map(|(x, y, _)| x.max(*y))), thousands)?;
        let dots = points.iter().map(|(x, y, trial)| Dot {
            x: *x,
            y: *y,
            label: format!(
                "trial {}: {}/s of {}/s, {}",
                trial.trial,
                decimal(*y, 1),
                decimal(*x, 1),
                trial.state.name()
            ),
        });
        let even = top.min(y.to);
        let layers = vec![
            Layer::Line(Ink::Calculated, vec![(0.0, 0.0), (even, even)]),
            Layer::Dots(Ink::Measured, dots.collect()),
        ];
        let message = format!("at most {}/s came out, of {}/s offered", decimal(best.1, 1), decimal(best.0, 1));
        Some((Plot { height: HEIGHT, x, y, layers }, message))
    })
}

/// Loss over offered rate.
pub(super) fn lost(report: &TrialsReport) -> Option<Figure> {
    if report.trials.iter().all(|trial| trial.lost == 0) {
        return None;
    }
    let key = vec![LegendKey::new(Ink::Missing, "lost"), LegendKey::new(Ink::Lost, "a trial")];
    let words =
        ("Loss over offered rate", "Packets lost in per cent, over thousand packets per second that were offered.");
    figure(report, words, key, |group| {
        let points: Vec<(f64, f64)> =
            group.iter().filter_map(|trial| Some((trial.offered_fps?, trial.loss_pct))).collect();
        let x = offered(group)?;
        let y = Axis::zero_to(most(points.iter().map(|(_, y)| *y)).max(1.0), short)?;
        let dots = group.iter().zip(&points).map(|(trial, (x, y))| Dot {
            x: *x,
            y: *y,
            label: format!("trial {}: {} of {} lost, {} %", trial.trial, trial.lost, trial.sent, decimal(*y, 3)),
        });
        let worst = most(points.iter().map(|(_, y)| *y));
        let layers = vec![Layer::Area(Ink::Missing, points.clone()), Layer::Dots(Ink::Lost, dots.collect())];
        Some((Plot { height: HEIGHT, x, y, layers }, format!("at most {} % lost", decimal(worst, 3))))
    })
}

/// Latency over offered rate.
pub(super) fn latency(report: &TrialsReport) -> Option<Figure> {
    let key = vec![
        LegendKey::new(Ink::Median, "median"),
        LegendKey::new(Ink::Range, "least to 99th percentile"),
        LegendKey::new(Ink::Most, "maximum"),
    ];
    let words = (
        "Latency over offered rate",
        "Milliseconds from last bit in to last bit out, over thousand packets per second that were offered.",
    );
    figure(report, words, key, |group| {
        let ms = |ns: i64| ns as f64 / 1e6;
        let mut layers = Vec::new();
        let mut highest = 0.0_f64;
        let mut worst = 0.0_f64;
        for trial in group {
            let known = (trial.latency_min_ns, trial.latency_p50_ns, trial.latency_p99_ns, trial.latency_max_ns);
            let (Some(x), (Some(least), Some(median), Some(high), Some(max))) = (trial.offered_fps, known) else {
                continue;
            };
            highest = highest.max(ms(max));
            worst = worst.max(ms(median));
            layers.push(Layer::Spread {
                x,
                least: ms(least).max(0.0),
                median: ms(median).max(0.0),
                high: ms(high).max(0.0),
                most: ms(max).max(0.0),
                label: format!("trial {}: median {} ms", trial.trial, decimal(ms(median), 3)),
            });
        }
        if layers.len() < FEWEST {
            return None;
        }
        let message = format!("median at most {} ms", decimal(worst, 3));
        Some((Plot { height: HEIGHT, x: offered(group)?, y: Axis::zero_to(highest, short)?, layers }, message))
    })
}
