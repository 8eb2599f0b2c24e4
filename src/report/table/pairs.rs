//! The tables of a report of pairs.

use super::{Sheet, Value, about, integer, list, real, text, time, truth};
use crate::model::pairs::{
    Direction, Ends, Lost, MatchReport, Outside, PaddingExample, Pair, PairBasis, Size, SpreadBin, TunnelWay,
};
use crate::model::report::{Name, Pattern};

/// A pair with the names of its captures.
pub(in crate::report) struct PairRow {
    pub(in crate::report) pair: Pair,
    pub(in crate::report) plain: Name,
    pub(in crate::report) tunnel: Name,
}

/// The captures that pairs count, by name.
pub(in crate::report) struct PairNames {
    plain: Vec<Name>,
    tunnel: Vec<Name>,
}

impl PairNames {
    pub(in crate::report) fn new(plain: Vec<String>, tunnel: Vec<String>) -> Self {
        let shared = |names: Vec<String>| names.into_iter().map(Name::from).collect();
        Self { plain: shared(plain), tunnel: shared(tunnel) }
    }

    /// The row of a pair.
    pub(in crate::report) fn row(&self, pair: &Pair) -> PairRow {
        let name = |names: &[Name], at: u32| names.get(at as usize).cloned().unwrap_or_else(|| at.to_string().into());
        let (plain, tunnel) = (name(&self.plain, pair.plain.capture), name(&self.tunnel, pair.tunnel.capture));
        PairRow { pair: pair.clone(), plain, tunnel }
    }
}

/// The pairs, in the tunnel's order.
pub(in crate::report) const PAIRS: Sheet<PairRow> = Sheet {
    name: "pairs",
    about: "The pairs, in the tunnel's order.",
    rows: &["Pair"],
    fields: &[
        about("The plaintext capture as it was named.", text("plain_capture", |r| (&r.plain).into())),
        about("The plaintext frame, from 1.", integer("plain_frame", |r| r.pair.plain.frame.into())),
        about("The tunnel's capture as it was named.", text("tunnel_capture", |r| (&r.tunnel).into())),
        about(
            "The tunnel's frame, from 1; of several fragments the first.",
            integer("tunnel_frame", |r| r.pair.tunnel.frame.into()),
        ),
        text("sa", |r| (&r.pair.sa).into()),
        integer("sequence", |r| r.pair.sequence.into()),
        integer("inner_bytes", |r| r.pair.inner_bytes.into()),
        integer("outer_bytes", |r| r.pair.outer_bytes.into()),
        integer("overhead_bytes", |r| r.pair.overhead_bytes.into()),
        integer("delay_ns", |r| r.pair.delay_ns.into()),
        text("basis", |r| r.pair.basis.name().into()),
        real("confidence", |r| r.pair.confidence.into()),
        integer("plain_time_ns", |r| r.pair.plain_time_ns.into()),
        integer("tunnel_time_ns", |r| r.pair.tunnel_time_ns.into()),
    ],
};

/// A bin of time with the direction that it is of.
pub(in crate::report) struct SpreadRow {
    bin: SpreadBin,
    sa: Name,
    way: TunnelWay,
    bin_ns: u64,
}

impl SpreadRow {
    /// The bins of all directions.
    pub(in crate::report) fn all(report: &MatchReport) -> Vec<Self> {
        let row = |bin: &SpreadBin| {
            let of = report.directions.get(bin.direction as usize)?;
            Some(Self { bin: *bin, sa: of.sa.clone(), way: of.way, bin_ns: report.bin_ns? })
        };
        report.bins.iter().filter_map(row).collect()
    }
}

/// Pairs over time.
pub(in crate::report) const SPREAD: Sheet<SpreadRow> = Sheet {
    name: "bins",
    about: "What each direction was offered and carried, time bin by time bin; bins without packets are left out.",
    rows: &["SpreadBin"],
    fields: &[
        about("Id of the SA or tunnel.", text("sa", |r| (&r.sa).into())),
        about("Which way its packets go.", text("way", |r| r.way.name().into())),
        integer("start_ns", |r| r.bin.start_ns.into()),
        about("Width of the bin.", integer("bin_ns", |r| r.bin_ns.into())),
        integer("offered_frames", |r| r.bin.offered_frames.into()),
        integer("offered_bytes", |r| r.bin.offered_bytes.into()),
        integer("carried_frames", |r| r.bin.carried_frames.into()),
        integer("carried_bytes", |r| r.bin.carried_bytes.into()),
        integer("lost_frames", |r| r.bin.lost_frames.into()),
        integer("latency_p50_ns", |r| r.bin.latency_p50_ns.into()),
        integer("latency_max_ns", |r| r.bin.latency_max_ns.into()),
    ],
};

