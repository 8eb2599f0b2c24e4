//! Two reports compared: what is new, gone and changed.

mod figures;

use std::collections::{BTreeMap, BTreeSet};

use crate::model::pairs::MatchReport;
use crate::model::report::diff::{
    Compared, DiffReport, DiffSchema, FindingChange, FindingChangeKind, SaChange, SaChangeKind,
};
use crate::model::report::{Exactness, Finding, Report, Tool};
use crate::report::document::combined::Output;

/// By how much figures may differ before that is told.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Allowed {
    /// Mean overhead, in octets.
    pub overhead_bytes: f64,
    /// Loss, in percentage points.
    pub loss_pct: f64,
    /// Rates, in per cent of what they were.
    pub rate_pct: f64,
    /// Latency, in per cent of what it was.
    pub latency_pct: f64,
}

impl Default for Allowed {
    fn default() -> Self {
        Self { overhead_bytes: 1.0, loss_pct: 0.1, rate_pct: 20.0, latency_pct: 20.0 }
    }
}

/// A report with the name of its file.
#[derive(Clone, Copy, Debug)]
pub struct NamedOutput<'r> {
    /// The file.
    pub path: &'r str,
    /// What it holds.
    pub output: &'r Output,
}

/// Compares two reports.
///
/// # Errors
/// Why they cannot be compared: another kind of output, or other settings.
pub fn compare(old: NamedOutput<'_>, new: NamedOutput<'_>, allowed: &Allowed) -> Result<DiffReport, String> {
    let (findings, sas, figures, sides) = match (old.output, new.output) {
        (Output::Report(a), Output::Report(b)) => {
            same_settings(&a.filters, &b.filters)?;
            same_settings(&a.settings, &b.settings)?;
            (
                findings(&a.findings, &b.findings),
                changed_sas(&sas_of_report(a), &sas_of_report(b)),
                figures::of_reports(a, b, allowed),
                [side_of_report(old.path, a), side_of_report(new.path, b)],
            )
        }
        (Output::Match(a), Output::Match(b)) => (
            findings(&a.findings, &b.findings),
            changed_sas(&sas_of_match(a), &sas_of_match(b)),
            figures::of_matches(a, b, allowed),
            [side_of_match(old.path, a), side_of_match(new.path, b)],
        ),
        (a, b) if a.schema() != b.schema() => {
            return Err(format!(
                "{} is a {}, {} a {}; compare outputs of one command",
                old.path,
                a.schema(),
                new.path,
                b.schema()
            ));
        }
        (a, _) => {
            return Err(format!(
                "outputs of schema {} are not compared; those of report, check, merge and match are",
                a.schema()
            ));
        }
    };
    let [old, new] = sides;
    let (schema, tool) = (DiffSchema::V1, Tool::this());
    Ok(DiffReport { schema, tool, old, new, findings, sas, figures, exit_status: 0 })
}

/// Figures of other settings are other figures.
fn same_settings(old: &[String], new: &[String]) -> Result<(), String> {
    let only = |own: &[String], other: &[String]| {
        let only: Vec<&str> = own.iter().filter(|one| !other.contains(one)).map(String::as_str).collect();
        if only.is_empty() { "no such option".to_owned() } else { only.join(" ") }
    };
    if old == new {
        return Ok(());
    }
    Err(format!(
        "made with different settings: the old report with {}, the new one with {}",
        only(old, new),
        only(new, old)
    ))
}

/// What makes a finding the same one in two reports. Taps are named after files, which have other names every night: the name counts only
/// where it tells findings of one report apart.
type Key<'r> = (&'r str, Option<&'r str>, Option<&'r str>, usize);

fn keyed<'r>(findings: &'r [Finding], by_tap: bool) -> BTreeMap<Key<'r>, &'r Finding> {
    let mut keyed = BTreeMap::new();
    for finding in findings {
        let tap = by_tap.then_some(&*finding.tap);
        let (code, sa) = (&*finding.code, finding.sa.as_deref());
        let place = (0..).find(|place| !keyed.contains_key(&(code, sa, tap, *place))).unwrap_or_default();
        keyed.insert((code, sa, tap, place), finding);
    }
    keyed
}

/// The taps that findings name.
fn taps(findings: &[Finding]) -> BTreeSet<&str> {
    findings.iter().map(|finding| &*finding.tap).collect()
}

/// Whether a report names a code and SA at several taps.
fn has_twins(findings: &[Finding]) -> bool {
    let mut taps = BTreeMap::new();
    findings.iter().any(|finding| {
        let known = taps.entry((&finding.code, finding.sa.as_deref())).or_insert(&finding.tap);
        **known != finding.tap
    })
}

