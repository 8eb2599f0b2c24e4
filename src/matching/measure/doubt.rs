//! What silences of the taps were, and what that makes of the packets that are missing in them.

mod around;
mod ends;
mod flows;
mod named;
mod parallel;
mod reasons;
mod silent;
mod tempered;
mod unpaired;

use std::collections::{BTreeMap, BTreeSet};

pub(in crate::matching) use self::flows::{
    customers, gone, left_out, let_through, offloaded, refused, shared, sparse, strange, strayed, unserved,
};
pub(in crate::matching) use self::reasons::{
    adrift, arrived, at_once, beside_silence, between, beyond, equal_at_an_edge, equal_on_both_sides, far_apart,
    fitting, guessed, missed_or_adrift, partial, recounted, repeated, restarted, shifted, timeless, uncounted,
    undirected, unproved, unread, unsearched, unshown, untimely,
};
pub(crate) use self::silent::Silent;
pub(in crate::matching) use self::tempered::LeftOfLanes;
pub(in crate::matching) use self::unpaired::{
    absent, before_both, cut, elsewhere, for_gateway, missed_numbers, of_rare_lengths, onward, somewhere, torn,
    unfound, unseen_numbers,
};
use super::losses::Losses;
use super::silence::{IN_A_LONG_ROW, Judged, Known, Silences, Verdict, WAYS, is_no_chance};
use super::tally::{SaTally, Tally};
use super::watch::Step;
use crate::matching::Matcher;
use crate::matching::limits::MAX_MISSED;
use crate::matching::order::shifts::Proof;
use crate::model::pairs::Undetermined;

/// Numbers that SAs skip over silences of the tunnel's tap, by silence and SA.
#[derive(Debug, Default)]
pub(in crate::matching) struct Jumps {
    of: BTreeMap<(i64, u32), Jump>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Jump {
    /// `None` where the count began anew.
    skipped: Option<u64>,
    /// The SA was not seen before the silence.
    first: bool,
}

impl Jumps {
    /// Takes in a packet of an SA with its number, and the step that led to it.
    pub(in crate::matching) fn note(&mut self, silences: &Silences, sa: u32, raw: u32, ns: i64, step: Option<Step>) {
        let (silence, jump) = match step {
            Some(step) => {
                // Of a tick all that is skipped counts, and that nothing is.
                let tick = || silences.tick(ns).filter(|tick| step.skipped != Some(0) || step.ns < *tick);
                (silences.between(step.ns, ns).or_else(tick), Jump { skipped: step.skipped, first: false })
            }
            None => {
                let skipped = u64::from(raw.saturating_sub(1));
                (silences.just_ended(ns), Jump { skipped: Some(skipped), first: true })
            }
        };
        if let Some(from) = silence
            && self.of.len() < MAX_MISSED
        {
            let own = self.of.entry((from, sa));
            own.and_modify(|own| own.skipped = own.skipped.zip(jump.skipped).map(|(own, more)| own + more))
                .or_insert(jump);
        }
    }

    fn over(&self, from: i64) -> impl Iterator<Item = (u32, Jump)> {
        self.of.range((from, 0)..=(from, u32::MAX)).map(|((_, sa), jump)| (*sa, *jump))
    }

    /// Numbers that the SAs of a way skip over the silence, of which `count` packets are missing; `None` where the numbers do not tell.
    fn skipped(&self, from: i64, count: u64, is_of_way: impl Fn(u32) -> bool) -> Option<u64> {
        let (mut sum, mut clear, mut any) = (0, true, false);
        for (_, jump) in self.over(from).filter(|(sa, _)| is_of_way(*sa)) {
            any = true;
            match jump.skipped {
                // A new SA begins with 1; one that has begun says nothing of those before it.
                Some(skipped) if jump.first && skipped > 2 * count + 16 => clear = false,
                Some(0) if jump.first => clear = false,
                // A counter that is set forward.
                Some(skipped) if skipped > 64 * count + 1_024 => clear = false,
                Some(skipped) => sum += skipped,
                None => clear = false,
            }
        }
        (any && (clear || sum * 2 >= count)).then_some(sum)
    }

