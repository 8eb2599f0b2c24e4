//! Captures that are analysed side by side are taken in by their order: a run that is interrupted then knows the beginning of a rotation, and
//! nothing behind a capture of which a part is missing.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, PoisonError};

use crate::analysis::finish::findings::plural;
use crate::engine::input::{Input, Progress};
use crate::engine::rotation::fold::Streams;
use crate::engine::rotation::stream::Stream;
use crate::model::Error;

/// What came of one capture.
pub(super) struct Analysis {
    streams: Vec<Stream>,
    /// Whether all of it was looked at that there is.
    whole: bool,
}

impl Analysis {
    /// Octets of memory that it takes, about.
    fn weight(&self) -> u64 {
        self.streams.iter().map(|stream| stream.state.weight()).sum()
    }

    pub(super) fn of(streams: Vec<Stream>, errors: &[Error], progress: &dyn Progress) -> Self {
        let is_read = |stream: &Stream| {
            stream.captures.iter().all(|facts| facts.capture.complete || facts.capture.damage.is_some())
        };
        let is_begun = !streams.is_empty() || !errors.is_empty();
        Self { whole: !progress.interrupted() || is_begun && streams.iter().all(is_read), streams }
    }
}

/// What a run that was interrupted says of inputs that are not in its streams.
pub(super) fn left_out(streams: &Streams, inputs: &[Input], errors: &[Error]) -> Option<String> {
    let unread = streams.without(inputs, errors);
    let (captures, were) = (plural(unread as u64, "capture"), if unread == 1 { "was" } else { "were" });
    (unread > 0).then(|| format!("The run was interrupted: {captures} {were} not read, or only in part, and left out."))
}

/// The order in which captures are taken in.
pub(super) struct InOrder<'r> {
    streams: &'r Mutex<Streams>,
    turn: Mutex<Turn>,
    moved: Condvar,
    /// How many captures may be done before those in front of them are.
    ahead: usize,
}

#[derive(Default)]
struct Turn {
    /// The place of the next one to be taken in.
    next: usize,
    /// Those that are done before their turn.
    early: BTreeMap<usize, Analysis>,
    /// A part of one was not read: what follows it is left out.
    ended: bool,
}

impl<'r> InOrder<'r> {
    pub(super) fn new(streams: &'r Mutex<Streams>, ahead: usize) -> Self {
        Self { streams, turn: Mutex::default(), moved: Condvar::new(), ahead }
    }

    /// The place of a capture in the order. If it is dropped before `take`, as by a thread that panics, the order ends there and the others go on.
    pub(super) const fn place(&self, at: usize) -> Place<'_, 'r> {
        Place { order: self, at, taken: false }
    }

    /// Takes in what came of the capture at a place. Whoever is too far ahead waits for the others.
    fn take(&self, at: usize, own: Analysis) {
        let mut held = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        while at > held.next + self.ahead && !held.ended {
            held = self.moved.wait(held).unwrap_or_else(PoisonError::into_inner);
        }
        let turn = &mut *held;
        // Captures that are begun now must know what those hold that are done.
        self.streams.lock().unwrap_or_else(PoisonError::into_inner).await_turn(own.weight());
        turn.early.insert(at, own);
        let next = turn.next;
        while let Some(own) = turn.early.remove(&turn.next) {
            turn.next += 1;
            let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
            streams.take_turn(own.weight());
            if !turn.ended {
                own.streams.into_iter().for_each(|stream| streams.insert_read(stream));
            }
            turn.ended |= !own.whole;
        }
        if turn.next > next {
            self.moved.notify_all();
        }
    }
}

/// The place of one capture in the order.
pub(super) struct Place<'o, 'r> {
    order: &'o InOrder<'r>,
    at: usize,
    taken: bool,
}

impl Place<'_, '_> {
    /// Takes in what came of the capture.
    pub(super) fn take(mut self, own: Analysis) {
        self.taken = true;
        self.order.take(self.at, own);
    }
}

impl Drop for Place<'_, '_> {
    fn drop(&mut self) {
        if !self.taken {
            self.order.take(self.at, Analysis { streams: Vec::new(), whole: false });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{Settings, StreamState};

    /// What waits for a slow capture in front of it takes memory too: else each of many that are done would have had all of the room.
    #[test]
    fn what_waits_for_its_turn_takes_room() {
        let streams = Mutex::new(Streams::with_limit(1 << 30));
        let order = InOrder::new(&streams, 8);
        let analysis = || Analysis {
            streams: vec![Stream::new(None, Vec::new(), StreamState::new(&Settings::default()), false)],
            whole: true,
        };
        let (room, own) = (|| streams.lock().unwrap().room(), analysis().weight());
        let (first, second) = (order.place(0), order.place(1));
        assert!(own > 0 && room() == 1 << 30);
        second.take(analysis());
        assert_eq!(room(), (1 << 30) - own);
        first.take(Analysis { streams: Vec::new(), whole: true });
        assert_eq!(room(), (1 << 30) - streams.lock().unwrap().memory());
    }

    /// A thread that panics must not leave all others waiting.
    #[test]
    fn after_a_place_that_is_given_up_the_others_go_on() {
        let streams = Mutex::default();
        let order = InOrder::new(&streams, 0);
        let first = order.place(0);
        std::thread::scope(|scope| {
            let later = scope.spawn(|| order.place(5).take(Analysis { streams: Vec::new(), whole: true }));
            drop(first);
            later.join().unwrap();
        });
        assert!(order.turn.lock().unwrap().ended);
    }
}
