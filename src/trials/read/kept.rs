//! Records of one tap, bounded: of too many, those of the longest bunches are thinned, and each that is kept says for how many it stands.
//!
//! Which records are kept follows from their content where that tells packets apart, else from their number in the bunch: two taps that
//! saw the same packets keep the same ones. Records on both sides of a pause are always kept, so that silences stay what they are.

use std::collections::HashSet;

use foldhash::fast::FixedState;

use super::tap::ContentDigest;
use crate::model::FramePos;
use crate::trials::limits::{APART_NS, MAX_PARTS};

/// What a record stands for: itself and the frames of its stream since the record before it that were not kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Share {
    /// Frames.
    pub(crate) frames: u32,
    /// Sum of their octets: of IP lengths in clear, at layer 1 in a tunnel.
    pub(crate) octets: u32,
    /// Sum of other octets: what fills short frames up in clear, IP lengths inside in a tunnel.
    pub(crate) others: u32,
    /// The bunch they are of.
    part: u16,
}

impl Share {
    /// That of one frame.
    pub(crate) const fn one(octets: u32, others: u32) -> Self {
        Self { frames: 1, octets, others, part: 0 }
    }

    /// Packets of this length, where their own was not seen.
    pub(crate) fn resize(&mut self, size: u16) {
        self.octets = self.frames.saturating_mul(u32::from(size));
        self.others = 0;
    }

    /// Whether all frames have so many octets, as far as their sum tells.
    pub(crate) const fn is_of(self, octets: u16) -> bool {
        self.frames.saturating_mul(octets as u32) == self.octets
    }

    /// Mean of the octets.
    pub(crate) fn mean(self) -> f64 {
        f64::from(self.octets) / f64::from(self.frames.max(1))
    }

    const fn and(self, more: Self) -> Self {
        Self {
            frames: self.frames.saturating_add(more.frames),
            octets: self.octets.saturating_add(more.octets),
            others: self.others.saturating_add(more.others),
            part: more.part,
        }
    }
}

/// What is kept of a frame, and what is its own as a packet in clear or in a tunnel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct KeptRecord<D> {
    /// Time in nanoseconds, clock steps undone.
    pub(crate) t: i64,
    /// The frame; of fragments the first.
    pub(crate) pos: FramePos,
    /// Digest of what no router changes; none where too little was captured, or nothing is visible.
    pub(crate) key: ContentDigest,
    /// Flow or SA.
    pub(crate) stream: u16,
    pub(crate) share: Share,
    pub(crate) detail: D,
}

/// Frames of one stream between two silences.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// Of 2 to the power of this, one is kept.
    level: u8,
    by_content: bool,
    frames: u32,
}

/// A stream as it is read.
#[derive(Clone, Copy, Debug)]
struct Reading<D> {
    part: u16,
    last: i64,
    /// Time of the record that was kept last.
    kept: i64,
    /// The latest frame, if it was not kept; it is if a pause follows.
    held: Option<KeptRecord<D>>,
}

/// Where a record is: it may move when records are thinned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Spot {
    at: usize,
    thinned: u32,
}

/// The records.
#[derive(Clone, Debug)]
pub(crate) struct Kept<D> {
    pub(crate) records: Vec<KeptRecord<D>>,
    parts: Vec<Part>,
    streams: Vec<Option<Reading<D>>>,
    room: usize,
    gap: i64,
    /// Records further apart are all kept.
    pub(crate) apart: i64,
    /// How often records were thinned.
    pub(crate) thinned: u32,
}

impl<D: Copy> Kept<D> {
    pub(crate) fn new(room: usize, gap: i64) -> Self {
        Self {
            records: Vec::new(),
            parts: Vec::new(),
            streams: Vec::new(),
            room: room.max(1 << 10),
            gap,
            apart: APART_NS.min(gap / 2),
            thinned: 0,
        }
    }

