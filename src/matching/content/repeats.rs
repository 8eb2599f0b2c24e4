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
    seen: u64,
    gaps: Gaps,
}

impl Default for Repeats {
    fn default() -> Self {
        let (latest, equal, again, gaps) = Default::default();
        Self { latest, first: 1, equal, again, seen: 0, gaps }
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

/// How far packets of contents that come again and again are from the one before, in powers of two of a nanosecond.
#[derive(Debug, Default)]
struct Gaps {
    copies: [u64; Self::CLASSES],
    others: [u64; Self::CLASSES],
}

impl Gaps {
    /// The last one holds all that are longer than the window of copies.
    const CLASSES: usize = COPY_WINDOW_NS.ilog2() as usize + 2;
    /// Of the copies as many may be further from their packets than others are from each other, and of the others as many nearer.
    const STRAY_OF: u64 = 20;

    fn add(&mut self, gap_ns: Option<i64>, is_copy: bool) {
        let class = gap_ns.map_or(Self::CLASSES - 1, |gap| gap.max(1).ilog2() as usize);
        let gaps = if is_copy { &mut self.copies } else { &mut self.others };
        if let Some(count) = gaps.get_mut(class) {
            *count += 1;
        }
    }

    /// Whether a TAP may have made the copies: nearly all packets have theirs, or these are nearer to their packets than packets are to each
    /// other. What a generator sends at random has all gaps.
    fn are_of_tap(&self) -> bool {
        let [copies, others] = [&self.copies, &self.others].map(|gaps| gaps.iter().sum::<u64>());
        let until = |gaps: &[u64], count: u64| {
            let mut sum = 0;
            gaps.iter()
                .take_while(|own| {
                    sum += **own;
                    sum <= count
                })
                .count()
        };
        copies * 5 >= others * 4
            || until(&self.copies, copies.saturating_sub(copies / Self::STRAY_OF + 1))
                < until(&self.others, others / Self::STRAY_OF)
    }
}

impl Repeats {
    /// Packets that repeat one seen shortly before, as copies of a TAP do.
    pub(in crate::matching) fn count(&self) -> u64 {
        let random = if self.gaps.are_of_tap() { 0 } else { self.gaps.copies.iter().sum() };
        self.seen.saturating_sub(random)
    }

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
        let chain = self.equal.replace(key, number, (self.first, &self.latest));
        let gap = chain.and_then(|chain| chain.latest()).map(|latest| ns.saturating_sub(latest));
        if !chain.is_some_and(|chain| chain.is_copied_at(ns)) {
            if self.again.get(key).is_some_and(|again| *again > RARE) {
                self.gaps.add(gap, false);
            }
            return None;
        }
        self.seen += 1;
        if self.again.len() >= MOST && self.again.get(key).is_none() {
            return Some(true);
        }
        let (again, _) = self.again.entry(key, || 0)?;
        *again = again.saturating_add(1);
        let is_rare = *again <= RARE;
        if !is_rare {
            self.gaps.add(gap, true);
        }
        Some(is_rare)
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

    /// Copies count, of all packets or in bursts; what is sent at random does not, though much of it is close to an equal one.
    #[test]
    fn equal_packets_at_random_do_not_count() {
        let ms = 1_000_000;
        let count = |times: &[i64]| {
            let mut repeats = Repeats::default();
            times.iter().for_each(|ns| _ = repeats.add(identity(7), *ns));
            repeats.count()
        };
        let copied = |is_copied: fn(i64) -> bool| -> Vec<i64> {
            let time = |n: i64| n * 3 * ms + n * n % 7 * 100_000;
            (0..1_000)
                .flat_map(|n| [Some(time(n)), is_copied(n).then(|| time(n) + 3_000 + n % 5 * 1_000)])
                .flatten()
                .collect()
        };
        assert_eq!(count(&copied(|_| true)), 1_000);
        assert_eq!(count(&copied(|n| n / 50 % 3 == 0)), 350);
        for mean in [1, 5, 20] {
            let mut noise = 0x9e37_79b9_7f4a_7c15_u64;
            let mut at = 0;
            let random: Vec<i64> = std::iter::repeat_with(|| {
                noise ^= noise << 13;
                noise ^= noise >> 7;
                noise ^= noise << 17;
                let share = (noise >> 11) as f64 / (1_u64 << 53) as f64;
                at += (-(1.0 - share).ln() * (mean * ms) as f64) as i64;
                at
            })
            .take(2_000)
            .collect();
            assert!(count(&random) <= u64::from(RARE), "{mean} ms: {}", count(&random));
        }
    }
}
