//! Two tunnels between two routers of which one router has something exchanged.

use std::collections::BTreeMap;

use super::end::{self, TunnelEnd};
use super::nearness::{contradictions, share_network};
use super::{Exchange, Place};
use crate::policy::lint::Facing;
use crate::policy::{Problem, View};

/// Pairs that are compared with each other; with more, each is told by itself.
const MOST: usize = 256;

/// A pair of tunnels, with what contradicts it.
type Doubted<'e, 'v> = (Facing, &'e TunnelEnd<'v>, &'e TunnelEnd<'v>, Vec<&'static str>);

/// All exchanges among pairs.
pub(super) fn all<'p>(
    view: &View<'_>,
    ends: &[TunnelEnd<'_>],
    pairs: impl IntoIterator<Item = &'p Facing>,
) -> Vec<Exchange> {
    let by_place: BTreeMap<Place, &TunnelEnd<'_>> = ends.iter().map(|end| (end.place, end)).collect();
    let mut doubted: Vec<Doubted<'_, '_>> = Vec::new();
    for pair in pairs {
        let (Some(a), Some(b)) = (by_place.get(&pair.a), by_place.get(&pair.b)) else { continue };
        let against = if a.is_exact(b) { contradictions(view, a, b) } else { Vec::new() };
        if !against.is_empty() {
            doubted.push((*pair, a, b, against));
        }
    }
    let mut found: Vec<Exchange> = Vec::new();
    if doubted.len() > MOST {
        return found;
    }
    for (n, one) in doubted.iter().enumerate() {
        let free = |pair: Facing| !found.iter().any(|known| known.pairs.contains(&pair));
        let others = doubted.iter().skip(n + 1).filter(|other| free(one.0) && free(other.0));
        let exchange = others.filter_map(|other| exchanged(view, one, other)).next();
        found.extend(exchange);
    }
    found
}

/// Two pairs whose tunnels agree crosswise in all that contradicts them as they are paired, or have each other's networks inside.
fn exchanged(view: &View<'_>, one: &Doubted<'_, '_>, other: &Doubted<'_, '_>) -> Option<Exchange> {
    let ((first, a, b, against), (second, c, d, too)) = (one, other);
    if (a.place.0, b.place.0) != (c.place.0, d.place.0) {
        return None;
    }
    let crosswise = [contradictions(view, a, d), contradictions(view, c, b)].concat();
    let by: Vec<&str> =
        against.iter().copied().filter(|what| too.contains(what) && !crosswise.contains(what)).collect();
    let inside = by.contains(&"addresses inside")
        && share_network(a.interface, d.interface)
        && share_network(c.interface, b.interface);
    let alone = crosswise.is_empty();
    (!by.is_empty() && (alone || inside)).then_some(Exchange { pairs: [*first, *second], by, alone })
}

pub(super) fn problem(view: &View<'_>, exchange: &Exchange) -> Option<Problem> {
    let [first, second] = exchange.pairs;
    let [a, b, c, d] = [first.a, first.b, second.a, second.b].map(|place| end::at(view, place));
    let (a, b, c, d) = (a?, b?, c?, d?);
    let (own, far) = (&a.router.name, &b.router.name);
    let decides = if a.is_exact(&d) { "source, destination, mode and key" } else { "source and destination" };
    let by = match exchange.by.as_slice() {
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
        [] => return None,
    };
    let evidence = format!(
        "{} of {own} and {} of {far} are the two ends of one tunnel by {decides}, and so are {} and {}. Their {by} agree the other way \
         round, those of {0} of {own} with those of {3} of {far}, and those of {2} with those of {1}: on one of the two routers, lines of its two tunnels are \
         exchanged. Which lines, and on which of the two, is not \
         determined by these texts.",
        a.entry.name, b.entry.name, c.entry.name, d.entry.name
    );
    let code = if exchange.by == ["transform sets"] { "config-transform-mismatch" } else { "config-gre-mismatch" };
    let destination = |end: &TunnelEnd<'_>| end.interface.tunnel_destination.as_ref().map(|(_, cite)| cite.clone());
    let lines = |end: &TunnelEnd<'_>| {
        let port = end.port;
        let mode = port.and_then(|port| port.tunnel_mode.as_ref()).filter(|_| exchange.by.contains(&"modes"));
        let key = port.and_then(|port| port.tunnel_key.as_ref()).filter(|_| exchange.by.contains(&"keys"));
        let inside = end.interface.addresses.iter().filter(|_| exchange.by.contains(&"addresses inside"));
        let profile = end.interface.protection.as_ref().filter(|_| exchange.by.contains(&"transform sets"));
        let cited = mode.into_iter().chain(key).map(|(_, cite)| cite).chain(inside.map(|(_, cite)| cite));
        cited.chain(profile.map(|(_, cite)| cite)).cloned().chain(destination(end)).collect::<Vec<_>>()
    };
    let problem = Problem::new(code, evidence).about(format!("{own} < > {far}"));
    let problem = problem.lines(view.policies, a.place.0, &[lines(&a), lines(&c)].concat());
    Some(problem.lines(view.policies, b.place.0, &[lines(&b), lines(&d)].concat()))
}
