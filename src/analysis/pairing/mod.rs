//! Which plaintext packet became which tunnelled packet.
//!
//! A pass over two streams with a bounded horizon, no mergeable state: what is first in the one and first in the other depends on
//! everything before. Each side's packets wait in a [`ledger`] until they are paired or too old. What is visible or was decrypted is
//! paired by identity ([`content`]); opaque ESP by lengths, order and times ([`order`]). Settled packets leave the ledger in the order of
//! the tunnel's capture and are held back until the clocks can be compared ([`clock`]); only then times mean anything.

mod align;
mod checks;
mod clock;
mod content;
mod ends;
mod figures;
mod flows;
mod given;
mod identity;
mod lane;
mod ledger;
mod limits;
mod mapping;
mod order;
mod quantiles;
mod tally;
mod trains;
mod tunnel;

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::FixedState;

pub(crate) use checks::Checks;
use clock::{Clock, Differences};
use content::Index;
use ends::EndToEnd;
pub(crate) use figures::Figures;
use flows::FlowKey;
pub(crate) use given::Given;
use lane::PlainItem;
use ledger::{Ledger, PairBasis, PlainFate, Serial, TunnelledFate};
use limits::{HELD_PAIRS, HOPELESS, HORIZON_NS, MAX_SAS, MAX_WAITING};
use order::{Order, SaInfo};
use tally::Tally;
use trains::Trains;
pub(crate) use trains::Whole;
use tunnel::Role;
pub(crate) use tunnel::Sight;

use super::keyring::Check;
use crate::capture::Frame;
use crate::dissect::Stack;
use crate::model::pairs::Pair;
use crate::model::{Address, SaKey, Timestamp};
use crate::transform::Esp;
use crate::transform::iv::IvSample;
use crate::transform::path::Mode;

/// What pairing is asked for.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct PairSettings {
    /// Both sides are stamped by one clock: they are in one capture, or the user says so.
    pub one_clock: bool,
    /// Timestamps are of the first bit of a frame, not of its last.
    pub stamped_at_start: bool,
    /// Rate of the link in bits per second.
    pub link_rate_bps: Option<u64>,
    /// Transform and mode of the SAs that no policy names, where they are known: lengths are then not guessed.
    pub transform: Option<(Esp, Mode)>,
}

/// A side to read from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    Plain,
    Tunnel,
    Exit,
}

/// A number that a tunnel has here.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) enum TunnelKey {
    /// An SA.
    Sa(SaKey),
    /// A tunnel without: protocol number and endpoints.
    Bare(u8, Address, Address),
}

/// One capture stream, as far as it has been read.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    first: Option<i64>,
    /// Time of the latest frame.
    latest: i64,
    frames: u64,
    packets: u64,
    ended: bool,
}

impl Progress {
    fn see(&mut self, time: Timestamp) {
        self.frames += 1;
        if let Some(ns) = time.ns() {
            self.first = Some(self.first.map_or(ns, |first| first.min(ns)));
            self.latest = if self.frames == 1 { ns } else { self.latest.max(ns) };
        }
    }

    /// No frame before this time is still to come.
    const fn until(&self) -> i64 {
        if self.ended { i64::MAX } else { self.latest }
    }
}

/// Pairs the packets of two or three streams.
#[derive(Debug)]
pub(crate) struct Matcher {
    settings: PairSettings,
    ledger: Ledger,
    /// Plaintext packets by content; `None` until something is looked for by content.
    plain_index: Option<Index>,
    tunnel_index: Index,
    /// Packets seen beside the tunnel in clear, that wait for their sight on the plain side.
    clear: Clear,
    order: Order,
    trains: Trains,
    keys: HashMap<TunnelKey, u32, FixedState>,
    /// The two that came last: packets go both ways.
    latest: [Option<(TunnelKey, u32)>; 2],
    plain: Progress,
    tunnel: Progress,
    exit: Progress,
    ends: Option<EndToEnd>,
    /// Difference of the clocks as far as it is known from pairs.
    ahead: Option<i64>,
    /// What it is taken for before the first pair.
    supposed: i64,
    differences: Differences,
    tally: Tally,
    held: Vec<ledger::Tunnelled>,
    checks: Checks,
    given: Given,
    /// Rows of pairs that are ready, where they are wanted.
    rows: Option<Vec<Pair>>,
}

