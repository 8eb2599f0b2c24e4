//! Where two sequences of packets begin to belong together, by lengths and times alone.
//!
//! Lengths say which transform there may be; the [`evidence`] says by how much the clocks differ, or that this cannot be known.

mod in_order;
mod telling;
mod trial;

use std::collections::{BTreeMap, HashMap, VecDeque};

use foldhash::fast::FixedState;

use self::telling::gaps_tell;
pub(in crate::matching) use self::trial::{BeginningTrial, PlainWays};
use super::align;
use super::delay::{Delay, median};
use super::evidence::{self, Alignment, CERTAIN, Partner, Streams};
use super::lane::{Lane, Place, PlainItem, TunnelItem};
use super::refit::refit;
use super::settle::stretches::SentTimes;
use crate::matching::order::pairs::{SAMPLE, SaInfo};
use crate::matching::packets::flows::FlowId;
use crate::matching::packets::ledger::{Ledger, PlainFate, Serial};
use crate::matching::packets::mapping::{Mapping, Mappings};
use crate::transform::inference::Catalogue;

/// Packets in the tunnel that are taken from the beginning; as many are taken of the rarest lengths.
const FIRST: usize = SAMPLE / 2;
/// The step of most timestamps of both captures, in nanoseconds.
const STEP: i64 = 2_000;
/// By how much clocks may drift apart.
const DRIFT: f64 = 1e-4;
/// Pairs by which the first difference of the clocks is known.
const EARLY: usize = 32;

/// A beginning of one lane.
pub(in crate::matching) struct Beginning {
    /// How well it fits, in nats above chance.
    pub(in crate::matching) weight: f64,
    pub(in crate::matching) mappings: Mappings,
    pub(in crate::matching) delay: Delay,
    /// Whether much of the tunnel's traffic is not on the plain side.
    pub(in crate::matching) partial: bool,
    /// Flows, how many of their packets could be in the tunnel, and how many are.
    pub(in crate::matching) flows: Vec<(FlowId, u32, u32)>,
    /// All pairs, where the succession of lengths alone makes them.
    pub(in crate::matching) pairs: Vec<(Serial, Serial)>,
    /// Whether gaps that both sides have in common identify the direction.
    pub(in crate::matching) told: bool,
}

/// What is known besides the packets of a lane.
pub(in crate::matching) struct Search<'s> {
    pub(in crate::matching) ledger: &'s Ledger,
    pub(in crate::matching) catalogue: &'s Catalogue,
    pub(in crate::matching) sas: &'s [SaInfo],
    /// Given transforms, by SA.
    pub(in crate::matching) given: &'s HashMap<u32, Mapping, FixedState>,
    /// Offsets of the clocks that are possible.
    pub(in crate::matching) within: (i64, i64),
    /// Both sides are stamped by one clock.
    pub(in crate::matching) one_clock: bool,
    /// Nothing more comes.
    pub(in crate::matching) end: bool,
}

