//! How sure it is which packet a hole in the numbers stands for.

use crate::matching::Matcher;
use crate::matching::order::delay::median;
use crate::matching::packets::ledger::{Lost, PairBasis, Tunnelled, TunnelledFate};
use crate::model::FramePos;

/// Pairs on either side of a lost packet that are looked at, and those that tell the usual difference of the timestamps.
const BESIDE: usize = 2;
const AROUND: usize = 16;
/// How sure a pair is whose packet in the tunnel fits a lost one better.
const EXCHANGED: f32 = 0.3;

/// A pair by order.
#[derive(Clone, Copy, Debug)]
struct NamedPair {
    pos: FramePos,
    /// Among those held.
    at: usize,
    sa: u32,
    esp: Option<u32>,
    plain_ns: i64,
    later_ns: i64,
    confidence: f32,
}

impl Matcher {
    /// Makes a packet that a hole names no surer than the pairs beside it: it was given its name with them, before more was known. A pair beside it
    /// whose packet in the tunnel fits the lost one much better by its time is a guess.
    pub(in crate::matching) fn doubt_named(&mut self, held: &mut [Tunnelled]) {
        if !self.ledger.lost.iter().any(|lost| lost.hole.is_some()) {
            return;
        }
        let mut pairs: [Vec<NamedPair>; 2] = Default::default();
        for (at, packet) in held.iter().enumerate() {
            if let TunnelledFate::Paired(pairing) = packet.fate
                && pairing.basis == PairBasis::Order
                && let Some((plain_ns, ns)) = pairing.plain.time.ns().zip(packet.time.ns())
                && let Some(own) = self.order.lane(packet.sa).and_then(|lane| pairs.get_mut(lane))
            {
                let (pos, sa, esp, confidence) = (pairing.plain.pos, packet.sa, packet.esp, pairing.confidence);
                own.push(NamedPair { pos, at, sa, esp, plain_ns, later_ns: ns.saturating_sub(plain_ns), confidence });
            }
        }
        pairs.iter_mut().for_each(|own| own.sort_by_key(|pair| pair.pos));
        let mut lost = std::mem::take(&mut self.ledger.lost);
        for lost in &mut lost {
            let lane = lost.hole.and_then(|(sa, _)| self.order.lane(sa));
            let Some(own) = lane.and_then(|lane| pairs.get(lane)) else { continue };
            let at = own.partition_point(|pair| pair.pos < lost.pos);
            // Those of earlier pairs were looked at with them.
            if at == 0 {
                continue;
            }
            let near = |count: usize| own.get(at.saturating_sub(count)..own.len().min(at + count)).unwrap_or_default();
            lost.confidence = near(BESIDE).iter().fold(lost.confidence, |least, pair| least.min(pair.confidence));
            let this = *lost;
            for pair in near(BESIDE).iter().filter(|pair| self.is_exchanged(pair, &this, near(AROUND))) {
                lost.confidence = EXCHANGED;
                if let Some(TunnelledFate::Paired(pairing)) = held.get_mut(pair.at).map(|packet| &mut packet.fate) {
                    pairing.confidence = pairing.confidence.min(EXCHANGED);
                }
            }
        }
        self.ledger.lost = lost;
    }

    /// Whether the packet in the tunnel of a pair fits a lost one much better, by its time and as well by its length.
    fn is_exchanged(&self, pair: &NamedPair, lost: &Lost, around: &[NamedPair]) -> bool {
        /// Usual deviations, and nanoseconds, within which a time fits; how much better it fits.
        const SAME: i64 = 8;
        const LEAST: i64 = 50_000;
        const TIMES: i64 = 8;
        let Some(ns) = lost.time.ns() else { return false };
        let made = self.order.mapping(pair.sa).and_then(|mapping| mapping.esp(lost.bytes));
        let usual = median(around.iter().map(|own| own.later_ns).collect()).unwrap_or(0);
        let off = |later: i64| later.saturating_sub(usual).saturating_abs();
        let varies = median(around.iter().map(|own| off(own.later_ns)).collect()).unwrap_or(0);
        let fits = off(pair.plain_ns.saturating_add(pair.later_ns).saturating_sub(ns));
        fits <= varies.saturating_mul(SAME).max(LEAST)
            && off(pair.later_ns) > fits.max(varies).max(LEAST).saturating_mul(TIMES)
            && pair.esp == made
    }
}
