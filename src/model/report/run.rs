//! How a run went, in numbers for scripts.

use serde::{Deserialize, Serialize};

use super::{Capture, Finding, Severity};

/// How the inputs of a run were read, and how many findings count: what a batch job looks at first. An input is counted as one of `read`,
/// `cut`, `damaged` and `unreadable`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunSummary {
    /// Captures that were named, and states that could not be read.
    pub inputs: u64,
    /// Read to a proper end.
    pub read: u64,
    /// Read up to a record that the end of the file cuts.
    pub cut: u64,
    /// Read with other damage.
    pub damaged: u64,
    /// Not read at all.
    pub unreadable: u64,
    /// Findings of severity error that nothing accepts.
    pub findings_error: u64,
    /// Findings of severity warning that nothing accepts.
    pub findings_warning: u64,
}

impl RunSummary {
    /// Of captures, of inputs that are not among them because they could not be read, and of findings.
    pub fn of<'r>(
        captures: impl IntoIterator<Item = &'r Capture>,
        unreadable: u64,
        findings: impl IntoIterator<Item = &'r Finding>,
    ) -> Self {
        let mut run = Self { inputs: unreadable, unreadable, ..Self::default() };
        for capture in captures {
            run.inputs = run.inputs.saturating_add(1);
            let kind = match &capture.damage {
                _ if capture.error.is_some() => &mut run.unreadable,
                None => &mut run.read,
                Some(damage) if damage.kind == "cut" => &mut run.cut,
                Some(_) => &mut run.damaged,
            };
            *kind = kind.saturating_add(1);
        }
        for finding in findings.into_iter().filter(|finding| finding.accepted.is_none()) {
            match finding.severity {
                Severity::Error => run.findings_error = run.findings_error.saturating_add(1),
                Severity::Warning => run.findings_warning = run.findings_warning.saturating_add(1),
                Severity::Note => {}
            }
        }
        run
    }
}
