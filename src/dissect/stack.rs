//! What dissection found in one frame.

use serde::{Deserialize, Serialize};

use super::layer::LayerKind;
use crate::model::{Address, Encapsulation, Protocol, Spi};

/// The layers of one frame that parsed, the facts later floors need, and where and why parsing stopped.
///
/// A stack is reused from frame to frame ([`Stack::clear`]); its vectors keep their memory. All offsets count from the
/// first captured octet of the frame. "Outer" means after mirror shells were peeled.
#[derive(Clone, Debug, Default)]
pub struct Stack {
    /// The shape of the stack: what layers in what order, shells and truncation of the list included.
    pub shape: Shape,
    /// Every layer with its header's octets, outermost first; after a mirror shell only what the shell carries.
    pub layers: Vec<Layer>,
    /// IP headers, outermost first. A header quoted in an ICMP error is not among them.
    pub ips: Vec<IpHeader>,
    /// AH, ESP and IPComp headers, outermost first, then in wire order (several ESP messages in one TCP segment).
    pub sas: Vec<SaHeader>,
    /// Source and destination MAC of the outermost Ethernet header after shells, `None` on links without.
    pub macs: Option<([u8; 6], [u8; 6])>,
    /// Offset of the first octet of what the length figures describe: 0, or behind the mirror shell.
    pub start: u32,
    /// Octets on the wire of the frame that the figures describe, without FCS: the captured frame's, or the mirrored frame's inside a shell.
    pub frame_bytes: u32,
    /// Octets behind the outermost IP packet inside the frame (Ethernet padding or trailer) and where they begin; captured part only.
    pub trailer: Option<Span>,
    /// Octets on the wire behind the outermost IP packet, captured or not.
    pub trailer_bytes: u32,
    /// The encapsulated packet's index in `ips` where it is visible, by the rule of the overhead figures: the first IP header inside
    /// the outermost IPsec or tunnel stack, up to the last consecutive encapsulation that shares its endpoints.
    /// `None` where nothing is encapsulated or the inner packet is not visible.
    pub encapsulated: Option<u8>,
    /// Octets of each visible encapsulating header from the outermost IP header to the encapsulated packet. Where that is not
    /// visible: to the innermost IPsec or tunnel header. All zero in frames without either.
    pub costs: Costs,
    /// What else the frame says: rare evidence, empty for almost all frames.
    pub notes: Vec<Note>,
    /// Properties that hold or not.
    pub flags: StackFlags,
    /// Where and why parsing ended early, if it did.
    pub stop: Option<Stop>,
    /// The ESP-NULL candidate that was followed into the packet ESP carries: one frame alone showed it beyond doubt.
    /// `None` where ESP was left opaque.
    pub null: Option<NullSupport>,
    /// A first fragment of ESP: what stands behind its header if that is ESP-NULL in tunnel mode, by the IV.
    pub peeks: Vec<NullPeek>,
    /// ESP headers whose payload was decrypted before this dissection ([`dissect_opened`](super::dissect_opened)), outermost first.
    pub opened: Vec<OpenedEsp>,
    /// Octets of the frame that were captured, without FCS and from its first octet on, shells included.
    pub captured_bytes: u32,
}

impl Stack {
    /// Makes the stack empty, keeping its memory.
    #[inline]
    pub fn clear(&mut self) {
        self.shape = Shape::default();
        self.layers.clear();
        self.ips.clear();
        self.sas.clear();
        self.macs = None;
        self.start = 0;
        self.frame_bytes = 0;
        self.trailer = None;
        self.trailer_bytes = 0;
        self.encapsulated = None;
        self.costs = Costs::default();
        self.notes.clear();
        self.flags = StackFlags::default();
        self.stop = None;
        self.null = None;
        self.peeks.clear();
        self.opened.clear();
        self.captured_bytes = 0;
    }

    /// Whether `sa` was checked against the ESP-NULL candidates: an ESP header with its sequence number and at least 8
    /// octets of payload, in an IP packet that is no fragment, captured whole or at least as far as an IPv6 header
    /// behind an IV of 8 octets reaches. A checked header without a [`Note::Null`] for a candidate contradicts it.
    #[must_use]
    pub fn null_checked(&self, sa: &SaHeader) -> bool {
        let captured = self.captured_bytes.saturating_sub(sa.offset).min(sa.bytes);
        sa.protocol == Protocol::Esp
            && sa.sequence_seen
            && sa.bytes >= 16
            && (captured == sa.bytes || captured >= 8 + 8 + 40)
            && self.ips.iter().take(usize::from(sa.ip) + 1).all(|ip| !ip.is_fragment())
    }

