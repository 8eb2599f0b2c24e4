//! What the keys say of the packets: whose verify, whose are wrong, which could not be used.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::findings::{Draft, plural};
use super::super::tap::{SaView, Tap};
use super::verdict::{Key, Tried, Verdict};
use super::{Expected, figures, on_the_wire};
use crate::analysis::settings::Settings;
use crate::analysis::state::base::listed::Listed;
use crate::analysis::state::sa::keyed::Keyed;
use crate::keys::{Fit, Locks, Unusable};
use crate::model::report::{ConfigLine, Finding, MinMax, Occurrence, Report, TransformBasis, TransformReport};
use crate::model::{Protocol, SaKey};
use crate::policy::{Policies, config_line};
use crate::transform::algorithm::integrity::INTEGRITIES;

/// What shows that a key is not the packet's.
const FAILED: &str = "the ICV does not verify";

pub(super) fn add(findings: &mut Vec<Finding>, taps: &[Tap<'_>], settings: &Settings, expected: &Expected<'_>) {
    let locks = settings.expectation.locks();
    let sas = on_the_wire(taps).filter_map(|(_, sa)| Some((sa.key, sa.state.keyed.as_deref()?))).collect();
    let tried = Tried { locks, sas };
    for tap in taps {
        let mut lengths = None;
        for sa in &tap.sas {
            let Some(keyed) = sa.state.keyed.as_deref() else { continue };
            let judged = tried.judged(&sa.key, keyed).in_clear(sa.null.is_some());
            explain_mismatch(findings, sa, &judged.keys);
            for mut verdict in judged.verdicts() {
                if verdict.code == "icv-invalid" {
                    verdict.evidence.push_str(&unused(locks, &sa.key));
                    // Where lengths show that the transform is another, the ICV was looked for in the wrong place.
                    let lengths = lengths.get_or_insert_with(|| figures::lengths(tap));
                    if keyed.verified() == 0 && figures::is_contradicted(sa, expected, lengths) {
                        continue;
                    }
                }
                let lines = judged.lines(expected.view.policies);
                put(findings, tap, sa, keyed, verdict, lines);
            }
        }
    }
    lengths_unfit(findings, taps, locks, expected);
}

/// Adds a verdict, or adds it to a finding that says the same with less evidence.
fn put(
    findings: &mut Vec<Finding>,
    tap: &Tap<'_>,
    sa: &SaView<'_>,
    keyed: &Keyed,
    verdict: Verdict,
    lines: Vec<ConfigLine>,
) {
    let Verdict { code, severity, evidence, cause, count, of_failed } = verdict;
    // What two configurations differ in is said already, with the lines to type.
    let known = |finding: &&mut Finding| {
        code == "config-key-mismatch" && finding.code == code && finding.sa.as_deref() == Some(&*sa.name)
    };
    if let Some(finding) = findings.iter_mut().find(known) {
        finding.evidence.push_str(&format!(" {evidence}"));
        return;
    }
    if code == "transform-mismatch" {
        // Lengths alone say less.
        findings.retain(|old| !(old.code == code && old.tap == tap.name && old.sa.as_deref() == Some(&*sa.name)));
    }
    let mut draft = Draft::new(code, evidence).about(tap, sa).caused_by(lines, Vec::new());
    draft = if of_failed { draft.listed(tap, &keyed.failed, FAILED).unfiltered() } else { draft.count(count) };
    if let Some(severity) = severity {
        draft = draft.severity(severity);
    }
    let mut finding = draft.done();
    if let Some(cause) = cause {
        finding.cause = cause.into();
    }
    findings.push(finding);
}

/// What keys say of the packets of SAs that are in no report of a tap.
pub(crate) fn of_checks(
    locks: &Locks,
    policies: &Policies,
    sas: &BTreeMap<SaKey, Keyed>,
    unchecked: &BTreeMap<SaKey, u64>,
    frames: &dyn Fn(&Listed, &str) -> Vec<Occurrence>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    let tried = Tried { locks, sas: sas.iter().map(|(sa, keyed)| (*sa, keyed)).collect() };
    for (sa, keyed) in sas {
        let judged = tried.judged(sa, keyed);
        for mut verdict in judged.verdicts() {
            if verdict.code == "icv-invalid" {
                verdict.evidence.push_str(&unused(locks, sa));
            }
            let mut draft = Draft::new(verdict.code, verdict.evidence).of(sa.to_string()).count(verdict.count);
            if verdict.of_failed {
                draft = draft.named(frames(&keyed.failed, FAILED), keyed.failed.count);
            }
            let mut finding = draft.caused_by(judged.lines(policies), Vec::new()).done();
            finding.severity = verdict.severity.unwrap_or(finding.severity);
            if let Some(cause) = verdict.cause {
                finding.cause = cause.into();
            }
            findings.push(finding);
        }
    }
    for unusable in locks.unusable() {
        let is = |key: &SaKey| {
            (key.protocol, key.spi) == (unusable.protocol, unusable.spi)
                && unusable.src.is_none_or(|src| src == key.src)
                && unusable.dst.is_none_or(|dst| dst == key.dst)
                && !sas.contains_key(key)
        };
        let packets: u64 = unchecked.iter().filter(|(key, _)| is(key)).map(|(_, count)| count).sum();
        if packets > 0 {
            let Unusable { protocol, spi, holder, why, .. } = unusable;
            let evidence = format!(
                "{}: {} {}: {why}. The ICV of {} on the wire was not checked.",
                holder.name,
                protocol.title(),
                spi.0,
                plural(packets, "packet")
            );
            let line = holder.cite.as_ref().map(|cite| config_line(policies, holder.router, cite));
            let draft = Draft::new("config-key-length", evidence).of(&*holder.name).count(packets);
            findings.push(draft.caused_by(line.into_iter().collect(), Vec::new()).done());
        }
    }
    findings
}

/// Keys that are stated for the SA and could not be tried: whatever is said of the others is not said of them.
fn unused(locks: &Locks, sa: &SaKey) -> String {
    let of_it = |one: &&Unusable| {
        (sa.protocol, sa.spi) == (one.protocol, one.spi)
            && one.src.is_none_or(|src| src == sa.src)
            && one.dst.is_none_or(|dst| dst == sa.dst)
    };
    let keys: Vec<&Unusable> = locks.unusable().iter().filter(of_it).collect();
    keys.first().map_or_else(String::new, |first| {
        format!(
            " {} stated for it could not be tried; of the first: {}.",
            plural(keys.len() as u64, "further key"),
            first.why
        )
    })
}

/// Adds to a difference between two configurations which of them the wire agrees with.
fn explain_mismatch(findings: &mut [Finding], sa: &SaView<'_>, keys: &[Key<'_>]) {
    let about =
        |finding: &&mut Finding| finding.code == "config-key-mismatch" && finding.sa.as_deref() == Some(&*sa.name);
    let Some(finding) = findings.iter_mut().find(about) else { return };
    let counts: Vec<String> = keys
        .iter()
        .map(|key| format!("the key of {} verifies {}", key.names, plural(key.verified, "packet")))
        .collect();
    if keys.len() > 1 && keys.iter().any(|key| key.verified > 0) {
        finding.evidence.push_str(&format!(" On the wire, {}.", counts.join(", ")));
    }
}

