//! SAs as each router states them, with their ends filled in from what else it says.

use std::collections::{BTreeMap, BTreeSet};

use super::router::{Display, Installed, MapEntry, Mode, Numbering, Router, Way};
use super::taken;
use crate::model::{Address, Protocol, SaKey, Spi};
use crate::policy::limits::MAX_CITED;
use crate::policy::read::xfrm::own_addresses;
use crate::policy::{Cite, Keying, Policies, Secret};
use crate::transform::Suite;

/// On whose word an SA is expected.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Basis {
    /// A configuration with manual keys.
    Manual,
    /// A display of what is in force; of negotiated SAs it is a snapshot.
    InForce,
    /// A list that somebody wrote.
    Listed,
}

/// An SA that one router states.
#[derive(Clone, Debug)]
pub struct Stated {
    /// Which router.
    pub router: usize,
    /// On whose word.
    pub basis: Basis,
    /// AH, ESP or IPComp.
    pub protocol: Protocol,
    /// The SPI.
    pub spi: Spi,
    /// Which way it goes, seen from the router.
    pub way: Option<Way>,
    /// Source, where known.
    pub src: Option<Address>,
    /// Destination, where known.
    pub dst: Option<Address>,
    /// Its transforms as they stand.
    pub words: String,
    /// Its transforms.
    pub suite: Option<Suite>,
    /// Tunnel or transport, where said.
    pub mode: Option<Mode>,
    /// In UDP, as far as said.
    pub udp: bool,
    /// Whether its sequence numbers are extended.
    pub numbering: Numbering,
    /// Octets that packets are padded to before encryption; 0 where they are not.
    pub tfc: u32,
    /// The key of the cipher.
    pub cipher: Option<Secret>,
    /// The key of the integrity check.
    pub authenticator: Option<Secret>,
    /// Whether the router uses it: manual keys of a protocol that the transform set lacks are not used.
    pub used: bool,
    /// The crypto map entry it belongs to, among the router's.
    pub map: Option<usize>,
    /// The SA in force that it is, among the router's.
    pub installed: Option<usize>,
    /// Its lines, the one that names the SPI first.
    pub cites: Vec<Cite>,
}

impl Stated {
    /// What the wire would know it by; `None` where an end is not known.
    #[must_use]
    pub fn key(&self) -> Option<SaKey> {
        Some(SaKey { protocol: self.protocol, src: self.src?, dst: self.dst?, spi: self.spi })
    }
}

/// Policies with what follows from all of them together.
#[derive(Clone, Debug)]
pub struct View<'p> {
    /// What was read.
    pub policies: &'p Policies,
    /// All SAs that the routers state, in order.
    pub stated: Vec<Stated>,
    /// Which routers have an address.
    pub owners: BTreeMap<Address, Vec<usize>>,
    /// The address that each map entry's tunnel leaves from, router by router.
    pub locals: Vec<Vec<Option<Address>>>,
    /// What IKE may negotiate: an SA for each protocol and direction of an entry with one transform set, its SPI left 0.
    pub negotiable: Vec<Stated>,
}

impl Policies {
    /// The policies with what follows from all of them together.
    #[must_use]
    pub fn view(&self) -> View<'_> {
        let mut owners: BTreeMap<Address, Vec<usize>> = BTreeMap::new();
        for (at, router) in self.routers.iter().enumerate() {
            for address in router.addresses() {
                let of = owners.entry(address).or_default();
                if of.last() != Some(&at) {
                    of.push(at);
                }
            }
        }
        let mut view = View { policies: self, stated: Vec::new(), owners, locals: Vec::new(), negotiable: Vec::new() };
        view.locals = self.routers.iter().map(|router| view.locals_of(router)).collect();
        view.take_for_granted();
        for (at, router) in self.routers.iter().enumerate() {
            view.add_router(at, router);
        }
        view
    }
}

