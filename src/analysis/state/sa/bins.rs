//! Traffic of each SA over time.
//!
//! Bins are at multiples of their width since the epoch, and their number is bounded: where there are too many, neighbours are joined two
//! to one until they fit. How wide they are follows from the bins alone: those of two spans together are at least those of either, so a
//! width that suffices for both is at least the width of each, and merging loses nothing.

use serde::{Deserialize, Serialize};

use std::collections::BTreeMap;

use crate::analysis::limits::MAX_SA_BINS;
use crate::analysis::observe::observation::{Observation, SaSight};
use crate::analysis::settings::Settings;
use crate::analysis::state::base::intern::{NONE, remap};
use crate::analysis::state::base::tables::Remap;
use crate::model::all_bits;

/// Bins are joined no further: one is longer than the times that a timestamp can say.
const WIDEST: i64 = 1 << 62;

/// Traffic of all SAs of a span, by SA number.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct SaBins {
    /// Width of a bin asked for.
    #[serde(serialize_with = "all_bits")]
    width: i64,
    /// How many of those are one; a power of two.
    #[serde(serialize_with = "all_bits")]
    joined: i64,
    /// The bins with frames, in the order of time.
    sas: Vec<Vec<SaBin>>,
    /// Of these, what copies are: by SA and bin.
    copies: BTreeMap<(u32, i64), SaBinSums>,
    /// How many bins there are.
    bins: usize,
    /// And may be.
    most: usize,
}

/// A bin with frames.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct SaBin {
    /// Its number since the epoch.
    #[serde(serialize_with = "all_bits")]
    pub(crate) index: i64,
    pub(crate) sums: SaBinSums,
}

/// Sums over the frames of an SA in a bin.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct SaBinSums {
    pub(crate) frames: u64,
    pub(crate) l1_bytes: u64,
    /// Octets of the IP packets that enclose the header.
    pub(crate) l3_bytes: u64,
}

impl SaBinSums {
    pub(crate) fn join(&mut self, other: &Self) {
        let Self { frames, l1_bytes, l3_bytes } = *other;
        self.frames += frames;
        self.l1_bytes += l1_bytes;
        self.l3_bytes += l3_bytes;
    }

    pub(crate) fn without(&self, copies: &Self) -> Self {
        Self {
            frames: self.frames.saturating_sub(copies.frames),
            l1_bytes: self.l1_bytes.saturating_sub(copies.l1_bytes),
            l3_bytes: self.l3_bytes.saturating_sub(copies.l3_bytes),
        }
    }
}

impl Default for SaBins {
    fn default() -> Self {
        Self::new(Settings::<()>::default().bin_ns)
    }
}

impl SaBins {
    pub(crate) fn new(bin_ns: u64) -> Self {
        Self::of_at_most(MAX_SA_BINS, bin_ns)
    }

    /// The most bins that are kept.
    pub(crate) fn of_at_most(most: usize, bin_ns: u64) -> Self {
        let width = i64::try_from(bin_ns).unwrap_or(i64::MAX).max(1);
        Self { width, joined: 1, sas: Vec::new(), copies: BTreeMap::new(), bins: 0, most }
    }

    /// Whether bins that were read can be those of a state with these settings.
    pub(crate) fn is_sound(&self, most: usize, settings: &Settings) -> bool {
        let in_order = |bins: &Vec<SaBin>| bins.is_sorted_by(|a, b| a.index < b.index);
        self.width == Self::new(settings.bin_ns).width
            && self.most == most
            && self.joined > 0
            && self.joined.count_ones() == 1
            && self.sas.iter().all(in_order)
            && self.bins == self.sas.iter().map(Vec::len).sum::<usize>()
    }

    /// Width of a bin as kept, in nanoseconds.
    pub(crate) fn bin_ns(&self) -> i64 {
        self.width.saturating_mul(self.joined)
    }

