//! The mergeable state of a span of frames of one stream.

mod memory;

use serde::{Deserialize, Deserializer, Serialize};

use super::base::span::interfaces::Interfaces;
use super::base::span::{CaptureSpan, Span};
use super::base::tables::Tables;
use super::sa::bins::SaBins;
use super::sa::candidates::Candidates;
use super::sa::sas::Sas;
use super::sa::sequence::steps::most;
use super::sa::sizes::Sizes;
use super::sound;
use super::traffic::copies::{CopyWindow, HeadFrame};
use super::traffic::flows::Flows;
use super::traffic::fragments::{Fragment, Fragments};
use super::traffic::notices::Notices;
use super::traffic::padding::EthernetPadding;
use super::traffic::rates::Rates;
use super::traffic::totals::Totals;
use crate::analysis::limits::{
    CLOCK_TOLERANCE_NS, FIRST_LISTED, LOOK_EVERY, MAX_SA_BINS, MAX_TOTAL_LISTED, MAX_UDP_CANDIDATES,
};
use crate::analysis::observe::observation::{Observation, SaSight};
use crate::analysis::settings::Settings;
use crate::capture::Frame;
use crate::dissect::{Costs, LayerKind, Note};
use crate::keys::Sight;
use crate::model::{Encapsulation, all_bits};

/// Declares what a state is made of, besides its settings. A new accumulator is a line here, one in [`StreamState::merge`] and one where
/// the observer hands it a frame: the empty state, the file and the comparison follow.
macro_rules! made_of {
    ($($part:ident: $kind:ty,)*) => {
        /// What an analysis knows of a span of frames of one stream, in capture order: made by an [`Observer`](crate::analysis::Observer).
        ///
        /// `state(a ++ b) == state(a).merge(state(b))` for every way of cutting a stream in two: the law that threads, rotated files and
        /// partial states of many machines rest on. Figures are computed from it in `finish`, never kept in it.
        #[derive(Clone, Debug, Default, Serialize)]
        pub struct StreamState {
            #[serde(serialize_with = "all_bits")]
            settings: Settings,
            $(pub(crate) $part: $kind,)*
            #[serde(skip)]
            upkeep: Upkeep,
        }

        /// A state as a file has it, of which nothing is known yet.
        #[derive(Deserialize)]
        struct Unchecked {
            settings: Settings,
            $($part: $kind,)*
        }

        impl Unchecked {
            fn into_state(self) -> StreamState {
                StreamState { upkeep: Upkeep::of(&self.settings), settings: self.settings, $($part: self.$part,)* }
            }
        }

        impl StreamState {
            /// The empty state: the identity of [`StreamState::merge`].
            #[must_use]
            pub fn new(settings: &Settings) -> Self {
                Self {
                    settings: settings.clone(),
                    upkeep: Upkeep::of(settings),
                    rates: Rates::new(settings.bin_ns),
                    sa_bins: SaBins::new(settings.bin_ns),
                    candidates: Candidates::new(settings.bin_ns),
                    ..Self::default()
                }
            }

            /// Which part of two settled states differs, `None` where they are equal.
            #[must_use]
            pub fn difference(&self, other: &Self) -> Option<&'static str> {
                if self.settings.difference(&other.settings).is_some() {
                    return Some("settings");
                }
                $(if self.$part != other.$part {
                    return Some(stringify!($part));
                })*
                None
            }
        }
    };
}

made_of! {
    span: Span,
    interfaces: Interfaces,
    tables: Tables,
    totals: Totals,
    sas: Sas,
    sa_bins: SaBins,
    sizes: Sizes,
    rates: Rates,
    padding: EthernetPadding,
    copies: CopyWindow,
    notices: Notices,
    flows: Flows,
    fragments: Fragments,
    candidates: Candidates,
}

/// Lists that are halved so often have one frame.
const MOST_HALVED: u32 = 10;

/// When the memory is looked at, and how much there may be; no part of what is known of the stream.
#[derive(Clone, Debug, Default)]
struct Upkeep {
    /// Frames and SAs until it is looked at again.
    look_in: usize,
    /// Octets of memory that the state may take.
    room: u64,
}

impl Upkeep {
    fn of(settings: &Settings) -> Self {
        Self { look_in: LOOK_EVERY, room: settings.memory_limit }
    }
}

/// Why two states cannot be merged.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// They were made with different settings.
    #[error("the states were made with different settings: {0}; make one of them again. Nothing was merged.")]
    Settings(String),
}

