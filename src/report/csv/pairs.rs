//! Tables of a report of pairs.

use std::io::{self, Write};

use super::{CAPTURES, Cell, Column, FINDINGS, rows, wide};
use crate::model::pairs::{Direction, MatchReport, Pair, PairBasis, Size, Times};
use crate::model::report::{Capture, Pattern};

/// The tables that CSV can hold, besides the pairs themselves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PairTable {
    /// One row per pair, in the tunnel's order.
    Pairs,
    /// `directions[]`
    Directions,
    /// `sizes[]`
    Sizes,
    /// `padding.examples[]`
    Padding,
    /// `lost[]`
    Lost,
    /// `outside[]`
    Outside,
    /// `ends[]`
    Ends,
    /// `findings[]`
    Findings,
    /// `captures[]` of all sides
    Captures,
}

impl PairTable {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::Pairs,
        Self::Directions,
        Self::Sizes,
        Self::Padding,
        Self::Lost,
        Self::Outside,
        Self::Ends,
        Self::Findings,
        Self::Captures,
    ];

    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pairs => "pairs",
            Self::Directions => "directions",
            Self::Sizes => "sizes",
            Self::Padding => "padding",
            Self::Lost => "lost",
            Self::Outside => "outside",
            Self::Ends => "ends",
            Self::Findings => "findings",
            Self::Captures => "captures",
        }
    }
}

/// Writes one table. The pairs are not in a report: [`PairRows`] writes them as they come.
///
/// # Errors
/// Whatever `out` fails with.
pub fn write_pairs(report: &MatchReport, table: PairTable, out: &mut dyn Write) -> io::Result<()> {
    match table {
        PairTable::Pairs => Ok(()),
        PairTable::Directions => rows(out, DIRECTIONS, &report.directions),
        PairTable::Sizes => rows(out, SIZES, &report.sizes),
        PairTable::Padding => rows(out, PADDING, &report.padding.examples),
        PairTable::Lost => rows(out, LOST, &report.lost),
        PairTable::Outside => rows(out, OUTSIDE, &report.outside),
        PairTable::Ends => rows(out, ENDS, &report.ends),
        PairTable::Findings => rows(out, FINDINGS, &report.findings),
        PairTable::Captures => {
            let sides = [Some(&report.plain), Some(&report.tunnel), report.exit.as_ref()];
            let captures: Vec<Capture> =
                sides.into_iter().flatten().flat_map(|side| side.captures.iter().cloned()).collect();
            rows(out, CAPTURES, &captures)
        }
    }
}

/// Pairs as rows, as they come.
pub struct PairRows<W: Write> {
    writer: csv::Writer<W>,
    cell: Cell,
    plain: Vec<String>,
    tunnel: Vec<String>,
}

impl<W: Write> PairRows<W> {
    /// Writes the header row. `plain` and `tunnel` are the names of the captures that frame references count.
    ///
    /// # Errors
    /// Whatever `out` fails with.
    pub fn new(out: W, plain: Vec<String>, tunnel: Vec<String>) -> io::Result<Self> {
        let mut writer = csv::WriterBuilder::new().from_writer(out);
        writer.write_record(PAIRS.split(',')).map_err(io::Error::from)?;
        Ok(Self { writer, cell: Cell::default(), plain, tunnel })
    }

    /// Writes one pair.
    ///
    /// # Errors
    /// Whatever the output fails with.
    pub fn write(&mut self, pair: &Pair) -> io::Result<()> {
        let Self { writer, cell, plain, tunnel } = self;
        let name = |names: &[String], at: u32| names.get(at as usize).cloned().unwrap_or_else(|| at.to_string());
        let fills: [&dyn Fn(&mut Cell); 12] = [
            &|c| c.text(&name(plain, pair.plain.capture)),
            &|c| c.number(i128::from(pair.plain.frame)),
            &|c| c.text(&name(tunnel, pair.tunnel.capture)),
            &|c| c.number(i128::from(pair.tunnel.frame)),
            &|c| c.text(&pair.sa),
            &|c| c.number(wide(pair.sequence)),
            &|c| c.number(i128::from(pair.inner_bytes)),
            &|c| c.number(wide(pair.outer_bytes)),
            &|c| c.number(wide(pair.overhead_bytes)),
            &|c| c.number(wide(pair.delay_ns)),
            &|c| c.text(pair.basis.name()),
            &|c| c.real(pair.confidence),
        ];
        for fill in fills {
            cell.0.clear();
            fill(cell);
            writer.write_field(&cell.0).map_err(io::Error::from)?;
        }
        writer.write_record(None::<&[u8]>).map_err(io::Error::from)
    }

