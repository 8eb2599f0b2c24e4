//! What is known of each SA besides its sequence numbers and sizes.

use serde::{Deserialize, Serialize};

use std::collections::BTreeMap;

use super::keyed::Keyed;
use super::null::{NullCandidate, NullVotes};
use super::opaque::OpaqueEvidence;
use super::sequence::SequenceState;
use super::sequence::steps::most;
use crate::analysis::limits::{FIRST_KEPT, FIRST_LISTED, INTERVAL_BYTES, MAX_TOTAL_INTERVALS, SA_BYTES, WAY_BYTES};
use crate::analysis::observe::observation::{Observation, SaSight};
use crate::analysis::state::base::direction_set::DirectionSet;
use crate::analysis::state::base::intern::NONE;
use crate::analysis::state::base::listed::{At, Firsts, Listed};
use crate::analysis::state::base::rare::Rare;
use crate::analysis::state::base::seen::Seen;
use crate::analysis::state::base::steps::Steps;
use crate::analysis::state::base::tables::Remap;
use crate::dissect::{Note, NullSupport};
use crate::model::report::SaMode;
use crate::model::{Encapsulation, FramePos, Shift, Timestamp};

/// State of all SAs of a span, indexed by SA number.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Sas {
    states: Vec<SaState>,
    /// How many of the newest intervals of each run are kept, where all SAs together had too many.
    kept: Option<u32>,
}

/// State of one SA.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct SaState {
    pub(crate) seen: Seen,
    pub(crate) outer_bytes: u64,
    pub(crate) l1_bytes: u64,
    pub(crate) copies: Rare<Copies>,
    pub(crate) sequence: SequenceState,
    /// Frames per encapsulation, in the order of [`Encapsulation`].
    pub(crate) encapsulations: [u64; 4],
    pub(crate) tunnel: u64,
    pub(crate) transport: u64,
    /// Frames whose inner packet is hidden.
    pub(crate) opaque: u64,
    pub(crate) directions: DirectionSet,
    /// AH: frames per header length.
    pub(crate) ah_lengths: BTreeMap<u32, u64>,
    pub(crate) ah_tail: Rare<AhTail>,
    pub(crate) bad_length: Option<Box<Listed>>,
    /// The first frames of an SA that is wrong as such.
    pub(crate) firsts: Option<Box<Firsts>>,
    /// Frames whose AH ends in four octets that may be padding and are not zero.
    pub(crate) unclean: Option<Box<Listed>>,
    /// Evidence for ESP-NULL, by candidate.
    pub(crate) null: BTreeMap<NullCandidate, NullVotes>,
    /// Frames checked against the candidates.
    pub(crate) null_checked: u64,
    /// Evidence about the transform of an opaque SA.
    pub(crate) evidence: OpaqueEvidence,
    /// How the numbers of its packets in UDP follow each other.
    pub(crate) steps: Rare<Steps>,
    /// What came of its packets, where it has keys.
    pub(crate) keyed: Option<Box<Keyed>>,
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

/// Sums over frames recognised as TAP copies: part of the sums beside them.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Copies {
    pub(crate) frames: u64,
    pub(crate) outer_bytes: u64,
    pub(crate) l1_bytes: u64,
}

/// The last four octets of AH ICV fields that may hold padding, frame after frame.
///
/// A MAC's octets change from packet to packet, padding does not: the evidence is equal neighbours. A frame with the number of the one
/// before it is the same packet again, and says nothing.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct AhTail {
    pub(crate) frames: u64,
    pub(crate) zero: u64,
    pub(crate) equal_neighbours: u64,
    /// Of the first and the last frame: sequence number and octets.
    first: Option<(Option<u32>, u32)>,
    last: Option<(Option<u32>, u32)>,
}

impl AhTail {
    fn add(&mut self, sequence: Option<u32>, tail: u32) {
        let own = (sequence, tail);
        if sequence.is_some() && self.last == Some(own) {
            return;
        }
        self.frames += 1;
        self.zero += u64::from(tail == 0);
        self.equal_neighbours += u64::from(self.last.is_some_and(|last| last.1 == tail));
        self.first = self.first.or(Some(own));
        self.last = Some(own);
    }