/// Keys of a length that their algorithm does not take: what was not checked for that.
fn lengths_unfit(findings: &mut Vec<Finding>, taps: &[Tap<'_>], locks: &Locks, expected: &Expected<'_>) {
    let mut by_holder: BTreeMap<&str, (u64, Vec<&Unusable>)> = BTreeMap::new();
    for unusable in locks.unusable() {
        let is = |sa: &SaView<'_>| {
            let key = sa.key;
            (key.protocol, key.spi) == (unusable.protocol, unusable.spi)
                && unusable.src.is_none_or(|src| src == key.src)
                && unusable.dst.is_none_or(|dst| dst == key.dst)
                && sa.state.keyed.is_none()
        };
        let packets: u64 = on_the_wire(taps).filter(|(_, sa)| is(sa)).map(|(_, sa)| sa.state.seen.count).sum();
        if packets > 0 {
            let (count, all) = by_holder.entry(&unusable.holder.name).or_default();
            *count += packets;
            all.push(unusable);
        }
    }
    for (name, (packets, all)) in by_holder {
        let not_checked = format!("The ICV of {} on the wire was not checked.", plural(packets, "packet"));
        let known = |finding: &&mut Finding| finding.code == "config-key-length" && finding.sa.as_deref() == Some(name);
        if let Some(finding) = findings.iter_mut().find(known) {
            finding.evidence.push_str(&format!(" {not_checked}"));
            continue;
        }
        let whys =
            all.iter().take(super::CITED).map(|one| format!("{} {}: {}", one.protocol.title(), one.spi.0, one.why));
        let evidence = format!("{name}: {}. {not_checked}", whys.collect::<Vec<_>>().join("; "));
        let cited = all.iter().filter_map(|one| Some((one.holder.router, one.holder.cite.as_ref()?)));
        let lines = cited.take(super::CITED).map(|(router, cite)| config_line(expected.view.policies, router, cite));
        let draft = Draft::new("config-key-length", evidence).of(name).count(packets);
        findings.push(draft.caused_by(lines.collect(), Vec::new()).done());
    }
}

