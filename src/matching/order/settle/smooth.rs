//! Blocks without any doubt: each packet in the tunnel is the next plaintext packet.
//!
//! Most blocks are such. One walk over both sides finds that out with what an alignment would be told, and stops at the first thing that speaks
//! against it; the block then goes the general way, which gives the same pairs for those that are settled here.

use super::stretches::slack;
use super::{AHEAD, SUSPICIOUS};
use crate::matching::order::align;
use crate::matching::order::delay::Delay;
use crate::matching::order::lane::{Lane, PlainItem, TunnelItem};
use crate::matching::packets::flows::{Class, FlowId};
use crate::matching::packets::ledger::{Ledger, PairBasis, PlainFate};

/// Neighbours on either side that a pair is compared with.
pub(super) const NEAR: usize = 4;
/// SAs whose latest numbers are remembered. A block with packets of more SAs is settled the general way.
const SAS: usize = 8;

/// The latest packets of the SAs of a block.
#[derive(Clone, Copy, Debug, Default)]
struct LatestNumbers([Option<TunnelItem>; SAS]);

impl LatestNumbers {
    /// Takes in the next packet and answers the one before it in its SA; `None` where there is no room for one more SA.
    fn replace(&mut self, item: TunnelItem) -> Option<Option<TunnelItem>> {
        let own = self.0.iter_mut().find(|own| own.is_none_or(|own| own.sa == item.sa))?;
        Some(own.replace(item))
    }
}

impl Lane {
    /// Settles the first `commit` packets, if nothing speaks against any of them or of those behind them that are looked at too. Else
    /// nothing changes.
    pub(super) fn go_straight(&mut self, ledger: &mut Ledger, commit: usize, delay: Delay) -> bool {
        let Some(base) = delay.base.filter(|_| self.begun && !self.shuffled) else { return false };
        let rows = self.tunnelled().len().min(commit + AHEAD);
        let candidates = self.next_candidates(ledger, rows + NEAR);
        if candidates.len() < rows {
            return false;
        }
        let (slack, base) = (slack(delay), base as i64);
        let mut numbers = LatestNumbers::default();
        let mut before: Option<i64> = None;
        let mut cost = 0.0_f32;
        for (at, (item, (_, plain))) in self.tunnelled().iter().zip(&candidates).enumerate().take(rows) {
            if self.encapsulated && !self.is_next(&mut numbers, item) {
                return false;
            }
            let esp = ledger.tunnel.get(item.serial).filter(|packet| packet.complete).and_then(|packet| packet.esp);
            if esp.is_some_and(|esp| !self.mappings.makes(self.mappings.number(item.sa), plain.bytes, esp)) {
                return false;
            }
            let difference = item.ns.saturating_sub(plain.ns);
            let change = before.map_or(0, |before| difference.saturating_sub(before));
            let after = align::dear(change as f64, delay.jitter);
            cost += after;
            // Then it lies beside a plaintext packet: the plain side has seen it.
            let is_seen = item.ns.saturating_sub(base).saturating_sub(plain.ns).saturating_abs() <= slack;
            if after > SUSPICIOUS || cost > 2.0 * at as f32 + 16.0 || !is_seen {
                return false;
            }
            before = Some(difference);
        }
        self.settle_straight(ledger, commit.min(rows), &candidates);
        true
    }

    /// The plaintext packets that may be the next ones, `most` of them, with their places in the lane.
    pub(super) fn next_candidates(&self, ledger: &Ledger, most: usize) -> Vec<(usize, PlainItem)> {
        let mut candidates: Vec<(usize, PlainItem)> = Vec::with_capacity(most);
        // Neighbours are mostly of one flow.
        let mut latest: Option<(FlowId, bool)> = None;
        for (at, item) in self.plain.iter().enumerate() {
            let is_outside = match latest {
                Some((flow, is_outside)) if flow == item.flow => is_outside,
                _ => ledger.flows.class(item.flow) == Class::Outside,
            };
            latest = Some((item.flow, is_outside));
            if is_outside || ledger.plain.get(item.serial).is_none_or(|packet| packet.fate != PlainFate::Waiting) {
                continue;
            }
            candidates.push((at, *item));
            if candidates.len() == most {
                break;
            }
        }
        candidates
    }

    /// Whether a packet bears the number behind the one before it in its SA, or the first of a new count.
    fn is_next(&self, numbers: &mut LatestNumbers, item: &TunnelItem) -> bool {
        let Some(before) = numbers.replace(*item) else { return false };
        match before {
            Some(before) if before.run == item.run => item.number == before.number + 1,
            Some(before) => item.number > before.number,
            None => match self.counters.get(item.sa).and_then(|counter| counter.settled) {
                Some((run, number)) => run != item.run || item.number == number + 1,
                None => true,
            },
        }
    }

    /// Pairs the first `end` packets with the candidates as they come.
    fn settle_straight(&mut self, ledger: &mut Ledger, end: usize, candidates: &[(usize, PlainItem)]) {
        self.seen_loss.add(end, 0);
        let mut differences: Vec<i64> = Vec::with_capacity(end);
        let items: Vec<TunnelItem> = self.tunnelled().iter().take(end).copied().collect();
        let sure = self.confidence(f32::MAX);
        for (at, item) in items.iter().enumerate() {
            let Some((_, plain)) = candidates.get(at) else { break };
            let confidence = sure.min(self.distinct(candidates, at, item.ns));
            if ledger.pair(plain.serial, item.serial, PairBasis::Order, confidence) {
                differences.push(item.ns.saturating_sub(plain.ns));
                self.kept.add(plain.bytes);
                let stretch = self.stretch(item);
                ledger.belongs(item.serial, stretch);
            }
        }
        if self.encapsulated {
            for same in items.chunk_by(|a, b| a.sa == b.sa) {
                if let Some(last) = same.last()
                    && let Some(counter) = self.counters.get_mut(last.sa)
                {
                    counter.settled = Some((last.run, last.number));
                }
            }
        }
        let behind = end.checked_sub(1).and_then(|last| candidates.get(last)).map_or(0, |(at, _)| at + 1);
        let all_paired = behind == end && differences.len() == end;
        for item in self.plain.drain(..behind).filter(|_| !all_paired) {
            // Those of flows outside the tunnel stand between the others.
            ledger.give_up(item.serial, None, super::UNNAMED);
        }
        self.tunnelled_mut().drain(..end);
        self.delay = Delay::learn(self.delay, &differences, self.encapsulated, !self.begun).or(self.delay);
    }
}
