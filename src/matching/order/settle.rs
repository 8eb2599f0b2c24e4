//! Settling the packets of a lane, a block at a time.
//!
//! Most packets are paired as they come. From the first doubt on (a length that does not fit, a time that is unlike the others) an
//! [`align`]ment decides.

mod hints;
pub(in crate::matching) mod overtaken;
pub(super) mod reread;
mod smooth;
pub(super) mod stretches;
mod sure;

use std::collections::HashSet;

use foldhash::fast::FixedState;

use self::hints::hint;
use self::reread::Readings;
use self::stretches::{SentTimes, Unseen, is_diverse, outage, slack, unseen};
use super::align;
use super::beginning::Beginning;
use super::delay::Delay;
use super::lane::{Hole, Lane, Level, Place, PlainItem, TunnelItem};
use crate::matching::packets::flows::Class;
use crate::matching::packets::ledger::{Ledger, PairBasis, PlainFate, Serial, TunnelledFate};

/// Tunnelled packets that are settled at once.
const BLOCK: usize = 256;
/// Tunnelled packets behind them that must fit too.
const AHEAD: usize = 64;
/// Plaintext packets beyond as many as there are places that may be theirs.
const BESIDE: usize = 256;
/// Places before a doubt that are looked at again with it.
const AROUND: usize = 32;
/// Packets of one side in a row without counterpart that are an outage, or a stretch that the other side lacks; fewer are left to an alignment.
const OUTAGE: usize = 24;
/// How sure it is of a lost packet that it was this one, where no number names it.
const UNNAMED: f32 = 0.5;
/// How sure a pair is that the succession of lengths makes.
const IN_ORDER: f32 = 0.9;
/// A pair whose time costs more is looked at again.
const SUSPICIOUS: f32 = 4.0;

/// Packets that are looked at together.
pub(super) struct LaneBlock {
    pub(super) places: Vec<Place>,
    /// The same places, as they are aligned.
    pub(super) tunnelled: Vec<align::Tunnelled>,
    /// The plaintext packets that may be theirs, with their places in the lane.
    pub(super) candidates: Vec<(usize, PlainItem)>,
}

impl Lane {
    /// Goes on from a beginning.
    pub(in crate::matching) fn take(&mut self, beginning: Beginning, ledger: &mut Ledger) {
        let Beginning { mappings, delay, partial, flows, pairs, .. } = beginning;
        (self.mappings, self.partial) = (mappings, partial);
        self.delay = Some(delay);
        self.level = delay.base.map(|base| Level {
            base: base as i64,
            spread: delay.spread.max(delay.jitter) as i64,
            ns: self.plain.front().map_or(0, |item| item.ns),
        });
        if let Some(base) = delay.base {
            // The other direction may have proved its own differences already; those of this one lie elsewhere.
            ledger.reaches(base as i64, true);
        }
        ledger.flows.first_look(&flows);
        if pairs.is_empty() {
            return;
        }
        for (plain, tunnelled) in pairs {
            ledger.pair(plain, tunnelled, PairBasis::Order, IN_ORDER);
        }
        self.leave_all(ledger);
    }

    /// Settles the packets that are older than `until`, as long as enough younger ones are known to check them by; `stale` ones also
    /// with fewer, and all of them at the end.
    pub(in crate::matching) fn advance(
        &mut self,
        ledger: &mut Ledger,
        readings: &Readings<'_>,
        (until, stale, end): (i64, i64, bool),
    ) {
        loop {
            let older =
                |than: i64| self.tunnelled().iter().take(BLOCK + AHEAD).take_while(|item| item.ns <= than).count();
            let commit = if end {
                self.tunnelled().len().min(BLOCK)
            } else if older(until) == BLOCK + AHEAD {
                BLOCK
            } else {
                older(stale).min(BLOCK)
            };
            if commit == 0 {
                return;
            }
            self.block(ledger, readings, commit);
        }
    }

