//! Who talks to whom, inside tunnels and in clear.

mod carrier;
mod decapsulation;

use serde::{Deserialize, Serialize};

use std::collections::BTreeMap;

pub(crate) use self::carrier::Carrier;
pub(crate) use self::decapsulation::{Decapsulated, Decapsulation, Passed};
use crate::analysis::observe::observation::Observation;
use crate::analysis::state::base::direction_set::DirectionSet;
use crate::analysis::state::base::intern::{NONE, remap};
use crate::analysis::state::base::listed::{Firsts, Listed};
use crate::analysis::state::base::seen::Seen;
use crate::analysis::state::base::tables::{Remap, Tables};
use crate::model::{Shift, all_bits};

use crate::analysis::observe::observation::SaSight;

/// Traffic per pair of addresses, indexed by flow number.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Flows {
    flows: Vec<Seen>,
    /// What the clear packets of each flow have in common, by the same numbers.
    marks: Vec<Marks>,
    /// What carries each flow inside tunnels, by the same numbers.
    carriers: Vec<Carrier>,
    /// The first packets of each flow in clear, by the same numbers.
    firsts: Vec<Firsts>,
    /// Frames with a tunnel in clear, by the number of their encapsulation.
    tunnels: BTreeMap<u32, Listed>,
    /// Fragments of each flow among the packets of users in clear, by the same numbers.
    fragments: BTreeMap<u32, Pieces>,
    /// Packets of users in clear.
    pub(crate) clear: Seen,
    /// The first of them.
    pub(crate) clear_firsts: Firsts,
    /// Packets of users in clear that a gateway's own capture may show again.
    pub(crate) decapsulated: Decapsulation,
    /// And packets in tunnels without IPsec.
    pub(crate) decapsulated_tunnels: Decapsulation,
}

/// Fragments that show nothing but addresses: in clear, or later ones of ESP in UDP.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Pieces {
    frames: u64,
    /// Of these, copies of a TAP.
    copies: u64,
}

impl Pieces {
    /// Whether none of them is a copy.
    pub(crate) const fn are_first(&self) -> bool {
        self.copies == 0
    }

    /// Whether they are all `frames` of a flow, of which `headless` are later fragments without their first one and the others copies.
    pub(crate) const fn are_all_headless(&self, frames: u64, headless: u64) -> bool {
        self.frames == frames && self.frames.saturating_sub(self.copies) == headless
    }

    /// How many copies are of fragments of SAs, of which `own` others were seen. Where users send fragments between the same ends, too, which
    /// copies are of them is not kept: then each kind has its share.
    pub(crate) fn copies_of(&self, own: u64) -> u64 {
        let firsts = self.frames.saturating_sub(self.copies);
        if own >= firsts && own > 0 { self.copies } else { self.copies.saturating_mul(own) / firsts.max(1) }
    }
}

/// What is known of the clear packets of a flow.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Marks {
    /// The fewest routers that one of them has passed, as far as its time to live tells.
    hops: Option<u8>,
    /// The IP protocols that they carry, a bit each.
    #[serde(serialize_with = "all_bits")]
    protocols: [u64; 4],
    /// The directions they travel in.
    directions: DirectionSet,
}

impl Marks {
    /// What senders set the time to live to.
    const INITIAL: [u8; 4] = [32, 64, 128, 255];

    fn add(&mut self, (ttl, protocol): (u8, u8), direction: u32) {
        self.directions.add(direction);
        let passed = Self::INITIAL.iter().find_map(|initial| initial.checked_sub(ttl));
        self.hops = self.hops.into_iter().chain(passed).min();
        if let Some(word) = self.protocols.get_mut(usize::from(protocol / 64)) {
            *word |= 1 << (protocol % 64);
        }
    }

    fn merge(&mut self, later: Self, directions: &[u32]) {
        let Self { hops, protocols, directions: theirs } = later;
        self.directions.merge(theirs, directions);
        self.hops = self.hops.into_iter().chain(hops).min();
        self.protocols.iter_mut().zip(protocols).for_each(|(own, later)| *own |= later);
    }