    fn merge(&mut self, later: Self) {
        let Self { mut frames, mut zero, equal_neighbours, first, last } = later;
        let mut border = 0;
        if let (Some(own), Some(first)) = (self.last, first) {
            if first.0.is_some() && own == first {
                frames = frames.saturating_sub(1);
                zero = zero.saturating_sub(u64::from(first.1 == 0));
            } else {
                border = u64::from(own.1 == first.1);
            }
        }
        self.frames += frames;
        self.zero += zero;
        self.equal_neighbours += equal_neighbours + border;
        self.first = self.first.or(first);
        self.last = last.or(self.last);
    }

    /// Whether the four octets are padding: several are zero, or equal to those of the neighbour, or all are zero.
    /// A 32-bit part of a MAC is so with a chance of 2^-32.
    fn is_padding(&self) -> bool {
        /// Fewer such frames are chance, and so is a smaller share of all frames, as 1 in N.
        const LEAST: u64 = 2;
        const RARE: u64 = 1 << 16;
        let often = |frames: u64| frames >= LEAST && frames.saturating_mul(RARE) >= self.frames;
        self.frames > 0 && (self.zero == self.frames || often(self.zero) || often(self.equal_neighbours))
    }
}

impl SaState {
    /// The last octets of its AH ICV fields, where they are padding. No algorithm makes an ICV of 28 or 36 octets.
    pub(crate) fn ah_padding(&self) -> Option<AhTail> {
        const UNKNOWN: [u32; 2] = [12 + 28, 12 + 36];
        let tail = self.ah_tail.get();
        let is_unknown = tail.frames > 0 && self.ah_lengths.keys().all(|length| UNKNOWN.contains(length));
        Some(tail).filter(|tail| tail.is_padding() || is_unknown)
    }

    /// Takes in a frame; true if its sequence number was not seen before.
    #[inline]
    pub(crate) fn observe(&mut self, o: &Observation, sight: &SaSight, l1_bytes: u64) -> bool {
        self.seen.add(o.pos, o.time);
        self.outer_bytes += u64::from(sight.outer_bytes);
        self.l1_bytes += l1_bytes;
        let first_sighting = sight.sequence.is_some_and(|sequence| self.sequence.observe(sequence, o.pos, o.time));
        let slot = match sight.encapsulation {
            Encapsulation::Native => 0,
            Encapsulation::Udp => 1,
            Encapsulation::Tcp => 2,
            Encapsulation::Wesp => 3,
        };
        if let Some(count) = self.encapsulations.get_mut(slot) {
            *count += 1;
        }
        if let (Encapsulation::Udp, Some(sequence)) = (sight.encapsulation, sight.sequence) {
            self.steps.edit().add(sequence);
        }
        match sight.mode {
            SaMode::Tunnel => self.tunnel += 1,
            SaMode::Transport => self.transport += 1,
            SaMode::Unknown => {}
        }
        self.opaque += u64::from(sight.opaque);
        self.directions.add(o.direction);
        match sight.protocol {
            crate::model::Protocol::Ah => {
                *self.ah_lengths.entry(sight.bytes).or_default() += 1;
                if let Some(tail) = sight.ah_tail {
                    self.ah_tail.edit().add(sight.sequence, tail);
                    if tail != 0 {
                        self.unclean.get_or_insert_default().add(o.pos, o.time);
                    }
                }
            }
            crate::model::Protocol::Esp => self.null_checked += u64::from(sight.null_checked),
            crate::model::Protocol::IpComp => {}
        }
        first_sighting
    }

    /// Takes in a frame recognised as a copy, which `observe` has counted.
    /// Or, where it was one and is none, takes it back.
    pub(crate) fn count_copy(&mut self, o: &Observation, sight: &SaSight, copy: bool) {
        let Copies { frames, outer_bytes, l1_bytes } = self.copies.edit();
        for (own, one) in [(frames, 1), (outer_bytes, u64::from(sight.outer_bytes)), (l1_bytes, o.l1_bytes())] {
            *own = if copy { *own + one } else { own.saturating_sub(one) };
        }
    }

    fn support(&mut self, support: &NullSupport, at: At) {
        let candidate = NullCandidate { icv_bytes: support.icv_bytes, iv_bytes: support.iv_bytes };
        self.null.entry(candidate).or_default().add(support, at);
    }

