//! Packets of ESP-NULL that came before their SA had shown that it does not encrypt, as where a snapshot length cuts their trailers. Their length and
//! time tell which plaintext packets they are.

use std::collections::BTreeSet;

use super::LOOKED_THROUGH;
use crate::matching::Matcher;
use crate::matching::content::identity;
use crate::matching::limits::ON_ITS_WAY_NS;
use crate::matching::packets::ledger::{PairBasis, Plain, PlainFate, Serial, Tunnelled, TunnelledFate};

/// How sure a pair is that length and time make.
const BY_LENGTH: f32 = 0.9;
/// How near its time must be, in nanoseconds.
const NEAR_NS: u64 = 20_000_000;
/// Packets of an SA that tell between which hosts its first ones were.
const HOSTS: usize = 64;
/// Octets of the header and trailer of ESP, and the most padding of a cipher without blocks (RFC 4303 section 2).
const ESP: u32 = 10;
const PADDING: u32 = 3;

impl Matcher {
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
            // The packet that told it was itself still read as an opaque one.
            let before =
                tunnel.range(tunnel.first(), first.saturating_add(1)).filter(|(_, t)| t.sa == sa && t.is_opaque());
            for (serial, t) in before.map(|(serial, t)| (serial, *t)).collect::<Vec<_>>() {
                if let Some(plain) = self.by_its_length(&t, &hosts)
                    && self.ledger.pair(plain, serial, PairBasis::Order, BY_LENGTH)
                {
                    self.order.opened();
                }
            }
        }
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
}
