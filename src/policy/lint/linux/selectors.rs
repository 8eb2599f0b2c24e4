//! Selectors of one tunnel: what `out`, `in` and `fwd` select at each of its ends must be the same, with the sides exchanged.

mod lacking;

use std::collections::{BTreeMap, BTreeSet};

use super::super::super::{Cite, Mode, Problem, Selector, View};
use super::model::{Host, Target, Verdict, ends, main_template};
use super::undecided;
use crate::model::Address;
use crate::model::report::Severity;
use crate::policy::read::xfrm::{Direction, XfrmPolicy, selector_words};

/// What one direction of one host selects, seen from the first host of the tunnel.
pub(super) struct Side {
    pub(super) host: usize,
    pub(super) direction: Direction,
    /// Whether the selector is written the other way round.
    pub(super) mirrored: bool,
    pub(super) selectors: BTreeMap<Selector, usize>,
}

impl Side {
    pub(super) fn written(&self, selector: &Selector) -> Selector {
        if self.mirrored { selector.mirrored() } else { selector.clone() }
    }

    pub(super) fn covers(&self, selector: &Selector) -> bool {
        self.selectors.keys().any(|one| one.covers(selector))
    }
}

/// A tunnel: the host whose view is taken, the other one if given, and the two addresses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Tunnel {
    pub(super) host: usize,
    pub(super) peer: Option<usize>,
    pub(super) local: Address,
    pub(super) remote: Address,
}

pub(super) fn judge(view: &View<'_>, hosts: &mut [Host<'_>], verdicts: &mut Vec<Verdict>) {
    for tunnel in tunnels(hosts) {
        let sides = sides(hosts, tunnel);
        let Some((agreed, open)) = agreed(&sides) else { continue };
        for side in &sides {
            wrong(view, hosts, tunnel, side, &agreed, verdicts);
        }
        lacking::judge(view, hosts, tunnel, &sides, &agreed, verdicts);
        undecided::judge(view, hosts, tunnel, &sides, &open, verdicts);
    }
}

/// Local and remote address of a policy's tunnel.
fn endpoints(policy: &XfrmPolicy) -> Option<(Address, Address)> {
    let (src, dst) = ends(policy, main_template(policy)?)?;
    Some(if policy.direction == Direction::Out { (src, dst) } else { (dst, src) })
}

fn counts(policy: &XfrmPolicy) -> bool {
    policy.main && policy.selector.is_some() && !policy.templates.is_empty()
}

fn tunnels(hosts: &[Host<'_>]) -> BTreeSet<Tunnel> {
    let of = |host: &Host<'_>| -> BTreeSet<(Address, Address)> {
        host.policies.iter().filter(|one| counts(&one.now)).filter_map(|one| endpoints(&one.now)).collect()
    };
    let all: Vec<BTreeSet<(Address, Address)>> = hosts.iter().map(of).collect();
    let mut tunnels = BTreeSet::new();
    for (host, mine) in all.iter().enumerate() {
        for &(local, remote) in mine {
            let peer = hosts.iter().enumerate().position(|(other, of)| {
                let group = all.get(other).is_some_and(|theirs| theirs.contains(&(remote, local)));
                let states = of.states.iter().any(|one| {
                    let ends = [one.now.src, one.now.dst];
                    ends.contains(&Some(local)) && ends.contains(&Some(remote))
                });
                let apart = hosts.get(host).is_some_and(|host| host.own.is_disjoint(&of.own));
                other != host && !of.policies.is_empty() && apart && of.own.contains(&remote) && (group || states)
            });
            // From the other end it is the same tunnel.
            let seen =
                peer.is_some_and(|peer| peer < host && all.get(peer).is_some_and(|of| of.contains(&(remote, local))));
            if !seen {
                tunnels.insert(Tunnel { host, peer, local, remote });
            }
        }
    }
    tunnels
}

