//! Pairs by order where the order of their direction is in doubt as a whole: each may be its neighbour, however well it fits.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use crate::matching::Matcher;
use crate::matching::order::shifts::Proof;
use crate::matching::packets::flows::FlowId;
use crate::matching::packets::ledger::{PairBasis, Pairing, Tunnelled, TunnelledFate};
use crate::matching::packets::numbers::Lately;

/// How sure such a pair is at most.
const IN_DOUBT: f32 = 0.9;
/// A pair that is less sure is a guess.
const GUESSED: f32 = 0.5;

/// What is left over of one lane among its pairs.
#[derive(Clone, Copy, Default, Debug)]
struct LeftOfLane {
    plain: u64,
    tunnelled: u64,
    /// Its pairs, and those that are guesses.
    pairs: u64,
    guesses: u64,
}

impl LeftOfLane {
    /// Guesses that say nothing of other pairs.
    const FEW: u64 = 4;

    /// Whether packets of both sides have no counterpart, more than strays: some of them may be each other.
    const fn is_crossed(self) -> bool {
        /// A number, and a share of the others as 1 in N.
        const FEW: u64 = 2;
        const OF: u64 = 10;
        let (fewer, more) =
            if self.plain < self.tunnelled { (self.plain, self.tunnelled) } else { (self.tunnelled, self.plain) };
        fewer > FEW && fewer * OF > more
    }

    /// Whether so many pairs are guesses that the others may be their neighbours, too.
    const fn is_guessed(self) -> bool {
        /// A share of the pairs as 1 in N.
        const OF: u64 = 16;
        self.guesses > Self::FEW && self.guesses * OF > self.pairs
    }

    /// Whether more than two thirds of the pairs are guesses: then so are the others, which only look better.
    const fn is_mostly_guessed(self) -> bool {
        self.guesses > Self::FEW && self.guesses * 3 > self.pairs * 2
    }
}

/// What is left over of both lanes among the packets that are held, and which lane the flows of their pairs are in.
#[derive(Default, Debug)]
pub(in crate::matching) struct LeftOfLanes {
    left: [LeftOfLane; 2],
    lanes: HashMap<FlowId, usize, FixedState>,
    /// Neighbours of one way are mostly of one flow.
    latest: [Option<FlowId>; 2],
    of_sa: Lately<u32, Option<usize>>,
}

impl LeftOfLanes {
    /// Takes in a packet that is held, whose confidence only its lane as a whole can lower. `lane_of`: the lane of an SA.
    #[inline]
    pub(in crate::matching) fn add(&mut self, packet: &Tunnelled, lane_of: impl Fn(u32) -> Option<usize>) {
        let Self { left, lanes, latest, of_sa } = self;
        let mut lane = || of_sa.of(packet.sa, || lane_of(packet.sa));
        match &packet.fate {
            TunnelledFate::Alone => {
                if let Some(own) = lane().and_then(|lane| left.get_mut(lane)) {
                    own.tunnelled += 1;
                }
            }
            TunnelledFate::Paired(pairing @ Pairing { plain, basis: PairBasis::Order, confidence, .. }) => {
                let Some(lane) = lane() else { return };
                let (Some(own), Some(latest)) = (left.get_mut(lane), latest.get_mut(lane)) else { return };
                own.pairs += 1;
                own.guesses += u64::from(*confidence < GUESSED);
                // What others overtook was left over of both sides.
                own.plain += u64::from(pairing.overtaken);
                own.tunnelled += u64::from(pairing.overtaken);
                if latest.replace(plain.flow) != Some(plain.flow) {
                    lanes.insert(plain.flow, lane);
                }
            }
            _ => {}
        }
    }
}

impl Matcher {
    /// Takes pairs by order for guesses that are all that was found of flows, while most packets without counterpart are of others, which go past the
    /// tunnel: chance may have made them.
    pub(in crate::matching) fn doubt_hardly_found(&self, held: &mut [Tunnelled]) {
        /// How sure such a pair is at most.
        const BY_CHANCE: f32 = 0.4;
        let flows = &self.ledger.flows;
        let (inside, past) = flows.iter().fold((0, 0), |(inside, past), (id, flow)| match flow.matched {
            0 => (inside, past + flow.unmatched),
            _ if flows.is_selected(id) => (inside + flow.unmatched, past),
            _ => (inside, past + flow.unmatched),
        });
        if past <= inside {
            return;
        }
        for packet in held {
            if let TunnelledFate::Paired(pairing) = &mut packet.fate
                && pairing.basis == PairBasis::Order
                && flows.get(pairing.plain.flow).is_hardly_found()
            {
                pairing.confidence = pairing.confidence.min(BY_CHANCE);
            }
        }
    }

    /// Lowers the confidence of pairs by order in lanes where many pairs fit as well when they are shifted, where packets of both sides are
    /// left over, or where times contradict each other.
    pub(in crate::matching) fn temper(&self, held: &mut [Tunnelled], over: LeftOfLanes, contradicted: bool) {
        let LeftOfLanes { mut left, lanes, .. } = over;
        if lanes.is_empty() {
            return;
        }
        for lost in self.ledger.lost.iter().filter(|lost| lost.hole.is_none() && lost.silence.is_none()) {
            if let Some(own) = lanes.get(&lost.flow).and_then(|lane| left.get_mut(*lane)) {
                own.plain += 1;
            }
        }
        // Which of the frames came first that share a timestamp, their order in the file does not tell.
        let shuffled = self.ledger.coarseness > 0 && self.plain.late + self.tunnel.late > 0;
        let most = |lane: usize| {
            let left = left.get(lane).copied().unwrap_or_default();
            let is_open = self.proofs.get(lane).is_some_and(Proof::is_open);
            let is_doubted = contradicted || is_open || shuffled || left.is_crossed() || left.is_guessed();
            if left.is_mostly_guessed() { Some(GUESSED) } else { is_doubted.then_some(IN_DOUBT) }
        };
        let most = [0, 1].map(most);
        if most == [None; 2] {
            return;
        }
        for packet in held {
            if let TunnelledFate::Paired(pairing) = &mut packet.fate
                && pairing.basis == PairBasis::Order
                && let Some(most) = self.order.lane(packet.sa).and_then(|lane| *most.get(lane)?)
            {
                pairing.confidence = pairing.confidence.min(most);
            }
        }
    }
}