    /// The layer of which the snapshot length left too little to read it, if dissection ended there.
    pub(crate) fn cut_at(&self) -> Option<LayerKind> {
        let is_cut = |stop: &Stop| matches!(stop.cause, StopCause::TooShort { limit: Limit::Snaplen, .. });
        self.stop.filter(is_cut).map(|stop| stop.layer)
    }

    /// Whether that was UDP, or what may be ESP in it.
    pub(crate) fn is_cut_in_udp(&self) -> bool {
        let behind_udp = self.layers.last().is_some_and(|layer| layer.kind == LayerKind::Udp);
        match self.cut_at() {
            Some(LayerKind::Udp) => true,
            Some(LayerKind::Esp) => behind_udp,
            _ => false,
        }
    }

    /// What was decrypted of an ESP header of this stack, if anything was.
    #[must_use]
    pub fn opened(&self, sa: &SaHeader) -> Option<&OpenedEsp> {
        self.opened.iter().find(|opened| opened.offset == sa.offset && sa.protocol == Protocol::Esp)
    }

    /// AH, ESP and IPComp headers outside the encapsulated packet, all of them where none is visible. Those inside it belong to whoever sent it.
    pub(crate) fn carriers(&self) -> &[SaHeader] {
        let Some(at) = self.encapsulated else { return &self.sas };
        let outside = self.sas.iter().take_while(|sa| sa.ip < at).count();
        self.sas.get(..outside).unwrap_or_default()
    }

    /// Octets of the encapsulated packet as its header states them, where the packet around it can hold so many: lengths that contradict
    /// each other make no figure. Where an IP packet states more octets than there are, nothing may be left over. `None` where no
    /// encapsulated packet is visible.
    #[must_use]
    pub fn encapsulated_bytes(&self) -> Option<u32> {
        let outer = self.ips.first()?;
        let inner = self.ips.get(usize::from(self.encapsulated?))?;
        let needed = inner.offset.saturating_sub(outer.offset).saturating_add(inner.total_bytes);
        let held = match outer.total_bytes {
            _ if outer.is_fragment() => true,
            total if self.is_contradicted() => needed == total,
            total => needed <= total,
        };
        held.then_some(inner.total_bytes)
    }

    /// Whether an IP header states more octets than there are.
    fn is_contradicted(&self) -> bool {
        let is_one =
            |note: &Note| matches!(note, Note::LengthMismatch { layer: LayerKind::Ipv4 | LayerKind::Ipv6, .. });
        self.flags.sliced || self.notes.iter().any(is_one)
    }

    /// The outermost IP header, `None` for frames without IP.
    #[inline]
    #[must_use]
    pub fn outer(&self) -> Option<&IpHeader> {
        self.ips.first()
    }
}

/// The order of layers as one comparable word: six bits a layer, up to twenty layers, and the mirror shell peeled off.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Shape {
    /// Six bits a layer, the first layer in the highest used bits.
    pub layers: u128,
    /// The mirror shell peeled off (the last, where several were nested), by the number of its [`LayerKind`]; 0 for none.
    pub shell: u8,
}

/// Octets from `start`, `bytes` long.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Span {
    /// Offset of the first octet in the captured frame.
    pub start: u32,
    /// How many octets.
    pub bytes: u32,
}

/// One header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layer {
    /// What it is.
    pub kind: LayerKind,
    /// Its octets; only the captured part.
    pub span: Span,
}

/// An IP header, IPv4 (RFC 791) or IPv6 with its extension headers (RFC 8200).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IpHeader {
    /// Source address.
    pub src: Address,
    /// Destination address.
    pub dst: Address,
    /// Offset of the first octet of the header.
    pub offset: u32,
    /// Octets of the fixed header with IPv4 options or IPv6 extension headers (fragment header included), up to the upper layer.
    pub header_bytes: u32,
    /// Octets of the whole packet as the header states them: IPv4 total length, or 40 + IPv6 payload length.
    /// Where the field is 0 (segmentation offload, RFC 2675 jumbograms) the length the frame leaves for it.
    pub total_bytes: u32,
    /// The upper-layer protocol behind all extension headers.
    pub protocol: u8,
    /// 4 or 6.
    pub version: u8,
    /// Time to live or hop limit.
    pub ttl: u8,
    /// Type of service or traffic class: DSCP and ECN.
    pub tos: u8,
    /// IPv4 don't fragment.
    pub dont_fragment: bool,
    /// More fragments follow (IPv4 flag, or IPv6 fragment header).
    pub more_fragments: bool,
    /// Fragment offset in octets; 0 for the first or an unfragmented packet.
    pub fragment_offset: u32,
    /// IPv4 identification, or that of the IPv6 fragment header, 0 without one.
    pub identification: u32,
}

