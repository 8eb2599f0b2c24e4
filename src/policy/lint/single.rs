//! What is wrong with an SA by itself: its number, its keys, its algorithms.

use std::collections::BTreeMap;

use super::super::router::Way;
use super::super::stated::{Basis, Stated};
use super::super::{Cite, Problem, Secret, View, fix};
use crate::model::report::Severity;
use crate::model::{Address, Protocol, SaKey};
use crate::transform::Suite;

/// SAs of one direction that are compared with those of the other.
const COMPARED: usize = 8;

pub(super) fn problems(view: &View<'_>) -> Vec<Problem> {
    let mut problems = Vec::new();
    numbers(view, &mut problems);
    key_lengths(view, &mut problems);
    reused_keys(view, &mut problems);
    weak(view, &mut problems);
    problems
}

fn subject(view: &View<'_>, stated: &Stated) -> String {
    stated.key().map_or_else(
        || format!("{}: {} {}", view.name(stated.router), stated.protocol.title(), stated.spi.0),
        |key| key.to_string(),
    )
}

fn way(stated: &Stated) -> &'static str {
    match stated.way {
        Some(Way::In) => "inbound ",
        Some(Way::Out) => "outbound ",
        None => "",
    }
}

fn numbers(view: &View<'_>, problems: &mut Vec<Problem>) {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let low = view.stated.iter().filter(|one| one.protocol != Protocol::IpComp && one.spi.0 < 256);
    // A state without algorithms is one that IKE is still to fill (`ip xfrm state` shows it with SPI 0).
    for stated in low.filter(|one| !(one.basis == Basis::InForce && one.spi.is_zero() && one.words.is_empty())) {
        let (code, what) = if stated.spi.is_zero() {
            ("spi-zero", "0 must never be sent")
        } else {
            ("spi-reserved", "1 to 255 are reserved; use 256 or above")
        };
        let about = subject(view, stated);
        if let Some(&at) = seen.get(&about) {
            // The other end has it too.
            if let Some(problem) = problems.get_mut(at) {
                let taken = std::mem::replace(problem, Problem::new(code, String::new()));
                *problem = taken.lines(view.policies, stated.router, stated.cites.first());
            }
            continue;
        }
        let evidence = format!(
            "{}: {}{} SPI {} ({}) is configured; {what}.",
            view.name(stated.router),
            way(stated),
            stated.protocol.title(),
            stated.spi.0,
            stated.spi
        );
        let mut problem =
            Problem::new(code, evidence).about(about.clone()).lines(view.policies, stated.router, stated.cites.first());
        if let Some(entry) = stated.map.and_then(|map| view.entry(stated.router, map)) {
            let line = fix::session_key(stated.way == Some(Way::In), stated.protocol, None, stated.suite.as_ref());
            problem = problem.fix(view.name(stated.router), fix::in_map(entry, vec![line]));
        }
        seen.insert(about, problems.len());
        problems.push(problem);
    }
}

/// Names of the algorithms whose key has a length that they do not take, with the length.
fn misfits(stated: &Stated) -> Vec<(String, u32)> {
    let Some(suite) = &stated.suite else { return Vec::new() };
    let bits = |key: &Option<Secret>| key.as_ref().and_then(Secret::bits);
    let mut misfits = Vec::new();
    let integrity = if stated.protocol == Protocol::Ah { suite.ah } else { suite.esp.and_then(|esp| esp.integrity) };
    if let (Some(integrity), Some(bits)) = (integrity, bits(&stated.authenticator))
        && integrity.keys.accept(bits) == Some(false)
    {
        misfits.push((integrity.name.to_owned(), bits));
    }
    let esp = suite.esp.filter(|esp| stated.protocol == Protocol::Esp && esp.cipher.encrypts());
    if let (Some(esp), Some(bits)) = (esp, bits(&stated.cipher)) {
        let fits = match esp.key_bits {
            Some(named) => Some(bits == named || bits == named + esp.cipher.salt * 8),
            None => esp.cipher.accepts_key_material(bits),
        };
        if fits == Some(false) {
            misfits.push((esp.cipher.keyed(esp.key_bits), bits));
        }
    }
    misfits
}

