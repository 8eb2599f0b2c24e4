//! What a lint finds.

use std::collections::BTreeSet;

use super::limits::MAX_CITED;
use super::{Cite, Policies};
use crate::model::report::{ConfigLine, Fix, Severity};

/// What is wrong in the policies, or between them.
#[derive(Clone, Debug)]
pub struct Problem {
    /// A code of the catalogue of findings.
    pub code: &'static str,
    /// Where it differs from the catalogue's.
    pub severity: Option<Severity>,
    /// Id of the SA it concerns, or other words for what it concerns.
    pub subject: Option<String>,
    /// What was found, with figures, no keys.
    pub evidence: String,
    /// The lines that cause it.
    pub config: Vec<ConfigLine>,
    /// How many more lines do, beyond the limit on those that one problem names.
    pub uncited: usize,
    /// Its cause, a sentence, where it is known; else it is the catalogue's likeliest.
    pub cause: Option<String>,
    /// Lines to type; keys as placeholders.
    pub fix: Vec<Fix>,
    /// Where nothing decides whose lines are wrong: what may be done instead of typing the lines, said if there are lines.
    pub alternative: Option<String>,
}

impl Problem {
    pub(super) fn new(code: &'static str, evidence: String) -> Self {
        Self {
            code,
            severity: None,
            subject: None,
            evidence,
            config: Vec::new(),
            uncited: 0,
            cause: None,
            fix: Vec::new(),
            alternative: None,
        }
    }

    /// Says what may be done instead of typing the lines, once it is known that there are lines.
    pub(super) fn settle(&mut self) {
        if let Some(alternative) = self.alternative.take().filter(|_| !self.fix.is_empty()) {
            self.evidence.push_str(&alternative);
        }
    }

    pub(super) fn severity(mut self, severity: Severity) -> Self {
        self.severity = Some(severity);
        self
    }

    pub(super) fn about(mut self, subject: impl Into<String>) -> Self {
        self.subject = Some(subject.into());
        self
    }

    /// Names the lines of a router.
    pub(super) fn lines<'c>(
        mut self,
        policies: &Policies,
        router: usize,
        cites: impl IntoIterator<Item = &'c Cite>,
    ) -> Self {
        let mut beyond: BTreeSet<(&str, u32)> = BTreeSet::new();
        for cite in cites {
            let line = config_line(policies, router, cite);
            let known = self.config.iter().any(|old| (&old.file, old.line) == (&line.file, line.line));
            if !known && self.config.len() < MAX_CITED {
                self.config.push(line);
            } else if !known {
                beyond.insert((&cite.file, cite.line));
            }
        }
        self.uncited += beyond.len();
        self
    }

    pub(super) fn fix(mut self, host: &str, lines: Vec<String>) -> Self {
        match self.fix.iter_mut().find(|fix| fix.host == host) {
            Some(fix) => fix.lines.extend(lines),
            None if lines.is_empty() => {}
            None => self.fix.push(Fix { host: host.to_owned(), lines }),
        }
        self
    }
}

/// A line as findings name it.
#[must_use]
pub fn config_line(policies: &Policies, router: usize, cite: &Cite) -> ConfigLine {
    let host = policies.routers.get(router).map(|router| router.name.to_string()).unwrap_or_default();
    ConfigLine { file: cite.file.to_string(), host, line: u64::from(cite.line), text: cite.text.to_string() }
}
