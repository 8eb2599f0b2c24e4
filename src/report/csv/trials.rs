//! Tables of a report of trials. Columns carry the names of the JSON report, members of members joined with `_`; absent is empty.

use std::io::{self, Write};

use crate::model::report::Capture;
use crate::model::trials::{Buffer, TrialsReport};
use crate::report::table::report::{CAPTURES, FINDINGS};
use crate::report::table::trials::{
    BACK_TO_BACK, BASELINE, BUFFERS, LOSS, MODEL, SEARCH, SEGMENTS, THROUGHPUT, TRANSFERS, TRIALS,
};
use crate::report::table::write_csv;

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
        TrialsTable::Trials => write_csv(out, &TRIALS, &report.trials),
        TrialsTable::Throughput => write_csv(out, &THROUGHPUT, &report.throughput),
        TrialsTable::Loss => write_csv(out, &LOSS, &report.loss),
        TrialsTable::Model => write_csv(out, &MODEL, &report.model),
        TrialsTable::Transfers => write_csv(out, &TRANSFERS, &report.transfers),
        TrialsTable::Buffers => {
            let of = |buffer: &Buffer| {
                let sizes = buffer.by_size.iter().map(|size| (buffer.clone(), Some(size.clone())));
                if buffer.by_size.is_empty() { vec![(buffer.clone(), None)] } else { sizes.collect() }
            };
            write_csv(out, &BUFFERS, &report.buffers.iter().flat_map(of).collect::<Vec<_>>())
        }
        TrialsTable::BackToBack => write_csv(out, &BACK_TO_BACK, &report.back_to_back),
        TrialsTable::Search => write_csv(out, &SEARCH, &report.search),
        TrialsTable::Baseline => write_csv(out, &BASELINE, &report.baseline),
        TrialsTable::Segments => write_csv(out, &SEGMENTS, &report.segments),
        TrialsTable::Findings => write_csv(out, &FINDINGS, &report.findings),
        TrialsTable::Captures => {
            let captures: Vec<Capture> = report.taps.iter().flat_map(|tap| tap.captures.iter().cloned()).collect();
            write_csv(out, &CAPTURES, &captures)
        }
    }
}
