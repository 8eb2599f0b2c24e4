//! SAs that IKE made: each receiver chooses its SPI and tells it in the exchange (RFC 7296 section 2.9, RFC 2409 section 5.5). Nobody
//! types them. So where two displays show different SPIs, they were taken at different times, or one end kept SAs that the other has deleted.

use std::collections::BTreeSet;

use crate::model::report::Severity;
use crate::model::{Address, Protocol, Spi};
use crate::policy::facts::router::Keying;
use crate::policy::facts::stated::{Basis, Stated};
use crate::policy::{Problem, View};

/// Whether displays show SAs of one direction that IKE made.
pub(in crate::policy::lint) fn are_negotiated(view: &View<'_>, out: &[&Stated], inward: &[&Stated]) -> bool {
    let mut both = out.iter().chain(inward);
    both.clone().all(|one| one.basis == Basis::InForce) && both.any(|one| is_negotiated(view, one))
}

fn is_negotiated(view: &View<'_>, one: &Stated) -> bool {
    let Some(router) = view.policies.routers.get(one.router) else { return false };
    let Some(sa) = one.installed.and_then(|at| router.installed.get(at)) else { return false };
    let mut entries = router.maps.iter().filter(|entry| sa.map.as_ref() == Some(&entry.name)).peekable();
    sa.negotiated || entries.peek().is_some() && entries.all(|entry| entry.keying == Keying::Ike)
}

/// SPIs that the display of the sender has and the display of the receiver lacks; both in words. `together`: whether the displays show the
/// same SAs for the way back.
pub(in crate::policy::lint) fn problem(
    view: &View<'_>,
    (protocol, src, dst): (Protocol, Address, Address),
    [out, inward]: [&[&Stated]; 2],
    unknown: &BTreeSet<Spi>,
    [sent, shown]: [String; 2],
    together: bool,
) -> Problem {
    let (sender, receiver) = (out.first().map_or(0, |one| one.router), inward.first().map_or(0, |one| one.router));
    let (from, to) = (view.name(sender), view.name(receiver));
    let evidence = format!(
        "{} from {src} to {dst}: {from} shows SPI {sent} for what it sends, {to} shows {shown} for what it receives. IKE chose these SPIs, none is \
         typed. {}",
        protocol.title(),
        if together {
            format!(
                "IKE makes the SAs of both directions at once, and those of the other direction agree: {from} sends with an SA that {to} \
                 does not have, and {to} drops these packets. Delete the SAs at both (`clear crypto sa`, `swanctl --terminate`)."
            )
        } else {
            format!(
                "Most likely the displays are of different times, with a rekey in between. If displays of one moment still differ, {from} \
                 sends with an SA that {to} does not have any more: delete the SAs at both (`clear crypto sa`, `swanctl --terminate`)."
            )
        }
    );
    let sent = out.iter().filter(|one| unknown.contains(&one.spi));
    Problem::new("config-spi-mismatch", evidence)
        .severity(if together { Severity::Warning } else { Severity::Note })
        .about(format!("{from} > {to}"))
        .lines(view.policies, sender, sent.filter_map(|one| one.cites.first()))
        .lines(view.policies, receiver, inward.iter().filter_map(|one| one.cites.first()))
}
