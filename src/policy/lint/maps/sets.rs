//! Transform sets of entries that face each other: the same with manual keys, one in common with IKE.

use std::collections::BTreeSet;

use crate::model::Protocol;
use crate::model::report::Severity;
use crate::policy::facts::router::{Keying, MapEntry, Router};
use crate::policy::facts::stated::{ios_suite, uses};
use crate::policy::lint::blame;
use crate::policy::lint::blame::Side;
use crate::policy::lint::{Facing, agree, fits, near};
use crate::policy::{Cite, Mode, Problem, Secret, TransformSet, View, fix};

/// A side of a pair with its sets.
struct End<'v> {
    router: usize,
    host: &'v str,
    entry: &'v MapEntry,
    /// The names of its sets; of a name that nothing has, the one that is meant.
    names: Vec<&'v str>,
    sets: Vec<&'v TransformSet>,
}

pub(in crate::policy::lint) fn problems(view: &View<'_>, facing: &[Facing]) -> Vec<Problem> {
    facing.iter().filter_map(|pair| problem(view, *pair)).collect()
}

/// Entries whose transform set is the wrong one of two: their keys fit the other.
pub(in crate::policy::lint) fn accused(view: &View<'_>, facing: &[Facing]) -> BTreeSet<(usize, usize)> {
    let of = |pair: &Facing| {
        let (a, b) = ends(view, *pair)?;
        if common(&a, &b).is_some() {
            return None;
        }
        Some(fault(&a, &b)?.0.of(pair.a, pair.b))
    };
    facing.iter().filter_map(of).collect()
}

fn end<'v>(view: &'v View<'_>, at: (usize, usize)) -> Option<End<'v>> {
    let router: &Router = view.policies.routers.get(at.0)?;
    let entry = view.entry(at.0, at.1)?;
    let known = |name: &String| {
        let sets = &router.transform_sets;
        if is_of_release(router, name) && !sets.contains_key(name) {
            return None;
        }
        let name = near::resolved(name, sets.keys().map(String::as_str))?;
        router.transform_sets.get_key_value(name).map(|(name, set)| (name.as_str(), set))
    };
    let (names, sets): (Vec<_>, Vec<_>) = entry.transform_sets.iter().filter_map(|(name, _)| known(name)).unzip();
    // A set whose definition was not pasted may be anything.
    let known = !sets.is_empty() && sets.len() == entry.transform_sets.len();
    known.then_some(End { router: at.0, host: &router.name, entry, names, sets })
}

fn ends<'v>(view: &'v View<'_>, pair: Facing) -> Option<(End<'v>, End<'v>)> {
    let (a, b) = (end(view, pair.a)?, end(view, pair.b)?);
    (a.entry.keying == b.entry.keying).then_some((a, b))
}

/// Whether a name is that of a transform set that IOS itself has (`show crypto ipsec transform-set default`).
pub(in crate::policy::lint) fn is_of_release(router: &Router, name: &str) -> bool {
    router.maker.is_none() && name == "default"
}

pub(in crate::policy::lint) fn same(x: &str, y: &str) -> bool {
    match (ios_suite(x), ios_suite(y)) {
        (Some(x), Some(y)) => agree(&x, &y),
        _ => x.split(' ').collect::<BTreeSet<_>>() == y.split(' ').collect::<BTreeSet<_>>(),
    }
}

fn common<'v>(a: &End<'v>, b: &End<'v>) -> Option<(&'v TransformSet, &'v TransformSet)> {
    let mut both = a.sets.iter().flat_map(|x| b.sets.iter().map(move |y| (*x, *y)));
    both.find(|(x, y)| same(&x.words, &y.words))
}

fn cites(end: &End<'_>) -> Vec<Cite> {
    let modes = end.sets.iter().filter_map(|set| set.mode.as_ref().map(|(_, cite)| cite.clone()));
    let names = end.entry.transform_sets.iter().map(|(_, cite)| cite.clone());
    end.sets.iter().map(|set| set.cite.clone()).chain(modes).chain(names).collect()
}

