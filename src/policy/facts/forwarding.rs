//! What a router's configuration says besides IPsec and decides whether packets come to it: interfaces, routes, object groups.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use twox_hash::XxHash3_64;

use crate::model::Address;
use crate::policy::form::order::Chapter;
use crate::policy::{Cite, Net, Selector};

/// Facts about a router's forwarding.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Forwarding {
    /// Interfaces by name.
    pub ports: BTreeMap<String, Port>,
    /// Static routes.
    pub routes: Vec<Route>,
    /// Whether routes may come from elsewhere: routing protocols, policies, addresses that are leased.
    pub other_routes: bool,
    /// Groups of networks by name.
    pub groups: BTreeMap<String, Vec<Net>>,
    /// Groups with a member that is not known.
    #[serde(skip)]
    pub(in crate::policy) vague_groups: BTreeSet<String>,
    /// Lines of access lists that name groups, until all groups are read.
    pub(in crate::policy) grouped: Vec<Grouped>,
    /// Access lists of which a line could not be read, or names a group that is not there.
    pub vague: BTreeSet<String>,
    /// Transform sets that are there and leave algorithms to what their system takes where nothing is said.
    pub vague_sets: BTreeSet<String>,
    /// Lists whose packets NAT translates from inside to outside.
    pub translated: Vec<NatList>,
    /// Route maps: what each entry takes.
    #[serde(skip)]
    pub(in crate::policy) route_maps: BTreeMap<String, Vec<Taking>>,
    /// Route maps whose packets NAT translates, in place of a list.
    #[serde(skip)]
    pub(in crate::policy) translated_by: Vec<NatList>,
    /// The line that switches IKE off.
    pub ike_off: Option<Cite>,
    /// Whether pre-shared keys may come from elsewhere: keyrings, keys for host names, lines that are not read.
    pub other_keys: bool,
    /// IPsec profiles that negotiate by IKEv2: the line that says so.
    #[serde(skip)]
    pub(in crate::policy) ikev2_profiles: BTreeMap<String, Cite>,
    /// The proposals that policies of IKEv2 name; others are not used.
    #[serde(skip)]
    pub(in crate::policy) attached: BTreeSet<String>,
    /// Whether profiles of IKEv1 choose among keyrings.
    #[serde(skip)]
    pub(in crate::policy) keyrings: bool,
    /// Lists whose lines are not all in force as they stand here: numbers out of order, times, lines taken out again.
    #[serde(skip)]
    pub(in crate::policy) unsure: BTreeSet<String>,
    /// The numbers of the lines of each list in order, and whether the line permits; neither for notes and lines with groups.
    #[serde(skip)]
    pub(in crate::policy) sequence: BTreeMap<String, Vec<(u32, Option<bool>)>>,
    /// Hosts of which NAT is said line by line (`static`).
    #[serde(skip)]
    pub(in crate::policy) static_nat: Vec<Address>,
    /// Whether NAT may be other than the lists say.
    #[serde(skip)]
    pub(in crate::policy) other_nat: bool,
    /// Chapters of the configuration of which lines may have been cut out of the text.
    #[serde(skip)]
    pub(in crate::policy) hidden: BTreeSet<Chapter>,
    /// Interfaces and access lists further lines of which may have been cut out, or stand after the end of the text.
    #[serde(skip)]
    pub(in crate::policy) open: BTreeSet<String>,
    /// Whether the listing of a kernel's policies ends within one.
    #[serde(skip)]
    pub(in crate::policy) cut_policies: bool,
    /// Whether lines of a display of SAs, or of a configuration whose lines each stand for themselves, were cut out.
    #[serde(skip)]
    pub(in crate::policy) cut_display: bool,
    /// Whether a line that PIX and ASA have since release 7 shows that the router is one of these.
    #[serde(skip)]
    pub(in crate::policy) is_asa: bool,
    /// Names that PIX and ASA give to addresses.
    pub(in crate::policy) aliases: BTreeMap<String, Address>,
    /// Digests of the words of lines that are not understood, any of which may be a key: what one of them names may be there.
    #[serde(skip)]
    pub(in crate::policy) mentioned: BTreeSet<u64>,
}