    /// Takes in a frame; where its record is, if it is kept.
    pub(crate) fn push(&mut self, mut own: KeptRecord<D>) -> Option<Spot> {
        let (t, stream) = (own.t, usize::from(own.stream));
        if stream >= self.streams.len() {
            self.streams.resize(stream + 1, None);
        }
        let before = self.streams.get(stream).copied().flatten();
        let part = match &before {
            Some(before) if t - before.last <= self.gap || self.parts.len() >= MAX_PARTS => before.part,
            _ => {
                self.parts.push(Part { level: 0, by_content: true, frames: 0 });
                (self.parts.len() - 1) as u16
            }
        };
        own.share = Share { part, ..own.share };
        let chosen = self.parts.get_mut(usize::from(part)).is_none_or(|part| part.next(&own));
        let mut reading = before.unwrap_or(Reading { part, last: t, kept: i64::MIN / 2, held: None });
        (reading.part, reading.last) = (part, t);
        if let Some(held) = reading.held.take() {
            if t - reading.kept > self.apart {
                self.keep(held);
                reading.kept = held.t;
            } else {
                own.share = held.share.and(own.share);
            }
        }
        let spot = if chosen || t - reading.kept > self.apart {
            reading.kept = t;
            Some(self.keep(own))
        } else {
            reading.held = Some(own);
            None
        };
        if let Some(slot) = self.streams.get_mut(stream) {
            *slot = Some(reading);
        }
        spot
    }

    fn keep(&mut self, own: KeptRecord<D>) -> Spot {
        if self.records.len() >= self.room {
            self.thin();
        }
        self.records.push(own);
        Spot { at: self.records.len() - 1, thinned: self.thinned }
    }

    /// A record that is still where it was put.
    pub(crate) fn at(&mut self, spot: Spot) -> Option<&mut KeptRecord<D>> {
        if spot.thinned == self.thinned { self.records.get_mut(spot.at) } else { None }
    }

    /// The latest frame of a stream that was not kept.
    pub(crate) fn held(&mut self, stream: u16) -> Option<&mut KeptRecord<D>> {
        self.streams.get_mut(usize::from(stream))?.as_mut()?.held.as_mut()
    }

    /// Keeps the last frame of each stream, and puts all in order of time: what two interfaces stamped may be out of order by less than
    /// a step.
    pub(crate) fn finish(&mut self) {
        for slot in std::mem::take(&mut self.streams) {
            self.records.extend(slot.and_then(|reading| reading.held));
        }
        if !self.records.is_sorted_by_key(|own| own.t) {
            self.records.sort_by_key(|own| own.t);
        }
    }

    /// Makes room: the longest bunches are halved until a quarter is free.
    fn thin(&mut self) {
        self.thinned += 1;
        loop {
            self.raise_levels();
            self.drop_unchosen();
            if self.records.len() * 8 <= self.room * 7 || self.apart >= i64::MAX / 4 {
                return;
            }
            // Many slow streams: their pauses are no longer told.
            self.apart *= 2;
        }
    }

    fn raise_levels(&mut self) {
        let mut counts = vec![0_u32; self.parts.len()];
        for record in &self.records {
            if let Some(count) = counts.get_mut(usize::from(record.share.part)) {
                *count += 1;
            }
        }
        let mut raised = vec![0_u8; self.parts.len()];
        loop {
            let total: usize = counts.iter().map(|count| *count as usize).sum();
            let most = counts.iter().copied().max().unwrap_or(0);
            if total * 4 <= self.room * 3 || most < 2 {
                break;
            }
            for (count, raised) in counts.iter_mut().zip(&mut raised).filter(|(count, _)| **count > most / 2) {
                (*count, *raised) = (*count / 2, *raised + 1);
            }
        }
        for (part, more) in self.parts.iter_mut().zip(&raised) {
            part.level = part.level.saturating_add(*more).min(24);
        }
        let told = self.told();
        // Contents that do not tell packets apart choose all of them or none, or those of one size.
        let mut passed = vec![(0_u32, 0_u32); self.parts.len()];
        for record in &self.records {
            let at = usize::from(record.share.part);
            let (Some(part), Some(passed)) = (self.parts.get(at), passed.get_mut(at)) else { continue };
            passed.0 += 1;
            passed.1 += u32::from(record.key.low() != 0 && is_chosen(record.key.low(), part.level));
        }
        for ((part, more), ((all, chosen), told)) in self.parts.iter_mut().zip(raised).zip(passed.into_iter().zip(told))
        {
            let want = all >> more;
            let is_even = want < 32 || chosen >= want / 2 && chosen <= want.saturating_mul(2);
            part.by_content &= is_even && told * 2 >= all;
        }
    }

