//! What the pairs add up to, by SA and by size.

mod found;
mod headers;
mod pads;
mod sa;
mod times;
mod turns;

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::FixedState;

pub(in crate::matching) use self::found::StrangerSum;
use self::found::Strangers;
use self::headers::HeaderRuns;
pub(in crate::matching) use self::pads::Pads;
use self::sa::STRAY;
pub(in crate::matching) use self::sa::SaTally;
pub(crate) use self::sa::{Alone, AloneFrame};
use self::turns::Turns;
use super::clock::{Clock, Difference};
use super::quantiles::Quantiles;
use super::sizes::{SizeTallies, SizedPair};
use crate::matching::limits::MAX_EXAMPLES;
use crate::matching::packets::flows::FlowId;
use crate::matching::packets::ledger::{Inner, PairBasis, PairedPlain, Pairing, Tunnelled, TunnelledFate};
use crate::matching::packets::mapping::Mapping;
use crate::matching::packets::prefix::Prefix;
use crate::matching::spread::TimeSpread;
use crate::matching::{PairSettings, TunnelKey, id};
use crate::model::pairs::Pair;
use crate::model::report::FrameRef;
use crate::model::report::Pattern;
use crate::model::{Address, FramePos};

/// A pair that is less sure is ambiguous.
const SURE: f32 = 0.9;
/// A pair that is less sure is none where its packets are much further apart than those of sure pairs.
const UNSURE: f32 = 0.7;
/// A pair that is less sure has no latency.
const TIMED: f32 = 0.5;
/// How sure a pair is whose times contradict it.
const IMPOSSIBLE: f32 = 0.3;

/// Padding of a pair.
#[derive(Clone, Copy, Debug)]
pub(in crate::matching) struct PadExample {
    pub(in crate::matching) plain: FramePos,
    pub(in crate::matching) pattern: Pattern,
    pub(in crate::matching) tunnel: FramePos,
    pub(in crate::matching) carried: Option<bool>,
}

/// All of them.
#[derive(Debug, Default)]
pub(in crate::matching) struct Tally {
    pub(in crate::matching) sas: Vec<SaTally>,
    pub(in crate::matching) refused_sas: u64,
    pub(in crate::matching) refused_sizes: u64,
    /// Pairs whose size has no times of its own.
    pub(in crate::matching) untimed: u64,
    sizes: usize,
    pub(in crate::matching) flow_sa: HashMap<FlowId, u32, FixedState>,
    pub(in crate::matching) turns: Turns,
    pub(in crate::matching) strangers: Strangers,
    pub(in crate::matching) plain_pads: Pads,
    pub(in crate::matching) tunnel_pads: Pads,
    pub(in crate::matching) carried: u64,
    pub(in crate::matching) carried_known: u64,
    pub(in crate::matching) examples: Vec<PadExample>,
    pairs: u64,
    /// Pairs over time.
    pub(in crate::matching) spread: TimeSpread,
}

impl Tally {
    pub(in crate::matching) const fn has_pairs(&self) -> bool {
        self.pairs > 0
    }

    pub(in crate::matching) fn name(&mut self, key: TunnelKey) {
        self.sas.push(SaTally {
            key,
            name: id(key).into(),
            matched: 0,
            ambiguous: 0,
            guessed: 0,
            strays: 0,
            far_guesses: 0,
            shifted: 0,
            unsearched: 0,
            at_once: 0,
            alone: 0,
            unread: 0,
            alone_frames: Alone::default(),
            uncovered: 0,
            repeated: 0,
            basis: [0; 3],
            confidence: 0.0,
            votes: 0,
            first_difference: None,
            encapsulated: None,
            furthest: None,
            backwards: 0,
            reordered: 0,
            src: None,
            dst: None,
            times: Quantiles::default(),
            guesses: Quantiles::default(),
            overtaken: 0,
            longest: 0,
            bounded: 0,
            cut_through: Quantiles::default(),
            store_and_forward: Quantiles::default(),
            header: HeaderRuns::default(),
            sizes: SizeTallies::default(),
            mapping: None,
            ah_bytes: None,
            transport: None,
        });
    }

    /// What a pair says about which tap saw it first.
    pub(in crate::matching) fn vote(&mut self, packet: &Tunnelled, by_order: Option<bool>) {
        let TunnelledFate::Paired(Pairing { plain, .. }) = &packet.fate else { return };
        let Some(sa) = self.sas.get_mut(packet.sa as usize) else { return };
        if let (Some(p), Some(t)) = (plain.time.ns(), packet.time.ns()) {
            sa.first_difference.get_or_insert(t.saturating_sub(p));
        }
        match (by_order, packet.inner) {
            (_, Some(inner)) => sa.votes += i64::from(plain.marks.ttl.cmp(&inner.marks.ttl) as i8),
            (Some(encapsulated), None) => sa.votes += if encapsulated { 1 } else { -1 },
            (None, None) => {}
        }
    }

