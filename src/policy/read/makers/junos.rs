//! Junos, in braces and as `set` commands: `security ipsec vpn NAME manual`, `security ipsec security-association NAME manual` and
//! `services ipsec-vpn rule NAME term NAME then manual`.

use std::collections::BTreeMap;

use super::foreign::{Tunnel, bare, cipher, integrity};
use crate::model::{Address, Protocol};
use crate::policy::Cite;
use crate::policy::facts::builder::Builder;
use crate::policy::facts::router::{LinkSa, Mode};
use crate::policy::facts::secret::Secret;
use crate::policy::form::paste::{Read, Reader};
use crate::policy::words::{address, spi};

const MAKER: &str = "Juniper";
/// How deep braces are followed, and how many tunnels.
const DEEP: usize = 32;
const TUNNELS: usize = 4_096;

/// What is known of a tunnel besides what all makers have.
struct Draft {
    tunnel: Tunnel,
    protocol: Protocol,
    /// An SA without a peer is one of a link: its own SPI and key for both directions.
    link: bool,
}

/// Reads statements of either form.
#[derive(Default)]
pub(in crate::policy) struct Junos {
    /// The statements whose braces are open, and whether a line belongs to such a configuration at all.
    path: Vec<Vec<String>>,
    drafts: BTreeMap<String, Draft>,
    /// Addresses of the router's own ends, by interface.
    interfaces: BTreeMap<String, Address>,
    /// Tunnels that are deactivated, with what was read of them before.
    off: BTreeMap<String, Option<Draft>>,
    /// The name of the router.
    host: Option<String>,
    /// The lines that the braces of tunnels begin in.
    headings: BTreeMap<String, Cite>,
}

impl Reader for Junos {
    fn open(&mut self, _: &str, words: &[&str], builder: &mut Builder) -> Read {
        let words = stated(words);
        match words {
            ["set", "system", "host-name", name] => {
                self.begin(bare(name));
                builder.hostname(bare(name), &format!("set system host-name {}", bare(name)));
                Read::Understood
            }
            [how @ ("deactivate" | "delete" | "activate"), path @ ..] if path.len() > 1 => {
                let path: Vec<&str> = path.iter().map(|word| bare(word)).collect();
                let Some(names) = self.tunnels(&path) else { return Read::Foreign };
                match *how {
                    "activate" => self.put_back(&names, builder),
                    how => self.take_out(how == "deactivate", &path, names, builder),
                }
                Read::Understood
            }
            ["set", "protocols" | "system" | "policy-options" | "firewall" | "routing-options" | "chassis", _, ..] => {
                Read::Understood
            }
            ["set", first @ ("security" | "services" | "interfaces"), rest @ ..] if rest.len() > 1 => {
                let all: Vec<&str> = std::iter::once(*first).chain(rest.iter().copied()).collect();
                self.statement(&all, builder);
                Read::Understood
            }
            [
                "security" | "services" | "system" | "interfaces" | "protocols" | "ipsec" | "ipsec-vpn" | "groups",
                "{",
            ] => {
                self.path = vec![vec![words.first().copied().unwrap_or_default().to_owned()]];
                Read::Understood
            }
            ["security-association" | "vpn", _, "{"] => {
                self.path = vec![vec!["security".to_owned(), "ipsec".to_owned()]];
                self.path.push(words.iter().filter(|word| **word != "{").map(|word| bare(word).to_owned()).collect());
                Read::Understood
            }
            _ => Read::Foreign,
        }
    }

