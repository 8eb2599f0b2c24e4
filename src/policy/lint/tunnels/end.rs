//! A protected tunnel of a router, with what decides which tunnel of another router is its other end.

use crate::model::Address;
use crate::policy::View;
use crate::policy::facts::forwarding::Port;
use crate::policy::facts::router::{Interface, MapEntry, Router};
use crate::policy::form::order::Chapter;
use crate::policy::lint::maps::gre::source;

/// An entry's place: router and entry.
type Place = (usize, usize);

/// A protected tunnel.
pub(super) struct TunnelEnd<'v> {
    pub(super) place: Place,
    pub(super) router: &'v Router,
    pub(super) entry: &'v MapEntry,
    pub(super) interface: &'v Interface,
    pub(super) port: Option<&'v Port>,
    /// Addresses that its packets may leave from; none where they are not known.
    pub(super) sources: Vec<Address>,
    pub(super) destination: Address,
    /// The routers that have its destination; none where no router that was given has it.
    pub(super) leads_to: Vec<usize>,
}

/// The protected tunnels of all routers.
pub(super) fn all<'v>(view: &'v View<'_>) -> Vec<TunnelEnd<'v>> {
    let routers = view.policies.routers.iter().enumerate();
    let of = |(at, router): (usize, &'v Router)| {
        let entries = router.maps.iter().enumerate().filter(|(_, entry)| entry.number == 0);
        entries.filter_map(move |(map, entry)| one(view, (at, map), router, entry)).collect::<Vec<_>>()
    };
    routers.flat_map(of).collect()
}

/// The protected tunnel of a place.
pub(super) fn at<'v>(view: &'v View<'_>, place: Place) -> Option<TunnelEnd<'v>> {
    let entry = view.entry(place.0, place.1).filter(|entry| entry.number == 0)?;
    one(view, place, view.policies.routers.get(place.0)?, entry)
}

fn one<'v>(view: &'v View<'_>, place: Place, router: &'v Router, entry: &'v MapEntry) -> Option<TunnelEnd<'v>> {
    let interface = router.interfaces.get(&entry.name)?;
    let (destination, _) = interface.tunnel_destination.as_ref()?;
    let owners = view.owners.get(destination).map(Vec::as_slice).unwrap_or_default();
    Some(TunnelEnd {
        place,
        router,
        entry,
        interface,
        port: router.forwarding.ports.get(&entry.name),
        sources: sources(router, interface, *destination),
        destination: *destination,
        leads_to: owners.iter().copied().filter(|owner| *owner != place.0).collect(),
    })
}

/// The addresses that a tunnel's packets may leave from, of the family of its destination.
fn sources(router: &Router, interface: &Interface, destination: Address) -> Vec<Address> {
    let Some(source) = interface.tunnel_source.as_deref() else { return Vec::new() };
    let all = crate::policy::words::address(source).map_or_else(|| router.addresses_of(source), |own| vec![own]);
    all.into_iter().filter(|own| own.is_v4() == destination.is_v4()).collect()
}

impl<'v> TunnelEnd<'v> {
    /// What it carries its packets in: the first word of its mode, `gre` where nothing is said; `None` where that is not known.
    pub(super) fn carrier(&self) -> Option<&'v str> {
        if self.is_open() {
            return None;
        }
        let mode = self.port.and_then(|port| port.tunnel_mode.as_ref());
        mode.map_or("gre", |(mode, _)| mode.as_str()).split(' ').next()
    }

    /// The key of GRE.
    pub(super) fn key(&self) -> Option<&'v str> {
        self.port.and_then(|port| port.tunnel_key.as_ref()).map(|(key, _)| key.as_str())
    }

    /// The VRF of the packets inside, and that of the packets outside.
    pub(super) fn vrfs(&self) -> [Option<&'v str>; 2] {
        self.port.map_or([None; 2], |port| [port.vrf.as_deref(), port.tunnel_vrf.as_deref()])
    }

    pub(super) fn is_down(&self) -> bool {
        self.port.is_some_and(|port| port.shutdown.is_some())
    }

    /// Whether lines of it may have been cut out.
    pub(super) fn is_open(&self) -> bool {
        self.router.forwarding.open.contains(&self.entry.name)
    }

    /// Whether all that decides was given: its own lines, its source, and the other tunnels of its router.
    pub(super) fn is_known(&self) -> bool {
        !self.is_open() && !self.sources.is_empty() && !self.router.forwarding.hidden.contains(&Chapter::Interfaces)
    }

    /// Whether its destination is an address that another tunnel leaves from; `None` where that is not known.
    pub(super) fn reaches(&self, other: &TunnelEnd<'_>) -> Option<bool> {
        if other.sources.contains(&self.destination) {
            return Some(true);
        }
        // If neither router has the address, a NAT may have made it of the source.
        (!other.sources.is_empty() && !self.leads_to.is_empty()).then_some(false)
    }

    /// Whether each of two tunnels leads to where the other leaves from.
    pub(super) fn is_exact(&self, other: &TunnelEnd<'_>) -> bool {
        self.reaches(other) == Some(true) && other.reaches(self) == Some(true)
    }

    /// Whether something else of another router is the other end: a tunnel without a destination, one without protection, an entry of a
    /// crypto map.
    pub(super) fn has_other_end(&self, view: &View<'_>, other: usize) -> bool {
        let Some(router) = view.policies.routers.get(other) else { return false };
        let leads_back = |peer: &Address| self.sources.contains(peer);
        let bare = router.interfaces.values().any(|one| {
            let back = one.tunnel_destination.as_ref().is_some_and(|(to, _)| leads_back(to));
            back && one.protection.is_none() && source(router, one) == Some(self.destination)
        });
        let mapped = router.maps.iter().enumerate().any(|(map, entry)| {
            let back = entry.number > 0 && entry.peers.iter().any(|(peer, _)| leads_back(peer));
            back && view.local(other, map) == Some(self.destination)
        });
        bare || mapped || takes_many(view, router, self.place)
    }
}

/// Whether the peer of a protected tunnel is the end of one without a destination (`gre multipoint`, virtual templates).
pub(in crate::policy::lint) fn takes_many(view: &View<'_>, router: &Router, from: Place) -> bool {
    let Some(entry) = view.entry(from.0, from.1).filter(|entry| entry.number == 0) else { return false };
    router.interfaces.values().any(|one| {
        let end = one.tunnel_source.as_ref().map(|_| source(router, one));
        let many = one.protection.is_some() && one.tunnel_destination.is_none();
        many && end.is_none_or(|end| end.is_none_or(|end| entry.peers.iter().any(|(peer, _)| *peer == end)))
    })
}
