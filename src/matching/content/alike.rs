//! Pairs by content, also of packets that are equal byte for byte: as many belong together as there are, and their times say which.

mod anchors;
mod crowded;
mod far_off;
mod hesitation;
mod shifted;

use std::cell::Cell;

use super::identity::Identity;
use crate::matching::Matcher;
use crate::matching::content::index::Index;
use crate::matching::packets::ledger::{Plain, PlainFate, Serial, Tunnelled, TunnelledFate};

/// How sure a pair of packets is that have equals, where their times tell them apart, and where nothing does.
const ALIKE: f32 = 0.8;
const GUESSED: f32 = 0.4;

/// Pairs that are sure, by which those of packets that have equals are timed.
const ANCHORS: u32 = 3;

/// Pairs that are sure, after which one that is far off the others need not be one.
const PROVED: u32 = 64;

/// The usual difference of the timestamps of an SA's pairs.
#[derive(Clone, Copy, Debug)]
pub(in crate::matching) struct Usual {
    base: i64,
    /// How much it varies.
    varies: i64,
    /// Pairs that are sure.
    anchors: u32,
    /// The farthest from the usual difference that a pair of packets without equals was, since [`PROVED`].
    widest: u64,
}

/// The longest that equal packets are taken to be apart by one clock, in nanoseconds, until their delay is known.
pub(in crate::matching) const FARTHEST_ALIKE: u64 = 50_000_000;

/// Whether a packet in the tunnel waits with this content.
fn waits_with(packet: &Tunnelled, identity: Identity) -> bool {
    matches!(packet.fate, TunnelledFate::Waiting) && packet.identity.is_some_and(|own| own.agrees(identity))
}

impl Matcher {
    /// Makes sure that plaintext packets can be found by content.
    #[inline]
    fn index_plain(&mut self) {
        if self.plain_index.is_none() {
            self.begin_plain_index();
        }
    }

    #[cold]
    fn begin_plain_index(&mut self) {
        let plain = &mut self.ledger.plain;
        self.plain_index.get_or_insert_with(|| {
            let mut index = Index::default();
            for (serial, packet) in plain.iter_mut() {
                if let Some(identity) = packet.identity.filter(|_| packet.fate == PlainFate::Waiting) {
                    index.insert(identity, serial);
                    packet.indexed = true;
                }
            }
            index
        });
    }