    /// Settles the first `commit` packets.
    fn block(&mut self, ledger: &mut Ledger, readings: &Readings<'_>, commit: usize) {
        let delay = self.delay.unwrap_or(Delay { base: None, spread: 1e6, jitter: 1e6, edge: None });
        let commit = self.synchronise(ledger, commit, delay);
        if commit == 0 || self.go_straight(ledger, commit, delay) {
            return;
        }
        let mut places = self.places(commit + AHEAD);
        // Behind how many places so many packets lie.
        let end = places
            .iter()
            .enumerate()
            .filter(|(_, place)| !place.hole)
            .nth(commit.saturating_sub(1))
            .map_or(places.len(), |(at, _)| at + 1);
        let mut tunnelled: Vec<align::Tunnelled> =
            places.iter().map(|place| self.tunnelled_of(place, ledger)).collect();
        let wanted = (tunnelled.len() + BESIDE).max(self.sent_by(&places, delay));
        let mut candidates = self.next_candidates(ledger, wanted);
        let told = is_diverse(&tunnelled);
        let times = SentTimes::of(&tunnelled, delay);
        let plain_of = |lane: &Self, item: &PlainItem, ledger: &Ledger| {
            lane.plain_among(item, ledger, told, times.as_ref().is_some_and(|times| times.is_alone(item.ns)))
        };
        let mut plain: Vec<align::Plain> = candidates.iter().map(|(_, item)| plain_of(self, item, ledger)).collect();
        // What the plain side did not see has no place in an alignment.
        let unseen = unseen(&plain, &tunnelled, delay).filter(|_| self.begun);
        if let Some(Unseen { rows: 0, until, .. }) = unseen {
            self.pass_over(ledger, until);
            return;
        }
        if let Some(Unseen { rows, seen, .. }) = unseen {
            places.truncate(rows);
            tunnelled.truncate(rows);
            candidates.truncate(seen);
            plain.truncate(seen);
        }
        let end = end.min(places.len());
        let block = LaneBlock { places, tunnelled, candidates };
        let LaneBlock { tunnelled, candidates, .. } = &block;
        let straight = self.straight(&plain, tunnelled, delay);
        if straight == tunnelled.len() {
            let aligned: align::Aligned = (0..straight).map(|at| Some((at, f32::MAX))).collect();
            self.settle(ledger, &block, end, &aligned);
        } else if straight >= 2 * AROUND {
            // What comes before the first doubt is settled; the doubt is looked at from a little before it on.
            let end = straight - AROUND;
            let aligned: align::Aligned = (0..end).map(|at| Some((at, f32::MAX))).collect();
            self.settle(ledger, &block, end, &aligned);
        } else {
            let front = if self.begun { align::BeforeFirst::usual(delay) } else { align::BeforeFirst::unknown(0) };
            // Where lengths differ much, a few packets settle a doubt.
            let short = self.begun && told;
            let rows = if short { tunnelled.get(..4 * AROUND).unwrap_or(tunnelled) } else { tunnelled };
            let end = if short { end.min(2 * AROUND) } else { end };
            let before = outage(&plain, rows, delay);
            let (rows, end) = (rows.get(..before).unwrap_or(rows), end.min(before));
            let align = |plain: &[align::Plain]| {
                align::align(plain, rows, front, delay, |m, inner, esp| self.mappings.makes(m, inner, esp))
            };
            let mut aligned = align(&plain);
            let items: Vec<PlainItem> = candidates.iter().map(|(_, item)| *item).collect();
            if hint(ledger, &items, &aligned) {
                plain = items.iter().map(|item| plain_of(self, item, ledger)).collect();
                aligned = align(&plain);
            }
            if !self.reread(ledger, readings, &block, (end, &aligned)) {
                self.settle(ledger, &block, end, &aligned);
            }
        }
    }

    /// Plaintext packets that were sent before the last of these, as far as its time tells: those of other tunnels, or of none, may be many more
    /// than those that it carries.
    fn sent_by(&self, places: &[Place], delay: Delay) -> usize {
        /// Packets beyond which none is looked at.
        const MOST: usize = 4_096;
        let last = places.iter().rev().find(|place| !place.hole);
        let Some((last, base)) = last.zip(delay.base) else { return 0 };
        let sent = last.item.ns.saturating_sub(base as i64).saturating_add(slack(delay));
        self.plain.partition_point(|item| item.ns <= sent).min(MOST)
    }

