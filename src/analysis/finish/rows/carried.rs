//! What a direction carries: SAs by their ids, and the endpoints of SAs and tunnels.

use std::cmp::Reverse;

use crate::analysis::finish::tap::{SaView, Tap};
use crate::model::report::{DirectionRate, Name};

/// SAs of a direction that are listed.
const SAS: usize = 100;
/// Endpoints of a direction that are listed.
const ENDPOINTS: usize = 16;

/// States the SAs and endpoints of the direction with these numbers.
pub(super) fn state(row: &mut DirectionRate, tap: &Tap<'_>, ids: &[u32]) {
    // Which SAs travel in the 65th direction to appear and in later ones is not stated.
    let known = ids.iter().all(|id| *id < u64::BITS);
    let bits = ids.iter().filter(|id| **id < u64::BITS).fold(0, |bits, id| bits | 1_u64 << id);
    let mut sas: Vec<&SaView<'_>> = tap.sas.iter().filter(|sa| sa.state.directions.first() & bits != 0).collect();
    sas.sort_by_key(|sa| (Reverse(sa.state.seen.count), sa.key));
    row.sas = sas.iter().take(SAS).map(|sa| Name::clone(&sa.name)).collect();
    row.sas_total = known.then_some(sas.len() as u64);
    let of_sas = sas.iter().map(|sa| (sa.key.src, sa.key.dst));
    let paths = tap.stream.tables.paths.iter().map(|(_, path)| path).filter(|path| ids.contains(&path.direction));
    let of_paths = paths.filter_map(|path| tap.stream.tables.pairs.get(path.pair).copied());
    for (src, dst) in of_sas.chain(of_paths) {
        let ends = format!("{src} > {dst}");
        if row.endpoints.len() >= ENDPOINTS {
            break;
        }
        if !row.endpoints.contains(&ends) {
            row.endpoints.push(ends);
        }
    }
}
