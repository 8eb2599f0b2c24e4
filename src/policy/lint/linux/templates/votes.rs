//! What speaks for a template, and what for a state that differs from it.

use super::{Attribute, asked, had, shown};
use crate::policy::facts::router::Installed;
use crate::policy::lint::linux::model::{Entry, Host, ends, kernel};
use crate::policy::read::xfrm::{Template, XfrmPolicy};

/// How many other policies and states have the value that a template asks for, and how many the one that the state has. Those of the same tunnel at the
/// host and at the peer count, and the peer's state with the same SPI; each as it was read, not as another finding corrects it.
pub(super) fn count(
    hosts: &[Host<'_>],
    at: usize,
    (policy_at, template_at): (usize, usize),
    state_at: usize,
    attribute: Attribute,
    (ask, have): (&str, &str),
) -> (usize, usize) {
    let Some(host) = hosts.get(at) else { return (0, 0) };
    let Some(sa) = host.states.get(state_at).map(|state| &state.now) else { return (0, 0) };
    let address = matches!(attribute, Attribute::Src | Attribute::Dst);
    if address && is_answered(hosts, at, sa) {
        return (0, 1);
    }
    let selector = host.policies.get(policy_at).and_then(|policy| policy.now.selector.clone());
    let mut of_templates: Vec<String> = Vec::new();
    for (number, policy) in host.policies.iter().enumerate() {
        let policy = policy.was.as_ref().unwrap_or(&policy.now);
        let same = policy.selector.as_ref().zip(selector.as_ref());
        let same = same.is_some_and(|(one, other)| one == other || one.mirrored() == *other);
        for (template_number, template) in policy.templates.iter().enumerate() {
            let other = (number, template_number) != (policy_at, template_at);
            if !other || !(same || of_tunnel(policy, template, sa, address)) {
                continue;
            }
            if address {
                of_templates.extend([shown(template.src), shown(template.dst)]);
            } else {
                of_templates.push(asked(policy, template, attribute));
            }
        }
    }
    let mut values: Vec<String> = Vec::new();
    for (number, state) in host.states.iter().enumerate() {
        let state = state.was.as_ref().unwrap_or(&state.now);
        match (number == state_at || !beside(state, sa, address), address) {
            (true, _) => {}
            (false, true) => values.extend([shown(state.src), shown(state.dst)]),
            (false, false) => values.push(had(state, attribute)),
        }
    }
    let all = |values: &[String], one: &str| !values.is_empty() && values.iter().all(|value| value == one);
    // All templates have one number and all states another: neither is the odd one.
    if attribute == Attribute::Reqid && all(&of_templates, ask) && all(&values, have) {
        return (0, 0);
    }
    values.extend(of_templates);
    let symmetric = address || matches!(attribute, Attribute::Protocol | Attribute::Mode | Attribute::Spi);
    if symmetric {
        values.extend(
            hosts
                .iter()
                .enumerate()
                .filter(|(number, _)| *number != at)
                .flat_map(|(_, other)| answers(other, sa, attribute)),
        );
    }
    let count = |value: &str| values.iter().filter(|one| *one == value).count();
    (count(ask), count(have))
}

/// What another host's states with the SPI of a state have.
fn answers(other: &Host<'_>, sa: &Installed, attribute: Attribute) -> Vec<String> {
    let same_spi = |one: &&Entry<Installed>| one.now.spi == sa.spi && !sa.spi.is_zero();
    let states = other.states.iter().filter(same_spi).map(|one| &one.now);
    match attribute {
        Attribute::Src | Attribute::Dst => states.flat_map(|one| [shown(one.src), shown(one.dst)]).collect(),
        _ => states.map(|one| had(one, attribute)).collect(),
    }
}

/// Whether another host has the state with the same ends, SPI and protocol, and its policies have that tunnel, if it has any.
fn is_answered(hosts: &[Host<'_>], at: usize, sa: &Installed) -> bool {
    let name = |sa: &Installed| (sa.protocol, sa.spi, sa.src, sa.dst);
    hosts.iter().enumerate().filter(|(other, _)| *other != at).any(|(_, other)| {
        let mut templates = other.policies.iter().flat_map(|policy| &policy.now.templates);
        let of_it =
            templates.any(|one| (one.src, one.dst) == (sa.src, sa.dst) || (one.src, one.dst) == (sa.dst, sa.src));
        other.states.iter().any(|state| state.was.as_ref().is_some_and(|was| name(was) == name(sa)))
            && (of_it || other.policies.is_empty())
    })
}

/// Whether a template is of the tunnel that a state is of. Where an address is in question, one end in common is enough, as long as the
/// reqid is the same.
fn of_tunnel(policy: &XfrmPolicy, template: &Template, sa: &Installed, address: bool) -> bool {
    let Some((src, dst)) = ends(policy, template) else { return true };
    let shared = [src, dst].iter().filter(|end| Some(**end) == sa.src || Some(**end) == sa.dst).count();
    let reqid = kernel(sa).map_or(0, |extra| extra.reqid);
    if address { shared > 0 && template.reqid == reqid } else { shared == 2 }
}

/// Whether a state of the same host is of the same tunnel as another one.
fn beside(state: &Installed, sa: &Installed, address: bool) -> bool {
    let shared = [state.src, state.dst].iter().filter(|end| **end == sa.src || **end == sa.dst).count();
    let reqid = |sa: &Installed| kernel(sa).map_or(0, |extra| extra.reqid);
    if address { shared > 0 && reqid(state) == reqid(sa) } else { shared == 2 }
}