impl Search<'_> {
    /// Looks for a beginning of one lane on one way.
    pub(in crate::matching) fn begin(&self, lane: &mut Lane, plain: &VecDeque<PlainItem>) -> BeginningTrial {
        lane.encapsulated = true;
        lane.partial = false;
        // What was seen beside the tunnel in clear, or found by its content, is not in it.
        let waits =
            |item: &&PlainItem| self.ledger.plain.get(item.serial).is_some_and(|p| p.fate == PlainFate::Waiting);
        let mut items: Vec<PlainItem> = plain.iter().filter(waits).copied().collect();
        if items.is_empty() || lane.tunnelled().is_empty() {
            return BeginningTrial::Nothing;
        }
        items.sort_by_key(|item| item.ns);
        let Some(mappings) = self.fit(lane, &items) else { return BeginningTrial::Nothing };
        lane.mappings = mappings;
        let plain: Vec<align::Plain> = items.iter().map(|item| lane.plain_of(item, self.ledger)).collect();
        // By one clock no packet arrives before it was sent.
        let (least, most) = self.within;
        let within = match fresh(items.iter(), self.ledger).filter(|_| self.one_clock) {
            Some(true) => (least.max(-STEP), most),
            Some(false) => (least, most.min(STEP)),
            None => (least, most),
        };
        let mut refitted = false;
        let (best, tunnelled, delay) = loop {
            let tunnelled = self.sample(lane);
            let mappings = &lane.mappings;
            let makes = |mapping: u8, inner: u32, esp: u32| mappings.makes(mapping, inner, esp);
            let verdict =
                evidence::Search::new(Streams { plain: &plain, tunnelled: &tunnelled, makes, within }).verdict();
            let decided = verdict.as_ref().filter(|verdict| verdict.is_decisive()).map(|verdict| verdict.best.clone());
            let Some(best) = decided else {
                if let Some(found) = self.in_order(lane, &plain, &items, within) {
                    return BeginningTrial::Begun(Box::new(found));
                }
                let Some(verdict) = verdict else { return BeginningTrial::Nothing };
                let weight = verdict.best.weight;
                return if weight < CERTAIN {
                    BeginningTrial::Nothing
                } else {
                    BeginningTrial::Open(verdict.rivals + 1, weight)
                };
            };
            let Some(delay) = delay_of(&best, &plain, &tunnelled) else { return BeginningTrial::Nothing };
            // Now that times say which packets belong together, they may say that the lengths were read wrongly.
            if refitted || !refit(lane, &items, self, delay) {
                break (best, tunnelled, delay);
            }
            refitted = true;
        };
        let flows = flows(&best, &items, &tunnelled);
        let (delay, partial) = self.look(lane, &items, delay);
        let mappings = lane.mappings.clone();
        let found = best.partners.iter().zip(&tunnelled).filter_map(|(partner, packet)| match partner {
            Partner::Found(at, _) => Some((*at, packet.ns)),
            _ => None,
        });
        let told = gaps_tell(&found.collect::<Vec<_>>(), &plain, self.ledger.coarseness);
        let pairs = Vec::new();
        let begun = Beginning { weight: best.weight, mappings, delay, partial, flows, pairs, told };
        BeginningTrial::Begun(Box::new(begun))
    }

    /// How much delays vary where packets are compared in order, and whether many of the tunnel have no plaintext packet: of those that a
    /// queue held back the offset alone does not tell.
    fn look(&self, lane: &mut Lane, plain: &[PlainItem], delay: Delay) -> (Delay, bool) {
        /// Plaintext packets before the first that is expected, and after as many as there are in the tunnel; the most that are looked at.
        const BEFORE: usize = 48;
        const AFTER: usize = 640;
        const MOST: usize = 4_096;
        let base = delay.base.unwrap_or(0.0) as i64;
        // What the plain tap has not shown yet, or no more, says nothing.
        let at_tunnel = |item: Option<&PlainItem>| item.map_or(i64::MAX, |item| item.ns.saturating_add(base));
        let (begins, ends) = (at_tunnel(plain.first()), at_tunnel(plain.last()));
        let sample = |lane: &Lane| -> Vec<align::Tunnelled> {
            let places = lane.places(SAMPLE);
            let rows = places.iter().map(|place| lane.tunnelled_of(place, self.ledger));
            rows.skip_while(|packet| packet.hole || packet.ns < begins).filter(|packet| packet.ns <= ends).collect()
        };
        let mut rows = sample(lane);
        let sent = |row: Option<&align::Tunnelled>| row.map_or(0, |packet| packet.ns.saturating_sub(base));
        let due = |ns: i64| plain.partition_point(|packet| packet.ns < ns);
        let at = due(sent(rows.first()));
        let from = at.saturating_sub(BEFORE);
        let until = due(sent(rows.last())).min(at + MOST).max(at + rows.len() + AFTER);
        let near = plain.get(from..plain.len().min(until)).unwrap_or_default();
        let times = SentTimes::of(&rows, delay);
        let is_alone = |item: &PlainItem| times.as_ref().is_some_and(|times| times.is_alone(item.ns));
        let near: Vec<align::Plain> =
            near.iter().map(|item| lane.plain_among(item, self.ledger, false, is_alone(item))).collect();
        let lag = isize::try_from(at - from).unwrap_or(0);
        let (mut result, mut partial) = (delay, false);
        for _ in 0..2 {
            let makes = |mapping: u8, inner: u32, esp: u32| lane.mappings.makes(mapping, inner, esp);
            let aligned = align::align(&near, &rows, align::BeforeFirst::unknown(lag), result, makes);
            let pairs = aligned.iter().zip(&rows).filter(|(_, packet)| !packet.hole);
            let differences: Vec<i64> =
                pairs.filter_map(|(found, b)| Some(b.ns.saturating_sub(near.get((*found)?.0)?.ns))).collect();
            let real = rows.iter().filter(|packet| !packet.hole).count();
            let Some(seen) = Delay::of(&differences).filter(|_| differences.len() * 2 >= real) else { break };
            partial = differences.len() * 10 < real.min(near.len()) * 9;
            result = Delay { base: delay.base, ..seen };
            lane.partial = partial;
            rows = sample(lane);
        }
        lane.partial = false;
        (result, partial)
    }

    /// Packets in the tunnel that say most: the first of all, and those with the rarest lengths.
    fn sample(&self, lane: &Lane) -> Vec<align::Tunnelled> {
        let of = |item: &TunnelItem| lane.tunnelled_of(&Place { item: *item, hole: false }, self.ledger);
        let mut sample: Vec<align::Tunnelled> = lane.tunnelled().iter().take(FIRST).map(of).collect();
        let rest = || lane.tunnelled().iter().skip(FIRST).map(of);
        let mut counts: HashMap<Option<u32>, usize, FixedState> = HashMap::default();
        rest().for_each(|packet| *counts.entry(packet.esp).or_default() += 1);
        let mut rare: Vec<align::Tunnelled> = rest().filter(|packet| packet.esp.is_some()).collect();
        let rarity = |packet: &align::Tunnelled| counts.get(&packet.esp).copied().unwrap_or(0);
        if rare.len() > FIRST {
            rare.select_nth_unstable_by_key(FIRST, |packet| (rarity(packet), packet.ns));
            rare.truncate(FIRST);
        }
        sample.append(&mut rare);
        sample.sort_by_key(|packet| packet.ns);
        sample
    }
}

