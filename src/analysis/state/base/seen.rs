//! How often something was seen, and where first and last.

use serde::{Deserialize, Serialize};

use crate::model::{FramePos, Shift, Timestamp};

/// A count with the first and last frame, in capture order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Seen {
    pub(crate) count: u64,
    ends: Option<Ends>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Ends {
    pub(crate) first: FramePos,
    pub(crate) first_time: Timestamp,
    pub(crate) last: FramePos,
    pub(crate) last_time: Timestamp,
}

impl Seen {
    #[inline]
    pub(crate) fn add(&mut self, pos: FramePos, time: Timestamp) {
        self.count += 1;
        match &mut self.ends {
            Some(ends) => {
                ends.last = pos;
                ends.last_time = time;
            }
            None => self.ends = Some(Ends { first: pos, first_time: time, last: pos, last_time: time }),
        }
    }

    /// `count` sightings between two frames.
    pub(crate) fn between(count: u64, first: (FramePos, Timestamp), last: (FramePos, Timestamp)) -> Self {
        let ends = Ends { first: first.0, first_time: first.1, last: last.0, last_time: last.1 };
        Self { count, ends: Some(ends) }
    }

    /// The same ends, of another count.
    pub(crate) const fn counting(self, count: u64) -> Self {
        Self { count, ..self }
    }

    pub(crate) fn ends(&self) -> Option<&Ends> {
        self.ends.as_ref()
    }

    pub(crate) fn merge(&mut self, later: Self, shift: Shift) {
        let Self { count, ends } = later;
        self.count += count;
        let Some(ends) = ends else { return };
        let (first, last) = (ends.first.shifted(shift), ends.last.shifted(shift));
        match &mut self.ends {
            Some(own) => {
                own.last = last;
                own.last_time = ends.last_time;
            }
            None => self.ends = Some(Ends { first, last, ..ends }),
        }
    }

    /// Joins the counts of two things seen in one span, whichever order they were seen in.
    pub(crate) fn join(&mut self, other: &Self) {
        self.count += other.count;
        let Some(theirs) = other.ends else { return };
        match &mut self.ends {
            Some(own) => {
                if theirs.first < own.first {
                    own.first = theirs.first;
                    own.first_time = theirs.first_time;
                }
                if theirs.last > own.last {
                    own.last = theirs.last;
                    own.last_time = theirs.last_time;
                }
            }
            None => self.ends = other.ends,
        }
    }

    /// Nanoseconds between the first and the last; `None` for one moment, unknown times, or a clock that ran backwards.
    pub(crate) fn duration_ns(&self) -> Option<i64> {
        self.ends.and_then(|e| e.last_time.since(e.first_time)).filter(|&ns| ns > 0)
    }
}
