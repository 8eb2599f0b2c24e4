//! Crypto maps that no interface carries, or the wrong one.

use std::collections::BTreeSet;

use crate::model::Address;
use crate::model::report::Severity;
use crate::policy::facts::router::{Keying, MapEntry, Router};
use crate::policy::form::order::Chapter;
use crate::policy::lint::Facing;
use crate::policy::{Cite, Problem, View, fix};

/// An entry's place: router and entry.
type Place = (usize, usize);

pub(in crate::policy::lint) fn problems(view: &View<'_>, facing: &[Facing]) -> Vec<Problem> {
    let mut problems: Vec<Problem> = facing
        .iter()
        .flat_map(|pair| pair.both_ways())
        .filter_map(|(here, there)| {
            let found = misplaced(view, here, there).map(|found| found.problem(view, here, there));
            found.or_else(|| super::bare::problem(view, here, there))
        })
        .collect();
    for (at, router) in view.policies.routers.iter().enumerate().filter(|(_, router)| configures_interfaces(router)) {
        // A map that does not exist stands on an interface: that line is at fault (`references`).
        let dangling = router.interfaces.values().filter_map(|interface| interface.map.as_ref());
        let given: BTreeSet<&str> = router.maps.iter().map(|entry| entry.name.as_str()).collect();
        if dangling.clone().any(|(map, _)| !given.contains(map.as_str())) {
            continue;
        }
        let carried: BTreeSet<&str> = dangling.map(|(map, _)| map.as_str()).collect();
        let idle_entries = |(_, entry): &(usize, &MapEntry)| entry.number > 0 && !carried.contains(entry.name.as_str());
        let mut told: Vec<&str> = Vec::new();
        for (number, entry) in router.maps.iter().enumerate().filter(idle_entries) {
            if !told.contains(&entry.name.as_str()) && is_idle(view, (at, number), router, facing) {
                told.push(&entry.name);
                problems.push(idle(view, (at, number), router, facing));
            }
        }
    }
    problems
}

/// Whether its interfaces were given with their addresses, and not only the lines about crypto maps.
pub(in crate::policy::lint) fn configures_interfaces(router: &Router) -> bool {
    let named = router.forwarding.ports.values().any(|port| port.leased || port.unnumbered.is_some());
    named || router.interfaces.values().any(|interface| !interface.addresses.is_empty())
}

pub(super) fn carriers<'r>(router: &'r Router, map: &str) -> Vec<(&'r String, &'r Cite)> {
    let of = |(name, interface): (&'r String, &'r crate::policy::Interface)| {
        let (carried, cite) = interface.map.as_ref()?;
        (carried == map).then_some((name, cite))
    };
    router.interfaces.iter().filter_map(of).collect()
}

/// Whether an entry's map is on no interface, and no other entry does its work.
fn is_idle(view: &View<'_>, at: Place, router: &Router, facing: &[Facing]) -> bool {
    let Some(entry) = view.entry(at.0, at.1) else { return false };
    // A line that could not be read may put it on an interface.
    let forwarding = &router.forwarding;
    if !carriers(router, &entry.name).is_empty() || forwarding.mentions(&entry.name) {
        return false;
    }
    // A map with a source address of its own may be on any interface, one that was cut out too.
    if forwarding.hidden.contains(&Chapter::Interfaces) && router.map_sources.contains_key(&entry.name) {
        return false;
    }
    // PIX and ASA apply a map in a line beside its own.
    if router.maker.is_some() && forwarding.hidden.contains(&Chapter::Maps) {
        return false;
    }
    let applied = |map: &str| !carriers(router, map).is_empty();
    // The interface that it belongs on may not have been pasted, or not whole.
    if meant(view, at, router, facing).is_none_or(|(interface, _)| forwarding.open.contains(&interface)) {
        return false;
    }
    if !router.maps.iter().any(|other| applied(&other.name)) {
        return true;
    }
    // Beside a map that is applied, an old one may be left: only what a peer waits for is missed.
    let faces = facing.iter().any(|pair| pair.a == at || pair.b == at);
    let same_peer = |other: &crate::policy::MapEntry| {
        other.peers.iter().any(|(peer, _)| entry.peers.iter().any(|(own, _)| own == peer))
    };
    faces && !router.maps.iter().any(|other| applied(&other.name) && same_peer(other))
}

