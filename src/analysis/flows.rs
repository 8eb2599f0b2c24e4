//! Who talks to whom, inside tunnels and in clear.

use super::intern::NONE;
use super::observation::Observation;
use super::seen::Seen;
use super::tables::Remap;
use crate::model::{Protocol, Shift, Timestamp};

use super::observation::SaSight;

/// Traffic per pair of addresses, indexed by flow number.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Flows {
    flows: Vec<Flow>,
    /// Per direction number: the latest ESP or IPComp packet, to recognise a gateway's own capture.
    latest: Vec<Latest>,
    pub(crate) clear: Seen,
    /// Clear packets that directly follow, in their direction, the encapsulated packet they could have come out of.
    pub(crate) decapsulated: Seen,
}

/// Traffic of one pair.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Flow {
    pub(crate) seen: Seen,
    pub(crate) bytes: u64,
}

/// The first and the last packet of a direction that matter to the gateway rule.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Latest {
    first: Option<Passed>,
    last: Option<Passed>,
}

/// A packet of a direction: encapsulated, or clear.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Passed {
    tunnelled: bool,
    bytes: u32,
    time: Timestamp,
    pos: crate::model::FramePos,
}

/// Decapsulation shows within this time on a gateway's own interface.
const GATEWAY_NS: i64 = 2_000_000;
/// The least and the most that an encapsulation adds, TFC aside.
const GATEWAY_ADDS: std::ops::RangeInclusive<i64> = 20..=160;

impl Flows {
    #[inline]
    pub(crate) fn observe(&mut self, o: &Observation, sights: &[SaSight]) {
        if o.class.clear {
            self.clear.add(o.pos, o.time);
        }
        if o.flow != NONE {
            let at = o.flow as usize;
            if at >= self.flows.len() {
                self.flows.resize_with(at + 1, Flow::default);
            }
            if let Some(flow) = self.flows.get_mut(at) {
                flow.seen.add(o.pos, o.time);
                flow.bytes += u64::from(if o.inner_bytes > 0 { o.inner_bytes } else { o.l3_bytes });
            }
        }
        let tunnelled = sights.iter().any(|s| s.protocol != Protocol::Ah || s.sequence.is_some());
        if (tunnelled || o.class.clear) && o.direction != NONE {
            let passed = Passed { tunnelled, bytes: o.l3_bytes, time: o.time, pos: o.pos };
            let at = o.direction as usize;
            if at >= self.latest.len() {
                self.latest.resize_with(at + 1, Latest::default);
            }
            if let Some(latest) = self.latest.get_mut(at) {
                let follows = latest.last.is_some_and(|before| came_out_of(&before, &passed));
                latest.first = latest.first.or(Some(passed));
                latest.last = Some(passed);
                if follows {
                    self.decapsulated.add(o.pos, o.time);
                }
            }
        }
    }

    pub(crate) fn get(&self, id: u32) -> Option<&Flow> {
        self.flows.get(id as usize)
    }

    pub(crate) fn merge(&mut self, later: Self, shift: Shift, map: &Remap) {
        let Self { flows, latest, clear, decapsulated } = later;
        for (flow, &id) in flows.into_iter().zip(&map.flows) {
            if id == NONE {
                continue;
            }
            let at = id as usize;
            if at >= self.flows.len() {
                self.flows.resize_with(at + 1, Flow::default);
            }
            if let Some(own) = self.flows.get_mut(at) {
                let Flow { seen, bytes } = flow;
                own.seen.merge(seen, shift);
                own.bytes += bytes;
            }
        }
        self.clear.merge(clear, shift);
        let mut border = Seen::default();
        for (theirs, &id) in latest.into_iter().zip(&map.directions) {
            // A direction that nothing passed in has no slot of its own: states of one stream must look alike.
            if id == NONE || theirs.first.is_none() {
                continue;
            }
            let at = id as usize;
            if at >= self.latest.len() {
                self.latest.resize_with(at + 1, Latest::default);
            }
            let Some(own) = self.latest.get_mut(at) else { continue };
            let moved = |p: Passed| Passed { pos: p.pos.shifted(shift), ..p };
            if let (Some(before), Some(after)) = (own.last, theirs.first.map(moved))
                && came_out_of(&before, &after)
            {
                let mut one = Seen::default();
                one.add(after.pos, after.time);
                border.join(&one);
            }
            own.first = own.first.or(theirs.first.map(moved));
            own.last = theirs.last.map(moved).or(own.last);
        }
        let mut joined = Seen::default();
        joined.merge(decapsulated, shift);
        joined.join(&border);
        self.decapsulated.join(&joined);
    }
}

/// Whether the clear packet `after` can be what the encapsulated packet `before` carried.
fn came_out_of(before: &Passed, after: &Passed) -> bool {
    before.tunnelled
        && !after.tunnelled
        && after.time.since(before.time).is_some_and(|ns| (0..=GATEWAY_NS).contains(&ns))
        && GATEWAY_ADDS.contains(&(i64::from(before.bytes) - i64::from(after.bytes)))
}
