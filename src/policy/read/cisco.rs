//! A Cisco IOS running configuration, or a part of it. Indentation says nothing: pasting loses it. A line belongs to the last
//! block that takes such lines.

mod acl;
mod forwarding;
mod ike;
mod interface;
mod keywords;
mod known;
mod link;
mod map;

pub(in crate::policy) use forwarding::expand;
pub(in crate::policy) use keywords::interface as interface_name;
pub(in crate::policy) use known::irrelevant;
pub(in crate::policy) use map::{entry as map_entry, shown};

use crate::policy::facts::builder::Builder;
use crate::policy::facts::redact;
use crate::policy::facts::router::{Keying, Mode, TransformSet};
use crate::policy::form::paste::Read;
use crate::transform::Suite;
use keywords::Context;

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
    /// A named network or host (ASA).
    Object(String),
    /// An entry of the router's `ike`.
    Ike(usize),
    /// A block whose lines are no concern of ours, although some begin with the same words.
    Other,
}

impl Block {
    const fn context(&self) -> Context {
        match self {
            Self::None | Self::Other | Self::Object(_) | Self::Group(_) => Context::Global,
            Self::TransformSet(_) => Context::TransformSet,
            Self::Profile(_) => Context::Profile,
            Self::Map(_) => Context::Map,
            Self::Interface(_) => Context::Interface,
            Self::Acl(_) => Context::List,
            Self::Ike(_) => Context::Ike,
        }
    }
}

/// The words of a command of the configuration mode, keywords in full.
pub(in crate::policy) fn whole(words: &[&str]) -> Vec<String> {
    keywords::expanded(Context::Global, words)
}

