//! Interfaces of the networks that a tunnel is for: shut down, or with a filter that drops what belongs into the tunnel.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::report::Severity;
use crate::policy::facts::forwarding::Port;
use crate::policy::facts::router::{Acl, Router};
use crate::policy::{Cite, Net, Problem, Selector, View, fix};

pub(in crate::policy::lint) fn problems(view: &View<'_>) -> Vec<Problem> {
    view.policies.routers.iter().enumerate().flat_map(|(at, router)| of_router(view, at, router)).collect()
}

fn of_router(view: &View<'_>, at: usize, router: &Router) -> Vec<Problem> {
    if router.maker.is_some() {
        return Vec::new();
    }
    let known = |name: &str| router.acls.get(name).filter(|_| router.forwarding.is_sure(name));
    let mut problems: Vec<Problem> = Vec::new();
    // Many lines have one source.
    let mut ways: BTreeMap<Net, Option<(&str, &Port)>> = BTreeMap::new();
    let applied: BTreeSet<&str> =
        router.interfaces.values().filter_map(|one| Some(one.map.as_ref()?.0.as_str())).collect();
    for entry in router.maps.iter().filter(|entry| applied.contains(entry.name.as_str())) {
        let Some(list) = entry.acl.as_ref().and_then(|(name, _)| known(name)) else { continue };
        let of_line = |(selector, line): &(Selector, Cite)| {
            let (name, port) = (*ways.entry(selector.src).or_insert_with(|| only_way(router, &selector.src)))?;
            if let Some(shutdown) = &port.shutdown {
                return Some(down(view, at, router, name, selector, [shutdown, line]));
            }
            let (filter, cite) = port.filter_in.as_ref()?;
            dropped(view, at, router, name, selector, (filter, known(filter)?, [cite, line]))
        };
        let of_lines: Vec<Option<Problem>> = list.permits.iter().map(of_line).collect();
        // A network of one of several lines may be kept out on purpose; an entry without any packets is at fault.
        let all = of_lines.iter().all(Option::is_some);
        for mut new in of_lines.into_iter().flatten() {
            if !all {
                new = new.severity(Severity::Note);
                new.fix.clear();
            }
            // An error of one entry replaces the note of another.
            problems.retain(|old| old.subject != new.subject || new.severity == Some(Severity::Note));
            if problems.iter().all(|old| old.subject != new.subject) {
                problems.push(new);
            }
        }
    }
    problems
}

/// The interface that all packets of a source come in on: it alone is connected to it, and carries no crypto map.
fn only_way<'r>(router: &'r Router, src: &Net) -> Option<(&'r str, &'r Port)> {
    let mut connected = router.interfaces.iter().filter(|(_, one)| one.networks.iter().any(|net| net.overlaps(src)));
    let (name, interface) = connected.next()?;
    let whole = interface.networks.iter().any(|net| net.covers(src));
    let routed = router.forwarding.other_routes
        || router.forwarding.routes.iter().any(|route| !route.to.is_any() && route.to.overlaps(src));
    // What the router itself sends comes in on no interface.
    let own = src.as_host().is_some_and(|host| router.addresses().any(|address| address == host));
    let alone = !own && connected.next().is_none() && whole && !routed && interface.map.is_none();
    Some((name.as_str(), router.forwarding.ports.get(name).filter(|_| alone)?))
}

fn down(view: &View<'_>, at: usize, router: &Router, name: &str, selector: &Selector, cites: [&Cite; 2]) -> Problem {
    let evidence = format!(
        "{}: {name} is the only interface in {}, whose packets belong into the tunnel, and is shut down (`shutdown`).",
        router.name, selector.src
    );
    let lines = fix::no_shutdown(name);
    Problem::new("config-interface-down", evidence)
        .about(format!("{} {name}", router.name))
        .lines(view.policies, at, cites)
        .fix(&router.name, lines)
}

/// A filter on the interface of the network drops what the crypto map's list selects.
fn dropped(
    view: &View<'_>,
    at: usize,
    router: &Router,
    name: &str,
    selector: &Selector,
    (filter, list, cites): (&String, &Acl, [&Cite; 2]),
) -> Option<Problem> {
    let by = drops(list, selector)?;
    // The deny at the end of a list follows its last lines, which may be missing.
    if by.is_none() && router.forwarding.open.contains(filter) {
        return None;
    }
    let line = by.map_or_else(
        || "no line of it permits them, and it ends with a deny of everything".to_owned(),
        |cite| format!("`{}` drops them", cite.text),
    );
    let evidence = format!(
        "{}: {name} has access list {filter} for packets that arrive, which does not let {selector} in: {line}. The packets never come to \
         the crypto map.",
        router.name
    );
    let problem = Problem::new("config-acl-blocks", evidence).about(format!("{} {name} {filter}", router.name));
    Some(problem.lines(view.policies, at, by.into_iter().chain(cites)))
}

/// The line by which a list drops every packet of a selector, `None` within for the deny at its end; `None` where some may pass.
fn drops<'l>(list: &'l Acl, selector: &Selector) -> Option<Option<&'l Cite>> {
    if list.permits.is_empty() && list.denies.is_empty() {
        return None;
    }
    let mut denies = list.denies.iter().peekable();
    for at in 0..=list.permits.len() {
        while let Some(denied) = denies.next_if(|denied| denied.behind <= at) {
            if denied.selector.as_ref()?.covers(selector) {
                return Some(Some(&denied.cite));
            }
        }
        if list.permits.get(at).is_some_and(|(permit, _)| permit.overlaps(selector)) {
            return None;
        }
    }
    Some(None)
}