fn findings(old: &[Finding], new: &[Finding]) -> Vec<FindingChange> {
    // Other names of taps would make every finding another one.
    let by_tap = (has_twins(old) || has_twins(new)) && taps(old) == taps(new);
    let (old, new) = (keyed(old, by_tap), keyed(new, by_tap));
    let change = |change, now: &Finding, before: Option<&Finding>, ended: bool| FindingChange {
        change,
        code: now.code.clone(),
        severity: now.severity,
        severity_before: before.map(|before| before.severity),
        tap: now.tap.to_string(),
        sa: now.sa.as_ref().map(ToString::to_string),
        count_before: before.map(|before| before.count),
        count: (!ended).then_some(now.count),
        evidence: now.evidence.clone(),
    };
    let mut changes = Vec::new();
    for (key, now) in &new {
        match old.get(key) {
            None => changes.push(change(FindingChangeKind::Begun, now, None, false)),
            Some(before) if (before.count, before.severity) != (now.count, now.severity) => {
                changes.push(change(FindingChangeKind::Changed, now, Some(before), false));
            }
            Some(_) => {}
        }
    }
    let gone = old.iter().filter(|(key, _)| !new.contains_key(*key));
    changes.extend(gone.map(|(_, before)| change(FindingChangeKind::Ended, before, Some(before), true)));
    changes.sort_by(|a, b| {
        let key = |one: &FindingChange| (one.change, std::cmp::Reverse(one.severity));
        key(a).cmp(&key(b)).then_with(|| (&a.code, &a.tap, &a.sa).cmp(&(&b.code, &b.tap, &b.sa)))
    });
    changes
}

type Sas<'r> = BTreeMap<(&'r str, usize), (&'r str, Option<u64>)>;

/// SAs by id, and by their place among those of one id: at several taps, or several rows.
fn keyed_sas<'r>(sas: impl Iterator<Item = (&'r str, &'r str, Option<u64>)>) -> Sas<'r> {
    let mut keyed = Sas::new();
    for (tap, id, frames) in sas.filter(|(_, id, _)| !id.is_empty()) {
        let place = (0..).find(|place| !keyed.contains_key(&(id, *place))).unwrap_or_default();
        keyed.insert((id, place), (tap, frames));
    }
    keyed
}

fn sas_of_report(report: &Report) -> Sas<'_> {
    keyed_sas(report.sas.iter().map(|sa| (&*sa.tap, &*sa.id, Some(sa.frames))))
}

fn sas_of_match(report: &MatchReport) -> Sas<'_> {
    keyed_sas(report.directions.iter().map(|row| ("", &*row.sa, None)))
}

fn changed_sas(old: &Sas<'_>, new: &Sas<'_>) -> Vec<SaChange> {
    let only = |own: &Sas<'_>, other: &Sas<'_>, change| -> Vec<SaChange> {
        let only = own.iter().filter(|(key, _)| !other.contains_key(*key));
        only.map(|((id, _), (tap, frames))| SaChange {
            change,
            tap: (*tap).to_owned(),
            sa: (*id).to_owned(),
            frames: *frames,
        })
        .collect()
    };
    [only(new, old, SaChangeKind::New), only(old, new, SaChangeKind::Gone)].concat()
}

fn side_of_report(path: &str, report: &Report) -> Compared {
    Compared {
        path: path.to_owned(),
        schema: report.schema.name().to_owned(),
        exactness: report.exactness,
        captures: report.captures.len() as u64,
        frames: report.totals.frames,
        first_ns: report.captures.iter().filter_map(|capture| capture.first_ns).min(),
        last_ns: report.captures.iter().filter_map(|capture| capture.last_ns).max(),
    }
}

fn side_of_match(path: &str, report: &MatchReport) -> Compared {
    let sides = || [Some(&report.plain), Some(&report.tunnel), report.exit.as_ref()].into_iter().flatten();
    Compared {
        path: path.to_owned(),
        schema: report.schema.name().to_owned(),
        exactness: report.exactness,
        captures: sides().map(|side| side.captures.len() as u64).sum(),
        frames: sides().map(|side| side.frames).sum(),
        first_ns: sides().filter_map(|side| side.first_ns).min(),
        last_ns: sides().filter_map(|side| side.last_ns).max(),
    }
}

impl DiffReport {
    /// Whether the new report lacks nothing: what is not in it is gone.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.new.exactness == Exactness::Exact
    }

    /// Findings that are new, or more severe than they were.
    pub fn worse(&self) -> impl Iterator<Item = &FindingChange> {
        self.findings.iter().filter(|one| match one.change {
            FindingChangeKind::Begun => true,
            FindingChangeKind::Changed => one.severity_before < Some(one.severity),
            FindingChangeKind::Ended => false,
        })
    }

    /// Figures that differ by more than was allowed.
    pub fn beyond(&self) -> impl Iterator<Item = &crate::model::report::diff::FigureChange> {
        self.figures.iter().filter(|one| one.beyond)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    /// Taps that are named after files have other names the next night; taps that keep their names are told apart.
    #[test]
    fn findings_are_the_same_where_taps_have_other_names() {
        let one = sample::report().findings.remove(0);
        let night = |taps: [&str; 2], counts: [u64; 2]| -> Vec<Finding> {
            let at = |(tap, count): (&str, u64)| Finding { tap: tap.into(), count, ..one.clone() };
            taps.into_iter().zip(counts).map(at).collect()
        };
        let monday = night(["east-1", "west-1"], [3, 5]);
        assert!(findings(&monday, &night(["east-2", "west-2"], [3, 5])).is_empty());
        let swapped = findings(&night(["east", "west"], [3, 5]), &night(["west", "east"], [3, 5]));
        assert_eq!(swapped.len(), 2, "{swapped:?}");
        assert!(swapped.iter().all(|one| one.change == FindingChangeKind::Changed));
    }
}
