//! Access lists that are not mirror images.

use std::collections::BTreeSet;

use super::gre::Tunnels;
use crate::policy::facts::router::{Acl, Denied, Router};
use crate::policy::form::order::Chapter;
use crate::policy::lint::blame;
use crate::policy::lint::blame::Side;
use crate::policy::lint::{Facing, near};
use crate::policy::{Cite, Net, Problem, Selector, View, fix, names};

/// Selectors named in an evidence.
const NAMED: usize = 4;

/// A side of a pair with its list.
struct End<'v> {
    at: usize,
    router: &'v Router,
    tunnels: &'v Tunnels<'v>,
    host: &'v str,
    name: &'v str,
    list: &'v Acl,
    peer: Option<crate::model::Address>,
}

/// What to do with a line, and why.
struct Verdict {
    /// Whose line is at fault, or is changed where nothing decides.
    side: Side,
    /// Why, where something decides.
    because: Option<&'static str>,
    /// Lines that go.
    removed: Vec<String>,
    /// What is selected instead.
    added: Vec<Selector>,
}

pub(in crate::policy::lint) fn problems(view: &View<'_>, facing: &[Facing]) -> Vec<Problem> {
    let tunnels = Tunnels::all(view);
    facing.iter().filter_map(|pair| pair_problem(view, &tunnels, *pair)).collect()
}