    /// Brings both sides to the same time after a stretch that one of them lacks: the packets of the other that lie before are left
    /// alone. How many of the `commit` packets in the tunnel remain.
    fn synchronise(&mut self, ledger: &mut Ledger, commit: usize, delay: Delay) -> usize {
        let Some(base) = delay.base else { return commit };
        let least = if self.begun { OUTAGE } else { 0 };
        let slack = slack(delay);
        let Some(first) = self.tunnelled().front() else { return 0 };
        let sent = first.ns.saturating_sub(base as i64).saturating_sub(slack);
        let old = self.plain.iter().take_while(|item| item.ns < sent).count();
        if old > least && !self.is_overtaken(commit) && !self.goes_on(ledger, delay) {
            let old: Vec<PlainItem> = self.plain.drain(..old).collect();
            // What is given up makes a flow look as if it went elsewhere.
            old.iter().for_each(|item| self.pass(ledger, item));
            old.iter().for_each(|item| ledger.give_up(item.serial, None, UNNAMED));
        }
        let Some(first) = self.plain.front() else { return commit };
        let seen = first.ns.saturating_add(base as i64).saturating_sub(slack);
        // Where few are due, those behind them tell that a stretch is missing.
        let early = self.tunnelled().iter().take(commit + AHEAD).take_while(|item| item.ns < seen).count();
        if early <= least {
            return commit;
        }
        self.pass_over(ledger, seen);
        commit.saturating_sub(early)
    }

    /// Leaves the next packets in the tunnel alone, up to this time. Their numbers are no longer waited for.
    fn pass_over(&mut self, ledger: &mut Ledger, until: i64) {
        let early = self.tunnelled().iter().take_while(|item| item.ns < until).count().max(1);
        let early = early.min(self.tunnelled().len());
        let passed: Vec<TunnelItem> = self.tunnelled_mut().drain(..early).collect();
        self.pass_tunnelled(passed.len() as u64);
        for item in passed {
            ledger.leave(item.serial, TunnelledFate::Alone);
            if let Some(counter) = self.counters.get_mut(item.sa) {
                counter.settled = counter.settled.max(Some((item.run, item.number)));
            }
        }
    }

    /// Whether packets wait whose numbers are below that of the first: they were sent before it and came later.
    fn is_overtaken(&self, commit: usize) -> bool {
        let Some(first) = self.tunnelled().front() else { return false };
        let mut next = self.tunnelled().iter().take(commit + AHEAD);
        next.any(|item| item.sa == first.sa && item.run == first.run && item.number < first.number)
    }

