//! Policies that drop packets of a tunnel, let them pass in clear, or lead them into another SA than the peer's policy waits for.

use std::collections::BTreeSet;

use super::super::super::{Installed, Net, Problem, View};
use super::model::{Host, Target, Verdict, kernel, main_template, own_net, title};
use super::templates;
use crate::model::Spi;
use crate::model::report::Severity;
use crate::policy::read::xfrm::{Direction, Template, XfrmPolicy};

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
            verdicts.extend(only_a_part(view, host, &policy));
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

/// The only state of a policy has a selector of its own that takes a part of the policy's packets: the kernel has no state for the others.
fn only_a_part(view: &View<'_>, host: &Host<'_>, policy: &XfrmPolicy) -> Option<Verdict> {
    let asked = policy.selector.as_ref().filter(|_| policy.direction == Direction::Out)?;
    // Where the template leaves an end open, each packet finds its own: what no state takes has IKE make the next one.
    let template = main_template(policy).filter(|template| template.src.is_some() && template.dst.is_some())?;
    let answering = templates::answering(host, policy, template);
    let [sa] = answering.as_slice() else { return None };
    let extra = kernel(sa)?;
    let narrower = |keyword: &str, asked: &Net| own_net(extra, keyword).is_some_and(|own| !own.covers(asked));
    if !narrower("src", &asked.src) && !narrower("dst", &asked.dst) {
        return None;
    }
    // The state belongs to a narrower policy, and this one waits for a state of its own.
    let own = [own_net(extra, "src"), own_net(extra, "dst")];
    let is_its = |other: &XfrmPolicy| {
        let selects = other.selector.as_ref().is_some_and(|one| [Some(one.src), Some(one.dst)] == own);
        let asks = main_template(other).is_some_and(|one| one.reqid == template.reqid);
        selects && asks && other.direction == Direction::Out && other.selector != policy.selector
    };
    if host.policies.iter().any(|entry| is_its(&entry.now)) {
        return None;
    }
    let evidence = format!(
        "{}: the {} selects {asked}, and its only state, with SPI {} ({}), has a selector of its own that takes a part of these packets \
         (`sel {}`): the kernel finds no state for the others and drops them.",
        host.name,
        title(policy),
        sa.spi.0,
        sa.spi,
        extra.selector.as_deref().unwrap_or_default()
    );
    let problem = Problem::new("config-template-mismatch", evidence).severity(Severity::Warning).about(host.name);
    let lines = [&policy.cite].into_iter().chain(sa.cites.first()).chain(extra.line("sel"));
    Some(Verdict::told(problem.lines(view.policies, host.router, lines)))
}

/// Policies of two hosts for one selector whose SAs are others: each host has all of the SAs, for different policies (`reqid`).
pub(super) fn crossed(view: &View<'_>, hosts: &[Host<'_>], verdicts: &mut Vec<Verdict>) {
    // A state or policy that was corrected speaks for nothing.
    if verdicts.iter().any(|verdict| !verdict.targets.is_empty()) {
        return;
    }
    let mut told: BTreeSet<(usize, usize)> = BTreeSet::new();
    for (number, host) in hosts.iter().enumerate() {
        for (other, far) in hosts.iter().enumerate().filter(|(other, _)| *other != number) {
            if told.contains(&(other, number)) {
                continue;
            }
            let out = host.policies.iter().map(|entry| &entry.now).filter(|one| one.direction == Direction::Out);
            let mut wrong = out.filter_map(|policy| Some((policy, into_another(host, policy, far)?)));
            let Some((policy, (theirs, spi))) = wrong.next() else { continue };
            let more = match wrong.count() {
                0 => String::new(),
                1 => " So is another policy.".to_owned(),
                more => format!(" So are {more} other policies."),
            };
            let evidence = format!(
                "{}: the {} leads its packets into the SA with SPI {} ({spi}), and {} has that SA for another policy: the {} of {3} asks for \
                 reqid {}, so that {3} drops them (XfrmInTmplMismatch).{more} Which of the two has the reqids exchanged is not determined by \
                 these texts.",
                host.name,
                title(policy),
                spi.0,
                far.name,
                title(theirs),
                main_template(theirs).map_or(0, |template| template.reqid)
            );
            told.insert((number, other));
            let problem =
                Problem::new("config-reqid-mismatch", evidence).about(format!("{} > {}", host.name, far.name));
            let problem = problem.lines(view.policies, host.router, [&policy.cite]);
            verdicts.push(Verdict::told(problem.lines(view.policies, far.router, [&theirs.cite])));
        }
    }
}

/// The policy of the other host for the packets of a policy, where all SAs that these may be in are those of its other policies.
fn into_another<'h>(host: &Host<'_>, policy: &XfrmPolicy, far: &'h Host<'_>) -> Option<(&'h XfrmPolicy, Spi)> {
    let only = |one: &XfrmPolicy| -> Option<Template> {
        let [template] = one.templates.as_slice() else { return None };
        (one.main && !one.block && template.reqid != 0).then(|| template.clone())
    };
    let template = only(policy)?;
    let answers = |one: &&XfrmPolicy| {
        one.direction == Direction::In
            && one.selector == policy.selector
            && only(one).is_some_and(|theirs| (theirs.src, theirs.dst) == (template.src, template.dst))
    };
    let mut answering = far.policies.iter().map(|entry| &entry.now).filter(answers);
    let theirs = answering.next().filter(|_| answering.next().is_none())?;
    let sent = templates::answering(host, policy, &template);
    let taken = templates::answering(far, theirs, &only(theirs)?);
    let name = |sa: &Installed| (sa.protocol, sa.src, sa.dst, sa.spi);
    let is_there = |sa: &&Installed| far.states.iter().any(|state| name(&state.now) == name(sa));
    let crossed =
        !taken.is_empty() && sent.iter().all(|sa| is_there(sa) && taken.iter().all(|other| name(other) != name(sa)));
    let first = sent.first().filter(|_| crossed)?;
    Some((theirs, first.spi))
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