/// An interface.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Port {
    /// The line that shuts it down.
    pub shutdown: Option<Cite>,
    /// The access list for packets that arrive.
    pub filter_in: Option<(String, Cite)>,
    /// The interface whose address it borrows.
    pub unnumbered: Option<String>,
    /// Addresses that it shares with other routers (HSRP, VRRP).
    pub shared: Vec<Address>,
    /// Whether its crypto map leaves from such an address (`redundancy`).
    pub redundant: bool,
    /// The line that says that it has no address.
    pub bare: Option<Cite>,
    /// What a tunnel carries its packets in, in the words of `tunnel mode`.
    pub tunnel_mode: Option<(String, Cite)>,
    /// The key of GRE (RFC 2890), which is a number on the wire and no secret.
    pub tunnel_key: Option<(String, Cite)>,
    /// The VRF of its packets; for a tunnel, of those inside.
    #[serde(skip)]
    pub(in crate::policy) vrf: Option<String>,
    /// The VRF of the packets that a tunnel sends (`tunnel vrf`).
    #[serde(skip)]
    pub(in crate::policy) tunnel_vrf: Option<String>,
    /// Whether NAT takes it for inside, where it has a side.
    pub nat_inside: Option<bool>,
    /// Whether its address is leased or negotiated.
    pub leased: bool,
}

/// What an entry of a route map takes.
#[derive(Clone, Debug, Default)]
pub(in crate::policy) struct Taking {
    /// Whether it permits.
    pub(in crate::policy) permits: bool,
    /// The access lists that it names.
    pub(in crate::policy) lists: Vec<String>,
    /// Whether it asks for more than a list says.
    pub(in crate::policy) asks_more: bool,
}

/// What `ip nat inside source list` translates.
#[derive(Clone, Debug, Serialize)]
pub struct NatList {
    /// The access list that selects the packets.
    pub list: String,
    /// The interface whose address they get, where said.
    pub onto: Option<String>,
    /// Where it stands.
    pub cite: Cite,
}

/// A static route.
#[derive(Clone, Debug, Serialize)]
pub struct Route {
    /// Where to.
    pub to: Net,
    /// Over which router, where said.
    pub over: Option<Address>,
    /// Out of which interface, where said.
    pub through: Option<String>,
    /// Whether another route to the same network goes before it.
    #[serde(skip)]
    pub(in crate::policy) floating: bool,
    /// Where it stands.
    pub cite: Cite,
}

/// An end of an access list's line: networks, or a group of them.
#[derive(Clone, Debug, Serialize)]
pub(in crate::policy) enum End {
    /// A network that the line itself names.
    Net(Net),
    /// A group by name.
    Group(String),
}

/// A line of an access list that names a group.
#[derive(Clone, Debug, Serialize)]
pub(in crate::policy) struct Grouped {
    pub(in crate::policy) list: String,
    /// How many lines that permit stand before it, and how many that deny.
    pub(in crate::policy) behind: (usize, usize),
    pub(in crate::policy) permits: bool,
    /// The line with `any` in place of its groups.
    pub(in crate::policy) frame: Selector,
    pub(in crate::policy) ends: [End; 2],
    pub(in crate::policy) cite: Cite,
}

/// What is kept of a word that may be a key.
pub(in crate::policy) fn digest(word: &str) -> u64 {
    XxHash3_64::oneshot(word.as_bytes())
}

/// Words that lines which name something begin with.
const DEFINING: [&str; 12] = [
    "crypto",
    "ip",
    "ipv6",
    "access-list",
    "object-group",
    "tunnel",
    "set",
    "match",
    "interface",
    "transform-set",
    "isakmp",
    "permit",
];

/// Parts of words that only such lines have.
const NAMING: [&str; 8] = ["crypt", "list", "transform", "isakmp", "ipsec", "key", "protect", "profile"];

