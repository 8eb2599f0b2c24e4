//! The tables of a report.

use super::{Sheet, Value, about, integer, list, real, text, time, truth};
use crate::model::report::{Capture, DirectionRate, Finding, Layer, Sa, Size, Tunnel};

/// What is wrong or worth knowing.
pub(in crate::report) const FINDINGS: Sheet<Finding> = Sheet {
    name: "findings",
    about: "What is wrong or worth knowing.",
    rows: &["Finding"],
    fields: &[
        text("code", |r| (&*r.code).into()),
        text("severity", |r| r.severity.name().into()),
        text("title", |r| (&r.title).into()),
        text("tap", |r| (&r.tap).into()),
        text("sa", |r| r.sa.as_deref().into()),
        integer("count", |r| r.count.into()),
        integer("first_frame_capture", |r| Value::capture(r.first_frame)),
        integer("first_frame_frame", |r| Value::frame(r.first_frame)),
        integer("last_frame_capture", |r| Value::capture(r.last_frame)),
        integer("last_frame_frame", |r| Value::frame(r.last_frame)),
        time("first", |r| r.first.as_deref().into()),
        time("last", |r| r.last.as_deref().into()),
        integer("first_ns", |r| r.first_ns.into()),
        integer("last_ns", |r| r.last_ns.into()),
        text("evidence", |r| (&r.evidence).into()),
        text("cause", |r| (&r.cause).into()),
        text("remedy", |r| (&r.remedy).into()),
        integer("occurrences_total", |r| r.occurrences_total.into()),
        text("filter", |r| r.filter.as_deref().into()),
        about(
            "What accepts it, so that it does not count for the exit status; empty where it counts.",
            text("accepted_by", |r| r.accepted.as_ref().map(|accepted| accepted.by.name()).into()),
        ),
        about(
            "The reason that the baseline gives, or the option.",
            text("accepted_why", |r| r.accepted.as_ref().map(|accepted| accepted.why.as_str()).into()),
        ),
    ],
};

/// Security associations.
pub(in crate::report) const SAS: Sheet<Sa> = Sheet {
    name: "sas",
    about: "Security associations.",
    rows: &["Sa"],
    fields: &[
        text("id", |r| (&r.id).into()),
        text("tap", |r| (&r.tap).into()),
        text("proto", |r| r.proto.name().into()),
        integer("spi", |r| r.spi.into()),
        text("spi_hex", |r| Value::shown(r.spi_hex)),
        text("src", |r| Value::shown(r.src)),
        text("dst", |r| Value::shown(r.dst)),
        text("encapsulation", |r| r.encapsulation.name().into()),
        text("mode", |r| r.mode.name().into()),
        integer("frames", |r| r.frames.into()),
        integer("fragments", |r| r.fragments.into()),
        integer("outer_bytes", |r| r.outer_bytes.into()),
        integer("copies_removed", |r| r.copies_removed.into()),
        time("first", |r| r.first.into()),
        time("last", |r| r.last.into()),
        integer("first_ns", |r| r.first_ns.into()),
        integer("last_ns", |r| r.last_ns.into()),
        integer("first_frame_capture", |r| Value::capture(r.first_frame)),
        integer("first_frame_frame", |r| Value::frame(r.first_frame)),
        integer("last_frame_capture", |r| Value::capture(r.last_frame)),
        integer("last_frame_frame", |r| Value::frame(r.last_frame)),
        integer("sequence_first", |r| r.sequence.as_ref().map(|s| s.first).into()),
        integer("sequence_last", |r| r.sequence.as_ref().map(|s| s.last).into()),
        integer("sequence_highest", |r| r.sequence.as_ref().map(|s| s.highest).into()),
        integer("sequence_lost", |r| r.sequence.as_ref().map(|s| s.lost).into()),
        integer("sequence_gaps", |r| r.sequence.as_ref().map(|s| s.gaps).into()),
        integer("sequence_longest_gap", |r| r.sequence.as_ref().map(|s| s.longest_gap).into()),
        integer("sequence_duplicate", |r| r.sequence.as_ref().map(|s| s.duplicate).into()),
        integer("sequence_late", |r| r.sequence.as_ref().map(|s| s.late).into()),
        integer("sequence_restarts", |r| r.sequence.as_ref().map(|s| s.restarts).into()),
        integer("sequence_wraps", |r| r.sequence.as_ref().map(|s| s.wraps).into()),
        about(
            "`size:would_drop` for each anti-replay window that would drop packets.",
            list("sequence_replay_window", |r| {
                let windows = r.sequence.iter().flat_map(|s| &s.replay_window);
                Value::made(windows.map(|window| format!("{}:{}", window.size, window.would_drop)))
            }),
        ),
        text("transform_basis", |r| r.transform.basis.name().into()),
        text("transform_name", |r| r.transform.name.as_deref().into()),
        list("transform_candidates", |r| Value::texts(&r.transform.candidates)),
        text("transform_evidence", |r| r.transform.evidence.as_deref().into()),
        integer("icv_bytes", |r| r.icv_bytes.into()),
        real("rate_frames_per_s", |r| r.rate.frames_per_s.into()),
        real("rate_l1_bps", |r| r.rate.l1_bps.into()),
        integer("protection_bytes_min", |r| r.protection_bytes.map(|p| p.min).into()),
        integer("protection_bytes_max", |r| r.protection_bytes.map(|p| p.max).into()),
        text("overhead_basis", |r| r.overhead.basis.name().into()),
        integer("overhead_min_bytes", |r| r.overhead.min_bytes.into()),
        integer("overhead_max_bytes", |r| r.overhead.max_bytes.into()),
        real("overhead_mean_bytes", |r| r.overhead.mean_bytes.into()),
        // Published columns stay where they are.
        integer("fragments_uncertain", |r| r.fragments_uncertain.into()),
        integer("transform_block_bytes", |r| r.transform.block_bytes.into()),
        integer("transform_iv_bytes", |r| r.transform.iv_bytes.into()),
        integer("transform_icv_bytes", |r| r.transform.icv_bytes.into()),
    ],
};

