//! Expected SAs that are not there.

use std::collections::BTreeSet;

use crate::analysis::finish::expected::leak::{ends, tunnel_side};
use crate::analysis::finish::expected::{Expected, on_the_wire};
use crate::analysis::finish::findings::{Draft, plural};
use crate::analysis::finish::tap::Tap;
use crate::analysis::settings::Settings;
use crate::model::report::{Finding, Severity};
use crate::model::{Address, Protocol, SaKey};
use crate::policy::{Basis, Stated};

/// Expected SAs that were never seen are listed by name only if there are at most this many.
const LISTED: usize = 100;

/// SAs of which no packet was seen, but for those whose absence another finding explains.
pub(super) fn add(
    findings: &mut Vec<Finding>,
    taps: &[Tap<'_>],
    settings: &Settings,
    expected: &Expected<'_>,
    seen: &BTreeSet<SaKey>,
    explained: &BTreeSet<SaKey>,
) {
    if taps.iter().all(|tap| tap.stream.totals.sums.ip_frames == 0) {
        return;
    }
    let filtered = |key: &SaKey| {
        settings.spi.is_some_and(|spi| spi != key.spi)
            || settings.peer.is_some_and(|peer| peer != key.src && peer != key.dst)
    };
    let silent: Vec<(&SaKey, &Vec<&Stated>)> = expected
        .by_key
        .iter()
        .filter(|(key, _)| !seen.contains(key) && !explained.contains(key) && !filtered(key))
        .filter(|(key, _)| key.protocol != Protocol::IpComp)
        .collect();
    let ends = ends(expected.view);
    if !taps.iter().any(|tap| tunnel_side(tap, &ends)) {
        // A tester's link, or a tunnel that never was: the capture does not tell which.
        if let Some((key, stated)) = silent.first() {
            let evidence = format!(
                "None of the {} was seen, and nothing else between their ends: this is not the tunnel's link, or there is no tunnel.",
                plural(silent.len() as u64, "expected SA")
            );
            let lines = expected.lines(stated);
            let draft = Draft::new("sa-never-seen", evidence).of(key.to_string()).count(0).caused_by(lines, Vec::new());
            findings.push(draft.severity(Severity::Note).done());
        }
        return;
    }
    let flows = taps.iter().flat_map(|tap| tap.stream.tables.flows.iter());
    let sources: BTreeSet<Address> =
        flows.filter(|(_, flow)| !flow.inner).map(|(_, flow)| flow.src).chain(seen.iter().map(|key| key.src)).collect();
    for (key, stated) in silent.into_iter().take(LISTED) {
        let quiet = !sources.contains(&key.src);
        let hidden = key.protocol == Protocol::Ah
            && on_the_wire(taps).any(|(_, sa)| (sa.key.src, sa.key.dst) == (key.src, key.dst) && sa.is_opaque());
        let why = if quiet {
            format!(" Nothing else from {} was seen either.", key.src)
        } else if hidden {
            " It may be inside the ESP between the same ends, which hides it.".to_owned()
        } else {
            String::new()
        };
        let evidence = format!("No packet of it at any tap; it is configured at {}.{why}", expected.holders(stated));
        let lines = expected.lines(stated);
        let mut draft = Draft::new("sa-never-seen", evidence).of(key.to_string()).count(0).caused_by(lines, Vec::new());
        let snapshot = stated.iter().all(|one| one.basis == Basis::InForce && one.authenticator.is_none());
        if quiet || hidden || snapshot {
            draft = draft.severity(Severity::Note);
        }
        findings.push(draft.done());
    }
}
