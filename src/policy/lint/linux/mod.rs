//! Linux hosts: policies against states of one host, states and policies against those of the peer, counters.
//!
//! Whose line is wrong is decided by counters, by contradictions within one host, by agreement with the rest of that host, and
//! by the peer's text. Corrections are applied to the facts and the facts compared again: lines are offered only if nothing is left.

mod counters;
mod differ;
mod duplicates;
mod exchanged;
mod model;
mod orientation;
mod pairs;
mod selectors;
mod shadow;
mod templates;
mod undecided;

use std::collections::BTreeSet;

use super::super::{Problem, Stated, View};
use crate::model::report::Severity;
use model::{Host, Target, Verdict};

/// Whether an SA is a state of a Linux kernel.
pub(super) fn is_state(view: &View<'_>, stated: &Stated) -> bool {
    let of = view.policies.routers.get(stated.router);
    of.zip(stated.installed).and_then(|(router, at)| router.installed.get(at)).is_some_and(|sa| sa.kernel.is_some())
}

pub(super) fn problems(view: &View<'_>) -> Vec<Problem> {
    let mut hosts = model::hosts(view);
    if hosts.is_empty() {
        return Vec::new();
    }
    let verdicts = judged(view, &mut hosts);
    // What was read, with the corrections in place of it.
    let mut after = hosts.clone();
    for host in &mut after {
        host.states.iter_mut().for_each(|state| state.was = Some(state.now.clone()));
        host.policies.iter_mut().for_each(|policy| policy.was = Some(policy.now.clone()));
    }
    let left = judged(view, &mut after);
    let stops = |verdict: &&Verdict| verdict.problem.severity.unwrap_or(Severity::Error) != Severity::Note;
    let mut open: BTreeSet<&str> = BTreeSet::new();
    for verdict in left.iter().filter(stops) {
        open.insert(verdict.problem.code);
    }
    let clean = left.iter().filter(stops).all(|verdict| verdict.targets.is_empty())
        && verdicts
            .iter()
            .filter(|verdict| !verdict.targets.is_empty())
            .all(|verdict| !open.contains(verdict.problem.code));
    with_lines(&hosts, verdicts, clean)
}

/// All verdicts; the hosts are corrected as they say.
fn judged(view: &View<'_>, hosts: &mut [Host<'_>]) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    verdicts.extend(duplicates::judge(view, hosts));
    orientation::judge(view, hosts, &mut verdicts);
    let _ = templates::judge(view, hosts, &mut verdicts);
    let explained = pairs::judge(view, hosts, &mut verdicts);
    // An address that the peers decided may now contradict a template.
    let wanted = templates::judge(view, hosts, &mut verdicts);
    templates::without_state(view, hosts, &wanted, &mut verdicts);
    selectors::judge(view, hosts, &mut verdicts);
    shadow::judge(view, hosts, &mut verdicts);
    shadow::crossed(view, hosts, &mut verdicts);
    counters::judge(view, hosts, &explained, &mut verdicts);
    verdicts
}

/// The lines of each correction, with the first problem that names it.
fn with_lines(hosts: &[Host<'_>], verdicts: Vec<Verdict>, clean: bool) -> Vec<Problem> {
    let mut offered: BTreeSet<Target> = BTreeSet::new();
    let mut problems = Vec::new();
    for Verdict { mut problem, targets } in verdicts {
        for target in targets {
            if !clean || !offered.insert(target) {
                continue;
            }
            let Some((host, lines)) = model::typed(hosts, target) else { continue };
            if let Some(host) = hosts.get(host).filter(|host| host.named) {
                problem = problem.fix(host.name, lines);
            }
        }
        for host in hosts.iter().filter(|host| problem.config.iter().any(|line| line.host == host.name)) {
            for (known, own) in &host.known_as {
                problem
                    .evidence
                    .push_str(&format!(" {} knows {own} as {known}: a NAT translates the address.", host.name));
            }
        }
        problems.push(problem);
    }
    problems
}