    /// The plaintext packet that waits with this content, and whether there are several.
    pub(in crate::matching) fn plain_with(&mut self, identity: Identity) -> Option<(Serial, bool)> {
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
    fn plain_of(&mut self, identity: Identity, serial: Serial) -> Option<(Serial, bool)> {
        self.index_plain();
        let own = self.is_repeated(identity).then(|| self.ledger.tunnel.get(serial)).flatten().copied();
        let Some(own) = own.filter(|own| own.time.ns().is_some()) else {
            let found = self.plain_with(identity)?;
            let packets = self.ledger.plain.get(found.0).copied().zip(self.ledger.tunnel.get(serial).copied());
            let is_held = packets.is_some_and(|(plain, own)| self.hold_back(&plain, &own));
            return (!is_held).then_some(found);
        };
        match self.base(own.sa) {
            Some(base) => self.nearest_plain(identity, &own, base).map(|at| (at, true)),
            None if self.let_wait() => None,
            None => self.plain_with(identity).map(|(at, _)| (at, true)),
        }
    }

    /// Of the plaintext packets that wait with this content the one whose time fits.
    fn nearest_plain(&self, identity: Identity, own: &Tunnelled, base: i64) -> Option<Serial> {
        let ns = own.time.ns()?;
        let ledger = &self.ledger;
        let plain = |serial| {
            ledger
                .plain
                .get(serial)
                .filter(|p| p.fate == PlainFate::Waiting && p.identity.is_some_and(|own| own.agrees(identity)))
        };
        let at = |serial| ledger.plain.get(serial).and_then(|p| p.time.ns()).unwrap_or(i64::MIN);
        let misfit = |serial| Some(self.misfit(plain(serial)?, own, base));
        let cost = |serial| {
            misfit(serial)
                .filter(|misfit| self.is_near(own.sa, *misfit))
                .map(|own_misfit| self.first(own.sa, own_misfit))
        };
        let earliest = ns.saturating_sub(base).saturating_sub(self.unknown_delay(own.sa));
        let before = |serial| at(serial) < earliest;
        self.plain_index.as_ref()?.nearest(identity, before, cost).map(|(at, _)| at)
    }

    /// The tunnelled packet of a plaintext one that was read later.
    pub(in crate::matching) fn tunnelled_with(&mut self, identity: Identity, packet: &Plain) -> Option<(Serial, bool)> {
        let alike = self.is_repeated(identity);
        let may_hesitate = alike && self.may_hesitate();
        let ledger = &self.ledger;
        let tunnelled = |serial| ledger.tunnel.get(serial).filter(|t| waits_with(t, identity));
        let (Some(ns), true) = (packet.time.ns(), alike) else {
            let found = self.tunnel_index.find(identity, |serial| tunnelled(serial).is_some())?;
            let own = ledger.tunnel.get(found.0).copied();
            let is_held = own.is_some_and(|own| self.hold_back(packet, &own));
            return (!is_held).then_some(found);
        };
        let is_unknown = Cell::new(false);
        let cost = |serial| {
            let t = tunnelled(serial)?;
            let Some(base) = self.base(t.sa) else {
                is_unknown.set(true);
                return (!may_hesitate).then_some(0);
            };
            Some(self.misfit(packet, t, base))
                .filter(|misfit| self.is_near(t.sa, *misfit))
                .map(|own| self.first(t.sa, own))
        };
        let before = |serial| {
            let t = ledger.tunnel.get(serial);
            let sent = |t: &Tunnelled| {
                let delay = self.base(t.sa).unwrap_or(0).saturating_sub(self.unknown_delay(t.sa));
                Some(t.time.ns()?.saturating_sub(delay))
            };
            t.and_then(sent).unwrap_or(i64::MIN) < ns
        };
        let found = self.tunnel_index.nearest(identity, before, cost).map(|(at, _)| (at, true));
        if found.is_none() && is_unknown.get() && !self.let_wait() {
            let waits = |serial| self.ledger.tunnel.get(serial).is_some_and(|t| waits_with(t, identity));
            return self.tunnel_index.find(identity, waits);
        }
        found
    }

    /// The usual difference of the timestamps of an SA's pairs; of one clock it begins with none.
    fn base(&self, sa: u32) -> Option<i64> {
        let usual = self.usual.get(sa as usize).copied().flatten();
        usual.map(|usual| usual.base).or_else(|| self.settings.one_clock.then_some(0))
    }

    /// Whether two packets that are alike are as far apart as pairs of their SA usually are.
    fn is_near(&self, sa: u32, misfit: u64) -> bool {
        /// A few times the usual deviation, and never less than this, in nanoseconds.
        const LEAST: i64 = 50_000;
        let usual = self.usual.get(sa as usize).copied().flatten();
        if usual.is_none() && self.settings.one_clock {
            return misfit <= FARTHEST_ALIKE;
        }
        usual.is_none_or(|usual| misfit <= usual.varies.saturating_mul(8).max(LEAST).unsigned_abs())
    }

    /// By how much more than is known equal packets may be apart: of those of a high rate the nearest are others.
    fn unknown_delay(&self, sa: u32) -> i64 {
        let is_known = self.usual.get(sa as usize).copied().flatten().is_some();
        if is_known || !self.settings.one_clock { 0 } else { FARTHEST_ALIKE.cast_signed() }
    }

    /// What a packet costs: before the delay is known, of those that are near the first is it.
    fn first(&self, sa: u32, misfit: u64) -> u64 {
        if self.usual.get(sa as usize).copied().flatten().is_none() { 0 } else { misfit }
    }

    /// Whether two equal packets may be one by their times: by one clock none comes before it was sent, or long after.
    pub(in crate::matching) fn may_be(&self, plain: Serial, tunnelled: Serial) -> bool {
        let (Some(p), Some(t)) = (self.ledger.plain.get(plain), self.ledger.tunnel.get(tunnelled)) else {
            return false;
        };
        !self.settings.one_clock || self.misfit(p, t, 0) <= FARTHEST_ALIKE
    }

    /// Whether the times of packets that have equals tell which of them are a pair: by one clock, or where pairs that are sure tell the usual
    /// difference.
    fn is_anchored(&self, sa: u32) -> bool {
        let usual = self.usual.get(sa as usize).copied().flatten();
        self.settings.one_clock || usual.is_some_and(|usual| usual.anchors >= ANCHORS)
    }

    /// Learns from a pair how far apart those of its SA are.
    fn learn(&mut self, sa: u32, difference: i64, sure: bool) {
        /// How much they vary before anything is known, in nanoseconds.
        const VARIES: i64 = 250_000;
        if let Some(usual) = self.usual.get_mut(sa as usize) {
            let Usual { base, varies, anchors, widest } =
                usual.unwrap_or(Usual { base: difference, varies: VARIES, anchors: 0, widest: 0 });
            let off = difference.saturating_sub(base);
            let more = off.saturating_abs().saturating_sub(varies) / 8;
            let (base, varies) = (base.saturating_add(off / 4), varies.saturating_add(more));
            let widest = if sure && anchors >= PROVED { widest.max(off.unsigned_abs()) } else { widest };
            *usual = Some(Usual { base, varies, anchors: anchors.saturating_add(u32::from(sure)), widest });
        }
    }

    /// By how much two packets that are alike differ from the usual time; more where one clock stamped the later tap first.
    fn misfit(&self, plain: &Plain, tunnelled: &Tunnelled, base: i64) -> u64 {
        /// A day: later than any other packet.
        const NEVER: u64 = 86_400_000_000_000;
        let (Some(p), Some(t)) = (plain.time.ns(), tunnelled.time.ns()) else { return NEVER };
        let later = t.saturating_sub(p);
        let way = tunnelled.inner.map_or(0, |inner| plain.marks.ttl.cmp(&inner.marks.ttl) as i64);
        let backwards = self.settings.one_clock && later.signum() * way < 0;
        later.saturating_sub(base).unsigned_abs().saturating_add(if backwards { NEVER } else { 0 })
    }

    /// Pairs a packet whose content is known, now or when its plaintext packet comes.
    pub(in crate::matching) fn find_plain(&mut self, identity: Identity, serial: Serial) {
        match self.plain_of(identity, serial) {
            Some((plain, more)) => {
                self.tunnel_index.note(identity);
                self.pair_content(plain, serial, more, true);
            }
            None => {
                self.tunnel_index.insert(identity, serial);
                if let Some(t) = self.ledger.tunnel.get_mut(serial) {
                    t.indexed = true;
                }
            }
        }
    }

    /// Pairs two packets with the same content. `more`: others are equal; `timed`: the times tell which of them these are.
    pub(in crate::matching) fn pair_content(&mut self, plain: Serial, tunnelled: Serial, more: bool, timed: bool) {
        let (Some(p), Some(t)) = (self.ledger.plain.get(plain), self.ledger.tunnel.get(tunnelled)) else { return };
        let whole = matches!((p.identity, t.identity), (Some(p), Some(t)) if p.is_whole(t));
        let basis = t.basis();
        let difference = match (p.time.ns(), t.time.ns()) {
            (Some(p), Some(t)) => Some(t.saturating_sub(p)),
            _ => None,
        };
        // Its equals may have passed where no tap saw them.
        let base = if !more && self.has_repeats() { self.base(t.sa) } else { None };
        let misfit = base.map(|base| self.misfit(p, t, base));
        let stray = misfit.is_some_and(|misfit| !self.is_near(t.sa, misfit));
        let confidence = match (more, whole) {
            _ if stray => GUESSED,
            (false, true) => 1.0,
            (false, false) => 0.98,
            // Which of packets that are alike it is, only their times tell.
            (true, _) if timed && self.is_anchored(t.sa) => ALIKE,
            (true, _) => GUESSED,
        };
        let far = stray && misfit.is_some_and(|misfit| misfit > FARTHEST_ALIKE);
        let sa = t.sa;
        if let (Some(misfit), Some(Some(usual))) = (misfit, self.usual.get_mut(sa as usize)) {
            usual.widest = if usual.anchors >= PROVED { usual.widest.max(misfit) } else { usual.widest };
        }
        if let Some(difference) = difference.filter(|_| confidence >= ALIKE) {
            self.learn(sa, difference, !more);
            if !self.settings.one_clock {
                self.ahead = Some(difference);
            }
        }
        if let Some(own) = self.tally.sas.get_mut(sa as usize).filter(|_| far) {
            own.strays += 1;
        }
        self.ledger.pair(plain, tunnelled, basis, confidence);
        self.are_found(plain, tunnelled);
    }

    /// Two packets need not be found any more.
    fn are_found(&mut self, plain: Serial, tunnelled: Serial) {
        if let Some(p) = self.ledger.plain.get_mut(plain).filter(|p| p.indexed) {
            p.indexed = false;
            if let (Some(index), Some(identity)) = (&mut self.plain_index, p.identity) {
                index.remove(identity, plain);
            }
        }
        if let Some(t) = self.ledger.tunnel.get_mut(tunnelled).filter(|t| t.indexed) {
            t.indexed = false;
            if let Some(identity) = t.identity {
                self.tunnel_index.remove(identity, tunnelled);
            }
        }
    }

    /// Whether any packets are alike.
    fn has_repeats(&self) -> bool {
        self.tunnel_index.has_repeats() || self.plain_index.as_ref().is_some_and(Index::has_repeats)
    }
}
