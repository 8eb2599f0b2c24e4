//! Peers that name another address than the one that the other router's tunnel leaves from.

use crate::model::Address;
use crate::model::report::Severity;
use crate::policy::facts::router::{MapEntry, Router};
use crate::policy::lint::ends::renumbered::{TwoAddresses, has_ah, laid, naming};
use crate::policy::lint::maps::placement::{is_served, misplaced};
use crate::policy::lint::way::leaving::exit;
use crate::policy::lint::{Facing, blame, near, tunnels};
use crate::policy::{Cite, Net, Problem, View, fix, words};

/// An entry's place: router and entry.
type Place = (usize, usize);

/// Where an entry leaves from, as its own router says it: the interface, and its addresses, the likeliest first.
struct Leaving<'v> {
    interface: &'v str,
    addresses: Vec<Address>,
    cites: Vec<&'v Cite>,
    /// Whether the map has a source address of its own.
    by_source: bool,
}

fn leaving<'v>(router: &'v Router, entry: &MapEntry) -> Option<Leaving<'v>> {
    if entry.number == 0 {
        return of_tunnel(router, entry);
    }
    let source = router.map_sources.get(&entry.name).filter(|source| router.interfaces.contains_key(*source));
    let carries = |name: &&String| match source {
        Some(source) => *name == source,
        None => {
            let map = router.interfaces.get(*name).and_then(|interface| interface.map.as_ref());
            map.is_some_and(|(map, _)| *map == entry.name)
        }
    };
    let carrying: Vec<&String> =
        router.interfaces.keys().filter(carries).filter(|name| !router.addresses_of(name).is_empty()).collect();
    let addresses: Vec<Address> = carrying.iter().flat_map(|name| router.addresses_of(name)).collect();
    let interfaces = carrying.iter().filter_map(|name| router.interfaces.get(*name));
    let cites = interfaces.flat_map(|interface| &interface.addresses).map(|(_, cite)| cite).collect();
    Some(Leaving { interface: carrying.first()?, addresses, cites, by_source: source.is_some() })
}

/// Where a protected tunnel leaves from: its source.
fn of_tunnel<'v>(router: &'v Router, entry: &MapEntry) -> Option<Leaving<'v>> {
    let source = router.interfaces.get(&entry.name)?.tunnel_source.as_deref()?;
    let stated = words::address(source);
    let is_source = |name: &String| match stated {
        Some(own) => router.addresses_of(name).contains(&own),
        None => name == source,
    };
    let (interface, of) = router.interfaces.iter().find(|(name, _)| is_source(name))?;
    let mut addresses = stated.map_or_else(|| router.addresses_of(interface), |own| vec![own]);
    if let Some((peer, _)) = entry.peers.first() {
        addresses.retain(|own| own.is_v4() == peer.is_v4());
    }
    let cites = of.addresses.iter().map(|(_, cite)| cite).collect();
    (!addresses.is_empty()).then_some(Leaving { interface, addresses, cites, by_source: false })
}

/// What an entry is called in a sentence.
fn title(entry: &MapEntry) -> String {
    if entry.number == 0 { entry.name.clone() } else { format!("crypto map {}", entry.name) }
}

/// Other protected tunnels of the router that leave from an address that the other one names, and lead to the other's router.
fn served(view: &View<'_>, here: Place, other: &MapEntry, there: Place) -> Vec<Place> {
    let maps = view.policies.routers.get(here.0).map(|router| router.maps.as_slice()).unwrap_or_default();
    let is_other = |(map, entry): &(usize, &MapEntry)| {
        let leads = entry.peers.iter().any(|(peer, _)| view.other_owner(*peer, here.0) == Some(there.0));
        let local = view.local(here.0, *map);
        *map != here.1 && entry.number == 0 && leads && other.peers.iter().any(|(peer, _)| Some(*peer) == local)
    };
    maps.iter().enumerate().filter(is_other).map(|(map, _)| (here.0, map)).collect()
}

/// Whether such a tunnel is the other one's counterpart.
fn is_answered(view: &View<'_>, here: Place, other: &MapEntry, there: Place) -> bool {
    served(view, here, other, there).into_iter().any(|one| tunnels::may_answer(view, one, there))
}

/// The entry `there` names no address that the entry `here` leaves from.
pub(in crate::policy::lint) fn misses(view: &View<'_>, here: Place, there: Place) -> Option<Problem> {
    let (own, other) = (view.entry(here.0, here.1)?, view.entry(there.0, there.1)?);
    let router = view.policies.routers.get(here.0)?;
    let Leaving { interface, addresses, cites, by_source } = leaving(router, own)?;
    if other.peers.is_empty() || other.unread.peer || other.peers.iter().any(|(peer, _)| addresses.contains(peer)) {
        return None;
    }
    // The map is on the wrong interface, and the peer's line is right.
    if misplaced(view, here, there).is_some() || own.number == 0 && is_answered(view, here, other, there) {
        return None;
    }
    let (peer, _) = other.peers.first()?;
    let address = addresses.first()?;
    let named = router.interfaces.keys().find(|name| router.addresses_of(name).contains(peer));
    if named.is_some_and(|name| is_served(router, own, name)) {
        return None;
    }
    let (name, far) = (view.name(here.0), view.name(there.0));
    let owned = |router: usize| view.owners.get(peer).is_some_and(|owners| owners.contains(&router));
    let at = whereabouts(view, here, there, *peer);
    let evidence = format!(
        "{far} takes {peer} for {name}'s end of the tunnel, but {} of {name} leaves from {interface}, {address}; {at}.",
        title(own)
    );
    let problem = Problem::new("config-peer-mismatch", evidence)
        .about(format!("{far} > {name}"))
        .lines(view.policies, there.0, other.peers.iter().map(|(_, cite)| cite))
        .lines(view.policies, here.0, cites);
    let lines = naming(view, there, *peer, *address);
    let unknown = !view.owners.contains_key(peer);
    if unknown && !addresses.iter().any(|address| near::mistyped(*peer, *address)) {
        let alternative = format!("give {interface} of {name} the address {peer}");
        let by_ah = has_ah(view, there);
        return Some(if by_ah { in_ah(problem, far, lines, &alternative) } else { translated(problem, name, *peer) });
    }
    if owned(there.0) {
        return Some(blame::decided(problem, far, "a router cannot be its own peer", lines));
    }
    let question = TwoAddresses { view, at: Facing { a: here, b: there }, interface, own: *address, named: *peer };
    if owned(here.0) {
        return Some(on_another(&question, problem, by_source, lines));
    }
    if !unknown {
        return Some(blame::decided(problem, far, "the address is another router's", lines));
    }
    Some(laid(&question, problem, router, lines))
}

