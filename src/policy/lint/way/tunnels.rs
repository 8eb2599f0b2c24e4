//! GRE tunnels whose packets a crypto map protects: their ends, their state, and what the access list selects of them.

use std::collections::BTreeMap;

use crate::model::Address;
use crate::policy::facts::router::{Acl, MapEntry, Router};
use crate::policy::lint::maps::gre::{Tunnel, Tunnels, into_tunnel};
use crate::policy::lint::tunnels::TunnelPairs;
use crate::policy::lint::{Facing, near};
use crate::policy::{Cite, Problem, Selector, View, fix};

/// An end of a pair of entries whose map is on an interface that is no tunnel.
struct End<'v> {
    at: usize,
    router: &'v Router,
    tunnels: &'v Tunnels<'v>,
    entry: &'v MapEntry,
    list: &'v Acl,
}

pub(in crate::policy::lint) fn problems(view: &View<'_>, facing: &[Facing], protected: &TunnelPairs) -> Vec<Problem> {
    let tunnels = Tunnels::all(view);
    let mut between: BTreeMap<(usize, usize), Option<(Tunnel<'_>, Tunnel<'_>)>> = BTreeMap::new();
    let mut problems: Vec<Problem> = Vec::new();
    for pair in facing {
        let (Some(a), Some(b)) = (end(view, &tunnels, pair.a), end(view, &tunnels, pair.b)) else { continue };
        let mut found: Vec<Problem> =
            [(&a, &b), (&b, &a)].into_iter().flat_map(|(own, far)| of_end(view, own, far)).collect();
        // One that does not lead to the other end says nothing of what both select.
        let only = *between.entry((a.at, b.at)).or_insert_with(|| a.tunnels.facing(b.tunnels));
        if let Some((mine, theirs)) = only.filter(|_| found.is_empty()) {
            found.extend(keys(view, (&a, &mine), (&b, &theirs)));
            found.extend(in_clear(view, (&a, &mine), (&b, &theirs)));
        }
        problems.extend(found);
    }
    problems.extend(super::unprotected::problems(view, &tunnels, protected));
    problems
}