/// What each SA or tunnel carries.
pub(in crate::report) const DIRECTIONS: Sheet<Direction> = Sheet {
    name: "directions",
    about: "What each SA or tunnel carries.",
    rows: &["Direction"],
    fields: &[
        text("sa", |r| (&r.sa).into()),
        text("src", |r| (&r.src).into()),
        text("dst", |r| (&r.dst).into()),
        text("inner_src", |r| r.inner_src.as_deref().into()),
        text("inner_dst", |r| r.inner_dst.as_deref().into()),
        text("way", |r| r.way.name().into()),
        integer("matched", |r| r.matched.into()),
        integer("ambiguous", |r| r.ambiguous.into()),
        integer("unmatched_plain", |r| r.unmatched_plain.into()),
        integer("unmatched_tunnel", |r| r.unmatched_tunnel.into()),
        integer("repeated_tunnel", |r| r.repeated_tunnel.into()),
        integer("uncovered_plain", |r| r.uncovered_plain.into()),
        integer("uncovered_tunnel", |r| r.uncovered_tunnel.into()),
        integer("lost_before_tunnel", |r| r.lost_before_tunnel.into()),
        integer("lost_behind_tunnel", |r| r.lost_behind_tunnel.into()),
        integer("lost_end_to_end", |r| r.lost_end_to_end.into()),
        integer("undetermined_alignments", |r| r.undetermined.as_ref().map(|open| open.alignments).into()),
        text("undetermined_reason", |r| r.undetermined.as_ref().map(|open| &*open.reason).into()),
        real("loss_pct", |r| r.loss_pct.into()),
        integer("reordered", |r| r.reordered.into()),
        real("confidence", |r| r.confidence.into()),
        text("basis", |r| r.basis.map(PairBasis::name).into()),
        text("transform_basis", |r| r.transform.basis.name().into()),
        text("transform_name", |r| r.transform.name.as_deref().into()),
        list("transform_candidates", |r| Value::texts(&r.transform.candidates)),
        text("transform_evidence", |r| r.transform.evidence.as_deref().into()),
        text("mode", |r| r.mode.name().into()),
        integer("clock_offset_ns", |r| r.clock.offset_ns.into()),
        real("clock_drift_ppm", |r| r.clock.drift_ppm.into()),
        integer("clock_uncertainty_ns", |r| r.clock.uncertainty_ns.into()),
        real("clock_drift_uncertainty_ppm", |r| r.clock.drift_uncertainty_ppm.into()),
        text("clock_basis", |r| r.clock.basis.name().into()),
        text("latency_ns_definition", |r| (&r.latency_ns.definition).into()),
        truth("latency_ns_depends_on_offset", |r| r.latency_ns.depends_on_offset.into()),
        integer("latency_ns_min", |r| r.latency_ns.times.as_ref().map(|t| t.min).into()),
        integer("latency_ns_p50", |r| r.latency_ns.times.as_ref().map(|t| t.p50).into()),
        integer("latency_ns_p90", |r| r.latency_ns.times.as_ref().map(|t| t.p90).into()),
        integer("latency_ns_p99", |r| r.latency_ns.times.as_ref().map(|t| t.p99).into()),
        integer("latency_ns_max", |r| r.latency_ns.times.as_ref().map(|t| t.max).into()),
        real("latency_ns_mean", |r| r.latency_ns.times.map(|t| t.mean).into()),
        integer("latency_ns_cut_through_min", |r| r.latency_ns.cut_through.as_ref().map(|t| t.min).into()),
        integer("latency_ns_cut_through_p50", |r| r.latency_ns.cut_through.as_ref().map(|t| t.p50).into()),
        integer("latency_ns_cut_through_max", |r| r.latency_ns.cut_through.as_ref().map(|t| t.max).into()),
        integer("latency_sf_ns_min", |r| r.latency_sf_ns.map(|t| t.min).into()),
        integer("latency_sf_ns_p50", |r| r.latency_sf_ns.map(|t| t.p50).into()),
        integer("latency_sf_ns_max", |r| r.latency_sf_ns.map(|t| t.max).into()),
        integer("latency_ct_ns_min", |r| r.latency_ct_ns.map(|t| t.min).into()),
        integer("latency_ct_ns_p50", |r| r.latency_ct_ns.map(|t| t.p50).into()),
        integer("latency_ct_ns_max", |r| r.latency_ct_ns.map(|t| t.max).into()),
        integer("header_dscp_same", |r| r.header.dscp_same.into()),
        integer("header_dscp_other", |r| r.header.dscp_other.into()),
        integer("header_dscp_marked", |r| r.header.dscp_marked.into()),
        integer("header_dscp_marked_same", |r| r.header.dscp_marked_same.into()),
        integer("header_ecn_same", |r| r.header.ecn_same.into()),
        integer("header_ecn_other", |r| r.header.ecn_other.into()),
        integer("header_df_copied", |r| r.header.df_copied.into()),
        integer("header_df_set", |r| r.header.df_set.into()),
        integer("header_df_cleared", |r| r.header.df_cleared.into()),
        integer("header_df_unset", |r| r.header.df_unset.into()),
        integer("header_ttl_copied", |r| r.header.ttl_copied.into()),
        integer("header_ttl_own", |r| r.header.ttl_own.into()),
        integer("header_outer_ttl_min", |r| r.header.outer_ttl_min.into()),
        integer("header_outer_ttl_max", |r| r.header.outer_ttl_max.into()),
        text("bins_why", |r| r.bins_why.as_deref().into()),
        text("latency_why", |r| r.latency_why.as_deref().into()),
    ],
};

