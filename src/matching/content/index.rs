//! Packets found by what is in them: an index of those that wait.

use std::cell::Cell;
use std::collections::{HashSet, VecDeque};
use std::num::NonZeroU64;

use foldhash::fast::FixedState;

use super::digested::Digested;
use super::identity::Identity;
use crate::matching::limits::MAX_ALIKE;
use crate::matching::packets::ledger::Serial;

/// Packets by the key of their identity. Several may have the same: a traffic generator sends thousands that are alike.
#[derive(Debug, Default)]
pub(in crate::matching) struct Index {
    waiting: Digested<Waiting>,
    /// Those that are alike, the earliest first; and places of this list that are vacant.
    several: Vec<VecDeque<Serial>>,
    vacant: Vec<u64>,
    /// Packets for which none was found, but not all that might be were compared.
    missed: Cell<u64>,
    /// Keys that came lately, each at its value modulo the number of places.
    latest: Vec<u64>,
    /// Keys that came more than once.
    again: HashSet<u64, FixedState>,
}

/// Keys of packets that came lately: a generator repeats its packets soon.
const LATEST: usize = 1 << 10;
/// How many keys that came more than once are remembered.
const AGAIN: usize = 1 << 12;
/// How many packets that are alike are looked at on either side of a time.
const NEAR: usize = 8;

/// The packets with one key, in one word, so that many of them fit into the cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Waiting(NonZeroU64);

/// What came of a search among packets that are alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::matching) enum Search {
    Found(Serial),
    None,
    /// None was found, but not all that might be were compared.
    Ended,
}

/// What it says.
enum Packets {
    One(Serial),
    /// Those at this place of [`Index::several`].
    Several(u64),
}

impl Waiting {
    /// The bit that tells a place from a packet.
    const SEVERAL: u64 = 1 << 63;

    const fn one(serial: Serial) -> Self {
        Self(NonZeroU64::MIN.saturating_add(serial))
    }

    const fn several(place: u64) -> Self {
        Self(NonZeroU64::MIN.saturating_add(place | Self::SEVERAL))
    }

    #[inline]
    const fn packets(self) -> Packets {
        let own = self.0.get() - 1;
        if own & Self::SEVERAL == 0 { Packets::One(own) } else { Packets::Several(own & !Self::SEVERAL) }
    }
}

impl Index {
    pub(in crate::matching) fn insert(&mut self, identity: Identity, serial: Serial) {
        self.note(identity);
        let Some((own, true)) = self.waiting.entry(identity.key, || Waiting::one(serial)) else { return };
        match own.packets() {
            Packets::Several(place) => {
                if let Some(serials) = self.several.get_mut(place as usize) {
                    serials.insert(serials.partition_point(|own| *own < serial), serial);
                }
            }
            Packets::One(only) => {
                let both: VecDeque<Serial> = [serial.min(only), serial.max(only)].into();
                let place = self.vacant.pop().unwrap_or(self.several.len() as u64);
                match self.several.get_mut(place as usize) {
                    Some(vacant) => *vacant = both,
                    None => self.several.push(both),
                }
                *own = Waiting::several(place);
                // The packets that came lately do not show it where others came in between.
                self.remember(identity.key);
            }
        }
    }

    /// The packets with a key that are alike.
    fn alike(&self, place: u64) -> Option<&VecDeque<Serial>> {
        self.several.get(place as usize)
    }

    fn remember(&mut self, key: u64) {
        if self.again.len() < AGAIN {
            self.again.insert(key);
        }
    }

    /// Takes note of a packet, whether it waits or not.
    pub(in crate::matching) fn note(&mut self, identity: Identity) {
        if self.latest.is_empty() {
            self.latest = vec![0; LATEST];
        }
        if self.is_latest(identity) {
            self.remember(identity.key);
        }
        if let Some(place) = self.latest.get_mut(identity.key as usize % LATEST) {
            *place = identity.key;
        }
    }

    /// Whether a packet came lately.
    pub(in crate::matching) fn is_latest(&self, identity: Identity) -> bool {
        self.latest.get(identity.key as usize % LATEST) == Some(&identity.key)
    }

    /// Whether no packet waits.
    pub(in crate::matching) const fn is_empty(&self) -> bool {
        self.waiting.len() == 0
    }

    /// Whether several packets were alike.
    pub(in crate::matching) fn is_repeated(&self, identity: Identity) -> bool {
        !self.again.is_empty() && self.again.contains(&identity.key)
    }

    /// Of packets that are alike the one that agrees and costs least, and whether there is more than one. `before` says which lie before
    /// the time that is looked for.
    pub(in crate::matching) fn nearest(
        &self,
        identity: Identity,
        before: impl Fn(Serial) -> bool,
        cost: impl Fn(Serial) -> Option<u64>,
    ) -> Option<(Serial, bool)> {
        match self.waiting.get(identity.key)?.packets() {
            Packets::One(serial) => cost(serial).map(|_| (serial, false)),
            Packets::Several(place) => {
                let serials = self.alike(place)?;
                let at = serials.partition_point(|serial| before(*serial));
                let near = serials.range(at.saturating_sub(NEAR)..serials.len().min(at + NEAR));
                near.filter_map(|serial| Some((cost(*serial)?, *serial))).min().map(|(_, serial)| (serial, true))
            }
        }
    }