    fn go_on(&mut self, text: &str, words: &[&str], builder: &mut Builder) -> Read {
        if self.path.is_empty() {
            return self.open(text, words, builder);
        }
        let words = stated(words);
        match words {
            ["}" | "};", ..] => {
                self.path.pop();
            }
            [rest @ .., "{"] if self.path.len() < DEEP => {
                if let [what @ ("vpn" | "security-association"), name] = rest
                    && self.headings.len() < TUNNELS
                {
                    let name = bare(name);
                    self.headings.insert(name.to_owned(), builder.cite_made(&format!("{what} {name}")));
                }
                self.path.push(rest.iter().map(|word| bare(word).to_owned()).collect());
            }
            [first, ..] if first.starts_with("/*") || first.starts_with('#') || first.starts_with("inactive:") => {}
            [.., last] if last.ends_with(';') || last.ends_with('"') => {
                // `algorithm a; key b;` may stand on one line, and `{ ... }` too.
                let path: Vec<String> = self.path.concat();
                for part in words.split(|word| word.ends_with('}')) {
                    let all: Vec<&str> = path.iter().map(String::as_str).chain(part.iter().copied()).collect();
                    self.statement(&all, builder);
                }
            }
            _ => return Read::Foreign,
        }
        Read::Understood
    }
}