/// Whether a word is another one, mistyped: a letter is wrong, missing or too many; of a long word two.
pub(in crate::policy) fn like(word: &str, whole: &str) -> bool {
    let (length, most) = (whole.len(), if whole.len() < 6 { 1 } else { 2 });
    if length < 4 || word.len().abs_diff(length) > most {
        return word == whole;
    }
    let mut row: Vec<usize> = (0..=length).collect();
    for (typed, begun) in word.bytes().zip(1..) {
        let mut next = vec![begun];
        for ((meant, above), left) in whole.bytes().zip(row.iter().skip(1)).zip(&row) {
            let last = next.last().copied().unwrap_or_default();
            next.push((left + usize::from(typed != meant)).min(above + 1).min(last + 1));
        }
        row = next;
    }
    row.last().is_some_and(|distance| *distance <= most)
}

/// Whether a line that is not understood may define what other lines name: it begins like such lines.
pub(in crate::policy) fn may_define(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    text.split(' ')
        .take(2)
        .any(|word| DEFINING.iter().any(|whole| like(word, whole)) || NAMING.iter().any(|part| word.contains(part)))
}

impl Forwarding {
    /// The networks of an end; `None` where the group is not known.
    fn nets(&self, end: &End) -> Option<Vec<Net>> {
        match end {
            End::Net(net) => Some(vec![*net]),
            End::Group(name) => self.known_group(name),
        }
    }

    /// The networks of a group all of whose members are known.
    pub(in crate::policy) fn known_group(&self, name: &str) -> Option<Vec<Net>> {
        self.groups.get(name).filter(|nets| !nets.is_empty() && !self.vague_groups.contains(name)).cloned()
    }

    /// What a line with groups selects; `None` where a group is not known.
    pub(in crate::policy) fn expanded(&self, line: &Grouped) -> Option<Vec<Selector>> {
        let [src, dst] = &line.ends;
        let (sources, destinations) = (self.nets(src)?, self.nets(dst)?);
        let both = sources.iter().flat_map(|src| destinations.iter().map(move |dst| (*src, *dst)));
        Some(both.map(|(src, dst)| Selector { src, dst, ..line.frame.clone() }).collect())
    }

    /// Whether a line that could not be read is about something of this name.
    pub(in crate::policy) fn mentions(&self, name: &str) -> bool {
        self.mentioned.contains(&digest(name)) || self.vague.contains(name) || self.vague_sets.contains(name)
    }

    /// Whether lines that are not understood have all of some words, as the call of a function of a script has.
    pub(in crate::policy) fn mentions_all(&self, words: &[Option<String>]) -> bool {
        words.iter().all(|word| word.as_ref().is_some_and(|word| self.mentions(word)))
    }

    /// Whether something of this name may be there: a line about it could not be read, or was cut out.
    pub(in crate::policy) fn may_have(&self, name: &str, chapter: Chapter) -> bool {
        self.hidden.contains(&chapter) || self.mentions(name)
    }

    /// Lines of these chapters were cut out: routes, keys and NAT may be among them.
    pub(in crate::policy) fn cut_out(&mut self, chapters: &[Chapter]) {
        self.hidden.extend(chapters);
        self.other_keys |= chapters.contains(&Chapter::Ike) || chapters.contains(&Chapter::Policies);
        let routes = chapters.contains(&Chapter::Routes);
        (self.other_routes, self.other_nat) = (self.other_routes || routes, self.other_nat || routes);
    }

    /// Whether all lines of a list are known and in force as they stand.
    pub(in crate::policy) fn is_sure(&self, list: &str) -> bool {
        !self.vague.contains(list) && !self.unsure.contains(list)
    }

    /// Whether packets may be routed otherwise than the static routes say: an address is leased, or routes come from elsewhere.
    pub(in crate::policy) fn routes_elsewhere(&self) -> bool {
        self.other_routes || self.ports.values().any(|port| port.leased)
    }

    /// Whether a network is exactly the destination of a static route.
    #[must_use]
    pub fn routes_to(&self, net: &Net) -> bool {
        self.routes.iter().any(|route| route.to == *net)
    }
}
