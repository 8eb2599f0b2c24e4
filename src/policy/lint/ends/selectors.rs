//! What two hosts of makers other than Cisco and Linux put into the tunnel between them: policies of setkey and RouterOS, flows of
//! OpenBSD.

use std::collections::BTreeMap;

use crate::model::Address;
use crate::policy::facts::router::{InForce, Way};
use crate::policy::lint::maps::acl::meaning;
use crate::policy::{Problem, View};

/// Selectors named in an evidence.
const NAMED: usize = 4;

/// The selectors of a host by the ends of their tunnel.
type ByEnds<'v> = BTreeMap<(Address, Address), Vec<&'v InForce>>;

pub(in crate::policy::lint) fn problems(view: &View<'_>) -> Vec<Problem> {
    let routers = view.policies.routers.iter().enumerate();
    // Of Cisco, what is in force is a display of SAs that were agreed on.
    let hosts: Vec<(usize, ByEnds<'_>)> = routers
        .filter(|(_, router)| router.maker.is_some_and(|maker| !maker.starts_with("PIX")))
        .map(|(at, router)| (at, by_ends(&router.selectors)))
        .filter(|(_, all)| !all.is_empty())
        .collect();
    let mut problems = Vec::new();
    for (n, (here, own)) in hosts.iter().enumerate() {
        for (there, far) in hosts.iter().skip(n + 1) {
            for ((local, remote), mine) in own {
                if let Some(theirs) = far.get(&(*remote, *local)) {
                    problems.extend(problem(view, (*here, mine), (*there, theirs)));
                }
            }
        }
    }
    problems
}

fn by_ends(selectors: &[InForce]) -> ByEnds<'_> {
    let mut all: ByEnds<'_> = BTreeMap::new();
    for one in selectors.iter().filter(|one| one.way != Some(Way::In)) {
        if let (Some(local), Some(remote)) = (one.local, one.remote) {
            all.entry((local, remote)).or_default().push(one);
        }
    }
    all
}

/// The selectors of a host that have no mirror image at the other one.
fn odd<'v>(own: &[&'v InForce], far: &[&InForce]) -> Vec<&'v InForce> {
    let mirrored = |one: &&&InForce| {
        let meant = meaning(&one.selector);
        far.iter().any(|other| meaning(&other.selector.mirrored()) == meant)
    };
    // One that lies within another adds nothing to what the tunnel carries.
    let is_within = |one: &&&InForce| {
        own.iter().any(|wider| !std::ptr::eq(*wider, **one) && mirrored(&wider) && wider.selector.covers(&one.selector))
    };
    own.iter().filter(|one| !mirrored(one) && !is_within(one)).copied().collect()
}

fn problem(
    view: &View<'_>,
    (here, mine): (usize, &[&InForce]),
    (there, theirs): (usize, &[&InForce]),
) -> Option<Problem> {
    let (odd_here, odd_there) = (odd(mine, theirs), odd(theirs, mine));
    // Several selectors may be the parts of one of the other host: whether they are all of it is not looked into.
    let parts = |parts: &[&InForce], whole: &[&InForce]| {
        parts.len() > whole.len()
            && parts.iter().all(|part| whole.iter().any(|one| one.selector.mirrored().covers(&part.selector)))
    };
    if odd_here.is_empty() && odd_there.is_empty() || parts(&odd_here, &odd_there) || parts(&odd_there, &odd_here) {
        return None;
    }
    let (a, b) = (view.name(here), view.name(there));
    let said = |host: &str, other: &str, odd: &[&InForce]| {
        let (first, listed) = (odd.first()?, odd.iter().take(NAMED).map(|one| one.selector.to_string()));
        let listed = listed.collect::<Vec<_>>().join(", ");
        Some(format!("{host} selects {listed}; {other} has no mirror image of it ({})", first.selector.mirrored()))
    };
    let all: Vec<String> = [said(a, b, &odd_here), said(b, a, &odd_there)].into_iter().flatten().collect();
    let evidence = format!("{}. Which of the two is meant is not determined by these texts.", all.join("; "));
    let problem = Problem::new("config-acl-mismatch", evidence)
        .about(format!("{a} < > {b}"))
        .lines(view.policies, here, odd_here.iter().map(|one| &one.cite))
        .lines(view.policies, there, odd_there.iter().map(|one| &one.cite));
    Some(problem)
}
