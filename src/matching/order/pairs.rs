//! Pairs of opaque ESP by lengths, order and times.
//!
//! First a beginning is looked for: which way on the plain link belongs to which direction of the tunnel, which transform makes the
//! lengths, and by how much one sequence is shifted against the other. From there on the two [`Lane`]s go on by themselves.

use std::collections::{BTreeMap, HashMap, VecDeque};

use foldhash::fast::FixedState;

use super::beginning::{BeginningTrial, Search, WayTold, directions};
use super::evidence::CERTAIN;
use super::lane::{Lane, Level, PlainItem, push_in_time};
use crate::matching::limits::{MAX_WAITING, ON_ITS_WAY_NS};
use crate::matching::packets::flows::{FlowId, FlowKey, Flows};
use crate::matching::packets::ledger::{Ledger, Serial, TunnelledFate};
use crate::matching::packets::links::{Links, Macs};
use crate::matching::packets::mapping::Mapping;
use crate::model::Address;
use crate::transform::inference::Catalogue;
use crate::transform::iv::IvSample;

/// Tunnelled packets by which a beginning is looked for.
pub(in crate::matching) const SAMPLE: usize = 512;

/// The longest that a packet is taken to be on its way where the clocks are known, in nanoseconds.
const FARTHEST: i64 = 2 * ON_ITS_WAY_NS;

/// What is known of an SA besides its packets.
#[derive(Clone, Debug)]
pub(in crate::matching) struct SaInfo {
    pub(in crate::matching) src: Address,
    pub(in crate::matching) dst: Address,
    pub(in crate::matching) ivs: Vec<IvSample>,
    pub(in crate::matching) null: Null,
}

/// Whether an SA does not encrypt, by packets inside whose headers make sense.
#[derive(Clone, Copy, Default, Debug)]
pub(in crate::matching) struct Null {
    /// Octets of ICV and IV that these show, and how many do one after the other.
    shown: Option<(u8, u8)>,
    packets: u32,
}

impl Null {
    /// A packet shows one inside; `sure`: beyond doubt.
    pub(in crate::matching) fn show(&mut self, icv: u8, iv: u8, sure: bool) {
        let before = if self.shown == Some((icv, iv)) { self.packets } else { 0 };
        *self = Self { shown: Some((icv, iv)), packets: before.saturating_add(if sure { Self::ENOUGH } else { 1 }) };
    }

    /// Packets that are no chance, with headers that have no checksum.
    const ENOUGH: u32 = 2;

    /// Octets of ICV and IV, once they are known.
    pub(in crate::matching) fn told(self) -> Option<(u8, u8)> {
        self.shown.filter(|_| self.packets >= Self::ENOUGH)
    }
}

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
pub(in crate::matching) struct Order {
    /// Before a beginning was found.
    plain: VecDeque<(u16, PlainItem)>,
    tunnelled: VecDeque<Arrival>,
    /// So many tunnelled packets must be there for the next search.
    enough: usize,
    /// Tunnelled packets before a beginning that are no longer there.
    forgotten: usize,
    /// Whether some of the packets are known by their content now.
    opened: bool,
    lanes: Option<Box<[Lane; 2]>>,
    /// Alignments that are left, by lane; 0 where none is or one was found.
    open: [usize; 2],
    /// Whether TTLs say which lane passed the plain tap first.
    told: bool,
    /// Whether nothing tells it: the one lane that is known is taken for the likelier one.
    guessed: bool,
    /// Plaintext packets of each lane where none could be paired, if their direction is known.
    aside: Option<[u64; 2]>,
    /// Both sides are stamped by one clock.
    one_clock: bool,
    centre: Option<Address>,
    catalogue: Option<Catalogue>,
    pub(in crate::matching) sas: Vec<SaInfo>,
    links: Links,
    /// Given transforms, by SA.
    pub(in crate::matching) given: HashMap<u32, Mapping, FixedState>,
}

impl Order {
    /// `one_clock`: both sides are stamped by one clock.
    pub(in crate::matching) fn new(one_clock: bool) -> Self {
        Self { one_clock, ..Self::default() }
    }

