//! Entries of one router that stand in each other's way: traffic that an earlier one takes, and one number for two SAs.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Address, Protocol, Spi};
use crate::policy::facts::router::{Acl, Keying, MapEntry, Router};
use crate::policy::{Problem, Selector, View};

/// Entries of one map that are compared with each other; further ones are not.
const COMPARED: usize = 256;

pub(in crate::policy::lint) fn problems(view: &View<'_>) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (at, router) in view.policies.routers.iter().enumerate() {
        let entries = in_use(router);
        shadowed(view, at, router, &entries, &mut problems);
        duplicates(view, at, router, &entries, &mut problems);
    }
    problems
}

/// The entries whose map an interface carries; all where no interface says.
fn in_use(router: &Router) -> Vec<(usize, &MapEntry)> {
    let applied: BTreeSet<&str> = router
        .interfaces
        .values()
        .filter_map(|interface| interface.map.as_ref().map(|(map, _)| map.as_str()))
        .collect();
    let used = |entry: &MapEntry| applied.is_empty() || applied.contains(entry.name.as_str());
    router.maps.iter().enumerate().filter(|(_, entry)| entry.number > 0 && used(entry)).take(COMPARED).collect()
}

fn list<'r>(router: &'r Router, entry: &MapEntry) -> Option<(&'r str, &'r Acl)> {
    let (name, _) = entry.acl.as_ref()?;
    let (name, list) = router.acls.get_key_value(name)?;
    (!router.forwarding.vague.contains(name)).then_some((name, list))
}

/// Whether an access list takes every packet of a selector.
pub(in crate::policy::lint) fn takes(list: &Acl, selector: &Selector) -> bool {
    let covering = list.permits.iter().position(|(permit, _)| permit.covers(selector));
    covering.is_some_and(|at| !list.denies.iter().any(|denied| denied.behind <= at && denied.may_touch(selector)))
}

fn shadowed(view: &View<'_>, at: usize, router: &Router, entries: &[(usize, &MapEntry)], problems: &mut Vec<Problem>) {
    for (_, later) in entries {
        let Some((name, own)) = list(router, later).filter(|(_, list)| !list.permits.is_empty()) else { continue };
        let earlier = entries.iter().map(|(_, entry)| *entry).filter(|entry| {
            // An entry that is not complete takes nothing.
            let complete = !entry.peers.is_empty() && !entry.transform_sets.is_empty();
            let same_peers = entry.peers.iter().map(|(peer, _)| peer).eq(later.peers.iter().map(|(peer, _)| peer));
            let harmless = same_peers && entry.keying == Keying::Ike && later.keying == Keying::Ike;
            entry.name == later.name && entry.number < later.number && complete && !harmless
        });
        let mut hiding = earlier.filter_map(|entry| Some((entry, list(router, entry)?)));
        let taken = hiding.find_map(|(entry, (hider, hiding))| {
            let (selector, cite) = own.permits.iter().find(|(selector, _)| takes(hiding, selector))?;
            let (_, by) = hiding.permits.iter().find(|(permit, _)| permit.covers(selector))?;
            Some((entry, hider, by, selector, cite))
        });
        let Some((entry, hider, by, selector, cite)) = taken else { continue };
        let peer = entry.peers.first().map(|(peer, _)| peer.to_string()).unwrap_or_default();
        let evidence = format!(
            "{}: crypto map {} is searched in the order of its numbers. Entry {} with access list {hider} takes {selector} before \
             entry {} with access list {name} is reached, so these packets go to {peer} under other keys.",
            router.name, entry.name, entry.number, later.number
        );
        problems.push(
            Problem::new("config-entry-shadowed", evidence)
                .about(format!("{} crypto map {} {}", router.name, later.name, later.number))
                .lines(view.policies, at, [by, cite, &entry.cite, &later.cite]),
        );
    }
}

fn duplicates(
    view: &View<'_>,
    at: usize,
    router: &Router,
    entries: &[(usize, &MapEntry)],
    problems: &mut Vec<Problem>,
) {
    type Place = (Protocol, Spi, Option<Address>);
    let mut by_spi: BTreeMap<Place, Vec<(&MapEntry, &crate::policy::Cite)>> = BTreeMap::new();
    for (map, entry) in entries.iter().filter(|(_, entry)| entry.keying == Keying::Manual) {
        for key in entry.keys.iter().filter(|key| key.inbound) {
            by_spi.entry((key.protocol, key.spi, view.local(at, *map))).or_default().push((entry, &key.cite));
        }
    }
    for ((protocol, spi, _), same) in by_spi.into_iter().filter(|(_, same)| same.len() > 1) {
        let listed: Vec<String> =
            same.iter().take(4).map(|(entry, _)| format!("{} {}", entry.name, entry.number)).collect();
        let evidence = format!(
            "{}: {} entries wait for inbound {} SPI {} ({}). A receiver finds an SA by destination, protocol and SPI, so only one of them can be found, even with different peers.",
            router.name,
            same.len(),
            protocol.title(),
            spi.0,
            listed.join(", ")
        );
        problems.push(
            Problem::new("config-spi-duplicate", evidence)
                .about(format!("{} inbound {} {}", router.name, protocol.title(), spi.0))
                .lines(view.policies, at, same.into_iter().map(|(_, cite)| cite)),
        );
    }
}
