//! Which interfaces packets leave a router by, as its connected networks and its static routes say.

use std::collections::BTreeSet;

use crate::model::Address;
use crate::policy::facts::router::Router;
use crate::policy::{Net, Route};

/// Routes over routers that are reached by further routes.
const DEPTH: usize = 4;

/// The interfaces that packets to a network leave by; `None` where that is not said of the whole network.
pub(in crate::policy::lint) fn exits<'r>(router: &'r Router, to: &Net) -> Option<BTreeSet<&'r str>> {
    found(router, to, DEPTH)
}

/// The only interface that packets to a network leave by.
pub(in crate::policy::lint) fn exit<'r>(router: &'r Router, to: &Net) -> Option<&'r str> {
    let all = exits(router, to)?;
    let mut all = all.into_iter();
    all.next().filter(|_| all.next().is_none())
}

fn found<'r>(router: &'r Router, to: &Net, depth: usize) -> Option<BTreeSet<&'r str>> {
    // The table of a VRF is another one.
    let global = |name: &str| router.forwarding.ports.get(name).is_none_or(|port| port.vrf.is_none());
    let interfaces = || router.interfaces.iter().filter(|(name, _)| global(name));
    let connected = || interfaces().flat_map(|(name, of)| of.networks.iter().map(move |net| (name.as_str(), net)));
    let nets = || connected().map(|(_, net)| net).chain(router.forwarding.routes.iter().map(|route| &route.to));
    // A part of it may go elsewhere.
    if nets().any(|net| net.overlaps(to) && !net.covers(to)) {
        return None;
    }
    let narrowest = |net: &Net| net.covers(to) && nets().all(|other| !other.covers(to) || other.covers(net));
    let there: BTreeSet<&str> = connected().filter(|(_, net)| narrowest(net)).map(|(name, _)| name).collect();
    if !there.is_empty() {
        return Some(there);
    }
    let best = |route: &&Route| narrowest(&route.to) && !route.floating;
    let mut exits = BTreeSet::new();
    for route in router.forwarding.routes.iter().filter(best) {
        match (&route.through, route.over) {
            (Some(name), _) => exits.insert(router.interfaces.get_key_value(name)?.0.as_str()),
            (None, Some(over)) if depth > 0 => {
                exits.extend(found(router, &Net::host(over), depth.saturating_sub(1))?);
                true
            }
            _ => return None,
        };
    }
    if exits.is_empty() && nets().all(|net| !net.covers(to)) {
        exits.extend(leased(router));
    }
    (!exits.is_empty()).then_some(exits)
}

/// The only interface with a leased address: the default route comes with the lease.
fn leased(router: &Router) -> Option<&str> {
    let mut all = router.forwarding.ports.iter().filter(|(_, port)| port.leased);
    let (name, port) = all.next()?;
    (all.next().is_none() && port.vrf.is_none()).then_some(name)
}

/// Which side of a router a network is on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::policy::lint) enum Lies {
    /// Away from the peer.
    Inside,
    /// Where the peer is.
    Outside,
}

/// On which side of a router a network lies that has a static route of its own: towards the peer, or away from it.
pub(in crate::policy::lint) fn routed(router: &Router, peer: Address, net: &Net) -> Option<Lies> {
    let mut own = router.forwarding.routes.iter().filter(|route| route.to == *net && !route.floating);
    let route = own.next().filter(|_| own.next().is_none())?;
    let toward = exits(router, &Net::host(peer))?;
    let out = exits(router, net)?;
    let tunnel = |name: &&str| router.interfaces.get(*name).is_some_and(|interface| interface.tunnel_source.is_some());
    if out.iter().any(tunnel) {
        return Some(Lies::Outside);
    }
    if out.is_disjoint(&toward) {
        let carries = |name: &&str| router.interfaces.get(*name).is_some_and(|interface| interface.map.is_some());
        return (!out.iter().any(carries)).then_some(Lies::Inside);
    }
    // Over one interface there may be routers of either side.
    let same = route.over.is_none_or(|over| over == peer || next_hops(router, peer).contains(&over));
    same.then_some(Lies::Outside)
}

/// The routers that packets to an address go over.
fn next_hops(router: &Router, to: Address) -> BTreeSet<Address> {
    let host = Net::host(to);
    let covering = || router.forwarding.routes.iter().filter(|route| route.to.covers(&host) && !route.floating);
    let narrowest = |route: &&Route| covering().all(|other| other.to.covers(&route.to));
    covering().filter(narrowest).filter_map(|route| route.over).collect()
}
