//! Pairs of opaque ESP by lengths, order and times.
//!
//! First a beginning is looked for: which way on the plain link belongs to which direction of the tunnel, which transform makes the
//! lengths, and by how much one sequence is shifted against the other. From there on the two [`Lane`]s go on by themselves.

use std::collections::{BTreeMap, HashMap, VecDeque};

use foldhash::fast::FixedState;

use super::align::{self, Delay};
use super::lane::{Lane, PlainItem, median, times};
use super::ledger::{Ledger, PlainFate, Serial, TunnelledFate};
use super::limits::MAX_WAITING;
use super::mapping::{self, Lengths, Mapping};
use crate::model::Address;
use crate::transform::inference::Catalogue;
use crate::transform::iv::{IvPattern, IvSample};

/// Tunnelled packets by which a beginning is looked for.
const SAMPLE: usize = 512;
/// Plaintext packets among which it is looked for.
const AMONG: usize = 32_768;
/// Shifts that are looked at closely.
const SHIFTS: usize = 4_096;
/// SAs whose transform is looked for; more have the first one's.
const FITTED: usize = 64;
/// Bits of evidence: a beginning that explains less of the packets is none.
const LEAST_SHARE: f64 = 0.5;

/// What is known of an SA besides its packets.
#[derive(Clone, Debug)]
pub(super) struct SaInfo {
    pub(super) src: Address,
    pub(super) dst: Address,
    pub(super) ivs: Vec<IvSample>,
}

/// The two ways on a link: of each link number, which.
type Ways = Vec<u8>;

/// A tunnelled packet before its lane is known.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    serial: Serial,
    ns: i64,
    sa: u32,
    raw: u32,
}

/// All opaque ESP.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// Before a beginning was found.
    plain: VecDeque<(u16, PlainItem)>,
    tunnelled: VecDeque<Arrival>,
    /// So many tunnelled packets must be there for the next search.
    enough: usize,
    lanes: Option<Box<[Lane; 2]>>,
    ways: Ways,
    centre: Option<Address>,
    catalogue: Option<Catalogue>,
    pub(super) sas: Vec<SaInfo>,
    /// Links of plaintext: source and destination MAC, or the colour of addresses.
    links: Links,
    /// Given transforms, by SA.
    pub(super) given: HashMap<u32, Mapping, FixedState>,
}

/// Ways on the plain link.
#[derive(Debug, Default)]
pub(super) struct Links {
    numbers: HashMap<([u8; 6], [u8; 6]), u16, FixedState>,
    frames: Vec<([u8; 6], [u8; 6], u64)>,
    /// The two that came last: packets go both ways.
    last: [u16; 2],
    colours: HashMap<Address, u8, FixedState>,
}

/// Links that are told apart.
const MAX_LINKS: usize = 4_096;
/// Addresses that are coloured where there are no MACs.
const MAX_COLOURS: usize = 1 << 16;
/// Numbers of the two ways where there are no MACs.
const COLOURED: u16 = u16::MAX - 1;

impl Links {
    /// Number of the link that a packet took.
    pub(super) fn number(&mut self, macs: Option<([u8; 6], [u8; 6])>, src: Address, dst: Address) -> u16 {
        let Some(macs) = macs else { return COLOURED + u16::from(self.colour(src, dst)) };
        let is = |id: &&u16| self.frames.get(usize::from(**id)).is_some_and(|link| (link.0, link.1) == macs);
        let latest = self.last.iter().find(is).copied();
        let id = match latest.or_else(|| self.numbers.get(&macs).copied()) {
            Some(id) => id,
            None if self.frames.len() >= MAX_LINKS => return 0,
            None => {
                let id = self.frames.len() as u16;
                self.numbers.insert(macs, id);
                self.frames.push((macs.0, macs.1, 0));
                id
            }
        };
        if let Some(link) = self.frames.get_mut(usize::from(id)) {
            link.2 += 1;
        }
        if latest.is_none() {
            self.last = [id, self.last[0]];
        }
        id
    }

    /// Without MACs: who talks to whom has two sides.
    fn colour(&mut self, src: Address, dst: Address) -> u8 {
        let colour = match (self.colours.get(&src), self.colours.get(&dst)) {
            (Some(colour), _) => *colour,
            (None, Some(other)) => 1 - *other,
            (None, None) => 0,
        };
        if self.colours.len() < MAX_COLOURS {
            self.colours.entry(src).or_insert(colour);
            self.colours.entry(dst).or_insert(1 - colour);
        }
        colour
    }

