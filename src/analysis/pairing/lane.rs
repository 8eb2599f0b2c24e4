//! One direction of opaque ESP: its packets in the order in which they were encrypted, beside the plaintext packets in the order in which
//! they were sent.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use foldhash::fast::FixedState;

use super::align::{self, Delay};
use super::flows::{Class, FlowId};
use super::ledger::{Ledger, PairBasis, Plain, PlainFate, Serial, TunnelledFate};
use super::limits::{MAX_HOLES, MAX_HOLES_AT_ONCE};
use super::mapping::Mapping;
use crate::analysis::limits::{RUN_GAP_NS, RUN_STEP};

/// Tunnelled packets that are settled at once.
const BLOCK: usize = 256;
/// Tunnelled packets behind them that must fit too.
const AHEAD: usize = 64;
/// Places before a doubt that are looked at again with it.
const AROUND: usize = 32;
/// What a plaintext packet without counterpart costs, in nats: of a flow that goes through the tunnel (before a gateway counts them
/// packets are rarely lost; behind the other one they may overtake each other), and of one that nobody knows.
const SKIP_SELECTED: f32 = 12.0;
const SKIP_APPEARED: f32 = 6.0;
const SKIP_UNKNOWN: f32 = 2.5;
/// What a tunnelled packet without counterpart costs: in front of the gateway it is a stranger, behind it it was lost.
const SKIP_STRANGER: f32 = 14.0;
const SKIP_LOST_BEHIND: f32 = 5.5;
const SKIP_HOLE: f32 = 10.0;
/// Both, where the plain tap does not see all that goes into the tunnel.
const SKIP_UNSEEN: f32 = 5.0;
/// The surest that a pair by order is.
const SUREST: f32 = 0.99;
/// A pair whose time costs more is looked at again.
const SUSPICIOUS: f32 = 4.0;

/// A plaintext packet in a lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlainItem {
    pub(super) serial: Serial,
    pub(super) ns: i64,
    pub(super) bytes: u32,
    pub(super) flow: FlowId,
}

/// A tunnelled packet in a lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct TunnelItem {
    pub(super) serial: Serial,
    pub(super) ns: i64,
    pub(super) sa: u32,
    /// Unwrapped, and going on over restarts of the counter.
    pub(super) number: i64,
    /// Stretch without a restart.
    run: u32,
}

/// The counter of one SA.
#[derive(Clone, Copy, Debug)]
struct Counter {
    raw: u32,
    ns: i64,
    number: i64,
    highest: i64,
    run: u32,
    /// The last number that was settled, and its run.
    settled: Option<(u32, i64)>,
}

/// Which packet waits for which number.
#[derive(Clone, Copy, Debug)]
struct Hole {
    plain: Option<(Serial, Plain)>,
    confidence: f32,
}

/// One direction.
#[derive(Debug, Default)]
pub(super) struct Lane {
    pub(super) plain: VecDeque<PlainItem>,
    pub(super) tunnelled: VecDeque<TunnelItem>,
    counters: HashMap<u32, Counter, FixedState>,
    holes: BTreeMap<(u32, i64), Hole>,
    pub(super) mappings: Vec<Mapping>,
    /// Which mapping an SA has; SAs that came later have the first.
    pub(super) mapping_of: HashMap<u32, u8, FixedState>,
    /// Whether the plain tap saw the packets before the tunnel's.
    pub(super) encapsulated: bool,
    pub(super) delay: Option<Delay>,
    /// How sure it is that no other shift fits as well.
    pub(super) certainty: f32,
    /// Index of the plaintext packet that the next tunnelled one is looked for at; only for the first block.
    pub(super) lag: isize,
    /// Whether much of the tunnel's traffic is not on the plain side.
    pub(super) partial: bool,
    begun: bool,
}

/// A place among the tunnelled packets: a packet, or a number that none bears.
#[derive(Clone, Copy, Debug)]
struct Place {
    item: TunnelItem,
    hole: bool,
}

