//! Digests of the last frames, far beyond the window of copies: whether a packet whose number falls back is one that was seen.
//!
//! They are asked only at a fall of a number, so that an archive is a list and no table. A mark is the question that a frame asks, kept
//! with its place: when states merge, the part of the archive that lies in the span before is asked too. Both follow from the frames
//! and their order alone, so they merge.

use serde::{Deserialize, Serialize};

use crate::model::all_bits;

/// Frames that are archived.
pub(crate) const ARCHIVED: usize = 1 << 15;

/// The part of a digest that is archived: of two packets it is the same once in 2^32.
pub(super) const fn short(digest: u64) -> u32 {
    (digest >> 32) as u32
}

/// Digests of the last frames, in capture order.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Archive {
    #[serde(serialize_with = "all_bits")]
    digests: Vec<u32>,
    /// How many frames there were.
    total: u64,
}

impl Archive {
    /// Adds frames.
    #[inline]
    pub(super) fn extend(&mut self, digests: impl ExactSizeIterator<Item = u32>) {
        self.total += digests.len() as u64;
        if self.digests.is_empty() {
            // Growing step by step would copy each digest as often again.
            self.digests.reserve(2 * ARCHIVED);
        }
        self.digests.extend(digests);
        if self.digests.len() >= 2 * ARCHIVED {
            self.trim();
        }
    }

    #[cold]
    fn trim(&mut self) {
        let beyond = self.digests.len().saturating_sub(ARCHIVED);
        self.digests.drain(..beyond);
    }

    pub(super) fn trimmed(mut self) -> Self {
        self.trim();
        self
    }

    pub(super) const fn total(&self) -> u64 {
        self.total
    }

    /// Appends the archive of the span that follows.
    pub(super) fn append(&mut self, later: &Self) {
        self.digests.extend_from_slice(&later.digests);
        self.total += later.total;
        self.trim();
    }

    /// Whether it holds the frame of a mark; `beside`: frames between both that are not in here.
    pub(super) fn holds(&self, mark: DigestMark, beside: usize) -> bool {
        let within = ARCHIVED.saturating_sub(beside);
        let begin = self.digests.len().saturating_sub(within);
        self.digests.get(begin..).is_some_and(|all| all.contains(&mark.digest))
    }
}

/// Whether a frame was seen before.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct DigestMark {
    digest: u32,
    /// Frames of the span before it.
    place: u64,
    again: bool,
}

impl DigestMark {
    pub(super) const fn new(digest: u64, place: u64) -> Self {
        Self { digest: short(digest), place, again: false }
    }

    pub(super) const fn seen(self, again: bool) -> Self {
        Self { again, ..self }
    }

    pub(super) const fn is_of(&self, digest: u64) -> bool {
        self.digest == short(digest)
    }

    /// Looks the frame up in the span before.
    pub(crate) fn look_up(&mut self, before: &Archive) {
        let beside = usize::try_from(self.place).unwrap_or(usize::MAX);
        self.again = self.again || beside < ARCHIVED && before.holds(*self, beside);
        self.place += before.total;
    }

    /// The mark of a frame that is not looked up in the span before.
    pub(crate) const fn moved(self, before: &Archive) -> Self {
        Self { place: self.place + before.total, ..self }
    }

    /// Whether both are of equal frames.
    pub(crate) const fn is_like(&self, other: &Self) -> bool {
        self.digest == other.digest
    }

    /// Whether the frame was seen before, octet for octet.
    pub(crate) const fn is_again(&self) -> bool {
        self.again
    }

    /// Whether it was not, where all frames from the marked `first` one on would be known.
    pub(crate) const fn is_new_since(&self, first: &Self) -> bool {
        !self.again && self.place.saturating_sub(first.place) <= ARCHIVED as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_merged_archive_answers_as_one_does() {
        let digest = |n: u64| (n % 40_000 + 1) << 32;
        for cut in [0_u64, 1, 7_300, 39_999, 40_001, 72_768, 72_769, 99_999] {
            let (mut one, mut own, mut later) = (Archive::default(), Archive::default(), Archive::default());
            let (mut whole, mut part) = (Vec::new(), Vec::new());
            for n in 0..100_000_u64 {
                let ask = |archive: &Archive| {
                    let mark = DigestMark::new(digest(n), archive.total());
                    mark.seen(archive.holds(mark, 0))
                };
                let before = (n >= cut && n % 997 == 0).then(|| own.clone().trimmed());
                let half = if n < cut { &mut own } else { &mut later };
                if n % 997 == 0 {
                    whole.push(ask(&one));
                    let mut mark = ask(half);
                    if let Some(before) = before {
                        mark.look_up(&before);
                    }
                    part.push(mark);
                }
                half.extend(std::iter::once(short(digest(n))));
                one.extend(std::iter::once(short(digest(n))));
            }
            assert_eq!(whole, part, "{cut}");
            own.append(&later.trimmed());
            assert_eq!(own.trimmed(), one.trimmed());
        }
    }
}
