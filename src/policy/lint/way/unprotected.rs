//! Tunnels that a profile protects at one end only.

use std::collections::BTreeMap;

use crate::model::Address;
use crate::policy::lint::maps::gre::{Tunnel, Tunnels, source};
use crate::policy::lint::tunnels::TunnelPairs;
use crate::policy::{Cite, Problem, View};

/// Bare tunnels by their two ends, each with the place of its router.
type ByEnds<'v> = BTreeMap<(Address, Address), Vec<(usize, Tunnel<'v>)>>;

pub(super) fn problems(view: &View<'_>, tunnels: &[Tunnels<'_>], pairs: &TunnelPairs) -> Vec<Problem> {
    let bare = bare(tunnels);
    // Protected tunnels that have their other end.
    let paired = pairs.settled();
    let mapped: Vec<bool> = tunnels.iter().map(|one| one.router.maps.iter().any(|entry| entry.number > 0)).collect();
    let mut problems = Vec::new();
    for (at, router) in view.policies.routers.iter().enumerate().filter(|(_, router)| router.maker.is_none()) {
        let entries =
            router.maps.iter().enumerate().filter(|(map, entry)| entry.number == 0 && !paired.contains(&(at, *map)));
        let protected = entries.filter_map(|(_, entry)| {
            let (name, one) = router.interfaces.get_key_value(&entry.name)?;
            let key = router.forwarding.ports.get(name).and_then(|port| port.tunnel_key.as_ref());
            let ends = (source(router, one)?, one.tunnel_destination.as_ref()?.0);
            Some((name, &one.protection.as_ref()?.1, ends, key))
        });
        for (name, protection, (from, to), key) in protected {
            // A crypto map toward this end may protect it, too.
            let unmapped = |other: usize| other != at && mapped.get(other) == Some(&false);
            let back = bare.get(&(to, from)).into_iter().flatten().filter(|(other, _)| unmapped(*other));
            // Another one between the same addresses, without protection as well, is its other end if it has its key.
            let number = |key: Option<&'_ (String, Cite)>| key.map(|(key, _)| key.clone());
            let own = |tunnel: &Tunnel<'_>| number(tunnel.port.and_then(|port| port.tunnel_key.as_ref()));
            let other_end = |tunnel: &Tunnel<'_>| {
                let here = bare.get(&(from, to)).into_iter().flatten();
                here.filter(|(router, _)| *router == at).any(|(_, one)| own(one) == own(tunnel))
            };
            let alone = back.clone().count() == 1;
            let back = back.filter(|(_, tunnel)| !other_end(tunnel) && (alone || own(tunnel) == number(key)));
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
