//! What leaves the ledger: packets that are settled, and those that have waited too long.

mod early;
mod reassembly;

use super::ledger::{Plain, PlainFate, Serial, TunnelledFate};
use super::numbers::Lately;
use super::progress::Progress;
use crate::matching::Matcher;
use crate::matching::content::identity::Kin;
use crate::matching::limits::{HORIZON_NS, MAX_WAITING, ON_ITS_WAY_NS};
use crate::matching::measure::doubt::LeftOfLanes;

/// Packets that are looked through on either side of a time.
const LOOKED_THROUGH: u64 = 4_096;

impl Matcher {
    /// From when to when each capture was recorded.
    pub(in crate::matching) fn cover(&mut self) {
        // By coarse timestamps what is near an edge lies on either side of it.
        let edge = self.plain.coarseness().min(self.tunnel.coarseness());
        let span = |side: &Progress| {
            let last = if side.ended && side.frames > 0 { side.latest.saturating_sub(edge) } else { i64::MAX };
            (side.first.map_or(i64::MIN, |first| first.saturating_add(edge)), last)
        };
        self.ledger.recorded = [span(&self.plain), span(&self.tunnel)];
        self.ledger.coarseness = self.plain.coarseness().max(self.tunnel.coarseness());
    }

    /// Gives up on what has waited too long.
    pub(in crate::matching) fn expire(&mut self, end: bool) {
        // How far both sides have been read, on the tunnel's clock.
        let both = self.tunnel.until().min(self.plain.until().saturating_add(self.ahead.unwrap_or(0)));
        let ahead = self.ahead;
        let age = |until: i64, from: i64| until.saturating_sub(from) > 2 * HORIZON_NS;
        // Few packets in a long time wait for more: together they may tell what belongs together.
        let sampling = self.order.is_sampling();
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
            let too_old = too_old && (!sampling || too_many);
            if !(end || too_old || too_many) {
                break;
            }
            let ns = t.time.ns();
            if !self.rejoin(serial) && !self.join(serial) && !self.count_alike(serial) && !self.reopen(serial) {
                self.ledger.leave(serial, TunnelledFate::Alone);
                if !(end || too_old) {
                    let read = ahead.map(|ahead| self.plain.until().saturating_add(ahead));
                    self.ledger.crowded_tunnel.add(ns, read);
                }
            }
        }
        // Pairs that were put together from fragments just now compare the clocks, too.
        let ahead = self.ahead;
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
            let too_old = too_old && (!sampling || too_many);
            if !(end || too_old || too_many) {
                break;
            }
            if !(end || too_old) {
                self.ledger.crowd_out(serial, ahead.map(|ahead| self.tunnel.until().saturating_sub(ahead)));
            }
            // Without a known clock it cannot be told whether the tunnel's tap was recording then.
            if ahead.is_some() { self.ledger.give_up(serial, None, 0.5) } else { self.ledger.set_aside(serial) }
        }
    }

    /// The waiting plaintext packet that `is_kin` and is next to the time of a packet in the tunnel; where the clocks were not compared yet, the
    /// first of the earliest and of the latest ones.
    fn plain_about(&self, ns: Option<i64>, is_kin: impl Fn(&Plain) -> bool) -> Option<Serial> {
        let plain = &self.ledger.plain;
        let fits = |(_, p): &(Serial, &Plain)| p.fate == PlainFate::Waiting && is_kin(p);
        let Some(due) = ns.zip(self.ahead).map(|(ns, ahead)| ns.saturating_sub(ahead)) else {
            let earliest = plain.range(plain.first(), plain.first().saturating_add(LOOKED_THROUGH));
            let latest = plain.range(plain.next().saturating_sub(LOOKED_THROUGH), plain.next());
            return earliest.chain(latest).find(fits).map(|(at, _)| at);
        };
        let apart = |p: &Plain| p.time.ns().map_or(u64::MAX, |own| own.abs_diff(due));
        let at = plain.partition_point(|p| p.time.ns().is_none_or(|own| own < due));
        let around = plain.range(at.saturating_sub(LOOKED_THROUGH), at.saturating_add(LOOKED_THROUGH));
        let near = around.filter(fits).min_by_key(|(_, p)| apart(p));
        near.filter(|(_, p)| apart(p) <= ON_ITS_WAY_NS.unsigned_abs()).map(|(at, _)| at)
    }

    /// A TCP segment that opens a connection: the gateway lowered its maximum segment size, so that no digest tells that it is the same.
    fn reopen(&mut self, serial: Serial) -> bool {
        const SURE: f32 = 0.95;
        let Some(t) = self.ledger.tunnel.get(serial) else { return false };
        let (kin @ Kin::Opening(_), Some(bytes)) = (t.kin, t.inner.map(|inner| inner.bytes)) else { return false };
        let (basis, ns) = (t.basis(), t.time.ns());
        let plain = self.plain_about(ns, |p| p.kin == kin && p.bytes == bytes);
        plain.is_some_and(|plain| self.ledger.pair(plain, serial, basis, SURE))
    }

    /// Takes settled packets off the front of both sides.
    pub(in crate::matching) fn retire(&mut self) {
        let Self { ledger, plain_index, tunnel_index, tally, order, .. } = self;
        let mut count = 0;
        for (serial, packet) in ledger.plain.iter().take_while(|(_, p)| p.fate == PlainFate::Settled) {
            if packet.indexed
                && let (Some(index), Some(identity)) = (&mut *plain_index, packet.identity)
            {
                index.remove(identity, serial);
            }
            count += 1;
        }
        ledger.plain.skip(count);
        // What is known of an SA does not change here.
        let mut latest = Lately::default();
        let mut count = 0;
        for (serial, packet) in ledger.tunnel.iter().take_while(|(_, t)| !matches!(t.fate, TunnelledFate::Waiting)) {
            if let Some(identity) = packet.identity.filter(|_| packet.indexed) {
                tunnel_index.remove(identity, serial);
            }
            let encapsulated = latest.of(packet.sa, || order.is_encapsulated(packet.sa));
            tally.vote(packet, encapsulated);
            count += 1;
        }
        ledger.tunnel.hold(count);
    }

    /// Compares the clocks by the pairs held back, and counts them.
    pub(in crate::matching) fn flush(&mut self) {
        let (mut packets, count) = self.ledger.tunnel.take_all();
        let held = packets.get_mut(..count).unwrap_or_default();
        self.tally.decide(self.settings.one_clock);
        self.prove(held);
        self.mend_shifted(held);
        self.count_strays(held);
        self.doubt_alike(held);
        let mut over = self.order.has_begun().then(LeftOfLanes::default);
        for packet in &mut *held {
            if let Some(difference) = self.tally.difference(packet) {
                self.differences.add(difference);
            }
            if matches!(packet.fate, TunnelledFate::Alone)
                && let Some(ns) = packet.time.ns()
            {
                if !self.ledger.covers_tunnel(packet.sa, ns) {
                    packet.fate = TunnelledFate::Uncovered;
                    self.ledger.edges.tunnelled(packet.sa, ns);
                } else if self.ledger.miss_plain(ns, packet.sa) {
                    packet.fate = TunnelledFate::Silent;
                }
            }
            self.ledger.edges.pair(packet);
            if let Some(over) = &mut over {
                over.add(packet, |sa| self.order.lane(sa));
            }
        }
        let clock = self.clock();
        let contradicted = self.contradicted(&clock);
        let mut latest = Lately::default();
        if let Some(over) = over {
            self.temper(held, over, contradicted);
        }
        self.doubt_hardly_found(held);
        self.doubt_named(held);
        self.doubt_parallel(held);
        for packet in &*held {
            let mapping = latest.of(packet.sa, || self.order.mapping(packet.sa));
            let wanted = self.rows.is_some();
            let pair = self.tally.count(packet, &clock, contradicted, &self.settings, mapping, wanted);
            if let Some(rows) = &mut self.rows {
                rows.extend(pair);
            }
        }
        self.ledger.tunnel.put_back(packets, count);
    }
}
