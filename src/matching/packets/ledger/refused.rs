//! Packets that an ICMP error names as too big: whoever refused them sent none of them on.

use std::collections::BTreeMap;

use super::{Ledger, Plain, PlainFate};
use crate::keys::Sight;
use crate::matching::Matcher;
use crate::matching::content::identity::{self, Kin};
use crate::matching::limits::ON_ITS_WAY_NS;
use crate::matching::packets::flows::FlowKey;
use crate::model::Address;

/// How sure it is that a packet was lost whose refusal was seen.
const REFUSED: f32 = 0.99;

/// The packet that an ICMP error quotes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct RefusedPacket {
    key: FlowKey,
    bytes: u32,
    /// By the identification; IPv6 has none, so that only the length tells which one it was.
    kin: Kin,
    ttl: u8,
}

impl RefusedPacket {
    fn of(sight: &Sight<'_>) -> Option<Self> {
        let outer = sight.stack.outer()?;
        let icmp = sight.octets.get(outer.offset.checked_add(outer.header_bytes)? as usize..)?;
        let (_, quoted) = icmp.split_first_chunk::<8>()?;
        match quoted.first()? >> 4 {
            4 => Self::v4(quoted),
            6 => Self::v6(quoted),
            _ => None,
        }
    }

    fn v4(quoted: &[u8]) -> Option<Self> {
        let [_, _, l0, l1, i0, i1, _, _, ttl, protocol, _, _, s0, s1, s2, s3, d0, d1, d2, d3] =
            *quoted.first_chunk::<20>()?;
        let (src, dst) = (Address::v4([s0, s1, s2, s3]), Address::v4([d0, d1, d2, d3]));
        let kin = Kin::Divided(identity::train(src, dst, protocol, u16::from_be_bytes([i0, i1]).into()));
        let bytes = u16::from_be_bytes([l0, l1]).into();
        Some(Self { key: FlowKey { src, dst, protocol }, bytes, kin, ttl })
    }

    fn v6(quoted: &[u8]) -> Option<Self> {
        let (&[_, _, _, _, l0, l1, protocol, ttl], rest) = quoted.split_first_chunk::<8>()?;
        let (src, rest) = rest.split_first_chunk::<16>()?;
        let (src, dst) = (Address::v6(*src), Address::v6(*rest.first_chunk::<16>()?));
        let bytes = 40 + u32::from(u16::from_be_bytes([l0, l1]));
        let kin = Kin::Divided(identity::train(src, dst, protocol, 0));
        Some(Self { key: FlowKey { src, dst, protocol }, bytes, kin, ttl })
    }
}

impl Matcher {
    /// Takes in an ICMP error of the plain side that quotes a packet from there.
    pub(in crate::matching) fn refuse(&mut self, sight: &Sight<'_>) {
        let quoted = RefusedPacket::of(sight).and_then(|quoted| Some((quoted, sight.frame.time.ns()?)));
        if let Some((quoted, ns)) = quoted {
            self.ledger.refuse(quoted, ns);
        }
    }

    /// Flows of which all packets were refused: they would have gone the way of others between the same addresses.
    pub(in crate::matching) fn adopt_refused(&mut self) {
        let refused: Vec<_> =
            self.ledger.flows.iter().filter(|(_, flow)| flow.is_refused()).map(|(id, _)| id).collect();
        let flows = &self.ledger.flows;
        let mut beside: BTreeMap<(Address, Address), u32> = BTreeMap::new();
        for (flow, sa) in self.tally.flow_sa.iter().filter(|(flow, _)| !refused.is_empty() && flows.is_selected(**flow))
        {
            let Some(key) = flows.key(*flow) else { continue };
            let own = beside.entry((key.src, key.dst)).or_default();
            *own = (*own).max(*sa);
        }
        for id in refused {
            let sa = self.ledger.flows.key(id).and_then(|key| beside.get(&(key.src, key.dst))).copied();
            let Some(sa) = sa else { continue };
            self.tally.flow_sa.insert(id, sa);
            self.tally.turns.note(id, None, sa);
            if let Some(own) = self.ledger.flows.get_mut(id) {
                own.adopted = true;
            }
        }
    }
}

impl Ledger {
    /// A packet was refused. Where it is the one that this tap showed, before any router, the next gateway did it: it is not in the tunnel.
    fn refuse(&mut self, quoted: RefusedPacket, ns: i64) {
        /// Packets that are looked through.
        const FAR: usize = 4_096;
        let Some(flow) = self.flows.known(quoted.key) else { return };
        let is_near = |at: Option<i64>| at.is_none_or(|at| ns.saturating_sub(at) <= ON_ITS_WAY_NS);
        let latest = self.plain.iter().rev().take(FAR).take_while(|(_, p)| is_near(p.time.ns()));
        let is_same = |p: &Plain| !p.refused && (p.flow, p.bytes, p.kin) == (flow, quoted.bytes, quoted.kin);
        let Some(serial) = latest.filter(|(_, p)| is_same(p)).map(|(serial, _)| serial).next() else { return };
        let Some(own) = self.plain.get_mut(serial) else { return };
        own.refused = true;
        if own.fate == PlainFate::Waiting && own.marks.ttl == quoted.ttl {
            self.give_up(serial, None, REFUSED);
        }
    }
}
