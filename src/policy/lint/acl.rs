//! Access lists that are not mirror images.

use std::collections::BTreeSet;

use super::super::router::{Acl, Denied};
use super::super::{Cite, Problem, Selector, View, fix};
use super::Facing;

/// Selectors named in an evidence.
const NAMED: usize = 4;

pub(super) fn problems(view: &View<'_>, facing: &[Facing]) -> Vec<Problem> {
    facing.iter().filter_map(|pair| pair_problem(view, *pair)).collect()
}

fn list<'v>(view: &'v View<'_>, at: (usize, usize)) -> Option<(&'v str, &'v Acl)> {
    let (name, _) = view.entry(at.0, at.1)?.acl.as_ref()?;
    Some((name, view.policies.routers.get(at.0)?.acls.get(name)?))
}

fn pair_problem(view: &View<'_>, pair: Facing) -> Option<Problem> {
    let ((a_name, a), (b_name, b)) = (list(view, pair.a)?, list(view, pair.b)?);
    let (a_host, b_host) = (view.name(pair.a.0), view.name(pair.b.0));
    let (b_lacks, a_lines) = lacking(a, b);
    let (a_lacks, b_lines) = lacking(b, a);
    let (a_leaves, b_leaves) = (left_out(a, b), left_out(b, a));
    if a_lacks.is_empty() && b_lacks.is_empty() && a_leaves.is_empty() && b_leaves.is_empty() {
        return None;
    }
    let mut evidence = Vec::new();
    for (has, name, lacks, missing) in [(a_host, a_name, b_host, &b_lacks), (b_host, b_name, a_host, &a_lacks)] {
        if let Some(first) = missing.first() {
            let listed: Vec<String> = missing.iter().take(NAMED).map(|one| one.mirrored().to_string()).collect();
            let more = missing.len().saturating_sub(NAMED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            evidence.push(format!(
                "{has} selects {}{more} ({name}); {lacks} has no mirror image of it ({first})",
                listed.join(", ")
            ));
        }
    }
    for (host, name, far, left) in [(a_host, a_name, b_host, &a_leaves), (b_host, b_name, a_host, &b_leaves)] {
        if let Some((first, _)) = left.first() {
            let back = first.mirrored();
            evidence.push(format!("{host} leaves out {first} ({name}); {far} selects the way back of it ({back})"));
        }
    }
    let add = |name: &str, missing: &[Selector]| {
        if missing.is_empty() {
            return Vec::new();
        }
        let lines = std::iter::once(format!("ip access-list extended {name}"));
        fix::global(
            None,
            lines.chain(missing.iter().take(NAMED).map(|one| format!(" permit {}", one.typed()))).collect(),
        )
    };
    let problem = Problem::new("config-acl-mismatch", format!("{}.", evidence.join("; ")))
        .about(format!("{a_host} < > {b_host}"))
        .lines(view.policies, pair.a.0, a_lines)
        .lines(view.policies, pair.a.0, a_leaves.iter().map(|(_, cite)| *cite))
        .lines(view.policies, pair.b.0, b_lines)
        .lines(view.policies, pair.b.0, b_leaves.iter().map(|(_, cite)| *cite))
        .fix(a_host, add(a_name, &a_lacks))
        .fix(b_host, add(b_name, &b_lacks));
    Some(problem)
}

/// What `other` would have to select to mirror `list` and does not, and the lines of `list` that ask for it.
fn lacking<'a>(list: &'a Acl, other: &Acl) -> (Vec<Selector>, Vec<&'a Cite>) {
    let there: BTreeSet<&Selector> = other.permits.iter().map(|(selector, _)| selector).collect();
    let missing = list.permits.iter().map(|(selector, cite)| (selector.mirrored(), cite));
    missing.filter(|(mirror, _)| !there.contains(mirror)).unzip()
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
