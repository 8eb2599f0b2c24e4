//! Packets in clear that the policies select for the tunnel.

use std::collections::{BTreeMap, BTreeSet};

use super::super::findings::{Draft, plural};
use super::super::tap::Tap;
use crate::analysis::seen::Seen;
use crate::model::Address;
use crate::model::report::{ConfigLine, Finding};
use crate::policy::{Denied, Selector, View, Way, config_line};

/// Selectors that are looked at; a router has a few dozen.
const LOOKED_AT: usize = 1_024;
/// Pairs of addresses named in an evidence.
const NAMED: usize = 3;

/// What was seen of one selector in clear: packets, and how many between which addresses.
type Leak = (Seen, Vec<(u64, Address, Address)>);

/// A selector, and where it stands.
struct Rule<'v> {
    router: usize,
    selector: &'v Selector,
    line: ConfigLine,
    /// Lines before it that leave packets out.
    denied: Vec<&'v Denied>,
}

impl Rule<'_> {
    /// Whether it selects every packet between two addresses, and no line before it leaves any of them out.
    fn takes_all(&self, src: Address, dst: Address) -> bool {
        self.selector.takes_all(src, dst) && !self.denied.iter().any(|denied| denied.touches(src, dst))
    }
}

pub(super) fn add(findings: &mut Vec<Finding>, taps: &[Tap<'_>], view: &View<'_>) {
    let rules = rules(view);
    let ends = ends(view);
    if rules.is_empty() {
        return;
    }
    for tap in taps {
        // On a tester's own link everything is in clear, as it should be. A gateway shows what it decapsulates.
        let gateway = findings.iter().any(|finding| finding.code == "gateway-view" && finding.tap == tap.name);
        if tunnel_side(tap, &ends) && !gateway {
            add_tap(findings, tap, view, &rules);
        }
    }
}

fn add_tap(findings: &mut Vec<Finding>, tap: &Tap<'_>, view: &View<'_>, rules: &[Rule<'_>]) {
    let mut leaks: BTreeMap<usize, Leak> = BTreeMap::new();
    for (id, flow) in tap.partial.tables.flows.iter().filter(|(_, flow)| !flow.inner) {
        let Some(rule) = rules.iter().position(|rule| rule.takes_all(flow.src, flow.dst)) else { continue };
        let Some(state) = tap.partial.flows.get(id).filter(|state| state.count > 0) else { continue };
        let (seen, pairs) = leaks.entry(rule).or_default();
        seen.join(state);
        pairs.push((state.count, flow.src, flow.dst));
    }
    for (rule, (seen, mut pairs)) in leaks {
        let Some(rule) = rules.get(rule) else { continue };
        pairs.sort_unstable_by(|a, b| b.cmp(a));
        let more = pairs.len().saturating_sub(NAMED);
        let mut listed: Vec<String> =
            pairs.iter().take(NAMED).map(|(n, src, dst)| format!("{src} > {dst} ({n})")).collect();
        listed.extend((more > 0).then(|| format!("{more} more")));
        let evidence = format!(
            "{} in clear that {} selects for its tunnel ({}): {}.",
            plural(seen.count, "packet"),
            view.name(rule.router),
            rule.selector,
            listed.join(", ")
        );
        let draft =
            Draft::new("plaintext-leak", evidence).seen(tap, &seen).caused_by(vec![rule.line.clone()], Vec::new());
        findings.push(draft.done());
    }
}

/// What the routers select, the lines that say it of packets which leave first.
fn rules<'v>(view: &View<'v>) -> Vec<Rule<'v>> {
    let mut rules: Vec<(bool, Rule<'_>)> = Vec::new();
    for (router, of) in view.policies.routers.iter().enumerate() {
        let names: BTreeSet<&String> =
            of.maps.iter().filter_map(|entry| entry.acl.as_ref()).map(|(name, _)| name).collect();
        let lists: Vec<_> = names.iter().filter_map(|name| of.acls.get(*name)).collect();
        let mut add = |inbound: bool, selector, cite, denied: Vec<&'v Denied>| {
            if rules.len() < LOOKED_AT {
                let line = config_line(view.policies, router, cite);
                rules.push((inbound, Rule { router, selector, line, denied }));
            }
        };
        for acl in &lists {
            for (at, (selector, cite)) in acl.permits.iter().enumerate() {
                let before = acl.denies.iter().take_while(|denied| denied.behind <= at);
                add(false, selector, cite, before.filter(|denied| denied.may_touch(selector)).collect());
            }
        }
        for one in &of.selectors {
            // A display does not show what the list leaves out.
            let denied = lists.iter().flat_map(|acl| &acl.denies).filter(|denied| denied.may_touch(&one.selector));
            add(one.way == Some(Way::In), &one.selector, &one.cite, denied.collect());
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
    tap.sas.iter().any(|sa| between(&sa.key.src, &sa.key.dst))
        || tap.partial.tables.flows.iter().any(|(_, flow)| !flow.inner && between(&flow.src, &flow.dst))
}
