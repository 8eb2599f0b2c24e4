//! What makes a router send SPI 0, where its configuration says it.

use std::collections::{BTreeMap, BTreeSet};

use super::super::tap::Tap;
use super::{Expected, on_the_wire};
use crate::model::SaKey;
use crate::model::report::Finding;
use crate::policy::{Problem, lint};

/// The problem of a configuration that makes a router send SPI 0.
const CAUSE: &str = "config-unused-key";

pub(super) fn explain(findings: &mut [Finding], taps: &[Tap<'_>], expected: &Expected<'_>) {
    let seen: BTreeSet<SaKey> = on_the_wire(taps).map(|(_, sa)| sa.key).collect();
    let zeros: BTreeMap<&str, SaKey> =
        on_the_wire(taps).filter(|(_, sa)| sa.key.spi.is_zero()).map(|(_, sa)| (&*sa.name, sa.key)).collect();
    let mut problems: Option<Vec<Problem>> = None;
    for finding in findings.iter_mut().filter(|finding| finding.code == "spi-zero" && finding.first_frame.is_some()) {
        let Some(&key) = finding.sa.as_deref().and_then(|name| zeros.get(name)) else { continue };
        let problems = problems.get_or_insert_with(|| lint(expected.view));
        if !by_keys(finding, problems, expected, key) {
            by_absence(finding, expected, key, &seen);
        }
    }
}

/// Session keys that the sender's transform set does not use; the far end's too, which must be corrected with them.
fn by_keys(finding: &mut Finding, problems: &[Problem], expected: &Expected<'_>, key: SaKey) -> bool {
    let view = expected.view;
    let between = |router: usize, own, far| {
        let maps = view.policies.routers.get(router).map(|router| router.maps.as_slice()).unwrap_or_default();
        maps.iter().enumerate().any(|(map, entry)| {
            view.local(router, map) == Some(own) && entry.peers.iter().any(|(peer, _)| *peer == far)
        })
    };
    let mut found = false;
    for (own, far, sends) in [(key.src, key.dst, true), (key.dst, key.src, false)] {
        if !sends && !found {
            break;
        }
        let routers = (0..view.policies.routers.len()).filter(|router| between(*router, own, far));
        for name in routers.map(|router| view.name(router)) {
            let cause = problems
                .iter()
                .find(|problem| problem.code == CAUSE && problem.config.first().is_some_and(|line| line.host == name));
            let Some(cause) = cause else { continue };
            if sends {
                found = true;
                finding.evidence.push_str(&format!(" {}", cause.evidence));
                finding.cause = format!(
                    "{name} has session keys for a protocol that its transform set does not use, in the lines named here."
                );
            } else {
                finding.evidence.push_str(&format!(" {name} has the same mistake."));
            }
            finding.config.extend(cause.config.iter().cloned());
            finding.fix.extend(cause.fix.iter().cloned());
        }
    }
    found
}

/// SAs of this direction that should be there and are not.
fn by_absence(finding: &mut Finding, expected: &Expected<'_>, key: SaKey, seen: &BTreeSet<SaKey>) {
    let missing: Vec<&SaKey> = expected.beside(&key).iter().filter(|other| !seen.contains(other)).collect();
    let Some(first) = missing.first() else { return };
    let stated = expected.of(first);
    finding.evidence.push_str(&format!(
        " SPI {} ({}) is configured for this direction at {}, and no packet carries it: it is what these packets should carry.",
        first.spi.0,
        first.spi,
        expected.holders(stated)
    ));
    let lines = missing.iter().flat_map(|key| expected.of(key)).copied().collect::<Vec<_>>();
    finding.config.extend(expected.lines(&lines));
}
