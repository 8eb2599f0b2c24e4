//! Crypto maps on an interface that has no address.

use crate::policy::facts::router::Router;
use crate::policy::form::order::Chapter;
use crate::policy::lint::maps::placement::carriers;
use crate::policy::{Problem, View, fix};

/// The only interface with the map of the entry `here` is said to have no address, and the entry `there` names one as its peer.
pub(super) fn problem(view: &View<'_>, here: (usize, usize), there: (usize, usize)) -> Option<Problem> {
    let (own, theirs) = (view.entry(here.0, here.1)?, view.entry(there.0, there.1)?);
    let router: &Router = view.policies.routers.get(here.0)?;
    let carriers = carriers(router, &own.name);
    let [(carrier, carried)] = carriers.as_slice() else { return None };
    let port = router.forwarding.ports.get(*carrier)?;
    let bare = port.bare.as_ref()?;
    let lent = port.leased || port.unnumbered.is_some() || router.map_sources.contains_key(&own.name);
    if lent || !router.addresses_of(carrier).is_empty() || own.number == 0 {
        return None;
    }
    let (named, line) = theirs.peers.first()?;
    let meant = router.interfaces.keys().find(|name| router.addresses_of(name).contains(named));
    // The interface with the address may have been cut out of the text.
    if meant.is_none() && router.forwarding.hidden.contains(&Chapter::Interfaces) {
        return None;
    }
    let (name, far) = (view.name(here.0), view.name(there.0));
    let said = match meant {
        Some(meant) => {
            format!("the address {named}, which {far} has as its peer, is on {meant}, and the map belongs there")
        }
        None => format!("no interface has the address {named}, which {far} has as its peer"),
    };
    let evidence = format!(
        "{name}: crypto map {} is on interface {carrier}, which has no address (`no ip address`): no packet of the tunnel leaves it; {said}.",
        own.name
    );
    let problem = Problem::new("config-map-not-applied", evidence)
        .about(format!("{name} crypto map {}", own.name))
        .lines(view.policies, here.0, [*carried, bare])
        .lines(view.policies, there.0, [line]);
    let Some(meant) = meant else { return Some(problem) };
    let lines = vec![
        format!("interface {carrier}"),
        format!(" no crypto map {}", own.name),
        format!("interface {meant}"),
        format!(" crypto map {}", own.name),
    ];
    Some(problem.fix(name, fix::global(own.peers.first().map(|(peer, _)| *peer), lines)))
}