/// Packets in clear at the tunnel, by identity.
#[derive(Debug, Default)]
struct Clear {
    index: Index,
    waiting: std::collections::VecDeque<(identity::Identity, Serial)>,
    next: Serial,
}

impl Clear {
    fn add(&mut self, identity: identity::Identity) {
        self.index.insert(identity, self.next);
        self.waiting.push_back((identity, self.next));
        self.next += 1;
        if self.waiting.len() > MAX_WAITING
            && let Some((identity, serial)) = self.waiting.pop_front()
        {
            self.index.remove(identity, serial);
        }
    }

    fn take(&mut self, identity: identity::Identity) -> bool {
        let found = self.index.find(identity, |_| true);
        if let Some((serial, _)) = found {
            self.index.remove(identity, serial);
        }
        found.is_some()
    }
}

impl Matcher {
    /// `supposed`: by how much the tunnel's clock is taken to be ahead until there are pairs. `rows`: whether single pairs are wanted.
    pub(crate) fn new(settings: PairSettings, supposed: i64, rows: bool, exit: bool) -> Self {
        Self {
            settings,
            ledger: Ledger::default(),
            plain_index: None,
            tunnel_index: Index::default(),
            clear: Clear::default(),
            order: Order::default(),
            trains: Trains::default(),
            keys: HashMap::default(),
            latest: [None; 2],
            plain: Progress::default(),
            tunnel: Progress::default(),
            exit: Progress { ended: !exit, ..Progress::default() },
            ends: exit.then(EndToEnd::default),
            ahead: settings.one_clock.then_some(0),
            supposed,
            differences: Differences::default(),
            tally: Tally::default(),
            held: Vec::new(),
            checks: Checks::default(),
            given: Given::default(),
            rows: rows.then(Vec::new),
        }
    }

    /// The transforms of SAs, where they were said: lengths are then not guessed, unless none of the packets has them. `of` answers
    /// with block, IV and ICV, whether it is transport mode, and up to which length the sender fills up.
    pub(crate) fn expect(&mut self, given: Given) {
        self.given = given;
    }

    /// Puts outer fragments together again, for somebody who has keys: [`Matcher::take_whole`].
    pub(crate) fn keep_fragments(&mut self) {
        self.trains.keep = true;
    }

    /// Packets that were put together since the last time.
    pub(crate) fn take_whole(&mut self) -> Vec<Whole> {
        self.trains.take_whole()
    }

    /// Takes in a packet that was put together again and opened.
    pub(crate) fn opened(&mut self, serial: Serial, sight: Sight<'_>) {
        let Some(outer) = sight.stack.outer() else { return };
        let Some(t) = self.ledger.tunnel.get(serial) else { return };
        let inside = sight.tunnelled(outer, t.sa);
        let Some(identity) = inside.identity else { return };
        if let Some(t) = self.ledger.tunnel.get_mut(serial) {
            (t.inner, t.identity, t.train, t.costs, t.esp) =
                (inside.inner, inside.identity, inside.train, inside.costs, None);
        }
        self.find_plain(identity, serial);
        self.order.drop_settled(&self.ledger);
    }

    /// Whether any pair was found.
    pub(crate) fn has_begun(&self) -> bool {
        self.tally.has_pairs()
            || self.order.has_begun()
            || self.held.iter().any(is_pair)
            || self.ahead.is_some_and(|_| !self.settings.one_clock)
    }

    /// Whether so much was read in vain that this beginning is hopeless.
    pub(crate) fn is_hopeless(&self) -> bool {
        self.tunnel.packets > HOPELESS && self.plain.packets > HOPELESS && !self.has_begun()
    }

    /// Which side is to be read next, so that both advance together; `None` at the end of all.
    pub(crate) fn wanted(&self) -> Option<Side> {
        let ahead = self.ahead.unwrap_or(self.supposed);
        let at = |progress: &Progress, ahead: i64| {
            (!progress.ended)
                .then(|| if progress.frames == 0 { i64::MIN } else { progress.latest.saturating_sub(ahead) })
        };
        let sides = [
            (at(&self.plain, 0), Side::Plain),
            (at(&self.tunnel, ahead), Side::Tunnel),
            (at(&self.exit, self.ends.as_ref().map_or(0, EndToEnd::ahead)), Side::Exit),
        ];
        sides.into_iter().filter_map(|(at, side)| Some((at?, side))).min_by_key(|(at, _)| *at).map(|(_, side)| side)
    }

