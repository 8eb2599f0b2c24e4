//! Traffic per direction over time.

mod sums;

use serde::{Deserialize, Serialize};

use std::collections::BTreeMap;

pub(crate) use self::sums::{Again, BinSums, Sums};
use super::flows::Decapsulated;
use crate::analysis::limits::{MAX_BINS, MAX_DIRECTIONS};
use crate::analysis::observe::observation::Observation;
use crate::analysis::settings::Settings;
use crate::analysis::state::base::seen::Seen;
use crate::model::Shift;

/// Traffic of a span, indexed by direction number.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Rates {
    /// Width of a bin asked for.
    width: i64,
    /// How many of those are joined into one because there were too many; a power of two.
    joined: i64,
    directions: Vec<Direction>,
    /// All that had no room there: from direction [`MAX_DIRECTIONS`] on.
    other: Option<Box<Direction>>,
    bins: usize,
}

/// Traffic of one direction.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Direction {
    pub(crate) seen: Seen,
    pub(crate) sums: Sums,
    pub(crate) copies: Sums,
    /// Frames that a gateway may have shown a second time, decapsulated.
    pub(crate) again: Again,
    /// Frames whose layer 1 length had to be assumed.
    pub(crate) assumed: u64,
    pub(crate) ip_frames: u64,
    pub(crate) bins: BTreeMap<i64, BinSums>,
    current: Option<(i64, i64, BinSums)>,
}

impl Default for Rates {
    fn default() -> Self {
        Self::new(Settings::<()>::default().bin_ns)
    }
}

impl Rates {
    pub(crate) fn new(bin_ns: u64) -> Self {
        Self {
            width: i64::try_from(bin_ns).unwrap_or(i64::MAX).max(1),
            joined: 1,
            directions: Vec::new(),
            other: None,
            bins: 0,
        }
    }

    /// Whether bins that were read can be those of a state with these settings.
    pub(crate) fn is_sound(&self, settings: &Settings) -> bool {
        let mut all = self.directions.iter().chain(self.other.as_deref());
        let closed = self.directions.len() <= MAX_DIRECTIONS && all.all(|direction| direction.current.is_none());
        closed && self.width == Self::new(settings.bin_ns).width && self.joined > 0 && self.joined.count_ones() == 1
    }

    /// Breaks what [`Rates::is_sound`] asks for.
    #[cfg(test)]
    pub(crate) fn join_zero_times(&mut self) {
        self.joined = 0;
    }

    /// Width of a bin as kept, in nanoseconds.
    pub(crate) fn bin_ns(&self) -> i64 {
        self.width.saturating_mul(self.joined)
    }

    pub(crate) fn degraded(&self) -> Option<String> {
        (self.joined > 1)
            .then(|| format!("more than {MAX_BINS} time bins: {} neighbours each were joined into one", self.joined))
    }

    #[expect(clippy::indexing_slicing, reason = "the vector was made long enough just before")]
    fn slot(&mut self, direction: u32) -> &mut Direction {
        let at = direction as usize;
        if at >= MAX_DIRECTIONS {
            return self.other.get_or_insert_default();
        }
        if at >= self.directions.len() {
            self.directions.resize_with(at + 1, Direction::default);
        }
        &mut self.directions[at]
    }

