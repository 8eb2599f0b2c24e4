//! What every run over captures begins and ends with.

pub(super) mod digest;
pub(super) mod sides;

use super::args::{PolicyArgs, RunArgs};
use super::policies;
use super::progress::{Display, InterruptKey};
use super::run::complain;
use super::verdict::Verdict;
use crate::engine::Expectation;
use crate::model::Error;

/// A run over captures that has begun.
pub(super) struct Session {
    key: InterruptKey,
    /// Configurations that could not be read.
    pub(super) unread: Vec<Error>,
}

impl Session {
    /// Reads the configurations and listens for the interrupt key.
    pub(super) fn begin(policy: &PolicyArgs, run: &RunArgs) -> (Self, Expectation, Display) {
        let mut unread = Vec::new();
        let expectation = policies::read(&policy.config, run, &mut unread);
        let key = InterruptKey::listen();
        let display = Display::new(run, key.clone());
        (Self { key, unread }, expectation, display)
    }

    /// The verdict so far, of a run whose report lists the inputs that could not be read. They are named on standard error.
    pub(super) fn ended(&self, errors: &[Error]) -> Verdict {
        let mut verdict = self.told(errors);
        verdict.told_in_report(errors);
        verdict
    }

    /// The same of a run whose report does not list them.
    pub(super) fn ended_unlisted(&self, errors: &[Error]) -> Verdict {
        let mut verdict = self.told(errors);
        verdict.errors(errors);
        verdict
    }

    fn told(&self, errors: &[Error]) -> Verdict {
        let mut verdict = Verdict::default();
        verdict.interrupted(self.key.happened());
        verdict.unread_configurations(&self.unread);
        self.unread.iter().chain(errors).for_each(complain);
        verdict
    }

    /// Whether the run was interrupted, by now.
    pub(super) fn interrupted(&self) -> bool {
        self.key.happened()
    }
}