impl StreamState {
    /// The settings the state was made with.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Claims more packets in tunnel mode than support that an SA is ESP-NULL.
    #[cfg(test)]
    pub(crate) fn claim_tunnel_mode(&mut self, sa: u32, packets: u64) {
        if let Some(state) = self.sas.state_mut(sa) {
            state.null.values_mut().for_each(|votes| votes.tunnel = packets);
        }
    }

    /// The captures of the span, in the order that positions count them.
    #[must_use]
    pub fn captures(&self) -> &[CaptureSpan] {
        &self.span.captures
    }

    /// Takes in a packet that was observed, with what was seen of its SAs.
    #[inline]
    pub(in crate::analysis) fn take(&mut self, o: &Observation, packet: &Sight<'_>, sights: &[SaSight]) {
        let Sight { frame: Frame { data, .. }, stack, checks, .. } = *packet;
        for sight in sights {
            let is_suspect = |key| self.settings.expectation.is_suspect(key);
            // Only all datagrams together tell whether they are ESP.
            if sight.encapsulation == Encapsulation::Udp || self.tables.sas.get(sight.sa).is_some_and(is_suspect) {
                self.sas.list(sight.sa, o);
            }
        }
        self.span.time(o);
        self.interfaces.observe(&packet.frame, o.direction);
        self.totals.observe(o);
        let first_sighting = self.sas.observe(o, sights, &stack.notes);
        self.sas.mark(o, sights, &self.copies);
        self.sas.observe_opaque(o, data, stack, sights);
        self.sas.observe_checks(o, stack, sights, checks);
        self.sa_bins.observe(o, sights);
        self.sizes.observe(o, sights, &stack.notes, stack.costs);
        self.rates.observe(o);
        self.padding.observe(o, stack, data);
        self.notices.observe(o, stack, self.settings.link_rate_bps);
        if let Some(again) = self.flows.observe(o, sights, &self.tables) {
            self.rates.count_again(&again);
        }
        if !stack.notes.is_empty() {
            self.candidates.observe(o, stack, data, &self.copies);
        }
        let copy = self.copies.observe(o, sights, &stack.notes, stack.costs, first_sighting);
        if copy {
            self.count_copy(o, sights, &stack.notes, stack.costs, true);
        }
        if o.class.fragment
            && let Some(outer) = stack.outer()
        {
            let ike = stack.layers.last().is_some_and(|layer| layer.kind == LayerKind::Ike);
            let suspect = stack.notes.iter().any(|note| matches!(note, Note::UdpCandidate { missing: 1.., .. }));
            let around = stack.sas.first().and_then(|sa| stack.ips.get(usize::from(sa.ip)));
            let carried = around.is_some_and(|ip| !ip.is_fragment());
            let (costs, peeks) = (stack.costs, &stack.peeks);
            let fragment = Fragment { outer, costs, sights, peeks, ike, suspect, carried, copy };
            self.fragments.observe(o, &fragment, &mut self.sizes);
        }
    }

    /// Counts a frame as a copy, or takes back that it is one.
    fn count_copy(&mut self, o: &Observation, sights: &[SaSight], notes: &[Note], costs: Costs, copy: bool) {
        self.sas.count_copy(o, sights, copy);
        self.sa_bins.count_copy(o, sights, copy);
        self.sizes.count_copy(o, sights, notes, costs, copy);
        self.rates.count_copy(o, copy);
        self.flows.count_copy(o, copy);
        if let Some(flow) = self.tables.flows.get(o.flow).filter(|_| !notes.is_empty()) {
            self.candidates.count_copy(o, notes, (flow.src, flow.dst), copy);
        }
    }

