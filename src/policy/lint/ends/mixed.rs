//! An SA that one router has in its configuration (`ipsec-manual` of Cisco IOS) and the other one in its kernel or in a display: what
//! the two must have in common beside SPI and keys.

use crate::policy::facts::router::{Display, Keying, Numbering};
use crate::policy::facts::stated::{Basis, Stated};
use crate::policy::lint::{agree, blame, linux, part_of};
use crate::policy::{Mode, Problem, View};

/// What the sender and the receiver of one SA differ in; one of them states manual keys, the other what is in force.
pub(super) fn problems(view: &View<'_>, out: &Stated, inward: &Stated) -> Vec<Problem> {
    let (manual, shown) = if out.basis == Basis::Manual { (out, inward) } else { (inward, out) };
    let entry = manual.map.and_then(|map| view.entry(manual.router, map));
    let router = view.policies.routers.get(manual.router);
    // Other makers' rules are not known; an old display of the same maker may be of other SAs.
    let ios = entry.is_some_and(|entry| entry.keying == Keying::Manual)
        && router.is_some_and(|router| router.maker.is_none());
    if !ios {
        return Vec::new();
    }
    if !linux::is_state(view, shown) {
        // Two routers of one maker: the other one's display names the algorithms of the same SA.
        let display = view.policies.routers.get(shown.router).filter(|router| router.maker.is_none());
        let cisco = display.is_some_and(|router| router.installed.iter().all(|sa| sa.display == Display::Cisco));
        let same = cisco && manual.spi == shown.spi && shown.basis == Basis::InForce;
        return if same { algorithms(view, manual, shown).into_iter().collect() } else { Vec::new() };
    }
    [algorithms(view, manual, shown), mode(view, manual, shown), numbers(view, manual, shown), udp(view, manual, shown)]
        .into_iter()
        .flatten()
        .collect()
}

fn problem(view: &View<'_>, code: &'static str, manual: &Stated, shown: &Stated, evidence: String) -> Problem {
    let evidence = format!("{} SPI {}: {evidence}", manual.protocol.title(), manual.spi.0);
    let mut problem = Problem::new(code, evidence).lines(view.policies, manual.router, &manual.cites).lines(
        view.policies,
        shown.router,
        &shown.cites,
    );
    problem.subject = manual.key().map(|key| key.to_string());
    problem
}

fn algorithms(view: &View<'_>, manual: &Stated, shown: &Stated) -> Option<Problem> {
    let typed = part_of(manual.suite?, manual.protocol);
    let kernel = part_of(shown.suite?, shown.protocol);
    if agree(&typed, &kernel) {
        return None;
    }
    let (router, host) = (view.name(manual.router), view.name(shown.router));
    let evidence = format!(
        "{router} has {typed}, {host} has {kernel}: neither can verify or decrypt what the other sends; keys are not compared. Which of \
         the two is meant is not determined by these texts."
    );
    Some(problem(view, "config-transform-mismatch", manual, shown, evidence))
}

/// Transport mode of the kernel against tunnel mode. The other way round, IOS may use tunnel mode all the same: for all that it forwards.
fn mode(view: &View<'_>, manual: &Stated, shown: &Stated) -> Option<Problem> {
    // Of a bundle the kernel puts AH around the tunnel in transport mode.
    let is_bundle = manual.suite.is_some_and(|suite| suite.ah.is_some() && suite.esp.is_some());
    if is_bundle || (manual.mode, shown.mode) != (Some(Mode::Tunnel), Some(Mode::Transport)) {
        return None;
    }
    let (router, host) = (view.name(manual.router), view.name(shown.router));
    let evidence = format!(
        "{router} uses tunnel mode and {host} transport mode: {host} drops what it decrypts (XfrmInStateModeError). Which of the two is \
         meant is not determined by these texts."
    );
    Some(problem(view, "config-transform-mismatch", manual, shown, evidence))
}

fn numbers(view: &View<'_>, manual: &Stated, shown: &Stated) -> Option<Problem> {
    if !matches!(shown.numbering, Numbering::Extended(_)) {
        return None;
    }
    let (router, host) = (view.name(manual.router), view.name(shown.router));
    let evidence = format!(
        "{host} has extended sequence numbers (flag esn), and {router} has none with manual keys: the ICV covers the high half of the \
         number too, so that every packet is dropped although SPI and keys are right (RFC 4303 section 2.2.1)."
    );
    let problem = problem(view, "config-esn-mismatch", manual, shown, evidence);
    Some(blame::decided(problem, host, "manual keys of IOS have no extended sequence numbers", Vec::new()))
}

fn udp(view: &View<'_>, manual: &Stated, shown: &Stated) -> Option<Problem> {
    if !shown.udp {
        return None;
    }
    let (router, host) = (view.name(manual.router), view.name(shown.router));
    let evidence = format!(
        "{host} has ESP in UDP (encap), and {router} has plain ESP: UDP is agreed on by IKE, which manual keys do without. {host} takes \
         ESP in UDP only (XfrmInStateMismatch)."
    );
    let problem = problem(view, "config-encap-mismatch", manual, shown, evidence);
    Some(blame::decided(problem, host, "manual keys of IOS know no UDP encapsulation", Vec::new()))
}