    /// Numbers that an SA skips over silences.
    pub(in crate::matching) fn of_sa(&self, sa: u32) -> impl Iterator<Item = (i64, u64)> {
        let own = self.of.iter().filter(move |((_, own), jump)| *own == sa && !jump.first);
        own.filter_map(|((from, _), jump)| Some((*from, jump.skipped?)))
    }
}

/// What came of the silences of the plain tap and of the tunnel's.
#[derive(Debug, Default)]
pub(in crate::matching) struct Doubt {
    pub(in crate::matching) silent: Vec<Silent>,
    /// Plaintext packets, by SA, and packets in the tunnel that may have been lost or not.
    pub(in crate::matching) plain: BTreeMap<u32, u64>,
    pub(in crate::matching) tunnel: BTreeMap<u32, u64>,
    /// Packets of each way that are missing directly before or behind silences that are no loss.
    pub(in crate::matching) beside: [u64; WAYS],
    /// Whether packets of the tunnel lie outside the plain capture, unless its clock was set.
    beyond: bool,
    /// Silences of the tunnel's tap that are no loss.
    quiet: BTreeSet<i64>,
}

impl Doubt {
    /// Whether packets between the plain tap and the tunnel's may have been lost or not.
    pub(in crate::matching) fn is_open(&self, sa: u32) -> bool {
        self.plain.contains_key(&sa) || self.tunnel.contains_key(&sa)
    }

    fn note_beside<'j>(&mut self, judged: impl Iterator<Item = &'j Judged>) {
        for own in judged {
            self.beside.iter_mut().zip(own.adjoining).for_each(|(sum, count)| *sum += count);
        }
    }

    /// Why it is not known how many packets of an SA were lost.
    pub(in crate::matching) fn of(&self, sa: u32, losses: &Losses) -> Option<Undetermined> {
        let ends = losses.ends.as_ref().and_then(|ends| ends.open.get(&sa));
        let counts = [(self.plain.get(&sa), "tunnel"), (self.tunnel.get(&sa), "plain"), (ends, "exit")];
        let (count, tap) = counts.into_iter().find_map(|(count, tap)| Some((*count?, tap)))?;
        let why = losses.ends.as_ref().filter(|_| tap == "exit").and_then(|ends| ends.why.get(&sa));
        if let Some(own) = why.and_then(|why| ends::at_the_ends(*why, count)) {
            return Some(own);
        }
        let in_ticks = |silent: &Silent| silent.tap == tap && silent.open && silent.is_tick;
        if self.silent.iter().any(in_ticks) || (tap == "exit" && losses.ends.as_ref().is_some_and(|ends| ends.in_ticks))
        {
            return Some(reasons::in_a_tick(count, tap));
        }
        let else_set = if self.beyond && tap == "tunnel" { ", or its clock was set" } else { "" };
        Some(Undetermined {
            alignments: 1,
            reason: format!(
                "{count} packets are missing while the {tap} capture shows no frame at all: a hole in the capture or an outage{else_set}"
            )
            .into(),
            decide: "other traffic at that tap (keepalives, the other direction), or the drop counters of the capture".into(),
            missing_numbers: 0,
        })
    }
}

impl Matcher {
    /// Decides which packets that are missing in silences were lost.
    pub(in crate::matching) fn judge(&mut self) -> Doubt {
        let mut doubt = Doubt::default();
        self.ledger.silences.iter_mut().for_each(Silences::settle);
        // Where the order was lost, what is left over in a silence proves nothing.
        let is_sound = |sa: u32| {
            let by_order = self.tally.sas.get(sa as usize).is_some_and(SaTally::is_by_order);
            let proof = self.order.lane(sa).and_then(|lane| self.proofs.get(lane));
            !(by_order && proof.is_some_and(Proof::is_open))
        };
        let (passed, pairs) = ways(&self.tally, &self.ledger.sas, is_sound);
        self.judge_tunnel(&mut doubt, passed.map(|passed| passed == Some(false)), pairs);
        self.judge_plain(&mut doubt, passed.map(|passed| passed == Some(true)), pairs);
        doubt
    }

