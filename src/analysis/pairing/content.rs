//! Packets found by what is in them: an index of those that wait.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};

use foldhash::fast::FixedState;

use super::identity::Identity;
use super::ledger::Serial;

/// Packets by the key of their identity. Several may have the same: a traffic generator sends thousands that are alike.
#[derive(Debug, Default)]
pub(super) struct Index {
    waiting: HashMap<u64, Waiting, FixedState>,
}

/// The packets with one key, the earliest first.
#[derive(Debug)]
enum Waiting {
    One(Serial),
    Several(VecDeque<Serial>),
}

/// Packets with one key that are looked at: packets that are alike in their first octets and were not wholly captured.
const LOOKED_AT: usize = 64;

impl Index {
    pub(super) fn insert(&mut self, identity: Identity, serial: Serial) {
        match self.waiting.entry(identity.key) {
            Entry::Vacant(place) => {
                place.insert(Waiting::One(serial));
            }
            Entry::Occupied(mut place) => match place.get_mut() {
                Waiting::Several(serials) => {
                    serials.insert(serials.partition_point(|own| *own < serial), serial);
                }
                Waiting::One(only) => {
                    let both = [serial.min(*only), serial.max(*only)];
                    place.insert(Waiting::Several(both.into()));
                }
            },
        }
    }

    pub(super) fn remove(&mut self, identity: Identity, serial: Serial) {
        let Entry::Occupied(mut place) = self.waiting.entry(identity.key) else { return };
        let empty = match place.get_mut() {
            Waiting::One(only) => *only == serial,
            Waiting::Several(serials) => {
                if let Ok(at) = serials.binary_search(&serial) {
                    serials.remove(at);
                }
                serials.is_empty()
            }
        };
        if empty {
            place.remove();
        }
    }

    /// The earliest packet that `agrees`, and whether there is more than one.
    pub(super) fn find(&self, identity: Identity, agrees: impl Fn(Serial) -> bool) -> Option<(Serial, bool)> {
        match self.waiting.get(&identity.key)? {
            Waiting::One(serial) => agrees(*serial).then_some((*serial, false)),
            Waiting::Several(serials) => {
                let mut fitting = serials.iter().copied().take(LOOKED_AT).filter(|serial| agrees(*serial));
                let first = fitting.next()?;
                Some((first, fitting.next().is_some()))
            }
        }
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
        for serial in [9, 6, 1, 300] {
            index.insert(alike, serial);
        }
        index.insert(Identity { key: 8, ..alike }, 0);
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
}
