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
#[derive(Debug, Default)]
pub(in crate::matching) struct Repeats {
    /// Times of those that are remembered, and the number of the first of them.
    latest: VecDeque<i64>,
    first: u64,
    chains: Chains,
    /// How often contents came again.
    again: Digested<u32>,
    /// Packets that repeat one seen shortly before.
    pub(in crate::matching) seen: u64,
}

/// Packets that are remembered; a 10G link shows 150,000 in the time of the window.
const MOST: usize = 1 << 18;
/// How often a TAP shows a packet again.
const RARE: u32 = 2;

/// Equal packets, and the number of the last of them; of several at one time the first one counts.
#[derive(Clone, Copy, Debug)]
struct NumberedChain {
    key: u64,
    chain: Chain,
    number: u64,
}

/// Chains by their content. Those whose packets are no longer remembered stay until there is no room.
#[derive(Debug, Default)]
struct Chains {
    /// A power of two of places, or none. A key lies at the place that its low bits name, or behind it with no vacant place between.
    places: Vec<Option<NumberedChain>>,
    taken: usize,
}

impl Chains {
    /// The place of a chain, or the vacant one where it would be. `first`: number of the first packet that is remembered.
    #[inline]
    fn place(&mut self, key: u64, first: u64) -> Option<&mut Option<NumberedChain>> {
        // At least half of the places are vacant.
        if self.taken * 2 >= self.places.len() {
            self.make_room(first);
        }
        let mask = self.places.len().wrapping_sub(1);
        let mut at = key as usize & mask;
        while let Some(Some(own)) = self.places.get(at)
            && own.key != key
        {
            at = (at + 1) & mask;
        }
        let place = self.places.get_mut(at)?;
        self.taken += usize::from(place.is_none());
        Some(place)
    }

    /// Drops chains whose packets are no longer remembered.
    #[cold]
    fn make_room(&mut self, first: u64) {
        const LEAST: usize = 1 << 10;
        let is_kept = |own: &NumberedChain| own.number >= first;
        let kept = self.places.iter().flatten().filter(|own| is_kept(own)).count();
        let room = (kept * 4).next_power_of_two().max(LEAST);
        let mut places: Vec<Option<NumberedChain>> = vec![None; room];
        for own in self.places.iter().flatten().filter(|own| is_kept(own)) {
            let mut at = own.key as usize & (room - 1);
            while places.get(at).is_some_and(Option::is_some) {
                at = (at + 1) & (room - 1);
            }
            if let Some(place) = places.get_mut(at) {
                *place = Some(*own);
            }
        }
        (self.places, self.taken) = (places, kept);
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
        let place = self.chains.place(key, self.first)?;
        let Some(own) = place.as_mut().filter(|own| own.number >= self.first) else {
            *place = Some(NumberedChain { key, chain: Chain::EMPTY.then(ns), number });
            return None;
        };
        if own.chain.latest() != Some(ns) {
            own.number = number;
        }
        let chain = own.chain.before(ns);
        own.chain = chain.then(ns);
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
