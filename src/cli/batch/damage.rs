//! What damage of a capture means for the exit status, and the warnings about it.

use clap::Args;

use crate::model::report::Capture;
use crate::model::{Damage, DamageKind};
use crate::report::words::escape::printable;
use crate::report::words::number::grouped;

/// What a run does about captures that are cut or damaged.
#[derive(Debug, Default, Args)]
pub(in crate::cli) struct DamageArgs {
    /// A capture cut in its last record is no reason for exit status 2
    #[arg(long, help_heading = "Input")]
    accept_cut: bool,
    /// What damage is: error (exit status 2), warn or ignore; or by kind: `cut=ignore,damaged=warn` [default: error]
    ///
    /// A capture is cut where it ends inside a record, and was read up to there; any other damage is `damaged`. Inputs that cannot be read at
    /// all are always errors. The report tells of damage in any case.
    #[arg(long, value_name = "WHAT", value_parser = on_damage, conflicts_with = "accept_cut", hide_short_help = true, help_heading = "Input")]
    on_damage: Option<OnDamage>,
}

impl DamageArgs {
    /// What was asked for.
    pub(in crate::cli) fn reactions(&self) -> OnDamage {
        let cut = if self.accept_cut { Reaction::Warn } else { Reaction::Error };
        self.on_damage.unwrap_or(OnDamage { cut, damaged: Reaction::Error })
    }
}

/// What a kind of damage is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Reaction {
    /// A reason for exit status 2.
    #[default]
    Error,
    /// Told on standard error.
    Warn,
    /// Told in the report alone.
    Ignore,
}

/// What each kind of damage is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(in crate::cli) struct OnDamage {
    cut: Reaction,
    damaged: Reaction,
}

impl OnDamage {
    /// Whether a cut is a reason for exit status 2.
    pub(in crate::cli) fn fails_on_cut(self) -> bool {
        self.cut == Reaction::Error
    }

    /// Whether other damage is.
    pub(in crate::cli) fn fails_on_damage(self) -> bool {
        self.damaged == Reaction::Error
    }

    /// Damage is in the report too, but whoever reads only standard error must not miss it.
    pub(in crate::cli) fn warn_of(self, captures: &[Capture]) {
        for capture in captures {
            if let Some(damage) = &capture.damage {
                let cut = damage.kind == "cut";
                self.warn(&capture.path, damage.offset, damage.frame, &damage.what, cut, capture.frames);
            }
        }
    }

    /// The same for damage as its reader names it.
    pub(in crate::cli) fn warn_of_read(self, path: &str, damage: &Damage, frames: u64) {
        self.warn(path, damage.offset, damage.frame, &damage.what, damage.kind == DamageKind::Cut, frames);
    }

    /// `trace.pcapng: byte 1048576 (frame 8123): the record claims ...; the file is damaged from here on. 8122 frames were read.`
    fn warn(self, path: &str, offset: u64, frame: u64, what: &str, cut: bool, frames: u64) {
        if (if cut { self.cut } else { self.damaged }) == Reaction::Ignore {
            return;
        }
        let state = if cut { "the file is cut" } else { "the file is damaged from here on" };
        let were = if frames == 1 { "frame was" } else { "frames were" };
        tell!(
            "{}: byte {offset} (frame {frame}): {}; {state}. {} {were} read.",
            printable(path),
            printable(what),
            grouped(frames)
        );
    }
}

/// `warn`, or `cut=ignore,damaged=warn`.
fn on_damage(typed: &str) -> Result<OnDamage, String> {
    let reaction = |word: &str| match word {
        "error" => Ok(Reaction::Error),
        "warn" => Ok(Reaction::Warn),
        "ignore" => Ok(Reaction::Ignore),
        _ => Err(format!("`{word}` is not error, warn or ignore")),
    };
    if !typed.contains('=') {
        let all = reaction(typed)?;
        return Ok(OnDamage { cut: all, damaged: all });
    }
    let mut on = OnDamage::default();
    for one in typed.split(',') {
        match one.split_once('=') {
            Some(("cut", word)) => on.cut = reaction(word)?,
            Some(("damaged", word)) => on.damaged = reaction(word)?,
            _ => return Err(format!("`{one}` is not cut=WHAT or damaged=WHAT, with WHAT error, warn or ignore")),
        }
    }
    Ok(on)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_is_an_error_unless_said_otherwise() {
        assert_eq!(DamageArgs::default().reactions(), OnDamage::default());
        assert_eq!(on_damage("warn"), Ok(OnDamage { cut: Reaction::Warn, damaged: Reaction::Warn }));
        let mixed = OnDamage { cut: Reaction::Ignore, damaged: Reaction::Warn };
        assert_eq!(on_damage("cut=ignore,damaged=warn"), Ok(mixed));
        assert_eq!(on_damage("cut=ignore"), Ok(OnDamage { cut: Reaction::Ignore, damaged: Reaction::Error }));
        for wrong in ["", "never", "cut", "cut=", "unreadable=ignore", "cut=warn,"] {
            assert!(on_damage(wrong).is_err(), "{wrong}");
        }
    }
}
