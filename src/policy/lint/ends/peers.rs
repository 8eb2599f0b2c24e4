//! Which map entries face each other, and such as get their keys in different ways.

use std::collections::{BTreeMap, BTreeSet};

use crate::policy::facts::router::{Acl, Keying, MapEntry};
use crate::policy::form::order::Chapter;
use crate::policy::lint::Facing;
use crate::policy::lint::tunnels::{TunnelPairs, takes_many};
use crate::policy::lint::way::misnamed::misses;
use crate::policy::{Net, Problem, View};

/// An entry's place: router and entry.
type Place = (usize, usize);

/// Entries that are looked at for a counterpart by their contents; with more, only names count.
const COMPARED: usize = 256;

/// Pairs of entries that are the ends of one tunnel: one names an address of the other's router; else what they state answers.
pub(in crate::policy::lint) fn facing(view: &View<'_>, tunnels: &TunnelPairs) -> Vec<Facing> {
    let settled = tunnels.settled();
    let mut pairs: BTreeSet<Facing> = BTreeSet::new();
    // An entry that names nobody known answers whoever names its router, as long as it is only one.
    let mut presumed: BTreeMap<Place, BTreeSet<Facing>> = BTreeMap::new();
    for (router, of) in view.policies.routers.iter().enumerate() {
        for (map, entry) in of.maps.iter().enumerate().filter(|(map, _)| !settled.contains(&(router, *map))) {
            for other in entry.peers.iter().filter_map(|(peer, _)| view.other_owner(*peer, router)) {
                match answering(view, (router, map), other, &settled) {
                    Some((back, true)) => {
                        pairs.insert(ordered((router, map), (other, back)));
                    }
                    // An entry that could not be read may be the one that answers.
                    Some((back, false)) if may_have_more(view, (other, back)) => {}
                    Some((back, false)) => {
                        presumed.entry((other, back)).or_default().insert(ordered((router, map), (other, back)));
                    }
                    None => {}
                }
            }
        }
    }
    let paired = |pairs: &BTreeSet<Facing>, at: Place| pairs.iter().any(|pair| pair.a == at || pair.b == at);
    for (entry, facing) in presumed {
        if facing.len() == 1 && !paired(&pairs, entry) {
            pairs.extend(facing);
        }
    }
    let doubtful: Vec<Facing> = pairs.iter().copied().filter(|pair| is_outdone(view, *pair, &pairs)).collect();
    pairs.retain(|pair| !doubtful.contains(pair));
    let is_stranger = |pair: &Facing| {
        let keyed = |at: Place| view.entry(at.0, at.1).is_some_and(|entry| !entry.keys.is_empty());
        // Where the lists answer each other, keys and SPIs are what is wrong.
        keyed(pair.a) && keyed(pair.b) && shared_sas(view, pair.a, pair.b) == 0 && !are_mirrored(view, pair.a, pair.b)
    };
    let strangers: Vec<Facing> = pairs.iter().copied().filter(is_stranger).collect();
    for (stranger, meant) in strangers.iter().filter_map(|pair| Some((*pair, elsewhere(view, *pair)?))) {
        pairs.remove(&stranger);
        pairs.extend(meant);
    }
    let free = |at: &Place| !paired(&pairs, *at) && !settled.contains(at);
    let left: Vec<Place> = places(view).into_iter().filter(free).collect();
    pairs.extend(by_contents(view, &left));
    pairs.extend(&tunnels.pairs);
    pairs.into_iter().collect()
}

/// Whether lines that could not be read speak of the map of an entry.
fn may_have_more(view: &View<'_>, at: Place) -> bool {
    let router = view.policies.routers.get(at.0);
    router.is_some_and(|router| {
        view.entry(at.0, at.1).is_some_and(|entry| router.forwarding.may_have(&entry.name, Chapter::Maps))
    })
}

/// Whether one of two entries has another counterpart at the same router, for which more speaks.
fn is_outdone(view: &View<'_>, pair: Facing, pairs: &BTreeSet<Facing>) -> bool {
    let speaks = |pair: &Facing| kinship(view, pair.a, pair.b);
    let own = speaks(&pair);
    pairs.iter().any(|other| {
        let routers = (other.a.0, other.b.0) == (pair.a.0, pair.b.0);
        *other != pair && routers && (other.a == pair.a || other.b == pair.b) && speaks(other) > own
    })
}

/// Where two entries of which one names the other's router have nothing in common: the pairs that they belong to, if all that either
/// states, SPIs and keys, is another router's. A `set peer` that names the wrong one of two routers is one line; keys and lists are many.
fn elsewhere(view: &View<'_>, pair: Facing) -> Option<Vec<Facing>> {
    let all = places(view);
    if all.len() > COMPARED {
        return None;
    }
    let best = |at: Place| -> Option<Place> {
        let others = all.iter().copied().filter(|other| other.0 != at.0);
        only_best(others.map(|other| (kinship(view, at, other), other)))
    };
    let meant = |at: Place, not: Place| {
        best(at).filter(|other| *other != not && best(*other) == Some(at) && shared_sas(view, at, *other) == 2)
    };
    let found: Vec<Facing> = [(pair.a, pair.b), (pair.b, pair.a)]
        .into_iter()
        .filter_map(|(at, not)| Some(ordered(at, meant(at, not)?)))
        .collect();
    (!found.is_empty()).then_some(found)
}

