//! ESP-NULL in fragments: the first fragment shows the inner packet's length, all of them that it fits.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::StreamState;
use crate::analysis::finish::tap::SaView;
use crate::analysis::state::base::intern::NONE;
use crate::analysis::state::sa::null::{NullCandidate, TrainVotes};
use crate::analysis::state::sa::sizes::{NullKey, Sizes, TrainKey};
use crate::analysis::state::traffic::fragment_sums::FragmentSums;
use crate::analysis::state::traffic::trains::flow_of_suspects;
use crate::dissect::NULL_LENGTH_BITS;

/// What became of fragmented packets, by SA number. Where it is not certain which fragments are one packet, their sizes are taken out.
pub(in crate::analysis::finish) fn certain(
    stream: &StreamState,
    sizes: &mut Cow<'_, Sizes>,
) -> BTreeMap<u32, FragmentSums> {
    let mut sums = stream.fragments.finish(sizes);
    let torn: BTreeSet<u32> = sums.iter_mut().filter_map(|(sa, sums)| sums.withdraw().then_some(*sa)).collect();
    if !torn.is_empty() {
        let sa_of = |path| stream.tables.paths.get(path).map_or(NONE, |path| path.sa);
        sizes.to_mut().withdraw(|sa| torn.contains(&sa), sa_of);
    }
    sums
}

/// The evidence of complete packets, by SA number.
pub(in crate::analysis::finish) fn votes(
    sums: &BTreeMap<u32, FragmentSums>,
    sizes: &Sizes,
) -> BTreeMap<u32, TrainVotes> {
    let mut votes: BTreeMap<u32, TrainVotes> = BTreeMap::new();
    for (key, cell) in sizes.trains.iter() {
        let packets = sums.get(&key.sa).map_or(0, |sums| sums.complete);
        let votes = votes.entry(key.sa).or_default();
        votes.packets = packets;
        if let Some(icv_bytes) = key.peek.icv_bytes(key.esp_bytes) {
            let candidate = NullCandidate { icv_bytes, iv_bytes: key.peek.iv_bytes };
            let (frames, bits) = votes.by.entry(candidate).or_default();
            *frames += cell.seen.count;
            *bits += cell.seen.count * u64::from(key.peek.bits + NULL_LENGTH_BITS);
        }
    }
    votes
}

/// Adds the packets of SAs that are ESP-NULL to the sizes.
pub(in crate::analysis::finish) fn add_sizes(sas: &mut [SaView<'_>], sizes: &mut Cow<'_, Sizes>) {
    if sizes.trains.iter().next().is_none() {
        return;
    }
    let places: BTreeMap<u32, usize> = sas.iter().enumerate().map(|(at, sa)| (sa.id, at)).collect();
    let mut found = Vec::new();
    for (key, cell) in sizes.trains.iter() {
        let Some(sa) = places.get(&key.sa).and_then(|&at| sas.get_mut(at)) else { continue };
        let Some(null) = sa.null.and_then(|(candidate, _)| null_key(key, candidate)) else { continue };
        found.push((null, *cell));
        if let Some(sums) = &mut sa.fragments {
            sums.unsized_packets = sums.unsized_packets.saturating_sub(cell.seen.count);
        }
    }
    let sizes = sizes.to_mut();
    for (key, cell) in &found {
        sizes.null.add_cell(*key, cell);
    }
}

/// Gives SAs on unusual UDP ports the later fragments of their packets. Where all packets came whole, their lengths are those that their first
/// fragments state.
pub(in crate::analysis::finish) fn add_later(
    sas: &mut [SaView<'_>],
    sums: &BTreeMap<u32, FragmentSums>,
    stream: &StreamState,
) {
    for (owner, own) in sums {
        let flow = flow_of_suspects(*owner).and_then(|flow| stream.tables.flows.get(flow));
        let Some(flow) = flow else { continue };
        let is_torn = |sa: &&mut SaView<'_>| sa.torn > 0 && (sa.key.src, sa.key.dst) == (flow.src, flow.dst);
        let mut torn: Vec<&mut SaView<'_>> = sas.iter_mut().filter(is_torn).collect();
        let packets: u64 = torn.iter().map(|sa| sa.torn).sum();
        let is_whole = own.complete == packets && own.incomplete + own.uncertain == 0;
        let mut own = own.clone();
        if is_whole {
            own.unsized_packets = 0;
            torn.iter_mut().for_each(|sa| sa.torn = 0);
        }
        if let Some(first) = torn.into_iter().next() {
            first.fragments = Some(Box::new(own));
        }
    }
}

/// The cell of a packet in an SA of this layout; `None` where its lengths do not fit.
fn null_key(key: &TrainKey, candidate: NullCandidate) -> Option<NullKey> {
    let TrainKey { sa, owner, costs, stack, direction, peek, outer_bytes, esp_bytes, fragments } = *key;
    let inner_bytes = u32::from(peek.inner_bytes);
    let least = 8 + u32::from(candidate.iv_bytes) + inner_bytes + 2 + u32::from(candidate.icv_bytes);
    (peek.iv_bytes == candidate.iv_bytes && least <= esp_bytes).then_some(NullKey {
        sa,
        owner,
        costs,
        stack,
        direction,
        candidate,
        tunnel: true,
        inner_bytes,
        outer_bytes,
        esp_bytes,
        pad_bytes: u16::MAX,
        fragments,
    })
}