/// What says which tap the packets of the lanes passed first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::matching) enum WayTold {
    /// TTLs: one that no sender begins with may have been lowered by a router before the plain tap as well as by the gateway, unless packets of
    /// the other lane have one that was not.
    ByTtl,
    /// Differences of timestamps, as far as the clocks allow.
    ByTime,
    /// Nothing: the timestamps are coarser than the differences, and TTLs do not tell; or they contradict each other.
    Nothing,
}

/// Which of two lanes passed the plain tap first. Its timestamps at the tunnel are the later ones, whatever the clocks are; with one
/// lane alone the TTL must tell, or the sign of the difference.
pub(in crate::matching) fn directions(lanes: &mut [Lane; 2], ledger: &Ledger, one_clock: bool) -> WayTold {
    let [one, other] = lanes;
    let base = |lane: &Lane| lane.delay.and_then(|delay| delay.base);
    let step = ledger.coarseness as f64;
    let apart = match (base(one), base(other)) {
        (Some(first), Some(second)) => Some((first - second).abs()),
        (own, None) | (None, own) => own.map(f64::abs),
    };
    // By coarse timestamps either lane may seem the later one.
    let is_tied = apart.is_some_and(|apart| apart <= step);
    // Of one clock the sign of the difference says it.
    let own = |lane: &Lane| if one_clock && !is_tied { None } else { fresh(lane.plain.iter(), ledger) };
    // Of two directions one was routed before the plain tap; where both look alike the gateways do not lower TTLs.
    let (first, second) = (own(one), own(other));
    let alike = first == second && !one.plain.is_empty() && !other.plain.is_empty();
    let (first_told, second_told) = if alike { (None, None) } else { (first, second) };
    let is_sure = |lane: &Lane, own: Option<bool>, beside: Option<bool>| {
        lane.delay.is_some() && (own == Some(true) || own == Some(false) && beside == Some(true))
    };
    let mut is_told = is_sure(one, first_told, second_told) || is_sure(other, second_told, first_told);
    let mut is_torn = false;
    match (base(one), base(other)) {
        (Some(first), Some(second)) => {
            // Where clocks drift further between the first pairs of the lanes than the gateway takes, TTLs tell.
            let drift = if one_clock { 0.0 } else { DRIFT * span(one).max(span(other)) };
            let by_ttl = first_told.filter(|_| second_told.is_some());
            // Where TTLs and times contradict each other a clock was set between the first pairs, or a router before the plain tap lowers TTLs.
            let by_time = (first - second).abs() > drift.max(step);
            is_torn = by_time && !one_clock && by_ttl.is_some_and(|by_ttl| by_ttl != (first >= second));
            is_told &= !is_torn;
            one.encapsulated = by_ttl.filter(|_| !by_time).unwrap_or(first >= second);
            other.encapsulated = !one.encapsulated;
        }
        (Some(base), None) => {
            one.encapsulated = first_told.unwrap_or(base >= 0.0);
            other.encapsulated = !one.encapsulated;
        }
        (None, Some(base)) => {
            other.encapsulated = second_told.unwrap_or(base >= 0.0);
            one.encapsulated = !other.encapsulated;
        }
        (None, None) => {}
    }
    match (is_told, is_tied || is_torn) {
        (true, _) => WayTold::ByTtl,
        (false, false) => WayTold::ByTime,
        (false, true) => WayTold::Nothing,
    }
}