    /// Decides which tap saw the packets of each SA first.
    pub(in crate::matching) fn decide(&mut self, one_clock: bool) {
        let ends = |key: TunnelKey| match key {
            TunnelKey::Sa(sa) => (sa.src, sa.dst),
            TunnelKey::Bare(_, src, dst) => (src, dst),
        };
        // By endpoints: what SAs with votes say, and the differences of those without.
        let mut known: BTreeMap<(Address, Address), i64> = BTreeMap::new();
        let mut differences: BTreeMap<(Address, Address), i64> = BTreeMap::new();
        for sa in &self.sas {
            let (src, dst) = ends(sa.key);
            *known.entry((src, dst)).or_default() += sa.votes;
            *known.entry((dst, src)).or_default() -= sa.votes;
            if let Some(difference) = sa.first_difference {
                differences.entry((src, dst)).or_insert(difference);
            }
        }
        for sa in self.sas.iter_mut().filter(|sa| sa.encapsulated.is_none() && sa.first_difference.is_some()) {
            let (src, dst) = ends(sa.key);
            let votes = if sa.votes == 0 { known.get(&(src, dst)).copied().unwrap_or(0) } else { sa.votes };
            let by_time = || {
                let own = sa.first_difference?;
                match differences.get(&(dst, src)) {
                    Some(other) if *other != own => Some(own > *other),
                    // With one direction and two clocks the sign says nothing; most taps stand in front of the gateway.
                    _ if one_clock => Some(own >= 0),
                    _ => Some(true),
                }
            };
            sa.encapsulated = if votes == 0 { by_time() } else { Some(votes > 0) };
        }
    }

    /// The two timestamps of a pair that is sure enough to compare clocks by.
    pub(in crate::matching) fn difference(&self, packet: &Tunnelled) -> Option<Difference> {
        let TunnelledFate::Paired(Pairing { plain, basis, confidence, .. }) = &packet.fate else { return None };
        let (by_order, confidence) = (*basis == PairBasis::Order, *confidence);
        let (plain_ns, tunnel_ns) = (plain.time.ns()?, packet.time.ns()?);
        let encapsulated = self.sas.get(packet.sa as usize)?.encapsulated?;
        let later_ns = tunnel_ns.saturating_sub(plain_ns);
        let guessed = by_order && confidence < TIMED;
        (guessed || confidence >= SURE).then_some(Difference { plain_ns, later_ns, encapsulated, by_order, guessed })
    }

