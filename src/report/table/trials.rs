//! The tables of a report of trials.

use super::{Sheet, Value, about, integer, list, real, text, time, truth};
use crate::model::trials::{
    BackToBack, Baseline, Buffer, BufferOfSize, Loss, Model, OpenFigure, Rates, Search, Segment, Throughput, Transfer,
    Trial,
};

/// `latency:no-out-tap`, one for each figure that is null.
fn why(reasons: &[OpenFigure]) -> Value<'static> {
    Value::made(reasons.iter().map(|open| format!("{}:{}", open.figure.name(), open.reason.name())))
}

fn numbers<T: ToString>(numbers: &[T]) -> Value<'static> {
    Value::made(numbers.iter().map(ToString::to_string))
}

fn rate(of: Option<Rates>, part: fn(&Rates) -> Option<f64>) -> Value<'static> {
    of.as_ref().and_then(part).into()
}

/// A table by the members of its rows and how each is written.
macro_rules! sheet {
    ($(#[$doc:meta])* $name:ident: $row:ident, $table:literal, $about:literal: $($kind:ident $member:ident;)*) => {
        $(#[$doc])*
        pub(in crate::report) const $name: Sheet<$row> = Sheet {
            name: $table,
            about: $about,
            rows: &[stringify!($row)],
            fields: &[$(sheet!(@ $kind $member)),*],
        };
    };
    (@ word $m:ident) => { text(stringify!($m), |r| r.$m.name().into()) };
    (@ text $m:ident) => { text(stringify!($m), |r| AsRef::<str>::as_ref(&r.$m).into()) };
    (@ time $m:ident) => { time(stringify!($m), |r| r.$m.into()) };
    (@ count $m:ident) => { integer(stringify!($m), |r| r.$m.into()) };
    (@ real $m:ident) => { real(stringify!($m), |r| r.$m.into()) };
    (@ yes $m:ident) => { truth(stringify!($m), |r| r.$m.into()) };
    (@ numbers $m:ident) => { list(stringify!($m), |r| numbers(&r.$m)) };
    (@ why $m:ident) => { list(stringify!($m), |r| why(&r.$m)) };
}

sheet! {
    /// The trials, in order of time.
    TRIALS: Trial, "trials", "The trials, in order of time.":
    count trial; word direction; word ways; word kind; text size_class; word state; word basis; time start; count start_ns;
    real seconds; real ramp_seconds; real inner_bytes; count sent; count received; count lost; real loss_pct;
    count lost_error; count tunnelled; count lost_before_tunnel; count lost_behind_tunnel; count sequence_lost;
    real offered_fps; real offered_l1_bps; real offered_l2_bps; real offered_l3_bps; real offered_l4_bps; real load_pct;
    real forwarded_fps; yes forwarded_with_drain; real forwarded_l1_bps; real forwarded_l2_bps; real forwarded_l3_bps;
    real forwarded_l4_bps; real tunnel_fps; real tunnel_l1_bps; count control_frames; real control_l1_bps;
    yes latency_modelled; count latency_min_ns; count latency_p50_ns; count latency_p99_ns;
    count latency_max_ns; real latency_mean_ns; count latency_sf_min_ns; count latency_sf_p50_ns;
    count latency_sf_max_ns; count latency_ct_min_ns; count latency_ct_p50_ns;
    count latency_ct_max_ns; count device_latency_p50_ns; real latency_slope_ppm; real slope_error_ppm;
    real ratio; count backlog_max_frames; real drain_seconds; real stall_seconds; real waiting_frames;
    real waited_frames; real buffer_frames; why undetermined; real pause_seconds;
}

sheet! {
    /// Loss by load (RFC 2544 section 26.3).
    LOSS: Loss, "loss", "Loss by load (RFC 2544 section 26.3).":
    count trial; word direction; word ways; text size_class; real load_pct; real loss_pct; word state;
}

sheet! {
    /// The device as a time per packet and a rate.
    MODEL: Model, "model", "The device as a time per packet and a rate.":
    word direction; word ways; numbers sizes; numbers service_ns; real rms_ns; real r_alg_bps; word r_alg_basis;
    real r_alg_at_least_bps; real t_fix_ns; word t_fix_basis; real t_fix_at_most_ns; numbers residual_pct; why undetermined;
}

sheet! {
    /// TCP transfers.
    TRANSFERS: Transfer, "transfers", "TCP transfers.":
    word direction; text src; text dst; count source_port; count destination_port; count payload_bytes; count segments;
    count received_segments; count retransmitted_segments; time first_data; count first_data_ns; real seconds;
    real elapsed_seconds; real goodput_l4_bps; real elapsed_l4_bps; why undetermined;
}

sheet! {
    /// Bursts (RFC 9004).
    BACK_TO_BACK: BackToBack, "back_to_back", "Bursts (RFC 9004).":
    word direction; text size_class; real burst_fps; count bursts; count longest_lossless_frames;
    count shortest_lossy_frames; real buffer_frames; why undetermined;
}

sheet! {
    /// The search for the equilibrium throughput, and the next load to try.
    SEARCH: Search, "search", "The search for the equilibrium throughput, and the next load to try.":
    word direction; word ways; text size_class; text rate_layer; real start_bps; real step_bps; yes done; count iteration;
    real next_load; real next_fps; real repeat_load; real step; word phase; count trials_used; real equilibrium_load;
}

sheet! {
    /// Comparison with a run without the tunnel.
    BASELINE: Baseline, "baseline", "Comparison with a run without the tunnel.":
    word direction; text size_class; count trial; count baseline_trial; real offered_fps; real baseline_mean_ns;
    real latency_mean_ns; count baseline_p50_ns; count latency_p50_ns; real increase_pct; real of_baseline_pct;
    yes comparable; why undetermined;
}

sheet! {
    /// What was sent, and why it is no trial.
    SEGMENTS: Segment, "segments", "What was sent, and why it is no trial.":
    word direction; word kind; time start; count start_ns; real seconds; count frames; text why;
}

/// What each size reaches.
pub(in crate::report) const THROUGHPUT: Sheet<Throughput> = Sheet {
    name: "throughput",
    about: "What each size reaches (RFC 1242 section 3.17).",
    rows: &["Throughput"],
    fields: &[
        text("direction", |r| r.direction.name().into()),
        text("ways", |r| r.ways.name().into()),
        text("size_class", |r| (&r.size_class).into()),
        real("trial_seconds", |r| r.trial_seconds.into()),
        integer("trials", |r| r.trials.into()),
        list("left_out", |r| numbers(&r.left_out)),
        real("equilibrium_fps", |r| rate(r.equilibrium, |rates| Some(rates.fps))),
        real("equilibrium_l1_bps", |r| rate(r.equilibrium, |rates| Some(rates.l1_bps))),
        real("equilibrium_l2_bps", |r| rate(r.equilibrium, |rates| Some(rates.l2_bps))),
        real("equilibrium_l3_bps", |r| rate(r.equilibrium, |rates| Some(rates.l3_bps))),
        real("equilibrium_l4_bps", |r| rate(r.equilibrium, |rates| rates.l4_bps)),
        about(
            "Lower end of the bracket.",
            real("equilibrium_bracket_fps_low", |r| r.equilibrium_bracket_fps.first().copied().flatten().into()),
        ),
        about(
            "Upper end of the bracket.",
            real("equilibrium_bracket_fps_high", |r| r.equilibrium_bracket_fps.last().copied().flatten().into()),
        ),
        text("equilibrium_basis", |r| r.equilibrium_basis.name().into()),
        real("rfc1242_fps", |r| rate(r.rfc1242, |rates| Some(rates.fps))),
        real("rfc1242_l1_bps", |r| rate(r.rfc1242, |rates| Some(rates.l1_bps))),
        real("rfc1242_l2_bps", |r| rate(r.rfc1242, |rates| Some(rates.l2_bps))),
        real("rfc1242_l3_bps", |r| rate(r.rfc1242, |rates| Some(rates.l3_bps))),
        real("rfc1242_l4_bps", |r| rate(r.rfc1242, |rates| rates.l4_bps)),
        about(
            "Lower end of the bracket.",
            real("rfc1242_bracket_fps_low", |r| r.rfc1242_bracket_fps.first().copied().flatten().into()),
        ),
        about(
            "Upper end of the bracket.",
            real("rfc1242_bracket_fps_high", |r| r.rfc1242_bracket_fps.last().copied().flatten().into()),
        ),
        real("mfr_fps", |r| rate(r.mfr, |rates| Some(rates.fps))),
        real("mfr_l1_bps", |r| rate(r.mfr, |rates| Some(rates.l1_bps))),
        real("mfr_l2_bps", |r| rate(r.mfr, |rates| Some(rates.l2_bps))),
        real("mfr_l3_bps", |r| rate(r.mfr, |rates| Some(rates.l3_bps))),
        real("mfr_l4_bps", |r| rate(r.mfr, |rates| rates.l4_bps)),
        real("mfr_offered_fps", |r| r.mfr_offered_fps.into()),
        real("mfrzl_fps", |r| rate(r.mfrzl, |rates| Some(rates.fps))),
        real("mfrzl_l1_bps", |r| rate(r.mfrzl, |rates| Some(rates.l1_bps))),
        real("mfrzl_l2_bps", |r| rate(r.mfrzl, |rates| Some(rates.l2_bps))),
        real("mfrzl_l3_bps", |r| rate(r.mfrzl, |rates| Some(rates.l3_bps))),
        real("mfrzl_l4_bps", |r| rate(r.mfrzl, |rates| rates.l4_bps)),
        real("frmol_fps", |r| r.frmol_fps.into()),
        real("service_fps", |r| r.service_fps.into()),
        text("limit", |r| r.limit.map(|limit| limit.name()).into()),
        truth("monotone", |r| r.monotone.into()),
        real("buffer_frames", |r| r.buffer_frames.into()),
        list("undetermined", |r| why(&r.undetermined)),
    ],
};

/// A buffer and one of the sizes it was measured with.
pub(in crate::report) type SizedBuffer = (Buffer, Option<BufferOfSize>);

/// Buffers, a row for each size.
pub(in crate::report) const BUFFERS: Sheet<SizedBuffer> = Sheet {
    name: "buffers",
    about: "Buffers, a row for each size.",
    rows: &["Buffer", "BufferOfSize"],
    fields: &[
        text("direction", |(r, _)| r.direction.name().into()),
        text("ways", |(r, _)| r.ways.name().into()),
        text("unit", |(r, _)| r.unit.name().into()),
        real("frames_at_least", |(r, _)| r.frames_at_least.into()),
        text("size_class", |(_, s)| s.as_ref().map(|size| size.size_class.as_str()).into()),
        real("frames", |(_, s)| s.as_ref().map(|size| size.frames).into()),
        real("octets", |(_, s)| s.as_ref().map(|size| size.octets).into()),
        list("undetermined", |(r, _)| why(&r.undetermined)),
    ],
};
