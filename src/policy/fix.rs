//! Lines to type at a router. Keys are placeholders.

use super::cisco::shown;
use super::router::{MapEntry, Way};
use super::stated::{Stated, View};
use crate::model::{Protocol, Spi};
use crate::transform::Suite;

/// Takes effect at once: manual SAs keep what they were built with until they are built again.
const CLEAR: &str = "clear crypto sa";

/// Lines inside a crypto map entry, then leaving it and building the SAs again.
pub(super) fn in_map(entry: &MapEntry, lines: Vec<String>) -> Vec<String> {
    let kind = match entry.keying {
        super::Keying::Manual => "ipsec-manual",
        super::Keying::Ike => "ipsec-isakmp",
    };
    let mut all = vec!["configure terminal".to_owned(), format!("crypto map {} {} {kind}", entry.name, entry.number)];
    all.extend(lines.into_iter().map(|line| format!(" {line}")));
    all.extend(["end".to_owned(), CLEAR.to_owned()]);
    all
}

/// Global lines, then building the SAs again.
pub(super) fn global(lines: Vec<String>) -> Vec<String> {
    let mut all = vec!["configure terminal".to_owned()];
    all.extend(lines);
    all.extend(["end".to_owned(), CLEAR.to_owned()]);
    all
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
        None => {
            let (Some(src), Some(dst)) = (stated.src, stated.dst) else { return Vec::new() };
            let ends = format!("src {src} dst {dst} proto {}", stated.protocol.name());
            vec![
                format!("ip xfrm state delete {ends} spi 0x{:x}", present.0),
                format!(
                    "ip xfrm state add {ends} spi 0x{:x} mode {} <ALGORITHMS AND KEYS>",
                    spi.0,
                    stated.mode.unwrap_or(super::Mode::Tunnel).name()
                ),
            ]
        }
    }
}
