//! What pairing takes from a frame of either side.

mod parts;

use self::parts::{HEADER, TRAILER, esp_parts, short};
use super::ledger::{EspParts, Inner, Marks, Plain, PlainFate, Tunnelled, TunnelledFate};
use crate::capture::Frame;
use crate::dissect::{DissectOptions, IpHeader, Note, NullSupport, OpenedEsp, Stack, dissect};
use crate::keys::Sight;
use crate::matching::Matcher;
use crate::matching::content::identity;
use crate::matching::content::identity::{Identity, Kin};
use crate::matching::order::pairs::Null;
use crate::matching::packets::flows::services::service;
use crate::model::report::Pattern;
use crate::model::{Address, LinkType, Protocol};

/// What a frame is to pairing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// An IP packet of its own.
    Plain,
    /// A packet in a tunnel or under AH or ESP.
    Tunnelled,
    /// A later fragment of an outer packet.
    Piece,
    /// Nothing that can be paired.
    None,
}

/// A packet inside a tunnel that can be seen.
#[derive(Clone, Copy)]
struct Visible {
    inner: Inner,
    identity: Option<Identity>,
    kin: Kin,
    /// Transport mode: the outermost IP header is the packet's own.
    transport: bool,
}

/// A packet inside a tunnel, as far as it can be seen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VisibleInner {
    /// IP length.
    pub(crate) bytes: u32,
    /// Digest of what no router changes; `None` where too little was captured.
    pub(crate) key: Option<u64>,
    /// Source and destination.
    pub(crate) ends: (Address, Address),
    /// Time to live or hop limit.
    pub(crate) ttl: u8,
}

/// Whether a packet is for a group that routers forward to: neither one of the link (RFC 5771 section 4, RFC 4291 section 2.7), nor the last hop.
const fn is_routed_group(outer: &IpHeader) -> bool {
    outer.ttl > 1 && outer.dst.is_routed_group()
}