impl IpHeader {
    /// Whether the packet is a fragment at all.
    #[inline]
    #[must_use]
    pub const fn is_fragment(&self) -> bool {
        self.more_fragments || self.fragment_offset != 0
    }
}

/// One AH, ESP or IPComp header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SaHeader {
    /// Which protocol.
    pub protocol: Protocol,
    /// SPI, or the CPI of IPComp.
    pub spi: Spi,
    /// Sequence number; 0 for IPComp. See `sequence_seen`.
    pub sequence: u32,
    /// False where the capture was cut before the sequence number, and for IPComp.
    pub sequence_seen: bool,
    /// Index in `ips` of the IP header that encloses it.
    pub ip: u8,
    /// How it is carried.
    pub encapsulation: Encapsulation,
    /// Offset of its first octet.
    pub offset: u32,
    /// AH: octets of the AH header as its length field says. ESP and IPComp: octets from the header to the end of what the lengths of the
    /// enclosing headers give it, captured or not. A fragment's share only, where the packet is fragmented.
    pub bytes: u32,
    /// Source and destination port where `encapsulation` is UDP or TCP, else 0.
    pub ports: (u16, u16),
}

/// An ESP packet that was decrypted: where what stands in it. Its plaintext takes the place of its ciphertext, octet for octet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct OpenedEsp {
    /// Offset of the ESP header.
    pub offset: u32,
    /// Octets of the IV.
    pub iv_bytes: u8,
    /// Octets of the ICV.
    pub icv_bytes: u8,
    /// Octets that the plaintext is a multiple of: 4 or the cipher's block.
    pub block: u8,
    /// Next header: 4 or 41 in tunnel mode, 59 for a dummy packet.
    pub next_header: u8,
    /// Octets of what it carries, padding and TFC padding left out.
    pub payload_bytes: u32,
    /// Octets of TFC padding (RFC 4303 section 2.7); where the trailer was cut off, 0.
    pub tfc_bytes: u32,
    /// What the pad length field says; `None` where the capture cut it off.
    pub pad_bytes: Option<u8>,
    /// Whether the padding is 1, 2, 3, ... (RFC 4303 section 2.4); true for no padding.
    pub pad_counting: bool,
}

impl OpenedEsp {
    /// Octets of the ESP header (RFC 4303 section 2).
    pub const HEADER: u32 = 8;
    /// Octets of pad length and next header (RFC 4303 sections 2.5 and 2.6).
    pub const TRAILER: u32 = 2;

    /// Octets that ESP of `bytes` octets in all adds to what it carries.
    #[must_use]
    pub const fn adds(&self, bytes: u32) -> u32 {
        bytes.saturating_sub(self.payload_bytes)
    }

    /// Of these, octets of padding and TFC padding; they are known where the capture cut the trailer off, too.
    #[must_use]
    pub const fn padding(&self, bytes: u32) -> u32 {
        let fixed = Self::HEADER + self.iv_bytes as u32 + Self::TRAILER + self.icv_bytes as u32;
        self.adds(bytes).saturating_sub(fixed)
    }

    /// Whether there is more padding than its block needs.
    #[must_use]
    pub fn padded_further(&self) -> bool {
        let block = u32::from(self.block.max(1));
        let plain = self.payload_bytes + Self::TRAILER;
        let needed = plain.next_multiple_of(block) - plain;
        self.tfc_bytes > 0 || self.pad_bytes.is_some_and(|pad| u32::from(pad) > needed)
    }

    /// Whether it carries an IP packet.
    #[must_use]
    pub const fn is_tunnel(&self) -> bool {
        matches!(self.next_header, 4 | 41)
    }
}

/// Octets of visible encapsulating headers, in the terms of the overhead figures.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Costs {
    /// The outermost IP header with options or extension headers, and every further IP header outside the encapsulated packet.
    pub outer_ip: u16,
    /// UDP headers, and WESP headers or RFC 9329 length prefixes.
    pub udp: u16,
    /// TCP headers.
    pub tcp: u16,
    /// GRE headers with their options.
    pub gre: u16,
    /// AH headers.
    pub ah: u16,
    /// IPComp headers.
    pub ipcomp: u16,
    /// Link-layer headers inside the tunnel: inner Ethernet with its tags, PPP, EtherIP, L2TP, and VXLAN or GENEVE as overlays.
    pub link: u16,
}