/// A statement without what Junos prints behind it: `## SECRET-DATA`, `## Last commit: ...`.
fn stated<'w>(words: &'w [&'w str]) -> &'w [&'w str] {
    let end = words.iter().position(|word| *word == "##").filter(|at| *at > 0).unwrap_or(words.len());
    words.get(..end).unwrap_or_default()
}

impl Junos {
    /// A statement with all that it stands in.
    fn statement(&mut self, words: &[&str], builder: &mut Builder) {
        let words: Vec<&str> = words.iter().map(|word| bare(word)).collect();
        match words.as_slice() {
            ["system", "host-name", name] => {
                self.begin(name);
                builder.hostname(name, &format!("host-name {name}"));
            }
            ["interfaces", name, rest @ ..] => self.interface(name, rest, builder),
            ["security", "ipsec", "vpn", name, rest @ ..] => self.vpn(name, rest, builder),
            ["security", "ipsec", "security-association", name, rest @ ..] => self.association(name, rest, builder),
            ["services", "ipsec-vpn", "rule", rule, "term", term, "then", rest @ ..] => {
                self.vpn(&format!("{rule}/{term}"), rest, builder);
            }
            ["services", "service-set", _, "ipsec-vpn-options", "local-gateway", own] => {
                if let Some(own) = address(own) {
                    let cite = builder.cite_made(&format!("local-gateway {own}"));
                    for draft in self.drafts.values_mut() {
                        draft.tunnel.local.get_or_insert((own, cite.clone()));
                        draft.tunnel.store(MAKER, builder);
                    }
                }
            }
            _ => {}
        }
    }

    /// `unit 0 family inet address 10.0.0.1/24`.
    fn interface(&mut self, name: &str, words: &[&str], builder: &mut Builder) {
        let unit = match words {
            ["unit", unit, ..] => format!("{name}.{unit}"),
            _ => name.to_owned(),
        };
        let Some(at) = words.iter().position(|word| *word == "address") else { return };
        let own = words.get(at + 1).and_then(|word| address(word.split('/').next().unwrap_or_default()));
        let Some(own) = own else { return };
        let cite = builder.cite_made(&format!("interfaces {unit} address {own}"));
        self.interfaces.insert(unit.clone(), own);
        if let Some(router) = builder.router() {
            let interface = router.interfaces.entry(unit).or_default();
            if interface.addresses.iter().all(|(known, _)| *known != own) {
                interface.addresses.push((own, cite));
            }
        }
    }

    /// Forgets the tunnels and interfaces of the router before this one.
    fn begin(&mut self, host: &str) {
        if self.host.as_deref().is_some_and(|known| known != host) {
            (self.drafts, self.interfaces, self.off, self.headings) = Default::default();
        }
        self.host = Some(host.to_owned());
    }

    /// The tunnels that stand under a path; `None` of a path with none.
    fn tunnels(&self, path: &[&str]) -> Option<Vec<String>> {
        match path {
            ["security", "ipsec", "vpn" | "security-association", name, ..] => Some(vec![(*name).to_owned()]),
            ["services", "ipsec-vpn", "rule", rule, "term", term, ..] => Some(vec![format!("{rule}/{term}")]),
            ["security", "ipsec"] | ["services", "ipsec-vpn"] => {
                Some(self.drafts.keys().chain(self.off.keys()).cloned().collect())
            }
            _ => None,
        }
    }

    /// `activate PATH`: what was deactivated under the path is in force again.
    fn put_back(&mut self, names: &[String], builder: &mut Builder) {
        for name in names {
            let Some(Some(draft)) = self.off.remove(name) else { continue };
            if draft.link {
                draft.store_link(builder);
            } else {
                draft.tunnel.store(MAKER, builder);
            }
            self.drafts.insert(name.clone(), draft);
        }
    }

    /// `deactivate PATH` and `delete PATH`: what stands under the path is not in force.
    fn take_out(&mut self, off: bool, path: &[&str], names: Vec<String>, builder: &mut Builder) {
        if let ["security", "ipsec", "vpn" | "security-association", _, _, ..] = path {
            builder.wrong("a part of a tunnel is taken out: nothing of the tunnel is compared");
        }
        for name in names {
            let draft = self.drafts.remove(&name);
            if let Some(router) = builder.continues() {
                router.maps.retain(|entry| entry.name != name);
                router.links.retain(|link| link.place != name);
                router.transform_sets.remove(&name);
            }
            if off && self.off.len() < TUNNELS {
                let kept = self.off.entry(name).or_default();
                *kept = draft.or_else(|| kept.take());
            }
        }
    }

    fn draft(&mut self, name: &str, link: bool, builder: &Builder) -> Option<&mut Draft> {
        if self.off.contains_key(name) || self.drafts.len() >= TUNNELS && !self.drafts.contains_key(name) {
            return None;
        }
        let heading = self.headings.get(name).cloned();
        let new = || {
            let what = if link { "security-association" } else { "vpn" };
            let here = || builder.cite_made(&format!("{what} {name}"));
            let tunnel = Tunnel::new(name, 0, heading.unwrap_or_else(here));
            Draft { tunnel, protocol: Protocol::Esp, link }
        };
        Some(self.drafts.entry(name.to_owned()).or_insert_with(new))
    }

    /// What stands in a tunnel with a gateway.
    fn vpn(&mut self, name: &str, words: &[&str], builder: &mut Builder) {
        let manual = words.first() == Some(&"manual");
        if !manual && !matches!(words, ["remote-gateway", _]) {
            return;
        }
        let words = if manual { words.get(1..).unwrap_or_default() } else { words };
        let known = self.interfaces.clone();
        let Some(draft) = self.draft(name, false, builder) else { return };
        match words {
            ["gateway" | "remote-gateway", peer] => match address(peer) {
                Some(peer) => draft.tunnel.peer = Some((peer, builder.cite_made(&format!("gateway {peer}")))),
                None => builder.wrong("a gateway that is no address"),
            },
            ["external-interface", interface] => {
                let cite = builder.cite_made(&format!("external-interface {interface}"));
                draft.tunnel.interface = Some((*interface).to_owned());
                draft.tunnel.local = known.get(*interface).map(|own| (*own, cite));
            }
            ["direction", way, rest @ ..] => draft.field(ways(way), rest, builder),
            rest => draft.field(&[true, false], rest, builder),
        }
        draft.tunnel.store(MAKER, builder);
    }

    /// What stands in an SA that routing protocols use.
    fn association(&mut self, name: &str, words: &[&str], builder: &mut Builder) {
        let Some(draft) = self.draft(name, true, builder) else { return };
        match words {
            ["mode", mode] => {
                draft.tunnel.mode = Some(if *mode == "transport" { Mode::Transport } else { Mode::Tunnel })
            }
            ["manual", "direction", way, rest @ ..] => {
                // One SPI for all routers of a link is `bidirectional`; an SA of each direction is one of a tunnel.
                draft.link &= !matches!(*way, "inbound" | "outbound");
                draft.field(ways(way), rest, builder);
            }
            _ => return,
        }
        if draft.link {
            draft.store_link(builder);
        } else {
            draft.tunnel.store(MAKER, builder);
        }
    }
}

/// Whether a direction is inbound, or both.
fn ways(word: &str) -> &'static [bool] {
    match word {
        "inbound" => &[true],
        "outbound" => &[false],
        _ => &[true, false],
    }
}

