//! The answer of the calculator as JSON, CSV and JSON lines.

use std::io::{self, Write};

use serde::Serialize;

use crate::report::words::harmless::Harmless;
use crate::transform::calculation::{Calculation, Cost};
use crate::transform::size::path::Mode;

/// The tables that CSV can hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Table {
    /// One row per transform and size.
    Sizes,
    /// One row per transform.
    Transforms,
}

/// One row of sizes; the names and their order are published.
#[derive(Serialize)]
struct SizeRow<'a> {
    transform: &'a str,
    inner_bytes: u64,
    outer_bytes: u64,
    overhead_bytes: i64,
    overhead_of_inner_pct: f64,
    l1_plain_bytes: u64,
    l1_tunnel_bytes: u64,
    max_plain_frames_per_s: f64,
    max_plain_mbps: f64,
    max_tunnel_frames_per_s: f64,
    max_tunnel_mbps: f64,
}

impl<'a> SizeRow<'a> {
    const fn new(transform: &'a str, cost: &Cost) -> Self {
        Self {
            transform,
            inner_bytes: cost.inner_bytes,
            outer_bytes: cost.outer_bytes,
            overhead_bytes: cost.overhead_bytes,
            overhead_of_inner_pct: cost.overhead_of_inner_pct,
            l1_plain_bytes: cost.l1_plain_bytes,
            l1_tunnel_bytes: cost.l1_tunnel_bytes,
            max_plain_frames_per_s: cost.max_plain_frames_per_s,
            max_plain_mbps: cost.max_plain_mbps,
            max_tunnel_frames_per_s: cost.max_tunnel_frames_per_s,
            max_tunnel_mbps: cost.max_tunnel_mbps,
        }
    }
}

/// One row of transforms.
#[derive(Serialize)]
struct TransformRow<'a> {
    transform: &'a str,
    mode: Option<Mode>,
    overhead_min_bytes: i64,
    overhead_max_bytes: i64,
    largest_inner_bytes: Option<u64>,
    tcp_mss_ipv4: Option<u64>,
    tcp_mss_ipv6: Option<u64>,
    /// `outer_ip 20;esp_header 8`, ranges as `esp_pad 0..15`.
    parts: String,
}

fn rows(answer: &Calculation) -> impl Iterator<Item = SizeRow<'_>> {
    answer.transforms.iter().flat_map(|costs| costs.sizes.iter().map(|cost| SizeRow::new(&costs.transform, cost)))
}

/// One object, indented, with a line end.
///
/// # Errors
/// Whatever `out` fails with.
pub fn json(answer: &Calculation, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(Harmless(&mut *out), answer).map_err(io::Error::from)?;
    out.write_all(b"\n")
}

/// One object per transform and size, with the columns of the CSV.
///
/// # Errors
/// Whatever `out` fails with.
pub fn json_lines(answer: &Calculation, out: &mut dyn Write) -> io::Result<()> {
    for row in rows(answer) {
        serde_json::to_writer(Harmless(&mut *out), &row).map_err(io::Error::from)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// One table, header row always.
///
/// # Errors
/// Whatever `out` fails with.
pub fn csv(answer: &Calculation, table: Table, out: &mut dyn Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    match table {
        Table::Sizes => rows(answer).try_for_each(|row| writer.serialize(row)),
        Table::Transforms => answer.transforms.iter().try_for_each(|costs| {
            let parts = costs.parts.iter().map(|part| match (part.min_bytes, part.max_bytes) {
                (min, max) if min == max => format!("{} {max}", part.part),
                (min, max) => format!("{} {min}..{max}", part.part),
            });
            writer.serialize(TransformRow {
                transform: &costs.transform,
                mode: costs.mode,
                overhead_min_bytes: costs.overhead_min_bytes,
                overhead_max_bytes: costs.overhead_max_bytes,
                largest_inner_bytes: costs.largest_inner_bytes,
                tcp_mss_ipv4: costs.tcp_mss_ipv4,
                tcp_mss_ipv6: costs.tcp_mss_ipv6,
                parts: parts.collect::<Vec<_>>().join(";"),
            })
        }),
    }
    .map_err(io::Error::from)?;
    writer.flush()
}
