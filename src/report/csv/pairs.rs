//! Tables of a report of pairs.

use std::io::{self, Write};

use crate::model::pairs::{MatchReport, Pair};
use crate::report::table::pairs::{
    DIRECTIONS, ENDS, LOST, OUTSIDE, PADDING, PAIRS, PairNames, PairRow, SIZES, SPREAD, SpreadRow,
};
use crate::report::table::report::{CAPTURES, FINDINGS};
use crate::report::table::{CsvTable, write_csv};

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
    /// `bins[]`
    Bins,
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
        Self::Bins,
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
            Self::Bins => "bins",
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
        PairTable::Directions => write_csv(out, &DIRECTIONS, &report.directions),
        PairTable::Sizes => write_csv(out, &SIZES, &report.sizes),
        PairTable::Padding => write_csv(out, &PADDING, &report.padding.examples),
        PairTable::Lost => write_csv(out, &LOST, &report.lost),
        PairTable::Outside => write_csv(out, &OUTSIDE, &report.outside),
        PairTable::Ends => write_csv(out, &ENDS, &report.ends),
        PairTable::Findings => write_csv(out, &FINDINGS, &report.findings),
        PairTable::Bins => write_csv(out, &SPREAD, &SpreadRow::all(report)),
        PairTable::Captures => {
            let sides = [Some(&report.plain), Some(&report.tunnel), report.exit.as_ref()];
            write_csv(out, &CAPTURES, sides.into_iter().flatten().flat_map(|side| &side.captures))
        }
    }
}

/// Pairs as rows, as they come.
pub struct PairRows<W: Write> {
    csv: CsvTable<W, PairRow>,
    names: PairNames,
}

impl<W: Write> PairRows<W> {
    /// Writes the header row. `plain` and `tunnel` are the names of the captures that frame references count.
    ///
    /// # Errors
    /// Whatever `out` fails with.
    pub fn new(out: W, plain: Vec<String>, tunnel: Vec<String>) -> io::Result<Self> {
        Ok(Self { csv: CsvTable::new(out, &PAIRS)?, names: PairNames::new(plain, tunnel) })
    }

    /// Writes one pair.
    ///
    /// # Errors
    /// Whatever the output fails with.
    pub fn write(&mut self, pair: &Pair) -> io::Result<()> {
        self.csv.row(&self.names.row(pair))
    }

    /// Lets go of what is held back.
    ///
    /// # Errors
    /// Whatever the output fails with.
    pub fn flush(&mut self) -> io::Result<()> {
        self.csv.flush()
    }
}
