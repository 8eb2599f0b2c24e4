//! Huawei and H3C: `ipsec policy NAME 10 manual` with its proposal and access list, and `display ipsec sa`.

use super::foreign::{Tunnel, cipher, installed, integrity};
use super::proposal::Proposal;
use crate::model::{Address, Protocol};
use crate::policy::facts::builder::Builder;
use crate::policy::facts::forwarding::Route;
use crate::policy::facts::router::{Acl, Denied, Display, Installed, Keying, Mode, Way};
use crate::policy::facts::secret::Secret;
use crate::policy::facts::selector::{Net, Selector};
use crate::policy::form::paste::{Read, Reader};
use crate::policy::limits::MAX_BLOCKS;
use crate::policy::words::{address, spi};

pub(super) const MAKER: &str = "Huawei";

/// The view that lines belong to.
#[derive(Default)]
enum View {
    #[default]
    System,
    Policy(Box<Tunnel>),
    Proposal(Proposal),
    /// A list, by its name and its number.
    List(Vec<String>),
    Interface(String),
    Display(Box<Shown>),
    Other,
}

/// What `display ipsec sa` said of the tunnel whose SAs follow.
#[derive(Default)]
struct Shown {
    policy: Option<String>,
    local: Option<Address>,
    remote: Option<Address>,
    mode: Option<Mode>,
    group: Option<(Way, Protocol)>,
}

/// Reads both.
#[derive(Default)]
pub(in crate::policy) struct Huawei {
    view: View,
}

impl Reader for Huawei {
    fn open(&mut self, text: &str, words: &[&str], builder: &mut Builder) -> Read {
        match words {
            ["sysname", name] => {
                builder.hostname(name, &format!("sysname {name}"));
                self.view = View::System;
            }
            ["ipsec", "policy", name, number, kind @ ("manual" | "isakmp")] if number.parse::<u32>().is_ok() => {
                let cite = builder.cite_made(&format!("ipsec policy {name} {number} {kind}"));
                let mut tunnel = Tunnel::new(name, number.parse().unwrap_or_default(), cite);
                if *kind == "isakmp" {
                    tunnel.keying = Keying::Ike;
                }
                tunnel.store(MAKER, builder);
                self.view = View::Policy(Box::new(tunnel));
            }
            ["ipsec", "policy", _, _, "isakmp" | "template", ..] | ["ipsec", "sa" | "invalid-spi-recovery", ..] => {
                self.view = View::Other;
            }
            ["ipsec", "proposal" | "transform-set", name] => self.view = View::Proposal(Proposal::begin(name, builder)),
            // A list with a name has a number too, and goes by either.
            ["acl", "name", name, number] if number.bytes().all(|b| b.is_ascii_digit()) => {
                self.view = View::List(vec![(*name).to_owned(), (*number).to_owned()]);
            }
            ["acl", "number", number, "name", name] => {
                self.view = View::List(vec![(*name).to_owned(), (*number).to_owned()]);
            }
            ["acl", "number" | "advanced" | "name", name, ..] | ["acl", name] => {
                self.view = View::List(vec![(*name).to_owned()])
            }
            ["Interface:", _] => self.view = View::Display(Box::default()),
            _ if text.starts_with("IPsec policy name:") || text.starts_with("IPSec policy name:") => {
                // What stands after the name may be another line, with a key.
                let policy = words.get(3).map(|name| name.trim_matches('"').to_owned());
                self.view = View::Display(Box::new(Shown { policy, ..Shown::default() }));
            }
            _ => return Read::Foreign,
        }
        Read::Understood
    }

    fn go_on(&mut self, text: &str, words: &[&str], builder: &mut Builder) -> Read {
        if self.open(text, words, builder) == Read::Understood {
            return Read::Understood;
        }
        match words {
            ["#"] | ["return"] | ["quit"] => return Read::Understood,
            ["interface", name, ..] => {
                self.view = View::Interface((*name).to_owned());
                return Read::Understood;
            }
            ["ip", "route-static", rest @ ..] => return route(rest, builder),
            ["ospf" | "bgp" | "rip" | "isis", ..] => {
                if let Some(router) = builder.router() {
                    router.forwarding.other_routes = true;
                }
            }
            _ => {}
        }
        match &mut self.view {
            View::Policy(tunnel) => policy(tunnel, words, builder),
            View::Proposal(proposal) => proposal.line(words, builder),
            View::List(names) => {
                let read: Vec<Read> = names.iter().map(|name| rule(name, words, builder)).collect();
                read.into_iter().next_back().unwrap_or(Read::Foreign)
            }
            View::Interface(name) => interface(&name.clone(), words, builder),
            View::Display(shown) => shown.line(text, words, builder),
            View::Other | View::System => Read::Foreign,
        }
    }
}

