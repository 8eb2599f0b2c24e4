//! What is wrong with an SA by itself: its number, its keys, its algorithms.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{Cite, Problem, Secret, View, fix};
use super::{Facing, fits};
use crate::model::report::Severity;
use crate::model::{Address, Protocol, SaKey, Spi};
use crate::policy::facts::router::{Router, Way};
use crate::policy::facts::stated::{Basis, Stated};
use crate::transform::Suite;

/// Weak transforms, by whether nothing names them and their words, with the lines that name them.
type WeakSets = BTreeMap<(bool, String), (Suite, Vec<(usize, Cite)>)>;

/// SAs of one direction that are compared with those of the other.
const COMPARED: usize = 8;

/// `wrong_sets`: entries whose transform set is at fault, so that their keys are not.
pub(super) fn problems(view: &View<'_>, facing: &[Facing], wrong_sets: &BTreeSet<(usize, usize)>) -> Vec<Problem> {
    let mut problems = Vec::new();
    numbers(view, facing, &mut problems);
    key_lengths(view, wrong_sets, &mut problems);
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

fn numbers(view: &View<'_>, facing: &[Facing], problems: &mut Vec<Problem>) {
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
        if stated.basis == Basis::Manual {
            problem = renumbered(view, facing, stated, problem);
        }
        seen.insert(about, problems.len());
        problems.push(problem);
    }
}

/// A new number on both ends of an SA whose ends agree on a reserved one. Where they do not agree, the mismatch has the lines.
fn renumbered(view: &View<'_>, facing: &[Facing], stated: &Stated, mut problem: Problem) -> Problem {
    let Some(at) = stated.map.map(|map| (stated.router, map)) else { return problem };
    let Some((_, there)) = facing.iter().flat_map(|pair| pair.both_ways()).find(|(here, _)| *here == at) else {
        problem.evidence.push_str(" Agree on a number with the peer and enter it on both.");
        return problem;
    };
    let inbound = stated.way == Some(Way::In);
    let (Some(own), Some(theirs)) = (view.entry(at.0, at.1), view.entry(there.0, there.1)) else { return problem };
    let answers = |key: &&super::super::SessionKey| key.protocol == stated.protocol && key.inbound != inbound;
    if theirs.keys.iter().find(answers).is_none_or(|key| key.spi != stated.spi) {
        return problem;
    }
    let taken: BTreeSet<u32> = view.stated.iter().map(|one| one.spi.0).collect();
    let first = 1_000 + stated.spi.0;
    let Some(free) = (first..first + 10_000).find(|number| !taken.contains(number)).map(Spi) else { return problem };
    problem.evidence.push_str(&format!(" Both ends agree on it, so both get a new number, here {}.", free.0));
    for (at, entry, inbound) in [(at, own, inbound), (there, theirs, !inbound)] {
        let line = fix::session_key(inbound, stated.protocol, Some(free), stated.suite.as_ref());
        problem = problem.fix(view.name(at.0), fix::in_map(entry, vec![line]));
    }
    problem
}

/// Whether a key of a Linux kernel lacks the salt behind it, which is a part of its key (RFC 4106 section 8.1: 20, 28 or 36 octets).
fn without_salt(stated: &Stated, suite: &Suite, bits: u32) -> bool {
    let salted = ["rfc4106(", "rfc4309(", "rfc4543(", "rfc7539esp("].iter().any(|name| stated.words.contains(name));
    let esp = suite.esp.filter(|_| salted && stated.protocol == Protocol::Esp);
    esp.is_some_and(|esp| {
        esp.cipher.salt > 0
            && bits.checked_sub(esp.cipher.salt * 8).is_none_or(|bare| esp.cipher.keys.accept(bare) == Some(false))
    })
}

/// Whether a state of a Linux kernel has a key of a length that its cipher does not take: the kernel refuses it.
fn is_refused(view: &View<'_>, stated: &Stated) -> bool {
    let bits = stated.cipher.as_ref().and_then(Secret::bits);
    let suite = stated.suite.as_ref().filter(|_| super::linux::is_state(view, stated));
    // The kernel's Serpent takes every length up to 256 bits.
    let is_taken =
        |suite: &Suite, bits: u32| bits <= 256 && suite.esp.is_some_and(|esp| esp.cipher.linux == Some("cbc(serpent)"));
    suite
        .zip(bits)
        .is_some_and(|(suite, bits)| fits(suite, stated.protocol, true, bits) == Some(false) && !is_taken(suite, bits))
}

/// Names of the algorithms whose key has a length that they do not take, with the length.
fn misfits(stated: &Stated) -> Vec<(String, u32)> {
    let Some(suite) = &stated.suite else { return Vec::new() };
    let wrong = |key: &Option<Secret>, cipher: bool| {
        let bits = key.as_ref().and_then(Secret::bits)?;
        let short = cipher && without_salt(stated, suite, bits);
        (short || fits(suite, stated.protocol, cipher, bits) == Some(false)).then_some(bits)
    };
    let esp = suite.esp.filter(|_| stated.protocol == Protocol::Esp);
    let integrity = if stated.protocol == Protocol::Ah { suite.ah } else { esp.and_then(|esp| esp.integrity) };
    let authenticator = integrity.zip(wrong(&stated.authenticator, false));
    let cipher = esp.zip(wrong(&stated.cipher, true));
    let authenticator = authenticator.map(|(integrity, bits)| (integrity.name.to_owned(), bits));
    let cipher = cipher.map(|(esp, bits)| (esp.cipher.keyed(esp.key_bits), bits));
    authenticator.into_iter().chain(cipher).collect()
}