impl Lane {
    /// Takes in a packet in capture order. One whose number was there before is a copy or a replay; one that comes so late that its
    /// hole was settled is paired with the plaintext packet that the hole was.
    pub(super) fn push(&mut self, ledger: &mut Ledger, serial: Serial, ns: i64, sa: u32, raw: u32) {
        let new = !self.counters.contains_key(&sa);
        let counter =
            self.counters.entry(sa).or_insert(Counter { raw, ns, number: 0, highest: 0, run: 0, settled: None });
        let step = i64::from(raw.wrapping_sub(counter.raw).cast_signed());
        if (step < 0 && ns.saturating_sub(counter.ns) >= RUN_GAP_NS) || step.abs() > i64::from(RUN_STEP) {
            counter.run += 1;
            counter.number = counter.highest + 1;
        } else {
            counter.number += step;
        }
        (counter.raw, counter.ns) = (raw, ns);
        let item = TunnelItem { serial, ns, sa, number: counter.number, run: counter.run };
        if !new && item.number <= counter.highest {
            let settled = counter.settled.is_some_and(|(run, number)| item.run <= run && item.number <= number);
            if settled {
                match self.holes.remove(&(sa, item.number)) {
                    Some(Hole { plain: Some((_, plain)), confidence }) => ledger.recover(plain, serial, confidence),
                    Some(Hole { plain: None, .. }) => ledger.leave(serial, TunnelledFate::Alone),
                    None => ledger.leave(serial, TunnelledFate::Repeated),
                }
                return;
            }
            if self.tunnelled.iter().rev().any(|own| (own.sa, own.run, own.number) == (sa, item.run, item.number)) {
                ledger.leave(serial, TunnelledFate::Repeated);
                return;
            }
        }
        counter.highest = counter.highest.max(item.number);
        self.tunnelled.push_back(item);
    }

    /// Content has decided for some packets: they wait no longer.
    pub(super) fn drop_settled(&mut self, ledger: &Ledger) {
        let waits = |item: &TunnelItem| {
            let packet = ledger.tunnel.get(item.serial);
            packet.is_some_and(|packet| matches!(packet.fate, TunnelledFate::Waiting) && packet.esp.is_some())
        };
        self.tunnelled.retain(waits);
    }

    /// The first tunnelled packets as places, those of an SA in the order of their numbers where that is the order of encryption, with
    /// missing numbers in between. `limit` counts packets.
    fn places(&self, limit: usize) -> Vec<Place> {
        let mut items: Vec<TunnelItem> = self.tunnelled.iter().take(limit).copied().collect();
        if !self.encapsulated {
            return items.into_iter().map(|item| Place { item, hole: false }).collect();
        }
        sort_within_sas(&mut items);
        let mut places = Vec::with_capacity(items.len() + 16);
        let mut before: HashMap<u32, (u32, i64), FixedState> = HashMap::default();
        let mut room = MAX_HOLES_AT_ONCE;
        for item in items {
            let last = before.get(&item.sa).copied().or_else(|| self.counters.get(&item.sa)?.settled);
            if let Some((run, number)) = last
                && run == item.run
                && item.number - number <= room
            {
                room -= (item.number - number - 1).max(0);
                let missing = (number + 1..item.number).map(|number| TunnelItem { number, ..item });
                places.extend(missing.map(|item| Place { item, hole: true }));
            }
            before.insert(item.sa, (item.run, item.number));
            places.push(Place { item, hole: false });
        }
        places
    }

    /// Copies for the search for a first alignment: tunnelled packets and holes.
    pub(super) fn sample(&self, ledger: &Ledger, limit: usize) -> Vec<align::Tunnelled> {
        self.places(limit).iter().map(|place| self.tunnelled_of(place, ledger)).collect()
    }

    pub(super) fn plain_of(&self, item: &PlainItem, ledger: &Ledger) -> align::Plain {
        let skip = match ledger.flows.class(item.flow) {
            Class::Selected if self.encapsulated => SKIP_SELECTED,
            Class::Selected => SKIP_APPEARED,
            _ => SKIP_UNKNOWN,
        };
        align::Plain { ns: item.ns, bytes: item.bytes, skip }
    }

    fn tunnelled_of(&self, place: &Place, ledger: &Ledger) -> align::Tunnelled {
        let skip = match (place.hole, self.encapsulated) {
            (_, true) if self.partial => SKIP_UNSEEN,
            (true, _) => SKIP_HOLE,
            (false, true) => SKIP_STRANGER,
            (false, false) => SKIP_LOST_BEHIND,
        };
        let packet = ledger.tunnel.get(place.item.serial).filter(|packet| packet.complete);
        align::Tunnelled {
            ns: place.item.ns,
            esp: packet.and_then(|packet| packet.esp),
            mapping: self.mapping_of.get(&place.item.sa).copied().unwrap_or(0),
            hole: place.hole,
            skip,
        }
    }