    /// The way of each link: 0 towards the station with most frames, 1 away from it, 2 neither.
    fn ways(&self) -> Ways {
        let mut stations: BTreeMap<[u8; 6], u64> = BTreeMap::new();
        for (from, to, frames) in &self.frames {
            *stations.entry(*from).or_default() += frames;
            if to[0] & 1 == 0 {
                *stations.entry(*to).or_default() += frames;
            }
        }
        let centre = stations.iter().max_by_key(|(_, frames)| **frames).map(|(station, _)| *station);
        let way = |(from, to, _): &([u8; 6], [u8; 6], u64)| match centre {
            Some(centre) if *to == centre => 0,
            Some(centre) if *from == centre => 1,
            _ => 2,
        };
        self.frames.iter().map(way).collect()
    }
}

/// A beginning of one lane.
struct Trial {
    score: f64,
    mappings: Vec<Mapping>,
    mapping_of: HashMap<u32, u8, FixedState>,
    delay: Delay,
    lag: isize,
    certainty: f32,
    partial: bool,
}

impl Order {
    pub(super) fn link(&mut self, macs: Option<([u8; 6], [u8; 6])>, src: Address, dst: Address) -> u16 {
        self.links.number(macs, src, dst)
    }

    pub(super) const fn has_begun(&self) -> bool {
        self.lanes.is_some()
    }

    /// The usual difference between the timestamps of a pair, where one is known.
    pub(super) fn usual(&self) -> Option<f64> {
        self.lanes.as_ref()?.iter().find_map(|lane| lane.delay?.base)
    }

    /// Whether packets of the SA passed the plain tap first; `None` where that is not known.
    pub(super) fn is_encapsulated(&self, sa: u32) -> Option<bool> {
        let info = self.sas.get(sa as usize)?;
        let lanes = self.lanes.as_ref()?;
        let lane = lanes.get(usize::from(self.lane_of(info)?))?;
        lane.delay.map(|_| lane.encapsulated)
    }

    /// The mapping that holds for an SA.
    pub(super) fn mapping(&self, sa: u32) -> Option<Mapping> {
        let info = self.sas.get(sa as usize)?;
        let lane = self.lanes.as_ref()?.get(usize::from(self.lane_of(info)?))?;
        lane.delay?;
        let at = lane.mapping_of.get(&sa).copied().unwrap_or(0);
        lane.mappings.get(usize::from(at)).copied()
    }

    /// Takes in a plaintext packet.
    pub(super) fn plain(&mut self, link: u16, item: PlainItem) {
        match &mut self.lanes {
            Some(lanes) => {
                if let Some(lane) = way(&self.ways, link).and_then(|way| lanes.get_mut(usize::from(way))) {
                    lane.plain.push_back(item);
                }
            }
            None => self.plain.push_back((link, item)),
        }
    }

    /// Takes in an opaque packet.
    pub(super) fn tunnelled(&mut self, ledger: &mut Ledger, serial: Serial, ns: i64, sa: u32, raw: u32) {
        let lane = self.sas.get(sa as usize).and_then(|info| self.lane_of(info));
        match (&mut self.lanes, lane) {
            (Some(lanes), Some(lane)) => {
                if let Some(lane) = lanes.get_mut(usize::from(lane)) {
                    lane.push(ledger, serial, ns, sa, raw);
                }
            }
            (Some(_), None) => ledger.leave(serial, TunnelledFate::Alone),
            (None, _) => self.tunnelled.push_back(Arrival { serial, ns, sa, raw }),
        }
    }

    /// Content has decided for some packets that came in as opaque ones.
    pub(super) fn drop_settled(&mut self, ledger: &Ledger) {
        for lane in self.lanes.iter_mut().flat_map(|lanes| lanes.iter_mut()) {
            lane.drop_settled(ledger);
        }
        let waits = |arrival: &Arrival| ledger.tunnel.get(arrival.serial).is_some_and(|packet| packet.esp.is_some());
        self.tunnelled.retain(waits);
    }

    /// Which lane an SA belongs to: away from the centre or towards it.
    fn lane_of(&self, info: &SaInfo) -> Option<u8> {
        let centre = self.centre?;
        if info.src == centre {
            Some(0)
        } else if info.dst == centre {
            Some(1)
        } else {
            None
        }
    }

