//! What routers counted themselves: which side drops.

use std::collections::BTreeMap;

use super::super::{Problem, View};
use crate::model::report::Severity;
use crate::policy::facts::counted::Flow;
use crate::policy::facts::router::Way;

/// Of so many packets that came right, one that was dropped is no more than a note.
const FEW: u64 = 100;

/// Packets that are not sent while SAs come up, at most: those of one ping.
const AT_FIRST: u64 = 5;

/// The flows of each router, by what tells them apart.
struct Flows<'v>(Vec<Vec<&'v Flow>>);

pub(super) fn problems(view: &View<'_>) -> Vec<Problem> {
    let flows = Flows(view.policies.routers.iter().map(|router| latest(&router.flows)).collect());
    let all = flows.0.iter().enumerate().flat_map(|(at, of)| of.iter().map(move |flow| (at, *flow)));
    all.filter_map(|(at, flow)| flow_problem(view, &flows, at, flow)).collect()
}

/// The flows of a router: of one that is displayed again, the last display counts.
fn latest(flows: &[Flow]) -> Vec<&Flow> {
    let mut last: BTreeMap<_, usize> = BTreeMap::new();
    for (number, flow) in flows.iter().enumerate().filter(|(_, flow)| flow.selector.is_some()) {
        last.insert((flow.local, flow.remote, &flow.selector), number);
    }
    let counts = |number: usize, flow: &Flow| {
        last.get(&(flow.local, flow.remote, &flow.selector)).is_none_or(|last| *last == number)
    };
    flows.iter().enumerate().filter(|(number, flow)| counts(*number, flow)).map(|(_, flow)| flow).collect()
}