    /// Of each part, how many contents its records have.
    fn told(&self) -> Vec<u32> {
        let mut contents: HashSet<(u16, u32), FixedState> = HashSet::default();
        let mut told = vec![0_u32; self.parts.len()];
        for record in &self.records {
            let is_new = contents.insert((record.share.part, record.key.low()));
            if let Some(count) = told.get_mut(usize::from(record.share.part)).filter(|_| is_new) {
                *count += 1;
            }
        }
        told
    }

    /// Walks over the records as if they were read again, with the levels that hold now.
    fn drop_unchosen(&mut self) {
        let mut streams: Vec<Option<(i64, Option<KeptRecord<D>>)>> = vec![None; self.streams.len()];
        let mut numbers = vec![0_u32; self.parts.len()];
        let mut end = 0;
        for at in 0..self.records.len() {
            let Some(mut own) = self.records.get(at).copied() else { break };
            let share = own.share;
            let number = numbers.get_mut(usize::from(share.part)).map_or(0, |number| {
                *number = number.saturating_add(share.frames);
                *number
            });
            let chosen = self.parts.get(usize::from(share.part)).is_none_or(|part| part.chooses(&own, number));
            let Some(slot) = streams.get_mut(usize::from(own.stream)) else { continue };
            let (mut last, held) = slot.take().unwrap_or((i64::MIN / 2, None));
            if let Some(held) = held {
                if own.t - last > self.apart {
                    self.move_to(&mut end, held);
                    last = held.t;
                } else {
                    own.share = held.share.and(own.share);
                }
            }
            let keep = chosen || own.t - last > self.apart;
            *slot = Some(if keep { (own.t, None) } else { (last, Some(own)) });
            if keep {
                self.move_to(&mut end, own);
            }
        }
        // The last of each stream is kept: what follows is counted from it.
        for held in streams.into_iter().filter_map(|slot| slot?.1) {
            self.move_to(&mut end, held);
        }
        self.records.truncate(end);
    }

    /// Writes where records were read already: no more are kept than were read.
    fn move_to(&mut self, end: &mut usize, own: KeptRecord<D>) {
        if let Some(slot) = self.records.get_mut(*end) {
            *slot = own;
            *end += 1;
        }
    }
}

impl Part {
    /// Counts a frame; whether it is chosen.
    fn next<D>(&mut self, own: &KeptRecord<D>) -> bool {
        self.frames = self.frames.wrapping_add(1);
        self.chooses(own, self.frames)
    }

    fn chooses<D>(&self, own: &KeptRecord<D>, number: u32) -> bool {
        let by = if self.by_content && own.key.low() != 0 { own.key.low() } else { number };
        is_chosen(by, self.level)
    }
}

/// One of 2 to the power of `level`; of a higher level, those are of all lower ones, too.
pub(crate) const fn is_chosen(by: u32, level: u8) -> bool {
    level == 0 || by.wrapping_mul(0x9e37_79b1) >> (32 - level as u32) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(number: u32, content: u64, octets: u32) -> KeptRecord<()> {
        KeptRecord {
            t: i64::from(number) * 100_000,
            pos: FramePos::new(0, u64::from(number)),
            key: ContentDigest::of(content),
            stream: 0,
            share: Share::one(octets, 0),
            detail: (),
        }
    }

    /// Equal packets of three lengths in turn have three contents: were records chosen by these, one length would be left.
    #[test]
    fn packets_of_one_length_do_not_stand_for_all() {
        let sizes = [40_u32, 40, 576, 40, 576, 40, 1_500, 40, 576, 40, 576, 40];
        let digest = |size: u32| u64::from(size).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut kept = Kept::new(1_024, 1_000_000_000);
        for (number, size) in (0..24_000).zip(sizes.into_iter().cycle()) {
            kept.push(record(number, digest(size), size));
        }
        kept.finish();
        assert!(kept.thinned > 0);
        let all: u32 = kept.records.iter().map(|own| own.share.frames).sum();
        assert_eq!(all, 24_000);
        let of = |size: u32| kept.records.iter().filter(|own| own.key == ContentDigest::of(digest(size))).count();
        let records = kept.records.len();
        assert!(of(40) * 12 > records * 5 && of(576) * 12 > records * 3 && of(1_500) * 12 > records / 2);
    }
}