/// Whether an entry's map was left behind on no interface, beside one that is in use.
fn is_left(view: &View<'_>, at: Place, facing: &[Facing]) -> bool {
    let Some((router, entry)) = view.policies.routers.get(at.0).zip(view.entry(at.0, at.1)) else { return false };
    let applied = router.interfaces.values().any(|interface| interface.map.is_some());
    let is_elsewhere = !configures_interfaces(router) || !carriers(router, &entry.name).is_empty();
    let is_unsure = router.maker.is_some() || router.forwarding.mentions(&entry.name);
    applied && !is_elsewhere && !is_unsure && !is_idle(view, at, router, facing)
}

/// Pairs of entries of which one at least may be in use.
pub(in crate::policy::lint) fn in_force(view: &View<'_>, facing: &[Facing]) -> Vec<Facing> {
    let is_left = |at: Place| is_left(view, at, facing);
    facing.iter().copied().filter(|pair| !is_left(pair.a) || !is_left(pair.b)).collect()
}

/// A problem of an entry: of a map that was left behind on no interface, beside one that is in use, it concerns no packet.
pub(in crate::policy::lint) fn in_use(view: &View<'_>, at: Place, facing: &[Facing], problem: Problem) -> Problem {
    let (Some(router), Some(entry)) = (view.policies.routers.get(at.0), view.entry(at.0, at.1)) else { return problem };
    if !is_left(view, at, facing) {
        return problem;
    }
    let said = problem.evidence.trim_start_matches(&format!("{}: ", router.name));
    let evidence = format!(
        "{}: no interface carries crypto map {}, so no packet meets it. It is of concern once an interface does: {said}",
        router.name, entry.name
    );
    Problem { evidence, fix: Vec::new(), ..problem.severity(Severity::Note) }
}

/// The interface that an entry's map belongs on: the one that the peer names, else the one that leads to the peer.
fn meant(view: &View<'_>, at: Place, router: &Router, facing: &[Facing]) -> Option<(String, String)> {
    let entry = view.entry(at.0, at.1)?;
    let theirs = facing.iter().flat_map(|pair| pair.both_ways()).find(|(here, _)| *here == at);
    let named = theirs.and_then(|(_, there)| view.entry(there.0, there.1)).map(|entry| entry.peers.as_slice());
    for (peer, _) in named.unwrap_or_default() {
        let owner = router.interfaces.keys().find(|name| router.addresses_of(name).contains(peer));
        if let Some(name) = owner {
            return Some((name.clone(), format!("the peer names its address {peer}")));
        }
    }
    let (peer, _) = entry.peers.first()?;
    let name = toward(router, *peer)?;
    Some((name.clone(), format!("the peer {peer} is reached over it")))
}

/// The interface that is connected to an address.
fn toward(router: &Router, address: Address) -> Option<&String> {
    let mut connected =
        router.interfaces.iter().filter(|(_, interface)| interface.networks.iter().any(|net| net.contains(address)));
    connected.next().map(|(name, _)| name)
}

