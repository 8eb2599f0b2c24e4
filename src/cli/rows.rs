//! Frames become rows: the engine hands them over, the report floor writes them.

use std::io::{self, Write};

use crate::capture::Frame;
use crate::dissect::Stack;
use crate::engine::FrameSink;
use crate::report::frame_row::FrameRows;

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
