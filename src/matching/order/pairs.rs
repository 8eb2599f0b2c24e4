//! Pairs of opaque ESP by lengths, order and times.
//!
//! First a beginning is looked for: which way on the plain link belongs to which direction of the tunnel, which transform makes the
//! lengths, and by how much one sequence is shifted against the other. From there on the two [`Lane`]s go on by themselves.

mod begin;
mod known;

use std::collections::{HashMap, VecDeque};

use foldhash::fast::FixedState;

use super::lane::{Lane, PlainItem, push_in_time};
use super::settle::reread::Readings;
use crate::matching::limits::MAX_WAITING;
use crate::matching::packets::flows::{FlowId, FlowKey, Flows};
use crate::matching::packets::ledger::{Ledger, Serial, Tunnelled, TunnelledFate};
use crate::matching::packets::links::{Links, Macs};
use crate::matching::packets::mapping::Mapping;
use crate::model::Address;
use crate::transform::inference::Catalogue;
use crate::transform::iv::IvSample;

/// Tunnelled packets by which a beginning is looked for.
pub(in crate::matching) const SAMPLE: usize = 512;

/// What is known of an SA besides its packets.
#[derive(Clone, Debug)]
pub(in crate::matching) struct SaInfo {
    pub(in crate::matching) src: Address,
    pub(in crate::matching) dst: Address,
    pub(in crate::matching) ivs: Vec<IvSample>,
    pub(in crate::matching) null: Null,
    /// Packets of which too little was captured to show what is inside.
    pub(in crate::matching) cut: u64,
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

/// Plaintext packets where none could be paired.
#[derive(Clone, Copy, Debug)]
struct Aside {
    /// How many each way, and whether it is known which way is that of which lane.
    ways: [u64; 2],
    is_told: bool,
    /// Whether they go one way, as all that is in the tunnel, and no router has lowered their TTLs yet: the gateway is still before them.
    is_fresh: bool,
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
    /// The plaintext packets where none could be paired.
    aside: Option<Aside>,
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

    /// Whether this is the number of a link, and not one that it shares.
    pub(in crate::matching) fn is_link(&self, link: u16, macs: Option<Macs>) -> bool {
        self.links.is_number(link, macs)
    }

    /// One more packet of a flow takes the link that it took before; false where its number is to be asked for.
    #[inline]
    pub(in crate::matching) fn link_again(&mut self, link: u16) -> bool {
        self.links.again(link)
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

    /// Whether the first IVs of an SA are kept: as many as tell counter modes from CBC.
    #[inline]
    pub(in crate::matching) fn has_ivs(&self, sa: u32) -> bool {
        /// Packets whose IV is kept.
        const IVS: usize = 8;
        self.sas.get(sa as usize).is_none_or(|info| info.ivs.len() >= IVS)
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
        let waits = |arrival: &Arrival| ledger.tunnel.get(arrival.serial).is_some_and(Tunnelled::is_opaque);
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
        let known = Readings { catalogue: self.catalogue.get_or_insert_default(), sas: &self.sas, given: &self.given };
        let single = lanes.iter().filter(|lane| lane.delay.is_some()).count() == 1;
        for lane in lanes.iter_mut() {
            let Some(base) = lane.delay.map(|delay| delay.base.unwrap_or(0.0)) else {
                continue;
            };
            let slack = lane.delay.map_or(0.0, |delay| (16.0 * delay.spread).max(20e6)) as i64;
            let until = plain_until.saturating_add(base as i64).saturating_sub(slack);
            let stale = plain_until.saturating_add(base as i64).saturating_sub(horizon);
            lane.advance(ledger, &known, (until, stale.min(tunnel_until.saturating_sub(horizon)), end));
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
}