fn idle(view: &View<'_>, at: Place, router: &Router, facing: &[Facing]) -> Problem {
    let (name, cite, peer) = match view.entry(at.0, at.1) {
        Some(entry) => (entry.name.as_str(), Some(&entry.cite), entry.peers.first().map(|(peer, _)| *peer)),
        None => ("", None, None),
    };
    let mut evidence = format!("{}: no interface carries crypto map {name}, so it protects nothing", router.name);
    let place = meant(view, at, router, facing);
    match &place {
        Some((interface, because)) => {
            evidence.push_str(&format!("; it belongs on interface {interface}, because {because}."))
        }
        None => evidence.push_str("; the interface that leads to the peer needs the line `crypto map`."),
    }
    let problem = Problem::new("config-map-not-applied", evidence)
        .about(format!("{} crypto map {name}", router.name))
        .lines(view.policies, at.0, cite);
    match place {
        Some((interface, _)) => {
            let lines = vec![format!("interface {interface}"), format!(" crypto map {name}")];
            problem.fix(&router.name, fix::global(peer, lines))
        }
        None => problem,
    }
}

/// A map that sits on another interface than the one whose address the peer names.
pub(in crate::policy::lint) struct Misplaced {
    map: String,
    carrier: String,
    carried: Cite,
    meant: String,
    named: Address,
}

/// Whether the entry `here` sits on the wrong interface, where the entry `there` names an address of another one.
pub(in crate::policy::lint) fn misplaced(view: &View<'_>, here: Place, there: Place) -> Option<Misplaced> {
    let (own, theirs) = (view.entry(here.0, here.1)?, view.entry(there.0, there.1)?);
    let router = view.policies.routers.get(here.0)?;
    if router.map_sources.contains_key(&own.name) || own.keying == Keying::Ike && own.number == 0 {
        return None;
    }
    let carriers = carriers(router, &own.name);
    let [(carrier, carried)] = carriers.as_slice() else { return None };
    let (named, _) = theirs.peers.first()?;
    let meant = router.interfaces.keys().find(|name| router.addresses_of(name).contains(named))?;
    let placed = router.addresses_of(carrier);
    if meant == *carrier || placed.is_empty() || theirs.peers.iter().any(|(peer, _)| placed.contains(peer)) {
        return None;
    }
    if is_served(router, own, meant) {
        return None;
    }
    // The way to the peer decides: an interface that leads to it is not the wrong one.
    let far = own.peers.iter().map(|(peer, _)| *peer).chain(view.local(there.0, there.1)).collect::<Vec<_>>();
    let leads = |name: &String| far.iter().any(|peer| toward(router, *peer) == Some(name));
    (leads(meant) && !leads(carrier)).then(|| Misplaced {
        map: own.name.clone(),
        carrier: (*carrier).clone(),
        carried: (*carried).clone(),
        meant: meant.clone(),
        named: *named,
    })
}

/// Whether an interface has another map for the peer of an entry, as with two uplinks: an interface carries one map.
pub(in crate::policy::lint) fn is_served(router: &Router, own: &MapEntry, interface: &str) -> bool {
    router.maps.iter().any(|other| {
        let same_peer = other.peers.iter().any(|(peer, _)| own.peers.iter().any(|(own, _)| own == peer));
        same_peer && other.name != own.name && carriers(router, &other.name).iter().any(|(name, _)| *name == interface)
    })
}

impl Misplaced {
    fn problem(self, view: &View<'_>, here: Place, there: Place) -> Problem {
        let (name, far) = (view.name(here.0), view.name(there.0));
        let Self { map, carrier, carried, meant, named } = self;
        let evidence = format!(
            "{name}: crypto map {map} is on interface {carrier}, and the way to {far} is interface {meant}, whose address {named} {far} \
             has as its peer. The map belongs on {meant}; the peer's line is right."
        );
        let peer = view.entry(here.0, here.1).and_then(|entry| entry.peers.first()).map(|(peer, _)| *peer);
        let lines = vec![
            format!("interface {carrier}"),
            format!(" no crypto map {map}"),
            format!("interface {meant}"),
            format!(" crypto map {map}"),
        ];
        Problem::new("config-map-not-applied", evidence)
            .about(format!("{name} crypto map {map}"))
            .lines(view.policies, here.0, [&carried])
            .fix(name, fix::global(peer, lines))
    }
}
