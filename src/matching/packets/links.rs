//! The two ways on the plaintext link: away from the gateway and towards it.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::FixedState;

use super::numbers::Numbers;
use crate::matching::limits::{MAX_COLOURS, MAX_LINKS};
use crate::model::Address;

/// Source and destination MAC.
pub(in crate::matching) type Macs = ([u8; 6], [u8; 6]);

/// Links of plaintext packets: by source and destination MAC, or, where there are none, by the two sides that addresses fall into.
#[derive(Debug, Default)]
pub(in crate::matching) struct Links {
    numbers: Numbers<Macs>,
    /// Each link with its frames.
    frames: Vec<(Macs, u64)>,
    colours: HashMap<Address, u8, FixedState>,
    /// Of each link, which way it is; 2 is neither. Links that came later are on neither.
    ways: Vec<u8>,
    /// Packets whose link or addresses found no room.
    pub(in crate::matching) refused: u64,
}

/// Numbers of the two ways where there are no MACs.
const COLOURED: u16 = u16::MAX - 1;

impl Links {
    /// Number of the link that a packet took.
    pub(in crate::matching) fn number(&mut self, macs: Option<Macs>, src: Address, dst: Address) -> u16 {
        let Some(macs) = macs else { return COLOURED + u16::from(self.colour(src, dst)) };
        let id = match self.numbers.get(macs) {
            Some(id) => id,
            // They share the first link.
            None if self.frames.len() >= MAX_LINKS => {
                self.refused += 1;
                return 0;
            }
            None => {
                let id = self.frames.len() as u32;
                self.numbers.insert(macs, id);
                self.frames.push((macs, 0));
                id
            }
        };
        if let Some((_, frames)) = self.frames.get_mut(id as usize) {
            *frames += 1;
        }
        id as u16
    }

    /// Without MACs: who talks to whom has two sides.
    fn colour(&mut self, src: Address, dst: Address) -> u8 {
        let (own, other) = (self.colours.get(&src), self.colours.get(&dst));
        let (known, new) = (own.is_some() || other.is_some(), own.is_none() || other.is_none());
        let colour = match (own, other) {
            (Some(colour), _) => *colour,
            (None, Some(other)) => 1 - *other,
            (None, None) => 0,
        };
        if new && self.colours.len() < MAX_COLOURS {
            self.colours.entry(src).or_insert(colour);
            self.colours.entry(dst).or_insert(1 - colour);
        } else {
            // Where one address is known, the way is.
            self.refused += u64::from(!known);
        }
        colour
    }

    /// Decides which way each link is: 0 towards the station with most frames, 1 away from it.
    pub(in crate::matching) fn decide(&mut self) {
        let mut stations: BTreeMap<[u8; 6], u64> = BTreeMap::new();
        for ((from, to), frames) in &self.frames {
            *stations.entry(*from).or_default() += frames;
            if to[0] & 1 == 0 {
                *stations.entry(*to).or_default() += frames;
            }
        }
        let centre = stations.iter().max_by_key(|(_, frames)| **frames).map(|(station, _)| *station);
        let way = |((from, to), _): &(Macs, u64)| match centre {
            Some(centre) if *to == centre => 0,
            Some(centre) if *from == centre => 1,
            _ => 2,
        };
        self.ways = self.frames.iter().map(way).collect();
    }

    /// The two ways change names.
    pub(in crate::matching) fn cross(&mut self) {
        self.ways.iter_mut().filter(|way| **way < 2).for_each(|way| *way = 1 - *way);
        self.colours.values_mut().for_each(|colour| *colour = 1 - *colour);
    }

    /// Which way a link is, 0 or 1.
    pub(in crate::matching) fn way(&self, link: u16) -> Option<usize> {
        match link.checked_sub(COLOURED) {
            Some(colour) => Some(usize::from(colour)),
            None => self.ways.get(usize::from(link)).copied().filter(|way| *way < 2).map(usize::from),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GATEWAY: [u8; 6] = [2, 0, 0, 0, 0, 1];

    fn host(number: u8) -> [u8; 6] {
        [2, 0, 0, 0, 1, number]
    }

    #[test]
    fn the_gateway_is_the_station_that_all_others_talk_with() {
        let mut links = Links::default();
        let nobody = Address::v4([10, 0, 0, 1]);
        let mut sent = |from, to, frames: u64| {
            let numbers: Vec<u16> = (0..frames).map(|_| links.number(Some((from, to)), nobody, nobody)).collect();
            assert!(numbers.windows(2).all(|pair| pair[0] == pair[1]), "one link, one number");
            numbers[0]
        };
        // The first host sends more than the gateway does, but nobody is in as many frames as the gateway.
        let to: Vec<u16> = (1..=3).map(|number| sent(host(number), GATEWAY, 4)).collect();
        let from: Vec<u16> = (1..=3).map(|number| sent(GATEWAY, host(number), 2)).collect();
        let beside = sent(host(1), host(2), 3);
        let group = sent(host(3), [1, 0, 0x5e, 0, 0, 1], 2);
        links.decide();
        let ways = |numbers: &[u16]| numbers.iter().map(|number| links.way(*number)).collect::<Vec<_>>();
        assert_eq!((ways(&to), ways(&from)), (vec![Some(0); 3], vec![Some(1); 3]));
        assert_eq!(ways(&[beside, group]), [None, None], "between hosts, neither to the gateway nor from it");
        links.cross();
        assert_eq!((links.way(to[0]), links.way(from[0]), links.way(beside)), (Some(1), Some(0), None));
    }

    #[test]
    fn without_macs_the_two_ends_of_a_conversation_are_on_two_sides() {
        let mut links = Links::default();
        let end = |last| Address::v4([10, 0, 0, last]);
        let there = links.number(None, end(1), end(2));
        let back = links.number(None, end(2), end(1));
        assert_ne!(there, back);
        // Whoever talks with one whose side is known is on the other.
        assert_eq!((links.number(None, end(3), end(2)), links.number(None, end(2), end(3))), (there, back));
        links.decide();
        let ways = (links.way(there), links.way(back));
        assert!(matches!(ways, (Some(0), Some(1)) | (Some(1), Some(0))), "{ways:?}");
    }
}
