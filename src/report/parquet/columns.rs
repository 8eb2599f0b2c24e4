//! Rows of a table as columns of a Parquet file.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

use crate::report::table::{Field, FieldKind, Sheet, Value};

/// Rows that are held as columns at a time.
const GROUP: usize = 1 << 16;

/// Writes rows and returns the file.
pub(super) fn write_rows<W: Write + Send, R>(out: W, sheet: &Sheet<R>, rows: &[&R]) -> io::Result<W> {
    let written = || -> Result<W, ParquetError> {
        let mut file = begin(out, schema(sheet)?, compressed().build())?;
        for rows in rows.chunks(GROUP) {
            let mut group = file.next_row_group()?;
            write_group(&mut group, sheet, rows)?;
            group.close()?;
        }
        file.into_inner()
    };
    written().map_err(io::Error::other)
}

/// A file without rows yet.
pub(super) fn begin<W: Write + Send>(
    out: W,
    schema: Arc<Type>,
    properties: impl Into<Arc<WriterProperties>>,
) -> Result<SerializedFileWriter<W>, ParquetError> {
    SerializedFileWriter::new(out, schema, properties.into())
}

/// How every file is written.
pub(super) fn compressed() -> WriterPropertiesBuilder {
    WriterProperties::builder().set_compression(Compression::SNAPPY)
}

/// Writes rows as one group.
pub(super) fn write_group<W: Write + Send, R>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    sheet: &Sheet<R>,
    rows: &[&R],
) -> Result<(), ParquetError> {
    let mut fields = sheet.fields.iter();
    while let (Some(mut column), Some(field)) = (group.next_column()?, fields.next()) {
        write_column(&mut column, field, rows)?;
        column.close()?;
    }
    Ok(())
}

/// The columns of a table.
pub(super) fn schema<R>(sheet: &Sheet<R>) -> Result<Arc<Type>, ParquetError> {
    schema_of(sheet.name, sheet.fields.iter().map(|field| column_type(field.name, field.kind)))
}

/// The same of columns that were made one by one.
pub(super) fn schema_of(
    table: &str,
    columns: impl Iterator<Item = Result<Type, ParquetError>>,
) -> Result<Arc<Type>, ParquetError> {
    let columns = columns.map(|column| column.map(Arc::new)).collect::<Result<_, ParquetError>>()?;
    Type::group_type_builder(table).with_fields(columns).build().map(Arc::new)
}

pub(super) fn column_type(name: &str, kind: FieldKind) -> Result<Type, ParquetError> {
    let (physical, logical) = match kind {
        FieldKind::Text | FieldKind::List => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        FieldKind::Time => (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::NANOS))),
        FieldKind::Integer => (Physical::INT64, None),
        FieldKind::Real => (Physical::DOUBLE, None),
        FieldKind::Truth => (Physical::BOOLEAN, None),
    };
    let column = Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL);
    column.with_logical_type(logical).build()
}

fn write_column<R>(column: &mut SerializedColumnWriter<'_>, field: &Field<R>, rows: &[&R]) -> Result<(), ParquetError> {
    let cells = rows.iter().map(|row| (field.value)(row));
    match field.kind {
        FieldKind::Text | FieldKind::List => put::<ByteArrayType>(column, cells.map(|cell| Ok(text(&cell)))),
        FieldKind::Time => put::<Int64Type>(column, cells.map(|cell| Ok(moment(&cell)))),
        FieldKind::Integer => put::<Int64Type>(column, cells.map(|cell| whole(field.name, &cell))),
        FieldKind::Real => put::<DoubleType>(column, cells.map(|cell| Ok(number(&cell)))),
        FieldKind::Truth => put::<BoolType>(
            column,
            cells.map(|cell| match cell {
                Value::Truth(yes) => Ok(Some(yes)),
                _ => Ok(None),
            }),
        ),
    }
}

/// Writes the cells that there are, and which ones these are.
fn put<T: DataType>(
    column: &mut SerializedColumnWriter<'_>,
    cells: impl Iterator<Item = Result<Option<T::T>, ParquetError>>,
) -> Result<(), ParquetError> {
    let (mut values, mut present) = (Vec::new(), Vec::new());
    for cell in cells {
        let cell = cell?;
        present.push(i16::from(cell.is_some()));
        values.extend(cell);
    }
    column.typed::<T>().write_batch(&values, Some(&present), None).map(drop)
}

fn text(cell: &Value<'_>) -> Option<ByteArray> {
    match cell {
        Value::Text(text) => Some(text.as_bytes().to_vec().into()),
        Value::List(texts) => Some(texts.join(";").into_bytes().into()),
        _ => None,
    }
}

/// Nanoseconds since the epoch.
fn moment(cell: &Value<'_>) -> Option<i64> {
    let words = match cell {
        Value::Time(time) => time.to_string(),
        Value::Text(text) => text.to_string(),
        _ => return None,
    };
    let moment: jiff::Timestamp = words.parse().ok()?;
    i64::try_from(moment.as_nanosecond()).ok()
}

/// A figure that does not fit would be another one.
fn whole(name: &str, cell: &Value<'_>) -> Result<Option<i64>, ParquetError> {
    match cell {
        Value::Integer(number) => i64::try_from(*number)
            .map(Some)
            .map_err(|_| ParquetError::General(format!("{name} = {number} does not fit into 64 bits with a sign"))),
        _ => Ok(None),
    }
}

fn number(cell: &Value<'_>) -> Option<f64> {
    match cell {
        Value::Real(number) | Value::Fraction(number) => Some(*number).filter(|number| number.is_finite()),
        Value::Integer(number) => Some(*number as f64),
        _ => None,
    }
}
