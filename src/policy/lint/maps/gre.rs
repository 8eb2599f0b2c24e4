//! GRE under a crypto map: the tunnel interfaces and the routes of both routers say what leaves them.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::Address;
use crate::policy::facts::forwarding::Port;
use crate::policy::facts::router::{Interface, Router};
use crate::policy::lint::blame::Side;
use crate::policy::{Cite, Net, Selector, View};

/// Why a line that selects networks is the wrong one of two.
pub(super) const BECAUSE: &str = "the tunnel interfaces and the routes of both routers put these networks into GRE between the routers, which its line does not select";

/// The address that a tunnel's packets leave from, of the family of its destination.
pub(in crate::policy::lint) fn source(router: &Router, tunnel: &Interface) -> Option<Address> {
    let source = tunnel.tunnel_source.as_deref()?;
    let family = tunnel.tunnel_destination.as_ref().map(|(to, _)| to.is_v4());
    let fits = |own: &Address| family.is_none_or(|family| own.is_v4() == family);
    crate::policy::words::address(source).or_else(|| router.addresses_of(source).into_iter().find(fits))
}

/// A tunnel interface that no profile protects.
#[derive(Clone, Copy)]
pub(in crate::policy::lint) struct Tunnel<'v> {
    pub(in crate::policy::lint) name: &'v str,
    pub(in crate::policy::lint) interface: &'v Interface,
    pub(in crate::policy::lint) port: Option<&'v Port>,
    pub(in crate::policy::lint) source: Option<Address>,
    pub(in crate::policy::lint) destination: Address,
    pub(in crate::policy::lint) cite: &'v Cite,
}

impl Tunnel<'_> {
    /// The line that shuts it down.
    pub(in crate::policy::lint) fn shutdown(&self) -> Option<&Cite> {
        self.port?.shutdown.as_ref()
    }
}

/// The tunnels of a router, found by their ends and their names: a hub has thousands.
pub(in crate::policy::lint) struct Tunnels<'v> {
    pub(in crate::policy::lint) router: &'v Router,
    /// By name.
    named: BTreeMap<&'v str, Tunnel<'v>>,
    /// Names by destination, and by source.
    by_destination: BTreeMap<Address, Vec<&'v str>>,
    by_source: BTreeMap<Address, Vec<&'v str>>,
    /// How many tunnels lead to an address, protected ones too.
    leading: BTreeMap<Address, usize>,
    /// Whether a tunnel may lead to any address: the line with its destination may have been cut out.
    anywhere: bool,
    /// The router's own addresses.
    own: BTreeSet<Address>,
    /// Crypto maps that interfaces carry, and whether a tunnel is among these.
    maps: BTreeMap<&'v str, bool>,
}

impl<'v> Tunnels<'v> {
    pub(in crate::policy::lint) fn of(router: &'v Router) -> Self {
        let mut all = Self {
            router,
            named: BTreeMap::new(),
            by_destination: BTreeMap::new(),
            by_source: BTreeMap::new(),
            leading: BTreeMap::new(),
            anywhere: false,
            own: router.addresses().collect(),
            maps: BTreeMap::new(),
        };
        for (name, interface) in &router.interfaces {
            if let Some((map, _)) = &interface.map {
                *all.maps.entry(map).or_default() |= interface.tunnel_destination.is_some();
            }
            let Some((destination, cite)) = &interface.tunnel_destination else {
                all.anywhere |= interface.tunnel_source.is_some() && router.forwarding.open.contains(name);
                continue;
            };
            *all.leading.entry(*destination).or_default() += 1;
            if interface.protection.is_some() {
                continue;
            }
            let (port, source) = (router.forwarding.ports.get(name), source(router, interface));
            all.by_destination.entry(*destination).or_default().push(name);
            if let Some(source) = source {
                all.by_source.entry(source).or_default().push(name);
            }
            all.named.insert(name, Tunnel { name, interface, port, source, destination: *destination, cite });
        }
        all
    }

    /// Those of each router.
    pub(in crate::policy::lint) fn all(view: &View<'v>) -> Vec<Self> {
        view.policies.routers.iter().map(Self::of).collect()
    }