impl Draft {
    fn field(&mut self, ways: &[bool], words: &[&str], builder: &mut Builder) {
        match words {
            ["protocol", protocol @ ("ah" | "esp")] => {
                let protocol = if *protocol == "ah" { Protocol::Ah } else { Protocol::Esp };
                if protocol != self.protocol {
                    self.protocol = protocol;
                    let halves = std::mem::take(&mut self.tunnel.halves);
                    self.tunnel.halves = halves
                        .into_iter()
                        .map(|((inbound, _), half)| ((inbound, protocol == Protocol::Ah), half))
                        .collect();
                }
            }
            ["spi" | "auxiliary-spi", value] => match spi(value) {
                Some(spi) => {
                    let cite = builder.cite_made(&format!("spi {}", spi.0));
                    for inbound in ways {
                        self.tunnel.half(*inbound, self.protocol).spi = Some((spi, cite.clone()));
                    }
                }
                None => builder.wrong("an SPI that is no number up to 4294967295"),
            },
            ["authentication", "algorithm", name] => match integrity(name, self.protocol) {
                Some(words) => self.tunnel.integrity = Some(words.to_owned()),
                None => builder.wrong("an authentication algorithm that is not known"),
            },
            ["encryption", "algorithm", name] => match cipher(name) {
                Some(words) => self.tunnel.cipher = Some(words.to_owned()),
                None => builder.wrong("an encryption algorithm that is not known"),
            },
            [which @ ("authentication" | "encryption"), "key", kind, key] => {
                let secret = match *kind {
                    _ if key.starts_with("$9$") => Secret::encrypted(key),
                    "hexadecimal" | "hexadecimal-text" => Secret::new(key),
                    _ => Secret::phrase(key),
                };
                for inbound in ways {
                    let half = self.tunnel.half(*inbound, self.protocol);
                    let place = if *which == "encryption" { &mut half.cipher } else { &mut half.authenticator };
                    *place = Some(secret.clone());
                }
            }
            // Several fields on one line.
            [which @ ("authentication" | "encryption"), first, second, rest @ ..] if !rest.is_empty() => {
                self.field(ways, &[*which, *first, *second], builder);
                let all: Vec<&str> = std::iter::once(*which).chain(rest.iter().copied()).collect();
                self.field(ways, &all, builder);
            }
            _ => {}
        }
    }

    /// An SA of a link has one SPI: that of packets that arrive stands for it.
    fn store_link(&self, builder: &mut Builder) {
        if !self.link {
            return;
        }
        let Some(router) = builder.router() else { return };
        router.maker = Some(MAKER);
        let words: Vec<&str> =
            [&self.tunnel.cipher, &self.tunnel.integrity].into_iter().flatten().map(String::as_str).collect();
        router.links.retain(|link| link.place != self.tunnel.name);
        for ((_, ah), half) in self.tunnel.halves.iter().rev().take(1) {
            let Some((spi, cite)) = half.spi.clone() else { continue };
            router.links.push(LinkSa {
                place: self.tunnel.name.clone(),
                area: true,
                protocol: if *ah { Protocol::Ah } else { Protocol::Esp },
                spi,
                words: words.join(" "),
                cipher: half.cipher.clone(),
                authenticator: half.authenticator.clone(),
                cite,
            });
        }
    }
}
