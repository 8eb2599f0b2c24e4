//! Packets of both sides that are left over near each other: the one was overtaken by others, so that the order does not tell that they are the same.
//!
//! A gateway with a queue for each class, or with several processors, gives numbers in another order than packets came, and the packets that come out of a
//! tunnel may change places as well. What an alignment leaves over of both sides is one packet where lengths fit and the times are near.

use std::collections::VecDeque;

use super::LaneBlock;
use crate::matching::order::lane::{Lane, PlainItem, TunnelItem};
use crate::matching::packets::flows::Class;
use crate::matching::packets::ledger::{Ledger, Plain, Serial, TunnelledFate};

/// By how much longer than usual a packet may be on its way where others overtake it, in nanoseconds, and in usual deviations.
const LATE: i64 = 10_000_000;
const SPREADS: f64 = 50.0;
/// Packets of one side that are remembered.
const MOST: usize = 256;
/// How sure a pair is of packets that alone fit each other, and of such as others fit, too.
const OVERTAKEN: f32 = 0.7;
const CROWDED: f32 = 0.55;

/// What was left over of both sides, in the order of settling.
#[derive(Debug, Default)]
pub(in crate::matching) struct Overtaken {
    plain: VecDeque<(PlainItem, Plain)>,
    tunnelled: VecDeque<LatePacket>,
}

/// A packet in the tunnel without counterpart so far.
#[derive(Clone, Copy, Debug)]
struct LatePacket {
    item: TunnelItem,
    mapping: u8,
    esp: u32,
}

impl Overtaken {
    /// Packets in the tunnel were left over.
    pub(super) fn tunnelled(&mut self, ledger: &mut Ledger, block: &LaneBlock, alone: &[usize]) {
        for at in alone {
            let (Some(place), Some(row)) = (block.places.get(*at), block.tunnelled.get(*at)) else { continue };
            let waits = |serial: Serial| {
                let packet = ledger.tunnel.get(serial);
                packet.is_some_and(|packet| matches!(packet.fate, TunnelledFate::Waiting))
            };
            match row.esp.filter(|_| waits(place.item.serial) && self.tunnelled.len() < MOST) {
                Some(esp) => self.tunnelled.push_back(LatePacket { item: place.item, mapping: row.mapping, esp }),
                None => ledger.leave(place.item.serial, TunnelledFate::Alone),
            }
        }
    }

    /// A plaintext packet was given up; one that is `numbered` got as far as its number.
    pub(in crate::matching) fn plain(&mut self, ledger: &Ledger, item: PlainItem, numbered: bool) {
        let lost = ledger.lost.last().map(|lost| lost.pos);
        let packet = ledger.plain.get(item.serial).filter(|packet| lost == Some(packet.pos) && !packet.refused);
        if let Some(packet) = packet.filter(|_| !numbered && ledger.flows.class(item.flow) == Class::Selected) {
            self.plain.push_back((item, *packet));
            if self.plain.len() > MOST {
                self.plain.pop_front();
            }
        }
    }
}

impl Lane {
    /// Pairs what was left over of both sides. `now`: how far the tunnel was settled; `None` where no more comes.
    pub(in crate::matching) fn join(&mut self, ledger: &mut Ledger, now: Option<i64>) {
        if self.overtaken.tunnelled.is_empty() {
            return;
        }
        let delay = self.delay.filter(|delay| delay.base.is_some());
        let late = delay.map_or(LATE, |delay| LATE.max((SPREADS * delay.spread) as i64));
        let is_old = |item: &TunnelItem| now.is_none_or(|now| item.ns.saturating_add(late.saturating_mul(2)) < now);
        let Overtaken { mut plain, tunnelled } = std::mem::take(&mut self.overtaken);
        let base = delay.and_then(|delay| delay.base).unwrap_or(0.0) as i64;
        let mut kept = VecDeque::new();
        for own in &tunnelled {
            let off = |item: &PlainItem| own.item.ns.saturating_sub(item.ns).saturating_sub(base).saturating_abs();
            // The time is compared first: it rules out most, and costs less than the lengths.
            let fits = |item: &PlainItem| {
                off(item) <= late && delay.is_some() && self.mappings.makes(own.mapping, item.bytes, own.esp)
            };
            let alike = |other: &&LatePacket| {
                (other.mapping, other.esp) == (own.mapping, own.esp)
                    && other.item.ns.saturating_sub(own.item.ns).saturating_abs() <= late
            };
            // What passed before the plain capture began, or after it ended, has no counterpart there, however near the first or last packets are.
            let may_be = ledger.covers_tunnel(own.item.sa, own.item.ns);
            let waiting = plain.iter().enumerate().filter(|_| may_be);
            let fitting: Vec<usize> = waiting.filter(|(_, (item, _))| fits(item)).map(|(at, _)| at).collect();
            let rivals = if fitting.is_empty() { 0 } else { tunnelled.iter().filter(alike).count() };
            let old = is_old(&own.item);
            // Later packets may belong to what waits: as many of both sides are each other.
            if fitting.is_empty() || fitting.len() < rivals && !old {
                if old {
                    ledger.leave(own.item.serial, TunnelledFate::Alone);
                } else {
                    kept.push_back(*own);
                }
                continue;
            }
            let nearest = fitting.iter().min_by_key(|at| plain.get(**at).map_or(i64::MAX, |(item, _)| off(item)));
            let sure = if fitting.len() == 1 && rivals == 1 { OVERTAKEN } else { CROWDED };
            if let Some((_, packet)) = nearest.and_then(|at| plain.remove(*at)) {
                ledger.recover(packet, own.item.serial, sure, true);
                self.crossed = self.crossed.saturating_sub(1);
            }
        }
        self.overtaken = Overtaken { plain, tunnelled: kept };
    }
}
