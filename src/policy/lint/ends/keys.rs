//! Manual keys that the transform set does not use, and keys that it lacks.

use crate::model::{Protocol, Spi};
use crate::policy::facts::router::{Keying, MapEntry, Router, SessionKey};
use crate::policy::facts::stated::{ios_suite, sets, uses};
use crate::policy::lint::Facing;
use crate::policy::lint::maps::placement::in_use;
use crate::policy::lint::maps::session::{doubled, key};
use crate::policy::{Cite, Problem, TransformSet, View, fix};
use crate::transform::Suite;

/// What a transform set asks for and an entry's keys do not give.
#[derive(Default)]
struct Gaps<'e> {
    /// Keys of protocols that the set does not have.
    unused: Vec<&'e SessionKey>,
    /// Protocols and ways without any key.
    lacking: Vec<(Protocol, bool)>,
    /// Lines without one of the two keys that the set asks for.
    halves: Vec<(&'e SessionKey, &'static str)>,
}

impl<'e> Gaps<'e> {
    fn of(words: &str, entry: &'e MapEntry) -> Self {
        let suite = ios_suite(words);
        // Where no keys were pasted at all, a part of the configuration is missing, not a key.
        let ways = [(Protocol::Esp, true), (Protocol::Esp, false), (Protocol::Ah, true), (Protocol::Ah, false)];
        let given = |protocol: Protocol, inbound: bool| {
            entry.keys.iter().any(|key| key.protocol == protocol && key.inbound == inbound)
        };
        let lacking = ways
            .into_iter()
            .filter(|_| !entry.keys.is_empty() && !entry.unread.keys)
            .filter(|(protocol, inbound)| uses(words, *protocol) && !given(*protocol, *inbound))
            .collect();
        let (used, unused): (Vec<_>, Vec<_>) = entry.keys.iter().partition(|key| uses(words, key.protocol));
        let half = |key: &&'e SessionKey| {
            let esp = suite?.esp.filter(|_| key.protocol == Protocol::Esp)?;
            if esp.cipher.encrypts() && key.cipher.is_none() {
                Some("cipher (encryption)")
            } else if esp.integrity.is_some() && key.authenticator.is_none() {
                Some("authenticator (authentication)")
            } else {
                None
            }
        };
        let halves = used.iter().filter_map(|key| Some((*key, half(key)?))).collect();
        Self { unused, lacking, halves }
    }

    fn is_empty(&self) -> bool {
        self.unused.is_empty() && self.lacking.is_empty() && self.halves.is_empty()
    }
}

pub(in crate::policy::lint) fn problems(view: &View<'_>, facing: &[Facing]) -> Vec<Problem> {
    let mut problems = Vec::new();
    // Where each line stands for itself, as in Junos, any may have been cut out.
    let whole = |router: &Router| router.maker.is_none() || !router.forwarding.cut_display;
    for (at, router) in view.policies.routers.iter().enumerate().filter(|(_, router)| whole(router)) {
        for (number, entry) in router.maps.iter().enumerate().filter(|(_, entry)| entry.keying == Keying::Manual) {
            let there = facing.iter().flat_map(|pair| pair.both_ways()).find(|(here, _)| *here == (at, number));
            let theirs = there.and_then(|(_, there)| Peer::of(view, there));
            let found = entry_problems(view, at, router, entry, theirs.as_ref());
            problems.extend(found.into_iter().map(|problem| in_use(view, (at, number), facing, problem)));
        }
    }
    problems
}

/// The entry of the other router.
struct Peer<'v> {
    entry: &'v MapEntry,
    set: Option<&'v TransformSet>,
}

impl<'v> Peer<'v> {
    fn of(view: &'v View<'_>, at: (usize, usize)) -> Option<Self> {
        let router = view.policies.routers.get(at.0)?;
        let entry = view.entry(at.0, at.1).filter(|entry| entry.keying == Keying::Manual)?;
        Some(Self { entry, set: sets(router, entry).first().copied() })
    }

