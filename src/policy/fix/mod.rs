//! Lines to type at a router. Keys are placeholders.
//!
//! [`verified`] types them at a copy of the facts and lints again before they are printed.

mod form;
mod typing;
mod verify;

pub(super) use form::{asa_set, ios_set};
pub(super) use verify::verified;

use crate::model::{Address, Protocol, Spi};
use crate::policy::facts::router::{Display, MapEntry, Router, Way};
use crate::policy::facts::stated::{Stated, View};
use crate::policy::read::cisco::shown;
use crate::policy::read::xfrm;
use crate::transform::Suite;

/// Which system's commands a router takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum System {
    /// Cisco IOS: its configuration or one of its displays was read.
    Ios,
    /// Linux: `ip xfrm`.
    Linux,
    /// Another one, or a list that was written by hand.
    Other,
}

/// The system of a router, by what was read of it.
pub(super) fn system(router: &Router) -> System {
    let displayed = |display| router.installed.iter().any(|sa| sa.display == display);
    if router.has_configuration() || displayed(Display::Cisco) {
        System::Ios
    } else if displayed(Display::Xfrm) || !router.xfrm_policies.is_empty() {
        System::Linux
    } else {
        System::Other
    }
}

/// Builds the SAs with one peer again: manual SAs keep what they were built with. Other tunnels stay up.
pub(super) fn clear(peer: Option<Address>) -> Vec<String> {
    peer.map(|peer| format!("clear crypto sa peer {peer}")).into_iter().collect()
}

/// Lines inside a crypto map entry, then leaving it and building the SAs with its peer again.
pub(super) fn in_map(entry: &MapEntry, lines: Vec<String>) -> Vec<String> {
    in_map_to(entry, entry.peers.first().map(|(peer, _)| *peer), lines)
}

/// The same for an entry whose peer becomes another one.
pub(super) fn in_map_to(entry: &MapEntry, peer: Option<Address>, lines: Vec<String>) -> Vec<String> {
    let kind = match entry.keying {
        super::Keying::Manual => "ipsec-manual",
        super::Keying::Ike => "ipsec-isakmp",
    };
    let mut all = vec!["configure terminal".to_owned(), format!("crypto map {} {} {kind}", entry.name, entry.number)];
    all.extend(lines.into_iter().map(|line| format!(" {line}")));
    all.push("end".to_owned());
    all.extend(clear(peer));
    all
}

/// Global lines, then building the SAs with a peer again.
pub(super) fn global(peer: Option<Address>, lines: Vec<String>) -> Vec<String> {
    let mut all = vec!["configure terminal".to_owned()];
    all.extend(lines);
    all.push("end".to_owned());
    all.extend(clear(peer));
    all
}

/// Switches an interface on.
pub(super) fn no_shutdown(interface: &str) -> Vec<String> {
    global(None, vec![format!("interface {interface}"), " no shutdown".to_owned()])
}

/// The session-key command for an SPI with the keys that a transform needs.
pub(super) fn session_key(inbound: bool, protocol: Protocol, spi: Option<Spi>, suite: Option<&Suite>) -> String {
    let esp = suite.and_then(|suite| suite.esp);
    let cipher = esp.is_none_or(|esp| esp.cipher.encrypts());
    let authenticator = esp.is_none_or(|esp| esp.integrity.is_some());
    let text = shown(inbound, protocol, spi.unwrap_or_default(), cipher, authenticator);
    match spi {
        Some(_) => text,
        None => text.replace(" 0 ", " <SPI> "),
    }
}

/// The lines that give an SA another SPI than the one it has, or its keys again.
#[must_use]
pub fn retyped(view: &View<'_>, stated: &Stated, present: Spi, spi: Spi) -> Vec<String> {
    let inbound = stated.way == Some(Way::In);
    if view.policies.routers.get(stated.router).is_some_and(|router| router.maker.is_some()) {
        return Vec::new();
    }
    match stated.map.and_then(|map| view.entry(stated.router, map)) {
        Some(entry) => in_map(entry, vec![session_key(inbound, stated.protocol, Some(spi), stated.suite.as_ref())]),
        // A display of IOS does not give the number of the entry to type into.
        None if view.policies.routers.get(stated.router).is_none_or(|router| system(router) != System::Linux) => {
            Vec::new()
        }
        None => {
            let of = view.policies.routers.get(stated.router);
            let sa = of.and_then(|router| router.installed.get(stated.installed?)).filter(|sa| sa.kernel.is_some());
            let Some(sa) = sa else { return Vec::new() };
            let ends = super::Installed { src: stated.src, dst: stated.dst, ..sa.clone() };
            let (old, new) = (super::Installed { spi: present, ..ends.clone() }, super::Installed { spi, ..ends });
            match (xfrm::delete_state(&old), xfrm::add_state(&new)) {
                (Some(delete), Some(add)) => vec![delete, add],
                _ => Vec::new(),
            }
        }
    }
}
