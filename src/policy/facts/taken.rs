//! Where an entry leaves from, when only its peer's configuration says it.

use std::collections::{BTreeMap, BTreeSet};

use super::stated::View;
use crate::model::{Address, Protocol, SaKey, Spi};
use crate::policy::{Keying, MapEntry, Router};

/// Entries, or lines of a list, that are looked at; with more, nothing is said.
const COMPARED: usize = 256;

/// Router, entry, and the address that it leaves from: entries that neither an interface nor a display places.
///
/// The peer's only entry is meant for the only router that names the peer. Of several, SPIs decide that answer each other, then
/// access lists that mirror each other. Where neither does, nothing is said: a wrong address makes false findings.
pub(in crate::policy) fn locals(view: &View<'_>) -> Vec<(usize, usize, Address)> {
    let unplaced: Vec<(usize, usize)> = view
        .locals
        .iter()
        .enumerate()
        .flat_map(|(router, of)| {
            of.iter().enumerate().filter(|(_, local)| local.is_none()).map(move |(map, _)| (router, map))
        })
        .collect();
    let mut claims: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for &(router, map) in &unplaced {
        for peer in peers(view, router, map) {
            claims.entry(peer).or_default().insert(router);
        }
    }
    let nowhere = bare(view, &unplaced);
    let placed = unplaced.into_iter().filter_map(|(router, map)| {
        let alone = |peer: &usize| claims.get(peer).is_none_or(|all| all.len() == 1);
        Some((router, map, taken_for(view, router, map, &alone)?))
    });
    let mut placed: Vec<(usize, usize, Address)> = placed.collect();
    for one in nowhere {
        if !placed.iter().any(|known| (known.0, known.1) == (one.0, one.1)) {
            placed.push(one);
        }
    }
    placed
}

/// Entries of routers of which no address at all is known, such as those of `show crypto map`: an entry leaves from what the only
/// entry of another such router that answers it, by an SPI or else by its access list, has for its peer.
fn bare(view: &View<'_>, unplaced: &[(usize, usize)]) -> Vec<(usize, usize, Address)> {
    let of = |&(at, map): &(usize, usize)| {
        let router = view.policies.routers.get(at).filter(|router| router.addresses().next().is_none())?;
        let entry = router.maps.get(map).filter(|entry| entry.keying == Keying::Manual)?;
        let [(peer, _)] = entry.peers.as_slice() else { return None };
        (!view.owners.contains_key(peer)).then_some((at, map, router, entry, *peer))
    };
    let entries: Vec<(usize, usize, &Router, &MapEntry, Address)> = unplaced.iter().filter_map(of).collect();
    if entries.len() > COMPARED {
        return Vec::new();
    }
    let found = |(at, map, router, entry, peer): &(usize, usize, &Router, &MapEntry, Address)| {
        let others = || entries.iter().filter(|other| other.0 != *at && other.4 != *peer);
        let sole = |of: BTreeSet<Address>| of.first().copied().filter(|_| of.len() == 1);
        let by_spi = sole(others().filter(|other| answers(entry, other.3)).map(|other| other.4).collect());
        let by_list =
            || sole(others().filter(|other| mirrors(router, entry, other.2, other.3)).map(|other| other.4).collect());
        Some((*at, *map, by_spi.or_else(by_list)?))
    };
    entries.iter().filter_map(found).collect()
}

