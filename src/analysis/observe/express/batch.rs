//! Frames that are looked at together, and then counted one after the other.
//!
//! Looking finds the lane of each frame; no look depends on another, so that what the cache lacks of many lanes is fetched at once.
//! Counting goes in order, and only where the frame is the next of its lane; it finds the lanes in the cache.

use super::Express;
use super::lane::EspLane;

use crate::analysis::state::base::intern::NONE;
use crate::analysis::state::traffic::copies::CopyWindow;
use crate::capture::Frame;
use crate::dissect::{Form, Glance, IN_IPV6, IN_UDP, OUTLINED, PLAIN, TAGGED, any_look, is_opaque, kind_look, kind_of};
use crate::model::{FramePos, Timestamp};

/// Frames of a batch: as many as a word has bits.
pub(in crate::analysis) const BATCH: usize = 64;

/// The form of a frame without a glance.
pub(super) const NO_GLANCE: Form = Form::of_word(0);

/// A frame with what counting it takes: a cache line. What frames of a batch share is not in it.
#[derive(Clone, Copy, Debug)]
pub(in crate::analysis) struct Brief<'a> {
    pub(super) pos: FramePos,
    pub(super) time: Timestamp,
    pub(super) data: &'a [u8],
    pub(super) digest: u64,
    pub(super) form: Form,
    pub(super) sequence: u32,
    /// Its lane; [`NONE`] if it has none, or may not be counted there.
    pub(super) lane: u32,
    wire_bytes: u32,
}

impl<'a> Brief<'a> {
    /// A place in a batch.
    pub(in crate::analysis) const VACANT: Self = Self {
        pos: FramePos::new(0, 0),
        time: Timestamp::UNKNOWN,
        data: &[],
        digest: 0,
        form: NO_GLANCE,
        sequence: 0,
        lane: NONE,
        wire_bytes: 0,
    };

    /// Makes this the brief of a frame, which is still to be looked at.
    #[inline(always)]
    pub(in crate::analysis) const fn read(&mut self, frame: &Frame<'a>) {
        (self.pos, self.time, self.data, self.wire_bytes) = (frame.pos, frame.time, frame.data, frame.wire_bytes);
    }

    /// The frame; `like` is another one of the batch.
    #[inline(always)]
    pub(in crate::analysis) const fn frame(&self, like: &Frame<'a>) -> Frame<'a> {
        Frame { pos: self.pos, time: self.time, data: self.data, wire_bytes: self.wire_bytes, ..*like }
    }

    /// Whether the frame has a glance, or would have one if its form were [sound](Form::is_sound).
    pub(in crate::analysis) const fn is_known(&self) -> bool {
        self.form.word() != NO_GLANCE.word()
    }

    /// Position and time.
    #[inline(always)]
    pub(super) const fn here(&self) -> (FramePos, Timestamp) {
        (self.pos, self.time)
    }

    #[inline]
    pub(super) const fn new(frame: &Frame<'a>, glance: &Glance, lane: u32) -> Self {
        let mut brief = Self::VACANT;
        brief.read(frame);
        brief.note(glance, lane);
        brief
    }

    #[inline(always)]
    const fn note(&mut self, glance: &Glance, lane: u32) {
        (self.digest, self.form, self.sequence) = (glance.digest, glance.form, glance.sequence);
        self.lane = lane;
    }
}

impl Express {
    /// Takes a first look at the frames of a batch, of which one is `like`: a bit for each whose payload may lie in clear, so that
    /// [`Express::doubt`] must be asked about it. Asked about together, these cost no branch here.
    pub(in crate::analysis) fn look<'a>(&self, like: &Frame<'a>, briefs: &mut [Brief<'a>]) -> u64 {
        // Where there is one of a kind, there are many: each kind has a loop of its own.
        match kind_of(like) {
            TAGGED => self.look_for::<TAGGED>(like, briefs),
            IN_UDP => self.look_for::<IN_UDP>(like, briefs),
            IN_IPV6 => self.look_for::<IN_IPV6>(like, briefs),
            OUTLINED => self.look_for::<OUTLINED>(like, briefs),
            _ => self.look_for::<PLAIN>(like, briefs),
        }
    }

