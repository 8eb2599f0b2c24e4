//! Who the packets in tunnels are sent to, where the packet inside can be seen.

use std::collections::{BTreeMap, HashSet};

use foldhash::fast::FixedState;

use super::Flows;
use crate::matching::limits::MAX_FLOWS;
use crate::matching::packets::numbers::Numbers;
use crate::model::Address;

/// Packets of each SA by the receiver of the packet inside.
#[derive(Debug, Default)]
pub(in crate::matching) struct Receivers {
    numbers: Numbers<(u32, Address)>,
    counts: Vec<(u32, Address, u64)>,
}

impl Receivers {
    /// A packet in the tunnel is for `receiver`.
    #[inline]
    pub(in crate::matching) fn see(&mut self, sa: u32, receiver: Address) {
        let key = (sa, receiver);
        let at = match self.numbers.get(key) {
            Some(at) => at,
            None if self.counts.len() < MAX_FLOWS => {
                let at = self.counts.len() as u32;
                self.numbers.insert(key, at);
                self.counts.push((sa, receiver, 0));
                at
            }
            None => return,
        };
        if let Some((.., count)) = self.counts.get_mut(at as usize) {
            *count += 1;
        }
    }

    /// By SA, packets for hosts of which the plain tap shows nothing, neither to them nor from them.
    pub(in crate::matching) fn unseen(&self, flows: &Flows) -> BTreeMap<u32, u64> {
        let mut unseen = BTreeMap::new();
        // Where not all flows are told apart, it may show them.
        if self.counts.is_empty() || flows.refused > 0 {
            return unseen;
        }
        let keys = flows.iter().filter_map(|(id, _)| flows.key(id));
        let shown: HashSet<Address, FixedState> = keys.flat_map(|key| [key.src, key.dst]).collect();
        for (sa, _, count) in self.counts.iter().filter(|(_, receiver, _)| !shown.contains(receiver)) {
            *unseen.entry(*sa).or_default() += count;
        }
        unseen
    }
}
