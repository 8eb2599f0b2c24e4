//! What is wrong in the policies themselves, whatever the wire shows.

use super::Draft;
use crate::model::report::{ConfigLine, Finding, Fix, Severity};
use crate::policy::{Problem, View, lint};

pub(crate) fn add(findings: &mut Vec<Finding>, view: &View<'_>) {
    findings.extend(lint(view).into_iter().map(finding));
}

/// Gives findings from the wire the lines of the finding about the same lines of the configurations: those are verified all together,
/// and one fault gets one correction.
pub(crate) fn agree(findings: &mut [Finding]) {
    type Line = (String, u64);
    let line = |line: &ConfigLine| -> Line { (line.file.clone(), line.line) };
    let about: Vec<(Vec<Line>, Vec<Fix>)> = findings
        .iter()
        .filter(|finding| finding.code.starts_with("config-") && finding.severity == Severity::Error)
        .map(|finding| (finding.config.iter().map(line).collect(), finding.fix.clone()))
        .collect();
    let wire = |finding: &&mut Finding| !finding.code.starts_with("config-") && finding.first_frame.is_some();
    for finding in findings.iter_mut().filter(wire).filter(|finding| !finding.fix.is_empty()) {
        let own: Vec<Line> = finding.config.iter().map(line).collect();
        let mut same = about.iter().filter(|(lines, _)| lines.iter().any(|line| own.contains(line))).peekable();
        if same.peek().is_some() {
            finding.fix = Vec::new();
            for fix in same.flat_map(|(_, fix)| fix) {
                let known = finding.fix.iter().any(|old| (&old.host, &old.lines) == (&fix.host, &fix.lines));
                if !known {
                    finding.fix.push(fix.clone());
                }
            }
        }
    }
}

fn finding(problem: Problem) -> Finding {
    let Problem { code, severity, subject, evidence, config, uncited: _, cause, fix, alternative: _ } = problem;
    let mut draft = Draft::new(code, evidence).caused_by(config, fix);
    if let Some(cause) = cause {
        draft = draft.cause(&cause);
    }
    if let Some(severity) = severity {
        draft = draft.severity(severity);
    }
    match subject {
        Some(subject) => draft.of(subject).done(),
        None => draft.done(),
    }
}
