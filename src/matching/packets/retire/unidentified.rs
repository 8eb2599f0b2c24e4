//! Packets of a visible tunnel that no identity finds: too little of them was captured for one, or they came before their SA had shown that it does
//! not encrypt. Their header, or their length and time, tell which plaintext packets they are.

use std::collections::{BTreeSet, HashMap, VecDeque};

use foldhash::fast::FixedState;

use super::LOOKED_THROUGH;
use crate::matching::Matcher;
use crate::matching::content::identity::{self, Kin};
use crate::matching::limits::ON_ITS_WAY_NS;
use crate::matching::packets::ledger::{PairBasis, Plain, PlainFate, Serial, Tunnelled, TunnelledFate};

/// How sure a header is that is the only one, that of equal ones it is the first that waits, and a length at its time.
const ALONE: f32 = 0.95;
const EQUAL: f32 = 0.5;
const BY_LENGTH: f32 = 0.9;
/// How near its time must be, in nanoseconds, where only the length tells.
const NEAR_NS: u64 = 20_000_000;
/// Packets of an SA that tell between which hosts its first ones were.
const HOSTS: usize = 64;
/// Octets of the header and trailer of ESP, and the most padding of a cipher without blocks (RFC 4303 section 2).
const ESP: u32 = 10;
const PADDING: u32 = 3;

/// Plaintext packets that wait, by what a header and a length say of them.
pub(super) type ByHeader = HashMap<(u64, u32), VecDeque<Serial>, FixedState>;

/// What the header of a packet says that is not a fragment; `None` where it was not read.
const fn train(kin: Kin) -> Option<u64> {
    match kin {
        Kin::Divided(train) | Kin::Joined(train) => Some(train),
        Kin::Nothing | Kin::Opening(_) => None,
    }
}

impl Matcher {
    /// The plaintext packets that wait, by their headers, where packets wait that need them.
    pub(super) fn by_header(&self) -> ByHeader {
        let mut all = ByHeader::default();
        if self.ledger.has_unidentified {
            let waiting = self.ledger.plain.iter().filter(|(_, p)| p.fate == PlainFate::Waiting);
            for (serial, p) in waiting {
                if let Some(train) = train(p.kin) {
                    all.entry((train, p.bytes)).or_default().push_back(serial);
                }
            }
        }
        all
    }

    /// Pairs a packet that no identity finds.
    pub(super) fn recognize(&mut self, serial: Serial, by_header: &mut ByHeader) -> bool {
        let Some(t) = self.ledger.tunnel.get(serial).copied() else { return false };
        if t.identity.is_some() {
            return false;
        }
        let Some((plain, basis, confidence)) = self.by_its_header(&t, by_header) else { return false };
        let times = self.ledger.plain.get(plain).and_then(|p| p.time.ns()).zip(t.time.ns());
        let paired = self.ledger.pair(plain, serial, basis, confidence);
        if let Some((plain, tunnelled)) = times.filter(|_| paired) {
            self.ahead.get_or_insert(tunnelled.saturating_sub(plain));
        }
        paired
    }

    /// Pairs packets that came before their SA had shown that it does not encrypt, once both sides are read far beyond them.
    pub(in crate::matching) fn recognize_early(&mut self, end: bool) {
        let Some(ahead) = self.ahead.filter(|_| !self.ledger.early.is_empty()) else { return };
        let read = self.tunnel.until().min(self.plain.until().saturating_add(ahead));
        let is_read = |t: &Tunnelled| end || t.time.ns().is_none_or(|ns| ns.saturating_add(ON_ITS_WAY_NS) < read);
        let tunnel = &self.ledger.tunnel;
        let shows = |serial: Serial| tunnel.get(serial).is_none_or(is_read);
        let (told, later) = std::mem::take(&mut self.ledger.early).into_iter().partition(|(_, first)| shows(*first));
        self.ledger.early = later;
        let told: Vec<(u32, Serial)> = told;
        for (sa, first) in told {
            let tunnel = &self.ledger.tunnel;
            let behind = tunnel.range(first, first.saturating_add(LOOKED_THROUGH)).filter(|(_, t)| t.sa == sa);
            let hosts: BTreeSet<u64> = behind.filter_map(|(_, t)| Some(t.inner?.ends)).take(HOSTS).collect();
            let before = tunnel.range(tunnel.first(), first).filter(|(_, t)| t.sa == sa && t.is_opaque());
            for (serial, t) in before.map(|(serial, t)| (serial, *t)).collect::<Vec<_>>() {
                if let Some(plain) = self.by_its_length(&t, &hosts)
                    && self.ledger.pair(plain, serial, PairBasis::Order, BY_LENGTH)
                {
                    self.order.opened();
                }
            }
        }
    }

