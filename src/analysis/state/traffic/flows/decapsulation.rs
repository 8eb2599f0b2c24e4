//! Packets that a gateway's own capture shows again, decapsulated.

use serde::{Deserialize, Serialize};

use std::collections::BTreeMap;

use crate::analysis::observe::observation::Observation;
use crate::analysis::state::base::intern::{NONE, remap};
use crate::analysis::state::base::listed::Listed;
use crate::analysis::state::base::tables::{Remap, Tables};
use crate::model::{FramePos, Shift, Timestamp};

/// Packets of one kind without IPsec that directly follow, in their lane, the packet of an SA they could have come out of.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Decapsulation {
    /// Per lane: the ends of it. A lane is a direction, or, on links without MACs, all of the tap: there the packet that comes out has
    /// other addresses than the one it came in.
    latest: Vec<Latest>,
    /// Per SA number.
    by_sa: BTreeMap<u32, Following>,
}

/// Packets without IPsec that directly follow packets of an SA.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Following {
    pub(crate) listed: Listed,
    /// The shortest and the longest of them.
    lengths: Option<(u32, u32)>,
    /// And of the packets that they follow.
    before: Option<(u32, u32)>,
}

/// The ends of a lane, among packets of SAs and of the kind that is looked for.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
struct Latest {
    /// The first packet, with what it took of the wire.
    first: Option<(Passed, Surface)>,
    /// The last packet of an SA.
    last: Option<Passed>,
    /// Whether a packet without IPsec came after that one.
    is_followed: bool,
}

/// A packet of a lane: of an SA, or without IPsec ([`NONE`]).
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Passed {
    pub(crate) sa: u32,
    pub(crate) direction: u32,
    pub(crate) bytes: u32,
    pub(crate) time: Timestamp,
    pub(crate) pos: FramePos,
}

/// What a frame takes of the wire, and the packet that its tunnel carries.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
struct Surface {
    l2_bytes: u32,
    inner_bytes: u32,
    /// The tunnel; [`NONE`] in clear.
    path: u32,
}

/// A frame that a gateway shows after the packet it came in.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Decapsulated {
    pub(crate) direction: u32,
    pub(crate) time: Timestamp,
    pub(crate) l2_bytes: u32,
    pub(crate) l3_bytes: u32,
    /// The packet in a tunnel; 0 in clear.
    pub(crate) inner_bytes: u32,
}

/// Decapsulation shows within this time on a gateway's own interface.
const GATEWAY_NS: i64 = 2_000_000;
/// The least and the most that an encapsulation adds, TFC aside.
const GATEWAY_ADDS: std::ops::RangeInclusive<i64> = 20..=160;

impl Decapsulation {
    /// Takes in a packet of an SA or of the kind that is looked for; it is returned where it may have come out of the packet before it.
    pub(super) fn observe(&mut self, o: &Observation, sa: u32, tables: &Tables) -> Option<Decapsulated> {
        let passed = Passed { sa, direction: o.direction, bytes: o.l3_bytes, time: o.time, pos: o.pos };
        let path = if o.path_in_clear { o.path } else { NONE };
        let surface = Surface { l2_bytes: o.l2_bytes, inner_bytes: o.inner_bytes, path };
        let latest = slot(&mut self.latest, o.lane);
        latest.first.get_or_insert((passed, surface));
        if sa != NONE {
            (latest.last, latest.is_followed) = (Some(passed), false);
            return None;
        }
        let before = latest.take_followed()?;
        self.follow(o.lane, &before, &passed, surface, tables)
    }

    /// Notes a packet of an SA as the last of a lane that has had packets before.
    #[inline]
    pub(super) fn pass(&mut self, lane: u32, passed: Passed) {
        if let Some(latest) = self.latest.get_mut(lane as usize) {
            (latest.last, latest.is_followed) = (Some(passed), false);
        }
    }

