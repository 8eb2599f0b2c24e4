//! Access lists that are not mirror images.

use std::collections::BTreeSet;

use super::gre::Tunnels;
use super::mirrors::{End, NAMED, Verdict, left_out, odd, verdicts};
use crate::policy::facts::router::Acl;
use crate::policy::form::order::Chapter;
use crate::policy::lint::blame;
use crate::policy::lint::blame::Side;
use crate::policy::lint::{Facing, near};
use crate::policy::{Net, Problem, Selector, View, fix, names};

pub(in crate::policy::lint) fn problems(view: &View<'_>, facing: &[Facing]) -> Vec<Problem> {
    let tunnels = Tunnels::all(view);
    let exchanged = exchanged(view, &tunnels, facing);
    let mut problems: Vec<Problem> =
        exchanged.iter().filter_map(|[one, other]| exchange(view, &tunnels, *one, *other)).collect();
    let rest = facing.iter().filter(|pair| !exchanged.iter().flatten().any(|one| one == *pair));
    problems.extend(rest.filter_map(|pair| pair_problem(view, &tunnels, *pair)));
    problems
}

/// Two pairs of entries of the same routers of which each list mirrors the one of the other pair.
fn exchanged(view: &View<'_>, tunnels: &[Tunnels<'_>], facing: &[Facing]) -> Vec<[Facing; 2]> {
    let mut found: Vec<[Facing; 2]> = Vec::new();
    let mirror = |one: (usize, usize), other: (usize, usize)| {
        end(view, tunnels, one)
            .zip(end(view, tunnels, other))
            .is_some_and(|(one, other)| are_mirrors(one.list, other.list))
    };
    for (at, one) in facing.iter().enumerate() {
        let same = |other: &&Facing| (one.a.0, one.b.0) == (other.a.0, other.b.0);
        let mut others = facing.iter().skip(at + 1).filter(same);
        let free = !found.iter().flatten().any(|known| known == one) && !mirror(one.a, one.b);
        let other = others.find(|other| free && mirror(one.a, other.b) && mirror(other.a, one.b));
        found.extend(other.map(|other| [*one, *other]));
    }
    found
}

fn exchange(view: &View<'_>, tunnels: &[Tunnels<'_>], one: Facing, other: Facing) -> Option<Problem> {
    let ends = [one.a, other.a, one.b, other.b];
    let [Some(first), Some(second), Some(far_first), Some(far_second)] = ends.map(|at| end(view, tunnels, at)) else {
        return None;
    };
    let [a_first, a_second, b_first, b_second] = ends.map(|at| view.entry(at.0, at.1));
    let (a_first, a_second, b_first, b_second) = (a_first?, a_second?, b_first?, b_second?);
    let evidence = format!(
        "{} has access lists {} and {} in crypto map {} {} and {}, and {} has their mirror images in {} {} and {}, the other way round: \
         they are exchanged on one of the two routers.",
        first.host,
        first.name,
        second.name,
        a_first.name,
        a_first.number,
        a_second.number,
        far_first.host,
        b_first.name,
        b_second.number,
        b_first.number
    );
    let cites = |entries: [&crate::policy::MapEntry; 2]| {
        entries.map(|entry| entry.acl.as_ref().map(|(_, cite)| cite.clone())).into_iter().flatten().collect::<Vec<_>>()
    };
    let problem = Problem::new("config-acl-mismatch", evidence)
        .about(format!("{} < > {}", first.host, far_first.host))
        .lines(view.policies, first.at, &cites([a_first, a_second]))
        .lines(view.policies, far_second.at, &cites([b_first, b_second]));
    let with = |entry, old: &str, new: &str| {
        fix::in_map(entry, vec![format!("no match address {old}"), format!("match address {new}")])
    };
    let mut lines = with(a_first, first.name, second.name);
    lines.extend(with(a_second, second.name, first.name));
    Some(blame::open(problem, first.host, lines, &format!("exchange the two lists on {}", far_first.host)))
}

/// Whether two lists without exceptions mirror each other.
fn are_mirrors(list: &Acl, other: &Acl) -> bool {
    let clean = list.denies.is_empty() && other.denies.is_empty() && !list.permits.is_empty();
    clean && odd(list, other).is_empty() && odd(other, list).is_empty()
}

fn end<'v>(view: &'v View<'v>, tunnels: &'v [Tunnels<'v>], at: (usize, usize)) -> Option<End<'v>> {
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
    known.then_some(End { view, at: at.0, router, tunnels, host: &router.name, name, list, peer })
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
    let mut all =
        router.acls.iter().filter(|(name, list)| !used.contains(name.as_str()) && are_mirrors(list, far.list));
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
    if verdicts.iter().all(|verdict| verdict.removed.is_empty() && verdict.added.is_empty()) {
        return Vec::new();
    }
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
