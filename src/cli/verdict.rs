//! The exit status and its reason.

use crate::model::report::{Capture, Exactness, Finding, Report, Severity};
use crate::model::{Damage, DamageKind, Error};
use crate::report::words::escape::printable;
use crate::report::words::number::grouped;

/// What a run ends with. 130 wins over 2, and 2 over 1; the reason names them all.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Verdict {
    interrupted: bool,
    unreadable: u64,
    damaged: u64,
    cut: u64,
    failed_output: bool,
    usage: bool,
    findings: Option<(u64, Severity)>,
    inexact: Option<String>,
}

impl Verdict {
    /// A wrong command line.
    pub(super) fn usage() -> Self {
        Self { usage: true, ..Self::default() }
    }

    pub(super) fn interrupted(&mut self, interrupted: bool) {
        self.interrupted |= interrupted;
    }

    /// Inputs that could not be read at all; options that make no sense together.
    pub(super) fn errors(&mut self, errors: &[Error]) {
        for error in errors {
            match error {
                Error::Usage(_) => self.usage = true,
                Error::Output { .. } => self.failed_output = true,
                _ => self.unreadable += 1,
            }
        }
    }

    /// Inputs that the runs that made a state could not read: they are missing from its report as from theirs.
    pub(super) const fn unreadable(&mut self, inputs: u64) {
        self.unreadable += inputs;
    }

    /// The report could not be written.
    pub(super) fn failed_output(&mut self) {
        self.failed_output = true;
    }

    /// Damage of a capture as its reader names it.
    pub(super) fn damage(&mut self, damage: &Damage, accept_cut: bool) {
        match damage.kind {
            // A cut with more damage behind or before it is more than a cut.
            DamageKind::Cut if damage.further == 0 => self.cut += u64::from(!accept_cut),
            _ => self.damaged += 1,
        }
    }

    /// Damaged captures and findings of a report. Where a verdict on findings is asked for, a report that a limit or an unread input
    /// made inexact is no pass: what it lacks may have been one.
    pub(super) fn report(&mut self, report: &Report, accept_cut: bool, fail_on: Option<Severity>) {
        self.captures(&report.captures, accept_cut);
        self.findings(&report.findings, fail_on);
        let why = report.degraded_why.first().filter(|_| fail_on.is_some() && report.exactness == Exactness::Degraded);
        self.inexact = why.map(|why| printable(why.trim_end_matches('.')).into_owned());
    }

    /// Damaged captures.
    pub(super) fn captures(&mut self, captures: &[Capture], accept_cut: bool) {
        for damage in captures.iter().filter_map(|capture| capture.damage.as_ref()) {
            if damage.kind == "cut" {
                self.cut += u64::from(!accept_cut);
            } else {
                self.damaged += 1;
            }
        }
    }

    /// Findings at or above a severity.
    pub(super) fn findings(&mut self, findings: &[Finding], fail_on: Option<Severity>) {
        if let Some(severity) = fail_on {
            let severe = |finding: &&Finding| finding.severity >= severity;
            let n = findings.iter().filter(severe).count() as u64;
            self.findings = (n > 0).then_some((n, severity));
        }
    }

    /// The exit status.
    pub(super) const fn status(&self) -> u8 {
        if self.interrupted {
            130
        } else if self.usage || self.failed_output || self.unreadable + self.damaged + self.cut > 0 {
            2
        } else if self.findings.is_some() || self.inexact.is_some() {
            1
        } else {
            0
        }
    }

    /// Why, as the last line of standard error; `None` for 0.
    pub(super) fn reason(&self) -> Option<String> {
        let captures = |n: u64, what: &str| (n > 0).then(|| format!("{} {what}", plural(n, "input")));
        let reasons = [
            self.interrupted.then(|| "interrupted; what was read so far is reported".to_owned()),
            self.usage.then(|| "the command line is wrong".to_owned()),
            self.failed_output.then(|| "the output could not be written".to_owned()),
            captures(self.unreadable, "could not be read"),
            captures(self.damaged, "damaged"),
            captures(self.cut, "cut (--accept-cut lets that pass)"),
            self.findings
                .map(|(n, severity)| format!("{} of severity {} or above", plural(n, "finding"), severity.name())),
            self.inexact.as_ref().map(|why| format!("the report is not exact ({why})")),
        ];
        let reasons: Vec<String> = reasons.into_iter().flatten().collect();
        (self.status() != 0).then(|| format!("exit status {}: {}", self.status(), reasons.join("; ")))
    }
}

fn plural(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(n), if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn damage(kind: DamageKind) -> Damage {
        Damage { kind, offset: 0, frame: 1, what: String::new(), further: 0 }
    }

    #[test]
    fn two_wins_over_one_and_both_are_said() {
        let mut verdict = Verdict { findings: Some((3, Severity::Warning)), ..Verdict::default() };
        assert_eq!(verdict.status(), 1);
        verdict.damage(&damage(DamageKind::Cut), false);
        assert_eq!(verdict.status(), 2);
        let reason = verdict.reason().unwrap();
        assert!(reason.contains("1 input cut") && reason.contains("3 findings of severity warning"), "{reason}");
        verdict.interrupted(true);
        assert_eq!(verdict.status(), 130);
    }

    #[test]
    fn an_accepted_cut_is_no_failure_but_damage_is() {
        let mut verdict = Verdict::default();
        verdict.damage(&damage(DamageKind::Cut), true);
        assert_eq!((verdict.status(), verdict.reason()), (0, None));
        verdict.damage(&damage(DamageKind::Corrupt), true);
        assert_eq!(verdict.status(), 2);
        let mut verdict = Verdict::default();
        verdict.damage(&Damage { further: 1, ..damage(DamageKind::Cut) }, true);
        assert_eq!(verdict.status(), 2);
    }
}
