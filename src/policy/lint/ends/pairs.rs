//! What one router sends against what the other waits for: SPIs, keys and transforms of one direction.

use std::collections::{BTreeMap, BTreeSet};

use super::mixed;
use super::turned::Turned;
use crate::model::report::Severity;
use crate::model::{Address, Protocol, Spi};
use crate::policy::facts::router::Way;
use crate::policy::facts::slip::slip;
use crate::policy::facts::stated::{Basis, Stated};
use crate::policy::lint::{Facing, blame, linux, rekeyed};
use crate::policy::lint::{agree, fits, one_des_key, part_of};
use crate::policy::{Cite, Mode, Problem, Secret, View, fix};
use crate::transform::{Esp, Suite};

/// SPIs named in an evidence.
const NAMED: usize = 4;

/// One direction between two endpoints.
pub(super) type Direction = (Protocol, Address, Address);

/// What the routers state of each direction.
pub(super) type Directions<'s> = BTreeMap<Direction, Ends<'s>>;

/// What each router states of each direction: as sender, and as receiver. Where the router does not say which it is, both.
#[derive(Default)]
pub(super) struct Ends<'s> {
    pub(super) sending: BTreeMap<usize, Vec<&'s Stated>>,
    pub(super) receiving: BTreeMap<usize, Vec<&'s Stated>>,
}

