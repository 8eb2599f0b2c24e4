//! How often something was seen, and in which frames: the first ones and the last.
//!
//! Which frames are listed is a rule over positions alone, so that lists of adjoining spans merge: the first ones of the earlier span, then
//! those of the later one, as long as the earlier span listed all of its own.

use std::ops::Deref;

use serde::{Deserialize, Serialize};

use super::seen::Seen;
use crate::analysis::limits::FIRST_LISTED;
use crate::model::{FramePos, Shift, Timestamp};

/// A frame and its time.
pub(crate) type At = (FramePos, Timestamp);

/// The first frames of something that is counted elsewhere.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Firsts(Vec<At>);

/// A count with its first frames and the last one.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Listed {
    seen: Seen,
    firsts: Firsts,
}

impl Firsts {
    /// Adds a frame behind `before` others.
    pub(crate) fn add(&mut self, before: u64, frame: At) {
        if self.0.len() < FIRST_LISTED && self.0.len() as u64 == before {
            self.0.push(frame);
        }
    }

    /// Appends the list of a later span to one of `count` frames.
    pub(crate) fn append(&mut self, count: u64, later: Self, shift: Shift) {
        let Self(later) = later;
        if self.0.len() as u64 == count {
            let room = FIRST_LISTED.saturating_sub(self.0.len());
            self.0.extend(later.into_iter().take(room).map(|(pos, time)| (pos.shifted(shift), time)));
        }
    }

    /// Whether one more of `count` frames would be listed.
    pub(crate) fn wants(&self, count: u64) -> bool {
        self.0.len() < FIRST_LISTED && self.0.len() as u64 == count
    }

    /// How many of `count` frames are listed where at most `most` may be; none of what is not listed.
    pub(crate) fn listed(&self, count: u64, most: u64) -> u64 {
        if self.0.is_empty() { 0 } else { count.min(most) }
    }

    /// Keeps the first `most` frames.
    pub(crate) fn truncate(&mut self, most: usize) {
        self.0.truncate(most);
        self.0.shrink_to_fit();
    }

    pub(crate) fn frames(&self) -> &[At] {
        &self.0
    }
}

impl Listed {
    #[cold]
    pub(crate) fn add(&mut self, pos: FramePos, time: Timestamp) {
        self.firsts.add(self.seen.count, (pos, time));
        self.seen.add(pos, time);
    }

    pub(crate) fn merge(&mut self, later: Self, shift: Shift) {
        let Self { seen, firsts } = later;
        self.firsts.append(self.seen.count, firsts, shift);
        self.seen.merge(seen, shift);
    }

    /// A list with the frames of something that is counted beside it.
    pub(crate) fn of(seen: Seen, firsts: &Firsts) -> Self {
        Self { seen, firsts: firsts.clone() }
    }

    /// Joins with another of the same span, whichever of their frames came first. A list that does not hold all of its frames says nothing
    /// of those after its last one, so the frames of the other that come after it are not listed either.
    pub(crate) fn join(&mut self, other: &Self) {
        if other.seen.count == 0 {
            return;
        }
        let end = [self.known_until(), other.known_until()].into_iter().flatten().min();
        let firsts = &mut self.firsts.0;
        let is_behind_all = firsts.len() >= FIRST_LISTED
            && firsts.last().zip(other.firsts.0.first()).is_some_and(|((last, _), (first, _))| first > last);
        if !is_behind_all {
            firsts.extend_from_slice(&other.firsts.0);
            firsts.sort_unstable_by_key(|(pos, _)| *pos);
            firsts.dedup();
            firsts.truncate(FIRST_LISTED);
            if let Some(end) = end {
                firsts.retain(|(pos, _)| *pos <= end);
            }
        }
        self.seen.join(&other.seen);
    }

    /// The last frame up to which all frames are listed, where that is not all of them.
    fn known_until(&self) -> Option<FramePos> {
        let is_part = (self.firsts.0.len() as u64) < self.seen.count;
        is_part.then(|| self.firsts.0.last().map_or(FramePos::new(0, 0), |(pos, _)| *pos))
    }

    /// Counts frames that are not listed: those before them fill the list.
    pub(crate) fn pass(&mut self, seen: &Seen) {
        self.seen.join(seen);
    }

    /// Whether the next frame would be listed.
    pub(crate) fn wants(&self) -> bool {
        self.firsts.wants(self.seen.count)
    }

    /// The same, later by `shift`.
    pub(crate) fn shifted(self, shift: Shift) -> Self {
        let mut shifted = Self::default();
        shifted.merge(self, shift);
        shifted
    }

    pub(crate) fn truncate(&mut self, most: usize) {
        self.firsts.truncate(most);
    }

    pub(crate) fn frames(&self) -> &[At] {
        self.firsts.frames()
    }
}

impl Deref for Listed {
    type Target = Seen;

    fn deref(&self) -> &Seen {
        &self.seen
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn listed(frames: std::ops::Range<u64>) -> Listed {
        let mut listed = Listed::default();
        for (number, frame) in frames.clone().zip(1..) {
            listed.add(FramePos::new(0, frame), Timestamp::from_ns(number as i64));
        }
        listed
    }

    proptest! {
        #[test]
        fn lists_of_pieces_are_the_list_of_the_whole(frames in 0_u64..350, mut cuts in prop::collection::vec(0_u64..350, 0..4), left in any::<bool>()) {
            cuts.extend([0, frames]);
            cuts.iter_mut().for_each(|cut| *cut = (*cut).min(frames));
            cuts.sort_unstable();
            let mut pieces: Vec<(u64, Listed)> =
                cuts.windows(2).map(|cut| (cut[1] - cut[0], listed(cut[0]..cut[1]))).collect();
            while pieces.len() > 1 {
                let at = if left { 0 } else { pieces.len() - 2 };
                let (later_frames, later) = pieces.remove(at + 1);
                let (own_frames, own) = &mut pieces[at];
                own.merge(later, Shift { captures: 0, frames: *own_frames });
                *own_frames += later_frames;
            }
            prop_assert_eq!(&pieces[0].1, &listed(0..frames));
            prop_assert_eq!(pieces[0].1.frames().len() as u64, frames.min(FIRST_LISTED as u64));
        }

        #[test]
        fn joined_lists_are_the_beginning_of_all_frames(
            owners in prop::collection::vec(0_usize..4, 0..400),
            halved in prop::collection::vec(0_u32..7, 4),
        ) {
            let mut lists = vec![Listed::default(); 4];
            let mut all = Listed::default();
            for (owner, frame) in owners.into_iter().zip(1..) {
                let at = FramePos::new(0, frame);
                lists[owner].add(at, Timestamp::from_ns(0));
                all.add(at, Timestamp::from_ns(0));
            }
            lists.iter_mut().zip(&halved).for_each(|(list, level)| list.truncate(FIRST_LISTED >> level));
            let join = |lists: &[Listed]| {
                let mut joined = Listed::default();
                lists.iter().for_each(|list| joined.join(list));
                joined
            };
            let joined = join(&lists);
            prop_assert_eq!(joined.seen, all.seen);
            prop_assert!(all.frames().starts_with(joined.frames()), "{:?}", joined.frames());
            if halved.iter().all(|level| *level == 0) {
                prop_assert_eq!(&joined, &all);
            }
            lists.reverse();
            prop_assert_eq!(join(&lists), joined);
        }
    }
}
