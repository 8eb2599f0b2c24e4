//! Which findings count: thresholds, findings that are ignored, and a baseline of those that are known.

pub mod baseline;

use std::collections::BTreeMap;
use std::str::FromStr;

use crate::catalogue;
use crate::model::report::{Accepted, AcceptedBy, Finding, Report};
use baseline::{FindingBaseline, matches};

/// What was asked for.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// Findings up to these sizes do not count.
    pub thresholds: Vec<Threshold>,
    /// Findings that do not count.
    pub ignored: Vec<Ignored>,
    /// Findings that are known.
    pub baseline: Option<FindingBaseline>,
}

/// `sequence-gap=10`, `sequence-gap=0.5%`.
#[derive(Clone, PartialEq, Debug)]
pub struct Threshold {
    code: String,
    limit: Limit,
}

/// Up to where a finding does not count.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Limit {
    Count(u64),
    Share(f64),
}

/// `tap-copies`, `sequence-gap@esp/192.0.2.1/192.0.2.2/0x000003ea`, `sequence-gap@0x3ea`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ignored {
    code: String,
    sa: Option<String>,
}

/// A code that there is.
fn code(typed: &str) -> Result<String, String> {
    match catalogue::lookup(typed) {
        Some(_) => Ok(typed.to_owned()),
        None => Err(format!("`{typed}` is no code of a finding; `spiglass explain` lists them")),
    }
}

impl FromStr for Threshold {
    type Err = String;

    fn from_str(typed: &str) -> Result<Self, String> {
        let (name, value) = typed
            .split_once('=')
            .ok_or_else(|| format!("`{typed}` is not CODE=VALUE, like sequence-gap=10 or sequence-gap=0.5%"))?;
        let limit = match value.strip_suffix('%') {
            Some(share) => share.parse().ok().filter(|share: &f64| (0.0..=100.0).contains(share)).map(Limit::Share),
            None => value.parse().ok().map(Limit::Count),
        };
        let limit = limit.ok_or_else(|| format!("`{value}` is neither a number nor a share from 0% to 100%"))?;
        Ok(Self { code: code(name)?, limit })
    }
}

impl FromStr for Ignored {
    type Err = String;

    fn from_str(typed: &str) -> Result<Self, String> {
        let (name, sa) = typed.split_once('@').map_or((typed, None), |(name, sa)| (name, Some(sa)));
        if sa.is_some_and(str::is_empty) {
            return Err("after @ goes the id or the SPI of an SA".into());
        }
        Ok(Self { code: code(name)?, sa: sa.map(str::to_owned) })
    }
}

impl Threshold {
    fn accepts(&self, finding: &Finding, report: &Report) -> bool {
        self.code == finding.code
            && match self.limit {
                Limit::Count(limit) => finding.count <= limit,
                Limit::Share(limit) => share_pct(finding, report).is_some_and(|share| share <= limit),
            }
    }
}

impl Ignored {
    fn accepts(&self, finding: &Finding) -> bool {
        let of = finding.sa.as_deref().unwrap_or_default();
        self.code == finding.code && self.sa.as_deref().is_none_or(|sa| matches(sa, of) || is_spi(sa, of))
    }
}

/// Whether `typed` is the SPI of the SA `id`.
fn is_spi(typed: &str, id: &str) -> bool {
    let number = |word: &str| match word.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => word.parse().ok(),
    };
    let own = id.rsplit('/').next().and_then(|last| last.split(' ').next());
    number(typed).is_some_and(|typed| own.and_then(number) == Some(typed))
}

/// A finding's count in per cent: of an SA's sequence numbers for numbers that were never seen, else of its frames, or of all frames where it
/// concerns no SA.
fn share_pct(finding: &Finding, report: &Report) -> Option<f64> {
    let sa = finding.sa.as_deref().map(|id| report.sas.iter().find(|sa| *sa.id == *id && sa.tap == finding.tap));
    let of = match sa {
        None => report.totals.frames,
        Some(None) => return None,
        Some(Some(sa)) if finding.code == "sequence-gap" => {
            // Seen and lost, as the evidence of the finding counts them.
            sa.sequence
                .as_ref()
                .map_or(sa.frames, |numbers| sa.frames.saturating_sub(numbers.duplicate).saturating_add(numbers.lost))
        }
        Some(Some(sa)) => sa.frames,
    };
    (of > 0).then(|| 100.0 * finding.count as f64 / of as f64)
}