/// Gives the SAs of the report what decryption has shown: the transform that opened them, and what protection adds.
pub(super) fn fill(report: &mut Report, taps: &[Tap<'_>], settings: &Settings) {
    let locks = settings.expectation.locks();
    let mut views: BTreeMap<(&str, &str), &SaView<'_>> = BTreeMap::new();
    let mut added: BTreeMap<(&str, &str), (u64, u64)> = BTreeMap::new();
    for tap in taps {
        let keyed = tap.sas.iter().filter(|sa| sa.state.keyed.is_some());
        views.extend(keyed.map(|sa| ((&*tap.name, &*sa.name), sa)));
        for (key, cell) in tap.sizes.decrypted.iter().filter(|(key, _)| key.added.headers == 1) {
            let Some(sa) = tap.sa(key.sa).filter(|sa| sa.counted(cell).0 > 0) else { continue };
            let octets = 10 + u64::from(key.added.iv) + u64::from(key.added.padding) + u64::from(key.added.icv);
            let range = added.entry((&*tap.name, &*sa.name)).or_insert((octets, octets));
            *range = (range.0.min(octets), range.1.max(octets));
        }
    }
    for row in &mut report.sas {
        let Some(sa) = views.get(&(&*row.tap, &*row.id)) else { continue };
        if let Some(&(min, max)) = added.get(&(&*row.tap, &*row.id)) {
            row.protection_bytes = Some(MinMax { min, max });
        }
        let Some(keyed) = sa.state.keyed.as_deref() else { continue };
        let Some((name, icv)) = transform(locks, &sa.key, keyed) else { continue };
        // What packets verify or decrypt with is known better than what is stated.
        let candidates = Arc::new([]);
        row.transform = TransformReport {
            basis: TransformBasis::Expected,
            name: Some(name.into()),
            candidates,
            ..TransformReport::default()
        };
        row.icv_bytes = row.icv_bytes.filter(|_| sa.key.protocol == Protocol::Ah).or(Some(icv));
    }
}

/// The transform that most packets verify or decrypt with, and the octets of its ICV.
fn transform(locks: &Locks, sa: &SaKey, keyed: &Keyed) -> Option<(String, u32)> {
    let most = |(at, packets): &(&(u16, Fit), &u64)| (**packets, std::cmp::Reverse(**at));
    let verified = keyed.verified.iter().max_by_key(most).map(|(at, _)| *at);
    let unverified = keyed.unverified.iter().max_by_key(|(number, packets)| (**packets, std::cmp::Reverse(**number)));
    let (number, fit) = verified.or(unverified.map(|(number, _)| (*number, Fit::Plain)))?;
    let tool = locks.of(sa).nth(usize::from(number))?.lock.tool();
    match (fit, locks.of(sa).nth(usize::from(number))?.lock.esp()) {
        (Fit::Length(at), esp) => {
            let integrity = INTEGRITIES.get(usize::from(at))?;
            let name = esp.map_or_else(
                || integrity.name.to_owned(),
                |esp| crate::transform::Esp { integrity: Some(integrity), ..*esp }.to_string(),
            );
            Some((name, integrity.iv + integrity.icv))
        }
        _ => Some((tool.transform(), tool.icv_bytes())),
    }
}
