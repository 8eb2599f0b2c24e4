//! Tunnel interfaces that a profile protects: profiles and transform sets that do not exist, modes that differ, sources that are down.

use crate::model::report::Severity;
use crate::policy::facts::router::{Interface, MapEntry, Router};
use crate::policy::form::order::Chapter;
use crate::policy::lint::maps::sets::is_of_release;
use crate::policy::lint::{Facing, near};
use crate::policy::{Cite, Problem, View, fix, words};

/// What usually makes modes and keys differ, in the words of the catalogue.
const MODES: &str = "`tunnel mode` was left out on one of the two: without it a tunnel is `gre ip`.";
const KEYS: &str = "`tunnel key` was left out or mistyped on one of the two.";

/// A protected tunnel of a router of IOS.
struct Protected<'v> {
    at: usize,
    router: &'v Router,
    name: &'v str,
    interface: &'v Interface,
    entry: &'v MapEntry,
}

pub(in crate::policy::lint) fn problems(view: &View<'_>, facing: &[Facing]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (at, router) in view.policies.routers.iter().enumerate().filter(|(_, router)| router.maker.is_none()) {
        for (name, interface) in &router.interfaces {
            problems.extend(no_profile(view, at, router, name, interface));
        }
        problems.extend(router.profiles.keys().filter_map(|profile| no_set(view, at, router, profile)));
    }
    for pair in facing {
        problems.extend(differences(view, *pair));
        let (Some(a), Some(b)) = (tunnel(view, pair.a), tunnel(view, pair.b)) else { continue };
        let down = [source_down(view, &a, &b), source_down(view, &b, &a)];
        // Both are down where a tunnel was taken out of service.
        if let [Some(one), None] | [None, Some(one)] = down {
            problems.push(one);
        }
    }
    problems
}

/// In what the two ends of a tunnel differ: mode and key.
pub(in crate::policy::lint) fn differences(view: &View<'_>, pair: Facing) -> Option<Problem> {
    let (a, b) = (tunnel(view, pair.a)?, tunnel(view, pair.b)?);
    other_mode(view, &a, &b).or_else(|| other_key(view, &a, &b))
}

fn tunnel<'v>(view: &'v View<'_>, at: (usize, usize)) -> Option<Protected<'v>> {
    let entry = view.entry(at.0, at.1).filter(|entry| entry.number == 0)?;
    let router = view.policies.routers.get(at.0).filter(|router| router.maker.is_none())?;
    let (name, interface) = router.interfaces.get_key_value(&entry.name)?;
    Some(Protected { at: at.0, router, name, interface, entry })
}

/// A tunnel whose profile does not exist.
fn no_profile(view: &View<'_>, at: usize, router: &Router, name: &str, interface: &Interface) -> Option<Problem> {
    let (profile, cite) = interface.protection.as_ref()?;
    // IOS has a profile of its own of this name.
    if profile == "default" || router.profiles.contains_key(profile) || router.forwarding.mentions(profile) {
        return None;
    }
    // Where no profile was given at all, they may have been left out of the paste.
    let slip = near::meant(profile, router.profiles.keys().map(String::as_str));
    if router.profiles.is_empty() || slip.is_none() && router.forwarding.hidden.contains(&Chapter::Sets) {
        return None;
    }
    let used = |profile: &str| {
        router.interfaces.values().any(|one| one.protection.as_ref().is_some_and(|(named, _)| named == profile))
    };
    let mut idle = router.profiles.keys().filter(|profile| !used(profile)).map(String::as_str);
    let only = idle.next().filter(|_| idle.next().is_none());
    let meant = slip.or(only);
    let mut evidence =
        format!("{}: {name} names IPsec profile {profile} (`tunnel protection`), which does not exist", router.name);
    if let Some(meant) = meant {
        evidence.push_str(&format!("; profile {meant} exists"));
    }
    evidence.push_str(". The tunnel has no SA, and nothing passes it.");
    let lines = meant.map(|meant| {
        let lines = vec![
            format!("interface {name}"),
            format!(" no tunnel protection ipsec profile {profile}"),
            format!(" tunnel protection ipsec profile {meant}"),
        ];
        fix::global(interface.tunnel_destination.as_ref().map(|(far, _)| *far), lines)
    });
    Some(
        Problem::new("config-reference-missing", evidence)
            .about(format!("{} {name}", router.name))
            .lines(view.policies, at, [cite])
            .fix(&router.name, lines.unwrap_or_default()),
    )
}

/// A profile that a tunnel has, all of whose transform sets are missing.
fn no_set(view: &View<'_>, at: usize, router: &Router, profile: &str) -> Option<Problem> {
    let named = router.profiles.get(profile)?;
    let Router { transform_sets, forwarding, .. } = router;
    let has = |set: &str| transform_sets.contains_key(set) || is_of_release(router, set);
    let (set, cite) = named.iter().find(|(set, _)| !has(set) && !forwarding.mentions(set))?;
    let protected = |one: &&Interface| one.protection.as_ref().is_some_and(|(named, _)| named == profile);
    // A set that exists is enough; and where none was given at all, they may have been left out of the paste.
    let others = named.iter().any(|(set, _)| has(set));
    let slip = near::meant(set, transform_sets.keys().map(String::as_str));
    if others || transform_sets.is_empty() || slip.is_none() && forwarding.hidden.contains(&Chapter::Sets) {
        return None;
    }
    let tunnels = router.interfaces.values().filter(protected).count();
    let mut evidence =
        format!("{}: IPsec profile {profile} names transform set {set}, which does not exist", router.name);
    let only = transform_sets.keys().next().filter(|_| transform_sets.len() == 1).map(String::as_str);
    let meant = slip.or(only);
    if let Some(meant) = meant {
        evidence.push_str(&format!("; transform set {meant} exists"));
    }
    evidence.push('.');
    let problem = Problem::new("config-reference-missing", evidence)
        .about(format!("{} profile {profile}", router.name))
        .lines(view.policies, at, [cite]);
    if tunnels == 0 {
        return Some(problem.severity(Severity::Note));
    }
    let lines = meant.map(|meant| {
        let lines = vec![format!("crypto ipsec profile {profile}"), format!(" set transform-set {meant}")];
        fix::global(None, lines)
    });
    Some(problem.fix(&router.name, lines.unwrap_or_default()))
}