fn end<'v>(view: &'v View<'_>, tunnels: &'v [Tunnels<'v>], at: (usize, usize)) -> Option<End<'v>> {
    let (router, tunnels) = (view.policies.routers.get(at.0)?, tunnels.get(at.0)?);
    let entry = view.entry(at.0, at.1)?;
    let (name, _) = entry.acl.as_ref()?;
    if !router.acls.contains_key(name) && router.forwarding.may_have(name, Chapter::Lists) {
        return None;
    }
    let name = near::resolved(name, router.acls.keys().map(String::as_str))?;
    let list = router.acls.get(name)?;
    // A list of which a line is not known may select anything.
    let known = !router.forwarding.vague.contains(name);
    let peer = entry.peers.first().map(|(peer, _)| *peer);
    known.then_some(End { at: at.0, router, tunnels, host: &router.name, name, list, peer })
}

/// What a selector selects, however its protocol and ports are written.
pub(in crate::policy::lint) type Meaning = (Result<u8, String>, [Net; 2], [Result<Vec<(u16, u16)>, String>; 2]);

pub(in crate::policy::lint) fn meaning(selector: &Selector) -> Meaning {
    let Selector { protocol, src, src_port, dst, dst_port } = selector;
    let port = |port: &str| names::ports(port).ok_or_else(|| port.to_owned());
    let protocol = selector.protocol_number().ok_or_else(|| protocol.clone());
    (protocol, [*src, *dst], [port(src_port), port(dst_port)])
}

fn pair_problem(view: &View<'_>, tunnels: &[Tunnels<'_>], pair: Facing) -> Option<Problem> {
    let (a, b) = (end(view, tunnels, pair.a)?, end(view, tunnels, pair.b)?);
    let (a_odd, b_odd) = (odd(a.list, b.list), odd(b.list, a.list));
    let (a_leaves, b_leaves) = (left_out(a.list, b.list), left_out(b.list, a.list));
    if a_odd.is_empty() && b_odd.is_empty() && a_leaves.is_empty() && b_leaves.is_empty() {
        return None;
    }
    let mut evidence = Vec::new();
    for (has, lacks, odd) in [(&a, &b, &a_odd), (&b, &a, &b_odd)] {
        if let Some((first, _)) = odd.first() {
            let listed: Vec<String> = odd.iter().take(NAMED).map(|(one, _)| one.to_string()).collect();
            let more = odd.len().saturating_sub(NAMED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            evidence.push(format!(
                "{} selects {}{more} ({}); {} has no mirror image of it ({})",
                has.host,
                listed.join(", "),
                has.name,
                lacks.host,
                first.mirrored()
            ));
        }
    }
    for (own, far, left) in [(&a, &b, &a_leaves), (&b, &a, &b_leaves)] {
        if let Some((first, _)) = left.first() {
            let (back, far) = (first.mirrored(), far.host);
            evidence.push(format!(
                "{} leaves out {first} ({}); {far} selects the way back of it ({back})",
                own.host, own.name
            ));
        }
    }
    let unused = [(Side::A, pair.a), (Side::B, pair.b)]
        .into_iter()
        .find_map(|(side, at)| Some((side, at, mirroring(side.of(&a, &b), side.other().of(&a, &b))?)));
    let verdicts = verdicts(&a, &b, &a_odd, &b_odd, &a_leaves, &b_leaves);
    let mut problem = Problem::new("config-acl-mismatch", format!("{}.", evidence.join("; ")))
        .about(format!("{} < > {}", a.host, b.host));
    for (end, odd, left) in [(&a, &a_odd, &a_leaves), (&b, &b_odd, &b_leaves)] {
        problem = problem.lines(view.policies, end.at, odd.iter().map(|(_, cite)| *cite)).lines(
            view.policies,
            end.at,
            left.iter().map(|(_, cite)| *cite),
        );
    }
    if let Some((side, at, list)) = unused {
        let (end, entry) = (side.of(&a, &b), view.entry(at.0, at.1)?);
        let because = format!("its access list {list} mirrors the other's and is used nowhere");
        let lines = vec![format!("no match address {}", end.name), format!("match address {list}")];
        return Some(blame::decided(problem, end.host, &because, fix::in_map(entry, lines)));
    }
    Some(laid(problem, &a, &b, verdicts))
}

/// A list of a router that no entry and no interface uses, and that mirrors the other's.
fn mirroring<'v>(own: &End<'v>, far: &End<'_>) -> Option<&'v str> {
    let router = own.router;
    let entries = router.maps.iter().filter_map(|entry| Some(entry.acl.as_ref()?.0.as_str()));
    let filters = router.forwarding.ports.values().filter_map(|port| Some(port.filter_in.as_ref()?.0.as_str()));
    let used: BTreeSet<&str> = entries.chain(filters).collect();
    let mirrors = |list: &Acl| {
        let clean = list.denies.is_empty() && far.list.denies.is_empty() && !list.permits.is_empty();
        clean && odd(list, far.list).is_empty() && odd(far.list, list).is_empty()
    };
    let mut all = router.acls.iter().filter(|(name, list)| !used.contains(name.as_str()) && mirrors(list));
    let (name, _) = all.next()?;
    all.next().is_none().then_some(name)
}

/// Adds each side's lines, with the reasons.
fn laid(mut problem: Problem, a: &End<'_>, b: &End<'_>, verdicts: Vec<Verdict>) -> Problem {
    for side in [Side::A, Side::B] {
        let own: Vec<&Verdict> = verdicts.iter().filter(|verdict| verdict.side == side).collect();
        if own.is_empty() {
            continue;
        }
        let (end, other) = (side.of(a, b), side.other().of(a, b));
        let lines = typed(end, &own);
        problem = match own.iter().find_map(|verdict| verdict.because) {
            Some(because) if own.iter().all(|verdict| verdict.because.is_some()) => {
                blame::decided(problem, end.host, because, lines)
            }
            _ => {
                let alternative = format!(
                    "change access list {} of {} to the mirror image of {}'s",
                    other.name, other.host, end.host
                );
                blame::open(problem, end.host, lines, &alternative)
            }
        };
    }
    problem
}

/// The lines that take wrong lines out of a list and put right ones in.
fn typed(end: &End<'_>, verdicts: &[&Verdict]) -> Vec<String> {
    let lines = end.list.permits.iter().map(|(_, cite)| cite).chain(end.list.denies.iter().map(|denied| &denied.cite));
    // A line that was written with groups stands for several, and a standard list takes no extended lines.
    if is_standard(end.name) || lines.clone().any(|cite| cite.text.contains("object-group")) {
        return Vec::new();
    }
    let removed: BTreeSet<&str> = verdicts.iter().flat_map(|verdict| &verdict.removed).map(String::as_str).collect();
    let added: Vec<String> = verdicts
        .iter()
        .flat_map(|verdict| &verdict.added)
        .map(|selector| format!("permit {}", selector.typed()))
        .collect();
    let numbered = lines.clone().any(|cite| cite.text.starts_with("access-list "));
    let all = if numbered {
        // A list by number is taken out and typed anew: its lines cannot be taken out one by one in every release.
        let mut all = vec![format!("no access-list {}", end.name)];
        let kept = in_order(end.list).into_iter().filter(|line| !removed.contains(line.as_str()));
        all.extend(kept.chain(added).map(|line| format!("access-list {} {line}", end.name)));
        all
    } else {
        let v6 = end.list.cite.text.starts_with("ipv6");
        let head = if v6 { "ipv6 access-list" } else { "ip access-list extended" };
        let mut all = vec![format!("{head} {}", end.name)];
        all.extend(removed.iter().map(|line| format!(" no {line}")));
        all.extend(added.iter().map(|line| format!(" {line}")));
        all
    };
    fix::global(end.peer, all)
}

/// Whether a list's number is one of those that select sources alone.
pub(in crate::policy::lint) fn is_standard(name: &str) -> bool {
    matches!(name.parse::<u32>(), Ok(1..=99 | 1_300..=1_999))
}

/// The lines of a list as they follow each other.
fn in_order(list: &Acl) -> Vec<String> {
    let mut lines = Vec::new();
    for at in 0..=list.permits.len() {
        let denied = list.denies.iter().filter(|denied| denied.behind == at);
        lines.extend(denied.filter_map(|denied| Some(format!("deny {}", denied.selector.as_ref()?.typed()))));
        lines.extend(list.permits.get(at).map(|(selector, _)| format!("permit {}", selector.typed())));
    }
    lines
}

type Lines<'l> = [(&'l Selector, &'l Cite)];

fn verdicts(
    a: &End<'_>,
    b: &End<'_>,
    a_odd: &Lines<'_>,
    b_odd: &Lines<'_>,
    a_leaves: &Lines<'_>,
    b_leaves: &Lines<'_>,
) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    let mut rest: Vec<&Selector> = b_odd.iter().map(|(selector, _)| *selector).collect();
    for (mine, _) in a_odd {
        let kin = |theirs: &&Selector| mine.overlaps(&theirs.mirrored()) || mine.overlaps(theirs);
        let at = rest.iter().position(kin).or((a_odd.len() == 1 && rest.len() == 1).then_some(0));
        match at {
            Some(at) => {
                let theirs = rest.remove(at);
                verdicts.push(of_two(a, b, mine, theirs));
            }
            None => verdicts.push(of_one(a, b, Side::A, mine)),
        }
    }
    verdicts.extend(rest.into_iter().map(|theirs| of_one(a, b, Side::B, theirs)));
    for (side, own, left) in [(Side::A, a, a_leaves), (Side::B, b, b_leaves)] {
        for (selector, _) in left {
            let whole = own.list.permits.iter().any(|(permit, _)| selector.covers(permit));
            let because =
                whole.then_some("its deny precedes the line that permits the same packets, so they leave in clear");
            let removed = vec![format!("deny {}", selector.typed())];
            verdicts.push(Verdict { side, because, removed, added: Vec::new() });
        }
    }
    verdicts
}

