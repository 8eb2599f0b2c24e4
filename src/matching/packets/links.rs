//! The two ways on the plaintext link: away from the gateway and towards it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use foldhash::fast::FixedState;

use super::flows::{FlowId, FlowKey, Flows};
use super::numbers::Numbers;
use crate::matching::limits::{MAX_COLOURS, MAX_LINKS};
use crate::model::Address;

type Mac = [u8; 6];

/// Source and destination MAC.
pub(in crate::matching) type Macs = (Mac, Mac);

/// Links of plaintext packets: by source and destination MAC, or, where there are none, by the two sides that addresses fall into.
#[derive(Debug, Default)]
pub(in crate::matching) struct Links {
    numbers: Numbers<Macs>,
    /// Each link with its frames.
    frames: Vec<(Macs, u64)>,
    colours: HashMap<Address, u8, FixedState>,
    /// Of each link, which way it is; 2 is neither.
    ways: Vec<u8>,
    /// Stations with the way of what they are sent: the one that all others talk with, and its peer where it has but one.
    stations: [Option<(Mac, u8)>; 2],
    /// Of each flow, the first link that it took, and the flows that took others, too.
    flows: Vec<Option<u16>>,
    several: HashSet<FlowId, FixedState>,
    /// Packets whose link or addresses found no room.
    pub(in crate::matching) refused: u64,
}

/// A link on neither way.
const NEITHER: u8 = 2;
/// Numbers of the two ways where there are no MACs.
const COLOURED: u16 = u16::MAX - 1;

impl Links {
    /// Number of the link that a packet of a flow took.
    pub(in crate::matching) fn number(
        &mut self,
        macs: Option<Macs>,
        (key, flow): (FlowKey, FlowId),
        flows: &mut Flows,
    ) -> u16 {
        let Some(macs) = macs else { return COLOURED + u16::from(self.colour(key.src, key.dst)) };
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
        let link = id as u16;
        if !self.ways.is_empty() && self.way(link).is_none() {
            self.late(link, macs, (key, flow), flows);
        }
        let at = flow as usize;
        if at >= self.flows.len() {
            self.flows.resize(at + 1, None);
        }
        if let Some(first) = self.flows.get_mut(at)
            && *first.get_or_insert(link) != link
        {
            self.several.insert(flow);
        }
        link
    }

    /// Whether this is the number of a link, and not one that it shares.
    pub(in crate::matching) fn is_number(&self, link: u16, macs: Option<Macs>) -> bool {
        macs.is_some() && self.frames.get(usize::from(link)).map(|(own, _)| *own) == macs
    }

    /// One more packet of a flow takes the link that it took before. False where it is not known which way that is: then nothing is counted, and
    /// the number is to be asked for.
    #[inline]
    pub(in crate::matching) fn again(&mut self, link: u16) -> bool {
        let is_known = self.ways.is_empty() || self.way(link).is_some();
        if let Some((_, frames)) = self.frames.get_mut(usize::from(link)).filter(|_| is_known) {
            *frames += 1;
        }
        is_known
    }

    /// Decides which way a link is that came after the others: stations begin to send late, and one gateway takes over from another.
    fn late(&mut self, link: u16, (from, to): Macs, (key, flow): (FlowKey, FlowId), flows: &mut Flows) {
        let at = usize::from(link);
        let back = self.numbers.get((to, from)).and_then(|id| self.way(id as u16)).map(|way| 1 - way as u8);
        let is_new = at >= self.ways.len();
        let by_station = || {
            let mut known = self.stations.iter().flatten();
            known.find_map(|(station, way)| match *station {
                own if own == to => Some(*way),
                own if own == from => Some(1 - *way),
                _ => None,
            })
        };
        let station = is_new.then(by_station).flatten();
        let way = back.or(station).or_else(|| self.way_of(key, flow, flows));
        if is_new {
            self.ways.resize(at + 1, NEITHER);
        }
        if let (Some(own), Some(way)) = (self.ways.get_mut(at), way) {
            *own = way;
        }
    }