    /// Settles what can be settled. `until`: no plaintext packet before this time of the tunnel's clock is still to come.
    pub(super) fn advance(
        &mut self,
        ledger: &mut Ledger,
        plain_until: i64,
        tunnel_until: i64,
        horizon: i64,
        end: bool,
    ) {
        if self.lanes.is_none() {
            let waiting = self.tunnelled.len();
            if waiting >= self.enough.max(SAMPLE) || (end && waiting > 0) {
                self.enough = (waiting * 4).max(SAMPLE);
                self.begin(ledger, end);
            }
        }
        let Some(lanes) = &mut self.lanes else {
            while self.plain.len() > MAX_WAITING {
                self.plain.pop_front();
            }
            return;
        };
        let single = lanes.iter().filter(|lane| lane.delay.is_some()).count() == 1;
        for lane in lanes.iter_mut() {
            let Some(base) = lane.delay.map(|delay| delay.base.unwrap_or(0.0)) else {
                continue;
            };
            let slack = lane.delay.map_or(0.0, |delay| (16.0 * delay.spread).max(20e6)) as i64;
            let until = plain_until.saturating_add(base as i64).saturating_sub(slack);
            let stale = plain_until.saturating_add(base as i64).saturating_sub(horizon);
            lane.advance(ledger, until, stale.min(tunnel_until.saturating_sub(horizon)), end);
            // Plaintext that is too old to be in the tunnel any more.
            let old = tunnel_until.saturating_sub(base as i64).saturating_sub(horizon.saturating_mul(2));
            while let Some(item) = lane.plain.front()
                && (item.ns < old || lane.plain.len() > MAX_WAITING)
                && lane
                    .tunnelled
                    .front()
                    .is_none_or(|t| t.ns.saturating_sub(base as i64) > item.ns.saturating_add(horizon))
            {
                ledger.give_up(item.serial, None, 0.5);
                lane.plain.pop_front();
            }
        }
        if single {
            self.begin_other(ledger, end);
        }
        if end && let Some(lanes) = &mut self.lanes {
            for lane in lanes.iter_mut() {
                lane.tunnelled.drain(..).for_each(|item| ledger.leave(item.serial, TunnelledFate::Alone));
                let known = lane.delay.is_some();
                lane.plain.drain(..).filter(|_| known).for_each(|item| ledger.give_up(item.serial, None, 0.5));
            }
        }
    }

    /// Looks for a beginning in all that waits.
    fn begin(&mut self, ledger: &mut Ledger, end: bool) {
        self.ways = self.links.ways();
        let mut packets: BTreeMap<Address, u64> = BTreeMap::new();
        for arrival in &self.tunnelled {
            if let Some(info) = self.sas.get(arrival.sa as usize) {
                *packets.entry(info.src).or_default() += 1;
                *packets.entry(info.dst).or_default() += 1;
            }
        }
        self.centre =
            packets.iter().max_by_key(|(address, count)| (**count, std::cmp::Reverse(**address))).map(|(a, _)| *a);
        let mut lanes = [Lane::default(), Lane::default()];
        for arrival in &self.tunnelled {
            let lane = self.sas.get(arrival.sa as usize).and_then(|info| self.lane_of(info));
            if let Some(lane) = lane.and_then(|lane| lanes.get_mut(usize::from(lane))) {
                lane.push(ledger, arrival.serial, arrival.ns, arrival.sa, arrival.raw);
            }
        }
        let mut plain = [VecDeque::new(), VecDeque::new()];
        for (link, item) in &self.plain {
            if let Some(own) = way(&self.ways, *link).and_then(|way| plain.get_mut(usize::from(way))) {
                own.push_back(*item);
            }
        }
        let catalogue = self.catalogue.get_or_insert_default();
        let [out, back] = &mut lanes;
        let [towards, away] = &plain;
        let trial = |lane: &mut Lane, plain: &VecDeque<PlainItem>| {
            // The order of encryption serves both for a beginning.
            lane.encapsulated = true;
            try_begin(lane, plain, ledger, catalogue, &self.sas, &self.given)
        };
        let mut trials = [[trial(out, towards), trial(out, away)], [trial(back, towards), trial(back, away)]];
        let score = |trial: &Option<Trial>| trial.as_ref().map_or(0.0, |trial| trial.score);
        let [[out_towards, out_away], [back_towards, back_away]] = &trials;
        let crossed = score(out_away) + score(back_towards) > score(out_towards) + score(back_away);
        let (way_out, way_back) = if crossed { (1, 0) } else { (0, 1) };
        let found = [
            trials.first_mut().and_then(|row| row.get_mut(way_out)).and_then(Option::take),
            trials.get_mut(1).and_then(|row| row.get_mut(way_back)).and_then(Option::take),
        ];
        if found.iter().all(Option::is_none) {
            if end {
                self.tunnelled.drain(..).for_each(|arrival| ledger.leave(arrival.serial, TunnelledFate::Alone));
            }
            return;
        }
        if crossed {
            // Lane 0 takes way 0: ways are renamed, not lanes.
            for way in &mut self.ways {
                *way = match *way {
                    0 => 1,
                    1 => 0,
                    other => other,
                };
            }
            plain.swap(0, 1);
        }
        self.ways_crossed(crossed);
        for ((lane, found), plain) in lanes.iter_mut().zip(found).zip(plain) {
            lane.plain = plain;
            if let Some(found) = found {
                lane.take(found);
            }
        }
        directions(&mut lanes, ledger);
        for arrival in self.tunnelled.drain(..) {
            let lane = self.sas.get(arrival.sa as usize).and_then(|info| {
                let centre = self.centre?;
                (info.src == centre || info.dst == centre).then_some(())
            });
            if lane.is_none() {
                ledger.leave(arrival.serial, TunnelledFate::Alone);
            }
        }
        self.plain.clear();
        self.lanes = Some(Box::new(lanes));
    }