    pub(crate) fn merge(&mut self, later: Self, shift: Shift, directions: &[u32]) {
        let Self {
            seen,
            outer_bytes,
            l1_bytes,
            copies,
            sequence,
            encapsulations,
            tunnel,
            transport,
            opaque,
            directions: theirs,
            ah_lengths,
            ah_tail,
            bad_length,
            firsts,
            unclean,
            null,
            null_checked,
            evidence,
            steps,
            keyed,
        } = later;
        self.merge_lists(firsts, bad_length, unclean, shift);
        self.seen.merge(seen, shift);
        self.outer_bytes += outer_bytes;
        self.l1_bytes += l1_bytes;
        self.copies.merge(copies, |own, later| {
            let Copies { frames, outer_bytes, l1_bytes } = later;
            own.frames += frames;
            own.outer_bytes += outer_bytes;
            own.l1_bytes += l1_bytes;
        });
        self.sequence.merge(sequence, shift);
        for (own, more) in self.encapsulations.iter_mut().zip(encapsulations) {
            *own += more;
        }
        self.tunnel += tunnel;
        self.transport += transport;
        self.opaque += opaque;
        self.directions.merge(theirs, directions);
        for (length, count) in ah_lengths {
            *self.ah_lengths.entry(length).or_default() += count;
        }
        self.ah_tail.merge(ah_tail, AhTail::merge);
        for (candidate, votes) in null {
            self.null.entry(candidate).or_default().merge(votes, shift);
        }
        self.null_checked += null_checked;
        self.evidence.merge(evidence);
        self.steps.merge(steps, Steps::merge);
        if let Some(later) = keyed {
            self.keyed.get_or_insert_default().merge(*later, shift);
        }
    }

    pub(crate) fn first_time(&self) -> Timestamp {
        self.seen.ends().map_or(Timestamp::UNKNOWN, |e| e.first_time)
    }

    pub(crate) fn last_time(&self) -> Timestamp {
        self.seen.ends().map_or(Timestamp::UNKNOWN, |e| e.last_time)
    }
}

/// A list that almost no SA has.
type RareList = Option<Box<Listed>>;

impl SaState {
    /// Appends the lists of frames of a later span, before its frames are added to the SA's own.
    fn merge_lists(&mut self, firsts: Option<Box<Firsts>>, bad_length: RareList, unclean: RareList, shift: Shift) {
        if let Some(firsts) = firsts {
            self.firsts.get_or_insert_default().append(self.seen.count, *firsts, shift);
        }
        for (own, later) in [(&mut self.bad_length, bad_length), (&mut self.unclean, unclean)] {
            if let Some(later) = later {
                own.get_or_insert_default().merge(*later, shift);
            }
        }
    }

    /// Frames and steps that are listed where at most one in 2^`level` of the usual number may be.
    fn listed(&self, level: u32) -> u64 {
        let frames = [
            self.bad_lengths(),
            self.unclean.as_ref().map_or(0, |listed| listed.count),
            self.firsts.as_ref().map_or(0, |_| self.seen.count),
            self.keyed.as_ref().map_or(0, |keyed| keyed.failed.count),
        ];
        let most = most(FIRST_LISTED, level) as u64;
        let of_null = self.null.values().map(|votes| votes.trailers.listed(most)).sum::<u64>();
        let of_keyed = self.keyed.as_ref().map_or(0, |keyed| keyed.trailers.listed(most));
        self.sequence.listed(level) + frames.iter().map(|count| count.min(&most)).sum::<u64>() + of_null + of_keyed
    }

    fn truncate_lists(&mut self, level: u32) {
        let most = most(FIRST_LISTED, level);
        self.sequence.truncate_lists(level);
        for listed in [&mut self.bad_length, &mut self.unclean].into_iter().flatten() {
            listed.truncate(most);
        }
        if let Some(firsts) = &mut self.firsts {
            firsts.truncate(most);
        }
        if let Some(keyed) = &mut self.keyed {
            keyed.failed.truncate(most);
            keyed.trailers.truncate(most);
        }
        self.null.values_mut().for_each(|votes| votes.trailers.truncate(most));
    }

    /// Frames with an impossible length.
    pub(crate) fn bad_lengths(&self) -> u64 {
        self.bad_length.as_ref().map_or(0, |listed| listed.count)
    }

    /// All of its frames, with the first ones where those are listed.
    pub(crate) fn listed_packets(&self) -> Listed {
        self.firsts
            .as_deref()
            .map_or_else(|| Listed::of(self.seen, &Firsts::default()), |own| Listed::of(self.seen, own))
    }

    /// Whether all frames of the SA so far are listed and the next one would be.
    pub(crate) fn wants_listing(&self) -> bool {
        self.firsts.as_ref().is_some_and(|firsts| firsts.wants(self.seen.count))
    }
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