fn end<'v>(view: &'v View<'_>, tunnels: &'v [Tunnels<'v>], at: (usize, usize)) -> Option<End<'v>> {
    let router = view.policies.routers.get(at.0).filter(|router| router.maker.is_none())?;
    let entry = view.entry(at.0, at.1).filter(|entry| entry.number > 0)?;
    let (name, _) = entry.acl.as_ref()?;
    let list = router.acls.get(name).filter(|_| router.forwarding.is_sure(name))?;
    let tunnels = tunnels.get(at.0).filter(|tunnels| tunnels.is_outer(&entry.name))?;
    Some(End { at: at.0, router, tunnels, entry, list })
}

/// Whether a list selects packets between two addresses, of GRE or of every protocol.
fn selects(list: &Acl, src: Address, dst: Address, protocols: &[&str]) -> bool {
    list.permits.iter().any(|(selector, _)| {
        let protocol = selector.protocol == "ip" || protocols.contains(&selector.protocol.as_str());
        protocol && selector.src.contains(src) && selector.dst.contains(dst)
    })
}

/// The line of a list that selects GRE from one host to another.
fn of_gre(list: &Acl, to: Address) -> Option<&(Selector, Cite)> {
    list.permits.iter().find(|(selector, _)| {
        matches!(selector.protocol.as_str(), "gre" | "47")
            && selector.dst.as_host() == Some(to)
            && selector.src.is_host()
    })
}

fn problem(view: &View<'_>, end: &End<'_>, tunnel: &Tunnel<'_>, code: &'static str, what: &str) -> Problem {
    let Tunnel { name, cite, .. } = tunnel;
    Problem::new(code, format!("{}: {name} {what}", end.router.name))
        .about(format!("{} {name}", end.router.name))
        .lines(view.policies, end.at, [*cite])
}

/// What is wrong with the tunnels of one end by themselves.
fn of_end(view: &View<'_>, own: &End<'_>, far: &End<'_>) -> Vec<Problem> {
    let peers = || own.entry.peers.iter().map(|(peer, _)| *peer);
    let mut problems = Vec::new();
    for tunnel in peers().flat_map(|peer| own.tunnels.to(peer)) {
        problems.extend(
            down(view, own, far, tunnel)
                .or_else(|| other_source(view, own, tunnel))
                .or_else(|| other_packets(view, own, tunnel)),
        );
    }
    // The other end has a tunnel from the peer of this one to it, which has none back.
    let led = peers().any(|peer| own.tunnels.to(peer).next().is_some());
    let answering = peers().filter(|_| !led).flat_map(|peer| far.tunnels.from(peer));
    let back = answering.map(|theirs| theirs.destination).filter(|own_end| own.tunnels.owns(*own_end));
    for tunnel in back.flat_map(|own_end| own.tunnels.from(own_end)) {
        problems.extend(mistyped(view, own, tunnel));
    }
    problems
}

fn mistyped(view: &View<'_>, own: &End<'_>, tunnel: &Tunnel<'_>) -> Option<Problem> {
    let to = tunnel.destination;
    let (peer, _) = own.entry.peers.iter().find(|(peer, _)| near::mistyped(to, *peer))?;
    // An address that the router has as another peer, or a key for, is meant.
    let peers = own.router.maps.iter().flat_map(|entry| &entry.peers).map(|(peer, _)| *peer);
    let meant = peers.chain(own.router.ike_keys.iter().map(|key| key.peer)).any(|peer| peer == to);
    if meant || view.owners.contains_key(&to) {
        return None;
    }
    let what = format!(
        "leads to {to}, which no router has; the peer of crypto map {} {} is {peer}, and {to} is that address mistyped. Nothing that \
         goes into the tunnel arrives.",
        own.entry.name, own.entry.number
    );
    Some(problem(view, own, tunnel, "config-gre-mismatch", &what))
}

fn down(view: &View<'_>, own: &End<'_>, far: &End<'_>, tunnel: &Tunnel<'_>) -> Option<Problem> {
    let shutdown = tunnel.shutdown()?;
    let mut routes = own.router.forwarding.routes.iter().filter(|route| !route.floating);
    let routed = routes.any(|route| route.through.as_deref() == Some(tunnel.name));
    // A tunnel that is out of service at both ends is taken down, and its line in the list is left over.
    let back = || tunnel.source.into_iter().flat_map(|from| far.tunnels.between(tunnel.destination, from));
    let answered = back().any(|theirs| theirs.shutdown().is_none());
    let taken_down = !answered && back().next().is_some();
    let selected = answered && of_gre(own.list, tunnel.destination).is_some();
    if !own.tunnels.is_only(tunnel) || taken_down || !routed && !selected {
        return None;
    }
    let what = format!("is shut down (`shutdown`), and the packets of crypto map {} go through it.", own.entry.name);
    let lines = fix::no_shutdown(tunnel.name);
    let problem = problem(view, own, tunnel, "config-interface-down", &what).lines(view.policies, own.at, [shutdown]);
    Some(problem.fix(&own.router.name, lines))
}

/// The tunnel's packets have another source than the list selects.
fn other_source(view: &View<'_>, own: &End<'_>, tunnel: &Tunnel<'_>) -> Option<Problem> {
    let (selector, line) = of_gre(own.list, tunnel.destination)?;
    let (listed, from) = (selector.src.as_host()?, tunnel.source?);
    // Each tunnel to this end has the same fault, or it is not certain which one is meant.
    if !own.tunnels.is_only(tunnel) || selects(own.list, from, tunnel.destination, &["gre", "47"]) {
        return None;
    }
    // Where the router has the tunnel's source and not the listed one, the line is what is wrong (`maps::acl`).
    let owned = own.tunnels.owns(from);
    if owned && !own.tunnels.owns(listed) || !owned && !near::mistyped(from, listed) {
        return None;
    }
    let place = if owned { "an address of another interface" } else { "no address of this router" };
    let what = format!(
        "leaves from {from}, {place}, and the access list of crypto map {} {} selects GRE from {listed} only (`{}`): the tunnel's packets \
         are not protected.",
        own.entry.name, own.entry.number, line.text
    );
    Some(problem(view, own, tunnel, "config-gre-mismatch", &what).lines(view.policies, own.at, [line]))
}

/// The tunnel carries its packets in another protocol than the list selects.
fn other_packets(view: &View<'_>, own: &End<'_>, tunnel: &Tunnel<'_>) -> Option<Problem> {
    let (mode, said) = tunnel.port?.tunnel_mode.as_ref()?;
    let (_, line) = of_gre(own.list, tunnel.destination)?;
    let ipip = mode.starts_with("ipip") || mode.starts_with("ipv6ip");
    if !ipip
        || !own.tunnels.is_only(tunnel)
        || selects(own.list, tunnel.source?, tunnel.destination, &["ipinip", "4", "ipip", "41"])
    {
        return None;
    }
    let what = format!(
        "has `tunnel mode {mode}`, and the access list of crypto map {} {} selects GRE (`{}`): the tunnel's packets are no GRE and are not \
         protected.",
        own.entry.name, own.entry.number, line.text
    );
    Some(problem(view, own, tunnel, "config-gre-mismatch", &what).lines(view.policies, own.at, [said, line]))
}

/// An end of a pair with its only tunnel to the other one.
type Only<'e> = (&'e End<'e>, &'e Tunnel<'e>);

fn keys(view: &View<'_>, (a, mine): Only<'_>, (b, theirs): Only<'_>) -> Option<Problem> {
    let key = |tunnel: &Tunnel<'_>| tunnel.port.and_then(|port| port.tunnel_key.clone());
    let (own, far) = (key(mine), key(theirs));
    let number = |key: &Option<(String, Cite)>| key.as_ref().map(|(key, _)| key.clone());
    // Only GRE has keys.
    let gre = |tunnel: &Tunnel<'_>| {
        let mode = tunnel.port.and_then(|port| port.tunnel_mode.as_ref());
        mode.is_none_or(|(mode, _)| mode.starts_with("gre"))
    };
    // Of a tunnel whose lines may be missing, the key may be, too.
    let open = [(a, mine), (b, theirs)].iter().any(|(end, tunnel)| end.router.forwarding.open.contains(tunnel.name));
    if number(&own) == number(&far) || open || !gre(mine) || !gre(theirs) {
        return None;
    }
    let said = |key: &Option<(String, Cite)>| {
        number(key).map_or_else(|| "no GRE key".to_owned(), |key| format!("GRE key {key}"))
    };
    let what = format!(
        "has {} and {} of {} has {} (`tunnel key`): each drops what the other sends. Which of the two is meant is not determined by \
         these texts.",
        said(&own),
        theirs.name,
        b.router.name,
        said(&far)
    );
    let cites = |key: Option<(String, Cite)>| key.map(|(_, cite)| cite).into_iter().collect::<Vec<_>>();
    let problem = problem(view, a, mine, "config-gre-mismatch", &what).lines(view.policies, a.at, &cites(own));
    Some(problem.lines(view.policies, b.at, &cites(far)))
}

