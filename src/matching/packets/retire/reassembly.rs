//! Packets that a gateway fragmented before it encrypted them, and fragments that it put together: one side shows in several packets what the other
//! shows in one.

use super::LOOKED_THROUGH;
use crate::matching::Matcher;
use crate::matching::content::identity::Kin;
use crate::matching::limits::ON_ITS_WAY_NS;
use crate::matching::packets::ledger::{Plain, PlainFate, Serial, Tunnelled, TunnelledFate};

/// How sure it is that fragments are those of a packet.
const SURE: f32 = 0.95;
/// Octets of an IPv4 header without options.
const HEADER: u32 = 20;

impl Matcher {
    /// A fragment inside the tunnel whose packet came to the gateway in one piece: the gateway fragmented it before it encrypted.
    pub(super) fn rejoin(&mut self, serial: Serial) -> bool {
        let Some(t) = self.ledger.tunnel.get(serial) else { return false };
        let train @ Kin::Divided(_) = t.kin else { return false };
        let t_ns = t.time.ns();
        let Some(whole) = self.plain_about(t_ns, |p| p.kin == train) else { return false };
        // The fragments that wait belong to it, until they are as long as it is: one pair, its length that of all.
        let is_own = |t: &Tunnelled| {
            let later = t.time.ns().zip(t_ns).map_or(0, |(own, first)| own.saturating_sub(first));
            t.kin == train && matches!(t.fate, TunnelledFate::Waiting) && later < ON_ITS_WAY_NS
        };
        let behind = self.ledger.tunnel.range(serial, serial.saturating_add(LOOKED_THROUGH));
        let bytes = self.ledger.plain.get(whole).map_or(0, |p| p.bytes);
        let (mut outer_bytes, mut inner_bytes, mut headers, mut count) = (0, 0, 0, 0_u16);
        let mut pieces: Vec<Serial> = Vec::new();
        for (piece, t) in behind.filter(|(_, t)| is_own(t)) {
            // Every fragment but the first repeats the IP header.
            headers = HEADER * pieces.len() as u32;
            outer_bytes += t.outer_bytes;
            inner_bytes += t.inner.map_or(0, |inner| inner.bytes);
            count = count.saturating_add(t.pieces);
            pieces.push(piece);
            // What comes behind a packet that is whole is of another one.
            if inner_bytes >= bytes + headers {
                break;
            }
        }
        let basis = t.basis();
        if let Some(t) = self.ledger.tunnel.get_mut(serial) {
            (t.outer_bytes, t.pieces) = (outer_bytes, count);
            t.complete = t.complete && inner_bytes == bytes + headers;
        }
        let times = self.ledger.plain.get(whole).and_then(|p| p.time.ns()).zip(t_ns);
        let paired = self.ledger.pair(whole, serial, basis, SURE);
        if let Some((plain, tunnelled)) = times.filter(|_| paired) {
            self.ahead.get_or_insert(tunnelled.saturating_sub(plain));
        }
        for piece in pieces.into_iter().filter(|piece| *piece != serial) {
            self.ledger.leave(piece, TunnelledFate::Repeated);
            if let Some(t) = self.ledger.tunnel.get_mut(piece) {
                t.fate = TunnelledFate::Part;
            }
        }
        paired
    }

    /// A packet inside the tunnel of which the plain side shows the fragments: a gateway put them together before it encrypted (RFC 4303 section
    /// 3.3.4), or fragments what comes out. It is paired with the last of them; what was encrypted is as long as it is. Of IPv4: an IPv6 packet
    /// bears no identification once it is whole.
    pub(super) fn join(&mut self, serial: Serial) -> bool {
        let Some(t) = self.ledger.tunnel.get(serial).filter(|_| self.ledger.has_fragments) else { return false };
        let (kin @ Kin::Joined(_), Some(inner)) = (t.kin, t.inner) else { return false };
        let (basis, ns) = (t.basis(), t.time.ns());
        let Some(one) = self.plain_about(ns, |p| p.kin == kin) else { return false };
        let Some(time) = self.ledger.plain.get(one).map(|p| p.time) else { return false };
        let is_own = |p: &Plain| {
            let apart = p.time.since(time).map_or(0, i64::unsigned_abs);
            p.kin == kin && p.fate == PlainFate::Waiting && apart < ON_ITS_WAY_NS.unsigned_abs()
        };
        let around = self.ledger.plain.range(one.saturating_sub(LOOKED_THROUGH), one.saturating_add(LOOKED_THROUGH));
        let (mut pieces, mut bytes) = (Vec::new(), 0_u32);
        for (piece, p) in around.filter(|(_, p)| is_own(p)) {
            // Every fragment but the first repeats the IP header.
            bytes += p.bytes - if pieces.is_empty() { 0 } else { HEADER.min(p.bytes) };
            pieces.push(piece);
        }
        // The plain tap may have missed one; more than there is inside are those of another packet, too.
        let Some(last) = pieces.pop().filter(|_| bytes <= inner.bytes) else { return false };
        self.ledger.joins_fragments = true;
        if let Some(p) = self.ledger.plain.get_mut(last) {
            p.bytes = inner.bytes;
            if bytes < inner.bytes {
                *self.ledger.torn.entry(p.flow).or_default() += 1;
            }
        }
        pieces.into_iter().for_each(|piece| self.ledger.belongs_to_another(piece));
        self.ledger.pair(last, serial, basis, SURE)
    }
}