fn key_lengths(view: &View<'_>, wrong_sets: &BTreeSet<(usize, usize)>, problems: &mut Vec<Problem>) {
    let mut by_key: BTreeMap<SaKey, Vec<&Stated>> = BTreeMap::new();
    for stated in view.stated.iter().filter(|one| one.used) {
        if let Some(key) = stated.key() {
            by_key.entry(key).or_default().push(stated);
        }
    }
    let mut by_router: BTreeMap<usize, (Vec<String>, Vec<Cite>, bool)> = BTreeMap::new();
    let mut refusing: BTreeSet<usize> = BTreeSet::new();
    let accused = |one: &Stated| one.map.is_some_and(|map| wrong_sets.contains(&(one.router, map)));
    for stated in view.stated.iter().filter(|one| one.used && !accused(one)) {
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
        refusing.extend(is_refused(view, stated).then_some(stated.router));
    }
    for (router, (said, cites, agreed)) in by_router {
        let more = said.len().saturating_sub(COMPARED);
        let listed: Vec<String> = said.into_iter().take(COMPARED).collect();
        let more = if more > 0 { format!("; {more} more") } else { String::new() };
        let end = if agreed {
            " Both ends have the same key, which IOS expands in a way of its own; ICVs are not checked."
        } else if refusing.contains(&router) {
            " The kernel refuses a state whose cipher key has such a length (Invalid argument): the state is not there, or the text is not what the host has."
        } else {
            ""
        };
        let evidence = format!("{}: {}{more}.{end}", view.name(router), listed.join("; "));
        let mut problem =
            Problem::new("config-key-length", evidence).about(view.name(router)).lines(view.policies, router, &cites);
        if agreed {
            problem = problem.severity(Severity::Note);
        } else if refusing.contains(&router) {
            problem = problem.severity(Severity::Error);
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
    let same = |a: &Option<Secret>, b: &Option<Secret>| matches!((a, b), (Some(a), Some(b)) if a == b && a.bits().is_some() && !a.is_one_digit());
    // FortiGate has one key for both directions, and so has what states both in one line: the other end has to do alike.
    let only = |router: usize, there: &[&Stated], back: &[&Stated]| {
        let one_line = |x: &Stated| back.iter().any(|y| !x.cites.is_empty() && x.cites.first() == y.cites.first());
        let maker = view.policies.routers.get(router).and_then(|router| router.maker);
        maker == Some("Fortinet") || there.iter().any(|x| one_line(x))
    };
    let single: BTreeSet<(Protocol, Address, Address)> = pairs
        .iter()
        .filter(|((router, ..), [there, back])| only(*router, there, back))
        .map(|((_, protocol, a, b), _)| (*protocol, *a, *b))
        .collect();
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
        let severity = if single.contains(&(protocol, a, b)) { Severity::Note } else { Severity::Warning };
        problems.push(Problem::new("config-key-reused", evidence).severity(severity).about(view.name(router)).lines(
            view.policies,
            router,
            x.cites.first().into_iter().chain(y.cites.first()),
        ));
    }
}

/// Each weak set of transforms once, with all lines that name it.
fn weak(view: &View<'_>, problems: &mut Vec<Problem>) {
    let mut found: WeakSets = BTreeMap::new();
    let mut add = |idle: bool, words: &str, suite: Option<Suite>, router: usize, cite: &Cite| {
        if let Some(suite) = suite.filter(|suite| !suite.weaknesses().is_empty()) {
            found.entry((idle, words.to_owned())).or_insert_with(|| (suite, Vec::new())).1.push((router, cite.clone()));
        }
    };
    for (at, router) in view.policies.routers.iter().enumerate() {
        let named = named_sets(router);
        for (name, set) in &router.transform_sets {
            let is_idle = !named.is_empty() && !named.contains(name.as_str()) && !router.forwarding.mentions(name);
            add(is_idle, &set.words, set.words.parse().ok(), at, &set.cite);
        }
    }
    for stated in view.stated.iter().filter(|one| one.basis != Basis::Manual) {
        if let Some(cite) = stated.cites.first() {
            add(false, &stated.words, stated.suite, stated.router, cite);
        }
    }
    for ((idle, words), (suite, lines)) in found {
        let mut hosts: Vec<&str> = lines.iter().map(|(router, _)| view.name(*router)).collect();
        hosts.dedup();
        let more = if hosts.len() > 4 { " and others" } else { "" };
        hosts.truncate(4);
        let why: Vec<String> =
            suite.weaknesses().iter().map(|weak| format!("{}: {}", weak.algorithm, weak.why)).collect();
        let mut evidence = format!("{words} ({}{more}). {}.", hosts.join(", "), why.join("; "));
        if idle {
            evidence.push_str(" No crypto map and no profile names the transform set: no SA has it.");
        }
        let severity = if idle { Severity::Note } else { Severity::Warning };
        let mut problem = Problem::new("weak-transform", evidence).severity(severity).about(suite.to_string());
        for (router, cite) in &lines {
            problem = problem.lines(view.policies, *router, [cite]);
        }
        problems.push(problem);
    }
}

/// The transform sets that crypto maps and profiles of a router name.
fn named_sets(router: &Router) -> BTreeSet<&str> {
    let of_maps = router.maps.iter().flat_map(|entry| &entry.transform_sets);
    of_maps.chain(router.profiles.values().flatten()).map(|(set, _)| set.as_str()).collect()
}