    /// Number of the link that a packet of a flow took.
    pub(in crate::matching) fn link(&mut self, macs: Option<Macs>, flow: (FlowKey, FlowId), flows: &mut Flows) -> u16 {
        self.links.number(macs, flow, flows)
    }

    /// Packets of which the way on the plain link is not known, because there was no room for their addresses.
    pub(in crate::matching) const fn refused(&self) -> u64 {
        self.links.refused
    }

    /// Packets that came so late that nobody knows whether they were there before, and missing numbers in gaps that were not looked
    /// into.
    pub(in crate::matching) fn late_and_jumped(&self) -> (u64, u64) {
        let lanes = self.lanes.iter().flat_map(|lanes| lanes.iter());
        lanes.fold((0, 0), |(late, jumped), lane| (late + lane.late, jumped + lane.jumped))
    }

    pub(in crate::matching) const fn has_begun(&self) -> bool {
        self.lanes.is_some()
    }

    /// The usual difference between the timestamps of a pair, where one is known.
    pub(in crate::matching) fn usual(&self) -> Option<f64> {
        self.lanes.as_ref()?.iter().find_map(|lane| lane.delay?.base)
    }

    /// Whether several alignments are left of the packets that answer those of an SA.
    pub(in crate::matching) fn is_answer_open(&self, sa: u32) -> bool {
        let answers = self.lane(sa).and_then(|lane| self.open.get(1_usize.checked_sub(lane)?));
        answers.is_some_and(|alignments| *alignments > 0)
    }

    /// Whether an SA is between other gateways than the one whose directions are paired by order: nothing was looked for.
    pub(in crate::matching) fn is_elsewhere(&self, sa: u32) -> bool {
        let info = self.sas.get(sa as usize).filter(|_| self.lanes.is_some());
        info.is_some_and(|info| self.lane_of(info).is_none())
    }

    /// Whether an SA's direction was not found on the plain side, or not looked for.
    pub(in crate::matching) fn is_unfound(&self, sa: u32) -> bool {
        let Some(lane) = self.sas.get(sa as usize).and_then(|info| self.lane_of(info)) else {
            return self.is_elsewhere(sa);
        };
        match &self.lanes {
            Some(lanes) => lanes.get(lane).is_some_and(|lane| lane.delay.is_none() || !lane.has_pairs()),
            None => self.enough > 0,
        }
    }

    /// Whether packets of the SA passed the plain tap first; `None` where that is not known.
    pub(in crate::matching) fn is_encapsulated(&self, sa: u32) -> Option<bool> {
        let lane = self.lane_at(sa)?;
        lane.delay.map(|_| lane.encapsulated)
    }

    /// Whether nothing tells which tap the packets of an SA passed first.
    pub(in crate::matching) fn is_way_guessed(&self, sa: u32) -> bool {
        self.guessed && self.is_encapsulated(sa).is_some()
    }

    /// The lane of an SA, once there is one.
    pub(in crate::matching) fn lane(&self, sa: u32) -> Option<usize> {
        self.lanes.as_ref()?;
        self.lane_of(self.sas.get(sa as usize)?)
    }

    /// What is paired of an SA's direction.
    pub(in crate::matching) fn lane_at(&self, sa: u32) -> Option<&Lane> {
        self.lanes.as_ref()?.get(self.lane(sa)?)
    }

    /// The delay by which a lane began.
    pub(in crate::matching) fn level(&self, lane: usize) -> Option<Level> {
        self.lanes.as_ref()?.get(lane)?.level
    }

    /// Packets of the tunnel in an SA's direction that have no counterpart: whether many are expected, because the plain side does not see
    /// all that enters the tunnel, and how many stand beside a plaintext packet without one.
    pub(in crate::matching) fn strangers(&self, sa: u32) -> (bool, u64) {
        self.lane_at(sa).map_or((false, 0), |lane| (lane.partial, lane.crossed))
    }

    /// Packets of both sides without counterpart at one end of the direction of an SA.
    pub(in crate::matching) fn torn(&self, sa: u32) -> Option<(u64, u64)> {
        self.lane_at(sa)?.torn()
    }

