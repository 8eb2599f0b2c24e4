//! SAs of groups: one SPI and one counter for packets between many pairs of addresses.
//!
//! GroupSa encryption that preserves headers (GETVPN, RFC 6407) leaves each packet the addresses of its hosts. By pair of addresses, nearly all
//! numbers of such an SA are missing; together they are all there.

use std::collections::BTreeMap;

use super::tap::SaView;
use crate::analysis::state::base::interval::IntervalSet;
use crate::analysis::state::base::seen::Seen;
use crate::model::{Address, Protocol, SaKey, Spi};

/// Fewer packets show no habit.
const FEWEST: u64 = 16;
/// Pairs with one SPI that lose more than they show are one SA of several senders, from this number on.
const SEVERAL: usize = 4;

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
pub(super) fn take(sas: &mut [SaView<'_>]) -> Vec<GroupSa> {
    let mut by_spi: BTreeMap<(Protocol, Spi), Vec<usize>> = BTreeMap::new();
    for (at, sa) in sas.iter().enumerate().filter(|(_, sa)| sa.sequence.is_some()) {
        by_spi.entry((sa.key.protocol, sa.key.spi)).or_default().push(at);
    }
    let mut groups = Vec::new();
    for places in by_spi.into_values().filter(|places| places.len() > 1) {
        for (members, counted) in senders(sas, &places) {
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

/// The pairs of one SPI that are numbered together, with what they lost: all of them, those that travel one way, or those of one source.
fn senders(sas: &[SaView<'_>], places: &[usize]) -> Vec<(Vec<usize>, Option<GroupNumbers>)> {
    let apart = |key: &dyn Fn(&SaView<'_>) -> (u64, Option<Address>)| {
        let mut parts: BTreeMap<(u64, Option<Address>), Vec<usize>> = BTreeMap::new();
        for &at in places {
            let Some(sa) = sas.get(at) else { continue };
            parts.entry(key(sa)).or_default().push(at);
        }
        let parts = parts.into_values().filter(|members| members.len() > 1);
        parts.filter_map(|members| together(sas, &members).map(|counted| (members, Some(counted)))).collect::<Vec<_>>()
    };
    let directions = |sa: &SaView<'_>| sa.state.directions.first();
    for found in [apart(&|_| (0, None)), apart(&|sa| (directions(sa), None)), apart(&|sa| (0, Some(sa.key.src)))] {
        if !found.is_empty() {
            return found;
        }
    }
    let members = |at: &&usize| sas.get(**at).is_some_and(|sa| sa.state.seen.count >= FEWEST);
    let many: Vec<usize> = places.iter().filter(members).copied().collect();
    let lossy = many.iter().filter(|at| sas.get(**at).is_some_and(|sa| lost(sa) >= sa.state.seen.count)).count();
    if many.len() >= SEVERAL && lossy * 4 >= many.len() * 3 { vec![(places.to_vec(), None)] } else { Vec::new() }
}

fn lost(sa: &SaView<'_>) -> u64 {
    sa.sequence.as_ref().map_or(0, |figures| figures.lost)
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
    let is_one = frames >= FEWEST
        && (numbers - distinct).saturating_mul(50) <= numbers
        && apart.saturating_mul(4) >= numbers
        && lost.saturating_mul(4) <= apart;
    is_one.then_some(GroupNumbers { lost, numbers: first.abs_diff(last) })
}