/// Both select networks that both send through GRE: what comes to the crypto map is GRE, which neither selects.
fn in_clear(view: &View<'_>, (a, mine): Only<'_>, (b, theirs): Only<'_>) -> Option<Problem> {
    let outer = |end: &End<'_>, tunnel: &Tunnel<'_>| {
        tunnel.source.is_none_or(|from| selects(end.list, from, tunnel.destination, &["gre", "47"]))
    };
    if outer(a, mine) || outer(b, theirs) {
        return None;
    }
    let routed = |own: &End<'_>, far: &End<'_>| {
        let lines = &own.list.permits;
        !lines.is_empty() && lines.iter().all(|(selector, _)| into_tunnel(own.tunnels, far.tunnels, selector))
    };
    if !routed(a, b) || !routed(b, a) {
        return None;
    }
    let from = mine.source?;
    let what = format!(
        "takes what the access lists of both routers select ({} routes it into {} too), so that GRE from {from} to {} comes to the crypto \
         map, and neither list selects it: it leaves in clear. Either the lists select GRE between the routers, or the routes avoid the tunnel.",
        b.router.name, theirs.name, mine.destination
    );
    let lines = |end: &End<'_>| end.list.permits.iter().map(|(_, cite)| cite.clone()).collect::<Vec<_>>();
    let problem = problem(view, a, mine, "config-gre-mismatch", &what).lines(view.policies, a.at, &lines(a));
    Some(problem.lines(view.policies, b.at, &lines(b)))
}
