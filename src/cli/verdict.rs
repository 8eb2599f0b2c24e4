//! The exit status and its reason.

use super::batch::damage::OnDamage;
use super::progress::interrupted_status;
use crate::model::report::{Capture, Exactness, Finding, Report, RunSummary, Severity};
use crate::model::{Damage, DamageKind, Error};
use crate::report::words::escape::printable;
use crate::report::words::number::grouped;

/// What a run ends with. 130 (143 after SIGTERM) wins over 2, and 2 over 1; the reason names them all.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Verdict {
    interrupted: bool,
    /// How inputs were read; findings that count.
    run: RunSummary,
    /// Configurations and lists that could not be read.
    unread: u64,
    /// Cut captures that are a reason for exit status 2.
    cut: u64,
    /// Damaged ones.
    damaged: u64,
    /// What states hold again.
    repeated: u64,
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

    /// Captures or states that could not be read at all; options that make no sense together.
    pub(super) fn errors(&mut self, errors: &[Error]) {
        let unread = self.judge(errors);
        self.run.inputs += unread;
        self.run.unreadable += unread;
    }

    /// The same of captures that are in the report, with which they are counted.
    pub(super) fn told_in_report(&mut self, errors: &[Error]) {
        self.judge(errors);
    }

    /// Configurations that could not be read.
    pub(super) fn unread_configurations(&mut self, errors: &[Error]) {
        self.unread += self.judge(errors);
    }

    fn judge(&mut self, errors: &[Error]) -> u64 {
        let mut unread = 0;
        for error in errors {
            match error {
                Error::Usage(_) => self.usage = true,
                Error::Output { .. } => self.failed_output = true,
                _ => unread += 1,
            }
        }
        unread
    }

    /// Captures that states held already.
    pub(super) const fn repeated(&mut self, captures: u64) {
        self.repeated += captures;
    }

    /// The report could not be written.
    pub(super) fn failed_output(&mut self) {
        self.failed_output = true;
    }

    /// A capture, and its damage as its reader names it.
    pub(super) fn capture(&mut self, damage: Option<&Damage>, on: OnDamage) {
        self.run.inputs += 1;
        match damage {
            None => self.run.read += 1,
            // A cut with more damage behind or before it is more than a cut.
            Some(damage) if damage.kind == DamageKind::Cut && damage.further == 0 => self.run.cut += 1,
            Some(_) => self.run.damaged += 1,
        }
        self.react(on);
    }

    /// Captures and findings of a report. Where a verdict on findings is asked for, a report that a limit or an unread input
    /// made inexact is no pass: what it lacks may have been one.
    pub(super) fn report(&mut self, report: &Report, on: OnDamage, fail_on: Option<Severity>) {
        self.captures(&report.captures, on);
        self.findings(&report.findings, fail_on);
        let why = report.degraded_why.first().filter(|_| fail_on.is_some() && report.exactness == Exactness::Degraded);
        self.inexact = why.map(|why| printable(why.trim_end_matches('.')).into_owned());
    }

    /// Captures as a report lists them, also those that could not be read.
    pub(super) fn captures(&mut self, captures: &[Capture], on: OnDamage) {
        let own = RunSummary::of(captures, 0, []);
        let RunSummary { inputs, read, cut, damaged, unreadable, .. } = &mut self.run;
        *inputs += own.inputs;
        *read += own.read;
        *cut += own.cut;
        *damaged += own.damaged;
        *unreadable += own.unreadable;
        self.react(on);
    }

    fn react(&mut self, on: OnDamage) {
        self.cut = if on.fails_on_cut() { self.run.cut } else { 0 };
        self.damaged = if on.fails_on_damage() { self.run.damaged } else { 0 };
    }

    /// How the run went.
    pub(super) const fn run(&self) -> RunSummary {
        self.run
    }

    /// Findings at or above a severity.
    pub(super) fn findings(&mut self, findings: &[Finding], fail_on: Option<Severity>) {
        let RunSummary { findings_error, findings_warning, .. } = RunSummary::of([], 0, findings);
        self.run = RunSummary { findings_error, findings_warning, ..self.run };
        if let Some(severity) = fail_on {
            let severe = |finding: &&Finding| finding.severity >= severity && finding.accepted.is_none();
            let n = findings.iter().filter(severe).count() as u64;
            self.findings = (n > 0).then_some((n, severity));
        }
    }

    /// New findings at or above a severity.
    pub(super) fn new_findings(&mut self, severe: Option<(u64, Severity)>) {
        self.findings = severe.filter(|(n, _)| *n > 0);
    }

    /// The exit status.
    pub(super) fn status(&self) -> u8 {
        if self.interrupted {
            interrupted_status()
        } else if self.usage
            || self.failed_output
            || self.run.unreadable + self.unread + self.repeated + self.damaged + self.cut > 0
        {
            2
        } else if self.findings.is_some() || self.inexact.is_some() {
            1
        } else {
            0
        }
    }

    /// Why, and how inputs were read, as the last line of standard error; `None` for 0.
    pub(super) fn reason(&self) -> Option<String> {
        (self.status() != 0).then(|| self.last_words())
    }

    /// `exit status 2: 1 input cut (--accept-cut lets that pass) [inputs=3 read=2 cut=1 ...]`; the brackets are for scripts.
    pub(super) fn last_words(&self) -> String {
        let inputs = |n: u64, what: &str| (n > 0).then(|| format!("{} {what}", plural(n, "input")));
        let reasons = [
            self.interrupted.then(|| "interrupted; what was read so far is reported".to_owned()),
            self.usage.then(|| "the command line is wrong".to_owned()),
            self.failed_output.then(|| "the output could not be written".to_owned()),
            inputs(self.run.unreadable + self.unread, "could not be read"),
            (self.repeated > 0).then(|| {
                format!(
                    "{} more than once in the states (--allow-duplicate lets that pass)",
                    plural(self.repeated, "capture")
                )
            }),
            inputs(self.damaged, "damaged"),
            inputs(self.cut, "cut (--accept-cut lets that pass)"),
            self.findings
                .map(|(n, severity)| format!("{} of severity {} or above", plural(n, "finding"), severity.name())),
            self.inexact.as_ref().map(|why| format!("the report is not exact ({why})")),
        ];
        let mut words =
            format!("exit status {}: {}", self.status(), reasons.into_iter().flatten().collect::<Vec<_>>().join("; "));
        let RunSummary { inputs, read, cut, damaged, unreadable, findings_error, findings_warning } = self.run;
        if inputs > 0 {
            words += &format!(
                " [inputs={inputs} read={read} cut={cut} damaged={damaged} unreadable={unreadable} \
                 findings_error={findings_error} findings_warning={findings_warning}]"
            );
        }
        words
    }
}

