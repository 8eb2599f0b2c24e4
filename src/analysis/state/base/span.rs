//! What stretch of which captures a state covers.

pub(in crate::analysis) mod interfaces;

use serde::{Deserialize, Serialize};

use super::listed::Listed;
use crate::analysis::observe::observation::Observation;
use crate::capture::Frame;
use crate::dissect::digest::content;
use crate::model::{CaptureId, FramePos, Shift, Timestamp, all_bits};

/// What stretch of which captures a state covers.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Span {
    /// The captures of the span, in order.
    pub(crate) captures: Vec<CaptureSpan>,
    /// Whether the first capture's beginning lies in an earlier span.
    pub(crate) continues: bool,
    /// Frames without a time.
    pub(crate) untimed: Listed,
    /// Whether a frame bears a time that is no whole second.
    fractions: bool,
}

/// Frames of one capture that follow each other, none earlier than the one before it: as many as lanes have counted at a time.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::analysis) struct Passage {
    pub(in crate::analysis) frames: u64,
    pub(in crate::analysis) capture: CaptureId,
    /// Times in nanoseconds.
    first: i64,
    last_but_one: i64,
    pub(in crate::analysis) last: i64,
    longest_pause_ns: i64,
}

impl Passage {
    /// The passage that begins with a frame, which is not counted yet.
    pub(in crate::analysis) const fn begin((pos, time): (FramePos, Timestamp)) -> Self {
        let (capture, time) = (pos.capture(), time.raw());
        Self { frames: 0, capture, first: time, last_but_one: time, last: time, longest_pause_ns: 0 }
    }

    /// The time of the frame before the last one, if it is one of them.
    pub(in crate::analysis) fn last_but_one(&self) -> Option<Timestamp> {
        (self.frames > 1).then(|| Timestamp::from_ns(self.last_but_one))
    }

    /// Takes in the time of a frame, which is no earlier than the last; [`Passage::frames`] counts it.
    #[inline(always)]
    pub(in crate::analysis) fn go_on_at(&mut self, time: i64) {
        let pause_ns = time.wrapping_sub(self.last);
        if pause_ns > self.longest_pause_ns {
            self.longest_pause_ns = pause_ns;
        }
        (self.last_but_one, self.last) = (self.last, time);
    }
}

/// A capture's share of a span; frames that filters left out included, because positions count them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CaptureSpan {
    /// Frames.
    pub frames: u64,
    /// Times of the earliest and the latest frame that has one.
    pub times: Option<(Timestamp, Timestamp)>,
    /// Times of the first and the last frame that has one, in the order of the capture.
    ends: Option<(Timestamp, Timestamp)>,
    /// The longest time between a frame and the next, in nanoseconds.
    #[serde(serialize_with = "all_bits")]
    pub(crate) longest_pause_ns: i64,
    /// Digest of the first frame that has a time.
    #[serde(serialize_with = "all_bits")]
    opening: u64,
    /// Sum of the digests of all frames without a time: nothing else tells captures of them apart.
    #[serde(serialize_with = "all_bits")]
    untimed: u64,
}

impl CaptureSpan {
    fn append(&mut self, later: Self) {
        let Self { frames, times, ends, longest_pause_ns, opening, untimed } = later;
        if self.ends.is_none() {
            self.opening = opening;
        }
        self.frames += frames;
        self.untimed = self.untimed.wrapping_add(untimed);
        if let (Some(own), Some(theirs)) = (self.ends, ends) {
            self.pause(own.1, theirs.0);
        }
        self.longest_pause_ns = self.longest_pause_ns.max(longest_pause_ns);
        self.ends = match (self.ends, ends) {
            (Some(own), Some(theirs)) => Some((own.0, theirs.1)),
            (own, theirs) => own.or(theirs),
        };
        self.times = match (self.times, times) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (own, theirs) => own.or(theirs),
        };
    }

    /// Whether the capture that follows begins before this one ends.
    pub(crate) fn overlaps(&self, next: &Self) -> bool {
        self.times.zip(next.times).is_some_and(|((_, end), (begin, _))| begin < end)
    }

    /// The longest time between a frame and the next, in nanoseconds.
    #[must_use]
    pub const fn longest_pause_ns(&self) -> i64 {
        self.longest_pause_ns
    }

    /// What a capture has in common with its copies, and hardly with another; `None` without times.
    #[must_use]
    pub fn mark(&self) -> Option<(u64, (Timestamp, Timestamp), i64, u64)> {
        Some((self.frames, self.times?, self.longest_pause_ns, self.opening))
    }

    /// Takes in the first frame that has a time.
    #[cold]
    fn open(&mut self, frame: &Frame<'_>) {
        self.ends = Some((frame.time, frame.time));
        self.opening = content(frame.data);
    }

    #[inline]
    fn pause(&mut self, before: Timestamp, after: Timestamp) {
        self.longest_pause_ns = self.longest_pause_ns.max(after.raw().saturating_sub(before.raw()));
    }
}

