//! Which plaintext traffic goes through the tunnel, as far as pairing has shown.

pub(in crate::matching) mod services;

use super::numbers::Numbers;
use super::reach::Reach;
use crate::matching::limits::MAX_FLOWS;
use crate::model::{Address, FramePos};

/// Source, destination and protocol.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(in crate::matching) struct FlowKey {
    pub(in crate::matching) src: Address,
    pub(in crate::matching) dst: Address,
    pub(in crate::matching) protocol: u8,
}

/// Number of a flow. Those beyond the limit share number 0.
pub(in crate::matching) type FlowId = u32;

/// What pairing says of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::matching) enum Class {
    /// Nothing yet.
    Unknown,
    /// Its packets go through the tunnel.
    Selected,
    /// They do not.
    Outside,
}

/// Counts of one flow.
#[derive(Clone, Copy, Default, Debug)]
pub(in crate::matching) struct Flow {
    /// Packets that were found in the tunnel.
    pub(in crate::matching) matched: u64,
    /// Packets that were not.
    pub(in crate::matching) unmatched: u64,
    /// Those of them that ICMP errors say were too big.
    pub(in crate::matching) refused: u64,
    /// Whether all of them are, and others between its addresses go through the tunnel.
    pub(in crate::matching) adopted: bool,
    /// Packets that repeat one seen shortly before: copies of a TAP, or sent again at once.
    pub(in crate::matching) repeated: u64,
    /// Packets that were seen beside the tunnel, in clear.
    pub(in crate::matching) clear: u64,
    /// Packets that are under IPsec on the plain side.
    pub(in crate::matching) hidden: u64,
    /// The first packet that was not found.
    pub(in crate::matching) first: Option<FramePos>,
    /// Packets from before the tunnel's capture began or after it ended.
    pub(in crate::matching) uncovered: u64,
    /// A first look found most of its packets in the tunnel.
    pub(in crate::matching) hinted: bool,
    /// A first look found few of its packets in the tunnel.
    pub(in crate::matching) stray: bool,
    /// Packets of a direction that could not be paired, because there is more than one way to do it.
    pub(in crate::matching) aside: u64,
    /// Packets taken for others outside the tunnel, beside which one in the tunnel without counterpart fits.
    pub(in crate::matching) fitting: u64,
    /// Differences of the timestamps of its pairs.
    pub(in crate::matching) reach: Reach,
}

impl Flow {
    /// Packets whose absence says something of where the flow goes: a gateway refuses packets of the tunnel, too.
    const fn absent(&self) -> u64 {
        self.unmatched.saturating_sub(self.refused)
    }

    /// All of its packets.
    pub(in crate::matching) const fn packets(&self) -> u64 {
        self.matched + self.unmatched + self.clear + self.aside + self.uncovered
    }

    /// Whether hardly any of its packets was found, and a wrong pair may be all that was.
    pub(in crate::matching) const fn is_hardly_found(&self) -> bool {
        const MISSED: u64 = 3;
        self.unmatched >= MISSED && self.unmatched >= self.matched * MISSED
    }

    /// Whether most of its packets were in ESP, AH or the like before the gateway, so that they are not compared by order.
    pub(in crate::matching) const fn is_hidden(&self) -> bool {
        self.hidden * 2 > self.packets()
    }

    /// Whether all that is known of a flow is that its packets were too big.
    pub(in crate::matching) const fn is_refused(&self) -> bool {
        self.refused > 0 && self.absent() == 0 && self.matched == 0 && self.clear == 0 && self.aside == 0
    }

    /// Whether its packets may be among the `unexplained` packets of the tunnel: those of SAs that were not found on the plain side.
    /// Never where a tenth of the flow was found in the tunnel or seen in clear beside it, nor where it has more than twice as many packets;
    /// always where nothing is known of the tunnel ([`u64::MAX`]).
    pub(in crate::matching) const fn may_be_in(&self, unexplained: u64) -> bool {
        let is_known = self.matched * 10 > self.unmatched || self.clear > 0;
        unexplained == u64::MAX || (!is_known && self.unmatched / 2 < unexplained)
    }
}

/// All flows.
#[derive(Debug)]
pub(in crate::matching) struct Flows {
    numbers: Numbers<FlowKey>,
    flows: Vec<Flow>,
    keys: Vec<Option<FlowKey>>,
    /// Packets of flows beyond the limit.
    pub(in crate::matching) refused: u64,
}

