//! Packets without counterpart, and where they lie.

use std::collections::BTreeMap;

use crate::matching::Matcher;
use crate::matching::measure::doubt::Doubt;
use crate::matching::measure::silence::WAYS;
use crate::matching::measure::tally::SaTally;
use crate::model::Address;

/// Packets without counterpart.
#[derive(Debug, Default)]
pub(in crate::matching) struct LeftOver {
    /// When packets were lost that no number names, by SA.
    lost: BTreeMap<u32, Vec<i64>>,
    /// When the plain tap showed frames again after a silence.
    ends: Vec<i64>,
    /// By way: packets that are missing directly before or behind a silence that is no loss.
    pub(super) beside: [u64; WAYS],
    /// By tunnel: packets that lie between pairs although the other capture may not cover their time.
    pub(super) between: BTreeMap<(Address, Address), u64>,
    /// By tunnel: packets of both sides that are taken to be beyond the same end of the other capture.
    pub(super) beyond: BTreeMap<(Address, Address), u64>,
}

impl Matcher {
    /// What is known of the packets without counterpart.
    pub(in crate::matching) fn left_over(&self, doubt: &Doubt) -> LeftOver {
        let mut lost: BTreeMap<u32, Vec<i64>> = BTreeMap::new();
        let mut ends: Vec<i64> =
            doubt.silent.iter().filter(|silent| silent.tap == "plain").map(|silent| silent.to_ns).collect();
        ends.sort_unstable();
        for own in self.ledger.lost.iter().filter(|own| own.hole.is_none() && !ends.is_empty()) {
            if let Some((sa, ns)) = self.tally.sa_of(own).zip(own.time.ns()) {
                lost.entry(sa).or_default().push(ns);
            }
        }
        let between = self.ledger.edges.between(|flow| self.tally.flow_sa.get(&flow).copied(), |sa| self.tunnel_of(sa));
        let sa_of = |flow| self.tally.flow_sa.get(&flow).copied();
        let beyond = self.ledger.edges.beyond(sa_of, |sa| self.tunnel_of(sa));
        LeftOver { lost, ends, between, beyond, beside: doubt.beside }
    }

    /// Packets by order that were lost right behind a silence of the plain tap, where these are many more than elsewhere: what belongs
    /// together was not found again at once.
    pub(super) fn lost_behind_silence(&self, at: u32, sa: &SaTally, times: &LeftOver) -> Option<u64> {
        /// Packets that it may take to find it again, and lost ones that are no chance.
        const PACKETS: i64 = 64;
        const FEW: u64 = 4;
        const TIMES: u64 = 4;
        let lost = times.lost.get(&at)?;
        let [(from, to), _] = self.ledger.recorded;
        let span = to.saturating_sub(from).max(1);
        let pairs = i64::try_from(sa.matched).unwrap_or(i64::MAX).max(1);
        let near = (span / pairs).saturating_mul(PACKETS).min(span);
        let behind = |ns: &&i64| {
            let latest = times.ends.partition_point(|end| end <= *ns).checked_sub(1).and_then(|at| times.ends.get(at));
            latest.is_some_and(|end| ns.saturating_sub(*end) < near)
        };
        let count = lost.iter().filter(behind).count() as u64;
        let elsewhere = (lost.len() as u64).saturating_sub(count);
        let share = (near as f64 / span.saturating_sub(near).max(1) as f64).min(1.0);
        (count >= FEW && count as f64 > (TIMES * elsewhere) as f64 * share + FEW as f64).then_some(count)
    }
}
