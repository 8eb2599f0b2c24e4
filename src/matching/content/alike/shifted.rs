//! Pairs of equal packets that their times contradict: where one is lost, another's counterpart may have taken the place of its own. So may one from before
//! the other capture began. Where times tell, each gets its own; where they do not, how many were lost is left open.

use std::collections::BTreeMap;

use super::{ALIKE, ANCHORS, GUESSED};
use crate::analysis::limits::COPY_WINDOW_NS;
use crate::matching::Matcher;
use crate::matching::content::identity::Identity;
use crate::matching::measure::doubt;
use crate::matching::measure::losses::Losses;
use crate::matching::measure::tally::SaTally;
use crate::matching::order::delay::median;
use crate::matching::packets::ledger::{PairBasis, PairedPlain, Pairing, Tunnelled, TunnelledFate};
use crate::model::pairs::Undetermined;

/// Pairs without equals that tell how much delays vary, and how many times as much is no delay.
const PAIRS: usize = 16;
const TIMES: u64 = 4;
/// The share of a group, as 1 in N, whose times may contradict their pairs before these are doubted as a whole.
const MANY_OF: usize = 8;
/// Nanoseconds by which delays may vary in any case.
const LEAST: u64 = 50_000;

/// Pairs of an SA that are sure: when they were in the tunnel, and how much later that was than on the plain side.
#[derive(Debug, Default)]
struct Sure {
    pairs: Vec<(i64, i64)>,
    /// By how much one differs from the next at the most.
    varies: u64,
}

impl Sure {
    /// Sorts the pairs; `least`: by how much the difference of two timestamps varies in any case.
    fn settle(&mut self, least: u64) {
        self.pairs.sort_unstable();
        let steps = self.pairs.windows(2).filter_map(|own| Some(own.first()?.1.abs_diff(own.last()?.1)));
        self.varies = steps.max().unwrap_or(0).max(least);
    }

    /// What the nearest pairs on either side of a time say of how much later it is than on the plain side.
    fn about(&self, ns: i64) -> impl Iterator<Item = i64> + '_ {
        let at = self.pairs.partition_point(|(own, _)| *own < ns);
        let near = [at.checked_sub(1), Some(at)].into_iter().flatten();
        near.filter_map(|at| Some(self.pairs.get(at)?.1))
    }

    /// By how much a packet of this time and one of the plain side are off what is usual about then.
    fn misfit(&self, ns: i64, plain: i64) -> Option<u64> {
        let apart = ns.saturating_sub(plain);
        self.about(ns).map(|usual| usual.abs_diff(apart)).min()
    }

    /// Whether a packet that is so far off has no counterpart there.
    fn decides(&self, misfit: u64) -> bool {
        self.pairs.len() >= PAIRS && misfit > self.varies.saturating_mul(TIMES)
    }
}

/// An equal packet in the tunnel: its place among those that are held, its time, and how far its nearest equal there is.
#[derive(Clone, Copy, Debug)]
struct EqualAt {
    at: usize,
    ns: i64,
    gap: u64,
}

/// Equal packets of an SA, by what is in them.
type Groups = BTreeMap<(u32, u64, Option<u64>), Vec<EqualAt>>;

const fn key(packet: &Tunnelled, identity: Identity) -> (u32, u64, Option<u64>) {
    (packet.sa, identity.key, identity.whole)
}

/// Whether a packet is equal to one right before or behind it, by the pace of these: what a TAP shows of it may be taken for a copy.
fn is_at_once(own: &EqualAt, pace: u64) -> bool {
    own.gap <= COPY_WINDOW_NS.unsigned_abs() && own.gap.saturating_mul(2) <= pace
}

/// The usual time from one of these to the next.
fn pace(group: &[EqualAt]) -> u64 {
    let gaps = group.windows(2).filter_map(|own| Some(own.last()?.ns.saturating_sub(own.first()?.ns)));
    median(gaps.collect()).unwrap_or(0).unsigned_abs()
}

