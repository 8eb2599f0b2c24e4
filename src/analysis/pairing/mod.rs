//! Which plaintext packet became which tunnelled packet.
//!
//! A pass over two streams with a bounded horizon, no mergeable state: what is first in the one and first in the other depends on
//! everything before. Each side's packets wait in a [`ledger`] until they are paired or too old. What is visible or was decrypted is
//! paired by identity ([`content`]); opaque ESP by lengths, order and times ([`order`]). Settled packets leave the ledger in the order of
//! the tunnel's capture and are held back until the clocks can be compared ([`clock`]); only then times mean anything.

#![expect(
    clippy::arithmetic_side_effects,
    reason = "packets are counted in 64 bits and those that wait are bounded by `limits`; differences of times saturate and their sums have \
              128 bits; lengths are those of IP packets, unwrapped numbers those of 32 bits, and confidences and worths are floats"
)]

mod align;
mod beginning;
mod checks;
mod clock;
mod content;
mod degraded;
mod delay;
mod ends;
mod evidence;
mod figures;
mod flows;
mod given;
mod identity;
mod known;
mod lane;
mod ledger;
mod limits;
mod links;
mod losses;
mod mapping;
mod numbers;
mod order;
mod prefix;
mod progress;
mod quantiles;
mod queue;
mod retire;
mod settle;
mod sizes;
mod tally;
mod trains;
mod tunnel;
mod watch;

use std::collections::BTreeMap;

pub(crate) use checks::Checks;
use clock::{Clock, Differences};
use content::Index;
use ends::EndToEnd;
pub(crate) use figures::{Figures, Read};
use flows::FlowKey;
pub(crate) use given::Given;
use lane::PlainItem;
use ledger::{Ledger, PlainFate, Serial, TunnelledFate};
use limits::{HELD_PAIRS, HOPELESS, HORIZON_NS, MAX_SAS};
use numbers::Numbers;
use order::{Order, SaInfo};
use progress::Progress;
use queue::Queue;
use tally::Tally;
use trains::Trains;
pub(crate) use trains::Whole;
use tunnel::Role;
pub(crate) use tunnel::Sight;
use watch::Watch;

use super::keyring::Check;
use crate::capture::Frame;
use crate::dissect::{Note, Stack};
use crate::model::pairs::Pair;
use crate::model::{Address, SaKey};
use crate::transform::Esp;
use crate::transform::iv::IvSample;
use crate::transform::path::Mode;

/// How sure a pair of packets is that have equals, where their times tell them apart, and where nothing does.
const ALIKE: f32 = 0.8;
const GUESSED: f32 = 0.4;

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

/// Pairs the packets of two or three streams.
#[derive(Debug)]
pub(crate) struct Matcher {
    settings: PairSettings,
    ledger: Ledger,
    /// Plaintext packets by content; `None` until something is looked for by content.
    plain_index: Option<Index>,
    tunnel_index: Index,
    /// Packets seen beside the tunnel in clear, that wait for their sight on the plain side.
    clear: Queue<Option<i64>>,
    order: Order,
    trains: Trains,
    numbers: Numbers<TunnelKey>,
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
    /// Numbers of each SA.
    watches: Vec<Watch>,
    /// Of each SA, the usual difference of the timestamps of pairs that content makes, and how much it varies.
    usual: Vec<Option<(i64, i64)>>,
    /// Rows of pairs that are ready, where they are wanted.
    rows: Option<Vec<Pair>>,
}