    /// The mapping that holds for an SA.
    pub(in crate::matching) fn mapping(&self, sa: u32) -> Option<Mapping> {
        let lane = self.lane_at(sa)?;
        lane.delay?;
        lane.mappings.of(sa)
    }

    /// Takes in a plaintext packet.
    pub(in crate::matching) fn plain(&mut self, link: u16, item: PlainItem) {
        match &mut self.lanes {
            Some(lanes) => {
                if let Some(lane) = self.links.way(link).and_then(|way| lanes.get_mut(way)) {
                    lane.push_plain(item);
                }
            }
            None => {
                push_in_time(&mut self.plain, (link, item), |(_, item)| item.ns);
            }
        }
    }

    /// Takes in an opaque packet.
    pub(in crate::matching) fn tunnelled(&mut self, ledger: &mut Ledger, serial: Serial, ns: i64, sa: u32, raw: u32) {
        let lane = self.sas.get(sa as usize).and_then(|info| self.lane_of(info));
        match (&mut self.lanes, lane) {
            (Some(lanes), Some(lane)) => {
                if let Some(lane) = lanes.get_mut(lane) {
                    lane.push(ledger, serial, ns, sa, raw);
                }
            }
            (Some(_), None) => ledger.leave(serial, TunnelledFate::Alone),
            (None, _) => self.tunnelled.push_back(Arrival { serial, ns, sa, raw }),
        }
    }

    /// Content has decided for some packets that came in as opaque ones.
    pub(in crate::matching) const fn opened(&mut self) {
        self.opened = true;
    }

    /// Forgets packets that wait no longer.
    fn drop_settled(&mut self, ledger: &Ledger) {
        for lane in self.lanes.iter_mut().flat_map(|lanes| lanes.iter_mut()) {
            lane.drop_settled(ledger);
        }
        let waits = |arrival: &Arrival| ledger.tunnel.get(arrival.serial).is_some_and(|packet| packet.esp.is_some());
        self.tunnelled.retain(waits);
    }

    /// Whether packets wait for the beginning of their direction, and are so few that later ones may tell which plaintext packets they are.
    pub(in crate::matching) fn is_sampling(&self) -> bool {
        /// A beginning that is not found in the first sample is looked for in several.
        const FEW: usize = 16 * SAMPLE;
        match &self.lanes {
            None => (1..FEW).contains(&(self.tunnelled.len() + self.forgotten)),
            Some(lanes) => lanes.iter().any(|lane| lane.delay.is_none() && (1..FEW).contains(&lane.tunnelled().len())),
        }
    }

