//! Frames are taken into the state of their stream.

use super::express::{BATCH, Brief, Express};
use super::observation::{SaSight, observe};
use crate::analysis::settings::Settings;
use crate::analysis::state::base::span::CaptureSpan;
use crate::analysis::state::stream::StreamState;
use crate::capture::{Frame, FrameTaker};
use crate::dissect::{Glance, glance};
use crate::keys::Dissector;

/// What takes in the frames of a span of one stream, in capture order: the state with the caches that make that quick.
#[derive(Clone, Debug)]
pub struct Observer {
    state: StreamState,
    express: Express,
    /// Whether positions are not in the order of the stream: several captures of one tap, frame by frame.
    interleaved: bool,
    dissector: Dissector,
    /// Reused between frames.
    sights: Vec<SaSight>,
}

impl Observer {
    /// An observer that has seen nothing.
    #[must_use]
    pub fn new(settings: &Settings) -> Self {
        Self {
            state: StreamState::new(settings),
            express: Express::new(settings),
            interleaved: false,
            dissector: Dissector::new(&settings.expectation, settings.dissect_options()),
            sights: Vec::new(),
        }
    }

    /// Declares that the span begins in the middle of a capture: its first capture is the last one of the span before it.
    pub fn continue_capture(&mut self) {
        self.state.span.continues = true;
    }

    /// Declares whether the stream begins with the span: if so, no frame is kept as a possible copy of an earlier span's.
    pub fn begins_stream(&mut self, is_first: bool) {
        self.state.copies.begins_stream(is_first);
    }

    /// Declares that frames will come from several captures of one tap, interleaved.
    pub fn interleave_captures(&mut self) {
        self.interleaved = true;
    }

    /// Sets the memory that the state may take of what the settings allow for all, in octets.
    pub fn limit_memory(&mut self, room: u64) {
        self.state.limit_memory(room, self.state.settings().memory_limit);
    }

    /// The state of the frames so far, of (at least) `captures` captures, though the last of them may hold no frames. It is settled: equal
    /// streams have equal states.
    #[must_use]
    pub fn finish(mut self, captures: usize) -> StreamState {
        self.express.flush(&mut self.state);
        let spans = &mut self.state.span.captures;
        spans.resize(spans.len().max(captures), CaptureSpan::default());
        self.state.settle();
        self.state
    }

    /// Takes in the next frame of the stream.
    #[inline]
    pub fn observe(&mut self, frame: &Frame<'_>) {
        self.observe_glanced(frame, glance(frame).as_ref());
    }

    /// Takes in the next frame of the stream, at which [`glance`] has looked already.
    #[inline]
    pub fn observe_glanced(&mut self, frame: &Frame<'_>, glance: Option<&Glance>) {
        let glance = glance.filter(|_| !self.interleaved);
        self.express.turn_to(frame.interface, &mut self.state);
        if glance.is_none() && !self.interleaved {
            let brief = self.express.brief_inside(frame);
            if self.express.step_shown(std::slice::from_ref(&brief), &mut self.state) == 1 {
                return;
            }
        }
        if let Some(glance) = glance {
            let brief = self.express.brief(frame, glance);
            if self.express.take(&brief, &mut self.state) {
                return;
            }
        }
        self.observe_at_length(frame, glance);
    }

    /// Takes in the next frames of the stream: many take half the time that they take one by one.
    pub fn observe_all<'a>(&mut self, frames: impl Iterator<Item = Frame<'a>>) {
        if self.interleaved {
            frames.for_each(|frame| self.observe(&frame));
            return;
        }
        let (mut frames, mut briefs) = (frames, [Brief::VACANT; BATCH]);
        let mut next = frames.next();
        while let Some(first) = next.take() {
            // Reading, looking and counting are loops of their own: each has what it needs in registers.
            let (mut count, mut places) = (1, briefs.iter_mut());
            if let Some(brief) = places.next() {
                brief.read(&first);
            }
            for (brief, frame) in places.zip(frames.by_ref()) {
                if !frame.is_captured_as(&first) {
                    next = Some(frame);
                    break;
                }
                brief.read(&frame);
                count += 1;
            }
            self.observe_batch(&first, briefs.get_mut(..count).unwrap_or_default());
            next = next.or_else(|| frames.next());
        }
    }

    /// Takes in frames that are looked at together, of which one is `like`.
    #[inline(never)]
    fn observe_batch<'a>(&mut self, like: &Frame<'a>, briefs: &mut [Brief<'a>]) {
        self.express.turn_to(like.interface, &mut self.state);
        let doubtful = self.express.look(like, briefs);
        Express::doubt(briefs, doubtful);
        let mut rest = &*briefs;
        let generation = self.express.generation();
        loop {
            // Where there is one of a kind, there are many.
            let counted = match rest.first() {
                Some(brief) if brief.is_known() => self.express.step(rest, &mut self.state.copies),
                Some(brief) if brief.is_shown() => self.express.step_shown(rest, &mut self.state),
                _ => 0,
            };
            let Some((odd, later)) = rest.get(counted..).and_then(<[_]>::split_first) else { return };
            if !odd.is_known() {
                if self.express.step_shown(std::slice::from_ref(odd), &mut self.state) == 0 {
                    self.observe_at_length(&odd.frame(like), None);
                }
            } else if !self.express.take(odd, &mut self.state) {
                self.observe(&odd.frame(like));
            }
            rest = later;
            if self.express.generation() != generation {
                rest.iter().for_each(|brief| self.observe(&brief.frame(like)));
                return;
            }
        }
    }

    /// Takes in a frame that no express lane takes.
    #[inline(never)]
    fn observe_at_length(&mut self, frame: &Frame<'_>, glance: Option<&Glance>) {
        self.express.tell(&mut self.state);
        self.state.span.count(frame);
        if !self.state.settings().admits_time(frame.time) {
            return;
        }
        self.state.look_after(1);
        let Self { state, dissector, sights, express, .. } = self;
        // What a key opens is seen like what lies in clear, by the filters too.
        let packet = dissector.open(frame);
        if !state.settings().admits(packet.stack) {
            return;
        }
        let o = observe(&packet.frame, packet.stack, packet.octets, &mut state.tables, sights);
        for sight in sights.iter() {
            express.give_way(state, sight.sa);
        }
        state.take(&o, &packet, sights);
        // Packets of an SA that has a key are checked one by one: it has no lane.
        match (glance, sights.as_slice(), packet.checks) {
            (Some(glance), [sight], []) => express.open(glance, &o, sight, state),
            (None, _, []) if !self.interleaved => express.open_shown(frame, packet.stack, &o, sights, state),
            _ => {}
        }
    }
}

impl FrameTaker for Observer {
    fn take<'a>(&mut self, frames: impl Iterator<Item = Frame<'a>>) {
        self.observe_all(frames);
    }
}
