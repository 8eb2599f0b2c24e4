//! One table of the report as CSV. Columns carry the names of the JSON report, members of members joined with `_`; lists are
//! joined with `;`. The header row is always there. No text cell begins a formula.

mod pairs;
mod trials;

use std::io::{self, Write};

pub use pairs::{PairRows, PairTable, write_pairs};
pub use trials::{TrialsTable, write_trials};

use crate::model::report::Report;
use crate::report::table::padding::{PADDING, PaddingRow};
use crate::report::table::report::{CAPTURES, FINDINGS, LAYERS, RATES, SAS, SIZES, TUNNELS};
use crate::report::table::series::{BINS, BinRow, GAPS, OUTER_SIZES, SA_BINS, SaBinRow};
use crate::report::table::{Sheet, write_csv};

/// The tables that CSV can hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Table {
    /// `findings[]`
    Findings,
    /// `sas[]`
    Sas,
    /// `tunnels[]`
    Tunnels,
    /// `sizes[]`
    Sizes,
    /// `padding`: all three kinds, told apart by the column `kind`
    Padding,
    /// `rates.directions[]`
    Rates,
    /// `layers[]`
    Layers,
    /// `captures[]`
    Captures,
    /// `gaps[]`
    Gaps,
    /// `rates.bins[]`
    Bins,
    /// `outer_sizes[]`
    OuterSizes,
    /// `rates.sa_bins[]`
    SaBins,
}

impl Table {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::Findings,
        Self::Sas,
        Self::Tunnels,
        Self::Sizes,
        Self::Padding,
        Self::Rates,
        Self::Layers,
        Self::Captures,
        Self::Gaps,
        Self::Bins,
        Self::OuterSizes,
        Self::SaBins,
    ];

    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Findings => "findings",
            Self::Sas => "sas",
            Self::Tunnels => "tunnels",
            Self::Sizes => "sizes",
            Self::Padding => "padding",
            Self::Rates => "rates",
            Self::Layers => "layers",
            Self::Captures => "captures",
            Self::Gaps => "gaps",
            Self::Bins => "bins",
            Self::OuterSizes => "outer_sizes",
            Self::SaBins => "sa_bins",
        }
    }
}

/// Who takes the rows of a table with its description.
pub(super) trait SheetVisitor {
    fn rows<R: 'static>(&mut self, sheet: &Sheet<R>, rows: &mut dyn Iterator<Item = &R>) -> io::Result<()>;
}

/// Hands the rows of a table to `visitor`.
pub(super) fn visit(report: &Report, table: Table, visitor: &mut impl SheetVisitor) -> io::Result<()> {
    match table {
        Table::Findings => visitor.rows(&FINDINGS, &mut report.findings.iter()),
        Table::Sas => visitor.rows(&SAS, &mut report.sas.iter()),
        Table::Tunnels => visitor.rows(&TUNNELS, &mut report.tunnels.iter()),
        Table::Sizes => visitor.rows(&SIZES, &mut report.sizes.iter()),
        Table::Padding => visitor.rows(&PADDING, &mut PaddingRow::all(&report.padding).iter()),
        Table::Rates => visitor.rows(&RATES, &mut report.rates.directions.iter()),
        Table::Layers => visitor.rows(&LAYERS, &mut report.layers.iter()),
        Table::Captures => visitor.rows(&CAPTURES, &mut report.captures.iter()),
        Table::Gaps => visitor.rows(&GAPS, &mut report.gaps.iter()),
        Table::Bins => visitor.rows(&BINS, &mut BinRow::all(&report.rates).iter()),
        Table::OuterSizes => visitor.rows(&OUTER_SIZES, &mut report.outer_sizes.iter()),
        Table::SaBins => visitor.rows(&SA_BINS, &mut SaBinRow::all(report).iter()),
    }
}

struct Csv<'o>(&'o mut dyn Write);

impl SheetVisitor for Csv<'_> {
    fn rows<R: 'static>(&mut self, sheet: &Sheet<R>, rows: &mut dyn Iterator<Item = &R>) -> io::Result<()> {
        write_csv(self.0, sheet, rows)
    }
}

/// Writes one table.
///
/// # Errors
/// Whatever `out` fails with.
pub fn write(report: &Report, table: Table, out: &mut dyn Write) -> io::Result<()> {
    visit(report, table, &mut Csv(out))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    const ALL: [Table; 12] = [
        Table::Findings,
        Table::Sas,
        Table::Tunnels,
        Table::Sizes,
        Table::Padding,
        Table::Rates,
        Table::Layers,
        Table::Captures,
        Table::Gaps,
        Table::Bins,
        Table::OuterSizes,
        Table::SaBins,
    ];

    fn csv(report: &Report, table: Table) -> Vec<Vec<String>> {
        let mut out = Vec::new();
        write(report, table, &mut out).unwrap();
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(out.as_slice());
        reader.records().map(|record| record.unwrap().iter().map(str::to_owned).collect()).collect()
    }

    #[test]
    fn the_header_is_always_there_and_rows_are_as_wide() {
        for table in ALL {
            let empty = csv(&sample::empty(), table);
            assert!(!empty.is_empty(), "{table:?}");
            let full = csv(&sample::report(), table);
            assert_eq!(full[0], empty[0]);
            assert!(full.len() > 1, "{table:?}");
            assert!(full.iter().all(|row| row.len() == full[0].len()));
        }
    }

    #[test]
    fn names_and_values_are_those_of_the_json() {
        let report = sample::report();
        for (table, pointer) in
            [(Table::Sas, "/sas/1"), (Table::Sizes, "/sizes/0"), (Table::Rates, "/rates/directions/0")]
        {
            let json = serde_json::to_value(&report).unwrap();
            let object = json.pointer(pointer).unwrap().as_object().unwrap();
            let header = &csv(&report, table)[0];
            for (name, value) in object {
                let found = match value {
                    serde_json::Value::Object(members) => {
                        members.keys().all(|member| header.contains(&format!("{name}_{member}")))
                    }
                    _ => header.contains(name),
                };
                assert!(found, "{table:?}: {name}");
            }
        }
        let sas = csv(&report, Table::Sas);
        let column = |name: &str| sas[0].iter().position(|cell| cell == name).unwrap();
        assert_eq!(sas[2][column("sequence_lost")], "15");
        assert_eq!(sas[2][column("sequence_replay_window")], "32:3;64:1");
        assert_eq!(sas[2][column("spi")], "1001");
    }

    #[test]
    fn strangers_write_no_formulas() {
        for table in ALL {
            for cell in csv(&sample::hostile(), table).into_iter().flatten() {
                assert!(!cell.starts_with(['=', '+', '@']), "{cell}");
                assert!(!cell.chars().any(char::is_control), "{cell}");
            }
        }
    }
}
