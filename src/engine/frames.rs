//! One row per frame: captures are read, dissected and written one after another, in the order given.

use std::io::{self, Write};

use super::input::{Input, Progress, ProgressUpdate, Settings};
use super::start::start_of;
use crate::analysis;
use crate::capture::{CaptureInfo, CaptureReader, Chunk, Frame};
use crate::dissect::{DissectOptions, Stack, dissect};
use crate::model::{CaptureId, Error, Timestamp};
use crate::report::frame_row::{FrameRows, RowFormat};

/// What came of writing rows.
#[derive(Debug, Default)]
pub struct FramesOutcome {
    /// What the captures said of themselves, damage included.
    pub captures: Vec<CaptureInfo>,
    /// Inputs that could not be read at all.
    pub errors: Vec<Error>,
    /// Rows written.
    pub rows: u64,
    /// Whether the reader of the output went away; not an error.
    pub closed: bool,
}

/// Writes a row for every frame that the filters admit.
///
/// # Errors
/// Where `out` fails with anything but a closed pipe.
pub fn frames(
    inputs: &[Input],
    settings: &Settings,
    format: RowFormat,
    out: impl Write,
    progress: &dyn Progress,
) -> io::Result<FramesOutcome> {
    let mut outcome = FramesOutcome::default();
    let start = start_of(inputs, settings);
    let mut pass = Pass {
        filter: resolved(settings, start),
        pending: settings.clone(),
        options: DissectOptions { udp_ports: settings.udp_ports.clone(), overlay: settings.overlay },
        stack: Stack::default(),
        rows: FrameRows::new(out, format),
        written: 0,
    };
    let result = pass.all(inputs, &mut outcome, progress).and_then(|()| pass.rows.flush());
    outcome.rows = pass.written;
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => outcome.closed = true,
        other => other?,
    }
    Ok(outcome)
}

/// Everything that is kept from frame to frame.
struct Pass<W: Write> {
    /// `None` until the first frame's time is known, where a limit counts from it.
    filter: Option<analysis::Settings>,
    pending: Settings,
    options: DissectOptions,
    stack: Stack,
    rows: FrameRows<W>,
    written: u64,
}

impl<W: Write> Pass<W> {
    fn all(&mut self, inputs: &[Input], outcome: &mut FramesOutcome, progress: &dyn Progress) -> io::Result<()> {
        let mut chunk = Chunk::new();
        for (id, input) in inputs.iter().enumerate() {
            if progress.interrupted() {
                break;
            }
            let id = CaptureId::try_from(id).unwrap_or(CaptureId::MAX);
            match CaptureReader::open(&input.source, id) {
                Ok(mut reader) => {
                    let result = self.one(&mut reader, &mut chunk, progress);
                    outcome.captures.push(reader.info().clone());
                    result?;
                }
                Err(error) => outcome.errors.push(error),
            }
        }
        Ok(())
    }

    fn one(&mut self, reader: &mut CaptureReader, chunk: &mut Chunk, progress: &dyn Progress) -> io::Result<()> {
        self.rows.set_capture(&reader.info().path.to_string_lossy());
        let live = reader.info().bytes_total.is_none();
        while !progress.interrupted() && reader.next_chunk(chunk) {
            for frame in chunk.frames() {
                self.frame(&frame)?;
            }
            if live {
                // Who watches a pipe wants rows when they come, not when a buffer is full.
                self.rows.flush()?;
            }
            let info = reader.info();
            progress.update(&ProgressUpdate {
                path: &info.path,
                bytes_done: info.bytes_consumed,
                bytes_total: info.bytes_total,
                frames: info.frames,
            });
        }
        Ok(())
    }

    fn frame(&mut self, frame: &Frame<'_>) -> io::Result<()> {
        if self.filter.is_none() {
            self.filter = resolved(&self.pending, frame.time);
        }
        let Some(filter) = &self.filter else { return Ok(()) };
        if !filter.admits_time(frame.time) {
            return Ok(());
        }
        dissect(frame, &self.options, &mut self.stack);
        if !filter.admits(&self.stack) {
            return Ok(());
        }
        self.written += 1;
        self.rows.write(frame, &self.stack)
    }
}

/// The filters with all limits as moments; `None` where one counts from a start that is not known.
fn resolved(settings: &Settings, start: Timestamp) -> Option<analysis::Settings> {
    (!settings.is_relative() || start != Timestamp::UNKNOWN).then(|| settings.resolve(start))
}

#[cfg(test)]
mod tests {
    use super::super::Quiet;
    use super::*;
    use crate::capture::Source;

    /// Four ARP-less Ethernet frames, one a second.
    fn capture() -> Vec<u8> {
        let mut bytes = 0xa1b2_c3d4_u32.to_le_bytes().to_vec();
        bytes.extend([2, 0, 4, 0]);
        bytes.extend([0; 8]);
        bytes.extend(65_535_u32.to_le_bytes());
        bytes.extend(1_u32.to_le_bytes());
        for second in 0..4_u32 {
            for word in [100 + second, 0, 60, 60] {
                bytes.extend(word.to_le_bytes());
            }
            bytes.extend([0; 60]);
        }
        bytes
    }

    fn run(settings: &Settings) -> (FramesOutcome, String) {
        let path = std::env::temp_dir().join(format!("spiglass-frames-{}-{:p}.pcap", std::process::id(), settings));
        std::fs::write(&path, capture()).unwrap();
        let inputs = [
            Input { source: Source::Path("/nonexistent.pcap".into()), tap: None },
            Input { source: Source::Path(path.clone()), tap: None },
        ];
        let mut out = Vec::new();
        let outcome = frames(&inputs, settings, RowFormat::Csv, &mut out, &Quiet).unwrap();
        std::fs::remove_file(path).unwrap();
        (outcome, String::from_utf8(out).unwrap())
    }

    #[test]
    fn one_bad_input_does_not_stop_the_others() {
        let (outcome, text) = run(&Settings::default());
        assert_eq!((outcome.errors.len(), outcome.captures.len(), outcome.rows), (1, 1, 4));
        assert_eq!(text.lines().count(), 5);
    }

    #[test]
    fn filters_keep_the_numbers_of_frames() {
        let settings = Settings {
            from: Some(super::super::TimeBound::Relative(1_000_000_000)),
            to: Some(super::super::TimeBound::Absolute(Timestamp::from_ns(103_000_000_000))),
            ..Settings::default()
        };
        let (outcome, text) = run(&settings);
        assert_eq!(outcome.rows, 2);
        assert!(text.lines().nth(1).unwrap().contains(".pcap,2,101000000000,"), "{text}");
    }

    #[test]
    fn a_closed_pipe_is_no_error() {
        struct Closed;
        impl Write for Closed {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let outcome = frames(&[], &Settings::default(), RowFormat::Csv, Closed, &Quiet).unwrap();
        assert!(outcome.closed);
    }
}
