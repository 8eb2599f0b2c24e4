//! SAs of groups: one SPI and one counter for packets between many pairs of addresses.
//!
//! GroupSa encryption that preserves headers (GETVPN, RFC 6407) leaves each packet the addresses of its hosts. By pair of addresses, nearly all
//! numbers of such an SA are missing; together they are all there. So are those of an SA whose end moves to another address for a while
//! (MOBIKE, RFC 4555).

use std::collections::BTreeMap;

use super::tap::SaView;
use crate::analysis::StreamState;
use crate::analysis::state::base::interval::IntervalSet;
use crate::analysis::state::base::seen::Seen;
use crate::analysis::state::base::tables::DirectionKey;
use crate::model::{Address, Protocol, SaKey, Spi};

/// Fewer packets show no habit.
const FEWEST: u64 = 16;
/// Numbers that one pair of addresses misses and other pairs of the SPI show: from this many on it is no chance.
const FILLED: u64 = 4;
/// Pairs with one SPI that lose more than they show are one SA of several senders, from this number on.
const SEVERAL: usize = 4;
/// Loss of a group is counted where at most one number in eight is missing: with more, a receiver may be unknown.
const MISSING: u64 = 8;

/// Pairs of addresses with one SPI whose packets are numbered together.
pub(crate) struct GroupSa {
    /// One of the pairs.
    pub(crate) key: SaKey,
    pub(crate) pairs: usize,
    pub(crate) seen: Seen,
    /// What all of them together lost; `None` where several senders count on their own.
    pub(crate) counted: Option<GroupNumbers>,
}

/// The numbers of a group's sender.
#[derive(Clone, Copy)]
pub(crate) struct GroupNumbers {
    pub(crate) lost: u64,
    pub(crate) numbers: u64,
}

