//! ESP-NULL: does an ESP payload lie there in clear? (RFC 4303, RFC 5879)
//!
//! Votes are bits of evidence: a support of n bits is one that random octets would give with a probability of at most
//! 2^-n. Candidates are pairs of ICV (0, 12, 16, 24 or 32 octets) and IV (0, or 8 for NULL-AUTH-AES-GMAC, RFC 4543).
//! Where the trailer of a candidate has to be is known, so each candidate is one look at pad length and next header;
//! [`super::look`] sends almost all encrypted frames away after a handful of octets.
//!
//! One frame alone decides ([`NULL_DECISIVE`]) only where a checksum over it verifies; everything else stays below and adds
//! up per SA, where every checked frame without support counts against a candidate.

mod within;

use self::within::within;
use super::upper::{plausible, upper_layer};
use crate::dissect::stack::{Note, NullPeek, NullSupport, Within};
use crate::model::Address;
use crate::wire::checksum::Sum;
use crate::wire::gre::Gre;
use crate::wire::ipsec::{Esp, Wesp};

/// Octets of ICV that are tried.
pub const NULL_ICVS: [u8; 5] = [0, 12, 16, 24, 32];
/// Octets of IV that are tried.
pub const NULL_IVS: [u8; 2] = [0, 8];
/// From this many bits on, one frame alone decides.
pub const NULL_DECISIVE: u8 = 40;
/// Twenty of 65536 lengths fit an ICV.
pub(crate) const NULL_LENGTH_BITS: u8 = 11;
/// The most that one frame without a verified checksum counts.
const UNVERIFIED: u8 = 39;
/// The most that an inner IPv4 header with a wrong checksum counts: it contradicts as much as it supports.
const CONTRADICTED: u8 = 32;
/// Supports of fewer bits are not worth a note.
const LEAST: u8 = 12;
/// Monotonic padding counts up to this many octets.
const PAD_CAP: usize = 4;

/// What a WESP header says about the ESP packet behind it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::dissect) struct Declared {
    iv_bytes: u8,
    icv_bytes: u8,
    next_header: u8,
}

impl Declared {
    /// Where payload and ICV are, if the header is consistent (RFC 5840 section 2).
    pub(in crate::dissect) fn by(header: Wesp<'_>) -> Option<Self> {
        let esp = header.header_bytes() + Esp::BYTES;
        let iv = usize::from(header.payload_offset()).checked_sub(esp)?;
        Some(Self {
            iv_bytes: u8::try_from(iv).ok()?,
            icv_bytes: header.trailer_bytes(),
            next_header: header.next_header(),
        })
    }
}

/// Adds a support that is worth a note.
fn note(notes: &mut Vec<Note>, sa: u8, support: Option<NullSupport>) {
    if let Some(support) = support
        && support.bits >= LEAST
    {
        notes.push(Note::Null { sa, support });
    }
}

/// Settles what was noted from `first` on: an inner packet of exact length leaves no room for readings of the same
/// octets with TFC padding. Answers the candidate that is beyond doubt.
fn settle(notes: &mut Vec<Note>, first: usize) -> Option<NullSupport> {
    let supports = |notes: &[Note]| -> Option<NullSupport> {
        let found = notes.iter().skip(first).filter_map(Note::null_support);
        found.filter(|s| s.bits >= NULL_DECISIVE).max_by_key(|s| s.bits)
    };
    let exact = |note: &Note| note.null_support().is_some_and(|s| s.inner.is_some() && s.tfc_bytes == 0);
    if notes.len() > first + 1 && notes.iter().skip(first).any(exact) {
        let mut index = 0;
        notes.retain(|note| {
            index += 1;
            index <= first || note.null_support().is_none_or(|s| s.tfc_bytes == 0)
        });
    }
    supports(notes)
}

/// One ESP payload to be checked.
pub(in crate::dissect) struct Suspect<'a> {
    /// Index of its header in the stack's `sas`.
    pub(in crate::dissect) sa: u8,
    /// Everything captured behind the sequence number.
    pub(in crate::dissect) payload: &'a [u8],
    /// Octets of that on the wire.
    pub(in crate::dissect) wire_bytes: usize,
    /// Endpoints of the enclosing IP header.
    pub(in crate::dissect) endpoints: Option<(Address, Address)>,
    /// Those of the outermost one.
    pub(in crate::dissect) around: Option<(Address, Address)>,
    /// What a WESP header says.
    pub(in crate::dissect) declared: Option<Declared>,
}