    /// The fewest routers that one of the packets has passed.
    pub(crate) const fn hops(&self) -> Option<u8> {
        self.hops
    }

    /// The directions they travel in among the first 64 of the tap, a bit each.
    pub(crate) const fn directions(&self) -> u64 {
        self.directions.first()
    }

    pub(crate) fn carries(&self, protocol: u8) -> bool {
        self.protocols.get(usize::from(protocol / 64)).is_some_and(|word| word >> (protocol % 64) & 1 == 1)
    }

    /// Whether all of the packets carry one protocol.
    pub(crate) fn is_only(&self, protocol: u8) -> bool {
        self.carries(protocol) && self.protocols.iter().map(|word| word.count_ones()).sum::<u32>() == 1
    }
}

impl Flows {
    /// Takes in a frame; it is returned where it may have come out of the packet before it.
    #[inline]
    pub(crate) fn observe(&mut self, o: &Observation, sights: &[SaSight], tables: &Tables) -> Option<Decapsulated> {
        if o.class.user {
            self.clear_firsts.add(self.clear.count, (o.pos, o.time));
            self.clear.add(o.pos, o.time);
        }
        if o.flow != NONE {
            let at = o.flow as usize;
            self.make_room(at);
            if let (Some(flow), Some(marks), Some(firsts)) =
                (self.flows.get_mut(at), self.marks.get_mut(at), self.firsts.get_mut(at))
            {
                if o.class.user {
                    marks.add(o.clear, o.direction);
                    firsts.add(flow.count, (o.pos, o.time));
                }
                flow.add(o.pos, o.time);
            }
            if let Some(carrier) = self.carriers.get_mut(at) {
                carrier.add(o.path, tables);
            }
            if o.class.user && o.class.fragment {
                self.fragments.entry(o.flow).or_default().frames += 1;
            }
        }
        if o.path_in_clear {
            self.tunnels.entry(o.path).or_default().add(o.pos, o.time);
        }
        if o.lane == NONE {
            return None;
        }
        let sa = sights.first().map_or(NONE, |s| s.sa);
        let is_tunnel = sa != NONE || o.path_in_clear;
        let in_tunnel = if is_tunnel { self.decapsulated_tunnels.observe(o, sa, tables) } else { None };
        let in_clear = if sa != NONE || o.class.user { self.decapsulated.observe(o, sa, tables) } else { None };
        in_tunnel.or(in_clear)
    }

    /// Adds a frame to the copies, or takes it back.
    pub(crate) fn count_copy(&mut self, o: &Observation, copy: bool) {
        if o.class.user && o.class.fragment && o.flow != NONE {
            let own = &mut self.fragments.entry(o.flow).or_default().copies;
            *own = if copy { *own + 1 } else { own.saturating_sub(1) };
        }
    }

    /// The fragments of a flow that show nothing but addresses.
    pub(crate) fn pieces(&self, id: u32) -> Pieces {
        self.fragments.get(&id).copied().unwrap_or_default()
    }

    /// Adds frames of no users in clear that were observed as `o` was: of its flow, and of a tunnel whose list of frames is full.
    pub(crate) fn add_many(&mut self, o: &Observation, seen: &Seen) {
        if let Some(flow) = self.flows.get_mut(o.flow as usize) {
            flow.join(seen);
        }
        if o.path_in_clear
            && let Some(listed) = self.tunnels.get_mut(&o.path)
        {
            listed.pass(seen);
        }
    }

    /// Notes a packet of an SA as the last of a lane that has had packets before.
    #[inline]
    pub(crate) fn pass(&mut self, lane: u32, passed: Passed) {
        self.decapsulated.pass(lane, passed);
        self.decapsulated_tunnels.pass(lane, passed);
    }

    /// Whether a packet in a tunnel without IPsec may have come out of the one before it in its lane.
    #[inline]
    pub(crate) fn may_decapsulate(&self, lane: u32) -> bool {
        self.decapsulated_tunnels.has_sas(lane)
    }

