//! Where two sequences of packets begin to belong together, by lengths and times alone.
//!
//! Lengths say which transform there may be; the sample's lengths in their order say by how much one sequence is shifted against the
//! other; an alignment then says how far the timestamps are apart.

use std::collections::{BTreeMap, HashMap, VecDeque};

use foldhash::fast::FixedState;

use super::align;
use super::delay::{Delay, median};
use super::lane::{Lane, PlainItem};
use super::ledger::{Ledger, PlainFate};
use super::mapping::{self, Lengths, Mapping, Mappings};
use super::order::{SAMPLE, SaInfo};
use crate::transform::inference::Catalogue;
use crate::transform::iv::IvPattern;

/// Plaintext packets among which a beginning is looked for.
const AMONG: usize = 32_768;
/// Shifts that are looked at closely.
const SHIFTS: usize = 4_096;
/// SAs whose transform is looked for; more have the first one's.
const FITTED: usize = 64;
/// A beginning that explains a smaller share of the packets is none.
const LEAST_SHARE: f64 = 0.5;

/// A beginning of one lane.
pub(super) struct Beginning {
    /// How well it fits, to compare beginnings.
    pub(super) score: f64,
    pub(super) mappings: Mappings,
    pub(super) delay: Delay,
    /// Index of the plaintext packet that the first tunnelled one is.
    pub(super) lag: isize,
    /// How sure it is that no other shift fits as well, 0 to 1.
    pub(super) certainty: f32,
    /// Whether much of the tunnel's traffic is not on the plain side.
    pub(super) partial: bool,
}

/// What is known besides the packets of a lane.
pub(super) struct Search<'s> {
    pub(super) ledger: &'s Ledger,
    pub(super) catalogue: &'s Catalogue,
    pub(super) sas: &'s [SaInfo],
    /// Given transforms, by SA.
    pub(super) given: &'s HashMap<u32, Mapping, FixedState>,
}

