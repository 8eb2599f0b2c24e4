//! What was read about one router: facts as they stand, each with its line.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use crate::model::{Address, Protocol, Spi};
pub use crate::policy::facts::secret::IkeKey;
use crate::policy::read::xfrm::{KernelState, XfrmPolicy};
pub use crate::transform::size::path::Mode;

use crate::policy::{Cite, Counters, Flow, Forwarding, Net, Secret, Selector};

/// A router, or whatever holds SAs.
#[derive(Clone, Debug, Serialize)]
pub struct Router {
    /// Its name, or the name of the input where it has none.
    pub name: Arc<str>,
    /// Whether the name is the router's own.
    pub named: bool,
    /// Interfaces by name.
    pub interfaces: BTreeMap<String, Interface>,
    /// IPsec transform sets by name.
    pub transform_sets: BTreeMap<String, TransformSet>,
    /// Crypto map entries and protected tunnels, in order.
    pub maps: Vec<MapEntry>,
    /// Crypto maps with a source address of their own: the interface, by map.
    pub map_sources: BTreeMap<String, String>,
    /// IPsec profiles by name: their transform sets.
    pub profiles: BTreeMap<String, Vec<(String, Cite)>>,
    /// Access lists by name or number.
    pub acls: BTreeMap<String, Acl>,
    /// Interfaces, routes and groups beside IPsec.
    pub forwarding: Forwarding,
    /// IKE policies and proposals, in order.
    pub ike: Vec<IkePolicy>,
    /// Pre-shared keys by peer.
    pub ike_keys: Vec<IkeKey>,
    /// SAs in force, as the system displayed them.
    pub installed: Vec<Installed>,
    /// Selectors in force, as the system displayed them.
    pub selectors: Vec<InForce>,
    /// Whether commands that make states could not be read: a state that is not here may be there.
    pub unread_states: bool,
    /// Policies of a Linux kernel.
    pub xfrm_policies: Vec<XfrmPolicy>,
    /// Packets encapsulated and decapsulated, as the system counted them.
    pub counters: Vec<Counters>,
    /// The same with the errors beside them.
    pub flows: Vec<Flow>,
    /// SAs of a link, with one SPI and key for all routers on it.
    pub links: Vec<LinkSa>,
    /// The maker whose commands it takes, where they are neither those of IOS nor those of Linux: no lines to type are made for it.
    pub maker: Option<&'static str>,
    /// Networks and hosts that have a name.
    pub objects: BTreeMap<String, Net>,
    /// Commands that the text around a configuration quotes.
    pub quoted: Vec<Quoted>,
    /// The line that names it.
    pub cite: Option<Cite>,
}

impl Router {
    pub(in crate::policy) fn new(name: Arc<str>, named: bool) -> Self {
        Self {
            name,
            named,
            interfaces: BTreeMap::new(),
            transform_sets: BTreeMap::new(),
            maps: Vec::new(),
            map_sources: BTreeMap::new(),
            profiles: BTreeMap::new(),
            acls: BTreeMap::new(),
            forwarding: Forwarding::default(),
            ike: Vec::new(),
            ike_keys: Vec::new(),
            installed: Vec::new(),
            selectors: Vec::new(),
            unread_states: false,
            xfrm_policies: Vec::new(),
            counters: Vec::new(),
            flows: Vec::new(),
            links: Vec::new(),
            maker: None,
            objects: BTreeMap::new(),
            quoted: Vec::new(),
            cite: None,
        }
    }

    /// Forgets its configuration; displays of what is in force stay.
    pub(in crate::policy) fn forget_configuration(&mut self) {
        let kept = std::mem::replace(self, Self::new(self.name.clone(), self.named));
        self.installed = kept.installed;
        self.selectors = kept.selectors;
        self.xfrm_policies = kept.xfrm_policies;
        self.counters = kept.counters;
        self.flows = kept.flows;
        self.quoted = kept.quoted;
        self.cite = kept.cite;
    }

    /// Whether any of a configuration was read.
    #[must_use]
    pub fn has_configuration(&self) -> bool {
        let blocks =
            [self.interfaces.len(), self.transform_sets.len(), self.maps.len(), self.acls.len(), self.ike.len()];
        blocks.iter().any(|count| *count > 0)
    }

