//! A packet of either side, as it waits.

use crate::dissect::Costs;
use crate::matching::content::identity::{Identity, Kin};
use crate::matching::packets::flows::FlowId;
use crate::matching::packets::flows::services::Service;
use crate::model::pairs::PairBasis;
use crate::model::report::Pattern;
use crate::model::{FramePos, Timestamp};

/// What a header says that gateways copy, map or set (RFC 4301 section 5.1.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(in crate::matching) struct Marks {
    pub(in crate::matching) tos: u8,
    pub(in crate::matching) ttl: u8,
    /// `None` for IPv6, which has no such flag.
    pub(in crate::matching) dont_fragment: Option<bool>,
}

/// A plaintext packet.
#[derive(Clone, Copy, Debug)]
pub(in crate::matching) struct Plain {
    pub(in crate::matching) pos: FramePos,
    pub(in crate::matching) time: Timestamp,
    /// IP length.
    pub(in crate::matching) bytes: u32,
    pub(in crate::matching) flow: FlowId,
    pub(in crate::matching) service: Option<Service>,
    pub(in crate::matching) marks: Marks,
    /// Octets behind it in its frame.
    pub(in crate::matching) pad_bytes: u32,
    pub(in crate::matching) pattern: Option<Pattern>,
    pub(in crate::matching) identity: Option<Identity>,
    pub(in crate::matching) kin: Kin,
    /// An ICMP error says that it was too big.
    pub(in crate::matching) refused: bool,
    /// Whether it is found by its content.
    pub(in crate::matching) indexed: bool,
    /// Octets of its Ethernet frame without FCS.
    pub(in crate::matching) frame_bytes: u32,
    pub(in crate::matching) fate: PlainFate,
}

/// What became of a plaintext packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::matching) enum PlainFate {
    /// Not known yet.
    Waiting,
    /// Paired, seen beside the tunnel, or given up.
    Settled,
}

/// A packet in the tunnel.
#[derive(Clone, Copy, Debug)]
pub(in crate::matching) struct Tunnelled {
    pub(in crate::matching) pos: FramePos,
    pub(in crate::matching) time: Timestamp,
    /// Number of its SA or tunnel.
    pub(in crate::matching) sa: u32,
    pub(in crate::matching) sequence: Option<u32>,
    /// IP length, of all fragments together.
    pub(in crate::matching) outer_bytes: u32,
    /// Outer packets that carry it.
    pub(in crate::matching) pieces: u16,
    /// Whether `outer_bytes` is all of it.
    pub(in crate::matching) complete: bool,
    /// Whether its number was there before.
    pub(in crate::matching) again: bool,
    /// Whether it is found by its content.
    pub(in crate::matching) indexed: bool,
    /// Length of opaque ESP, header to ICV.
    pub(in crate::matching) esp: Option<u32>,
    pub(in crate::matching) marks: Marks,
    pub(in crate::matching) inner: Option<Inner>,
    pub(in crate::matching) identity: Option<Identity>,
    /// Of the packet inside.
    pub(in crate::matching) kin: Kin,
    pub(in crate::matching) costs: Costs,
    /// Octets of its frame without FCS, and those of them behind the IP packet.
    pub(in crate::matching) frame_bytes: u32,
    pub(in crate::matching) pad_bytes: u32,
    pub(in crate::matching) pattern: Option<Pattern>,
    pub(in crate::matching) fate: TunnelledFate,
}

impl Tunnelled {
    /// Whether the packet inside is in transport mode, alone or in GRE, which then has no IP header between it and that of the SA.
    pub(in crate::matching) fn is_transport(&self, inner: Inner) -> bool {
        let own = if self.marks.dont_fragment.is_some() { 20 } else { 40 };
        let is_gre = self.sequence.is_some() && self.costs.gre > 0 && self.costs.outer_ip <= own;
        self.costs.outer_ip == 0 || is_gre || inner.bytes > self.outer_bytes.saturating_sub(20)
    }

