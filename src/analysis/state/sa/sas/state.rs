//! What is known of one SA besides its sizes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::AhTail;
use crate::analysis::limits::FIRST_LISTED;
use crate::analysis::observe::observation::{Observation, SaSight};
use crate::analysis::state::base::direction_set::DirectionSet;
use crate::analysis::state::base::listed::{At, Firsts, Listed};
use crate::analysis::state::base::rare::Rare;
use crate::analysis::state::base::seen::Seen;
use crate::analysis::state::base::steps::Steps;
use crate::analysis::state::sa::keyed::Keyed;
use crate::analysis::state::sa::null::{NullCandidate, NullVotes};
use crate::analysis::state::sa::opaque::OpaqueEvidence;
use crate::analysis::state::sa::sequence::SequenceState;
use crate::analysis::state::sa::sequence::steps::most;
use crate::dissect::NullSupport;
use crate::model::report::SaMode;
use crate::model::{Encapsulation, Shift, Timestamp};

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

/// Sums over frames recognised as TAP copies: part of the sums beside them.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Copies {
    pub(crate) frames: u64,
    pub(crate) outer_bytes: u64,
    pub(crate) l1_bytes: u64,
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

    pub(super) fn support(&mut self, support: &NullSupport, at: At) {
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
    pub(super) fn listed(&self, level: u32) -> u64 {
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

    pub(super) fn truncate_lists(&mut self, level: u32) {
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
