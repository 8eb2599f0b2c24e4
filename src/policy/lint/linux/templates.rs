//! Templates of policies against the states of the same host.

mod votes;

use std::collections::BTreeSet;

use super::super::super::{Mode, Net, Problem, View};
use super::model::{Host, Target, Verdict, effect, kernel, own_net, title};
use crate::model::Address;
use crate::model::report::Severity;
use crate::policy::facts::router::Installed;
use crate::policy::read::xfrm::{Direction, KernelState, Template, XfrmPolicy};

/// What a template and a state can differ in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Attribute {
    Src,
    Dst,
    Protocol,
    Mode,
    Reqid,
    Spi,
    Mark,
    IfId,
    /// Neither can be put right by the other: a selector that the state's addresses are not in.
    Selector,
}

/// States that are looked through for one that a template would have, but for its own selector.
const LOOKED_AT: usize = 256;

/// A template without any state: host, policy, template.
pub(super) type Wanted = (usize, usize, usize);

/// Corrects what decides itself, and returns the templates that no state comes near.
pub(super) fn judge(view: &View<'_>, hosts: &mut [Host<'_>], verdicts: &mut Vec<Verdict>) -> Vec<Wanted> {
    let mut wanted = Vec::new();
    for at in 0..hosts.len() {
        // Where one of the two was not pasted, nothing is said.
        let given = hosts.get(at).is_some_and(|host| !host.states.is_empty() && !host.policies.is_empty());
        for policy in 0..hosts.get(at).filter(|_| given).map_or(0, |host| host.policies.len()) {
            let templates =
                hosts.get(at).and_then(|host| host.policies.get(policy)).map_or(0, |one| one.now.templates.len());
            for template in 0..templates {
                one(view, hosts, (at, policy, template), &mut wanted, verdicts);
            }
        }
    }
    wanted
}

fn one(view: &View<'_>, hosts: &mut [Host<'_>], place: Wanted, wanted: &mut Vec<Wanted>, verdicts: &mut Vec<Verdict>) {
    let Some(host) = hosts.get(place.0) else { return };
    let Some(policy) = host.policies.get(place.1).map(|entry| entry.now.clone()) else { return };
    let Some(template) = policy.templates.get(place.2).cloned() else { return };
    let judged =
        policy.main && !policy.block && !template.optional && template.mode.is_some() && template.protocol.is_some();
    if !judged || !answering(host, &policy, &template).is_empty() {
        return;
    }
    let Some(state) = nearest(host, &policy, &template) else {
        wanted.push(place);
        return;
    };
    let Some(sa) = host.states.get(state).map(|entry| entry.now.clone()) else { return };
    // The state that is meant may have been cut out of the listing.
    if view.policies.routers.get(host.router).is_some_and(|one| one.forwarding.cut_display) {
        return;
    }
    for attribute in differences(&policy, &template, &sa) {
        verdicts.push(disagree(view, hosts, place, state, (&policy, &template, &sa), attribute));
    }
}

/// The states that answer a template.
pub(super) fn answering<'h>(host: &'h Host<'_>, policy: &XfrmPolicy, template: &Template) -> Vec<&'h Installed> {
    let states = host.states.iter().map(|state| &state.now);
    states.filter(|state| differences(policy, template, state).is_empty()).collect()
}