    /// A side has no more frames.
    pub(crate) fn end(&mut self, side: Side) {
        match side {
            Side::Plain => self.plain.ended = true,
            Side::Tunnel => self.tunnel.ended = true,
            Side::Exit => self.exit.ended = true,
        }
    }

    fn number(&mut self, key: TunnelKey) -> u32 {
        if let Some((_, id)) = self.latest.iter().flatten().find(|(latest, _)| *latest == key) {
            return *id;
        }
        if let Some(id) = self.keys.get(&key) {
            self.latest = [Some((key, *id)), self.latest[0]];
            return *id;
        }
        // Those beyond the limit share the first number.
        if self.keys.len() >= MAX_SAS {
            self.tally.refused_sas += 1;
            return 0;
        }
        let id = self.keys.len() as u32;
        self.keys.insert(key, id);
        let (src, dst) = match key {
            TunnelKey::Sa(sa) => (sa.src, sa.dst),
            TunnelKey::Bare(_, src, dst) => (src, dst),
        };
        if let TunnelKey::Sa(sa) = key
            && let Some(mapping) = self.given.of(&sa)
        {
            self.order.given.insert(id, mapping);
        }
        self.order.sas.push(SaInfo { src, dst, ivs: Vec::new() });
        self.tally.name(key);
        id
    }

    /// Takes in a frame of the plain side.
    pub(crate) fn plain(&mut self, sight: Sight<'_>) {
        self.plain.see(sight.frame.time);
        self.plain_packet(sight);
    }

    fn plain_packet(&mut self, sight: Sight<'_>) {
        let Some(outer) = sight.stack.outer().filter(|_| sight.role() != Role::None) else { return };
        self.plain.packets += 1;
        let key = FlowKey { src: outer.src, dst: outer.dst, protocol: outer.protocol };
        let flow = self.ledger.flows.number(key);
        let link = self.order.link(sight.stack.macs, outer.src, outer.dst);
        let packet = sight.plain(outer, flow);
        if let Some(ends) = &mut self.ends {
            ends.plain(&packet, outer);
        }
        let serial = self.ledger.plain.push(packet);
        if let Some(identity) = packet.identity {
            if self.clear.take(identity) {
                self.ledger.clear(serial);
                return;
            }
            let ledger = &self.ledger;
            let waits = |serial| {
                ledger.tunnel.get(serial).is_some_and(|t| {
                    matches!(t.fate, TunnelledFate::Waiting) && t.identity.is_some_and(|own| own.agrees(identity))
                })
            };
            if let Some((tunnelled, more)) = self.tunnel_index.find(identity, waits) {
                self.pair_content(serial, tunnelled, more);
                return;
            }
            if let Some(index) = &mut self.plain_index {
                index.insert(identity, serial);
            }
        }
        // What is under IPsec on the plain side too passes through this gateway; it is not what this gateway protects.
        if let Some(ns) = packet.time.ns().filter(|_| sight.stack.sas.is_empty()) {
            self.order.plain(link, PlainItem { serial, ns, bytes: packet.bytes, flow });
        }
    }

    /// Takes in a frame of the tunnel's side.
    pub(crate) fn tunnel(&mut self, sight: Sight<'_>) {
        self.tunnel.see(sight.frame.time);
        match sight.role() {
            Role::None => {}
            Role::Plain => self.beside(sight),
            Role::Piece => self.trains.piece(&mut self.ledger, sight),
            Role::Tunnelled => self.tunnelled(sight),
        }
    }

    /// Takes in a frame of a capture that serves as both sides: what it is decides.
    pub(crate) fn both(&mut self, sight: Sight<'_>) {
        self.plain.see(sight.frame.time);
        self.tunnel.see(sight.frame.time);
        match sight.role() {
            Role::None => {}
            Role::Plain => self.plain_packet(sight),
            Role::Piece => self.trains.piece(&mut self.ledger, sight),
            Role::Tunnelled => self.tunnelled(sight),
        }
    }

    /// Takes in a frame of the far plain side.
    pub(crate) fn exit(&mut self, sight: Sight<'_>) {
        self.exit.see(sight.frame.time);
        if let Some(outer) = sight.stack.outer().filter(|_| sight.role() != Role::None)
            && let Some(ends) = &mut self.ends
        {
            self.exit.packets += 1;
            let packet = sight.plain(outer, 0);
            ends.exit(&packet, outer);
        }
    }