impl Sight<'_> {
    /// Whether the frame is a packet in clear.
    pub(crate) fn is_plain(&self) -> bool {
        self.role() == Role::Plain
    }

    /// What the frame is, by its outermost headers.
    #[inline]
    pub(crate) fn role(&self) -> Role {
        let Some(outer) = self.stack.outer() else { return Role::None };
        if (self.stack.flags.multicast || outer.dst.is_multicast()) && !is_routed_group(outer) {
            return Role::None;
        }
        if !self.stack.sas.is_empty() || self.stack.encapsulated.is_some() {
            Role::Tunnelled
        } else if outer.fragment_offset > 0 && matches!(outer.protocol, 4 | 41 | 47 | 50 | 51 | 108) {
            Role::Piece
        } else if self.stack.flags.control {
            Role::None
        } else {
            Role::Plain
        }
    }

    fn pad(&self) -> (u32, Option<Pattern>) {
        let octets =
            self.stack.trailer.and_then(|span| self.octets.get(span.start as usize..)?.get(..span.bytes as usize));
        (self.stack.trailer_bytes, octets.and_then(Pattern::of))
    }

    /// The packet of the outermost IP header.
    pub(in crate::matching) fn plain(&self, outer: &IpHeader, flow: u32) -> Plain {
        let (pad_bytes, pattern) = self.pad();
        Plain {
            pos: self.frame.pos,
            time: self.frame.time,
            bytes: outer.total_bytes,
            flow,
            service: service(self.octets, outer),
            marks: marks(outer),
            pad_bytes,
            pattern,
            identity: Identity::of(self.octets, outer),
            kin: Kin::of_whole(self.octets, outer),
            refused: false,
            indexed: false,
            frame_bytes: self.stack.frame_bytes,
            fate: PlainFate::Waiting,
        }
    }

    /// The packet of the outermost IP header, with what is inside. `null`: what other packets of its SA show of ESP-NULL.
    pub(in crate::matching) fn tunnelled(&self, outer: &IpHeader, sa: u32, null: Null) -> Tunnelled {
        let stack = self.stack;
        let (pad_bytes, pattern) = self.pad();
        let cut = self.cut(null);
        let visible = cut.or_else(|| self.inner(outer));
        let last = stack.carriers().last();
        let opaque = last.filter(|sa| visible.is_none() && sa.protocol == Protocol::Esp);
        let mut costs = stack.costs;
        if visible.is_some_and(|visible| visible.transport) {
            let own = u16::try_from(outer.header_bytes).unwrap_or(u16::MAX);
            costs.outer_ip = costs.outer_ip.saturating_sub(own);
        }
        if cut.is_some() {
            costs.outer_ip = u16::try_from(outer.header_bytes).unwrap_or(u16::MAX);
        }
        Tunnelled {
            pos: self.frame.pos,
            time: self.frame.time,
            sa,
            sequence: last.filter(|sa| sa.sequence_seen).map(|sa| sa.sequence),
            outer_bytes: outer.total_bytes,
            pieces: 1,
            complete: !outer.more_fragments,
            again: false,
            indexed: false,
            esp: opaque.map(|sa| sa.bytes),
            marks: marks(outer),
            inner: visible.map(|visible| visible.inner),
            identity: visible.and_then(|visible| visible.identity),
            kin: visible.map_or(Kin::Nothing, |visible| visible.kin),
            costs,
            frame_bytes: stack.frame_bytes,
            pad_bytes,
            pattern,
            fate: TunnelledFate::Waiting,
        }
    }

    /// The packet inside, as far as it can be seen: what `trials` takes of it.
    pub(crate) fn inside(&self, outer: &IpHeader) -> Option<VisibleInner> {
        let visible = self.inner(outer)?;
        let ip = self.stack.encapsulated.and_then(|at| self.stack.ips.get(usize::from(at))).unwrap_or(outer);
        Some(VisibleInner {
            bytes: visible.inner.bytes,
            key: visible.identity.map(|identity| identity.key),
            ends: (ip.src, ip.dst),
            ttl: ip.ttl,
        })
    }

    /// Digest of what no router changes of the packet of the outermost IP header.
    pub(crate) fn key(&self, outer: &IpHeader) -> Option<u64> {
        Identity::of(self.octets, outer).map(|identity| identity.key)
    }

    /// The packet inside.
    fn inner(&self, outer: &IpHeader) -> Option<Visible> {
        let stack = self.stack;
        let is_opaque = stack.encapsulated.is_none() && stack.null.is_none() && stack.opened.is_empty();
        if is_opaque && stack.sas.last().is_some_and(|sa| sa.protocol == Protocol::Esp) {
            return None;
        }
        let esp = esp_parts(stack);
        if let Some(ip) = stack.encapsulated.and_then(|at| stack.ips.get(usize::from(at))) {
            let end = ip.offset.saturating_add(ip.total_bytes);
            // Up to the end of the outer packet, less what belongs to ESP.
            let outer_end = outer.offset.saturating_add(outer.total_bytes);
            let behind = outer_end.saturating_sub(end).saturating_sub(esp.behind());
            let carried_pad = if outer.is_fragment() { 0 } else { behind };
            let inner = Inner {
                bytes: ip.total_bytes,
                marks: marks(ip),
                carried_pad,
                decrypted: self.decrypted,
                ends: ends(ip),
                esp,
            };
            let (identity, kin) = (Identity::of(self.octets, ip), Kin::of_part(self.octets, ip));
            return Some(Visible { inner, identity, kin, transport: false });
        }
        if stack.sas.last().is_some_and(|sa| sa.protocol == Protocol::IpComp) {
            return self.inflated(outer, esp);
        }
        self.transport(outer, esp)
    }

    /// The packet inside ESP-NULL whose end a snapshot length cut: one frame alone does not decide, but a header whose checksum verifies and whose length
    /// fits is hardly ever chance, and others of the SA may have told.
    fn cut(&self, told: Null) -> Option<Visible> {
        /// Bits of a header with a checksum and of a length that fits.
        const ENOUGH: u8 = 32;
        let stack = self.stack;
        let header = stack.sas.last().filter(|_| stack.encapsulated.is_none() && stack.null.is_none())?;
        let is_told = |own: &NullSupport| own.bits >= ENOUGH || told.told() == Some((own.icv_bytes, own.iv_bytes));
        let mut supports = stack.notes.iter().filter_map(Note::null_support);
        let is_cut = |own: &NullSupport| own.pad_bytes.is_none() && matches!(own.next_header, 4 | 41);
        let whole = supports.find(|own| is_cut(own) && is_told(own));
        // The first fragment of a packet shows no length that fits.
        let first = || stack.peeks.iter().filter(|_| stack.flags.cut_by_snaplen);
        let peeked =
            || first().find_map(|own| told.told().filter(|(_, iv)| *iv == own.iv_bytes).zip(Some(own.inner_bytes)));
        let whole = whole.map(|own| ((own.icv_bytes, own.iv_bytes), own.inner_bytes));
        let ((icv, iv), bytes) = whole.or_else(peeked)?;
        let start = header.offset + OpenedEsp::HEADER + u32::from(iv);
        let octets = self.octets.get(start as usize..)?;
        let octets = octets.get(..usize::from(bytes)).unwrap_or(octets);
        let frame = Frame { data: octets, wire_bytes: bytes.into(), link: LinkType::RAW, fcs_bytes: 0, ..self.frame };
        let mut inside = Stack::default();
        dissect(&frame, &DissectOptions::default(), &mut inside);
        let ip = inside.outer()?;
        let rest = OpenedEsp::HEADER + u32::from(iv) + ip.total_bytes + OpenedEsp::TRAILER + u32::from(icv);
        let esp = EspParts {
            header: HEADER,
            iv: iv.into(),
            pad: short(header.bytes.saturating_sub(rest)),
            trailer: TRAILER,
            icv: icv.into(),
            block: 4,
        };
        let inner =
            Inner { bytes: ip.total_bytes, marks: marks(ip), carried_pad: 0, decrypted: false, ends: ends(ip), esp };
        let (identity, kin) = (Identity::of(octets, ip), Kin::of_part(octets, ip));
        Some(Visible { inner, identity, kin, transport: false })
    }

    /// The packet inside IPComp (RFC 3173) that was compressed with DEFLATE (RFC 2394).
    fn inflated(&self, outer: &IpHeader, esp: EspParts) -> Option<Visible> {
        /// Octets of the IPComp header.
        const HEADER: usize = 4;
        let header = self.stack.sas.last()?;
        let compressed = self.octets.get(header.offset as usize..)?.get(..header.bytes as usize)?;
        let (head, compressed) = compressed.split_at_checked(HEADER)?;
        let next_header = *head.first()?;
        let mut octets = vec![0; usize::from(u16::MAX)];
        let mut stream = flate2::Decompress::new(false);
        let done = stream.decompress(compressed, &mut octets, flate2::FlushDecompress::Finish).ok()?;
        if done != flate2::Status::StreamEnd {
            return None;
        }
        octets.truncate(usize::try_from(stream.total_out()).ok()?);
        if matches!(next_header, 4 | 41) {
            let frame = Frame {
                data: &octets,
                wire_bytes: octets.len() as u32,
                link: LinkType::RAW,
                fcs_bytes: 0,
                ..self.frame
            };
            let mut stack = Stack::default();
            dissect(&frame, &DissectOptions::default(), &mut stack);
            let ip = stack.outer()?;
            let inner = Inner {
                bytes: ip.total_bytes,
                marks: marks(ip),
                carried_pad: 0,
                decrypted: self.decrypted,
                ends: ends(ip),
                esp,
            };
            let (identity, kin) = (Identity::of(&octets, ip), Kin::of_part(&octets, ip));
            return Some(Visible { inner, identity, kin, transport: false });
        }
        let total = outer.header_bytes + u32::try_from(octets.len()).ok()?;
        let inner = Inner {
            bytes: total,
            marks: marks(outer),
            carried_pad: 0,
            decrypted: self.decrypted,
            ends: ends(outer),
            esp,
        };
        let identity = Identity::new(outer, next_header, total, &octets, octets.len());
        Some(Visible { inner, identity, kin: Kin::Nothing, transport: true })
    }

    /// In transport mode the packet is the outer one without the headers and trailers of IPsec.
    fn transport(&self, outer: &IpHeader, esp: EspParts) -> Option<Visible> {
        let stack = self.stack;
        if stack.ips.len() != 1 || outer.is_fragment() {
            return None;
        }
        let (mut start, mut end) = (outer.offset + outer.header_bytes, outer.offset.saturating_add(outer.total_bytes));
        let mut protocol = None;
        for sa in &stack.sas {
            match (stack.opened(sa), sa.protocol) {
                (Some(opened), _) if !opened.is_tunnel() && opened.next_header != DUMMY => {
                    start = sa.offset + OpenedEsp::HEADER + u32::from(opened.iv_bytes);
                    end = end.min(start.saturating_add(opened.payload_bytes));
                    protocol = Some(opened.next_header);
                }
                (None, Protocol::Ah) => {
                    start = sa.offset.saturating_add(sa.bytes);
                    protocol = self.octets.get(sa.offset as usize).copied();
                }
                (None, Protocol::Esp) => {
                    let null = stack.null.filter(|null| !matches!(null.next_header, 4 | 41 | DUMMY))?;
                    start = sa.offset + OpenedEsp::HEADER + u32::from(null.iv_bytes);
                    end = end.min(start.saturating_add(u32::from(null.inner_bytes)));
                    protocol = Some(null.next_header);
                }
                _ => return None,
            }
        }
        // A header that the capture cut off is no payload: what is behind it is not known.
        if protocol.is_some_and(|next| HEADERS.contains(&next)) {
            return None;
        }
        let bytes = end.checked_sub(start)?;
        let total = outer.header_bytes + bytes;
        let inner = Inner {
            bytes: total,
            marks: marks(outer),
            carried_pad: 0,
            decrypted: self.decrypted,
            ends: ends(outer),
            esp,
        };
        let captured = self.octets.get(start as usize..)?;
        let identity = Identity::new(outer, protocol?, total, captured, bytes as usize);
        Some(Visible { inner, identity, kin: Kin::Nothing, transport: true })
    }
}