impl Suspect<'_> {
    /// Notes all candidates that the payload supports; answers the one that is beyond doubt.
    pub(in crate::dissect) fn check(&self, notes: &mut Vec<Note>) -> Option<NullSupport> {
        let first = notes.len();
        if self.payload.len() < self.wire_bytes {
            match within::cut_gre(self.payload, self.wire_bytes, self.around) {
                // A key or a number of GRE is no IV.
                Some(support) => note(notes, self.sa, Some(support)),
                None => NULL_IVS.into_iter().for_each(|iv_bytes| {
                    note(notes, self.sa, cut_tunnel(self.payload, self.wire_bytes, iv_bytes, self.around));
                }),
            }
        } else if let Some(declared) = self.declared {
            note(notes, self.sa, declared_candidate(self.payload, self.endpoints, declared));
        } else {
            self.check_whole(notes);
        }
        settle(notes, first)
    }

    fn check_whole(&self, notes: &mut Vec<Note>) {
        for icv_bytes in NULL_ICVS {
            let Some(end) = self.payload.len().checked_sub(usize::from(icv_bytes)) else { break };
            let Some(&[ref rest @ .., pad_bytes, next_header]) = self.payload.get(..end) else { break };
            if !plausible(next_header) {
                continue;
            }
            for iv_bytes in NULL_IVS {
                note(notes, self.sa, candidate(rest, pad_bytes, next_header, icv_bytes, iv_bytes, self.endpoints));
            }
        }
    }
}

/// The one candidate that WESP declares; its word is worth 24 bits where the trailer keeps it.
fn declared_candidate(
    payload: &[u8],
    endpoints: Option<(Address, Address)>,
    declared: Declared,
) -> Option<NullSupport> {
    let end = payload.len().checked_sub(usize::from(declared.icv_bytes))?;
    let &[ref rest @ .., pad_bytes, next_header] = payload.get(..end)? else { return None };
    if next_header != declared.next_header {
        return None;
    }
    let mut support = candidate(rest, pad_bytes, next_header, declared.icv_bytes, declared.iv_bytes, endpoints)?;
    support.bits = support.bits.saturating_add(24);
    Some(support)
}

/// One candidate of a whole payload. `rest`: IV, inner packet, TFC and padding, without pad length and next header.
fn candidate(
    rest: &[u8],
    pad_bytes: u8,
    next_header: u8,
    icv_bytes: u8,
    iv_bytes: u8,
    endpoints: Option<(Address, Address)>,
) -> Option<NullSupport> {
    let body = rest.get(usize::from(iv_bytes)..)?;
    let space = body.len().checked_sub(usize::from(pad_bytes))?;
    let (inner, pad) = body.split_at_checked(space)?;
    let pad_monotonic = pad.iter().zip(1u8..).all(|(octet, expected)| *octet == expected);
    let pad_bits = if pad_monotonic { 8 * pad.len().min(PAD_CAP) as u8 } else { 0 };
    let support = NullSupport {
        icv_bytes,
        iv_bytes,
        bits: 0,
        pad_bytes: Some(pad_bytes),
        tfc_bytes: 0,
        pad_monotonic,
        next_header,
        inner_bytes: u16::try_from(space).ok()?,
        inner: None,
        within: Within::Itself,
    };
    match next_header {
        4 => tunnel_v4(inner, pad_bits, support),
        41 => tunnel_v6(inner, pad_bits, support),
        // Dummy packets (RFC 4303 section 2.6) hold anything; only next header and padding speak.
        59 if pad_monotonic => Some(NullSupport { bits: (16 + pad_bits).min(UNVERIFIED), ..support }),
        59 => None,
        _ => {
            let upper = upper_layer(inner, next_header, endpoints)?;
            // Next header 4, pad length 8 where padding follows from it, and what the upper layer shows.
            let trailer = 4 + if pad_monotonic { 8 + pad_bits } else { 0 };
            let bits = trailer + upper.bits;
            let cap = if upper.verified { u8::MAX } else { UNVERIFIED };
            Some(NullSupport { bits: bits.min(cap), ..support })
        }
    }
}