    /// An IP packet in clear on the side of the tunnel.
    fn beside(&mut self, sight: Sight<'_>) {
        let Some(identity) = sight.stack.outer().and_then(|outer| sight.plain(outer, 0).identity) else { return };
        match self.plain_with(identity) {
            Some((serial, _)) => self.ledger.clear(serial),
            None => self.clear.add(identity),
        }
    }

    /// The plaintext packet that waits with this content, and whether there are several.
    fn plain_with(&mut self, identity: identity::Identity) -> Option<(Serial, bool)> {
        let ledger = &self.ledger;
        let index = self.plain_index.get_or_insert_with(|| {
            let mut index = Index::default();
            for (serial, packet) in ledger.plain.iter() {
                if let Some(identity) = packet.identity.filter(|_| packet.fate == PlainFate::Waiting) {
                    index.insert(identity, serial);
                }
            }
            index
        });
        let waits = |serial| {
            ledger
                .plain
                .get(serial)
                .is_some_and(|p| p.fate == PlainFate::Waiting && p.identity.is_some_and(|own| own.agrees(identity)))
        };
        index.find(identity, waits)
    }

    fn tunnelled(&mut self, sight: Sight<'_>) {
        let stack = sight.stack;
        let Some(outer) = stack.outer() else { return };
        self.tunnel.packets += 1;
        let key = match stack.sas.last() {
            Some(header) => {
                let ip = stack.ips.get(usize::from(header.ip)).unwrap_or(outer);
                TunnelKey::Sa(SaKey { protocol: header.protocol, src: ip.src, dst: ip.dst, spi: header.spi })
            }
            None => TunnelKey::Bare(outer.protocol, outer.src, outer.dst),
        };
        let id = self.number(key);
        let packet = sight.tunnelled(outer, id);
        let serial = self.ledger.tunnel.push(packet);
        if outer.more_fragments {
            self.trains.first(&mut self.ledger, outer, serial, &sight);
        }
        if let Some(identity) = packet.identity {
            self.find_plain(identity, serial);
        } else if let (Some(_), Some(raw), Some(ns)) = (packet.esp, packet.sequence, packet.time.ns()) {
            self.iv(&sight, id, raw);
            self.order.tunnelled(&mut self.ledger, serial, ns, id, raw);
        } else {
            self.ledger.leave(serial, TunnelledFate::Alone);
        }
    }

    /// Pairs a packet whose content is known, now or when its plaintext packet comes.
    fn find_plain(&mut self, identity: identity::Identity, serial: Serial) {
        match self.plain_with(identity) {
            Some((plain, more)) => self.pair_content(plain, serial, more),
            None => self.tunnel_index.insert(identity, serial),
        }
    }

    /// Keeps the first IVs of an SA: they tell counter modes from CBC.
    fn iv(&mut self, sight: &Sight<'_>, id: u32, sequence: u32) {
        /// Packets whose IV is kept.
        const IVS: usize = 8;
        let Some(info) = self.order.sas.get_mut(id as usize).filter(|info| info.ivs.len() < IVS) else { return };
        let Some(header) = sight.stack.sas.last() else { return };
        let behind = sight.octets.get(header.offset as usize + 8..).and_then(<[u8]>::first_chunk::<8>);
        if let Some(octets) = behind {
            info.ivs.push(IvSample { sequence, octets: u64::from_be_bytes(*octets) });
        }
    }

    fn pair_content(&mut self, plain: Serial, tunnelled: Serial, more: bool) {
        let (Some(p), Some(t)) = (self.ledger.plain.get(plain), self.ledger.tunnel.get(tunnelled)) else { return };
        let whole = p.identity.zip(t.identity).is_some_and(|(p, t)| p.is_whole(t));
        let basis =
            if t.inner.is_some_and(|inner| inner.decrypted) { PairBasis::Decrypted } else { PairBasis::Content };
        let confidence = match (more, whole) {
            (false, true) => 1.0,
            (false, false) => 0.98,
            (true, _) => 0.8,
        };
        if self.ahead.is_none()
            && let (Some(p), Some(t)) = (p.time.ns(), t.time.ns())
        {
            self.ahead = Some(t.saturating_sub(p));
        }
        self.ledger.pair(plain, tunnelled, basis, confidence);
    }

