//! What is known of each SA besides its sequence numbers and sizes.

mod ah_tail;
mod state;

use serde::{Deserialize, Serialize};

pub(crate) use self::ah_tail::AhTail;
pub(crate) use self::state::{Copies, SaState};
use crate::analysis::limits::{FIRST_KEPT, INTERVAL_BYTES, MAX_TOTAL_INTERVALS, SA_BYTES, WAY_BYTES};
use crate::analysis::observe::observation::{Observation, SaSight};
use crate::analysis::state::base::intern::NONE;
use crate::analysis::state::base::listed::At;
use crate::analysis::state::base::seen::Seen;
use crate::analysis::state::base::tables::Remap;
use crate::analysis::state::traffic::copies::CopyWindow;
use crate::analysis::state::traffic::copies::archive::Archive;
use crate::dissect::Note;
use crate::model::report::SaMode;
use crate::model::{FramePos, Shift, Timestamp};

/// State of all SAs of a span, indexed by SA number.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Sas {
    states: Vec<SaState>,
    /// How many of the newest intervals of each run are kept, where all SAs together had too many.
    kept: Option<u32>,
}

/// Frames of opaque ESP, number after number, from the one behind the last that was seen on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flowing {
    pub(crate) seen: Seen,
    /// The last of them, and its number.
    pub(crate) last: (FramePos, Timestamp),
    pub(crate) number: u32,
    pub(crate) outer_bytes: u64,
    pub(crate) l1_bytes: u64,
    pub(crate) in_udp: bool,
    pub(crate) null_checked: bool,
}

impl Sas {
    /// The state of SA number `id`, made if it is new; `None` for [`NONE`].
    #[inline]
    pub(crate) fn state_mut(&mut self, id: u32) -> Option<&mut SaState> {
        if id == NONE {
            return None;
        }
        let at = id as usize;
        if at >= self.states.len() {
            self.states.resize_with(at + 1, SaState::default);
        }
        self.states.get_mut(at)
    }

    /// Adds frames of an SA in flow.
    pub(crate) fn add_many(&mut self, id: u32, flowing: &Flowing) {
        let Some(state) = self.state_mut(id) else { return };
        let Flowing { seen, last, number, outer_bytes, l1_bytes, in_udp, null_checked } = flowing;
        state.seen.join(seen);
        state.sequence.extend(seen.count, last.0, last.1);
        state.outer_bytes += outer_bytes;
        state.l1_bytes += l1_bytes;
        let [native, udp, ..] = &mut state.encapsulations;
        *(if *in_udp { udp } else { native }) += seen.count;
        if *in_udp {
            state.steps.edit().go_on(seen.count, *number);
        }
        state.opaque += seen.count;
        if *null_checked {
            state.null_checked += seen.count;
        }
    }

    /// Adds frames of AH that were seen as `sight`; [`Sas::go_on`] adds their numbers.
    pub(crate) fn add_shown(&mut self, sight: &SaSight, seen: &Seen, l1_bytes: u64) {
        let Some(state) = self.state_mut(sight.sa) else { return };
        state.seen.join(seen);
        state.outer_bytes += seen.count * u64::from(sight.outer_bytes);
        state.l1_bytes += l1_bytes;
        let [native, ..] = &mut state.encapsulations;
        *native += seen.count;
        match sight.mode {
            SaMode::Tunnel => state.tunnel += seen.count,
            SaMode::Transport => state.transport += seen.count,
            SaMode::Unknown => {}
        }
        *state.ah_lengths.entry(sight.bytes).or_default() += seen.count;
    }

    /// Adds the numbers of frames of an SA that goes on from its last one to the frame `last`.
    pub(crate) fn go_on(&mut self, id: u32, frames: u64, last: At) {
        if let Some(state) = self.state_mut(id) {
            state.sequence.extend(frames, last.0, last.1);
        }
    }

    pub(crate) fn get(&self, id: u32) -> Option<&SaState> {
        self.states.get(id as usize)
    }

    pub(crate) fn is_exact(&self) -> bool {
        self.kept.is_none() && self.states.iter().all(|state| state.sequence.is_exact())
    }

    pub(crate) fn len(&self) -> usize {
        self.states.len()
    }

    /// Reduces intervals of sequence numbers to counters where all SAs together have too many; how many there are then.
    pub(crate) fn bound(&mut self) -> usize {
        let mut intervals = self.keep_newest();
        while intervals > MAX_TOTAL_INTERVALS && self.kept != Some(1) {
            self.kept = Some(self.kept.map_or(FIRST_KEPT, |kept| (kept / 2).max(1)));
            intervals = self.keep_newest();
        }
        intervals
    }

    /// Intervals of sequence numbers that are held.
    pub(crate) fn intervals(&self) -> usize {
        self.states.iter().map(|state| state.sequence.intervals()).sum()
    }

