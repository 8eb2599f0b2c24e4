//! Linux hosts as the lint sees them: what they have, and what they have once its corrections are typed.

use std::collections::BTreeSet;

use super::super::super::{Net, Problem, View};
use crate::model::Address;
use crate::policy::facts::router::{Display, Installed};
use crate::policy::facts::stated::suite;
use crate::policy::read::xfrm;
use crate::policy::read::xfrm::{Direction, Encap, KernelState, Template, XfrmPolicy};
use crate::policy::words::address;
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
    /// Far ends whose address a NAT translates: as the host knows them, and as they know themselves (so they stand in the states here).
    pub(super) known_as: Vec<(Address, Address)>,
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

/// A network of a state's own selector.
pub(super) fn own_net(extra: &KernelState, keyword: &str) -> Option<Net> {
    let words: Vec<&str> = extra.selector.as_ref()?.split(' ').collect();
    let word = words.iter().position(|word| *word == keyword).and_then(|at| words.get(at + 1))?;
    let (base, prefix) = word.split_once('/').map_or((*word, None), |(base, prefix)| (base, Some(prefix)));
    let base = address(base)?;
    prefix.map_or(Some(Net::host(base)), |prefix| Net::prefix(base, prefix.parse().ok()?))
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
            hosts.push(Host {
                router: at,
                name: &router.name,
                named: router.named,
                own,
                known_as: Vec::new(),
                states,
                policies,
            });
        }
    }
    owned_by_one(&mut hosts);
    translate(&mut hosts);
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
            let of = hosts.get(host)?;
            let entry = of.own_state(of.states.get(at)?);
            let mut lines = Vec::new();
            if let Some(was) = &entry.was {
                lines.push(xfrm::delete_state(was)?);
            }
            lines.push(xfrm::add_state(&entry.now)?);
            Some((host, lines))
        }
        Target::Policy(host, at) => {
            let of = hosts.get(host)?;
            let lines = policy_lines(&of.own_policy(of.policies.get(at)?));
            Some((host, if of.has_another(at) { lines.into_iter().take(1).collect() } else { lines }))
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

/// Gives the far end that a host knows by a translated address the address that it has itself, so that the two ends of an SA are one by
/// name. A NAT translates where the host uses the other address everywhere and the far end nowhere, both share an SA, and it is a private
/// address or ESP in UDP that says so; else the address is a slip.
fn translate(hosts: &mut [Host<'_>]) {
    let mut found: Vec<(usize, Address, Address)> = Vec::new();
    let used: Vec<BTreeSet<Address>> = hosts.iter().map(used).collect();
    for (near, host) in hosts.iter().enumerate() {
        for (far, other) in hosts.iter().enumerate().filter(|(far, _)| *far != near) {
            let (Some(here), Some(there)) = (used.get(near), used.get(far)) else { continue };
            for own in other.own.iter().filter(|own| there.contains(own) && !here.contains(own)) {
                let known =
                    here.difference(there).copied().filter(|known| !hosts.iter().any(|one| one.own.contains(known)));
                let mut known = known.filter(|known| is_translated(host, other, *known, *own));
                let first = known.next();
                found.extend(first.filter(|_| known.next().is_none()).map(|known| (near, known, *own)));
            }
        }
    }
    for (near, known, own) in &found {
        if found.iter().filter(|(host, address, _)| (host, address) == (near, known)).count() > 1 {
            continue;
        }
        if let Some(host) = hosts.get_mut(*near) {
            host.rename(*known, *own);
            host.known_as.push((*known, *own));
        }
    }
}

/// The addresses of a host's states and templates.
fn used(host: &Host<'_>) -> BTreeSet<Address> {
    let states = host.states.iter().flat_map(|state| [state.now.src, state.now.dst]);
    let templates = host.policies.iter().flat_map(|policy| &policy.now.templates);
    states.chain(templates.flat_map(|template| [template.src, template.dst])).flatten().collect()
}

fn is_translated(host: &Host<'_>, other: &Host<'_>, known: Address, own: Address) -> bool {
    let is_same = |theirs: &Installed, mine: &Installed| {
        let ends = |sa: &Installed, end: Address| (sa.src == Some(end), sa.dst == Some(end));
        let rest = if mine.src == Some(known) { theirs.dst == mine.dst } else { theirs.src == mine.src };
        (theirs.protocol, theirs.spi) == (mine.protocol, mine.spi) && rest && ends(theirs, own) == ends(mine, known)
    };
    let with = |host: &Host<'_>, end: Address| -> Vec<Installed> {
        let states = host.states.iter().map(|state| state.now.clone());
        states.filter(|sa| sa.src == Some(end) || sa.dst == Some(end)).collect()
    };
    let (mine, theirs) = (with(host, known), with(other, own));
    let in_udp = mine.iter().chain(&theirs).any(|sa| kernel(sa).is_some_and(|extra| extra.encap.is_some()));
    let told = in_udp || is_private(own) && !is_private(known);
    told && mine.iter().any(|mine| theirs.iter().any(|theirs| is_same(theirs, mine)))
}

/// Addresses that are not routed on the Internet: RFC 1918, RFC 6598, RFC 4193.
fn is_private(address: Address) -> bool {
    match address.to_ip() {
        std::net::IpAddr::V4(ip) => ip.is_private() || ip.octets()[0] == 100 && ip.octets()[1] & 0xc0 == 64,
        std::net::IpAddr::V6(ip) => ip.is_unique_local(),
    }
}

impl Host<'_> {
    fn rename(&mut self, from: Address, to: Address) {
        for state in &mut self.states {
            rename_state(&mut state.now, from, to);
            state.was.iter_mut().for_each(|was| rename_state(was, from, to));
        }
        for policy in &mut self.policies {
            rename_policy(&mut policy.now, from, to);
            policy.was.iter_mut().for_each(|was| rename_policy(was, from, to));
        }
    }

    /// A state as the host itself has it.
    fn own_state(&self, entry: &Entry<Installed>) -> Entry<Installed> {
        let mut entry = entry.clone();
        for (known, own) in &self.known_as {
            rename_state(&mut entry.now, *own, *known);
            entry.was.iter_mut().for_each(|was| rename_state(was, *own, *known));
        }
        entry
    }

    /// Whether what a policy is to be is there already, so that it only goes: the kernel takes no second one (`File exists`).
    fn has_another(&self, at: usize) -> bool {
        let name = |one: &XfrmPolicy| (one.words.clone(), one.direction, one.mark, one.if_id, one.main);
        let Some(entry) = self.policies.get(at) else { return false };
        let moved = entry.was.as_ref().is_some_and(|was| name(was) != name(&entry.now));
        let others = self.policies.iter().enumerate().filter(|(other, _)| *other != at);
        moved && others.filter_map(|(_, other)| other.was.as_ref()).any(|was| name(was) == name(&entry.now))
    }

    /// A policy as the host itself has it.
    fn own_policy(&self, entry: &Entry<XfrmPolicy>) -> Entry<XfrmPolicy> {
        let mut entry = entry.clone();
        for (known, own) in &self.known_as {
            rename_policy(&mut entry.now, *own, *known);
            entry.was.iter_mut().for_each(|was| rename_policy(was, *own, *known));
        }
        entry
    }
}