    /// Which way the packets of a flow went before, or those that answer them did not.
    fn way_of(&self, key: FlowKey, flow: FlowId, flows: &mut Flows) -> Option<u8> {
        let way = |flow: FlowId| {
            let first = self.flows.get(flow as usize).copied().flatten()?;
            Some(self.way(first)? as u8)
        };
        let answers = flows.known(FlowKey { src: key.dst, dst: key.src, ..key });
        // A tap that shows packets on both sides of a router shows each of them twice.
        if self.several.contains(&flow) || answers.is_some_and(|answers| self.several.contains(&answers)) {
            return None;
        }
        // Flows beyond the limit share a number.
        let own = way(flow).filter(|_| flow != 0);
        own.or_else(|| answers.and_then(way).map(|way| 1 - way))
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
    pub(in crate::matching) fn decide(&mut self, flows: &mut Flows) {
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
            _ => NEITHER,
        };
        self.ways = self.frames.iter().map(way).collect();
        let peers: BTreeSet<Mac> = self
            .frames
            .iter()
            .filter_map(|((from, to), _)| match centre? {
                centre if *to == centre => Some(*from),
                centre if *from == centre && to[0] & 1 == 0 => Some(*to),
                _ => None,
            })
            .collect();
        let only = peers.first().filter(|_| peers.len() == 1);
        self.stations = [centre.map(|centre| (centre, 0)), only.map(|only| (*only, 1))];
        self.answers(flows);
    }

    /// A gateway may send with a MAC of its own and be sent to with one that it shares with another: answers go the other way.
    fn answers(&mut self, flows: &mut Flows) {
        for (flow, first) in self.flows.clone().into_iter().enumerate() {
            let id = flow as FlowId;
            let (Some(link), Some(key)) = (first.filter(|link| self.way(*link).is_none()), flows.key(id)) else {
                continue;
            };
            let way = self.way_of(key, id, flows);
            if let (Some(own), Some(way)) = (self.ways.get_mut(usize::from(link)), way) {
                *own = way;
            }
        }
    }

    /// The two ways change names.
    pub(in crate::matching) fn cross(&mut self) {
        self.ways.iter_mut().filter(|way| **way != NEITHER).for_each(|way| *way = 1 - *way);
        self.stations.iter_mut().flatten().for_each(|(_, way)| *way = 1 - *way);
        self.colours.values_mut().for_each(|colour| *colour = 1 - *colour);
    }

