//! What one router sends against what the other waits for: SPIs, keys and transforms of one direction.

use std::collections::{BTreeMap, BTreeSet};

use super::super::router::Way;
use super::super::slip::slip;
use super::super::stated::{Basis, Stated, ios_suite, sets};
use super::super::{Cite, MapEntry, Mode, Problem, Router, Secret, View, fix};
use super::Facing;
use crate::model::report::Severity;
use crate::model::{Address, Protocol, Spi};
use crate::transform::Suite;

/// SPIs named in an evidence.
const NAMED: usize = 4;

/// One direction between two endpoints.
type Direction = (Protocol, Address, Address);

/// What each router states of each direction: as sender, and as receiver. Where the router does not say which it is, both.
#[derive(Default)]
struct Ends<'s> {
    sending: BTreeMap<usize, Vec<&'s Stated>>,
    receiving: BTreeMap<usize, Vec<&'s Stated>>,
}

pub(super) fn problems(view: &View<'_>) -> Vec<Problem> {
    let mut directions: BTreeMap<Direction, Ends<'_>> = BTreeMap::new();
    for stated in view.stated.iter().filter(|stated| stated.basis != Basis::Listed) {
        let (Some(src), Some(dst)) = (stated.src, stated.dst) else { continue };
        let ends = directions.entry((stated.protocol, src, dst)).or_default();
        if stated.way != Some(Way::In) {
            ends.sending.entry(stated.router).or_default().push(stated);
        }
        if stated.way != Some(Way::Out) {
            ends.receiving.entry(stated.router).or_default().push(stated);
        }
    }
    let mut problems = Vec::new();
    for (direction, ends) in &directions {
        for (&sender, sending) in &ends.sending {
            for (&receiver, receiving) in ends.receiving.iter().filter(|(receiver, _)| **receiver != sender) {
                let undirected = |stated: &[&Stated]| stated.iter().all(|one| one.way.is_none());
                if undirected(sending) && undirected(receiving) && sender > receiver {
                    continue;
                }
                for (out, inward) in comparable(sending, receiving) {
                    compare(view, &directions, *direction, &out, &inward, &mut problems);
                }
            }
        }
    }
    problems
}

