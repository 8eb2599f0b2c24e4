//! A baseline: the findings that are known, as TOML, a line each, with room for the reason.

use serde::Deserialize;

use crate::model::report::{self, Accepted, AcceptedBy, Finding, KnownFinding, Report, Severity};

/// Findings that are known.
#[derive(Clone, Debug)]
pub struct FindingBaseline {
    file: String,
    known: Vec<Known>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    baseline: u32,
    #[serde(default)]
    known: Vec<Known>,
}

/// A line.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    code: String,
    #[serde(default = "any")]
    tap: String,
    sa: Option<String>,
    severity: Option<Severity>,
    #[serde(default)]
    count: u64,
    #[serde(default)]
    reason: String,
}

fn any() -> String {
    "*".into()
}

/// Whether `name` is what a pattern says, in which `*` stands for any characters.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        match rest.split_once(part) {
            Some((_, behind)) => rest = behind,
            None => return false,
        }
    }
    rest.ends_with(last)
}

impl Known {
    fn fits(&self, finding: &Finding) -> bool {
        self.code == finding.code
            && matches(&self.tap, &finding.tap)
            && match (&self.sa, &finding.sa) {
                (Some(pattern), Some(sa)) => matches(pattern, sa),
                (pattern, sa) => pattern.is_none() && sa.is_none(),
            }
            // What became worse is not what was known.
            && self.severity.is_none_or(|severity| finding.severity <= severity)
    }

    /// Whether it is about any number of SAs.
    fn is_pattern(&self) -> bool {
        self.sa.as_deref().is_some_and(|sa| sa.contains('*'))
    }
}

impl FindingBaseline {
    /// Reads one; `file` is what messages and reports call it.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn read(file: &str, text: &str) -> Result<Self, String> {
        let read: File = toml::from_str(text).map_err(|error| {
            let message = error.message().to_owned();
            let line = error.span().and_then(|span| text.get(..span.start)).map(|before| before.matches('\n').count());
            let line = line.map(|line| format!("line {}: ", line.saturating_add(1))).unwrap_or_default();
            format!("{line}{message}; --write-baseline writes a file as it should be")
        })?;
        if read.baseline != 1 {
            return Err(format!("baseline = {} is of another version; this program reads 1", read.baseline));
        }
        Ok(Self { file: file.to_owned(), known: read.known })
    }

    /// Marks the findings that it knows. A line stands for one finding, or, with `*` in its SA, for any number.
    pub(super) fn compare(&self, findings: &mut [Finding]) -> report::BaselineOutcome {
        let mut used = vec![false; self.known.len()];
        let mut known = 0u64;
        for finding in findings.iter_mut().filter(|finding| finding.accepted.is_none()) {
            let fitting = self
                .known
                .iter()
                .zip(&mut used)
                .find(|(line, used)| (!**used || line.is_pattern()) && line.fits(finding));
            let Some((line, used)) = fitting else { continue };
            *used = true;
            known = known.saturating_add(1);
            finding.accepted = Some(Accepted { by: AcceptedBy::Baseline, why: line.reason.clone() });
        }
        let new = findings.iter().filter(|finding| finding.accepted.is_none()).count() as u64;
        // What is there and ignored, or below a threshold, is not fixed.
        let there = |line: &Known| findings.iter().any(|finding| line.fits(finding));
        let unused = self.known.iter().zip(used).filter(|(line, used)| !used && !there(line));
        let fixed = unused.map(|(line, _)| KnownFinding {
            code: line.code.clone(),
            tap: line.tap.clone(),
            sa: line.sa.clone(),
            count: line.count,
            reason: line.reason.clone(),
        });
        report::BaselineOutcome { file: self.file.clone(), known, new, fixed: fixed.collect() }
    }
}

