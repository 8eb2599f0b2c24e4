//! GRE tunnels whose packets a crypto map protects: their ends, their state, and what the access list selects of them.

use crate::model::Address;
use crate::policy::facts::forwarding::Port;
use crate::policy::facts::router::{Acl, Interface, MapEntry, Router};
use crate::policy::lint::maps::gre::{into_tunnel, source};
use crate::policy::lint::{Facing, near};
use crate::policy::{Cite, Problem, Selector, View, fix};

/// An end of a pair of entries whose map is on an interface that is no tunnel.
struct End<'v> {
    at: usize,
    router: &'v Router,
    entry: &'v MapEntry,
    list: &'v Acl,
}

/// A tunnel interface that no profile protects.
struct Tunnel<'v> {
    name: &'v str,
    port: Option<&'v Port>,
    source: Option<Address>,
    destination: Address,
    cite: &'v Cite,
}

pub(in crate::policy::lint) fn problems(view: &View<'_>, facing: &[Facing]) -> Vec<Problem> {
    let mut problems: Vec<Problem> = Vec::new();
    for pair in facing {
        let (Some(a), Some(b)) = (end(view, pair.a), end(view, pair.b)) else { continue };
        let mut found: Vec<Problem> =
            [(&a, &b), (&b, &a)].into_iter().flat_map(|(own, far)| of_end(view, own, far)).collect();
        // One that does not lead to the other end says nothing of what both select.
        if found.is_empty() {
            found.extend(keys(view, &a, &b));
            found.extend(in_clear(view, &a, &b));
        }
        problems.extend(found);
    }
    problems.extend(unprotected(view));
    problems
}

/// A tunnel that a profile protects at one end only.
fn unprotected(view: &View<'_>) -> Vec<Problem> {
    let mut problems = Vec::new();
    let known = |router: &Router| router.maker.is_none() && !router.forwarding.cut;
    let routers = || view.policies.routers.iter().enumerate().filter(move |(_, router)| known(router));
    for (at, router) in routers() {
        let protected = router.interfaces.iter().filter_map(|(name, one)| {
            let (_, protection) = one.protection.as_ref()?;
            Some((name, protection, source(router, one)?, one.tunnel_destination.as_ref()?.0))
        });
        for (name, protection, from, to) in protected {
            // A crypto map toward this end may protect it, too.
            let bare = routers().filter(|(other, far)| {
                let maps =
                    far.maps.iter().any(|entry| entry.number > 0 || entry.peers.iter().any(|(peer, _)| *peer == from));
                *other != at && !maps && !far.forwarding.may_have("protection")
            });
            let back = bare.flat_map(|(other, far)| tunnels(far).map(move |tunnel| (other, far, tunnel)));
            for (other, far, tunnel) in back.filter(|(_, _, one)| (one.source, one.destination) == (Some(to), from)) {
                let evidence = format!(
                    "{}: {} leads to {name} of {}, which a profile protects (`tunnel protection`), and has no protection itself: it sends in \
                     clear, and cannot read what comes.",
                    far.name, tunnel.name, router.name
                );
                let problem =
                    Problem::new("config-gre-mismatch", evidence).about(format!("{} {}", far.name, tunnel.name));
                problems.push(problem.lines(view.policies, other, [tunnel.cite]).lines(
                    view.policies,
                    at,
                    [protection],
                ));
            }
        }
    }
    problems
}

fn end<'v>(view: &'v View<'_>, at: (usize, usize)) -> Option<End<'v>> {
    let router = view.policies.routers.get(at.0).filter(|router| router.maker.is_none())?;
    let entry = view.entry(at.0, at.1).filter(|entry| entry.number > 0)?;
    let (name, _) = entry.acl.as_ref()?;
    let list = router.acls.get(name).filter(|_| router.forwarding.is_sure(name))?;
    let carries =
        |(_, interface): &(&String, &Interface)| interface.map.as_ref().is_some_and(|(map, _)| *map == entry.name);
    let mut carriers = router.interfaces.iter().filter(carries).peekable();
    let outer = carriers.peek().is_some() && carriers.all(|(_, interface)| interface.tunnel_destination.is_none());
    outer.then_some(End { at: at.0, router, entry, list })
}

fn tunnels<'v>(router: &'v Router) -> impl Iterator<Item = Tunnel<'v>> {
    router.interfaces.iter().filter(|(_, one)| one.protection.is_none()).filter_map(|(name, interface)| {
        let (destination, cite) = interface.tunnel_destination.as_ref()?;
        let port = router.forwarding.ports.get(name);
        Some(Tunnel { name, port, source: source(router, interface), destination: *destination, cite })
    })
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
    let towards = |tunnel: &Tunnel<'_>| own.entry.peers.iter().any(|(peer, _)| *peer == tunnel.destination);
    let far_tunnels: Vec<(Option<Address>, Address)> =
        tunnels(far.router).map(|tunnel| (tunnel.source, tunnel.destination)).collect();
    let mut problems = Vec::new();
    for tunnel in tunnels(own.router) {
        // The other end has a tunnel that comes from the peer of this one, which has none to it.
        let answered = far_tunnels.iter().any(|(from, _)| own.entry.peers.iter().any(|(peer, _)| Some(*peer) == *from));
        if towards(&tunnel) {
            problems.extend(
                down(view, own, &tunnel)
                    .or_else(|| other_source(view, own, &tunnel))
                    .or_else(|| other_packets(view, own, &tunnel)),
            );
        } else if answered && !tunnels(own.router).any(|other| towards(&other)) {
            problems.extend(mistyped(view, own, &tunnel));
        }
    }
    problems
}

