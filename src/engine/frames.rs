//! Frame by frame: captures are read and dissected one after another, in the order given, and whoever asked takes each
//! frame with its stack; where its SA has a key, decrypted.

use std::io;

use super::input::{Input, Progress, ProgressUpdate, Settings};
use super::start::start_of;
use crate::analysis;
use crate::capture::{CaptureInfo, CaptureReader, Chunk, Frame};
use crate::dissect::Stack;
use crate::keys::Dissector;
use crate::model::{CaptureId, Error, Timestamp};

/// Who takes the frames that the filters admit.
pub trait FrameSink {
    /// The next frames are of this capture, as it was named.
    fn capture(&mut self, name: &str);

    /// Takes a frame and what was read of it. Where a key opened it, the stack goes on into what was decrypted; its offsets are those of
    /// `frame`, whose octets have plaintext in the place of ciphertext then.
    ///
    /// # Errors
    /// Whatever the sink's output fails with; the pass ends then.
    fn frame(&mut self, frame: &Frame<'_>, stack: &Stack) -> io::Result<()>;

    /// Lets go of all that is held back: at the end, and wherever a live capture has no more for now.
    ///
    /// # Errors
    /// Whatever the sink's output fails with; the pass ends then.
    fn flush(&mut self) -> io::Result<()>;
}

/// What came of a pass over frames.
#[derive(Debug, Default)]
#[must_use = "`errors` names the inputs that could not be read"]
pub struct FramesOutcome {
    /// What the captures said of themselves, damage included.
    pub captures: Vec<CaptureInfo>,
    /// Inputs that could not be read at all.
    pub errors: Vec<Error>,
    /// Frames that the sink took.
    pub frames: u64,
    /// Whether whoever reads the sink's output went away; not an error.
    pub closed: bool,
}

/// Hands every frame that the filters admit to `sink`.
///
/// # Errors
/// Where the sink fails with anything but a closed pipe.
pub fn frames(
    inputs: &[Input],
    settings: &Settings,
    sink: &mut impl FrameSink,
    progress: &dyn Progress,
) -> io::Result<FramesOutcome> {
    let mut outcome = FramesOutcome::default();
    let start = start_of(inputs, settings);
    let mut pass = Pass {
        filter: resolved(settings, start),
        pending: settings.clone(),
        dissector: Dissector::new(&settings.expectation, settings.dissect_options()),
        sink,
        taken: 0,
    };
    let result = pass.all(inputs, &mut outcome, progress).and_then(|()| pass.sink.flush());
    outcome.frames = pass.taken;
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => outcome.closed = true,
        other => other?,
    }
    Ok(outcome)
}

/// Everything that is kept from frame to frame.
struct Pass<'s, S: FrameSink> {
    /// `None` until the first frame's time is known, where a limit counts from it.
    filter: Option<analysis::Settings>,
    pending: Settings,
    dissector: Dissector,
    sink: &'s mut S,
    taken: u64,
}

impl<S: FrameSink> Pass<'_, S> {
    fn all(&mut self, inputs: &[Input], outcome: &mut FramesOutcome, progress: &dyn Progress) -> io::Result<()> {
        let mut chunk = Chunk::new();
        for (id, input) in inputs.iter().enumerate() {
            if progress.interrupted() {
                break;
            }
            let id = CaptureId::try_from(id).unwrap_or(CaptureId::MAX);
            match super::live::open(&input.source, id, progress) {
                Ok(mut reader) => {
                    let result = self.one(&mut reader, &mut chunk, progress);
                    if progress.interrupted() {
                        reader.forgive_cut();
                    }
                    outcome.captures.push(reader.info().clone());
                    result?;
                }
                // A pipe that had not said anything yet is no error.
                Err(_) if progress.interrupted() => {}
                Err(error) => outcome.errors.push(error),
            }
        }
        Ok(())
    }

    fn one(&mut self, reader: &mut CaptureReader, chunk: &mut Chunk, progress: &dyn Progress) -> io::Result<()> {
        self.sink.capture(&reader.info().path.to_string_lossy());
        let live = reader.info().bytes_total.is_none();
        while !progress.interrupted() && reader.next_chunk(chunk) {
            for frame in chunk.frames() {
                self.frame(&frame)?;
            }
            if live {
                // Who watches a pipe wants frames when they come, not when a buffer is full.
                self.sink.flush()?;
            }
            let info = reader.info();
            progress.update(&ProgressUpdate::of(info));
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
        let sight = self.dissector.open(frame);
        if !filter.admits(sight.stack) {
            return Ok(());
        }
        self.taken += 1;
        self.sink.frame(&sight.in_clear(), sight.stack)
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

    /// Number and time of each frame, and the capture it is of.
    #[derive(Default)]
    struct Seen {
        captures: Vec<String>,
        frames: Vec<(u64, i64)>,
        flushes: usize,
    }

    impl FrameSink for Seen {
        fn capture(&mut self, name: &str) {
            self.captures.push(name.to_owned());
        }
        fn frame(&mut self, frame: &Frame<'_>, _: &Stack) -> io::Result<()> {
            self.frames.push((frame.pos.number(), frame.time.ns().unwrap()));
            Ok(())
        }
        fn flush(&mut self) -> io::Result<()> {
            self.flushes += 1;
            Ok(())
        }
    }

    fn run(settings: &Settings) -> (FramesOutcome, Seen) {
        let path = std::env::temp_dir().join(format!("spiglass-frames-{}-{:p}.pcap", std::process::id(), settings));
        std::fs::write(&path, capture()).unwrap();
        let inputs = [
            Input { source: Source::Path("/nonexistent.pcap".into()), tap: None },
            Input { source: Source::Path(path.clone()), tap: None },
        ];
        let mut seen = Seen::default();
        let outcome = frames(&inputs, settings, &mut seen, &Quiet).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(seen.captures, [path.to_str().unwrap()]);
        (outcome, seen)
    }

    #[test]
    fn one_bad_input_does_not_stop_the_others() {
        let (outcome, seen) = run(&Settings::default());
        assert_eq!((outcome.errors.len(), outcome.captures.len(), outcome.frames), (1, 1, 4));
        assert_eq!((seen.frames.len(), seen.flushes), (4, 1), "a file is flushed once, at the end");
    }

    #[test]
    fn filters_keep_the_numbers_of_frames() {
        let settings = Settings {
            from: Some(super::super::TimeBound::Relative(1_000_000_000)),
            to: Some(super::super::TimeBound::Absolute(Timestamp::from_ns(103_000_000_000))),
            ..Settings::default()
        };
        let (outcome, seen) = run(&settings);
        assert_eq!(outcome.frames, 2);
        assert_eq!(seen.frames, [(2, 101_000_000_000), (3, 102_000_000_000)]);
    }

    #[test]
    fn a_closed_pipe_is_no_error() {
        struct Closed;
        impl FrameSink for Closed {
            fn capture(&mut self, _: &str) {}
            fn frame(&mut self, _: &Frame<'_>, _: &Stack) -> io::Result<()> {
                Ok(())
            }
            fn flush(&mut self) -> io::Result<()> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
        }
        let outcome = frames(&[], &Settings::default(), &mut Closed, &Quiet).unwrap();
        assert!(outcome.closed);
    }
}