/// Overhead by size of the plaintext packet.
pub(in crate::report) const SIZES: Sheet<Size> = Sheet {
    name: "sizes",
    about: "Overhead by size of the plaintext packet.",
    rows: &["Size"],
    fields: &[
        text("sa", |r| (&r.sa).into()),
        integer("inner_bytes", |r| r.inner_bytes.into()),
        integer("frames", |r| r.frames.into()),
        integer("outer_bytes_min", |r| r.outer_bytes_min.into()),
        integer("outer_bytes_max", |r| r.outer_bytes_max.into()),
        integer("overhead_min_bytes", |r| r.overhead_min_bytes.into()),
        integer("overhead_max_bytes", |r| r.overhead_max_bytes.into()),
        real("overhead_of_inner_pct", |r| r.overhead_of_inner_pct.into()),
        real("parts_outer_ip", |r| r.parts.map(|p| p.outer_ip).into()),
        real("parts_udp", |r| r.parts.map(|p| p.udp).into()),
        real("parts_tcp", |r| r.parts.map(|p| p.tcp).into()),
        real("parts_gre", |r| r.parts.map(|p| p.gre).into()),
        real("parts_ah", |r| r.parts.map(|p| p.ah).into()),
        real("parts_esp_header", |r| r.parts.map(|p| p.esp_header).into()),
        real("parts_iv", |r| r.parts.map(|p| p.iv).into()),
        real("parts_esp_pad", |r| r.parts.map(|p| p.esp_pad).into()),
        real("parts_esp_trailer", |r| r.parts.map(|p| p.esp_trailer).into()),
        real("parts_icv", |r| r.parts.map(|p| p.icv).into()),
        real("parts_fragmentation", |r| r.parts.map(|p| p.fragmentation).into()),
        integer("predicted_bytes", |r| r.predicted_bytes.into()),
        real("difference_bytes", |r| r.difference_bytes.into()),
        text("difference_why", |r| r.difference_why.as_deref().into()),
        integer("latency_ns_min", |r| r.latency_ns.as_ref().map(|t| t.min).into()),
        integer("latency_ns_p50", |r| r.latency_ns.as_ref().map(|t| t.p50).into()),
        integer("latency_ns_p90", |r| r.latency_ns.as_ref().map(|t| t.p90).into()),
        integer("latency_ns_p99", |r| r.latency_ns.as_ref().map(|t| t.p99).into()),
        integer("latency_ns_max", |r| r.latency_ns.as_ref().map(|t| t.max).into()),
        real("latency_ns_mean", |r| r.latency_ns.map(|t| t.mean).into()),
        integer("lost_before_tunnel", |r| r.lost_before_tunnel.into()),
        integer("lost_behind_tunnel", |r| r.lost_behind_tunnel.into()),
        integer("lost_end_to_end", |r| r.lost_end_to_end.into()),
        integer("icmp_mtu_bytes", |r| r.icmp_mtu_bytes.into()),
        real("loss_pct", |r| r.loss_pct.into()),
        text("basis", |r| r.basis.name().into()),
    ],
};