    fn ways_crossed(&mut self, crossed: bool) {
        if crossed {
            self.links.crossed();
        }
    }

    /// One direction has begun; the other may begin later.
    fn begin_other(&mut self, ledger: &mut Ledger, end: bool) {
        let Some(lanes) = &mut self.lanes else { return };
        let Some(known) = lanes.iter().find(|lane| lane.delay.is_some()).map(|lane| lane.encapsulated) else { return };
        let catalogue = self.catalogue.get_or_insert_default();
        for lane in lanes.iter_mut().filter(|lane| lane.delay.is_none()) {
            while lane.plain.len() > MAX_WAITING {
                lane.plain.pop_front();
            }
            let waiting = lane.tunnelled.len();
            if waiting == 0 || (waiting < self.enough.max(SAMPLE) && !end) {
                continue;
            }
            self.enough = waiting * 4;
            lane.encapsulated = true;
            let plain = std::mem::take(&mut lane.plain);
            let found = try_begin(lane, &plain, ledger, catalogue, &self.sas, &self.given);
            lane.plain = plain;
            lane.encapsulated = !known;
            if let Some(found) = found {
                lane.take(found);
                if end {
                    lane.advance(ledger, i64::MAX, i64::MAX, true);
                }
            } else if waiting > MAX_WAITING / 2 {
                lane.tunnelled.drain(..).for_each(|item| ledger.leave(item.serial, TunnelledFate::Alone));
            }
        }
    }
}

impl Links {
    /// The two ways without MACs change names.
    fn crossed(&mut self) {
        self.colours.values_mut().for_each(|colour| *colour = 1 - *colour);
    }
}

impl Lane {
    fn take(&mut self, trial: Trial) {
        let Trial { score: _, mappings, mapping_of, delay, lag, certainty, partial } = trial;
        self.partial = partial;
        (self.mappings, self.mapping_of, self.lag, self.certainty) = (mappings, mapping_of, lag, certainty);
        self.delay = Some(delay);
    }
}

fn way(ways: &Ways, link: u16) -> Option<u8> {
    if link >= COLOURED {
        Some((link - COLOURED) as u8)
    } else {
        ways.get(usize::from(link)).copied().filter(|way| *way < 2)
    }
}