fn policy(tunnel: &mut Tunnel, words: &[&str], builder: &mut Builder) -> Read {
    match words {
        ["security", "acl", rest @ ..] => {
            // H3C: `security acl ipv6 3101`.
            let name = rest.iter().find(|word| !matches!(**word, "ipv6" | "name")).copied().unwrap_or_default();
            tunnel.acl = Some((name.to_owned(), builder.cite_made(&format!("security acl {name}"))));
        }
        ["proposal" | "transform-set", name] => proposal(tunnel, name, builder),
        ["tunnel", way @ ("local" | "remote"), .., end] | [way @ ("local-address" | "remote-address"), .., end] => {
            match address(end) {
                Some(end) => {
                    let cite = builder.cite_made(&format!("tunnel {} {end}", way.trim_end_matches("-address")));
                    if way.starts_with("local") {
                        tunnel.local = Some((end, cite));
                    } else {
                        tunnel.peer = Some((end, cite));
                    }
                }
                None => builder.wrong("an end of a tunnel that is no address"),
            }
        }
        ["sa", "spi", way @ ("inbound" | "outbound"), protocol @ ("ah" | "esp"), value] => match spi(value) {
            Some(spi) => {
                let cite = builder.cite_made(&format!("sa spi {way} {protocol} {}", spi.0));
                tunnel.half(*way == "inbound", named(protocol)).spi = Some((spi, cite));
            }
            None => builder.wrong("an SPI that is no number up to 4294967295"),
        },
        ["sa", kind @ ("string-key" | "authentication-hex" | "encryption-hex"), way, protocol, key @ ..]
        | ["sa", "hex-key", kind @ ("authentication" | "encryption"), way, protocol, key @ ..]
            if matches!(*way, "inbound" | "outbound") && matches!(*protocol, "ah" | "esp") =>
        {
            let Some(secret) = secret(key, *kind == "string-key") else {
                builder.wrong("a key of an SA that is missing");
                return Read::Understood;
            };
            let half = tunnel.half(*way == "inbound", named(protocol));
            match *kind {
                // The device makes both keys of the phrase.
                "string-key" => {
                    half.cipher = Some(secret.clone());
                    half.authenticator = Some(secret);
                }
                "authentication-hex" | "authentication" => half.authenticator = Some(secret),
                _ => half.cipher = Some(secret),
            }
        }
        ["sa", "duration" | "trigger-mode" | "idle-time" | "df-bit", ..]
        | ["description" | "policy" | "alias" | "qos" | "reverse-route" | "df-bit" | "respond-only", ..] => {}
        _ => return Read::Foreign,
    }
    tunnel.store(MAKER, builder);
    Read::Understood
}

/// The proposal of a policy. IKE chooses one of several, of one algorithm of several: what it chose is not in the text.
fn proposal(tunnel: &mut Tunnel, name: &str, builder: &mut Builder) {
    if tunnel.keying == Keying::Ike {
        builder.wrong("a proposal that IKE chooses from: its algorithms are not compared");
        return;
    }
    if builder.router().is_some_and(|router| router.forwarding.vague_sets.contains(name)) {
        builder.wrong(
            "the proposal leaves algorithms to what the release takes where nothing is said: they are not compared",
        );
    }
    tunnel.sets = vec![(name.to_owned(), builder.cite_made(&format!("proposal {name}")))];
}

fn named(protocol: &str) -> Protocol {
    if protocol == "ah" { Protocol::Ah } else { Protocol::Esp }
}

/// `simple KEY` as it is, `cipher KEY` encrypted, or the key alone.
fn secret(words: &[&str], phrase: bool) -> Option<Secret> {
    let plain = |word: &str| if phrase { Secret::phrase(word) } else { Secret::new(word) };
    match words {
        ["simple", key] | [key] => Some(plain(key)),
        ["cipher", key] => Some(Secret::encrypted(key)),
        _ => None,
    }
}

