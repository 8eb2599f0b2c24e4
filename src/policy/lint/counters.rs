//! What routers counted themselves: which side drops.

use super::super::{Problem, View};
use crate::model::report::Severity;
use crate::policy::facts::counted::Flow;
use crate::policy::facts::router::Way;

/// Of so many packets that came right, one that was dropped is no more than a note.
const FEW: u64 = 100;

pub(super) fn problems(view: &View<'_>) -> Vec<Problem> {
    let flows = |at: usize| view.policies.routers.get(at).map(|router| router.flows.as_slice()).unwrap_or_default();
    (0..view.policies.routers.len())
        .flat_map(|at| flows(at).iter().map(move |flow| (at, flow)))
        .filter_map(|(at, flow)| flow_problem(view, at, flow))
        .collect()
}

/// The same flow as the other router counted it.
fn opposite<'v>(view: &'v View<'_>, at: usize, flow: &Flow) -> Option<(usize, &'v Flow)> {
    let (local, remote) = (flow.local?, flow.remote?);
    let all = view.policies.routers.iter().enumerate().filter(|(other, _)| *other != at);
    let mut same = all
        .flat_map(|(other, router)| router.flows.iter().map(move |theirs| (other, theirs)))
        .filter(|(_, theirs)| (theirs.local, theirs.remote) == (Some(remote), Some(local)));
    // Of several flows between the same ends, which answers which is not known.
    let first = same.next()?;
    same.next().is_none().then_some(first)
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

fn flow_problem(view: &View<'_>, at: usize, flow: &Flow) -> Option<Problem> {
    let decapsulated = flow.decapsulated?;
    let (host, refused) = (view.name(at), flow.refused());
    let listed: Vec<String> = flow.trouble.iter().map(|(name, count)| format!("{count} {name}")).collect();
    let listed = if listed.is_empty() { String::new() } else { format!(", {}", listed.join(", ")) };
    let counted = format!("{host} counts {} encaps, {decapsulated} decaps{listed}", flow.encapsulated);
    let other = opposite(view, at, flow);
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
        _ if flow.unsent() > 0 => {
            let (what, severity) = unsent(host, flow);
            Some(problem(format!("{counted}: {what}.")).severity(severity))
        }
        None if decapsulated == 0 && flow.encapsulated > 0 => Some(
            problem(format!("{counted}: nothing comes back, or what comes back is not for an SA that {host} has."))
                .severity(Severity::Note),
        ),
        _ => None,
    }
}

/// What packets that could not be sent mean.
fn unsent(host: &str, flow: &Flow) -> (String, Severity) {
    if flow.encapsulated == 0 {
        let what =
            "packets for the tunnel come to it and none leaves: the SA is not complete, or nothing leads to the peer";
        (format!("{what} ({host})"), Severity::Warning)
    } else {
        // While IKE negotiates, the first packets are dropped.
        let what = "could not send some packets of this SA: they came while it was not there, or were too large";
        (format!("{host} {what}"), Severity::Note)
    }
}
