//! The interfaces that frames were captured on: how the clock of each ran, and what was seen on it.
//!
//! A capture of several interfaces may hold their frames in turns: each is written when its buffer is full or its time is over, so that
//! a frame of one comes up to a second before an earlier one of another. That is no step of a clock; only frames of one interface say
//! whether its clock was set back.

use serde::{Deserialize, Serialize};

use super::Passage;
use crate::analysis::limits::{CLOCK_TOLERANCE_NS, MAX_BACK_STEPS, MAX_INTERFACES};
use crate::analysis::state::base::intern::NONE;
use crate::analysis::state::base::listed::{At, Listed};
use crate::analysis::state::traffic::copies::stepped_back;
use crate::capture::Frame;
use crate::model::{FramePos, Shift, Timestamp, all_bits};

/// The interfaces of a span.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Interfaces {
    /// The clocks of the first [`MAX_INTERFACES`], by number.
    clocks: Vec<InterfaceClock>,
    /// Frames that bear an earlier time than the frame before them, which is of another interface, and by how much at the most.
    pub(crate) turns: Listed,
    #[serde(serialize_with = "all_bits")]
    pub(crate) turns_most_ns: i64,
    /// The first frame with a time and the last one, and their interfaces.
    first: Option<(At, u32)>,
    last: Option<(Timestamp, u32)>,
    /// The interfaces that each direction was seen on, one bit each; the last bit stands for all beyond.
    seen_on: Vec<u64>,
}

/// How the clock of an interface ran.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct InterfaceClock {
    /// The first frame with a time, and the time of the last one.
    first: Option<At>,
    last: Option<Timestamp>,
    /// The time of the frame after the first, and of the one before the last.
    second: Option<Timestamp>,
    last_but_one: Option<Timestamp>,
    /// Frames whose time lies before the time of the frame before them.
    pub(crate) backward: Listed,
    #[serde(serialize_with = "all_bits")]
    pub(crate) backward_most_ns: i64,
    /// The first steps back beyond what the windows tolerate, and how many more there are.
    pub(crate) steps: Vec<BackStep>,
    pub(crate) more_steps: u64,
}

/// A step back of the clock, with the times of the frames around it.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct BackStep {
    /// The first frame behind the step.
    pub(crate) pos: FramePos,
    pub(crate) before: Timestamp,
    pub(crate) after: Timestamp,
    /// The time of the frame before `before`, and of the one after `after`.
    pub(crate) earlier: Option<Timestamp>,
    pub(crate) next: Option<Timestamp>,
}

impl BackStep {
    /// By how much the clock was set back; `None` where it was not, and one frame alone bears a time out of order.
    pub(crate) fn set_back_ns(&self) -> Option<i64> {
        // One late frame: the next one goes on where the clock had been. One early frame: the clock returns to where it was.
        let late = self.next.is_some_and(|next| next != Timestamp::UNKNOWN && next >= self.before);
        let early = self.earlier.is_some_and(|earlier| earlier != Timestamp::UNKNOWN && self.after >= earlier);
        if late || early { None } else { stepped_back(self.before, self.after) }
    }
}

impl Interfaces {
    /// The clocks of the interfaces, by number.
    pub(crate) fn clocks(&self) -> &[InterfaceClock] {
        &self.clocks
    }

    /// The interfaces that directions were seen on, one bit each.
    pub(crate) fn seen_on(&self, directions: impl IntoIterator<Item = u32>) -> u64 {
        let of = |direction| self.seen_on.get(direction as usize).copied().unwrap_or(0);
        directions.into_iter().map(of).fold(0, |all, own| all | own)
    }

    /// Notes the time of a frame and the interface of its direction.
    #[inline]
    pub(in crate::analysis) fn observe(&mut self, frame: &Frame<'_>, direction: u32) {
        self.see(direction, frame.interface);
        if frame.time == Timestamp::UNKNOWN {
            return;
        }
        let here = (frame.pos, frame.time);
        self.turn(here, frame.interface);
        self.first.get_or_insert((here, frame.interface));
        self.last = Some((frame.time, frame.interface));
        if let Some(clock) = self.clock_mut(frame.interface) {
            clock.time(here);
        }
    }

    /// Notes that a direction was seen on an interface.
    #[inline]
    pub(in crate::analysis) fn see(&mut self, direction: u32, interface: u32) {
        if direction == NONE {
            return;
        }
        let at = direction as usize;
        if at >= self.seen_on.len() {
            self.seen_on.resize(at + 1, 0);
        }
        if let Some(seen) = self.seen_on.get_mut(at) {
            *seen |= 1 << interface.min(u64::BITS - 1);
        }
    }

    /// Whether a frame comes no earlier than the one before it, and nothing else about its time is worth a note.
    pub(in crate::analysis) fn admits(&self, time: Timestamp, interface: u32) -> bool {
        time != Timestamp::UNKNOWN
            && self.last.is_some_and(|(last, _)| time >= last)
            && self.clocks.get(interface as usize).is_some_and(|clock| clock.admits(time))
    }

