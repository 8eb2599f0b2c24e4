//! What two hosts of different systems put into the tunnel between them: policies of setkey and RouterOS, flows of OpenBSD, access lists
//! of IOS for manual keys, policies of a Linux kernel.

use std::collections::BTreeMap;

use crate::model::Address;
use crate::policy::facts::router::{InForce, Keying, Way};
use crate::policy::form::order::Chapter;
use crate::policy::lint::maps::acl::meaning;
use crate::policy::read::xfrm::{Direction, XfrmPolicy};
use crate::policy::{Cite, Problem, Selector, View};

/// Selectors named in an evidence.
const NAMED: usize = 4;

/// The selectors of a host by the ends of their tunnel.
type ByEnds = BTreeMap<(Address, Address), Vec<InForce>>;

/// Whose selectors they are. Two routers of Cisco and two Linux hosts say more of them, which is compared elsewhere.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whose {
    Cisco,
    Linux,
    Others,
}

pub(in crate::policy::lint) fn problems(view: &View<'_>) -> Vec<Problem> {
    let routers = 0..view.policies.routers.len();
    let hosts: Vec<(usize, Whose, ByEnds)> = routers
        .filter_map(|at| selected(view, at).map(|(whose, all)| (at, whose, by_ends(all))))
        .filter(|(.., all)| !all.is_empty())
        .collect();
    let mut problems = Vec::new();
    for (n, (here, whose, own)) in hosts.iter().enumerate() {
        for (there, other, far) in
            hosts.iter().skip(n + 1).filter(|(_, other, _)| *whose == Whose::Others || other != whose)
        {
            for ((local, remote), mine) in own {
                if let Some(theirs) = far.get(&(*remote, *local)) {
                    let (mine, theirs) = (mine.iter().collect::<Vec<_>>(), theirs.iter().collect::<Vec<_>>());
                    let kernels = match (whose, other) {
                        (Whose::Linux, _) => mine.as_slice(),
                        (_, Whose::Linux) => theirs.as_slice(),
                        _ => &[],
                    };
                    if !takes_all(kernels) {
                        problems.extend(problem(view, (*here, &mine), (*there, &theirs)));
                    }
                }
            }
        }
    }
    problems
}

/// Whether a host takes everything that is routed into a tunnel.
fn takes_all(selectors: &[&InForce]) -> bool {
    selectors.iter().any(|one| one.selector.src.is_any() && one.selector.dst.is_any())
}

/// What a router puts into its tunnels, as far as all of it is known.
fn selected(view: &View<'_>, at: usize) -> Option<(Whose, Vec<InForce>)> {
    let router = view.policies.routers.get(at)?;
    match router.maker {
        // Of PIX and ASA, what is in force is a display of SAs that were agreed on.
        Some(maker) if maker.starts_with("PIX") => None,
        Some(_) => Some((Whose::Others, router.selectors.clone())),
        None if !router.xfrm_policies.is_empty() => {
            let known = !router.forwarding.cut_policies;
            known.then(|| (Whose::Linux, router.xfrm_policies.iter().filter_map(of_kernel).collect()))
        }
        None => Some((Whose::Cisco, (0..router.maps.len()).flat_map(|map| of_entry(view, (at, map))).collect())),
    }
}

/// The selector of a policy for what leaves; one for a mark or an interface takes only what is routed there.
fn of_kernel(policy: &XfrmPolicy) -> Option<InForce> {
    let template = policy.templates.first().filter(|_| policy.templates.len() == 1)?;
    let plain =
        policy.direction == Direction::Out && policy.main && policy.mark.any() && policy.if_id == 0 && !policy.block;
    let selector = policy.selector.clone().filter(|_| plain)?;
    Some(InForce { selector, way: None, local: template.src, remote: template.dst, cite: policy.cite.clone() })
}

