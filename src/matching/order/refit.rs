//! The mapping of lengths of each SA: by lengths alone, and once times say which packets belong together.
//!
//! Lengths alone, without their order, may fit a mapping that is off by a few bytes: where blocks are long, most of the packets then still
//! find their partner and the rest look lost. Pairs by time decide between the mappings that are possible.

use std::collections::{BTreeMap, BTreeSet};

use super::beginning::Search;
use super::delay::Delay;
use super::lane::{Lane, PlainItem, TunnelItem};
use super::pairs::SaInfo;
use crate::matching::packets::flows::FlowId;
use crate::matching::packets::ledger::Ledger;
use crate::matching::packets::mapping::{self, Inside, Lengths, Mapping, Mappings, SharedAddresses, candidates};
use crate::transform::iv::IvPattern;

/// SAs whose transform is looked for; more have the first one's.
const FITTED: usize = 64;
/// Packets of an SA that are looked at, and plaintext packets for each of them.
const PACKETS: usize = 512;
const NEAR: usize = 8;
/// Packets below which the lengths decide alone.
const FEW: usize = 12;
/// Usual deviations within which a packet may be the plaintext one of another.
const SPREADS: f64 = 6.0;
/// The most by which it may be apart, in nanoseconds.
const WIDEST: f64 = 20e6;
/// By how much clocks may drift apart.
const DRIFT: f64 = 1e-4;
/// How many more packets another mapping must explain where it leaves some open that the first one makes: one of every `OF`, and at least `MORE`.
const OF: usize = 32;
const MORE: usize = 3;

/// A packet in the tunnel by its length, and the lengths of the plaintext packets that it may be by its time.
struct TimedLengths {
    esp: u32,
    near: Vec<u32>,
}

impl Search<'_> {
    /// What may be inside the ESP of an SA, if packets of these flows are.
    fn possible(&self, sa: u32, flows: &BTreeSet<FlowId>) -> Vec<(i32, Inside)> {
        self.sas.get(sa as usize).map_or_else(Vec::new, |info| possible(info, flows, self.ledger))
    }

    /// The mapping of each SA, from lengths alone; `None` where no SA has one.
    pub(super) fn fit(&self, lane: &Lane, plain: &[PlainItem]) -> Option<Mappings> {
        let mut inner = Lengths::new();
        for item in plain {
            *inner.entry(item.bytes).or_default() += 1;
        }
        let mut esp: BTreeMap<u32, Lengths> = BTreeMap::new();
        for item in lane.tunnelled() {
            let packet = self.ledger.tunnel.get(item.serial).filter(|packet| packet.complete);
            if let Some(length) = packet.and_then(|packet| packet.esp) {
                *esp.entry(item.sa).or_default().entry(length).or_default() += 1;
            }
        }
        let mut by_packets: Vec<(u32, &Lengths)> = esp.iter().map(|(sa, lengths)| (*sa, lengths)).collect();
        by_packets.sort_by_key(|(sa, lengths)| (std::cmp::Reverse(lengths.values().sum::<u32>()), *sa));
        let flows: BTreeSet<FlowId> = plain.iter().map(|item| item.flow).collect();
        let mut mappings = Mappings::default();
        for (sa, lengths) in by_packets.into_iter().take(FITTED) {
            let iv = self.sas.get(sa as usize).map_or(IvPattern::Unclear, |info| IvPattern::of(&info.ivs));
            let fits = |(_, share): &(Mapping, f64)| *share >= 0.2;
            let possible = self.possible(sa, &flows);
            let stated = self.given.get(&sa).map(|given| mapping::stated(given, &inner, lengths, &possible));
            let found = stated
                .filter(fits)
                .or_else(|| mapping::fit(&inner, lengths, (self.catalogue, iv), &possible).filter(fits));
            if let Some((found, _)) = found {
                mappings.insert(sa, found);
            }
        }
        (!mappings.is_empty()).then_some(mappings)
    }
}

/// What may be inside the ESP of an SA, if packets of these flows are.
pub(super) fn possible(info: &SaInfo, flows: &BTreeSet<FlowId>, ledger: &Ledger) -> Vec<(i32, Inside)> {
    let shared = |flow: &FlowId| match ledger.flows.key(*flow) {
        Some(key) => SharedAddresses::of(key.src == info.src, key.dst == info.dst),
        None => SharedAddresses::One,
    };
    Inside::possible(info.src, flows.iter().map(shared).max().unwrap_or(SharedAddresses::None))
}

