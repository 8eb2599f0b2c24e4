//! Frames are taken into the state of their stream.

use super::express::{BATCH, Brief, Express, lane_key};
use super::observation::{SaSight, observe};
use crate::analysis::settings::Settings;
use crate::analysis::state::base::span::CaptureSpan;
use crate::analysis::state::stream::StreamState;
use crate::analysis::state::traffic::fragments::Fragment;
use crate::capture::{Frame, FrameTaker};
use crate::dissect::{DissectOptions, Glance, Stack, dissect, glance};
use crate::keys::{Keyring, Unlocked};
use crate::transform::size::ethernet;

/// What takes in the frames of a span of one stream, in capture order: the state with the caches that make that quick.
#[derive(Clone, Debug)]
pub struct Observer {
    state: StreamState,
    options: DissectOptions,
    express: Express,
    /// Whether positions are not in the order of the stream: several captures of one tap, frame by frame.
    interleaved: bool,
    /// Reused between frames.
    scratch: Scratch,
}

#[derive(Clone, Debug)]
struct Scratch {
    stack: Stack,
    sights: Vec<SaSight>,
    keyring: Keyring,
}

impl Observer {
    /// An observer that has seen nothing.
    #[must_use]
    pub fn new(settings: &Settings) -> Self {
        let options = settings.dissect_options();
        let keyring = Keyring::new(&settings.expectation, &options);
        Self {
            state: StreamState::new(settings),
            options,
            express: Express::new(settings),
            interleaved: false,
            scratch: Scratch { stack: Stack::default(), sights: Vec::new(), keyring },
        }
    }

    /// Declares that the span begins in the middle of a capture: its first capture is the last one of the span before it.
    pub fn continue_capture(&mut self) {
        self.state.span.continues = true;
    }

    /// Declares that frames will come from several captures of one tap, interleaved.
    pub fn interleave_captures(&mut self) {
        self.interleaved = true;
    }

    /// Sets the memory that the state may take of what the settings allow for all, in octets.
    pub fn limit_memory(&mut self, room: u64) {
        self.state.limit_memory(room);
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
        let mut briefs = [Brief::VACANT; BATCH];
        // A bit for each frame whose payload may lie in clear: asked about together, they cost no branch here.
        let (mut count, mut doubtful) = (0, 0_u64);
        for frame in frames {
            if let Some(brief) = briefs.get_mut(count) {
                doubtful |= u64::from(self.express.look(frame, brief)) << (count % BATCH);
                count += 1;
            }
            if count == BATCH {
                self.observe_batch(&mut briefs, doubtful);
                (count, doubtful) = (0, 0);
            }
        }
        self.observe_batch(briefs.get_mut(..count).unwrap_or_default(), doubtful);
    }

    /// Takes in frames that were looked at together.
    #[inline(never)]
    fn observe_batch(&mut self, briefs: &mut [Brief<'_>], doubtful: u64) {
        Express::doubt(briefs, doubtful);
        let mut rest = &*briefs;
        let generation = self.express.generation();
        loop {
            let counted = self.express.step(rest, &mut self.state.copies);
            let Some((odd, later)) = rest.get(counted..).and_then(<[_]>::split_first) else { return };
            if !self.express.take(odd, &mut self.state) {
                self.observe(&odd.frame);
            }
            rest = later;
            if self.express.generation() != generation {
                rest.iter().for_each(|brief| self.observe(&brief.frame));
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
        dissect(frame, &self.options, &mut self.scratch.stack);
        if self.scratch.stack.flags.fcs_found {
            self.take_in(&Frame { fcs_bytes: ethernet::FCS as u8, ..*frame }, glance);
        } else {
            self.take_in(frame, glance);
        }
    }

    #[inline]
    fn take_in(&mut self, frame: &Frame<'_>, glance: Option<&Glance>) {
        let Scratch { stack, sights, keyring } = &mut self.scratch;
        let unlocked = keyring.open(frame, stack);
        // What a key opens is seen like what lies in clear, by the filters too.
        let (stack, octets) = match unlocked.and_then(|unlocked| Some((unlocked.stack()?, unlocked.octets()))) {
            Some(opened) => opened,
            None => (&*stack, frame.data),
        };
        if !self.state.settings().admits(stack) {
            return;
        }
        let o = observe(frame, stack, octets, &mut self.state.tables, sights);
        for sight in sights.iter() {
            if let Some(key) = self.state.tables.sas.get(sight.sa).and_then(lane_key) {
                self.express.give_way(&mut self.state, key);
            }
        }
        for sight in sights.iter() {
            if self.state.tables.sas.get(sight.sa).is_some_and(|key| self.state.settings().expectation.is_suspect(key))
            {
                self.state.sas.list(sight.sa);
            }
        }
        self.state.span.time(&o);
        self.state.totals.observe(&o);
        let first_sighting = self.state.sas.observe(&o, sights, &stack.notes);
        self.state.sas.observe_opaque(&o, frame.data, stack, sights);
        let checks = unlocked.map(Unlocked::checks).unwrap_or_default();
        self.state.sas.observe_checks(&o, stack, sights, checks);
        self.state.sizes.observe(&o, sights, &stack.notes, stack.costs);
        self.state.rates.observe(&o);
        self.state.padding.observe(&o, stack, frame.data);
        self.state.notices.observe(&o, stack, self.state.settings().link_rate_bps);
        if let Some(again) = self.state.flows.observe(&o, sights) {
            self.state.rates.count_again(&again);
        }
        if !stack.notes.is_empty() {
            self.state.candidates.observe(&o, stack, frame.data);
        }
        let copy = self.state.copies.observe(&o, sights, &stack.notes, stack.costs, first_sighting);
        if copy {
            self.state.sas.count_copy(&o, sights, true);
            self.state.sizes.count_copy(&o, sights, &stack.notes, stack.costs, true);
            self.state.rates.count_copy(&o, true);
            if let Some(flow) = self.state.tables.flows.get(o.flow).filter(|_| !stack.notes.is_empty()) {
                self.state.candidates.count_copy(&o, &stack.notes, (flow.src, flow.dst), true);
            }
        }
        if o.class.fragment
            && let Some(outer) = stack.outer()
        {
            let fragment = Fragment { outer, costs: stack.costs, sights, peeks: &stack.peeks, copy };
            self.state.fragments.observe(&o, &fragment, &mut self.state.sizes);
        }
        // Packets of an SA that has a key are checked one by one: it has no lane.
        if let (Some(glance), [sight], []) = (glance, sights.as_slice(), checks) {
            self.express.open(glance, &o, sight, &mut self.state);
        }
    }
}

impl FrameTaker for Observer {
    fn take<'a>(&mut self, frames: impl Iterator<Item = Frame<'a>>) {
        self.observe_all(frames);
    }
}
