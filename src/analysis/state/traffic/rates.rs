//! Traffic per direction over time.

use serde::{Deserialize, Serialize};

use std::collections::BTreeMap;

use super::flows::Decapsulated;
use crate::analysis::limits::{MAX_BINS, MAX_DIRECTIONS};
use crate::analysis::observe::observation::Observation;
use crate::analysis::settings::Settings;
use crate::analysis::state::base::seen::Seen;
use crate::model::Shift;
use crate::transform::size::ethernet;

/// Traffic of a span, indexed by direction number; slot [`MAX_DIRECTIONS`] is `other`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Rates {
    /// Width of a bin asked for.
    width: i64,
    /// How many of those are joined into one because there were too many; a power of two.
    joined: i64,
    directions: Vec<Direction>,
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

/// Sums over frames.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Sums {
    pub(crate) frames: u64,
    pub(crate) l1_bytes: u64,
    pub(crate) l2_bytes: u64,
    pub(crate) l3_bytes: u64,
    pub(crate) control_frames: u64,
    pub(crate) control_l1_bytes: u64,
    pub(crate) clear_bytes: u64,
}

/// Sums over frames in clear that directly follow the packet they may have come out of.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Again {
    frames: u64,
    l2_bytes: u64,
    l3_bytes: u64,
}

impl Again {
    fn add(&mut self, frame: &Decapsulated) {
        self.frames += 1;
        self.l2_bytes += u64::from(frame.l2_bytes);
        self.l3_bytes += u64::from(frame.l3_bytes);
    }

    fn join(&mut self, other: &Self) {
        let Self { frames, l2_bytes, l3_bytes } = *other;
        self.frames += frames;
        self.l2_bytes += l2_bytes;
        self.l3_bytes += l3_bytes;
    }

    /// The sums without so many octets at the end of every frame.
    pub(crate) fn without_trailer(mut self, bytes: u64) -> Self {
        self.l2_bytes = self.l2_bytes.saturating_sub(self.frames.saturating_mul(bytes));
        self
    }

    /// The same as sums of frames in clear.
    pub(crate) fn sums(&self) -> Sums {
        Sums {
            frames: self.frames,
            l1_bytes: self.l2_bytes + self.frames * ethernet::PREAMBLE_AND_IFG,
            l2_bytes: self.l2_bytes,
            l3_bytes: self.l3_bytes,
            clear_bytes: self.l3_bytes,
            ..Sums::default()
        }
    }
}

/// Sums over the frames of one bin, and of the copies among them.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct BinSums {
    pub(crate) all: Sums,
    pub(crate) goodput_bytes: u64,
    pub(crate) copies: Sums,
    pub(crate) copies_goodput_bytes: u64,
    pub(crate) again: Again,
}

impl Sums {
    #[inline]
    fn add(&mut self, o: &Observation) {
        self.frames += 1;
        if o.class.control {
            self.control_frames += 1;
            self.control_l1_bytes += o.l1_bytes();
        } else {
            self.l1_bytes += o.l1_bytes();
            self.l2_bytes += u64::from(o.l2_bytes);
        }
        self.l3_bytes += u64::from(o.l3_bytes);
        if o.class.clear {
            self.clear_bytes += u64::from(o.l3_bytes);
        }
    }

    pub(crate) fn join(&mut self, other: &Self) {
        let Self { frames, l1_bytes, l2_bytes, l3_bytes, control_frames, control_l1_bytes, clear_bytes } = *other;
        self.frames += frames;
        self.l1_bytes += l1_bytes;
        self.l2_bytes += l2_bytes;
        self.l3_bytes += l3_bytes;
        self.control_frames += control_frames;
        self.control_l1_bytes += control_l1_bytes;
        self.clear_bytes += clear_bytes;
    }

    /// The sums without those of `copies`.
    pub(crate) fn without(&self, copies: &Self) -> Self {
        Self {
            frames: self.frames.saturating_sub(copies.frames),
            l1_bytes: self.l1_bytes.saturating_sub(copies.l1_bytes),
            l2_bytes: self.l2_bytes.saturating_sub(copies.l2_bytes),
            l3_bytes: self.l3_bytes.saturating_sub(copies.l3_bytes),
            control_frames: self.control_frames.saturating_sub(copies.control_frames),
            control_l1_bytes: self.control_l1_bytes.saturating_sub(copies.control_l1_bytes),
            clear_bytes: self.clear_bytes.saturating_sub(copies.clear_bytes),
        }
    }
}

impl Sums {
    /// The sums without so many octets at the end of every frame.
    pub(crate) fn without_trailer(mut self, bytes: u64) -> Self {
        let octets = self.frames.saturating_sub(self.control_frames).saturating_mul(bytes);
        self.l1_bytes = self.l1_bytes.saturating_sub(octets);
        self.l2_bytes = self.l2_bytes.saturating_sub(octets);
        self
    }
}

impl BinSums {
    pub(crate) fn join(&mut self, other: &Self) {
        self.all.join(&other.all);
        self.goodput_bytes += other.goodput_bytes;
        self.copies.join(&other.copies);
        self.copies_goodput_bytes += other.copies_goodput_bytes;
        self.again.join(&other.again);
    }
}

impl Default for Rates {
    fn default() -> Self {
        Self::new(Settings::<()>::default().bin_ns)
    }
}

impl Rates {
    pub(crate) fn new(bin_ns: u64) -> Self {
        Self { width: i64::try_from(bin_ns).unwrap_or(i64::MAX).max(1), joined: 1, directions: Vec::new(), bins: 0 }
    }

    /// Whether bins that were read can be those of a state with these settings.
    pub(crate) fn is_sound(&self, settings: &Settings) -> bool {
        let closed = self.directions.iter().all(|direction| direction.current.is_none());
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
        let at = (direction as usize).min(MAX_DIRECTIONS);
        if at >= self.directions.len() {
            self.directions.resize_with(at + 1, Direction::default);
        }
        &mut self.directions[at]
    }

    /// Directions with their numbers; [`MAX_DIRECTIONS`] stands for all that had no room.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Direction)> {
        self.directions.iter().enumerate().filter(|(_, d)| d.seen.count > 0).map(|(at, d)| (at as u32, d))
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
        for direction in &mut self.directions {
            direction.close(width);
        }
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
            self.joined = self.joined.saturating_mul(2);
            self.bins = 0;
            for direction in &mut self.directions {
                let bins = std::mem::take(&mut direction.bins);
                for (index, bin) in bins {
                    direction.bins.entry(index.div_euclid(2)).or_default().join(&bin);
                }
                self.bins += direction.bins.len();
            }
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
        let Self { width: _, joined: _, directions: theirs, bins: _ } = later;
        for (at, theirs) in theirs.into_iter().enumerate() {
            let id = directions.get(at).copied().unwrap_or(u32::MAX);
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
        self.bins = self.directions.iter().map(|d| d.bins.len()).sum();
        self.widen();
    }

    fn widen_once(&mut self) {
        self.joined = self.joined.saturating_mul(2);
        for direction in &mut self.directions {
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