    /// Whether packets of both sides have no counterpart, by order.
    fn is_crossed(&self) -> bool {
        /// Packets that are no stray.
        const FEW: usize = 2;
        let [plain, _] = &self.ledger.silences;
        self.tally.sas.iter().any(SaTally::is_by_order) && self.ledger.lost.len() > FEW && plain.missed() > FEW
    }

    /// Packets of the tunnel, by way, that lie outside the plain capture if no clock was set.
    fn beyond(&self) -> [u64; WAYS] {
        let mut beyond = [0; WAYS];
        let by_order = self.tally.sas.iter().zip(&self.ledger.sas).filter(|(sa, _)| sa.is_by_order());
        for (sa, (_, way)) in by_order.filter(|_| !self.settings.one_clock) {
            beyond.get_mut(*way).into_iter().for_each(|own| *own += sa.uncovered);
        }
        beyond
    }

    /// Plaintext packets that are missing in silences of the tunnel's tap.
    fn judge_tunnel(&mut self, doubt: &mut Doubt, passed: [bool; WAYS], pairs: [u64; WAYS]) {
        let sas = &self.ledger.sas;
        let way_of = |sa: u32| sas.get(sa as usize).map(|(_, way)| *way);
        let sa_of = |flow: u32| self.tally.flow_sa.get(&flow).copied();
        let flows = &self.ledger.flows;
        let beyond = self.beyond();
        doubt.beyond = beyond.iter().any(|count| *count > 0);
        let known = Known {
            way: |flow: u32| sa_of(flow).filter(|_| flows.is_selected(flow)).and_then(way_of),
            passed,
            skipped: |from: i64, way: usize, count: u64| self.jumps.skipped(from, count, |sa| way_of(sa) == Some(way)),
            pairs,
            beyond,
            crossed: self.is_crossed(),
        };
        let [_, tunnel] = &self.ledger.silences;
        let judged = tunnel.judge(&known);
        let mut verdicts: BTreeMap<(i64, u32), Verdict> = BTreeMap::new();
        for (from, flow, _) in tunnel.waiting() {
            let Some(own) = judged.get(&from) else { continue };
            let counts = flows.get(flow);
            let verdict = match sa_of(flow).and_then(way_of) {
                Some(way) if flows.is_selected(flow) => own.verdicts.get(way).copied(),
                // Nothing of it was ever seen while the tap was recording.
                _ if counts.matched + counts.unmatched == 0 => Some(Verdict::Hole),
                _ => None,
            };
            verdicts.insert((from, flow), verdict.unwrap_or(Verdict::Loss));
        }
        doubt.quiet.extend(judged.keys());
        doubt.note_beside(judged.values());
        doubt.silent.extend(judged.values().map(|own| Silent::of("tunnel", own)));
        let [_, tunnel] = &mut self.ledger.silences;
        for ((from, flow, bytes), count) in tunnel.take_waiting() {
            match verdicts.get(&(from, flow)).copied().unwrap_or(Verdict::Loss) {
                Verdict::Loss => self.ledger.miss_tunnel(flow, bytes, count),
                Verdict::Hole => {
                    self.ledger.uncovered += count;
                    if let Some(flow) = self.ledger.flows.get_mut(flow) {
                        flow.uncovered += count;
                    }
                }
                Verdict::Open => {
                    if let Some(own) = self.ledger.flows.get_mut(flow) {
                        own.aside += count;
                    }
                    // Of a flow that goes through several SAs they may be of any.
                    let latest = self.tally.flow_sa.get(&flow);
                    for sa in
                        self.tally.turns.several(flow).into_iter().flatten().chain(latest).collect::<BTreeSet<_>>()
                    {
                        *doubt.plain.entry(*sa).or_default() += count;
                    }
                }
            }
        }
        let is_loss = |from: i64, flow: u32| verdicts.get(&(from, flow)).is_none_or(|own| *own == Verdict::Loss);
        self.ledger.lost.retain(|lost| lost.silence.is_none_or(|from| is_loss(from, lost.flow)));
    }

