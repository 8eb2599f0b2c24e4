//! Captures that come while they are read: pipes and standard input, which may have nothing to say for hours.
//!
//! A read that waits cannot be called off. So a thread of its own reads, and the reader that waits for it looks every few
//! milliseconds whether the run is to end. The key that interrupts a run interrupts what writes to the pipe or the growing file as well,
//! and that writes what it still holds before it ends: both are read to their end, as long as something comes. The thread is left to
//! its read.

pub(super) mod growing;
#[cfg(feature = "cli")]
pub(super) mod signals;

use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::capture::{CaptureReader, Source};
use crate::engine::input::Progress;
use crate::model::{CaptureId, Error};

/// How long an interrupt may go unnoticed.
pub(super) const PATIENCE: Duration = Duration::from_millis(50);
/// Octets of one read: what a pipe holds by default.
const PIECE: usize = 1 << 16;
/// Reads that may wait to be taken.
const WAITING: usize = 4;
/// How long a pipe or a growing file may say nothing after an interrupt before it counts as ended.
const QUIET: Duration = Duration::from_secs(2);
/// How long either is read after an interrupt if what writes to it does not end.
const LONGEST: Duration = Duration::from_secs(10);

/// The user's request to end a run and report what was read.
///
/// Files are left where they are being read; pipes and growing files are read to their end, unless they say nothing for two seconds or go
/// on for ten.
#[derive(Debug, Default)]
pub struct Interrupt {
    asked: OnceLock<Instant>,
    /// Pipes that are being read.
    pipes: AtomicUsize,
    /// Growing files that are being read.
    growing: AtomicUsize,
    /// One of them said nothing more, and is left.
    left: AtomicBool,
    /// A report of what was read so far is wanted now.
    wanted: AtomicBool,
    /// Such a report is wanted so often.
    every: OnceLock<Duration>,
    /// When the last one was made, or the run began.
    reported: Mutex<Option<Instant>>,
    /// Whether an input that has nothing to say may be left for a report.
    may_pause: AtomicBool,
}

impl Interrupt {
    /// Asks for the end. Whether that is the first time.
    pub fn ask(&self) -> bool {
        self.asked.set(Instant::now()).is_ok()
    }

    /// Whether the end was asked for.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        self.asked.get().is_some()
    }

    /// Wants a report of what was read so far, while the run goes on.
    pub fn want_report(&self) {
        self.wanted.store(true, Ordering::SeqCst);
    }

    /// Wants such a report so often. The first answer stays.
    pub fn want_reports_every(&self, interval: Duration) {
        // One that was said before stays.
        let _ = self.every.set(interval);
    }

    /// Whether a report of what was read so far is to be made now.
    pub(super) fn is_report_due(&self) -> bool {
        if self.wanted.load(Ordering::SeqCst) {
            return true;
        }
        let Some(every) = self.every.get() else { return false };
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        reported.get_or_insert_with(Instant::now).elapsed() >= *every
    }

    /// Takes note that it was made.
    pub(super) fn reported(&self) {
        self.wanted.store(false, Ordering::SeqCst);
        *self.reported.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// Allows inputs to stop waiting where a report is due: no decompressor stands between, which would take that for an error.
    pub(super) fn allow_pauses(&self, allowed: bool) {
        self.may_pause.store(allowed, Ordering::SeqCst);
    }

    /// What an input that has nothing to say answers instead of waiting on.
    pub(super) fn pause(&self) -> io::Result<()> {
        let pauses = self.may_pause.load(Ordering::SeqCst) && self.is_report_due();
        if pauses { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(()) }
    }

    /// Whether pipes are being read.
    #[must_use]
    pub fn has_pipes(&self) -> bool {
        self.pipes.load(Ordering::SeqCst) > 0
    }

    /// Whether files are read while they grow.
    #[must_use]
    pub fn has_growing(&self) -> bool {
        self.growing.load(Ordering::SeqCst) > 0
    }

    /// Whether the run should end now.
    #[must_use]
    pub fn is_due(&self) -> bool {
        let over = |asked: &Instant| {
            let drained = !self.has_pipes() && !self.has_growing();
            asked.elapsed() >= LONGEST || self.left.load(Ordering::SeqCst) || drained
        };
        self.asked.get().is_some_and(over)
    }

    /// Whether an input that last brought something at `newest` is to be left although it has not ended; `quiet` where nothing waits to be
    /// taken.
    fn is_over(&self, newest: Instant, quiet: bool) -> bool {
        let Some(asked) = self.asked.get() else { return false };
        if quiet && newest.max(*asked).elapsed() >= QUIET {
            self.left.store(true, Ordering::SeqCst);
        }
        self.is_due()
    }
}