    /// The plaintext packet with the header of a packet in the tunnel.
    fn by_its_header(&self, t: &Tunnelled, by_header: &mut ByHeader) -> Option<(Serial, PairBasis, f32)> {
        let inner = t.inner?;
        let plain = &self.ledger.plain;
        let due = t.time.ns().zip(self.ahead).map(|(ns, ahead)| ns.saturating_sub(ahead));
        let off = |p: &Plain| due.zip(p.time.ns()).map_or(0, |(due, own)| own.abs_diff(due));
        if let Some(equal) = train(t.kin).and_then(|train| by_header.get_mut(&(train, inner.bytes))) {
            let waits = |at: Serial| plain.get(at).filter(|p| p.fate == PlainFate::Waiting);
            // Those from before it, and those that others have taken.
            let limit = ON_ITS_WAY_NS;
            let is_past = |p: &Plain| due.zip(p.time.ns()).is_some_and(|(due, own)| own.saturating_add(limit) < due);
            while equal.front().is_some_and(|at| waits(*at).is_none_or(is_past)) {
                equal.pop_front();
            }
            let confidence = if equal.len() == 1 { ALONE } else { EQUAL };
            let near = |at: &Serial| waits(*at).is_some_and(|p| off(p) <= limit.unsigned_abs());
            if let Some(first) = equal.front().copied().filter(near) {
                equal.pop_front();
                return Some((first, t.basis(), confidence));
            }
        }
        // A segment that opens a connection has another digest on the plain side, where all of its header was read.
        let opens = |p: &Plain| {
            let key = self.ledger.flows.key(p.flow);
            matches!(p.kin, Kin::Opening(_))
                && p.bytes == inner.bytes
                && key.is_some_and(|key| identity::ends(key.src, key.dst) == inner.ends)
        };
        self.plain_about(t.time.ns(), opens).map(|at| (at, t.basis(), EQUAL))
    }

    /// The only plaintext packet with the length, at the time and between the hosts of one that came before its SA had shown what is inside.
    fn by_its_length(&self, t: &Tunnelled, hosts: &BTreeSet<u64>) -> Option<Serial> {
        let ((icv, iv), esp) = self.order.sas.get(t.sa as usize)?.null.told().zip(t.esp)?;
        let most = esp.checked_sub(ESP + u32::from(icv) + u32::from(iv))?;
        let due = t.time.ns()?.saturating_sub(self.ahead?);
        let fits = |p: &Plain| {
            let key = self.ledger.flows.key(p.flow);
            p.fate == PlainFate::Waiting
                && (most.saturating_sub(PADDING)..=most).contains(&p.bytes)
                && p.time.ns().is_some_and(|ns| ns.abs_diff(due) <= NEAR_NS)
                && key.is_some_and(|key| hosts.contains(&identity::ends(key.src, key.dst)))
        };
        let plain = &self.ledger.plain;
        let at = plain.partition_point(|p| p.time.ns().is_none_or(|own| own < due));
        let mut near =
            plain.range(at.saturating_sub(LOOKED_THROUGH), at.saturating_add(LOOKED_THROUGH)).filter(|(_, p)| fits(p));
        match (near.next(), near.next()) {
            (Some((only, _)), None) => Some(only),
            _ => None,
        }
    }
}

impl Tunnelled {
    /// Whether it waits as one that shows nothing of what is inside.
    pub(in crate::matching) const fn is_opaque(&self) -> bool {
        self.esp.is_some() && self.identity.is_none() && matches!(self.fate, TunnelledFate::Waiting)
    }

    /// Whether what is inside is visible, but too little of it was captured for an identity.
    pub(in crate::matching) const fn is_unidentified(&self) -> bool {
        self.inner.is_some() && self.identity.is_none() && matches!(self.fate, TunnelledFate::Waiting)
    }
}