fn problem(view: &View<'_>, pair: Facing) -> Option<Problem> {
    let (a, b) = ends(view, pair)?;
    let problem = |evidence: String| {
        Problem::new("config-transform-mismatch", evidence)
            .about(format!("{} < > {}", a.host, b.host))
            .lines(view.policies, a.router, &cites(&a))
            .lines(view.policies, b.router, &cites(&b))
    };
    let Some((x, y)) = common(&a, &b) else {
        let listed = |end: &End<'_>| end.sets.iter().map(|set| set.words.as_str()).collect::<Vec<_>>().join(" | ");
        let mut evidence = format!("{} has {}, {} has {}: nothing in common.", a.host, listed(&a), b.host, listed(&b));
        if a.entry.unread.proposals && b.entry.unread.proposals {
            evidence.push_str(" Both have proposals of IKEv2, too, which are not compared: the two may use these.");
            return Some(problem(evidence).severity(Severity::Note));
        }
        return Some(laid(view, problem(evidence), &a, &b));
    };
    let modes = [x, y].map(|set| set.mode.as_ref().map_or(Mode::Tunnel, |(mode, _)| *mode));
    let [mine, theirs] = modes;
    let is_unknown = [x, y].into_iter().any(|set| set.cut && set.mode.is_none());
    if mine == theirs || is_unknown {
        return None;
    }
    // Other makers do what they were told; the mode that one takes where nothing is said may be either.
    let obeys = |end: &End<'_>| {
        let maker = view.policies.routers.get(end.router).and_then(|router| router.maker);
        maker.is_some_and(|maker| !maker.starts_with("PIX"))
    };
    if obeys(&a) && obeys(&b) {
        if x.mode.is_none() || y.mode.is_none() {
            return None;
        }
        let evidence = format!(
            "{} has {} mode and {} {} mode: what one sends, the other does not take for what it was told of.",
            a.host,
            mine.name(),
            b.host,
            theirs.name()
        );
        return Some(problem(evidence).severity(Severity::Warning));
    }
    let evidence = format!(
        "{} has {} mode and {} {} mode. For traffic that a router only forwards, IOS uses tunnel mode regardless of the configuration; \
         for its own (GRE) the two cannot agree.",
        a.host,
        mine.name(),
        b.host,
        theirs.name()
    );
    // Traffic between the tunnel's own ends is the only one that transport mode is for.
    let own = [(pair.a, &a), (pair.b, &b)].into_iter().any(|(at, end)| protects_itself(view, at, end));
    Some(problem(evidence).severity(if own { Severity::Warning } else { Severity::Note }))
}

/// Whether an entry's access list selects traffic between the tunnel's own ends.
fn protects_itself(view: &View<'_>, at: (usize, usize), end: &End<'_>) -> bool {
    let list = end.entry.acl.as_ref().and_then(|(name, _)| view.policies.routers.get(at.0)?.acls.get(name));
    let Some(list) = list else { return true };
    let (Some(own), Some((peer, _))) = (view.local(at.0, at.1), end.entry.peers.first()) else { return true };
    list.permits.iter().any(|(selector, _)| selector.src.contains(own) && selector.dst.contains(*peer))
}