    /// First and end of the bin that a time lies in, in nanoseconds.
    pub(crate) fn bin_of(&self, time: i64) -> (i64, i64) {
        let width = self.bin_ns();
        let start = time.div_euclid(width).saturating_mul(width);
        (start, start.saturating_add(width))
    }

    /// How many bins there are.
    pub(crate) const fn len(&self) -> usize {
        self.bins
    }

    /// The bins of an SA.
    pub(crate) fn of(&self, sa: u32) -> &[SaBin] {
        self.sas.get(sa as usize).map_or(&[], Vec::as_slice)
    }

    /// Copies in a bin of an SA.
    pub(crate) fn copies_of(&self, sa: u32, index: i64) -> SaBinSums {
        self.copies.get(&(sa, index)).copied().unwrap_or_default()
    }

    #[inline]
    pub(crate) fn observe(&mut self, o: &Observation, sights: &[SaSight]) {
        let Some(time) = o.time.ns() else { return };
        for (at, sight) in sights.iter().enumerate() {
            self.add(sight.sa, time, &sums(o, sights, at));
        }
    }

    /// Adds frames of an SA whose times lie in the bin of `time`.
    #[inline]
    pub(crate) fn add(&mut self, sa: u32, time: i64, sums: &SaBinSums) {
        if sa == NONE {
            return;
        }
        let index = time.div_euclid(self.bin_ns());
        self.put(sa, index, sums);
        if self.bins > self.most {
            self.widen();
        }
    }

    fn put(&mut self, sa: u32, index: i64, sums: &SaBinSums) {
        let at = sa as usize;
        if at >= self.sas.len() {
            self.sas.resize_with(at + 1, Vec::new);
        }
        let Some(bins) = self.sas.get_mut(at) else { return };
        // Nearly always the last one, or the one after it.
        let place = match bins.last() {
            Some(last) if last.index == index => Ok(bins.len() - 1),
            Some(last) if last.index > index => bins.binary_search_by_key(&index, |bin| bin.index),
            _ => Err(bins.len()),
        };
        match place {
            Ok(place) => {
                if let Some(bin) = bins.get_mut(place) {
                    bin.sums.join(sums);
                }
            }
            Err(place) => {
                bins.insert(place, SaBin { index, sums: *sums });
                self.bins += 1;
            }
        }
    }

    /// Takes in a frame recognised as a copy, which `observe` has counted; or, where it was one and is none, takes it back.
    pub(crate) fn count_copy(&mut self, o: &Observation, sights: &[SaSight], copy: bool) {
        let Some(time) = o.time.ns() else { return };
        let index = time.div_euclid(self.bin_ns());
        for (at, sight) in sights.iter().enumerate().filter(|(_, sight)| sight.sa != NONE) {
            let one = sums(o, sights, at);
            let own = self.copies.entry((sight.sa, index)).or_default();
            if copy {
                own.join(&one);
            } else {
                *own = own.without(&one);
            }
            if own.frames == 0 {
                self.copies.remove(&(sight.sa, index));
            }
        }
    }

    /// Joins neighbouring bins until there are few enough. Bins stay at multiples of their width.
    #[cold]
    fn widen(&mut self) {
        while self.bins > self.most && self.bin_ns() < WIDEST {
            self.widen_once();
        }
    }

    fn widen_once(&mut self) {
        self.joined = self.joined.saturating_mul(2);
        self.bins = 0;
        for bins in &mut self.sas {
            *bins = halved(bins);
            self.bins += bins.len();
        }
        for ((sa, index), sums) in std::mem::take(&mut self.copies) {
            self.copies.entry((sa, index.div_euclid(2))).or_default().join(&sums);
        }
    }