/// A line that the other side has nothing like.
fn of_one(a: &End<'_>, b: &End<'_>, owner: Side, line: &Selector) -> Verdict {
    let typed = format!("permit {}", line.typed());
    if line.src.is_any() || line.dst.is_any() {
        // Never spread to the other router.
        let because = Some("its line takes everything, and the other router's list is specific");
        return Verdict { side: owner, because, removed: vec![typed], added: Vec::new() };
    }
    let (own, far) = (owner.of(a, b), owner.other().of(a, b));
    let because = (support(own, far, line) > 1)
        .then_some("it lacks a line for networks that the interfaces and routes of the routers have");
    Verdict { side: owner.other(), because, removed: Vec::new(), added: vec![line.mirrored()] }
}

/// Two lines that are meant to mirror each other.
fn of_two(a: &End<'_>, b: &End<'_>, mine: &Selector, theirs: &Selector) -> Verdict {
    let change = |side: Side, because: Option<&'static str>| {
        let (wrong, right) = (side.of(mine, theirs), side.other().of(mine, theirs));
        Verdict { side, because, removed: vec![format!("permit {}", wrong.typed())], added: vec![right.mirrored()] }
    };
    let back = theirs.mirrored();
    let wide = |one: &Selector, other: &Selector| {
        one.src.is_any() && !other.src.is_any() || one.dst.is_any() && !other.dst.is_any()
    };
    match (wide(mine, &back), wide(&back, mine)) {
        (true, false) => {
            return change(Side::A, Some("its line takes everything, and the other router's list is specific"));
        }
        (false, true) => {
            return change(Side::B, Some("its line takes everything, and the other router's list is specific"));
        }
        _ => {}
    }
    if let Some(side) = super::gre::beside(a.tunnels, b.tunnels, mine, theirs) {
        return change(side, Some(super::gre::BECAUSE));
    }
    let netmask = |one: &Selector| [one.src, one.dst].iter().any(Net::is_netmask_for_wildcard);
    match (netmask(mine), netmask(theirs)) {
        (true, false) => return change(Side::A, Some("its line has a netmask where a wildcard mask belongs")),
        (false, true) => return change(Side::B, Some("its line has a netmask where a wildcard mask belongs")),
        _ => {}
    }
    let (speaks_mine, speaks_theirs) = (support(a, b, mine), support(b, a, theirs));
    let side = Side::weaker(speaks_mine, speaks_theirs);
    let hosts = |one: &Selector| one.src.is_host() && one.dst.is_host();
    // A pair of hosts, a protocol or a port may be what was meant, whatever the networks are.
    let meant = hosts(mine)
        || hosts(theirs)
        || (&mine.protocol, &mine.src_port, &mine.dst_port) != (&back.protocol, &back.src_port, &back.dst_port);
    match side {
        Some(side) if !meant && mine == theirs => {
            change(side, Some("its source and destination are exchanged: the router's own network must be the source"))
        }
        Some(side) if !meant => {
            change(side, Some("the interfaces and routes of the routers have the networks of the other's line"))
        }
        side => change(side.unwrap_or(Side::A), None),
    }
}

