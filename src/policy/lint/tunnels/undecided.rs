//! Tunnels between two routers that cannot all work, where it is not known which of them belong together or which line is wrong.

use super::end::{self, TunnelEnd};
use super::{Place, TunnelPairs, Undecided, exchange};
use crate::model::report::Severity;
use crate::policy::{Cite, Problem, View};

/// Tunnels of one router that an evidence names.
const NAMED: usize = 4;

/// What is said of several tunnels together.
pub(in crate::policy::lint) fn problems(view: &View<'_>, pairs: &TunnelPairs) -> Vec<Problem> {
    let TunnelPairs { undecided, exchanged, .. } = pairs;
    let mut problems: Vec<Problem> = undecided.iter().filter_map(|group| open(view, group)).collect();
    problems.extend(exchanged.iter().filter_map(|one| exchange::problem(view, one)));
    problems
}

/// A group no pairing of which is without fault.
fn open(view: &View<'_>, group: &Undecided) -> Option<Problem> {
    let of = |places: &[Place]| places.iter().filter_map(|place| end::at(view, *place)).collect::<Vec<_>>();
    let (left, right) = (of(&group.left), of(&group.right));
    let certain = |end: &TunnelEnd<'_>| end.is_known() && !end.is_down() && !end.leads_to.is_empty();
    if !left.iter().chain(&right).all(certain) {
        return None;
    }
    let (a, b) = (left.first()?, right.first()?);
    let (own, far) = (&a.router.name, &b.router.name);
    let said = |ends: &[TunnelEnd<'_>]| listed(ends, |end| described(end, group.same_ends));
    let (mine, theirs) = (said(&left), said(&right));
    let evidence = if group.same_ends {
        format!(
            "{mine} of {own} and {theirs} of {far} are between the same addresses. However they are paired, the two ends of a tunnel differ \
             in mode, key or transform set, so not every one of them carries packets. Which of them belong together is not determined, \
             because neither their keys nor their addresses inside answer each other."
        )
    } else {
        format!(
            "{mine} of {own} and {theirs} of {far} lead to each other's router, and none of them has a tunnel back from its destination to \
             its source. Which of them belong together, and so which line is wrong, is not determined: their addresses, keys and networks \
             inside leave more than one pairing."
        )
    };
    let cites = |ends: &[TunnelEnd<'_>]| ends.iter().filter_map(destination).collect::<Vec<Cite>>();
    let problem =
        Problem::new("config-gre-mismatch", evidence).severity(Severity::Warning).about(format!("{own} < > {far}"));
    let problem = problem.lines(view.policies, a.place.0, &cites(&left));
    Some(problem.lines(view.policies, b.place.0, &cites(&right)))
}

fn destination(end: &TunnelEnd<'_>) -> Option<Cite> {
    end.interface.tunnel_destination.as_ref().map(|(_, cite)| cite.clone())
}

/// A tunnel with what tells it from the others: key or mode between the same addresses, else its addresses.
fn described(end: &TunnelEnd<'_>, same_ends: bool) -> String {
    let name = &end.entry.name;
    if !same_ends {
        let from = end.sources.first().map_or_else(String::new, ToString::to_string);
        return format!("{name} ({from} > {})", end.destination);
    }
    match (end.carrier(), end.key()) {
        (Some("gre"), Some(key)) => format!("{name} (GRE, key {key})"),
        (Some("gre"), None) => format!("{name} (GRE, no key)"),
        (Some(mode), _) => format!("{name} ({mode})"),
        (None, _) => name.clone(),
    }
}

fn listed(ends: &[TunnelEnd<'_>], said: impl Fn(&TunnelEnd<'_>) -> String) -> String {
    let mut all: Vec<String> = ends.iter().take(NAMED).map(said).collect();
    if ends.len() > NAMED {
        all.push(format!("{} more", ends.len() - NAMED));
    }
    let last = all.pop().unwrap_or_default();
    if all.is_empty() { last } else { format!("{} and {last}", all.join(", ")) }
}