/// A pair by content that is a guess.
fn guess(packet: &Tunnelled) -> Option<&Pairing> {
    match &packet.fate {
        TunnelledFate::Paired(own) if own.basis != PairBasis::Order && own.confidence <= GUESSED => Some(own),
        _ => None,
    }
}

/// The groups of which some pairs are guesses, in the order of time, and, where copies were `left_out`, those of which some have no counterpart.
fn groups(held: &[Tunnelled], left_out: bool) -> Groups {
    let is_open =
        |packet: &&Tunnelled| guess(packet).is_some() || left_out && matches!(packet.fate, TunnelledFate::Alone);
    let open = held.iter().filter(is_open);
    let mut groups: Groups = open.filter_map(|packet| Some((key(packet, packet.identity?), Vec::new()))).collect();
    if groups.is_empty() {
        return groups;
    }
    for (at, packet) in held.iter().enumerate() {
        let is_one = !matches!(packet.fate, TunnelledFate::Repeated | TunnelledFate::Part);
        let Some((identity, ns)) = packet.identity.zip(packet.time.ns()).filter(|_| is_one) else { continue };
        if let Some(group) = groups.get_mut(&key(packet, identity)) {
            group.push(EqualAt { at, ns, gap: u64::MAX });
        }
    }
    for group in groups.values_mut() {
        group.sort_unstable_by_key(|own| own.ns);
        let times: Vec<i64> = group.iter().map(|own| own.ns).collect();
        for pair in times.windows(2).enumerate() {
            let (at, [first, second]) = pair else { continue };
            let gap = second.abs_diff(*first);
            group.iter_mut().skip(at).take(2).for_each(|own| own.gap = own.gap.min(gap));
        }
    }
    groups
}

impl Matcher {
    /// Takes apart the pairs of equal packets that are nearer to another's time than to their own, and pairs by their times what that leaves.
    pub(in crate::matching) fn mend_shifted(&mut self, held: &mut [Tunnelled]) {
        if !self.has_repeats() {
            return;
        }
        let left_out = self.plain.copies > 0;
        let groups = groups(held, left_out);
        if groups.is_empty() {
            return;
        }
        let (sure, all) = self.sure(held);
        let tells = |own: &&Sure| own.pairs.len() >= PAIRS;
        for ((sa, ..), group) in &groups {
            // The clocks are those of all SAs.
            let own = sure.get(sa).filter(|own| own.pairs.len() >= ANCHORS as usize);
            if let Some(sure) = own.filter(tells).or_else(|| Some(&all).filter(tells)).or(own) {
                self.mend_group(held, group, sure);
            }
            if left_out {
                self.note_at_once(held, group);
            }
        }
    }

    /// Counts packets without counterpart that came right behind or before an equal one: one of the two that the plain tap showed may be left out as a copy.
    fn note_at_once(&mut self, held: &[Tunnelled], group: &[EqualAt]) {
        let pace = pace(group);
        for own in group.iter().filter(|own| is_at_once(own, pace)) {
            if let Some(packet) = held.get(own.at).filter(|own| matches!(own.fate, TunnelledFate::Alone))
                && let Some(sa) = self.tally.sas.get_mut(packet.sa as usize)
            {
                sa.at_once += 1;
            }
        }
    }

    /// The pairs of each SA that are sure, and of all.
    fn sure(&self, held: &[Tunnelled]) -> (BTreeMap<u32, Sure>, Sure) {
        let mut all = Sure::default();
        let mut sure: BTreeMap<u32, Sure> = BTreeMap::new();
        for packet in held {
            let TunnelledFate::Paired(Pairing { plain, confidence, .. }) = &packet.fate else { continue };
            if *confidence > ALIKE
                && let Some((ns, plain)) = packet.time.ns().zip(plain.time.ns())
            {
                let pair = (ns, ns.saturating_sub(plain));
                sure.entry(packet.sa).or_default().pairs.push(pair);
                all.pairs.push(pair);
            }
        }
        let least = self.ledger.coarseness.unsigned_abs().max(LEAST);
        sure.values_mut().chain([&mut all]).for_each(|own| own.settle(least));
        (sure, all)
    }