impl View<'_> {
    /// Gives entries whose router does not say where they leave from the address that the peer takes for it.
    fn take_for_granted(&mut self) {
        for (router, map, local) in taken::locals(self) {
            if let Some(place) = self.locals.get_mut(router).and_then(|of| of.get_mut(map)) {
                *place = Some(local);
            }
        }
    }

    /// Gives entries whose router does not say where they leave from the address that the SAs on the wire show.
    pub fn place_on_the_wire(&mut self, seen: &BTreeSet<SaKey>) {
        let found: BTreeMap<(usize, usize), Address> =
            taken::locals_on_the_wire(self, seen).into_iter().map(|(router, map, own)| ((router, map), own)).collect();
        for ((router, map), own) in &found {
            if let Some(place) = self.locals.get_mut(*router).and_then(|of| of.get_mut(*map)) {
                *place = Some(*own);
            }
        }
        for one in self.stated.iter_mut().filter(|one| one.basis == Basis::Manual) {
            let own = one.map.and_then(|map| found.get(&(one.router, map))).copied();
            match one.way {
                Some(Way::Out) => one.src = one.src.or(own),
                Some(Way::In) => one.dst = one.dst.or(own),
                None => {}
            }
        }
    }

    /// The router's name.
    #[must_use]
    pub fn name(&self, router: usize) -> &str {
        self.policies.routers.get(router).map_or("", |router| &router.name)
    }

    /// A map entry.
    #[must_use]
    pub fn entry(&self, router: usize, map: usize) -> Option<&MapEntry> {
        self.policies.routers.get(router)?.maps.get(map)
    }

    /// The address that an entry's tunnel leaves from.
    #[must_use]
    pub fn local(&self, router: usize, map: usize) -> Option<Address> {
        *self.locals.get(router)?.get(map)?
    }

    /// Which other router has an address.
    #[must_use]
    pub fn other_owner(&self, address: Address, than: usize) -> Option<usize> {
        self.owners.get(&address)?.iter().copied().find(|owner| *owner != than)
    }

    fn locals_of(&self, router: &Router) -> Vec<Option<Address>> {
        let mut displayed: BTreeMap<&str, Address> = BTreeMap::new();
        for sa in &router.installed {
            let end = if sa.way == Some(Way::Out) { sa.src } else { sa.dst };
            if let (Some(map), Some(end)) = (&sa.map, end) {
                displayed.entry(map).or_insert(end);
            }
        }
        let mut carrying: BTreeMap<&str, Address> = BTreeMap::new();
        for (name, interface) in &router.interfaces {
            if let (Some((map, _)), Some(address)) = (&interface.map, router.addresses_of(name).first()) {
                carrying.entry(map).or_insert(*address);
            }
        }
        let own = |entry: &MapEntry| {
            let first = |name: &String| router.interfaces.get(name)?.addresses.first().map(|(address, _)| *address);
            let source = router.map_sources.get(&entry.name).and_then(first);
            entry.local.or(source).or_else(|| carrying.get(entry.name.as_str()).copied())
        };
        let local = |entry: &MapEntry| own(entry).or_else(|| displayed.get(entry.name.as_str()).copied());
        router.maps.iter().map(local).collect()
    }

    fn add_router(&mut self, at: usize, router: &Router) {
        for (number, entry) in router.maps.iter().enumerate().filter(|(_, entry)| entry.keying == Keying::Manual) {
            let local = self.local(at, number);
            add_manual(&mut self.stated, at, router, number, entry, local);
        }
        for (number, entry) in router.maps.iter().enumerate().filter(|(_, entry)| entry.keying == Keying::Ike) {
            let local = self.local(at, number);
            add_negotiable(&mut self.negotiable, at, router, number, entry, local);
        }
        let mut maps: BTreeMap<&str, (usize, Option<Address>)> = BTreeMap::new();
        for (number, entry) in router.maps.iter().enumerate() {
            maps.entry(&entry.name).or_insert((number, self.local(at, number)));
        }
        let ends: BTreeSet<Address> = if router.xfrm_policies.is_empty() {
            let shown = router.selectors.iter().filter_map(|selector| selector.local).chain(router.addresses());
            shown.chain(own_addresses(router)).collect()
        } else {
            own_addresses(router)
        };
        for (number, sa) in router.installed.iter().enumerate() {
            let map = sa.map.as_ref().and_then(|name| maps.get(name.as_str())).copied();
            let mut stated = installed(at, router, sa, &ends, map);
            stated.installed = Some(number);
            self.stated.push(stated);
        }
    }
}

