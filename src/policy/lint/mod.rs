//! What is wrong in policies before any traffic flows.

mod acl;
mod ike;
mod keys;
mod links;
mod pairs;
mod peers;
mod single;
mod stale;

use std::collections::BTreeMap;

use super::limits::MAX_PROBLEMS;
use super::{Problem, View};

/// All problems of policies, each code at most a hundred times.
#[must_use]
pub fn lint(view: &View<'_>) -> Vec<Problem> {
    let facing = peers::facing(view);
    let mut problems = keys::problems(view);
    problems.extend(peers::problems(view, &facing));
    problems.extend(pairs::problems(view));
    problems.extend(pairs::transform_sets(view, &facing));
    problems.extend(acl::problems(view, &facing));
    problems.extend(ike::problems(view, &facing));
    problems.extend(links::problems(view));
    problems.extend(stale::problems(view));
    problems.extend(single::problems(view));
    // Commands of IOS and of Linux are no use to routers of other makers.
    let foreign =
        |host: &str| view.policies.routers.iter().any(|router| &*router.name == host && router.maker.is_some());
    for problem in &mut problems {
        problem.fix.retain(|fix| !foreign(&fix.host));
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    problems.retain(|problem| {
        let count = counts.entry(problem.code).or_default();
        *count += 1;
        *count <= MAX_PROBLEMS
    });
    for (code, count) in counts.into_iter().filter(|(_, count)| *count > MAX_PROBLEMS) {
        if let Some(last) = problems.iter_mut().rev().find(|problem| problem.code == code) {
            last.evidence.push_str(&format!(" {} more like it are not listed.", count - MAX_PROBLEMS));
        }
    }
    for problem in &mut problems {
        match problem.uncited {
            0 => {}
            1 => problem.evidence.push_str(" 1 more line is not cited."),
            more => problem.evidence.push_str(&format!(" {more} more lines are not cited.")),
        }
    }
    problems
}

/// Two map entries that are the ends of one tunnel: router and entry of each.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Facing {
    pub(super) a: (usize, usize),
    pub(super) b: (usize, usize),
}