/// In what a state does not answer a template (`xfrm_state_find` and `xfrm_state_ok` of the kernel).
fn differences(policy: &XfrmPolicy, template: &Template, sa: &Installed) -> Vec<Attribute> {
    let Some(extra) = kernel(sa) else { return vec![Attribute::Selector] };
    let out = policy.direction == Direction::Out;
    let mut differ = Vec::new();
    let mut add = |attribute, different: bool| {
        if different {
            differ.push(attribute);
        }
    };
    add(Attribute::Src, template.src.is_some() && template.src != sa.src);
    add(Attribute::Dst, template.dst.is_some() && template.dst != sa.dst);
    add(Attribute::Protocol, template.protocol != Some(sa.protocol));
    add(Attribute::Mode, template.mode != sa.mode);
    add(Attribute::Reqid, template.reqid != 0 && template.reqid != extra.reqid);
    add(Attribute::Spi, template.spi.is_some_and(|spi| spi != sa.spi));
    // An inbound packet may carry a mark that a firewall rule or a tunnel interface gave it.
    add(Attribute::Mark, out && !extra.mark.found_by(policy.mark));
    add(Attribute::IfId, extra.if_id != policy.if_id && (out || policy.if_id != 0));
    add(Attribute::Selector, out && excludes(extra, policy));
    let ends_of_selector = template.src.is_none() && template.dst.is_none() && policy.templates.len() == 1;
    if let (true, Some(selector), Some(src), Some(dst)) = (ends_of_selector, &policy.selector, sa.src, sa.dst) {
        add(Attribute::Selector, !selector.src.contains(src) || !selector.dst.contains(dst));
    }
    differ
}

/// Whether a state's own selector takes none of the packets of a policy: the kernel passes it over (`xfrm_state_look_at`).
fn excludes(extra: &KernelState, policy: &XfrmPolicy) -> bool {
    let Some(asked) = &policy.selector else { return false };
    let apart = |keyword: &str, asked: &Net| own_net(extra, keyword).is_some_and(|own| !own.overlaps(asked));
    apart("src", &asked.src) || apart("dst", &asked.dst)
}

/// The state that a template most likely means: one that no template asks for, or one that only its mirror in another direction
/// or a policy of another selector has.
fn nearest(host: &Host<'_>, policy: &XfrmPolicy, template: &Template) -> Option<usize> {
    let claimed: BTreeSet<usize> = (0..host.states.len())
        .filter(|at| {
            let sa = host.states.get(*at).map(|state| &state.now);
            host.policies.iter().any(|one| {
                one.now.templates.iter().any(|asked| sa.is_some_and(|sa| differences(&one.now, asked, sa).is_empty()))
            })
        })
        .collect();
    let sibling = |sa: &Installed| {
        policy.direction != Direction::Out
            && host.policies.iter().any(|one| {
                one.now.direction != Direction::Out
                    && one.now.direction != policy.direction
                    && one.now.selector == policy.selector
                    && one.now.templates.iter().any(|asked| differences(&one.now, asked, sa).is_empty())
            })
    };
    let mut best: Option<(usize, usize)> = None;
    for (at, state) in host.states.iter().enumerate() {
        let differ = differences(policy, template, &state.now);
        let addresses = differ.iter().filter(|one| matches!(one, Attribute::Src | Attribute::Dst)).count();
        let hopeless = differ.contains(&Attribute::Selector) || addresses > 1 || differ.len() > 2;
        let taken = claimed.contains(&at);
        if hopeless || (taken && (differ.len() > 1 || addresses > 0) && !sibling(&state.now)) {
            continue;
        }
        // A claimed state of other protocol or mode is another layer of the same tunnel.
        let layer = differ.iter().any(|one| matches!(one, Attribute::Protocol | Attribute::Mode | Attribute::Spi));
        if taken && layer && !sibling(&state.now) {
            continue;
        }
        let cost = differ.len() * 2 + usize::from(taken);
        if best.is_none_or(|(least, _)| cost < least) {
            best = Some((cost, at));
        }
    }
    best.map(|(_, at)| at)
}

