//! A peer's line and an interface's line that state one address differently: what else was given decides which of the two is mistyped.
//!
//! A difference of a digit is the same from either side. A further statement of one of the addresses, or a network that only one of them
//! fits, speaks for it; where something speaks for both, or nothing does, nothing is decided.

use crate::model::{Address, Protocol};
use crate::policy::facts::router::{Keying, MapEntry, Router};
use crate::policy::facts::stated::{sets, uses};
use crate::policy::lint::copies::twin;
use crate::policy::lint::{Facing, blame};
use crate::policy::{Net, Problem, View, fix};

/// Two addresses for one end of a tunnel.
pub(in crate::policy::lint) struct TwoAddresses<'v> {
    pub(in crate::policy::lint) view: &'v View<'v>,
    /// The entry that leaves from the end, and the one that names it.
    pub(in crate::policy::lint) at: Facing,
    /// The interface that the end is on.
    pub(in crate::policy::lint) interface: &'v str,
    /// The address that the interface has, and the one that the other router's entry has for its peer.
    pub(in crate::policy::lint) own: Address,
    pub(in crate::policy::lint) named: Address,
}

/// Which of the two lines is mistyped, and why.
enum Answer {
    /// The line that names the peer.
    Naming(String),
    /// The address of the interface.
    Interface(String),
    /// Nothing that was given decides.
    Open,
}

impl TwoAddresses<'_> {
    fn answer(&self) -> Answer {
        // What states the address again may mean the router that has it rightly.
        if let Some(why) = self.is_doubled() {
            return Answer::Interface(why);
        }
        // What a router sends packets over is another router's address.
        let hops = |router: &Router| router.forwarding.routes.iter().any(|route| route.over == Some(self.named));
        if self.router(self.at.a.0).is_some_and(hops) {
            let name = self.view.name(self.at.a.0);
            return Answer::Naming(format!("{} is the next hop of {name} itself", self.named));
        }
        let (for_own, for_named) = (self.speaks_for(self.own, self.named), self.speaks_for(self.named, self.own));
        match (for_own, for_named) {
            (Some(why), None) => Answer::Naming(why),
            (None, Some(why)) => Answer::Interface(why),
            _ => Answer::Open,
        }
    }

    fn router(&self, at: usize) -> Option<&Router> {
        self.view.policies.routers.get(at)
    }

    /// What speaks for one of the two addresses, and not for the other.
    fn speaks_for(&self, address: Address, other: Address) -> Option<String> {
        self.fits_neighbours(address, other)
            .or_else(|| self.is_on_the_link(address, other))
            .or_else(|| self.is_stated_again(address))
    }

    /// The interface has an address of a third router, as in a configuration that was copied.
    fn is_doubled(&self) -> Option<String> {
        let third = twin(self.view, self.at.a.0, self.own).filter(|third| *third != self.at.b.0)?;
        Some(format!("{} has {} on an interface, too", self.view.name(third), self.own))
    }

    /// What the router of the interface sends to, its next hops and its peers, is in the network of one of the addresses only.
    fn fits_neighbours(&self, address: Address, other: Address) -> Option<String> {
        let router = self.router(self.at.a.0)?;
        let network = router.interfaces.get(self.interface)?.networks.iter().find(|net| net.contains(self.own))?;
        let (with, without) = (network.beside(address), network.beside(other));
        let next_hops = router.forwarding.routes.iter().filter_map(|route| route.over.map(|over| (over, "next hop")));
        let entry = self.view.entry(self.at.a.0, self.at.a.1)?;
        let peers = entry.peers.iter().map(|(peer, _)| (*peer, "peer"));
        let is_elsewhere = |one: Address| {
            router.interfaces.iter().any(|(name, interface)| {
                *name != self.interface && interface.networks.iter().any(|net| net.contains(one))
            })
        };
        let mut neighbours = next_hops.chain(peers).filter(|(one, _)| !is_elsewhere(*one));
        let (one, what) = neighbours.find(|(one, _)| with.contains(*one) && !without.contains(*one))?;
        let name = self.view.name(self.at.a.0);
        Some(format!("the {what} {one} of {name} is in one network with {address} and not with {other}"))
    }

    /// One of the addresses only is in a network that the naming router is connected to.
    fn is_on_the_link(&self, address: Address, other: Address) -> Option<String> {
        let router = self.router(self.at.b.0)?;
        let connected = |one: Address| router.networks().find(|net| net.contains(one) && !net.is_host());
        let network: &Net = connected(address).filter(|_| connected(other).is_none())?;
        let name = self.view.name(self.at.b.0);
        Some(format!("{address} is in {network}, to which {name} is connected, and {other} is not"))
    }

    /// A further line that has the address.
    fn is_stated_again(&self, address: Address) -> Option<String> {
        let (here, there) = (self.at.a.0, self.at.b.0);
        if self.view.entry(here, self.at.a.1)?.local == Some(address) && address != self.own {
            return Some(format!("{} has {address} for its own end of the tunnel", self.view.name(here)));
        }
        let routers = || self.view.policies.routers.iter().enumerate().filter(|(at, _)| *at != here);
        for (at, router) in routers() {
            let name = &router.name;
            let entries = router.maps.iter().enumerate().filter(|(map, _)| (at, *map) != self.at.b);
            if entries.flat_map(|(_, entry)| &entry.peers).any(|(peer, _)| *peer == address) {
                let too = if at == there { "in another entry" } else { "too" };
                return Some(format!("{name} has {address} for its peer {too}"));
            }
            // A key for the address of the line is from the same hand as the line.
            let one_hand = at == there && address == self.named;
            if !one_hand && router.ike_keys.iter().any(|key| key.covers.as_host() == Some(address)) {
                return Some(format!("{name} has a pre-shared key for {address}"));
            }
        }
        let naming = self.router(there)?;
        let lans: Vec<&Net> = self.router(here)?.networks().filter(|net| !net.contains(self.own)).collect();
        // A default route may lead to any neighbour; one to the other router's network leads to that router.
        let leads_there = |to: &Net| address == self.own || lans.iter().any(|lan| to.covers(lan) && !to.is_any());
        let route =
            naming.forwarding.routes.iter().find(|route| route.over == Some(address) && leads_there(&route.to))?;
        Some(format!("the route of {} to {} goes over {address}", naming.name, route.to))
    }
}

