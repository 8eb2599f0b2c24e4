//! Signals: what the user or the system wants of a run.

use std::io;

/// What a signal asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// The end: SIGINT, SIGHUP.
    End,
    /// The end, because the system wants it: SIGTERM.
    Terminate,
    /// A report of what was read so far: SIGUSR1. Only Unix has it.
    Report,
}

/// Hands signals to `handle`, on a thread of its own, for as long as the program runs.
///
/// # Errors
/// Where the system refuses a handler.
#[cfg(unix)]
pub fn on_signal(mut handle: impl FnMut(Signal) + Send + 'static) -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP, SIGUSR1])?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in signals.forever() {
            handle(match signal {
                SIGUSR1 => Signal::Report,
                SIGTERM => Signal::Terminate,
                _ => Signal::End,
            });
        }
    })?;
    Ok(())
}

/// Hands the interrupt key to `handle`.
///
/// # Errors
/// Where the system refuses a handler.
#[cfg(not(unix))]
pub fn on_signal(mut handle: impl FnMut(Signal) + Send + 'static) -> io::Result<()> {
    ctrlc::set_handler(move || handle(Signal::End)).map_err(io::Error::other)
}