fn disagree(
    view: &View<'_>,
    hosts: &mut [Host<'_>],
    (at, policy_at, template_at): Wanted,
    state_at: usize,
    (policy, template, sa): (&XfrmPolicy, &Template, &Installed),
    attribute: Attribute,
) -> Verdict {
    let asked = asked(policy, template, attribute);
    let had = had(sa, attribute);
    let (for_asked, for_had) = votes::count(hosts, at, (policy_at, template_at), state_at, attribute, (&asked, &had));
    let state_wrong = for_asked > for_had;
    let target = if state_wrong { Target::State(at, state_at) } else { Target::Policy(at, policy_at) };
    let name = hosts.get(at).map_or("", |host| host.name);
    let what = word(attribute);
    let with = match attribute {
        Attribute::Src | Attribute::Dst => "the host's and the peer's other states and policies",
        _ => "the rest of the host",
    };
    let why = match (state_wrong, for_asked.max(for_had)) {
        (true, _) => format!("The {what} of the state is at fault: {with} agree with the policy."),
        (false, 0) => format!("The two contradict each other; which {what} was meant is not determined by this text."),
        (false, _) if for_asked == for_had => {
            format!("The two contradict each other; which {what} was meant is not determined by this text.")
        }
        (false, _) => format!("The {what} of the template is at fault: {with} agree with the state."),
    };
    let evidence = format!(
        "{name}: the {} asks for {what} {asked}, and the {} state with SPI {} ({}) has {what} {had}: {}. {why}",
        title(policy),
        sa.protocol.title(),
        sa.spi.0,
        sa.spi,
        effect(policy.direction)
    );
    let host_router = hosts.get(at).map_or(0, |host| host.router);
    let own_line = kernel(sa).and_then(|extra| extra.line(what)).into_iter();
    let problem = Problem::new(code(attribute), evidence)
        .about(name)
        .lines(view.policies, host_router, [&template.cite, &policy.cite])
        .lines(view.policies, host_router, sa.cites.first().into_iter().chain(own_line));
    correct(hosts, target, template_at, (policy, template, sa), attribute);
    Verdict::corrected(problem, target)
}

const fn code(attribute: Attribute) -> &'static str {
    match attribute {
        Attribute::Reqid => "config-reqid-mismatch",
        Attribute::Mark => "config-mark-mismatch",
        Attribute::IfId => "config-if-id-mismatch",
        _ => "config-template-mismatch",
    }
}

const fn word(attribute: Attribute) -> &'static str {
    match attribute {
        Attribute::Src => "source",
        Attribute::Dst => "destination",
        Attribute::Protocol => "protocol",
        Attribute::Mode => "mode",
        Attribute::Reqid => "reqid",
        Attribute::Spi => "SPI",
        Attribute::Mark => "mark",
        Attribute::IfId => "if_id",
        Attribute::Selector => "selector",
    }
}

fn shown(address: Option<Address>) -> String {
    address.map_or_else(|| "any".to_owned(), |address| address.to_string())
}

fn asked(policy: &XfrmPolicy, template: &Template, attribute: Attribute) -> String {
    match attribute {
        Attribute::Src => shown(template.src),
        Attribute::Dst => shown(template.dst),
        Attribute::Protocol => template.protocol.map_or("", |protocol| protocol.title()).to_owned(),
        Attribute::Mode => template.mode.map_or("", Mode::name).to_owned(),
        Attribute::Reqid => template.reqid.to_string(),
        Attribute::Spi => template.spi.map_or_else(String::new, |spi| spi.0.to_string()),
        Attribute::Mark => policy.mark.to_string(),
        Attribute::IfId => if_id(policy.if_id),
        Attribute::Selector => String::new(),
    }
}

fn had(sa: &Installed, attribute: Attribute) -> String {
    let extra = kernel(sa).cloned().unwrap_or_default();
    match attribute {
        Attribute::Src => shown(sa.src),
        Attribute::Dst => shown(sa.dst),
        Attribute::Protocol => sa.protocol.title().to_owned(),
        Attribute::Mode => sa.mode.map_or("", Mode::name).to_owned(),
        Attribute::Reqid => extra.reqid.to_string(),
        Attribute::Spi => sa.spi.0.to_string(),
        Attribute::Mark => extra.mark.to_string(),
        Attribute::IfId => if_id(extra.if_id),
        Attribute::Selector => String::new(),
    }
}

