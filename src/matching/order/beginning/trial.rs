//! What came of looking for a beginning, and what speaks for the other direction.

use std::collections::{HashSet, VecDeque};

use foldhash::fast::FixedState;

use super::Beginning;
use crate::matching::order::lane::PlainItem;

/// What came of looking for a beginning.
pub(in crate::matching) enum BeginningTrial {
    /// The packets do not belong together, as far as is known.
    Nothing,
    /// Several alignments fit: their number, and how well the best of them fits.
    Open(usize, f64),
    /// They belong together.
    Begun(Box<Beginning>),
}

impl BeginningTrial {
    pub(in crate::matching) fn weight(&self) -> f64 {
        match self {
            Self::Nothing => 0.0,
            Self::Open(_, weight) => *weight,
            Self::Begun(beginning) => beginning.weight,
        }
    }

    /// Alignments that explain the packets as well as the best.
    pub(in crate::matching) const fn open(&self) -> usize {
        if let Self::Open(alignments, _) = self { *alignments } else { 0 }
    }

    /// The same, unless the other direction of the plain side fits nearly as well; where both are alike, another direction of the tunnel must not fit these
    /// plaintext packets either (`answers`).
    pub(in crate::matching) fn unless(self, other: &Self, answers: &Self, ways: PlainWays) -> Self {
        let outweighs = |other: &Self| self.weight() >= 2.0 * other.weight();
        let told = if let Self::Begun(own) = &self { own.told } else { false };
        let is_told = match ways {
            PlainWays::Either => false,
            PlainWays::Alike => told && outweighs(other) && outweighs(answers),
            PlainWays::Unlike => outweighs(other),
        };
        if is_told {
            return self;
        }
        let weight = self.weight();
        match self {
            Self::Nothing => Self::Nothing,
            Self::Open(alignments, _) => Self::Open(alignments + 1, weight),
            Self::Begun(_) => Self::Open(2, weight),
        }
    }
}

/// What is known of the two ways of the plain side.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::matching) enum PlainWays {
    /// Each fits each direction of the tunnel as well.
    Either,
    /// They have the same succession of lengths, as from a generator of traffic: times alone tell which is which.
    Alike,
    Unlike,
}

impl PlainWays {
    /// `either`: each fits each direction of the tunnel as well.
    pub(in crate::matching) fn of(plain: &[VecDeque<PlainItem>; 2], either: bool) -> Self {
        if either {
            return Self::Either;
        }
        /// Lengths of either way that are compared.
        const MOST: usize = 1 << 13;
        let lengths = plain.each_ref().map(|way| way.iter().take(MOST).map(|item| item.bytes).collect::<Vec<u32>>());
        let are_alike = are_in_step(&lengths) || are_of_one_length(&lengths) || have_common_runs(&lengths);
        if are_alike { Self::Alike } else { Self::Unlike }
    }
}

/// Whether most packets of both ways have the same length at the same place, of several lengths: a test that goes through sizes.
fn are_in_step([one, other]: &[Vec<u32>; 2]) -> bool {
    /// Packets that are enough, how many of them differ at most, as 1 in N, and lengths that are no chance.
    const ENOUGH: usize = 16;
    const DIFFER: usize = 8;
    const SEVERAL: usize = 3;
    let both = one.len().min(other.len());
    let differ = one.iter().zip(other).filter(|(a, b)| a != b).count();
    let lengths: HashSet<u32, FixedState> = one.iter().take(both).copied().collect();
    both >= ENOUGH && differ * DIFFER <= both && lengths.len() >= SEVERAL
}

/// Whether all packets of both ways have one length: queues that fill at the same time give both one pace, too.
fn are_of_one_length([one, other]: &[Vec<u32>; 2]) -> bool {
    let mut all = one.iter().chain(other);
    let first = all.next();
    !one.is_empty() && !other.is_empty() && all.all(|bytes| Some(bytes) == first)
}

/// Whether runs of lengths of one way are in the other, too, wherever they stand.
fn have_common_runs([one, other]: &[Vec<u32>; 2]) -> bool {
    /// Lengths that say which part of a succession this is, and changes in it: with fewer, any two loads in blocks have runs in common.
    const RUN: usize = 16;
    const CHANGES: usize = 6;
    /// Runs of the shorter one that the other has too, as 1 in N: a lost packet is in as many as a run has.
    const OF_RUNS: usize = 4;
    let (shorter, longer) = if one.len() < other.len() { (one, other) } else { (other, one) };
    let tells = |run: &&[u32]| run.windows(2).filter(|two| two.first() != two.last()).count() >= CHANGES;
    let runs: HashSet<&[u32], FixedState> = longer.windows(RUN).filter(tells).collect();
    let (all, common) = shorter
        .windows(RUN)
        .filter(tells)
        .fold((0, 0), |(all, common), run| (all + 1, common + usize::from(runs.contains(run))));
    common > 0 && common * OF_RUNS >= all
}
