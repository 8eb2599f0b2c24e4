//! Packets in clear that the policies select for the tunnel.

mod links;

use std::collections::{BTreeMap, BTreeSet};

use super::super::findings::{Draft, Listed, plural};
use super::super::tap::{SaView, Tap};
use crate::analysis::state::base::intern::NONE;
use crate::analysis::state::base::tables::FlowKey;
use crate::analysis::state::traffic::flows::Marks;
use crate::dissect::stack_name;
use crate::model::report::{ConfigLine, Finding, Severity};
use crate::model::{Address, Protocol};
use crate::policy::{Denied, MapEntry, Selector, View, Way, config_line};
use links::OutsideLinks;

/// Selectors that are looked at; a router has a few dozen.
const LOOKED_AT: usize = 1_024;
/// Pairs of addresses named in an evidence.
const NAMED: usize = 3;

/// What was seen of one selector in clear: packets, how many between which addresses, and of which only a part may be selected, or was on
/// a link of the tunnel.
#[derive(Default)]
struct Leak {
    seen: Listed,
    pairs: Vec<(u64, Address, Address)>,
    mixed: bool,
    elsewhere: bool,
}

/// A selector, and where it stands.
struct Rule<'v> {
    router: usize,
    selector: &'v Selector,
    line: ConfigLine,
    /// Lines before it that leave packets out.
    denied: Vec<&'v Denied>,
    /// Ends of the tunnels that it selects for, as far as they are known: the router's own, and the far one.
    tunnels: Vec<(Option<Address>, Option<Address>)>,
}

