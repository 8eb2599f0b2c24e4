//! Packets that a TAP or SPAN port shows again on a plaintext side.
//!
//! By the plain side alone copies look like packets that were sent again at once. So a first look pairs the beginning of the captures with and
//! without them (`engine/pairing/copies.rs`): what the tunnel carries once was sent once. Where there is no such look, what repeats others and has no
//! counterpart is left open.

use std::collections::VecDeque;

use crate::analysis::limits::COPY_WINDOW_NS;
use crate::analysis::state::traffic::copies::chain::Chain;
use crate::matching::content::digested::Digested;
use crate::matching::content::identity::Identity;
use crate::matching::packets::ledger::Plain;

/// The packets of the last moments, by content.
#[derive(Debug)]
pub(in crate::matching) struct Repeats {
    /// Times of those that are remembered, and the number of the first of them: they are numbered from 1 on.
    latest: VecDeque<i64>,
    first: u64,
    equal: Latest,
    /// How often contents came again.
    again: Digested<u32>,
    /// Packets that repeat one seen shortly before.
    pub(in crate::matching) seen: u64,
}

impl Default for Repeats {
    fn default() -> Self {
        let (latest, equal, again) = Default::default();
        Self { latest, first: 1, equal, again, seen: 0 }
    }
}

/// Packets that are remembered; a 10G link shows 150,000 in the time of the window.
const MOST: usize = 1 << 18;
/// How often a TAP shows a packet again.
const RARE: u32 = 2;

/// The last of equal packets, in two words; of several at one time the first counts.
#[derive(Clone, Copy, Debug)]
struct LatestEqual {
    key: u64,
    /// Number of the packet, and behind it the place of the chain of those that have equals before them, from 1 on; 0 is none.
    numbered: u64,
}

impl LatestEqual {
    const NONE: Self = Self { key: 0, numbered: 0 };
    /// More than chains there is room for; numbers have as many bits as those of frames.
    const CHAIN_BITS: u32 = 24;

    const fn is_none(self) -> bool {
        self.numbered == 0
    }

    const fn number(self) -> u64 {
        self.numbered >> Self::CHAIN_BITS
    }

    /// Place of the chain, from 0 on.
    const fn chain(self) -> Option<usize> {
        ((self.numbered & ((1 << Self::CHAIN_BITS) - 1)) as usize).checked_sub(1)
    }

    const fn set_number(&mut self, number: u64) {
        self.numbered = number << Self::CHAIN_BITS | self.numbered & ((1 << Self::CHAIN_BITS) - 1);
    }

    /// Adds the packet to the latest chain; `chains`: number of chains.
    const fn set_chain(&mut self, chains: usize) {
        self.numbered = self.number() << Self::CHAIN_BITS | chains as u64;
    }
}

/// The last packet of each content. Those that are no longer remembered stay until there is no room.
#[derive(Debug, Default)]
struct Latest {
    /// A power of two of places, or none. A key lies at the place that its low bits name, or behind it with no vacant place between.
    places: Vec<LatestEqual>,
    taken: usize,
    chains: Vec<Chain>,
    /// Room for the next places.
    spare: Vec<LatestEqual>,
}

impl Latest {
    /// The place of a key, or the vacant one where it would be. `first`: number of the first packet that is remembered; `remembered`: how many are.
    #[inline]
    fn place(&mut self, key: u64, (first, remembered): (u64, usize)) -> Option<usize> {
        // At least half of the places are vacant.
        if self.taken * 2 >= self.places.len() {
            self.make_room(first, remembered);
        }
        let mask = self.places.len().wrapping_sub(1);
        let mut at = key as usize & mask;
        loop {
            match self.places.get(at) {
                Some(own) if own.is_none() => {
                    self.taken += 1;
                    return Some(at);
                }
                Some(own) if own.key != key => at = (at + 1) & mask,
                Some(_) => return Some(at),
                None => return None,
            }
        }
    }

