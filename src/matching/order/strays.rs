//! Packets of both sides that are left over when a block is settled.

use super::lane::{Lane, PlainItem};
use super::settle::LaneBlock;
use crate::matching::packets::ledger::{Ledger, PairBasis, PlainFate};

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
        /// Usual deviations within which times agree.
        const SPREADS: f64 = 8.0;
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
}
