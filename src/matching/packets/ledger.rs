//! The packets of both sides that are not settled yet, in capture order.

mod edges;
mod packet;
mod refused;
mod side;
mod unpair;

use std::collections::{BTreeMap, HashSet};

use foldhash::fast::FixedState;

use super::flows::services::Services;
use super::flows::{Class, FlowId, Flows};
use super::reach::Reach;
use crate::matching::content::identity::Kin;
use crate::matching::limits::{MAX_LOST, MAX_MISSED, MAX_SIZES, ON_ITS_WAY_NS};
use crate::matching::measure::silence::{Expected, Silences};
use crate::model::{Address, FramePos, Timestamp};

pub(in crate::matching) use crate::model::pairs::PairBasis;
pub(in crate::matching) use edges::Edges;
pub(in crate::matching) use packet::{
    EspParts, Inner, Marks, PairedPlain, Pairing, Plain, PlainFate, Tunnelled, TunnelledFate,
};
pub(in crate::matching) use side::{Serial, Side};

/// Both sides.
#[derive(Debug)]
pub(in crate::matching) struct Ledger {
    pub(in crate::matching) plain: Side<Plain>,
    pub(in crate::matching) tunnel: Side<Tunnelled>,
    pub(in crate::matching) flows: Flows,
    pub(in crate::matching) lost: Vec<Lost>,
    /// Packets that found the list full.
    unlisted: u64,
    /// Packets of either side that made room.
    pub(in crate::matching) crowded_plain: Crowded,
    pub(in crate::matching) crowded_tunnel: Crowded,
    /// Packets that were not found, by flow and length.
    pub(in crate::matching) missed: BTreeMap<(FlowId, u32), u64>,
    /// First frame of either capture, and the last one once it has ended: plain, tunnel.
    pub(in crate::matching) recorded: [(i64, i64); 2],
    /// Step of the coarser timestamps, in nanoseconds; 0 where neither are coarse.
    pub(in crate::matching) coarseness: i64,
    /// Smallest MTU that ICMP errors state, by the addresses of the packet that was too big.
    pub(in crate::matching) too_big: BTreeMap<(Address, Address), u32>,
    /// Differences of the timestamps of pairs.
    pub(in crate::matching) reach: Reach,
    /// What these are at the most before there are pairs, where one clock stamps both sides.
    supposed: Option<(i64, i64)>,
    /// Those of each SA, and its way past a tap.
    pub(in crate::matching) sas: Vec<(Reach, usize)>,
    /// Times without frames on the plain side, and on the tunnel's.
    pub(in crate::matching) silences: [Silences; 2],
    /// Plaintext packets from outside this time.
    pub(in crate::matching) uncovered: u64,
    /// When these were sent, and those of the tunnel.
    pub(in crate::matching) edges: Edges,
    /// Plaintext packets that were not found in the tunnel, where a far side tells what became of them.
    pub(in crate::matching) unpaired: Option<HashSet<FramePos, FixedState>>,
    pub(in crate::matching) services: Services,
    /// Whether there are plaintext fragments, and whether packets in the tunnel were put together of some.
    pub(in crate::matching) has_fragments: bool,
    /// SAs that showed late that they do not encrypt, each with its first packet that is read: those before it may wait as opaque ones.
    pub(in crate::matching) early: Vec<(u32, Serial)>,
    pub(in crate::matching) joins_fragments: bool,
    /// Plaintext fragments that were not found, and packets of which some are missing, by flow.
    pub(in crate::matching) torn: BTreeMap<FlowId, u64>,
    /// Pairs of packets whose numbers were there before, by SA.
    pub(in crate::matching) anew: BTreeMap<u32, u64>,
    /// Plaintext packets of which the tunnel shows the parts, and, by SA, those that it may show in parts.
    pub(in crate::matching) divided: u64,
    pub(in crate::matching) offloaded: BTreeMap<u32, u64>,
}

impl Default for Ledger {
    fn default() -> Self {
        Self {
            plain: Side::default(),
            tunnel: Side::default(),
            flows: Flows::default(),
            lost: Vec::new(),
            unlisted: 0,
            crowded_plain: Crowded::default(),
            crowded_tunnel: Crowded::default(),
            missed: BTreeMap::new(),
            recorded: [(i64::MIN, i64::MAX); 2],
            coarseness: 0,
            too_big: BTreeMap::new(),
            reach: Reach::default(),
            supposed: None,
            sas: Vec::new(),
            silences: Default::default(),
            uncovered: 0,
            edges: Edges::default(),
            unpaired: None,
            services: Services::default(),
            has_fragments: false,
            early: Vec::new(),
            joins_fragments: false,
            torn: BTreeMap::new(),
            anew: BTreeMap::new(),
            divided: 0,
            offloaded: BTreeMap::new(),
        }
    }
}