    /// Whether the packets that wait fit by their lengths as they come: then a queue has grown, and nothing was lost.
    fn goes_on(&self, ledger: &Ledger, delay: Delay) -> bool {
        /// Packets that are looked at.
        const NEXT: usize = 16;
        let places = self.places(NEXT);
        let rows: Vec<align::Tunnelled> = places.iter().map(|place| self.tunnelled_of(place, ledger)).collect();
        let plain: Vec<align::Plain> =
            self.plain.iter().take(rows.len()).map(|item| self.plain_of(item, ledger)).collect();
        let lengths: HashSet<u32, FixedState> = plain.iter().map(|packet| packet.bytes).collect();
        self.begun && lengths.len() > 3 && self.straight(&plain, &rows, delay) == rows.len()
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
                && !self.mappings.makes(b.mapping, a.bytes, esp)
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

    fn settle(&mut self, ledger: &mut Ledger, block: &LaneBlock, end: usize, aligned: &align::Aligned) {
        let LaneBlock { places, candidates, .. } = block;
        let mut differences: Vec<i64> = Vec::with_capacity(end);
        let (mut consumed, mut found) = (0, 0);
        let mut alone: Vec<usize> = Vec::new();
        for (at, (place, aligned)) in places.iter().zip(aligned).enumerate().take(end) {
            let item = place.item;
            let counterpart = aligned.and_then(|(j, gap)| {
                let confidence = self.confidence(gap).min(self.distinct(candidates, j, item.ns));
                Some((j, candidates.get(j)?.1, confidence))
            });
            if let Some((j, _, _)) = counterpart {
                for (_, item) in candidates.get(consumed..j).unwrap_or_default() {
                    self.pass(ledger, item);
                }
                consumed = consumed.max(j + 1);
            }
            if place.hole {
                let hole = Hole {
                    plain: counterpart.and_then(|(_, plain, _)| Some((plain.serial, *ledger.plain.get(plain.serial)?))),
                    confidence: counterpart.map_or(0.0, |(_, _, confidence)| confidence),
                };
                self.pass_plain(u64::from(counterpart.is_some()));
                self.remember((item.sa, item.number), hole);
            } else if let Some((_, plain, confidence)) = counterpart {
                found += usize::from(ledger.flows.class(plain.flow) == Class::Unknown);
                if ledger.pair(plain.serial, item.serial, PairBasis::Order, confidence) {
                    differences.push(item.ns.saturating_sub(plain.ns));
                    self.kept.add(plain.bytes);
                    let stretch = self.stretch(&item);
                    ledger.belongs(item.serial, stretch);
                }
            } else {
                alone.push(at);
                self.pass_tunnelled(1);
            }
            if self.encapsulated
                && let Some(counter) = self.counters.get_mut(item.sa)
            {
                if let Some((run, number)) = counter.settled
                    && run == item.run
                    && item.number > number + 1
                {
                    self.jumped += (item.number - number - 1).unsigned_abs();
                    counter.forgotten = counter.forgotten.max(item.number - 1);
                }
                counter.settled = Some((item.run, item.number));
            }
        }
        // Before what is left over: a beginning knows less of the times than the pairs beside it.
        self.delay = Delay::learn(self.delay, &differences, self.encapsulated, !self.begun).or(self.delay);
        self.rescue(ledger, block, &alone, consumed);
        self.crossed += self.crossings(ledger, block, &alone, consumed);
        self.fit_outside(ledger, block, &alone);
        self.overtaken.tunnelled(ledger, block, &alone);
        // The plaintext packets up to the last that was used: what was not paired was lost.
        let behind = consumed.checked_sub(1).and_then(|last| candidates.get(last)).map_or(0, |(at, _)| at + 1);
        let (lost, strange) = self.leave_lost(ledger, places.get(..end).unwrap_or(places), behind);
        self.seen_loss.add(differences.len(), lost);
        self.strangers.add(found, strange);
        self.join(ledger, places.get(..end).and_then(<[Place]>::last).map(|place| place.item.ns));
        self.forget(places, end);
        self.begun = true;
    }

    /// Gives up the first plaintext packets of those that wait, as far as they do: how many are of flows in the tunnel, and of such as are not known.
    fn leave_lost(&mut self, ledger: &mut Ledger, places: &[Place], behind: usize) -> (usize, usize) {
        let holes: Vec<(Serial, (u32, i64))> = places
            .iter()
            .filter(|place| place.hole)
            .filter_map(|place| {
                let key = (place.item.sa, place.item.number);
                Some((self.holes.get(&key)?.plain?.0, key))
            })
            .collect();
        let (mut lost, mut strange) = (0, 0);
        for item in self.plain.drain(..behind) {
            if ledger.plain.get(item.serial).is_some_and(|p| p.fate == PlainFate::Waiting) {
                let class = ledger.flows.class(item.flow);
                lost += usize::from(class == Class::Selected);
                strange += usize::from(class == Class::Unknown);
                let hole = holes.iter().find(|(serial, _)| *serial == item.serial).map(|(_, hole)| *hole);
                let confidence = hole.and_then(|hole| self.holes.get(&hole)).map_or(0.5, |hole| hole.confidence);
                let raw = hole
                    .map(|(sa, number)| (sa, self.counters.get(sa).map_or(0, |counter| counter.raw_number(number))));
                ledger.give_up(item.serial, raw, confidence);
                self.overtaken.plain(ledger, item, raw.is_some());
            }
        }
        (lost, strange)
    }

    /// Takes settled packets out of the queue.
    fn forget(&mut self, places: &[Place], end: usize) {
        let done = || places.iter().take(end).filter(|place| !place.hole).map(|place| place.item.serial);
        let count = done().count();
        let waiting = self.tunnelled_mut();
        if done().eq(waiting.iter().take(count).map(|item| item.serial)) {
            waiting.drain(..count);
            return;
        }
        let done: HashSet<Serial, FixedState> = done().collect();
        // Sorting by number moved packets within the places that were looked at.
        let window = places.len().min(waiting.len()).max(count);
        let kept: Vec<TunnelItem> = waiting.drain(..window).filter(|item| !done.contains(&item.serial)).collect();
        for item in kept.into_iter().rev() {
            waiting.push_front(item);
        }
    }
}