impl Matcher {
    /// Whether a packet of an SA holds nothing that a plaintext side shows: one without content, which the receiver discards (RFC 4303 section 2.6),
    /// or one to a group of hosts, such as are left out on every side.
    pub(in crate::matching) fn has_no_counterpart(&mut self, sight: &Sight<'_>, sa: u32) -> bool {
        let stack = sight.stack;
        let header = stack.carriers().last().filter(|header| header.protocol == Protocol::Esp);
        if let Some(own) = self.order.sas.get_mut(sa as usize).filter(|_| header.is_some()) {
            let was_told = own.null.told().is_some();
            let mut supports = stack.notes.iter().filter_map(Note::null_support);
            if let Some(null) = stack.null {
                if null.next_header == DUMMY {
                    return true;
                }
                own.null.show(null.icv_bytes, null.iv_bytes, true);
            } else if let Some((icv, iv)) = own.null.told() {
                let is_dummy = |own: &NullSupport| (own.icv_bytes, own.iv_bytes, own.next_header) == (icv, iv, DUMMY);
                if supports.any(|own| is_dummy(&own)) {
                    return true;
                }
            } else if let Some(own_null) = supports.find(|own| matches!(own.next_header, 4 | 41)) {
                own.null.show(own_null.icv_bytes, own_null.iv_bytes, false);
            }
            // Those before it wait as opaque ones.
            if !was_told && own.null.told().is_some() {
                self.ledger.early.push((sa, self.ledger.tunnel.next()));
            }
        }
        let opened = header.and_then(|header| stack.opened(header));
        if opened.is_some_and(|opened| opened.next_header == DUMMY && stack.encapsulated.is_none()) {
            return true;
        }
        let inner = stack.encapsulated.and_then(|at| stack.ips.get(usize::from(at)));
        inner.is_some_and(|ip| ip.dst.is_multicast() && !is_routed_group(ip))
    }
}

/// Headers of IPv4, IPv6, ESP, AH and IPComp: the walk goes on behind them if they are there.
const HEADERS: [u8; 5] = [4, 41, 50, 51, 108];

/// Next header of a packet without content (RFC 4303 section 2.6).
const DUMMY: u8 = 59;

fn ends(ip: &IpHeader) -> u64 {
    identity::ends(ip.src, ip.dst)
}

fn marks(ip: &IpHeader) -> Marks {
    let dont_fragment = (ip.version == 4).then_some(ip.dont_fragment);
    Marks { tos: ip.tos, ttl: ip.ttl, dont_fragment }
}
