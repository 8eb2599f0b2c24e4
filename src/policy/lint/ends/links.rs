//! SAs that all routers of a link share: SPI, algorithms and key must be the same on each.

use std::collections::BTreeSet;

use crate::policy::facts::router::{LinkSa, Router};
use crate::policy::facts::slip::slip;
use crate::policy::{Net, Problem, Secret, View};

/// Routers that are compared with each other.
const COMPARED: usize = 64;

pub(in crate::policy::lint) fn problems(view: &View<'_>) -> Vec<Problem> {
    let with: Vec<(usize, &Router)> = view
        .policies
        .routers
        .iter()
        .enumerate()
        .filter(|(_, router)| !router.links.is_empty())
        .take(COMPARED)
        .collect();
    let mut problems = Vec::new();
    for (n, (a, first)) in with.iter().enumerate() {
        for (b, second) in with.iter().skip(n + 1) {
            for one in &first.links {
                let mut same = second.links.iter().filter(|other| one_link((first, one), (second, other), with.len()));
                if let (Some(other), None) = (same.next(), same.next()) {
                    problems.extend(compared(view, (*a, one), (*b, other)));
                }
            }
        }
    }
    problems
}

/// Whether two SAs are for the same link or area: interfaces with a network in common; or, of two routers that say nothing of
/// networks, their only ones.
fn one_link((a, one): (&Router, &LinkSa), (b, other): (&Router, &LinkSa), routers: usize) -> bool {
    if one.area || other.area {
        return one.area && other.area && one.place == other.place;
    }
    let networks = |router: &Router, sa: &LinkSa| -> BTreeSet<Net> {
        let own = router.interfaces.get(&sa.place).map(|interface| interface.networks.as_slice()).unwrap_or_default();
        own.iter().copied().collect()
    };
    let (of_a, of_b) = (networks(a, one), networks(b, other));
    if of_a.is_empty() || of_b.is_empty() {
        // Link-local addresses alone say nothing of which link it is.
        return routers == 2 && a.links.len() == 1 && b.links.len() == 1;
    }
    of_a.intersection(&of_b).next().is_some()
}

fn compared(view: &View<'_>, (a, one): (usize, &LinkSa), (b, other): (usize, &LinkSa)) -> Option<Problem> {
    let (here, there) = (view.name(a), view.name(b));
    let readable = |key: &&Secret| key.bits().is_some();
    let differ =
        |x: &Option<Secret>, y: &Option<Secret>| match (x.as_ref().filter(readable), y.as_ref().filter(readable)) {
            (Some(x), Some(y)) => x != y,
            _ => false,
        };
    let what = format!("OSPFv3 on {} of {here} and {} of {there}", one.place, other.place);
    let shared = "All routers of a link use one SPI, one set of algorithms and one key for both directions (RFC 4552)";
    let side = "which of the two is the wrong one is not determined by two";
    let (code, evidence) = if one.protocol != other.protocol || one.words != other.words {
        let titles = (one.protocol.title(), other.protocol.title());
        let said = format!("{here} has {} {}, {there} has {} {}", titles.0, one.words, titles.1, other.words);
        ("config-transform-mismatch", format!("{what}: {said}. {shared}; {side}."))
    } else if one.spi != other.spi {
        let slipped = slip(one.spi, other.spi).map(|slip| format!("; the second is {slip}")).unwrap_or_default();
        let said =
            format!("{here} has SPI {} ({}), {there} has {} ({}){slipped}", one.spi.0, one.spi, other.spi.0, other.spi);
        ("config-spi-mismatch", format!("{what}: {said}. {shared}; {side}."))
    } else if differ(&one.cipher, &other.cipher) || differ(&one.authenticator, &other.authenticator) {
        (
            "config-key-mismatch",
            format!("{what}, SPI {}: the keys differ (compared, not shown). {shared}; {side}.", one.spi.0),
        )
    } else {
        return None;
    };
    let problem = Problem::new(code, evidence)
        .about(format!("{here} < > {there}"))
        .lines(view.policies, a, [&one.cite])
        .lines(view.policies, b, [&other.cite]);
    Some(problem)
}