    fn keep_newest(&mut self) -> usize {
        let kept = self.kept.map(|kept| kept as usize);
        let mut intervals = 0;
        for state in &mut self.states {
            if let Some(kept) = kept {
                state.sequence.keep_newest(kept);
            }
            intervals += state.sequence.intervals();
        }
        intervals
    }

    /// What was reduced to counters for lack of room.
    pub(crate) fn degraded(&self) -> Option<String> {
        let kept = self.kept?;
        let beyond: u64 = self.states.iter().map(|state| state.sequence.beyond_horizon()).sum();
        Some(format!(
            "all SAs together have more than {MAX_TOTAL_INTERVALS} gaps and late packets: of each SA the newest {kept} intervals of \
             sequence numbers were kept and older ones summed; {beyond} frames came later than what was kept"
        ))
    }

    /// Octets of memory, about.
    pub(crate) fn weight(&self, intervals: usize) -> u64 {
        let ways: usize = self.states.iter().map(|state| state.directions.beyond()).sum();
        (self.states.len() * SA_BYTES + intervals * INTERVAL_BYTES + ways * WAY_BYTES) as u64
    }

    /// Lists a frame of an SA that is wrong as such, before it is counted: from the SA's first one on, as long as no other comes between. What
    /// comes behind another is not listed, so that lists of spans merge whichever of them has such frames.
    pub(crate) fn list(&mut self, id: u32, o: &Observation) {
        if let Some(state) = self.state_mut(id) {
            state.firsts.get_or_insert_default().add(state.seen.count, (o.pos, o.time));
        }
    }

    /// Frames and steps that all SAs list where the usual number is halved `level` times.
    pub(crate) fn listed(&self, level: u32) -> u64 {
        self.states.iter().map(|state| state.listed(level)).sum()
    }

    /// Shortens what SAs list.
    pub(crate) fn truncate_lists(&mut self, level: u32) {
        self.states.iter_mut().for_each(|state| state.truncate_lists(level));
    }

    /// Gives back the room that was taken for SAs that did not come.
    pub(crate) fn settle(&mut self) {
        self.states.shrink_to_fit();
    }

    /// Takes in a frame; true if a sequence number in it was not seen before, so that it cannot be a copy.
    #[inline]
    pub(crate) fn observe(&mut self, o: &Observation, sights: &[SaSight], notes: &[Note]) -> bool {
        let mut first_sighting = false;
        for (at, sight) in sights.iter().enumerate() {
            // Several messages of one SA in a segment share one frame's layer 1.
            let again = at > 0 && sights.iter().take(at).any(|earlier| earlier.sa == sight.sa);
            if let Some(state) = self.state_mut(sight.sa) {
                first_sighting |= state.observe(o, sight, if again { 0 } else { o.l1_bytes() });
            }
        }
        if !notes.is_empty() {
            self.take_note(o, sights, notes);
        }
        first_sighting
    }

    /// Marks a frame that was observed, where it begins a run of numbers or its number falls.
    #[inline]
    pub(in crate::analysis) fn mark(&mut self, o: &Observation, sights: &[SaSight], copies: &CopyWindow) {
        for sight in sights {
            if let Some(state) = self.state_mut(sight.sa) {
                state.sequence.mark(o.pos, |is_first| copies.mark(o, is_first));
            }
        }
    }

    /// Looks marked frames up in the span before.
    pub(crate) fn look_up(&mut self, before: &Archive) {
        self.states.iter_mut().for_each(|state| state.sequence.look_up(before));
    }

    fn take_note(&mut self, o: &Observation, sights: &[SaSight], notes: &[Note]) {
        for note in notes {
            match note {
                Note::Null { sa, support } => {
                    if let Some(state) = sights.get(usize::from(*sa)).and_then(|s| self.state_mut(s.sa)) {
                        state.support(support, (o.pos, o.time));
                    }
                }
                Note::AhLength { sa } | Note::EspLength { sa } => {
                    if let Some(state) = sights.get(usize::from(*sa)).and_then(|s| self.state_mut(s.sa)) {
                        state.bad_length.get_or_insert_default().add(o.pos, o.time);
                    }
                }
                _ => {}
            }
        }
    }

    pub(crate) fn count_copy(&mut self, o: &Observation, sights: &[SaSight], copy: bool) {
        for sight in sights {
            if let Some(state) = self.state_mut(sight.sa) {
                state.count_copy(o, sight, copy);
            }
        }
    }

    pub(crate) fn merge(&mut self, later: Self, shift: Shift, remap: &Remap) {
        let Self { states, kept } = later;
        self.kept = match (self.kept, kept) {
            (Some(own), Some(theirs)) => Some(own.min(theirs)),
            (own, theirs) => own.or(theirs),
        };
        for (state, &id) in states.into_iter().zip(&remap.sas) {
            if let Some(own) = self.state_mut(id) {
                own.merge(state, shift, &remap.directions);
            }
        }
    }
}