/// The same by the SAs on the wire, for entries with manual keys that nothing else places: the only address that has SAs with
/// the peer, if one of the entry's SPIs runs between the two, or SPI 0 towards the peer.
pub(in crate::policy) fn locals_on_the_wire(view: &View<'_>, seen: &BTreeSet<SaKey>) -> Vec<(usize, usize, Address)> {
    let mut partners: BTreeMap<Address, BTreeSet<Address>> = BTreeMap::new();
    for key in seen {
        partners.entry(key.src).or_default().insert(key.dst);
        partners.entry(key.dst).or_default().insert(key.src);
    }
    let placed = |router: usize, map: usize| -> Option<(usize, usize, Address)> {
        let entry = view.entry(router, map).filter(|entry| entry.keying == Keying::Manual)?;
        let [(peer, _)] = entry.peers.as_slice() else { return None };
        let own = partners.get(peer).filter(|all| all.len() == 1)?.first().copied()?;
        if view.owners.contains_key(&own) {
            return None;
        }
        let runs = |protocol, spi| {
            let key = |src, dst| SaKey { protocol, src, dst, spi };
            seen.contains(&key(own, *peer)) || seen.contains(&key(*peer, own))
        };
        let zero = |protocol| seen.contains(&SaKey { protocol, src: own, dst: *peer, spi: Spi(0) });
        let agrees = entry.keys.iter().any(|key| runs(key.protocol, key.spi));
        (agrees || zero(Protocol::Esp) || zero(Protocol::Ah)).then_some((router, map, own))
    };
    let open = view.locals.iter().enumerate().flat_map(|(router, of)| {
        of.iter().enumerate().filter(|(_, local)| local.is_none()).map(move |(map, _)| (router, map))
    });
    open.filter_map(|(router, map)| placed(router, map)).collect()
}

/// The routers that an entry names.
fn peers(view: &View<'_>, router: usize, map: usize) -> BTreeSet<usize> {
    let peers = view.entry(router, map).map(|entry| entry.peers.as_slice()).unwrap_or_default();
    peers.iter().filter_map(|(peer, _)| view.other_owner(*peer, router)).collect()
}

fn taken_for(view: &View<'_>, router: usize, map: usize, alone: &dyn Fn(&usize) -> bool) -> Option<Address> {
    let (here, entry) = (view.policies.routers.get(router)?, view.entry(router, map)?);
    let named = peers(view, router, map);
    let there = || named.iter().filter_map(|peer| Some((*peer, view.policies.routers.get(*peer)?)));
    // An address that another router has is that router's.
    let free = |peer: &Address| !view.owners.contains_key(peer);
    let candidates: Vec<(&Router, &MapEntry, Address)> = there()
        .flat_map(|(_, of)| of.maps.iter().map(move |theirs| (of, theirs)))
        .filter_map(|(of, theirs)| match theirs.peers.as_slice() {
            [(peer, _)] if free(peer) => Some((of, theirs, *peer)),
            _ => None,
        })
        .collect();
    if candidates.len() > COMPARED {
        return None;
    }
    let sole = |of: Vec<Address>| {
        let distinct: BTreeSet<Address> = of.into_iter().collect();
        distinct.first().copied().filter(|_| distinct.len() == 1)
    };
    let by_spi = candidates.iter().filter(|(_, theirs, _)| answers(entry, theirs)).map(|(_, _, peer)| *peer).collect();
    let by_list = || {
        candidates.iter().filter(|(of, theirs, _)| mirrors(here, entry, of, theirs)).map(|(_, _, peer)| *peer).collect()
    };
    let only = || {
        let lone = named.iter().all(alone) && there().all(|(_, of)| of.maps.len() == 1) && here.maps.len() == 1;
        candidates.first().filter(|_| lone && candidates.len() == 1).map(|(_, _, peer)| *peer)
    };
    sole(by_spi).or_else(|| sole(by_list())).or_else(only)
}

/// Whether one sends what the other waits for, in one direction at least.
fn answers(entry: &MapEntry, theirs: &MapEntry) -> bool {
    entry.keys.iter().any(|key| {
        let same = |other: &crate::policy::SessionKey| (other.protocol, other.spi) == (key.protocol, key.spi);
        theirs.keys.iter().any(|other| same(other) && other.inbound != key.inbound)
    })
}

/// Whether one selects the mirror image of something that the other selects.
fn mirrors(here: &Router, entry: &MapEntry, there: &Router, theirs: &MapEntry) -> bool {
    let list = |router: &Router, entry: &MapEntry| {
        let (name, _) = entry.acl.as_ref()?;
        let list = router.acls.get(name).filter(|list| list.permits.len() <= COMPARED)?;
        Some(list.permits.iter().map(|(selector, _)| selector.clone()).collect::<BTreeSet<_>>())
    };
    match (list(here, entry), list(there, theirs)) {
        (Some(own), Some(far)) => own.iter().any(|selector| far.contains(&selector.mirrored())),
        _ => false,
    }
}