/// Pairs of endpoints with the SAs of each direction.
pub(in crate::report) const TUNNELS: Sheet<Tunnel> = Sheet {
    name: "tunnels",
    about: "Pairs of endpoints with the SAs of each direction.",
    rows: &["Tunnel"],
    fields: &[
        text("tap", |r| (&r.tap).into()),
        text("a", |r| (&r.a).into()),
        text("b", |r| (&r.b).into()),
        list("sas_a_to_b", |r| Value::texts(&r.sas_a_to_b)),
        list("sas_b_to_a", |r| Value::texts(&r.sas_b_to_a)),
        integer("first_ns", |r| r.first_ns.into()),
        integer("last_ns", |r| r.last_ns.into()),
    ],
};

/// Overhead by inner packet size.
pub(in crate::report) const SIZES: Sheet<Size> = Sheet {
    name: "sizes",
    about: "Overhead by inner packet size.",
    rows: &["Size"],
    fields: &[
        text("tap", |r| (&r.tap).into()),
        text("direction", |r| (&r.direction).into()),
        text("sa", |r| r.sa.as_deref().into()),
        text("encapsulation", |r| (&r.encapsulation).into()),
        integer("inner_bytes", |r| r.inner_bytes.into()),
        integer("outer_bytes_min", |r| r.outer_bytes_min.into()),
        integer("outer_bytes_max", |r| r.outer_bytes_max.into()),
        real("outer_bytes_mean", |r| r.outer_bytes_mean.into()),
        integer("frames", |r| r.frames.into()),
        real("frames_per_s", |r| r.frames_per_s.into()),
        integer("overhead_min_bytes", |r| r.overhead_min_bytes.into()),
        integer("overhead_max_bytes", |r| r.overhead_max_bytes.into()),
        real("overhead_mean_bytes", |r| r.overhead_mean_bytes.into()),
        real("overhead_of_inner_pct", |r| r.overhead_of_inner_pct.into()),
        real("overhead_of_l1_pct", |r| r.overhead_of_l1_pct.into()),
        real("circuit_share_pct", |r| r.circuit_share_pct.into()),
        integer("l1_plain_bytes", |r| r.l1_plain_bytes.into()),
        real("l1_tunnel_bytes", |r| r.l1_tunnel_bytes.into()),
        real("l1_plain_bps", |r| r.l1_plain_bps.into()),
        real("l1_tunnel_bps", |r| r.l1_tunnel_bps.into()),
        real("parts_outer_ip", |r| r.parts.outer_ip.into()),
        real("parts_udp", |r| r.parts.udp.into()),
        real("parts_tcp", |r| r.parts.tcp.into()),
        real("parts_gre", |r| r.parts.gre.into()),
        real("parts_ah", |r| r.parts.ah.into()),
        real("parts_esp_header", |r| r.parts.esp_header.into()),
        real("parts_iv", |r| r.parts.iv.into()),
        real("parts_esp_pad", |r| r.parts.esp_pad.into()),
        real("parts_esp_trailer", |r| r.parts.esp_trailer.into()),
        real("parts_icv", |r| r.parts.icv.into()),
        real("parts_fragmentation", |r| r.parts.fragmentation.into()),
        text("basis", |r| r.basis.name().into()),
        real("parts_link", |r| r.parts.link.into()),
    ],
};

