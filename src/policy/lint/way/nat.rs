//! NAT that translates packets before the crypto map sees them.

use std::collections::{BTreeMap, BTreeSet};

use crate::policy::facts::router::{Acl, Router};
use crate::policy::lint::Facing;
use crate::policy::lint::maps::overlap::takes;
use crate::policy::{Cite, NatList, Net, Problem, Selector, View};

pub(in crate::policy::lint) fn problems(view: &View<'_>, facing: &[Facing]) -> Vec<Problem> {
    let mut theirs: Facings = BTreeMap::new();
    for (here, there) in facing.iter().flat_map(|pair| pair.both_ways()) {
        theirs.entry(here).or_default().push(there);
    }
    view.policies.routers.iter().enumerate().filter_map(|(at, router)| taken(view, &theirs, at, router)).collect()
}

/// The entries that face an entry, by its place.
type Facings = BTreeMap<(usize, usize), Vec<(usize, usize)>>;

/// Whether the other end's list has the mirror image of a selector, as far as the other end is known: else it may be mistyped.
fn answered(view: &View<'_>, facing: &Facings, at: (usize, usize), selector: &Selector) -> bool {
    facing.get(&at).into_iter().flatten().all(|there| {
        let far = view.policies.routers.get(there.0);
        let named = view.entry(there.0, there.1).and_then(|entry| entry.acl.as_ref());
        let list = far.zip(named).and_then(|(far, (name, _))| far.acls.get(name));
        list.is_some_and(|list| list.permits.iter().any(|(theirs, _)| *theirs == selector.mirrored()))
    })
}

/// Whether packets still go into the tunnel with the source that NAT gives them.
fn still_selected(router: &Router, onto: &str, list: &Acl, selector: &Selector) -> bool {
    let outer = router.addresses_of(onto);
    let takes = |one: &Selector| one.dst.overlaps(&selector.dst) && outer.iter().any(|own| one.src.contains(*own));
    outer.is_empty() || selector.src.is_any() || list.permits.iter().any(|(one, _)| takes(one))
}

/// Whether packets of a selector come from a network on an interface that is inside for NAT.
fn from_inside(router: &Router, selector: &Selector) -> bool {
    router.interfaces.iter().any(|(name, interface)| {
        let inside = router.forwarding.ports.get(name).is_some_and(|port| port.nat_inside == Some(true));
        inside && interface.networks.iter().any(|net| net.overlaps(&selector.src))
    })
}

/// Packets of a tunnel that NAT takes first: inside to outside, IOS translates before it encrypts.
fn taken(view: &View<'_>, facing: &Facings, at: usize, router: &Router) -> Option<Problem> {
    let forwarding = &router.forwarding;
    if forwarding.other_nat || router.maker.is_some() {
        return None;
    }
    let known = |name: &str| router.acls.get(name).filter(|_| forwarding.is_sure(name));
    let outside = |name: &str| forwarding.ports.get(name).is_some_and(|port| port.nat_inside == Some(false));
    let carrying = router.interfaces.iter().filter(|(name, _)| outside(name)).filter_map(|(name, interface)| {
        let (map, _) = interface.map.as_ref()?;
        Some((name, map))
    });
    let of_maps = carrying.flat_map(|(name, map)| {
        router.maps.iter().enumerate().filter(move |(_, entry)| entry.name == *map).map(move |entry| (name, entry))
    });
    let lists = of_maps.filter_map(|(name, (number, entry))| Some((name, number, known(&entry.acl.as_ref()?.0)?)));
    let own = |selector: &Selector| selector.src.as_host().is_some_and(|host| forwarding.static_nat.contains(&host));
    // Most lines of a tunnel that NAT leaves alone have a line of their own in its list.
    let denied: BTreeMap<&str, BTreeSet<&Selector>> = forwarding
        .translated
        .iter()
        .filter_map(|rule| Some((rule.list.as_str(), known(&rule.list)?)))
        .map(|(name, list)| (name, list.denies.iter().filter(|one| one.behind == 0)))
        .map(|(name, denies)| (name, denies.filter_map(|one| one.selector.as_ref()).collect()))
        .collect();
    let spared = |rule: &NatList, selector: &Selector| {
        denied.get(rule.list.as_str()).is_some_and(|denies| denies.contains(selector))
    };
    let mut inside: BTreeMap<&Net, bool> = BTreeMap::new();
    let (rule, selector, line): (&NatList, &Selector, &Cite) = lists
        .flat_map(|(name, number, list)| {
            list.permits.iter().map(move |(selector, line)| (name, number, list, selector, line))
        })
        .filter(|(_, _, _, selector, _)| {
            *inside.entry(&selector.src).or_insert_with(|| from_inside(router, selector)) && !own(selector)
        })
        .find_map(|(name, number, list, selector, line)| {
            // What a pool makes of the source is not known.
            let here = |rule: &&NatList| rule.onto.as_ref() == Some(name);
            let takes = |rule: &&NatList| {
                !spared(rule, selector) && known(&rule.list).is_some_and(|list| takes(list, selector))
            };
            let rule = forwarding.translated.iter().filter(here).find(takes)?;
            let left = !still_selected(router, name, list, selector);
            (left && answered(view, facing, (at, number), selector)).then_some((rule, selector, line))
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
