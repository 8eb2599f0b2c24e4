//! Which map entries face each other, and peers that do not name each other.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{Problem, View, fix};
use super::Facing;

/// Pairs of entries that are the ends of one tunnel: one names an address of the other's router; or there are only these two.
pub(super) fn facing(view: &View<'_>) -> Vec<Facing> {
    let mut pairs: BTreeSet<Facing> = BTreeSet::new();
    // An entry that names nobody known answers whoever names its router, as long as it is only one.
    let mut presumed: BTreeMap<(usize, usize), BTreeSet<Facing>> = BTreeMap::new();
    for (router, of) in view.policies.routers.iter().enumerate() {
        for (map, entry) in of.maps.iter().enumerate() {
            for other in entry.peers.iter().filter_map(|(peer, _)| view.other_owner(*peer, router)) {
                match answering(view, (router, map), other) {
                    Some((back, true)) => {
                        pairs.insert(ordered((router, map), (other, back)));
                    }
                    Some((back, false)) => {
                        presumed.entry((other, back)).or_default().insert(ordered((router, map), (other, back)));
                    }
                    None => {}
                }
            }
        }
    }
    for (entry, facing) in presumed {
        if facing.len() == 1 && !pairs.iter().any(|pair| pair.a == entry || pair.b == entry) {
            pairs.extend(facing);
        }
    }
    let with: Vec<(usize, usize)> = view
        .policies
        .routers
        .iter()
        .enumerate()
        .filter(|(_, r)| !r.maps.is_empty())
        .map(|(at, r)| (at, r.maps.len()))
        .collect();
    if let ([(a, 1), (b, 1)], true) = (with.as_slice(), pairs.is_empty()) {
        pairs.insert(ordered((*a, 0), (*b, 0)));
    }
    pairs.into_iter().collect()
}

fn ordered(a: (usize, usize), b: (usize, usize)) -> Facing {
    Facing { a: a.min(b), b: a.max(b) }
}

/// The entry of `other` that answers an entry, and whether it names it: else the only one that names nobody known.
fn answering(view: &View<'_>, from: (usize, usize), other: usize) -> Option<(usize, bool)> {
    let router = view.policies.routers.get(other)?;
    let local = view.local(from.0, from.1);
    let mut unnamed = Vec::new();
    for (map, entry) in router.maps.iter().enumerate() {
        if entry.peers.iter().any(|(peer, _)| Some(*peer) == local || view.other_owner(*peer, other) == Some(from.0)) {
            return Some((map, true));
        }
        if entry.peers.iter().all(|(peer, _)| view.other_owner(*peer, other).is_none()) {
            unnamed.push(map);
        }
    }
    match unnamed.as_slice() {
        [map] => Some((*map, false)),
        _ => None,
    }
}

pub(super) fn problems(view: &View<'_>, facing: &[Facing]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for pair in facing {
        for (here, there) in [(pair.a, pair.b), (pair.b, pair.a)] {
            problems.extend(misses(view, here, there));
        }
    }
    problems
}

/// The entry `there` names no address that the entry `here` leaves from.
fn misses(view: &View<'_>, here: (usize, usize), there: (usize, usize)) -> Option<Problem> {
    let (own, other) = (view.entry(here.0, here.1)?, view.entry(there.0, there.1)?);
    let router = view.policies.routers.get(here.0)?;
    // Only what the router itself says counts as its address here.
    let interfaces = router.interfaces.iter();
    let carrying: Vec<_> = interfaces
        .filter(|(name, interface)| {
            let source = router.map_sources.get(&own.name).is_some_and(|source| source == *name);
            source || interface.map.as_ref().is_some_and(|(map, _)| *map == own.name)
        })
        .filter(|(_, interface)| !interface.addresses.is_empty())
        .collect();
    let addresses: Vec<_> = carrying.iter().flat_map(|(_, interface)| &interface.addresses).collect();
    let named = |peer| addresses.iter().any(|(address, _)| *address == peer);
    if addresses.is_empty() || other.peers.is_empty() || other.peers.iter().any(|(peer, _)| named(*peer)) {
        return None;
    }
    let (peer, _) = other.peers.first()?;
    let (interface, _) = carrying.first()?;
    let (address, _) = addresses.first()?;
    let (name, far) = (view.name(here.0), view.name(there.0));
    let elsewhere = view.owners.get(peer).is_some_and(|owners| owners.contains(&here.0));
    let at = if elsewhere {
        format!("{name} has it on another interface")
    } else {
        format!("{name} has no such address in what was given")
    };
    let evidence = format!(
        "{far} takes {peer} for {name}'s end of the tunnel, but crypto map {} of {name} leaves from {interface}, {address}; {at}.",
        own.name
    );
    let lines = vec![format!("no set peer {peer}"), format!("set peer {address}")];
    let problem = Problem::new("config-peer-mismatch", evidence)
        .about(format!("{far} > {name}"))
        .lines(view.policies, there.0, other.peers.iter().map(|(_, cite)| cite))
        .lines(view.policies, here.0, addresses.iter().map(|(_, cite)| cite))
        .fix(far, fix::in_map(other, lines));
    Some(problem)
}