/// Averages and peak of each direction.
pub(in crate::report) const RATES: Sheet<DirectionRate> = Sheet {
    name: "rates",
    about: "Averages and peak of each direction.",
    rows: &["DirectionRate"],
    fields: &[
        text("tap", |r| (&r.tap).into()),
        text("direction", |r| (&r.direction).into()),
        text("from", |r| (&r.from).into()),
        text("to", |r| (&r.to).into()),
        real("seconds", |r| r.seconds.into()),
        integer("frames", |r| r.frames.into()),
        real("frames_per_s", |r| r.frames_per_s.into()),
        real("l1_bps", |r| r.l1_bps.into()),
        real("l1_with_control_bps", |r| r.l1_with_control_bps.into()),
        real("l2_bps", |r| r.l2_bps.into()),
        real("l3_bps", |r| r.l3_bps.into()),
        real("goodput_bps", |r| r.goodput_bps.into()),
        real("goodput_min_bps", |r| r.goodput_min_bps.into()),
        real("goodput_max_bps", |r| r.goodput_max_bps.into()),
        real("clear_bps", |r| r.clear_bps.into()),
        real("control_l1_bps", |r| r.control_l1_bps.into()),
        real("utilisation_pct", |r| r.utilisation_pct.into()),
        integer("peak_start_ns", |r| r.peak.map(|peak| peak.start_ns).into()),
        real("peak_l1_bps", |r| r.peak.map(|peak| peak.l1_bps).into()),
        real("peak_frames_per_s", |r| r.peak.map(|peak| peak.frames_per_s).into()),
        text("l1_basis", |r| r.l1_basis.name().into()),
        text("basis", |r| r.basis.name().into()),
        real("if_no_tfc_goodput_min_bps", |r| r.if_no_tfc.and_then(|range| range.goodput_min_bps).into()),
        real("if_no_tfc_goodput_max_bps", |r| r.if_no_tfc.and_then(|range| range.goodput_max_bps).into()),
    ],
};

/// Stacks of headers and how often each occurred.
pub(in crate::report) const LAYERS: Sheet<Layer> = Sheet {
    name: "layers",
    about: "Stacks of headers and how often each occurred.",
    rows: &["Layer"],
    fields: &[
        text("tap", |r| (&r.tap).into()),
        text("stack", |r| (&r.stack).into()),
        integer("frames", |r| r.frames.into()),
        integer("wire_bytes", |r| r.wire_bytes.into()),
    ],
};

/// The inputs.
pub(in crate::report) const CAPTURES: Sheet<Capture> = Sheet {
    name: "captures",
    about: "The inputs.",
    rows: &["Capture"],
    fields: &[
        text("path", |r| (&r.path).into()),
        text("tap", |r| (&r.tap).into()),
        text("format", |r| (&r.format).into()),
        text("compression", |r| r.compression.as_deref().into()),
        list("link_types", |r| Value::texts(&r.link_types)),
        about(
            "Names of its interfaces.",
            list("interfaces", |r| Value::made(r.interfaces.iter().map(|own| own.name.clone().unwrap_or_default()))),
        ),
        integer("frames", |r| r.frames.into()),
        integer("bytes", |r| r.bytes.into()),
        time("first", |r| r.first.as_deref().into()),
        time("last", |r| r.last.as_deref().into()),
        integer("first_ns", |r| r.first_ns.into()),
        integer("last_ns", |r| r.last_ns.into()),
        truth("complete", |r| r.complete.into()),
        integer("damage_offset", |r| r.damage.as_ref().map(|damage| damage.offset).into()),
        integer("damage_frame", |r| r.damage.as_ref().map(|damage| damage.frame).into()),
        text("damage_what", |r| r.damage.as_ref().map(|damage| damage.what.as_str()).into()),
        text("error", |r| r.error.as_deref().into()),
    ],
};