    /// Counts a settled packet; a row where it is a pair and rows are `wanted`.
    pub(in crate::matching) fn count(
        &mut self,
        packet: &Tunnelled,
        clock: &Clock,
        contradicted: bool,
        settings: &PairSettings,
        mapping: Option<Mapping>,
        wanted: bool,
    ) -> Option<Pair> {
        let sa = self.sas.get_mut(packet.sa as usize)?;
        let pairing = match &packet.fate {
            TunnelledFate::Paired(pairing) => pairing,
            TunnelledFate::Repeated => {
                sa.repeated += 1;
                return None;
            }
            TunnelledFate::Uncovered => {
                sa.uncovered += 1;
                return None;
            }
            TunnelledFate::Alone => {
                sa.alone += 1;
                sa.unread += u64::from(packet.identity.is_none());
                self.strangers.add(packet);
                sa.alone_frames.add(packet);
                self.spread.alone(packet, sa.encapsulated);
                return None;
            }
            TunnelledFate::Silent => {
                sa.alone_frames.measure(packet);
                return None;
            }
            TunnelledFate::Waiting | TunnelledFate::Part => return None,
        };
        let Pairing { plain, basis, confidence, .. } = pairing;
        let (basis, confidence) = (*basis, *confidence);
        self.pairs += 1;
        sa.matched += 1;
        sa.overtaken += u64::from(pairing.overtaken);
        if let Some(count) = sa.basis.get_mut(basis as usize) {
            *count += 1;
        }
        if mapping.is_some() {
            sa.mapping = mapping;
        }
        if packet.costs.ah > 0 {
            sa.ah_bytes = Some(packet.costs.ah);
        }
        if let Some(inner) = packet.inner {
            sa.transport = Some(packet.is_transport(inner));
        }
        if sa.furthest.is_some_and(|furthest| plain.pos < furthest) {
            sa.reordered += 1;
        }
        sa.furthest = sa.furthest.max(Some(plain.pos));
        let delay = sa.delay(packet, plain, clock);
        // No packet arrives before it was sent: the pair is wrong, or the clock is.
        let impossible = delay.is_some_and(|delay| (delay as f64) < -clock.uncertainty_ns.unwrap_or(0.0) - Clock::STEP);
        sa.backwards += u64::from(impossible);
        // Of packets that are equal it is another one, where all others came after they were sent.
        let alone = sa.matched > STRAY && sa.backwards * STRAY < sa.matched;
        let doubtful = if basis == PairBasis::Order { impossible || contradicted } else { impossible && alone };
        let far = basis == PairBasis::Order && confidence < UNSURE && delay.is_some_and(|delay| sa.is_far(delay));
        let confidence = if doubtful || far { confidence.min(IMPOSSIBLE) } else { confidence };
        if let Some(delay) = delay.filter(|_| confidence >= SURE) {
            sa.longest = sa.longest.max(delay);
        }
        let timed_delay = delay.filter(|_| confidence >= TIMED && !impossible);
        let latency = timed_delay.map(|delay| sa.time(delay, packet, plain, settings));
        let guess = delay.filter(|_| latency.is_none() && !doubtful && !far && basis == PairBasis::Order);
        guess.into_iter().for_each(|delay| sa.guesses.add(delay.max(0)));
        sa.confidence += f64::from(confidence);
        sa.ambiguous += u64::from(confidence < SURE);
        sa.guessed += u64::from(confidence < TIMED);
        sa.header.add(packet.marks, plain.marks);
        if self.turns.note(plain.flow, plain.time.ns(), packet.sa) {
            self.flow_sa.insert(plain.flow, packet.sa);
        }
        self.plain_pads.add(plain.pad_bytes, plain.pattern);
        self.tunnel_pads.add(packet.pad_bytes, packet.pattern);
        let carried = carried(packet, plain, mapping);
        if let Some(pattern) = plain.pattern.filter(|_| plain.pad_bytes > 0) {
            self.carried_known += u64::from(carried.is_some());
            self.carried += u64::from(carried == Some(true));
            if self.examples.len() < MAX_EXAMPLES {
                self.examples.push(PadExample { plain: plain.pos, pattern, tunnel: packet.pos, carried });
            }
        }
        let known = packet.complete;
        if known {
            let size = sa.sizes.tally(plain.bytes, &mut self.sizes);
            self.refused_sizes += u64::from(size.is_none());
            if let Some(size) = size {
                size.add(SizedPair::of(packet, plain.bytes, basis, mapping, carried));
                if let Some(last) = latency {
                    match &mut size.times {
                        Some(times) => times.add_bucketed(last),
                        None => self.untimed += 1,
                    }
                }
            }
        }
        let outer = u64::from(packet.outer_bytes);
        self.spread.pair(packet, plain, sa.encapsulated, known, latency);
        wanted.then(|| Pair {
            plain: frame(plain.pos),
            tunnel: frame(packet.pos),
            sa: sa.name.clone(),
            sequence: packet.sequence,
            inner_bytes: plain.bytes.into(),
            outer_bytes: known.then_some(outer),
            overhead_bytes: known.then(|| outer as i64 - i64::from(plain.bytes)),
            delay_ns: delay,
            basis,
            confidence: (f64::from(confidence) * 1_000.0).round() / 1_000.0,
            plain_time_ns: plain.time.ns(),
            tunnel_time_ns: packet.time.ns(),
        })
    }

    /// Sums up what is only counted yet.
    pub(in crate::matching) fn settle(&mut self) {
        for sa in &mut self.sas {
            sa.sizes.settle();
            sa.header.settle();
        }
    }

    /// Notes the addresses of a pair's flow.
    pub(in crate::matching) fn addresses(&mut self, sa: u32, src: Address, dst: Address) {
        if let Some(sa) = self.sas.get_mut(sa as usize) {
            sa.src.get_or_insert(Prefix::of(src)).cover(src);
            sa.dst.get_or_insert(Prefix::of(dst)).cover(dst);
        }
    }
}

pub(in crate::matching) fn frame(pos: FramePos) -> FrameRef {
    FrameRef { capture: pos.capture(), frame: pos.number() }
}

/// Whether the padding of the plaintext frame is in the tunnel; `None` where both ways make the same length, or nothing is known.
fn carried(packet: &Tunnelled, plain: &PairedPlain, mapping: Option<Mapping>) -> Option<bool> {
    if plain.pad_bytes == 0 {
        return None;
    }
    if let Some(Inner { carried_pad, .. }) = packet.inner {
        return packet.complete.then_some(carried_pad > 0);
    }
    let (esp, mapping) = (packet.esp.filter(|_| packet.complete)?, mapping?);
    let (without, with) = (mapping.esp(plain.bytes)?, mapping.esp(plain.bytes.saturating_add(plain.pad_bytes))?);
    if without == with {
        None
    } else if esp == without {
        Some(false)
    } else {
        (esp == with).then_some(true)
    }
}
