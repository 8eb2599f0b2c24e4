//! NAT that translates packets before the crypto map sees them.

use crate::policy::facts::router::Router;
use crate::policy::lint::maps::overlap::takes;
use crate::policy::{Cite, NatList, Problem, Selector, View};

pub(in crate::policy::lint) fn problems(view: &View<'_>) -> Vec<Problem> {
    view.policies.routers.iter().enumerate().filter_map(|(at, router)| taken(view, at, router)).collect()
}

/// Whether packets of a selector come from a network on an interface that is inside for NAT.
fn from_inside(router: &Router, selector: &Selector) -> bool {
    router.interfaces.iter().any(|(name, interface)| {
        let inside = router.forwarding.ports.get(name).is_some_and(|port| port.nat_inside == Some(true));
        inside && interface.networks.iter().any(|net| net.overlaps(&selector.src))
    })
}

/// Packets of a tunnel that NAT takes first: inside to outside, IOS translates before it encrypts.
fn taken(view: &View<'_>, at: usize, router: &Router) -> Option<Problem> {
    let forwarding = &router.forwarding;
    let known = |name: &str| router.acls.get(name).filter(|_| !forwarding.vague.contains(name));
    let outside = |name: &str| forwarding.ports.get(name).is_some_and(|port| port.nat_inside == Some(false));
    let carrying = router.interfaces.iter().filter(|(name, _)| outside(name)).filter_map(|(name, interface)| {
        let (map, _) = interface.map.as_ref()?;
        Some((name, map))
    });
    let of_maps = carrying.flat_map(|(name, map)| {
        router.maps.iter().filter(move |entry| entry.name == *map).map(move |entry| (name, entry))
    });
    let lists = of_maps.filter_map(|(name, entry)| Some((name, known(&entry.acl.as_ref()?.0)?)));
    let (rule, selector, line): (&NatList, &Selector, &Cite) = lists
        .flat_map(|(name, list)| list.permits.iter().map(move |(selector, line)| (name, selector, line)))
        .filter(|(_, selector, _)| from_inside(router, selector))
        .find_map(|(name, selector, line)| {
            let here = |rule: &&NatList| rule.onto.as_ref().is_none_or(|onto| onto == name);
            let rule = forwarding
                .translated
                .iter()
                .filter(here)
                .find(|rule| known(&rule.list).is_some_and(|list| takes(list, selector)))?;
            Some((rule, selector, line))
        })?;
    let evidence = format!(
        "{}: NAT translates {selector} (`{}`): from inside to outside IOS translates before it looks at the crypto map, so these packets \
         have another source and leave in clear. Before the lines of list {} that permit belongs `deny {}`.",
        router.name,
        rule.cite.text,
        rule.list,
        selector.typed()
    );
    let list_line = router.acls.get(&rule.list).map(|list| &list.cite);
    Some(Problem::new("config-nat-takes", evidence).about(&*router.name).lines(
        view.policies,
        at,
        [&rule.cite, line].into_iter().chain(list_line),
    ))
}