    pub(crate) fn merge(&mut self, mut later: Self, map: &Remap) {
        while self.joined < later.joined {
            self.widen_once();
        }
        while later.joined < self.joined {
            later.widen_once();
        }
        let Self { width: _, joined: _, sas, copies, bins: _, most: _ } = later;
        for (id, bins) in (0_u32..).zip(sas) {
            let own = remap(&map.sas, id);
            if own != NONE {
                bins.iter().for_each(|bin| self.put(own, bin.index, &bin.sums));
            }
        }
        for ((sa, index), sums) in copies {
            let own = remap(&map.sas, sa);
            if own != NONE {
                self.copies.entry((own, index)).or_default().join(&sums);
            }
        }
        self.widen();
    }

    /// Gives back the room that was taken for bins that did not come.
    pub(crate) fn settle(&mut self) {
        self.sas.iter_mut().for_each(Vec::shrink_to_fit);
        self.sas.shrink_to_fit();
    }
}

/// Bins of twice the width.
pub(crate) fn halved(bins: &[SaBin]) -> Vec<SaBin> {
    let mut halved: Vec<SaBin> = Vec::with_capacity(bins.len().div_ceil(2));
    for bin in bins {
        let index = bin.index.div_euclid(2);
        match halved.last_mut() {
            Some(last) if last.index == index => last.sums.join(&bin.sums),
            _ => halved.push(SaBin { index, sums: bin.sums }),
        }
    }
    halved
}

/// What a frame adds to the SA of one of its headers. Several messages of one SA in a segment share one frame's layer 1.
fn sums(o: &Observation, sights: &[SaSight], at: usize) -> SaBinSums {
    let Some(sight) = sights.get(at) else { return SaBinSums::default() };
    let again = sights.iter().take(at).any(|earlier| earlier.sa == sight.sa);
    SaBinSums { frames: 1, l1_bytes: if again { 0 } else { o.l1_bytes() }, l3_bytes: sight.outer_bytes.into() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FRAME: SaBinSums = SaBinSums { frames: 1, l1_bytes: 100, l3_bytes: 60 };

    fn bins(frames: &[(u32, i64)]) -> SaBins {
        let mut bins = SaBins::new(10);
        frames.iter().for_each(|(sa, time)| bins.add(*sa, *time, &FRAME));
        bins
    }

    fn identity(sas: u32) -> Remap {
        Remap { sas: (0..sas).collect(), ..Remap::default() }
    }

    #[test]
    fn beyond_the_limit_bins_are_as_wide_as_they_must_be_and_no_wider() {
        let most = MAX_SA_BINS as i64;
        let whole = |count: i64| bins(&(0..count).map(|n| (0, n * 10)).collect::<Vec<_>>());
        assert_eq!((whole(most).bin_ns(), whole(most).len()), (10, MAX_SA_BINS));
        let one_more = whole(most + 1);
        assert_eq!((one_more.bin_ns(), one_more.len()), (20, MAX_SA_BINS / 2 + 1));
        let frames: u64 = one_more.of(0).iter().map(|bin| bin.sums.frames).sum();
        assert_eq!(frames, MAX_SA_BINS as u64 + 1);
        // SAs without end have a bin each: there is a widest one.
        let apart: Vec<(u32, i64)> = (0..MAX_SA_BINS as u32 + 5).map(|sa| (sa, i64::from(sa))).collect();
        assert_eq!(bins(&apart).len(), MAX_SA_BINS + 5);
    }

    proptest! {
        #[test]
        fn pieces_are_the_whole(
            frames in prop::collection::vec((0_u32..3, -2_000_i64..2_000), 0..80),
            cut in 0_usize..80,
            widened in (0_u32..4, 0_u32..4),
        ) {
            let cut = cut.min(frames.len());
            let mut whole = bins(&frames);
            let (mut one, mut two) = (bins(&frames[..cut]), bins(&frames[cut..]));
            // Widths that they might have had with more bins: the whole is at least as wide.
            (0..widened.0).for_each(|_| one.widen_once());
            (0..widened.1).for_each(|_| two.widen_once());
            (0..widened.0.max(widened.1)).for_each(|_| whole.widen_once());
            one.merge(two, &identity(3));
            prop_assert_eq!(one, whole);
        }
    }
}
