//! Packets that one of the two plaintext sides did not show.

use std::collections::HashSet;

use foldhash::fast::FixedState;

use super::{EndToEnd, Gone, OpenEnd, Waiting};
use crate::matching::limits::{MAX_LOST, MAX_MISSED};
use crate::matching::measure::silence::Expected;
use crate::matching::packets::ledger::Lost;
use crate::model::FramePos;

/// Frames of the plain side: some, and all up to a time and from one on.
#[derive(Clone, Debug, Default)]
pub(in crate::matching) struct PlainFrames {
    frames: HashSet<FramePos, FixedState>,
    until: Option<i64>,
    from: Option<i64>,
}

impl PlainFrames {
    pub(in crate::matching) fn contains(&self, lost: &Lost) -> bool {
        let is_beyond =
            |ns: i64| self.until.is_some_and(|until| ns <= until) || self.from.is_some_and(|from| ns >= from);
        lost.time.ns().is_some_and(is_beyond) || self.frames.contains(&lost.pos)
    }
}

impl Gone {
    /// Whether it was expected at the far tap while that showed no frame.
    pub(in crate::matching) const fn is_in_silence(&self) -> bool {
        self.silence.is_some()
    }
}

impl EndToEnd {
    /// Whether the far side says what became of a packet of the plain one, where not too many are untold.
    pub(in crate::matching) fn tells_of(&self, lost: &Lost) -> bool {
        !self.untold.contains(lost)
    }

    /// A packet of the plain side that the far one did not show; `repeats`: earlier ones were equal.
    pub(super) fn only_plain(&mut self, packet: &Waiting, repeats: bool) {
        let way = self.way(packet);
        let (least, most) = self.reach(way);
        let from = self.far.first.map_or(i64::MAX, |first| first.saturating_sub(least));
        if packet.ns < from {
            self.untold.until = self.untold.until.max(Some(packet.ns));
            return self.beyond(packet);
        }
        if packet.ns.saturating_add(most) > self.far.latest {
            self.untold.from = Some(self.untold.from.map_or(packet.ns, |own| own.min(packet.ns)));
            return self.beyond(packet);
        }
        let Waiting { pos, ns, bytes, .. } = *packet;
        let later = self.later(packet);
        if self.is_repeated(packet) {
            return self.leave_untold(pos);
        }
        let Some((flow, ends)) = self.flow(packet) else { return self.leave_untold(pos) };
        let later = later.filter(|_| !ends.is_of_link(packet.dst));
        let expected = later.map(|(least, usual, most)| {
            let at = |difference: i64| ns.saturating_add(difference);
            Expected { least: at(least), usual: at(usual), most: at(most) }
        });
        let [_, far] = &mut self.silences;
        let silence = expected.and_then(|expected| far.miss(flow, bytes, expected));
        if silence.is_none() {
            if let Some((_, ends)) = self.flow(packet) {
                ends.only_plain += 1;
                ends.only_repeats[0] += u64::from(repeats);
            }
            self.size(flow, bytes, false, 1);
        }
        if self.gone.len() < MAX_LOST {
            self.gone.push(Gone { pos, ns, bytes, flow, silence, repeats });
        } else {
            self.unlisted = true;
        }
    }

    /// A packet of the far side that the plain one did not show; `repeats`: earlier ones were equal.
    pub(super) fn only_exit(&mut self, packet: &Waiting, repeats: bool) {
        let way = self.way(packet);
        let (least, most) = self.reach(way);
        let from = self.near.first.map_or(i64::MAX, |first| first.saturating_add(most));
        if packet.ns < from || packet.ns.saturating_sub(least) > self.near.latest {
            return self.beyond(packet);
        }
        if self.is_repeated(packet) {
            return;
        }
        let Waiting { ns, bytes, .. } = *packet;
        let later = self.later(packet);
        let Some((flow, ends)) = self.flow(packet) else { return };
        let later = later.filter(|_| !ends.is_of_link(packet.dst));
        let expected = later.map(|(least, usual, most)| {
            let at = |difference: i64| ns.saturating_sub(difference);
            Expected { least: at(most), usual: at(usual), most: at(least) }
        });
        let [near, _] = &mut self.silences;
        if expected.and_then(|expected| near.miss(flow, bytes, expected)).is_none() {
            if let Some((_, ends)) = self.flow(packet) {
                ends.only_exit += 1;
                ends.only_repeats[1] += u64::from(repeats);
            }
            self.size(flow, bytes, true, 1);
        }
    }

    /// A packet is from a time that the other side does not cover.
    fn beyond(&mut self, packet: &Waiting) {
        self.uncovered += 1;
        if let Some((_, flow)) = self.flow(packet) {
            flow.uncovered += 1;
        }
    }

    /// Leaves open what repeats a packet seen shortly before: a TAP may have shown it twice.
    fn is_repeated(&mut self, packet: &Waiting) -> bool {
        if packet.again
            && let Some((_, flow)) = self.flow(packet)
        {
            flow.open += 1;
            flow.why = flow.why.max(OpenEnd::Repeated);
        }
        packet.again
    }

    pub(super) fn leave_untold(&mut self, pos: FramePos) {
        if self.untold.frames.len() < MAX_MISSED {
            self.untold.frames.insert(pos);
        } else {
            self.unlisted = true;
        }
    }

    /// Packets of the plain side that the far one did not show, or of which it says nothing; `None` where these are too many to be told.
    pub(in crate::matching) fn not_arrived(&self) -> Option<PlainFrames> {
        let mut all = self.untold.clone();
        all.frames.extend(self.gone.iter().map(|gone| gone.pos));
        self.lists_all_gone().then_some(all)
    }

    /// Whether each packet that the far side did not show, or of which it says nothing, is listed.
    pub(in crate::matching) const fn lists_all_gone(&self) -> bool {
        !self.unlisted
    }
}