    #[inline(never)]
    fn look_for<'a, const KIND: u8>(&self, like: &Frame<'a>, briefs: &mut [Brief<'a>]) -> u64 {
        let like = *like;
        let mut doubtful = 0;
        for (at, brief) in (0..BATCH).zip(briefs) {
            doubtful |= u64::from(self.look_at::<KIND>(brief.frame(&like), brief)) << at;
        }
        doubtful
    }

    #[inline(always)]
    fn look_at<const KIND: u8>(&self, frame: Frame<'_>, brief: &mut Brief<'_>) -> bool {
        // What most captures consist of is looked at here, so that nothing of the glance is written anywhere but into the brief.
        if let Some((glance, doubt)) = kind_look::<KIND>(&frame) {
            let found =
                if KIND == IN_IPV6 { self.find_ipv6(&glance, frame.data) } else { self.find(&glance, frame.data) };
            brief.note(&glance, found);
            return doubt;
        }
        if KIND == OUTLINED && kind_of(&frame) == OUTLINED {
            self.look_inside_here(&frame, brief);
            return false;
        }
        // A copy: what is handed on by reference would be kept in memory for all.
        self.look_further::<KIND>(&{ frame }, brief)
    }

    /// Looks at a frame at which the look of the batch's kind has seen nothing.
    #[inline(never)]
    fn look_further<const KIND: u8>(&self, frame: &Frame<'_>, brief: &mut Brief<'_>) -> bool {
        // Behind a tag there may be UDP; another look of the same kind sees nothing either.
        let is_other = KIND == TAGGED || kind_of(frame) != KIND;
        let Some((glance, doubt)) = is_other.then(|| any_look(frame)).flatten() else {
            self.look_inside(frame, brief);
            return false;
        };
        brief.note(&glance, self.find(&glance, frame.data));
        doubt
    }

    /// Takes the lanes from those of the `doubtful` frames, a bit for each, in whose payload dissection may find something.
    #[inline]
    pub(in crate::analysis) fn doubt(briefs: &mut [Brief<'_>], mut doubtful: u64) {
        while doubtful != 0 {
            if let Some(brief) = briefs.get_mut(doubtful.trailing_zeros() as usize)
                && !is_opaque(brief.data, brief.form)
            {
                brief.lane = NONE;
            }
            doubtful &= doubtful - 1;
        }
    }

    /// Counts frames as long as each is the next of its lane and like the one before it; how many.
    #[inline(never)]
    pub(in crate::analysis) fn step(&mut self, briefs: &[Brief<'_>], copies: &mut CopyWindow) -> usize {
        if self.in_head || briefs.first().is_none_or(|brief| brief.pos.capture() != self.passage.capture) {
            return 0;
        }
        // What of the passage changes stays in memory: registers are needed for the rest.
        let mut count = 0;
        for (brief, entry) in briefs.iter().zip(copies.room()) {
            let Some(lane) = self.lanes.get_mut(brief.lane as usize) else { break };
            let time = brief.time.raw();
            if !lane.simply_goes_on_with(brief) || time < self.passage.last || time >= self.end {
                break;
            }
            let Some(sum) = self.directions.get_mut(lane.direction) else { break };
            if !sum.go_on(brief.lane, brief.form) {
                break;
            }
            entry.set(brief.digest, time);
            lane.count(brief);
            self.passage.go_on_at(time);
            count += 1;
        }
        copies.fill(count);
        self.passage.frames += count as u64;
        count
    }
}

impl EspLane {
    #[inline(always)]
    pub(super) fn count(&mut self, brief: &Brief<'_>) {
        self.raw = brief.sequence;
        self.sized += 1;
        self.last = brief.here();
    }
}
