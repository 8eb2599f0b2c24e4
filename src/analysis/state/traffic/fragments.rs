//! IP fragments: which packets travelled in pieces, and whose they were.
//!
//! A group is fragments of one key whose neighbours are at most two seconds apart; it ends where a fragment completes a packet whose
//! fragments came in order, so that an identification that comes round, or never changes, makes a group a packet. That is a rule over
//! neighbours. The first group of a key near the beginning of a span and the open ones at its end are kept whole, because the
//! neighbouring span may hold more of them, and so are all of the first moments, in which frames may turn out to be copies; the others
//! are folded into sums. Copies are of no group, but for those that fit what the open packet of their key still lacks. These may be copies of the
//! packet before it, so they end no group, and give way to the packet's own fragments.

mod equal;
mod observed;

use serde::{Deserialize, Serialize};

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

pub(crate) use self::observed::Fragment;
use super::copies::HeadFrame;
use super::fragment_sums::FragmentSums;
use super::trains::{NullFirst, Piece, Train, ends_in_order, is_whole_before, remap_owner, trains};
use crate::analysis::limits::{CLOCK_TOLERANCE_NS, FRAGMENT_GAP_NS, MAX_FRAGMENT_GROUPS, MAX_PIECES};
use crate::analysis::observe::observation::Observation;
use crate::analysis::state::base::intern::NONE;
use crate::analysis::state::base::tables::Remap;
use crate::analysis::state::sa::sizes::{OpaqueKey, Sizes, TrainKey, VisibleKey};
use crate::dissect::digest;
use crate::model::{Address, FramePos, Shift, all_bits};

/// How long after the first fragment frames may turn out to be copies of an earlier span's, with room to spare.
const COPIES_NS: i64 = 100_000_000;

/// What fragments of one packet share (RFC 791 section 3.2, RFC 8200 section 4.5).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct FragmentKey {
    src: Address,
    dst: Address,
    identification: u32,
    /// IPv4 only: an IPv6 later fragment's protocol may differ from the first's.
    protocol: u8,
}

impl FragmentKey {
    pub(super) fn is_v4(&self) -> bool {
        self.src.is_v4()
    }

    /// A number that tells keys apart, the same for ever.
    pub(super) fn mark(&self) -> u64 {
        digest::mix(digest::begin(self.src, self.dst, 0, self.identification, self.protocol), 0)
    }
}

/// Fragments of a span.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Fragments {
    /// Groups by their first fragment.
    groups: BTreeMap<FramePos, Group>,
    /// The group of each key that is not complete.
    open: BTreeMap<FragmentKey, FramePos>,
    /// Keys whose first group is kept for what came before.
    heads: BTreeSet<FragmentKey>,
    /// Copies of the first moments, which may turn out to be none.
    copied: Vec<(FragmentKey, Piece)>,
    /// Fragments in all groups, and copies.
    held: u64,
    #[serde(serialize_with = "all_bits")]
    first: Option<i64>,
    #[serde(serialize_with = "all_bits")]
    newest: i64,
    #[serde(serialize_with = "all_bits")]
    last_sweep: i64,
    /// Per SA number, or what stands for IKE in its place: what became of its fragmented packets.
    pub(crate) sums: BTreeMap<u32, FragmentSums>,
    pub(crate) refused: u64,
    /// The earliest fragment.
    #[serde(serialize_with = "all_bits")]
    oldest: i64,
    /// How much earlier than one before it a fragment was, at the most. How many were too early would depend on where a span is cut.
    #[serde(serialize_with = "all_bits")]
    back_ns: i64,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct Group {
    key: FragmentKey,
    #[serde(serialize_with = "all_bits")]
    first_time: i64,
    #[serde(serialize_with = "all_bits")]
    last_time: i64,
    /// The first of its key, near the beginning of the span.
    head: bool,
    pieces: Vec<Piece>,
}

impl Fragments {
    pub(crate) fn observe(&mut self, o: &Observation, fragment: &Fragment<'_>, sizes: &mut Sizes) {
        let outer = fragment.outer;
        // Without a time the gap rule has nothing to go by: frames of such a capture count as one moment.
        let time = o.time.ns().unwrap_or(0);
        let key = FragmentKey {
            src: outer.src,
            dst: outer.dst,
            identification: outer.identification,
            protocol: if outer.version == 4 { outer.protocol } else { 0 },
        };
        self.stretch(time, time, 0);
        self.push(key, time, fragment.piece(o), sizes);
    }

    /// By how much the clock stepped back, in nanoseconds, where that is more than is tolerated: what was folded by then may have been of
    /// the same packets.
    pub(crate) fn stepped_back_ns(&self) -> Option<i64> {
        Some(self.back_ns).filter(|ns| *ns > CLOCK_TOLERANCE_NS)
    }