    /// Directions with their numbers; [`MAX_DIRECTIONS`] stands for all that had no room.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Direction)> {
        let own = self.directions.iter().enumerate().map(|(at, direction)| (at as u32, direction));
        let other = self.other.as_deref().map(|other| (MAX_DIRECTIONS as u32, other));
        own.chain(other).filter(|(_, direction)| direction.seen.count > 0)
    }

    fn all_mut(&mut self) -> impl Iterator<Item = &mut Direction> {
        self.directions.iter_mut().chain(self.other.as_deref_mut())
    }

    #[inline]
    pub(crate) fn observe(&mut self, o: &Observation) {
        let width = self.bin_ns();
        let direction = self.slot(o.direction);
        direction.seen.add(o.pos, o.time);
        direction.sums.add(o);
        direction.assumed += u64::from(o.class.l1_assumed);
        direction.ip_frames += u64::from(o.class.ip);
        let Some(time) = o.time.ns() else { return };
        if let Some((start, end, bin)) = &mut direction.current
            && (*start..*end).contains(&time)
        {
            bin.all.add(o);
            bin.goodput_bytes += u64::from(o.inner_bytes);
            return;
        }
        let added = direction.open(time, width);
        if let Some((_, _, bin)) = &mut direction.current {
            bin.all.add(o);
            bin.goodput_bytes += u64::from(o.inner_bytes);
        }
        self.bins += usize::from(added);
        if self.bins > MAX_BINS {
            self.widen();
        }
    }

    /// Adds IP frames of one direction whose times lie in one bin, with octets of inner packets.
    pub(crate) fn add_many(&mut self, direction: u32, seen: &Seen, sums: &Sums, goodput_bytes: u64, time: i64) {
        let width = self.bin_ns();
        let slot = self.slot(direction);
        slot.seen.join(seen);
        slot.sums.join(sums);
        slot.ip_frames += sums.frames;
        let added = slot.open(time, width);
        if let Some((_, _, bin)) = &mut slot.current {
            bin.all.join(sums);
            bin.goodput_bytes += goodput_bytes;
        }
        self.bins += usize::from(added);
        if self.bins > MAX_BINS {
            self.widen();
        }
    }

    /// First and end of the bin that a time lies in.
    pub(crate) fn bin_of(&self, time: i64) -> (i64, i64) {
        let width = self.bin_ns();
        let start = time.div_euclid(width).saturating_mul(width);
        (start, start.saturating_add(width))
    }

    /// Adds a frame to the copies, or takes it back.
    pub(crate) fn count_copy(&mut self, o: &Observation, copy: bool) {
        let width = self.bin_ns();
        let mut one = Sums::default();
        one.add(o);
        let count = |sums: &mut Sums| if copy { sums.join(&one) } else { *sums = sums.without(&one) };
        let direction = self.slot(o.direction);
        count(&mut direction.copies);
        if let Some(time) = o.time.ns() {
            // The bin exists: the frame has been observed.
            direction.open(time, width);
            if let Some((_, _, bin)) = &mut direction.current {
                count(&mut bin.copies);
                let goodput = u64::from(o.inner_bytes);
                let own = &mut bin.copies_goodput_bytes;
                *own = if copy { *own + goodput } else { own.saturating_sub(goodput) };
            }
        }
    }

    /// Counts a frame that has been observed and may have come out of the packet before it.
    pub(crate) fn count_again(&mut self, frame: &Decapsulated) {
        let width = self.bin_ns();
        let direction = self.slot(frame.direction);
        direction.again.add(frame);
        if let Some(time) = frame.time.ns() {
            // The bin exists: the frame has been observed.
            direction.open(time, width);
            if let Some((_, _, bin)) = &mut direction.current {
                bin.again.add(frame);
            }
        }
    }

    /// Puts every open bin into its map, so that equal states are equal.
    pub(crate) fn flush(&mut self) {
        let width = self.bin_ns();
        self.all_mut().for_each(|direction| direction.close(width));
    }

    /// How many bins there are.
    pub(crate) const fn bins(&self) -> usize {
        self.bins
    }

    /// Joins neighbouring bins until there are few enough. Bins stay at multiples of their width.
    #[cold]
    fn widen(&mut self) {
        while self.bins > MAX_BINS {
            self.flush();
            self.widen_once();
            self.bins = self.all_mut().map(|direction| direction.bins.len()).sum();
        }
    }

    pub(crate) fn merge(&mut self, mut later: Self, shift: Shift, directions: &[u32]) {
        self.flush();
        later.flush();
        while self.joined < later.joined {
            self.widen_once();
        }
        while later.joined < self.joined {
            later.widen_once();
        }
        let Self { width: _, joined: _, directions: theirs, other, bins: _ } = later;
        let theirs = theirs.into_iter().enumerate();
        let theirs = theirs.map(|(at, theirs)| (directions.get(at).copied().unwrap_or(u32::MAX), theirs));
        for (id, theirs) in theirs.chain(other.map(|other| (u32::MAX, *other))) {
            let Direction { seen, sums, copies, again, assumed, ip_frames, bins, current: _ } = theirs;
            let own = self.slot(id);
            // Two of the later directions may both land in `other`; their order is then not capture order.
            if own.seen.count > 0 && id as usize >= MAX_DIRECTIONS {
                let mut shifted = Seen::default();
                shifted.merge(seen, shift);
                own.seen.join(&shifted);
            } else {
                own.seen.merge(seen, shift);
            }
            own.sums.join(&sums);
            own.copies.join(&copies);
            own.again.join(&again);
            own.assumed += assumed;
            own.ip_frames += ip_frames;
            for (index, bin) in bins {
                own.bins.entry(index).or_default().join(&bin);
            }
        }
        self.bins = self.all_mut().map(|direction| direction.bins.len()).sum();
        self.widen();
    }

    fn widen_once(&mut self) {
        self.joined = self.joined.saturating_mul(2);
        for direction in self.all_mut() {
            let bins = std::mem::take(&mut direction.bins);
            for (index, bin) in bins {
                direction.bins.entry(index.div_euclid(2)).or_default().join(&bin);
            }
        }
    }
}

impl Direction {
    /// Makes the bin of `time` current; true if it is new.
    fn open(&mut self, time: i64, width: i64) -> bool {
        if let Some((start, end, _)) = self.current
            && (start..end).contains(&time)
        {
            return false;
        }
        self.close(width);
        let index = time.div_euclid(width);
        let start = index.saturating_mul(width);
        let known = self.bins.remove(&index);
        let new = known.is_none();
        self.current = Some((start, start.saturating_add(width), known.unwrap_or_default()));
        new
    }

    fn close(&mut self, width: i64) {
        if let Some((start, _, bin)) = self.current.take() {
            self.bins.entry(start.div_euclid(width)).or_default().join(&bin);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where tables are full, all traffic is of no direction: that takes the room of one.
    #[test]
    fn what_has_no_direction_takes_the_room_of_one() {
        let sums = Sums { frames: 3, ..Sums::default() };
        let mut seen = Seen::default();
        seen.count = 3;
        let mut rates = Rates::new(1_000);
        rates.add_many(u32::MAX, &seen, &sums, 7, 0);
        rates.add_many(MAX_DIRECTIONS as u32, &seen, &sums, 7, 2_500);
        assert!(rates.directions.is_empty());
        let mut whole = Rates::new(1_000);
        whole.merge(rates, Shift::default(), &[]);
        let all: Vec<_> = whole.iter().map(|(id, own)| (id as usize, own.sums.frames, own.bins.len())).collect();
        assert_eq!((all, whole.bins()), (vec![(MAX_DIRECTIONS, 6, 2)], 2));
    }
}
