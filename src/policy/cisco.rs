//! A Cisco IOS running configuration, or a part of it. Indentation says nothing: pasting loses it. A line belongs to the last
//! block that takes such lines.

mod acl;
mod forwarding;
mod ike;
mod map;

pub(super) use forwarding::expand;
pub(super) use map::shown;

use super::builder::Builder;
use super::paste::Read;
use super::redact;
use super::router::{Interface, Mode, TransformSet};
use super::words::address;
use crate::transform::Suite;

/// The block that lines belong to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
enum Block {
    #[default]
    None,
    TransformSet(String),
    Profile(String),
    /// An entry of the router's `maps`.
    Map(usize),
    Interface(String),
    Acl(String),
    /// An object group of networks.
    Group(String),
    /// An entry of the router's `ike`.
    Ike(usize),
    /// A block whose lines are no concern of ours, although some begin with the same words.
    Other,
}

/// Beginnings of blocks that are not read.
const OTHER_BLOCKS: [&str; 16] = [
    "router",
    "line",
    "route-map",
    "class-map",
    "policy-map",
    "vrf",
    "voice",
    "dial-peer",
    "key",
    "control-plane",
    "banner",
    "archive",
    "controller",
    "aaa",
    "username",
    "snmp-server",
];

/// Lines of interfaces and of the configuration at large that are known and say nothing here.
const NOISE: [&str; 24] = [
    "duplex",
    "speed",
    "description",
    "shutdown",
    "mtu",
    "bandwidth",
    "version",
    "service",
    "building",
    "current",
    "boot-start-marker",
    "boot-end-marker",
    "lifetime",
    "remark",
    "keepalive",
    "negotiation",
    "encapsulation",
    "load-interval",
    "switchport",
    "arp",
    "delay",
    "no",
    "spanning-tree",
    "media-type",
];

/// Reads configuration lines.
#[derive(Default)]
pub(super) struct Cisco {
    block: Block,
}

impl Cisco {
    /// A line that begins a block, or stands for itself.
    pub(super) fn open(&mut self, text: &str, words: &[&str], builder: &mut Builder) -> Read {
        match words {
            ["hostname", name, ..] => {
                builder.hostname(name.trim_matches('"'), &format!("hostname {name}"));
                self.block = Block::None;
                Read::Understood
            }
            ["crypto", "ipsec", "transform-set", name, transforms @ ..] if !transforms.is_empty() => {
                self.transform_set(name, transforms, builder)
            }
            ["crypto", "ipsec", "profile", name] => {
                self.block = Block::Profile((*name).to_owned());
                if let Some(router) = builder.router() {
                    router.profiles.entry((*name).to_owned()).or_default();
                }
                Read::Understood
            }
            ["crypto", "map", name, "local-address", interface] => {
                if let Some(router) = builder.router() {
                    router.map_sources.insert((*name).to_owned(), (*interface).to_owned());
                }
                Read::Understood
            }
            ["crypto", "map", name] => self.map_on_interface(text, name, builder),
            ["crypto", "map", name, "redundancy", ..] if matches!(self.block, Block::Interface(_)) => {
                if let Block::Interface(interface) = &self.block {
                    forwarding::redundant(&interface.clone(), builder);
                }
                self.map_on_interface(&format!("crypto map {name} redundancy"), name, builder)
            }
            ["crypto", "map", name, number, kind, ..] => self.map_entry(name, number, kind, builder),
            ["crypto", "isakmp" | "ikev2", ..] => self.ike(text, words, builder),
            ["crypto", "pki" | "engine" | "logging" | "ipsec", ..] => Read::Understood,
            ["crypto", ..] => self.other(),
            ["interface", name, rest @ ..] if !text.starts_with("interface:") => {
                // A number may stand apart: `interface GigabitEthernet 0/0`.
                let number =
                    rest.first().filter(|word| word.len() < 12 && word.starts_with(|c: char| c.is_ascii_digit()));
                let name = format!("{name}{}", number.unwrap_or(&""));
                self.block = Block::Interface(name.clone());
                if let Some(router) = builder.router() {
                    router.interfaces.entry(name).or_default();
                }
                Read::Understood
            }
            ["ip" | "ipv6", "access-list", ..] | ["access-list", ..] => self.acl(text, words, builder),
            ["ip" | "ipv6", "route" | "default-gateway" | "default-network", ..] => {
                self.block = Block::None;
                forwarding::route(words, builder)
            }
            ["object-group", "network", name] => {
                self.block = Block::Group((*name).to_owned());
                if let Some(router) = builder.router() {
                    router.forwarding.groups.entry((*name).to_owned()).or_default();
                }
                Read::Understood
            }
            [first, ..] if OTHER_BLOCKS.contains(first) && words.len() > 1 => {
                if *first == "router"
                    && let Some(router) = builder.router()
                {
                    router.forwarding.other_routes = true;
                }
                self.block = Block::Other;
                Read::Foreign
            }
            _ => Read::Foreign,
        }
    }

