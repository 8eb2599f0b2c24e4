//! Who talks to whom, inside tunnels and in clear.

use serde::{Deserialize, Serialize};

use std::collections::BTreeMap;

use crate::analysis::observe::observation::Observation;
use crate::analysis::state::base::direction_set::DirectionSet;
use crate::analysis::state::base::intern::{NONE, remap};
use crate::analysis::state::base::listed::{Firsts, Listed};
use crate::analysis::state::base::seen::Seen;
use crate::analysis::state::base::tables::Remap;
use crate::model::{Shift, Timestamp, all_bits};

use crate::analysis::observe::observation::SaSight;

/// Traffic per pair of addresses, indexed by flow number.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Flows {
    flows: Vec<Seen>,
    /// What the clear packets of each flow have in common, by the same numbers.
    marks: Vec<Marks>,
    /// The first packets of each flow in clear, by the same numbers.
    firsts: Vec<Firsts>,
    /// Frames with a tunnel in clear, by the number of their encapsulation.
    tunnels: BTreeMap<u32, Listed>,
    /// Per lane: the first and the last packet, to recognise a gateway's own capture. A lane is a direction, or, on links
    /// without MACs, all of the tap: there the packet that comes out has other addresses than the one it came in.
    latest: Vec<Latest>,
    /// Packets of users in clear.
    pub(crate) clear: Seen,
    /// The first of them.
    pub(crate) clear_firsts: Firsts,
    /// Per SA number: clear packets that directly follow, in their lane, the packet of the SA they could have come out of.
    pub(crate) decapsulated: BTreeMap<u32, Following>,
}

/// Clear packets that directly follow packets of an SA.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Following {
    pub(crate) listed: Listed,
    /// The shortest and the longest of them.
    lengths: Option<(u32, u32)>,
    /// And of the packets that they follow.
    before: Option<(u32, u32)>,
}

impl Following {
    fn add(&mut self, before: &Passed, after: &Passed) {
        self.listed.add(after.pos, after.time);
        self.lengths = both(self.lengths, Some((after.bytes, after.bytes)));
        self.before = both(self.before, Some((before.bytes, before.bytes)));
    }

    fn merge(&mut self, later: Self, shift: Shift) {
        let Self { listed, lengths, before } = later;
        self.listed.join(&listed.shifted(shift));
        self.lengths = both(self.lengths, lengths);
        self.before = both(self.before, before);
    }

    /// Whether they can have come out of the packets before them: what has one length has one length when it is encrypted, too.
    pub(crate) fn fit(&self) -> bool {
        let varies = |lengths: Option<(u32, u32)>| lengths.is_some_and(|(shortest, longest)| shortest < longest);
        varies(self.lengths) || !varies(self.before)
    }
}

/// The least and the most of two ranges.
fn both(one: Option<(u32, u32)>, other: Option<(u32, u32)>) -> Option<(u32, u32)> {
    match (one, other) {
        (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
        _ => one.or(other),
    }
}

/// The first and the last packet of a lane that matter to the gateway rule.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
struct Latest {
    first: Option<Passed>,
    last: Option<Passed>,
    /// What the first took of the wire.
    first_frame: Option<Surface>,
}

/// What a frame takes of the wire.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
struct Surface {
    direction: u32,
    l2_bytes: u32,
}

/// A frame that a gateway shows after the packet it came in.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Decapsulated {
    pub(crate) direction: u32,
    pub(crate) time: Timestamp,
    pub(crate) l2_bytes: u32,
    pub(crate) l3_bytes: u32,
}

/// A packet of a lane: of an SA, or clear ([`NONE`]).
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
struct Passed {
    sa: u32,
    bytes: u32,
    time: Timestamp,
    pos: crate::model::FramePos,
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

/// Decapsulation shows within this time on a gateway's own interface.
const GATEWAY_NS: i64 = 2_000_000;
/// The least and the most that an encapsulation adds, TFC aside.
const GATEWAY_ADDS: std::ops::RangeInclusive<i64> = 20..=160;

impl Flows {
    /// Takes in a frame; it is returned where it may have come out of the packet before it.
    #[inline]
    pub(crate) fn observe(&mut self, o: &Observation, sights: &[SaSight]) -> Option<Decapsulated> {
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
        }
        if o.path_in_clear {
            self.tunnels.entry(o.path).or_default().add(o.pos, o.time);
        }
        let sa = sights.first().map_or(NONE, |s| s.sa);
        if (sa != NONE || o.class.user) && o.lane != NONE {
            let passed = Passed { sa, bytes: o.l3_bytes, time: o.time, pos: o.pos };
            let latest = slot(&mut self.latest, o.lane);
            let before = latest.last.replace(passed);
            if latest.first.is_none() {
                latest.first = Some(passed);
                latest.first_frame = Some(Surface { direction: o.direction, l2_bytes: o.l2_bytes });
            }
            if let Some(before) = before.filter(|before| came_out_of(before, &passed)) {
                self.decapsulated.entry(before.sa).or_default().add(&before, &passed);
                let Observation { direction, time, l2_bytes, l3_bytes, .. } = *o;
                // Without MACs the tap may show another interface, on whose wire the packet was.
                return (o.lane != 0).then_some(Decapsulated { direction, time, l2_bytes, l3_bytes });
            }
        }
        None
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
    pub(crate) fn pass(&mut self, lane: u32, sa: u32, bytes: u32, pos: crate::model::FramePos, time: Timestamp) {
        if let Some(latest) = self.latest.get_mut(lane as usize) {
            latest.last = Some(Passed { sa, bytes, time, pos });
        }
    }

