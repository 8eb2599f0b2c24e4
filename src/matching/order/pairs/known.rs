//! What the order tells of an SA.

use super::Order;
use crate::matching::order::lane::{Lane, Level};
use crate::matching::packets::mapping::Mapping;

impl Order {
    /// Packets of which the way on the plain link is not known, because there was no room for their addresses.
    pub(in crate::matching) const fn refused(&self) -> u64 {
        self.links.refused
    }

    /// Packets that came too late to tell whether they were there before, and missing numbers in gaps too long to be looked into.
    pub(in crate::matching) fn late_and_jumped(&self) -> (u64, u64) {
        let lanes = self.lanes.iter().flat_map(|lanes| lanes.iter());
        lanes.fold((0, 0), |(late, jumped), lane| (late + lane.late, jumped + lane.jumped))
    }

    pub(in crate::matching) const fn has_begun(&self) -> bool {
        self.lanes.is_some()
    }

    /// The usual difference between the timestamps of a pair, where one is known.
    pub(in crate::matching) fn usual(&self) -> Option<f64> {
        self.lanes.as_ref()?.iter().find_map(|lane| lane.delay?.base)
    }

    /// Whether several alignments are left of the packets that answer those of an SA.
    pub(in crate::matching) fn is_answer_open(&self, sa: u32) -> bool {
        let answers = self.lane(sa).and_then(|lane| self.open.get(1_usize.checked_sub(lane)?));
        answers.is_some_and(|alignments| *alignments > 0)
    }

    /// Whether an SA is between other gateways than the one whose directions are paired by order: nothing was looked for.
    pub(in crate::matching) fn is_elsewhere(&self, sa: u32) -> bool {
        let info = self.sas.get(sa as usize).filter(|_| self.lanes.is_some());
        info.is_some_and(|info| self.lane_of(info).is_none())
    }

    /// Whether an SA's direction was not found on the plain side, or not looked for.
    pub(in crate::matching) fn is_unfound(&self, sa: u32) -> bool {
        let Some(lane) = self.sas.get(sa as usize).and_then(|info| self.lane_of(info)) else {
            return self.is_elsewhere(sa);
        };
        match &self.lanes {
            Some(lanes) => lanes.get(lane).is_some_and(|lane| lane.delay.is_none() || !lane.has_pairs()),
            None => self.enough > 0,
        }
    }

    /// Whether packets of the SA passed the plain tap first; `None` where that is not known.
    pub(in crate::matching) fn is_encapsulated(&self, sa: u32) -> Option<bool> {
        let lane = self.lane_at(sa)?;
        lane.delay.map(|_| lane.encapsulated)
    }

    /// Whether nothing tells which tap the packets of an SA passed first.
    pub(in crate::matching) fn is_way_guessed(&self, sa: u32) -> bool {
        self.guessed && self.is_encapsulated(sa).is_some()
    }

    /// The lane of an SA, once there is one.
    pub(in crate::matching) fn lane(&self, sa: u32) -> Option<usize> {
        self.lanes.as_ref()?;
        self.lane_of(self.sas.get(sa as usize)?)
    }

    /// What is paired of an SA's direction.
    pub(in crate::matching) fn lane_at(&self, sa: u32) -> Option<&Lane> {
        self.lanes.as_ref()?.get(self.lane(sa)?)
    }

    /// The delay by which a lane began.
    pub(in crate::matching) fn level(&self, lane: usize) -> Option<Level> {
        self.lanes.as_ref()?.get(lane)?.level
    }

    /// Packets of the tunnel in an SA's direction that have no counterpart: whether many are expected, because the plain side does not see
    /// all that enters the tunnel, and how many stand beside a plaintext packet without one.
    pub(in crate::matching) fn strangers(&self, sa: u32) -> (bool, u64) {
        self.lane_at(sa).map_or((false, 0), |lane| (lane.partial, lane.crossed))
    }

    /// Packets of both sides without counterpart at one end of the direction of an SA.
    pub(in crate::matching) fn torn(&self, sa: u32) -> Option<(u64, u64)> {
        self.lane_at(sa)?.torn()
    }

    /// The mapping that holds for an SA.
    pub(in crate::matching) fn mapping(&self, sa: u32) -> Option<Mapping> {
        let lane = self.lane_at(sa)?;
        lane.delay?;
        lane.mappings.of(sa)
    }

    /// How many alignments of the packets of an SA there are, where that is why none was paired.
    pub(in crate::matching) fn open_of(&self, sa: u32) -> usize {
        let lane = self.sas.get(sa as usize).and_then(|info| self.lane_of(info));
        lane.and_then(|lane| self.open.get(lane)).copied().unwrap_or(0)
    }

    /// Plaintext packets of the direction of an SA, and of the other one, where none could be paired and one clock stamped both sides.
    pub(in crate::matching) fn aside_of(&self, sa: u32) -> Option<(u64, u64)> {
        let lane = self.sas.get(sa as usize).and_then(|info| self.lane_of(info))?;
        let [out, back] = self.aside.filter(|aside| self.one_clock && aside.is_told)?.ways;
        Some(if lane == 0 { (out, back) } else { (back, out) })
    }

    /// Plaintext packets each way where none could be paired, and whether the gateway is still before those of the only way.
    pub(in crate::matching) fn unpaired(&self) -> Option<([u64; 2], bool)> {
        self.aside.map(|aside| (aside.ways, aside.is_fresh))
    }
}
