//! The answer of the calculator as text, JSON, CSV, JSON lines and markdown.

use std::fmt::Write as _;
use std::io::{self, Write};

use serde::Serialize;

use super::harmless::Harmless;
use super::number::{decimal, grouped, range, signed};
use crate::transform::calculation::{Calculation, Cost, Costs};

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
    mode: Option<&'static str>,
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

/// For tickets and wikis.
#[must_use]
pub fn markdown(answer: &Calculation) -> String {
    let mut page = String::new();
    // Writing to a String cannot fail.
    for costs in &answer.transforms {
        let _ = writeln!(page, "## {}\n", title(costs));
        for line in facts(costs, answer) {
            let _ = writeln!(page, "- {line}");
        }
        let _ = writeln!(
            page,
            "\n| inner B | outer B | overhead B | of inner % | L1 plain B | L1 tunnel B | max plain frames/s | Mbit/s | max tunnel frames/s | Mbit/s |"
        );
        let _ = writeln!(page, "|{}", " ---: |".repeat(10));
        for cost in &costs.sizes {
            let _ = writeln!(page, "| {} |", cells(cost).join(" | "));
        }
        page.push('\n');
    }
    page.truncate(page.trim_end().len());
    page.push('\n');
    page
}

/// `ESP AES-CBC/HMAC-SHA1-96, tunnel mode, IPv4 in IPv4`.
pub(super) fn title(costs: &Costs) -> String {
    let family = |name: &str| if name == "ipv6" { "IPv6" } else { "IPv4" };
    let mut title = costs.transform.clone();
    if let Some(mode) = costs.mode {
        let _ = write!(title, ", {mode} mode");
    }
    if costs.mode == Some("transport") && !costs.gre {
        let _ = write!(title, ", {}", family(costs.inner));
    } else {
        let _ = write!(title, ", {} in {}", family(costs.inner), family(costs.outer));
    }
    if costs.gre {
        title.push_str(", GRE");
    }
    if costs.udp_encap {
        title.push_str(", in UDP");
    }
    title
}

/// What is told of a transform besides its sizes, one sentence each.
pub(super) fn facts(costs: &Costs, answer: &Calculation) -> Vec<String> {
    let parts: Vec<String> = costs
        .parts
        .iter()
        .map(|part| format!("{} {}", part.part.replace('_', " "), range(part.min_bytes, part.max_bytes)))
        .collect();
    let mut facts = vec![format!("overhead {} B", range(costs.overhead_min_bytes, costs.overhead_max_bytes))];
    if let Some(first) = facts.first_mut().filter(|_| !parts.is_empty()) {
        let _ = write!(first, ": {}", parts.join(", "));
    }
    facts.push(match (costs.largest_inner_bytes, costs.largest_outer_bytes) {
        (Some(inner), Some(outer)) => format!(
            "largest packet without fragments: {} B ({} B outside, MTU {}); TCP MSS {} in IPv4, {} in IPv6",
            grouped(inner),
            grouped(outer),
            grouped(answer.mtu),
            costs.tcp_mss_ipv4.map_or_else(|| "-".into(), grouped),
            costs.tcp_mss_ipv6.map_or_else(|| "-".into(), grouped),
        ),
        _ => format!("no packet fits into an MTU of {} without fragments", grouped(answer.mtu)),
    });
    if costs.transform.contains("IPCOMP") {
        facts.push(
            "IPComp saves what the content allows; only its header is counted, and short packets go without".into(),
        );
    }
    if let Some(mix) = &costs.imix {
        facts.push(format!(
            "IMIX (40, 576, 1500 as 7:4:1): {} B inside on average, {} B outside, overhead {} %; {} of {} frames/s ({} %)",
            decimal(mix.inner_bytes_mean, 1),
            decimal(mix.outer_bytes_mean, 1),
            decimal(mix.overhead_of_inner_pct, 1),
            decimal(mix.max_tunnel_frames_per_s, 0),
            decimal(mix.max_plain_frames_per_s, 0),
            decimal(mix.tunnel_of_plain_pct, 1),
        ));
    }
    facts.extend(costs.weak.iter().map(|weak| format!("weak: {weak}")));
    facts
}

/// The cells of a size.
pub(super) fn cells(cost: &Cost) -> [String; 10] {
    let fragmented = cost.fragments.is_none_or(|count| count > 1);
    [
        grouped(cost.inner_bytes),
        format!("{}{}", grouped(cost.outer_bytes), if fragmented { "*" } else { "" }),
        signed(cost.overhead_bytes),
        decimal(cost.overhead_of_inner_pct, 1),
        grouped(cost.l1_plain_bytes),
        grouped(cost.l1_tunnel_bytes),
        decimal(cost.max_plain_frames_per_s, 0),
        decimal(cost.max_plain_mbps, 0),
        decimal(cost.max_tunnel_frames_per_s, 0),
        decimal(cost.max_tunnel_mbps, 0),
    ]
}
