//! Packets that are equal byte for byte and follow each other faster than their delays vary.

use std::collections::{BTreeMap, BTreeSet};

use super::ALIKE;
use crate::matching::order::delay::median;
use crate::matching::packets::ledger::{PairBasis, Tunnelled, TunnelledFate};
use crate::model::FramePos;

/// A pair by content: its SA, the key of its content, its times, whether its packets have equals, and its frame in the tunnel.
struct Own {
    group: (u32, u64),
    plain: i64,
    apart: i64,
    equal: bool,
    pos: FramePos,
}

fn own(packet: &Tunnelled) -> Option<Own> {
    let TunnelledFate::Paired(pairing) = packet.fate else { return None };
    if pairing.basis == PairBasis::Order || pairing.confidence < ALIKE {
        return None;
    }
    let (plain, tunnelled) = pairing.plain.time.ns().zip(packet.time.ns())?;
    let equal = pairing.confidence <= ALIKE;
    let group = (packet.sa, packet.identity?.key);
    Some(Own { group, plain, apart: tunnelled.saturating_sub(plain), equal, pos: packet.pos })
}

/// Frames in the tunnel whose packets have an equal so near that their times do not tell the two apart: nearer than delays vary.
pub(super) fn crowded(held: &[Tunnelled]) -> BTreeSet<FramePos> {
    /// Pairs without equals that tell how much delays vary, and by how many usual deviations they do.
    const PAIRS: usize = 16;
    const TIMES: i64 = 4;
    let mut delays: BTreeMap<u32, [Vec<i64>; 2]> = BTreeMap::new();
    let mut groups: BTreeMap<(u32, u64), Vec<(i64, FramePos)>> = BTreeMap::new();
    for own in held.iter().filter_map(own) {
        let [sure, equal] = delays.entry(own.group.0).or_default();
        (if own.equal { equal } else { sure }).push(own.apart);
        if own.equal {
            groups.entry(own.group).or_default().push((own.plain, own.pos));
        }
    }
    let varies = |of: &[Vec<i64>; 2]| {
        let [sure, equal] = of;
        let delays = if sure.len() < PAIRS { equal } else { sure };
        let middle = median(delays.clone())?;
        let apart = delays.iter().map(|own| own.saturating_sub(middle).saturating_abs()).collect();
        Some(median(apart)?.saturating_mul(TIMES))
    };
    let varies: BTreeMap<u32, i64> = delays.iter().filter_map(|(sa, own)| Some((*sa, varies(own)?))).collect();
    let mut crowded = BTreeSet::new();
    for ((sa, _), mut times) in groups {
        let Some(varies) = varies.get(&sa) else { continue };
        times.sort_unstable();
        for pair in times.windows(2) {
            if let [(first, a), (second, b)] = pair
                && second.saturating_sub(*first) < *varies
            {
                crowded.extend([*a, *b]);
            }
        }
    }
    crowded
}