    /// Takes in the times of fragments that follow.
    fn stretch(&mut self, oldest: i64, newest: i64, back_ns: i64) {
        if self.first.is_none() {
            (self.first, self.oldest, self.newest, self.back_ns) = (Some(oldest), oldest, newest, back_ns);
        } else {
            self.back_ns = self.back_ns.max(back_ns).max(self.newest.saturating_sub(oldest));
            (self.oldest, self.newest) = (self.oldest.min(oldest), self.newest.max(newest));
        }
    }

    /// Adds a fragment to its group.
    fn push(&mut self, key: FragmentKey, time: i64, piece: Piece, sizes: &mut Sizes) {
        let mut joins =
            self.open.get(&key).copied().filter(|id| self.groups.get(id).is_some_and(|g| is_near(g.last_time, time)));
        // Equal later fragments of packets with different beginnings are no copies: what a packet still lacks belongs to it.
        let fills = |id| self.groups.get(&id).is_some_and(|group| group.pieces.iter().all(|own| own.agrees(&piece)));
        if piece.copy && !joins.is_some_and(fills) {
            let kept = self.is_early(time) || self.is_head(time) && !self.heads.contains(&key);
            if kept && self.held < MAX_PIECES {
                self.held += 1;
                self.copied.push((key, piece));
            }
            return;
        }
        // With copies the packet was whole; what does not fit the rest of it begins another.
        let is_over = |id: &FramePos| self.groups.get(id).is_some_and(|group| is_whole_before(&group.pieces, &piece));
        if let Some(id) = joins.filter(is_over) {
            self.close(id, key, sizes);
            joins = None;
        }
        if !self.has_room(joins.is_none(), sizes) {
            self.refused += 1;
            return;
        }
        let id = joins.unwrap_or(piece.pos);
        if joins.is_none() {
            let head = self.is_head(time) && self.heads.insert(key);
            self.open.insert(key, id);
            self.groups.insert(id, Group { key, first_time: time, last_time: time, head, pieces: Vec::new() });
        }
        self.held += 1;
        let Some(group) = self.groups.get_mut(&id) else { return };
        group.last_time = time;
        group.pieces.push(piece);
        if ends_in_order(&group.pieces) {
            self.close(id, key, sizes);
        }
        if self.newest.saturating_sub(self.last_sweep) > FRAGMENT_GAP_NS {
            self.sweep(sizes);
        }
    }

    /// Ends a group.
    fn close(&mut self, id: FramePos, key: FragmentKey, sizes: &mut Sizes) {
        self.open.remove(&key);
        if !self.groups.get(&id).is_some_and(|group| self.is_kept(group)) {
            self.fold(id, sizes);
        }
    }

    /// Whether there is room for another fragment, and another group.
    fn has_room(&mut self, group: bool, sizes: &mut Sizes) -> bool {
        let full = |own: &Self| own.held >= MAX_PIECES || group && own.groups.len() >= MAX_FRAGMENT_GROUPS;
        // Looking through all groups for every fragment of a flood would take minutes: only when time has passed.
        if full(self) && self.newest.saturating_sub(self.last_sweep) > FRAGMENT_GAP_NS / 8 {
            self.sweep(sizes);
        }
        !full(self)
    }

    /// Whether the first group of a key at this time may go on from one of the span before.
    fn is_head(&self, time: i64) -> bool {
        self.first.is_some_and(|first| time <= first.saturating_add(FRAGMENT_GAP_NS + CLOCK_TOLERANCE_NS))
    }

    /// Whether a frame of this time may turn out to be a copy, or none.
    fn is_early(&self, time: i64) -> bool {
        self.first.is_some_and(|first| time <= first.saturating_add(COPIES_NS))
    }

    /// Whether a complete group is kept whole all the same.
    fn is_kept(&self, group: &Group) -> bool {
        group.head || self.is_early(group.first_time)
    }

    fn fold(&mut self, id: FramePos, sizes: &mut Sizes) {
        if let Some(group) = self.groups.remove(&id) {
            if self.open.get(&group.key) == Some(&id) {
                self.open.remove(&group.key);
            }
            self.held = self.held.saturating_sub(group.pieces.len() as u64);
            group.fold(&mut self.sums, sizes);
        }
    }

    /// How many frames are listed where each list has at most `most`.
    pub(crate) fn listed(&self, most: u64) -> u64 {
        self.sums.values().map(|sums| sums.frames.count.min(most)).sum()
    }

    pub(crate) fn truncate_lists(&mut self, most: usize) {
        self.sums.values_mut().for_each(|sums| sums.frames.truncate(most));
    }

    /// Folds every group that neither end of the span can still touch.
    pub(crate) fn sweep(&mut self, sizes: &mut Sizes) {
        self.last_sweep = self.newest;
        let tail = self.newest.saturating_sub(FRAGMENT_GAP_NS + CLOCK_TOLERANCE_NS);
        let is_open = |id: &FramePos, group: &Group| self.open.get(&group.key) == Some(id);
        let done: Vec<FramePos> = self
            .groups
            .iter()
            .filter(|(id, group)| !self.is_kept(group) && (group.last_time < tail || !is_open(id, group)))
            .map(|(&id, _)| id)
            .collect();
        done.into_iter().for_each(|id| self.fold(id, sizes));
        // What comes now is of another packet.
        let Self { open, groups, .. } = self;
        open.retain(|_, id| groups.get(id).is_some_and(|group| group.last_time >= tail));
    }