/// A pair as sure as this says how long packets are on their way, and one as sure as that alone.
const REACHES: f32 = 0.7;
const SURELY: f32 = 0.9;
/// The list of lost packets is searched for room again after this many packets found it full.
const UNLISTED: u64 = 1_024;

/// Packets that made room for others before their counterpart could have come.
#[derive(Clone, Copy, Debug)]
pub(in crate::matching) struct Crowded {
    pub(in crate::matching) packets: u64,
    /// Time of the latest of them.
    latest: i64,
}

impl Default for Crowded {
    fn default() -> Self {
        Self { packets: 0, latest: i64::MIN }
    }
}

impl Crowded {
    /// A packet of this time made room. `read`: how far the other side was read, on this one's clock, where that is known. One whose
    /// counterpart would have come by then has none.
    pub(in crate::matching) fn add(&mut self, ns: Option<i64>, read: Option<i64>) {
        if ns.zip(read).is_some_and(|(ns, read)| ns.saturating_add(ON_ITS_WAY_NS) <= read) {
            return;
        }
        self.packets += 1;
        self.latest = self.latest.max(ns.unwrap_or(i64::MAX));
    }

    /// How many there are, unless all of them lie before the other side's `first` frame, on this one's clock: they have no
    /// counterpart either.
    pub(in crate::matching) fn count(&self, first: Option<i64>) -> u64 {
        let before = first.is_some_and(|first| self.latest.saturating_add(ON_ITS_WAY_NS) <= first);
        if before { 0 } else { self.packets }
    }
}

/// A plaintext packet that was not seen in the tunnel.
#[derive(Clone, Copy, Debug)]
pub(in crate::matching) struct Lost {
    pub(in crate::matching) pos: FramePos,
    pub(in crate::matching) time: Timestamp,
    pub(in crate::matching) bytes: u32,
    pub(in crate::matching) flow: FlowId,
    /// SA and number that the tunnel's tap did not see, where the hole in the numbers says so.
    pub(in crate::matching) hole: Option<(u32, u32)>,
    /// An ICMP error names it.
    pub(in crate::matching) refused: bool,
    /// How sure it is that it was this one.
    pub(in crate::matching) confidence: f32,
    /// Silence of the tunnel's tap in which it was expected, on the tunnel's clock.
    pub(in crate::matching) silence: Option<i64>,
}

impl Ledger {
    /// `exit`: whether there is a far side; `one_clock`: whether one clock stamps both sides.
    pub(in crate::matching) fn new(exit: bool, one_clock: bool) -> Self {
        let supposed = one_clock.then_some((-ON_ITS_WAY_NS, ON_ITS_WAY_NS));
        Self { unpaired: exit.then(HashSet::default), supposed, ..Self::default() }
    }

    /// Takes note of how long packets of a direction are on their way.
    pub(in crate::matching) fn reaches(&mut self, difference: i64, sure: bool) {
        self.reach.add(difference, sure);
    }

    /// When the tunnel's tap should show a plaintext packet.
    fn expected_in_tunnel(&self, flow: FlowId, time: Timestamp) -> Option<Expected> {
        let ns = time.ns()?;
        let own = self.flows.get(flow).reach;
        let (least, usual, most) = own.lately().or_else(|| self.reach.lately())?;
        let at = |difference: i64| ns.saturating_add(difference);
        Some(Expected { least: at(least), usual: at(usual), most: at(most) })
    }

    /// When the plain tap should show a packet in the tunnel.
    fn expected_on_plain(&self, ns: i64, sa: u32) -> Option<Expected> {
        let own = self.sas.get(sa as usize).and_then(|(reach, _)| reach.lately());
        let (least, usual, most) = own.or_else(|| self.reach.lately())?;
        let at = |difference: i64| ns.saturating_sub(difference);
        Some(Expected { least: at(most), usual: at(usual), most: at(least) })
    }

    /// A packet in the tunnel has no plaintext packet; whether that waits for the verdict on a silence of the plain tap.
    pub(in crate::matching) fn miss_plain(&mut self, ns: i64, sa: u32) -> bool {
        let Some(expected) = self.expected_on_plain(ns, sa) else { return false };
        let [plain, _] = &mut self.silences;
        plain.miss(sa, 0, expected).is_some()
    }

