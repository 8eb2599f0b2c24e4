//! Proof of pairs by order after packets were lost: the same stretch of pairs, shifted by some packets, must fit worse.
//!
//! As long as every packet of one side has its counterpart on the other, the alignment that was decided at the beginning holds. Where packets
//! are missing and no sequence number says how many (a *slip*), everything after them may be shifted. Each stretch between two slips
//! must prove itself: by lengths that no shifted packet makes, by times that vary less than those of shifted pairs, and by a delay that
//! is that of the stretches that are proved.

mod lengths;
mod pair;
mod parts;
mod proof;
mod runs;

use std::cell::OnceCell;
use std::collections::BTreeMap;

use self::lengths::PartLengths;
pub(in crate::matching) use self::pair::PlacedPair;
use self::pair::{ENDS, LONGEST, Made, change, distance, middle, usual};
use self::parts::ProofPart;
pub(in crate::matching) use self::proof::Proof;
use super::{align::dear, delay::median_of, lane::Level};
use crate::matching::Matcher;
use crate::matching::packets::ledger::{Tunnelled, TunnelledFate};

/// Packets by which a stretch is shifted.
const SHIFTS: [isize; 20] = [-1, 1, -2, 2, -3, 3, -4, 4, -5, 5, -6, 6, -7, 7, -8, 8, -12, 12, -16, 16];
/// What must speak against each shifted stretch, in nats.
const NEEDED: f64 = 9.0;
/// The same of a stretch whose delay is not that of others, how rare its lengths must be, in nats, and its pairs.
const NEEDED_ALONE: f64 = 30.0;
const RARE: f64 = 20.0;
const PAIRS_ALONE: usize = 32;
/// What a length that does not fit says, in nats.
const CONTRADICTED: f64 = 3.0;
/// Changes of the delay share a packet with their neighbours: they count for half.
const SHARED: f64 = 0.5;
/// The most that the delay of a stretch says, in nats: queues fill.
const MOST_BY_LEVEL: f64 = 12.0;
/// Usual deviations within which a delay is that of others.
const SAME: f64 = 8.0;
/// Deviations from packet to packet below this share of their distance do not make one the next.
const OF_DISTANCE: f64 = 0.5;
/// What may speak for a shifted part that follows one that is proved.
const NOT_WORSE: f64 = -2.0;
/// Pairs of a part that may be strays, as 1 in N.
const MOST_STRAY: usize = 4;
/// By how much clocks may drift apart.
const DRIFT: f64 = 1e-4;
/// How sure a pair is at most that is not proved.
const UNPROVED: f32 = 0.3;

impl Matcher {
    /// Lowers the confidence of pairs by order that are as good when they are shifted.
    pub(in crate::matching) fn prove(&mut self, held: &mut [Tunnelled]) {
        if !self.order.has_begun() {
            return;
        }
        let makes = |sa: u32, bytes: u32| Made::by(self.order.mapping(sa), bytes);
        let mut lanes = std::mem::take(&mut self.members);
        let mut loose = self.members(held, &mut lanes);
        for (lane, members) in lanes.iter_mut().enumerate().filter(|(_, members)| !members.is_empty()) {
            members.sort_by_key(|member| (member.stretch, member.plain_ns));
            let Some(proof) = self.proofs.get(lane).copied() else { continue };
            let first = self.order.level(lane);
            let lane_of = Stretches { members, makes, one_clock: self.settings.one_clock, shares: OnceCell::new() };
            let (proof, mut open) = lane_of.prove(proof, first);
            if let Some(loose) = loose.get_mut(lane).map(std::mem::take).filter(|loose| !loose.is_empty()) {
                // A pair that was made out of order is as good as the pairs beside it.
                let mut places: BTreeMap<usize, bool> = members.iter().map(|member| (member.at, false)).collect();
                places.extend(open.iter().map(|at| (*at, true)));
                let is_open = |at: &usize| {
                    let beside = [places.range(..at).next_back(), places.range(at..).next()];
                    beside.into_iter().flatten().any(|(_, open)| *open)
                };
                open.extend(loose.into_iter().filter(is_open));
            }
            for at in open {
                if let Some(TunnelledFate::Paired(pairing)) = held.get_mut(at).map(|packet| &mut packet.fate) {
                    pairing.confidence = pairing.confidence.min(UNPROVED);
                }
            }
            if let Some(own) = self.proofs.get_mut(lane) {
                *own = proof;
            }
        }
        self.members = lanes;
    }
}

/// The pairs of one lane, in the order of their stretches.
struct Stretches<'m, M> {
    members: &'m [PlacedPair],
    makes: M,
    one_clock: bool,
    /// What each length says that fits, in nats.
    shares: OnceCell<BTreeMap<u32, f64>>,
}

