//! The rows of frames as Parquet, as they come.

use std::io::{self, Write};

use parquet::basic::Encoding;
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use parquet::file::writer::SerializedRowGroupWriter;
use parquet::schema::types::ColumnPath;

use super::columns::{column_type, compressed, schema_of};
use super::parts::{PartFiles, Place};
use super::{Partition, day_of, stream_of};
use crate::capture::Frame;
use crate::dissect::{Shape, Stack, stack_name};
use crate::model::Address;
use crate::report::frame_row::cells::{AddressTexts, FrameCells, fill};
use crate::report::table::FieldKind;
use crate::report::table::frames::FRAMES;

/// Rows that are held at a time.
const GROUP: usize = 1 << 14;
/// Captures have few shapes; beyond this many, names are made anew.
const STACKS: usize = 64;

/// Writes the rows of frames, the files of each capture apart.
pub struct FrameTables<W: Write + Send, O, D> {
    files: PartFiles<W, O, D>,
    rows: FrameColumns,
    /// What was asked for besides captures, for the names of files.
    asked: String,
    /// The capture that the rows are of.
    capture: String,
    /// Time of the first row, once there is one.
    begins: Option<Option<i64>>,
    /// The capture that the next rows are of.
    next: Option<String>,
}

impl<W, O, D> FrameTables<W, O, D>
where
    W: Write + Send,
    O: FnMut(&Partition) -> io::Result<W>,
    D: FnMut(W) -> io::Result<()>,
{
    /// `open` makes the file of a partition, `done` takes it when it is complete. `asked`: the options that rows depend on.
    ///
    /// # Errors
    /// Where the columns make no table.
    pub fn new(asked: String, open: O, done: D) -> io::Result<Self> {
        let fields = FRAMES.iter().map(|(name, kind, _)| column_type(name, *kind));
        let schema = schema_of("frames", fields).map_err(io::Error::other)?;
        let (files, rows) = (PartFiles::new(schema, properties(), open, done), FrameColumns::new());
        Ok(Self { files, rows, asked, capture: String::new(), begins: None, next: None })
    }

    /// The capture that the next rows belong to, as it was named.
    pub fn set_capture(&mut self, name: &str) {
        self.next = Some(name.to_owned());
    }

    /// Writes the row of one frame.
    ///
    /// # Errors
    /// Whatever the files fail with.
    pub fn write(&mut self, frame: &Frame<'_>, stack: &Stack) -> io::Result<()> {
        if let Some(next) = self.next.take() {
            self.finish()?;
            self.rows.capture = next.clone().into_bytes().into();
            self.capture = next;
        }
        self.begins.get_or_insert_with(|| frame.time.ns());
        self.rows.at = 0;
        fill(&mut self.rows, frame, stack);
        self.rows.count += 1;
        if self.rows.count == GROUP { self.group() } else { Ok(()) }
    }

    fn group(&mut self) -> io::Result<()> {
        let begins = self.begins.flatten();
        let of = format!("{}\n{}\n{}", self.capture, self.asked, begins.unwrap_or(i64::MIN));
        let place = Place { table: "frames", day: &day_of(begins), stream: &stream_of(&self.capture), of: &of };
        let rows = &mut self.rows;
        self.files.group(&place, |group| rows.write(group))
    }

    /// Completes the files of the capture.
    ///
    /// # Errors
    /// Whatever the files fail with.
    pub fn finish(&mut self) -> io::Result<()> {
        if self.rows.count > 0 {
            self.group()?;
        }
        self.begins = None;
        self.files.end()
    }
}

/// Numbers that hardly repeat are told by their differences, texts that hardly repeat by their lengths and octets; all else has a table of its
/// distinct values. Of texts no least and no greatest is kept: frames of several SAs are mixed, so that it would exclude no group.
fn properties() -> WriterProperties {
    let encoded = |properties: WriterPropertiesBuilder, name: &'static str, encoding| {
        let column = ColumnPath::from(name);
        properties.set_column_dictionary_enabled(column.clone(), false).set_column_encoding(column, encoding)
    };
    let mut properties = compressed().set_statistics_enabled(EnabledStatistics::Chunk);
    for (name, kind, _) in FRAMES {
        if !matches!(kind, FieldKind::Integer) {
            properties = properties.set_column_statistics_enabled(ColumnPath::from(name), EnabledStatistics::None);
        }
    }
    for name in ["frame", "time_ns"] {
        properties = encoded(properties, name, Encoding::DELTA_BINARY_PACKED);
    }
    for name in ["ah_sequence", "esp_sequence"] {
        properties = encoded(properties, name, Encoding::DELTA_LENGTH_BYTE_ARRAY);
    }
    properties.build()
}