    /// Folds all groups: the span has no neighbours.
    pub(crate) fn finish(&self, sizes: &mut Cow<'_, Sizes>) -> BTreeMap<u32, FragmentSums> {
        let mut sums = self.sums.clone();
        if !self.groups.is_empty() {
            let sizes = sizes.to_mut();
            for group in self.groups.values() {
                group.fold(&mut sums, sizes);
            }
        }
        sums
    }

    /// Appends the fragments of the span that follows; `recounted` are frames of it that are copies, or none, for what came before.
    pub(crate) fn merge(&mut self, later: Self, shift: Shift, map: &Remap, recounted: &[HeadFrame], sizes: &mut Sizes) {
        let Self {
            groups,
            open: _,
            heads: _,
            copied,
            held: _,
            first,
            newest,
            last_sweep: _,
            sums,
            refused,
            oldest,
            back_ns,
        } = later;
        self.refused += refused;
        for (sa, theirs) in sums {
            self.sums.entry(remap_owner(map, sa)).or_default().merge(theirs, shift);
        }
        let recounted: BTreeMap<FramePos, bool> =
            recounted.iter().filter(|f| f.observation.class.fragment).map(|f| (f.observation.pos, f.copy)).collect();
        // Nothing is folded by time before all of it is here.
        if first.is_some() {
            let begin = self.first.or(first);
            self.stretch(oldest, newest, back_ns);
            (self.first, self.last_sweep) = (begin, self.newest);
        }
        let of_groups =
            groups.into_values().flat_map(|group| group.pieces.into_iter().map(move |piece| (group.key, piece)));
        let mut pieces: Vec<(FragmentKey, Piece)> = of_groups.chain(copied).collect();
        pieces.sort_by_key(|(_, piece)| piece.pos);
        for (key, piece) in pieces {
            let mut piece = piece.remapped(shift, map);
            piece.copy = recounted.get(&piece.pos).copied().unwrap_or(piece.copy);
            self.push(key, piece.time.ns().unwrap_or(0), piece, sizes);
        }
        self.sweep(sizes);
    }
}

impl Group {
    fn fold(&self, sums: &mut BTreeMap<u32, FragmentSums>, sizes: &mut Sizes) {
        let any = self.pieces.iter().find_map(|piece| piece.first.as_deref());
        let sas_of = |train: &Train<'_>| -> Vec<u32> {
            match train.first().or(any).map(|first| first.sas.as_slice()) {
                None => vec![train.headless()],
                Some([]) => vec![NONE],
                Some(sas) => sas.iter().map(|(sa, _)| *sa).collect(),
            }
        };
        for train in trains(&self.pieces) {
            let size = (train.is_complete() && !train.uncertain).then(|| train.add_size(sizes));
            // Beside a packet whose first fragment is there, fragments without one may be its own: they make no packet.
            let counts = train.first().is_some() || any.is_none();
            for sa in sas_of(&train) {
                sums.entry(sa).or_default().add(&train, &self.key, size, counts);
            }
        }
    }
}

impl Train<'_> {
    /// Adds a complete packet to its size; whether something shows its inner packet.
    fn add_size(&self, sizes: &mut Sizes) -> bool {
        let Some(first) = self.first() else { return false };
        let outer_bytes = self.pieces.iter().map(|piece| piece.ip_bytes).fold(0, u32::saturating_add);
        let l1_bytes = self.pieces.iter().map(|piece| piece.l1_bytes).sum();
        let (fragments, seen) = (u32::try_from(self.pieces.len()).unwrap_or(u32::MAX), self.seen());
        if first.path != NONE {
            let key = VisibleKey { path: first.path, inner_bytes: first.inner_bytes, outer_bytes, fragments };
            sizes.visible.add_train(key, seen, l1_bytes);
        }
        for &(sa, opaque) in &first.sas {
            if opaque {
                sizes.opaque.add_train(OpaqueKey { sa, outer_bytes, fragments }, seen, l1_bytes);
            }
        }
        let Some((null, end)) = first.null.as_ref().zip(self.end()) else { return first.path != NONE };
        let here = self.pieces.iter().find(|piece| piece.first.is_some()).map_or(0, |piece| piece.end);
        let esp_bytes = null.esp_bytes.saturating_add(end.saturating_sub(here));
        for &peek in &null.peeks {
            let NullFirst { sa, owner, costs, stack, direction, .. } = *null;
            let key = TrainKey { sa, owner, costs, stack, direction, peek, outer_bytes, esp_bytes, fragments };
            sizes.trains.add_train(key, seen, l1_bytes);
        }
        first.path != NONE
    }
}

/// Whether two fragments of one key are of one packet.
fn is_near(before: i64, after: i64) -> bool {
    before.abs_diff(after) <= FRAGMENT_GAP_NS.unsigned_abs()
}