fn if_id(value: u32) -> String {
    if value == 0 { "none".to_owned() } else { format!("0x{value:x}") }
}

fn correct(
    hosts: &mut [Host<'_>],
    target: Target,
    template_at: usize,
    (policy, template, sa): (&XfrmPolicy, &Template, &Installed),
    attribute: Attribute,
) {
    match target {
        Target::State(host, at) => {
            let Some(state) = hosts.get_mut(host).and_then(|host| host.states.get_mut(at)) else { return };
            match attribute {
                Attribute::Src => state.now.src = template.src,
                Attribute::Dst => state.now.dst = template.dst,
                Attribute::Protocol => state.now.protocol = template.protocol.unwrap_or(sa.protocol),
                Attribute::Mode => state.now.mode = template.mode,
                Attribute::Spi => state.now.spi = template.spi.unwrap_or(sa.spi),
                _ => {}
            }
            let Some(extra) = state.now.kernel.as_deref_mut() else { return };
            match attribute {
                Attribute::Reqid => extra.reqid = template.reqid,
                Attribute::Mark => extra.mark = policy.mark,
                Attribute::IfId => extra.if_id = policy.if_id,
                _ => {}
            }
        }
        Target::Policy(host, at) => {
            let Some(policy) = hosts.get_mut(host).and_then(|host| host.policies.get_mut(at)) else { return };
            let extra = kernel(sa).cloned().unwrap_or_default();
            match attribute {
                Attribute::Mark => policy.now.mark = extra.mark,
                Attribute::IfId => policy.now.if_id = extra.if_id,
                _ => {}
            }
            let Some(template) = policy.now.templates.get_mut(template_at) else { return };
            match attribute {
                Attribute::Src => template.src = sa.src,
                Attribute::Dst => template.dst = sa.dst,
                Attribute::Protocol => template.protocol = Some(sa.protocol),
                Attribute::Mode => template.mode = sa.mode,
                Attribute::Reqid => template.reqid = extra.reqid,
                Attribute::Spi => template.spi = Some(sa.spi),
                _ => {}
            }
        }
    }
}

/// Templates that no state answers and no peer has one for: IKE may be about to negotiate it.
pub(super) fn without_state(view: &View<'_>, hosts: &[Host<'_>], wanted: &[Wanted], verdicts: &mut Vec<Verdict>) {
    let mut told: BTreeSet<(usize, Option<Address>, Option<Address>, u32)> = BTreeSet::new();
    for &(at, policy_at, template_at) in wanted {
        // A state that could not be read may be the one.
        let known = |host: &&Host<'_>| view.policies.routers.get(host.router).is_some_and(|one| !one.unread_states);
        let Some(host) = hosts.get(at).filter(known) else { continue };
        let Some(policy) = host.policies.get(policy_at).map(|entry| &entry.now) else { continue };
        let Some(template) = policy.templates.get(template_at) else { continue };
        if !told.insert((at, template.src, template.dst, template.reqid)) {
            continue;
        }
        let mut evidence = format!(
            "{}: no state answers the template of the {} ({}): {}, unless IKE negotiates one when traffic asks for it.",
            host.name,
            title(policy),
            template.cite.text,
            effect(policy.direction)
        );
        let passed_over = host.states.iter().take(LOOKED_AT).map(|state| &state.now).find(|sa| {
            let ends = (sa.src, sa.dst) == (template.src, template.dst);
            ends && kernel(sa).is_some_and(|extra| excludes(extra, policy))
        });
        if let Some(sa) = passed_over {
            evidence.push_str(&format!(
                " The state with SPI {} has a selector of its own (`sel`) that takes none of these packets.",
                sa.spi.0
            ));
        }
        let problem = Problem::new("config-state-missing", evidence)
            .severity(Severity::Warning)
            .about(host.name)
            .lines(view.policies, host.router, [&template.cite, &policy.cite]);
        verdicts.push(Verdict::told(problem));
    }
}
