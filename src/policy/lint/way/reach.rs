//! What keeps packets from coming to IPsec: interfaces that are down, access lists of interfaces, routes that are missing.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::report::Severity;
use crate::model::{Address, Protocol};
use crate::policy::facts::forwarding::Port;
use crate::policy::facts::router::{Acl, Keying, MapEntry, Router};
use crate::policy::facts::stated::{sets, uses};
use crate::policy::{Cite, Net, Problem, Selector, View, fix, names};

pub(in crate::policy::lint) fn problems(view: &View<'_>) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (at, router) in view.policies.routers.iter().enumerate() {
        for (name, interface) in &router.interfaces {
            problems.extend(tunnel_down(view, at, router, name, interface));
            let Some((map, cite)) = &interface.map else { continue };
            let Some(port) = router.forwarding.ports.get(name) else { continue };
            if !router.maps.iter().any(|entry| entry.name == *map) {
                continue;
            }
            problems.extend(down(view, at, router, name, map, port, cite));
            problems.extend(blocked(view, at, router, name, map, port));
        }
        problems.extend(no_route(view, at, router));
    }
    problems
}

/// A protected tunnel that is shut down, although routes lead into it.
fn tunnel_down(
    view: &View<'_>,
    at: usize,
    router: &Router,
    name: &str,
    interface: &crate::policy::Interface,
) -> Option<Problem> {
    let (_, protection) = interface.protection.as_ref()?;
    let shutdown = router.forwarding.ports.get(name)?.shutdown.as_ref()?;
    let inside = |over: Address| interface.networks.iter().any(|net| net.contains(over));
    let mut routes = router.forwarding.routes.iter().filter(|route| !route.floating);
    // One that was replaced by another tunnel to the same place may be down.
    let end = interface.tunnel_destination.as_ref().map(|(far, _)| *far);
    let same = |one: &&crate::policy::Interface| one.tunnel_destination.as_ref().map(|(far, _)| *far) == end;
    let replaced = router.interfaces.values().filter(same).count() > 1;
    // One to a router that was not given may be a reserve, or not built yet.
    let given = end.is_some_and(|end| view.owners.contains_key(&end)) || view.policies.files.len() == 1;
    // One that is shut down at the other end, too, was taken out of service.
    let far = end.and_then(|end| view.other_owner(end, at)).and_then(|far| view.policies.routers.get(far));
    let back = |(name, one): (&String, &crate::policy::Interface)| {
        let leads = one.tunnel_destination.as_ref().is_some_and(|(to, _)| router.addresses().any(|own| own == *to));
        leads && far.is_some_and(|far| far.forwarding.ports.get(name).is_some_and(|port| port.shutdown.is_some()))
    };
    let both = far.is_some_and(|far| far.interfaces.iter().any(back));
    if replaced
        || both
        || !given
        || !routes.any(|route| route.through.as_deref() == Some(name) || route.over.is_some_and(inside))
    {
        return None;
    }
    let evidence =
        format!("{}: {name} is a protected tunnel that routes lead into, and is shut down (`shutdown`).", router.name);
    let lines = fix::no_shutdown(name);
    let problem = Problem::new("config-interface-down", evidence).about(format!("{} {name}", router.name));
    Some(problem.lines(view.policies, at, [shutdown, protection]).fix(&router.name, lines))
}

/// The map's only interfaces are shut down.
fn down(
    view: &View<'_>,
    at: usize,
    router: &Router,
    name: &str,
    map: &str,
    port: &Port,
    cite: &Cite,
) -> Option<Problem> {
    let shutdown = port.shutdown.as_ref()?;
    let up = router.interfaces.iter().any(|(other, interface)| {
        let carries = interface.map.as_ref().is_some_and(|(carried, _)| carried == map);
        carries && router.forwarding.ports.get(other).is_none_or(|port| port.shutdown.is_none())
    });
    if up {
        return None;
    }
    let evidence = format!(
        "{}: {name} carries crypto map {map} and is shut down (`shutdown`). Nothing leaves it, and nothing is received on it.",
        router.name
    );
    let lines = fix::no_shutdown(name);
    Some(
        Problem::new("config-interface-down", evidence)
            .about(format!("{} {name}", router.name))
            .lines(view.policies, at, [shutdown, cite])
            .fix(&router.name, lines),
    )
}

/// An outer packet of a tunnel.
struct Outer {
    what: &'static str,
    /// The protocol's word and number in access lists.
    protocol: [&'static str; 2],
    /// The destination port.
    port: Option<u16>,
}

const ESP: Outer = Outer { what: "ESP", protocol: ["esp", "50"], port: None };
const AH: Outer = Outer { what: "AH", protocol: ["ahp", "51"], port: None };
const IKE: Outer = Outer { what: "UDP port 500 (IKE)", protocol: ["udp", "17"], port: Some(500) };
const NAT_T: Outer = Outer { what: "UDP port 4500 (IKE and ESP)", protocol: ["udp", "17"], port: Some(4500) };

/// What an access list does with a packet: the first line that takes it decides; `None` where that cannot be told.
fn permitted<'l>(
    list: &'l Acl,
    outer: &Outer,
    src: Option<Address>,
    dst: Option<Address>,
) -> Option<(bool, Option<&'l Cite>)> {
    let fits = |selector: &Selector| -> Option<bool> {
        let protocol = selector.protocol == "ip" || outer.protocol.contains(&selector.protocol.as_str());
        let holds = |net: &crate::policy::Net, end: Option<Address>| match end {
            Some(end) => Some(net.contains(end)),
            None => net.is_any().then_some(true),
        };
        let port = match (outer.port, selector.dst_port.as_str()) {
            (_, "") => Some(true),
            (None, _) => Some(false),
            (Some(own), ports) => names::ports(ports)
                .map(|ranges| ranges.is_empty() || ranges.iter().any(|(from, to)| (*from..=*to).contains(&own))),
        };
        if !protocol {
            return Some(false);
        }
        let parts = [holds(&selector.src, src), holds(&selector.dst, dst), port];
        if parts.contains(&Some(false)) { Some(false) } else { parts.iter().all(Option::is_some).then_some(true) }
    };
    let mut denies = list.denies.iter().peekable();
    for at in 0..=list.permits.len() {
        while let Some(denied) = denies.next_if(|denied| denied.behind <= at) {
            if fits(denied.selector.as_ref()?)? {
                return Some((false, Some(&denied.cite)));
            }
        }
        if let Some((selector, _)) = list.permits.get(at)
            && fits(selector)?
        {
            return Some((true, None));
        }
    }
    Some((false, None))
}