fn rename_end(end: &mut Option<Address>, from: Address, to: Address) {
    if *end == Some(from) {
        *end = Some(to);
    }
}

fn rename_state(sa: &mut Installed, from: Address, to: Address) {
    rename_end(&mut sa.src, from, to);
    rename_end(&mut sa.dst, from, to);
}

fn rename_policy(policy: &mut XfrmPolicy, from: Address, to: Address) {
    for template in &mut policy.templates {
        rename_end(&mut template.src, from, to);
        rename_end(&mut template.dst, from, to);
    }
}

/// Whether one of two hosts knows the other by a translated address.
pub(super) fn is_translated_between(hosts: &[Host<'_>], one: (usize, usize), other: (usize, usize)) -> bool {
    let knows = |near: (usize, usize), far: (usize, usize)| {
        hosts
            .get(near.0)
            .zip(hosts.get(far.0))
            .is_some_and(|(near, far)| near.known_as.iter().any(|(_, own)| far.own.contains(own)))
    };
    knows(one, other) || knows(other, one)
}

/// Where addresses are translated between the two hosts, the end without UDP encapsulation lacks it.
pub(super) fn behind_nat(
    hosts: &[Host<'_>],
    (out, inward): ((usize, usize), (usize, usize)),
    (x, y): (&Installed, &Installed),
) -> Option<(bool, String)> {
    let bare = |sa: &Installed| kernel(sa).is_none_or(|extra| extra.encap.is_none());
    (is_translated_between(hosts, out, inward) && bare(x) != bare(y)).then(|| {
        (
            bare(x),
            "a NAT translates addresses between the two, and the other end has UDP encapsulation for it".to_owned(),
        )
    })
}

/// The port of ESP in UDP (RFC 3948); a NAT makes another one of it for the far end only.
const PORT: u16 = 4500;

/// The UDP encapsulation of the way back at the same host, with its ports exchanged.
pub(super) fn ports_of_back(host: &Host<'_>, sa: &Installed) -> Option<Encap> {
    let mut back = host.states.iter().map(|state| &state.now).filter(|one| (one.src, one.dst) == (sa.dst, sa.src));
    let encap = back.find_map(|one| kernel(one)?.encap.clone())?;
    Some(Encap { sport: encap.dport, dport: encap.sport, ..encap })
}

/// Gives the peer's state, which a host's is made like, the ports of the host itself: those of its way back, else those of its own side of
/// a NAT. Whether they are known: on the other side of a NAT they are not.
pub(super) fn with_own_ports(hosts: &[Host<'_>], host: usize, like: &mut Installed) -> bool {
    let Some(own) = hosts.get(host) else { return true };
    let back = ports_of_back(own, like);
    let translated = hosts.iter().any(|host| !host.known_as.is_empty());
    let Some(extra) = like.kernel.as_deref_mut() else { return true };
    match (back, extra.encap.take()) {
        (Some(back), Some(_)) => extra.encap = Some(back),
        (None, Some(encap)) if translated => extra.encap = Some(Encap { sport: PORT, dport: PORT, ..encap }),
        (_, theirs) => {
            extra.encap = theirs;
            return true;
        }
    }
    own.known_as.is_empty() || extra.encap.as_ref().is_none_or(|encap| (encap.sport, encap.dport) != (PORT, PORT))
}
