//! The mergeable state of a span of frames of one stream.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::candidates::Candidates;
use super::copies::{CopyWindow, stepped_back};
use super::express::{Express, lane_key};
use super::flows::Flows;
use super::fragments::Fragments;
use super::intern::NONE;
use super::notices::Notices;
use super::observation::{Observation, SaSight, observe};
use super::padding::EthernetPadding;
use super::rates::Rates;
use super::sas::Sas;
use super::seen::Seen;
use super::settings::Settings;
use super::sizes::Sizes;
use super::tables::{Remap, Tables};
use crate::capture::Frame;
use crate::dissect::{Costs, DissectOptions, Glance, Note, Stack, dissect, glance};
use crate::model::{FramePos, Shift, Timestamp};

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

/// Reused between frames; no part of the state.
#[derive(Clone, Debug, Default)]
struct Scratch {
    stack: Stack,
    sights: Vec<SaSight>,
}

/// What stretch of which captures a state covers.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Span {
    /// The captures of the span, in order.
    pub(crate) captures: Vec<CaptureSpan>,
    /// Whether the first capture's beginning lies in an earlier span.
    pub(crate) continues: bool,
    /// The first frame with a time, and the time of the last one.
    first: Option<(FramePos, Timestamp)>,
    last: Option<Timestamp>,
    /// Frames whose time lies before the time of the frame before them.
    pub(crate) backward: Seen,
    pub(crate) backward_most_ns: i64,
}

/// A capture's share of a span; frames that filters left out included, because positions count them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CaptureSpan {
    /// Frames.
    pub frames: u64,
    /// Times of the earliest and the latest frame that has one.
    pub times: Option<(Timestamp, Timestamp)>,
}

/// Sums over all frames of the span.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Totals {
    pub(crate) sums: Sums,
    /// Frames and wire octets per stack number.
    pub(crate) stacks: Vec<(u64, u64)>,
    pub(crate) snaplen: Seen,
    pub(crate) offloaded: Seen,
    pub(crate) undissected: Seen,
}

/// Plain sums.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Sums {
    pub(crate) frames: u64,
    pub(crate) captured_bytes: u64,
    pub(crate) wire_bytes: u64,
    pub(crate) l1_bytes: u64,
    pub(crate) ip_frames: u64,
    pub(crate) ipsec_frames: u64,
    pub(crate) control_frames: u64,
    pub(crate) fragments: u64,
}

/// Why two states cannot be merged.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// They were made with different settings.
    #[error("the states were made with different settings: {0}; make one of them again. Nothing was merged.")]
    Settings(String),
    /// They overlap in time.
    #[error("the states overlap in time; analyse these captures in one run. Nothing was merged.")]
    Overlap,
}

impl Partial {
    /// The empty state: the identity of [`Partial::merge`].
    #[must_use]
    pub fn new(settings: &Settings) -> Self {
        Self {
            settings: settings.clone(),
            options: settings.dissect_options(),
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
            express: Express::default(),
            interleaved: false,
            scratch: Scratch::default(),
        }
    }

