//! What the sequence numbers of an SA come to.

use super::run::{Edge, Run};
use super::{SequenceState, WINDOWS};
use crate::analysis::limits::JUMP_STEP;

/// The figures of an SA's sequence numbers.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct SequenceFigures {
    pub(crate) first: u32,
    pub(crate) last: u32,
    pub(crate) highest: u64,
    pub(crate) lost: u64,
    pub(crate) gaps: u64,
    pub(crate) longest_gap: u64,
    pub(crate) duplicate: u64,
    pub(crate) late: u64,
    pub(crate) wraps: u64,
    pub(crate) outliers: u64,
    /// Per window of [`WINDOWS`].
    pub(crate) would_drop: [u64; WINDOWS.len()],
    /// What hardly any SA has.
    pub(super) unusual: Option<Box<Unusual>>,
}

/// A step forward that is too far to be loss.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Jump {
    /// The frame before it, and the first one after it.
    pub(crate) from: Edge,
    pub(crate) to: Edge,
    /// Numbers between the two.
    pub(crate) skipped: u64,
    /// Frames of the run before it, and how long that took.
    pub(crate) before: (u64, Option<i64>),
}

impl Jump {
    /// How many packets the pause has room for at the rate before; `None` where that rate is not known.
    pub(crate) fn room(&self) -> Option<u64> {
        let (frames, ns) = self.before;
        let ns = u128::try_from(ns?).ok().filter(|&ns| ns > 0)?;
        let pause = u128::try_from(self.pause_ns()?).ok()?;
        u64::try_from(u128::from(frames.saturating_sub(1)).saturating_mul(pause) / ns).ok()
    }

    /// Nanoseconds between the two frames.
    pub(crate) fn pause_ns(&self) -> Option<i64> {
        self.to.time.since(self.from.time)
    }
}

/// What hardly any SA has.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Unusual {
    pub(super) restarts: Vec<Edge>,
    pub(super) jumps: Vec<Jump>,
    pub(super) wraps: Vec<Edge>,
    pub(super) outliers: Vec<Edge>,
    pub(super) degraded: Option<String>,
    pub(super) folded: bool,
}

impl SequenceFigures {
    /// The first frame of every run that began below the end of the run before it.
    pub(crate) fn restarts(&self) -> &[Edge] {
        self.unusual.as_ref().map_or(&[], |unusual| &unusual.restarts)
    }

    /// Leaps forward beyond what loss explains.
    pub(crate) fn jumps(&self) -> &[Jump] {
        self.unusual.as_ref().map_or(&[], |unusual| &unusual.jumps)
    }

    /// First frames behind crossings of 2^32.
    pub(crate) fn wrap_edges(&self) -> &[Edge] {
        self.unusual.as_ref().map_or(&[], |unusual| &unusual.wraps)
    }

    /// The first frame with each number that is far from its neighbours.
    pub(crate) fn outlier_edges(&self) -> &[Edge] {
        self.unusual.as_ref().map_or(&[], |unusual| &unusual.outliers)
    }

    /// Why the figures are not exact.
    pub(crate) fn degraded(&self) -> Option<&str> {
        self.unusual.as_ref().and_then(|unusual| unusual.degraded.as_deref())
    }

    /// Whether that is so because old intervals became counters.
    pub(crate) fn is_folded(&self) -> bool {
        self.unusual.as_ref().is_some_and(|unusual| unusual.folded)
    }

    pub(super) fn unusual(&mut self) -> &mut Unusual {
        self.unusual.get_or_insert_default()
    }
}

/// The jump between two runs, where the second begins ahead of the first: also across 2^32, if not by much.
pub(super) fn jump(before: &Run, after: &Run) -> Option<Jump> {
    let ahead = after.first.raw.wrapping_sub(before.last.raw);
    let forward = after.first.raw > before.last.raw || ahead <= FURTHEST_ACROSS;
    // A step back across 0 looks like one ahead by nearly all numbers.
    let far = (JUMP_STEP.unsigned_abs() + 1..u32::MAX - FURTHEST_ACROSS).contains(&ahead);
    (forward && far).then(|| Jump {
        from: before.last,
        to: after.first,
        skipped: u64::from(ahead) - 1,
        before: (before.frames, before.last.time.since(before.first.time)),
    })
}

/// A step across 2^32 that is no larger is a jump ahead; a larger one is a counter that began anew.
const FURTHEST_ACROSS: u32 = 1 << 24;

impl SequenceState {
    /// Frames whose number was read.
    pub(crate) fn numbered(&self) -> u64 {
        let own: u64 = self.runs.iter().map(|run| run.frames).sum();
        own + self.refused + u64::from(self.fallen.is_some())
    }
}