    /// Takes in frames of an interface, the first of which it [`Interfaces::admits`]: notes their times.
    pub(in crate::analysis) fn pass(&mut self, passage: &Passage, interface: u32) {
        let last = Timestamp::from_ns(passage.last);
        self.last = Some((last, interface));
        if let Some(clock) = self.clock_mut(interface) {
            clock.last_but_one = passage.last_but_one().or(clock.last);
            clock.last = Some(last);
        }
    }

    fn clock_mut(&mut self, interface: u32) -> Option<&mut InterfaceClock> {
        let at = interface as usize;
        if at >= self.clocks.len() && at < MAX_INTERFACES {
            self.clocks.resize(at + 1, InterfaceClock::default());
        }
        self.clocks.get_mut(at)
    }

    /// Notes a frame that is earlier than the last one, which is of another interface.
    fn turn(&mut self, (pos, time): At, interface: u32) {
        if let Some((last, _)) = self.last.filter(|(_, own)| *own != interface)
            && let Some(back) = stepped_back(last, time)
        {
            self.turns.add(pos, time);
            self.turns_most_ns = self.turns_most_ns.max(back);
        }
    }

    /// Appends those of a later span, whose directions have these numbers here.
    pub(in crate::analysis) fn merge(&mut self, later: Self, shift: Shift, directions: &[u32]) {
        let Self { clocks, turns, turns_most_ns, first, last, seen_on } = later;
        let first = first.map(|((pos, time), interface)| ((pos.shifted(shift), time), interface));
        if let Some((here, interface)) = first {
            self.turn(here, interface);
        }
        self.turns.merge(turns, shift);
        self.turns_most_ns = self.turns_most_ns.max(turns_most_ns);
        self.first = self.first.or(first);
        self.last = last.or(self.last);
        for (interface, clock) in (0..).zip(clocks) {
            if let Some(own) = self.clock_mut(interface) {
                own.merge(clock, shift);
            }
        }
        for (later, interfaces) in seen_on.into_iter().enumerate() {
            let direction = directions.get(later).copied().unwrap_or(NONE);
            let bits = (0..u64::BITS).filter(|bit| interfaces >> bit & 1 == 1);
            bits.for_each(|interface| self.see(direction, interface));
        }
    }
}

impl InterfaceClock {
    #[inline]
    fn time(&mut self, (pos, time): At) {
        if let Some(last) = self.last {
            self.second = self.second.or(Some(time));
            self.close(time);
            if let Some(step) = stepped_back(last, time) {
                self.backward.add(pos, time);
                self.backward_most_ns = self.backward_most_ns.max(step);
                let earlier = self.last_but_one;
                self.step(BackStep { pos, before: last, after: time, earlier, next: None });
            }
        }
        self.first.get_or_insert((pos, time));
        self.last_but_one = self.last;
        self.last = Some(time);
    }

    /// Tells a step back that the frame before this one made what time comes next.
    fn close(&mut self, next: Timestamp) {
        if let Some(step) = self.steps.last_mut().filter(|step| step.next.is_none()) {
            step.next = Some(next);
        }
    }

    /// Keeps a step back, if it is more than frames out of order.
    #[cold]
    fn step(&mut self, step: BackStep) {
        if stepped_back(step.before, step.after).is_none_or(|back| back <= CLOCK_TOLERANCE_NS) {
            return;
        }
        if self.steps.len() < MAX_BACK_STEPS {
            self.steps.push(step);
        } else {
            self.more_steps += 1;
        }
    }

    fn admits(&self, time: Timestamp) -> bool {
        self.last.is_some_and(|last| time >= last)
            && self.second.is_some()
            && self.steps.last().is_none_or(|step| step.next.is_some())
    }

    fn merge(&mut self, later: Self, shift: Shift) {
        let Self { first, last, second, last_but_one, backward, backward_most_ns, steps, more_steps } = later;
        let first = first.map(|(pos, time)| (pos.shifted(shift), time));
        if let (Some(before), Some((pos, after))) = (self.last, first) {
            self.close(after);
            if let Some(step) = stepped_back(before, after) {
                self.backward.add(pos, after);
                self.backward_most_ns = self.backward_most_ns.max(step);
                let earlier = self.last_but_one;
                self.step(BackStep { pos, before, after, earlier, next: second });
            }
        }
        for step in steps {
            // The step between the first two frames does not know what came before them.
            self.step(BackStep { pos: step.pos.shifted(shift), earlier: step.earlier.or(self.last), ..step });
        }
        self.more_steps += more_steps;
        if self.last.is_some() {
            self.second = self.second.or(first.map(|(_, time)| time));
        } else {
            self.second = second;
        }
        self.last_but_one = last_but_one.or(if last.is_some() { self.last } else { self.last_but_one });
        self.backward.merge(backward, shift);
        self.backward_most_ns = self.backward_most_ns.max(backward_most_ns);
        self.first = self.first.or(first);
        self.last = last.or(self.last);
    }
}