/// From the first plaintext packet of a lane to the last, in nanoseconds.
fn span(lane: &Lane) -> f64 {
    let ends = lane.plain.front().zip(lane.plain.back());
    ends.map_or(0.0, |(first, last)| last.ns.saturating_sub(first.ns) as f64)
}

/// Whether most plaintext packets have a TTL that no router has lowered yet: senders begin with 32, 64, 128 or 255. `None` where the
/// two kinds are mixed.
pub(in crate::matching) fn fresh<'i>(plain: impl Iterator<Item = &'i PlainItem>, ledger: &Ledger) -> Option<bool> {
    let sample: Vec<bool> = plain
        .take(SAMPLE)
        .filter_map(|item| Some(matches!(ledger.plain.get(item.serial)?.marks.ttl, 32 | 64 | 128 | 255)))
        .collect();
    let fresh = sample.iter().filter(|fresh| **fresh).count();
    if sample.is_empty() {
        None
    } else if fresh * 10 >= sample.len() * 9 {
        Some(true)
    } else if fresh * 10 <= sample.len() {
        Some(false)
    } else {
        None
    }
}

/// What an alignment says of the times: the difference at its beginning, for clocks drift, and how much it varies.
fn delay_of(best: &Alignment, plain: &[align::Plain], tunnelled: &[align::Tunnelled]) -> Option<Delay> {
    let difference = |(partner, packet): (&Partner, &align::Tunnelled)| match partner {
        Partner::Found(at, _) => Some(packet.ns.saturating_sub(plain.get(*at)?.ns)),
        _ => None,
    };
    let differences: Vec<i64> = best.partners.iter().zip(tunnelled).filter_map(difference).collect();
    let early = median(differences.iter().take(EARLY).copied().collect())?;
    Some(Delay { base: Some(early as f64), ..Delay::of(&differences)? })
}

/// How many packets of each flow could be in the tunnel, and how many are.
fn flows(best: &Alignment, items: &[PlainItem], tunnelled: &[align::Tunnelled]) -> Vec<(FlowId, u32, u32)> {
    // Only a sample of the tunnel was compared: what lies near none of it says nothing.
    let mut flows: BTreeMap<FlowId, Vec<bool>> = BTreeMap::new();
    let mut found: Vec<usize> = Vec::new();
    let (mut first, mut last) = (i64::MAX, i64::MIN);
    for (partner, packet) in best.partners.iter().zip(tunnelled).take(FIRST) {
        if let Partner::Found(at, _) = partner {
            found.push(*at);
            let sent = packet.ns.saturating_sub(best.offset);
            (first, last) = (first.min(sent), last.max(sent));
        }
    }
    found.sort_unstable();
    for (at, item) in items.iter().enumerate().filter(|(_, item)| (first..=last).contains(&item.ns)) {
        flows.entry(item.flow).or_default().push(found.binary_search(&at).is_ok());
    }
    let counts = |(flow, packets): (FlowId, Vec<bool>)| {
        let (all, found) = inside(&packets);
        (flow, all, found)
    };
    flows.into_iter().map(counts).collect()
}

/// How many packets of a flow could be in the tunnel, and how many are: of all, or of a part in which nearly all are. Others were lost from some
/// time on, or until then.
fn inside(packets: &[bool]) -> (u32, u32) {
    /// Parts, and packets in a part that are no chance.
    const PARTS: usize = 4;
    const ENOUGH: usize = 12;
    let count = |part: &[bool]| (part.len() as u32, part.iter().filter(|found| **found).count() as u32);
    let parts = packets.chunks((packets.len() / PARTS).max(ENOUGH)).filter(|part| part.len() >= ENOUGH).map(count);
    let best = parts.max_by_key(|(_, found)| *found).filter(|(all, found)| found * 4 >= all * 3);
    let (all, found) = count(packets);
    best.filter(|_| found * 2 < all).unwrap_or((all, found))
}