    /// Whether anything is known of its SAs, or of what it puts into them. Access lists alone count where nothing else was pasted:
    /// of a router with interfaces they may be for anything.
    pub(in crate::policy) fn tells_of_sas(&self) -> bool {
        let counts = [
            self.maps.len(),
            self.transform_sets.len(),
            self.installed.len(),
            self.selectors.len(),
            self.counters.len(),
            self.links.len(),
            self.ike.len(),
            self.quoted.len(),
        ];
        let protected = self.interfaces.values().any(|interface| interface.protection.is_some());
        let lists = self.interfaces.is_empty() && self.acls.values().any(|list| !list.permits.is_empty());
        protected || lists || counts.iter().any(|count| *count > 0)
    }

    /// Whether states or policies of a Linux kernel were read.
    pub(in crate::policy) fn has_xfrm(&self) -> bool {
        !self.xfrm_policies.is_empty() || self.installed.iter().any(|sa| sa.kernel.is_some())
    }

    /// Networks that its interfaces are connected to.
    pub fn networks(&self) -> impl Iterator<Item = &Net> {
        self.interfaces.values().flat_map(|interface| &interface.networks)
    }

    /// Whether a network overlaps one that is connected or has a static route.
    #[must_use]
    pub fn reaches(&self, net: &Net) -> bool {
        self.networks().chain(self.forwarding.routes.iter().map(|route| &route.to)).any(|known| known.overlaps(net))
    }

    /// Whether a network is exactly one that an interface is connected to.
    #[must_use]
    pub fn connects(&self, net: &Net) -> bool {
        self.networks().any(|known| known == net)
    }

    /// All addresses of its interfaces, those that it shares with other routers too.
    pub fn addresses(&self) -> impl Iterator<Item = Address> {
        let shared = self.forwarding.ports.values().flat_map(|port| port.shared.iter().copied());
        let own =
            self.interfaces.values().flat_map(|interface| interface.addresses.iter().map(|(address, _)| *address));
        own.chain(shared)
    }

    /// The addresses that packets of an interface may have, the likeliest first: its own, the one that it borrows, those that it shares.
    #[must_use]
    pub fn addresses_of(&self, interface: &str) -> Vec<Address> {
        let port = self.forwarding.ports.get(interface);
        let lender = port.and_then(|port| port.unnumbered.as_ref());
        let of = |name: &str| self.interfaces.get(name).into_iter().flat_map(|interface| &interface.addresses);
        let own = of(interface).chain(lender.into_iter().flat_map(|lender| of(lender))).map(|(address, _)| *address);
        let shared = port.into_iter().flat_map(|port| port.shared.iter().copied());
        if port.is_some_and(|port| port.redundant) { shared.chain(own).collect() } else { own.chain(shared).collect() }
    }
}

/// An interface.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Interface {
    /// Its addresses.
    pub addresses: Vec<(Address, Cite)>,
    /// The networks of its addresses.
    pub networks: Vec<Net>,
    /// The name that PIX and ASA give it.
    pub called: Option<String>,
    /// The crypto map it carries.
    pub map: Option<(String, Cite)>,
    /// Source of a tunnel: an address or an interface.
    pub tunnel_source: Option<String>,
    /// Destination of a tunnel.
    pub tunnel_destination: Option<(Address, Cite)>,
    /// The IPsec profile that protects a tunnel.
    pub protection: Option<(String, Cite)>,
}

/// An IPsec transform set.
#[derive(Clone, Debug, Serialize)]
pub struct TransformSet {
    /// Its transforms as they stand, such as `esp-aes 256 esp-sha-hmac`.
    pub words: String,
    /// The mode where one was given.
    pub mode: Option<(Mode, Cite)>,
    /// Where it stands.
    pub cite: Cite,
    /// Whether lines of it were cut out of the text.
    #[serde(skip)]
    pub cut: bool,
}

/// How the keys of a crypto map entry come about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub enum Keying {
    /// Typed in (`ipsec-manual`).
    Manual,
    /// Negotiated (`ipsec-isakmp`, protected tunnels).
    Ike,
}