    fn make_room(&mut self, at: usize) {
        if at >= self.flows.len() {
            self.flows.resize_with(at + 1, Seen::default);
            self.marks.resize_with(at + 1, Marks::default);
            self.firsts.resize_with(at + 1, Firsts::default);
            self.carriers.resize_with(at + 1, Carrier::default);
        }
    }

    pub(crate) fn get(&self, id: u32) -> Option<&Seen> {
        self.flows.get(id as usize)
    }

    /// What carries a flow inside tunnels.
    pub(crate) fn carrier(&self, id: u32) -> Option<&Carrier> {
        self.carriers.get(id as usize)
    }

    /// The packets of a flow in clear, with the first ones.
    pub(crate) fn listed_of(&self, id: u32) -> Option<Listed> {
        Some(Listed::of(*self.flows.get(id as usize)?, self.firsts.get(id as usize)?))
    }

    /// The frames with a tunnel in clear that is encapsulated in this way.
    pub(crate) fn tunnel(&self, path: u32) -> Option<&Listed> {
        self.tunnels.get(&path)
    }

    /// How many frames are listed where each list has at most `most`.
    pub(crate) fn listed(&self, most: u64) -> u64 {
        let in_clear = self.flows.iter().zip(&self.firsts).map(|(flow, firsts)| firsts.listed(flow.count, most));
        let shown = self.decapsulated.lists().chain(self.decapsulated_tunnels.lists());
        let others = self.tunnels.values().chain(shown).map(|listed| listed.count.min(most));
        in_clear.chain(others).sum()
    }

    pub(crate) fn truncate_lists(&mut self, most: usize) {
        self.firsts.iter_mut().for_each(|firsts| firsts.truncate(most));
        let shown = self.decapsulated.lists_mut().chain(self.decapsulated_tunnels.lists_mut());
        let others = self.tunnels.values_mut().chain(shown);
        others.for_each(|listed| listed.truncate(most));
    }

    /// What is known of the clear packets of a flow.
    pub(crate) fn marks(&self, id: u32) -> Option<&Marks> {
        self.marks.get(id as usize)
    }

    /// Appends the state of the span that follows; returns what of it may have come out of this span's last packets.
    pub(crate) fn merge(&mut self, later: Self, shift: Shift, map: &Remap, tables: &Tables) -> Vec<Decapsulated> {
        let Self {
            flows,
            marks,
            carriers,
            firsts,
            tunnels,
            fragments,
            clear,
            clear_firsts,
            decapsulated,
            decapsulated_tunnels,
        } = later;
        for (carrier, &id) in carriers.into_iter().zip(&map.flows) {
            if id != NONE {
                self.make_room(id as usize);
                if let Some(own) = self.carriers.get_mut(id as usize) {
                    own.merge(carrier, map, tables);
                }
            }
        }
        for (id, pieces) in fragments {
            let id = remap(&map.flows, id);
            if id != NONE {
                let Pieces { frames, copies } = pieces;
                let own = self.fragments.entry(id).or_default();
                (own.frames, own.copies) = (own.frames + frames, own.copies + copies);
            }
        }
        for (((flow, marks), firsts), &id) in flows.into_iter().zip(marks).zip(firsts).zip(&map.flows) {
            if id == NONE {
                continue;
            }
            let at = id as usize;
            self.make_room(at);
            if let (Some(own), Some(own_marks), Some(own_firsts)) =
                (self.flows.get_mut(at), self.marks.get_mut(at), self.firsts.get_mut(at))
            {
                own_firsts.append(own.count, firsts, shift);
                own_marks.merge(marks, &map.directions);
                own.merge(flow, shift);
            }
        }
        for (path, listed) in tunnels {
            let path = remap(&map.paths, path);
            if path != NONE {
                self.tunnels.entry(path).or_default().merge(listed, shift);
            }
        }
        self.clear_firsts.append(self.clear.count, clear_firsts, shift);
        self.clear.merge(clear, shift);
        let mut out = self.decapsulated.merge(decapsulated, shift, map, tables);
        out.extend(self.decapsulated_tunnels.merge(decapsulated_tunnels, shift, map, tables));
        out
    }
}
