//! Tables of a report of trials. Columns carry the names of the JSON report, members of members joined with `_`; absent is empty.

use std::io::{self, Write};

use super::{CAPTURES, Cell, Column, FINDINGS, rows, wide};
use crate::model::report::Capture;
use crate::model::trials::{
    BackToBack, Baseline, Buffer, Loss, Model, Rates, Search, Segment, Throughput, Transfer, Trial, TrialsReport,
    Undetermined,
};

/// The tables that CSV can hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum TrialsTable {
    /// `trials[]`
    Trials,
    /// `throughput[]`
    Throughput,
    /// `loss[]`
    Loss,
    /// `model[]`
    Model,
    /// `transfers[]`
    Transfers,
    /// `buffers[]`, one row for each size
    Buffers,
    /// `back_to_back[]`
    BackToBack,
    /// `search[]`
    Search,
    /// `baseline[]`
    Baseline,
    /// `segments[]`
    Segments,
    /// `findings[]`
    Findings,
    /// `captures[]` of all taps
    Captures,
}

impl TrialsTable {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::Trials,
        Self::Throughput,
        Self::Loss,
        Self::Model,
        Self::Transfers,
        Self::Buffers,
        Self::BackToBack,
        Self::Search,
        Self::Baseline,
        Self::Segments,
        Self::Findings,
        Self::Captures,
    ];

    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Trials => "trials",
            Self::Throughput => "throughput",
            Self::Loss => "loss",
            Self::Model => "model",
            Self::Transfers => "transfers",
            Self::Buffers => "buffers",
            Self::BackToBack => "back_to_back",
            Self::Search => "search",
            Self::Baseline => "baseline",
            Self::Segments => "segments",
            Self::Findings => "findings",
            Self::Captures => "captures",
        }
    }
}

/// Writes one table.
///
/// # Errors
/// Whatever `out` fails with.
pub fn write_trials(report: &TrialsReport, table: TrialsTable, out: &mut dyn Write) -> io::Result<()> {
    match table {
        TrialsTable::Trials => rows(out, TRIALS, &report.trials),
        TrialsTable::Throughput => rows(out, THROUGHPUT, &report.throughput),
        TrialsTable::Loss => rows(out, LOSS, &report.loss),
        TrialsTable::Model => rows(out, MODEL, &report.model),
        TrialsTable::Transfers => rows(out, TRANSFERS, &report.transfers),
        TrialsTable::Buffers => {
            let of = |buffer: &Buffer| {
                let sizes = buffer.by_size.iter().map(|size| (buffer.clone(), Some(size.clone())));
                if buffer.by_size.is_empty() { vec![(buffer.clone(), None)] } else { sizes.collect() }
            };
            rows(out, BUFFERS, &report.buffers.iter().flat_map(of).collect::<Vec<_>>())
        }
        TrialsTable::BackToBack => rows(out, BACK_TO_BACK, &report.back_to_back),
        TrialsTable::Search => rows(out, SEARCH, &report.search),
        TrialsTable::Baseline => rows(out, BASELINE, &report.baseline),
        TrialsTable::Segments => rows(out, SEGMENTS, &report.segments),
        TrialsTable::Findings => rows(out, FINDINGS, &report.findings),
        TrialsTable::Captures => {
            let captures: Vec<Capture> = report.taps.iter().flat_map(|tap| tap.captures.iter().cloned()).collect();
            rows(out, CAPTURES, &captures)
        }
    }
}

/// `latency:no-out-tap`, one for each figure that is null.
fn why(cell: &mut Cell, reasons: &[Undetermined]) {
    let words: Vec<String> =
        reasons.iter().map(|open| format!("{}:{}", open.figure.name(), open.reason.name())).collect();
    cell.list(&words);
}

fn real(of: Option<Rates>, part: fn(&Rates) -> Option<f64>) -> Option<f64> {
    of.as_ref().and_then(part)
}

/// Columns by the name of the member and how it is written.
macro_rules! columns {
    ($row:ty: $($kind:ident $($member:ident).+;)*) => {
        &[$((columns!(@name $($member).+), |r: &$row, c: &mut Cell| columns!(@fill $kind r c $($member).+))),*]
    };
    (@name $member:ident) => { stringify!($member) };
    (@fill word $r:ident $c:ident $($m:ident).+) => { $c.text($r.$($m).+.name()) };
    (@fill text $r:ident $c:ident $($m:ident).+) => { $c.text(&$r.$($m).+) };
    (@fill time $r:ident $c:ident $($m:ident).+) => { $c.optional_time(Some($r.$($m).+)) };
    (@fill count $r:ident $c:ident $($m:ident).+) => { $c.number(i128::from($r.$($m).+)) };
    (@fill maybe_count $r:ident $c:ident $($m:ident).+) => { $c.number(wide($r.$($m).+)) };
    (@fill real $r:ident $c:ident $($m:ident).+) => { $c.real($r.$($m).+) };
    (@fill yes $r:ident $c:ident $($m:ident).+) => { $c.yes($r.$($m).+) };
    (@fill why $r:ident $c:ident $($m:ident).+) => { why($c, &$r.$($m).+) };
    (@fill numbers $r:ident $c:ident $($m:ident).+) => {
        $c.list(&$r.$($m).+.iter().map(ToString::to_string).collect::<Vec<_>>())
    };
}