fn blocked(view: &View<'_>, at: usize, router: &Router, name: &str, map: &str, port: &Port) -> Vec<Problem> {
    let mut problems = Vec::new();
    let Some((filter, applied)) = &port.filter_in else { return problems };
    let Some(list) = router.acls.get(filter).filter(|_| router.forwarding.is_sure(filter)) else {
        return problems;
    };
    // A list without a line filters nothing yet: the deny at its end comes with the first line (but for very old releases).
    if list.permits.is_empty() && list.denies.is_empty() {
        return problems;
    }
    for (number, entry) in router.maps.iter().enumerate().filter(|(_, entry)| entry.name == map) {
        let Some((peer, _)) = entry.peers.first() else { continue };
        let local = view.local(at, number);
        let verdict = |outer: &Outer| permitted(list, outer, Some(*peer), local);
        let closed = |outer: &Outer| matches!(verdict(outer), Some((false, _)));
        let mut dropped: Vec<&Outer> = carried(router, entry).into_iter().filter(|outer| closed(outer)).collect();
        if entry.keying == Keying::Ike && !closed(&NAT_T) {
            // Behind a NAT, all of it is in UDP port 4500.
            dropped.retain(|outer| outer.port.is_some());
        }
        let Some(first) = dropped.first() else { continue };
        let listed: Vec<&str> = dropped.iter().map(|outer| outer.what).collect();
        let by = verdict(first).and_then(|(_, cite)| cite);
        let line = by.map_or_else(
            || "no line of it permits them, and it ends with a deny of everything".to_owned(),
            |cite| format!("`{}` drops them", cite.text),
        );
        let word = first.protocol.first().copied().unwrap_or_default();
        let port = first.port.map_or_else(String::new, |port| format!(" eq {port}"));
        let end = local.map_or_else(|| "any".to_owned(), |local| format!("host {local}"));
        let evidence = format!(
            "{}: {name} has access list {filter} for packets that arrive, which does not let {} of the peer {peer} in: {line}. \
             It sees the outer packet before IPsec does. Before that line belongs `permit {word} host {peer} {end}{port}`.",
            router.name,
            listed.join(" and ")
        );
        problems.push(
            Problem::new("config-acl-blocks", evidence).about(format!("{} {name} {peer}", router.name)).lines(
                view.policies,
                at,
                by.into_iter().chain([applied]),
            ),
        );
    }
    problems
}

/// What comes from the peer of an entry.
fn carried(router: &Router, entry: &MapEntry) -> Vec<&'static Outer> {
    let sets = sets(router, entry);
    let has = |protocol| sets.iter().any(|set| uses(&set.words, protocol));
    let mut outer = Vec::new();
    if entry.keying == Keying::Ike {
        outer.push(&IKE);
    }
    if has(Protocol::Ah) {
        outer.push(&AH);
    }
    if has(Protocol::Esp) {
        outer.push(&ESP);
    }
    outer
}

/// No route in what was given leads to the networks behind the peer. Others may come from elsewhere, so it is a note.
fn no_route(view: &View<'_>, at: usize, router: &Router) -> Option<Problem> {
    let forwarding = &router.forwarding;
    if forwarding.routes_elsewhere() || !router.named {
        return None;
    }
    let addressed = router.interfaces.values().filter(|interface| !interface.networks.is_empty());
    let applied: BTreeSet<&str> = addressed.filter_map(|one| Some(one.map.as_ref()?.0.as_str())).collect();
    // Most networks of a peer have a route of their own.
    let routed: BTreeSet<&Net> = forwarding.routes.iter().map(|route| &route.to).collect();
    let mut sources: BTreeMap<&Net, bool> = BTreeMap::new();
    let mut missing: Vec<(&Selector, &Cite)> = Vec::new();
    for entry in router.maps.iter().filter(|entry| applied.contains(entry.name.as_str())) {
        let Some((name, _)) = &entry.acl else { continue };
        let Some(list) = router.acls.get(name).filter(|_| !forwarding.vague.contains(name)) else { continue };
        // Where not even the router's own network was pasted, routes were not either.
        for (selector, cite) in &list.permits {
            let src = &selector.src;
            let own = *sources.entry(src).or_insert_with(|| router.networks().any(|net| net.overlaps(src)));
            if own && !routed.contains(&selector.dst) && !router.reaches(&selector.dst) {
                missing.push((selector, cite));
            }
        }
    }
    let (first, _) = missing.first()?;
    let evidence = format!(
        "{}: no route in what was given leads to {}, which the access list sends into the tunnel: no static route, no default route, \
         no routing protocol. Without a route the packets never come to the interface with the crypto map.",
        router.name, first.dst
    );
    Some(Problem::new("config-route-missing", evidence).severity(Severity::Note).about(&*router.name).lines(
        view.policies,
        at,
        missing.into_iter().map(|(_, cite)| cite),
    ))
}