    /// Which lane an SA belongs to: away from the centre or towards it.
    fn lane_of(&self, info: &SaInfo) -> Option<usize> {
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
    pub(in crate::matching) fn advance(
        &mut self,
        ledger: &mut Ledger,
        plain_until: i64,
        tunnel_until: i64,
        horizon: i64,
        end: bool,
    ) {
        if std::mem::take(&mut self.opened) {
            self.drop_settled(ledger);
        }
        if self.lanes.is_none() {
            let waiting = self.tunnelled.len();
            let arrived = waiting + self.forgotten;
            if arrived >= self.enough.max(SAMPLE) || (end && waiting > 0) {
                self.enough = arrived * 4;
                self.begin(ledger, end);
            }
        }
        let Some(lanes) = &mut self.lanes else {
            self.forget(ledger);
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
            while let Some(item) = lane.plain.front().copied()
                && (item.ns < old || lane.plain.len() > MAX_WAITING)
                && lane
                    .tunnelled()
                    .front()
                    .is_none_or(|t| t.ns.saturating_sub(base as i64) > item.ns.saturating_add(horizon))
            {
                if item.ns >= old {
                    ledger.crowd_out(item.serial, Some(tunnel_until.saturating_sub(base as i64)));
                }
                lane.pass(ledger, &item);
                ledger.give_up(item.serial, None, 0.5);
                lane.plain.pop_front();
            }
        }
        if single {
            self.begin_other(ledger, end);
        }
        if end && let Some(lanes) = &mut self.lanes {
            for lane in lanes.iter_mut() {
                let known = lane.delay.is_some();
                let waits = !lane.tunnelled().is_empty();
                for item in std::mem::take(&mut lane.plain) {
                    if known {
                        lane.pass(ledger, &item);
                        ledger.give_up(item.serial, None, 0.5);
                        lane.overtaken.plain(ledger, item, false);
                    } else if waits {
                        ledger.set_aside(item.serial);
                    }
                }
                lane.leave_all(ledger);
            }
        }
    }

    /// Without a beginning: what the ledger has given up or there is no room for waits no longer. The ledger, which has all of it, gives
    /// up the latter too, and counts it.
    fn forget(&mut self, ledger: &Ledger) {
        while self.plain.len() > MAX_WAITING {
            self.plain.pop_front();
        }
        while let Some(arrival) = self.tunnelled.front()
            && (self.tunnelled.len() > MAX_WAITING || arrival.serial < ledger.tunnel.first())
        {
            self.tunnelled.pop_front();
            self.forgotten += 1;
        }
    }

    /// Looks for a beginning in all that waits.
    fn begin(&mut self, ledger: &mut Ledger, end: bool) {
        self.links.decide(&mut ledger.flows);
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
            if let Some(lane) = lane.and_then(|lane| lanes.get_mut(lane)) {
                lane.push(ledger, arrival.serial, arrival.ns, arrival.sa, arrival.raw);
            }
        }
        let mut plain = [VecDeque::new(), VecDeque::new()];
        for (link, item) in &self.plain {
            if let Some(own) = self.links.way(*link).and_then(|way| plain.get_mut(way)) {
                own.push_back(*item);
            }
        }
        let catalogue = self.catalogue.get_or_insert_default();
        let within = if self.one_clock { (-FARTHEST, FARTHEST) } else { (i64::MIN, i64::MAX) };
        let one_clock = self.one_clock;
        let search = Search { ledger, catalogue, sas: &self.sas, given: &self.given, within, one_clock, end };
        let [out, back] = &mut lanes;
        let [towards, away] = &plain;
        let straight = [search.begin(out, towards), search.begin(back, away)];
        let crosswise = [search.begin(out, away), search.begin(back, towards)];
        let weight = |trials: &[BeginningTrial; 2]| trials.iter().map(BeginningTrial::weight).sum::<f64>();
        let (there, across) = (weight(&straight), weight(&crosswise));
        let crossed = across > there;
        let (trials, others) = if crossed { (crosswise, straight) } else { (straight, crosswise) };
        // Packets that fit either direction as well belong to neither.
        let either = (across - there).abs() < CERTAIN;
        let mut own = trials.into_iter().zip(&others).map(|(trial, other)| trial.unless(other, either));
        let trials = [own.next().unwrap_or(BeginningTrial::Nothing), own.next().unwrap_or(BeginningTrial::Nothing)];
        self.open = [0, 1].map(|lane: usize| trials.get(lane).map_or(0, BeginningTrial::open));
        if !trials.iter().any(|trial| matches!(trial, BeginningTrial::Begun(_))) {
            if end {
                let [towards, away] = plain.map(|plain| plain.len() as u64);
                self.aside = (!either).then_some(if crossed { [away, towards] } else { [towards, away] });
                self.leave_open(ledger);
            }
            return;
        }
        if crossed {
            // Lane 0 takes way 0: ways are renamed, not lanes.
            self.links.cross();
            plain.swap(0, 1);
        }
        for ((lane, trial), plain) in lanes.iter_mut().zip(trials).zip(plain) {
            (lane.shuffled, lane.plain) = (!plain.iter().is_sorted_by_key(|item| item.ns), plain);
            if let BeginningTrial::Begun(found) = trial {
                lane.take(*found, ledger);
            }
        }
        self.tell_ways(&mut lanes, ledger);
        for arrival in std::mem::take(&mut self.tunnelled) {
            if self.sas.get(arrival.sa as usize).and_then(|info| self.lane_of(info)).is_none() {
                ledger.leave(arrival.serial, TunnelledFate::Alone);
            }
        }
        self.plain.clear();
        self.lanes = Some(Box::new(lanes));
    }