/// How much of the interfaces and routes of both routers agrees with a line of one of them.
fn support(own: &End<'_>, far: &End<'_>, line: &Selector) -> usize {
    let (here, there) = (own.router, far.router);
    let near = usize::from(here.connects(&line.src)) * 2 + usize::from(there.forwarding.routes_to(&line.src));
    near + usize::from(there.connects(&line.dst)) * 2 + usize::from(here.forwarding.routes_to(&line.dst))
}

/// The lines of a list that have no mirror image in the other.
fn odd<'a>(list: &'a Acl, other: &Acl) -> Vec<(&'a Selector, &'a Cite)> {
    let there: BTreeSet<Meaning> = other.permits.iter().map(|(selector, _)| meaning(&selector.mirrored())).collect();
    let all = list.permits.iter().map(|(selector, cite)| (selector, cite));
    all.filter(|(selector, _)| !there.contains(&meaning(selector))).collect()
}

/// Packets that `list` leaves out, and that `other` selects for the way back: no line of it leaves any of them out.
fn left_out<'a>(list: &'a Acl, other: &Acl) -> Vec<(&'a Selector, &'a Cite)> {
    let effective = |acl: &Acl, behind: usize| behind < acl.permits.len();
    let left = list.denies.iter().filter(|denied| effective(list, denied.behind));
    left.filter_map(|denied| Some((denied.selector.as_ref()?, &denied.cite)))
        .filter(|(selector, _)| {
            let back = selector.mirrored();
            let selected = other.permits.iter().any(|(permit, _)| permit.overlaps(&back));
            let excepted = |denied: &Denied| denied.selector.as_ref().is_none_or(|selector| selector.overlaps(&back));
            selected && !other.denies.iter().any(excepted)
        })
        .take(NAMED)
        .collect()
}
