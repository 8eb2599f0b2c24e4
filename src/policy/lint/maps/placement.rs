//! Crypto maps that no interface carries, or the wrong one.

use std::collections::BTreeSet;

use crate::model::Address;
use crate::model::report::Severity;
use crate::policy::facts::router::{MapEntry, Router};
use crate::policy::form::order::Chapter;
use crate::policy::lint::Facing;
use crate::policy::lint::way::leaving;
use crate::policy::{Cite, Net, Problem, Selector, View, fix};

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
    // Entries of one map are on one interface.
    let mut told: BTreeSet<Option<String>> = BTreeSet::new();
    problems.retain(|problem| told.insert(problem.subject.clone()));
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
    let plain = |name: &&str| router.interfaces.get(*name).is_some_and(|one| one.tunnel_source.is_none());
    // An old map without a counterpart may be left on no interface.
    let routed = || theirs.and_then(|_| leaving::exit(router, &Net::host(*peer))).filter(plain);
    let name = toward(router, *peer).map(String::as_str).or_else(routed)?;
    Some((name.to_owned(), format!("the peer {peer} is reached over it")))
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

/// A map that sits on another interface than the one that its packets leave by.
pub(in crate::policy::lint) struct Misplaced {
    map: String,
    carrier: String,
    carried: Cite,
    meant: String,
    /// The address of the meant interface that the other router names.
    named: Option<Address>,
}

/// Whether the entry `here` sits on the wrong interface, as the address that the entry `there` names or the routes say.
pub(in crate::policy::lint) fn misplaced(view: &View<'_>, here: Place, there: Place) -> Option<Misplaced> {
    let (own, theirs) = (view.entry(here.0, here.1)?, view.entry(there.0, there.1)?);
    let router = view.policies.routers.get(here.0)?;
    if own.number == 0 {
        return None;
    }
    let carriers = carriers(router, &own.name);
    let [(carrier, carried)] = carriers.as_slice() else { return None };
    let far: Vec<Address> = own.peers.iter().map(|(peer, _)| *peer).chain(view.local(there.0, there.1)).collect();
    let named = meant_by(router, own, theirs, carrier);
    let meant = match named {
        Some((meant, _)) => decided(router, own, carrier, meant, &far).then_some(meant)?,
        None => passed_by(router, own, theirs, carrier)?,
    };
    Some(Misplaced {
        map: own.name.clone(),
        carrier: (*carrier).clone(),
        carried: (*carried).clone(),
        meant: meant.to_owned(),
        named: named.map(|(_, named)| named),
    })
}

/// The interface without the map whose address the other router's entry has for its peer.
fn meant_by<'r>(router: &'r Router, own: &MapEntry, theirs: &MapEntry, carrier: &String) -> Option<(&'r str, Address)> {
    if router.map_sources.contains_key(&own.name) {
        return None;
    }
    let (named, _) = theirs.peers.first()?;
    let meant = router.interfaces.keys().find(|name| router.addresses_of(name).contains(named))?;
    let placed = router.addresses_of(carrier);
    let names_it = placed.is_empty() || theirs.peers.iter().any(|(peer, _)| placed.contains(peer));
    (meant != carrier && !names_it && !is_served(router, own, meant)).then_some((meant.as_str(), *named))
}

/// Whether an interface with the address that the peer names is the right one: it leads to the peer and the one with the map does not, or
/// the packets for the tunnel come in on the latter.
fn decided(router: &Router, own: &MapEntry, carrier: &str, meant: &str, far: &[Address]) -> bool {
    let connected =
        |name: &str| far.iter().any(|peer| toward(router, *peer).is_some_and(|leading| leading.as_str() == name));
    if connected(carrier) {
        return false;
    }
    let routed = own.peers.first().and_then(|(peer, _)| leaving::exits(router, &Net::host(*peer)));
    let over = |name: &str| routed.as_ref().is_some_and(|exits| exits.contains(name));
    let free = router.interfaces.get(meant).is_some_and(|interface| interface.map.is_none());
    let sent = |line: &Selector| leaving::exit(router, &line.dst) == Some(meant);
    let all = lines(router, own).is_some_and(|lines| lines.iter().all(|(line, _)| sent(line)));
    let by_routes = over(meant) && !over(carrier) && all && !router.forwarding.other_routes;
    connected(meant) || free && (by_routes || !over(carrier) && comes_in(router, own, carrier))
}

/// The interface without a map that all packets of an entry leave by, as the routes say, where they come in on the one with the map.
fn passed_by<'r>(router: &'r Router, own: &MapEntry, theirs: &MapEntry, carrier: &str) -> Option<&'r str> {
    let placed = router.addresses_of(carrier);
    let by_source = router.map_sources.contains_key(&own.name);
    let names_it = !by_source && theirs.peers.iter().any(|(peer, _)| placed.contains(peer));
    if router.maker.is_some() || router.forwarding.other_routes || names_it || !comes_in(router, own, carrier) {
        return None;
    }
    let (peer, _) = own.peers.first()?;
    let meant = leaving::exit(router, &Net::host(*peer)).filter(|name| *name != carrier)?;
    let interface = router.interfaces.get(meant)?;
    let bare = interface.map.is_none() && interface.tunnel_destination.is_none() && interface.tunnel_source.is_none();
    let all = lines(router, own)?.iter().all(|(line, _)| leaving::exit(router, &line.dst) == Some(meant));
    (bare && all).then_some(meant)
}

/// Whether all packets that an entry's list selects come in on an interface.
fn comes_in(router: &Router, own: &MapEntry, carrier: &str) -> bool {
    // What the router itself sends comes in on no interface.
    let own_host = |net: &Net| net.as_host().is_some_and(|host| router.addresses().any(|own| own == host));
    let inside = |net: &Net| !net.is_any() && !own_host(net) && leaving::exit(router, net) == Some(carrier);
    lines(router, own).is_some_and(|lines| lines.iter().all(|(line, _)| inside(&line.src)))
}

/// The lines of an entry's list, where there are some and all are known.
fn lines<'r>(router: &'r Router, own: &MapEntry) -> Option<&'r [(Selector, Cite)]> {
    let (name, _) = own.acl.as_ref()?;
    let list = router.acls.get(name).filter(|_| router.forwarding.is_sure(name))?;
    (!list.permits.is_empty()).then_some(list.permits.as_slice())
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
        let evidence = match named {
            Some(named) => format!(
                "{name}: crypto map {map} is on interface {carrier}, and the way to {far} is interface {meant}, whose address {named} {far} \
                 has as its peer. The map belongs on {meant}; the peer's line is right."
            ),
            None => format!(
                "{name}: crypto map {map} is on interface {carrier}, where the packets that it selects come in. They leave by {meant}, the \
                 way to {far}, which has no crypto map: they are not encrypted. The map belongs on {meant}."
            ),
        };
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