impl Search<'_> {
    /// Looks for a beginning of one lane on one way. The order of encryption serves for both directions.
    pub(super) fn begin(&self, lane: &mut Lane, plain: &VecDeque<PlainItem>) -> Option<Beginning> {
        lane.encapsulated = true;
        // What was seen beside the tunnel in clear, or found by its content, is not in it.
        let waits =
            |item: &&PlainItem| self.ledger.plain.get(item.serial).is_some_and(|p| p.fate == PlainFate::Waiting);
        let items: Vec<PlainItem> = plain.iter().filter(waits).take(AMONG).copied().collect();
        if items.is_empty() || lane.tunnelled().is_empty() {
            return None;
        }
        lane.partial = false;
        lane.mappings = self.fit(lane, &items)?;
        let tunnelled = lane.sample(self.ledger, SAMPLE);
        let plain: Vec<align::Plain> = items.iter().map(|item| lane.plain_of(item, self.ledger)).collect();
        let mappings = lane.mappings.clone();
        let makes = |mapping: u8, inner: u32, esp: u32| mappings.makes(mapping, inner, esp);
        let (lag, certainty) = shift(&plain, &tunnelled, &makes)?;
        let from = usize::try_from(lag).unwrap_or(0).saturating_sub(48);
        let near = plain.get(from..plain.len().min(from + tunnelled.len() + 640)).unwrap_or_default();
        let near_lag = lag - isize::try_from(from).unwrap_or(0);
        let real = tunnelled.iter().filter(|b| !b.hole).count();
        let mut tunnelled = tunnelled;
        let mut delay = Delay { base: None, spread: 1e9, jitter: typical_gap(&plain), edge: None };
        let mut result = None;
        for _ in 0..2 {
            let aligned = align::align(near, &tunnelled, near_lag, 0.1, delay, makes);
            let differences: Vec<i64> = aligned
                .iter()
                .zip(&tunnelled)
                .filter(|(_, b)| !b.hole)
                .filter_map(|(found, b)| Some(b.ns.saturating_sub(near.get((*found)?.0)?.ns)))
                .collect();
            delay = Delay::of(&differences)?;
            result = Some(differences.len());
            lane.partial = differences.len() * 10 < real * 9;
            tunnelled = lane.sample(self.ledger, SAMPLE);
        }
        // Of few plaintext packets all may be in a tunnel that has more.
        let found = result? as f64;
        let share = found / real.min(near.len()).max(1) as f64;
        if share < LEAST_SHARE {
            return None;
        }
        let score = 20.0 * share + 20.0 * found / real.max(1) as f64 + 40.0 - (delay.spread + delay.jitter).ln();
        Some(Beginning { score, mappings, delay, lag, certainty, partial: std::mem::take(&mut lane.partial) })
    }

    /// The mapping of each SA, from lengths alone; `None` where no SA has one.
    fn fit(&self, lane: &Lane, plain: &[PlainItem]) -> Option<Mappings> {
        let mut inner = Lengths::new();
        for item in plain {
            *inner.entry(item.bytes).or_default() += 1;
        }
        let mut esp: BTreeMap<u32, Lengths> = BTreeMap::new();
        for item in lane.tunnelled() {
            let packet = self.ledger.tunnel.get(item.serial).filter(|packet| packet.complete);
            if let Some(length) = packet.and_then(|packet| packet.esp) {
                *esp.entry(item.sa).or_default().entry(length).or_default() += 1;
            }
        }
        let mut by_packets: Vec<(u32, &Lengths)> = esp.iter().map(|(sa, lengths)| (*sa, lengths)).collect();
        by_packets.sort_by_key(|(sa, lengths)| (std::cmp::Reverse(lengths.values().sum::<u32>()), *sa));
        let mut mappings = Mappings::default();
        for (sa, lengths) in by_packets.into_iter().take(FITTED) {
            let iv = self.sas.get(sa as usize).map_or(IvPattern::Unclear, |info| IvPattern::of(&info.ivs));
            let fits = |(_, share): &(Mapping, f64)| *share >= 0.2;
            let stated = self.given.get(&sa).map(|given| mapping::stated(given, &inner, lengths));
            let found = stated.filter(fits).or_else(|| mapping::fit(&inner, lengths, self.catalogue, iv).filter(fits));
            if let Some((found, _)) = found {
                mappings.insert(sa, found);
            }
        }
        (!mappings.is_empty()).then_some(mappings)
    }
}

/// Which of two lanes passed the plain tap first. Its timestamps at the tunnel are the later ones, whatever the clocks are; with one
/// lane alone the TTL must tell, or the sign of the difference.
pub(super) fn directions(lanes: &mut [Lane; 2], ledger: &Ledger) {
    let [one, other] = lanes;
    let base = |lane: &Lane| lane.delay.and_then(|delay| delay.base);
    match (base(one), base(other)) {
        (Some(first), Some(second)) => {
            one.encapsulated = first >= second;
            other.encapsulated = !one.encapsulated;
        }
        (Some(base), None) => {
            one.encapsulated = fresh(one, ledger).unwrap_or(base >= 0.0);
            other.encapsulated = !one.encapsulated;
        }
        (None, Some(base)) => {
            other.encapsulated = fresh(other, ledger).unwrap_or(base >= 0.0);
            one.encapsulated = !other.encapsulated;
        }
        (None, None) => {}
    }
}

/// Whether most plaintext packets have a TTL that no router has lowered yet: senders begin with 32, 64, 128 or 255. `None` where the
/// two kinds are mixed.
fn fresh(lane: &Lane, ledger: &Ledger) -> Option<bool> {
    let sample: Vec<bool> = lane
        .plain
        .iter()
        .take(SAMPLE)
        .filter_map(|item| Some(matches!(ledger.plain.get(item.serial)?.marks.ttl, 32 | 64 | 128 | 255)))
        .collect();
    let fresh = sample.iter().filter(|fresh| **fresh).count();
    if fresh * 10 >= sample.len() * 9 {
        Some(true)
    } else if fresh * 10 <= sample.len() {
        Some(false)
    } else {
        None
    }
}

