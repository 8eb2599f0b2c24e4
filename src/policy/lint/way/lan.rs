//! Interfaces of the networks that a tunnel is for: shut down, or with a filter that drops what belongs into the tunnel.

use crate::policy::facts::forwarding::Port;
use crate::policy::facts::router::{Acl, Interface, Router};
use crate::policy::{Cite, Problem, Selector, View, fix};

pub(in crate::policy::lint) fn problems(view: &View<'_>) -> Vec<Problem> {
    view.policies.routers.iter().enumerate().flat_map(|(at, router)| of_router(view, at, router)).collect()
}

fn of_router(view: &View<'_>, at: usize, router: &Router) -> Vec<Problem> {
    if router.maker.is_some() {
        return Vec::new();
    }
    let known = |name: &str| router.acls.get(name).filter(|_| router.forwarding.is_sure(name));
    let mut problems: Vec<Problem> = Vec::new();
    let applied = |map: &str| router.interfaces.values().any(|one| one.map.as_ref().is_some_and(|(own, _)| own == map));
    for entry in router.maps.iter().filter(|entry| applied(&entry.name)) {
        let Some(list) = entry.acl.as_ref().and_then(|(name, _)| known(name)) else { continue };
        for (selector, line) in &list.permits {
            let Some((name, _, port)) = only_way(router, selector) else { continue };
            let filter = port.filter_in.as_ref().and_then(|(filter, cite)| Some((filter, known(filter)?, cite)));
            let found = if let Some(shutdown) = &port.shutdown {
                Some(down(view, at, router, name, selector, [shutdown, line]))
            } else {
                filter.and_then(|(filter, list, cite)| {
                    dropped(view, at, router, name, selector, (filter, list, [cite, line]))
                })
            };
            problems.extend(found.filter(|new| problems.iter().all(|old| old.subject != new.subject)));
        }
    }
    problems
}

/// The interface that all packets of a selector come in on: it alone is connected to their sources, and carries no crypto map.
fn only_way<'r>(router: &'r Router, selector: &Selector) -> Option<(&'r str, &'r Interface, &'r Port)> {
    let mut connected =
        router.interfaces.iter().filter(|(_, one)| one.networks.iter().any(|net| net.overlaps(&selector.src)));
    let (name, interface) = connected.next()?;
    let whole = interface.networks.iter().any(|net| net.covers(&selector.src));
    let routed = router.forwarding.other_routes
        || router.forwarding.routes.iter().any(|route| !route.to.is_any() && route.to.overlaps(&selector.src));
    // What the router itself sends comes in on no interface.
    let own = selector.src.as_host().is_some_and(|host| router.addresses().any(|address| address == host));
    let alone = !own && connected.next().is_none() && whole && !routed && interface.map.is_none();
    Some((name.as_str(), interface, router.forwarding.ports.get(name).filter(|_| alone)?))
}

fn down(view: &View<'_>, at: usize, router: &Router, name: &str, selector: &Selector, cites: [&Cite; 2]) -> Problem {
    let evidence = format!(
        "{}: {name} is the only interface in {}, whose packets belong into the tunnel, and is shut down (`shutdown`).",
        router.name, selector.src
    );
    let lines = fix::global(None, vec![format!("interface {name}"), " no shutdown".to_owned()]);
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
    for at in 0..=list.permits.len() {
        for denied in list.denies.iter().filter(|denied| denied.behind == at) {
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