impl Span {
    #[inline]
    pub(in crate::analysis) fn count(&mut self, frame: &Frame<'_>) {
        let capture = frame.pos.capture() as usize;
        if capture >= self.captures.len() {
            self.captures.resize(capture + 1, CaptureSpan::default());
        }
        if let Some(span) = self.captures.get_mut(capture) {
            span.frames += 1;
            if frame.time == Timestamp::UNKNOWN {
                span.untimed = span.untimed.wrapping_add(content(frame.data));
            } else {
                if let Some((first, last)) = span.ends {
                    span.pause(last, frame.time);
                    span.ends = Some((first, frame.time));
                } else {
                    span.open(frame);
                }
                span.times = Some(match span.times {
                    Some((earliest, latest)) => (earliest.min(frame.time), latest.max(frame.time)),
                    None => (frame.time, frame.time),
                });
            }
        }
    }

    /// Notes what the time of a frame says, apart from its order.
    #[inline]
    pub(in crate::analysis) fn time(&mut self, o: &Observation) {
        if o.time == Timestamp::UNKNOWN {
            self.untimed.add(o.pos, o.time);
        } else {
            self.divide(o.time);
        }
    }

    /// Whether all times are whole seconds, and not all the same one.
    pub(crate) fn is_coarse(&self) -> bool {
        let captures = self.captures.iter().filter_map(|capture| capture.times);
        let ends = captures.reduce(|own, next| (own.0.min(next.0), own.1.max(next.1)));
        !self.fractions && ends.is_some_and(|(earliest, latest)| earliest < latest)
    }

    /// Notes the first time that is no whole second; after it there is nothing to look at.
    #[inline]
    fn divide(&mut self, time: Timestamp) {
        const SECOND: i64 = 1_000_000_000;
        if !self.fractions {
            self.fractions = time.raw() % SECOND != 0;
        }
    }

    /// Whether the capture of a frame has begun: nothing else about the frame is worth a note.
    pub(in crate::analysis) fn admits(&self, pos: FramePos) -> bool {
        self.captures.get(pos.capture() as usize).is_some_and(|capture| capture.ends.is_some())
    }

    /// Whether a time that is no whole second was seen: then later times need not be looked at for that.
    pub(in crate::analysis) const fn has_fractions(&self) -> bool {
        self.fractions
    }

    /// Takes in frames, the first of which it [`Span::admits`]: counts them, and notes their times.
    pub(in crate::analysis) fn pass(&mut self, passage: &Passage) {
        let time = Timestamp::from_ns;
        let (first, last) = (time(passage.first), time(passage.last));
        self.divide(first);
        let Some(span) = self.captures.get_mut(passage.capture as usize) else { return };
        span.frames += passage.frames;
        span.longest_pause_ns = span.longest_pause_ns.max(passage.longest_pause_ns);
        if let Some((begin, end)) = span.ends {
            span.pause(end, first);
            span.ends = Some((begin, last));
        }
        if let Some((earliest, latest)) = span.times {
            span.times = Some((earliest.min(first), latest.max(last)));
        }
    }

    pub(in crate::analysis) fn merge(&mut self, later: Self) -> Shift {
        let Self { captures, continues, untimed, fractions } = later;
        self.fractions |= fractions;
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
        self.untimed.merge(untimed, shift);
        shift
    }
}