    /// The settings the state was made with.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The captures of the span, in the order that positions count them.
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
        self.span.count(frame);
        if !self.settings.admits_time(frame.time) {
            return;
        }
        if let Some(glance) = glance
            && !self.interleaved
            && self.express.take(frame, glance, &mut parts!(self))
        {
            return;
        }
        self.observe_at_length(frame, glance.filter(|_| !self.interleaved));
    }

    /// Takes in a frame that no express lane takes.
    #[inline(never)]
    fn observe_at_length(&mut self, frame: &Frame<'_>, glance: Option<&Glance>) {
        dissect(frame, &self.options, &mut self.scratch.stack);
        if self.settings.admits(&self.scratch.stack) {
            self.take_in(frame, glance);
        }
    }

    /// Declares that frames will come from several captures of one tap, interleaved.
    pub fn interleave_captures(&mut self) {
        self.interleaved = true;
    }

    #[inline]
    fn take_in(&mut self, frame: &Frame<'_>, glance: Option<&Glance>) {
        let Scratch { stack, sights } = &mut self.scratch;
        let o = observe(frame, stack, &mut self.tables, sights);
        for sight in sights.iter() {
            if let Some((addresses, spi)) = self.tables.sas.get(sight.sa).and_then(lane_key) {
                self.express.give_way(&mut parts!(self), addresses, spi);
            }
        }
        self.span.time(&o);
        self.totals.observe(&o);
        let first_sighting = self.sas.observe(&o, sights, &stack.notes);
        self.sizes.observe(&o, sights, &stack.notes, stack.costs);
        self.rates.observe(&o);
        self.padding.observe(&o, stack, frame.data);
        self.notices.observe(&o, stack, self.settings.link_rate_bps);
        self.flows.observe(&o, sights);
        if o.class.fragment
            && let Some(outer) = stack.outer()
        {
            self.fragments.observe(&o, outer, sights, &mut self.sizes);
        }
        if !stack.notes.is_empty() {
            self.candidates.observe(&o, stack);
        }
        if self.copies.observe(&o, sights, &stack.notes, stack.costs, first_sighting) {
            self.sas.count_copy(&o, sights);
            self.sizes.count_copy(&o, sights, &stack.notes, stack.costs);
            self.rates.count_copy(&o);
        }
        if let (Some(glance), [sight]) = (glance, sights.as_slice()) {
            self.express.open(glance, &o, sight, &mut parts!(self));
        }
    }

    /// Adds what the express lanes hold.
    fn flush(&mut self) {
        self.express.flush(&mut parts!(self));
    }

    /// Adds a frame of the state that turned out to be a copy.
    fn count_copy(&mut self, o: &Observation, sights: &[SaSight], notes: &[Note], costs: Costs) {
        self.sas.count_copy(o, sights);
        self.sizes.count_copy(o, sights, notes, costs);
        self.rates.count_copy(o);
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
            scratch: _,
        } = later;
        let shift = self.span.merge(span);
        let map = self.tables.absorb(&tables);
        self.totals.merge(totals, shift, &map);
        self.sas.merge(sas, shift, &map);
        self.sizes.merge(sizes, shift, &map);
        self.rates.merge(rates, shift, &map.directions);
        self.padding.merge(padding, shift, &map.directions);
        self.notices.merge(notices, shift, &map.directions, self.settings.link_rate_bps);
        self.flows.merge(flows, shift, &map);
        self.fragments.merge(fragments, shift, &map, &mut self.sizes);
        self.candidates.merge(candidates, shift, &map);
        for frame in self.copies.merge(copies, shift, &map) {
            self.count_copy(&frame.observation, &frame.sights, &frame.notes, frame.costs);
        }
        Ok(self)
    }

    /// Brings the state into the one form that equal streams share: nothing half-done is left in caches.
    pub fn settle(&mut self) {
        self.flush();
        self.rates.flush();
        self.fragments.sweep(&mut self.sizes);
        self.sizes.settle();
    }

    /// Which limits were hit, one sentence each.
    pub(crate) fn degraded(&self) -> Vec<String> {
        let mut why = self.tables.refusals();
        why.extend(self.sizes.refusals());
        why.extend(self.rates.degraded());
        if self.notices.refused > 0 {
            why.push(format!("{} ICMP or IKE notices beyond the limit were not kept", self.notices.refused));
        }
        if self.fragments.refused > 0 {
            why.push(format!("{} fragments beyond the limit on groups were not put together", self.fragments.refused));
        }
        if self.copies.dropped > 0 {
            why.push(format!("{} frames found no room in the window that recognises copies", self.copies.dropped));
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

impl CaptureSpan {
    fn append(&mut self, later: Self) {
        let Self { frames, times } = later;
        self.frames += frames;
        self.times = match (self.times, times) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (own, theirs) => own.or(theirs),
        };
    }
}

impl Span {
    #[inline]
    fn count(&mut self, frame: &Frame<'_>) {
        let capture = frame.pos.capture() as usize;
        if capture >= self.captures.len() {
            self.captures.resize(capture + 1, CaptureSpan::default());
        }
        if let Some(span) = self.captures.get_mut(capture) {
            span.frames += 1;
            if frame.time != Timestamp::UNKNOWN {
                span.times = Some(match span.times {
                    Some((earliest, latest)) => (earliest.min(frame.time), latest.max(frame.time)),
                    None => (frame.time, frame.time),
                });
            }
        }
    }

    #[inline]
    fn time(&mut self, o: &Observation) {
        if o.time == Timestamp::UNKNOWN {
            return;
        }
        if let Some(last) = self.last
            && let Some(step) = stepped_back(last, o.time)
        {
            self.backward.add(o.pos, o.time);
            self.backward_most_ns = self.backward_most_ns.max(step);
        }
        self.first.get_or_insert((o.pos, o.time));
        self.last = Some(o.time);
    }

    /// Whether a frame of this time comes no earlier than the one before it.
    #[inline]
    pub(super) fn admits(&self, time: Timestamp) -> bool {
        time != Timestamp::UNKNOWN && self.last.is_some_and(|last| time >= last)
    }

    /// Takes in a time that [`Span::admits`].
    #[inline]
    pub(super) fn pass(&mut self, time: Timestamp) {
        self.last = Some(time);
    }

    fn merge(&mut self, later: Self) -> Shift {
        let Self { captures, continues, first, last, backward, backward_most_ns } = later;
        let own = self.captures.len() as u32;
        let shift = if continues && own > 0 {
            Shift { captures: own - 1, frames: self.captures.last().map_or(0, |c| c.frames) }
        } else {
            Shift { captures: own, frames: 0 }
        };
        if own == 0 {
            self.continues = continues;
        }
        let mut more = captures.into_iter();
        if continues && let Some(open) = self.captures.last_mut() {
            open.append(more.next().unwrap_or_default());
        }
        self.captures.extend(more);
        let first = first.map(|(pos, time)| (pos.shifted(shift), time));
        if let (Some(before), Some((pos, after))) = (self.last, first)
            && let Some(step) = stepped_back(before, after)
        {
            self.backward.add(pos, after);
            self.backward_most_ns = self.backward_most_ns.max(step);
        }
        self.backward.merge(backward, shift);
        self.backward_most_ns = self.backward_most_ns.max(backward_most_ns);
        self.first = self.first.or(first);
        self.last = last.or(self.last);
        shift
    }
}

impl Totals {
    #[inline]
    fn observe(&mut self, o: &Observation) {
        let sums = &mut self.sums;
        sums.frames += 1;
        sums.captured_bytes += u64::from(o.captured_bytes);
        sums.wire_bytes += u64::from(o.wire_bytes);
        sums.l1_bytes += o.l1_bytes();
        sums.ip_frames += u64::from(o.class.ip);
        sums.ipsec_frames += u64::from(o.class.ipsec);
        sums.control_frames += u64::from(o.class.control);
        sums.fragments += u64::from(o.class.fragment);
        if o.class.cut_by_snaplen {
            self.snaplen.add(o.pos, o.time);
        }
        if o.class.offloaded {
            self.offloaded.add(o.pos, o.time);
        }
        if o.class.undissected {
            self.undissected.add(o.pos, o.time);
        }
        if o.stack != NONE {
            let at = o.stack as usize;
            if at >= self.stacks.len() {
                self.stacks.resize(at + 1, (0, 0));
            }
            if let Some((frames, bytes)) = self.stacks.get_mut(at) {
                *frames += 1;
                *bytes += u64::from(o.wire_bytes);
            }
        }
    }

    /// Adds IP frames with ESP of one stack.
    pub(super) fn add_many(&mut self, seen: &Seen, sums: &Sums, stack: u32, cut: bool) {
        self.sums.add(sums);
        if cut {
            self.snaplen.join(seen);
        }
        if let Some((frames, bytes)) = self.stacks.get_mut(stack as usize) {
            *frames += sums.frames;
            *bytes += sums.wire_bytes;
        }
    }

    fn merge(&mut self, later: Self, shift: Shift, map: &Remap) {
        let Self { sums, stacks, snaplen, offloaded, undissected } = later;
        self.sums.add(&sums);
        for ((frames, bytes), &id) in stacks.into_iter().zip(&map.stacks) {
            if id == NONE {
                continue;
            }
            let at = id as usize;
            if at >= self.stacks.len() {
                self.stacks.resize(at + 1, (0, 0));
            }
            if let Some(own) = self.stacks.get_mut(at) {
                own.0 += frames;
                own.1 += bytes;
            }
        }
        self.snaplen.merge(snaplen, shift);
        self.offloaded.merge(offloaded, shift);
        self.undissected.merge(undissected, shift);
    }
}

impl Sums {
    fn add(&mut self, later: &Self) {
        let Self { frames, captured_bytes, wire_bytes, l1_bytes, ip_frames, ipsec_frames, control_frames, fragments } =
            *later;
        self.frames += frames;
        self.captured_bytes += captured_bytes;
        self.wire_bytes += wire_bytes;
        self.l1_bytes += l1_bytes;
        self.ip_frames += ip_frames;
        self.ipsec_frames += ipsec_frames;
        self.control_frames += control_frames;
        self.fragments += fragments;
    }
}

/// A state as it is written; caches are left out.
#[derive(Serialize, Deserialize)]
struct Written<'p> {
    settings: Cow<'p, Settings>,
    span: Cow<'p, Span>,
    tables: Cow<'p, Tables>,
    totals: Cow<'p, Totals>,
    sas: Cow<'p, Sas>,
    sizes: Cow<'p, Sizes>,
    rates: Cow<'p, Rates>,
    padding: Cow<'p, EthernetPadding>,
    copies: Cow<'p, CopyWindow>,
    notices: Cow<'p, Notices>,
    flows: Cow<'p, Flows>,
    fragments: Cow<'p, Fragments>,
    candidates: Cow<'p, Candidates>,
}