    /// Whether an ICMP error says that packets of this length are dropped: these are lost whatever the captures cover.
    fn is_refused(&self, flow: FlowId, bytes: u32) -> bool {
        let key = self.flows.key(flow).filter(|_| !self.too_big.is_empty());
        let mtu = key.and_then(|key| self.too_big.get(&(key.src, key.dst)));
        mtu.is_some_and(|mtu| bytes > *mtu)
    }

    /// Pairs two packets that are both still waiting; false where one is not.
    pub(in crate::matching) fn pair(
        &mut self,
        plain: Serial,
        tunnelled: Serial,
        basis: PairBasis,
        confidence: f32,
    ) -> bool {
        let Some(p) = self.plain.get_mut(plain).filter(|p| p.fate == PlainFate::Waiting) else { return false };
        let Some(t) = self.tunnel.get_mut(tunnelled).filter(|t| matches!(t.fate, TunnelledFate::Waiting)) else {
            return false;
        };
        p.fate = PlainFate::Settled;
        t.fate =
            TunnelledFate::Paired(Pairing { plain: (&*p).into(), basis, stretch: 0, confidence, overtaken: false });
        if t.again {
            *self.anew.entry(t.sa).or_default() += 1;
        }
        self.services.found(p.flow, p.service);
        let flow = self.flows.get_mut(p.flow);
        let times = p.time.ns().zip(t.time.ns()).filter(|_| confidence >= REACHES);
        let difference = times.map(|(plain, tunnel)| tunnel.saturating_sub(plain));
        let sure = confidence >= SURELY;
        if let Some(flow) = flow {
            flow.matched += 1;
            difference.into_iter().for_each(|difference| flow.reach.add(difference, sure));
        }
        if let Some((difference, (plain_ns, tunnel_ns))) = difference.zip(times) {
            self.reach.add(difference, sure);
            if let Some((reach, way)) = self.sas.get_mut(t.sa as usize) {
                reach.add(difference, sure);
                let [plain, tunnel] = &mut self.silences;
                plain.pair(*way, plain_ns);
                tunnel.pair(*way, tunnel_ns);
            }
        }
        true
    }

    /// A plaintext packet was not found in the tunnel. `hole` is the number that it would have had.
    pub(in crate::matching) fn give_up(&mut self, plain: Serial, hole: Option<(u32, u32)>, confidence: f32) {
        let Some(p) = self.plain.get_mut(plain).filter(|p| p.fate == PlainFate::Waiting) else { return };
        p.fate = PlainFate::Settled;
        let p = *p;
        self.not_in_tunnel(p.pos);
        if let Some(ns) = p.time.ns()
            && !self.covers_plain(p.flow, ns, hole.is_some())
            && !self.is_refused(p.flow, p.bytes)
        {
            self.beyond(p.flow, ns);
            return;
        }
        let Plain { pos, time, bytes, flow, refused, .. } = p;
        if matches!(p.kin, Kin::Joined(_)) {
            *self.torn.entry(flow).or_default() += 1;
        }
        if let Some(own) = self.flows.get_mut(flow) {
            own.refused += u64::from(refused);
            own.first = Some(own.first.map_or(pos, |first| first.min(pos)));
        }
        if !refused {
            self.services.missed(flow, p.service);
        }
        let expected = self.expected_in_tunnel(flow, time).filter(|_| !self.is_refused(p.flow, p.bytes));
        let [_, tunnel] = &mut self.silences;
        let silence = expected.and_then(|expected| tunnel.miss(flow, bytes, expected));
        if silence.is_none() {
            self.miss_tunnel(flow, bytes, 1);
        }
        if self.lost.len() >= MAX_LOST && self.unlisted.is_multiple_of(UNLISTED) {
            // Traffic that does not belong into the tunnel makes room.
            let flows = &self.flows;
            self.lost.retain(|lost| flows.class(lost.flow) != Class::Outside);
        }
        if self.lost.len() < MAX_LOST {
            self.lost.push(Lost { pos, time, bytes, flow, hole, refused, confidence, silence });
        } else {
            self.unlisted += 1;
        }
    }

    /// Plaintext packets of a flow and of one length were lost before the tunnel's tap.
    pub(in crate::matching) fn miss_tunnel(&mut self, flow: FlowId, bytes: u32, count: u64) {
        if let Some(own) = self.flows.get_mut(flow) {
            own.unmatched += count;
        }
        if self.missed.len() < MAX_SIZES || self.missed.contains_key(&(flow, bytes)) {
            *self.missed.entry((flow, bytes)).or_default() += count;
        }
    }