    pub(super) fn makes(&self, mapping: u8, inner: u32, esp: u32) -> bool {
        self.mappings.get(usize::from(mapping)).is_some_and(|mapping| mapping.esp(inner) == Some(esp))
    }

    /// Settles the packets that are older than `until`, as long as enough younger ones are known to check them by; `stale` ones also
    /// with fewer, and all of them at the end.
    pub(super) fn advance(&mut self, ledger: &mut Ledger, until: i64, stale: i64, end: bool) {
        loop {
            let older =
                |than: i64| self.tunnelled.iter().take(BLOCK + AHEAD).take_while(|item| item.ns <= than).count();
            let commit = if end {
                self.tunnelled.len().min(BLOCK)
            } else if older(until) == BLOCK + AHEAD {
                BLOCK
            } else {
                older(stale).min(BLOCK)
            };
            if commit == 0 {
                return;
            }
            self.block(ledger, commit);
        }
    }

    /// Settles the first `commit` packets.
    fn block(&mut self, ledger: &mut Ledger, commit: usize) {
        let places = self.places(commit + AHEAD);
        // Behind how many places so many packets lie.
        let end = places
            .iter()
            .enumerate()
            .filter(|(_, place)| !place.hole)
            .nth(commit.saturating_sub(1))
            .map_or(places.len(), |(at, _)| at + 1);
        let tunnelled: Vec<align::Tunnelled> = places.iter().map(|place| self.tunnelled_of(place, ledger)).collect();
        let wanted = tunnelled.len() + self.lag.unsigned_abs() + 256;
        let candidates: Vec<(usize, PlainItem)> = self
            .plain
            .iter()
            .enumerate()
            .filter(|(_, item)| ledger.flows.class(item.flow) != Class::Outside)
            .filter(|(_, item)| ledger.plain.get(item.serial).is_some_and(|p| p.fate == PlainFate::Waiting))
            .take(wanted)
            .map(|(at, item)| (at, *item))
            .collect();
        let mut plain: Vec<align::Plain> = candidates.iter().map(|(_, item)| self.plain_of(item, ledger)).collect();
        let delay = self.delay.unwrap_or(Delay { base: None, spread: 1e6, jitter: 1e6, edge: None });
        let straight = self.straight(&plain, &tunnelled, delay);
        if straight == tunnelled.len() {
            let aligned: align::Aligned = (0..straight).map(|at| Some((at, f32::MAX))).collect();
            self.settle(ledger, &places, end, &candidates, &aligned, &tunnelled);
        } else if straight >= 2 * AROUND {
            // What comes before the first doubt is settled; the doubt is looked at from a little before it on.
            let end = straight - AROUND;
            let aligned: align::Aligned = (0..end).map(|at| Some((at, f32::MAX))).collect();
            self.settle(ledger, &places, end, &candidates, &aligned, &tunnelled);
        } else {
            let lead = if self.begun { SKIP_UNKNOWN } else { 0.1 };
            // Where lengths differ much, a few packets settle a doubt.
            let short = self.begun && is_diverse(&tunnelled);
            let rows = if short { tunnelled.get(..4 * AROUND).unwrap_or(&tunnelled) } else { &tunnelled };
            let end = if short { end.min(2 * AROUND) } else { end };
            let align = |plain: &[align::Plain]| {
                align::align(plain, rows, self.lag, lead, delay, |m, inner, esp| self.makes(m, inner, esp))
            };
            let mut aligned = align(&plain);
            let items: Vec<PlainItem> = candidates.iter().map(|(_, item)| *item).collect();
            if hint(ledger, &items, &aligned) {
                plain = items.iter().map(|item| self.plain_of(item, ledger)).collect();
                aligned = align(&plain);
            }
            self.settle(ledger, &places, end, &candidates, &aligned, &tunnelled);
        }
        self.begun = true;
        self.lag = 0;
    }

    /// How many places from the first on are taken by the plaintext packets as they come, with nothing that speaks against it.
    fn straight(&self, plain: &[align::Plain], tunnelled: &[align::Tunnelled], delay: Delay) -> usize {
        if !self.begun || delay.base.is_none() {
            return 0;
        }
        let mut before: Option<i64> = None;
        let mut cost = 0.0;
        for (at, (a, b)) in plain.iter().zip(tunnelled).enumerate() {
            if b.hole {
                continue;
            }
            if let Some(esp) = b.esp
                && !self.makes(b.mapping, a.bytes, esp)
            {
                return at;
            }
            let difference = b.ns.saturating_sub(a.ns);
            let change = before.map_or(0, |before| difference.saturating_sub(before));
            let after = align::dear(change as f64, delay.jitter);
            cost += after;
            if after > SUSPICIOUS || cost > 2.0 * at as f32 + 16.0 {
                return at;
            }
            before = Some(difference);
        }
        tunnelled.len().min(plain.len())
    }