    pub(in crate::matching) fn remove(&mut self, identity: Identity, serial: Serial) {
        let Self { waiting, several, vacant, .. } = self;
        waiting.remove_if(identity.key, |own| match own.packets() {
            Packets::One(only) => only == serial,
            Packets::Several(place) => {
                let Some(serials) = several.get_mut(place as usize) else { return true };
                if let Ok(at) = serials.binary_search(&serial) {
                    serials.remove(at);
                }
                let is_done = serials.is_empty();
                vacant.extend(is_done.then_some(place));
                is_done
            }
        });
    }

    /// The earliest packet that `agrees`, and whether there is more than one.
    pub(in crate::matching) fn find(
        &self,
        identity: Identity,
        agrees: impl Fn(Serial) -> bool,
    ) -> Option<(Serial, bool)> {
        match self.waiting.get(identity.key)?.packets() {
            Packets::One(serial) => agrees(serial).then_some((serial, false)),
            Packets::Several(place) => {
                let serials = self.alike(place)?;
                let mut fitting = serials.iter().copied().take(MAX_ALIKE).filter(|serial| agrees(*serial));
                let Some(first) = fitting.next() else {
                    self.missed.set(self.missed.get() + u64::from(serials.len() > MAX_ALIKE));
                    return None;
                };
                Some((first, fitting.next().is_some()))
            }
        }
    }

    /// The earliest packet that `agrees`, of those that do not lie `before` a time; whether there is none, or none was found among as many as are compared.
    pub(in crate::matching) fn find_from(
        &self,
        identity: Identity,
        before: impl Fn(Serial) -> bool,
        agrees: impl Fn(Serial) -> bool,
    ) -> Search {
        match self.waiting.get(identity.key).map(|own| own.packets()) {
            None => Search::None,
            Some(Packets::One(serial)) if agrees(serial) => Search::Found(serial),
            Some(Packets::One(_)) => Search::None,
            Some(Packets::Several(place)) => {
                let Some(serials) = self.alike(place) else { return Search::None };
                let rest = serials.range(serials.partition_point(|serial| before(*serial))..);
                let is_bound = rest.len() > MAX_ALIKE;
                match rest.copied().take(MAX_ALIKE).find(|serial| agrees(*serial)) {
                    Some(serial) => Search::Found(serial),
                    None if is_bound => {
                        self.missed.set(self.missed.get() + 1);
                        Search::Ended
                    }
                    None => Search::None,
                }
            }
        }
    }

    /// Whether any packets were alike.
    pub(in crate::matching) fn has_repeats(&self) -> bool {
        !self.again.is_empty()
    }

    /// Packets for which none was found among those compared, while there were more.
    pub(in crate::matching) fn missed(&self) -> u64 {
        self.missed.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_packets_that_are_alike_the_earliest_comes_first() {
        let alike = Identity { key: 7, whole: None };
        let mut index = Index::default();
        assert_eq!(index.find(alike, |_| true), None);
        index.insert(alike, 5);
        assert_eq!(index.find(alike, |_| true), Some((5, false)));
        // Another key takes its place among the latest.
        index.insert(Identity { key: 7 + LATEST as u64, ..alike }, 6);
        assert!(!index.is_latest(alike) && !index.is_repeated(alike));
        for serial in [9, 6, 1, 300] {
            index.insert(alike, serial);
        }
        index.insert(Identity { key: 8, ..alike }, 0);
        assert!(index.is_repeated(alike), "two of them wait");
        assert_eq!(index.find(alike, |_| true), Some((1, true)));
        assert_eq!(index.find(alike, |serial| serial > 200), Some((300, false)));
        for serial in [6, 1, 2, 9] {
            index.remove(alike, serial);
        }
        assert_eq!(index.find(alike, |_| true), Some((5, true)));
        index.remove(alike, 5);
        index.remove(alike, 300);
        assert_eq!(index.find(alike, |_| true), None);
    }

    #[test]
    fn packets_that_begin_alike_are_compared_up_to_the_limit() {
        let alike = Identity { key: 7, whole: None };
        let mut index = Index::default();
        let last = MAX_ALIKE as u64;
        (0..last).for_each(|serial| index.insert(alike, serial));
        assert_eq!((index.find(alike, |_| false), index.missed()), (None, 0), "all were compared");
        index.insert(alike, last);
        assert_eq!((index.find(alike, |serial| serial == last), index.missed()), (None, 1), "one was not");
        assert_eq!((index.find(alike, |serial| serial > 60), index.missed()), (Some((61, true)), 1));
    }

    #[test]
    fn packets_that_are_alike_are_compared_from_a_time_on() {
        let alike = Identity { key: 7, whole: None };
        let mut index = Index::default();
        let (early, last) = (2 * MAX_ALIKE as u64, 3 * MAX_ALIKE as u64);
        assert_eq!(index.find_from(alike, |_| false, |_| true), Search::None);
        (0..last).for_each(|serial| index.insert(alike, serial));
        let before = |serial| serial < early;
        assert_eq!(index.find_from(alike, before, |_| true), Search::Found(early), "those before are not compared");
        assert_eq!((index.find_from(alike, before, |_| false), index.missed()), (Search::None, 0));
        assert_eq!((index.find_from(alike, |_| false, |serial| serial >= early), index.missed()), (Search::Ended, 1));
    }
}
