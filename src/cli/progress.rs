//! How far a run has come, on standard error; and the interrupt key.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::args::{RunArgs, When};
use super::options::WIDTH;
use super::session::digest::DigestArgs;
use super::sink::remove_unfinished;
use crate::capture::DigestRequest;
use crate::engine::{Interrupt, Progress, ProgressUpdate, Signal, on_signal};
use crate::model::report::Report;
use crate::report::document::View;
use crate::report::text::{TextOptions, Theme};
use crate::report::words::escape::printable;
use crate::report::words::number::{bytes, count};
use crate::report::{document, text};

/// Runs shorter than this show no progress.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often a line is written where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(1);

/// The interrupt key. While captures are read the first asks for the end and the second ends the program at once, as does one before
/// there is anything to report.
#[derive(Clone, Debug, Default)]
pub(super) struct InterruptKey(Arc<Interrupt>);

/// The one that listens: a program has one handler.
static LISTENING: OnceLock<InterruptKey> = OnceLock::new();
/// Whether the system wanted the end, and not the user.
static TERMINATED: AtomicBool = AtomicBool::new(false);

/// The exit status of a run that was ended: 128 and the number of the signal, SIGINT or SIGTERM.
pub(super) fn interrupted_status() -> u8 {
    if TERMINATED.load(Ordering::Relaxed) { 143 } else { 130 }
}

/// Whether captures are being read.
static READING: AtomicBool = AtomicBool::new(false);

impl InterruptKey {
    /// Listens for the interrupt key, and for those who want the program to end for other reasons.
    pub(super) fn listen() -> Self {
        let listen = || {
            let key = Self::default();
            let interrupt = Arc::clone(&key.0);
            // Without a handler the key ends the program as usual: nothing to tell.
            let _ = on_signal(move |signal| {
                if signal == Signal::Report {
                    interrupt.want_report();
                    return;
                }
                if signal == Signal::Terminate {
                    TERMINATED.store(true, Ordering::Relaxed);
                }
                if !interrupt.ask() || !READING.load(Ordering::Relaxed) {
                    remove_unfinished();
                    let status = interrupted_status();
                    tell!("spiglass: exit status {status}: interrupted");
                    std::process::exit(status.into());
                }
                let read = [(interrupt.has_pipes(), "pipe"), (interrupt.has_growing(), "file")];
                if let Some((_, what)) = read.iter().find(|(is_read, _)| *is_read) {
                    tell!(
                        "spiglass: interrupted; reading the {what} to its end (interrupt again to end without a report)"
                    );
                }
            });
            key
        };
        LISTENING.get_or_init(listen).clone()
    }

    pub(super) fn happened(&self) -> bool {
        self.0.is_asked()
    }
}

/// Shows progress, or does not.
pub(super) struct Display {
    key: InterruptKey,
    digest: Option<DigestRequest>,
    kind: Kind,
    started: Instant,
    state: Mutex<State>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Hidden,
    Bar,
    /// Asked for where there is no terminal: a line a second.
    Lines,
}

#[derive(Default)]
struct State {
    bar: Option<ProgressBar>,
    last_line: Option<Instant>,
}

impl Display {
    pub(super) fn new(run: &RunArgs, key: InterruptKey) -> Self {
        READING.store(true, Ordering::Relaxed);
        let terminal = std::io::stderr().is_terminal();
        let kind = match run.progress {
            _ if run.quiet => Kind::Hidden,
            When::Never => Kind::Hidden,
            When::Auto if terminal => Kind::Bar,
            When::Auto => Kind::Hidden,
            When::Always if terminal => Kind::Bar,
            When::Always => Kind::Lines,
        };
        Self { key, digest: None, kind, started: Instant::now(), state: Mutex::default() }
    }

    /// Asks for digests of the captures.
    pub(super) fn with_digest(self, args: &DigestArgs) -> Self {
        Self { digest: args.request(), ..self }
    }

    /// Takes the bar away, before anything else is printed.
    pub(super) fn finish(&self) {
        if let Some(bar) = self.state.lock().unwrap_or_else(PoisonError::into_inner).bar.take() {
            bar.finish_and_clear();
        }
    }
}

impl Progress for Display {
    fn update(&self, progress: &ProgressUpdate<'_>) {
        if self.kind == Kind::Hidden || self.started.elapsed() < PATIENCE {
            return;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let path = progress.path.to_string_lossy();
        let path = printable(&path);
        if self.kind == Kind::Lines {
            if state.last_line.is_none_or(|last| last.elapsed() >= LINE_EVERY) {
                state.last_line = Some(Instant::now());
                let of = progress.bytes_total.map(|total| format!(" of {}", bytes(total))).unwrap_or_default();
                tell!("{path}: {}{of}, {}", bytes(progress.bytes_done), count(progress.frames, "frame"));
            }
            return;
        }
        // How much a pipe will bring is unknown: no bar.
        let template = if progress.bytes_total.is_some() { TEMPLATE } else { OPEN_TEMPLATE };
        let bar = state.bar.get_or_insert_with(|| bar(template));
        match progress.bytes_total {
            Some(total) => bar.set_length(total),
            None => bar.unset_length(),
        }
        bar.set_message(format!("{path}  {}", count(progress.frames, "frame")));
        bar.set_position(progress.bytes_done);
    }

    fn interrupted(&self) -> bool {
        self.key.0.is_due()
    }

    fn interrupt(&self) -> Option<Arc<Interrupt>> {
        Some(Arc::clone(&self.key.0))
    }

    fn digest(&self) -> Option<DigestRequest> {
        self.digest
    }

    /// To standard error: standard output is the report's of the end.
    fn interim(&self, report: Report) {
        let look = TextOptions { width: WIDTH, theme: Theme::plain() };
        let text = text::render(&document::report(&report, &View::default()), &look);
        tell!("spiglass: so far");
        text.lines().for_each(|line| tell!("{line}"));
    }
}

fn bar(template: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(5));
    // The templates are checked by a test.
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

const OPEN_TEMPLATE: &str = "{bytes}  {bytes_per_sec}  {elapsed}  {wide_msg}";
const TEMPLATE: &str = "{bar:20} {bytes} of {total_bytes}  {bytes_per_sec}  {wide_msg}";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_templates_are_valid() {
        assert!(ProgressStyle::with_template(TEMPLATE).is_ok() && ProgressStyle::with_template(OPEN_TEMPLATE).is_ok());
    }
}