fn add_manual(
    stated: &mut Vec<Stated>,
    at: usize,
    router: &Router,
    number: usize,
    entry: &MapEntry,
    local: Option<Address>,
) {
    let peer = entry.peers.first().map(|(peer, _)| *peer);
    let sets = sets(router, entry);
    let words = sets.iter().map(|set| set.words.as_str()).collect::<Vec<_>>().join(" ");
    for key in &entry.keys {
        let (src, dst) = if key.inbound { (peer, local) } else { (local, peer) };
        let mut cites = vec![key.cite.clone()];
        cites.extend(sets.iter().flat_map(|set| set_lines(set)));
        cites.truncate(MAX_CITED);
        stated.push(Stated {
            router: at,
            basis: Basis::Manual,
            protocol: key.protocol,
            spi: key.spi,
            way: Some(if key.inbound { Way::In } else { Way::Out }),
            src,
            dst,
            suite: ios_suite(&words),
            mode: mode_of(&sets),
            udp: false,
            // Manual keys have no extended numbers (RFC 4303 section 2.2.1: they are negotiated).
            numbering: Numbering::Plain,
            tfc: 0,
            cipher: key.cipher.clone(),
            authenticator: key.authenticator.clone(),
            used: sets.is_empty() || uses(&words, key.protocol),
            words: words.clone(),
            map: Some(number),
            installed: None,
            cites,
        });
    }
}

/// The mode of transform sets; one of which all lines are known and none says a mode has tunnel mode.
fn mode_of(sets: &[&crate::policy::TransformSet]) -> Option<Mode> {
    let said = sets.iter().find_map(|set| set.mode.as_ref().map(|(mode, _)| *mode));
    said.or((!sets.is_empty() && sets.iter().all(|set| !set.cut)).then_some(Mode::Tunnel))
}

/// With several transform sets, which one is taken is known only to the routers.
fn add_negotiable(
    negotiable: &mut Vec<Stated>,
    at: usize,
    router: &Router,
    number: usize,
    entry: &MapEntry,
    local: Option<Address>,
) {
    let sets = sets(router, entry);
    let ([set], 1, Some(local)) = (sets.as_slice(), entry.transform_sets.len(), local) else { return };
    for (peer, _) in &entry.peers {
        for protocol in [Protocol::Esp, Protocol::Ah].into_iter().filter(|protocol| uses(&set.words, *protocol)) {
            for (src, dst, way) in [(local, *peer, Way::Out), (*peer, local, Way::In)] {
                negotiable.push(Stated {
                    router: at,
                    basis: Basis::Manual,
                    protocol,
                    spi: Spi(0),
                    way: Some(way),
                    src: Some(src),
                    dst: Some(dst),
                    words: set.words.clone(),
                    suite: ios_suite(&set.words),
                    mode: mode_of(&sets),
                    udp: false,
                    numbering: Numbering::Unsaid,
                    tfc: 0,
                    cipher: None,
                    authenticator: None,
                    used: true,
                    map: Some(number),
                    installed: None,
                    cites: set_lines(set).collect(),
                });
            }
        }
    }
}

