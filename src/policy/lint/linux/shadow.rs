//! Policies that drop packets of a tunnel, or let them pass in clear.

use super::super::super::{Problem, View};
use super::model::{Host, Target, Verdict, main_template, title};
use crate::policy::read::xfrm::{Direction, XfrmPolicy};

pub(super) fn judge(view: &View<'_>, hosts: &mut [Host<'_>], verdicts: &mut Vec<Verdict>) {
    for (at, host) in hosts.iter_mut().enumerate() {
        for number in 0..host.policies.len() {
            let Some(policy) = host.policies.get(number).map(|entry| entry.now.clone()) else { continue };
            if policy.templates.is_empty() || !policy.main {
                continue;
            }
            if policy.block {
                let evidence = format!(
                    "{}: the {} has templates and `action block`: it drops every packet that it selects (XfrmOutPolBlock, XfrmInPolBlock).",
                    host.name,
                    title(&policy)
                );
                let problem = Problem::new("config-policy-shadowed", evidence).about(host.name).lines(
                    view.policies,
                    host.router,
                    [&policy.cite],
                );
                if let Some(entry) = host.policies.get_mut(number) {
                    entry.now.block = false;
                }
                verdicts.push(Verdict::corrected(problem, Target::Policy(at, number)));
                continue;
            }
            verdicts.extend(led_elsewhere(view, host, &policy));
            // A policy that takes only a part of it is an exception that was meant.
            let before = host.policies.iter().map(|entry| &entry.now).find(|other| {
                let whole = matches!((&other.selector, &policy.selector), (Some(all), Some(part)) if all.covers(part));
                whole
                    && other.templates.is_empty()
                    && other.main
                    && other.direction == policy.direction
                    && other.priority < policy.priority
                    && other.mark.any()
                    && other.if_id == policy.if_id
            });
            let Some(before) = before else { continue };
            let what = if before.block { "drops all packets of" } else { "lets pass in clear all packets of" };
            let evidence = format!(
                "{}: the {} with priority {} has no template and {what} the {} with priority {}: lower numbers are looked at first.",
                host.name,
                title(before),
                before.priority,
                title(&policy),
                policy.priority
            );
            let problem = Problem::new("config-policy-shadowed", evidence).about(host.name).lines(
                view.policies,
                host.router,
                [&before.cite, &policy.cite],
            );
            verdicts.push(Verdict::told(problem));
        }
    }
}

/// A policy that takes more packets than another one, before it, and leads them to another peer.
fn led_elsewhere(view: &View<'_>, host: &Host<'_>, policy: &XfrmPolicy) -> Option<Verdict> {
    let far = |one: &XfrmPolicy| main_template(one).and_then(|template| template.dst);
    let mine = far(policy).filter(|_| policy.direction == Direction::Out)?;
    // Of the same packets, one may be the reserve of the other.
    let wider = |other: &XfrmPolicy| {
        let both = other.selector.as_ref().zip(policy.selector.as_ref());
        both.is_some_and(|(all, part)| all.covers(part) && all != part)
    };
    let before = host.policies.iter().map(|entry| &entry.now).find(|other| {
        other.direction == Direction::Out
            && far(other).is_some_and(|peer| peer != mine)
            && other.main
            && !other.block
            && other.priority < policy.priority
            && other.mark.any()
            && other.if_id == policy.if_id
            && wider(other)
    })?;
    let evidence = format!(
        "{}: the {} with priority {} leads all packets of the {} with priority {} to {} instead of {mine}: lower numbers are looked at first.",
        host.name,
        title(before),
        before.priority,
        title(policy),
        policy.priority,
        far(before)?
    );
    let problem = Problem::new("config-policy-shadowed", evidence).about(host.name);
    Some(Verdict::told(problem.lines(view.policies, host.router, [&before.cite, &policy.cite])))
}