    fn settle(
        &mut self,
        ledger: &mut Ledger,
        places: &[Place],
        end: usize,
        candidates: &[(usize, PlainItem)],
        aligned: &align::Aligned,
        tunnelled: &[align::Tunnelled],
    ) {
        let mut differences: Vec<i64> = Vec::with_capacity(end);
        let mut consumed = 0;
        let mut alone: Vec<usize> = Vec::new();
        for (at, (place, found)) in places.iter().zip(aligned).enumerate().take(end) {
            let item = place.item;
            let counterpart = found.and_then(|(j, gap)| {
                let confidence = self.confidence(gap).min(self.distinct(candidates, j, item.ns));
                Some((j, candidates.get(j)?.1, confidence))
            });
            if let Some((j, _, _)) = counterpart {
                consumed = consumed.max(j + 1);
            }
            if place.hole {
                let hole = Hole {
                    plain: counterpart.and_then(|(_, plain, _)| Some((plain.serial, *ledger.plain.get(plain.serial)?))),
                    confidence: counterpart.map_or(0.0, |(_, _, confidence)| confidence),
                };
                self.holes.insert((item.sa, item.number), hole);
                if self.holes.len() > MAX_HOLES {
                    self.holes.pop_first();
                }
            } else if let Some((_, plain, confidence)) = counterpart {
                if ledger.pair(plain.serial, item.serial, PairBasis::Order, confidence) {
                    differences.push(item.ns.saturating_sub(plain.ns));
                }
            } else {
                alone.push(at);
            }
            if self.encapsulated
                && let Some(counter) = self.counters.get_mut(&item.sa)
            {
                counter.settled = Some((item.run, item.number));
            }
        }
        self.rescue(ledger, places, &alone, candidates.get(..consumed).unwrap_or_default(), tunnelled);
        for at in alone {
            if let Some(place) = places.get(at) {
                ledger.leave(place.item.serial, TunnelledFate::Alone);
            }
        }
        // The plaintext packets up to the last that was used: what was not paired was lost.
        let behind = consumed.checked_sub(1).and_then(|last| candidates.get(last)).map_or(0, |(at, _)| at + 1);
        let holes: Vec<(Serial, (u32, i64))> = places
            .iter()
            .take(end)
            .filter(|place| place.hole)
            .filter_map(|place| {
                let key = (place.item.sa, place.item.number);
                Some((self.holes.get(&key)?.plain?.0, key))
            })
            .collect();
        for item in self.plain.drain(..behind) {
            if ledger.plain.get(item.serial).is_some_and(|p| p.fate == PlainFate::Waiting) {
                let hole = holes.iter().find(|(serial, _)| *serial == item.serial).map(|(_, hole)| *hole);
                let confidence = hole.and_then(|hole| self.holes.get(&hole)).map_or(0.5, |hole| hole.confidence);
                let raw = hole.map(|(sa, number)| (sa, self.counters.get(&sa).map_or(0, |c| raw_number(c, number))));
                ledger.give_up(item.serial, raw, confidence);
            }
        }
        self.forget(places, end);
        self.learn(&differences);
    }

    /// Takes settled packets out of the queue.
    fn forget(&mut self, places: &[Place], end: usize) {
        let done = || places.iter().take(end).filter(|place| !place.hole).map(|place| place.item.serial);
        let count = done().count();
        if done().eq(self.tunnelled.iter().take(count).map(|item| item.serial)) {
            self.tunnelled.drain(..count);
            return;
        }
        let done: HashSet<Serial, FixedState> = done().collect();
        let mut window = places.len().min(self.tunnelled.len());
        // Sorting by number moved packets within the places that were looked at.
        window = window.max(count);
        let kept: Vec<TunnelItem> =
            self.tunnelled.drain(..window).filter(|item| !done.contains(&item.serial)).collect();
        for item in kept.into_iter().rev() {
            self.tunnelled.push_front(item);
        }
    }

