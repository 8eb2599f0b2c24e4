//! The way of frames that have an outline through their lanes.

use super::Express;
use super::batch::{Brief, NO_GLANCE};
use super::shown::{SHOWN, size_key};
use crate::analysis::observe::observation::{Class, Observation, SaSight};
use crate::analysis::state::base::intern::NONE;
use crate::analysis::state::stream::StreamState;
use crate::capture::Frame;
use crate::dissect::{Outline, Stack, outline};
use crate::model::Protocol;

impl Brief<'_> {
    /// Whether the frame has an outline and a lane.
    #[inline(always)]
    pub(in crate::analysis) const fn is_shown(&self) -> bool {
        self.lane & SHOWN != 0 && self.lane != NONE
    }
}

impl Express {
    /// Looks at a frame that has no glance.
    #[inline(never)]
    pub(super) fn look_inside(&self, frame: &Frame<'_>, brief: &mut Brief<'_>) {
        self.look_inside_here(frame, brief);
    }

    /// The same, in the loop over frames of which most have an outline.
    #[inline(always)]
    pub(super) fn look_inside_here(&self, frame: &Frame<'_>, brief: &mut Brief<'_>) {
        (brief.form, brief.lane) = (NO_GLANCE, NONE);
        if let Some(outline) = outline(frame) {
            brief.lane = self.shown.lane_of(&outline);
            (brief.digest, brief.sequence) = (outline.digest, outline.sequence);
        }
    }

    /// A frame that has no glance, with the lane that it is in.
    pub(in crate::analysis) fn brief_inside<'a>(&self, frame: &Frame<'a>) -> Brief<'a> {
        let mut brief = Brief::VACANT;
        brief.read(frame);
        self.look_inside(frame, &mut brief);
        brief
    }

    /// Counts frames as long as each shows what is in it and is the next of its lane; how many.
    #[inline(never)]
    pub(in crate::analysis) fn step_shown(&mut self, briefs: &[Brief<'_>], state: &mut StreamState) -> usize {
        state.copies.fetch(briefs.iter().map(|brief| brief.digest));
        let mut count = 0;
        for brief in briefs {
            if !brief.is_shown() || !(self.goes_on_at(brief.here()) || self.ask(brief.here(), state)) || self.in_head {
                break;
            }
            let Some(direction) = self.shown.take(brief, state) else { break };
            self.directions.note(direction, brief.lane);
            self.passage.go_on_at(brief.time.raw());
            self.passage.frames += 1;
            count += 1;
        }
        count
    }

    /// Opens the lane of frames like one that went the long way, where they have an outline and nothing about them is worth a note.
    pub(in crate::analysis) fn open_shown(
        &mut self,
        frame: &Frame<'_>,
        stack: &Stack,
        o: &Observation,
        sights: &[SaSight],
        state: &mut StreamState,
    ) {
        let is_plain = stack.notes.is_empty() && stack.stop.is_none() && o.path != NONE && sights.len() <= 1;
        if !is_plain || o.time.ns().is_none_or(|time| !state.copies.is_past_head(time)) {
            return;
        }
        let Some(outline) = outline(frame) else { return };
        let (sight, settings) = (sights.first(), state.settings());
        if outline.is_quiet(&settings.udp_ports, &settings.tcp_ports)
            && is_numbered(stack, o, state)
            && sight.map_or_else(|| is_listed(o, state), |sight| is_in_flow(&outline, sight, o, state))
        {
            if sight.is_some() {
                self.directions.open(o.direction, o.lane);
            }
            let given_up = self.shown.open(&outline, (o, sight), self.bins(), state);
            self.generation = self.generation.wrapping_add(u32::from(given_up));
        }
    }
}

/// Whether all that was observed of a frame has a number, and only what is the same for the next one would be counted of it.
fn is_numbered(stack: &Stack, o: &Observation, state: &StreamState) -> bool {
    let usual = Class { ip: true, ipsec: o.class.ipsec, cut_by_snaplen: o.class.cut_by_snaplen, ..Class::default() };
    let has_flow = o.flow != NONE || stack.encapsulated.is_none_or(|at| at == 0);
    let path = state.tables.paths.get(o.path);
    o.class == usual
        && has_flow
        && o.direction != NONE
        && o.stack != NONE
        && path.is_some_and(|path| path.pair != NONE)
        && state.sizes.visible.has(&size_key(o))
        && !(o.class.cut_by_snaplen && state.totals.snaplen.wants())
}

/// Whether no more frames of a tunnel without IPsec are listed.
fn is_listed(o: &Observation, state: &StreamState) -> bool {
    !o.path_in_clear || state.flows.tunnel(o.path).is_some_and(|listed| !listed.wants())
}

/// Whether the next frame of an AH SA simply goes on from this one.
fn is_in_flow(outline: &Outline, sight: &SaSight, o: &Observation, state: &StreamState) -> bool {
    sight.protocol == Protocol::Ah
        && !o.path_in_clear
        && !sight.opaque
        && sight.ah_tail.is_none()
        && sight.sequence == Some(outline.sequence)
        && state
            .sas
            .get(sight.sa)
            .is_some_and(|known| known.sequence.extendable(o.time) == Some(outline.sequence) && !known.wants_listing())
}
