//! Packets that a device changes on their way: they are not lost, and which became which is not known.

use std::collections::{BTreeSet, HashSet};

use foldhash::fast::FixedState;

use super::association::{Clocks, FrameRow, MISSING};
use super::finish::Found;
use super::limits::STALL_FRAMES;
use super::read::Taps;
use super::read::flows::FlowKey;

/// Why a trial is not used of which the last tap shows something else in the place of what is missing: fragments, or packets of the same lengths
/// of which one address is another.
pub(super) fn changed(taps: &Taps, clocks: &Clocks, row: &FrameRow, found: &Found) -> Option<String> {
    let (first, last) = (row.first()?, row.last().filter(|last| !taps.is_tunnel(*last))?);
    let (from, to) = (found.stretch.from, found.stretch.to);
    let each = || {
        let (flows, sizes, outs) = (row.flow.get(from..to), row.size.get(from..to), row.out.get(from..to));
        let packets = flows.into_iter().flatten().zip(sizes.into_iter().flatten()).zip(outs.into_iter().flatten());
        packets.map(|((flow, size), out)| ((*flow, *size), *out))
    };
    // A device changes all packets of a flow, or all that are too long: of a kind of which some come out as they are, the others are lost.
    let same: BTreeSet<(u16, u16)> = each().filter(|(_, out)| *out != MISSING).map(|(kind, _)| kind).collect();
    let gone: Vec<(u16, u16)> =
        each().filter(|(kind, out)| *out == MISSING && !same.contains(kind)).map(|(kind, _)| kind).collect();
    if gone.len() < STALL_FRAMES {
        return None;
    }
    let missing: BTreeSet<u16> = gone.iter().map(|(_, size)| *size).collect();
    let sent = gone.iter().filter_map(|(flow, _)| Some(taps.flows.all.get(usize::from(*flow))?.key));
    let sent: HashSet<FlowKey, FixedState> = sent.collect();
    let (mut pieces, mut translated) = (0_usize, 0_usize);
    for own in &taps.place(last).plain.records {
        let is_new = |at: usize| {
            taps.flows.all.get(at).filter(|flow| flow.at.get(first as usize).is_none_or(|at| at.packets == 0))
        };
        let Some(flow) = is_new(usize::from(own.stream)) else { continue };
        if !(found.begin..found.following).contains(&clocks.map(last, own.t)) {
            continue;
        }
        if sent.iter().any(|key| is_piece_of(&flow.key, key)) {
            pieces += 1;
        } else if missing.contains(&own.detail.size) && sent.iter().any(|key| is_translated(&flow.key, key)) {
            translated += 1;
        }
    }
    let why = match () {
        () if pieces * 2 >= gone.len() => {
            "What leaves between its addresses is in fragments: they are not put together, and which packets came out is not known."
        }
        () if translated * 2 >= gone.len() => {
            "Packets of the lengths that are missing leave with another address: a device that translates addresses changes them, and which became \
             which is not known."
        }
        () => return None,
    };
    Some(why.to_owned())
}

/// Whether these are later fragments between the same addresses: they have no ports.
fn is_piece_of(own: &FlowKey, sent: &FlowKey) -> bool {
    own.ports == (0, 0)
        && sent.ports != (0, 0)
        && (own.src, own.dst, own.protocol) == (sent.src, sent.dst, sent.protocol)
}

/// Whether one of the addresses alone is another.
fn is_translated(own: &FlowKey, sent: &FlowKey) -> bool {
    own.protocol == sent.protocol && (own.src == sent.src) != (own.dst == sent.dst)
}
