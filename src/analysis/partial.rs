//! The mergeable state of a span of frames of one stream.

use super::limits::{CLOCK_TOLERANCE_NS, ENTRY_BYTES, LOOK_EVERY, MAX_UDP_CANDIDATES, STATE_BYTES};
use super::settings::Settings;
use crate::analysis::observe::express::{Express, lane_key};
use crate::analysis::observe::observation::{SaSight, observe};
use crate::analysis::state::base::span::{CaptureSpan, Span};
use crate::analysis::state::base::tables::Tables;
use crate::analysis::state::sa::candidates::Candidates;
use crate::analysis::state::sa::sas::Sas;
use crate::analysis::state::sa::sizes::Sizes;
use crate::analysis::state::traffic::copies::{CopyWindow, HeadFrame};
use crate::analysis::state::traffic::flows::Flows;
use crate::analysis::state::traffic::fragments::{Fragment, Fragments};
use crate::analysis::state::traffic::notices::Notices;
use crate::analysis::state::traffic::padding::EthernetPadding;
use crate::analysis::state::traffic::rates::Rates;
use crate::analysis::state::traffic::totals::Totals;
use crate::capture::Frame;
use crate::dissect::{DissectOptions, Glance, Stack, dissect, glance};
use crate::keys::{Keyring, Unlocked};
use crate::transform::size::ethernet;

/// The state of an analysis over a span of frames of one stream, in capture order.
///
/// `analyse(a ++ b) == analyse(a).merge(analyse(b))` for every way of cutting a stream in two: the law that threads, rotated
/// files and partial states of many machines rest on. Figures are computed from it in `finish`, never kept in it.
#[derive(Clone, Debug)]
pub struct Partial {
    settings: Settings,
    options: DissectOptions,
    pub(crate) span: Span,
    pub(crate) tables: Tables,
    pub(crate) totals: Totals,
    pub(crate) sas: Sas,
    pub(crate) sizes: Sizes,
    pub(crate) rates: Rates,
    pub(crate) padding: EthernetPadding,
    pub(crate) copies: CopyWindow,
    pub(crate) notices: Notices,
    pub(crate) flows: Flows,
    pub(crate) fragments: Fragments,
    pub(crate) candidates: Candidates,
    express: Express,
    /// Whether positions are not in the order of the stream: several captures of one tap, frame by frame.
    interleaved: bool,
    /// Frames and SAs until the memory is looked at again; no part of the state.
    look_in: usize,
    /// Octets of memory that it may take; no part of the state.
    room: u64,
    scratch: Scratch,
}

/// The accumulators that the express lanes add to.
pub(super) struct Parts<'p> {
    pub(super) span: &'p mut Span,
    pub(super) totals: &'p mut Totals,
    pub(super) sas: &'p mut Sas,
    pub(super) sizes: &'p mut Sizes,
    pub(super) rates: &'p mut Rates,
    pub(super) flows: &'p mut Flows,
    pub(super) copies: &'p mut CopyWindow,
}

/// The accumulators of a state, borrowed apart from its lanes.
macro_rules! parts {
    ($state:expr) => {
        Parts {
            span: &mut $state.span,
            totals: &mut $state.totals,
            sas: &mut $state.sas,
            sizes: &mut $state.sizes,
            rates: &mut $state.rates,
            flows: &mut $state.flows,
            copies: &mut $state.copies,
        }
    };
}

mod batches;

/// Reused between frames; no part of the state.
#[derive(Clone, Debug)]
struct Scratch {
    stack: Stack,
    sights: Vec<SaSight>,
    keyring: Keyring,
}

/// Why two states cannot be merged.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// They were made with different settings.
    #[error("the states were made with different settings: {0}; make one of them again. Nothing was merged.")]
    Settings(String),
}