    /// Settles what can be settled with what has been read.
    pub(crate) fn advance(&mut self) {
        let end = self.plain.ended && self.tunnel.ended;
        self.order.advance(&mut self.ledger, self.plain.until(), self.tunnel.until(), HORIZON_NS, end);
        if self.ahead.is_none() {
            self.ahead = self.order.usual().map(|ns| ns as i64);
        }
        if end {
            self.trains.end();
        }
        self.cover();
        self.expire(end);
        self.retire();
        if self.held.len() >= HELD_PAIRS || (end && self.exit.ended) {
            self.flush();
        }
    }

    /// From when to when, on the plain clock, the tunnel's capture shows what the plain one does.
    fn cover(&mut self) {
        /// Around the ends a packet may be on its way.
        const MARGIN_NS: i64 = 1_000_000_000;
        let Some(ahead) = self.ahead else { return };
        self.ledger.covered = (
            self.tunnel.first.map_or(i64::MIN, |first| first.saturating_sub(ahead).saturating_sub(MARGIN_NS)),
            if self.tunnel.ended {
                self.tunnel.latest.saturating_sub(ahead).saturating_add(MARGIN_NS)
            } else {
                i64::MAX
            },
        );
    }

    /// Gives up on what has waited too long.
    fn expire(&mut self, end: bool) {
        // How far both sides have been read, on the tunnel's clock.
        let both = self.tunnel.until().min(self.plain.until().saturating_add(self.ahead.unwrap_or(0)));
        let ahead = self.ahead;
        let age = |until: i64, from: i64| until.saturating_sub(from) > 2 * HORIZON_NS;
        for serial in self.ledger.tunnel.first()..self.ledger.tunnel.next() {
            let Some(t) = self.ledger.tunnel.get(serial) else { break };
            if !matches!(t.fate, TunnelledFate::Waiting) {
                continue;
            }
            let too_old = match (ahead, t.time.ns()) {
                (Some(_), Some(ns)) => age(both, ns),
                _ => false,
            };
            let too_many = (self.ledger.tunnel.next() - serial) as usize > MAX_WAITING;
            if !(end || too_old || too_many) {
                break;
            }
            if !self.rejoin(serial) {
                self.ledger.leave(serial, TunnelledFate::Alone);
            }
        }
        for serial in self.ledger.plain.first()..self.ledger.plain.next() {
            let Some(p) = self.ledger.plain.get(serial) else { break };
            if p.fate == PlainFate::Settled {
                continue;
            }
            let too_old = match (ahead, p.time.ns()) {
                (Some(ahead), Some(ns)) => age(both, ns.saturating_add(ahead)),
                _ => false,
            };
            let too_many = (self.ledger.plain.next() - serial) as usize > MAX_WAITING;
            if !(end || too_old || too_many) {
                break;
            }
            if ahead.is_some() { self.ledger.give_up(serial, None, 0.5) } else { self.ledger.uncovered(serial) }
        }
    }

    /// A fragment inside the tunnel whose packet came to the gateway in one piece: the gateway fragmented it before it encrypted.
    fn rejoin(&mut self, serial: Serial) -> bool {
        /// Packets that are looked through.
        const FAR: usize = 4_096;
        let Some(t) = self.ledger.tunnel.get(serial) else { return false };
        let Some(train) = t.train else { return false };
        let before = self.ledger.plain.iter().rev().take(FAR);
        let whole =
            before.filter(|(_, p)| p.train == Some(train) && p.fate == PlainFate::Waiting).map(|(at, _)| at).last();
        let Some(whole) = whole else { return false };
        // All of its fragments that wait belong to it: one pair, its length that of all.
        let pieces: Vec<Serial> = self
            .ledger
            .tunnel
            .iter()
            .skip_while(|(at, _)| *at < serial)
            .take(FAR)
            .filter(|(_, t)| t.train == Some(train) && matches!(t.fate, TunnelledFate::Waiting))
            .map(|(at, _)| at)
            .collect();
        let (mut outer_bytes, mut inner_bytes, mut count) = (0, 0, 0);
        for piece in &pieces {
            if let Some(t) = self.ledger.tunnel.get(*piece) {
                outer_bytes += t.outer_bytes;
                inner_bytes += t.inner.map_or(0, |inner| inner.bytes);
                count += t.pieces;
            }
        }
        let bytes = self.ledger.plain.get(whole).map_or(0, |p| p.bytes);
        let headers = 20 * (pieces.len() as u32).saturating_sub(1);
        let basis =
            if t.inner.is_some_and(|inner| inner.decrypted) { PairBasis::Decrypted } else { PairBasis::Content };
        if let Some(t) = self.ledger.tunnel.get_mut(serial) {
            (t.outer_bytes, t.pieces) = (outer_bytes, count);
            t.complete = t.complete && inner_bytes == bytes + headers;
        }
        let paired = self.ledger.pair(whole, serial, basis, 0.95);
        for piece in pieces.into_iter().filter(|piece| *piece != serial) {
            self.ledger.leave(piece, TunnelledFate::Repeated);
            if let Some(t) = self.ledger.tunnel.get_mut(piece) {
                t.fate = TunnelledFate::Part;
            }
        }
        paired
    }

