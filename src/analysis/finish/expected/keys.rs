//! What the keys say of the packets: whose verify, whose are wrong, which could not be used.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::findings::{Draft, percent, plural};
use super::super::tap::{SaView, Tap};
use super::{Expected, figures, on_the_wire};
use crate::analysis::keyed::Keyed;
use crate::analysis::keyring::{Holder, Locks, Unusable};
use crate::analysis::settings::Settings;
use crate::model::report::{ConfigLine, Finding, MinMax, Report, TransformReport};
use crate::model::{Protocol, SaKey};
use crate::policy::{Policies, config_line};

/// One key of an SA: who states it, and how many packets verify under it.
struct Stated<'l> {
    names: String,
    holders: &'l [Holder],
    verified: u64,
}

pub(super) fn add(findings: &mut Vec<Finding>, taps: &[Tap<'_>], settings: &Settings, expected: &Expected<'_>) {
    let locks = settings.expectation.locks();
    for tap in taps {
        let mut lengths = None;
        for sa in &tap.sas {
            let Some(keyed) = sa.state.keyed.as_deref() else { continue };
            let keys = stated(locks, &sa.key, keyed);
            explain_mismatch(findings, sa, &keys);
            findings.extend(rubbish(tap, sa, keyed, &keys, expected));
            let Some(mut evidence) = evidence(sa.key.protocol, keyed, &keys) else { continue };
            evidence.push_str(&unused(locks, &sa.key));
            // Where lengths show that the transform is another, the ICV was looked for in the wrong place.
            let lengths = lengths.get_or_insert_with(|| figures::lengths(tap));
            if keyed.verified() == 0 && figures::is_contradicted(tap, sa, expected, lengths) {
                continue;
            }
            let draft = Draft::new("icv-invalid", evidence)
                .about(tap, sa)
                .caused_by(lines(&keys, expected.view.policies), Vec::new());
            let draft =
                if keyed.failed.count > 0 { draft.seen(tap, &keyed.failed) } else { draft.count(keyed.verified()) };
            let mut finding = draft.done();
            if let Some(cause) = cause(keyed, &keys) {
                finding.cause = cause.into();
            }
            findings.push(finding);
        }
    }
    lengths_unfit(findings, taps, locks, expected);
}

/// What keys say of the packets of SAs that are in no report of a tap.
pub(in crate::analysis::finish) fn of_checks(
    locks: &Locks,
    policies: &Policies,
    sas: &BTreeMap<SaKey, Keyed>,
    unchecked: &BTreeMap<SaKey, u64>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (sa, keyed) in sas {
        let keys = stated(locks, sa, keyed);
        let Some(mut evidence) = evidence(sa.protocol, keyed, &keys) else { continue };
        evidence.push_str(&unused(locks, sa));
        let count = if keyed.failed.count > 0 { keyed.failed.count } else { keyed.verified() };
        let draft = Draft::new("icv-invalid", evidence).of(sa.to_string()).count(count);
        let mut finding = draft.caused_by(lines(&keys, policies), Vec::new()).done();
        if let Some(cause) = cause(keyed, &keys) {
            finding.cause = cause.into();
        }
        findings.push(finding);
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

/// The keys of an SA in the order of their numbers.
fn stated<'l>(locks: &'l Locks, sa: &SaKey, keyed: &Keyed) -> Vec<Stated<'l>> {
    let one = |(number, holders): (u16, &'l [Holder])| Stated {
        names: names(holders),
        holders,
        verified: keyed.verified.get(&number).copied().unwrap_or(0),
    };
    (0..).zip(locks.of(sa).map(|lock| lock.holders())).map(one).collect()
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

fn names(holders: &[Holder]) -> String {
    let mut names: Vec<&str> = holders.iter().map(|holder| &*holder.name).collect();
    names.dedup();
    names.join(" and ")
}

fn lines(keys: &[Stated<'_>], policies: &Policies) -> Vec<ConfigLine> {
    let holders = keys.iter().flat_map(|key| key.holders);
    let cited = holders.filter_map(|holder| Some((holder.router, holder.cite.as_ref()?)));
    cited.take(super::CITED).map(|(router, cite)| config_line(policies, router, cite)).collect()
}

/// What is wrong with keys or packets, or nothing.
fn evidence(protocol: Protocol, keyed: &Keyed, keys: &[Stated<'_>]) -> Option<String> {
    let (verified, failed) = (keyed.verified(), keyed.failed.count);
    let all = plural(keyed.checked(), "packet");
    let right: Vec<&Stated<'_>> = keys.iter().filter(|key| key.verified > 0).collect();
    let wrong: Vec<&Stated<'_>> = keys.iter().filter(|key| key.verified == 0).collect();
    let of = |keys: &[&Stated<'_>]| {
        // One list may state many keys of an SA.
        let mut names: Vec<&str> = keys.iter().map(|key| key.names.as_str()).collect();
        names.dedup();
        names.join(" and of ")
    };
    if verified == 0 && failed > 0 {
        let other = if protocol == Protocol::Ah {
            ", the integrity algorithm is another with an ICV of the same length, or something on the way changes the packets (NAT)"
        } else {
            ", or the integrity algorithm is another with an ICV of the same length"
        };
        return Some(format!(
            "None of {all} verifies under the key of {}. The lengths fit the transform: the key is wrong{other}.",
            of(&wrong)
        ));
    }
    let whose = |key: &&Stated<'_>| format!("the key of {} verifies {} of {all}", key.names, key.verified);
    let counts = right.iter().map(whose).collect::<Vec<_>>().join(", ");
    let wrong_key = if wrong.is_empty() || right.is_empty() {
        String::new()
    } else {
        format!(
            " None verifies under the key of {}: that key is wrong, and whoever receives with it drops every packet.",
            of(&wrong)
        )
    };
    if failed > 0 {
        let why = if failed.saturating_mul(2) >= keyed.checked() {
            "either they were changed between their sender and this TAP, or the SA had another key for a part of the capture"
        } else {
            "the key is right, and these packets were changed between their sender and this TAP"
        };
        let (fail, share) = (plural(failed, "packet"), percent(failed, keyed.checked()));
        return Some(format!("{fail} of {} ({share}) fail: {why}; {counts}.{wrong_key}", keyed.checked()));
    }
    (!wrong_key.is_empty()).then(|| format!("On the wire {counts}.{wrong_key}"))
}

/// The cause, where the packets say which it is of those that the catalogue lists first and last.
fn cause(keyed: &Keyed, keys: &[Stated<'_>]) -> Option<&'static str> {
    let wrong = keys.iter().any(|key| key.verified == 0);
    match (keyed.verified(), keyed.failed.count) {
        (0, _) => Some("The key that is stated is not the one that the sender has."),
        (verified, failed) if !wrong && failed < verified => {
            Some("Something between the sender and this TAP changes packets: a faulty device, a rewritten field.")
        }
        _ => None,
    }
}

/// Adds to a difference between two configurations which of them the wire agrees with.
fn explain_mismatch(findings: &mut [Finding], sa: &SaView<'_>, keys: &[Stated<'_>]) {
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

/// Packets whose ICV verifies and that decrypt to nothing: the key of the cipher is wrong, that of the integrity check is not.
fn rubbish(
    tap: &Tap<'_>,
    sa: &SaView<'_>,
    keyed: &Keyed,
    keys: &[Stated<'_>],
    expected: &Expected<'_>,
) -> Option<Finding> {
    let verified = keyed.verified();
    // Of right packets hardly one is odd; of rubbish hardly one is not.
    if sa.key.protocol != Protocol::Esp || keyed.rubbish.saturating_mul(2) <= verified {
        return None;
    }
    let whose = keys.iter().filter(|key| key.verified > 0).map(|key| key.names.as_str()).collect::<Vec<_>>();
    let evidence = format!(
        "{} of {verified} verify under the authentication key of {} and decrypt to nothing that holds together: the encryption key is \
         wrong.",
        plural(keyed.rubbish, "packet"),
        whose.join(" and of ")
    );
    let draft = Draft::new("config-key-mismatch", evidence).about(tap, sa).count(keyed.rubbish);
    Some(draft.caused_by(lines(keys, expected.view.policies), Vec::new()).done())
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
            let Some(sa) = tap.sa(key.sa).filter(|_| tap.counted(cell).0 > 0) else { continue };
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
        let best = keyed.verified.iter().max_by_key(|(number, packets)| (**packets, std::cmp::Reverse(**number)));
        let number = best.map(|(number, _)| *number).or((keyed.opened > 0).then_some(0));
        let Some(lock) = number.and_then(|number| locks.of(&sa.key).nth(usize::from(number))) else { continue };
        if row.transform.basis != "expected" {
            let name = Some(lock.tool().transform().into());
            row.transform = TransformReport { basis: "expected", name, candidates: Arc::new([]), evidence: None };
        }
        row.icv_bytes = row.icv_bytes.filter(|_| sa.key.protocol == Protocol::Ah).or(Some(lock.tool().icv_bytes()));
    }
}