impl Partial {
    /// The empty state: the identity of [`Partial::merge`].
    #[must_use]
    pub fn new(settings: &Settings) -> Self {
        let options = settings.dissect_options();
        let keyring = Keyring::new(&settings.expectation, &options);
        Self {
            settings: settings.clone(),
            options,
            span: Span::default(),
            tables: Tables::default(),
            totals: Totals::default(),
            sas: Sas::default(),
            sizes: Sizes::default(),
            rates: Rates::new(settings.bin_ns),
            padding: EthernetPadding::default(),
            copies: CopyWindow::default(),
            notices: Notices::default(),
            flows: Flows::default(),
            fragments: Fragments::default(),
            candidates: Candidates::default(),
            express: Express::new(settings),
            interleaved: false,
            look_in: LOOK_EVERY,
            room: settings.memory_limit,
            scratch: Scratch { stack: Stack::default(), sights: Vec::new(), keyring },
        }
    }

    /// The settings the state was made with.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The captures of the span, in the order that positions count them: all of them once the state is settled.
    #[must_use]
    pub fn captures(&self) -> &[CaptureSpan] {
        &self.span.captures
    }

    /// Declares that the span has (at least) `count` captures, though the last of them may hold no frames.
    pub fn declare_captures(&mut self, count: usize) {
        if self.span.captures.len() < count {
            self.span.captures.resize(count, CaptureSpan::default());
        }
    }

