//! Frames become rows: the engine hands them over, the report floor writes them.

use std::io::{self, Write};

use crate::capture::Frame;
use crate::dissect::Stack;
use crate::engine::FrameSink;
use crate::report::frame_row::FrameRows;
#[cfg(feature = "parquet")]
use crate::report::parquet::{FrameTables, Partition};

impl<W: Write> FrameSink for FrameRows<W> {
    fn capture(&mut self, name: &str) {
        self.set_capture(name);
    }

    #[inline]
    fn frame(&mut self, frame: &Frame<'_>, stack: &Stack) -> io::Result<()> {
        self.write(frame, stack)
    }

    fn flush(&mut self) -> io::Result<()> {
        FrameRows::flush(self)
    }
}

#[cfg(feature = "parquet")]
impl<W, O, D> FrameSink for FrameTables<W, O, D>
where
    W: Write + Send,
    O: FnMut(&Partition) -> io::Result<W>,
    D: FnMut(W) -> io::Result<()>,
{
    fn capture(&mut self, name: &str) {
        self.set_capture(name);
    }

    #[inline]
    fn frame(&mut self, frame: &Frame<'_>, stack: &Stack) -> io::Result<()> {
        self.write(frame, stack)
    }

    /// A file is there when it is complete: rows that are waited for come with the others.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
