//! Captures that come while they are read: pipes and standard input, which may have nothing to say for hours.
//!
//! A read that waits cannot be called off. So a thread of its own reads, and whoever waits for it looks now and then whether the
//! run is to end. It ends with what was read, as if the capture had ended there. The thread is left to its read.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use super::input::Progress;
use crate::capture::{CaptureReader, Source};
use crate::model::{CaptureId, Error};

/// How long an interrupt may go unnoticed.
const PATIENCE: Duration = Duration::from_millis(50);
/// Octets of one read: what a pipe holds by default.
const PIECE: usize = 1 << 16;
/// Reads that may wait to be taken.
const WAITING: usize = 4;

/// Opens a capture; one that may have nothing to say for a while is read by a thread, where the run can be interrupted.
pub(super) fn open(source: &Source, capture: CaptureId, progress: &dyn Progress) -> Result<CaptureReader, Error> {
    let Some(stop) = progress.interrupt().filter(|_| is_live(source)) else {
        return CaptureReader::open(source, capture);
    };
    let (pieces, taken) = sync_channel(WAITING);
    let from = source.clone();
    thread::spawn(move || read(&from, &pieces));
    let waiting = Waiting { pieces: taken, stop, piece: Vec::new(), at: 0 };
    CaptureReader::from_reader(source.name(), Box::new(waiting), capture)
}

fn is_live(source: &Source) -> bool {
    match source {
        Source::Stdin => true,
        Source::Memory(_) => false,
        Source::Path(path) => std::fs::metadata(path).is_ok_and(|about| !about.is_file() && !about.is_dir()),
    }
}

/// Reads to the end, or until nobody wants more. Opening may wait as well: a named pipe waits for its writer.
fn read(source: &Source, pieces: &SyncSender<io::Result<Vec<u8>>>) {
    let mut input = match source.open() {
        Ok(opened) => opened.input,
        Err(error) => {
            // Whoever does not want it any more has gone.
            let _ = pieces.send(Err(error));
            return;
        }
    };
    loop {
        let mut piece = vec![0; PIECE];
        let read = match input.read(&mut piece) {
            Ok(0) => return,
            Ok(n) => {
                piece.truncate(n);
                Ok(piece)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
        let failed = read.is_err();
        if pieces.send(read).is_err() || failed {
            return;
        }
    }
}

/// What the thread has read.
struct Waiting {
    pieces: Receiver<io::Result<Vec<u8>>>,
    stop: Arc<AtomicBool>,
    piece: Vec<u8>,
    at: usize,
}

impl Read for Waiting {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at >= self.piece.len() {
            match self.pieces.recv_timeout(PATIENCE) {
                Ok(piece) => {
                    self.piece = piece?;
                    self.at = 0;
                }
                Err(RecvTimeoutError::Timeout) if !self.stop.load(Ordering::Relaxed) => {}
                Err(_) => return Ok(0),
            }
        }
        let rest = self.piece.get(self.at..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        self.at += count;
        Ok(count)
    }
}