    /// The number that it states for the other end of a key.
    fn number(&self, protocol: Protocol, inbound: bool) -> Option<Spi> {
        let answers = |key: &&SessionKey| key.protocol == protocol && key.inbound != inbound;
        self.entry.keys.iter().find(answers).map(|key| key.spi)
    }
}

fn entry_problems(
    view: &View<'_>,
    at: usize,
    router: &Router,
    entry: &MapEntry,
    theirs: Option<&Peer<'_>>,
) -> Vec<Problem> {
    let Some(set) = sets(router, entry).first().copied() else { return Vec::new() };
    let gaps = Gaps::of(&set.words, entry);
    if gaps.is_empty() {
        return Vec::new();
    }
    // Keys that are as the peer's set wants them are right, and the set is wrong (`sets` has the lines).
    let set_is_wrong = theirs.and_then(|peer| peer.set).is_some_and(|far| Gaps::of(&far.words, entry).is_empty());
    let mut problems = Vec::new();
    if !gaps.unused.is_empty() || !gaps.lacking.is_empty() {
        problems.push(unused(view, at, router, entry, set, &gaps, theirs.filter(|_| !set_is_wrong), set_is_wrong));
    }
    if !set_is_wrong {
        problems.extend(halves(view, at, router, entry, set, &gaps));
    }
    problems
}

#[expect(clippy::too_many_arguments, reason = "the parts of one entry")]
fn unused(
    view: &View<'_>,
    at: usize,
    router: &Router,
    entry: &MapEntry,
    set: &TransformSet,
    gaps: &Gaps<'_>,
    theirs: Option<&Peer<'_>>,
    set_is_wrong: bool,
) -> Problem {
    let Gaps { unused, lacking, .. } = gaps;
    let name = &router.name;
    let map = format!("crypto map {} {}", entry.name, entry.number);
    let mut evidence = format!("{name}: {map} uses transform set {} ({})", set_name(entry), set.words);
    if !unused.is_empty() {
        let listed: Vec<String> =
            unused.iter().map(|key| format!("{} {} {}", way(key.inbound), key.protocol.title(), key.spi.0)).collect();
        evidence.push_str(&format!(", and has session keys that it does not use: {}", listed.join(", ")));
    }
    if !lacking.is_empty() {
        let listed: Vec<String> =
            lacking.iter().map(|(protocol, inbound)| format!("{} {}", way(*inbound), protocol.title())).collect();
        evidence.push_str(&format!("; keys that it needs are missing: {}", listed.join(", ")));
    }
    let doubled: Vec<&SessionKey> = lacking.iter().filter_map(|(protocol, _)| doubled(entry, *protocol)).collect();
    evidence.push_str(&doubled.first().map(|old| twice(entry, old)).unwrap_or_default());
    evidence.push('.');
    if lacking.iter().any(|(_, inbound)| !inbound) {
        evidence.push_str(" Packets leave with SPI 0 and the peer drops them, while the SAs are shown as active.");
    }
    if set_is_wrong {
        evidence.push_str(
            " The keys are as the peer's transform set wants them: the transform set is wrong, not the keys.",
        );
    }
    let silent = router.counters.iter().filter(|counters| counters.encapsulated > 0 && counters.decapsulated == 0);
    let mut cited: Vec<&Cite> = unused.iter().map(|key| &key.cite).chain(doubled.iter().map(|old| &old.cite)).collect();
    for counters in silent.take(1) {
        evidence.push_str(&format!(
            " Its own counters agree: it encrypts, never decrypts ({} packets encapsulated, 0 decapsulated).",
            counters.encapsulated
        ));
        cited.extend(&counters.cites);
    }
    let set_lines = std::iter::once(&set.cite).chain(entry.transform_sets.iter().map(|(_, cite)| cite));
    let problem = Problem::new("config-unused-key", evidence)
        .about(format!("{name} {map}"))
        .lines(view.policies, at, cited)
        .lines(view.policies, at, set_lines);
    if set_is_wrong {
        return problem;
    }
    let suite: Option<Suite> = set.words.parse().ok();
    let mut lines: Vec<String> = Vec::new();
    for key in unused {
        lines.push(format!("no set session-key {} {}", way(key.inbound), key.protocol.name()));
    }
    for (protocol, inbound) in lacking {
        lines.extend(entered(entry, (*protocol, *inbound), unused, theirs, suite.as_ref()));
    }
    problem.fix(name, fix::in_map(entry, lines))
}

