//! Pairs by order of SAs that are used at the same time, over paths of different length.

use std::collections::BTreeMap;

use crate::matching::Matcher;
use crate::matching::order::delay::Delay;
use crate::matching::packets::ledger::{PairBasis, Tunnelled, TunnelledFate};

/// Pairs that tell how long packets of an SA are on their way.
const ENOUGH: usize = 16;
/// Pairs on either side that packets may have changed places with.
const NEAR: usize = 8;
/// How sure a pair is that fits as well exchanged.
const EXCHANGED: f32 = 0.3;

/// A pair by order, among those held.
#[derive(Clone, Copy, Debug)]
struct TimedPair {
    at: usize,
    sa: u32,
    esp: Option<u32>,
    plain_ns: i64,
    ns: i64,
}

impl TimedPair {
    /// The difference of its timestamps, were its plaintext packet that of `other`.
    const fn delay_from(&self, other: &Self) -> i64 {
        self.ns.saturating_sub(other.plain_ns)
    }
}

/// Usual deviations within which the paths of two SAs are one, and within which one pair fits as well as another.
const SAME: f64 = 6.0;
const ALIKE: f64 = 4.0;

impl Matcher {
    /// Makes guesses of pairs of SAs whose paths take different times, where two of them fit as well with each other's plaintext packets: what goes
    /// by the longer path is overtaken, and pairing by order follows the order of arrival.
    pub(in crate::matching) fn doubt_parallel(&self, held: &mut [Tunnelled]) {
        let sas = |lane: usize| (0..self.order.sas.len() as u32).filter(move |sa| self.order.lane(*sa) == Some(lane));
        for lane in (0..2).filter(|lane| sas(*lane).nth(1).is_some()) {
            let pairs = self.timed_pairs(held, lane);
            let mut differences: BTreeMap<u32, Vec<i64>> = BTreeMap::new();
            pairs.iter().for_each(|own| differences.entry(own.sa).or_default().push(own.delay_from(own)));
            differences.retain(|_, all| all.len() >= ENOUGH);
            let paths: BTreeMap<u32, Delay> =
                differences.into_iter().filter_map(|(sa, all)| Some((sa, Delay::of(&all)?))).collect();
            if paths.len() < 2 {
                continue;
            }
            let near = |at: usize| pairs.iter().skip(at + 1).take(NEAR);
            let both = pairs.iter().enumerate().flat_map(|(at, one)| near(at).map(move |other| (one, other)));
            for (one, other) in both.filter(|(one, other)| may_be_exchanged(one, other, &paths)) {
                for at in [one.at, other.at] {
                    if let Some(TunnelledFate::Paired(pairing)) = held.get_mut(at).map(|packet| &mut packet.fate) {
                        pairing.confidence = pairing.confidence.min(EXCHANGED);
                    }
                }
            }
        }
    }

    /// The pairs by order of a lane.
    fn timed_pairs(&self, held: &[Tunnelled], lane: usize) -> Vec<TimedPair> {
        let timed = |(at, packet): (usize, &Tunnelled)| {
            let TunnelledFate::Paired(pairing) = &packet.fate else { return None };
            let (plain_ns, ns) = pairing.plain.time.ns().zip(packet.time.ns())?;
            let is_own = pairing.basis == PairBasis::Order && self.order.lane(packet.sa) == Some(lane);
            is_own.then_some(TimedPair { at, sa: packet.sa, esp: packet.esp, plain_ns, ns })
        };
        held.iter().enumerate().filter_map(timed).collect()
    }
}

/// Whether two pairs fit as well with each other's plaintext packets, or better.
fn may_be_exchanged(one: &TimedPair, other: &TimedPair, paths: &BTreeMap<u32, Delay>) -> bool {
    if one.sa == other.sa || one.esp != other.esp {
        return false;
    }
    let Some((own, others)) = paths.get(&one.sa).zip(paths.get(&other.sa)) else { return false };
    let usual = |path: &Delay| path.base.unwrap_or(0.0);
    if (usual(own) - usual(others)).abs() <= SAME * own.spread.max(others.spread) {
        return false;
    }
    let off = |path: &Delay, delay: i64| (delay as f64 - usual(path)).abs();
    let as_paired = off(own, one.delay_from(one)) + off(others, other.delay_from(other));
    let exchanged = off(own, one.delay_from(other)) + off(others, other.delay_from(one));
    exchanged <= as_paired + ALIKE * (own.spread + others.spread)
}