const TRIALS: &[Column<Trial>] = columns! { Trial:
    count trial; word direction; word ways; word kind; text size_class; word state; word basis; time start; count start_ns;
    real seconds; real ramp_seconds; real inner_bytes; count sent; count received; count lost; real loss_pct;
    maybe_count tunnelled; maybe_count lost_before_tunnel; maybe_count lost_behind_tunnel; maybe_count sequence_lost;
    real offered_fps; real offered_l1_bps; real offered_l2_bps; real offered_l3_bps; real offered_l4_bps; real load_pct;
    real forwarded_fps; yes forwarded_with_drain; real forwarded_l1_bps; real forwarded_l2_bps; real forwarded_l3_bps;
    real forwarded_l4_bps; real tunnel_fps; real tunnel_l1_bps; count control_frames; real control_l1_bps;
    yes latency_modelled; maybe_count latency_min_ns; maybe_count latency_p50_ns; maybe_count latency_p99_ns;
    maybe_count latency_max_ns; real latency_mean_ns; maybe_count latency_sf_min_ns; maybe_count latency_sf_p50_ns;
    maybe_count latency_sf_max_ns; maybe_count latency_ct_min_ns; maybe_count latency_ct_p50_ns;
    maybe_count latency_ct_max_ns; maybe_count device_latency_p50_ns; real latency_slope_ppm; real slope_error_ppm;
    real ratio; maybe_count backlog_max_frames; real drain_seconds; real stall_seconds; real waiting_frames;
    real waited_frames; real buffer_frames; why undetermined;
};

const THROUGHPUT: &[Column<Throughput>] = &[
    ("direction", |r, c| c.text(r.direction.name())),
    ("ways", |r, c| c.text(r.ways.name())),
    ("size_class", |r, c| c.text(&r.size_class)),
    ("trial_seconds", |r, c| c.real(r.trial_seconds)),
    ("trials", |r, c| c.number(i128::from(r.trials))),
    ("left_out", |r, c| c.list(&r.left_out.iter().map(ToString::to_string).collect::<Vec<_>>())),
    ("equilibrium_fps", |r, c| c.real(real(r.equilibrium, |rates| Some(rates.fps)))),
    ("equilibrium_l1_bps", |r, c| c.real(real(r.equilibrium, |rates| Some(rates.l1_bps)))),
    ("equilibrium_l2_bps", |r, c| c.real(real(r.equilibrium, |rates| Some(rates.l2_bps)))),
    ("equilibrium_l3_bps", |r, c| c.real(real(r.equilibrium, |rates| Some(rates.l3_bps)))),
    ("equilibrium_l4_bps", |r, c| c.real(real(r.equilibrium, |rates| rates.l4_bps))),
    ("equilibrium_bracket_fps_low", |r, c| c.real(r.equilibrium_bracket_fps.first().copied().flatten())),
    ("equilibrium_bracket_fps_high", |r, c| c.real(r.equilibrium_bracket_fps.last().copied().flatten())),
    ("equilibrium_basis", |r, c| c.text(r.equilibrium_basis.name())),
    ("rfc1242_fps", |r, c| c.real(real(r.rfc1242, |rates| Some(rates.fps)))),
    ("rfc1242_l1_bps", |r, c| c.real(real(r.rfc1242, |rates| Some(rates.l1_bps)))),
    ("rfc1242_l2_bps", |r, c| c.real(real(r.rfc1242, |rates| Some(rates.l2_bps)))),
    ("rfc1242_l3_bps", |r, c| c.real(real(r.rfc1242, |rates| Some(rates.l3_bps)))),
    ("rfc1242_l4_bps", |r, c| c.real(real(r.rfc1242, |rates| rates.l4_bps))),
    ("rfc1242_bracket_fps_low", |r, c| c.real(r.rfc1242_bracket_fps.first().copied().flatten())),
    ("rfc1242_bracket_fps_high", |r, c| c.real(r.rfc1242_bracket_fps.last().copied().flatten())),
    ("mfr_fps", |r, c| c.real(real(r.mfr, |rates| Some(rates.fps)))),
    ("mfr_l1_bps", |r, c| c.real(real(r.mfr, |rates| Some(rates.l1_bps)))),
    ("mfr_l2_bps", |r, c| c.real(real(r.mfr, |rates| Some(rates.l2_bps)))),
    ("mfr_l3_bps", |r, c| c.real(real(r.mfr, |rates| Some(rates.l3_bps)))),
    ("mfr_l4_bps", |r, c| c.real(real(r.mfr, |rates| rates.l4_bps))),
    ("mfr_offered_fps", |r, c| c.real(r.mfr_offered_fps)),
    ("mfrzl_fps", |r, c| c.real(real(r.mfrzl, |rates| Some(rates.fps)))),
    ("mfrzl_l1_bps", |r, c| c.real(real(r.mfrzl, |rates| Some(rates.l1_bps)))),
    ("mfrzl_l2_bps", |r, c| c.real(real(r.mfrzl, |rates| Some(rates.l2_bps)))),
    ("mfrzl_l3_bps", |r, c| c.real(real(r.mfrzl, |rates| Some(rates.l3_bps)))),
    ("mfrzl_l4_bps", |r, c| c.real(real(r.mfrzl, |rates| rates.l4_bps))),
    ("frmol_fps", |r, c| c.real(r.frmol_fps)),
    ("service_fps", |r, c| c.real(r.service_fps)),
    ("limit", |r, c| c.optional_text(r.limit.map(|limit| limit.name()))),
    ("monotone", |r, c| c.yes(r.monotone)),
    ("buffer_frames", |r, c| c.real(r.buffer_frames)),
    ("undetermined", |r, c| why(c, &r.undetermined)),
];