    /// Lets go of what is held back.
    ///
    /// # Errors
    /// Whatever the output fails with.
    pub fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// Columns of the pairs.
const PAIRS: &str = "plain_capture,plain_frame,tunnel_capture,tunnel_frame,sa,sequence,inner_bytes,outer_bytes,overhead_bytes,delay_ns,basis,confidence";

fn time(times: Option<&Times>, which: fn(&Times) -> i64) -> Option<i128> {
    times.map(|times| which(times).into())
}

const DIRECTIONS: &[Column<Direction>] = &[
    ("sa", |r, c| c.text(&r.sa)),
    ("src", |r, c| c.text(&r.src)),
    ("dst", |r, c| c.text(&r.dst)),
    ("inner_src", |r, c| c.optional_text(r.inner_src.as_deref())),
    ("inner_dst", |r, c| c.optional_text(r.inner_dst.as_deref())),
    ("way", |r, c| c.text(r.way.name())),
    ("matched", |r, c| c.number(i128::from(r.matched))),
    ("ambiguous", |r, c| c.number(i128::from(r.ambiguous))),
    ("unmatched_plain", |r, c| c.number(i128::from(r.unmatched_plain))),
    ("unmatched_tunnel", |r, c| c.number(i128::from(r.unmatched_tunnel))),
    ("repeated_tunnel", |r, c| c.number(i128::from(r.repeated_tunnel))),
    ("uncovered_plain", |r, c| c.number(i128::from(r.uncovered_plain))),
    ("uncovered_tunnel", |r, c| c.number(i128::from(r.uncovered_tunnel))),
    ("lost_before_tunnel", |r, c| c.number(wide(r.lost_before_tunnel))),
    ("lost_behind_tunnel", |r, c| c.number(wide(r.lost_behind_tunnel))),
    ("lost_end_to_end", |r, c| c.number(wide(r.lost_end_to_end))),
    ("undetermined_alignments", |r, c| c.number(wide(r.undetermined.as_ref().map(|open| open.alignments)))),
    ("undetermined_reason", |r, c| c.optional_text(r.undetermined.as_ref().map(|open| &*open.reason))),
    ("loss_pct", |r, c| c.real(r.loss_pct)),
    ("reordered", |r, c| c.number(i128::from(r.reordered))),
    ("confidence", |r, c| c.real(r.confidence)),
    ("basis", |r, c| c.optional_text(r.basis.map(PairBasis::name))),
    ("transform_basis", |r, c| c.text(r.transform.basis.name())),
    ("transform_name", |r, c| c.optional_text(r.transform.name.as_deref())),
    ("transform_candidates", |r, c| c.list(&r.transform.candidates)),
    ("transform_evidence", |r, c| c.optional_text(r.transform.evidence.as_deref())),
    ("mode", |r, c| c.text(r.mode.name())),
    ("clock_offset_ns", |r, c| c.number(wide(r.clock.offset_ns))),
    ("clock_drift_ppm", |r, c| c.real(r.clock.drift_ppm)),
    ("clock_uncertainty_ns", |r, c| c.number(wide(r.clock.uncertainty_ns))),
    ("clock_drift_uncertainty_ppm", |r, c| c.real(r.clock.drift_uncertainty_ppm)),
    ("clock_basis", |r, c| c.text(r.clock.basis.name())),
    ("latency_ns_definition", |r, c| c.text(&r.latency_ns.definition)),
    ("latency_ns_depends_on_offset", |r, c| c.yes(r.latency_ns.depends_on_offset)),
    ("latency_ns_min", |r, c| c.number(time(r.latency_ns.times.as_ref(), |t| t.min))),
    ("latency_ns_p50", |r, c| c.number(time(r.latency_ns.times.as_ref(), |t| t.p50))),
    ("latency_ns_p90", |r, c| c.number(time(r.latency_ns.times.as_ref(), |t| t.p90))),
    ("latency_ns_p99", |r, c| c.number(time(r.latency_ns.times.as_ref(), |t| t.p99))),
    ("latency_ns_max", |r, c| c.number(time(r.latency_ns.times.as_ref(), |t| t.max))),
    ("latency_ns_mean", |r, c| c.real(r.latency_ns.times.map(|t| t.mean))),
    ("latency_ns_cut_through_min", |r, c| c.number(time(r.latency_ns.cut_through.as_ref(), |t| t.min))),
    ("latency_ns_cut_through_p50", |r, c| c.number(time(r.latency_ns.cut_through.as_ref(), |t| t.p50))),
    ("latency_ns_cut_through_max", |r, c| c.number(time(r.latency_ns.cut_through.as_ref(), |t| t.max))),
    ("header_dscp_same", |r, c| c.number(i128::from(r.header.dscp_same))),
    ("header_dscp_other", |r, c| c.number(i128::from(r.header.dscp_other))),
    ("header_dscp_marked", |r, c| c.number(i128::from(r.header.dscp_marked))),
    ("header_dscp_marked_same", |r, c| c.number(i128::from(r.header.dscp_marked_same))),
    ("header_ecn_same", |r, c| c.number(i128::from(r.header.ecn_same))),
    ("header_ecn_other", |r, c| c.number(i128::from(r.header.ecn_other))),
    ("header_df_copied", |r, c| c.number(i128::from(r.header.df_copied))),
    ("header_df_set", |r, c| c.number(i128::from(r.header.df_set))),
    ("header_df_cleared", |r, c| c.number(i128::from(r.header.df_cleared))),
    ("header_df_unset", |r, c| c.number(i128::from(r.header.df_unset))),
    ("header_ttl_copied", |r, c| c.number(i128::from(r.header.ttl_copied))),
    ("header_ttl_own", |r, c| c.number(i128::from(r.header.ttl_own))),
    ("header_outer_ttl_min", |r, c| c.number(wide(r.header.outer_ttl_min))),
    ("header_outer_ttl_max", |r, c| c.number(wide(r.header.outer_ttl_max))),
];

const SIZES: &[Column<Size>] = &[
    ("sa", |r, c| c.text(&r.sa)),
    ("inner_bytes", |r, c| c.number(i128::from(r.inner_bytes))),
    ("frames", |r, c| c.number(i128::from(r.frames))),
    ("outer_bytes_min", |r, c| c.number(wide(r.outer_bytes_min))),
    ("outer_bytes_max", |r, c| c.number(wide(r.outer_bytes_max))),
    ("overhead_min_bytes", |r, c| c.number(wide(r.overhead_min_bytes))),
    ("overhead_max_bytes", |r, c| c.number(wide(r.overhead_max_bytes))),
    ("overhead_of_inner_pct", |r, c| c.real(r.overhead_of_inner_pct)),
    ("parts_outer_ip", |r, c| c.real(r.parts.map(|p| p.outer_ip))),
    ("parts_udp", |r, c| c.real(r.parts.map(|p| p.udp))),
    ("parts_tcp", |r, c| c.real(r.parts.map(|p| p.tcp))),
    ("parts_gre", |r, c| c.real(r.parts.map(|p| p.gre))),
    ("parts_ah", |r, c| c.real(r.parts.map(|p| p.ah))),
    ("parts_esp_header", |r, c| c.real(r.parts.map(|p| p.esp_header))),
    ("parts_iv", |r, c| c.real(r.parts.map(|p| p.iv))),
    ("parts_esp_pad", |r, c| c.real(r.parts.map(|p| p.esp_pad))),
    ("parts_esp_trailer", |r, c| c.real(r.parts.map(|p| p.esp_trailer))),
    ("parts_icv", |r, c| c.real(r.parts.map(|p| p.icv))),
    ("parts_fragmentation", |r, c| c.real(r.parts.map(|p| p.fragmentation))),
    ("predicted_bytes", |r, c| c.number(wide(r.predicted_bytes))),
    ("difference_bytes", |r, c| c.real(r.difference_bytes)),
    ("difference_why", |r, c| c.optional_text(r.difference_why.as_deref())),
    ("latency_ns_min", |r, c| c.number(time(r.latency_ns.as_ref(), |t| t.min))),
    ("latency_ns_p50", |r, c| c.number(time(r.latency_ns.as_ref(), |t| t.p50))),
    ("latency_ns_p90", |r, c| c.number(time(r.latency_ns.as_ref(), |t| t.p90))),
    ("latency_ns_p99", |r, c| c.number(time(r.latency_ns.as_ref(), |t| t.p99))),
    ("latency_ns_max", |r, c| c.number(time(r.latency_ns.as_ref(), |t| t.max))),
    ("latency_ns_mean", |r, c| c.real(r.latency_ns.map(|t| t.mean))),
    ("lost_before_tunnel", |r, c| c.number(wide(r.lost_before_tunnel))),
    ("lost_behind_tunnel", |r, c| c.number(wide(r.lost_behind_tunnel))),
    ("lost_end_to_end", |r, c| c.number(wide(r.lost_end_to_end))),
    ("icmp_mtu_bytes", |r, c| c.number(wide(r.icmp_mtu_bytes))),
    ("loss_pct", |r, c| c.real(r.loss_pct)),
    ("basis", |r, c| c.text(r.basis.name())),
];

const PADDING: &[Column<crate::model::pairs::PaddingExample>] = &[
    ("plain_capture", |r, c| c.frame_capture(Some(r.plain))),
    ("plain_frame", |r, c| c.frame_number(Some(r.plain))),
    ("plain_pattern", |r, c| c.optional_text(r.plain_pattern.map(Pattern::name))),
    ("tunnel_capture", |r, c| c.frame_capture(r.tunnel)),
    ("tunnel_frame", |r, c| c.frame_number(r.tunnel)),
    ("carried", |r, c| c.optional_text(r.carried.map(|yes| if yes { "true" } else { "false" }))),
    ("exit_capture", |r, c| c.frame_capture(r.exit)),
    ("exit_frame", |r, c| c.frame_number(r.exit)),
    ("exit_pattern", |r, c| c.optional_text(r.exit_pattern.map(Pattern::name))),
];

const LOST: &[Column<crate::model::pairs::Lost>] = &[
    ("plain_capture", |r, c| c.frame_capture(Some(r.frame))),
    ("plain_frame", |r, c| c.frame_number(Some(r.frame))),
    ("time", |r, c| c.optional_time(r.time)),
    ("inner_bytes", |r, c| c.number(i128::from(r.inner_bytes))),
    ("sa", |r, c| c.optional_text(r.sa.as_deref())),
    ("sequence", |r, c| c.number(wide(r.sequence))),
    ("confidence", |r, c| c.real(r.confidence)),
    ("verdict", |r, c| c.text(r.verdict.name())),
];

const OUTSIDE: &[Column<crate::model::pairs::Outside>] = &[
    ("src", |r, c| c.text(&r.src)),
    ("dst", |r, c| c.text(&r.dst)),
    ("protocol", |r, c| c.number(i128::from(r.protocol))),
    ("packets", |r, c| c.number(i128::from(r.packets))),
    ("clear", |r, c| c.number(i128::from(r.clear))),
];

const ENDS: &[Column<crate::model::pairs::Ends>] = &[
    ("src", |r, c| c.text(&r.src)),
    ("dst", |r, c| c.text(&r.dst)),
    ("way", |r, c| c.text(r.way.name())),
    ("matched", |r, c| c.number(i128::from(r.matched))),
    ("lost", |r, c| c.number(i128::from(r.lost))),
    ("loss_pct", |r, c| c.real(r.loss_pct)),
    ("latency_ns_min", |r, c| c.number(time(r.latency_ns.as_ref(), |t| t.min))),
    ("latency_ns_p50", |r, c| c.number(time(r.latency_ns.as_ref(), |t| t.p50))),
    ("latency_ns_p90", |r, c| c.number(time(r.latency_ns.as_ref(), |t| t.p90))),
    ("latency_ns_p99", |r, c| c.number(time(r.latency_ns.as_ref(), |t| t.p99))),
    ("latency_ns_max", |r, c| c.number(time(r.latency_ns.as_ref(), |t| t.max))),
    ("latency_ns_mean", |r, c| c.real(r.latency_ns.map(|t| t.mean))),
    ("depends_on_offset", |r, c| c.yes(r.depends_on_offset)),
];