impl Serialize for Partial {
    /// The state should be settled.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Written {
            settings: Cow::Borrowed(&self.settings),
            span: Cow::Borrowed(&self.span),
            tables: Cow::Borrowed(&self.tables),
            totals: Cow::Borrowed(&self.totals),
            sas: Cow::Borrowed(&self.sas),
            sizes: Cow::Borrowed(&self.sizes),
            rates: Cow::Borrowed(&self.rates),
            padding: Cow::Borrowed(&self.padding),
            copies: Cow::Borrowed(&self.copies),
            notices: Cow::Borrowed(&self.notices),
            flows: Cow::Borrowed(&self.flows),
            fragments: Cow::Borrowed(&self.fragments),
            candidates: Cow::Borrowed(&self.candidates),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Partial {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let w = Written::deserialize(deserializer)?;
        let empty = Self::new(&w.settings);
        let read = Self {
            span: w.span.into_owned(),
            tables: w.tables.into_owned(),
            totals: w.totals.into_owned(),
            sas: w.sas.into_owned(),
            sizes: w.sizes.into_owned(),
            rates: w.rates.into_owned(),
            padding: w.padding.into_owned(),
            copies: w.copies.into_owned(),
            notices: w.notices.into_owned(),
            flows: w.flows.into_owned(),
            fragments: w.fragments.into_owned(),
            candidates: w.candidates.into_owned(),
            ..empty.clone()
        };
        // Merging into an empty state gives tables and maps their room back, and changes nothing else.
        let mut whole = empty.merge(read).map_err(serde::de::Error::custom)?;
        whole.settle();
        Ok(whole)
    }
}
