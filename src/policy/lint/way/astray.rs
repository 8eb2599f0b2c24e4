//! Routes that lead the tunnel's packets away from the interface with the crypto map.

use std::collections::BTreeSet;

use crate::model::report::Severity;
use crate::policy::facts::router::{MapEntry, Router};
use crate::policy::{Cite, Net, Problem, Route, Selector, View};

pub(in crate::policy::lint) fn problems(view: &View<'_>) -> Vec<Problem> {
    view.policies.routers.iter().enumerate().filter_map(|(at, router)| astray(view, at, router)).collect()
}

/// Interfaces that carry any crypto map.
fn carrying(router: &Router) -> BTreeSet<&str> {
    let carrying = router.interfaces.iter().filter(|(_, interface)| interface.map.is_some());
    carrying.map(|(name, _)| name.as_str()).collect()
}

fn astray(view: &View<'_>, at: usize, router: &Router) -> Option<Problem> {
    let forwarding = &router.forwarding;
    if forwarding.routes_elsewhere() || router.maker.is_some() {
        return None;
    }
    let carriers = carrying(router);
    // Few routes lead away, if any; the others are not looked at line by line.
    let away: Vec<&Net> =
        forwarding.routes.iter().filter(|route| may_lead_away(route)).map(|route| &route.to).collect();
    let may = |selector: &Selector| away.iter().any(|to| to.covers(&selector.dst));
    let applied = |entry: &&MapEntry| {
        let on = |name: &&str| {
            let map = router.interfaces.get(*name).and_then(|interface| interface.map.as_ref());
            map.is_some_and(|(map, _)| *map == entry.name)
        };
        entry.number > 0 && carriers.iter().any(on)
    };
    let lists = router.maps.iter().filter(applied).filter_map(|entry| {
        let (name, _) = entry.acl.as_ref()?;
        router.acls.get(name).filter(|_| forwarding.is_sure(name))
    });
    let lines = lists.flat_map(|list| &list.permits).filter(|(selector, _)| may(selector));
    let (selector, line, routes, where_to) = lines.into_iter().find_map(|(selector, line)| {
        let (routes, where_to) = led_away(router, &carriers, selector)?;
        Some((selector, line, routes, where_to))
    })?;
    let first = routes.first()?;
    let evidence = format!(
        "{}: the access list sends packets to {} into the tunnel, and `{}` leads them {where_to}. IPsec is applied where a packet leaves \
         an interface with the crypto map, and these packets never come to one.",
        router.name, selector.dst, first.cite.text
    );
    let cites: Vec<&Cite> = routes.iter().map(|route| &route.cite).chain([line]).collect();
    let problem = Problem::new("config-route-missing", evidence).severity(Severity::Warning);
    Some(problem.about(&*router.name).lines(view.policies, at, cites))
}

/// The routes that decide where packets of a selector go, if all of them lead away from crypto maps, and where to.
fn led_away<'r>(
    router: &'r Router,
    carriers: &BTreeSet<&str>,
    selector: &Selector,
) -> Option<(Vec<&'r Route>, String)> {
    let (own, far) = (&selector.src, &selector.dst);
    let lan = router.networks().any(|net| net.overlaps(own));
    // Of a network that is connected, or routed in parts, no one route decides.
    let connected = router.networks().any(|net| net.overlaps(far));
    let parted = router.forwarding.routes.iter().any(|route| route.to.overlaps(far) && !route.to.covers(far));
    if !lan || far.is_any() || connected || parted {
        return None;
    }
    let covering = || router.forwarding.routes.iter().filter(|route| route.to.covers(far));
    let narrowest = |route: &&Route| covering().all(|other| other.to.covers(&route.to));
    let best: Vec<&Route> = covering().filter(narrowest).collect();
    if best.iter().any(|route| route.floating) {
        return None;
    }
    let mut said = best.iter().map(|route| leads(router, carriers, own, route)).collect::<Option<Vec<String>>>()?;
    said.dedup();
    Some((best, said.into_iter().next()?))
}

/// Whether a route leads over another router, or nowhere.
fn may_lead_away(route: &Route) -> bool {
    route.over.is_some() || route.through.as_ref().is_some_and(|name| name.to_ascii_lowercase().starts_with("null"))
}

/// Where a route leads that certainly leads away: into the own network, or nowhere.
fn leads(router: &Router, carriers: &BTreeSet<&str>, own: &Net, route: &Route) -> Option<String> {
    if route.through.as_ref().is_some_and(|name| name.to_ascii_lowercase().starts_with("null")) {
        return Some("nowhere (they are dropped)".to_owned());
    }
    let over = route.over?;
    let connected = |net: &Net| net.contains(over);
    let mut leading = router.interfaces.iter().filter(|(_, interface)| interface.networks.iter().any(connected));
    let (name, interface) = leading.next()?;
    let alone = leading.next().is_none() && !carriers.contains(name.as_str());
    let inside = interface.networks.iter().any(|net| connected(net) && net.overlaps(own));
    (alone && inside).then(|| format!("to {over}, which is in the router's own network on {name}"))
}