/// The same flow as the other router counted it.
fn opposite<'v>(flows: &Flows<'v>, at: usize, flow: &Flow) -> Option<(usize, &'v Flow)> {
    let (local, remote) = (flow.local?, flow.remote?);
    let all = flows.0.iter().enumerate().filter(|(other, _)| *other != at);
    let same: Vec<(usize, &'v Flow)> = all
        .flat_map(|(other, of)| of.iter().map(move |theirs| (other, *theirs)))
        .filter(|(_, theirs)| (theirs.local, theirs.remote) == (Some(remote), Some(local)))
        .collect();
    // Of several flows between the same ends, what they select tells which answers which.
    let beside = flows.0.get(at)?.iter().filter(|own| (own.local, own.remote) == (flow.local, flow.remote)).count() > 1;
    let answers = |theirs: &&(usize, &Flow)| match (&flow.selector, &theirs.1.selector) {
        (Some(own), Some(far)) => own.mirrored() == *far,
        _ => true,
    };
    match same.as_slice() {
        [only] if !beside => Some(*only),
        same => {
            let mut answering = same.iter().filter(answers);
            let first = answering.next()?;
            answering.next().is_none().then_some(*first)
        }
    }
}

/// Whether the SPIs that one router sends with to the other are those that it waits for, as far as both are given.
fn spis_agree(view: &View<'_>, from: usize, to: usize) -> bool {
    let of = |router: usize, way: Way| {
        view.stated
            .iter()
            .filter(move |one| one.router == router && one.way == Some(way) && one.used)
            .map(|one| (one.protocol, one.spi))
            .collect::<Vec<_>>()
    };
    let expected = of(to, Way::In);
    expected.is_empty() || of(from, Way::Out).iter().all(|sent| expected.contains(sent))
}

fn flow_problem(view: &View<'_>, flows: &Flows<'_>, at: usize, flow: &Flow) -> Option<Problem> {
    let decapsulated = flow.decapsulated?;
    let (host, refused) = (view.name(at), flow.refused());
    let listed: String = flow.trouble.iter().map(|(name, count)| format!(", {count} {name}")).collect();
    let counted = format!("{host} counts {} encaps, {decapsulated} decaps{listed}", flow.encapsulated);
    let other = opposite(flows, at, flow);
    let problem = |evidence: String| {
        let mut problem = Problem::new("sa-counters", evidence).lines(view.policies, at, &flow.cites);
        if let Some((other, theirs)) = other {
            problem = problem.lines(view.policies, other, &theirs.cites);
        }
        problem.about(flow.remote.map_or_else(|| host.to_owned(), |remote| format!("{remote} > {host}")))
    };
    let sent = other.map(|(other, theirs)| (other, view.name(other), theirs.encapsulated));
    match sent {
        Some((from, name, sent)) if decapsulated == 0 && sent > 0 && spis_agree(view, from, at) => {
            let why = if refused > 0 {
                format!(
                    "{host} receives the packets and drops them: the keys or the transforms of this direction differ, or the packets \
                     are damaged on the way"
                )
            } else {
                format!(
                    "{host} counts no error either, so the packets do not arrive, are filtered before IPsec, or have an SPI that \
                     {host} does not know"
                )
            };
            Some(problem(format!("{name} counts {sent} encaps towards {host}; {counted}. {why}.")))
        }
        // The numbers differ and that is told with its lines.
        Some((from, ..)) if decapsulated == 0 && !spis_agree(view, from, at) => None,
        _ if flow.unopened() > 0 => {
            let evidence = format!(
                "{host} counts {} encaps, {decapsulated} decaps, 0 decrypt, 0 verify{listed}: {host} receives packets of this SA and can \
                 decrypt none of them: the keys or the transforms of this direction differ, or the cipher engine fails.",
                flow.encapsulated
            );
            Some(problem(evidence).severity(Severity::Warning))
        }
        _ if refused > 0 => {
            let few = refused.saturating_mul(FEW) < decapsulated;
            let evidence = format!("{counted}: {host} receives packets of this SA and drops them.");
            let severity = if few { Severity::Note } else { Severity::Warning };
            Some(problem(evidence).severity(severity))
        }
        // SAs that are not in the display may have been cut out of it.
        _ if flow.unsent() > 0 && (!is_cut(view, at) || is_complete(view, at, flow)) => {
            let (what, severity) = unsent(host, flow, is_complete(view, at, flow));
            Some(problem(format!("{counted}: {what}.")).severity(severity))
        }
        _ if flow.encapsulated == 0 && decapsulated > AT_FIRST && flow.unsent() == 0 => {
            Some(problem(one_way(host, &counted)).severity(Severity::Warning))
        }
        None if decapsulated == 0 && flow.encapsulated > 0 => Some(
            problem(format!("{counted}: nothing comes back, or what comes back is not for an SA that {host} has."))
                .severity(Severity::Note),
        ),
        _ => None,
    }
}

/// What arriving packets without any that leaves mean.
fn one_way(host: &str, counted: &str) -> String {
    format!(
        "{counted}: {host} decrypts what arrives and sends nothing back into the tunnel. Unless this traffic needs no answer, the way \
         back misses the tunnel: a route out of another interface, NAT that takes the packets first, a filter, or hosts that have \
         another gateway."
    )
}

/// Whether lines of a router's display were cut out.
fn is_cut(view: &View<'_>, at: usize) -> bool {
    view.policies.routers.get(at).is_some_and(|router| router.forwarding.cut_display)
}

/// Whether the display has SAs of both ways between the ends of a flow.
fn is_complete(view: &View<'_>, at: usize, flow: &Flow) -> bool {
    let installed = view.policies.routers.get(at).map(|router| router.installed.as_slice()).unwrap_or_default();
    let has = |way: Way, src, dst| {
        installed.iter().any(|sa| sa.way == Some(way) && (sa.src, sa.dst) == (src, dst) && !sa.spi.is_zero())
    };
    has(Way::Out, flow.local, flow.remote) && has(Way::In, flow.remote, flow.local)
}

/// What packets that could not be sent mean.
fn unsent(host: &str, flow: &Flow, complete: bool) -> (String, Severity) {
    if flow.encapsulated == 0 && !(complete && flow.unsent() <= AT_FIRST) {
        let what =
            "packets for the tunnel come to it and none leaves: the SA is not complete, or nothing leads to the peer";
        (format!("{what} ({host})"), Severity::Warning)
    } else {
        // While IKE negotiates, the first packets are dropped.
        let what = "could not send some packets of this SA: they came while it was not there, or were too large";
        (format!("{host} {what}"), Severity::Note)
    }
}