/// `access-list 101 permit ip any any`, wherever it stands.
pub(in crate::policy) fn list_entry(words: &[&str], builder: &mut Builder) -> Read {
    let whole = whole(words);
    let words: Vec<&str> = whole.iter().map(String::as_str).collect();
    Read::when(!matches!(acl::open(&whole.join(" "), &words, builder), acl::Opened::Foreign))
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
pub(in crate::policy) struct Cisco {
    block: Block,
}

impl Cisco {
    /// A line that begins a block, or stands for itself.
    pub(in crate::policy) fn open(&mut self, words: &[&str], builder: &mut Builder) -> Read {
        let whole = whole(words);
        let words: Vec<&str> = whole.iter().map(String::as_str).collect();
        match self.uncompared(&words, builder) {
            Read::Foreign => self.command(&whole.join(" "), &words, builder),
            read => read,
        }
    }

    /// Commands that are known and not followed: that is said.
    fn uncompared(&mut self, words: &[&str], builder: &mut Builder) -> Read {
        let in_interface = matches!(self.block, Block::Interface(_));
        match words {
            ["crypto", "keyring", ..]
            | ["crypto", "ikev2", "keyring", ..]
            | ["crypto", "ikev1", "policy", ..]
            | ["tunnel-group", _, "ipsec-attributes"] => {
                builder.wrong("IKE in these words (keyrings, policies and tunnel groups of ASA) is not compared");
                self.block = Block::Other;
            }
            // An interface has one map and no entry: with a number the command is one of the configuration at large.
            ["no", "crypto", "map", _, number, ..] if number.parse::<u32>().is_ok() => builder.wrong(map::NOT_UNDONE),
            ["no", "crypto", "map", ..] if !in_interface => builder.wrong(map::NOT_UNDONE),
            ["no", "crypto", "ipsec", "transform-set", ..] => builder.wrong(map::NOT_UNDONE),
            _ => return Read::Foreign,
        }
        Read::Understood
    }

    /// Whether a line of the present block that no reader takes concerns an SA whatever it says.
    pub(in crate::policy) const fn in_crypto(&self) -> bool {
        matches!(self.block, Block::Map(_) | Block::TransformSet(_) | Block::Profile(_))
    }

    fn command(&mut self, text: &str, words: &[&str], builder: &mut Builder) -> Read {
        match words {
            ["hostname", name, ..] => {
                builder.hostname(name.trim_matches('"'), &format!("hostname {name}"));
                self.block = Block::None;
                Read::Understood
            }
            ["crypto", "ipsec", "transform-set", name, transforms @ ..] if !transforms.is_empty() => {
                self.transform_set(name, transforms, builder)
            }
            ["crypto", "ipsec", "ikev1", "transform-set", name, "mode", "transport", ..] => {
                transform_set_line(name, &["mode", "transport"], builder)
            }
            ["crypto", "ipsec", "ikev1", "transform-set", name, transforms @ ..] if !transforms.is_empty() => {
                self.transform_set(name, transforms, builder)
            }
            ["crypto", "ipsec", "profile", name] => {
                self.block = Block::Profile((*name).to_owned());
                if let Some(router) = builder.router() {
                    router.profiles.entry((*name).to_owned()).or_default();
                }
                Read::Understood
            }
            ["crypto", "map", rest @ ..] => self.map(text, rest, builder),
            ["crypto", "isakmp" | "ikev2", ..] => self.ike(text, words, builder),
            ["crypto", "pki" | "engine" | "logging", ..] => Read::Understood,
            ["crypto", "ipsec", ..] if irrelevant(words) => Read::Understood,
            ["crypto", ..] => self.other(),
            ["interface", name, rest @ ..] => {
                let name = interface::name(name, rest);
                self.block = Block::Interface(name.clone());
                if let Some(router) = builder.router() {
                    router.interfaces.entry(name).or_default();
                }
                Read::Understood
            }
            ["nameif", ..] | ["ip", "address", _, _, _] => interface::named(words, builder),
            ["object", "network", name] => {
                self.block = Block::Object((*name).to_owned());
                Read::Understood
            }
            ["authentication" | "encryption" | "area" | "ospfv3", ..] => link::line(None, words, builder),
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
    pub(in crate::policy) fn go_on(&mut self, words: &[&str], builder: &mut Builder) -> Read {
        let whole = keywords::expanded(self.block.context(), words);
        let words: Vec<&str> = whole.iter().map(String::as_str).collect();
        let (text, words) = (whole.join(" "), words.as_slice());
        let read = match &self.block {
            Block::None | Block::Other => Read::Foreign,
            Block::TransformSet(name) => transform_set_line(&name.clone(), words, builder),
            Block::Profile(name) => profile_line(&name.clone(), words, builder),
            Block::Map(at) => map::line(*at, words, builder),
            Block::Interface(name) => interface::line(&name.clone(), words, builder),
            Block::Acl(name) => acl::line(&name.clone(), &text, words, builder),
            Block::Object(name) => acl::object(&name.clone(), words, builder),
            Block::Group(name) => forwarding::group_line(&name.clone(), words, builder),
            Block::Ike(at) => ike::line(*at, words, builder),
        };
        let noise = read == Read::Foreign
            && !matches!(words, ["no", "crypto", ..])
            && words.first().is_some_and(|first| NOISE.contains(&first.to_ascii_lowercase().as_str()));
        if noise { Read::Understood } else { read }
    }

    /// A session-key command that running text quotes between backticks.
    pub(in crate::policy) fn quoted(&mut self, text: &str, builder: &mut Builder) -> Read {
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

    /// What follows `crypto map`.
    fn map(&mut self, text: &str, words: &[&str], builder: &mut Builder) -> Read {
        match words {
            ["ipv6", name, rest @ ..] if !name.bytes().all(|b| b.is_ascii_digit()) => {
                let all: Vec<&str> = std::iter::once(*name).chain(rest.iter().copied()).collect();
                self.map(text, &all, builder)
            }
            [name, "local-address", interface, rest @ ..] => {
                let interface = interface::name(interface, rest);
                if let Some(router) = builder.router() {
                    router.map_sources.insert((*name).to_owned(), interface);
                }
                Read::Understood
            }
            [name, "redundancy", ..] => {
                let Block::Interface(interface) = &self.block else { return Read::Foreign };
                forwarding::redundant(interface, builder);
                interface::carry(interface, name, &format!("crypto map {name} redundancy"), builder)
            }
            [name, "interface", interface] => interface::carries(interface, name, builder),
            [name] => {
                let Block::Interface(interface) = &self.block else { return Read::Foreign };
                interface::carry(interface, name, text, builder)
            }
            [name, number, command @ ("set" | "match"), rest @ ..] => {
                // PIX and ASA: every line names the entry.
                let keying = if matches!(rest, ["session-key", ..]) { Keying::Manual } else { Keying::Ike };
                let Some(at) = map::entry(name, number, keying, builder) else { return self.other() };
                self.block = Block::None;
                let all: Vec<&str> = std::iter::once(*command).chain(rest.iter().copied()).collect();
                map::line(at, &all, builder)
            }
            [name, number, kind, ..] => match map::open(name, number, kind, builder) {
                Some(at) => {
                    self.block = Block::Map(at);
                    Read::Understood
                }
                None => self.other(),
            },
            _ => Read::Foreign,
        }
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
        ["set", "pfs", ..] => {
            builder.wrong(map::PFS);
            Read::Understood
        }
        ["set", ..] => Read::Understood,
        _ => Read::Foreign,
    }
}
