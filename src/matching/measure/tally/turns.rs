//! Which SA the packets of a flow go through, over time: a rekeying replaces it, and several may share the load.

use std::collections::{BTreeSet, HashMap};

use foldhash::fast::FixedState;

use super::Tally;
use crate::matching::packets::flows::FlowId;
use crate::matching::packets::ledger::Lost;

/// Turns of one flow that are remembered.
const MOST: usize = 4_096;

/// From one SA to another, by flow.
#[derive(Debug, Default)]
pub(in crate::matching) struct Turns {
    of: HashMap<FlowId, FlowTurns, FixedState>,
    /// The latest pair: its flow and its time at the plain tap.
    pub(super) latest: Option<(FlowId, Option<i64>)>,
}

/// The SAs of one flow.
#[derive(Debug, Default)]
struct FlowTurns {
    turns: Vec<Turn>,
    sas: BTreeSet<u32>,
}

/// An SA that packets of a flow go through for a while.
#[derive(Clone, Copy, Debug)]
struct Turn {
    sa: u32,
    /// Times of its first pair and of the last one that is known, at the plain tap.
    from: i64,
    until: i64,
}

impl Turns {
    /// A packet of a flow went through an SA.
    pub(in crate::matching) fn note(&mut self, flow: FlowId, ns: Option<i64>, sa: u32) {
        if let Some((before, until)) = self.latest {
            self.until(before, until);
        }
        let own = self.of.entry(flow).or_default();
        if own.turns.last().is_none_or(|latest| latest.sa != sa) && own.turns.len() < MOST {
            let from = ns.unwrap_or(i64::MIN);
            own.turns.push(Turn { sa, from, until: from });
        }
        own.sas.insert(sa);
    }

    /// The latest pair of a flow so far.
    fn until(&mut self, flow: FlowId, ns: Option<i64>) {
        if let (Some(own), Some(ns)) = (self.of.get_mut(&flow).and_then(|own| own.turns.last_mut()), ns) {
            own.until = own.until.max(ns);
        }
    }

    /// The two SAs of which packets of a time may be, as they lie between the last pair of the one and the first of the other.
    pub(in crate::matching) fn between(&self, flow: FlowId, ns: Option<i64>) -> Option<[u32; 2]> {
        let (own, ns) = self.of.get(&flow).zip(ns)?;
        let next = own.turns.partition_point(|turn| turn.from <= ns);
        let latest = own.turns.get(next.checked_sub(1)?).filter(|latest| latest.until < ns)?;
        Some([latest.sa, own.turns.get(next)?.sa])
    }

    /// The SA that packets of a flow went through at a time.
    pub(in crate::matching) fn at(&self, flow: FlowId, ns: Option<i64>) -> Option<u32> {
        let turns = &self.of.get(&flow)?.turns;
        let latest = ns.and_then(|ns| turns.iter().rev().find(|turn| turn.from <= ns));
        latest.or(turns.first()).map(|turn| turn.sa)
    }

    /// The SAs of a flow that goes through several.
    pub(in crate::matching) fn several(&self, flow: FlowId) -> Option<&BTreeSet<u32>> {
        self.of.get(&flow).map(|own| &own.sas).filter(|sas| sas.len() > 1)
    }

    /// Whether the packets of a flow go through several SAs at a time: more turns than a rekeying makes.
    pub(in crate::matching) fn is_mixed(&self, flow: FlowId) -> bool {
        /// Turns for each SA: packets overtake each other.
        const OF: usize = 4;
        self.of.get(&flow).is_some_and(|own| own.sas.len() > 1 && own.turns.len() > OF * own.sas.len())
    }
}

impl Tally {
    /// The SA that a lost packet would have gone through: a hole in the numbers says it, or what its flow went through at the time.
    pub(in crate::matching) fn sa_of(&self, lost: &Lost) -> Option<u32> {
        lost.hole.map(|(sa, _)| sa).or_else(|| self.turns.at(lost.flow, lost.time.ns()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rekeying_is_one_turn_and_shared_load_many() {
        let mut turns = Turns::default();
        (0..10).for_each(|at| turns.note(1, Some(at), u32::from(at >= 5)));
        assert_eq!([Some(-1), Some(4), Some(5), Some(90), None].map(|ns| turns.at(1, ns)), [0, 0, 1, 1, 0].map(Some));
        assert!(turns.several(1).is_some() && !turns.is_mixed(1));
        turns.until(1, Some(9));
        assert_eq!(
            [Some(0), Some(3), Some(5), Some(11)].map(|ns| turns.between(1, ns)),
            [None, Some([0, 1]), None, None]
        );
        (0..30).for_each(|at| turns.note(2, Some(at), at as u32 % 2));
        assert!(turns.is_mixed(2));
        turns.note(3, None, 7);
        assert_eq!((turns.several(3), turns.at(3, None), turns.at(4, None)), (None, Some(7), None));
    }
}
