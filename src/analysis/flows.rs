//! Who talks to whom, inside tunnels and in clear.

use serde::{Deserialize, Serialize};

use std::collections::BTreeMap;

use super::intern::{NONE, remap};
use super::observation::Observation;
use super::seen::Seen;
use super::tables::Remap;
use crate::model::{Shift, Timestamp};

use super::observation::SaSight;

/// Traffic per pair of addresses, indexed by flow number.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Flows {
    flows: Vec<Seen>,
    /// Per lane: the first and the last packet, to recognise a gateway's own capture. A lane is a direction, or, on links
    /// without MACs, all of the tap: there the packet that comes out has other addresses than the one it came in.
    latest: Vec<Latest>,
    /// Packets of users in clear.
    pub(crate) clear: Seen,
    /// Per SA number: clear packets that directly follow, in their lane, the packet of the SA they could have come out of.
    pub(crate) decapsulated: BTreeMap<u32, Seen>,
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

/// Decapsulation shows within this time on a gateway's own interface.
const GATEWAY_NS: i64 = 2_000_000;
/// The least and the most that an encapsulation adds, TFC aside.
const GATEWAY_ADDS: std::ops::RangeInclusive<i64> = 20..=160;

impl Flows {
    /// Takes in a frame; it is returned where it may have come out of the packet before it.
    #[inline]
    pub(crate) fn observe(&mut self, o: &Observation, sights: &[SaSight]) -> Option<Decapsulated> {
        if o.class.user {
            self.clear.add(o.pos, o.time);
        }
        if o.flow != NONE {
            let at = o.flow as usize;
            if at >= self.flows.len() {
                self.flows.resize_with(at + 1, Seen::default);
            }
            if let Some(flow) = self.flows.get_mut(at) {
                flow.add(o.pos, o.time);
            }
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
                self.decapsulated.entry(before.sa).or_default().add(o.pos, o.time);
                let Observation { direction, time, l2_bytes, l3_bytes, .. } = *o;
                // Without MACs the tap may show another interface, on whose wire the packet was.
                return (o.lane != 0).then_some(Decapsulated { direction, time, l2_bytes, l3_bytes });
            }
        }
        None
    }

    /// Notes a packet of an SA as the last of a lane that has had packets before.
    #[inline]
    pub(crate) fn pass(&mut self, lane: u32, sa: u32, bytes: u32, pos: crate::model::FramePos, time: Timestamp) {
        if let Some(latest) = self.latest.get_mut(lane as usize) {
            latest.last = Some(Passed { sa, bytes, time, pos });
        }
    }

    pub(crate) fn get(&self, id: u32) -> Option<&Seen> {
        self.flows.get(id as usize)
    }

    /// Appends the state of the span that follows; returns what of it may have come out of this span's last packets.
    pub(crate) fn merge(&mut self, later: Self, shift: Shift, map: &Remap) -> Vec<Decapsulated> {
        let mut out = Vec::new();
        let Self { flows, latest, clear, decapsulated } = later;
        for (flow, &id) in flows.into_iter().zip(&map.flows) {
            if id == NONE {
                continue;
            }
            let at = id as usize;
            if at >= self.flows.len() {
                self.flows.resize_with(at + 1, Seen::default);
            }
            if let Some(own) = self.flows.get_mut(at) {
                own.merge(flow, shift);
            }
        }
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
                self.decapsulated.entry(before.sa).or_default().add(after.pos, after.time);
                let decapsulated = |Surface { direction, l2_bytes }| Decapsulated {
                    direction,
                    time: after.time,
                    l2_bytes,
                    l3_bytes: after.bytes,
                };
                out.extend(frame.filter(|_| lane != 0).map(decapsulated));
            }
        }
        for (sa, seen) in decapsulated {
            let mut shifted = Seen::default();
            shifted.merge(seen, shift);
            self.decapsulated.entry(remap(&map.sas, sa)).or_default().join(&shifted);
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