/// `ip route-static 10.20.2.0 255.255.255.0 192.0.2.2`, with a prefix length in place of the mask, or an interface before the next hop.
fn route(words: &[&str], builder: &mut Builder) -> Read {
    let to = match words {
        [base, mask, ..] => address(base).and_then(|base| match mask.parse::<u32>() {
            Ok(prefix) => Net::prefix(base, prefix),
            Err(_) => mask.parse::<std::net::Ipv4Addr>().ok().map(|mask| Net::masked(base, u128::from(mask.to_bits()))),
        }),
        _ => None,
    };
    let over = words.iter().skip(2).take(2).find_map(|word| address(word));
    let floating = words.iter().any(|word| matches!(*word, "preference" | "track" | "bfd"));
    let cite =
        builder.cite(&format!("ip route-static {}", words.iter().take(4).copied().collect::<Vec<_>>().join(" ")));
    if let Some(router) = builder.router() {
        match to {
            Some(to) if router.forwarding.routes.len() < MAX_BLOCKS => {
                router.forwarding.routes.push(Route { to, over, through: None, floating, cite });
            }
            // A route of a VPN instance, or one that cannot be read, may lead anywhere.
            _ => router.forwarding.other_routes = true,
        }
    }
    Read::Understood
}

/// `rule 5 permit ip source 10.20.1.0 0.0.0.255 destination 10.20.2.0 0.0.0.255`.
fn rule(name: &str, words: &[&str], builder: &mut Builder) -> Read {
    let words = match words {
        ["rule", number, rest @ ..] if number.bytes().all(|b| b.is_ascii_digit()) => {
            numbered(name, number, builder);
            rest
        }
        ["rule", rest @ ..] => rest,
        ["description" | "step", ..] => return Read::Understood,
        _ => return Read::Foreign,
    };
    let [action @ ("permit" | "deny"), protocol, rest @ ..] = words else { return Read::Foreign };
    let read = selector(protocol, rest);
    let shown = read.as_ref().map_or_else(|| (*action).to_owned(), |one| format!("rule {action} {}", one.typed()));
    let cite = builder.cite(&shown);
    if read.is_none() && *action == "permit" {
        builder.wrong("a rule of an access list that cannot be read");
    }
    if let Some(router) = builder.router() {
        let list = router.acls.entry(name.to_owned());
        let list = list.or_insert_with(|| Acl { permits: Vec::new(), denies: Vec::new(), cite: cite.clone() });
        match (*action, read) {
            ("permit", Some(selector)) => list.permits.push((selector, cite)),
            ("permit", None) => {}
            (_, selector) => list.denies.push(Denied { behind: list.permits.len(), selector, cite }),
        }
    }
    Read::Understood
}

/// Rules are looked at in the order of their numbers: of a list that was typed in another order, what goes before what is not known here.
fn numbered(list: &str, number: &str, builder: &mut Builder) {
    let (Ok(number), Some(router)) = (number.parse::<u32>(), builder.router()) else { return };
    let sequence = router.forwarding.sequence.entry(list.to_owned()).or_default();
    let in_order = sequence.last().is_none_or(|(last, _)| *last < number);
    sequence.push((number, None));
    if !in_order {
        router.forwarding.vague.insert(list.to_owned());
    }
}

fn selector(protocol: &str, words: &[&str]) -> Option<Selector> {
    let net = |which: &str| -> Option<Net> {
        let Some(at) = words.iter().position(|word| *word == which) else { return Some(Net::any(true)) };
        match words.get(at + 1..)? {
            ["any", ..] => Some(Net::any(true)),
            [base, "0", ..] => Some(Net::host(address(base)?)),
            [base, wildcard, ..] => {
                let wildcard: std::net::Ipv4Addr = wildcard.parse().ok()?;
                Some(Net::masked(address(base)?, u128::from(!wildcard.to_bits())))
            }
            _ => None,
        }
    };
    // Ports narrow it to what is not compared.
    if words.iter().any(|word| matches!(*word, "source-port" | "destination-port")) {
        return None;
    }
    let (src, dst) = (net("source")?, net("destination")?);
    Some(Selector { protocol: protocol.to_owned(), src, src_port: String::new(), dst, dst_port: String::new() })
}

