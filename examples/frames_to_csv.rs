//! The ESP and AH frames of a capture as CSV, one row a frame: `cargo run --example frames_to_csv -- CAPTURE > frames.csv`

use std::error::Error;
use std::io::{self, Write};
use std::path::PathBuf;

use spiglass::capture::Frame;
use spiglass::dissect::Stack;
use spiglass::engine::{FrameSink, frames};
use spiglass::{Input, Quiet, Settings};

/// Writes a row for each SA of a frame.
struct Rows<W: Write>(W);

impl<W: Write> FrameSink for Rows<W> {
    fn capture(&mut self, _name: &str) {}

    fn frame(&mut self, frame: &Frame<'_>, stack: &Stack) -> io::Result<()> {
        for sa in &stack.sas {
            writeln!(self.0, "{},{:?},{:#010x},{}", frame.pos.number(), sa.protocol, sa.spi.0, sa.sequence)?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("name a capture")?;
    let mut rows = Rows(io::stdout().lock());
    writeln!(rows.0, "frame,protocol,spi,sequence")?;
    let input = Input::from(PathBuf::from(path));
    let outcome = frames(&[input], &Settings::default(), &mut rows, &Quiet)?;
    outcome.errors.into_iter().next().map_or(Ok(()), |error| Err(error.into()))
}