impl Matcher {
    /// `supposed`: by how much the tunnel's clock is taken to be ahead until there are pairs. `rows`: whether single pairs are wanted.
    pub(crate) fn new(settings: PairSettings, supposed: i64, rows: bool, exit: bool) -> Self {
        Self {
            settings,
            ledger: Ledger::default(),
            plain_index: None,
            tunnel_index: Index::default(),
            clear: Queue::default(),
            order: Order::new(settings.one_clock),
            trains: Trains::default(),
            numbers: Numbers::default(),
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
            watches: Vec::new(),
            usual: Vec::new(),
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
        self.order.opened();
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
        if let Some(id) = self.numbers.get(key) {
            return id;
        }
        // Those beyond the limit share the first number.
        if self.numbers.len() >= MAX_SAS {
            self.tally.refused_sas += 1;
            return 0;
        }
        let id = self.numbers.len() as u32;
        self.numbers.insert(key, id);
        let (src, dst) = match key {
            TunnelKey::Sa(sa) => (sa.src, sa.dst),
            TunnelKey::Bare(_, src, dst) => (src, dst),
        };
        if let TunnelKey::Sa(sa) = key
            && let Some(mapping) = self.given.of(&sa)
        {
            self.order.given.insert(id, mapping);
        }
        self.watches.push(Watch::default());
        self.usual.push(None);
        self.order.sas.push(SaInfo { src, dst, ivs: Vec::new() });
        self.tally.name(key);
        id
    }

    /// Takes in a frame of the plain side.
    pub(crate) fn plain(&mut self, sight: Sight<'_>) {
        self.plain.see(sight.frame.time);
        self.note_too_big(sight.stack);
        self.plain_packet(sight);
    }

    fn plain_packet(&mut self, sight: Sight<'_>) {
        let Some(outer) = sight.stack.outer().filter(|_| sight.role() != Role::None) else { return };
        self.plain.packets += 1;
        self.plain.tunnelled += u64::from(sight.role() == Role::Tunnelled);
        let key = FlowKey { src: outer.src, dst: outer.dst, protocol: outer.protocol };
        let flow = self.ledger.flows.number(key);
        let link = self.order.link(sight.stack.macs, outer.src, outer.dst);
        let packet = sight.plain(outer, flow);
        if let Some(ends) = &mut self.ends {
            ends.plain(&packet, outer, self.exit.until());
        }
        let serial = self.ledger.plain.push(packet);
        if let Some(identity) = packet.identity {
            if self.clear.take(identity).is_some() {
                self.ledger.clear(serial);
                return;
            }
            if let Some((tunnelled, more)) = self.tunnelled_with(identity, &packet) {
                self.pair_content(serial, tunnelled, more, true);
                if let Some(index) = &mut self.plain_index {
                    index.note(identity);
                }
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
        self.note_too_big(sight.stack);
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
        self.note_too_big(sight.stack);
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
        self.note_too_big(sight.stack);
        if let Some(outer) = sight.stack.outer().filter(|_| sight.role() != Role::None)
            && let Some(ends) = &mut self.ends
        {
            self.exit.packets += 1;
            let packet = sight.plain(outer, 0);
            ends.exit(&packet, outer, self.plain.until());
        }
    }

    /// Takes note of an ICMP error that says a packet was too big.
    fn note_too_big(&mut self, stack: &Stack) {
        /// Pairs of addresses that are told apart.
        const PAIRS: usize = 4_096;
        for note in &stack.notes {
            if let Note::TooBig { mtu, src, dst, sa: None } = note
                && *mtu > 0
                && (self.ledger.too_big.len() < PAIRS || self.ledger.too_big.contains_key(&(*src, *dst)))
            {
                let own = self.ledger.too_big.entry((*src, *dst)).or_insert(*mtu);
                *own = (*own).min(*mtu);
            }
        }
    }

    /// An IP packet in clear on the side of the tunnel.
    fn beside(&mut self, sight: Sight<'_>) {
        let Some(identity) = sight.stack.outer().and_then(|outer| sight.plain(outer, 0).identity) else { return };
        match self.plain_with(identity) {
            Some((serial, _)) => self.ledger.clear(serial),
            None => {
                let read = self.ahead.map(|ahead| self.plain.until().saturating_add(ahead));
                let _ = self.clear.push(identity, sight.frame.time.ns(), read, |ns| *ns);
            }
        }
    }

    /// Makes sure that plaintext packets can be found by content.
    fn index_plain(&mut self) {
        let ledger = &self.ledger;
        self.plain_index.get_or_insert_with(|| {
            let mut index = Index::default();
            for (serial, packet) in ledger.plain.iter() {
                if let Some(identity) = packet.identity.filter(|_| packet.fate == PlainFate::Waiting) {
                    index.insert(identity, serial);
                }
            }
            index
        });
    }

    /// The plaintext packet that waits with this content, and whether there are several.
    fn plain_with(&mut self, identity: identity::Identity) -> Option<(Serial, bool)> {
        self.index_plain();
        let ledger = &self.ledger;
        let waits = |serial| {
            ledger
                .plain
                .get(serial)
                .is_some_and(|p| p.fate == PlainFate::Waiting && p.identity.is_some_and(|own| own.agrees(identity)))
        };
        self.plain_index.as_ref()?.find(identity, waits)
    }

    /// The plaintext packet of a tunnelled one. Of packets that are alike it is the one whose time fits.
    fn plain_of(&mut self, identity: identity::Identity, serial: Serial) -> Option<(Serial, bool)> {
        self.index_plain();
        let own = self.plain_index.as_ref()?.is_repeated(identity).then(|| self.ledger.tunnel.get(serial)).flatten();
        let Some((own, ns)) = own.and_then(|t| Some((*t, t.time.ns()?))) else { return self.plain_with(identity) };
        let ledger = &self.ledger;
        let plain = |serial| {
            ledger
                .plain
                .get(serial)
                .filter(|p| p.fate == PlainFate::Waiting && p.identity.is_some_and(|own| own.agrees(identity)))
        };
        let at = |serial| ledger.plain.get(serial).and_then(|p| p.time.ns()).unwrap_or(i64::MIN);
        let Some(base) = self.base(own.sa) else { return self.plain_with(identity).map(|(at, _)| (at, true)) };
        let misfit = |serial| Some(self.misfit(plain(serial)?, &own, base));
        let cost = |serial| misfit(serial).filter(|misfit| self.is_near(own.sa, *misfit));
        let before = |serial| at(serial) < ns.saturating_sub(base);
        self.plain_index.as_ref()?.nearest(identity, before, cost).map(|(at, _)| (at, true))
    }

    /// The tunnelled packet of a plaintext one that was read later.
    fn tunnelled_with(&self, identity: identity::Identity, packet: &ledger::Plain) -> Option<(Serial, bool)> {
        let ledger = &self.ledger;
        let tunnelled = |serial| {
            ledger.tunnel.get(serial).filter(|t| {
                matches!(t.fate, TunnelledFate::Waiting) && t.identity.is_some_and(|own| own.agrees(identity))
            })
        };
        let alike = self.tunnel_index.is_repeated(identity);
        let (Some(ns), true) = (packet.time.ns(), alike) else {
            return self.tunnel_index.find(identity, |serial| tunnelled(serial).is_some());
        };
        let cost = |serial| {
            let t = tunnelled(serial)?;
            let Some(base) = self.base(t.sa) else { return Some(0) };
            Some(self.misfit(packet, t, base)).filter(|misfit| self.is_near(t.sa, *misfit))
        };
        let before = |serial| {
            let t = ledger.tunnel.get(serial);
            t.and_then(|t| Some(t.time.ns()?.saturating_sub(self.base(t.sa).unwrap_or(0)))).unwrap_or(i64::MIN) < ns
        };
        self.tunnel_index.nearest(identity, before, cost).map(|(at, _)| (at, true))
    }

    /// The usual difference of the timestamps of an SA's pairs; of one clock it begins with none.
    fn base(&self, sa: u32) -> Option<i64> {
        let usual = self.usual.get(sa as usize).copied().flatten();
        usual.map(|(base, _)| base).or_else(|| self.settings.one_clock.then_some(0))
    }

    /// Whether two packets that are alike are as far apart as pairs of their SA usually are.
    fn is_near(&self, sa: u32, misfit: u64) -> bool {
        /// A few times the usual deviation, and never less than this, in nanoseconds.
        const LEAST: i64 = 50_000;
        let usual = self.usual.get(sa as usize).copied().flatten();
        usual.is_none_or(|(_, varies)| misfit <= varies.saturating_mul(8).max(LEAST).unsigned_abs())
    }

    /// Learns from a pair how far apart those of its SA are.
    fn learn(&mut self, sa: u32, difference: i64) {
        /// How much they vary before anything is known, in nanoseconds.
        const VARIES: i64 = 250_000;
        if let Some(usual) = self.usual.get_mut(sa as usize) {
            let (base, varies) = usual.unwrap_or((difference, VARIES));
            let off = difference.saturating_sub(base);
            let more = off.saturating_abs().saturating_sub(varies) / 8;
            *usual = Some((base.saturating_add(off / 4), varies.saturating_add(more)));
        }
    }

    /// By how much two packets that are alike differ from the usual time; more where one clock stamped the later tap first.
    fn misfit(&self, plain: &ledger::Plain, tunnelled: &ledger::Tunnelled, base: i64) -> u64 {
        /// A day: later than any other packet.
        const NEVER: u64 = 86_400_000_000_000;
        let (Some(p), Some(t)) = (plain.time.ns(), tunnelled.time.ns()) else { return NEVER };
        let later = t.saturating_sub(p);
        let way = tunnelled.inner.map_or(0, |inner| plain.marks.ttl.cmp(&inner.marks.ttl) as i64);
        let backwards = self.settings.one_clock && later.signum() * way < 0;
        later.saturating_sub(base).unsigned_abs().saturating_add(if backwards { NEVER } else { 0 })
    }

    fn tunnelled(&mut self, sight: Sight<'_>) {
        let stack = sight.stack;
        let Some(outer) = stack.outer() else { return };
        self.tunnel.packets += 1;
        self.tunnel.tunnelled += 1;
        let key = match stack.sas.last() {
            Some(header) => {
                let ip = stack.ips.get(usize::from(header.ip)).unwrap_or(outer);
                TunnelKey::Sa(SaKey { protocol: header.protocol, src: ip.src, dst: ip.dst, spi: header.spi })
            }
            None => TunnelKey::Bare(outer.protocol, outer.src, outer.dst),
        };
        let id = self.number(key);
        let packet = sight.tunnelled(outer, id);
        let again = match (packet.sequence, packet.time.ns(), self.watches.get_mut(id as usize)) {
            (Some(raw), Some(ns), Some(watch)) => watch.see(raw, ns),
            _ => false,
        };
        let serial = self.ledger.tunnel.push(packet);
        if outer.more_fragments {
            self.trains.first(&mut self.ledger, outer, serial, &sight);
        }
        if let Some(identity) = packet.identity {
            // A copy in the tunnel is the same packet under the same number.
            if again && self.tunnel_index.is_latest(identity) {
                self.ledger.leave(serial, TunnelledFate::Repeated);
            } else {
                self.find_plain(identity, serial);
            }
        } else if let (Some(_), Some(raw), Some(ns)) = (packet.esp, packet.sequence, packet.time.ns()) {
            self.iv(&sight, id, raw);
            self.order.tunnelled(&mut self.ledger, serial, ns, id, raw);
        } else {
            self.ledger.leave(serial, TunnelledFate::Alone);
        }
    }

    /// Pairs a packet whose content is known, now or when its plaintext packet comes.
    fn find_plain(&mut self, identity: identity::Identity, serial: Serial) {
        match self.plain_of(identity, serial) {
            Some((plain, more)) => {
                self.tunnel_index.note(identity);
                self.pair_content(plain, serial, more, true);
            }
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

    fn pair_content(&mut self, plain: Serial, tunnelled: Serial, more: bool, timed: bool) {
        let (Some(p), Some(t)) = (self.ledger.plain.get(plain), self.ledger.tunnel.get(tunnelled)) else { return };
        let whole = p.identity.zip(t.identity).is_some_and(|(p, t)| p.is_whole(t));
        let basis = t.basis();
        let difference = p.time.ns().zip(t.time.ns()).map(|(p, t)| t.saturating_sub(p));
        let confidence = match (more, whole) {
            (false, true) => 1.0,
            (false, false) => 0.98,
            // Which of packets that are alike it is, only their times tell.
            (true, _) if timed && self.base(t.sa).is_some() => ALIKE,
            (true, _) => GUESSED,
        };
        let (p_identity, t_identity, sa) = (p.identity, t.identity, t.sa);
        if let Some(difference) = difference.filter(|_| confidence >= ALIKE) {
            self.learn(sa, difference);
            if !self.settings.one_clock {
                self.ahead = Some(difference);
            }
        }
        self.ledger.pair(plain, tunnelled, basis, confidence);
        if let (Some(index), Some(identity)) = (&mut self.plain_index, p_identity) {
            index.remove(identity, plain);
        }
        if let Some(identity) = t_identity {
            self.tunnel_index.remove(identity, tunnelled);
        }
    }

    /// Settles what can be settled with what has been read.
    pub(crate) fn advance(&mut self) {
        let end = self.plain.ended && self.tunnel.ended;
        self.cover();
        self.order.advance(&mut self.ledger, self.plain.until(), self.tunnel.until(), HORIZON_NS, end);
        if self.ahead.is_none() {
            self.ahead = self.order.usual().map(|ns| ns as i64);
        }
        if end {
            self.trains.end();
        }
        self.expire(end);
        self.retire();
        if self.held.len() >= HELD_PAIRS || (end && self.exit.ended) {
            self.flush();
        }
    }

    /// Compares the clocks by the pairs held back, and counts them.
    fn flush(&mut self) {
        let mut held = std::mem::take(&mut self.held);
        self.tally.decide(self.settings.one_clock);
        for packet in &held {
            if let Some(difference) = self.tally.difference(packet) {
                self.differences.add(difference);
            }
        }
        let clock = self.clock();
        for packet in &mut held {
            let out = packet.time.ns().is_some_and(|ns| !self.ledger.covers_tunnel(ns));
            if out && matches!(packet.fate, TunnelledFate::Alone) {
                packet.fate = TunnelledFate::Uncovered;
            }
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