fn interface(name: &str, words: &[&str], builder: &mut Builder) -> Read {
    match words {
        ["ip", "address", own, mask, ..] => {
            let (Some(own), Ok(mask)) = (address(own), mask.parse::<std::net::Ipv4Addr>()) else {
                builder.wrong("an interface address that is no address with a mask");
                return Read::Understood;
            };
            let cite = builder.cite_made(&format!("ip address {own} {mask}"));
            if let Some(router) = builder.router() {
                let interface = router.interfaces.entry(name.to_owned()).or_default();
                interface.networks.push(Net::masked(own, u128::from(mask.to_bits())));
                interface.addresses.push((own, cite));
            }
        }
        ["ipsec", "policy", policy] | ["ipsec", "apply", "policy", policy] => {
            let cite = builder.cite_made(&format!("ipsec policy {policy}"));
            if let Some(router) = builder.router() {
                router.interfaces.entry(name.to_owned()).or_default().map = Some(((*policy).to_owned(), cite));
            }
        }
        ["undo" | "port" | "description" | "duplex" | "speed" | "mtu" | "shutdown" | "ip", ..] => {}
        _ => return Read::Foreign,
    }
    Read::Understood
}

impl Shown {
    fn line(&mut self, text: &str, words: &[&str], builder: &mut Builder) -> Read {
        let lower = text.to_ascii_lowercase();
        for (at, word) in words.iter().enumerate() {
            let end =
                words.get(at + 1..).unwrap_or_default().iter().find_map(|word| address(word.trim_start_matches(':')));
            match word.to_ascii_lowercase().trim_end_matches(':') {
                "local" => self.local = end.or(self.local),
                "remote" => self.remote = end.or(self.remote),
                _ => {}
            }
        }
        let group = ["inbound", "outbound"].iter().find(|way| lower.starts_with(&format!("[{way} ")));
        if let Some(way) = group {
            let way = if *way == "inbound" { Way::In } else { Way::Out };
            self.group = Some((way, if lower.contains(" ah ") { Protocol::Ah } else { Protocol::Esp }));
            return Read::Understood;
        }
        match lower.split(':').next().unwrap_or_default().trim() {
            "spi" => self.sa(text, builder),
            "encapsulation mode" => {
                self.mode = Some(if lower.contains("transport") { Mode::Transport } else { Mode::Tunnel });
            }
            "proposal" | "transform set" => {
                let transforms = transforms(text);
                if let Some(sa) = builder.router().and_then(|router| router.installed.last_mut()) {
                    sa.words = transforms;
                }
            }
            _ if lower.contains(':') || lower.starts_with("no ") => {}
            _ => return Read::Foreign,
        }
        Read::Understood
    }

    fn sa(&self, text: &str, builder: &mut Builder) {
        let Some((way, protocol)) = self.group else { return };
        let value = text.split_once(':').map_or("", |(_, value)| value.trim()).split(' ').next().unwrap_or_default();
        let Some(spi) = spi(value) else {
            builder.wrong("an SPI that is no number up to 4294967295");
            return;
        };
        let (src, dst) = if way == Way::In { (self.remote, self.local) } else { (self.local, self.remote) };
        let cite = builder.cite_made(&format!("SPI: {} ({spi})", spi.0));
        let (mode, map) = (self.mode, self.policy.clone());
        let listed = Installed::listed(Display::Other, protocol, spi, cite);
        installed(MAKER, Installed { way: Some(way), src, dst, mode, map, ..listed }, builder);
    }
}

/// `ESP-ENCRYPT-AES-128 ESP-AUTH-SHA2-256` in the words of IOS.
fn transforms(text: &str) -> String {
    let upper = text.to_ascii_uppercase();
    let words = upper.split(' ').filter_map(|word| {
        if let Some(name) = word.strip_prefix("ESP-ENCRYPT-") {
            cipher(name)
        } else if let Some(name) = word.strip_prefix("ESP-AUTH-") {
            integrity(name, Protocol::Esp)
        } else {
            integrity(word.strip_prefix("AH-AUTH-").or_else(|| word.strip_prefix("AH-"))?, Protocol::Ah)
        }
    });
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}
