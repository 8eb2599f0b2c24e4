//! Tunnels that a profile protects at one end only.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::Address;
use crate::policy::facts::router::Router;
use crate::policy::lint::maps::gre::{Tunnel, Tunnels, source};
use crate::policy::{Problem, View};

/// Bare tunnels by their two ends, each with the place of its router.
type ByEnds<'v> = BTreeMap<(Address, Address), Vec<(usize, Tunnel<'v>)>>;

pub(super) fn problems(view: &View<'_>, tunnels: &[Tunnels<'_>]) -> Vec<Problem> {
    let bare = bare(tunnels);
    // Peers that entries of a router have, and whether it has crypto maps at all.
    let mapped: Vec<(bool, BTreeSet<Address>)> = tunnels.iter().map(|one| mapped(one.router)).collect();
    let mut problems = Vec::new();
    for (at, router) in view.policies.routers.iter().enumerate().filter(|(_, router)| router.maker.is_none()) {
        let protected = router.interfaces.iter().filter_map(|(name, one)| {
            let (_, protection) = one.protection.as_ref()?;
            Some((name, protection, source(router, one)?, one.tunnel_destination.as_ref()?.0))
        });
        for (name, protection, from, to) in protected {
            // A crypto map toward this end may protect it, too.
            let maps = |other: usize| mapped.get(other).is_none_or(|(any, peers)| *any || peers.contains(&from));
            let back = bare.get(&(to, from)).into_iter().flatten().filter(|(other, _)| *other != at && !maps(*other));
            for (other, tunnel) in back {
                let far = view.name(*other);
                let evidence = format!(
                    "{far}: {} leads to {name} of {}, which a profile protects (`tunnel protection`), and has no protection itself: it \
                     sends in clear, and cannot read what comes.",
                    tunnel.name, router.name
                );
                let problem = Problem::new("config-gre-mismatch", evidence).about(format!("{far} {}", tunnel.name));
                let problem = problem.lines(view.policies, *other, [tunnel.cite]);
                problems.push(problem.lines(view.policies, at, [protection]));
            }
        }
    }
    problems
}

/// Tunnels without protection of which all lines are known.
fn bare<'v>(tunnels: &[Tunnels<'v>]) -> ByEnds<'v> {
    let mut bare: ByEnds<'v> = BTreeMap::new();
    for (at, of) in tunnels.iter().enumerate() {
        let forwarding = &of.router.forwarding;
        if of.router.maker.is_some() || forwarding.mentions("protection") {
            continue;
        }
        for tunnel in of.iter().filter(|tunnel| !forwarding.open.contains(tunnel.name)) {
            if let Some(source) = tunnel.source {
                bare.entry((source, tunnel.destination)).or_default().push((at, *tunnel));
            }
        }
    }
    bare
}

fn mapped(router: &Router) -> (bool, BTreeSet<Address>) {
    let peers = router.maps.iter().flat_map(|entry| &entry.peers).map(|(peer, _)| *peer);
    (router.maps.iter().any(|entry| entry.number > 0), peers.collect())
}