/// In how many of the two directions two entries agree in an SPI.
fn shared_sas(view: &View<'_>, here: Place, there: Place) -> usize {
    let (Some(own), Some(theirs)) = (view.entry(here.0, here.1), view.entry(there.0, there.1)) else { return 0 };
    let answered = |inbound: &bool| {
        own.keys.iter().filter(|key| key.inbound == *inbound).any(|key| {
            let same = (key.protocol, key.spi);
            theirs.keys.iter().any(|other| other.inbound != *inbound && (other.protocol, other.spi) == same)
        })
    };
    [true, false].iter().filter(|inbound| answered(inbound)).count()
}

fn places(view: &View<'_>) -> Vec<Place> {
    let routers = view.policies.routers.iter().enumerate();
    routers.flat_map(|(router, of)| (0..of.maps.len()).map(move |map| (router, map))).collect()
}

/// Entries that nobody names and that name nobody, but each of which answers only the other.
fn by_contents(view: &View<'_>, left: &[Place]) -> Vec<Facing> {
    if left.len() > COMPARED {
        return Vec::new();
    }
    let answering = |at: Place| -> Option<Place> {
        let others = left.iter().copied().filter(|other| other.0 != at.0);
        only_best(others.map(|other| (kinship(view, at, other), other)))
    };
    let both = left.iter().filter_map(|at| Some((*at, answering(*at)?)));
    both.filter(|(at, other)| answering(*other) == Some(*at)).map(|(at, other)| ordered(at, other)).collect()
}

/// The one for which most speaks, and enough; `None` where that is more than one.
fn only_best<T: Copy>(all: impl Iterator<Item = (usize, T)>) -> Option<T> {
    let enough: Vec<(usize, T)> = all.filter(|(speaks, _)| *speaks >= ANSWERS).collect();
    let most = enough.iter().map(|(speaks, _)| *speaks).max()?;
    let mut best = enough.iter().filter(|(speaks, _)| *speaks == most);
    let (_, first) = best.next()?;
    best.next().is_none().then_some(*first)
}

/// What an SPI in common, or lists that mirror each other, speak for two entries at least.
const ANSWERS: usize = 2;

/// What naming the other router speaks for an entry, above what the entries state.
const NAMES: usize = 16;

/// How much speaks for two entries being the ends of one tunnel.
fn kinship(view: &View<'_>, here: Place, there: Place) -> usize {
    let (Some(own), Some(theirs)) = (view.entry(here.0, here.1), view.entry(there.0, there.1)) else { return 0 };
    let spis = own.keys.iter().filter(|key| {
        let answers = |other: &crate::policy::SessionKey| {
            (other.protocol, other.spi) == (key.protocol, key.spi) && other.inbound != key.inbound
        };
        theirs.keys.iter().any(answers)
    });
    let same_keys = own.keys.iter().any(|key| {
        let readable = key.authenticator.as_ref().or(key.cipher.as_ref()).filter(|secret| secret.bits().is_some());
        readable.is_some()
            && theirs.keys.iter().any(|other| other.authenticator.as_ref().or(other.cipher.as_ref()) == readable)
    });
    let mirrored = are_mirrored(view, here, there);
    // An old map that is on no interface faces nobody where another one is applied.
    let applied = |at: Place, entry: &MapEntry| {
        let router = view.policies.routers.get(at.0);
        router.is_some_and(|router| {
            let map = |interface: &crate::policy::Interface| {
                interface.map.as_ref().is_some_and(|(map, _)| *map == entry.name)
            };
            router.interfaces.values().any(map)
        })
    };
    let place = usize::from(applied(here, own) && applied(there, theirs)) * 32;
    let contents = spis.count() * 4
        + usize::from(are_linked(view, here, there)) * 4
        + usize::from(same_keys) * 4
        + usize::from(mirrored) * 2
        + usize::from(own.number == theirs.number);
    if contents >= ANSWERS { contents + place } else { contents }
}

/// Whether a line of the list of one entry is the mirror image of one of the other.
fn are_mirrored(view: &View<'_>, here: Place, there: Place) -> bool {
    let list = |at: Place| -> Option<&Acl> {
        let (name, _) = view.entry(at.0, at.1)?.acl.as_ref()?;
        view.policies.routers.get(at.0)?.acls.get(name).filter(|list| list.permits.len() <= COMPARED)
    };
    match (list(here), list(there)) {
        (Some(a), Some(b)) => a.permits.iter().any(|(x, _)| b.permits.iter().any(|(y, _)| *x == y.mirrored())),
        _ => false,
    }
}