const LOSS: &[Column<Loss>] = columns! { Loss:
    count trial; word direction; word ways; text size_class; real load_pct; real loss_pct; word state;
};

const MODEL: &[Column<Model>] = columns! { Model:
    word direction; word ways; numbers sizes; numbers service_ns; real rms_ns; real r_alg_bps; word r_alg_basis;
    real r_alg_at_least_bps; real t_fix_ns; word t_fix_basis; real t_fix_at_most_ns; numbers residual_pct; why undetermined;
};

const TRANSFERS: &[Column<Transfer>] = columns! { Transfer:
    word direction; text src; text dst; count source_port; count destination_port; count payload_bytes; count segments;
    maybe_count received_segments; count retransmitted_segments; time first_data; count first_data_ns; real seconds;
    real elapsed_seconds; real goodput_l4_bps; real elapsed_l4_bps; why undetermined;
};

type SizedBuffer = (Buffer, Option<crate::model::trials::BufferOfSize>);

const BUFFERS: &[Column<SizedBuffer>] = &[
    ("direction", |(r, _), c| c.text(r.direction.name())),
    ("ways", |(r, _), c| c.text(r.ways.name())),
    ("unit", |(r, _), c| c.text(r.unit.name())),
    ("frames_at_least", |(r, _), c| c.real(r.frames_at_least)),
    ("size_class", |(_, s), c| c.optional_text(s.as_ref().map(|size| size.size_class.as_str()))),
    ("frames", |(_, s), c| c.real(s.as_ref().map(|size| size.frames))),
    ("octets", |(_, s), c| c.real(s.as_ref().map(|size| size.octets))),
    ("undetermined", |(r, _), c| why(c, &r.undetermined)),
];

const BACK_TO_BACK: &[Column<BackToBack>] = columns! { BackToBack:
    word direction; text size_class; real burst_fps; count bursts; maybe_count longest_lossless_frames;
    maybe_count shortest_lossy_frames; real buffer_frames; why undetermined;
};

const SEARCH: &[Column<Search>] = columns! { Search:
    word direction; word ways; text size_class; text rate_layer; real start_bps; real step_bps; yes done; count iteration;
    real next_load; real next_fps; real repeat_load; real step; word phase; count trials_used; real equilibrium_load;
};

const BASELINE: &[Column<Baseline>] = columns! { Baseline:
    word direction; text size_class; count trial; count baseline_trial; real offered_fps; real baseline_mean_ns;
    real latency_mean_ns; maybe_count baseline_p50_ns; maybe_count latency_p50_ns; real increase_pct; real of_baseline_pct;
    yes comparable; why undetermined;
};

const SEGMENTS: &[Column<Segment>] = columns! { Segment:
    word direction; word kind; time start; count start_ns; real seconds; count frames; text why;
};