fn sides(hosts: &[Host<'_>], tunnel: Tunnel) -> Vec<Side> {
    let mut sides = Vec::new();
    let views = [(Some(tunnel.host), tunnel.local, tunnel.remote), (tunnel.peer, tunnel.remote, tunnel.local)];
    for (second, (at, local, remote)) in views.into_iter().enumerate() {
        let Some((at, host)) = at.and_then(|at| Some((at, hosts.get(at)?))) else { continue };
        let has_state = |src, dst| host.states.iter().any(|one| one.now.src == Some(src) && one.now.dst == Some(dst));
        let of = || {
            host.policies
                .iter()
                .enumerate()
                .filter(|(_, one)| counts(&one.now) && endpoints(&one.now) == Some((local, remote)))
        };
        let tunnel_mode =
            of().any(|(_, one)| main_template(&one.now).is_some_and(|one| one.mode == Some(Mode::Tunnel)));
        // A host that forwards has more than its own address on its side.
        let forwards = tunnel_mode
            && of().any(|(_, one)| {
                one.now.selector.as_ref().is_some_and(|selector| {
                    let own = if one.now.direction == Direction::Out { selector.src } else { selector.dst };
                    !own.is_host()
                })
            });
        for direction in [Direction::Out, Direction::In, Direction::Fwd] {
            let mirrored = (second == 1) != (direction != Direction::Out);
            let mut side = Side { host: at, direction, mirrored, selectors: BTreeMap::new() };
            for (number, one) in of().filter(|(_, one)| one.now.direction == direction) {
                if let Some(selector) = &one.now.selector {
                    let selector = side.written(selector);
                    side.selectors.entry(selector).or_insert(number);
                }
            }
            let used = host.states.is_empty()
                || if direction == Direction::Out { has_state(local, remote) } else { has_state(remote, local) };
            let needed = match direction {
                Direction::Out => true,
                // Transport mode passes without an inbound policy.
                Direction::In => tunnel_mode || of().next().is_none(),
                Direction::Fwd => forwards,
            };
            if !side.selectors.is_empty() || (needed && used) {
                sides.push(side);
            }
        }
    }
    sides
}

/// Selectors that most sides have, and those that half of them have.
fn agreed(sides: &[Side]) -> Option<(BTreeSet<Selector>, BTreeSet<Selector>)> {
    let filled: Vec<&Side> = sides.iter().filter(|side| !side.selectors.is_empty()).collect();
    let all: BTreeSet<&Selector> = filled.iter().flat_map(|side| side.selectors.keys()).collect();
    if filled.is_empty() || sides.len() < 2 {
        return None;
    }
    let count = |selector: &Selector| filled.iter().filter(|side| side.selectors.contains_key(selector)).count();
    let mut agreed = BTreeSet::new();
    let mut open = BTreeSet::new();
    for selector in all {
        match (count(selector) * 2).cmp(&filled.len()) {
            std::cmp::Ordering::Greater => {
                agreed.insert(selector.clone());
            }
            std::cmp::Ordering::Equal => {
                open.insert(selector.clone());
            }
            std::cmp::Ordering::Less => {}
        }
    }
    Some((agreed, open))
}

pub(super) fn name<'h>(hosts: &'h [Host<'_>], at: usize) -> &'h str {
    hosts.get(at).map_or("", |host| host.name)
}

/// Policies of a side whose selector stands in place of one that the others agree on.
fn wrong(
    view: &View<'_>,
    hosts: &mut [Host<'_>],
    tunnel: Tunnel,
    side: &Side,
    agreed: &BTreeSet<Selector>,
    verdicts: &mut Vec<Verdict>,
) {
    let mut lacks: Vec<&Selector> = agreed.iter().filter(|one| !side.selectors.contains_key(one)).collect();
    let odd = side.selectors.iter().filter(|(one, _)| !agreed.contains(one));
    for (selector, &number) in odd {
        let instead = lacks
            .iter()
            .position(|meant| selector.overlaps(meant) || selector.mirrored() == **meant || one_slip(selector, meant));
        // Where the host has a policy for the selector already, that one's template is what is wrong.
        let instead = instead.filter(|at| lacks.get(*at).is_some_and(|meant| !is_there(hosts, side, number, meant)));
        let Some(instead) = instead else { continue };
        let meant = lacks.remove(instead).clone();
        let host = name(hosts, side.host).to_owned();
        let peer = tunnel.peer.map(|peer| if peer == side.host { tunnel.host } else { peer });
        let others = match peer {
            Some(peer) => format!("its own other policies and those of {}", name(hosts, peer)),
            None => "its own other policies".to_owned(),
        };
        let (has, wanted) = (side.written(selector), side.written(&meant));
        let effect = if meant.covers(selector) {
            match side.direction {
                Direction::Out => "the rest leaves in clear, and the peer drops it",
                _ => "the rest is dropped when it arrives (XfrmInNoPols)",
            }
        } else if selector.covers(&meant) && side.direction == Direction::Out {
            "what the peer does not select is dropped there"
        } else if selector.covers(&meant) {
            verdicts.push(wider(view, hosts, side, (selector, number), &meant));
            continue;
        } else {
            "packets of the tunnel do not fit it"
        };
        let evidence =
            format!("{host}: the {} policy selects {has}; {others} select {wanted}: {effect}.", side.direction.name());
        let router = hosts.get(side.host).map_or(0, |host| host.router);
        let Some(entry) = hosts.get_mut(side.host).and_then(|host| host.policies.get_mut(number)) else { continue };
        let mut problem =
            Problem::new("config-acl-mismatch", evidence).about(host).lines(view.policies, router, [&entry.now.cite]);
        let Some(words) = selector_words(&wanted) else {
            verdicts.push(Verdict::told(problem));
            continue;
        };
        entry.now.words = words;
        entry.now.selector = Some(wanted);
        for (other, cite) in cites(hosts, tunnel, &meant) {
            problem = problem.lines(view.policies, other, [&cite]);
        }
        verdicts.push(Verdict::corrected(problem, Target::Policy(side.host, number)));
    }
}

/// Whether a host has another policy that selects what one of its policies should, beside which the kernel takes no second one.
fn is_there(hosts: &[Host<'_>], side: &Side, number: usize, meant: &Selector) -> bool {
    let wanted = side.written(meant);
    let Some(host) = hosts.get(side.host) else { return false };
    let Some(own) = host.policies.get(number).map(|one| &one.now) else { return false };
    let name = |one: &XfrmPolicy| (one.direction, one.mark, one.if_id, one.main);
    host.policies.iter().enumerate().any(|(other, one)| {
        other != number && counts(&one.now) && name(&one.now) == name(own) && one.now.selector.as_ref() == Some(&wanted)
    })
}

/// A policy for what arrives that takes more than the peer sends drops no packet of the tunnel.
fn wider(
    view: &View<'_>,
    hosts: &[Host<'_>],
    side: &Side,
    (selector, number): (&Selector, usize),
    meant: &Selector,
) -> Verdict {
    let host = name(hosts, side.host);
    let evidence = format!(
        "{host}: the {} policy selects {}, more than the other policies of the tunnel ({}): packets of the rest that arrive in clear are \
         dropped; those of the tunnel are not affected.",
        side.direction.name(),
        side.written(selector),
        side.written(meant)
    );
    let of = hosts.get(side.host);
    let cite = of.and_then(|host| host.policies.get(number)).map(|entry| entry.now.cite.clone());
    let problem = Problem::new("config-acl-mismatch", evidence).severity(Severity::Note).about(host);
    Verdict::told(problem.lines(view.policies, of.map_or(0, |host| host.router), &cite))
}

/// Whether one of source and destination is the same.
pub(super) fn one_slip(a: &Selector, b: &Selector) -> bool {
    (a.src == b.src || a.dst == b.dst)
        && a.protocol == b.protocol
        && a.src_port == b.src_port
        && a.dst_port == b.dst_port
        || a.src == b.src && a.dst == b.dst
}

/// Where a selector stands, on both hosts: router and line.
pub(super) fn cites(hosts: &[Host<'_>], tunnel: Tunnel, selector: &Selector) -> Vec<(usize, Cite)> {
    let of = [Some(tunnel.host), tunnel.peer].into_iter().flatten().filter_map(|at| hosts.get(at));
    let mirror = selector.mirrored();
    let lines = of.flat_map(|host| host.policies.iter().map(move |one| (host.router, one)));
    lines
        .filter(|(_, one)| {
            one.was
                .as_ref()
                .is_some_and(|was| was.selector.as_ref() == Some(selector) || was.selector.as_ref() == Some(&mirror))
        })
        .map(|(router, one)| (router, one.now.cite.clone()))
        .collect()
}
