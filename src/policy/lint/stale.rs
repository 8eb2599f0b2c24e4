//! Displays that contradict their router's configuration, and commands that the text quotes and no configuration has.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{Cite, Problem, View, fix};
use super::agree;
use crate::model::{Address, Protocol, Spi};
use crate::policy::facts::router::{Keying, Way};
use crate::policy::facts::stated::{Basis, Stated};
use crate::transform::Suite;

pub(super) fn problems(view: &View<'_>) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut by_router: BTreeMap<usize, Vec<&Stated>> = BTreeMap::new();
    for stated in &view.stated {
        by_router.entry(stated.router).or_default().push(stated);
    }
    for (&router, stated) in &by_router {
        problems.extend(display(view, router, stated, &by_router));
    }
    problems.extend(quoted(view));
    problems
}

/// SPIs of a router by protocol and way.
fn spis(stated: &[&Stated], basis: Basis) -> BTreeMap<(Protocol, Way), BTreeSet<Spi>> {
    let mut spis: BTreeMap<(Protocol, Way), BTreeSet<Spi>> = BTreeMap::new();
    for one in stated.iter().filter(|one| one.basis == basis && one.used) {
        if let Some(way) = one.way {
            spis.entry((one.protocol, way)).or_default().insert(one.spi);
        }
    }
    spis
}

/// The far end of an SA, seen from its router.
fn far_end(one: &Stated) -> Option<Address> {
    match one.way? {
        Way::In => one.src,
        Way::Out => one.dst,
    }
}

/// What configuration and display can be held against each other: SAs with manual keys. Those that IKE negotiates have SPIs of
/// their own, and a display may be of some peers only.
fn comparable<'s>(view: &View<'_>, router: usize, stated: &[&'s Stated]) -> Vec<&'s Stated> {
    let maps = view.policies.routers.get(router).map(|router| router.maps.as_slice()).unwrap_or_default();
    let of = |keying| -> BTreeSet<Address> {
        let entries = maps.iter().filter(|entry| entry.keying == keying);
        entries.flat_map(|entry| entry.peers.iter().map(|(peer, _)| *peer)).collect()
    };
    let (manual, ike) = (of(Keying::Manual), of(Keying::Ike));
    let negotiates = maps.iter().any(|entry| entry.keying == Keying::Ike);
    let shown: BTreeSet<Address> =
        stated.iter().filter(|one| one.basis == Basis::InForce).filter_map(|one| far_end(one)).collect();
    let part = !shown.is_empty() && shown.is_subset(&manual);
    stated
        .iter()
        .copied()
        .filter(|one| match far_end(one) {
            _ if one.basis == Basis::Listed => false,
            Some(far) if negotiates => manual.contains(&far) && !ike.contains(&far) && shown.contains(&far),
            Some(far) if part => shown.contains(&far),
            far => far.is_some() || !negotiates,
        })
        .collect()
}

fn display(view: &View<'_>, router: usize, stated: &[&Stated], all: &BTreeMap<usize, Vec<&Stated>>) -> Option<Problem> {
    let stated = &comparable(view, router, stated)[..];
    let (configured, in_force) = (spis(stated, Basis::Manual), spis(stated, Basis::InForce));
    let cut = view.policies.routers.get(router).is_some_and(|router| router.forwarding.cut_display);
    if configured.is_empty() || in_force.is_empty() || cut {
        return None;
    }
    let name = view.name(router);
    let mut said = Vec::new();
    if configured != in_force {
        said.push(format!("the display shows {}, the configuration says {}", listed(&in_force), listed(&configured)));
        let theirs = all
            .iter()
            .filter(|(other, _)| **other != router)
            .find(|(_, theirs)| spis(theirs, Basis::Manual) == in_force);
        if let Some((&other, _)) = theirs {
            said.push(format!("these are the SPIs of {}: it looks like the output of the peer", view.name(other)));
        }
    }
    let words = |basis| -> BTreeSet<&str> {
        stated.iter().filter(|one| one.basis == basis && !one.words.is_empty()).map(|one| one.words.as_str()).collect()
    };
    // A display has one line for each protocol of a set.
    let parts = |words: BTreeSet<&str>| -> Vec<Suite> { words.iter().filter_map(|words| words.parse().ok()).collect() };
    let (shown, set) = (parts(words(Basis::InForce)), parts(words(Basis::Manual)));
    let bundle = set.iter().any(|suite| suite.to_string().contains(" + "));
    let common = shown.iter().any(|shown| set.iter().any(|set| agree(shown, set)));
    if !shown.is_empty() && !set.is_empty() && !common && !bundle {
        let join = |set: &[Suite]| {
            let named: BTreeSet<String> = set.iter().map(ToString::to_string).collect();
            named.into_iter().collect::<Vec<_>>().join(", ")
        };
        said.push(format!("the display shows the transforms {}, the configuration says {}", join(&shown), join(&set)));
    }
    if said.is_empty() {
        return None;
    }
    let peers: BTreeSet<Address> = stated.iter().filter_map(|one| far_end(one)).collect();
    let lines: Vec<Cite> = stated.iter().filter_map(|one| one.cites.first().cloned()).collect();
    let evidence = format!("{name}: {}.", said.join("; "));
    let problem = Problem::new("config-stale", evidence)
        .about(name)
        .lines(view.policies, router, &lines)
        .fix(name, peers.into_iter().take(4).flat_map(|peer| fix::clear(Some(peer))).collect());
    Some(problem)
}

fn listed(spis: &BTreeMap<(Protocol, Way), BTreeSet<Spi>>) -> String {
    let one = |((protocol, way), spis): (&(Protocol, Way), &BTreeSet<Spi>)| {
        let numbers: Vec<String> = spis.iter().take(4).map(|spi| spi.0.to_string()).collect();
        let way = if *way == Way::In { "inbound" } else { "outbound" };
        format!("{way} {} {}", protocol.title(), numbers.join(", "))
    };
    spis.iter().map(one).collect::<Vec<_>>().join(" and ")
}

fn quoted(view: &View<'_>) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (at, router) in view.policies.routers.iter().enumerate() {
        for quoted in &router.quoted {
            let key = &quoted.key;
            let keys =
                || {
                    view.policies.routers.iter().enumerate().flat_map(|(at, router)| {
                        router.maps.iter().flat_map(|entry| &entry.keys).map(move |key| (at, key))
                    })
                };
            let same_place =
                |other: &super::super::SessionKey| other.protocol == key.protocol && other.inbound == key.inbound;
            if keys()
                .any(|(_, other)| same_place(other) && other.spi == key.spi && other.authenticator == key.authenticator)
            {
                continue;
            }
            let evidence = format!(
                "The text quotes `{}`, and no configuration given has this line with these values.",
                key.cite.text
            );
            let mut problem =
                Problem::new("config-stale", evidence).about(&*router.name).lines(view.policies, at, [&key.cite]);
            for (other, line) in keys().filter(|(_, other)| same_place(other)) {
                problem = problem.lines(view.policies, other, [&line.cite]);
            }
            problems.push(problem);
        }
    }
    problems
}