    /// Drops what is no longer remembered.
    #[cold]
    fn make_room(&mut self, first: u64, remembered: usize) {
        const LEAST: usize = 1 << 10;
        /// Places for each: the more, the longer until the next time.
        const TIMES: usize = 8;
        let room = (remembered * TIMES).next_power_of_two().max(LEAST);
        let mut places = std::mem::take(&mut self.spare);
        places.clear();
        places.resize(room, LatestEqual::NONE);
        let (mut chains, mut taken) = (Vec::new(), 0);
        for own in self.places.iter().filter(|own| own.number() >= first) {
            let mut at = own.key as usize & (room - 1);
            while places.get(at).is_some_and(|own| !own.is_none()) {
                at = (at + 1) & (room - 1);
            }
            if let Some(place) = places.get_mut(at) {
                *place = *own;
                taken += 1;
                if let Some(chain) = own.chain().and_then(|at| self.chains.get(at)) {
                    chains.push(*chain);
                    place.set_chain(chains.len());
                }
            }
        }
        (self.taken, self.chains) = (taken, chains);
        self.spare = std::mem::replace(&mut self.places, places);
    }

    /// Takes in the next packet of a key, of this `number`; the chain that it continues, if it does. `times`: those of the packets that are
    /// remembered, the first of which has the number `first`.
    #[inline]
    fn replace(&mut self, key: u64, number: u64, (first, times): (u64, &VecDeque<i64>)) -> Option<Chain> {
        let place = self.place(key, (first, times.len()))?;
        let own = self.places.get_mut(place)?;
        let time = |number: u64| times.get(usize::try_from(number.checked_sub(first)?).ok()?).copied();
        let ns = time(number)?;
        let known = own.chain().and_then(|at| self.chains.get_mut(at));
        let Some(latest) = time(own.number()) else {
            own.key = key;
            own.set_number(number);
            if let Some(known) = known {
                *known = Chain::EMPTY.then(ns);
            }
            return None;
        };
        let before = known.as_ref().map_or(Chain::EMPTY.then(latest), |known| **known).before(ns);
        match known {
            Some(known) => *known = before.then(ns),
            None => {
                self.chains.push(before.then(ns));
                own.set_chain(self.chains.len());
            }
        }
        if latest != ns {
            own.set_number(number);
        }
        Some(before)
    }
}

impl Repeats {
    /// Whether a packet is one more of a cluster of equal ones, by the rule of reports (`tap-copies`). If it is: whether its content hardly ever
    /// comes again. Of equal packets that a generator sends at random some follow each other at once.
    pub(in crate::matching) fn repeats(&mut self, packet: &Plain) -> Option<bool> {
        packet.identity.zip(packet.time.ns()).and_then(|(identity, ns)| self.add(identity, ns))
    }

    fn add(&mut self, identity: Identity, ns: i64) -> Option<bool> {
        while let Some(time) = self.latest.front()
            && (ns.saturating_sub(*time) > COPY_WINDOW_NS || self.latest.len() >= MOST)
        {
            self.latest.pop_front();
            self.first += 1;
        }
        let key = identity.key ^ identity.whole.unwrap_or_default();
        let number = self.first + self.latest.len() as u64;
        self.latest.push_back(ns);
        let chain = self.equal.replace(key, number, (self.first, &self.latest))?;
        if !chain.is_copied_at(ns) {
            return None;
        }
        self.seen += 1;
        if self.again.len() >= MOST && self.again.get(key).is_none() {
            return Some(true);
        }
        let (again, _) = self.again.entry(key, || 0)?;
        *again = again.saturating_add(1);
        Some(*again <= RARE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(key: u64) -> Identity {
        Identity { key, whole: None }
    }

    fn repeated(times: impl IntoIterator<Item = (i64, u64)>) -> Vec<usize> {
        let mut repeats = Repeats::default();
        let all = times.into_iter().enumerate();
        all.filter_map(|(at, (ns, key))| repeats.add(identity(key), ns).map(|_| at)).collect()
    }

    #[test]
    fn copies_follow_at_once_and_equal_packets_at_their_pace() {
        let ms = 1_000_000;
        let twice = (0..6).flat_map(|n| [(n * ms, 7), (n * ms + 3_000, 7)]);
        assert_eq!(repeated(twice), [1, 3, 5, 7, 9, 11]);
        let paced = (0..50).map(|n| (n * ms, 7));
        assert!(repeated(paced).len() <= 3, "the first four of a chain have nothing to be compared with");
        let others = (0..50).map(|n| (n * ms, n as u64));
        assert_eq!(repeated(others), [0_usize; 0]);
        let mut sent = Repeats::default();
        let again = (0..9).map(|n| sent.add(identity(7), n / 2 * 20 * ms + n % 2 * 3_000));
        assert_eq!(again.flatten().collect::<Vec<_>>(), [true, true, false, false]);
        let far = [(0, 7), (COPY_WINDOW_NS + 1, 7)];
        assert_eq!(repeated(far), [0_usize; 0]);
    }
}