/// Marks the findings that do not count, and says how the others compare with the baseline.
pub fn judge(report: &mut Report, rules: &Rules) {
    let mut findings = std::mem::take(&mut report.findings);
    for finding in &mut findings {
        let ignored = rules.ignored.iter().find(|rule| rule.accepts(finding));
        let small = rules.thresholds.iter().find(|rule| rule.accepts(finding, report));
        finding.accepted = match (ignored, small) {
            (Some(rule), _) => Some((AcceptedBy::Ignore, format!("--ignore {rule}"))),
            (None, Some(rule)) => Some((AcceptedBy::Threshold, format!("--threshold {rule}"))),
            (None, None) => None,
        }
        .map(|(by, why)| Accepted { by, why });
    }
    report.baseline = rules.baseline.as_ref().map(|baseline| baseline.compare(&mut findings));
    report.findings = findings;
}

/// How many findings each of the reasons accepts, by code.
#[must_use]
pub fn accepted(findings: &[Finding]) -> BTreeMap<AcceptedBy, BTreeMap<&str, u64>> {
    let mut by = BTreeMap::<AcceptedBy, BTreeMap<&str, u64>>::new();
    for finding in findings {
        if let Some(accepted) = &finding.accepted {
            let count = by.entry(accepted.by).or_default().entry(&finding.code).or_default();
            *count = count.saturating_add(1);
        }
    }
    by
}

impl std::fmt::Display for Threshold {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.limit {
            Limit::Count(limit) => write!(f, "{}={limit}", self.code),
            Limit::Share(limit) => write!(f, "{}={limit}%", self.code),
        }
    }
}

impl std::fmt::Display for Ignored {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.code)?;
        self.sa.as_ref().map_or(Ok(()), |sa| write!(f, "@{sa}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn rules_are_typed() {
        assert_eq!(
            "sequence-gap=0.5%".parse::<Threshold>().map(|rule| rule.to_string()),
            Ok("sequence-gap=0.5%".into())
        );
        assert_eq!("tap-copies=7".parse::<Threshold>().map(|rule| rule.limit), Ok(Limit::Count(7)));
        for wrong in ["sequence-gap", "sequence-gap=", "sequence-gap=-1", "sequence-gap=101%", "no-code=1"] {
            assert!(wrong.parse::<Threshold>().is_err(), "{wrong}");
        }
        assert!("spi-zero@".parse::<Ignored>().is_err() && "spi".parse::<Ignored>().is_err());
        assert!(is_spi("0x3ea", "esp/192.0.2.1/192.0.2.2/0x000003ea") && is_spi("1002", "ah/a/b/0x000003ea"));
        assert!(!is_spi("1003", "esp/192.0.2.1/192.0.2.2/0x000003ea") && !is_spi("x", "a > b"));
    }

    /// What is accepted is marked and stays in the report.
    #[test]
    fn findings_are_accepted_by_size_and_by_name() {
        let mut report = sample::report();
        let gap = report.findings.iter().find(|finding| finding.code == "sequence-gap").expect("a gap").clone();
        let judged = |report: &mut Report, thresholds: &[String], ignored: &[String]| {
            let rules = Rules {
                thresholds: thresholds.iter().map(|rule| rule.parse().expect("a rule")).collect(),
                ignored: ignored.iter().map(|rule| rule.parse().expect("a rule")).collect(),
                baseline: None,
            };
            judge(report, &rules);
            report.findings.iter().filter(|finding| finding.accepted.is_some()).count()
        };
        let all = report.findings.len();
        let limit = |count: u64| [format!("sequence-gap={count}")];
        assert_eq!(judged(&mut report, &limit(gap.count), &[]), 1);
        assert_eq!(judged(&mut report, &limit(gap.count - 1), &[]), 0);
        assert_eq!(judged(&mut report, &["sequence-gap=100%".into()], &[]), 1);
        assert_eq!(judged(&mut report, &["sequence-gap=0%".into()], &[]), 0);
        let sa = gap.sa.as_deref().expect("an SA");
        assert_eq!(judged(&mut report, &[], &[format!("sequence-gap@{sa}")]), 1);
        assert_eq!(judged(&mut report, &[], &["sequence-gap@0x7".into()]), 0);
        assert_eq!(report.findings.len(), all);
    }
}