/// What a tunnel carries its packets in: the first word of its mode, `gre` where nothing is said; `None` where that is not known.
fn carrier<'v>(of: &Protected<'v>) -> Option<(&'v str, &'v str)> {
    if of.router.forwarding.open.contains(of.name) {
        return None;
    }
    let said = of.router.forwarding.ports.get(of.name).and_then(|port| port.tunnel_mode.as_ref());
    let mode = said.map_or("gre ip", |(mode, _)| mode.as_str());
    let first = mode.split(' ').next()?;
    matches!(first, "gre" | "ipsec" | "ipip").then_some((first, mode))
}

fn other_mode(view: &View<'_>, a: &Protected<'_>, b: &Protected<'_>) -> Option<Problem> {
    let ((own, mine), (far, theirs)) = (carrier(a)?, carrier(b)?);
    if own == far {
        return None;
    }
    let said = |of: &Protected<'_>, mode: &str| {
        let line = of.router.forwarding.ports.get(of.name).and_then(|port| port.tunnel_mode.as_ref());
        match line {
            Some(_) => format!("{} of {} has `tunnel mode {mode}`", of.name, of.router.name),
            None => format!("{} of {} has no line `tunnel mode`, which means `{mode}`", of.name, of.router.name),
        }
    };
    let evidence = format!(
        "{}, {}: the two ask IKE for SAs of different packets, and neither takes what the other proposes. Which of the two is meant is not \
         determined by these texts.",
        said(a, mine),
        said(b, theirs)
    );
    Some(between(view, a, b, (evidence, MODES), |of| {
        let port = of.router.forwarding.ports.get(of.name);
        port.and_then(|port| port.tunnel_mode.as_ref()).map_or(&of.entry.cite, |(_, cite)| cite).clone()
    }))
}

/// GRE with keys that differ (RFC 2890).
fn other_key(view: &View<'_>, a: &Protected<'_>, b: &Protected<'_>) -> Option<Problem> {
    let (("gre", _), ("gre", _)) = (carrier(a)?, carrier(b)?) else { return None };
    let key = |of: &Protected<'_>| of.router.forwarding.ports.get(of.name).and_then(|port| port.tunnel_key.clone());
    let (own, far) = (key(a), key(b));
    let number = |key: &Option<(String, Cite)>| key.as_ref().map(|(key, _)| key.clone());
    if number(&own) == number(&far) {
        return None;
    }
    let said = |key: &Option<(String, Cite)>| {
        number(key).map_or_else(|| "no GRE key".to_owned(), |key| format!("GRE key {key}"))
    };
    let evidence = format!(
        "{} of {} has {}, {} of {} has {} (`tunnel key`): each drops what the other sends. Which of the two is meant is not determined \
         by these texts.",
        a.name,
        a.router.name,
        said(&own),
        b.name,
        b.router.name,
        said(&far)
    );
    Some(between(view, a, b, (evidence, KEYS), |of| key(of).map_or_else(|| of.entry.cite.clone(), |(_, cite)| cite)))
}

fn between(
    view: &View<'_>,
    a: &Protected<'_>,
    b: &Protected<'_>,
    (evidence, cause): (String, &str),
    line: impl Fn(&Protected<'_>) -> Cite,
) -> Problem {
    let problem = Problem::new("config-gre-mismatch", evidence);
    let problem = Problem { cause: Some(cause.to_owned()), ..problem };
    let problem = problem.about(format!("{} < > {}", a.router.name, b.router.name));
    problem.lines(view.policies, a.at, [&line(a)]).lines(view.policies, b.at, [&line(b)])
}

/// The interface that a tunnel leaves from is shut down, and nothing else leads from there to the other router.
fn source_down(view: &View<'_>, own: &Protected<'_>, far: &Protected<'_>) -> Option<Problem> {
    let source = own.interface.tunnel_source.as_deref()?;
    let stated = words::address(source);
    let is_source = |name: &&String| match stated {
        Some(end) => own.router.addresses_of(name).contains(&end),
        None => *name == source,
    };
    let name = own.router.interfaces.keys().find(is_source)?;
    let down = |port: &str| own.router.forwarding.ports.get(port).and_then(|port| port.shutdown.as_ref());
    let shutdown = down(name)?;
    // Of two tunnels to one router, one may be a reserve.
    let leads = |one: &Interface| {
        one.tunnel_destination
            .as_ref()
            .is_some_and(|(to, _)| view.owners.get(to).is_some_and(|of| of.contains(&far.at)))
    };
    let again = own.router.interfaces.values().filter(|one| leads(one)).count();
    if down(own.name).is_some() || again > 1 {
        return None;
    }
    let evidence = format!(
        "{}: {name} is the source of {}, a protected tunnel to {}, and is shut down (`shutdown`): the tunnel is down with it.",
        own.router.name, own.name, far.router.name
    );
    let problem = Problem::new("config-interface-down", evidence).about(format!("{} {name}", own.router.name));
    Some(
        problem.lines(view.policies, own.at, [shutdown, &own.entry.cite]).fix(&own.router.name, fix::no_shutdown(name)),
    )
}