fn plural(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(n), if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use clap::{Args, FromArgMatches};

    use super::super::batch::damage::DamageArgs;
    use super::*;

    fn damage(kind: DamageKind) -> Damage {
        Damage { kind, offset: 0, frame: 1, what: String::new(), further: 0 }
    }

    fn on(cut_fails: bool) -> OnDamage {
        let words: &[&str] = if cut_fails { &["x"] } else { &["x", "--accept-cut"] };
        DamageArgs::augment_args(clap::Command::new("x"))
            .try_get_matches_from(words)
            .and_then(|typed| DamageArgs::from_arg_matches(&typed))
            .map(|args| args.reactions())
            .unwrap()
    }

    #[test]
    fn two_wins_over_one_and_both_are_said() {
        let mut verdict = Verdict { findings: Some((3, Severity::Warning)), ..Verdict::default() };
        assert_eq!(verdict.status(), 1);
        verdict.capture(Some(&damage(DamageKind::Cut)), on(true));
        assert_eq!(verdict.status(), 2);
        let reason = verdict.reason().unwrap();
        assert!(reason.contains("1 input cut") && reason.contains("3 findings of severity warning"), "{reason}");
        assert!(reason.contains("[inputs=1 read=0 cut=1 damaged=0 unreadable=0 "), "{reason}");
        verdict.interrupted(true);
        assert_eq!(verdict.status(), 130);
    }

    #[test]
    fn an_accepted_cut_is_no_failure_but_damage_is() {
        let mut verdict = Verdict::default();
        verdict.capture(Some(&damage(DamageKind::Cut)), on(false));
        assert_eq!((verdict.status(), verdict.reason()), (0, None));
        verdict.capture(Some(&damage(DamageKind::Corrupt)), on(false));
        assert_eq!(verdict.status(), 2);
        let mut verdict = Verdict::default();
        verdict.capture(Some(&Damage { further: 1, ..damage(DamageKind::Cut) }), on(false));
        assert_eq!(verdict.status(), 2);
    }
}