impl Costs {
    /// Octets of all headers but those of IP.
    #[must_use]
    pub fn behind_ip(&self) -> u32 {
        let Self { outer_ip: _, udp, tcp, gre, ah, ipcomp, link } = *self;
        [udp, tcp, gre, ah, ipcomp, link].into_iter().map(u32::from).sum()
    }
}

/// Properties of a frame that hold or not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StackFlags {
    /// A control frame: PAUSE, PFC, STP, CDP, LLDP, LOOP, LACP or a NAT keepalive.
    pub control: bool,
    /// Captured octets are fewer than the wire's.
    pub cut_by_snaplen: bool,
    /// The rest of it is in other fragments of the mirror shell, and not behind a snapshot length.
    pub in_shell_fragment: bool,
    /// The outermost packet states more octets than the frame has on the wire, as the capture tells it, and its header is sound: the
    /// frame was sliced, and its length on the wire not kept.
    pub sliced: bool,
    /// Longer than 9,600 octets, or an IP total length of 0: never on the wire like this (segmentation offload).
    pub offloaded: bool,
    /// The link is not Ethernet: figures that need an Ethernet frame are computed as for an untagged one.
    pub not_ethernet: bool,
    /// The destination MAC is a group or the broadcast address.
    pub multicast: bool,
    /// The frame ends in its own CRC-32, though the capture declares no FCS: the four octets are left out of everything else here.
    pub fcs_found: bool,
    /// Four octets more than the packet and its padding need, which are not the frame's CRC-32.
    pub fcs_absent: bool,
    /// A TCP segment on a port of RFC 9329 encapsulation that does not begin and end with whole messages.
    pub tcp_continuation: bool,
    /// A TCP segment on such a port, or with the stream prefix, also one without a message (a bare ACK).
    pub tcp_encapsulation: bool,
}

/// An inner IP header where ESP-NULL would have it, in a fragment that does not show the end of the packet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct NullPeek {
    /// Octets of IV in front of it.
    pub iv_bytes: u8,
    /// 4 or 41.
    pub next_header: u8,
    /// Bits of evidence, that the lengths fit an ICV aside.
    pub bits: u8,
    /// The inner packet's length as its header states it.
    pub inner_bytes: u16,
}

impl NullPeek {
    /// The ICV, where that and the least padding are all that `esp_bytes` leave, from the ESP header to the packet's end.
    #[must_use]
    pub fn icv_bytes(&self, esp_bytes: u32) -> Option<u8> {
        let inner = u32::from(self.inner_bytes);
        let least_pad = (4 - (inner + 2) % 4) % 4;
        let icv = esp_bytes.checked_sub(8 + u32::from(self.iv_bytes) + inner + least_pad + 2)?;
        crate::dissect::ipsec::null::NULL_ICVS.into_iter().find(|candidate| u32::from(*candidate) == icv)
    }
}

/// Rare evidence in a frame.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Note {
    /// The payload of `sas[sa]` (ESP) is consistent with ESP-NULL under a candidate.
    Null {
        /// Index in `sas`.
        sa: u8,
        /// What the payload would be.
        support: NullSupport,
    },
    /// An ICMP or ICMPv6 error says that a packet was too big (RFC 1191 section 4, RFC 4443 section 3.2).
    TooBig {
        /// Next-hop MTU stated; 0 where the router states none.
        mtu: u32,
        /// Addresses of the quoted packet.
        src: Address,
        /// Addresses of the quoted packet.
        dst: Address,
        /// The SA header quoted, if the quoted packet has one: protocol, SPI.
        sa: Option<(Protocol, Spi)>,
    },
    /// An IKE message, and what its clear part says (RFC 2408 sections 3.1 and 3.14, RFC 7296 sections 3.1 and 3.10).
    Ike {
        /// Major version of IKE: 1 or 2.
        version: u8,
        /// A notify INVALID-SPI (IKEv1 and IKEv2: 11) in clear, with the SPI it carries.
        invalid_spi: Option<Option<Spi>>,
        /// A delete payload in clear, with its first SPI of four octets.
        delete: Option<Option<Spi>>,
    },
    /// An 802.3x PAUSE frame or one class of a PFC frame.
    Pause {
        /// PFC priority class, `None` for plain PAUSE.
        class: Option<u8>,
        /// Quanta of 512 bit times.
        quanta: u16,
    },
    /// UDP that could be ESP on an unusual port: payload of at least 20 octets in whole words, first word at least 256.
    UdpCandidate {
        /// First word: what the SPI would be.
        spi: Spi,
        /// Second word: what the sequence number would be.
        sequence: u32,
        /// Ports, source then destination.
        ports: (u16, u16),
        /// Offset of the payload.
        offset: u32,
        /// Octets of the payload.
        bytes: u32,
        /// Of these, octets in other fragments, where this is the first fragment of the datagram.
        missing: u32,
    },
    /// UDP on an unusual port that cannot be ESP: its length, its first word, or a header of another protocol.
    UdpOther {
        /// Ports, source then destination.
        ports: (u16, u16),
    },
    /// The segment begins a stream of IKE and ESP in TCP (RFC 9329 section 4).
    TcpStream {
        /// The destination's port.
        port: u16,
    },
    /// The endpoint showed an IKE header or the non-ESP marker on this UDP port.
    IkeEndpoint {
        /// The endpoint.
        address: Address,
        /// Its port.
        port: u16,
    },
    /// An AH length field that is impossible: shorter than the fixed part, longer than the packet, or (IPv6) not a multiple of 8 octets.
    AhLength {
        /// Index in `sas`.
        sa: u8,
    },
    /// An ESP payload too short, or (unfragmented, native or UDP) not a whole number of 32-bit words.
    EspLength {
        /// Index in `sas`.
        sa: u8,
    },
    /// Lengths that contradict each other: the named layer claims `claims` octets, `has` are there on the wire.
    LengthMismatch {
        /// The layer whose length field is contradicted.
        layer: LayerKind,
        /// What its length field says.
        claims: u32,
        /// What the enclosing layer leaves.
        has: u32,
    },
}

