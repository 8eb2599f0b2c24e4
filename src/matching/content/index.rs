//! Packets found by what is in them: an index of those that wait.

use std::cell::Cell;
use std::collections::{HashSet, VecDeque};

use foldhash::fast::FixedState;

use super::digested::Digested;
use super::identity::Identity;
use crate::matching::limits::MAX_ALIKE;
use crate::matching::packets::ledger::Serial;

/// Packets by the key of their identity. Several may have the same: a traffic generator sends thousands that are alike.
#[derive(Debug, Default)]
pub(in crate::matching) struct Index {
    waiting: Digested<Waiting>,
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

/// The packets with one key, the earliest first.
#[derive(Debug)]
enum Waiting {
    One(Serial),
    Several(VecDeque<Serial>),
}

impl Index {
    pub(in crate::matching) fn insert(&mut self, identity: Identity, serial: Serial) {
        self.note(identity);
        let Some((own, true)) = self.waiting.entry(identity.key, || Waiting::One(serial)) else { return };
        match own {
            Waiting::Several(serials) => {
                serials.insert(serials.partition_point(|own| *own < serial), serial);
            }
            Waiting::One(only) => {
                let both = [serial.min(*only), serial.max(*only)];
                *own = Waiting::Several(both.into());
                // The packets that came lately do not show it where others came in between.
                self.remember(identity.key);
            }
        }
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
        match self.waiting.get(identity.key)? {
            Waiting::One(serial) => cost(*serial).map(|_| (*serial, false)),
            Waiting::Several(serials) => {
                let at = serials.partition_point(|serial| before(*serial));
                let near = serials.range(at.saturating_sub(NEAR)..serials.len().min(at + NEAR));
                near.filter_map(|serial| Some((cost(*serial)?, *serial))).min().map(|(_, serial)| (serial, true))
            }
        }
    }

    pub(in crate::matching) fn remove(&mut self, identity: Identity, serial: Serial) {
        self.waiting.remove_if(identity.key, |own| match own {
            Waiting::One(only) => *only == serial,
            Waiting::Several(serials) => {
                if let Ok(at) = serials.binary_search(&serial) {
                    serials.remove(at);
                }
                serials.is_empty()
            }
        });
    }

    /// The earliest packet that `agrees`, and whether there is more than one.
    pub(in crate::matching) fn find(
        &self,
        identity: Identity,
        agrees: impl Fn(Serial) -> bool,
    ) -> Option<(Serial, bool)> {
        match self.waiting.get(identity.key)? {
            Waiting::One(serial) => agrees(*serial).then_some((*serial, false)),
            Waiting::Several(serials) => {
                let mut fitting = serials.iter().copied().take(MAX_ALIKE).filter(|serial| agrees(*serial));
                let Some(first) = fitting.next() else {
                    self.missed.set(self.missed.get() + u64::from(serials.len() > MAX_ALIKE));
                    return None;
                };
                Some((first, fitting.next().is_some()))
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
}