/// Says that two lines of an entry have one direction word.
fn twice(entry: &MapEntry, old: &SessionKey) -> String {
    let later = key(entry, old.protocol, old.inbound);
    format!(
        "; two of its lines are {} {}, SPI {} and then {}, of which the second replaces the first: one of the two has the wrong direction \
         word",
        way(old.inbound),
        old.protocol.title(),
        old.spi.0,
        later.map_or(0, |key| key.spi.0)
    )
}

/// The lines that enter keys of a direction that has none.
fn entered(
    entry: &MapEntry,
    (protocol, inbound): (Protocol, bool),
    unused: &[&SessionKey],
    theirs: Option<&Peer<'_>>,
    suite: Option<&Suite>,
) -> Vec<String> {
    let typed = |inbound: bool, spi: Option<Spi>| fix::session_key(inbound, protocol, spi, suite);
    let old = doubled(entry, protocol);
    if let Some((old, later)) = old.and_then(|old| Some((old, key(entry, protocol, old.inbound)?))) {
        // The line that the peer has as the other end of a direction is that direction's.
        let turned = theirs.and_then(|peer| peer.number(protocol, old.inbound)) == Some(later.spi);
        let (first, second) = if turned { (later.spi, old.spi) } else { (old.spi, later.spi) };
        return vec![typed(old.inbound, Some(first)), typed(inbound, Some(second))];
    }
    // What the peer states is the number that was meant; else the one of the line that is not used.
    let stated = theirs.and_then(|peer| peer.number(protocol, inbound));
    vec![typed(inbound, stated.or_else(|| unused.iter().find(|key| key.inbound == inbound).map(|key| key.spi)))]
}

/// Lines that have one of the two keys that the transform set asks for.
fn halves(
    view: &View<'_>,
    at: usize,
    router: &Router,
    entry: &MapEntry,
    set: &TransformSet,
    gaps: &Gaps<'_>,
) -> Option<Problem> {
    gaps.halves.first()?;
    let name = &router.name;
    let map = format!("crypto map {} {}", entry.name, entry.number);
    let listed: Vec<String> = gaps
        .halves
        .iter()
        .map(|(key, what)| {
            format!("the {} {} line (SPI {}) has no {what} key", way(key.inbound), key.protocol.title(), key.spi.0)
        })
        .collect();
    let evidence =
        format!("{name}: {map} uses transform set {} ({}), and {}.", set_name(entry), set.words, listed.join(", "));
    let suite = ios_suite(&set.words);
    let lines =
        gaps.halves.iter().map(|(key, _)| fix::session_key(key.inbound, key.protocol, Some(key.spi), suite.as_ref()));
    Some(
        Problem::new("config-key-missing", evidence)
            .about(format!("{name} {map}"))
            .lines(view.policies, at, gaps.halves.iter().map(|(key, _)| &key.cite))
            .lines(view.policies, at, [&set.cite])
            .fix(name, fix::in_map(entry, lines.collect())),
    )
}

fn set_name(entry: &MapEntry) -> &str {
    entry.transform_sets.first().map_or("", |(name, _)| name)
}

fn way(inbound: bool) -> &'static str {
    if inbound { "inbound" } else { "outbound" }
}