fn installed(
    at: usize,
    router: &Router,
    sa: &Installed,
    ends: &BTreeSet<Address>,
    map: Option<(usize, Option<Address>)>,
) -> Stated {
    let entry = map.and_then(|(number, _)| router.maps.get(number));
    let local = map.and_then(|(_, local)| local);
    let peer = entry.and_then(|entry| entry.peers.first()).map(|(peer, _)| *peer);
    let (src, dst) = match sa.way {
        Some(Way::In) => (sa.src.or(peer), sa.dst.or(local)),
        Some(Way::Out) => (sa.src.or(local), sa.dst.or(peer)),
        None => (sa.src, sa.dst),
    };
    let own = |end: Option<Address>| end.is_some_and(|end| ends.contains(&end));
    let way = sa.way.or(match (own(src), own(dst)) {
        (true, false) => Some(Way::Out),
        (false, true) => Some(Way::In),
        _ => None,
    });
    let listed = matches!(sa.display, Display::EspSa | Display::List);
    let words = sa.words.clone();
    Stated {
        router: at,
        basis: if listed { Basis::Listed } else { Basis::InForce },
        protocol: sa.protocol,
        spi: sa.spi,
        way,
        src,
        dst,
        // What IOS displays without a number of bits has 128, as in its configuration.
        suite: ios_suite(&words)
            .filter(|_| sa.display == Display::Cisco)
            .or_else(|| suite(&words, sa.protocol, sa.cipher.as_ref())),
        words,
        mode: sa.mode,
        udp: sa.udp,
        numbering: sa.numbering,
        tfc: sa.tfc,
        cipher: sa.cipher.clone(),
        authenticator: sa.authenticator.clone(),
        used: true,
        map: map.map(|(number, _)| number),
        installed: None,
        cites: sa.cites.clone(),
    }
}

/// The transforms of a transform set; `esp-aes` without a number is 128 bits.
pub(in crate::policy) fn ios_suite(words: &str) -> Option<Suite> {
    let mut suite: Suite = words.parse().ok()?;
    if let Some(esp) =
        suite.esp.as_mut().filter(|esp| esp.key_bits.is_none() && esp.cipher.keys.accept(128) == Some(true))
    {
        esp.key_bits = esp.cipher.keys.has_choice().then_some(128);
    }
    Some(suite)
}

/// The transforms of words that may leave it to the SA which protocol they belong to: `hmac(sha1) 96` of an AH.
pub(in crate::policy) fn parse(words: &str, protocol: Protocol) -> Result<Suite, crate::transform::ParseError> {
    words.parse().or_else(|error| format!("{} {words}", protocol.name()).parse().map_err(|_| error))
}

/// The transforms of words; the key says the key length where the words do not.
pub(in crate::policy) fn suite(words: &str, protocol: Protocol, key: Option<&Secret>) -> Option<Suite> {
    let mut suite = parse(words, protocol).ok()?;
    if let (Some(esp), Some(bits)) = (&mut suite.esp, key.and_then(Secret::bits))
        && esp.key_bits.is_none()
        && esp.cipher.keys.has_choice()
    {
        let bare = bits.saturating_sub(esp.cipher.salt * 8);
        esp.key_bits = Some(bare).filter(|bits| esp.cipher.keys.accept(*bits) == Some(true));
    }
    Some(suite)
}

/// The transform sets of an entry that are known.
pub(in crate::policy) fn sets<'r>(router: &'r Router, entry: &MapEntry) -> Vec<&'r crate::policy::TransformSet> {
    entry.transform_sets.iter().filter_map(|(name, _)| router.transform_sets.get(name)).collect()
}

/// The lines of a transform set: its transforms, and its mode.
fn set_lines(set: &crate::policy::TransformSet) -> impl Iterator<Item = Cite> {
    std::iter::once(set.cite.clone()).chain(set.mode.as_ref().map(|(_, cite)| cite.clone()))
}

/// Whether the words of a transform set name a protocol.
pub(in crate::policy) fn uses(words: &str, protocol: Protocol) -> bool {
    let start = match protocol {
        Protocol::Esp => "esp-",
        Protocol::Ah => "ah-",
        Protocol::IpComp => "comp-",
    };
    words.split(' ').any(|word| word.starts_with(start))
}