    /// Declares that this state begins in the middle of a capture: its first capture is the last one of the span before it.
    pub fn continue_capture(&mut self) {
        self.span.continues = true;
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
            if self.express.take(&brief, &mut parts!(self)) {
                return;
            }
        }
        self.observe_at_length(frame, glance);
    }

    /// Takes in a frame that no express lane takes.
    #[inline(never)]
    fn observe_at_length(&mut self, frame: &Frame<'_>, glance: Option<&Glance>) {
        self.express.tell(&mut parts!(self));
        self.span.count(frame);
        if !self.settings.admits_time(frame.time) {
            return;
        }
        self.look_after(1);
        dissect(frame, &self.options, &mut self.scratch.stack);
        if self.scratch.stack.flags.fcs_found {
            self.take_in(&Frame { fcs_bytes: ethernet::FCS as u8, ..*frame }, glance);
        } else {
            self.take_in(frame, glance);
        }
    }

    /// Declares that frames will come from several captures of one tap, interleaved.
    pub fn interleave_captures(&mut self) {
        self.interleaved = true;
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
        if !self.settings.admits(stack) {
            return;
        }
        let o = observe(frame, stack, octets, &mut self.tables, sights);
        for sight in sights.iter() {
            if let Some(key) = self.tables.sas.get(sight.sa).and_then(lane_key) {
                self.express.give_way(&mut parts!(self), key);
            }
        }
        for sight in sights.iter() {
            if self.tables.sas.get(sight.sa).is_some_and(|key| self.settings.expectation.is_suspect(key)) {
                self.sas.list(sight.sa);
            }
        }
        self.span.time(&o);
        self.totals.observe(&o);
        let first_sighting = self.sas.observe(&o, sights, &stack.notes);
        self.sas.observe_opaque(&o, frame.data, stack, sights);
        let checks = unlocked.map(Unlocked::checks).unwrap_or_default();
        self.sas.observe_checks(&o, stack, sights, checks);
        self.sizes.observe(&o, sights, &stack.notes, stack.costs);
        self.rates.observe(&o);
        self.padding.observe(&o, stack, frame.data);
        self.notices.observe(&o, stack, self.settings.link_rate_bps);
        if let Some(again) = self.flows.observe(&o, sights) {
            self.rates.count_again(&again);
        }
        if !stack.notes.is_empty() {
            self.candidates.observe(&o, stack, frame.data);
        }
        let copy = self.copies.observe(&o, sights, &stack.notes, stack.costs, first_sighting);
        if copy {
            self.sas.count_copy(&o, sights, true);
            self.sizes.count_copy(&o, sights, &stack.notes, stack.costs, true);
            self.rates.count_copy(&o, true);
            if let Some(flow) = self.tables.flows.get(o.flow).filter(|_| !stack.notes.is_empty()) {
                self.candidates.count_copy(&o, &stack.notes, (flow.src, flow.dst), true);
            }
        }
        if o.class.fragment
            && let Some(outer) = stack.outer()
        {
            let fragment = Fragment { outer, costs: stack.costs, sights, peeks: &stack.peeks, copy };
            self.fragments.observe(&o, &fragment, &mut self.sizes);
        }
        // Packets of an SA that has a key are checked one by one: it has no lane.
        if let (Some(glance), [sight], []) = (glance, sights.as_slice(), checks) {
            self.express.open(glance, &o, sight, &mut parts!(self));
        }
    }

    /// Adds what the express lanes hold.
    fn flush(&mut self) {
        self.express.flush(&mut parts!(self));
    }

    /// Adds a frame of the state that turned out to be a copy, or takes back one that turned out to be none.
    fn recount_copy(&mut self, frame: &HeadFrame) {
        let (o, copy) = (&frame.observation, frame.copy);
        self.sas.count_copy(o, &frame.sights, copy);
        self.sizes.count_copy(o, &frame.sights, &frame.notes, frame.costs, copy);
        self.rates.count_copy(o, copy);
        if let Some(flow) = self.tables.flows.get(o.flow) {
            self.candidates.count_copy(o, &frame.notes, (flow.src, flow.dst), copy);
        }
    }

    /// Appends the state of the span that follows.
    ///
    /// # Errors
    /// [`MergeError`] if the two do not belong together; nothing is merged then.
    pub fn merge(mut self, mut later: Self) -> Result<Self, MergeError> {
        self.flush();
        later.flush();
        if let Some(difference) = self.settings.difference(&later.settings) {
            return Err(MergeError::Settings(difference));
        }
        let Self {
            settings: _,
            options: _,
            span,
            tables,
            totals,
            sas,
            sizes,
            rates,
            padding,
            copies,
            notices,
            flows,
            fragments,
            candidates,
            express: _,
            interleaved: _,
            look_in: _,
            room: _,
            scratch: _,
        } = later;
        let more = sas.len();
        let shift = self.span.merge(span);
        let map = self.tables.absorb(&tables);
        self.totals.merge(totals, shift, &map);
        self.sas.merge(sas, shift, &map);
        self.sizes.merge(sizes, shift, &map);
        self.rates.merge(rates, shift, &map.directions);
        self.padding.merge(padding, shift, &map.directions);
        self.notices.merge(notices, shift, &map.directions, self.settings.link_rate_bps);
        for again in self.flows.merge(flows, shift, &map) {
            self.rates.count_again(&again);
        }
        self.candidates.merge(candidates, shift, &map);
        let recounted = self.copies.merge(copies, shift, &map);
        recounted.iter().for_each(|frame| self.recount_copy(frame));
        self.fragments.merge(fragments, shift, &map, &recounted, &mut self.sizes);
        self.look_after(more);
        Ok(self)
    }

    /// Looks at the memory when there may be much more of it.
    #[inline]
    fn look_after(&mut self, more: usize) {
        self.look_in = self.look_in.saturating_sub(more);
        if self.look_in == 0 {
            self.bound();
        }
    }

    /// Keeps the state within its limits on sequence numbers and on memory.
    #[cold]
    fn bound(&mut self) {
        self.look_in = LOOK_EVERY.max(self.sas.len());
        let intervals = self.sas.bound();
        self.sas.bound_lists();
        if self.weight_with(intervals) > self.room {
            self.tables.close(self.settings.memory_limit);
            self.sizes.close();
        }
    }

    fn weight_with(&self, intervals: usize) -> u64 {
        let entries = self.tables.len() + self.sizes.len() + self.rates.bins();
        self.sas.weight(intervals) + (STATE_BYTES + entries * ENTRY_BYTES) as u64
    }

    /// Octets of memory that the settled state takes, about.
    #[must_use]
    pub fn weight(&self) -> u64 {
        self.weight_with(self.sas.intervals())
    }

    /// Sets the memory that this state may take of what the settings allow for all, in octets.
    pub fn limit_memory(&mut self, room: u64) {
        self.room = room;
        if self.weight() > room {
            self.tables.close(self.settings.memory_limit);
            self.sizes.close();
        }
    }

    /// Brings the state into the one form that equal streams share: nothing half-done is left in caches.
    pub fn settle(&mut self) {
        self.flush();
        self.express = Express::new(&self.settings);
        self.bound();
        self.tables.settle();
        self.sas.settle();
        self.rates.flush();
        self.fragments.sweep(&mut self.sizes);
        self.sizes.settle();
    }

    /// Whether no limit was hit.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        // Directions beyond the limit are summed as such, in a row of their own.
        self.tables.directions.refused == 0 && self.degraded().is_empty() && self.sas.is_exact()
    }

    /// Which limits were hit, one sentence each.
    pub(crate) fn degraded(&self) -> Vec<String> {
        let mut why = self.tables.refusals();
        why.extend(self.sizes.refusals());
        why.extend(self.sas.degraded());
        why.extend(self.rates.degraded());
        if self.notices.refused > 0 {
            why.push(format!("{} ICMP or IKE notices beyond the limit were not kept", self.notices.refused));
        }
        if self.fragments.refused > 0 {
            why.push(format!("{} fragments beyond the limit on groups were not put together", self.fragments.refused));
        }
        if self.fragments.behind > 0 {
            why.push(format!(
                "{} fragments come after the clock stepped back by more than {} ms; packets around the step may be called incomplete",
                self.fragments.behind,
                CLOCK_TOLERANCE_NS / 1_000_000
            ));
        }
        if self.candidates.refused > 0 {
            why.push(format!(
                "{} packets of UDP flows beyond {MAX_UDP_CANDIDATES} on unusual ports were not looked at for ESP",
                self.candidates.refused
            ));
        }
        if self.copies.dropped > 0 {
            why.push(format!("{} frames found no room in the window that recognises copies", self.copies.dropped));
        }
        if self.copies.adrift > 0 {
            why.push(format!(
                "{} frames come after small backward steps of the clock that add up to more than {} ms; copies there may not be recognised",
                self.copies.adrift,
                CLOCK_TOLERANCE_NS / 1_000_000
            ));
        }
        why
    }
}

impl Partial {
    /// Which part of the states differs, `None` where they are equal: of states, not of caches; both should be settled.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Option<&'static str> {
        let Self {
            settings,
            options: _,
            span,
            tables,
            totals,
            sas,
            sizes,
            rates,
            padding,
            copies,
            notices,
            flows,
            fragments,
            candidates,
            express: _,
            interleaved: _,
            look_in: _,
            room: _,
            scratch: _,
        } = self;
        let parts = [
            ("settings", settings.difference(&other.settings).is_none()),
            ("span", *span == other.span),
            ("tables", *tables == other.tables),
            ("totals", *totals == other.totals),
            ("sas", *sas == other.sas),
            ("sizes", *sizes == other.sizes),
            ("rates", *rates == other.rates),
            ("padding", *padding == other.padding),
            ("copies", *copies == other.copies),
            ("notices", *notices == other.notices),
            ("flows", *flows == other.flows),
            ("fragments", *fragments == other.fragments),
            ("candidates", *candidates == other.candidates),
        ];
        parts.iter().find(|(_, equal)| !equal).map(|(name, _)| *name)
    }
}

impl PartialEq for Partial {
    fn eq(&self, other: &Self) -> bool {
        self.difference(other).is_none()
    }
}
