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
mod named;
mod note;
mod transforms;
mod undo;

pub(in crate::policy) use forwarding::{expand, protected_tunnels};
pub(in crate::policy) use keywords::interface as interface_name;
pub(in crate::policy) use known::irrelevant;
pub(in crate::policy) use map::{entry as map_entry, shown};

use crate::policy::facts::builder::Builder;
use crate::policy::facts::router::Keying;
use crate::policy::form::paste::Read;
use crate::policy::words::address;
use keywords::Context;
use known::OTHER_BLOCKS;

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
    /// A policy of IKEv2, which names proposals.
    Proposals,
    /// The display of the pre-shared keys.
    Keys,
    RouteMap(String),
    /// A block whose lines are no concern of ours, although some begin with the same words.
    Other,
}

impl Block {
    const fn context(&self) -> Context {
        match self {
            Self::TransformSet(_) => Context::TransformSet,
            Self::Profile(_) => Context::Profile,
            Self::Map(_) => Context::Map,
            Self::Interface(_) => Context::Interface,
            Self::Acl(_) => Context::List,
            Self::Ike(_) => Context::Ike,
            _ => Context::Global,
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
    /// The block that the present line ended without being understood.
    left: Option<Block>,
    /// The block before a line that is not understood and may have begun another one.
    orphaned: Block,
    /// Interfaces beside that of the block which its lines are for, too (`interface range`).
    range: Vec<String>,
    /// The list that the last line named, where it was one of a list by number.
    listed: Option<String>,
    /// The map entry that the last line named, where it was one of an entry by number.
    entry: Option<usize>,
    /// Whether lines were cut out directly before the present one.
    cut: bool,
    /// The block of the line before, in a display of single lines.
    piece: Block,
}

impl Cisco {
    /// A line that begins a block, or stands for itself.
    pub(in crate::policy) fn open(&mut self, words: &[&str], builder: &mut Builder) -> Read {
        self.left = None;
        let before = (std::mem::take(&mut self.listed), self.entry.take());
        let range = std::mem::take(&mut self.range);
        let read = self.opened(words, builder);
        if read == Read::Understood {
            (self.orphaned, self.cut) = (Block::None, false);
        } else {
            ((self.listed, self.entry), self.range) = (before, range);
        }
        read
    }

    fn opened(&mut self, words: &[&str], builder: &mut Builder) -> Read {
        let whole = named::addressed(whole(note::without(words)), builder);
        let words: Vec<&str> = whole.iter().map(String::as_str).collect();
        undo::line(&self.block, &words, builder);
        interface::note_asa(&words, builder);
        match self.undone(&words, builder) {
            Read::Foreign => self.command(&whole.join(" "), &words, builder),
            read => read,
        }
    }

    /// Whether a line of the present block that no reader takes concerns an SA.
    pub(in crate::policy) const fn in_crypto(&self) -> bool {
        matches!(self.block, Block::Map(_) | Block::TransformSet(_) | Block::Profile(_))
    }

    fn command(&mut self, text: &str, words: &[&str], builder: &mut Builder) -> Read {
        match words {
            ["hostname", name, ..] if address(name).is_none() => {
                builder.hostname(name.trim_matches('"'), &format!("hostname {name}"));
                self.block = Block::None;
                Read::Understood
            }
            ["crypto", "ipsec", "transform-set", name, transforms @ ..] if !transforms.is_empty() => {
                self.transform_set(name, transforms, builder)
            }
            ["crypto", "ipsec", "ikev1", "transform-set", name, "mode", "transport", ..] => {
                transforms::line(name, &["mode", "transport"], builder)
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
            ["Keyring", "Hostname/Address", "Preshared", "Key"] => {
                self.block = Block::Keys;
                Read::Understood
            }
            ["crypto", "pki" | "engine" | "logging", ..] => {
                self.block = Block::Other;
                Read::Understood
            }
            ["crypto", "ipsec", ..] if irrelevant(words) => Read::Understood,
            ["crypto", ..] => self.other(),
            ["interface", _, ..] | ["default", "interface", _, ..] => self.interface(words, builder),
            ["name", own, alias, ..] if named::gives(own, alias, builder) => Read::Understood,
            ["nameif", ..] | ["ip", "address", _, _, _] => interface::named(words, builder),
            ["object", "network", name] => {
                self.block = Block::Object((*name).to_owned());
                Read::Understood
            }
            ["authentication" | "encryption" | "area" | "ospfv3", ..] => link::line(None, words, builder),
            ["ip" | "ipv6", "access-list", ..] | ["access-list", ..] | ["Extended", "IP", "access", "list", _] => {
                self.acl(text, words, builder)
            }
            ["ip" | "ipv6", "route" | "default-gateway" | "default-network", ..] => {
                self.block = Block::None;
                forwarding::route(words, builder)
            }
            ["ip", "nat", "inside", "source", ..] => forwarding::translation(words, builder),
            ["object-group", "network", name] => {
                self.block = Block::Group((*name).to_owned());
                forwarding::group(name, builder);
                Read::Understood
            }
            ["route-map", name, how @ ("permit" | "deny"), ..] => {
                forwarding::route_map(name, *how == "permit", builder);
                self.other_named(Block::RouteMap((*name).to_owned()))
            }
            [first, ..] if OTHER_BLOCKS.contains(first) && words.len() > 1 => {
                let router = builder.router().filter(|_| *first == "router");
                router.into_iter().for_each(|router| router.forwarding.other_routes = true);
                self.other()
            }
            _ => Read::Foreign,
        }
    }

    /// A line of the present block.
    pub(in crate::policy) fn go_on(&mut self, words: &[&str], builder: &mut Builder) -> Read {
        let whole = keywords::expanded(self.block.context(), note::without(words));
        let words: Vec<&str> = whole.iter().map(String::as_str).collect();
        let (text, words) = (whole.join(" "), words.as_slice());
        if let Block::Map(at) = self.block
            && self.cut
            && map::repeats(at, words, builder)
        {
            // The heading of another entry was cut out.
            self.block = Block::Other;
            return Read::Foreign;
        }
        undo::line(&self.block, words, builder);
        for name in self.range.clone() {
            undo::line(&Block::Interface(name.clone()), words, builder);
            let _read = interface::line(&name, words, builder);
        }
        let read = match &self.block {
            Block::None | Block::Other => Read::Foreign,
            Block::TransformSet(name) => transforms::line(&name.clone(), words, builder),
            Block::Profile(name) => transforms::profile(&name.clone(), words, builder),
            Block::Map(at) => map::line(*at, words, builder),
            Block::Interface(name) => interface::line(&name.clone(), words, builder),
            Block::Acl(name) => acl::line(&name.clone(), &text, words, builder),
            Block::Object(name) => acl::object(&name.clone(), words, builder),
            Block::Group(name) => forwarding::group_line(&name.clone(), words, builder),
            Block::Ike(at) => ike::line(*at, words, builder),
            Block::RouteMap(name) => forwarding::route_map_line(&name.clone(), words, builder),
            Block::Proposals => ike::attached(words, builder),
            Block::Keys => ike::shown(words, builder),
        };
        let noise = read == Read::Foreign
            && !words.starts_with(&["no", "crypto"])
            && words.first().is_some_and(|first| NOISE.contains(&first.to_ascii_lowercase().as_str()));
        if noise || read == Read::Understood {
            self.cut = false;
            Read::Understood
        } else {
            read
        }
    }

    /// `interface NAME`, `interface range NAMES`, `default interface NAME`.
    fn interface(&mut self, words: &[&str], builder: &mut Builder) -> Read {
        match words {
            ["default", _, name, rest @ ..] => {
                undo::interface(&interface::name(name, rest), builder);
                self.block = Block::None;
            }
            [_, "range", rest @ ..] if !rest.is_empty() => {
                let mut names = interface::range(rest).into_iter();
                self.block = names.next().map_or(Block::Other, Block::Interface);
                self.range = names.collect();
            }
            [_, name, rest @ ..] => {
                let name = interface::name(name, rest);
                self.block = Block::Interface(name.clone());
                if let Some(router) = builder.router() {
                    router.interfaces.entry(name).or_default();
                }
            }
            _ => return Read::Foreign,
        }
        Read::Understood
    }

    fn other(&mut self) -> Read {
        self.other_named(Block::Other)
    }

    fn other_named(&mut self, block: Block) -> Read {
        self.left = Some(std::mem::replace(&mut self.block, block));
        Read::Foreign
    }

    fn transform_set(&mut self, name: &str, listed: &[&str], builder: &mut Builder) -> Read {
        self.block = Block::TransformSet(name.to_owned());
        transforms::begin(name, listed, builder)
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
                let read = map::line(at, &all, builder);
                if self.cut {
                    map::cut_out(at, builder);
                }
                self.entry = Some(at);
                read
            }
            [name, number, kind @ ..] => match map::open(name, number, kind, builder) {
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
            ike::Opened::Proposals => {
                let read = self.other();
                self.block = Block::Proposals;
                read
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
            acl::Opened::Line => {
                let name = words.get(1).copied().unwrap_or_default();
                if self.cut {
                    acl::vague(name, builder);
                }
                self.listed = Some(name.to_owned());
                Read::Understood
            }
            acl::Opened::Known => {
                self.block = Block::Other;
                Read::Understood
            }
            acl::Opened::Foreign => Read::Foreign,
        }
    }
}
