//! One direction of opaque ESP: its packets in the order in which they were encrypted, beside the plaintext packets in the order in which
//! they were sent.

mod counters;
mod skips;

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use foldhash::fast::FixedState;

use self::counters::{Counter, LaneCounters};
pub(in crate::matching::order) use self::skips::SKIP_UNKNOWN;
use self::skips::SeenLoss;
use super::delay::Delay;
use super::settle::overtaken::Overtaken;
use super::settle::reread::{Contradiction, KeptLengths};
use crate::analysis::limits::{RUN_GAP_NS, RUN_STEP};
use crate::matching::limits::{MAX_HOLES, MAX_HOLES_AT_ONCE};
use crate::matching::packets::flows::{Class, FlowId};
use crate::matching::packets::ledger::{Ledger, Plain, Serial, TunnelledFate};
use crate::matching::packets::mapping::Mappings;

/// A plaintext packet in a lane.
#[derive(Clone, Copy, Debug)]
pub(in crate::matching) struct PlainItem {
    pub(in crate::matching) serial: Serial,
    pub(in crate::matching) ns: i64,
    pub(in crate::matching) bytes: u32,
    pub(in crate::matching) flow: FlowId,
}

/// A tunnelled packet in a lane.
#[derive(Clone, Copy, Debug)]
pub(in crate::matching) struct TunnelItem {
    pub(in crate::matching) serial: Serial,
    pub(in crate::matching) ns: i64,
    pub(in crate::matching) sa: u32,
    /// Unwrapped, and going on over restarts of the counter.
    pub(in crate::matching) number: i64,
    /// Stretch without a restart.
    pub(in crate::matching) run: u32,
}

impl TunnelItem {
    const fn key(&self) -> (u32, u32, i64) {
        (self.sa, self.run, self.number)
    }
}

/// Which packet waits for which number.
#[derive(Clone, Copy, Debug)]
pub(in crate::matching) struct Hole {
    pub(in crate::matching) plain: Option<(Serial, Plain)>,
    pub(in crate::matching) confidence: f32,
}

/// The usual difference between the timestamps of a pair at one time of the plain side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::matching) struct Level {
    pub(in crate::matching) base: i64,
    pub(in crate::matching) spread: i64,
    pub(in crate::matching) ns: i64,
}

/// What was passed by since the last pair.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Passed {
    plain: u64,
    tunnelled: u64,
    /// SA, stretch of numbers and number of the last pair.
    last: Option<(u32, u32, i64)>,
}

/// One direction.
#[derive(Debug, Default)]
pub(in crate::matching) struct Lane {
    pub(in crate::matching) plain: VecDeque<PlainItem>,
    tunnelled: VecDeque<TunnelItem>,
    /// SA, stretch and number of each of them, for packets that come late; `None` until the first one does.
    numbers: Option<HashSet<(u32, u32, i64), FixedState>>,
    pub(in crate::matching) counters: LaneCounters,
    pub(in crate::matching) holes: BTreeMap<(u32, i64), Hole>,
    /// The latest of them in the order in which they were settled.
    latest_holes: VecDeque<(u32, i64)>,
    /// Packets whose number was passed by so long ago that nobody knows whether it was missing.
    pub(in crate::matching) late: u64,
    /// Missing numbers in gaps that were too large to be looked into.
    pub(in crate::matching) jumped: u64,
    pub(in crate::matching) mappings: Mappings,
    /// Whether the plain tap saw the packets before the tunnel's.
    pub(in crate::matching) encapsulated: bool,
    pub(in crate::matching) delay: Option<Delay>,
    /// Whether much of the tunnel's traffic is not on the plain side.
    pub(in crate::matching) partial: bool,
    /// Packets in the tunnel without counterpart, each beside a plaintext packet without one.
    pub(in crate::matching) crossed: u64,
    /// The same, beside a plaintext packet of a flow that is taken for one outside the tunnel.
    pub(in crate::matching) fitting: u64,
    /// Whether some plaintext packets are not in the order of their times.
    pub(in crate::matching) shuffled: bool,
    /// Whether the first block is settled.
    pub(in crate::matching) begun: bool,
    /// The delay by which it began.
    pub(in crate::matching) level: Option<Level>,
    /// Packets of both sides that were left over lately.
    pub(in crate::matching) overtaken: Overtaken,
    /// What became of the packets that were settled lately.
    pub(in crate::matching) seen_loss: SeenLoss,
    /// The same of packets of flows of which was not known whether they go through the tunnel.
    pub(in crate::matching) strangers: SeenLoss,
    /// Lengths of the plaintext packets that are paired.
    pub(in crate::matching) kept: KeptLengths,
    /// The latest packets that contradict their mapping, and how many mappings were replaced.
    pub(in crate::matching) contradictions: VecDeque<Contradiction>,
    pub(in crate::matching) rereads: u32,
    passed: Passed,
    /// What was passed by before the first pair.
    before: Passed,
    /// Slips so far.
    slips: u32,
}