    /// Packets in the tunnel that are missing in silences of the plain tap.
    fn judge_plain(&mut self, doubt: &mut Doubt, passed: [bool; WAYS], pairs: [u64; WAYS]) {
        let sas = &self.ledger.sas;
        // Packets of an SA without any pair may be none of this tap's.
        let is_paired = |sa: u32| self.tally.sas.get(sa as usize).is_some_and(|own| own.matched > 0);
        let way = |sa: u32| sas.get(sa as usize).filter(|_| is_paired(sa)).map(|(_, way)| *way);
        let crossed = self.is_crossed();
        let beyond = [0; WAYS];
        let known = Known { way, passed, skipped: |_: i64, _: usize, _: u64| None, pairs, beyond, crossed };
        let [plain, _] = &self.ledger.silences;
        let judged = plain.judge(&known);
        doubt.silent.extend(judged.values().map(|own| Silent::of("plain", own)));
        doubt.note_beside(judged.values());
        // What the exit showed and the plain tap did not, proves a hole, too.
        let holes: BTreeSet<i64> = self.ends.iter().flat_map(|ends| ends.holes_in_plain()).collect();
        let verdict = |from: i64, sa: u32| match holes.contains(&from) {
            true => Some(Verdict::Hole),
            false => judged.get(&from)?.verdicts.get(way(sa)?).copied(),
        };
        let counts: Vec<(u32, u64, Verdict)> =
            plain.waiting().map(|(from, sa, count)| (sa, count, verdict(from, sa).unwrap_or(Verdict::Loss))).collect();
        let [plain, _] = &mut self.ledger.silences;
        plain.take_waiting();
        for (sa, count, verdict) in counts {
            let Some(own) = self.tally.sas.get_mut(sa as usize) else { continue };
            match verdict {
                Verdict::Loss => own.alone += count,
                Verdict::Hole => own.uncovered += count,
                Verdict::Open => *doubt.tunnel.entry(sa).or_default() += count,
            }
        }
    }

    /// Numbers of an SA that the tunnel's tap did not see while it was recording, and whether silences hold others.
    pub(in crate::matching) fn missing(&self, at: u32, doubt: &Doubt) -> (u64, bool) {
        let Some(watch) = self.watches.get(at as usize) else { return (0, false) };
        let all = watch.missing();
        let pairs = self.tally.sas.get(at as usize).map_or(0, |sa| sa.matched);
        let quiet = |from: i64, skipped: u64| {
            // Without pairs nothing else tells whether the tap was recording.
            let is_row = skipped >= IN_A_LONG_ROW && is_no_chance(skipped, all.saturating_sub(skipped), watch.seen());
            doubt.quiet.contains(&from) || (pairs == 0 && is_row)
        };
        let in_silence: u64 = self.jumps.of_sa(at).filter(|(from, own)| quiet(*from, *own)).map(|(_, own)| own).sum();
        let unseen = in_silence + if pairs == 0 { watch.leapt() } else { 0 };
        (all.saturating_sub(unseen), unseen > 0)
    }
}

/// Whether the packets of each way passed the plain tap first, as far as SAs whose pairs are sound tell, and how many pairs it has.
fn ways(
    tally: &Tally,
    sas: &[(crate::matching::Reach, usize)],
    is_sound: impl Fn(u32) -> bool,
) -> ([Option<bool>; WAYS], [u64; WAYS]) {
    let (mut votes, mut pairs) = ([0_i64; WAYS], [0_u64; WAYS]);
    for ((at, sa), (_, way)) in (0..).zip(&tally.sas).zip(sas) {
        let (Some(votes), Some(pairs)) = (votes.get_mut(*way), pairs.get_mut(*way)) else { continue };
        let matched = i64::try_from(sa.matched).unwrap_or(i64::MAX);
        *votes += match sa.encapsulated.filter(|_| is_sound(at)) {
            Some(true) => matched,
            Some(false) => -matched,
            None => 0,
        };
        *pairs += sa.matched;
    }
    (votes.map(|votes| (votes != 0).then_some(votes > 0)), pairs)
}
