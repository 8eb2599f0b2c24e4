//! UDP flows on unusual ports that may carry ESP.
//!
//! Whether a flow does is decided in the end: sixteen small positive steps of what would be the sequence number, or an
//! endpoint that spoke IKE on that port.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use std::hash::Hash;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::limits::MAX_UDP_CANDIDATES;
use super::observation::{Mode, Observation, SaSight};
use super::sas::SaState;
use super::sizes::{Cells, OpaqueKey};
use super::tables::Remap;
use crate::dissect::{Note, Stack};
use crate::model::{Address, Encapsulation, Protocol, Shift, Spi};

/// Steps that make a flow an SA.
pub(crate) const STEPS: u64 = 16;
/// The largest step that counts as small.
const SMALL: u32 = 64;

/// Candidate flows of a span.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Candidates {
    flows: HashMap<FlowKey, Candidate, RandomState>,
    /// Packets of flows beyond the limit.
    pub(crate) refused: u64,
}

/// A UDP flow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct FlowKey {
    pub(crate) src: Address,
    pub(crate) dst: Address,
    pub(crate) ports: (u16, u16),
}

/// What a candidate flow would be as an SA.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Candidate {
    pub(crate) spi: Spi,
    first: u32,
    last: u32,
    pub(crate) steps: u64,
    /// More than one first word was seen: no SA, or more than one; nothing further is kept.
    pub(crate) mixed: bool,
    pub(crate) state: Option<Box<SaState>>,
    pub(crate) sizes: Cells<OpaqueKey>,
}

impl Candidates {
    #[inline]
    pub(crate) fn observe(&mut self, o: &Observation, stack: &Stack) {
        for note in &stack.notes {
            if let Note::UdpCandidate { spi, sequence, ports, bytes, .. } = *note
                && let Some(ip) = stack.outer()
            {
                let key = FlowKey { src: ip.src, dst: ip.dst, ports };
                self.add(key, spi, sequence, bytes, o, ip.total_bytes);
            }
        }
    }

    fn add(&mut self, key: FlowKey, spi: Spi, sequence: u32, bytes: u32, o: &Observation, outer_bytes: u32) {
        if self.flows.len() >= MAX_UDP_CANDIDATES && !self.flows.contains_key(&key) {
            self.refused += 1;
            return;
        }
        let candidate = self.flows.entry(key).or_insert_with(|| Candidate {
            spi,
            first: sequence,
            last: sequence,
            steps: 0,
            mixed: false,
            state: Some(Box::default()),
            sizes: Cells::default(),
        });
        if candidate.mixed {
            return;
        }
        if candidate.spi != spi {
            candidate.give_up();
            return;
        }
        let Some(state) = &mut candidate.state else { return };
        if state.seen.count > 0 {
            candidate.steps += small_step(candidate.last, sequence);
        }
        candidate.last = sequence;
        let sight = SaSight {
            sa: 0,
            protocol: Protocol::Esp,
            sequence: Some(sequence),
            bytes,
            outer_bytes,
            encapsulation: Encapsulation::Udp,
            mode: Mode::Unknown,
            opaque: true,
            null_checked: false,
            ah_tail: None,
            added: None,
        };
        state.observe(o, &sight, o.l1_bytes());
        candidate.sizes.add(OpaqueKey { sa: 0, outer_bytes, fragments: 1 }, o);
    }

    /// Flows that turned out to be ESP, in the order of their keys.
    pub(crate) fn accepted(&self, speaks_ike: impl Fn(Address, u16) -> bool) -> Vec<(FlowKey, &Candidate)> {
        let mut accepted: Vec<_> = self
            .flows
            .iter()
            .filter(|(key, c)| {
                let ike = speaks_ike(key.src, key.ports.0) || speaks_ike(key.dst, key.ports.1);
                !c.mixed && (c.steps >= STEPS || ike)
            })
            .map(|(key, c)| (*key, c))
            .collect();
        accepted.sort_unstable_by_key(|(key, _)| *key);
        accepted
    }

    pub(crate) fn merge(&mut self, later: Self, shift: Shift, map: &Remap) {
        // In order of first appearance, so that the limit admits the same flows as in one pass.
        let Self { flows, refused } = later;
        self.refused += refused;
        let mut flows: Vec<_> = flows.into_iter().collect();
        flows.sort_by_key(|(key, c)| (c.state.as_ref().and_then(|s| s.seen.ends()).map(|e| e.first), *key));
        for (key, theirs) in flows {
            if self.flows.len() >= MAX_UDP_CANDIDATES && !self.flows.contains_key(&key) {
                // Of a flow that is no SA only that there was one is known.
                self.refused += theirs.state.map_or(0, |state| state.seen.count).max(1);
                continue;
            }
            match self.flows.entry(key) {
                hashbrown::hash_map::Entry::Vacant(slot) => {
                    let mut moved = Candidate { sizes: Cells::default(), state: Some(Box::default()), ..theirs.bare() };
                    moved.take_in(theirs, shift, map);
                    slot.insert(moved);
                }
                hashbrown::hash_map::Entry::Occupied(mut slot) => {
                    let own = slot.get_mut();
                    if own.mixed || theirs.mixed || own.spi != theirs.spi {
                        own.give_up();
                    } else {
                        own.steps += small_step(own.last, theirs.first);
                        own.take_in(theirs, shift, map);
                    }
                }
            }
        }
    }
}

impl Candidate {
    fn give_up(&mut self) {
        self.mixed = true;
        self.state = None;
        self.sizes = Cells::default();
        self.steps = 0;
        self.last = 0;
        self.first = 0;
        self.spi = Spi(0);
    }

    fn bare(&self) -> Self {
        Self {
            spi: self.spi,
            first: self.first,
            last: self.last,
            steps: 0,
            mixed: self.mixed,
            state: None,
            sizes: Cells::default(),
        }
    }

    fn take_in(&mut self, later: Self, shift: Shift, map: &Remap) {
        if later.mixed {
            self.give_up();
            return;
        }
        self.steps += later.steps;
        self.last = later.last;
        if let (Some(own), Some(theirs)) = (&mut self.state, later.state) {
            own.merge(*theirs, shift, &map.directions);
        }
        self.sizes.merge(later.sizes, shift, |k| k);
    }
}

fn small_step(before: u32, after: u32) -> u64 {
    u64::from((1..=SMALL).contains(&after.wrapping_sub(before)))
}

impl Serialize for Candidates {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut flows: Vec<_> = self.flows.iter().collect();
        flows.sort_unstable_by_key(|(key, _)| **key);
        (flows, self.refused).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Candidates {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (flows, refused) = <(Vec<(FlowKey, Candidate)>, u64)>::deserialize(deserializer)?;
        Ok(Self { flows: flows.into_iter().collect(), refused })
    }
}
