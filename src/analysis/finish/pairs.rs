//! Findings of a run of `match`.

use super::CaptureFacts;
use super::findings::capture;
use crate::analysis::Keyring;
use crate::analysis::pairing::Checks;
use crate::model::pairs::MatchReport;
use crate::model::report::Finding;

/// What is wrong or worth knowing.
pub(crate) fn pair_findings(
    _report: &MatchReport,
    captures: &[CaptureFacts],
    _keyring: &Keyring,
    _checks: &Checks,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    capture::add(&mut findings, captures);
    findings
}
