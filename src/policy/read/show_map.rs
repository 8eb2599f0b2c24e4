//! `show crypto map` of Cisco IOS: entries with their peers, keys, access lists and transform sets.

use super::cisco::{interface_name, list_entry, map_entry};
use crate::model::{Protocol, Spi};
use crate::policy::facts::builder::Builder;
use crate::policy::facts::redact;
use crate::policy::facts::router::{Keying, MapEntry, SessionKey, TransformSet};
use crate::policy::facts::secret::Secret;
use crate::policy::form::paste::{Read, Reader};
use crate::policy::words::{address, spi};

/// Beginnings of lines that are known and say nothing here.
const NOISE: [&str; 28] = [
    "current",
    "description:",
    "security",
    "pfs",
    "mixed-mode",
    "responder-only",
    "dualstack",
    "no",
    "transform",
    "}",
    "dh",
    "antireplay",
    "reverse",
    "qos",
    "local",
    "profile",
    "isakmp",
    "ikev2",
    "extended-mode",
    "idb",
    "fqdn",
    "qos-pre-classify",
    "lifetime",
    "kilobytes",
    "seconds",
    "identity",
    "interfaces",
    "template",
];

/// Reads the display.
#[derive(Default)]
pub(in crate::policy) struct ShowMap {
    /// The entry that is told of, among the router's.
    at: Option<usize>,
    /// The key that the next lines belong to: inbound, protocol, SPI.
    key: Option<(bool, Protocol, Spi)>,
    /// The map whose interfaces follow.
    carried: Option<String>,
}

impl Reader for ShowMap {
    /// `Crypto Map "M" 10 ipsec-manual`, `Crypto Map IPv4 "M" 10 ipsec-isakmp`.
    fn open(&mut self, text: &str, words: &[&str], builder: &mut Builder) -> Read {
        if !text.starts_with("Crypto Map ") && !text.starts_with("Crypto Map: ") {
            return Read::Foreign;
        }
        let Some(quoted) = words.iter().position(|word| word.starts_with('"')) else { return Read::Foreign };
        let name = words.get(quoted).map_or("", |word| word.trim_matches('"'));
        let [number, kind, ..] = words.get(quoted + 1..).unwrap_or_default() else { return Read::Foreign };
        let keying = match *kind {
            "ipsec-manual" => Keying::Manual,
            "ipsec-isakmp" => Keying::Ike,
            _ => return Read::Foreign,
        };
        if number.parse::<u32>().is_err() {
            return Read::Foreign;
        }
        *self = Self { at: map_entry(name, number, keying, builder), ..Self::default() };
        self.edit(builder, |entry| entry.unread.profile |= entry.peers.is_empty() && entry.transform_sets.is_empty());
        Read::Understood
    }

    fn go_on(&mut self, text: &str, words: &[&str], builder: &mut Builder) -> Read {
        if self.open(text, words, builder) == Read::Understood {
            return Read::Understood;
        }
        match words {
            ["Peer", "=", peer, ..] => match address(peer) {
                Some(peer) => {
                    let cite = builder.cite_made(&format!("Peer = {peer}"));
                    self.edit(builder, |entry| {
                        if entry.peers.iter().all(|(known, _)| *known != peer) {
                            entry.peers.push((peer, cite));
                        }
                    });
                }
                None => builder.wrong("a peer that is no address"),
            },
            ["Extended" | "Standard" | "IPv6", "IP", "access", "list", name] | ["IPv6", "access", "list", name] => {
                let cite = builder.cite_made(&format!("Extended IP access list {name}"));
                let name = (*name).to_owned();
                self.edit(builder, |entry| entry.acl = Some((name, cite)));
            }
            ["access-list", ..] => return list_entry(words, builder),
            [way @ ("Inbound" | "Outbound"), protocol @ ("esp" | "ah"), "spi:", value, ..] => {
                self.begin(*way == "Inbound", protocol, value, builder);
            }
            ["cipher", "key:", key] => self.secret(true, key, builder),
            ["auth_key:", key] | ["auth", "key:", key] | ["key:", key] => self.secret(false, key, builder),
            ["cipher", "key:"] | ["auth_key:"] | ["auth", "key:"] => {}
            [name, "{", transforms @ ..] if name.ends_with(':') => {
                self.set(name.trim_end_matches(':'), transforms, builder)
            }
            ["Interfaces", "using", "crypto", "map", name] => {
                self.carried = Some(name.strip_suffix(':').unwrap_or(name).to_owned());
            }
            [interface] if self.carried.is_some() && interface.bytes().any(|b| b.is_ascii_digit()) => {
                let name = interface_name(interface);
                let cite = builder.cite_made(&name);
                if let (Some(map), Some(router)) = (&self.carried, builder.router()) {
                    router.interfaces.entry(name).or_default().map = Some((map.clone(), cite));
                }
            }
            [first, ..] if NOISE.contains(&first.to_ascii_lowercase().trim_end_matches([':', ','])) => {}
            _ => return Read::Foreign,
        }
        Read::Understood
    }
}

impl ShowMap {
    fn edit(&self, builder: &mut Builder, change: impl FnOnce(&mut MapEntry)) {
        if let Some(entry) = self.at.and_then(|at| builder.router()?.maps.get_mut(at)) {
            change(entry);
        }
    }

    /// An SPI of 0 stands for a protocol without a key.
    fn begin(&mut self, inbound: bool, protocol: &str, value: &str, builder: &mut Builder) {
        let protocol = if protocol == "ah" { Protocol::Ah } else { Protocol::Esp };
        self.key = None;
        match spi(value) {
            Some(spi) if spi.0 == 0 => {}
            Some(spi) => {
                self.key = Some((inbound, protocol, spi));
                let way = if inbound { "Inbound" } else { "Outbound" };
                let cite = builder.cite_made(&format!("{way} {} spi: {}", protocol.name(), spi.0));
                self.edit(builder, |entry| {
                    entry.keys.retain(|old| old.inbound != inbound || old.protocol != protocol);
                    entry.keys.push(SessionKey { inbound, protocol, spi, cipher: None, authenticator: None, cite });
                });
            }
            None => builder.wrong("an SPI that is no number up to 4294967295"),
        }
    }

    fn secret(&self, cipher: bool, word: &str, builder: &mut Builder) {
        let word = word.trim_end_matches(',');
        let Some((inbound, protocol, _)) = self.key.filter(|_| !word.is_empty()) else { return };
        let secret = Some(Secret::new(word));
        self.edit(builder, |entry| {
            let same = |key: &&mut SessionKey| key.inbound == inbound && key.protocol == protocol;
            if let Some(key) = entry.keys.iter_mut().find(same) {
                if cipher {
                    key.cipher = secret;
                } else {
                    key.authenticator = secret;
                }
            }
        });
    }

    /// `TSAES: { esp-aes esp-sha-hmac } ,`.
    fn set(&self, name: &str, transforms: &[&str], builder: &mut Builder) {
        let words = redact::transforms(transforms).join(" ");
        let cite = builder.cite_made(&format!("{name}: {{ {words} }}"));
        let set = TransformSet { words, mode: None, cite: cite.clone(), cut: false };
        if let Some(router) = builder.router() {
            router.transform_sets.entry(name.to_owned()).or_insert(set);
        }
        self.edit(builder, |entry| {
            if entry.transform_sets.iter().all(|(known, _)| known != name) {
                entry.transform_sets.push((name.to_owned(), cite));
            }
        });
    }
}