/// Which of two lanes passed the plain tap first. Its timestamps at the tunnel are the later ones, whatever the clocks are; with one
/// lane alone the TTL must tell, or the sign of the difference.
fn directions(lanes: &mut [Lane; 2], ledger: &Ledger) {
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

/// Looks for a beginning of one lane on one way.
fn try_begin(
    lane: &mut Lane,
    plain: &VecDeque<PlainItem>,
    ledger: &Ledger,
    catalogue: &Catalogue,
    sas: &[SaInfo],
    given: &HashMap<u32, Mapping, FixedState>,
) -> Option<Trial> {
    // What was seen beside the tunnel in clear, or found by its content, is not in it.
    let waits = |item: &&PlainItem| ledger.plain.get(item.serial).is_some_and(|p| p.fate == PlainFate::Waiting);
    let items: Vec<PlainItem> = plain.iter().filter(waits).take(AMONG).copied().collect();
    if items.is_empty() || lane.tunnelled.is_empty() {
        return None;
    }
    lane.partial = false;
    let (mappings, mapping_of) = fit(lane, &items, ledger, catalogue, sas, given)?;
    (lane.mappings, lane.mapping_of) = (mappings, mapping_of);
    let tunnelled = lane.sample(ledger, SAMPLE);
    let plain: Vec<align::Plain> = items.iter().map(|item| lane.plain_of(item, ledger)).collect();
    let mappings = lane.mappings.clone();
    let makes = |mapping: u8, inner: u32, esp: u32| {
        mappings.get(usize::from(mapping)).is_some_and(|mapping| mapping.esp(inner) == Some(esp))
    };
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
        let (base, spread, jitter) = times(&differences)?;
        delay = Delay { base: Some(base), spread, jitter, edge: None };
        result = Some(differences.len());
        lane.partial = differences.len() * 10 < real * 9;
        tunnelled = lane.sample(ledger, SAMPLE);
    }
    // Of few plaintext packets all may be in a tunnel that has more.
    let found = result? as f64;
    let share = found / real.min(near.len()).max(1) as f64;
    if share < LEAST_SHARE {
        return None;
    }
    let score = 20.0 * share + 20.0 * found / real.max(1) as f64 + 40.0 - (delay.spread + delay.jitter).ln();
    let mapping_of = lane.mapping_of.clone();
    let partial = std::mem::take(&mut lane.partial);
    Some(Trial { score, mappings, mapping_of, delay, lag, certainty, partial })
}

/// The mapping of each SA, from lengths alone.
#[allow(clippy::type_complexity)] // two results that belong together
fn fit(
    lane: &Lane,
    plain: &[PlainItem],
    ledger: &Ledger,
    catalogue: &Catalogue,
    sas: &[SaInfo],
    given: &HashMap<u32, Mapping, FixedState>,
) -> Option<(Vec<Mapping>, HashMap<u32, u8, FixedState>)> {
    let mut inner = Lengths::new();
    for item in plain {
        *inner.entry(item.bytes).or_default() += 1;
    }
    let mut esp: BTreeMap<u32, Lengths> = BTreeMap::new();
    for item in &lane.tunnelled {
        let Some(packet) = ledger.tunnel.get(item.serial).filter(|packet| packet.complete) else { continue };
        if let Some(length) = packet.esp {
            *esp.entry(item.sa).or_default().entry(length).or_default() += 1;
        }
    }
    let mut by_packets: Vec<(u32, &Lengths)> = esp.iter().map(|(sa, lengths)| (*sa, lengths)).collect();
    by_packets.sort_by_key(|(sa, lengths)| (std::cmp::Reverse(lengths.values().sum::<u32>()), *sa));
    let mut mappings: Vec<Mapping> = Vec::new();
    let mut mapping_of = HashMap::default();
    for (sa, lengths) in by_packets.into_iter().take(FITTED) {
        let iv = sas.get(sa as usize).map_or(IvPattern::Unclear, |info| IvPattern::of(&info.ivs));
        let fits = |mapping: &Mapping| mapping::share(mapping, &inner, lengths) >= 0.2;
        let found = given.get(&sa).copied().filter(fits).or_else(|| {
            mapping::fit(&inner, lengths, catalogue, iv).filter(|(_, share)| *share >= 0.2).map(|(mapping, _)| mapping)
        });
        let Some(found) = found else { continue };
        let at = mappings.iter().position(|mapping| *mapping == found).unwrap_or_else(|| {
            mappings.push(found);
            mappings.len() - 1
        });
        mapping_of.insert(sa, u8::try_from(at).unwrap_or(0));
    }
    (!mappings.is_empty()).then_some((mappings, mapping_of))
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
    candidates.sort_by_key(|(votes, lag)| (std::cmp::Reverse(*votes), lag.abs()));
    candidates.truncate(SHIFTS);
    let gap = typical_gap(plain);
    let mut scored: Vec<(f32, isize)> =
        candidates.iter().map(|(_, lag)| (straightness(plain, tunnelled, *lag, gap, makes), *lag)).collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.abs().cmp(&b.1.abs())));
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