/// What an entry with manual keys selects by its access list; nothing where the list is not known line by line.
fn of_entry(view: &View<'_>, (at, map): (usize, usize)) -> Vec<InForce> {
    let of = || {
        let (router, entry) = (view.policies.routers.get(at)?, view.entry(at, map)?);
        let (name, _) = entry.acl.as_ref().filter(|_| entry.keying == Keying::Manual)?;
        let hidden = router.forwarding.may_have(name, Chapter::Lists) || !router.forwarding.is_sure(name);
        let list = router.acls.get(name).filter(|list| !hidden && list.denies.is_empty())?;
        let ([(peer, _)], Some(local)) = (entry.peers.as_slice(), view.local(at, map)) else { return None };
        let reached =
            |number: usize, one: &Selector| !list.permits.iter().take(number).any(|(first, _)| first.covers(one));
        let lines = list.permits.iter().enumerate().filter(|(number, (one, _))| reached(*number, one));
        let made = |selector: &Selector, cite: &Cite| InForce {
            selector: selector.clone(),
            way: None,
            local: Some(local),
            remote: Some(*peer),
            cite: cite.clone(),
        };
        Some(lines.map(|(_, (selector, cite))| made(selector, cite)).collect())
    };
    of().unwrap_or_default()
}

fn by_ends(selectors: Vec<InForce>) -> ByEnds {
    let mut all = ByEnds::new();
    for one in selectors.into_iter().filter(|one| one.way != Some(Way::In)) {
        if let (Some(local), Some(remote)) = (one.local, one.remote) {
            all.entry((local, remote)).or_default().push(one);
        }
    }
    all
}

/// The selectors of a host that have no mirror image at the other one.
fn odd<'v>(own: &[&'v InForce], far: &[&InForce]) -> Vec<&'v InForce> {
    let mirrored = |one: &&&InForce| {
        let meant = meaning(&one.selector);
        far.iter().any(|other| meaning(&other.selector.mirrored()) == meant)
    };
    // One that lies within another adds nothing to what the tunnel carries.
    let is_within = |one: &&&InForce| {
        own.iter().any(|wider| !std::ptr::eq(*wider, **one) && mirrored(&wider) && wider.selector.covers(&one.selector))
    };
    own.iter().filter(|one| !mirrored(one) && !is_within(one)).copied().collect()
}

fn problem(
    view: &View<'_>,
    (here, mine): (usize, &[&InForce]),
    (there, theirs): (usize, &[&InForce]),
) -> Option<Problem> {
    let (odd_here, odd_there) = (odd(mine, theirs), odd(theirs, mine));
    // Several selectors may be the parts of one of the other host: whether they are all of it is not looked into.
    let parts = |parts: &[&InForce], whole: &[&InForce]| {
        parts.len() > whole.len()
            && parts.iter().all(|part| whole.iter().any(|one| one.selector.mirrored().covers(&part.selector)))
    };
    if odd_here.is_empty() && odd_there.is_empty() || parts(&odd_here, &odd_there) || parts(&odd_there, &odd_here) {
        return None;
    }
    let (a, b) = (view.name(here), view.name(there));
    let said = |host: &str, other: &str, odd: &[&InForce]| {
        let (first, listed) = (odd.first()?, odd.iter().take(NAMED).map(|one| one.selector.to_string()));
        let listed = listed.collect::<Vec<_>>().join(", ");
        Some(format!("{host} selects {listed}; {other} has no mirror image of it ({})", first.selector.mirrored()))
    };
    let all: Vec<String> = [said(a, b, &odd_here), said(b, a, &odd_there)].into_iter().flatten().collect();
    let evidence = format!("{}. Which of the two is meant is not determined by these texts.", all.join("; "));
    let problem = Problem::new("config-acl-mismatch", evidence)
        .about(format!("{a} < > {b}"))
        .lines(view.policies, here, odd_here.iter().map(|one| &one.cite))
        .lines(view.policies, there, odd_there.iter().map(|one| &one.cite));
    Some(problem)
}
