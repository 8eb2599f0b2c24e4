//! GRE under a crypto map: the tunnel interfaces and the routes of both routers say what leaves them.

use crate::model::Address;
use crate::policy::Selector;
use crate::policy::facts::router::{Interface, Router};
use crate::policy::lint::blame::Side;

/// Why a line that selects networks is the wrong one of two.
pub(super) const BECAUSE: &str = "the tunnel interfaces and the routes of both routers put these networks into GRE between the routers, which its line does not select";

/// The address that a tunnel's packets leave from.
pub(in crate::policy::lint) fn source(router: &Router, tunnel: &Interface) -> Option<Address> {
    let source = tunnel.tunnel_source.as_deref()?;
    crate::policy::words::address(source).or_else(|| router.addresses_of(source).first().copied())
}

/// Tunnel interfaces of a router by name, with their ends.
fn tunnels(router: &Router) -> impl Iterator<Item = (&str, Address, Address)> {
    router
        .interfaces
        .iter()
        .filter(|(_, one)| one.protection.is_none())
        .filter_map(|(name, one)| Some((name.as_str(), source(router, one)?, one.tunnel_destination.as_ref()?.0)))
}

/// Where one line selects the packets between the ends of a tunnel that both routers have, and the other networks that both route
/// into that tunnel: the side of the latter.
pub(super) fn beside(a: &Router, b: &Router, mine: &Selector, theirs: &Selector) -> Option<Side> {
    if is_tunnel(a, b, mine) && into_tunnel(b, a, theirs) {
        Some(Side::B)
    } else if is_tunnel(b, a, theirs) && into_tunnel(a, b, mine) {
        Some(Side::A)
    } else {
        None
    }
}

/// Whether a line selects the outer packets of a GRE tunnel between two routers.
fn is_tunnel(own: &Router, far: &Router, line: &Selector) -> bool {
    let (Some(src), Some(dst)) = (line.src.as_host(), line.dst.as_host()) else { return false };
    matches!(line.protocol.as_str(), "gre" | "47" | "ip")
        && tunnels(own).any(|(_, from, to)| (from, to) == (src, dst))
        && tunnels(far).any(|(_, from, to)| (from, to) == (dst, src))
}

/// Whether both routers send the networks of a line through a tunnel.
pub(in crate::policy::lint) fn into_tunnel(own: &Router, far: &Router, line: &Selector) -> bool {
    let leads = |router: &Router, net: &crate::policy::Net| {
        let of_tunnel = |route: &&crate::policy::Route| {
            let inside = |name: &str| {
                let networks = router.interfaces.get(name).map(|one| one.networks.as_slice()).unwrap_or_default();
                route.over.is_some_and(|over| networks.iter().any(|net| net.contains(over)))
            };
            !route.floating && tunnels(router).any(|(name, ..)| route.through.as_deref() == Some(name) || inside(name))
        };
        let mut routes =
            router.forwarding.routes.iter().filter(|route| route.to.covers(net) && !route.to.is_any()).peekable();
        let forwarding = &router.forwarding;
        let other = forwarding.other_routes || forwarding.ports.values().any(|port| port.leased);
        !other && routes.peek().is_some() && routes.all(|route| of_tunnel(&route))
    };
    leads(own, &line.dst) && leads(far, &line.src)
}
