//! The published tables, each described once: its columns with name, kind and meaning, and what of a row fills them. CSV is
//! written from here, `docs/columns.md` too, and any other form of these tables should be.

pub(super) mod calc;
pub(super) mod frames;
pub(super) mod padding;
pub(super) mod pairs;
#[cfg(test)]
mod reference;
pub(super) mod report;
pub(super) mod series;
pub(super) mod trials;
mod value;

use std::io::{self, Write};

use serde::{Serialize, Serializer};

pub(super) use value::Value;

/// What the cells of a column are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FieldKind {
    /// Words.
    Text,
    /// A moment in RFC 3339.
    Time,
    /// Texts joined with `;`.
    List,
    /// A whole number.
    Integer,
    /// A number that may have a fraction.
    Real,
    /// `true` or `false`.
    Truth,
}

/// A column of a table whose rows are made of `R`.
pub(super) struct Field<R> {
    pub(super) name: &'static str,
    #[cfg_attr(not(any(test, feature = "parquet")), expect(dead_code, reason = "CSV has no types"))]
    pub(super) kind: FieldKind,
    /// What it means, where it is no member of the row's JSON object: such a member says it itself.
    #[cfg_attr(not(test), expect(dead_code, reason = "the reference of the columns is made by a test"))]
    pub(super) about: Option<&'static str>,
    pub(super) value: for<'r> fn(&'r R) -> Value<'r>,
}

/// A column with what it means.
pub(super) const fn about<R>(about: &'static str, field: Field<R>) -> Field<R> {
    Field { about: Some(about), ..field }
}

/// A published table, whose rows are made of `R`.
pub(super) struct Sheet<R: 'static> {
    #[cfg_attr(not(any(test, feature = "parquet")), expect(dead_code, reason = "CSV has no name inside"))]
    pub(super) name: &'static str,
    /// What its rows are.
    #[cfg_attr(not(test), expect(dead_code, reason = "the reference of the columns is made by a test"))]
    pub(super) about: &'static str,
    /// The objects of the JSON output that its rows are, by the names of their types in its schema: their members say what columns mean.
    #[cfg_attr(not(test), expect(dead_code, reason = "the reference of the columns is made by a test"))]
    pub(super) rows: &'static [&'static str],
    pub(super) fields: &'static [Field<R>],
}

macro_rules! kinds {
    ($($(#[$about:meta])* $name:ident: $kind:ident)*) => {
        $(
            $(#[$about])*
            pub(super) const fn $name<R>(name: &'static str, value: for<'r> fn(&'r R) -> Value<'r>) -> Field<R> {
                Field { name, kind: FieldKind::$kind, about: None, value }
            }
        )*
    };
}

kinds! {
    /// A column of words.
    text: Text
    /// A column of moments.
    time: Time
    /// A column of lists.
    list: List
    /// A column of whole numbers.
    integer: Integer
    /// A column of numbers.
    real: Real
    /// A column of `true` and `false`.
    truth: Truth
}

/// Writes a table as CSV: the names of its columns, then the rows. Absent is empty, and no text begins a formula.
///
/// # Errors
/// Whatever `out` fails with.
pub(super) fn write_csv<'r, R: 'static>(
    out: &mut dyn Write,
    sheet: &Sheet<R>,
    rows: impl IntoIterator<Item = &'r R>,
) -> io::Result<()> {
    let mut csv = CsvTable::new(out, sheet)?;
    rows.into_iter().try_for_each(|row| csv.row(row))?;
    csv.flush()
}

/// A table that is written as CSV, each row as it comes.
pub(super) struct CsvTable<W: Write, R: 'static> {
    writer: csv::Writer<W>,
    fields: &'static [Field<R>],
    cell: String,
}

impl<W: Write, R> CsvTable<W, R> {
    /// Begins with the names of the columns.
    pub(super) fn new(out: W, sheet: &Sheet<R>) -> io::Result<Self> {
        let mut writer = csv::Writer::from_writer(out);
        writer.write_record(sheet.fields.iter().map(|field| field.name)).map_err(as_io)?;
        Ok(Self { writer, fields: sheet.fields, cell: String::new() })
    }

    pub(super) fn row(&mut self, row: &R) -> io::Result<()> {
        for field in self.fields {
            self.cell.clear();
            (field.value)(row).show(&mut self.cell);
            self.writer.write_field(&self.cell).map_err(as_io)?;
        }
        self.writer.write_record(None::<&[u8]>).map_err(as_io)
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// What the output failed with, of the kind that it was: a reader that has enough is no failure.
fn as_io(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

/// A row as an object of JSON, with a member for each column.
pub(super) struct Object<'r, R: 'static>(pub(super) &'r Sheet<R>, pub(super) &'r R);

impl<R> Serialize for Object<'_, R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(sheet, row) = self;
        serializer.collect_map(sheet.fields.iter().map(|field| (field.name, (field.value)(row))))
    }
}
