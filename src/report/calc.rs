//! The answer of the calculator as JSON, CSV and JSON lines.

use std::io::{self, Write};

use crate::report::table::calc::{SIZES, TRANSFORMS, size_rows};
use crate::report::table::{Object, write_csv};
use crate::report::words::harmless::Harmless;
use crate::transform::calculation::Calculation;

/// The tables that CSV can hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Table {
    /// One row per transform and size.
    Sizes,
    /// One row per transform.
    Transforms,
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
    for row in size_rows(answer) {
        serde_json::to_writer(Harmless(&mut *out), &Object(&SIZES, &row)).map_err(io::Error::from)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// One table, header row always.
///
/// # Errors
/// Whatever `out` fails with.
pub fn csv(answer: &Calculation, table: Table, out: &mut dyn Write) -> io::Result<()> {
    match table {
        Table::Sizes => write_csv(out, &SIZES, &size_rows(answer).collect::<Vec<_>>()),
        Table::Transforms => write_csv(out, &TRANSFORMS, &answer.transforms),
    }
}