    /// A line of the present block.
    pub(super) fn go_on(&mut self, text: &str, words: &[&str], builder: &mut Builder) -> Read {
        let read = match &self.block {
            Block::None | Block::Other => Read::Foreign,
            Block::TransformSet(name) => transform_set_line(&name.clone(), words, builder),
            Block::Profile(name) => profile_line(&name.clone(), words, builder),
            Block::Map(at) => map::line(*at, words, builder),
            Block::Interface(name) => interface_line(&name.clone(), words, builder),
            Block::Acl(name) => acl::line(&name.clone(), text, words, builder),
            Block::Group(name) => forwarding::group_line(&name.clone(), words, builder),
            Block::Ike(at) => ike::line(*at, words, builder),
        };
        let noise = read == Read::Foreign
            && words.first().is_some_and(|first| NOISE.contains(&first.to_ascii_lowercase().as_str()));
        if noise { Read::Understood } else { read }
    }

    /// A session-key command that running text quotes between backticks.
    pub(super) fn quoted(&mut self, text: &str, builder: &mut Builder) -> Read {
        let mut read = Read::Foreign;
        for quoted in text.split('`').skip(1).step_by(2) {
            let words: Vec<&str> = quoted.split(' ').collect();
            if map::quoted(&words, builder) {
                read = Read::Understood;
            }
        }
        read
    }

    fn other(&mut self) -> Read {
        self.block = Block::Other;
        Read::Foreign
    }

    fn transform_set(&mut self, name: &str, listed: &[&str], builder: &mut Builder) -> Read {
        self.block = Block::TransformSet(name.to_owned());
        // What stands behind the transforms may be another command, with a key.
        let known = redact::transforms(listed);
        let words = known.join(" ");
        let cite = builder.cite_made(format!("crypto ipsec transform-set {name} {words}").trim_end());
        if known.len() < listed.len() {
            builder.wrong("a transform set has words that are no transforms");
        } else if let Err(error) = words.parse::<Suite>() {
            builder.wrong(&format!("the transform set is not understood: {error}"));
        }
        if let Some(router) = builder.router() {
            router.transform_sets.insert(name.to_owned(), TransformSet { words, mode: None, cite });
        }
        Read::Understood
    }

    fn map_entry(&mut self, name: &str, number: &str, kind: &str, builder: &mut Builder) -> Read {
        match map::open(name, number, kind, builder) {
            Some(at) => {
                self.block = Block::Map(at);
                Read::Understood
            }
            None => self.other(),
        }
    }

    fn map_on_interface(&mut self, text: &str, name: &str, builder: &mut Builder) -> Read {
        let cite = builder.cite(text);
        let Block::Interface(interface) = &self.block else { return Read::Foreign };
        if let Some(interface) = builder.router().and_then(|router| router.interfaces.get_mut(interface)) {
            interface.map = Some((name.to_owned(), cite));
        }
        Read::Understood
    }

    fn ike(&mut self, text: &str, words: &[&str], builder: &mut Builder) -> Read {
        match ike::open(text, words, builder) {
            ike::Opened::Policy(at) => {
                self.block = Block::Ike(at);
                Read::Understood
            }
            ike::Opened::Line => Read::Understood,
            ike::Opened::Foreign => self.other(),
        }
    }