/// The peer names an address that the router has on another interface than the one that the tunnel leaves from. With the source
/// changed the peer's line is right, and the other way round; a pre-shared key for one of the addresses only says which is meant.
fn on_another(question: &TwoAddresses<'_>, problem: Problem, by_source: bool, lines: Vec<String>) -> Problem {
    let TwoAddresses { view, at, interface, own: address, named } = question;
    let (name, far) = (view.name(at.a.0), view.name(at.b.0));
    let router = view.policies.routers.get(at.a.0);
    let other = router.and_then(|router| router.interfaces.keys().find(|one| router.addresses_of(one).contains(named)));
    let (Some(entry), Some(other)) = (view.entry(at.a.0, at.a.1), other) else { return problem };
    let peer = entry.peers.first().map(|(peer, _)| *peer);
    let is_loopback = other.starts_with("Loopback");
    let (alternative, typed) = if by_source {
        (format!("take `crypto map {} local-address` out on {name}", entry.name), Vec::new())
    } else if entry.number == 0 {
        let lines = vec![format!("interface {}", entry.name), format!(" tunnel source {other}")];
        (format!("give {} of {name} the source {other}", entry.name), fix::global(peer, lines))
    } else if is_loopback {
        let line = format!("crypto map {} local-address {other}", entry.name);
        (format!("type `{line}` on {name}"), fix::global(peer, vec![line]))
    } else {
        (format!("put crypto map {} of {name} on the interface with {named}", entry.name), Vec::new())
    };
    let keys = view.policies.routers.get(at.b.0).filter(|router| !router.forwarding.other_keys);
    let keyed = keys.is_some_and(|router| keyed_for(router, *named, *address));
    let keyed_for_own = keys.is_some_and(|router| keyed_for(router, *address, *named));
    if keyed_for_own {
        return blame::decided(
            problem,
            far,
            &format!("it has a pre-shared key for {address} and none for {named}"),
            lines,
        );
    }
    // A tunnel leaves from the interface that leads to the peer, or from a loopback.
    let leads = !is_loopback
        && peer.zip(router).is_some_and(|(peer, router)| exit(router, &Net::host(peer)) == Some(interface));
    if keyed && !typed.is_empty() && !leads {
        let because = format!("{far} has a pre-shared key for {named} and none for {address}");
        return blame::decided(problem, name, &because, typed);
    }
    // A map on a loopback protects nothing, and a loopback that the peer names is there to be the tunnel's end. An address that another
    // tunnel between the two leaves from is that tunnel's.
    let theirs = view.entry(at.b.0, at.b.1);
    let is_taken = theirs.is_some_and(|theirs| !served(view, at.a, theirs, at.b).is_empty());
    let is_likelier = if entry.number == 0 {
        !interface.starts_with("Loopback") && !is_taken && !leads
    } else {
        is_loopback && !by_source
    };
    if is_likelier {
        return blame::open(problem, name, typed, &format!("give {far} the peer {address} in place of {named}"));
    }
    blame::open(problem, far, lines, &alternative)
}

/// Whether a router has a pre-shared key for one address and none for another.
fn keyed_for(router: &Router, address: Address, other: Address) -> bool {
    let covered = |one: Address| router.ike_keys.iter().any(|key| key.covers.contains(one));
    covered(address) && !covered(other)
}

/// Whose address it is that `there` takes for the end of `here`, in words.
fn whereabouts(view: &View<'_>, here: Place, there: Place, peer: Address) -> String {
    let owners = view.owners.get(&peer);
    let owned = |router: usize| owners.is_some_and(|owners| owners.contains(&router));
    match owners.and_then(|owners| owners.first()) {
        _ if owned(there.0) => format!("{peer} is an address of {} itself", view.name(there.0)),
        _ if owned(here.0) => format!("{} has it on another interface", view.name(here.0)),
        Some(third) => format!("it is an address of {}", view.name(*third)),
        None => format!("{} has no such address in what was given", view.name(here.0)),
    }
}

/// An address that is nothing like the router's own may be what a NAT in between makes of it.
fn translated(mut problem: Problem, name: &str, peer: Address) -> Problem {
    problem.evidence.push_str(&format!(
        " {peer} is nothing like it, so a NAT in between may translate {name}'s address into {peer}; without one, the line is wrong."
    ));
    problem.severity(Severity::Note)
}

/// AH covers the addresses (RFC 4302 section 3.3.3.1).
fn in_ah(mut problem: Problem, far: &str, lines: Vec<String>, alternative: &str) -> Problem {
    problem.evidence.push_str(" AH covers the addresses of a packet, so that no NAT in between explains it.");
    blame::open(problem, far, lines, alternative)
}