/// Finds groups, and takes the figures from their pairs that the common counter makes wrong.
pub(super) fn take(sas: &mut [SaView<'_>], stream: &StreamState) -> Vec<GroupSa> {
    let mut by_spi: BTreeMap<(Protocol, Spi), Vec<usize>> = BTreeMap::new();
    for (at, sa) in sas.iter().enumerate().filter(|(_, sa)| sa.sequence.is_some()) {
        by_spi.entry((sa.key.protocol, sa.key.spi)).or_default().push(at);
    }
    let mut groups = Vec::new();
    for places in by_spi.into_values().filter(|places| places.len() > 1) {
        for (members, counted) in senders(sas, &places, stream) {
            let Some(key) = members.first().and_then(|&at| sas.get(at)).map(|sa| sa.key) else { continue };
            let mut seen = Seen::default();
            for &at in &members {
                let Some(sa) = sas.get_mut(at) else { continue };
                seen.join(&sa.state.seen);
                (sa.sequence, sa.history, sa.grouped) = (None, None, true);
            }
            groups.push(GroupSa { key, pairs: members.len(), seen, counted });
        }
    }
    groups
}

/// The pairs of one SPI that are numbered together, with what they lost: all of them, those that travel one way, those from one MAC address, those
/// of one source or to one destination. What is left and loses as much as members do has senders that this tap does not tell apart.
fn senders(sas: &[SaView<'_>], places: &[usize], stream: &StreamState) -> Vec<(Vec<usize>, Option<GroupNumbers>)> {
    type Part = (u64, Option<Address>);
    let parts: [&dyn Fn(&SaView<'_>) -> Part; 5] = [
        &|_| (0, None),
        &|sa| (sa.state.directions.first(), None),
        &|sa| (sender_bits(stream, sa.state.directions.first()), None),
        &|sa| (0, Some(sa.key.src)),
        &|sa| (0, Some(sa.key.dst)),
    ];
    let (mut left, mut found) = (places.to_vec(), Vec::new());
    for part in parts {
        let mut apart: BTreeMap<Part, Vec<usize>> = BTreeMap::new();
        for (at, sa) in left.iter().filter_map(|&at| Some((at, sas.get(at)?))) {
            apart.entry(part(sa)).or_default().push(at);
        }
        for members in apart.into_values().filter(|members| members.len() > 1) {
            if let Some(counted) = together(sas, &members) {
                left.retain(|at| !members.contains(at));
                found.push((members, Some(counted)));
            }
        }
    }
    let shows = |at: &&usize| sas.get(**at).is_some_and(|sa| sa.state.seen.count >= FEWEST);
    let skips = |at: &usize| sas.get(*at).is_some_and(|sa| lost(sa) >= sa.state.seen.count);
    let many = left.iter().filter(shows).count();
    let lossy = left.iter().filter(shows).filter(|at| skips(at)).count();
    let is_group = !found.is_empty() && lossy > 0 || many >= SEVERAL;
    if is_group && lossy * 4 >= many * 3 {
        found.push((left, None));
    }
    found
}

/// All of the first 64 directions of the tap that have a sender in common with these, a bit each: those of no MAC addresses have none.
fn sender_bits(stream: &StreamState, directions: u64) -> u64 {
    let sender = |bit: u32| match stream.tables.directions.get(bit) {
        Some(DirectionKey::Mac(src, _)) => Some(*src),
        _ => None,
    };
    let is_of = |bit: &u32| directions >> bit & 1 == 1;
    let known: Vec<_> = (0..u64::BITS).filter(is_of).filter_map(sender).collect();
    let same = |bit: &u32| is_of(bit) || sender(*bit).is_some_and(|sender| known.contains(&sender));
    (0..u64::BITS).filter(same).fold(0, |bits, bit| bits | 1 << bit)
}

fn lost(sa: &SaView<'_>) -> u64 {
    sa.sequence.as_ref().map_or(0, |figures| figures.lost)
}

/// Whether all have the same source or the same destination.
fn have_a_common_end(sas: &[SaView<'_>], members: &[usize]) -> bool {
    let ends = |end: &dyn Fn(&SaKey) -> Address| {
        let mut ends = members.iter().filter_map(|&at| sas.get(at)).map(|sa| end(&sa.key));
        let first = ends.next();
        ends.all(|next| Some(next) == first)
    };
    ends(&|key| key.src) || ends(&|key| key.dst)
}

/// What pairs of addresses lost together, where each alone seems to lose much of what the others have.
fn together(sas: &[SaView<'_>], members: &[usize]) -> Option<GroupNumbers> {
    let mut all = IntervalSet::default();
    let (mut numbers, mut apart, mut frames) = (0_u64, 0_u64, 0_u64);
    for &at in members {
        let sa = sas.get(at)?;
        let coverage = sa.state.sequence.coverage()?;
        numbers += coverage.len();
        apart = apart.saturating_add(lost(sa));
        frames += sa.state.seen.count;
        all.union(coverage);
    }
    let distinct = all.len();
    let (first, last) = (all.min()?, all.parts().last()?.1);
    let lost = first.abs_diff(last).saturating_sub(distinct);
    // Where much is missing of all of them, others may have it.
    let is_whole = lost.saturating_mul(4) <= apart && lost.saturating_mul(MISSING) <= distinct;
    // One end moves for a while: its numbers fill what the other addresses skip, and one address stays.
    let (again, filled) = (numbers - distinct, apart.saturating_sub(lost));
    let fills = filled >= FEWEST && again.saturating_mul(MISSING) <= filled && have_a_common_end(sas, members);
    let fits = again == 0 && filled >= FILLED && (lost == 0 || frames < FEWEST);
    let counts = frames >= FEWEST && again.saturating_mul(50) <= numbers;
    let is_one = fits || counts && (apart.saturating_mul(4) >= numbers || fills);
    (is_one && is_whole).then_some(GroupNumbers { lost, numbers: first.abs_diff(last) })
}
