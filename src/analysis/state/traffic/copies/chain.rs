//! Equal frames that follow each other, and which of them are copies.

use serde::{Deserialize, Serialize};

use super::{DECIDE, RATIO};
use crate::analysis::limits::COPY_WINDOW_NS;
use crate::analysis::observe::observation::SaSight;

/// Times of a chain before its latest.
pub(super) type Older = [i64; DECIDE - 1];

/// No time.
pub(super) const VACANT: i64 = i64::MIN;
/// No earlier time.
pub(super) const NONE_OLDER: Older = [VACANT; DECIDE - 1];

/// At the beginning of a chain, more frames than these and the first one are a cluster only if all of them are as close as that: equal packets at a
/// steady pace begin alike.
const PACED: usize = 3;
const CLOSE_NS: u64 = 100_000;

/// The step of most timestamps.
const STEP_NS: u64 = 1_000;

/// Equal frames, each at most the window behind the one before it: the times of the last few, latest first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chain {
    pub(super) times: [i64; DECIDE],
}

impl Chain {
    pub(crate) const EMPTY: Self = Self { times: [VACANT; DECIDE] };

    pub(super) fn new(latest: i64, older: Older) -> Self {
        let mut times = [latest; DECIDE];
        times.iter_mut().skip(1).zip(older).for_each(|(own, older)| *own = older);
        Self { times }
    }

    /// What of it a frame of this time continues: nothing, where it is more than the window away.
    pub(crate) fn before(self, time: i64) -> Self {
        match self.times {
            [latest, ..] if latest != VACANT && is_near(time, latest) => self,
            _ => Self::EMPTY,
        }
    }

    pub(crate) fn latest(&self) -> Option<i64> {
        self.times.first().copied().filter(|time| *time != VACANT)
    }

    pub(super) fn len(&self) -> usize {
        self.times.iter().filter(|time| **time != VACANT).count()
    }

    /// The time at which a chain began that a frame of this time continues, where fewer frames than decide are before it.
    pub(super) fn root(&self, time: i64) -> Option<i64> {
        if self.latest().is_none() {
            return Some(time);
        }
        let known = self.times.iter().copied().take_while(|time| *time != VACANT);
        (self.len() < DECIDE).then(|| known.last().unwrap_or(time))
    }

    /// Times before the one that is added next.
    pub(super) fn older(&self) -> Older {
        let [older @ .., _] = self.times;
        older
    }

    pub(crate) fn then(self, time: i64) -> Self {
        Self::new(time, self.older())
    }

    /// Whether a frame of this time, which continues the chain, ends a cluster of it.
    pub(crate) fn is_copied_at(&self, time: i64) -> bool {
        self.frames_at(time) > 1
    }

    /// How many frames the cluster has that a frame of this time ends: 1 where it ends none.
    fn frames_at(&self, time: i64) -> usize {
        let [latest, second, ..] = self.times;
        // Most frames have no equal.
        if latest == VACANT {
            return 1;
        }
        let starts = self.times.iter().zip(self.times.iter().skip(1)).take_while(|(start, _)| **start != VACANT);
        // At the beginning of a chain nothing tells how far its packets are apart, but that copies are about equally so, as far as a
        // timestamp of microseconds shows.
        let before = || latest.abs_diff(second).max(STEP_NS);
        let even = second == VACANT || time.abs_diff(latest) <= before().saturating_mul(RATIO * RATIO);
        let ends = |(at, (start, before)): (usize, (&i64, &i64))| {
            let cluster = time.abs_diff(*start);
            let short = match *before {
                VACANT => at == 0 || even && (at < PACED || cluster <= CLOSE_NS),
                before => cluster.saturating_mul(RATIO) <= start.abs_diff(before),
            };
            (is_near(time, *start) && short).then_some(at + 2)
        };
        starts.enumerate().filter_map(ends).last().unwrap_or(1)
    }

    /// Which frame of a cluster a frame of this time is.
    pub(super) fn place_at(&self, time: i64) -> Rank {
        let [latest, second, ..] = self.times;
        match self.frames_at(time) {
            _ if latest == VACANT => Rank::Alone,
            2 => Rank::Second,
            3 => Rank::Third,
            4..=DECIDE => Rank::Fourth,
            // It begins the next cluster where what is before it is far, by the measure of the last one.
            _ if second != VACANT && time.abs_diff(latest) >= latest.abs_diff(second).saturating_mul(RATIO) => {
                Rank::Alone
            }
            _ => Rank::Further,
        }
    }
}

/// Which frame of a cluster of equal ones a frame is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) enum Rank {
    /// The first, or the only one.
    #[default]
    Alone,
    Second,
    Third,
    /// The fourth or a later one of a cluster that ends.
    Fourth,
    /// Of a run of equal frames that goes on.
    Further,
    /// The same, of frames that bear sequence numbers: a packet that runs in a loop.
    Round,
}

/// Whether two times are within the copy window of each other.
fn is_near(a: i64, b: i64) -> bool {
    a.abs_diff(b) <= COPY_WINDOW_NS.unsigned_abs()
}

/// Whether a frame of this time, which continues a chain, is a copy.
pub(super) fn is_copy(chain: &Chain, time: i64, sights: &[SaSight]) -> bool {
    chain.is_copied_at(time) || chain.latest().is_some() && is_numbered(sights)
}

/// Which frame of its cluster it is.
pub(super) fn place_of(chain: &Chain, time: i64, sights: &[SaSight]) -> Rank {
    match chain.place_at(time) {
        Rank::Further if is_numbered(sights) => Rank::Round,
        place => place,
    }
}

fn is_numbered(sights: &[SaSight]) -> bool {
    sights.iter().any(|sight| sight.sequence.is_some())
}
