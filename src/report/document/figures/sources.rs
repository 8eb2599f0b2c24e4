//! What charts of sizes are drawn from: the rows of one direction, out of either report.

use std::collections::BTreeMap;

use super::super::overhead::groups;
use crate::model::pairs::{MatchReport, PairBasis, Size as MatchSize, Times};
use crate::model::report::{OverheadBasis, Parts, Report, SaMode, Size, TransformReport};
use crate::report::words::names;

/// The sizes of one direction.
pub(in crate::report::document) struct Sized<'r> {
    /// `192.168.1.1 to 192.168.1.2, ESP 0x000003e9`.
    pub(in crate::report::document) whose: String,
    /// The id of its SA or tunnel; may be empty.
    pub(super) sa: &'r str,
    /// How the figures are known, in words.
    pub(in crate::report::document) known: &'static str,
    /// What is counted: `packets` or `pairs`.
    pub(in crate::report::document) counted: &'static str,
    /// Packets of all rows.
    pub(in crate::report::document) frames: u64,
    /// Directions beside this one.
    pub(in crate::report::document) others: usize,
    /// What is known of the transform.
    pub(super) transform: Option<&'r TransformReport>,
    /// Transport mode, where that is known.
    pub(super) transport: Option<bool>,
    /// Whether the outer header is IPv6.
    pub(super) outer_v6: bool,
    /// The rows, in order of size.
    pub(in crate::report::document) rows: Vec<SizedRow>,
}

/// One packet size.
#[derive(Clone, Copy)]
pub(in crate::report::document) struct SizedRow {
    pub(in crate::report::document) inner: u64,
    pub(in crate::report::document) frames: u64,
    pub(super) outer: (u64, u64),
    pub(in crate::report::document) overhead: (i64, i64),
    pub(super) of_inner_pct: Option<f64>,
    pub(super) parts: Option<Parts>,
    /// Layer 1 bytes, in clear and in the tunnel.
    pub(super) l1: Option<(f64, f64)>,
    pub(super) predicted: Option<i64>,
    pub(super) times: Option<Times>,
}

impl SizedRow {
    /// Share of the circuit that is the packet's own, per cent.
    pub(in crate::report::document) fn share(&self) -> Option<f64> {
        self.l1.map(|(plain, tunnel)| plain / tunnel * 100.0).filter(|share| share.is_finite())
    }
}

/// The busiest direction of a report whose overhead is measured.
pub(in crate::report::document) fn of_report(report: &Report) -> Option<Sized<'_>> {
    let groups: Vec<Vec<&Size>> = groups(&report.sizes).into_iter().filter(|group| measured(group)).collect();
    let others = groups.len().saturating_sub(1);
    let busiest = groups.into_iter().rev().max_by_key(|group| group.iter().map(|size| size.frames).sum::<u64>())?;
    let first = busiest.first()?;
    let sa = report.sas.iter().find(|sa| Some(&sa.id) == first.sa.as_ref() && sa.tap == first.tap);
    let tap = if report.taps.len() > 1 { format!(", tap {}", first.tap) } else { String::new() };
    let (known, counted) = (if first.basis == OverheadBasis::Decrypted { "decrypted" } else { "visible" }, "packets");
    Some(Sized {
        whose: whose(&first.direction, first.sa.as_deref()) + &tap,
        sa: first.sa.as_deref().unwrap_or_default(),
        known,
        counted,
        frames: busiest.iter().map(|size| size.frames).sum(),
        transform: sa.map(|sa| &sa.transform),
        transport: sa.filter(|sa| sa.mode != SaMode::Unknown).map(|sa| sa.mode == SaMode::Transport),
        outer_v6: first.direction.contains(':'),
        rows: busiest.into_iter().map(row).collect(),
        others,
    })
}

fn measured(group: &[&Size]) -> bool {
    group.first().is_some_and(|size| size.basis != OverheadBasis::Modelled)
}

fn row(size: &Size) -> SizedRow {
    SizedRow {
        inner: size.inner_bytes,
        frames: size.frames,
        outer: (size.outer_bytes_min, size.outer_bytes_max),
        overhead: (size.overhead_min_bytes, size.overhead_max_bytes),
        of_inner_pct: Some(size.overhead_of_inner_pct),
        parts: Some(size.parts),
        l1: Some((size.l1_plain_bytes as f64, size.l1_tunnel_bytes)),
        predicted: None,
        times: None,
    }
}

/// The busiest direction of a report of pairs. A direction whose pairs are not determined has none.
pub(in crate::report::document) fn of_match(report: &MatchReport) -> Option<Sized<'_>> {
    let mut groups: BTreeMap<(&str, PairBasis), Vec<&MatchSize>> = BTreeMap::new();
    for size in &report.sizes {
        groups.entry((&size.sa, size.basis)).or_default().push(size);
    }
    groups.retain(|(sa, _), _| {
        report.directions.iter().any(|direction| *direction.sa == **sa && direction.undetermined.is_none())
    });
    let others = groups.len().saturating_sub(1);
    let busiest = groups.into_iter().rev().max_by_key(|(_, group)| group.iter().map(|size| size.frames).sum::<u64>());
    let ((id, basis), mut sizes) = busiest?;
    sizes.sort_by_key(|size| size.inner_bytes);
    let direction = report.directions.iter().find(|direction| *direction.sa == *id)?;
    let outer_v6 = direction.src.contains(':');
    let rows: Vec<SizedRow> = sizes.iter().filter_map(|size| pair_row(size)).collect();
    let ends = format!("{} > {}", direction.src, direction.dst);
    let known = match basis {
        PairBasis::Content => "known by content",
        PairBasis::Decrypted => "known by decryption",
        PairBasis::Order => "known by order",
    };
    Some(Sized {
        whose: whose(&ends, Some(id)),
        sa: id,
        known,
        counted: "pairs",
        frames: rows.iter().map(|row| row.frames).sum(),
        transform: Some(&direction.transform),
        transport: Some(direction.mode).filter(|mode| *mode != SaMode::Unknown).map(|mode| mode == SaMode::Transport),
        outer_v6,
        rows,
        others,
    })
}

/// A size of which pairs were measured; one that was lost whole has nothing to draw.
fn pair_row(size: &MatchSize) -> Option<SizedRow> {
    let outer = (size.outer_bytes_min?, size.outer_bytes_max?);
    let overhead = (size.overhead_min_bytes?, size.overhead_max_bytes?);
    Some(SizedRow {
        inner: size.inner_bytes,
        frames: size.frames,
        outer,
        overhead,
        of_inner_pct: size.overhead_of_inner_pct,
        parts: size.parts,
        // Lengths of frames are far below 2^53.
        l1: size.l1_plain_bytes.map(|plain| plain as f64).zip(size.l1_tunnel_bytes),
        predicted: size.predicted_bytes,
        times: size.latency_ns,
    })
}

/// `192.168.1.1 to 192.168.1.2, ESP 0x000003e9`.
fn whose(direction: &str, sa: Option<&str>) -> String {
    let ends = direction.replace(" > ", " to ");
    match sa.and_then(names::sa_parts) {
        Some((protocol, spi, _)) => format!("{ends}, {protocol} {spi}"),
        None => ends,
    }
}