/// An input that an interrupt reads to its end, for as long as this is kept.
pub(super) struct Drained {
    interrupt: Arc<Interrupt>,
    of: fn(&Interrupt) -> &AtomicUsize,
}

impl Drained {
    fn new(interrupt: Arc<Interrupt>, of: fn(&Interrupt) -> &AtomicUsize) -> Self {
        of(&interrupt).fetch_add(1, Ordering::SeqCst);
        Self { interrupt, of }
    }

    fn pipe(interrupt: Arc<Interrupt>) -> Self {
        Self::new(interrupt, |interrupt| &interrupt.pipes)
    }

    /// A name whose files are followed as they grow and are replaced.
    pub(super) fn growing(interrupt: Arc<Interrupt>) -> Self {
        Self::new(interrupt, |interrupt| &interrupt.growing)
    }
}

impl Drop for Drained {
    fn drop(&mut self) {
        (self.of)(&self.interrupt).fetch_sub(1, Ordering::SeqCst);
    }
}

/// Opens a capture; one that may have nothing to say for a while is read by a thread, where the run can be interrupted.
pub(super) fn open(source: &Source, capture: CaptureId, progress: &dyn Progress) -> Result<CaptureReader, Error> {
    let digest = progress.digest();
    let Some(interrupt) = progress.interrupt() else {
        return CaptureReader::open_with_digest(source, capture, digest);
    };
    if let (Source::Path(path), true) = (source, progress.follows()) {
        let file =
            growing::Growing::open(path, interrupt).map_err(|source| Error::Io { path: path.clone(), source })?;
        return CaptureReader::of_input(path, Box::new(file), capture, digest);
    }
    if !is_live(source) {
        return CaptureReader::open_with_digest(source, capture, digest);
    }
    let (pieces, taken) = sync_channel(WAITING);
    let from = source.clone();
    thread::spawn(move || read(&from, &pieces));
    let drained = Some(Drained::pipe(Arc::clone(&interrupt)));
    let waiting = Waiting { pieces: taken, interrupt, drained, newest: Instant::now(), piece: Vec::new(), at: 0 };
    CaptureReader::of_input(source.name(), Box::new(waiting), capture, digest)
}

fn is_live(source: &Source) -> bool {
    match source {
        Source::Stdin => true,
        Source::Memory(_) => false,
        Source::Path(path) => std::fs::metadata(path).is_ok_and(|about| !about.is_file() && !about.is_dir()),
    }
}

/// Reads to the end, or until the receiver is gone. Opening may wait as well: a named pipe waits for its writer.
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
    interrupt: Arc<Interrupt>,
    /// The pipe as one that is being read.
    drained: Option<Drained>,
    /// When the last piece came.
    newest: Instant,
    piece: Vec<u8>,
    at: usize,
}

impl Read for Waiting {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut quiet = false;
        while self.at >= self.piece.len() {
            if self.interrupt.is_over(self.newest, quiet) {
                return Ok(0);
            }
            match self.pieces.recv_timeout(PATIENCE) {
                Ok(piece) => {
                    self.piece = piece?;
                    self.at = 0;
                    self.newest = Instant::now();
                }
                Err(RecvTimeoutError::Timeout) => {
                    quiet = true;
                    self.interrupt.pause()?;
                }
                Err(RecvTimeoutError::Disconnected) => {
                    // After an interrupt it counts until all of it has been observed and the reader is dropped.
                    if !self.interrupt.is_asked() {
                        self.drained = None;
                    }
                    return Ok(0);
                }
            }
        }
        let rest = self.piece.get(self.at..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        self.at += count;
        Ok(count)
    }
}