/// The networks of a protected tunnel.
fn inner<'v>(view: &'v View<'_>, at: Place) -> Option<&'v [Net]> {
    let entry = view.entry(at.0, at.1).filter(|entry| entry.number == 0)?;
    Some(&view.policies.routers.get(at.0)?.interfaces.get(&entry.name)?.networks)
}

/// Whether two protected tunnels have addresses of one network for two, as the two ends of a tunnel have.
fn are_linked(view: &View<'_>, here: Place, there: Place) -> bool {
    let (Some(own), Some(theirs)) = (inner(view, here), inner(view, there)) else { return false };
    // A hub and its spokes share a wider one.
    own.iter().any(|net| net.is_link() && theirs.contains(net))
}

fn ordered(a: Place, b: Place) -> Facing {
    Facing { a: a.min(b), b: a.max(b) }
}

/// The entry of `other` that answers an entry, and whether it names it: else the only one that names nobody known.
fn answering(view: &View<'_>, from: Place, other: usize, settled: &BTreeSet<Place>) -> Option<(usize, bool)> {
    let router = view.policies.routers.get(other)?;
    let local = view.local(from.0, from.1);
    let is_tunnel = view.entry(from.0, from.1).is_some_and(|entry| entry.number == 0);
    let (mut naming, mut unnamed) = (Vec::new(), Vec::new());
    // Which tunnels belong together is known (`tunnels`).
    let known = |map: usize, entry: &MapEntry| settled.contains(&(other, map)) || is_tunnel && entry.number == 0;
    for (map, entry) in router.maps.iter().enumerate().filter(|(map, entry)| !known(*map, entry)) {
        if entry.peers.iter().any(|(peer, _)| Some(*peer) == local || view.other_owner(*peer, other) == Some(from.0)) {
            naming.push(map);
        } else if entry.peers.iter().all(|(peer, _)| view.other_owner(*peer, other).is_none()) {
            unnamed.push(map);
        }
    }
    let speaks = |map: &usize| kinship(view, from, (other, *map));
    // A tunnel to the end of one that takes many peers has no entry of its own there.
    if naming.is_empty() && takes_many(view, router, from) {
        return None;
    }
    // Of several between the same routers, what they state decides; then the first. An old map that is on no interface may still name
    // the router, while the one in use has its peer mistyped.
    if let Some(most) = naming.iter().map(speaks).max() {
        let instead = unnamed.iter().find(|map| speaks(map) > most + NAMES);
        let named = || naming.iter().find(|map| speaks(map) == most).map(|map| (*map, true));
        return instead.map(|map| (*map, false)).or_else(named);
    }
    match unnamed.as_slice() {
        [map] => Some((*map, false)),
        all => Some((only_best(all.iter().map(|map| (speaks(map), *map)))?, false)),
    }
}

pub(in crate::policy::lint) fn problems(view: &View<'_>, facing: &[Facing]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for pair in facing {
        problems.extend(keying(view, *pair));
        for (here, there) in pair.both_ways() {
            problems.extend(misses(view, here, there));
        }
    }
    problems
}

/// One entry negotiates and the other has manual keys.
fn keying(view: &View<'_>, pair: Facing) -> Option<Problem> {
    let (a, b) = (view.entry(pair.a.0, pair.a.1)?, view.entry(pair.b.0, pair.b.1)?);
    if a.keying == b.keying || a.number == 0 || b.number == 0 {
        return None;
    }
    let (manual, ike, first) = if a.keying == Keying::Manual { (pair.a, pair.b, b) } else { (pair.b, pair.a, a) };
    let (by_hand, negotiating) = (view.name(manual.0), view.name(ike.0));
    let foreign = |at: Place| view.policies.routers.get(at.0).is_some_and(|router| router.maker.is_some());
    let lines = |evidence: String| {
        Problem::new("config-keying-mismatch", evidence)
            .about(format!("{} < > {}", view.name(pair.a.0), view.name(pair.b.0)))
            .lines(view.policies, pair.a.0, [&a.cite])
            .lines(view.policies, pair.b.0, [&b.cite])
    };
    if foreign(pair.a) || foreign(pair.b) {
        let evidence = format!(
            "{by_hand} has keys that were typed in and {negotiating} negotiates with IKE ({} {}): {negotiating} waits for IKE that {by_hand} never \
             speaks. Which of the two is meant is not determined by these texts.",
            first.name, first.number
        );
        return Some(lines(evidence));
    }
    let evidence = format!(
        "{by_hand} has manual keys (ipsec-manual) and {negotiating} negotiates with IKE (ipsec-isakmp, crypto map {} {}): {negotiating} \
         waits for IKE that {by_hand} never speaks. IOS does not change the kind of an entry: on one of the two the entry must be taken \
         out and typed anew with the other's kind.",
        first.name, first.number
    );
    Some(lines(evidence))
}