fn key_lengths(view: &View<'_>, problems: &mut Vec<Problem>) {
    let mut by_key: BTreeMap<SaKey, Vec<&Stated>> = BTreeMap::new();
    for stated in view.stated.iter().filter(|one| one.used) {
        if let Some(key) = stated.key() {
            by_key.entry(key).or_default().push(stated);
        }
    }
    let mut by_router: BTreeMap<usize, (Vec<String>, Vec<Cite>, bool)> = BTreeMap::new();
    for stated in view.stated.iter().filter(|one| one.used) {
        let misfits = misfits(stated);
        if misfits.is_empty() {
            continue;
        }
        // Two IOS routers expand the same short key to the same key.
        let twins = stated.key().and_then(|key| by_key.get(&key)).is_some_and(|all| {
            let same = |other: &&Stated| {
                other.router != stated.router
                    && other.basis == Basis::Manual
                    && other.cipher == stated.cipher
                    && other.authenticator == stated.authenticator
            };
            stated.basis == Basis::Manual && all.iter().take(COMPARED).any(same)
        });
        let (said, cites, agreed) = by_router.entry(stated.router).or_insert_with(|| (Vec::new(), Vec::new(), true));
        for (algorithm, bits) in misfits {
            said.push(format!(
                "{}{} {} has a key of {bits} bits for {algorithm}",
                way(stated),
                stated.protocol.title(),
                stated.spi.0
            ));
        }
        cites.extend(stated.cites.first().cloned());
        *agreed &= twins;
    }
    for (router, (said, cites, agreed)) in by_router {
        let more = said.len().saturating_sub(COMPARED);
        let listed: Vec<String> = said.into_iter().take(COMPARED).collect();
        let more = if more > 0 { format!("; {more} more") } else { String::new() };
        let end = if agreed {
            " Both ends have the same key, which IOS expands in a way of its own; ICVs are not checked."
        } else {
            ""
        };
        let evidence = format!("{}: {}{more}.{end}", view.name(router), listed.join("; "));
        let mut problem =
            Problem::new("config-key-length", evidence).about(view.name(router)).lines(view.policies, router, &cites);
        if agreed {
            problem = problem.severity(Severity::Note);
        }
        problems.push(problem);
    }
}

fn reused_keys(view: &View<'_>, problems: &mut Vec<Problem>) {
    let mut pairs: BTreeMap<(usize, Protocol, Address, Address), [Vec<&Stated>; 2]> = BTreeMap::new();
    for stated in view.stated.iter().filter(|one| one.used && one.basis != Basis::Listed) {
        let (Some(src), Some(dst)) = (stated.src, stated.dst) else { continue };
        let both = pairs.entry((stated.router, stated.protocol, src.min(dst), src.max(dst))).or_default();
        let [there, back] = both;
        let direction = if src < dst { there } else { back };
        if direction.len() < COMPARED {
            direction.push(stated);
        }
    }
    // Keys that were made unreadable before they were pasted all look alike.
    let same =
        |a: &Option<Secret>, b: &Option<Secret>| matches!((a, b), (Some(a), Some(b)) if a == b && a.bits().is_some());
    for ((router, protocol, a, b), [there, back]) in pairs {
        let both = there.iter().flat_map(|x| back.iter().map(move |y| (x, y)));
        let mut reused = both.filter(|(x, y)| same(&x.cipher, &y.cipher) || same(&x.authenticator, &y.authenticator));
        let Some((x, y)) = reused.next() else { continue };
        let evidence = format!(
            "{}: {} SPI {} and {} between {a} and {b} have the same key for both directions (compared, not shown).",
            view.name(router),
            protocol.title(),
            x.spi.0,
            y.spi.0
        );
        problems.push(Problem::new("config-key-reused", evidence).about(view.name(router)).lines(
            view.policies,
            router,
            x.cites.first().into_iter().chain(y.cites.first()),
        ));
    }
}

/// Each weak set of transforms once, with all lines that name it.
fn weak(view: &View<'_>, problems: &mut Vec<Problem>) {
    let mut found: BTreeMap<String, (Suite, Vec<(usize, Cite)>)> = BTreeMap::new();
    let mut add = |words: &str, suite: Option<Suite>, router: usize, cite: &Cite| {
        if let Some(suite) = suite.filter(|suite| !suite.weaknesses().is_empty()) {
            found.entry(words.to_owned()).or_insert_with(|| (suite, Vec::new())).1.push((router, cite.clone()));
        }
    };
    for (at, router) in view.policies.routers.iter().enumerate() {
        for set in router.transform_sets.values() {
            add(&set.words, set.words.parse().ok(), at, &set.cite);
        }
    }
    for stated in view.stated.iter().filter(|one| one.basis != Basis::Manual) {
        if let Some(cite) = stated.cites.first() {
            add(&stated.words, stated.suite, stated.router, cite);
        }
    }
    for (words, (suite, lines)) in found {
        let mut hosts: Vec<&str> = lines.iter().map(|(router, _)| view.name(*router)).collect();
        hosts.dedup();
        let more = if hosts.len() > 4 { " and others" } else { "" };
        hosts.truncate(4);
        let why: Vec<String> =
            suite.weaknesses().iter().map(|weak| format!("{}: {}", weak.algorithm, weak.why)).collect();
        let evidence = format!("{words} ({}{more}). {}.", hosts.join(", "), why.join("; "));
        let mut problem = Problem::new("weak-transform", evidence).severity(Severity::Warning).about(suite.to_string());
        for (router, cite) in &lines {
            problem = problem.lines(view.policies, *router, [cite]);
        }
        problems.push(problem);
    }
}