/// A place among the tunnelled packets: a packet, or a number that none bears.
#[derive(Clone, Copy, Debug)]
pub(in crate::matching) struct Place {
    pub(in crate::matching) item: TunnelItem,
    pub(in crate::matching) hole: bool,
}

impl Lane {
    /// Takes in a packet in capture order. One whose number was there before is a copy or a replay; one that comes so late that its
    /// hole was settled is paired with the plaintext packet that the hole was.
    pub(in crate::matching) fn push(&mut self, ledger: &mut Ledger, serial: Serial, ns: i64, sa: u32, raw: u32) {
        let first = Counter { raw, ns, number: 0, highest: 0, run: 0, settled: None, forgotten: i64::MIN };
        let Some((counter, new)) = self.counters.entry(sa, first) else { return };
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
                    Some(Hole { plain: Some((_, plain)), confidence }) => {
                        ledger.recover(plain, serial, confidence, false)
                    }
                    Some(Hole { plain: None, .. }) => ledger.leave(serial, TunnelledFate::Alone),
                    None => {
                        self.late += u64::from(item.number <= counter.forgotten);
                        ledger.leave(serial, TunnelledFate::Repeated);
                    }
                }
                return;
            }
            let tunnelled = &self.tunnelled;
            let numbers = self.numbers.get_or_insert_with(|| tunnelled.iter().map(TunnelItem::key).collect());
            if numbers.contains(&item.key()) {
                ledger.leave(serial, TunnelledFate::Repeated);
                return;
            }
        }
        counter.highest = counter.highest.max(item.number);
        if let Some(numbers) = &mut self.numbers {
            numbers.insert(item.key());
        }
        push_in_time(&mut self.tunnelled, item, |item| item.ns);
    }

    /// Takes in a plaintext packet.
    pub(in crate::matching) fn push_plain(&mut self, item: PlainItem) {
        self.shuffled |= !push_in_time(&mut self.plain, item, |item| item.ns);
    }

    /// Remembers a hole, and forgets the one that was settled first where there are too many.
    pub(in crate::matching) fn remember(&mut self, key: (u32, i64), hole: Hole) {
        self.holes.insert(key, hole);
        self.latest_holes.push_back(key);
        if self.latest_holes.len() > MAX_HOLES
            && let Some(oldest) = self.latest_holes.pop_front()
            && self.holes.remove(&oldest).is_some()
            && let Some(counter) = self.counters.get_mut(oldest.0)
        {
            counter.forgotten = counter.forgotten.max(oldest.1);
        }
    }

    /// The tunnelled packets that wait, as they came.
    pub(in crate::matching) const fn tunnelled(&self) -> &VecDeque<TunnelItem> {
        &self.tunnelled
    }

    /// ESP lengths of the packets of an SA that wait.
    pub(in crate::matching) fn lengths(&self, sa: u32, ledger: &Ledger) -> impl Iterator<Item = u32> {
        let own = self.tunnelled.iter().filter(move |item| item.sa == sa);
        own.filter_map(|item| ledger.tunnel.get(item.serial).filter(|packet| packet.complete)?.esp)
    }

    /// Changes which tunnelled packets wait.
    pub(in crate::matching) fn tunnelled_mut(&mut self) -> &mut VecDeque<TunnelItem> {
        self.numbers = None;
        &mut self.tunnelled
    }

    /// A plaintext packet has no counterpart; those of flows outside the tunnel need none. Before the first pair it is not known which these
    /// are.
    pub(in crate::matching) fn pass(&mut self, ledger: &Ledger, item: &PlainItem) {
        let counts = match ledger.flows.class(item.flow) {
            Class::Selected => true,
            Class::Unknown => self.passed.last.is_none(),
            Class::Outside => false,
        };
        self.pass_plain(u64::from(counts));
    }

    /// Counts plaintext packets that have no counterpart.
    pub(in crate::matching) const fn pass_plain(&mut self, count: u64) {
        self.passed.plain += count;
    }

    /// Counts packets in the tunnel that have no counterpart.
    pub(in crate::matching) const fn pass_tunnelled(&mut self, count: u64) {
        self.passed.tunnelled += count;
    }

    /// The stretch that a pair belongs to: a new one where packets are missing and no numbers say how many.
    pub(in crate::matching) fn stretch(&mut self, item: &TunnelItem) -> u32 {
        let Passed { plain, tunnelled, last } = self.passed;
        let missing = match last {
            Some((sa, run, number)) if self.encapsulated && (sa, run) == (item.sa, item.run) => {
                item.number - number - 1 - i64::try_from(tunnelled).unwrap_or(i64::MAX)
            }
            _ => 0,
        };
        let slipped = tunnelled > 0 || i64::try_from(plain).unwrap_or(i64::MAX) != missing;
        if last.is_none() {
            self.before = self.passed;
        } else if slipped {
            self.slips = self.slips.saturating_add(1);
        }
        self.passed = Passed { plain: 0, tunnelled: 0, last: Some(item.key()) };
        self.slips.saturating_add(1)
    }

    /// Whether any pair was made in order.
    pub(in crate::matching) const fn has_pairs(&self) -> bool {
        self.passed.last.is_some()
    }

    /// Packets of both sides without counterpart before the first pair or after the last: one side was not recorded there, or was not sent,
    /// but not both. Where both are many, a clock was set or the order was lost. The plain side, and the tunnel's.
    pub(in crate::matching) fn torn(&self) -> Option<(u64, u64)> {
        /// Packets that may be on their way or lost at either end.
        const FEW: u64 = 8;
        let ends = [self.before, self.passed].map(|passed| (passed.plain, passed.tunnelled));
        // Of few, about as many of both sides are each other rather than on their way.
        let is_torn = |(plain, tunnelled): &(u64, u64)| {
            let (fewer, more) = (*plain.min(tunnelled), *plain.max(tunnelled));
            fewer > FEW || fewer > 0 && fewer.saturating_mul(2) >= more
        };
        ends.into_iter().filter(|end| self.passed.last.is_some() && is_torn(end)).max()
    }

    /// Leaves all tunnelled packets alone.
    pub(in crate::matching) fn leave_all(&mut self, ledger: &mut Ledger) {
        self.join(ledger, None);
        self.pass_tunnelled(self.tunnelled.len() as u64);
        self.tunnelled_mut().drain(..).for_each(|item| ledger.leave(item.serial, TunnelledFate::Alone));
    }

    /// Content has decided for some packets: they wait no longer.
    pub(in crate::matching) fn drop_settled(&mut self, ledger: &Ledger) {
        let waits = |item: &TunnelItem| {
            let packet = ledger.tunnel.get(item.serial);
            packet.is_some_and(|packet| matches!(packet.fate, TunnelledFate::Waiting) && packet.esp.is_some())
        };
        self.tunnelled_mut().retain(waits);
    }

    /// The first tunnelled packets as places, those of an SA in the order of their numbers where that is the order of encryption, with
    /// missing numbers in between. `limit` counts packets.
    pub(in crate::matching) fn places(&self, limit: usize) -> Vec<Place> {
        let mut items: Vec<TunnelItem> = self.tunnelled.iter().take(limit).copied().collect();
        if !self.encapsulated {
            return items.into_iter().map(|item| Place { item, hole: false }).collect();
        }
        sort_within_sas(&mut items);
        let mut places = Vec::with_capacity(items.len() + 16);
        let mut before: HashMap<u32, (u32, i64), FixedState> = HashMap::default();
        let mut room = MAX_HOLES_AT_ONCE;
        for item in items {
            let last = before.get(&item.sa).copied().or_else(|| self.counters.get(item.sa)?.settled);
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
}

/// Puts a packet behind those that are older. A network card with several queues hands over some packets late, with the right times; a
/// clock that was set back makes all later ones late, and leaves them where they are. False for such a packet.
pub(super) fn push_in_time<T>(queue: &mut VecDeque<T>, item: T, ns: impl Fn(&T) -> i64) -> bool {
    /// Packets, and nanoseconds, by which one may be late.
    const LATE: usize = 16;
    const LATE_NS: i64 = 10_000_000;
    let own = ns(&item);
    if queue.back().is_none_or(|last| ns(last) <= own) {
        queue.push_back(item);
        return true;
    }
    let younger = queue.iter().rev().take_while(|other| ns(other) > own).take(LATE + 1).count();
    let by = queue.back().map_or(0, |last| ns(last).saturating_sub(own));
    let is_late = younger > LATE || by > LATE_NS;
    queue.insert(if is_late { queue.len() } else { queue.len() - younger }, item);
    !is_late
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
mod tests;
