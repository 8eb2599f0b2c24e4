//! Linux hosts as the lint sees them: what they have, and what they have once its corrections are typed.

use std::collections::BTreeSet;

use super::super::super::{Problem, View};
use crate::model::Address;
use crate::policy::facts::router::{Display, Installed};
use crate::policy::facts::stated::suite;
use crate::policy::read::xfrm;
use crate::policy::read::xfrm::{Direction, KernelState, Template, XfrmPolicy};
use crate::transform::Suite;

/// A host with states or policies of a Linux kernel.
#[derive(Clone)]
pub(super) struct Host<'v> {
    /// Among the routers.
    pub(super) router: usize,
    pub(super) name: &'v str,
    /// Whether the name is the host's own; lines to type need one.
    pub(super) named: bool,
    /// Its own addresses, as far as known.
    pub(super) own: BTreeSet<Address>,
    pub(super) states: Vec<Entry<Installed>>,
    pub(super) policies: Vec<Entry<XfrmPolicy>>,
}

/// A state or policy: as it was read, and as it should be.
#[derive(Clone)]
pub(super) struct Entry<T> {
    /// `None` for one that is missing.
    pub(super) was: Option<T>,
    pub(super) now: T,
}

impl<T: Clone> Entry<T> {
    pub(super) fn read(was: &T) -> Self {
        Self { was: Some(was.clone()), now: was.clone() }
    }

    pub(super) const fn missing(now: T) -> Self {
        Self { was: None, now }
    }
}

/// What a correction changes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Target {
    /// Host and state.
    State(usize, usize),
    /// Host and policy.
    Policy(usize, usize),
}

/// A problem, and what its correction changes.
pub(super) struct Verdict {
    pub(super) problem: Problem,
    pub(super) targets: Vec<Target>,
}

impl Verdict {
    pub(super) const fn told(problem: Problem) -> Self {
        Self { problem, targets: Vec::new() }
    }

    pub(super) fn corrected(problem: Problem, target: Target) -> Self {
        Self { problem, targets: vec![target] }
    }
}

/// The hosts of all inputs.
pub(super) fn hosts<'v>(view: &'v View<'_>) -> Vec<Host<'v>> {
    let mut hosts = Vec::new();
    for (at, router) in view.policies.routers.iter().enumerate() {
        // A state that IKE is still to fill has SPI 0 and no algorithms.
        let states: Vec<Entry<Installed>> = router
            .installed
            .iter()
            .filter(|sa| sa.display == Display::Xfrm && sa.kernel.is_some())
            .filter(|sa| !(sa.spi.is_zero() && sa.words.is_empty()))
            .map(Entry::read)
            .collect();
        let policies: Vec<Entry<XfrmPolicy>> = router.xfrm_policies.iter().map(Entry::read).collect();
        if !states.is_empty() || !policies.is_empty() {
            let own = xfrm::own_addresses(router);
            hosts.push(Host { router: at, name: &router.name, named: router.named, own, states, policies });
        }
    }
    owned_by_one(&mut hosts);
    hosts
}

/// The far end of a host whose own end is known is the own end of the host that has the same states.
fn owned_by_one(hosts: &mut [Host<'_>]) {
    let known: BTreeSet<Address> = hosts.iter().flat_map(|host| host.own.iter().copied()).collect();
    for host in hosts.iter_mut().filter(|host| host.own.is_empty()) {
        let ends: BTreeSet<Address> =
            host.states.iter().flat_map(|state| [state.now.src, state.now.dst]).flatten().collect();
        let free: Vec<Address> = ends.difference(&known).copied().collect();
        if let ([own], true) = (free.as_slice(), ends.len() == 2) {
            host.own.insert(*own);
        }
    }
}

pub(super) fn kernel(sa: &Installed) -> Option<&KernelState> {
    sa.kernel.as_deref()
}

/// The algorithms of a state.
pub(super) fn suite_of(sa: &Installed) -> Option<Suite> {
    suite(&sa.words, sa.protocol, sa.cipher.as_ref())
}

/// Direction of a state, seen from its host.
pub(super) fn outbound(host: &Host<'_>, sa: &Installed) -> Option<bool> {
    let own = |end: Option<Address>| end.is_some_and(|end| host.own.contains(&end));
    match (own(sa.src), own(sa.dst)) {
        (true, false) => Some(true),
        (false, true) => Some(false),
        _ => None,
    }
}

/// Lines that make what is read what it should be.
pub(super) fn typed(hosts: &[Host<'_>], target: Target) -> Option<(usize, Vec<String>)> {
    match target {
        Target::State(host, at) => {
            let entry = hosts.get(host)?.states.get(at)?;
            let mut lines = Vec::new();
            if let Some(was) = &entry.was {
                lines.push(xfrm::delete_state(was)?);
            }
            lines.push(xfrm::add_state(&entry.now)?);
            Some((host, lines))
        }
        Target::Policy(host, at) => {
            let entry = hosts.get(host)?.policies.get(at)?;
            Some((host, policy_lines(entry)))
        }
    }
}

fn policy_lines(entry: &Entry<XfrmPolicy>) -> Vec<String> {
    let key = |one: &XfrmPolicy| (one.words.clone(), one.direction, one.mark, one.if_id, one.main);
    match &entry.was {
        None => vec![xfrm::policy_line("add", &entry.now)],
        Some(was) if key(was) == key(&entry.now) => vec![xfrm::policy_line("update", &entry.now)],
        Some(was) => vec![xfrm::delete_policy(was), xfrm::policy_line("add", &entry.now)],
    }
}

/// The ends of a template's outer packet: of transport mode, those of the selector if these are hosts.
pub(super) fn ends(policy: &XfrmPolicy, template: &Template) -> Option<(Address, Address)> {
    match (template.src, template.dst) {
        (Some(src), Some(dst)) => Some((src, dst)),
        _ => {
            let selector = policy.selector.as_ref()?;
            Some((selector.src.as_host()?, selector.dst.as_host()?))
        }
    }
}

/// The template that names the tunnel: the first of tunnel mode, else the first.
pub(super) fn main_template(policy: &XfrmPolicy) -> Option<&Template> {
    let tunnel = policy.templates.iter().find(|one| one.mode == Some(super::super::super::Mode::Tunnel));
    tunnel.or_else(|| policy.templates.first())
}

/// A policy as evidence names it.
pub(super) fn title(policy: &XfrmPolicy) -> String {
    let selector = policy.selector.as_ref().map_or_else(|| policy.words.clone(), ToString::to_string);
    format!("{} policy ({selector})", policy.direction.name())
}

/// What a missing match costs.
pub(super) const fn effect(direction: Direction) -> &'static str {
    match direction {
        Direction::Out => "packets that it selects wait for a state and are dropped (XfrmOutNoStates)",
        Direction::In | Direction::Fwd => {
            "packets that arrive by the tunnel do not fit it and are dropped (XfrmInTmplMismatch)"
        }
    }
}