    /// Which way a link is, 0 or 1.
    pub(in crate::matching) fn way(&self, link: u16) -> Option<usize> {
        match link.checked_sub(COLOURED) {
            Some(colour) => Some(usize::from(colour)),
            None => self.ways.get(usize::from(link)).copied().filter(|way| *way != NEITHER).map(usize::from),
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

    fn talk(flows: &mut Flows, src: u8, dst: u8) -> (FlowKey, FlowId) {
        let key = FlowKey { src: Address::v4([10, 0, 0, src]), dst: Address::v4([10, 0, 0, dst]), protocol: 17 };
        (key, flows.number(key))
    }

    #[test]
    fn the_gateway_is_the_station_that_all_others_talk_with() {
        let mut links = Links::default();
        let mut flows = Flows::default();
        let mut sent = |from, to, frames: u64| {
            let flow = talk(&mut flows, 1, 1);
            let numbers: Vec<u16> = (0..frames).map(|_| links.number(Some((from, to)), flow, &mut flows)).collect();
            assert!(numbers.windows(2).all(|pair| pair[0] == pair[1]), "one link, one number");
            numbers[0]
        };
        // The first host sends more than the gateway does, but nobody is in as many frames as the gateway.
        let to: Vec<u16> = (1..=3).map(|number| sent(host(number), GATEWAY, 4)).collect();
        let from: Vec<u16> = (1..=3).map(|number| sent(GATEWAY, host(number), 2)).collect();
        let beside = sent(host(1), host(2), 3);
        let group = sent(host(3), [1, 0, 0x5e, 0, 0, 1], 2);
        links.decide(&mut flows);
        let ways = |numbers: &[u16]| numbers.iter().map(|number| links.way(*number)).collect::<Vec<_>>();
        assert_eq!((ways(&to), ways(&from)), (vec![Some(0); 3], vec![Some(1); 3]));
        assert_eq!(ways(&[beside, group]), [None, None], "between hosts, neither to the gateway nor from it");
        links.cross();
        assert_eq!((links.way(to[0]), links.way(from[0]), links.way(beside)), (Some(1), Some(0), None));
    }

    #[test]
    fn without_macs_the_two_ends_of_a_conversation_are_on_two_sides() {
        let mut links = Links::default();
        let mut flows = Flows::default();
        let mut sent = |src, dst| {
            let flow = talk(&mut flows, src, dst);
            links.number(None, flow, &mut flows)
        };
        let (there, back) = (sent(1, 2), sent(2, 1));
        assert_ne!(there, back);
        // Whoever talks with one whose side is known is on the other.
        assert_eq!((sent(3, 2), sent(2, 3)), (there, back));
        links.decide(&mut flows);
        let ways = (links.way(there), links.way(back));
        assert!(matches!(ways, (Some(0), Some(1)) | (Some(1), Some(0))), "{ways:?}");
    }

    /// A tap on both sides of a router shows each packet on two links: which way a later link is, the flow does not tell.
    #[test]
    fn a_flow_on_several_links_names_no_way() {
        let (mut links, mut flows) = (Links::default(), Flows::default());
        let mut sent = |links: &mut Links, from, to, src| {
            let flow = talk(&mut flows, src, 9);
            links.number(Some((from, to)), flow, &mut flows)
        };
        let first = sent(&mut links, host(1), GATEWAY, 1);
        sent(&mut links, host(2), GATEWAY, 2);
        links.decide(&mut Flows::default());
        assert_eq!(links.way(first), Some(0));
        // Until then it took one link only.
        let behind = sent(&mut links, host(8), host(9), 1);
        assert_eq!(links.way(behind), Some(0));
        let further = sent(&mut links, host(9), host(7), 1);
        assert_eq!(links.way(further), None);
    }

    #[test]
    fn a_gateway_may_have_a_mac_for_each_way() {
        const SHARED: Mac = [0, 0, 0x5e, 0, 1, 1];
        let (mut links, mut flows) = (Links::default(), Flows::default());
        let sent = |links: &mut Links, flows: &mut Flows, from, to, (src, dst)| {
            let flow = talk(flows, src, dst);
            links.number(Some((from, to)), flow, flows)
        };
        let there = [1, 2, 3].map(|own| sent(&mut links, &mut flows, host(own), SHARED, (own, 9)));
        let back = [1, 2].map(|own| sent(&mut links, &mut flows, GATEWAY, host(own), (9, own)));
        links.decide(&mut flows);
        assert_eq!((there.map(|link| links.way(link)), back.map(|link| links.way(link))), ([Some(0); 3], [Some(1); 2]));
    }

    /// A host that begins late, answers that begin late, a gateway that takes over, and a link between hosts.
    #[test]
    fn links_that_come_late_have_their_way() {
        let (mut links, mut flows) = (Links::default(), Flows::default());
        let sent = |links: &mut Links, flows: &mut Flows, from, to, (src, dst)| {
            let flow = talk(flows, src, dst);
            links.number(Some((from, to)), flow, flows)
        };
        let first = sent(&mut links, &mut flows, host(1), GATEWAY, (1, 9));
        let second = sent(&mut links, &mut flows, host(2), GATEWAY, (2, 9));
        links.decide(&mut flows);
        links.cross();
        let way = links.way(first);
        let back = way.map(|way| 1 - way);
        assert_eq!((way, links.way(second)), (Some(1), Some(1)));
        let late = [
            (sent(&mut links, &mut flows, GATEWAY, host(1), (9, 1)), back),
            (sent(&mut links, &mut flows, host(3), GATEWAY, (3, 9)), way),
            (sent(&mut links, &mut flows, host(1), host(4), (1, 4)), None),
            // By the flow, then by the link of the other way.
            (sent(&mut links, &mut flows, host(1), host(9), (1, 9)), way),
            (sent(&mut links, &mut flows, host(9), host(1), (8, 1)), back),
        ];
        for (link, way) in late {
            assert_eq!(links.way(link), way, "{link}");
        }
    }
}