/// Lays a difference of an interface's address and a peer's line at the router that the rest of the texts speaks against.
pub(in crate::policy::lint) fn laid(
    question: &TwoAddresses<'_>,
    problem: Problem,
    router: &Router,
    lines: Vec<String>,
) -> Problem {
    let TwoAddresses { view, at, interface, named, .. } = question;
    let (name, far) = (view.name(at.a.0), view.name(at.b.0));
    match question.answer() {
        Answer::Naming(why) => {
            let because = format!("its line for the peer is the right address mistyped, as {why}");
            blame::decided(problem, far, &because, lines)
        }
        Answer::Interface(why) => {
            let because = format!("the address of {interface} is the right one mistyped, as {why}");
            let entry = view.entry(at.a.0, at.a.1);
            let own = entry.and_then(|entry| readdressed(router, entry, interface, *named));
            blame::decided(problem, name, &because, own.unwrap_or_default())
        }
        Answer::Open => blame::open(problem, far, lines, &format!("give {interface} of {name} the address {named}")),
    }
}

/// Whether the transform sets of an entry have AH.
pub(in crate::policy::lint) fn has_ah(view: &View<'_>, at: (usize, usize)) -> bool {
    let entry = view.entry(at.0, at.1);
    view.policies
        .routers
        .get(at.0)
        .zip(entry)
        .is_some_and(|(router, entry)| sets(router, entry).iter().any(|set| uses(&set.words, Protocol::Ah)))
}

/// The lines that give an entry another peer.
pub(in crate::policy::lint) fn naming(
    view: &View<'_>,
    there: (usize, usize),
    peer: Address,
    address: Address,
) -> Vec<String> {
    let Some(other) = view.entry(there.0, there.1) else { return Vec::new() };
    let mut lines = if other.number == 0 {
        let lines = vec![format!("interface {}", other.name), format!(" tunnel destination {address}")];
        fix::global(Some(address), lines)
    } else {
        let lines = vec![format!("no set peer {peer}"), format!("set peer {address}")];
        fix::in_map_to(other, Some(address), lines)
    };
    // The pre-shared key has the address of the peer, too.
    let key = view.policies.routers.get(there.0).filter(|_| other.keying == Keying::Ike);
    if let Some(key) = key.and_then(|router| super::pre_shared::line_for(router, address)) {
        lines.insert(1, key);
    }
    lines
}

/// The lines that give an interface with one address another one of the same length.
fn readdressed(router: &Router, entry: &MapEntry, interface: &str, address: Address) -> Option<Vec<String>> {
    let of = router.interfaces.get(interface)?;
    let ([_], [network]) = (of.addresses.as_slice(), of.networks.as_slice()) else { return None };
    let lines = vec![format!("interface {interface}"), format!(" ip address {address} {}", network.netmask()?)];
    Some(fix::global(entry.peers.first().map(|(peer, _)| *peer), lines))
}
