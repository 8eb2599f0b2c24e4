//! Where the numbers of a run do not follow each other: the first such steps, the last ones, and how many there are.
//!
//! A step is a pair of neighbouring frames, so that lists of adjoining spans merge. Between two steps the numbers go on by one: the
//! steps of a run tell all of its numbers in their order, and with them which frames are on both sides of each gap ([`super::history`]).

use serde::{Deserialize, Serialize};

use super::Edge;
use crate::analysis::limits::{FIRST_LISTED, FIRST_STEPS, LAST_STEPS};
use crate::model::{FramePos, Shift, Timestamp};

/// A frame of a run with its unwrapped number.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Sighting {
    pub(crate) pos: FramePos,
    pub(crate) time: Timestamp,
    pub(crate) number: i64,
}

/// Two neighbouring frames of an SA whose numbers do not follow each other.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Leap {
    pub(crate) before: Sighting,
    pub(crate) after: Sighting,
}

/// Leaps in the order of the frames.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Leaps {
    /// How many there are.
    total: u64,
    first: Vec<Leap>,
    /// The last ones, without those that are among the first.
    last: Vec<Leap>,
    /// Frames that bear the number of the frame before them, and the first of these.
    again: u64,
    first_again: Vec<Sighting>,
    last_again: Option<Sighting>,
}

impl From<&Edge> for Sighting {
    fn from(edge: &Edge) -> Self {
        Self { pos: edge.pos, time: edge.time, number: edge.unwrapped }
    }
}

impl Sighting {
    fn moved(self, shift: Shift, by: i64) -> Self {
        Self { pos: self.pos.shifted(shift), number: self.number + by, ..self }
    }
}

impl Leaps {
    /// Takes in a pair of neighbours that are not numbered one after the other.
    #[cold]
    pub(super) fn add(&mut self, before: Sighting, after: Sighting) {
        if before.number != after.number {
            return self.push(Leap { before, after });
        }
        if self.first_again.len() < FIRST_LISTED && self.first_again.len() as u64 == self.again {
            self.first_again.push(after);
        }
        self.again += 1;
        self.last_again = Some(after);
    }

    fn push(&mut self, step: Leap) {
        if self.first.len() < FIRST_STEPS && self.first.len() as u64 == self.total {
            self.first.push(step);
        } else {
            self.push_last(step);
        }
        self.total += 1;
    }

    fn push_last(&mut self, step: Leap) {
        if self.last.len() >= LAST_STEPS {
            self.last.remove(0);
        }
        self.last.push(step);
    }

    /// Moves frames and numbers.
    pub(super) fn shift(&mut self, shift: Shift, by: i64) {
        for step in self.first.iter_mut().chain(&mut self.last) {
            step.before = step.before.moved(shift, by);
            step.after = step.after.moved(shift, by);
        }
        for mark in self.first_again.iter_mut().chain(&mut self.last_again) {
            *mark = mark.moved(shift, by);
        }
    }

    /// Appends the steps that follow.
    pub(super) fn append(&mut self, later: Self) {
        let Self { total, first, last, again, first_again, last_again } = later;
        let whole = self.total + total;
        first.into_iter().for_each(|step| self.push(step));
        // Between the first and the last of the later ones there are others, which are counted and not here.
        last.into_iter().for_each(|step| self.push_last(step));
        self.total = whole;
        if self.first_again.len() as u64 == self.again {
            let room = FIRST_LISTED.saturating_sub(self.first_again.len());
            self.first_again.extend(first_again.into_iter().take(room));
        }
        self.again += again;
        self.last_again = last_again.or(self.last_again);
    }

    /// How many steps and frames are listed where at most one in 2^`level` of the usual number may be.
    pub(super) fn listed(&self, level: u32) -> u64 {
        self.total.min(most(FIRST_STEPS, level) as u64) + self.again.min(most(FIRST_LISTED, level) as u64)
    }

    /// Keeps as many as that.
    pub(super) fn truncate(&mut self, level: u32) {
        let firsts = most(FIRST_STEPS, level);
        if self.first.len() > firsts {
            let mut rest = self.first.split_off(firsts);
            rest.append(&mut self.last);
            self.last = rest;
            self.first.shrink_to_fit();
        }
        let beyond = self.last.len().saturating_sub(firsts.min(LAST_STEPS));
        self.last.drain(..beyond);
        self.last.shrink_to_fit();
        self.first_again.truncate(most(FIRST_LISTED, level));
        self.first_again.shrink_to_fit();
    }

    /// Takes out the last step, where it leads to this number, and the frames behind it that bear the number again.
    pub(super) fn pop(&mut self, number: i64) -> Option<(Leap, Self)> {
        let list = if self.is_whole() { &mut self.first } else { &mut self.last };
        let step = list.pop_if(|step| step.after.number == number)?;
        self.total -= 1;
        let (of_number, others) = self.first_again.iter().partition(|mark| mark.number == number);
        let beyond = self.again > self.first_again.len() as u64;
        let last_again = self.last_again.take_if(|mark| mark.number == number);
        self.first_again = others;
        let mut own = Self { first_again: of_number, last_again, ..Self::default() };
        own.again = own.first_again.len() as u64 + u64::from(beyond && last_again.is_some());
        self.again -= own.again;
        Some((step, own))
    }

    pub(super) fn first(&self) -> &[Leap] {
        &self.first
    }

    /// How many there are.
    pub(super) const fn total(&self) -> u64 {
        self.total
    }

    /// The last one.
    pub(super) fn latest(&self) -> Option<&Leap> {
        self.last.last().or(self.first.last())
    }

    pub(super) fn last(&self) -> &[Leap] {
        &self.last
    }

    /// Whether every step is among the first.
    pub(super) fn is_whole(&self) -> bool {
        self.first.len() as u64 == self.total
    }

    /// Frames that bear the number of the frame before them: how many, the first and the last of them.
    pub(super) fn again(&self) -> (u64, &[Sighting], Option<Sighting>) {
        (self.again, &self.first_again, self.last_again)
    }
}

/// One in 2^`level`, and at least one.
pub(crate) const fn most(usual: usize, level: u32) -> usize {
    match usual >> level {
        0 => 1,
        most => most,
    }
}