impl Default for Flows {
    fn default() -> Self {
        Self { numbers: Numbers::default(), flows: vec![Flow::default()], keys: vec![None], refused: 0 }
    }
}

impl Flows {
    /// Number of the flow.
    pub(in crate::matching) fn number(&mut self, key: FlowKey) -> FlowId {
        if let Some(id) = self.numbers.get(key) {
            return id;
        }
        if self.flows.len() > MAX_FLOWS {
            self.refused += 1;
            return 0;
        }
        let id = self.flows.len() as FlowId;
        self.flows.push(Flow::default());
        self.keys.push(Some(key));
        self.numbers.insert(key, id);
        id
    }

    /// Number of a flow that was seen before.
    pub(in crate::matching) fn known(&mut self, key: FlowKey) -> Option<FlowId> {
        self.numbers.get(key)
    }

    /// What the number stands for; `None` for the shared one.
    pub(in crate::matching) fn key(&self, id: FlowId) -> Option<FlowKey> {
        self.keys.get(id as usize).copied().flatten()
    }

    /// All flows.
    pub(in crate::matching) fn iter(&self) -> impl Iterator<Item = (FlowId, Flow)> + '_ {
        self.flows.iter().enumerate().map(|(id, flow)| (id as FlowId, *flow))
    }

    pub(in crate::matching) fn get(&self, id: FlowId) -> Flow {
        self.flows.get(id as usize).copied().unwrap_or_default()
    }

    pub(in crate::matching) fn get_mut(&mut self, id: FlowId) -> Option<&mut Flow> {
        self.flows.get_mut(id as usize)
    }

    /// Takes in what a first look says of each flow: how many packets could be in the tunnel, and how many are.
    pub(in crate::matching) fn first_look(&mut self, flows: &[(FlowId, u32, u32)]) {
        /// Packets that say something about a flow.
        const ENOUGH: u32 = 3;
        for (flow, all, found) in flows {
            if let Some(flow) = self.get_mut(*flow) {
                flow.hinted |= *found >= ENOUGH && found * 2 >= *all;
                flow.stray |= *all >= 2 * ENOUGH && found * 4 < *all;
            }
        }
    }

    /// What is known of a flow so far.
    pub(in crate::matching) fn class(&self, id: FlowId) -> Class {
        /// Packets without counterpart that make a flow one outside, and the same of a flow that a first look found inside.
        const ENOUGH: u64 = 6;
        const AGAINST_HINT: u64 = 64;
        let Some(flow) = self.flows.get(id as usize) else { return Class::Unknown };
        let all = flow.matched + flow.absent();
        let enough = if flow.hinted && flow.matched == 0 { AGAINST_HINT } else { ENOUGH };
        if flow.matched * 4 >= all && (flow.matched >= 3 || flow.hinted) {
            Class::Selected
        } else if flow.stray || flow.clear > flow.matched || (all >= enough && flow.matched * 10 < all) {
            Class::Outside
        } else {
            Class::Unknown
        }
    }

    /// Packets of a flow of which is not known whether they are in the tunnel.
    pub(in crate::matching) fn aside(&self, id: FlowId) -> u64 {
        let flow = self.get(id);
        if flow.aside > 0 && !self.is_selected(id) { flow.aside + flow.unmatched } else { flow.aside }
    }

    /// Whether its packets should have been in the tunnel, judged at the end.
    pub(in crate::matching) fn is_selected(&self, id: FlowId) -> bool {
        let flow = self.get(id);
        let is_found = flow.matched > 0 && flow.matched * 10 >= flow.matched + flow.absent();
        (is_found || flow.adopted) && flow.clear <= flow.matched
    }

    /// Whether few of its packets were found in the tunnel, but these for sure, or most fit packets of the tunnel that were not found: it is neither
    /// outside nor known to be lost.
    pub(in crate::matching) fn is_sparse(&self, id: FlowId) -> bool {
        /// Pairs that are no chance.
        const ENOUGH: u64 = 3;
        let flow = self.get(id);
        let is_found = flow.reach.sure() >= ENOUGH && flow.reach.sure() * 2 > flow.matched;
        let is_fitting = flow.fitting >= ENOUGH && flow.fitting * 2 >= flow.unmatched;
        !self.is_selected(id) && flow.clear <= flow.matched && (is_found || is_fitting)
    }
}