pub(in crate::policy::lint) fn problems(view: &View<'_>, facing: &[Facing]) -> Vec<Problem> {
    // Manual entries that face each other are compared line by line (`entries`).
    let placed: BTreeSet<(usize, usize)> = facing.iter().flat_map(|pair| [pair.a, pair.b]).collect();
    // An entry that has its counterpart is compared with no other: its peer may be the line that is wrong.
    let paired = |out: &Stated, inward: &Stated| {
        let at = |one: &Stated| Some((one.router, one.map.filter(|_| one.basis == Basis::Manual)?));
        at(out).zip(at(inward)).is_some_and(|(out, inward)| placed.contains(&out) && placed.contains(&inward))
    };
    let mut directions: Directions<'_> = BTreeMap::new();
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
    let mut told = BTreeSet::new();
    for (direction, ends) in &directions {
        for (&sender, sending) in &ends.sending {
            for (&receiver, receiving) in ends.receiving.iter().filter(|(receiver, _)| **receiver != sender) {
                let undirected = |stated: &[&Stated]| stated.iter().all(|one| one.way.is_none());
                if undirected(sending) && undirected(receiving) && sender > receiver {
                    continue;
                }
                for (mut out, mut inward) in comparable(sending, receiving) {
                    let (all_out, all_in) = (out.clone(), inward.clone());
                    out.retain(|one| !all_in.iter().any(|other| paired(one, other)));
                    inward.retain(|other| !all_out.iter().any(|one| paired(one, other)));
                    // Two Linux hosts say more of each state than an SA has.
                    let kernels = out.iter().chain(&inward).all(|one| linux::is_state(view, one));
                    if kernels || out.is_empty() || inward.is_empty() {
                        continue;
                    }
                    match Turned::of(&directions, *direction, &out, &inward) {
                        Some(turned) if told.insert(turned.name()) => problems.extend(turned.problems(view)),
                        Some(_) => {}
                        None => compare(view, &directions, *direction, &out, &inward, &mut problems),
                    }
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
    directions: &Directions<'_>,
    direction: Direction,
    out: &[&Stated],
    inward: &[&Stated],
    problems: &mut Vec<Problem>,
) {
    let spis = |stated: &[&Stated]| stated.iter().map(|one| one.spi).collect::<BTreeSet<Spi>>();
    let (sent, expected) = (spis(out), spis(inward));
    let mut unknown: BTreeSet<Spi> = sent.difference(&expected).copied().collect();
    let waiting: BTreeSet<Spi> = expected.difference(&sent).copied().collect();
    let negotiated = rekeyed::are_negotiated(view, out, inward);
    // While IKE makes an SA anew, there are two of them for some time: one that both have is enough.
    if negotiated && !sent.is_disjoint(&expected) {
        unknown.clear();
    }
    if !unknown.is_empty() && negotiated {
        let words = [named(&unknown), named(&expected)];
        let together = agree_on_the_way_back(directions, direction, out, inward);
        problems.push(rekeyed::problem(view, direction, [out, inward], &unknown, words, together));
    } else if !unknown.is_empty() {
        problems.push(spi_problem(view, directions, direction, out, inward, &unknown, &waiting));
    }
    let by_spi: BTreeMap<Spi, &Stated> = inward.iter().rev().map(|one| (one.spi, *one)).collect();
    for one in out {
        let same = by_spi.get(&one.spi).copied();
        // If each side has one SA, they belong together even with different SPIs, unless a rekey by IKE may explain the difference.
        let alone = || if out.len() == 1 && inward.len() == 1 && !negotiated { inward.first().copied() } else { None };
        if let Some(other) = same.or_else(alone) {
            // Keys of different algorithms are different keys whatever they are.
            let part = |stated: &Stated| Some(part_of(stated.suite?, stated.protocol));
            if part(one).zip(part(other)).is_none_or(|(one, other)| agree(&one, &other)) {
                problems.extend(key_problem(view, direction, one, other));
            }
            if one.basis == Basis::InForce && other.basis == Basis::InForce {
                problems.extend(suite_problem(view, one, other));
            } else if one.basis != other.basis {
                problems.extend(mixed::problems(view, one, other));
            }
        }
    }
}

/// Whether what the receiver sends is what the sender receives, each as it is displayed.
fn agree_on_the_way_back(
    directions: &Directions<'_>,
    (protocol, src, dst): Direction,
    out: &[&Stated],
    inward: &[&Stated],
) -> bool {
    let Some(back) = directions.get(&(protocol, dst, src)) else { return false };
    let spis = |of: Option<&Vec<&Stated>>| -> BTreeSet<Spi> {
        let all = of.into_iter().flatten();
        all.filter(|one| one.basis == Basis::InForce && one.way.is_some()).map(|one| one.spi).collect()
    };
    let sent = inward.first().map(|one| spis(back.sending.get(&one.router))).unwrap_or_default();
    !sent.is_empty() && out.first().is_some_and(|one| spis(back.receiving.get(&one.router)) == sent)
}

fn spi_problem(
    view: &View<'_>,
    directions: &Directions<'_>,
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
    if let (Some(first), false) = (out.iter().find(|one| !one.used), waiting.is_empty()) {
        evidence.push_str(&format!(
            " {from} does not use the key at all: its transform set has no {}.",
            first.protocol.title()
        ));
    }
    let lines = |stated: &[&Stated], of: &BTreeSet<Spi>| -> Vec<Cite> {
        stated.iter().filter(|one| of.contains(&one.spi)).filter_map(|one| one.cites.first().cloned()).collect()
    };
    let problem = Problem::new("config-spi-mismatch", evidence)
        .about(format!("{from} > {to}"))
        .lines(view.policies, sender, &lines(out, unknown))
        .lines(view.policies, receiver, &lines(inward, if waiting.is_empty() { &all } else { waiting }));
    let wrong = out.iter().find(|one| unknown.contains(&one.spi));
    match wrong.zip(inward.iter().find(|one| waiting.contains(&one.spi))) {
        Some((wrong, waits)) => left_open(view, problem, wrong, waits),
        None => problem,
    }
}

/// Nothing decides which of two numbers is mistyped: lines for one end, or what to type in words.
fn left_open(view: &View<'_>, mut problem: Problem, out: &Stated, inward: &Stated) -> Problem {
    let (from, to) = (view.name(out.router), view.name(inward.router));
    let at_sender = format!("give {from} the outbound SPI {}", inward.spi.0);
    let theirs = fix::retyped(view, inward, inward.spi, out.spi);
    let lines = fix::retyped(view, out, out.spi, inward.spi);
    if lines.is_empty() && theirs.is_empty() {
        problem.evidence.push_str(&format!(
            " Which of the two is mistyped is not known: {at_sender}, or {to} the inbound SPI {}.",
            out.spi.0
        ));
        return problem;
    }
    if lines.is_empty() {
        return blame::open(problem, to, theirs, &at_sender);
    }
    blame::open(problem, from, lines, &format!("give {to} the inbound SPI {}", out.spi.0))
}

fn named(spis: &BTreeSet<Spi>) -> String {
    let listed: Vec<String> = spis.iter().take(NAMED).map(|spi| format!("{} ({spi})", spi.0)).collect();
    let more = spis.len().saturating_sub(NAMED);
    if more > 0 { format!("{} and {more} more", listed.join(", ")) } else { listed.join(" or ") }
}

fn mode(stated: &Stated) -> Mode {
    stated.mode.unwrap_or(Mode::Tunnel)
}

pub(super) fn key_problem(
    view: &View<'_>,
    (protocol, src, dst): Direction,
    out: &Stated,
    inward: &Stated,
) -> Option<Problem> {
    // An unreadable key says nothing of the other end's.
    let differ = |a: &Option<Secret>, b: &Option<Secret>| a.as_ref().zip(b.as_ref()).is_some_and(|(a, b)| a.differs(b));
    let mut which = Vec::new();
    let des = [out, inward].iter().all(|one| one.words.contains("des"));
    let ciphers = differ(&out.cipher, &inward.cipher) && !(des && one_des_key(&out.cipher, &inward.cipher));
    if ciphers {
        which.push("encryption keys");
    }
    let authenticators = differ(&out.authenticator, &inward.authenticator);
    if authenticators {
        which.push("authentication keys");
    }
    if which.is_empty() {
        return None;
    }
    let (from, to) = (view.name(out.router), view.name(inward.router));
    let misfit = misfit(out, inward, [ciphers, authenticators]);
    let [odd, other] = if misfit.as_ref().is_some_and(|(sender, _)| *sender) { [out, inward] } else { [inward, out] };
    let shorter = |a: &Option<Secret>, b: &Option<Secret>| bits_of(a).zip(bits_of(b)).is_some_and(|(a, b)| a < b);
    let short = shorter(&odd.cipher, &other.cipher) || shorter(&odd.authenticator, &other.authenticator);
    let what = if misfit.is_some() && odd.basis == Basis::Manual && short {
        format!("{} cannot use a key that is too short", view.name(odd.router))
    } else if !out.used && !inward.used {
        format!("Neither end uses it, because the transform set has no {}", protocol.title())
    } else if out.spi != inward.spi {
        format!("Once the SPIs agree, {to} would still not get what {from} sends")
    } else if authenticators || protocol == Protocol::Ah {
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
        .lines(view.policies, inward.router, inward.cites.first());
    let at_sender = fix::retyped(view, out, out.spi, inward.spi);
    // Of two numbers, the receiver takes the sender's where no lines are known for the sender.
    let spi = if at_sender.is_empty() { out.spi } else { inward.spi };
    let at_receiver = fix::retyped(view, inward, inward.spi, spi);
    Some(match misfit {
        Some((true, because)) => blame::decided(problem, from, &because, at_sender),
        Some((false, because)) => blame::decided(problem, to, &because, at_receiver),
        None => blame::one_key(problem, [(from, at_sender), (to, at_receiver)]),
    })
}

fn bits_of(key: &Option<Secret>) -> Option<u32> {
    key.as_ref()?.bits()
}

/// Where each key that differs has at the same end a length that is none of its algorithm, and not at the other: whether that is the
/// sender, and why. Such a key is right at neither end.
fn misfit(out: &Stated, inward: &Stated, [ciphers, authenticators]: [bool; 2]) -> Option<(bool, String)> {
    let mut found: Option<(bool, String)> = None;
    for (cipher, named) in [(true, "encryption"), (false, "authentication")] {
        if !(if cipher { ciphers } else { authenticators }) {
            continue;
        }
        let bits = |one: &Stated| bits_of(if cipher { &one.cipher } else { &one.authenticator });
        let takes = |one: &Stated| fits(&one.suite?, one.protocol, cipher, bits(one)?);
        let sender = match (takes(out)?, takes(inward)?) {
            (false, true) => true,
            (true, false) => false,
            _ => return None,
        };
        if found.as_ref().is_some_and(|(first, _)| *first != sender) {
            return None;
        }
        let length = bits(if sender { out } else { inward })?;
        let because = format!("its {named} key has {length} bits, which is no key length of its algorithm");
        found = found.or(Some((sender, because)));
    }
    found
}

fn suite_problem(view: &View<'_>, out: &Stated, inward: &Stated) -> Option<Problem> {
    let (sent, expected) = (out.suite.as_ref()?, inward.suite.as_ref()?);
    let modes = matches!((out.mode, inward.mode), (Some(a), Some(b)) if a != b);
    if agree(sent, expected) && !modes {
        return None;
    }
    if !modes && let Some(problem) = length_left_open(view, out, inward, [sent, expected]) {
        return Some(problem);
    }
    let (from, to) = (view.name(out.router), view.name(inward.router));
    // Lines that enter a state again enter its mode, too: they mend algorithms only.
    let open = if modes { " Which of the two is meant is not determined by these texts." } else { "" };
    let lines = if modes { Vec::new() } else { fix::retyped(view, inward, inward.spi, inward.spi) };
    let evidence = format!(
        "SPI {}: {from} sends {sent} in {} mode, and {to} expects {expected} in {} mode.{open}",
        out.spi.0,
        mode(out).name(),
        mode(inward).name()
    );
    let mut problem = Problem::new("config-transform-mismatch", evidence)
        .lines(view.policies, out.router, &out.cites)
        .lines(view.policies, inward.router, &inward.cites)
        .fix(to, lines);
    problem.subject = out.key().map(|key| key.to_string());
    Some(problem)
}

/// setkey names HMAC-SHA2-256 and no length of its ICV: the kernel that takes the commands decides (Linux 96 bits, the BSDs 128 bits).
fn length_left_open(view: &View<'_>, out: &Stated, inward: &Stated, suites: [&Suite; 2]) -> Option<Problem> {
    let is_setkey = |one: &Stated| {
        view.policies
            .routers
            .get(one.router)
            .is_some_and(|router| router.maker == Some(crate::policy::read::setkey::MAKER))
    };
    let (typed, other) = if is_setkey(out) { (out, inward) } else { (inward, out) };
    let integrities = suites.map(|suite| suite.esp.and_then(|esp| esp.integrity).or(suite.ah));
    let is_sha2 = integrities.iter().all(|one| one.is_some_and(|one| one.name.starts_with("HMAC-SHA2-256")));
    let without =
        |suite: &Suite| Suite { esp: suite.esp.map(|esp| Esp { integrity: None, ..esp }), ah: None, ..*suite };
    let [a, b] = suites.map(without);
    if !is_setkey(typed) || is_setkey(other) || !is_sha2 || !agree(&a, &b) {
        return None;
    }
    let [sent, expected] = suites;
    let theirs = if is_setkey(out) { expected } else { sent };
    let (name, far) = (view.name(typed.router), view.name(other.router));
    let evidence = format!(
        "SPI {}: {far} has {theirs}. {name} names HMAC-SHA2-256 without the length of its ICV, which depends on its system: setkey of \
         Linux makes 96 bits of it, those of FreeBSD and NetBSD 128 bits.",
        out.spi.0
    );
    let mut problem = Problem::new("config-transform-mismatch", evidence)
        .severity(Severity::Note)
        .lines(view.policies, out.router, out.cites.first())
        .lines(view.policies, inward.router, inward.cites.first());
    problem.subject = out.key().map(|key| key.to_string());
    Some(problem)
}