    fn follow(
        &mut self,
        lane: u32,
        before: &Passed,
        after: &Passed,
        surface: Surface,
        tables: &Tables,
    ) -> Option<Decapsulated> {
        if !came_out_of(before, after) || surface.path != NONE && !have_same_ends(before.sa, surface.path, tables) {
            return None;
        }
        self.by_sa.entry(before.sa).or_default().add(before, after);
        let Passed { direction, time, bytes: l3_bytes, .. } = *after;
        let Surface { l2_bytes, inner_bytes, path } = surface;
        // Without MACs the tap may show another interface, on whose wire a packet in clear was.
        let is_again = lane != 0 || path != NONE;
        is_again.then_some(Decapsulated { direction, time, l2_bytes, l3_bytes, inner_bytes })
    }

    /// Whether packets of SAs were seen in a lane.
    #[inline]
    pub(super) fn has_sas(&self, lane: u32) -> bool {
        self.latest.get(lane as usize).is_some_and(|latest| latest.last.is_some())
    }

    pub(crate) fn of_sa(&self, sa: u32) -> Option<&Following> {
        self.by_sa.get(&sa)
    }

    pub(super) fn lists(&self) -> impl Iterator<Item = &Listed> {
        self.by_sa.values().map(|following| &following.listed)
    }

    pub(super) fn lists_mut(&mut self) -> impl Iterator<Item = &mut Listed> {
        self.by_sa.values_mut().map(|following| &mut following.listed)
    }

    /// Appends the state of the span that follows; returns what of it may have come out of this span's last packets.
    pub(super) fn merge(&mut self, later: Self, shift: Shift, map: &Remap, tables: &Tables) -> Vec<Decapsulated> {
        let mut out = Vec::new();
        let Self { latest, by_sa } = later;
        let direction = |direction: u32| remap(&map.directions, direction);
        let moved = |p: Passed| Passed {
            pos: p.pos.shifted(shift),
            sa: remap(&map.sas, p.sa),
            direction: direction(p.direction),
            ..p
        };
        // The border's own packet comes before those the later span found.
        for (theirs, lane) in latest.into_iter().zip(map.lanes()) {
            let Latest { first, last, is_followed } = theirs;
            let Some((first, surface)) = first.filter(|_| lane != NONE) else { continue };
            let after = moved(first);
            let surface = Surface { path: remap(&map.paths, surface.path), ..surface };
            let own = slot(&mut self.latest, lane);
            own.first.get_or_insert((after, surface));
            let before = own.take_followed();
            if last.is_some() {
                (own.last, own.is_followed) = (last.map(moved), is_followed);
            }
            out.extend(before.and_then(|before| self.follow(lane, &before, &after, surface, tables)));
        }
        for (sa, following) in by_sa {
            self.by_sa.entry(remap(&map.sas, sa)).or_default().merge(following, shift);
        }
        out
    }
}

impl Latest {
    /// The last packet of an SA, if the next packet is the first after it; it is followed then.
    fn take_followed(&mut self) -> Option<Passed> {
        let is_next = !std::mem::replace(&mut self.is_followed, self.last.is_some());
        self.last.filter(|_| is_next)
    }
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

/// The slot of a lane, made if it is new.
#[expect(clippy::indexing_slicing, reason = "the vector was made long enough just before")]
fn slot(latest: &mut Vec<Latest>, lane: u32) -> &mut Latest {
    let at = lane as usize;
    if at >= latest.len() {
        latest.resize_with(at + 1, Latest::default);
    }
    &mut latest[at]
}

/// Whether the packet `after`, without IPsec, can be what the packet `before` of an SA carried.
fn came_out_of(before: &Passed, after: &Passed) -> bool {
    before.sa != NONE
        && after.sa == NONE
        && after.time.since(before.time).is_some_and(|ns| (0..=GATEWAY_NS).contains(&ns))
        && GATEWAY_ADDS.contains(&(i64::from(before.bytes) - i64::from(after.bytes)))
}

/// Whether a tunnel has the source and destination of an SA. A tunnel between other addresses did not come out of it.
fn have_same_ends(sa: u32, path: u32, tables: &Tables) -> bool {
    let ends = tables.paths.get(path).and_then(|path| tables.pair_of(path));
    ends.zip(tables.sas.get(sa)).is_some_and(|(ends, sa)| ends == (sa.src, sa.dst))
}
