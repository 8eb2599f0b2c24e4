//! The overhead that a transform makes of every packet size, to be drawn with what was measured.

use super::Sized;
use super::sources::SizedRow;
use crate::transform::size::ah::Alignment;
use crate::transform::size::ethernet::l1_of_packet;
use crate::transform::size::layers::{IpVersion, Layers};
use crate::transform::size::path::{Mode, Path, Protection};

/// Bytes between two points of the curve within a step of the padding, where it is nearly straight.
const EVERY: u64 = 24;

/// A transform and the share of the circuit it leaves.
pub(super) struct Calculated {
    /// Its name.
    pub(super) name: String,
    /// Sizes and shares, per cent.
    pub(super) points: Vec<(f64, f64)>,
}

/// The share of the circuit by size, calculated with the transform that the direction has. `None` where it is not known, or where it
/// does not give the measured overheads: the way around it is then another one than the report tells.
pub(super) fn shares(sized: &Sized<'_>) -> Option<Calculated> {
    let transform = sized.transform?;
    let (from, to) = (sized.rows.first()?.inner, sized.rows.last()?.inner);
    let names = transform.name.iter().chain(transform.candidates.iter());
    let (name, layers) = names.filter_map(|name| Some((name, fitting(name, sized)?))).next()?;
    // One of several candidates stands for all of them: they are named by what they have in common.
    let name = match &transform.name {
        Some(family) => family.to_string(),
        None if transform.candidates.len() > 1 => format!("{name} and others of the same lengths"),
        None => name.to_string(),
    };
    Some(Calculated { name, points: points(&layers, from, to) })
}

/// The layers that give every measured overhead.
fn fitting(name: &str, sized: &Sized<'_>) -> Option<Layers> {
    let protection: Protection = name.parse().ok()?;
    let outer = if sized.outer_v6 { IpVersion::V6 } else { IpVersion::V4 };
    let transport = sized.transport?;
    let has = |part: fn(&crate::model::report::Parts) -> f64| {
        sized.rows.iter().filter_map(|row| row.parts).any(|parts| part(&parts) > 0.0)
    };
    [Alignment::Rfc, Alignment::Eight].into_iter().find_map(|ah_alignment| {
        let path = Path {
            mode: if transport { Mode::Transport } else { Mode::Tunnel },
            outer,
            inner: if transport { outer } else { IpVersion::V4 },
            udp: has(|parts| parts.udp),
            gre: has(|parts| parts.gre),
            ah_alignment,
            ..Path::new(protection)
        };
        path.layers().ok().filter(|layers| agrees(layers, &sized.rows))
    })
}

fn agrees(layers: &Layers, rows: &[SizedRow]) -> bool {
    let whole = |row: &&SizedRow| row.parts.is_none_or(|parts| parts.fragmentation <= 0.0);
    let mut compared = rows.iter().filter(whole).peekable();
    compared.peek().is_some()
        && compared.all(|row| {
            let calculated = layers.lengths(row.inner).map(|lengths| lengths.overhead());
            calculated == Some(row.overhead.0) && calculated == Some(row.overhead.1)
        })
}

/// Points at each step of the padding, and some between.
fn points(layers: &Layers, from: u64, to: u64) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = Vec::new();
    let mut last: Option<(f64, i64, f64)> = None;
    for size in from..=to {
        let Some(lengths) = layers.lengths(size) else { continue };
        let overhead = lengths.overhead();
        let share = l1_of_packet(size) as f64 / l1_of_packet(lengths.outer) as f64 * 100.0;
        let step = last.filter(|(_, before, _)| *before != overhead);
        if let Some((at, _, before)) = step
            && points.last().is_none_or(|(drawn, _)| *drawn < at)
        {
            points.push((at, before));
        }
        if step.is_some() || (size - from).is_multiple_of(EVERY) || size == to {
            points.push((size as f64, share));
        }
        last = Some((size as f64, overhead, share));
    }
    points
}