    /// Packets that overtook each other behind the tap leave one of each side alone; where only one fits, it is the one.
    fn rescue(
        &self,
        ledger: &mut Ledger,
        places: &[Place],
        alone: &[usize],
        candidates: &[(usize, PlainItem)],
        tunnelled: &[align::Tunnelled],
    ) {
        let Some(delay) = self.delay.filter(|delay| delay.base.is_some()) else { return };
        let base = delay.base.unwrap_or(0.0);
        let free: Vec<PlainItem> = candidates
            .iter()
            .map(|(_, item)| *item)
            .filter(|item| ledger.plain.get(item.serial).is_some_and(|p| p.fate == PlainFate::Waiting))
            .collect();
        for at in alone {
            let (Some(place), Some(b)) = (places.get(*at), tunnelled.get(*at)) else { continue };
            let Some(esp) = b.esp else { continue };
            let fits = |item: &&PlainItem| {
                let off = b.ns.saturating_sub(item.ns) as f64 - base;
                self.makes(b.mapping, item.bytes, esp) && off.abs() < 50.0 * delay.spread
            };
            let mut fitting = free.iter().filter(fits);
            if let (Some(only), None) = (fitting.next(), fitting.next()) {
                ledger.pair(only.serial, place.item.serial, PairBasis::Order, 0.8 * self.certainty);
            }
        }
    }

    /// How sure a pair can be at most. In the order of their numbers packets do not change places; behind the other gateway they may,
    /// and then one as long as its neighbour cannot be told from it but by its time.
    fn distinct(&self, candidates: &[(usize, PlainItem)], at: usize, ns: i64) -> f32 {
        /// Neighbours that are looked at on either side.
        const NEAR: usize = 4;
        const ALIKE: f32 = 0.9;
        const CROWDED: f32 = 0.85;
        const BETTER: f32 = 0.7;
        let (Some(delay), false) = (self.delay, self.encapsulated) else { return 1.0 };
        let (Some((_, own)), Some(base)) = (candidates.get(at), delay.base) else { return 1.0 };
        let off = |item: &PlainItem| (ns.saturating_sub(item.ns) as f64 - base).abs();
        let near = candidates.get(at.saturating_sub(NEAR)..candidates.len().min(at + NEAR + 1)).unwrap_or_default();
        let alike =
            near.iter().map(|(_, item)| item).filter(|item| item.bytes == own.bytes && item.serial != own.serial);
        alike.fold(1.0_f32, |sure, other| {
            let apart = other.ns.saturating_sub(own.ns).abs() as f64;
            if off(other) + delay.jitter < off(own) {
                sure.min(BETTER)
            } else if apart < 4.0 * delay.jitter {
                sure.min(CROWDED)
            } else {
                sure.min(ALIKE)
            }
        })
    }

    fn confidence(&self, gap: f32) -> f32 {
        (1.0 / (1.0 + (-gap).exp())).min(SUREST) * self.certainty
    }

    /// What the pairs of a block say about the next.
    fn learn(&mut self, differences: &[i64]) {
        let Some((base, spread, jitter)) = times(differences) else { return };
        let old = self.delay.filter(|delay| delay.base.is_some());
        let blend = |old: f64, new: f64| 0.7 * old + 0.3 * new;
        let (spread, jitter) = match old {
            // Few pairs say little.
            Some(old) if differences.len() < 16 => (old.spread, old.jitter),
            Some(old) => (blend(old.spread, spread), blend(old.jitter, jitter)),
            None => (spread, jitter),
        };
        let above = self.encapsulated;
        let extreme = if above { differences.iter().min() } else { differences.iter().max() };
        let edge = extreme.map(|edge| *edge as f64);
        let edge = match (old.and_then(|old| old.edge), edge) {
            // Clocks drift apart: the edge follows, but not at once.
            (Some((old, _)), Some(new)) => Some(if (new < old) == above { new } else { 0.9 * old + 0.1 * new }),
            (None, edge) => edge,
            (Some((old, _)), None) => Some(old),
        };
        self.delay = Some(Delay { base: Some(base), spread, jitter, edge: edge.map(|edge| (edge, above)) });
    }
}

/// Whether packets have so many lengths that a few in a row are like no others.
fn is_diverse(tunnelled: &[align::Tunnelled]) -> bool {
    /// Of so many packets, so many lengths.
    const PACKETS: usize = 2 * AROUND;
    const LENGTHS: usize = 4;
    let mut lengths: Vec<u32> = tunnelled.iter().take(PACKETS).filter_map(|packet| packet.esp).collect();
    lengths.sort_unstable();
    // One that is rare does not help.
    lengths.chunk_by(|a, b| a == b).filter(|same| same.len() * 4 < PACKETS && same.len() > 1).count() >= LENGTHS
}

