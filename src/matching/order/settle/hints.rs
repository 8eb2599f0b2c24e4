//! What a first look at a block tells of flows.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use crate::matching::order::align;
use crate::matching::order::lane::PlainItem;
use crate::matching::packets::flows::{Class, FlowId};
use crate::matching::packets::ledger::Ledger;

/// Takes note of flows that a first look finds in the tunnel; returns whether any of them is new.
pub(super) fn hint(ledger: &mut Ledger, plain: &[PlainItem], aligned: &align::Aligned) -> bool {
    /// Packets that make a flow known.
    const ENOUGH: u32 = 3;
    let last = aligned.iter().rev().find_map(|found| *found).map_or(0, |(at, _)| at + 1);
    let first = aligned.iter().find_map(|found| *found).map_or(0, |(at, _)| at);
    let mut counts: HashMap<FlowId, (u32, u32), FixedState> = HashMap::default();
    for item in plain.get(first..last).unwrap_or_default() {
        counts.entry(item.flow).or_default().0 += 1;
    }
    for (at, _) in aligned.iter().flatten() {
        if let Some(count) = plain.get(*at).and_then(|item| counts.get_mut(&item.flow)) {
            count.1 += 1;
        }
    }
    let mut news = false;
    for (flow, (all, found)) in counts {
        if found >= ENOUGH
            && found * 2 >= all
            && ledger.flows.class(flow) == Class::Unknown
            && let Some(flow) = ledger.flows.get_mut(flow)
        {
            flow.hinted = true;
            news = true;
        }
    }
    news
}
