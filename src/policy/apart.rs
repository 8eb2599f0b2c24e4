//! Routers of one name in several inputs: one router, or several that nobody gave a name of its own (`Router`, `localhost`).

use std::collections::{BTreeMap, BTreeSet};

use super::facts::builder::Builder;
use super::facts::router::Way;
use super::read::xfrm::{Direction, own_addresses};
use super::{Remark, Router};
use crate::model::Address;

/// Names of routers that several inputs have, and that cannot be one: read apart, they contradict each other.
pub(super) fn contradictory(apart: &Builder) -> BTreeSet<String> {
    let mut by_host: BTreeMap<&str, Vec<&Router>> = BTreeMap::new();
    for router in &apart.routers {
        if let Some(host) = apart.parted(&router.name) {
            by_host.entry(host).or_default().push(router);
        }
    }
    let differ = |of: &[&Router]| of.iter().enumerate().any(|(n, a)| of.iter().skip(n + 1).any(|b| contradict(a, b)));
    by_host.into_iter().filter(|(_, of)| differ(of)).map(|(host, _)| host.to_owned()).collect()
}

/// Whether two texts cannot be of one router: one has as its own what the other has as its peer, or they have other addresses on an
/// interface of one name, or other peers in one entry.
fn contradict(a: &Router, b: &Router) -> bool {
    let (own_a, far_a) = ends(a);
    let (own_b, far_b) = ends(b);
    let meet = |x: &BTreeSet<Address>, y: &BTreeSet<Address>| !x.is_disjoint(y);
    let faces = !meet(&own_a, &own_b) && (meet(&own_a, &far_b) || meet(&own_b, &far_a));
    // A part of a configuration, or lines that were typed later, may change what the whole one said.
    let whole = [a, b].iter().all(|router| is_whole(router));
    faces || whole && (other_interfaces(a, b) || other_peers(a, b))
}

/// Whether a text has a router's IPsec and the interface that it is on.
fn is_whole(router: &Router) -> bool {
    let carries = |one: &super::Interface| !one.addresses.is_empty() && (one.map.is_some() || one.protection.is_some());
    let tunnels = router.interfaces.values().any(|one| one.tunnel_destination.is_some());
    let addressed = router.interfaces.values().any(|one| !one.addresses.is_empty());
    router.interfaces.values().any(carries) || tunnels && addressed || router.maker.is_some() && addressed
}

/// Addresses that a router says are its own, and those that it has as far ends of its tunnels.
fn ends(router: &Router) -> (BTreeSet<Address>, BTreeSet<Address>) {
    let mut own: BTreeSet<Address> = router.addresses().collect();
    own.extend(own_addresses(router));
    let mut far: BTreeSet<Address> =
        router.maps.iter().flat_map(|entry| entry.peers.iter().map(|(peer, _)| *peer)).collect();
    for (local, remote, _) in tunnels(router) {
        own.insert(local);
        far.insert(remote);
    }
    (own, far)
}

/// The ends of tunnels that displays give with their direction: own, far, and the line.
fn tunnels(router: &Router) -> Vec<(Address, Address, Option<&super::Cite>)> {
    let of_sas = router.installed.iter().filter_map(|sa| {
        let (src, dst) = (sa.src?, sa.dst?);
        let (local, remote) = if sa.way? == Way::Out { (src, dst) } else { (dst, src) };
        Some((local, remote, sa.cites.first()))
    });
    let out = router.xfrm_policies.iter().filter(|policy| policy.direction == Direction::Out);
    let of_policies = out.flat_map(|policy| {
        let ends = |one: &super::Template| Some((one.src?, one.dst?, Some(&policy.cite)));
        policy.templates.iter().filter_map(ends).collect::<Vec<_>>()
    });
    of_sas.chain(of_policies).filter(|(local, remote, _)| local != remote).collect()
}

fn other_interfaces(a: &Router, b: &Router) -> bool {
    a.interfaces.iter().any(|(name, one)| {
        let other = b.interfaces.get(name).map(|other| other.addresses.as_slice()).unwrap_or_default();
        let shared = one.addresses.iter().any(|(own, _)| other.iter().any(|(theirs, _)| own == theirs));
        !one.addresses.is_empty() && !other.is_empty() && !shared
    })
}

fn other_peers(a: &Router, b: &Router) -> bool {
    a.maps.iter().any(|entry| {
        let same = b.maps.iter().find(|other| (&other.name, other.number) == (&entry.name, entry.number));
        same.is_some_and(|other| {
            let shared = entry.peers.iter().any(|(peer, _)| other.peers.iter().any(|(theirs, _)| peer == theirs));
            !entry.peers.is_empty() && !other.peers.is_empty() && !shared
        })
    })
}

/// Says of a router that is both ends of a tunnel in its own displays that two hosts have its name.
pub(super) fn both_ends(builder: &mut Builder) {
    for router in &builder.routers {
        let tunnels = tunnels(router);
        let known: BTreeSet<(Address, Address)> = tunnels.iter().map(|(local, remote, _)| (*local, *remote)).collect();
        // The first line that turns a tunnel round that was there before.
        let mut before: BTreeSet<(Address, Address)> = BTreeSet::new();
        for (local, remote, cite) in tunnels {
            if before.contains(&(remote, local)) && known.contains(&(local, remote)) {
                let Some(cite) = cite else { break };
                let what = format!(
                    "{} is both ends of the tunnel between {remote} and {local}: of two hosts that have one name, give each in a file of its own",
                    router.name
                );
                if let Some(file) = builder.files.iter_mut().find(|file| file.name == cite.file) {
                    file.remarks.push(Remark { line: cite.line, what });
                }
                break;
            }
            before.insert((local, remote));
        }
    }
}
