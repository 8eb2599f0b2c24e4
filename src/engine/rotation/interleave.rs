//! Several captures of one tap as one stream, frame by frame in time order.
//!
//! Ties go to the capture named first. A frame without a time keeps its place behind the frame before it. Files are
//! opened when their first frame's time has come, so that a long rotation does not hold them all open.

use crate::capture::{CaptureReader, Chunk, Frame};
use crate::engine::input::{Input, Progress};
use crate::engine::start::first_time;
use crate::model::{CaptureId, Error, FramePos, Timestamp};

/// The captures of one tap.
pub(in crate::engine) struct Interleave<'i> {
    members: Vec<Member<'i>>,
    current: Option<usize>,
    progress: &'i dyn Progress,
}

struct Member<'i> {
    order: usize,
    input: &'i Input,
    first: Timestamp,
    state: State,
}

enum State {
    Waiting,
    Open(Box<Open>),
    Ended(Box<CaptureReader>),
    Failed,
}

struct Open {
    reader: CaptureReader,
    chunk: Chunk,
    /// The next frame of the chunk, and its time.
    at: usize,
    time: Timestamp,
}

impl<'i> Interleave<'i> {
    pub(in crate::engine) fn open(
        inputs: &[(usize, &'i Input)],
        errors: &mut Vec<Error>,
        progress: &'i dyn Progress,
    ) -> Self {
        let mut members: Vec<Member<'i>> = inputs
            .iter()
            .filter_map(|&(order, input)| {
                let known = first_time(&input.source);
                let mut member =
                    Member { order, input, first: known.unwrap_or(Timestamp::UNKNOWN), state: State::Waiting };
                // What can be read only once, or not at all, shows it now.
                if known.is_none() {
                    member.begin(errors, progress);
                    if matches!(member.state, State::Failed) {
                        return None;
                    }
                }
                Some(member)
            })
            .collect();
        members.sort_by_key(|m| (m.first, m.order));
        Self { members, current: None, progress }
    }

    pub(in crate::engine) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    pub(in crate::engine) fn first_time(&self) -> Timestamp {
        self.members.iter().map(|m| m.first).filter(|t| *t != Timestamp::UNKNOWN).min().unwrap_or(Timestamp::UNKNOWN)
    }

    /// Hands frames to `observe` until the capture whose turn it is changes or ends its chunk; false at the end of all.
    pub(in crate::engine) fn next(&mut self, errors: &mut Vec<Error>, mut observe: impl FnMut(&Frame<'_>)) -> bool {
        // Open what is due: everything that may hold the earliest frame.
        loop {
            let open = self.members.iter().filter_map(Member::time).min();
            let due = self
                .members
                .iter()
                .position(|m| matches!(m.state, State::Waiting) && open.is_none_or(|time| m.first <= time));
            let Some(at) = due else { break };
            if let Some(member) = self.members.get_mut(at) {
                member.begin(errors, self.progress);
                // It could be read before and now cannot. Nothing behind it in time has been delivered yet, so the places of the
                // others may close up.
                if matches!(member.state, State::Failed) {
                    self.members.remove(at);
                }
            }
        }
        let turn = self
            .members
            .iter()
            .enumerate()
            .filter_map(|(at, m)| Some((m.time()?, m.order, at)))
            .min()
            .map(|(_, _, at)| at);
        let Some(at) = turn else { return false };
        self.current = Some(at);
        let limit = self
            .members
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != at)
            .filter_map(|(_, m)| match m.state {
                State::Waiting => Some((m.first, m.order)),
                _ => Some((m.time()?, m.order)),
            })
            .min();
        if let Some(member) = self.members.get_mut(at) {
            member.deliver(at as CaptureId, limit, &mut observe);
        }
        true
    }

    pub(in crate::engine) fn current(&self) -> Option<&CaptureReader> {
        match &self.members.get(self.current?)?.state {
            State::Open(open) => Some(&open.reader),
            State::Ended(reader) => Some(reader),
            _ => None,
        }
    }

    /// The readers, in the order that positions count their captures.
    pub(in crate::engine) fn into_readers(self) -> Vec<CaptureReader> {
        let progress = self.progress;
        self.members
            .into_iter()
            .filter_map(|m| match m.state {
                State::Open(open) => Some(open.reader),
                State::Ended(reader) => Some(*reader),
                // Interrupted before its turn came: it is opened to be named in the report, with no frames.
                State::Waiting => crate::engine::live::open(&m.input.source, 0, progress).ok(),
                State::Failed => None,
            })
            .collect()
    }
}

impl Member<'_> {
    fn begin(&mut self, errors: &mut Vec<Error>, progress: &dyn Progress) {
        self.state = match crate::engine::live::open(&self.input.source, 0, progress) {
            Ok(reader) => {
                let mut open = Box::new(Open { reader, chunk: Chunk::new(), at: 0, time: Timestamp::UNKNOWN });
                if open.refill() {
                    if self.first == Timestamp::UNKNOWN {
                        self.first = open.time;
                    }
                    State::Open(open)
                } else {
                    State::Ended(Box::new(open.reader))
                }
            }
            // A pipe that had not said anything yet is no error.
            Err(_) if progress.interrupted() => State::Failed,
            Err(error) => {
                errors.push(error);
                State::Failed
            }
        };
    }

    /// Time of the next frame.
    fn time(&self) -> Option<Timestamp> {
        match &self.state {
            State::Open(open) => Some(open.time),
            _ => None,
        }
    }

    /// Delivers frames while they are not later than `limit` (time and command line order of the next capture).
    fn deliver(&mut self, capture: CaptureId, limit: Option<(Timestamp, usize)>, observe: &mut impl FnMut(&Frame<'_>)) {
        let order = self.order;
        let State::Open(open) = &mut self.state else { return };
        let first = open.at;
        let mut frames = open.chunk.frames();
        if let Some(delivered) = first.checked_sub(1) {
            frames.nth(delivered);
        }
        if limit.is_none() {
            // Of one capture nothing interrupts the chunk: a loop over records alone is shorter.
            let time = frames.fold(open.time, |before, mut frame| {
                frame.pos = FramePos::new(capture, frame.pos.number());
                observe(&frame);
                placed(frame.time, before)
            });
            open.time = time;
            self.refill();
            return;
        }
        for mut frame in frames {
            open.time = placed(frame.time, open.time);
            if open.at > first && limit.is_some_and(|limit| (open.time, order) > limit) {
                return;
            }
            frame.pos = FramePos::new(capture, frame.pos.number());
            observe(&frame);
            open.at += 1;
        }
        self.refill();
    }

    /// Reads the next chunk, or ends.
    fn refill(&mut self) {
        let State::Open(open) = &mut self.state else { return };
        if !open.refill() {
            let ended = std::mem::replace(&mut self.state, State::Failed);
            if let State::Open(open) = ended {
                self.state = State::Ended(Box::new(open.reader));
            }
        }
    }
}

impl Open {
    fn refill(&mut self) -> bool {
        self.at = 0;
        while self.reader.next_chunk(&mut self.chunk) {
            if let Some(frame) = self.chunk.frames().next() {
                self.time = placed(frame.time, self.time);
                return true;
            }
        }
        false
    }
}

/// The time by which a frame takes its turn: where it has none, that of the frame before it.
fn placed(time: Timestamp, before: Timestamp) -> Timestamp {
    if time == Timestamp::UNKNOWN { before } else { time }
}
