//! Displays of both ends beside each other (`show crypto ipsec sa`): what each sends into the tunnel, and whom it takes for its peer.

use std::collections::BTreeSet;

use crate::model::report::Severity;
use crate::model::{Address, Protocol, Spi};
use crate::policy::facts::router::{Display, InForce, Router, Way};
use crate::policy::lint::maps::acl::meaning;
use crate::policy::lint::near;
use crate::policy::{Net, Problem, View};

/// Routers that are compared with each other.
const COMPARED: usize = 64;

pub(in crate::policy::lint) fn problems(view: &View<'_>) -> Vec<Problem> {
    let shown: Vec<usize> =
        (0..view.policies.routers.len()).filter(|at| is_display(view, *at)).take(COMPARED).collect();
    let mut problems = Vec::new();
    for (n, here) in shown.iter().enumerate() {
        for there in shown.iter().skip(n + 1).filter(|there| one_sa(view, *here, **there)) {
            problems.extend(selected(view, *here, *there));
            let other_peer = peer(view, *here, *there).or_else(|| peer(view, *there, *here));
            problems.extend(other_peer);
        }
    }
    problems
}

/// Whether nothing but displays was given of a router: a configuration has the lines themselves.
fn is_display(view: &View<'_>, at: usize) -> bool {
    view.policies.routers.get(at).is_some_and(|router| {
        let cisco = !router.installed.is_empty() && router.installed.iter().all(|sa| sa.display == Display::Cisco);
        cisco && !router.has_configuration()
    })
}

/// Whether an SA that one router sends with is one that the other receives with.
fn one_sa(view: &View<'_>, here: usize, there: usize) -> bool {
    let of = |at: usize, way: Way| -> BTreeSet<(Protocol, Spi)> {
        let installed = view.policies.routers.get(at).map(|router| router.installed.as_slice()).unwrap_or_default();
        installed.iter().filter(|sa| sa.way == Some(way)).map(|sa| (sa.protocol, sa.spi)).collect()
    };
    !of(here, Way::Out).is_disjoint(&of(there, Way::In)) || !of(there, Way::Out).is_disjoint(&of(here, Way::In))
}

/// The only selector of a display; with more, which answers which is not known.
fn only(router: &Router) -> Option<&InForce> {
    let [one] = router.selectors.as_slice() else { return None };
    Some(one)
}

/// What the two select for one SA must be mirror images.
fn selected(view: &View<'_>, here: usize, there: usize) -> Option<Problem> {
    let (a, b) = (view.policies.routers.get(here)?, view.policies.routers.get(there)?);
    let (mine, theirs) = (only(a)?, only(b)?);
    // With a NAT in between, the ends have other addresses on each side of it.
    let ((own, far), (their_own, their_far)) = (ends(a)?, ends(b)?);
    let outer = [&mine.selector, &theirs.selector].iter().any(|one| {
        let of_ends = |net: &Net| net.as_host().is_some_and(|host| own.contains(&host) || far.contains(&host));
        of_ends(&one.src) || of_ends(&one.dst)
    });
    if outer && (own, far) != (their_far, their_own) {
        return None;
    }
    if meaning(&mine.selector) == meaning(&theirs.selector.mirrored()) {
        return None;
    }
    let (a, b) = (&a.name, &b.name);
    let evidence = format!(
        "{a} selects {}, {b} selects {} for the same SA: no mirror images (`local ident` and `remote ident`), so packets of one are not \
         those that the other expects in the tunnel. Which of the two access lists is meant is not determined by these texts.",
        mine.selector, theirs.selector
    );
    Some(
        Problem::new("config-acl-mismatch", evidence)
            .about(format!("{a} < > {b}"))
            .lines(view.policies, here, [&mine.cite])
            .lines(view.policies, there, [&theirs.cite]),
    )
}

/// The ends of a router's tunnels, with how its SAs are carried.
fn ends(router: &Router) -> Option<(BTreeSet<Address>, BTreeSet<Address>)> {
    let (mut own, mut far) = (BTreeSet::new(), BTreeSet::new());
    for sa in &router.installed {
        // In UDP, a NAT is in between.
        let (src, dst) = (sa.src.filter(|_| !sa.udp)?, sa.dst?);
        let (local, remote) = if sa.way? == Way::Out { (src, dst) } else { (dst, src) };
        own.insert(local);
        far.insert(remote);
    }
    Some((own, far))
}

/// The router `here` has another address as its peer than the one that the other has, which has `here` as its own.
fn peer(view: &View<'_>, here: usize, there: usize) -> Option<Problem> {
    let (a, b) = (view.policies.routers.get(here)?, view.policies.routers.get(there)?);
    let ((own, far), (their_own, their_far)) = (ends(a)?, ends(b)?);
    let (Some(named), Some(address)) = (far.first(), their_own.first()) else { return None };
    let one = [&own, &far, &their_own, &their_far].iter().all(|ends| ends.len() == 1);
    // An address that is nothing like it may be what a NAT in between makes of it.
    if !one || own != their_far || named == address || !near::mistyped(*named, *address) {
        return None;
    }
    let evidence = format!(
        "{} has {named} as its peer, and {} has the other end of this SA as {address} (`current_peer`, `local addr`): {named} is that \
         address mistyped, unless a NAT in between translates it.",
        a.name, b.name
    );
    // IKE comes to the peer that it names: behind another address is a NAT. Keys that were typed in are there whatever the peer is.
    let negotiated = a.installed.iter().chain(&b.installed).any(|sa| sa.negotiated);
    let severity = if negotiated { Severity::Note } else { Severity::Error };
    let cites =
        |router: &'_ Router| router.installed.iter().filter_map(|sa| sa.cites.first().cloned()).collect::<Vec<_>>();
    Some(
        Problem::new("config-peer-mismatch", evidence)
            .severity(severity)
            .about(format!("{} > {}", a.name, b.name))
            .lines(view.policies, here, &cites(a))
            .lines(view.policies, there, &cites(b)),
    )
}