/// Lays a mismatch at the side whose keys do not fit its set; never makes the stronger set weaker where nothing decides.
fn laid(view: &View<'_>, problem: Problem, a: &End<'_>, b: &End<'_>) -> Problem {
    let typed = |side: Side| -> Vec<String> {
        let (own, other) = (side.of(a, b), side.other().of(a, b));
        let words = other.sets.first().and_then(|set| fix::ios_set(&set.words));
        let (Some(name), Some(words)) = (own.names.first(), words) else { return Vec::new() };
        let peer = own.entry.peers.first().map(|(peer, _)| *peer);
        fix::global(peer, vec![format!("crypto ipsec transform-set {name} {words}")])
    };
    if let Some((side, why)) = fault(a, b) {
        return blame::decided(problem, side.of(a.host, b.host), &why, typed(side));
    }
    let weaker = Side::weaker(strength(a), strength(b)).unwrap_or(Side::B);
    // Of two sides, the one that can have the other's transforms.
    let fits = |side: Side| in_words_of(view, side.of(a, b), side.other().of(a, b)).is_some();
    let side = if fits(weaker) || !fits(weaker.other()) { weaker } else { weaker.other() };
    let (own, other) = (side.of(a, b), side.other().of(a, b));
    match in_words_of(view, other, own) {
        Some(words) => {
            blame::open(problem, own.host, typed(side), &format!("give {} the transform set {words}", other.host))
        }
        None => {
            let mut problem = problem.fix(own.host, typed(side));
            let is_pix = |router: &Router| router.maker.is_some_and(|maker| maker.starts_with("PIX"));
            let by = if view.policies.routers.get(other.router).is_some_and(is_pix) { " with IKEv1" } else { "" };
            let said = format!(" {} cannot have the transforms of {}{by}.", other.host, own.host);
            problem.evidence.push_str(&said);
            problem
        }
    }
}

/// The set of one side in the words of the other side's system; `None` where that system has no such set.
fn in_words_of(view: &View<'_>, end: &End<'_>, of: &End<'_>) -> Option<String> {
    let words = &of.sets.first()?.words;
    let router = view.policies.routers.get(end.router)?;
    match router.maker {
        None => fix::ios_set(words),
        // Release 7 gave AH up. Of a router whose release is not known, nothing is said to be missing.
        Some(maker) if maker.starts_with("PIX") => fix::asa_set(words, !router.forwarding.is_asa),
        Some(_) => Some(words.clone()),
    }
}

/// The side whose transform set contradicts the keys of both routers, and why.
fn fault(a: &End<'_>, b: &End<'_>) -> Option<(Side, String)> {
    if a.entry.keying != Keying::Manual {
        return None;
    }
    let (mine, theirs) = (a.sets.first()?, b.sets.first()?);
    let (fits_mine, fits_theirs) = (fitting(&mine.words, a, b), fitting(&theirs.words, a, b));
    let side = Side::weaker(fits_mine, fits_theirs)?;
    let (least, most) = (fits_mine.min(fits_theirs), fits_mine.max(fits_theirs));
    Some((
        side,
        format!("{most} of the session keys of both routers fit the other transform set, and {least} fit this one"),
    ))
}

/// How many keys of both routers a set takes: each has a use in it, and the length that its algorithm wants.
fn fitting(words: &str, a: &End<'_>, b: &End<'_>) -> usize {
    let Some(suite) = ios_suite(words) else { return 0 };
    let keys = a.entry.keys.iter().chain(&b.entry.keys);
    keys.filter(|key| uses(words, key.protocol))
        .map(|key| {
            let esp = suite.esp.filter(|_| key.protocol == Protocol::Esp);
            let wants_cipher = esp.is_some_and(|esp| esp.cipher.encrypts());
            let wants_authenticator = key.protocol == Protocol::Ah || esp.is_some_and(|esp| esp.integrity.is_some());
            let one = |key_of: &Option<Secret>, wanted: bool, cipher: bool| match key_of {
                Some(secret) if wanted => usize::from(
                    secret.bits().is_some_and(|bits| fits(&suite, key.protocol, cipher, bits) != Some(false)),
                ),
                _ => 0,
            };
            one(&key.cipher, wants_cipher, true) + one(&key.authenticator, wants_authenticator, false)
        })
        .sum()
}

/// A measure of a set: less is weaker.
fn strength(end: &End<'_>) -> usize {
    let Some(suite) = end.sets.first().and_then(|set| ios_suite(&set.words)) else { return 0 };
    let bits = suite.esp.and_then(|esp| esp.key_bits).unwrap_or(128) as usize;
    let tag = suite.esp.and_then(|esp| esp.integrity).or(suite.ah).is_some();
    bits + usize::from(tag) * 1_000 + 100_000_usize.saturating_sub(suite.weaknesses().len() * 10_000)
}
