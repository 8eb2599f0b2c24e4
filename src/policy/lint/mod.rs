//! What is wrong in policies before any traffic flows.

mod blame;
mod copies;
mod counters;
mod ends;
mod linux;
mod maps;
mod near;
mod rekeyed;
mod single;
mod stale;
mod tunnels;
mod two_ends;
mod way;

use std::collections::BTreeMap;

use super::limits::MAX_PROBLEMS;
use super::{Problem, Secret, View, fix};
use crate::model::Protocol;
use crate::transform::Suite;

/// All problems of policies, each code at most a hundred times.
#[must_use]
pub fn lint(view: &View<'_>) -> Vec<Problem> {
    let mut problems = found(view);
    // Before the lines are verified, so that the work has a limit too.
    cut(&mut problems);
    let mut problems = fix::verified(view.policies, problems, found);
    problems.iter_mut().for_each(Problem::settle);
    problems
}

/// All problems, with lines to type that are not yet verified.
fn found(view: &View<'_>) -> Vec<Problem> {
    let tunnels = tunnels::pairs(view);
    let facing = crate::policy::lint::ends::peers::facing(view, &tunnels);
    let wrong_sets = crate::policy::lint::maps::sets::accused(view, &facing);
    let mut problems = crate::policy::lint::ends::keys::problems(view, &facing);
    problems.extend(crate::policy::lint::maps::references::problems(view, &facing));
    problems.extend(crate::policy::lint::maps::placement::problems(view, &facing));
    problems.extend(crate::policy::lint::ends::peers::problems(view, &facing));
    let in_force = crate::policy::lint::maps::placement::in_force(view, &facing);
    problems.extend(crate::policy::lint::maps::entries::problems(view, &in_force));
    problems.extend(crate::policy::lint::ends::pairs::problems(view, &facing));
    problems.extend(crate::policy::lint::maps::sets::problems(view, &in_force));
    problems.extend(crate::policy::lint::maps::acl::problems(view, &facing));
    problems.extend(crate::policy::lint::maps::overlap::problems(view));
    problems.extend(crate::policy::lint::way::reach::problems(view));
    problems.extend(crate::policy::lint::ends::selectors::problems(view));
    problems.extend(crate::policy::lint::ends::ike::problems(view, &facing));
    problems.extend(crate::policy::lint::ends::pre_shared::problems(view, &facing));
    problems.extend(crate::policy::lint::way::astray::problems(view));
    problems.extend(crate::policy::lint::way::lan::problems(view));
    problems.extend(crate::policy::lint::way::nat::problems(view, &facing));
    problems.extend(crate::policy::lint::way::tunnels::problems(view, &facing, &tunnels));
    problems.extend(crate::policy::lint::way::protected::problems(view, &facing));
    problems.extend(tunnels::problems(view, &tunnels));
    problems.extend(crate::policy::lint::ends::displays::problems(view));
    problems.extend(counters::problems(view));
    problems.extend(crate::policy::lint::ends::links::problems(view));
    problems.extend(stale::problems(view));
    problems.extend(linux::problems(view));
    problems.extend(two_ends::problems(view, &problems));
    problems.extend(single::problems(view, &facing, &wrong_sets));
    // Commands of IOS and of Linux are no use to routers of other makers.
    let foreign =
        |host: &str| view.policies.routers.iter().any(|router| &*router.name == host && router.maker.is_some());
    for problem in &mut problems {
        problem.fix.retain(|fix| !foreign(&fix.host));
    }
    problems
}

/// Keeps each code to its limit, and says what is left out.
fn cut(problems: &mut Vec<Problem>) {
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
    for problem in problems {
        match problem.uncited {
            0 => {}
            1 => problem.evidence.push_str(" 1 more line is not cited."),
            more => problem.evidence.push_str(&format!(" {more} more lines are not cited.")),
        }
    }
}

/// Two map entries that are the ends of one tunnel: router and entry of each.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Facing {
    pub(super) a: (usize, usize),
    pub(super) b: (usize, usize),
}

impl Facing {
    /// Each end with the other.
    pub(super) const fn both_ways(self) -> [((usize, usize), (usize, usize)); 2] {
        [(self.a, self.b), (self.b, self.a)]
    }
}

/// Whether an algorithm of a suite takes a key of this length: the cipher, or what makes the ICV. `None` where that is not known.
pub(super) fn fits(suite: &Suite, protocol: Protocol, cipher: bool, bits: u32) -> Option<bool> {
    let esp = suite.esp.filter(|_| protocol == Protocol::Esp);
    if !cipher {
        let integrity = if protocol == Protocol::Ah { suite.ah } else { esp.and_then(|esp| esp.integrity) };
        return integrity.and_then(|integrity| integrity.keys.accept(bits));
    }
    let esp = esp.filter(|esp| esp.cipher.encrypts())?;
    match esp.key_bits {
        Some(named) => Some(bits == named || bits == named + esp.cipher.salt * 8),
        None => esp.cipher.accepts_key_material(bits),
    }
}

/// Whether two keys of DES are the same but for bits that are not used.
pub(super) fn one_des_key(a: &Option<Secret>, b: &Option<Secret>) -> bool {
    a.as_ref().zip(b.as_ref()).is_some_and(|(a, b)| a.same_but_parity(b))
}

/// What a suite says of one protocol: the SA of each protocol of a bundle has its own algorithms.
pub(super) const fn part_of(suite: Suite, protocol: Protocol) -> Suite {
    match protocol {
        Protocol::Ah => Suite { esp: None, ipcomp: None, ..suite },
        Protocol::Esp => Suite { ah: None, ipcomp: None, ..suite },
        Protocol::IpComp => suite,
    }
}

/// Whether two suites are the same; a key length that only one of them names is no difference.
pub(super) fn agree(a: &Suite, b: &Suite) -> bool {
    let bits = |suite: &Suite| suite.esp.and_then(|esp| esp.key_bits);
    let bare =
        |suite: &Suite| Suite { esp: suite.esp.map(|esp| crate::transform::Esp { key_bits: None, ..esp }), ..*suite };
    let lengths = matches!((bits(a), bits(b)), (Some(a), Some(b)) if a != b);
    bare(a) == bare(b) && !lengths
}