/// The start of an inner IPv4 packet.
struct InnerV4 {
    total_bytes: usize,
    header_bits: u8,
    verified: bool,
    addresses: (Address, Address),
}

fn inner_v4(inner: &[u8]) -> Option<InnerV4> {
    let fixed = inner.first_chunk::<20>()?;
    let [first, _, high, low, .., s0, s1, s2, s3, d0, d1, d2, d3] = *fixed;
    let header_bytes = usize::from(first & 0x0f) * 4;
    if first >> 4 != 4 || header_bytes < 20 {
        return None;
    }
    let header = inner.get(..header_bytes)?;
    Some(InnerV4 {
        total_bytes: usize::from(u16::from_be_bytes([high, low])),
        header_bits: if first == 0x45 { 8 } else { 4 },
        verified: Sum::default().octets(header).verifies(),
        addresses: (Address::v4([s0, s1, s2, s3]), Address::v4([d0, d1, d2, d3])),
    })
}

fn tunnel_v4(inner: &[u8], pad_bits: u8, support: NullSupport) -> Option<NullSupport> {
    let header = inner_v4(inner)?;
    let tfc = inner.len().checked_sub(header.total_bytes)?;
    if header.total_bytes < 20 || (tfc != 0 && !header.verified) {
        return None;
    }
    // Version and header length, next header 8, checksum 16, and where no TFC padding leaves it open, the length 16.
    let mut bits = header.header_bits + 8 + pad_bits;
    if tfc == 0 {
        bits += 16;
    }
    let bits = if header.verified { bits + 16 } else { bits.min(CONTRADICTED) };
    Some(NullSupport {
        bits,
        tfc_bytes: u16::try_from(tfc).ok()?,
        inner_bytes: u16::try_from(header.total_bytes).ok()?,
        inner: Some(header.addresses),
        ..support
    })
}

/// The start of an inner IPv6 packet.
struct InnerV6 {
    total_bytes: usize,
    next_header: u8,
    addresses: (Address, Address),
}

fn inner_v6(inner: &[u8]) -> Option<InnerV6> {
    let (fixed, addresses) = inner.first_chunk::<40>()?.split_first_chunk::<8>()?;
    let [first, _, _, _, high, low, next_header, _] = *fixed;
    if first >> 4 != 6 {
        return None;
    }
    let (source, rest) = addresses.split_first_chunk::<16>()?;
    let destination = rest.first_chunk::<16>()?;
    Some(InnerV6 {
        total_bytes: 40 + usize::from(u16::from_be_bytes([high, low])),
        next_header,
        addresses: (Address::v6(*source), Address::v6(*destination)),
    })
}

fn tunnel_v6(inner: &[u8], pad_bits: u8, support: NullSupport) -> Option<NullSupport> {
    let header = inner_v6(inner)?;
    let tfc = inner.len().checked_sub(header.total_bytes)?;
    let known = known_v6(header.next_header);
    let payload = inner.get(40..header.total_bytes)?;
    let verified = is_verified(payload, header.next_header, header.addresses);
    if tfc != 0 && !verified {
        return None;
    }
    // Version 4, next header 8, length 16 unless TFC padding leaves it open, inner next header 4, checksum 16.
    let length = if tfc == 0 { 16 } else { 0 };
    let bits = 4 + 8 + length + if known { 4 } else { 0 } + pad_bits;
    let bits = if verified { bits + 16 } else { bits.min(UNVERIFIED) };
    Some(NullSupport {
        bits,
        tfc_bytes: u16::try_from(tfc).ok()?,
        inner_bytes: u16::try_from(header.total_bytes).ok()?,
        inner: Some(header.addresses),
        ..support
    })
}