    /// A plaintext packet is about to make room for others. `read`: how far the tunnel was read, on the plain clock. What goes by
    /// the tunnel loses nothing.
    pub(in crate::matching) fn crowd_out(&mut self, plain: Serial, read: Option<i64>) {
        if let Some(p) = self.plain.get(plain).filter(|p| p.fate == PlainFate::Waiting)
            && self.flows.class(p.flow) != Class::Outside
        {
            self.crowded_plain.add(p.time.ns(), read);
        }
    }

    /// A plaintext packet was not found in the tunnel.
    fn not_in_tunnel(&mut self, pos: FramePos) {
        if let Some(unpaired) = &mut self.unpaired
            && unpaired.len() <= MAX_MISSED
        {
            unpaired.insert(pos);
        }
    }

    /// A plaintext packet of a direction that cannot be paired.
    pub(in crate::matching) fn set_aside(&mut self, plain: Serial) {
        if let Some(p) = self.plain.get_mut(plain).filter(|p| p.fate == PlainFate::Waiting) {
            p.fate = PlainFate::Settled;
            let (pos, flow) = (p.pos, p.flow);
            self.not_in_tunnel(pos);
            if let Some(flow) = self.flows.get_mut(flow) {
                flow.aside += 1;
            }
        }
    }

    /// A plaintext fragment is in the tunnel in a packet that is paired with another of its fragments.
    pub(in crate::matching) fn belongs_to_another(&mut self, fragment: Serial) {
        if let Some(p) = self.plain.get_mut(fragment) {
            p.fate = PlainFate::Settled;
        }
    }

    /// A plaintext packet was seen in clear on the tunnel's side.
    pub(in crate::matching) fn clear(&mut self, plain: Serial) {
        if let Some(p) = self.plain.get_mut(plain).filter(|p| p.fate == PlainFate::Waiting) {
            p.fate = PlainFate::Settled;
            if let Some(flow) = self.flows.get_mut(p.flow) {
                flow.clear += 1;
            }
        }
    }

    /// A tunnelled packet is left without a pair. It is a copy or a replay, not alone, if its number was there before.
    pub(in crate::matching) fn leave(&mut self, tunnelled: Serial, fate: TunnelledFate) {
        if let Some(t) = self.tunnel.get_mut(tunnelled).filter(|t| matches!(t.fate, TunnelledFate::Waiting)) {
            let is_again = t.again && matches!(fate, TunnelledFate::Alone);
            t.fate = if is_again { TunnelledFate::Repeated } else { fate };
        }
    }

    /// Notes the stretch of a pair by order.
    pub(in crate::matching) fn belongs(&mut self, tunnelled: Serial, own: u32) {
        if let Some(TunnelledFate::Paired(pairing)) = self.tunnel.get_mut(tunnelled).map(|packet| &mut packet.fate) {
            pairing.stretch = own;
        }
    }

    /// A packet that was given up came after all: under the number that it was missed at, or `overtaken` by others.
    pub(in crate::matching) fn recover(&mut self, plain: Plain, tunnelled: Serial, confidence: f32, overtaken: bool) {
        let Some(t) = self.tunnel.get_mut(tunnelled).filter(|t| matches!(t.fate, TunnelledFate::Waiting)) else {
            return;
        };
        let basis = PairBasis::Order;
        t.fate = TunnelledFate::Paired(Pairing { plain: (&plain).into(), basis, stretch: 0, confidence, overtaken });
        // It is one of the latest.
        let at = self.lost.iter().rposition(|lost| lost.pos == plain.pos);
        let lost = at.map(|at| self.lost.remove(at));
        if let Some(unpaired) = &mut self.unpaired {
            unpaired.remove(&plain.pos);
        }
        self.services.came(plain.flow, plain.service);
        let Some(flow) = self.flows.get_mut(plain.flow) else { return };
        flow.matched += 1;
        self.was_not_missed(plain.flow, plain.bytes, lost.and_then(|lost| lost.silence));
    }

    /// Takes back that a plaintext packet was missed in the tunnel, in a silence of its tap or not.
    fn was_not_missed(&mut self, flow: FlowId, bytes: u32, silence: Option<i64>) {
        if let Some(silence) = silence {
            let [_, tunnel] = &mut self.silences;
            tunnel.came(silence, flow, bytes);
            return;
        }
        if let Some(flow) = self.flows.get_mut(flow) {
            flow.unmatched = flow.unmatched.saturating_sub(1);
        }
        if let Some(missed) = self.missed.get_mut(&(flow, bytes)) {
            *missed = missed.saturating_sub(1);
        }
    }
}