    /// Takes settled packets off the front of both sides.
    fn retire(&mut self) {
        while self.ledger.plain.front().is_some_and(|p| p.fate == PlainFate::Settled) {
            let serial = self.ledger.plain.first();
            let packet = self.ledger.plain.pop();
            if let (Some(index), Some(identity)) = (&mut self.plain_index, packet.and_then(|p| p.identity)) {
                index.remove(identity, serial);
            }
        }
        while self.ledger.tunnel.front().is_some_and(|t| !matches!(t.fate, TunnelledFate::Waiting)) {
            let serial = self.ledger.tunnel.first();
            let Some(packet) = self.ledger.tunnel.pop() else { break };
            if let Some(identity) = packet.identity {
                self.tunnel_index.remove(identity, serial);
            }
            self.tally.vote(&packet, self.order.is_encapsulated(packet.sa));
            self.held.push(packet);
        }
    }

    /// Compares the clocks by the pairs held back, and counts them.
    fn flush(&mut self) {
        let held = std::mem::take(&mut self.held);
        self.tally.decide(self.settings.one_clock);
        for packet in &held {
            if let Some(difference) = self.tally.difference(packet) {
                self.differences.add(difference);
            }
        }
        let clock = self.clock();
        for packet in &held {
            let pair = self.tally.count(packet, &clock, &self.settings, self.order.mapping(packet.sa));
            if let (Some(rows), Some(pair)) = (&mut self.rows, pair) {
                rows.push(pair);
            }
        }
    }

    fn clock(&mut self) -> Clock {
        if self.settings.one_clock { Clock::ONE } else { self.differences.clock() }
    }

    /// Takes in what came of the ICVs of a frame, of which `stack` is the dissection with what was opened.
    pub(crate) fn checked(&mut self, frame: &Frame<'_>, checks: &[Check], stack: Option<&Stack>) {
        self.checks.add(frame.pos, frame.time, checks, stack);
    }

    /// What came of all ICVs.
    pub(crate) fn take_checks(&mut self) -> Checks {
        std::mem::take(&mut self.checks)
    }

    /// Packets of each SA.
    pub(crate) fn packets(&self) -> BTreeMap<SaKey, u64> {
        let packets = self.tally.sas.iter().filter_map(|sa| match sa.key {
            TunnelKey::Sa(key) => Some((key, sa.matched + sa.alone + sa.repeated)),
            TunnelKey::Bare(..) => None,
        });
        packets.collect()
    }

    /// Rows of pairs that are ready.
    pub(crate) fn take_rows(&mut self) -> Vec<Pair> {
        self.rows.as_mut().map(std::mem::take).unwrap_or_default()
    }
}

fn is_pair(packet: &ledger::Tunnelled) -> bool {
    matches!(packet.fate, TunnelledFate::Paired(_))
}

/// The name that an SA or tunnel has in every output.
fn id(key: TunnelKey) -> String {
    match key {
        TunnelKey::Sa(sa) => sa.to_string(),
        TunnelKey::Bare(protocol, src, dst) => {
            let name = match protocol {
                4 | 41 => "ipip",
                47 => "gre",
                _ => "tunnel",
            };
            format!("{name}/{src}/{dst}")
        }
    }
}

/// What is inside ESP, in words.
fn inside_name(inside: mapping::Inside) -> String {
    use mapping::Inside;
    match inside {
        Inside::Packet => "in tunnel mode".to_owned(),
        Inside::Payload(_) => "in transport mode".to_owned(),
        Inside::Gre(bytes) => format!("in {bytes} octets of GRE in transport mode"),
        Inside::Tunnel(_, 0) => "in IP in IP in tunnel mode".to_owned(),
        Inside::Tunnel(_, bytes) => format!("in {bytes} octets of GRE in tunnel mode"),
    }
}
