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
    /// Two flows, that of the latest pair first: packets go both ways, and neighbours of one way are mostly of one flow.
    latest: [Option<LatestFlow>; 2],
}

/// A flow that had a pair lately, and the SA of this pair.
#[derive(Clone, Copy, Debug)]
struct LatestFlow {
    flow: FlowId,
    sa: u32,
    /// Time of the pair at the plain tap.
    ns: Option<i64>,
    /// The latest time of the pairs after which another flow followed: its turn does not have it yet.
    until: Option<i64>,
}

impl LatestFlow {
    fn is(&self, flow: FlowId, sa: u32) -> bool {
        (self.flow, self.sa) == (flow, sa)
    }

    fn leave(&mut self) {
        self.until = self.until.max(self.ns);
    }
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
    /// A packet of a flow went through an SA; whether neither of the two latest flows did.
    #[inline]
    pub(in crate::matching) fn note(&mut self, flow: FlowId, ns: Option<i64>, sa: u32) -> bool {
        match &mut self.latest {
            [Some(latest), _] if latest.is(flow, sa) => latest.ns = ns,
            [Some(before), Some(own)] if own.is(flow, sa) => {
                before.leave();
                own.ns = ns;
                self.latest.swap(0, 1);
            }
            _ => {
                self.turn(LatestFlow { flow, sa, ns, until: None });
                return true;
            }
        }
        false
    }

    /// Takes in a flow that is none of the two latest, or goes through another SA than before.
    fn turn(&mut self, own: LatestFlow) {
        let [latest, other] = &mut self.latest;
        latest.iter_mut().for_each(LatestFlow::leave);
        let is_same = latest.is_some_and(|latest| latest.flow == own.flow);
        let (kept, gone) = if is_same { (*other, *latest) } else { (*latest, *other) };
        self.latest = [Some(own), kept];
        if let Some(gone) = gone {
            self.until(gone.flow, gone.until);
        }
        let flow = self.of.entry(own.flow).or_default();
        if flow.turns.last().is_none_or(|latest| latest.sa != own.sa) && flow.turns.len() < MOST {
            let from = own.ns.unwrap_or(i64::MIN);
            flow.turns.push(Turn { sa: own.sa, from, until: from });
        }
        flow.sas.insert(own.sa);
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
        (0..10).for_each(|at| assert_eq!(turns.note(1, Some(at), u32::from(at >= 5)), at % 5 == 0));
        assert_eq!([Some(-1), Some(4), Some(5), Some(90), None].map(|ns| turns.at(1, ns)), [0, 0, 1, 1, 0].map(Some));
        assert!(turns.several(1).is_some() && !turns.is_mixed(1));
        (0..30).for_each(|at| assert!(turns.note(2, Some(at), at as u32 % 2)));
        assert!(turns.is_mixed(2));
        turns.note(3, None, 7);
        assert_eq!((turns.several(3), turns.at(3, None), turns.at(4, None)), (None, Some(7), None));
    }

    /// Between the last pair of one SA and the first of the next one, a packet may be of either; another flow changes nothing.
    #[test]
    fn the_last_pair_of_a_turn_is_known_beside_another_flow() {
        let mut turns = Turns::default();
        for at in 0..5 {
            turns.note(1, Some(at), 0);
            assert_eq!(turns.note(2, Some(at), 9), at == 0);
        }
        turns.note(1, Some(8), 1);
        let between = [0, 4, 5, 7, 8].map(|ns| turns.between(1, Some(ns)));
        assert_eq!(between, [None, None, Some([0, 1]), Some([0, 1]), None]);
        assert_eq!(turns.between(2, Some(5)), None);
        // A third flow takes the place of the one that came first.
        assert!(turns.note(3, Some(9), 0) && turns.note(2, Some(9), 9) && !turns.note(3, Some(9), 0));
    }
}