    /// Appends the state of the span that follows. What comes of several merges should be settled once.
    ///
    /// # Errors
    /// [`MergeError`] if the two do not belong together; nothing is merged then.
    pub fn merge(mut self, later: Self) -> Result<Self, MergeError> {
        if let Some(difference) = self.settings.difference(&later.settings) {
            return Err(MergeError::Settings(difference));
        }
        let Self {
            settings: _,
            span,
            interfaces,
            tables,
            totals,
            mut sas,
            sa_bins,
            sizes,
            rates,
            padding,
            copies,
            notices,
            flows,
            fragments,
            mut candidates,
            upkeep: _,
        } = later;
        let before = self.copies.archived();
        sas.look_up(&before);
        candidates.look_up(&before, &self.candidates);
        let more = sas.len();
        let shift = self.span.merge(span);
        let map = self.tables.absorb(&tables);
        self.interfaces.merge(interfaces, shift, &map.directions);
        self.totals.merge(totals, shift, &map);
        self.sas.merge(sas, shift, &map);
        self.sa_bins.merge(sa_bins, &map);
        self.sizes.merge(sizes, shift, &map);
        self.rates.merge(rates, shift, &map.directions);
        self.padding.merge(padding, shift, &map.directions);
        self.notices.merge(notices, shift, &map.directions, self.settings.link_rate_bps);
        for again in self.flows.merge(flows, shift, &map, &self.tables) {
            self.rates.count_again(&again);
        }
        self.candidates.merge(candidates, shift, &map);
        let recounted = self.copies.merge(copies, shift, &map);
        for HeadFrame { observation, sights, notes, costs, copy, .. } in &recounted {
            self.count_copy(observation, sights, notes, *costs, *copy);
        }
        self.fragments.merge(fragments, shift, &map, &recounted, &mut self.sizes);
        self.look_after(more);
        Ok(self)
    }

    /// Looks at the memory when there may be much more of it.
    #[inline]
    pub(in crate::analysis) fn look_after(&mut self, more: usize) {
        self.upkeep.look_in = self.upkeep.look_in.saturating_sub(more);
        if self.upkeep.look_in == 0 {
            self.bound();
        }
    }

    /// Keeps the state within its limits on sequence numbers and on memory.
    #[cold]
    fn bound(&mut self) {
        self.upkeep.look_in = LOOK_EVERY.max(self.sas.len());
        let intervals = self.sas.bound();
        self.bound_lists();
        if self.weight_with(intervals) > self.upkeep.room {
            self.close();
        }
    }

    /// Shortens lists of frames by SA, direction and flow, where all of them together list too much.
    fn bound_lists(&mut self) {
        let level = self.listed_level();
        if level > 0 {
            self.sas.truncate_lists(level);
            self.flows.truncate_lists(most(FIRST_LISTED, level));
            self.fragments.truncate_lists(most(FIRST_LISTED, level));
        }
    }

    /// How often the limit on frames of a list is halved until all lists fit. It follows from counts alone, so the order of frames and
    /// states does not matter.
    fn listed_level(&self) -> u32 {
        let listed = |level| {
            let most = most(FIRST_LISTED, level) as u64;
            self.sas.listed(level) + self.flows.listed(most) + self.fragments.listed(most)
        };
        (0..MOST_HALVED).find(|&level| listed(level) <= MAX_TOTAL_LISTED).unwrap_or(MOST_HALVED)
    }

    /// Brings the state into the one form that equal streams share, after merges.
    pub fn settle(&mut self) {
        // What is folded now lists frames too.
        self.fragments.sweep(&mut self.sizes);
        self.bound();
        self.tables.settle();
        self.sas.settle();
        self.sa_bins.settle();
        self.rates.flush();
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
        why.extend(self.sizes.refusals(self.tables.is_full()));
        why.extend(self.sas.degraded());
        why.extend(self.rates.degraded());
        if self.notices.refused > 0 {
            why.push(format!("{} ICMP or IKE notices beyond the limit were not kept", self.notices.refused));
        }
        if self.fragments.refused > 0 {
            why.push(format!("{} fragments beyond the limit on groups were not put together", self.fragments.refused));
        }
        if let Some(back) = self.fragments.stepped_back_ns() {
            why.push(format!(
                "fragments come up to {} ms before earlier ones, {} ms are followed: the clock stepped back, or interfaces were written \
                 in turns; packets around that may be called incomplete",
                back / 1_000_000,
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

impl PartialEq for StreamState {
    fn eq(&self, other: &Self) -> bool {
        self.difference(other).is_none()
    }
}

impl<'de> Deserialize<'de> for StreamState {
    /// Refuses what no capture makes.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = Unchecked::deserialize(deserializer)?.into_state();
        sound::check(&read).map_err(serde::de::Error::custom)?;
        let bins = read.sa_bins.is_sound(MAX_SA_BINS, &read.settings) && read.candidates.is_sound(&read.settings);
        if !read.rates.is_sound(&read.settings) || !bins {
            return Err(serde::de::Error::custom("its time bins are not those of its settings"));
        }
        // Merging into an empty state gives tables and maps their room back, and changes nothing else.
        let mut whole = Self::new(&read.settings).merge(read).map_err(serde::de::Error::custom)?;
        whole.settle();
        Ok(whole)
    }
}