/// Half of the usual time between packets: while nothing else is known, a difference that changes by more is suspicious.
fn typical_gap(plain: &[align::Plain]) -> f64 {
    let gaps = plain.iter().zip(plain.iter().skip(1)).take(SAMPLE).map(|(a, b)| b.ns.saturating_sub(a.ns)).collect();
    (median(gaps).unwrap_or(0) as f64 / 4.0).max(1_000.0)
}

/// By how many packets the plaintext sequence is shifted against the tunnel's: where most lengths fit, and of those that fit as
/// well, where the times do. Also how sure that is.
fn shift(
    plain: &[align::Plain],
    tunnelled: &[align::Tunnelled],
    makes: &impl Fn(u8, u32, u32) -> bool,
) -> Option<(isize, f32)> {
    let mut by_length: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (at, packet) in plain.iter().enumerate() {
        by_length.entry(packet.bytes).or_default().push(at);
    }
    let mut made: BTreeMap<(u8, u32), Vec<u32>> = BTreeMap::new();
    let offset = tunnelled.len();
    let mut votes = vec![0_u32; plain.len() + offset];
    for (at, packet) in tunnelled.iter().enumerate().filter(|(_, packet)| !packet.hole) {
        let Some(esp) = packet.esp else { continue };
        let lengths = made
            .entry((packet.mapping, esp))
            .or_insert_with(|| by_length.keys().copied().filter(|inner| makes(packet.mapping, *inner, esp)).collect());
        for place in lengths.iter().filter_map(|length| by_length.get(length)).flatten() {
            if let Some(vote) = votes.get_mut(place + offset - at) {
                *vote += 1;
            }
        }
    }
    let most = *votes.iter().max()?;
    if most == 0 {
        return None;
    }
    let mut candidates: Vec<(u32, isize)> = votes
        .iter()
        .enumerate()
        .filter(|(_, votes)| **votes * 10 >= most * 8)
        .map(|(at, votes)| (*votes, at as isize - offset as isize))
        .collect();
    candidates.sort_by_key(|(votes, lag)| (std::cmp::Reverse(*votes), lag.unsigned_abs()));
    candidates.truncate(SHIFTS);
    let gap = typical_gap(plain);
    let mut scored: Vec<(f32, isize)> =
        candidates.iter().map(|(_, lag)| (straightness(plain, tunnelled, *lag, gap, makes), *lag)).collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.unsigned_abs().cmp(&b.1.unsigned_abs())));
    let (best, lag) = *scored.first()?;
    let second = scored.get(1).map_or(f32::MIN, |(score, _)| *score);
    let certainty = 1.0 / (1.0 + (second - best).clamp(-50.0, 0.0).exp());
    Some((lag, certainty))
}

/// How well the packets fit with this shift, one by one.
fn straightness(
    plain: &[align::Plain],
    tunnelled: &[align::Tunnelled],
    lag: isize,
    gap: f64,
    makes: &impl Fn(u8, u32, u32) -> bool,
) -> f32 {
    let mut score = 0.0;
    let mut before: Option<f64> = None;
    for (at, b) in tunnelled.iter().enumerate() {
        let Some(a) = usize::try_from(at as isize + lag).ok().and_then(|at| plain.get(at)) else {
            score -= 1.5;
            continue;
        };
        if b.hole {
            before = None;
            continue;
        }
        if b.esp.is_some_and(|esp| !makes(b.mapping, a.bytes, esp)) {
            score -= 6.0;
            before = None;
            continue;
        }
        let difference = b.ns.saturating_sub(a.ns) as f64;
        score += 1.0 - before.map_or(0.5, |before| align::dear(difference - before, gap).min(3.0));
        before = Some(difference);
    }
    score
}
