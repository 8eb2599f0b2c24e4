//! Expected SAs that are not there.

use std::collections::BTreeSet;

use crate::analysis::finish::expected::leak::{ends, tunnel_side};
use crate::analysis::finish::expected::{Expected, on_the_wire};
use crate::analysis::finish::findings::{Draft, plural};
use crate::analysis::finish::tap::Tap;
use crate::analysis::settings::Settings;
use crate::analysis::state::sa::candidates::{Candidate, FlowKey};
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
        findings.extend(silent.first().map(|(key, stated)| none_seen(expected, silent.len(), key, stated)));
        return;
    }
    let flows = taps.iter().flat_map(|tap| tap.stream.tables.flows.iter());
    let sources: BTreeSet<Address> =
        flows.filter(|(_, flow)| !flow.inner).map(|(_, flow)| flow.src).chain(seen.iter().map(|key| key.src)).collect();
    let candidates: Vec<(FlowKey, &Candidate)> = taps.iter().flat_map(|tap| tap.stream.candidates.flows()).collect();
    for (key, stated) in silent.into_iter().take(LISTED) {
        let quiet = !sources.contains(&key.src);
        let hidden = key.protocol == Protocol::Ah
            && on_the_wire(taps).any(|(_, sa)| (sa.key.src, sa.key.dst) == (key.src, key.dst) && sa.is_opaque());
        let suspected = suspected(&candidates, key);
        let why = if let Some(own) = suspected {
            may_be_its_own(own)
        } else if quiet {
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
        if quiet || hidden || snapshot || suspected.is_some() {
            draft = draft.severity(Severity::Note);
        }
        findings.push(draft.done());
    }
}

/// What is said where nothing between the ends of the expected SAs was seen.
fn none_seen(expected: &Expected<'_>, count: usize, key: &SaKey, stated: &[&Stated]) -> Finding {
    let evidence = format!(
        "None of the {} was seen, and nothing else between their ends: this is not the tunnel's link, or there is no tunnel.",
        plural(count as u64, "expected SA")
    );
    let lines = expected.lines(stated);
    let draft = Draft::new("sa-never-seen", evidence).of(key.to_string()).count(0).caused_by(lines, Vec::new());
    draft.severity(Severity::Note).done()
}

/// What packets on a port of UDP may be, and how many.
fn may_be_its_own((port, packets): (u16, u64)) -> String {
    format!(
        " {} between these addresses on UDP port {port} may be its own: they bear its SPI, and are too few, or too unlike ESP, to tell. `--udp-port {port}` \
         reads them as ESP.",
        plural(packets, "packet")
    )
}

/// The port of UDP on which packets between these addresses bear the SPI of an SA, and how many: of flows that were not taken for ESP.
fn suspected(flows: &[(FlowKey, &Candidate)], key: &SaKey) -> Option<(u16, u64)> {
    let is_own = |flow: &FlowKey| key.protocol == Protocol::Esp && (flow.src, flow.dst) == (key.src, key.dst);
    let own = flows.iter().filter(|(flow, _)| is_own(flow));
    own.filter_map(|(flow, candidate)| Some((flow.ports, candidate.sas.get(&key.spi)?.state.seen.count)))
        .map(|((from, to), packets)| (from.min(to), packets))
        .max_by_key(|(port, packets)| (*packets, std::cmp::Reverse(*port)))
}