/// Rows as columns.
struct FrameColumns {
    columns: Vec<Column>,
    /// The column of the next cell.
    at: usize,
    count: usize,
    /// Texts that are met once, one behind the other: an allocation for each of them would take longer than all else.
    unique: Vec<u8>,
    capture: ByteArray,
    /// Names of recent shapes, most recent last.
    stacks: Vec<(Shape, ByteArray)>,
    words: Vec<(&'static str, ByteArray)>,
    addresses: AddressTexts<ByteArray>,
}

/// A column: the cells that there are, and by row whether there is one.
struct Column {
    cells: Cells,
    present: Vec<i16>,
}

/// The cells that there are.
enum Cells {
    Numbers(Vec<i64>),
    /// Texts, and which of them are to be taken from those that are met once: its place, where it begins and where it ends.
    Texts(Vec<ByteArray>, Vec<(usize, usize, usize)>),
}

impl FrameColumns {
    fn new() -> Self {
        let cells = |kind: FieldKind| match kind {
            FieldKind::Integer => Cells::Numbers(Vec::new()),
            _ => Cells::Texts(Vec::new(), Vec::new()),
        };
        let column = |kind| Column { cells: cells(kind), present: vec![0; GROUP] };
        Self {
            columns: FRAMES.iter().map(|(_, kind, _)| column(*kind)).collect(),
            at: 0,
            count: 0,
            unique: Vec::new(),
            capture: ByteArray::default(),
            stacks: Vec::new(),
            words: Vec::new(),
            addresses: AddressTexts::new(),
        }
    }

    /// Writes the rows and holds none.
    fn write<W: Write + Send>(&mut self, group: &mut SerializedRowGroupWriter<'_, W>) -> Result<(), ParquetError> {
        let count = std::mem::take(&mut self.count);
        let next = Vec::with_capacity(self.unique.len());
        let unique = ByteArray::from(std::mem::replace(&mut self.unique, next));
        let mut columns = self.columns.iter_mut();
        while let (Some(mut writer), Some(Column { cells, present })) = (group.next_column()?, columns.next()) {
            let levels = present.get(..count).unwrap_or_default();
            match cells {
                Cells::Numbers(values) => {
                    writer.typed::<Int64Type>().write_batch(values, Some(levels), None)?;
                    values.clear();
                }
                Cells::Texts(values, places) => {
                    for (place, start, end) in places.drain(..) {
                        if let Some(value) = values.get_mut(place) {
                            *value = unique.slice(start, end - start);
                        }
                    }
                    writer.typed::<ByteArrayType>().write_batch(values, Some(levels), None)?;
                    values.clear();
                }
            }
            present.fill(0);
            writer.close()?;
        }
        Ok(())
    }

    /// The cells of the next column, which is told whether this row has one that can be told.
    #[inline]
    fn next_cells(&mut self, number: bool) -> Option<&mut Cells> {
        let Column { cells, present } = self.columns.get_mut(self.at)?;
        self.at += 1;
        let is_told = !matches!(cells, Cells::Numbers(_)) || number;
        *present.get_mut(self.count)? = i16::from(is_told);
        Some(cells)
    }

    #[inline]
    fn cell(&mut self, number: Option<i64>, text: impl FnOnce() -> String) {
        match (self.next_cells(number.is_some()), number) {
            (Some(Cells::Numbers(values)), Some(number)) => values.push(number),
            (Some(Cells::Texts(values, _)), _) => values.push(text().into_bytes().into()),
            _ => {}
        }
    }

    #[inline]
    fn known(&mut self, text: ByteArray) {
        if let Some(Cells::Texts(values, _)) = self.next_cells(false) {
            values.push(text);
        }
    }
}

impl FrameCells for FrameColumns {
    #[inline]
    fn absent(&mut self) {
        self.at += 1;
    }

    #[inline]
    fn absents(&mut self, n: usize) {
        self.at += n;
    }

    #[inline]
    fn number(&mut self, number: u64) {
        self.cell(i64::try_from(number).ok(), || number.to_string());
    }

    #[inline]
    fn signed(&mut self, number: i64) {
        self.cell(Some(number), || number.to_string());
    }

    #[inline]
    fn capture(&mut self) {
        self.known(self.capture.clone());
    }

    #[inline]
    fn stack(&mut self, shape: Shape) {
        let known = self.stacks.iter().rev().find(|(known, _)| *known == shape).map(|(_, name)| name.clone());
        let name = known.unwrap_or_else(|| {
            if self.stacks.len() == STACKS {
                self.stacks.remove(0);
            }
            let name: ByteArray = stack_name(shape).into_bytes().into();
            self.stacks.push((shape, name.clone()));
            name
        });
        self.known(name);
    }

    fn text(&mut self, text: &str) {
        self.known(text.as_bytes().to_vec().into());
    }

    #[inline]
    fn address(&mut self, address: Address) {
        match self.addresses.of(address, |text| text.into_bytes().into()).cloned() {
            Some(text) => self.known(text),
            None => self.absent(),
        }
    }

    #[inline]
    fn word(&mut self, word: &'static str) {
        let known = self.words.iter().find(|(known, _)| *known == word).map(|(_, text)| text.clone());
        let text = known.unwrap_or_else(|| {
            let text: ByteArray = word.as_bytes().to_vec().into();
            self.words.push((word, text.clone()));
            text
        });
        self.known(text);
    }

    #[inline]
    fn joined(&mut self, numbers: impl Iterator<Item = Option<u32>> + Clone) {
        let start = self.unique.len();
        let mut any = false;
        for (at, number) in numbers.enumerate() {
            if at > 0 {
                self.unique.push(b';');
            }
            if let Some(number) = number {
                any = true;
                self.unique.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
            }
        }
        if !any {
            self.unique.truncate(start);
            return self.absent();
        }
        let end = self.unique.len();
        if let Some(Cells::Texts(values, places)) = self.next_cells(false) {
            places.push((values.len(), start, end));
            values.push(ByteArray::default());
        }
    }
}