impl<M: Fn(u32, u32) -> Made> Stretches<'_, M> {
    /// The delay at the end of each part that is proved.
    fn levels(&self, parts: &[ProofPart], proof: Proof, first: Option<Level>) -> Vec<Option<Level>> {
        let mut levels: Vec<Option<Level>> = Vec::with_capacity(parts.len());
        let mut before = proof.latest.map(|(_, level)| level).or(first);
        let mut going_on = proof.latest.is_some_and(|(stretch, _)| Some(stretch) == self.stretch(0));
        for part in parts {
            let is_next = going_on && part.goes_on;
            let own = self.is_proved(part.range, before, is_next);
            let level = if own { self.level(part.range, true, before).or(before) } else { None };
            going_on = own;
            before = level.or(before);
            levels.push(level);
        }
        // What comes before a stretch that is proved has its delay too.
        if levels.iter().all(Option::is_some) {
            return levels;
        }
        let (mut after, mut goes_on): (Option<Level>, bool) = (None, false);
        for (own, part) in levels.iter_mut().zip(parts).rev() {
            if own.is_none()
                && let Some(after) = after
                && self.is_proved(part.range, Some(after), goes_on)
            {
                *own = self.level(part.range, true, Some(after));
            }
            if own.is_some() {
                after = self.level(part.range, false, after).or(after);
            }
            goes_on = own.is_some() && part.goes_on;
        }
        levels
    }

    /// The proof, and the places of the pairs that are open.
    fn prove(&self, mut proof: Proof, first: Option<Level>) -> (Proof, Vec<usize>) {
        let parts = self.parts();
        let mut levels = self.levels(&parts, proof, first);
        let strays: Vec<Vec<usize>> = parts.iter().map(|part| self.strays(part.range)).collect();
        for ((level, part), strays) in levels.iter_mut().zip(&parts).zip(&strays) {
            let (from, to) = part.range;
            // A part in which many pairs contradict the others proves nothing.
            if strays.len() * MOST_STRAY > to - from {
                *level = None;
            }
        }
        let mut open = Vec::new();
        for (at, (level, part)) in levels.iter().zip(&parts).enumerate() {
            // Where the order was lost is not known to the packet.
            let is_open = |at: Option<usize>| at.and_then(|at| levels.get(at)).is_some_and(Option::is_none);
            let (from, to) = part.range;
            if level.is_some() && is_open(at.checked_sub(1)) {
                open.extend(self.members.get(from..to.min(from + ENDS)).unwrap_or_default().iter().map(|own| own.at));
            }
            if level.is_some() && is_open(at.checked_add(1)) {
                let last = self.members.get(from.max(to.saturating_sub(ENDS))..to).unwrap_or_default();
                open.extend(last.iter().map(|own| own.at));
            }
            let members = self.members.get(part.range.0..part.range.1).unwrap_or_default();
            proof.add(members.len() as u64, (*level).zip(self.stretch(part.range.0)).map(|(level, own)| (own, level)));
            match level {
                Some(_) => {
                    let own = strays.get(at).map_or(&[][..], Vec::as_slice);
                    proof.strays += own.len() as u64;
                    proof.end_strays += own.iter().filter(|at| self.is_at_an_end(**at)).count() as u64;
                    open.extend(own);
                }
                None => open.extend(members.iter().map(|member| member.at)),
            }
        }
        (proof, open)
    }

    /// Whether the pair at this place is among the first or the last of all.
    fn is_at_an_end(&self, at: usize) -> bool {
        let (first, last) = (self.members.iter().take(ENDS), self.members.iter().rev().take(ENDS));
        first.chain(last).any(|own| own.at == at)
    }

    /// Pairs whose delay is unlike that of their neighbours, while another packet near by fits better.
    fn strays(&self, (from, to): (usize, usize)) -> Vec<usize> {
        const NEAR: [isize; 6] = [-1, 1, -2, 2, -3, 3];
        let own = self.members.get(from..to).unwrap_or_default();
        let Some((base, spread)) = usual(own) else { return Vec::new() };
        // A delay that is further off than packets are apart is that of another packet, however much the delays of a part vary that was paired
        // wrongly at its beginning.
        let usual = (SAME * spread).min(distance(own)).max(OF_DISTANCE * distance(own));
        let (begin, end) = (ENDS, self.members.len().saturating_sub(ENDS));
        let is_stray = |at: &usize| {
            let Some(member) = self.members.get(*at) else { return false };
            let off = |other: &PlacedPair| member.tunnel_ns.saturating_sub(other.plain_ns).saturating_sub(base) as f64;
            let apart = off(member).abs();
            let better = |shift: &isize| {
                at.checked_add_signed(*shift)
                    .and_then(|at| self.members.get(at))
                    .is_some_and(|other| off(other).abs() * 2.0 < apart && self.fits(member, other))
            };
            let fits = |shift: &isize| {
                let other = at.checked_add_signed(*shift).and_then(|at| self.members.get(at));
                other.is_some_and(|other| self.fits(member, other))
            };
            // At either end of all pairs the packet that fits better may be none of theirs.
            let is_near_end = *at < begin || *at >= end;
            apart > usual && (NEAR.iter().any(better) || is_near_end && NEAR.iter().any(fits))
        };
        let mut strays: Vec<usize> = (from..to).filter(is_stray).collect();
        strays.extend(self.shifted_runs((from, to), base, spread));
        // At either end of all pairs the order is found where the usual delay is.
        let is_unlike = |at: &usize| {
            let delay = self.members.get(*at).map_or(base, PlacedPair::delay);
            (*at < begin || *at >= end) && delay.saturating_sub(base).saturating_abs() as f64 > SAME * spread
        };
        let beside = |at: usize| {
            let before = (from..at).rev().take_while(is_unlike);
            before.chain((at + 1..to).take_while(is_unlike)).collect::<Vec<usize>>()
        };
        let unlike: Vec<usize> = strays.iter().flat_map(|at| beside(*at)).collect();
        strays.extend(unlike);
        // Between a stray and the end nothing proves that the order was found again.
        if let Some(last) = strays.iter().filter(|at| **at < begin).max().copied() {
            strays.extend(from..last);
        }
        if let Some(first) = strays.iter().filter(|at| **at >= end).min().copied() {
            strays.extend(first..to);
        }
        strays.sort_unstable();
        strays.dedup();
        strays.into_iter().filter_map(|at| Some(self.members.get(at)?.at)).collect()
    }

    /// Whether a packet in the tunnel may be the plaintext packet of another pair.
    fn fits(&self, member: &PlacedPair, other: &PlacedPair) -> bool {
        let made = || if other.sa == member.sa { other.made } else { (self.makes)(member.sa, other.bytes) };
        member.esp.is_none_or(|esp| made().fits(esp))
    }

    /// What each length says that fits, in nats.
    fn shares(&self) -> &BTreeMap<u32, f64> {
        self.shares.get_or_init(|| {
            let mut counts: BTreeMap<u32, f64> = BTreeMap::new();
            self.members.iter().for_each(|member| *counts.entry(member.bytes).or_default() += 1.0);
            let all = self.members.len().max(1) as f64;
            counts.into_iter().map(|(bytes, count)| (bytes, -(count / all).ln())).collect()
        })
    }

    fn stretch(&self, at: usize) -> Option<u32> {
        self.members.get(at).map(|member| member.stretch)
    }

    /// The delay at one end of a stretch. How much it varies is taken from before where there are few pairs.
    fn level(&self, (from, to): (usize, usize), end: bool, before: Option<Level>) -> Option<Level> {
        let own = self.members.get(from..to)?;
        let near = if end { own.get(own.len().saturating_sub(ENDS)..)? } else { own.get(..own.len().min(ENDS))? };
        let (base, spread) = middle(near)?;
        let spread = match before {
            Some(before) if near.len() < ENDS => spread.max(before.spread),
            _ => spread,
        };
        let ns = if end { near.last() } else { near.first() }?.plain_ns;
        Some(Level { base, spread: spread.max(1_000), ns })
    }

    /// Whether a part fits better than each shifted one; `goes_on`: it follows one that does, and then must not fit worse.
    fn is_proved(&self, range: (usize, usize), level: Option<Level>, goes_on: bool) -> bool {
        let own = self.members.get(range.0..range.1).unwrap_or_default();
        let changes = own.windows(2).filter_map(|two| Some(change(two.first()?, two.get(1)?)));
        let jitter = median_of::<LONGEST>(changes).unwrap_or(1_000).max(1_000) as f64;
        let distance = OF_DISTANCE * distance(own);
        let spread = level.map_or(0, |level| level.spread) as f64;
        let calm = jitter <= (SAME * spread).max(distance);
        let off = level.and_then(|level| self.off(range, level, 0));
        let same = calm && off.is_some_and(|(off, scale)| off <= (SAME * scale).max(distance));
        if !same && own.len() < PAIRS_ALONE {
            return false;
        }
        let may_be_alone = calm || same || {
            let shares = self.shares();
            own.iter().filter_map(|member| shares.get(&member.bytes)).sum::<f64>() >= RARE
        };
        let usual = costs(own, jitter);
        let most = most_for(&usual);
        let level = level.filter(|_| same);
        let needed = match (same, goes_on) {
            (true, true) => NOT_WORSE,
            (true, false) => NEEDED,
            (false, _) => NEEDED_ALONE,
        };
        // With this much from lengths and changes, no delay can make the part unproved.
        let enough = if level.is_some() { needed + MOST_BY_LEVEL } else { needed };
        let lengths = PartLengths::of(own);
        may_be_alone
            && SHIFTS.iter().all(|shift| {
                if lengths.as_ref().is_some_and(|lengths| lengths.suffice(*shift, most, enough)) {
                    return true;
                }
                let inside = self.against(own, (&usual, most), *shift, (jitter, enough));
                inside >= enough
                    || level.is_some_and(|level| inside + self.by_level(range, level, off, *shift) >= needed)
            })
    }

    /// What lengths and changes of the delay say against the shifted stretch, as far as it takes to know that it is `enough`; `usual`: what
    /// those of the stretch itself cost, and the most that they can say for the shifted one.
    fn against(
        &self,
        own: &[PlacedPair],
        (usual, mut rest): (&[f32; LONGEST], f64),
        shift: isize,
        (jitter, enough): (f64, f64),
    ) -> f64 {
        let mut against = 0.0;
        let mut before: Option<(&PlacedPair, &PlacedPair)> = None;
        for ((at, member), usual) in own.iter().enumerate().zip(usual) {
            if against - rest >= enough {
                break;
            }
            rest -= SHARED * f64::from(*usual);
            let Some(other) = at.checked_add_signed(shift).and_then(|at| own.get(at)) else { continue };
            if !self.fits(member, other) {
                against += CONTRADICTED;
                before = None;
                continue;
            }
            if let Some((last, last_other)) = before {
                let shifted = (member.tunnel_ns.saturating_sub(other.plain_ns))
                    .saturating_sub(last.tunnel_ns.saturating_sub(last_other.plain_ns));
                against += SHARED * f64::from(dear(shifted as f64, jitter) - usual);
            }
            before = Some((member, other));
        }
        against
    }

    /// By how much the delay of the shifted stretch is off a level, and the scale of that.
    fn off(&self, (from, to): (usize, usize), level: Level, shift: isize) -> Option<(f64, f64)> {
        let first = self.members.get(from)?;
        let last = self.members.get(to.checked_sub(1)?)?;
        let is_later = first.plain_ns >= level.ns;
        let (start, end) = if is_later { (from, to.min(from + ENDS)) } else { (from.max(to.saturating_sub(ENDS)), to) };
        let shifted = (start..end).filter_map(|at| {
            let other = self.members.get(at.checked_add_signed(shift)?)?;
            Some(self.members.get(at)?.tunnel_ns.saturating_sub(other.plain_ns))
        });
        let delay = median_of::<ENDS>(shifted)?;
        let apart = if is_later { first.plain_ns } else { last.plain_ns }.saturating_sub(level.ns).saturating_abs();
        let drift = if self.one_clock { 0.0 } else { DRIFT * apart as f64 };
        Some((delay.saturating_sub(level.base).saturating_abs() as f64, level.spread as f64 + drift))
    }

    /// What the delay of other stretches says against the shifted one; `own`: by how much the stretch itself is off it.
    fn by_level(&self, range: (usize, usize), level: Level, own: Option<(f64, f64)>, shift: isize) -> f64 {
        let (Some((own, scale)), Some((shifted, _))) = (own, self.off(range, level, shift)) else {
            // Nothing is there that it could be shifted to.
            return MOST_BY_LEVEL;
        };
        ((shifted - own) / scale).clamp(-MOST_BY_LEVEL, MOST_BY_LEVEL)
    }
}

/// The most that changes of the delay can say for a shifted stretch: none costs less than nothing. `usual`: what those of the stretch cost.
fn most_for(usual: &[f32; LONGEST]) -> f64 {
    /// More than sums are rounded by.
    const ROUNDING: f64 = 1.0;
    SHARED * usual.iter().map(|cost| f64::from(*cost)).sum::<f64>() + ROUNDING
}

/// What the changes of the delay from pair to pair cost.
fn costs(own: &[PlacedPair], jitter: f64) -> [f32; LONGEST] {
    let mut costs = [0.0; LONGEST];
    for (cost, two) in costs.iter_mut().skip(1).zip(own.windows(2)) {
        if let [one, other] = two {
            *cost = dear(change(one, other) as f64, jitter);
        }
    }
    costs
}