    pub(in crate::policy::lint) fn iter(&self) -> impl Iterator<Item = &Tunnel<'v>> {
        self.named.values()
    }

    /// Those that lead to an address.
    pub(in crate::policy::lint) fn to(&self, destination: Address) -> impl Iterator<Item = &Tunnel<'v>> {
        let names = self.by_destination.get(&destination).into_iter().flatten();
        names.filter_map(|name| self.named.get(name))
    }

    /// Those that leave from an address.
    pub(in crate::policy::lint) fn from(&self, source: Address) -> impl Iterator<Item = &Tunnel<'v>> {
        self.by_source.get(&source).into_iter().flatten().filter_map(|name| self.named.get(name))
    }

    /// Those from one address to another.
    pub(in crate::policy::lint) fn between(&self, from: Address, to: Address) -> impl Iterator<Item = &Tunnel<'v>> {
        self.to(to).filter(move |tunnel| tunnel.source == Some(from))
    }

    /// Whether a tunnel is the only one to its destination: of several, which is meant is not known.
    pub(in crate::policy::lint) fn is_only(&self, tunnel: &Tunnel<'_>) -> bool {
        !self.anywhere && self.leading.get(&tunnel.destination) == Some(&1)
    }

    /// Whether an address is one of the router.
    pub(in crate::policy::lint) fn owns(&self, address: Address) -> bool {
        self.own.contains(&address)
    }

    /// Whether interfaces carry a map, none of which is a tunnel.
    pub(in crate::policy::lint) fn is_outer(&self, map: &str) -> bool {
        self.maps.get(map) == Some(&false)
    }

    /// The only tunnel of each of two routers that leads to the other; `None` where there are several.
    pub(in crate::policy::lint) fn facing(&self, far: &Self) -> Option<(Tunnel<'v>, Tunnel<'v>)> {
        if self.anywhere || far.anywhere {
            return None;
        }
        // The fewer are gone through.
        if far.named.len() < self.named.len() {
            return far.facing(self).map(|(theirs, mine)| (mine, theirs));
        }
        let back = |mine: &Tunnel<'v>| {
            let mine = *mine;
            let theirs = mine.source.into_iter().flat_map(move |from| far.between(mine.destination, from));
            theirs.map(move |theirs| (mine, *theirs))
        };
        let mut pairs = self.iter().flat_map(back);
        let first = pairs.next()?;
        pairs.next().is_none().then_some(first)
    }

    /// Whether all routes to a network that are no default lead into such tunnels.
    fn routes(&self, net: &Net) -> bool {
        let forwarding = &self.router.forwarding;
        if forwarding.routes_elsewhere() {
            return false;
        }
        let inside =
            |over: Address| self.iter().any(|tunnel| tunnel.interface.networks.iter().any(|net| net.contains(over)));
        let mut covered = false;
        // A narrower route that avoids the tunnel takes its part of the network past it.
        for route in forwarding.routes.iter().filter(|route| route.to.overlaps(net) && !route.to.is_any()) {
            let through = route.through.as_deref().is_some_and(|name| self.named.contains_key(name));
            if route.floating || !through && !route.over.is_some_and(inside) {
                return false;
            }
            covered |= route.to.covers(net);
        }
        covered
    }

    /// Whether a line selects the outer packets of a GRE tunnel to another router.
    fn selects(&self, far: &Self, line: &Selector) -> bool {
        let (Some(src), Some(dst)) = (line.src.as_host(), line.dst.as_host()) else { return false };
        matches!(line.protocol.as_str(), "gre" | "47" | "ip")
            && self.between(src, dst).next().is_some()
            && far.between(dst, src).next().is_some()
    }
}

/// Where one line selects the packets between the ends of a tunnel that both routers have, and the other networks that both route
/// into that tunnel: the side of the latter.
pub(super) fn beside(a: &Tunnels<'_>, b: &Tunnels<'_>, mine: &Selector, theirs: &Selector) -> Option<Side> {
    if a.selects(b, mine) && into_tunnel(b, a, theirs) {
        Some(Side::B)
    } else if b.selects(a, theirs) && into_tunnel(a, b, mine) {
        Some(Side::A)
    } else {
        None
    }
}

/// Why a line that misses the router's own tunnel is wrong.
pub(super) const MISSES: &str = "its line does not select what its own tunnel interface sends to the other router";

/// Where one of two lines for GRE between two hosts selects what the tunnel of its router sends, and the other does not: the side of the
/// latter.
pub(super) fn missing(a: &Tunnels<'_>, b: &Tunnels<'_>, mine: &Selector, theirs: &Selector) -> Option<Side> {
    let sends = |own: &Tunnels<'_>, far: &Tunnels<'_>, line: &Selector| -> Option<bool> {
        let (Some(src), Some(dst), "gre" | "47") = (line.src.as_host(), line.dst.as_host(), line.protocol.as_str())
        else {
            return None;
        };
        // Of a router with its tunnel to the other one it is known.
        let known = own.iter().any(|tunnel| far.owns(tunnel.destination));
        let all = || own.between(src, dst).next().is_some();
        (known || all()).then(all)
    };
    match (sends(a, b, mine)?, sends(b, a, theirs)?) {
        (true, false) => Some(Side::B),
        (false, true) => Some(Side::A),
        _ => None,
    }
}

/// Whether both routers send the networks of a line through a tunnel.
pub(in crate::policy::lint) fn into_tunnel(own: &Tunnels<'_>, far: &Tunnels<'_>, line: &Selector) -> bool {
    own.routes(&line.dst) && far.routes(&line.src)
}
