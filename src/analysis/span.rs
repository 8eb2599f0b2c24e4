//! What stretch of which captures a state covers, and how its clock ran.

use serde::{Deserialize, Serialize};

use super::copies::stepped_back;
use super::observation::Observation;
use super::seen::Seen;
use crate::capture::Frame;
use crate::model::{FramePos, Shift, Timestamp};

/// What stretch of which captures a state covers.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Span {
    /// The captures of the span, in order.
    pub(crate) captures: Vec<CaptureSpan>,
    /// Whether the first capture's beginning lies in an earlier span.
    pub(crate) continues: bool,
    /// The first frame with a time, and the time of the last one.
    first: Option<(FramePos, Timestamp)>,
    last: Option<Timestamp>,
    /// Frames whose time lies before the time of the frame before them.
    pub(crate) backward: Seen,
    pub(crate) backward_most_ns: i64,
    /// Frames without a time.
    pub(crate) untimed: Seen,
}

/// A capture's share of a span; frames that filters left out included, because positions count them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CaptureSpan {
    /// Frames.
    pub frames: u64,
    /// Times of the earliest and the latest frame that has one.
    pub times: Option<(Timestamp, Timestamp)>,
}

impl CaptureSpan {
    fn append(&mut self, later: Self) {
        let Self { frames, times } = later;
        self.frames += frames;
        self.times = match (self.times, times) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (own, theirs) => own.or(theirs),
        };
    }
}

impl Span {
    #[inline]
    pub(super) fn count(&mut self, frame: &Frame<'_>) {
        let capture = frame.pos.capture() as usize;
        if capture >= self.captures.len() {
            self.captures.resize(capture + 1, CaptureSpan::default());
        }
        if let Some(span) = self.captures.get_mut(capture) {
            span.frames += 1;
            if frame.time != Timestamp::UNKNOWN {
                span.times = Some(match span.times {
                    Some((earliest, latest)) => (earliest.min(frame.time), latest.max(frame.time)),
                    None => (frame.time, frame.time),
                });
            }
        }
    }

    #[inline]
    pub(super) fn time(&mut self, o: &Observation) {
        if o.time == Timestamp::UNKNOWN {
            self.untimed.add(o.pos, o.time);
            return;
        }
        if let Some(last) = self.last
            && let Some(step) = stepped_back(last, o.time)
        {
            self.backward.add(o.pos, o.time);
            self.backward_most_ns = self.backward_most_ns.max(step);
        }
        self.first.get_or_insert((o.pos, o.time));
        self.last = Some(o.time);
    }

    /// Whether a frame of this time comes no earlier than the one before it.
    #[inline]
    pub(super) fn admits(&self, time: Timestamp) -> bool {
        time != Timestamp::UNKNOWN && self.last.is_some_and(|last| time >= last)
    }

    /// Takes in a time that [`Span::admits`].
    #[inline]
    pub(super) fn pass(&mut self, time: Timestamp) {
        self.last = Some(time);
    }

    pub(super) fn merge(&mut self, later: Self) -> Shift {
        let Self { captures, continues, first, last, backward, backward_most_ns, untimed } = later;
        let own = self.captures.len() as u32;
        let shift = if continues && own > 0 {
            Shift { captures: own - 1, frames: self.captures.last().map_or(0, |c| c.frames) }
        } else {
            Shift { captures: own, frames: 0 }
        };
        if own == 0 {
            self.continues = continues;
        }
        let mut more = captures.into_iter();
        if continues && let Some(open) = self.captures.last_mut() {
            open.append(more.next().unwrap_or_default());
        }
        self.captures.extend(more);
        let first = first.map(|(pos, time)| (pos.shifted(shift), time));
        if let (Some(before), Some((pos, after))) = (self.last, first)
            && let Some(step) = stepped_back(before, after)
        {
            self.backward.add(pos, after);
            self.backward_most_ns = self.backward_most_ns.max(step);
        }
        self.backward.merge(backward, shift);
        self.backward_most_ns = self.backward_most_ns.max(backward_most_ns);
        self.untimed.merge(untimed, shift);
        self.first = self.first.or(first);
        self.last = last.or(self.last);
        shift
    }
}