    fn acl(&mut self, text: &str, words: &[&str], builder: &mut Builder) -> Read {
        match acl::open(text, words, builder) {
            acl::Opened::List(name) => {
                self.block = Block::Acl(name);
                Read::Understood
            }
            acl::Opened::Line => Read::Understood,
            acl::Opened::Foreign => Read::Foreign,
        }
    }
}

fn transform_set_line(name: &str, words: &[&str], builder: &mut Builder) -> Read {
    let mode = match words {
        ["mode", "tunnel", ..] => Mode::Tunnel,
        ["mode", "transport", ..] => Mode::Transport,
        _ => return Read::Foreign,
    };
    let cite = builder.cite_made(&format!("mode {}", mode.name()));
    if let Some(set) = builder.router().and_then(|router| router.transform_sets.get_mut(name)) {
        set.mode = Some((mode, cite));
    }
    Read::Understood
}

fn profile_line(name: &str, words: &[&str], builder: &mut Builder) -> Read {
    match words {
        ["set", "transform-set", sets @ ..] => {
            let cite = map::sets_cite(sets, builder);
            if let Some(profile) = builder.router().and_then(|router| router.profiles.get_mut(name)) {
                profile.extend(redact::names(sets).iter().map(|set| ((*set).to_owned(), cite.clone())));
            }
            Read::Understood
        }
        ["set", ..] => Read::Understood,
        _ => Read::Foreign,
    }
}

fn interface_line(name: &str, words: &[&str], builder: &mut Builder) -> Read {
    // The words that each arm reads, and none behind them.
    let first = |count: usize| words.iter().take(count).copied().collect::<Vec<_>>().join(" ");
    let cite = builder.cite(&first(if words.starts_with(&["tunnel", "protection"]) { 5 } else { 4 }));
    match words {
        ["ip", "address", word, mask, ..] if !matches!(*word, "dhcp" | "negotiated") => {
            match (address(word), address(mask)) {
                (Some(own), Some(_)) => {
                    let mask = mask.parse::<std::net::Ipv4Addr>().ok();
                    let net = mask.map(|mask| super::Net::masked(own, u128::from(mask.to_bits())));
                    forwarding::connected(name, net, builder);
                    edit(name, builder, |interface| interface.addresses.push((own, cite)));
                }
                _ => builder.wrong("an interface address that is no address with a mask"),
            }
        }
        ["ipv6", "address", word, ..] => {
            if let Some(own) = word.split_once('/').and_then(|(word, _)| address(word)) {
                let cite = super::Cite { text: first(3).into(), ..cite };
                let length = word.split_once('/').and_then(|(_, length)| length.parse().ok());
                forwarding::connected(name, length.and_then(|length| super::Net::prefix(own, length)), builder);
                edit(name, builder, |interface| interface.addresses.push((own, cite)));
            }
        }
        ["tunnel", "source", source, rest @ ..] => {
            let number = rest.first().filter(|word| word.len() < 12 && word.starts_with(|c: char| c.is_ascii_digit()));
            let source = format!("{source}{}", number.unwrap_or(&""));
            edit(name, builder, |interface| interface.tunnel_source = Some(source));
        }
        ["tunnel", "destination", word, ..] => match address(word) {
            Some(far) => {
                let cite = super::Cite { text: first(3).into(), ..cite };
                edit(name, builder, |interface| interface.tunnel_destination = Some((far, cite)));
            }
            None => builder.wrong("a tunnel destination that is no address"),
        },
        ["tunnel", "protection", "ipsec", "profile", profile, ..] => {
            edit(name, builder, |interface| interface.protection = Some(((*profile).to_owned(), cite)));
        }
        _ if forwarding::interface_line(name, words, builder) == Read::Understood => {}
        ["ip" | "ipv6", "access-list" | "route" | "default-gateway" | "default-network", ..] => return Read::Foreign,
        ["ip" | "ipv6" | "tunnel", ..] => {}
        _ => return Read::Foreign,
    }
    Read::Understood
}

fn edit(name: &str, builder: &mut Builder, change: impl FnOnce(&mut Interface)) {
    if let Some(router) = builder.router() {
        change(router.interfaces.entry(name.to_owned()).or_default());
    }
}