    /// Decides which lane passed the plain tap first.
    fn tell_ways(&mut self, lanes: &mut [Lane; 2], ledger: &Ledger) {
        let told = directions(lanes, ledger, self.one_clock);
        self.told = told == WayTold::ByTtl;
        let known = lanes.iter().filter(|lane| lane.delay.is_some()).count();
        self.guessed = match told {
            WayTold::ByTtl => false,
            WayTold::ByTime => known == 1 && !self.one_clock,
            WayTold::Nothing => true,
        };
    }

    /// Nothing more comes, and what belongs together is not known.
    fn leave_open(&mut self, ledger: &mut Ledger) {
        let open = self.open.iter().any(|alignments| *alignments > 0);
        self.tunnelled.drain(..).for_each(|arrival| ledger.leave(arrival.serial, TunnelledFate::Alone));
        for (_, item) in self.plain.drain(..).filter(|_| open) {
            ledger.set_aside(item.serial);
        }
    }

    /// How many alignments of the packets of an SA there are, where that is why none was paired.
    pub(in crate::matching) fn open_of(&self, sa: u32) -> usize {
        let lane = self.sas.get(sa as usize).and_then(|info| self.lane_of(info));
        lane.and_then(|lane| self.open.get(lane)).copied().unwrap_or(0)
    }

    /// Plaintext packets of the direction of an SA, and of the other one, where none could be paired and one clock stamped both sides.
    pub(in crate::matching) fn aside_of(&self, sa: u32) -> Option<(u64, u64)> {
        let lane = self.sas.get(sa as usize).and_then(|info| self.lane_of(info))?;
        let [out, back] = self.aside.filter(|_| self.one_clock)?;
        Some(if lane == 0 { (out, back) } else { (back, out) })
    }

    /// One direction has begun; the other may begin later.
    fn begin_other(&mut self, ledger: &mut Ledger, end: bool) {
        let Some(lanes) = &mut self.lanes else { return };
        let Some(known) = lanes.iter().find(|lane| lane.delay.is_some()) else { return };
        let delay = known.delay;
        let (base, slack) = delay.map_or((0, 0), |delay| (delay.base.unwrap_or(0.0) as i64, 8 * delay.spread as i64));
        let known = known.encapsulated;
        // The clocks are the same both ways, and no packet arrives before it was sent.
        let within = match (self.told || self.one_clock, known) {
            (true, true) => (base.saturating_sub(FARTHEST), base.saturating_add(slack)),
            (true, false) => (base.saturating_sub(slack), base.saturating_add(FARTHEST)),
            (false, _) => (base.saturating_sub(FARTHEST), base.saturating_add(FARTHEST)),
        };
        let catalogue = self.catalogue.get_or_insert_default();
        for (lane, open) in lanes.iter_mut().zip(&mut self.open).filter(|(lane, _)| lane.delay.is_none()) {
            while lane.plain.len() > MAX_WAITING {
                lane.plain.pop_front();
            }
            let waiting = lane.tunnelled().len();
            if waiting == 0 || (waiting < self.enough.max(SAMPLE) && !end) {
                continue;
            }
            self.enough = waiting * 4;
            let plain = std::mem::take(&mut lane.plain);
            let one_clock = self.one_clock;
            let search = Search { ledger, catalogue, sas: &self.sas, given: &self.given, within, one_clock, end };
            let trial = search.begin(lane, &plain);
            lane.plain = plain;
            lane.encapsulated = !known;
            *open = trial.open();
            if let BeginningTrial::Begun(found) = trial {
                let other = found.delay.base.unwrap_or(0.0) as i64;
                // The later direction of two has the greater difference.
                let is_tied = other.saturating_sub(base).saturating_abs() <= ledger.coarseness;
                self.guessed &= (other >= base) == known || is_tied;
                lane.take(*found, ledger);
                if end {
                    lane.advance(ledger, i64::MAX, i64::MAX, true);
                }
            } else if waiting > MAX_WAITING / 2 {
                lane.leave_all(ledger);
            }
        }
    }
}