/// An entry of a crypto map, or a protected tunnel interface.
#[derive(Clone, Debug, Serialize)]
pub struct MapEntry {
    /// The map's name, or the tunnel interface's.
    pub name: String,
    /// The entry's number; 0 for a tunnel interface.
    pub number: u32,
    /// How its keys come about.
    pub keying: Keying,
    /// Its peers.
    pub peers: Vec<(Address, Cite)>,
    /// Its manual keys.
    pub keys: Vec<SessionKey>,
    /// Its transform sets by name.
    pub transform_sets: Vec<(String, Cite)>,
    /// Its access list.
    pub acl: Option<(String, Cite)>,
    /// Its own address, where known outright (tunnel interfaces).
    pub local: Option<Address>,
    /// What it has and what could not be read.
    pub unread: Unread,
    /// Session keys that a later line of the same direction word and protocol replaced.
    pub replaced: Vec<SessionKey>,
    /// The line that has it negotiate by IKEv2 (`set ikev2-profile`).
    #[serde(skip)]
    pub ikev2: Option<Cite>,
    /// Where it stands.
    pub cite: Cite,
}

/// Parts of an entry that it has although nothing of them is known: they are not missing, and nothing contradicts them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Unread {
    /// A peer by its name, or in a line that is not understood.
    pub peer: bool,
    /// A line that may name its access list.
    pub list: bool,
    /// A line that may name its transform sets.
    pub sets: bool,
    /// A line that may hold a session key.
    pub keys: bool,
    /// Proposals of IKEv2 in place of transform sets.
    pub proposals: bool,
    /// Profiles of IKE, which its display does not show.
    #[serde(skip)]
    pub profile: bool,
}

/// A manual key (`set session-key`).
#[derive(Clone, Debug, Serialize)]
pub struct SessionKey {
    /// Whether it is for packets that arrive.
    pub inbound: bool,
    /// AH or ESP.
    pub protocol: Protocol,
    /// The SPI.
    pub spi: Spi,
    /// The key of the cipher.
    pub cipher: Option<Secret>,
    /// The key of the integrity check.
    pub authenticator: Option<Secret>,
    /// Where it stands.
    pub cite: Cite,
}

/// An access list.
#[derive(Clone, Debug, Serialize)]
pub struct Acl {
    /// What it permits.
    pub permits: Vec<(Selector, Cite)>,
    /// What it leaves out of them, in order.
    pub denies: Vec<Denied>,
    /// Where it begins.
    pub cite: Cite,
}

/// A line of an access list that leaves packets out; the first line that fits a packet decides.
#[derive(Clone, Debug, Serialize)]
pub struct Denied {
    /// How many lines that permit stand before it; those keep what they select.
    pub behind: usize,
    /// What it leaves out; `None` where the line cannot be read, which may be anything.
    pub selector: Option<Selector>,
    /// Where it stands.
    pub cite: Cite,
}

impl Denied {
    /// Whether it may leave out packets that a selector takes.
    #[must_use]
    pub fn may_touch(&self, selector: &Selector) -> bool {
        self.selector.as_ref().is_none_or(|one| one.overlaps(selector))
    }

    /// Whether it may leave out packets between two addresses.
    #[must_use]
    pub fn touches(&self, src: Address, dst: Address) -> bool {
        self.selector.as_ref().is_none_or(|one| one.src.contains(src) && one.dst.contains(dst))
    }
}

/// An IKE policy or proposal. A list holds what is acceptable; IKEv1 policies have one of each.
#[derive(Clone, Debug, Serialize)]
pub struct IkePolicy {
    /// 1 or 2.
    pub version: u8,
    /// Its number or name.
    pub name: String,
    /// Ciphers.
    pub encryption: Vec<String>,
    /// Hashes or integrity algorithms.
    pub hash: Vec<String>,
    /// Diffie-Hellman groups.
    pub group: Vec<String>,
    /// Pseudo-random functions of IKEv2, where said.
    #[serde(skip)]
    pub prf: Vec<String>,
    /// Method of authentication (IKEv1).
    pub authentication: Option<String>,
    /// Its lines.
    pub cites: Vec<Cite>,
    /// What it may say in lines that were cut out or cannot be read: encryption, hash, group, authentication.
    #[serde(skip)]
    pub unsure: [bool; 4],
}

