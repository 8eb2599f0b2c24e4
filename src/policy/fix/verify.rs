//! Lines to type are printed only if they come out clean: all of them are typed at a copy of the facts, which is linted again.

use std::collections::BTreeMap;

use super::super::{Policies, Problem, View};
use super::typing::{Typed, fill, typed};
use crate::model::report::{Fix, Severity};
use crate::policy::read::cisco::protected_tunnels;

/// Problems whose lines are typed one by one where all together do not come out clean; with more, none is printed.
const APART: usize = 24;

/// How a lint finds problems, their lines not yet verified.
type Lint = fn(&View<'_>) -> Vec<Problem>;

/// Problems with those lines only that, typed once, leave nothing wrong that was not there before.
///
/// A problem keeps its lines if they can be typed, if it is gone afterwards, and if no other error or warning has come. What is
/// printed is typed together, so all of it is also verified together.
pub(in crate::policy) fn verified(policies: &Policies, mut problems: Vec<Problem>, lint: Lint) -> Vec<Problem> {
    let known: Vec<usize> = (0..problems.len()).filter(|at| withdraw_untypable(policies, &mut problems, *at)).collect();
    if known.is_empty() {
        return problems;
    }
    // What the wire adds to a view is not known of the copy.
    let present = counts(&lint(&policies.view()));
    let mut kept = known;
    while !kept.is_empty() {
        let guilty = guilty(policies, &problems, &kept, &present, lint);
        if guilty.is_empty() {
            break;
        }
        kept.retain(|at| !guilty.contains(at));
        for at in guilty {
            if let Some(problem) = problems.get_mut(at) {
                problem.fix.clear();
            }
        }
    }
    problems
}

/// Whether what the lines of a problem do is known. Lines that cannot be typed are withdrawn.
fn withdraw_untypable(policies: &Policies, problems: &mut [Problem], at: usize) -> bool {
    let Some(problem) = problems.get_mut(at).filter(|problem| !problem.fix.is_empty()) else { return false };
    // Lines that only build SAs again change no configuration.
    let lines = || problem.fix.iter().flat_map(|fix| &fix.lines);
    if lines().all(|line| line.starts_with("clear ")) {
        return false;
    }
    let alone = |fix: &Fix| {
        let mut router = policies.routers.iter().find(|router| *router.name == *fix.host)?.clone();
        typed(&mut router, &fix.lines).ok()
    };
    let outcomes: Option<Vec<Typed>> = problem.fix.iter().map(alone).collect();
    match outcomes {
        Some(outcomes) => outcomes.iter().all(|typed| *typed == Typed::Known),
        None => {
            problem.fix.clear();
            false
        }
    }
}

/// The facts after the lines of problems; `None` where a line cannot be typed.
fn type_all(policies: &Policies, problems: &[&Problem]) -> Option<Policies> {
    let mut routers = policies.routers.clone();
    for fix in problems.iter().flat_map(|problem| &problem.fix) {
        let router = routers.iter_mut().find(|router| *router.name == *fix.host)?;
        typed(router, &fix.lines).ok()?;
    }
    fill(&mut routers);
    for router in &mut routers {
        router.maps.retain(|entry| entry.number > 0);
        protected_tunnels(router);
    }
    Some(Policies { routers, ..Policies::default() })
}

/// The problems whose lines must not be printed, among those whose lines are.
fn guilty(
    policies: &Policies,
    problems: &[Problem],
    kept: &[usize],
    present: &BTreeMap<&'static str, usize>,
    lint: Lint,
) -> Vec<usize> {
    let trial = |of: &[usize]| -> Option<Vec<Problem>> {
        let of: Vec<&Problem> = of.iter().filter_map(|at| problems.get(*at)).collect();
        Some(lint(&type_all(policies, &of)?.view()))
    };
    let Some(after) = trial(kept) else { return kept.to_vec() };
    let remaining: Vec<usize> =
        kept.iter().copied().filter(|at| problems.get(*at).is_some_and(|problem| remains(problem, &after))).collect();
    if !remaining.is_empty() {
        return remaining;
    }
    if !adds(problems, kept, present, &after) {
        return Vec::new();
    }
    if kept.len() > APART {
        return kept.to_vec();
    }
    let adding = |at: &usize| trial(&[*at]).is_none_or(|after| adds(problems, &[*at], present, &after));
    let apart: Vec<usize> = kept.iter().copied().filter(|at| adding(at)).collect();
    if apart.is_empty() { kept.to_vec() } else { apart }
}

fn remains(problem: &Problem, after: &[Problem]) -> bool {
    after.iter().any(|other| (other.code, &other.subject) == (problem.code, &problem.subject) && is_loud(other))
        && is_loud(problem)
}

/// Whether there are more errors and warnings of a code than those that no line was typed for.
fn adds(problems: &[Problem], of: &[usize], present: &BTreeMap<&str, usize>, after: &[Problem]) -> bool {
    let solved = |code: &str| {
        let typed = of.iter().filter_map(|at| problems.get(*at));
        typed.filter(|problem| problem.code == code && is_loud(problem)).count()
    };
    counts(after)
        .iter()
        .any(|(code, count)| *count > present.get(code).copied().unwrap_or_default().saturating_sub(solved(code)))
}

/// Errors and warnings, code by code.
fn counts(problems: &[Problem]) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for problem in problems.iter().filter(|problem| is_loud(problem)) {
        *counts.entry(problem.code).or_default() += 1;
    }
    counts
}

/// Whether a problem is an error or a warning.
fn is_loud(problem: &Problem) -> bool {
    match problem.severity {
        Some(severity) => severity != Severity::Note,
        None => problem.code != "config-stale",
    }
}
