//! What is wrong in the policies themselves, whatever the wire shows.

use super::Draft;
use crate::model::report::Finding;
use crate::policy::{Problem, View, lint};

pub(crate) fn add(findings: &mut Vec<Finding>, view: &View<'_>) {
    findings.extend(lint(view).into_iter().map(finding));
}

fn finding(problem: Problem) -> Finding {
    let Problem { code, severity, subject, evidence, config, uncited: _, fix } = problem;
    let mut draft = Draft::new(code, evidence).caused_by(config, fix);
    if let Some(severity) = severity {
        draft = draft.severity(severity);
    }
    match subject {
        Some(subject) => draft.of(subject).done(),
        None => draft.done(),
    }
}
