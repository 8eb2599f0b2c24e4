//! Rows without end as Parquet: a group of rows at a time, and another file when one has many groups, so that memory does not grow with
//! the rows.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

use super::columns::begin;
use super::{Partition, digest};

/// Groups of rows in one file: what a file says of its groups is held until it is complete.
const GROUPS: usize = if cfg!(test) { 2 } else { 256 };

/// The files of rows of one capture, or of one run.
pub(super) struct PartFiles<W: Write + Send, O, D> {
    open: O,
    done: D,
    schema: Arc<Type>,
    properties: Arc<WriterProperties>,
    file: Option<SerializedFileWriter<W>>,
    /// Groups in the file that is open.
    groups: usize,
    /// Files that are complete.
    parts: usize,
}

/// Where the rows belong.
pub(super) struct Place<'p> {
    pub(super) table: &'static str,
    pub(super) day: &'p str,
    pub(super) stream: &'p str,
    /// What the rows are made of, for the names of files.
    pub(super) of: &'p str,
}

impl<W, O, D> PartFiles<W, O, D>
where
    W: Write + Send,
    O: FnMut(&Partition) -> io::Result<W>,
    D: FnMut(W) -> io::Result<()>,
{
    pub(super) fn new(schema: Arc<Type>, properties: WriterProperties, open: O, done: D) -> Self {
        Self { open, done, schema, properties: properties.into(), file: None, groups: 0, parts: 0 }
    }

    /// Writes a group of rows.
    pub(super) fn group(
        &mut self,
        place: &Place<'_>,
        fill: impl FnOnce(&mut SerializedRowGroupWriter<'_, W>) -> Result<(), ParquetError>,
    ) -> io::Result<()> {
        if self.groups == GROUPS {
            self.close()?;
        }
        let file = match &mut self.file {
            Some(file) => file,
            None => {
                let digest = digest(&format!("{}\n{}", place.of, self.parts));
                let partition = Partition {
                    table: place.table,
                    day: place.day.to_owned(),
                    stream: place.stream.to_owned(),
                    digest,
                };
                let out = (self.open)(&partition)?;
                let (schema, properties) = (Arc::clone(&self.schema), Arc::clone(&self.properties));
                self.file.insert(begin(out, schema, properties).map_err(io::Error::other)?)
            }
        };
        let written = || {
            let mut group = file.next_row_group()?;
            fill(&mut group)?;
            group.close().map(drop)
        };
        written().map_err(io::Error::other)?;
        self.groups += 1;
        Ok(())
    }

    /// Completes the file that is open.
    fn close(&mut self) -> io::Result<()> {
        self.groups = 0;
        let Some(file) = self.file.take() else { return Ok(()) };
        self.parts += 1;
        (self.done)(file.into_inner().map_err(io::Error::other)?)
    }

    /// Completes the file that is open; the next rows are of something else.
    pub(super) fn end(&mut self) -> io::Result<()> {
        self.close()?;
        self.parts = 0;
        Ok(())
    }
}