    fn make_room(&mut self, at: usize) {
        if at >= self.flows.len() {
            self.flows.resize_with(at + 1, Seen::default);
            self.marks.resize_with(at + 1, Marks::default);
            self.firsts.resize_with(at + 1, Firsts::default);
        }
    }

    pub(crate) fn get(&self, id: u32) -> Option<&Seen> {
        self.flows.get(id as usize)
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
        let shown = self.decapsulated.values().map(|following| &following.listed);
        let others = self.tunnels.values().chain(shown).map(|listed| listed.count.min(most));
        in_clear.chain(others).sum()
    }

    pub(crate) fn truncate_lists(&mut self, most: usize) {
        self.firsts.iter_mut().for_each(|firsts| firsts.truncate(most));
        let shown = self.decapsulated.values_mut().map(|following| &mut following.listed);
        let others = self.tunnels.values_mut().chain(shown);
        others.for_each(|listed| listed.truncate(most));
    }

    /// What is known of the clear packets of a flow.
    pub(crate) fn marks(&self, id: u32) -> Option<&Marks> {
        self.marks.get(id as usize)
    }

    /// Appends the state of the span that follows; returns what of it may have come out of this span's last packets.
    pub(crate) fn merge(&mut self, later: Self, shift: Shift, map: &Remap) -> Vec<Decapsulated> {
        let mut out = Vec::new();
        let Self { flows, marks, firsts, tunnels, latest, clear, clear_firsts, decapsulated } = later;
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
        // The border's own packet comes before those the later span found.
        let lanes = map.lanes();
        for (theirs, lane) in latest.into_iter().zip(lanes) {
            let Some(first) = theirs.first.filter(|_| lane != NONE) else { continue };
            let moved = |p: Passed| Passed { pos: p.pos.shifted(shift), sa: remap(&map.sas, p.sa), ..p };
            let own = slot(&mut self.latest, lane);
            let after = moved(first);
            let before = std::mem::replace(&mut own.last, theirs.last.map(moved));
            let frame =
                theirs.first_frame.map(|frame| Surface { direction: remap(&map.directions, frame.direction), ..frame });
            if own.first.is_none() {
                own.first = Some(after);
                own.first_frame = frame;
            }
            if let Some(before) = before.filter(|before| came_out_of(before, &after)) {
                self.decapsulated.entry(before.sa).or_default().add(&before, &after);
                let decapsulated = |Surface { direction, l2_bytes }| Decapsulated {
                    direction,
                    time: after.time,
                    l2_bytes,
                    l3_bytes: after.bytes,
                };
                out.extend(frame.filter(|_| lane != 0).map(decapsulated));
            }
        }
        for (sa, listed) in decapsulated {
            self.decapsulated.entry(remap(&map.sas, sa)).or_default().merge(listed, shift);
        }
        out
    }
}

/// The slot of a lane, made if it is new.
#[expect(clippy::indexing_slicing, reason = "the vector was made long enough just before")]
fn slot(latest: &mut Vec<Latest>, lane: u32) -> &mut Latest {
    let at = lane as usize;
    if at >= latest.len() {
        latest.resize_with(at + 1, Latest::default);
    }
    &mut latest[at]
}

/// Whether the clear packet `after` can be what the encapsulated packet `before` carried.
fn came_out_of(before: &Passed, after: &Passed) -> bool {
    before.sa != NONE
        && after.sa == NONE
        && after.time.since(before.time).is_some_and(|ns| (0..=GATEWAY_NS).contains(&ns))
        && GATEWAY_ADDS.contains(&(i64::from(before.bytes) - i64::from(after.bytes)))
}