/// Whether a tunnel is the only one of its router to its destination: of several, which is meant is not known.
fn is_only(router: &Router, tunnel: &Tunnel<'_>) -> bool {
    let to = |one: &&Interface| one.tunnel_destination.as_ref().is_some_and(|(far, _)| *far == tunnel.destination);
    router.interfaces.values().filter(to).count() == 1
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

fn down(view: &View<'_>, own: &End<'_>, tunnel: &Tunnel<'_>) -> Option<Problem> {
    let shutdown = tunnel.port?.shutdown.as_ref()?;
    let mut routes = own.router.forwarding.routes.iter().filter(|route| !route.floating);
    let routed = routes.any(|route| route.through.as_deref() == Some(tunnel.name));
    let selected = of_gre(own.list, tunnel.destination).is_some();
    if !is_only(own.router, tunnel) || !routed && !selected {
        return None;
    }
    let what = format!("is shut down (`shutdown`), and the packets of crypto map {} go through it.", own.entry.name);
    let lines = fix::global(None, vec![format!("interface {}", tunnel.name), " no shutdown".to_owned()]);
    let problem = problem(view, own, tunnel, "config-interface-down", &what).lines(view.policies, own.at, [shutdown]);
    Some(problem.fix(&own.router.name, lines))
}

/// The tunnel's packets have another source than the list selects.
fn other_source(view: &View<'_>, own: &End<'_>, tunnel: &Tunnel<'_>) -> Option<Problem> {
    let (selector, line) = of_gre(own.list, tunnel.destination)?;
    let (listed, from) = (selector.src.as_host()?, tunnel.source?);
    // Each tunnel to this end has the same fault, or it is not certain which one is meant.
    if !is_only(own.router, tunnel) || selects(own.list, from, tunnel.destination, &["gre", "47"]) {
        return None;
    }
    let owned = own.router.addresses().any(|address| address == from);
    if !owned && !near::mistyped(from, listed) {
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
        || !is_only(own.router, tunnel)
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

/// The only tunnel of each router between the two, and that of the other.
fn facing_tunnels<'v>(a: &End<'v>, b: &End<'v>) -> Option<(Tunnel<'v>, Tunnel<'v>)> {
    let mut pairs: Vec<(Tunnel<'v>, Tunnel<'v>)> = Vec::new();
    for mine in tunnels(a.router) {
        let back = (Some(mine.destination), mine.source);
        let mut theirs = tunnels(b.router).filter(|theirs| (theirs.source, Some(theirs.destination)) == back);
        if let Some(other) = theirs.next() {
            // Several between the same ends are told apart by their keys.
            if theirs.next().is_some() {
                return None;
            }
            pairs.push((mine, other));
        }
    }
    if pairs.len() == 1 { pairs.pop() } else { None }
}

fn keys(view: &View<'_>, a: &End<'_>, b: &End<'_>) -> Option<Problem> {
    let (mine, theirs) = facing_tunnels(a, b)?;
    let key = |tunnel: &Tunnel<'_>| tunnel.port.and_then(|port| port.tunnel_key.clone());
    let (own, far) = (key(&mine), key(&theirs));
    let number = |key: &Option<(String, Cite)>| key.as_ref().map(|(key, _)| key.clone());
    // Only GRE has keys.
    let gre = |tunnel: &Tunnel<'_>| {
        let mode = tunnel.port.and_then(|port| port.tunnel_mode.as_ref());
        mode.is_none_or(|(mode, _)| mode.starts_with("gre"))
    };
    if number(&own) == number(&far) || !gre(&mine) || !gre(&theirs) {
        return None;
    }
    let said =
        |key: &Option<(String, Cite)>| number(key).map_or_else(|| "no key".to_owned(), |key| format!("key {key}"));
    let what = format!(
        "has GRE {} and {} of {} has {} (`tunnel key`): each drops what the other sends. Which of the two is meant is not determined by \
         these texts.",
        said(&own),
        theirs.name,
        b.router.name,
        said(&far)
    );
    let cites = |key: Option<(String, Cite)>| key.map(|(_, cite)| cite).into_iter().collect::<Vec<_>>();
    let problem = problem(view, a, &mine, "config-gre-mismatch", &what).lines(view.policies, a.at, &cites(own));
    Some(problem.lines(view.policies, b.at, &cites(far)))
}

/// Both select networks that both send through GRE: what comes to the crypto map is GRE, which neither selects.
fn in_clear(view: &View<'_>, a: &End<'_>, b: &End<'_>) -> Option<Problem> {
    let (mine, theirs) = facing_tunnels(a, b)?;
    let outer = |end: &End<'_>, tunnel: &Tunnel<'_>| {
        tunnel.source.is_none_or(|from| selects(end.list, from, tunnel.destination, &["gre", "47"]))
    };
    if outer(a, &mine) || outer(b, &theirs) {
        return None;
    }
    let routed = |own: &End<'_>, far: &End<'_>| {
        let lines = &own.list.permits;
        !lines.is_empty() && lines.iter().all(|(selector, _)| into_tunnel(own.router, far.router, selector))
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
    let problem = problem(view, a, &mine, "config-gre-mismatch", &what).lines(view.policies, a.at, &lines(a));
    Some(problem.lines(view.policies, b.at, &lines(b)))
}