/// Takes note of flows that a first look finds in the tunnel; whether there are any that nobody knew.
pub(super) fn hint(ledger: &mut Ledger, plain: &[PlainItem], aligned: &align::Aligned) -> bool {
    /// Packets that make a flow known.
    const ENOUGH: u32 = 3;
    let last = aligned.iter().rev().find_map(|found| *found).map_or(0, |(at, _)| at + 1);
    let first = aligned.iter().find_map(|found| *found).map_or(0, |(at, _)| at);
    let mut counts: HashMap<FlowId, (u32, u32), FixedState> = HashMap::default();
    for item in plain.get(first..last).unwrap_or_default() {
        counts.entry(item.flow).or_default().0 += 1;
    }
    for (at, _) in aligned.iter().flatten() {
        if let Some(count) = plain.get(*at).and_then(|item| counts.get_mut(&item.flow)) {
            count.1 += 1;
        }
    }
    let mut news = false;
    for (flow, (all, found)) in counts {
        if found >= ENOUGH
            && found * 2 >= all
            && ledger.flows.class(flow) == Class::Unknown
            && let Some(flow) = ledger.flows.get_mut(flow)
        {
            flow.hinted = true;
            news = true;
        }
    }
    news
}

/// Median, spread around it, and change from pair to pair, of differences between timestamps. At least a microsecond: the step of
/// most captures.
pub(super) fn times(differences: &[i64]) -> Option<(f64, f64, f64)> {
    let middle = median(differences.to_vec())?;
    let spread = median(differences.iter().map(|d| (d - middle).abs()).collect())?;
    let steps: Vec<i64> = differences.iter().zip(differences.iter().skip(1)).map(|(a, b)| (b - a).abs()).collect();
    // Bursts make most steps tiny and some long: both count.
    let mean = steps.iter().sum::<i64>() / i64::try_from(steps.len().max(1)).unwrap_or(i64::MAX);
    let jitter = median(steps).unwrap_or(spread).max(mean / 6);
    Some((middle as f64, (spread as f64).max(1_000.0), (jitter as f64).max(1_000.0)))
}

pub(super) fn median(mut values: Vec<i64>) -> Option<i64> {
    let at = values.len() / 2;
    (!values.is_empty()).then(|| *values.select_nth_unstable(at).1)
}

/// The number as it would have been sent.
fn raw_number(counter: &Counter, number: i64) -> u32 {
    (i64::from(counter.raw) + number - counter.number) as u32
}

/// Sorts the packets of each SA by number, in the places that the SA's packets have.
fn sort_within_sas(items: &mut [TunnelItem]) {
    if items.is_sorted_by_key(|item| (item.sa, item.number)) {
        return;
    }
    let mut places: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (at, item) in items.iter().enumerate() {
        places.entry(item.sa).or_default().push(at);
    }
    for places in places.values() {
        let mut own: Vec<TunnelItem> = places.iter().filter_map(|at| items.get(*at)).copied().collect();
        if own.is_sorted_by_key(|item| item.number) {
            continue;
        }
        own.sort_by_key(|item| item.number);
        for (at, item) in places.iter().zip(own) {
            if let Some(place) = items.get_mut(*at) {
                *place = item;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_take_no_more_room_than_there_is() {
        let mut ledger = Ledger::default();
        let places = |step: u32, ledger: &mut Ledger| {
            let mut lane = Lane { encapsulated: true, ..Lane::default() };
            for at in 0..320 {
                lane.push(ledger, u64::from(at), i64::from(at), 0, at * step);
            }
            let places = lane.places(320);
            (places.len(), places.iter().filter(|place| place.hole).count())
        };
        assert_eq!(places(1, &mut ledger), (320, 0));
        assert_eq!(places(2, &mut ledger), (639, 319));
        // Nearly everything lost, or a counter that jumps: the first gaps are filled, the others are not.
        for step in [100, 1_000, 4_000, 1_000_000] {
            let (all, holes) = places(step, &mut ledger);
            assert_eq!(all, 320 + holes, "{step}");
            assert!(holes <= 1_024, "{step}: {holes}");
        }
    }
}
