//! What it costs an alignment to leave packets out.

use super::{Lane, Place, PlainItem};
use crate::matching::order::align;
use crate::matching::packets::flows::Class;
use crate::matching::packets::ledger::Ledger;

/// What a plaintext packet without counterpart costs, in nats. Into the tunnel: packets are rarely lost before the gateway numbers them.
const SKIP_SELECTED: f32 = 12.0;
/// The same where many were lost lately.
const SKIP_LOSSY: f32 = 3.0;
/// Out of the tunnel: packets may overtake each other.
const SKIP_APPEARED: f32 = 6.0;
/// Of a flow of which is not known whether it goes through the tunnel, at most; the least, where most such packets have no counterpart.
pub(in crate::matching::order) const SKIP_UNKNOWN: f32 = 2.5;
const SKIP_USUAL: f32 = 0.2;
/// Of such a flow, where no packet in the tunnel is near.
const SKIP_ALONE: f32 = 0.1;
/// What a tunnelled packet without counterpart costs: in front of the gateway it is a stranger, behind it it was lost.
const SKIP_STRANGER: f32 = 14.0;
const SKIP_LOST_BEHIND: f32 = 5.5;
const SKIP_HOLE: f32 = 10.0;
/// Both, where the plain tap does not see all that goes into the tunnel.
const SKIP_UNSEEN: f32 = 5.0;

/// How many packets were paired and how many were lost, the latest most.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(in crate::matching) struct SeenLoss {
    paired: usize,
    lost: usize,
}

impl SeenLoss {
    /// Packets that tell.
    const ENOUGH: usize = 48;

    /// Takes in what a block came to.
    pub(in crate::matching) const fn add(&mut self, paired: usize, lost: usize) {
        /// Packets after which older ones count half.
        const LATELY: usize = 512;
        (self.paired, self.lost) = (self.paired + paired, self.lost + lost);
        if self.paired + self.lost > LATELY {
            (self.paired, self.lost) = (self.paired / 2, self.lost / 2);
        }
    }

    /// Whether so many are lost that one more is nothing unusual.
    const fn is_much(self) -> bool {
        /// One of how many is much.
        const ONE_OF: usize = 16;
        self.paired + self.lost >= Self::ENOUGH && self.lost * ONE_OF >= self.paired + self.lost
    }

    /// How unusual it is that a packet has no counterpart, in nats; `None` where too few tell.
    fn surprise(self) -> Option<f32> {
        let all = self.paired + self.lost;
        (all >= Self::ENOUGH).then(|| (all as f32 / self.lost.max(1) as f32).ln())
    }
}

impl Lane {
    pub(in crate::matching) fn plain_of(&self, item: &PlainItem, ledger: &Ledger) -> align::Plain {
        self.plain_among(item, ledger, false, false)
    }

    /// The same of a packet among others; `told`: lengths tell them apart, and say more against a wrong pair than that packets are rarely lost.
    /// `alone`: none of those in the tunnel is near in time.
    pub(in crate::matching) fn plain_among(
        &self,
        item: &PlainItem,
        ledger: &Ledger,
        told: bool,
        alone: bool,
    ) -> align::Plain {
        // Before the first block nobody knows how many are lost.
        let may_be_lost = told && (!self.begun || self.seen_loss.is_much());
        let skip = match ledger.flows.class(item.flow) {
            Class::Selected if self.encapsulated && may_be_lost => SKIP_LOSSY,
            Class::Selected if self.encapsulated => SKIP_SELECTED,
            Class::Selected => SKIP_APPEARED,
            _ if alone => SKIP_ALONE,
            _ => self.strangers.surprise().map_or(SKIP_UNKNOWN, |nats| nats.clamp(SKIP_USUAL, SKIP_UNKNOWN)),
        };
        align::Plain { ns: item.ns, bytes: item.bytes, skip }
    }

    pub(in crate::matching) fn tunnelled_of(&self, place: &Place, ledger: &Ledger) -> align::Tunnelled {
        let skip = match (place.hole, self.encapsulated) {
            (_, true) if self.partial => SKIP_UNSEEN,
            (true, _) => SKIP_HOLE,
            (false, true) => SKIP_STRANGER,
            (false, false) => SKIP_LOST_BEHIND,
        };
        let packet = ledger.tunnel.get(place.item.serial).filter(|packet| packet.complete);
        align::Tunnelled {
            ns: place.item.ns,
            esp: packet.and_then(|packet| packet.esp),
            mapping: self.mappings.number(place.item.sa),
            hole: place.hole,
            skip,
        }
    }
}
