//! What a direction carries inside its tunnels, in octets.

use std::collections::{BTreeMap, BTreeSet};

use super::Folded;
use crate::analysis::finish::hidden::is_more_than_stray;
use crate::analysis::finish::rows::sizes::null_cells;
use crate::analysis::finish::tap::{SaView, Tap};
use crate::analysis::state::base::intern::NONE;
use crate::analysis::state::sa::sizes::Cell;
use crate::model::Protocol;

/// Inner octets of every sized packet that was on the wire of the direction.
pub(super) fn goodput_bytes(tap: &Tap<'_>, direction: &Folded) -> u64 {
    let is_here =
        |path: u32| tap.stream.tables.paths.get(path).is_some_and(|path| direction.ids.contains(&path.direction));
    let octets = |inner_bytes: u32, cell: &Cell| u64::from(inner_bytes).saturating_mul(tap.counted(cell).0);
    let visible = tap.sizes.visible.iter().filter(|(key, _)| is_here(key.path));
    let decrypted = tap.sizes.decrypted.iter().filter(|(key, _)| is_here(key.path));
    // What ESP-NULL inside a tunnel of others carries has been counted with that tunnel's packet.
    let null = null_cells(tap).filter(|(key, _)| key.owner != NONE && direction.ids.contains(&key.direction));
    let visible = visible.map(|(key, cell)| octets(key.inner_bytes, cell));
    let decrypted = decrypted.map(|(key, cell)| octets(key.inner_bytes, cell));
    let null = null.map(|(key, cell)| octets(key.inner_bytes, cell));
    let all = visible.chain(decrypted).chain(null).fold(0, u64::saturating_add);
    all.saturating_sub(tap.decapsulated.surely_of(&direction.again).in_tunnels.inner_bytes)
}

/// Whether packets whose inside can be seen carry opaque ones: the packets of both are more than the frames. What is inside the inner
/// ones is in the inner octets of the outer ones already.
pub(super) fn shows_packets_twice(tap: &Tap<'_>, direction: &Folded) -> bool {
    let bits = direction.ids.iter().filter(|&&id| id < 64).fold(0, |bits, id| bits | 1u64 << id);
    let of_path = |path| tap.stream.tables.paths.get(path).is_some_and(|path| direction.ids.contains(&path.direction));
    let packets = |cell: &Cell| tap.counted(cell).0;
    let visible: u64 =
        tap.sizes.visible.iter().filter(|(key, _)| of_path(key.path)).map(|(_, cell)| packets(cell)).sum();
    let decrypted: u64 =
        tap.sizes.decrypted.iter().filter(|(key, _)| of_path(key.path)).map(|(_, cell)| packets(cell)).sum();
    let null: u64 = null_cells(tap)
        .filter(|(key, _)| key.owner != NONE && direction.ids.contains(&key.direction))
        .map(|(_, cell)| packets(cell))
        .sum();
    // Several messages of ESP share a segment of TCP.
    let one_a_frame = |sa: &&SaView<'_>| sa.key.protocol != Protocol::Ah && !sa.in_tcp();
    let opaque: u64 = tap
        .sas
        .iter()
        .filter(|sa| sa.state.directions.first() & bits != 0 && sa.is_opaque())
        .filter(one_a_frame)
        .map(|sa| sa.state.opaque.saturating_sub(if tap.copying { sa.state.copies.get().frames } else { 0 }))
        .sum();
    let again = tap.decapsulated.surely_of(&direction.again).in_tunnels.frames;
    let seen = visible.saturating_add(decrypted).saturating_add(null).saturating_sub(again);
    seen > 0 && opaque > 0 && seen.saturating_add(opaque) > direction.sums.frames
}

/// Octets of the longest packet, of IPv6 without the option for jumbograms (RFC 8200 section 3).
const LONGEST: u64 = 40 + 65_535;

/// Inner octets of a direction that packets do not show.
#[derive(Clone, Copy)]
pub(super) struct HiddenOctets {
    pub(super) least: u64,
    pub(super) most: u64,
    /// Whether policies state how all of them pad.
    pub(super) stated: bool,
}

/// Inner octets of the opaque SAs of the direction, and of packets without a size: these may carry nothing, or as much as a packet can. `None`
/// where an SA is unknown, or travels in another direction too.
pub(super) fn hidden_goodput(tap: &Tap<'_>, direction: &Folded) -> Option<HiddenOctets> {
    let bits = direction.ids.iter().filter(|&&id| id < 64).fold(0, |bits, id| bits | 1u64 << id);
    let here = || tap.sas.iter().filter(|sa| sa.state.directions.first() & bits != 0);
    let without_size: u64 = here().map(SaView::packets_without_size).sum();
    let opaque = here().filter(|sa| sa.is_opaque());
    // What AH hides is the ESP or IPComp inside, an SA of its own.
    let none = HiddenOctets { least: 0, most: without_size.saturating_mul(LONGEST), stated: true };
    opaque.filter(|sa| sa.key.protocol != Protocol::Ah).try_fold(none, |sum, sa| {
        let inferred = sa.inferred.as_ref().filter(|_| sa.state.directions.first() & !bits == 0)?;
        let (least, most) = inferred.goodput_bytes;
        Some(HiddenOctets {
            least: sum.least.saturating_add(least),
            most: sum.most.saturating_add(most),
            stated: sum.stated && inferred.stated,
        })
    })
}

/// SAs of ESP-NULL with packets of which the size inside is not known: in transport mode only the trailer tells it, and a snapshot length cuts
/// that off.
pub(in crate::analysis::finish) fn unsized_null(tap: &Tap<'_>) -> BTreeSet<u32> {
    let mut with_size: BTreeMap<u32, u64> = BTreeMap::new();
    for (key, cell) in null_cells(tap) {
        *with_size.entry(key.sa).or_default() += cell.seen.count;
    }
    let null = tap.sas.iter().filter(|sa| sa.null.is_some() && sa.id != NONE);
    let unsized_packets = |sa: &SaView<'_>| sa.state.opaque.saturating_sub(with_size.get(&sa.id).copied().unwrap_or(0));
    null.filter(|sa| is_more_than_stray(unsized_packets(sa), sa.state.opaque)).map(|sa| sa.id).collect()
}