impl Rule<'_> {
    /// Whether it selects the packets of a flow, and no line before it leaves any of them out: all of them, or those of one protocol
    /// among others. Ports are not told apart, so that nothing is known of a selector that names some.
    fn takes(&self, src: Address, dst: Address, marks: &Marks) -> Option<Taken> {
        let Selector { protocol, src: from, src_port, dst: to, dst_port } = self.selector;
        let between = from.contains(src) && to.contains(dst) && src_port.is_empty() && dst_port.is_empty();
        if !between || self.denied.iter().any(|denied| denied.touches(src, dst)) {
            return None;
        }
        match protocol_number(protocol) {
            _ if protocol == "ip" => Some(Taken::All),
            Some(number) if marks.is_only(number) => Some(Taken::All),
            Some(number) if marks.carries(number) => Some(Taken::Part),
            _ => None,
        }
    }

    /// Whether a packet of the tap is protected in the direction of one of its tunnels.
    fn is_served(&self, tap: &Tap<'_>) -> bool {
        // A template of transport mode leaves its addresses to the packets.
        let same = |end: Option<Address>, address: Address| {
            end.is_none_or(|end| end.to_ip().is_unspecified() || end == address)
        };
        let protected = |sa: &SaView<'_>| matches!(sa.key.protocol, Protocol::Esp | Protocol::Ah);
        tap.sas.iter().filter(|sa| protected(sa)).any(|sa| {
            self.tunnels.is_empty()
                || self.tunnels.iter().any(|(own, far)| same(*own, sa.key.src) && same(*far, sa.key.dst))
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Taken {
    All,
    Part,
}

/// IP protocol numbers of the words that selectors use.
fn protocol_number(word: &str) -> Option<u8> {
    Some(match word {
        "icmp" => 1,
        "igmp" => 2,
        "ipip" | "ipinip" => 4,
        "tcp" => 6,
        "udp" => 17,
        "gre" => 47,
        "esp" => 50,
        "ah" | "ahp" => 51,
        "icmp6" | "ipv6-icmp" | "icmpv6" => 58,
        "eigrp" => 88,
        "ospf" => 89,
        "pim" => 103,
        "pcp" | "ipcomp" => 108,
        "sctp" => 132,
        other => other.parse().ok()?,
    })
}

pub(super) fn add(findings: &mut Vec<Finding>, taps: &[Tap<'_>], view: &View<'_>) {
    let rules = rules(view);
    let ends = ends(view);
    for tap in taps {
        // Of packets in clear a gateway's own capture does not tell which it decapsulated.
        if tap.decapsulated.in_clear.surely {
            continue;
        }
        let known = findings.len();
        gre(findings, tap, taps, view);
        let links = if tunnel_side(tap, &ends) {
            OutsideLinks::of(tap, &ends)
        } else {
            match has_been_forwarded(tap, &rules) {
                Forwarded::No => continue,
                Forwarded::Perhaps => OutsideLinks::None,
                Forwarded::Surely => OutsideLinks::All,
            }
        };
        // A direction that another tap shows protected and this one does not: this link is on its protected side.
        let elsewhere = |rule: &Rule<'_>| !rule.is_served(tap) && taps.iter().any(|tap| rule.is_served(tap));
        let here: Vec<&Rule<'_>> = rules.iter().filter(|rule| !elsewhere(rule)).collect();
        add_tap(findings, tap, view, &here, &links);
        let own = findings.get_mut(known..).unwrap_or_default();
        for finding in own.iter_mut().filter(|_| tap.decapsulated.in_clear.listed.count > 0) {
            finding.severity = Severity::Note;
            finding.evidence.push_str(" A gateway's own capture would show such packets, too (gateway-view).");
        }
    }
}

/// Whether all that is selected has passed routers.
enum Forwarded {
    No,
    /// It may have come from a network behind the router that encrypts.
    Perhaps,
    Surely,
}

/// Whether everything that is selected has passed a router, both ways as many but for one: the tap is not on the link of the hosts whose
/// packets these are. Where it has passed just one, both ways, this is no link behind the router that encrypts: what comes out of a tunnel
/// has passed two.
fn has_been_forwarded(tap: &Tap<'_>, rules: &[Rule<'_>]) -> Forwarded {
    let mut hops: BTreeSet<u8> = BTreeSet::new();
    let mut ways: BTreeSet<(Address, Address)> = BTreeSet::new();
    for (id, flow) in tap.stream.tables.flows.iter().filter(|(_, flow)| !flow.inner) {
        let Some(marks) = tap.stream.flows.marks(id) else { continue };
        let selected = rules.iter().any(|rule| {
            rule.takes(flow.src, flow.dst, marks).is_some() || rule.takes(flow.dst, flow.src, marks).is_some()
        });
        if selected {
            hops.insert(marks.hops().unwrap_or(0));
            ways.insert((flow.src, flow.dst));
        }
    }
    let both = ways.iter().any(|(src, dst)| ways.contains(&(*dst, *src)));
    match (hops.first(), hops.last()) {
        (Some(1), Some(1)) if both => Forwarded::Surely,
        (Some(&least), Some(&most)) if least > 0 && most.saturating_sub(least) <= 1 => Forwarded::Perhaps,
        _ => Forwarded::No,
    }
}

fn add_tap(findings: &mut Vec<Finding>, tap: &Tap<'_>, view: &View<'_>, rules: &[&Rule<'_>], links: &OutsideLinks) {
    // By the rule, and whether it is on a link of the tunnel.
    let mut leaks: BTreeMap<(usize, bool), Leak> = BTreeMap::new();
    for (id, flow) in tap.stream.tables.flows.iter().filter(|(_, flow)| !flow.inner) {
        let Some(marks) = tap.stream.flows.marks(id) else { continue };
        let taken = |(at, rule): (usize, &&Rule<'_>)| Some((at, rule.takes(flow.src, flow.dst, marks)?));
        let Some((rule, taken)) = rules.iter().enumerate().find_map(taken) else { continue };
        let Some(state) = tap.stream.flows.listed_of(id).filter(|state| state.count > 0) else { continue };
        let (some, all) = links.show(marks);
        let leak = leaks.entry((rule, some)).or_default();
        leak.elsewhere |= some && !all;
        leak.seen.join(&state);
        leak.pairs.push((state.count, flow.src, flow.dst));
        leak.mixed |= taken == Taken::Part;
    }
    for ((rule, outside), leak) in leaks {
        let Some(rule) = rules.get(rule) else { continue };
        let mut evidence = leak.evidence(rule, view);
        let Leak { seen, pairs, mixed, elsewhere } = leak;
        let encrypted = rule.is_served(tap) || pairs.iter().any(|(_, src, dst)| is_inside(tap, *src, *dst));
        if !outside {
            evidence.push_str(
                " Nothing on this link is between the ends of a tunnel: it may be on the inside, where they are in clear as they should be.",
            );
        } else if !encrypted {
            evidence.push_str(" No packet of this direction is protected: the tunnel is not used.");
        }
        let draft = Draft::new("plaintext-leak", evidence);
        // Of several protocols in one flow, and of several links, the frames of the one that is meant are not known.
        let draft = if mixed || elsewhere {
            draft.seen(tap, &seen)
        } else {
            draft.listed(tap, &seen, "a packet in clear that the policy selects")
        };
        let mut finding = draft.caused_by(vec![rule.line.clone()], Vec::new()).done();
        if !outside {
            finding.severity = Severity::Note;
        } else if !encrypted && seen.count > 1 {
            finding.severity = Severity::Error;
            finding.cause =
                "The crypto map is on no interface of the way that the packets take, or the policy for packets that leave is missing."
                    .to_owned();
        }
        findings.push(finding);
    }
}

impl Leak {
    /// Which packets are what a rule selects.
    fn evidence(&self, rule: &Rule<'_>, view: &View<'_>) -> String {
        let mut pairs: Vec<&(u64, Address, Address)> = self.pairs.iter().collect();
        pairs.sort_unstable_by(|a, b| b.cmp(a));
        let more = pairs.len().saturating_sub(NAMED);
        let mut listed: Vec<String> =
            pairs.iter().take(NAMED).map(|(n, src, dst)| format!("{src} > {dst} ({n})")).collect();
        listed.extend((more > 0).then(|| format!("{more} more")));
        let count = plural(self.seen.count, "packet");
        let count = match (self.mixed, self.elsewhere) {
            (true, true) => {
                format!("Some of {count} in clear, those of protocol {} on the tunnel's link,", rule.selector.protocol)
            }
            (true, false) => format!("Some of {count} in clear, those of protocol {},", rule.selector.protocol),
            (false, true) => format!("Some of {count} in clear, those on the tunnel's link,"),
            (false, false) => format!("{count} in clear"),
        };
        let verb = if self.mixed || self.elsewhere { "are what" } else { "that" };
        let name = view.name(rule.router);
        format!("{count} {verb} {name} selects for its tunnel ({}): {}.", rule.selector, listed.join(", "))
    }
}

/// Whether packets between two addresses are seen inside a tunnel too.
fn is_inside(tap: &Tap<'_>, src: Address, dst: Address) -> bool {
    tap.stream.tables.flows.find(&FlowKey { src, dst, inner: true }).is_some()
}

/// GRE in clear between the ends of a tunnel interface that a profile protects, or that a list selects.
fn gre(findings: &mut Vec<Finding>, tap: &Tap<'_>, taps: &[Tap<'_>], view: &View<'_>) {
    for (router, of) in view.policies.routers.iter().enumerate() {
        for (map, entry) in of.maps.iter().enumerate() {
            let selects = |src: Address, dst: Address| match entry.acl.as_ref().and_then(|(name, _)| of.acls.get(name))
            {
                Some(list) => {
                    let permits = list.permits.iter().map(|(selector, _)| selector);
                    let gre = |one: &Selector| {
                        matches!(one.protocol.as_str(), "gre" | "47" | "ip") && one.dst_port.is_empty()
                    };
                    list.denies.is_empty()
                        && permits.filter(|one| gre(one)).any(|one| one.src.contains(src) && one.dst.contains(dst))
                }
                // Of a tunnel interface everything is protected.
                None => entry.number == 0 && entry.acl.is_none(),
            };
            let (Some(own), Some((far, cite))) = (view.local(router, map), entry.peers.first()) else { continue };
            let Some(seen) = gre_between(tap, own, *far).filter(|_| selects(own, *far)) else { continue };
            let serves = |tap: &Tap<'_>| tap.sas.iter().any(|sa| (sa.key.src, sa.key.dst) == (own, *far));
            let served = serves(tap);
            // What came out of an SA is in clear in a gateway's own capture, and was protected on the wire.
            if served && tap.decapsulated.in_tunnels.surely {
                continue;
            }
            if !served && taps.iter().any(serves) {
                continue;
            }
            let evidence = format!(
                "{} of GRE in clear from {own} to {far}, which {} protects by {}.{}",
                plural(seen.count, "packet"),
                view.name(router),
                entry.name,
                if served { "" } else { " No packet of this direction is protected." }
            );
            let line = config_line(view.policies, router, cite);
            let mut finding = Draft::new("plaintext-leak", evidence)
                .listed(tap, &seen, "GRE in clear")
                .caused_by(vec![line], Vec::new())
                .done();
            if !served && seen.count > 1 {
                finding.severity = Severity::Error;
            }
            findings.push(finding);
        }
    }
}

/// Packets of GRE from one address to another that are in no SA.
fn gre_between(tap: &Tap<'_>, src: Address, dst: Address) -> Option<Listed> {
    let tables = &tap.stream.tables;
    let is_gre = |stack: u32| {
        tables.stacks.get(stack).is_some_and(|shape| stack_name(*shape).split('/').any(|one| one == "gre"))
    };
    let mut seen = Listed::default();
    for (id, path) in tables.paths.iter().filter(|(_, path)| path.sa == NONE) {
        if tables.pair_of(path) == Some((src, dst)) && is_gre(path.stack) {
            seen.join(tap.stream.flows.tunnel(id).unwrap_or(&Listed::default()));
        }
    }
    (seen.count > 0).then_some(seen)
}

/// What the routers select, the lines that say it of packets which leave first.
fn rules<'v>(view: &View<'v>) -> Vec<Rule<'v>> {
    let mut rules: Vec<(bool, Rule<'_>)> = Vec::new();
    for (router, of) in view.policies.routers.iter().enumerate() {
        let names: BTreeSet<&String> =
            of.maps.iter().filter_map(|entry| entry.acl.as_ref()).map(|(name, _)| name).collect();
        let lists: Vec<_> = names.iter().filter_map(|name| Some((*name, of.acls.get(*name)?))).collect();
        let mut add = |inbound: bool, selector, cite, denied: Vec<&'v Denied>, tunnels: Vec<_>| {
            if rules.len() < LOOKED_AT {
                let line = config_line(view.policies, router, cite);
                rules.push((inbound, Rule { router, selector, line, denied, tunnels }));
            }
        };
        for (name, acl) in &lists {
            let entries =
                of.maps.iter().enumerate().filter(|(_, entry)| entry.acl.as_ref().is_some_and(|(of, _)| of == *name));
            let peers = |(map, entry): (usize, &'v MapEntry)| {
                let own = view.local(router, map);
                entry.peers.iter().map(move |(peer, _)| (own, Some(*peer)))
            };
            let tunnels: Vec<_> = entries.flat_map(peers).collect();
            for (at, (selector, cite)) in acl.permits.iter().enumerate() {
                let before = acl.denies.iter().take_while(|denied| denied.behind <= at);
                let denied = before.filter(|denied| denied.may_touch(selector)).collect();
                add(false, selector, cite, denied, tunnels.clone());
            }
        }
        for one in &of.selectors {
            // A display does not show what the list leaves out.
            let denied = lists.iter().flat_map(|(_, acl)| &acl.denies).filter(|denied| denied.may_touch(&one.selector));
            let tunnels = vec![(one.local, one.remote)];
            add(one.way == Some(Way::In), &one.selector, &one.cite, denied.collect(), tunnels);
        }
    }
    rules.sort_by_key(|(inbound, _)| *inbound);
    rules.into_iter().map(|(_, rule)| rule).collect()
}

/// The ends of the tunnels.
pub(super) fn ends(view: &View<'_>) -> BTreeSet<Address> {
    let peers = view
        .policies
        .routers
        .iter()
        .flat_map(|router| &router.maps)
        .flat_map(|entry| entry.peers.iter().map(|(peer, _)| *peer));
    let locals = view.locals.iter().flatten().flatten().copied();
    let stated = view.stated.iter().flat_map(|one| [one.src, one.dst]).flatten();
    peers.chain(locals).chain(stated).collect()
}

/// Whether the tap sees the tunnel's side: something tunnelled, or anything between the tunnel's own ends.
pub(super) fn tunnel_side(tap: &Tap<'_>, ends: &BTreeSet<Address>) -> bool {
    let between = |src: &Address, dst: &Address| ends.contains(src) && ends.contains(dst);
    has_sa(tap, ends) || tap.stream.tables.flows.iter().any(|(_, flow)| !flow.inner && between(&flow.src, &flow.dst))
}

/// Whether the tap sees an SA between the ends of the tunnels.
fn has_sa(tap: &Tap<'_>, ends: &BTreeSet<Address>) -> bool {
    tap.sas.iter().any(|sa| ends.contains(&sa.key.src) && ends.contains(&sa.key.dst))
}