    /// How a pair is known that its content makes.
    pub(in crate::matching) fn basis(&self) -> PairBasis {
        if self.inner.is_some_and(|inner| inner.decrypted) { PairBasis::Decrypted } else { PairBasis::Content }
    }
}

/// The packet inside, where it is visible.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::matching) struct Inner {
    /// IP length.
    pub(in crate::matching) bytes: u32,
    pub(in crate::matching) marks: Marks,
    /// Octets between it and the end of what carries it that are no trailer of ESP.
    pub(in crate::matching) carried_pad: u32,
    /// Whether it was decrypted.
    pub(in crate::matching) decrypted: bool,
    /// What packets between its addresses share.
    pub(in crate::matching) ends: u64,
    /// Octets of ESP's IV, padding, trailer and ICV.
    pub(in crate::matching) esp: EspParts,
}

/// Parts of ESP where they are visible.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(in crate::matching) struct EspParts {
    pub(in crate::matching) header: u16,
    pub(in crate::matching) iv: u16,
    pub(in crate::matching) pad: u16,
    pub(in crate::matching) trailer: u16,
    pub(in crate::matching) icv: u16,
    /// What the content is padded to.
    pub(in crate::matching) block: u16,
}

impl EspParts {
    /// Octets behind the content.
    pub(in crate::matching) const fn behind(&self) -> u32 {
        self.pad as u32 + self.trailer as u32 + self.icv as u32
    }
}

/// What became of a tunnelled packet.
#[derive(Clone, Copy, Debug)]
pub(in crate::matching) enum TunnelledFate {
    /// Not known yet.
    Waiting,
    /// It is this plaintext packet.
    Paired(Pairing),
    /// No plaintext packet is known.
    Alone,
    /// Its plaintext packet would have been sent before the plain capture began or after it ended.
    Uncovered,
    /// Its plaintext packet would have been sent while the plain tap showed no frame: it waits for the verdict on that silence.
    Silent,
    /// Its number was there before.
    Repeated,
    /// One of the fragments of a packet that another stands for.
    Part,
}

/// A plaintext packet that is paired: what counts of it from then on. Every pair that is held is read several times, so it is short.
#[derive(Clone, Copy, Debug)]
pub(in crate::matching) struct PairedPlain {
    pub(in crate::matching) pos: FramePos,
    pub(in crate::matching) time: Timestamp,
    pub(in crate::matching) bytes: u32,
    pub(in crate::matching) flow: FlowId,
    pub(in crate::matching) pad_bytes: u32,
    pub(in crate::matching) frame_bytes: u32,
    pub(in crate::matching) marks: Marks,
    pub(in crate::matching) pattern: Option<Pattern>,
}

impl From<&Plain> for PairedPlain {
    #[inline]
    fn from(packet: &Plain) -> Self {
        let Plain { pos, time, bytes, flow, pad_bytes, frame_bytes, marks, pattern, .. } = *packet;
        Self { pos, time, bytes, flow, pad_bytes, frame_bytes, marks, pattern }
    }
}

/// A pair, as the tunnelled packet keeps it.
#[derive(Clone, Copy, Debug)]
pub(in crate::matching) struct Pairing {
    pub(in crate::matching) plain: PairedPlain,
    pub(in crate::matching) basis: PairBasis,
    /// Pairs by order with no slip between them have one number; 0 is none.
    pub(in crate::matching) stretch: u32,
    /// 0 to 1.
    pub(in crate::matching) confidence: f32,
    /// Both packets were left over, as others overtook them.
    pub(in crate::matching) overtaken: bool,
}

impl PairBasis {
    /// What most pairs are known by, of counts in the order of the bases.
    pub(in crate::matching) fn of_most(counts: &[u64; 3]) -> Option<Self> {
        let bases = [Self::Content, Self::Decrypted, Self::Order].into_iter().zip(counts);
        let counted = bases.filter(|(_, count)| **count > 0);
        counted.max_by_key(|(basis, count)| (**count, std::cmp::Reverse(*basis))).map(|(basis, _)| basis)
    }
}
