//! The rows of frames as Parquet, as they come.

use std::io::{self, Write};

use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedRowGroupWriter;

use super::columns::{column_type, put_column, schema_of};
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
        let (files, rows) = (PartFiles::new(schema, open, done), FrameColumns::new());
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

/// Rows as columns.
struct FrameColumns {
    columns: Vec<Cells>,
    /// The column of the next cell.
    at: usize,
    count: usize,
    capture: ByteArray,
    /// Names of recent shapes, most recent last.
    stacks: Vec<(Shape, ByteArray)>,
    addresses: AddressTexts<ByteArray>,
}

/// The cells of a column that there are, and which ones these are.
enum Cells {
    Numbers(Vec<i64>, Vec<i16>),
    Texts(Vec<ByteArray>, Vec<i16>),
}

impl FrameColumns {
    fn new() -> Self {
        let cells = |kind: FieldKind| match kind {
            FieldKind::Integer => Cells::Numbers(Vec::new(), Vec::new()),
            _ => Cells::Texts(Vec::new(), Vec::new()),
        };
        let columns = FRAMES.iter().map(|(_, kind, _)| cells(*kind)).collect();
        Self {
            columns,
            at: 0,
            count: 0,
            capture: ByteArray::default(),
            stacks: Vec::new(),
            addresses: AddressTexts::new(),
        }
    }

    /// Writes the rows and holds none.
    fn write<W: Write + Send>(&mut self, group: &mut SerializedRowGroupWriter<'_, W>) -> Result<(), ParquetError> {
        self.count = 0;
        let mut columns = self.columns.iter_mut();
        while let (Some(mut writer), Some(cells)) = (group.next_column()?, columns.next()) {
            match cells {
                Cells::Numbers(values, present) => put_column::<Int64Type>(&mut writer, values, present)?,
                Cells::Texts(values, present) => put_column::<ByteArrayType>(&mut writer, values, present)?,
            }
            writer.close()?;
        }
        Ok(())
    }

    fn cell(&mut self, number: Option<i64>, text: impl FnOnce() -> Option<ByteArray>) {
        match self.columns.get_mut(self.at) {
            Some(Cells::Numbers(values, present)) => {
                present.push(i16::from(number.is_some()));
                values.extend(number);
            }
            Some(Cells::Texts(values, present)) => {
                let text = text();
                present.push(i16::from(text.is_some()));
                values.extend(text);
            }
            None => {}
        }
        self.at += 1;
    }

    fn words(&mut self, text: String) {
        self.cell(None, || Some(text.into_bytes().into()));
    }
}

impl FrameCells for FrameColumns {
    fn absent(&mut self) {
        self.cell(None, || None);
    }

    fn number(&mut self, number: u64) {
        self.cell(i64::try_from(number).ok(), || Some(number.to_string().into_bytes().into()));
    }

    fn signed(&mut self, number: i64) {
        self.cell(Some(number), || Some(number.to_string().into_bytes().into()));
    }

    fn capture(&mut self) {
        let name = self.capture.clone();
        self.cell(None, || Some(name));
    }

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
        self.cell(None, || Some(name));
    }

    fn text(&mut self, text: &str) {
        self.words(text.to_owned());
    }

    fn address(&mut self, address: Address) {
        let text = self.addresses.of(address, |text| text.into_bytes().into()).cloned();
        self.cell(None, || text);
    }

    fn word(&mut self, word: &'static str) {
        self.words(word.to_owned());
    }

    fn joined(&mut self, numbers: impl Iterator<Item = Option<u32>> + Clone) {
        if numbers.clone().all(|number| number.is_none()) {
            return self.absent();
        }
        let words = numbers.map(|number| number.map_or_else(String::new, |number| number.to_string()));
        self.words(words.collect::<Vec<_>>().join(";"));
    }
}
