//! Selectors of one tunnel where neither end's text outweighs the other's.

use std::collections::BTreeSet;

use super::super::super::{Problem, Selector, View};
use super::model::{Host, Target, Verdict};
use super::selectors::{Side, Tunnel, cites, name, one_slip};
use crate::model::report::Severity;
use crate::policy::read::xfrm::selector_words;

/// Selectors that one host has in all directions and the other in none.
pub(super) fn judge(
    view: &View<'_>,
    hosts: &mut [Host<'_>],
    tunnel: Tunnel,
    sides: &[Side],
    open: &BTreeSet<Selector>,
    verdicts: &mut Vec<Verdict>,
) {
    let Some(peer) = tunnel.peer else {
        return alone(view, hosts, tunnel, sides, open, verdicts);
    };
    let of = |at: usize| -> BTreeSet<&Selector> {
        let mine = sides.iter().filter(move |side| side.host == at);
        open.iter().filter(|one| mine.clone().all(|side| side.selectors.contains_key(one))).collect()
    };
    let (mine, theirs) = (of(tunnel.host), of(peer));
    if select_the_same(&mine, &theirs) {
        return;
    }
    let covered = |at: usize, one: &Selector| sides.iter().filter(|side| side.host == at).all(|side| side.covers(one));
    let mut left: Vec<&Selector> = theirs.iter().copied().collect();
    for selector in mine {
        let other = left
            .iter()
            .position(|other| selector.overlaps(other) || selector.mirrored() == **other || one_slip(selector, other));
        let Some(other) = other.map(|at| left.remove(at)) else {
            if !covered(peer, selector) {
                verdicts.push(one_end(view, hosts, tunnel, tunnel.host, selector));
            }
            continue;
        };
        // One end takes everything that is routed into the tunnel.
        if is_wide(selector) || is_wide(other) {
            continue;
        }
        let (a, b) = (name(hosts, tunnel.host).to_owned(), name(hosts, peer).to_owned());
        let evidence = format!(
            "{a} selects {selector} for the tunnel with {b}, and {b} has the mirror image of {other}: packets that only one end selects are \
             dropped. Which end is wrong is not determined by these texts: the lines change {a}'s policies; the alternative is to change {b}'s."
        );
        let mut problem = Problem::new("config-acl-mismatch", evidence).about(format!("{a} < > {b}"));
        for (router, cite) in cites(hosts, tunnel, selector).into_iter().chain(cites(hosts, tunnel, other)) {
            problem = problem.lines(view.policies, router, [&cite]);
        }
        let mut targets = Vec::new();
        for side in sides.iter().filter(|side| side.host == tunnel.host) {
            let (Some(&number), wanted) = (side.selectors.get(selector), side.written(other)) else { continue };
            let Some(words) = selector_words(&wanted) else { continue };
            if let Some(entry) = hosts.get_mut(tunnel.host).and_then(|host| host.policies.get_mut(number)) {
                entry.now.words = words;
                entry.now.selector = Some(wanted);
                targets.push(Target::Policy(tunnel.host, number));
            }
        }
        verdicts.push(Verdict { problem, targets });
    }
    for selector in left.into_iter().filter(|one| !covered(tunnel.host, one)) {
        verdicts.push(one_end(view, hosts, tunnel, peer, selector));
    }
}

/// Whether a selector takes everything of IP.
fn is_wide(one: &Selector) -> bool {
    one.protocol == "ip" && one.src.cidr().is_some_and(|all| all.ends_with("/0"))
}

/// Whether the policies of two hosts select the same packets all together, as a network does beside its halves.
fn select_the_same(mine: &BTreeSet<&Selector>, theirs: &BTreeSet<&Selector>) -> bool {
    let all = |of: &BTreeSet<&Selector>| of.iter().map(|one| (*one).clone()).collect::<Vec<_>>();
    let within = |some: &BTreeSet<&Selector>, others: &[Selector]| some.iter().all(|one| one.is_covered_by(others));
    within(mine, &all(theirs)) && within(theirs, &all(mine))
}

fn one_end(view: &View<'_>, hosts: &[Host<'_>], tunnel: Tunnel, at: usize, selector: &Selector) -> Verdict {
    let evidence = format!(
        "Only {} has policies for {selector} between {} and {}: the other end drops these packets and sends its own in clear. Add them \
         there, or remove them here.",
        name(hosts, at),
        tunnel.local,
        tunnel.remote
    );
    let mut problem = Problem::new("config-acl-mismatch", evidence).about(name(hosts, at));
    for (router, cite) in cites(hosts, tunnel, selector) {
        problem = problem.lines(view.policies, router, [&cite]);
    }
    Verdict::told(problem)
}

/// Without the other end's policies, two directions of one host that differ: which is wrong is not known.
fn alone(
    view: &View<'_>,
    hosts: &[Host<'_>],
    tunnel: Tunnel,
    sides: &[Side],
    open: &BTreeSet<Selector>,
    verdicts: &mut Vec<Verdict>,
) {
    let uncovered: Vec<&Selector> = open.iter().filter(|one| !sides.iter().all(|side| side.covers(one))).collect();
    let (Some(first), Some(second)) = (uncovered.first(), open.iter().find(|one| uncovered.first() != Some(one)))
    else {
        return;
    };
    if !first.overlaps(second) && !one_slip(first, second) {
        return;
    }
    let host = name(hosts, tunnel.host);
    let evidence = format!(
        "{host}: the policies of the tunnel between {} and {} select {first} in one direction and the way back of {second} in the other; \
         which of the two is meant is not determined without the other end.",
        tunnel.local, tunnel.remote
    );
    let mut problem = Problem::new("config-acl-mismatch", evidence).severity(Severity::Warning).about(host);
    for (router, cite) in cites(hosts, tunnel, first).into_iter().chain(cites(hosts, tunnel, second)) {
        problem = problem.lines(view.policies, router, [&cite]);
    }
    verdicts.push(Verdict::told(problem));
}