/// Which kind of display an SA was read from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub enum Display {
    /// `show crypto ipsec sa`.
    Cisco,
    /// `ip xfrm state`.
    Xfrm,
    /// `swanctl --list-sas`.
    Swanctl,
    /// Wireshark's `esp_sa` table.
    EspSa,
    /// spiglass's own list.
    List,
    /// A configuration or display of a system that takes neither commands of IOS nor of Linux.
    Other,
}

/// Which way an SA goes, seen from its router.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub enum Way {
    /// Packets that arrive.
    In,
    /// Packets that leave.
    Out,
}

/// An SA in force, or one of a list of expected ones.
#[derive(Clone, Debug, Serialize)]
pub struct Installed {
    /// What displayed it.
    pub display: Display,
    /// AH, ESP or IPComp.
    pub protocol: Protocol,
    /// Which way it goes, where known.
    pub way: Option<Way>,
    /// Source, where known.
    pub src: Option<Address>,
    /// Destination, where known.
    pub dst: Option<Address>,
    /// The SPI.
    pub spi: Spi,
    /// Its transforms in the words of the display.
    pub words: String,
    /// Tunnel or transport.
    pub mode: Option<Mode>,
    /// The key of the cipher.
    pub cipher: Option<Secret>,
    /// The key of the integrity check.
    pub authenticator: Option<Secret>,
    /// In UDP.
    pub udp: bool,
    /// Whether its sequence numbers are extended.
    pub numbering: Numbering,
    /// Octets that packets are padded to before encryption (RFC 4303 section 2.7); 0 where they are not.
    pub tfc: u32,
    /// What a Linux kernel keeps of it besides.
    pub kernel: Option<Box<KernelState>>,
    /// The crypto map it belongs to.
    pub map: Option<String>,
    /// Whether its display shows that IKE made it.
    #[serde(skip)]
    pub negotiated: bool,
    /// Its lines.
    pub cites: Vec<Cite>,
}

impl Installed {
    /// An SA of which a list says no more than this.
    pub(in crate::policy) fn listed(display: Display, protocol: Protocol, spi: Spi, cite: Cite) -> Self {
        Self {
            display,
            protocol,
            way: None,
            src: None,
            dst: None,
            spi,
            words: String::new(),
            mode: None,
            cipher: None,
            authenticator: None,
            udp: false,
            numbering: Numbering::Unsaid,
            tfc: 0,
            kernel: None,
            map: None,
            negotiated: false,
            cites: vec![cite],
        }
    }
}

/// Whether sequence numbers are extended (RFC 4303 section 2.2.1), as far as that is said.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub enum Numbering {
    /// Nothing is said.
    #[default]
    Unsaid,
    /// 32 bits.
    Plain,
    /// 64 bits, with the high half that was displayed.
    Extended(u32),
}

/// A selector in force.
#[derive(Clone, Debug, Serialize)]
pub struct InForce {
    /// Packets that go into the tunnel at this router.
    pub selector: Selector,
    /// The way of the policy it stands in, where it is of one; the selector of an inbound one is turned round.
    pub way: Option<Way>,
    /// The tunnel's own end, where known.
    pub local: Option<Address>,
    /// The tunnel's far end, where known.
    pub remote: Option<Address>,
    /// Where it stands.
    pub cite: Cite,
}

/// An SA that all routers of a link share, such as OSPFv3 uses (RFC 4552): one SPI and one key for both directions.
#[derive(Clone, Debug, Serialize)]
pub struct LinkSa {
    /// The interface, or the area.
    pub place: String,
    /// Whether `place` is an area.
    pub area: bool,
    /// AH or ESP.
    pub protocol: Protocol,
    /// The SPI.
    pub spi: Spi,
    /// Its algorithms.
    pub words: String,
    /// The key of the cipher.
    pub cipher: Option<Secret>,
    /// The key of the integrity check.
    pub authenticator: Option<Secret>,
    /// Where it stands.
    pub cite: Cite,
}

/// A session-key command that the text around a configuration quotes.
#[derive(Clone, Debug, Serialize)]
pub struct Quoted {
    /// What it would set.
    pub key: SessionKey,
}
