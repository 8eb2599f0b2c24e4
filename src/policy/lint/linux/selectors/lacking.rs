//! Selectors that a host lacks for a tunnel: no policy has them, or the one that has them leads elsewhere.

use std::collections::BTreeSet;

use super::{Side, Tunnel, cites, counts, endpoints, name, sides};
use crate::model::Address;
use crate::model::report::Severity;
use crate::policy::lint::linux::model::{Entry, Host, Target, Verdict, kernel, main_template, title};
use crate::policy::read::xfrm::{Direction, XfrmPolicy, selector_words};
use crate::policy::{Problem, Selector, View};

/// Finds the selectors of a tunnel for which a host has no policy in some direction.
pub(super) fn judge(
    view: &View<'_>,
    hosts: &mut [Host<'_>],
    tunnel: Tunnel,
    before: &[Side],
    agreed: &BTreeSet<Selector>,
    verdicts: &mut Vec<Verdict>,
) {
    let sides = sides(hosts, tunnel);
    let hosts_of: BTreeSet<usize> = before.iter().map(|side| side.host).collect();
    for &at in &hosts_of {
        for selector in agreed {
            let missing: Vec<&Side> = before
                .iter()
                .filter(|side| side.host == at)
                .filter(|side| {
                    !sides.iter().any(|now| now.host == at && now.direction == side.direction && now.covers(selector))
                })
                .collect();
            let router = hosts.get(at).and_then(|host| view.policies.routers.get(host.router));
            // A function of a script that is called with both networks may make it.
            let nets = [selector.src.cidr(), selector.dst.cidr()];
            let cut = router.is_some_and(|one| one.forwarding.cut_policies || one.forwarding.mentions_all(&nets));
            if cut {
                continue;
            }
            let (elsewhere, missing): (Vec<&Side>, Vec<&Side>) =
                missing.into_iter().partition(|side| named(hosts, side, selector).is_some());
            verdicts.extend(elsewhere.iter().filter_map(|side| astray(view, hosts, tunnel, side, selector)));
            if !missing.is_empty() {
                verdicts.push(absent(view, hosts, tunnel, at, &missing, selector));
            }
        }
    }
}

/// The only policy of a direction that selects exactly this, as it was read, where the tunnel that it leads into is not used for the same packets: by the
/// other end, as far as that is known, or by the host itself in another direction.
fn named(hosts: &[Host<'_>], side: &Side, selector: &Selector) -> Option<usize> {
    let wanted = side.written(selector);
    let read = |host: usize| {
        let policies = hosts.get(host).into_iter().flat_map(|host| host.policies.iter().enumerate());
        policies.filter_map(|(at, one)| Some((at, one.was.as_ref()?)))
    };
    let mut same =
        read(side.host).filter(|(_, one)| one.direction == side.direction && one.selector.as_ref() == Some(&wanted));
    let (number, own) = same.next().filter(|(_, one)| one.main && !one.block && !one.templates.is_empty())?;
    let selected =
        |one: &XfrmPolicy| one.selector.as_ref().is_some_and(|one| *one == wanted || one.mirrored() == wanted);
    let ends = endpoints(own);
    let others = || (0..hosts.len()).filter(|other| *other != side.host).flat_map(read);
    let far = |one: &XfrmPolicy| endpoints(one).map(|(local, remote)| (remote, local));
    let is_known = others().any(|(_, one)| endpoints(one).map(|(local, _)| local) == ends.map(|(_, remote)| remote));
    let is_used = match is_known {
        true => others().any(|(_, one)| selected(one) && far(one) == ends),
        false => {
            read(side.host).any(|(_, one)| one.direction != own.direction && selected(one) && endpoints(one) == ends)
        }
    };
    (same.next().is_none() && (ends.is_none() || !is_used)).then_some(number)
}

/// A policy that selects what belongs into the tunnel, and whose template leads elsewhere.
fn astray(
    view: &View<'_>,
    hosts: &mut [Host<'_>],
    tunnel: Tunnel,
    side: &Side,
    selector: &Selector,
) -> Option<Verdict> {
    let number = named(hosts, side, selector)?;
    let meant = made(hosts, tunnel, side, selector)?;
    let of = hosts.get(side.host)?;
    let entry = of.policies.get(number)?;
    // It was put right for another tunnel.
    let policy = entry.was.as_ref().filter(|was| was.templates == entry.now.templates)?;
    let template = main_template(policy)?;
    let (src, dst) = endpoints(&meant)?;
    let leads = match (template.src, template.dst) {
        (Some(from), Some(to)) => format!("from {from} to {to}"),
        _ => "without addresses".to_owned(),
    };
    let evidence = format!(
        "{}: the {} has a template {leads} in {} mode; the other policies for the same packets have the tunnel between {src} and {dst} in {} \
         mode: {}.",
        of.name,
        title(policy),
        template.mode.map_or("no", crate::policy::Mode::name),
        main_template(&meant)?.mode.map_or("no", crate::policy::Mode::name),
        match side.direction {
            Direction::Out => "none of them goes into that tunnel, and its states are never used",
            _ => "what arrives by that tunnel does not fit it and is dropped (XfrmInTmplMismatch)",
        }
    );
    let mut problem = Problem::new("config-template-mismatch", evidence).about(of.name).lines(
        view.policies,
        of.router,
        [&template.cite, &policy.cite],
    );
    for (router, cite) in cites(hosts, tunnel, selector) {
        problem = problem.lines(view.policies, router, [&cite]);
    }
    let entry = hosts.get_mut(side.host)?.policies.get_mut(number)?;
    entry.now.templates = meant.templates;
    Some(Verdict::corrected(problem, Target::Policy(side.host, number)))
}

fn absent(
    view: &View<'_>,
    hosts: &mut [Host<'_>],
    tunnel: Tunnel,
    at: usize,
    missing: &[&Side],
    selector: &Selector,
) -> Verdict {
    let listed: Vec<&str> = missing.iter().map(|side| side.direction.name()).collect();
    let effects: Vec<&str> = missing
        .iter()
        .map(|side| match side.direction {
            Direction::Out => "packets of the tunnel leave in clear and its states are never used",
            Direction::In => "decapsulated packets for the host itself are dropped (XfrmInNoPols)",
            Direction::Fwd => "decapsulated packets are not forwarded but dropped (XfrmInNoPols)",
        })
        .collect();
    let shown = missing.first().map(|side| side.written(selector).to_string()).unwrap_or_default();
    let host = name(hosts, at).to_owned();
    let evidence = format!(
        "{host}: no {} policy selects {shown} for the tunnel between {} and {}: {}.",
        listed.join(" and no "),
        tunnel.local,
        tunnel.remote,
        effects.join("; ")
    );
    let mut problem = Problem::new("config-policy-missing", evidence).about(host);
    for (router, cite) in cites(hosts, tunnel, selector) {
        problem = problem.lines(view.policies, router, [&cite]);
    }
    let only_in = missing.iter().all(|side| side.direction == Direction::In);
    let forwards =
        hosts.get(at).is_some_and(|host| host.policies.iter().any(|one| one.now.direction == Direction::Fwd));
    if only_in && forwards {
        problem = problem.severity(Severity::Warning);
    }
    let mut targets = Vec::new();
    for side in missing {
        let Some(new) = made(hosts, tunnel, side, selector) else { continue };
        if let Some(host) = hosts.get_mut(at) {
            host.policies.push(Entry::missing(new));
            targets.push(Target::Policy(at, host.policies.len() - 1));
        }
    }
    Verdict { problem, targets }
}

/// The policy that a side lacks: like the host's other ones for the selector, or like the peer's.
fn made(hosts: &[Host<'_>], tunnel: Tunnel, side: &Side, selector: &Selector) -> Option<XfrmPolicy> {
    let host = hosts.get(side.host)?;
    let (local, remote) =
        if side.host == tunnel.host { (tunnel.local, tunnel.remote) } else { (tunnel.remote, tunnel.local) };
    let wanted = side.written(selector);
    let of = |host: &Host<'_>, ends: (Address, Address)| -> Vec<XfrmPolicy> {
        let mut all: Vec<XfrmPolicy> = host
            .policies
            .iter()
            .map(|one| one.now.clone())
            .filter(|one| counts(one) && endpoints(one) == Some(ends))
            .collect();
        let near =
            |one: &XfrmPolicy| one.selector.as_ref().is_some_and(|have| *have == wanted || have.mirrored() == wanted);
        all.sort_by_key(|one| (one.direction == Direction::Out) != (side.direction == Direction::Out) || !near(one));
        all
    };
    let peer = if side.host == tunnel.host { tunnel.peer } else { Some(tunnel.host) };
    let own = of(host, (local, remote)).into_iter().next();
    let theirs = || of(hosts.get(peer?)?, (remote, local)).into_iter().next();
    let from_peer = own.is_none();
    let model = own.or_else(theirs)?;
    let same_way = ((model.direction == Direction::Out) == (side.direction == Direction::Out)) != from_peer;
    let mut new = XfrmPolicy {
        words: selector_words(&wanted)?,
        selector: Some(wanted),
        direction: side.direction,
        block: false,
        ..model
    };
    for template in &mut new.templates {
        if !same_way {
            std::mem::swap(&mut template.src, &mut template.dst);
            template.spi = None;
        }
        let (src, dst) = if side.direction == Direction::Out { (local, remote) } else { (remote, local) };
        let state = host.states.iter().map(|one| &one.now).find(|sa| {
            sa.src == Some(src)
                && sa.dst == Some(dst)
                && Some(sa.protocol) == template.protocol
                && sa.mode == template.mode
        });
        if let Some(extra) = state.and_then(kernel) {
            template.reqid = if template.reqid == 0 && same_way { 0 } else { extra.reqid };
            new.if_id = extra.if_id;
        }
    }
    Some(new)
}