/// The findings of a report as a baseline. Reasons of the baseline that it was compared with are kept.
#[must_use]
pub fn write(report: &Report) -> String {
    let mut text = String::from(
        "# Findings that are known to spiglass: they do not raise the exit status. One line stands for one finding; `*` in `tap` and `sa`\n\
         # stands for any characters, and in `sa` the line for any number of SAs. A finding of a higher severity is new. A tap is named\n\
         # only where several show the same: give taps names (--tap, --stream) that stay the same every night.\n\
         baseline = 1\n\
         known = [\n",
    );
    for finding in &report.findings {
        // Taps are named after files, which have other names every night: the name is needed only where it tells findings apart.
        let twin =
            |other: &&Finding| (&other.code, &other.sa) == (&finding.code, &finding.sa) && other.tap != finding.tap;
        let tap = if report.findings.iter().any(|other| twin(&other)) { &*finding.tap } else { "*" };
        let reason = match &finding.accepted {
            Some(Accepted { by: AcceptedBy::Baseline, why }) => why.as_str(),
            _ => "",
        };
        let sa = finding.sa.as_deref().map(|sa| format!(" sa = {},", quoted(sa))).unwrap_or_default();
        text += &format!(
            "  {{ code = {}, tap = {},{sa} severity = {}, count = {}, reason = {} }},\n",
            quoted(&finding.code),
            quoted(tap),
            quoted(finding.severity.name()),
            finding.count,
            quoted(reason)
        );
    }
    text + "]\n"
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted += &format!("\\u{:04X}", u32::from(c)),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::judge::{Rules, judge};
    use crate::report::sample;

    #[test]
    fn patterns_stand_for_any_characters() {
        assert!(matches("*", "") && matches("*", "a") && matches("a*c", "abc") && matches("a*b*c", "a/b/c"));
        assert!(matches("esp/10.0.0.1/*", "esp/10.0.0.1/10.0.0.2/0x1") && matches("", ""));
        assert!(!matches("", "a") && !matches("a*c", "ab") && !matches("a", "ab") && !matches("a*b*c", "acb"));
    }

    fn compared(report: &mut Report, text: &str) -> report::BaselineOutcome {
        let baseline = Some(FindingBaseline::read("known.toml", text).expect("a baseline"));
        judge(report, &Rules { baseline, ..Rules::default() });
        report.baseline.clone().expect("a comparison")
    }

    #[test]
    fn a_baseline_that_was_written_knows_all_and_only_what_was_there() {
        let mut report = sample::report();
        let text = write(&report).replacen("reason = \"\"", "reason = \"the \\\"old\\\" line\"", 1);
        let all = report.findings.len() as u64;
        let result = compared(&mut report, &text);
        assert_eq!((result.known, result.new, result.fixed.len()), (all, 0, 0));
        assert!(write(&report).contains("the \\\"old\\\" line"), "reasons are kept");
        // A second finding of the same kind, and one that became worse, are new.
        let mut report = sample::report();
        let twice =
            report.findings.iter().find(|finding| finding.severity < Severity::Error).expect("a warning").clone();
        report.findings.push(twice.clone());
        assert_eq!(compared(&mut report, &text).new, 1);
        report.findings.pop();
        let worse = report.findings.iter_mut().find(|finding| finding.severity < Severity::Error).expect("a warning");
        worse.severity = Severity::Error;
        let result = compared(&mut report, &text);
        assert_eq!((result.new, result.fixed.len()), (1, 1));
        // What is gone is fixed.
        let gone = sample::report().findings.remove(0);
        let mut report = sample::report();
        report.findings.remove(0);
        let result = compared(&mut report, &text);
        assert_eq!((result.new, result.fixed.len(), &*result.fixed[0].code), (0, 1, &*gone.code));
    }

    #[test]
    fn what_is_wrong_with_a_baseline_is_said_with_its_line() {
        let read = |text: &str| FindingBaseline::read("known.toml", text).expect_err("it is refused");
        assert!(read("baseline = 2").contains("version"));
        assert!(read("").contains("baseline"));
        let wrong = read("baseline = 1\nknown = [\n{ code = \"spi-zero\", spi = 7 },\n]\n");
        assert!(wrong.contains("line 3") && wrong.contains("spi"), "{wrong}");
    }
}
