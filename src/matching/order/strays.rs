//! Packets of both sides that are left over when a block is settled.

use super::lane::{Lane, PlainItem};
use super::settle::LaneBlock;
use crate::matching::packets::flows::Class;
use crate::matching::packets::ledger::{Ledger, PairBasis, PlainFate, Serial};

/// Usual deviations within which times agree.
const SPREADS: f64 = 8.0;
/// By how much packets of another size may be earlier or later, in nanoseconds: 1,500 octets take 120 us at 100 Mbit/s.
const OTHER_SIZE: f64 = 150_000.0;

impl Lane {
    /// Packets that overtook each other behind the tap leave one of each side alone; where only one fits, it is the one.
    pub(super) fn rescue(&self, ledger: &mut Ledger, block: &LaneBlock, alone: &[usize], consumed: usize) {
        let LaneBlock { places, tunnelled, candidates } = block;
        if alone.is_empty() {
            return;
        }
        let Some(delay) = self.delay.filter(|delay| delay.base.is_some()) else { return };
        let base = delay.base.unwrap_or(0.0);
        let free: Vec<PlainItem> = candidates
            .iter()
            .take(consumed)
            .map(|(_, item)| *item)
            .filter(|item| ledger.plain.get(item.serial).is_some_and(|p| p.fate == PlainFate::Waiting))
            .collect();
        for at in alone {
            let (Some(place), Some(b)) = (places.get(*at), tunnelled.get(*at)) else { continue };
            let Some(esp) = b.esp else { continue };
            let fits = |item: &&PlainItem| {
                let off = b.ns.saturating_sub(item.ns) as f64 - base;
                self.mappings.makes(b.mapping, item.bytes, esp) && off.abs() < 50.0 * delay.spread
            };
            let mut fitting = free.iter().filter(fits);
            if let (Some(only), None) = (fitting.next(), fitting.next()) {
                ledger.pair(only.serial, place.item.serial, PairBasis::Order, 0.8);
            }
        }
    }

    /// Packets of either side that are left without counterpart at one time: that their lengths do not fit may be the mapping's fault.
    pub(super) fn crossings(&self, ledger: &Ledger, block: &LaneBlock, alone: &[usize], consumed: usize) -> u64 {
        let Some(delay) = self.delay.filter(|_| !alone.is_empty()) else { return 0 };
        let Some(base) = delay.base else { return 0 };
        let waits = |item: &&PlainItem| {
            let fate = ledger.plain.get(item.serial).map(|packet| packet.fate);
            fate.is_some_and(|fate| fate == PlainFate::Waiting)
        };
        let mut free: Vec<PlainItem> =
            block.candidates.iter().take(consumed).map(|(_, item)| *item).filter(|item| waits(&item)).collect();
        let mut count = 0;
        for place in alone.iter().filter_map(|at| block.places.get(*at)).filter(|place| !place.hole) {
            let off = |item: &PlainItem| (place.item.ns.saturating_sub(item.ns) as f64 - base).abs();
            if let Some(at) = free.iter().position(|item| off(item) < SPREADS * delay.spread.max(delay.jitter)) {
                free.swap_remove(at);
                count += 1;
            }
        }
        count
    }

    /// Packets in the tunnel without counterpart that fit, by length and time, a plaintext packet of a flow that is taken for one outside it: where they
    /// are many, the flow is in the tunnel.
    pub(super) fn fit_outside(&mut self, ledger: &mut Ledger, block: &LaneBlock, alone: &[usize]) {
        let Some(delay) = self.delay else { return };
        let Some(base) = delay.base else { return };
        let near = (SPREADS * delay.spread.max(delay.jitter)).max(OTHER_SIZE) as i64;
        let mut taken: Vec<Serial> = Vec::new();
        for at in alone {
            let (Some(place), Some(row)) = (block.places.get(*at), block.tunnelled.get(*at)) else { continue };
            let Some(esp) = row.esp.filter(|_| !place.hole) else { continue };
            let sent = place.item.ns.saturating_sub(base as i64);
            let from = self.plain.partition_point(|item| item.ns < sent.saturating_sub(near));
            let fits = |item: &&PlainItem| {
                ledger.flows.class(item.flow) != Class::Selected
                    && ledger.plain.get(item.serial).is_some_and(|packet| packet.fate == PlainFate::Waiting)
                    && self.mappings.nearly_makes(row.mapping, item.bytes, esp)
                    && !taken.contains(&item.serial)
            };
            let beside = self.plain.range(from..).take_while(|item| item.ns <= sent.saturating_add(near));
            let Some(item) = beside.into_iter().find(fits).copied() else { continue };
            taken.push(item.serial);
            self.fitting += 1;
            if let Some(flow) = ledger.flows.get_mut(item.flow) {
                flow.fitting += 1;
            }
        }
    }
}