/// Configuration against configuration, and display against display; one against the other only where a router has but one of them.
fn comparable<'s>(sending: &[&'s Stated], receiving: &[&'s Stated]) -> Vec<(Vec<&'s Stated>, Vec<&'s Stated>)> {
    let of = |stated: &[&'s Stated], basis| stated.iter().filter(|one| one.basis == basis).copied().collect::<Vec<_>>();
    let mut pairs = Vec::new();
    for basis in [Basis::Manual, Basis::InForce] {
        let (out, inward) = (of(sending, basis), of(receiving, basis));
        if !out.is_empty() && !inward.is_empty() {
            pairs.push((out, inward));
        }
    }
    if pairs.is_empty() {
        pairs.push((sending.to_vec(), receiving.to_vec()));
    }
    pairs
}

fn compare(
    view: &View<'_>,
    directions: &BTreeMap<Direction, Ends<'_>>,
    direction: Direction,
    out: &[&Stated],
    inward: &[&Stated],
    problems: &mut Vec<Problem>,
) {
    let spis = |stated: &[&Stated]| stated.iter().map(|one| one.spi).collect::<BTreeSet<Spi>>();
    let (sent, expected) = (spis(out), spis(inward));
    let unknown: BTreeSet<Spi> = sent.difference(&expected).copied().collect();
    let waiting: BTreeSet<Spi> = expected.difference(&sent).copied().collect();
    if !unknown.is_empty() {
        problems.push(spi_problem(view, directions, direction, out, inward, &unknown, &waiting));
    }
    let by_spi: BTreeMap<Spi, &Stated> = inward.iter().rev().map(|one| (one.spi, *one)).collect();
    for one in out {
        let same = by_spi.get(&one.spi).copied();
        // One SA on each side is the same one, whatever its number.
        let alone = || if out.len() == 1 && inward.len() == 1 { inward.first().copied() } else { None };
        if let Some(other) = same.or_else(alone) {
            problems.extend(key_problem(view, direction, one, other));
            if one.basis == Basis::InForce && other.basis == Basis::InForce {
                problems.extend(suite_problem(view, one, other));
            }
        }
    }
}

fn spi_problem(
    view: &View<'_>,
    directions: &BTreeMap<Direction, Ends<'_>>,
    (protocol, src, dst): Direction,
    out: &[&Stated],
    inward: &[&Stated],
    unknown: &BTreeSet<Spi>,
    waiting: &BTreeSet<Spi>,
) -> Problem {
    let (sender, receiver) = (out.first().map_or(0, |one| one.router), inward.first().map_or(0, |one| one.router));
    let (from, to) = (view.name(sender), view.name(receiver));
    let all: BTreeSet<Spi> = inward.iter().map(|one| one.spi).collect();
    let mut evidence = format!(
        "{from} sends {} to {to} with SPI {}, and {to} expects {}",
        protocol.title(),
        named(unknown),
        named(if waiting.is_empty() { &all } else { waiting })
    );
    let back: BTreeSet<Spi> = directions
        .get(&(protocol, dst, src))
        .and_then(|ends| ends.sending.get(&receiver))
        .map(|sending| sending.iter().filter(|one| one.way == Some(Way::Out)).map(|one| one.spi).collect())
        .unwrap_or_default();
    let slipped = match (unknown.first(), waiting.first()) {
        (Some(sent), Some(meant)) if unknown.len() == 1 && waiting.len() == 1 => slip(*meant, *sent),
        _ => None,
    };
    if !back.is_empty() && unknown.iter().all(|spi| back.contains(spi)) {
        evidence.push_str(&format!(
            "; {to} uses it for the packets it sends: inbound and outbound are exchanged on one of the two"
        ));
    } else if let Some(slipped) = slipped {
        evidence.push_str(&format!("; the first is {slipped}"));
    }
    evidence.push('.');
    if let (Some(first), Some(key)) = (out.iter().find(|one| !one.used), waiting.first()) {
        evidence.push_str(&format!(
            " {from} does not use the key at all: its transform set has no {}.",
            first.protocol.title()
        ));
        let _ = key;
    }
    let lines = |stated: &[&Stated], of: &BTreeSet<Spi>| -> Vec<Cite> {
        stated.iter().filter(|one| of.contains(&one.spi)).filter_map(|one| one.cites.first().cloned()).collect()
    };
    let mut problem = Problem::new("config-spi-mismatch", evidence)
        .about(format!("{from} > {to}"))
        .lines(view.policies, sender, &lines(out, unknown))
        .lines(view.policies, receiver, &lines(inward, if waiting.is_empty() { &all } else { waiting }));
    if let (Some(meant), Some(wrong)) = (waiting.first(), out.iter().find(|one| unknown.contains(&one.spi))) {
        problem = problem.fix(from, fix::retyped(view, wrong, wrong.spi, *meant));
    }
    problem
}

fn named(spis: &BTreeSet<Spi>) -> String {
    let listed: Vec<String> = spis.iter().take(NAMED).map(|spi| format!("{} ({spi})", spi.0)).collect();
    let more = spis.len().saturating_sub(NAMED);
    if more > 0 { format!("{} and {more} more", listed.join(", ")) } else { listed.join(" or ") }
}

fn mode(stated: &Stated) -> Mode {
    stated.mode.unwrap_or(Mode::Tunnel)
}

fn key_problem(view: &View<'_>, (protocol, src, dst): Direction, out: &Stated, inward: &Stated) -> Option<Problem> {
    // An unreadable key says nothing of the other end's; nor does a phrase of the key that is made of it.
    let readable = |key: &&Secret| key.comparable();
    let differ = |a: &Option<Secret>, b: &Option<Secret>| matches!((a.as_ref().filter(readable), b.as_ref().filter(readable)), (Some(a), Some(b)) if a.bits().is_some() == b.bits().is_some() && a != b);
    let mut which = Vec::new();
    if differ(&out.cipher, &inward.cipher) {
        which.push("encryption keys");
    }
    if differ(&out.authenticator, &inward.authenticator) {
        which.push("authentication keys");
    }
    if which.is_empty() {
        return None;
    }
    let (from, to) = (view.name(out.router), view.name(inward.router));
    let what = if !out.used && !inward.used {
        format!("As it stands neither end uses it, because the transform set has no {}", protocol.title())
    } else if differ(&out.authenticator, &inward.authenticator) || protocol == Protocol::Ah {
        format!(
            "{to} finds the SA and drops every packet, because its integrity check fails; on the wire everything looks right"
        )
    } else {
        format!("{to} decrypts every packet to rubbish; on the wire everything looks right")
    };
    let evidence = format!(
        "{} from {from} to {to}, SPI {}: the {} of the two ends differ (compared, not shown). {what}.",
        protocol.title(),
        out.spi.0,
        which.join(" and ")
    );
    let id = crate::model::SaKey { protocol, src, dst, spi: out.spi };
    let problem = Problem::new("config-key-mismatch", evidence)
        .about(id.to_string())
        .lines(view.policies, out.router, out.cites.first())
        .lines(view.policies, inward.router, inward.cites.first())
        .fix(from, fix::retyped(view, out, out.spi, inward.spi))
        .fix(to, fix::retyped(view, inward, inward.spi, inward.spi));
    Some(problem)
}

fn suite_problem(view: &View<'_>, out: &Stated, inward: &Stated) -> Option<Problem> {
    let (sent, expected) = (out.suite.as_ref()?, inward.suite.as_ref()?);
    let modes = matches!((out.mode, inward.mode), (Some(a), Some(b)) if a != b);
    if agree(sent, expected) && !modes {
        return None;
    }
    let (from, to) = (view.name(out.router), view.name(inward.router));
    let evidence = format!(
        "SPI {}: {from} sends {sent} in {} mode, and {to} expects {expected} in {} mode.",
        out.spi.0,
        mode(out).name(),
        mode(inward).name()
    );
    let mut problem = Problem::new("config-transform-mismatch", evidence)
        .lines(view.policies, out.router, &out.cites)
        .lines(view.policies, inward.router, &inward.cites)
        .fix(to, fix::retyped(view, inward, inward.spi, inward.spi));
    problem.subject = out.key().map(|key| key.to_string());
    Some(problem)
}

/// Whether two suites are the same; a key length that only one of them names is no difference.
fn agree(a: &Suite, b: &Suite) -> bool {
    let bits = |suite: &Suite| suite.esp.and_then(|esp| esp.key_bits);
    let bare =
        |suite: &Suite| Suite { esp: suite.esp.map(|esp| crate::transform::Esp { key_bits: None, ..esp }), ..*suite };
    let lengths = matches!((bits(a), bits(b)), (Some(a), Some(b)) if a != b);
    bare(a) == bare(b) && !lengths
}

/// Transform sets of entries that face each other: the same with manual keys, one in common with IKE.
pub(super) fn transform_sets(view: &View<'_>, facing: &[Facing]) -> Vec<Problem> {
    facing.iter().filter_map(|pair| set_problem(view, *pair)).collect()
}

fn set_problem(view: &View<'_>, pair: Facing) -> Option<Problem> {
    let of = |at: (usize, usize)| -> Option<(&Router, &MapEntry)> {
        Some((view.policies.routers.get(at.0)?, view.entry(at.0, at.1)?))
    };
    let ((a_router, a), (b_router, b)) = (of(pair.a)?, of(pair.b)?);
    let (a_sets, b_sets) = (sets(a_router, a), sets(b_router, b));
    // A set whose definition was not pasted may be anything.
    if a_sets.len() < a.transform_sets.len()
        || b_sets.len() < b.transform_sets.len()
        || a_sets.is_empty()
        || b_sets.is_empty()
    {
        return None;
    }
    let same = |x: &str, y: &str| match (ios_suite(x), ios_suite(y)) {
        (Some(x), Some(y)) => agree(&x, &y),
        _ => x.split(' ').collect::<BTreeSet<_>>() == y.split(' ').collect::<BTreeSet<_>>(),
    };
    let common = a_sets.iter().flat_map(|x| b_sets.iter().map(move |y| (x, y))).find(|(x, y)| same(&x.words, &y.words));
    let cites = |sets: &[&super::super::TransformSet], entry: &MapEntry| -> Vec<Cite> {
        let modes = sets.iter().filter_map(|set| set.mode.as_ref().map(|(_, cite)| cite.clone()));
        let names = entry.transform_sets.iter().map(|(_, cite)| cite.clone());
        sets.iter().map(|set| set.cite.clone()).chain(modes).chain(names).collect()
    };
    let (a_host, b_host) = (&a_router.name, &b_router.name);
    let problem = |evidence: String| {
        Problem::new("config-transform-mismatch", evidence)
            .about(format!("{a_host} < > {b_host}"))
            .lines(view.policies, pair.a.0, &cites(&a_sets, a))
            .lines(view.policies, pair.b.0, &cites(&b_sets, b))
    };
    let Some((x, y)) = common else {
        let listed = |sets: &[&super::super::TransformSet]| {
            sets.iter().map(|set| set.words.as_str()).collect::<Vec<_>>().join(" | ")
        };
        let evidence =
            format!("{a_host} has {}, {b_host} has {}: nothing in common.", listed(&a_sets), listed(&b_sets));
        let name = b.transform_sets.first().map_or("", |(name, _)| name);
        let words = a_sets.first().map_or("", |set| &set.words);
        let lines = fix::global(vec![format!("crypto ipsec transform-set {name} {words}")]);
        return Some(problem(evidence).fix(b_host, lines));
    };
    let modes = [x, y].map(|set| set.mode.as_ref().map_or(Mode::Tunnel, |(mode, _)| *mode));
    let [mine, theirs] = modes;
    if mine == theirs {
        return None;
    }
    let evidence = format!(
        "{a_host} has {} mode and {b_host} {} mode. For traffic that a router only forwards, IOS takes tunnel mode whatever is configured; \
         for its own (GRE) the two cannot agree.",
        mine.name(),
        theirs.name()
    );
    Some(problem(evidence).severity(Severity::Warning))
}