/// Replaces the mapping of each SA of a lane of which another one explains more of the packets at these times. `plain` is in order of time.
///
/// Whether any was replaced. Given transforms stay.
pub(in crate::matching) fn refit(lane: &mut Lane, plain: &[PlainItem], search: &Search<'_>, delay: Delay) -> bool {
    let mut changed = false;
    let flows: BTreeSet<FlowId> = plain.iter().map(|item| item.flow).collect();
    let sights = sights(lane, plain, search.ledger, delay);
    let is_given = |sa: u32| search.given.contains_key(&sa);
    for (sa, sights) in &sights {
        let Some(own) = lane.mappings.of(*sa).filter(|_| sights.len() >= FEW && !is_given(*sa)) else { continue };
        let least = explained(&own, sights);
        if least == sights.len() {
            continue;
        }
        let lengths: Vec<u32> = sights.iter().map(|sight| sight.esp).collect();
        let iv = search.sas.get(*sa as usize).map_or(IvPattern::Unclear, |info| IvPattern::of(&info.ivs));
        let possible = search.possible(*sa, &flows);
        let candidates = candidates(search.catalogue.weighed(&lengths, iv), &possible);
        let mut best = (least, None);
        for (_, inside, family) in candidates {
            let other = Mapping { family, inside, floor: own.floor };
            let count = explained(&other, sights);
            let is_clear = count >= least + (least / OF).max(MORE) || contradicts(&other, &own, sights);
            if count > best.0 && is_clear {
                best = (count, Some(other));
            }
        }
        if let (_, Some(other)) = best {
            lane.mappings.insert(*sa, other);
            changed = true;
        }
    }
    // SAs between the same gateways have one mapping unless their packets say otherwise.
    let most = sights.iter().max_by_key(|(sa, sights)| (sights.len(), std::cmp::Reverse(**sa)));
    let usual = most.filter(|(_, sights)| sights.len() >= FEW).and_then(|(sa, _)| lane.mappings.of(*sa));
    for sa in lane.mappings.sas() {
        let own = sights.get(&sa).map_or(&[][..], Vec::as_slice);
        if let Some((usual, mapping)) = usual.zip(lane.mappings.of(sa))
            && usual != mapping
            && !is_given(sa)
            && explained(&usual, own) >= explained(&mapping, own)
            && lane.lengths(sa, search.ledger).all(|esp| usual.family.allows(esp, usual.family.block))
        {
            lane.mappings.insert(sa, usual);
            changed = true;
        }
    }
    if let Some(usual) = usual.filter(|_| changed) {
        lane.mappings.put_first(usual);
    }
    changed
}

/// Whether a mapping makes all that another one makes and more, so that only chance speaks for the other one: several packets more, or all there are.
fn contradicts(mapping: &Mapping, other: &Mapping, sights: &[TimedLengths]) -> bool {
    /// Packets that are no stray.
    const SEVERAL: usize = 2;
    let made = |mapping: &Mapping, sight: &TimedLengths| explained(mapping, std::slice::from_ref(sight)) > 0;
    let more = sights.iter().filter(|sight| made(mapping, sight) && !made(other, sight)).count();
    let is_all = sights.iter().all(|sight| made(mapping, sight));
    let has_fewer = sights.iter().any(|sight| made(other, sight) && !made(mapping, sight));
    !has_fewer && (more >= SEVERAL || more > 0 && is_all)
}

/// How many of the packets a mapping makes out of one that they may be by their time.
fn explained(mapping: &Mapping, sights: &[TimedLengths]) -> usize {
    let made = |sight: &&TimedLengths| sight.near.iter().any(|bytes| mapping.esp(*bytes) == Some(sight.esp));
    sights.iter().filter(made).count()
}

/// The packets of each SA that can be paired by time.
fn sights(lane: &Lane, plain: &[PlainItem], ledger: &Ledger, delay: Delay) -> BTreeMap<u32, Vec<TimedLengths>> {
    let mut sights: BTreeMap<u32, Vec<TimedLengths>> = BTreeMap::new();
    let Some(base) = delay.base.map(|base| base as i64) else { return sights };
    let (first, last) = (plain.first().map_or(i64::MAX, |item| item.ns), plain.last().map_or(i64::MIN, |item| item.ns));
    for TunnelItem { serial, ns, sa, .. } in lane.tunnelled() {
        let packet = ledger.tunnel.get(*serial).filter(|packet| packet.complete);
        let Some(esp) = packet.and_then(|packet| packet.esp) else { continue };
        let sent = ns.saturating_sub(base);
        let drift = DRIFT * sent.saturating_sub(first).max(0) as f64;
        let width = (SPREADS * delay.spread.max(delay.jitter) + drift).min(WIDEST) as i64;
        if sent.saturating_sub(width) < first || sent.saturating_add(width) > last {
            continue;
        }
        let from = plain.partition_point(|item| item.ns < sent.saturating_sub(width));
        let near = plain.get(from..).unwrap_or_default();
        let near = near.iter().take_while(|item| item.ns <= sent.saturating_add(width));
        let near: Vec<u32> = near.take(NEAR + 1).map(|item| item.bytes).collect();
        // Where many may be it, any mapping finds one.
        let own = sights.entry(*sa).or_default();
        if !near.is_empty() && near.len() <= NEAR && own.len() < PACKETS {
            own.push(TimedLengths { esp, near });
        }
    }
    sights
}
