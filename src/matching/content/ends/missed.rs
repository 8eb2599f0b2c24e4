//! Packets that one of the two plaintext sides did not show.

use std::collections::HashSet;

use foldhash::fast::FixedState;

use super::{EndToEnd, Gone, OpenEnd, Waiting};
use crate::matching::limits::{MAX_LOST, MAX_MISSED};
use crate::matching::measure::silence::Expected;
use crate::model::FramePos;

impl EndToEnd {
    /// Whether the far side says what became of a packet of the plain one, where not too many are untold.
    pub(in crate::matching) fn tells_of(&self, pos: FramePos) -> bool {
        !self.untold.contains(&pos)
    }

    /// A packet of the plain side that the far one did not show.
    pub(super) fn only_plain(&mut self, packet: &Waiting) {
        let (least, most) = self.reach();
        let from = self.far.first.map_or(i64::MAX, |first| first.saturating_sub(least));
        if packet.ns < from || packet.ns.saturating_add(most) > self.far.latest {
            self.beyond(packet);
            self.leave_untold(packet.pos);
            return;
        }
        let Waiting { pos, ns, bytes, .. } = *packet;
        let later = self.later(packet);
        if self.is_repeated(packet) {
            return self.leave_untold(pos);
        }
        let Some((flow, _)) = self.flow(packet) else { return self.leave_untold(pos) };
        let expected = later.map(|(least, usual, most)| {
            let at = |difference: i64| ns.saturating_add(difference);
            Expected { least: at(least), usual: at(usual), most: at(most) }
        });
        let [_, far] = &mut self.silences;
        let silence = expected.and_then(|expected| far.miss(flow, bytes, expected));
        if silence.is_none() {
            if let Some((_, ends)) = self.flow(packet) {
                ends.only_plain += 1;
            }
            self.size(flow, bytes, false, 1);
        }
        if self.gone.len() < MAX_LOST {
            self.gone.push(Gone { pos, ns, bytes, flow, silence });
        }
    }

    /// A packet of the far side that the plain one did not show.
    pub(super) fn only_exit(&mut self, packet: &Waiting) {
        let (least, most) = self.reach();
        let from = self.near.first.map_or(i64::MAX, |first| first.saturating_add(most));
        if packet.ns < from || packet.ns.saturating_sub(least) > self.near.latest {
            return self.beyond(packet);
        }
        if self.is_repeated(packet) {
            return;
        }
        let Waiting { ns, bytes, .. } = *packet;
        let later = self.later(packet);
        let Some((flow, _)) = self.flow(packet) else { return };
        let expected = later.map(|(least, usual, most)| {
            let at = |difference: i64| ns.saturating_sub(difference);
            Expected { least: at(most), usual: at(usual), most: at(least) }
        });
        let [near, _] = &mut self.silences;
        if expected.and_then(|expected| near.miss(flow, bytes, expected)).is_none() {
            if let Some((_, ends)) = self.flow(packet) {
                ends.only_exit += 1;
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
        if self.untold.len() < MAX_MISSED {
            self.untold.insert(pos);
        }
    }

    /// Packets of the plain side that the far one did not show, or of which it says nothing; `None` where these are too many to be told.
    pub(in crate::matching) fn not_arrived(&self) -> Option<HashSet<FramePos, FixedState>> {
        let all_known = self.gone.len() < MAX_LOST && self.untold.len() < MAX_MISSED;
        all_known.then(|| self.gone.iter().map(|gone| gone.pos).chain(self.untold.iter().copied()).collect())
    }
}