impl Note {
    /// What a [`Note::Null`] says, `None` for other notes.
    #[must_use]
    pub const fn null_support(&self) -> Option<NullSupport> {
        match self {
            Self::Null { support, .. } => Some(*support),
            _ => None,
        }
    }
}

/// How one ESP payload supports one ESP-NULL candidate (RFC 5879).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NullSupport {
    /// Octets of ICV assumed: 0, 12, 16, 24 or 32.
    pub icv_bytes: u8,
    /// Octets of IV assumed: 0, or 8 for NULL-AUTH-AES-GMAC.
    pub iv_bytes: u8,
    /// Bits of evidence that this is no accident.
    pub bits: u8,
    /// Pad length found (TFC excluded); `None` where the capture was cut before the trailer.
    pub pad_bytes: Option<u8>,
    /// Octets of TFC padding between the inner packet and the ESP padding (RFC 4303 section 2.7).
    pub tfc_bytes: u16,
    /// Whether the ESP padding is 1, 2, 3, ... (RFC 4303 section 2.4); true for no padding.
    pub pad_monotonic: bool,
    /// Next header found: 4 or 41 (tunnel), a transport protocol, or 59 (dummy).
    pub next_header: u8,
    /// Octets of the inner packet (tunnel: its IP length; transport: octets of the upper layer).
    pub inner_bytes: u16,
    /// Inner addresses in tunnel mode.
    pub inner: Option<(Address, Address)>,
    /// Of an inner packet whose end was cut off: which packet counts as the encapsulated one.
    pub within: Within,
}

/// Which packet is the encapsulated one, of an inner packet that may be a tunnel of the same ends again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub enum Within {
    /// The inner packet itself.
    #[default]
    Itself,
    /// The inner packet is a tunnel of the same ends, and this one is in it.
    Further {
        /// Its octets.
        bytes: u16,
        /// Octets of GRE headers in front of it.
        gre: u16,
    },
    /// Too little of it was captured to tell.
    Unknown,
}

/// Where and why dissection ended early.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stop {
    /// The layer that could not be read.
    pub layer: LayerKind,
    /// Where it begins.
    pub offset: u32,
    /// Why.
    pub cause: StopCause,
}

/// Why a layer could not be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum StopCause {
    /// The header needs more octets than there are.
    TooShort {
        /// Octets the header needs.
        needed: u32,
        /// Octets there were.
        had: u32,
        /// What limited them.
        limit: Limit,
    },
    /// A field has a value that cannot be.
    BadValue {
        /// The field, in words.
        field: &'static str,
        /// What it must be, in words.
        expected: &'static str,
        /// What it is.
        actual: u32,
    },
    /// More layers than [`super::MAX_LAYERS`].
    TooDeep,
    /// A link type, ethertype or PPP protocol that is not read.
    Unknown {
        /// Its number.
        number: u32,
    },
}

/// What limited the octets of a layer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Limit {
    /// The snapshot length of the capture.
    Snaplen,
    /// The end of the frame on the wire.
    Frame,
    /// The length field of an enclosing header.
    Length(LayerKind),
}