/// Whether a checksum of what an IPv6 packet carries holds: its upper layer's, or that of the packet in a tunnel inside.
fn is_verified(payload: &[u8], next_header: u8, addresses: (Address, Address)) -> bool {
    match next_header {
        6 | 17 | 58 => upper_layer(payload, next_header, Some(addresses)).is_some_and(|upper| upper.verified),
        4 => inner_v4(payload).is_some_and(|inner| inner.verified && inner.total_bytes <= payload.len()),
        41 => inner_v6(payload).is_some_and(|inner| {
            // No tunnel in a tunnel in a tunnel.
            let behind = payload.get(40..inner.total_bytes).filter(|_| matches!(inner.next_header, 6 | 17 | 58));
            behind.is_some_and(|behind| is_verified(behind, inner.next_header, inner.addresses))
        }),
        47 => Gre::read(payload).filter(|gre| gre.version() == 0 && !gre.has_routing()).is_some_and(|gre| {
            let behind = payload.get(gre.header_bytes()..);
            let carried = match gre.protocol() {
                0x0800 => 4,
                0x86dd => 41,
                _ => return false,
            };
            behind.is_some_and(|behind| is_verified(behind, carried, addresses))
        }),
        _ => false,
    }
}

const fn known_v6(next_header: u8) -> bool {
    plausible(next_header) || matches!(next_header, 0 | 43 | 44 | 60 | 50)
}

/// An inner IP header whose packet goes on where nothing is seen of it: its length, next header, bits and addresses.
fn inner_of(inner: &[u8]) -> Option<(usize, u8, u8, (Address, Address))> {
    match inner.first()? >> 4 {
        4 => {
            let header = inner_v4(inner)?;
            if !header.verified || header.total_bytes < 20 {
                return None;
            }
            // Version and header length, checksum 16.
            Some((header.total_bytes, 4, header.header_bits + 16, header.addresses))
        }
        6 => {
            let header = inner_v6(inner)?;
            known_v6(header.next_header).then_some((header.total_bytes, 41, 4 + 4, header.addresses))
        }
        _ => None,
    }
}

/// What the first fragment of an ESP packet holds if it is ESP-NULL in tunnel mode.
pub(in crate::dissect) fn peek(payload: &[u8], iv_bytes: u8) -> Option<NullPeek> {
    let inner = payload.get(usize::from(iv_bytes)..)?;
    let (total_bytes, next_header, bits, _) = inner_of(inner)?;
    let carried = *inner.get(if next_header == 4 { 9 } else { 6 })?;
    // A tunnel inside, of the same ends perhaps: the encapsulated packet is further in.
    if matches!(carried, 4 | 41 | 47 | 97 | 115) {
        return None;
    }
    Some(NullPeek { iv_bytes, next_header, bits, inner_bytes: u16::try_from(total_bytes).ok()? })
}

/// A payload whose end a snapshot length cut: an inner IPv4 header with a valid checksum whose total length leaves
/// exactly what a whole-word ESP with least padding and one of the ICVs needs. Trailer and padding stay unknown.
fn cut_tunnel(
    payload: &[u8],
    wire_bytes: usize,
    iv_bytes: u8,
    around: Option<(Address, Address)>,
) -> Option<NullSupport> {
    let inner = payload.get(usize::from(iv_bytes)..)?;
    let space = wire_bytes.checked_sub(usize::from(iv_bytes))?;
    let (total_bytes, next_header, bits, addresses) = inner_of(inner)?;
    let bits = bits + NULL_LENGTH_BITS;
    let icv_bytes = icv_behind(total_bytes, space)?;
    Some(NullSupport {
        icv_bytes,
        iv_bytes,
        bits: bits.min(UNVERIFIED),
        pad_bytes: None,
        tfc_bytes: 0,
        pad_monotonic: true,
        next_header,
        inner_bytes: u16::try_from(total_bytes).ok()?,
        inner: Some(addresses),
        within: within(inner, next_header, around),
    })
}

/// The ICV that `space` octets leave behind a packet of `bytes` with the least padding, if there is such a one.
fn icv_behind(bytes: usize, space: usize) -> Option<u8> {
    let least_pad = (4 - (bytes + 2) % 4) % 4;
    let icv = space.checked_sub(bytes + least_pad + 2)?;
    NULL_ICVS.into_iter().find(|candidate| usize::from(*candidate) == icv)
}