/// Padded packets on their way.
pub(in crate::report) const PADDING: Sheet<PaddingExample> = Sheet {
    name: "padding",
    about: "Padded packets on their way.",
    rows: &["PaddingExample"],
    fields: &[
        integer("plain_capture", |r| Value::capture(r.plain)),
        integer("plain_frame", |r| Value::frame(r.plain)),
        text("plain_pattern", |r| r.plain_pattern.map(Pattern::name).into()),
        integer("tunnel_capture", |r| Value::capture(r.tunnel)),
        integer("tunnel_frame", |r| Value::frame(r.tunnel)),
        truth("carried", |r| r.carried.into()),
        integer("exit_capture", |r| Value::capture(r.exit)),
        integer("exit_frame", |r| Value::frame(r.exit)),
        text("exit_pattern", |r| r.exit_pattern.map(Pattern::name).into()),
    ],
};

/// Plaintext packets that were never seen in the tunnel.
pub(in crate::report) const LOST: Sheet<Lost> = Sheet {
    name: "lost",
    about: "Plaintext packets that were never seen in the tunnel.",
    rows: &["Lost"],
    fields: &[
        about(
            "Index of its capture among those of the plaintext side.",
            integer("plain_capture", |r| Value::capture(r.frame)),
        ),
        about("Its number in the capture, from 1.", integer("plain_frame", |r| Value::frame(r.frame))),
        time("time", |r| r.time.into()),
        integer("inner_bytes", |r| r.inner_bytes.into()),
        text("sa", |r| r.sa.as_deref().into()),
        integer("sequence", |r| r.sequence.into()),
        real("confidence", |r| r.confidence.into()),
        text("verdict", |r| r.verdict.name().into()),
    ],
};

/// Plaintext traffic that does not go through the tunnel.
pub(in crate::report) const OUTSIDE: Sheet<Outside> = Sheet {
    name: "outside",
    about: "Plaintext traffic that does not go through the tunnel.",
    rows: &["Outside"],
    fields: &[
        text("src", |r| (&r.src).into()),
        text("dst", |r| (&r.dst).into()),
        integer("protocol", |r| r.protocol.into()),
        integer("packets", |r| r.packets.into()),
        integer("clear", |r| r.clear.into()),
    ],
};

/// Packets from one plaintext side to the other.
pub(in crate::report) const ENDS: Sheet<Ends> = Sheet {
    name: "ends",
    about: "Packets from one plaintext side to the other.",
    rows: &["Ends"],
    fields: &[
        text("src", |r| (&r.src).into()),
        text("dst", |r| (&r.dst).into()),
        text("way", |r| r.way.name().into()),
        integer("matched", |r| r.matched.into()),
        integer("lost", |r| r.lost.into()),
        real("loss_pct", |r| r.loss_pct.into()),
        integer("latency_ns_min", |r| r.latency_ns.as_ref().map(|t| t.min).into()),
        integer("latency_ns_p50", |r| r.latency_ns.as_ref().map(|t| t.p50).into()),
        integer("latency_ns_p90", |r| r.latency_ns.as_ref().map(|t| t.p90).into()),
        integer("latency_ns_p99", |r| r.latency_ns.as_ref().map(|t| t.p99).into()),
        integer("latency_ns_max", |r| r.latency_ns.as_ref().map(|t| t.max).into()),
        real("latency_ns_mean", |r| r.latency_ns.map(|t| t.mean).into()),
        truth("depends_on_offset", |r| r.depends_on_offset.into()),
    ],
};