    fn mend_group(&mut self, held: &mut [Tunnelled], group: &[EqualAt], sure: &Sure) {
        let (mut contradicted, mut doubtful) = (Vec::new(), 0);
        for own in group {
            let pair = held.get(own.at).and_then(guess);
            let misfit = pair.and_then(|pair| sure.misfit(own.ns, pair.plain.time.ns()?));
            match misfit.filter(|misfit| misfit.saturating_mul(2) > own.gap) {
                Some(misfit) if sure.decides(misfit) => contradicted.push(own.at),
                Some(misfit) if misfit > LEAST => doubtful += 1,
                _ => {}
            }
        }
        // Where many are, the counterparts of most were not among the packets that were compared.
        if contradicted.len().saturating_mul(MANY_OF) > group.len() {
            doubtful += contradicted.len() as u64;
            contradicted.clear();
        }
        let sa = group.first().and_then(|own| held.get(own.at)).map(|packet| packet.sa);
        if let Some(sa) = sa.and_then(|sa| self.tally.sas.get_mut(sa as usize)) {
            sa.shifted += doubtful;
        }
        let mut plain: Vec<PairedPlain> = Vec::new();
        for at in contradicted {
            plain.extend(held.get_mut(at).and_then(|packet| self.ledger.part(packet)));
        }
        plain.sort_by_key(|own| own.time.ns());
        for own in group {
            let Some(packet) = held.get_mut(own.at).filter(|own| matches!(own.fate, TunnelledFate::Alone)) else {
                continue;
            };
            let fits = |misfit: &u64| misfit.saturating_mul(2) <= own.gap && !sure.decides(*misfit);
            let misfit = |at: usize| sure.misfit(own.ns, plain.get(at)?.time.ns()?).filter(fits);
            let about = |usual: i64| {
                let due = own.ns.saturating_sub(usual);
                let at = plain.partition_point(|own| own.time.ns().is_none_or(|ns| ns < due));
                [at.checked_sub(1), Some(at)].into_iter().flatten()
            };
            let near = sure.about(own.ns).flat_map(about).filter_map(|at| Some((misfit(at)?, at))).min();
            if let Some((_, at)) = near {
                let (plain, basis) = (plain.remove(at), packet.basis());
                let pairing = Pairing { plain, basis, stretch: 0, confidence: ALIKE, overtaken: false };
                packet.fate = TunnelledFate::Paired(pairing);
            }
        }
        plain.iter().for_each(|own| self.ledger.left_over(own));
    }

    /// Why it is not known how many packets of an SA were lost that are equal to others: another may have taken the place of a lost one, its counterpart may be
    /// left out as a copy, or not all that may be it were compared.
    pub(in crate::matching) fn taken_for_equals(&self, at: u32, sa: &SaTally, losses: &Losses) -> Option<Undetermined> {
        let missed = losses.missed.get(&at).copied().unwrap_or(0);
        let uncovered = losses.uncovered.get(&at).copied().unwrap_or(0) + sa.uncovered;
        let lost = if sa.encapsulated == Some(false) { sa.alone } else { missed };
        if sa.is_by_order() {
            return None;
        }
        if sa.unsearched > 0 && lost > 0 {
            return Some(doubt::unsearched(sa.unsearched, lost));
        }
        if sa.at_once > 0 && sa.encapsulated == Some(false) && lost > 0 {
            return Some(doubt::at_once(sa.at_once, lost));
        }
        // Where all are covered, as many were lost as are left over, whichever they are.
        (sa.shifted > 0 && uncovered > 0).then(|| doubt::shifted(sa.shifted, lost))
    }
}
