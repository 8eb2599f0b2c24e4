//! AH, ESP, IPComp and WESP.

pub(super) mod look;
pub(super) mod null;
pub(super) mod upper;

use super::layer::LayerKind;
use super::stack::{IpHeader, Note, NullSupport, OpenedEsp, SaHeader};
use super::walk::{Next, Walk};
use crate::model::{Encapsulation, Protocol, Spi};
use crate::wire::ipsec::{Ah, Esp, IpComp, Wesp};

/// The least a whole ESP packet can be: SPI, sequence number, and one word that holds pad length and next header
/// (RFC 4303 section 2.4).
const ESP_LEAST: usize = 12;

fn record(walk: &mut Walk<'_, '_>, sa: SaHeader) -> u8 {
    let index = walk.stack.sas.len();
    walk.stack.sas.push(sa);
    index as u8
}

fn enclosing_ip(walk: &Walk<'_, '_>) -> u8 {
    (walk.stack.ips.len() as u8).saturating_sub(1)
}

/// An Authentication Header. SPI and sequence number survive a snapshot length that cuts the ICV.
pub(super) fn ah(walk: &mut Walk<'_, '_>) -> Next {
    let bytes = walk.bytes();
    let (spi, sequence, header) = match Ah::read(bytes) {
        Some(ah) => (ah.spi(), ah.sequence(), Some(ah)),
        // Cut between SPI and sequence number.
        None => match bytes.first_chunk::<8>() {
            Some(&[_, _, _, _, spi @ ..]) if walk.wire_bytes() >= Ah::BYTES => (u32::from_be_bytes(spi), 0, None),
            _ => return walk.too_short(LayerKind::Ah, Ah::BYTES),
        },
    };
    let header_bytes = bytes.get(1).map_or(Ah::BYTES, |words| (usize::from(*words) + 2) * 4);
    let sa = SaHeader {
        protocol: Protocol::Ah,
        spi: Spi(spi),
        sequence,
        sequence_seen: header.is_some(),
        ip: enclosing_ip(walk),
        encapsulation: Encapsulation::Native,
        offset: walk.pos as u32,
        bytes: header_bytes as u32,
        ports: (0, 0),
    };
    let fits = header_bytes <= walk.wire_bytes();
    let index = record(walk, sa);
    let aligned = walk.stack.ips.last().is_none_or(|ip| ip.version == 4) || header_bytes.is_multiple_of(8);
    if header_bytes < Ah::BYTES || (!fits && !walk.fragmented) || !aligned {
        walk.stack.notes.push(Note::AhLength { sa: index });
    }
    walk.costs.ah = walk.costs.ah.saturating_add(header_bytes as u16);
    walk.enter_tunnel();
    if header_bytes < Ah::BYTES {
        let words = (header_bytes / 4).saturating_sub(2) as u32;
        return walk.bad_value(LayerKind::Ah, "length", "at least 1", words);
    }
    if !walk.push(LayerKind::Ah, header_bytes) {
        return Next::Done;
    }
    if !fits {
        walk.pos -= header_bytes;
        return walk.too_short(LayerKind::Ah, header_bytes);
    }
    match header {
        Some(ah) => Next::Ip(ah.next_header()),
        None => {
            walk.pos -= header_bytes;
            walk.too_short(LayerKind::Ah, Ah::BYTES)
        }
    }
}

/// An ESP header, and what is behind it where that shows itself to be in clear.
/// `declared`: a WESP header that says what is in clear and where.
#[inline]
pub(super) fn esp(
    walk: &mut Walk<'_, '_>,
    encapsulation: Encapsulation,
    ports: (u16, u16),
    declared: Option<null::Declared>,
) -> Next {
    let bytes = walk.bytes();
    let wire = walk.wire_bytes();
    let (spi, sequence, sequence_seen) = match Esp::read(bytes) {
        Some(esp) => (esp.spi(), esp.sequence(), true),
        None => match bytes.first_chunk::<4>() {
            Some(spi) => (u32::from_be_bytes(*spi), 0, false),
            None => return walk.too_short(LayerKind::Esp, Esp::BYTES),
        },
    };
    let sa = SaHeader {
        protocol: Protocol::Esp,
        spi: Spi(spi),
        sequence,
        sequence_seen,
        ip: enclosing_ip(walk),
        encapsulation,
        offset: walk.pos as u32,
        bytes: wire as u32,
        ports,
    };
    let index = record(walk, sa);
    if !walk.fragmented && (wire < ESP_LEAST || (!wire.is_multiple_of(4) && !walk.length_unknown)) {
        walk.stack.notes.push(Note::EspLength { sa: index });
    }
    walk.enter_tunnel();
    if !walk.push(LayerKind::Esp, Esp::BYTES) || !sequence_seen {
        return Next::Done;
    }
    if walk.fragmented {
        let payload = walk.bytes();
        walk.stack.peeks.extend(null::NULL_IVS.into_iter().filter_map(|iv_bytes| null::peek(payload, iv_bytes)));
        return Next::Done;
    }
    if let Some(opened) = opened(walk, sa.offset) {
        walk.pos += usize::from(opened.iv_bytes);
        walk.limit_to(LayerKind::Esp, walk.pos, opened.payload_bytes as usize);
        return Next::Ip(opened.next_header);
    }
    let payload = walk.bytes();
    if !look::worth_a_look(payload, walk.captured()) {
        return Next::Done;
    }
    match check_null(walk, index, payload, declared) {
        Some(support) => follow(walk, support),
        None => Next::Done,
    }
}

/// Records that the ESP header at `offset` was decrypted, if it was, and answers how.
#[inline]
fn opened(walk: &mut Walk<'_, '_>, offset: u32) -> Option<OpenedEsp> {
    let opened = *walk.opened.iter().find(|opened| opened.offset == offset)?;
    walk.stack.opened.push(opened);
    Some(opened)
}

/// Notes every ESP-NULL candidate that the payload supports (few frames come here); answers the one that is beyond doubt.
#[cold]
fn check_null(
    walk: &mut Walk<'_, '_>,
    sa: u8,
    payload: &[u8],
    declared: Option<null::Declared>,
) -> Option<NullSupport> {
    let ends = |ip: Option<&IpHeader>| ip.map(|ip| (ip.src, ip.dst));
    let (endpoints, around) = (ends(walk.stack.ips.last()), ends(walk.stack.ips.first()));
    let suspect = null::Suspect { sa, payload, wire_bytes: walk.wire_bytes(), endpoints, around, declared };
    suspect.check(&mut walk.stack.notes)
}

/// Goes on into the packet that ESP-NULL carries.
fn follow(walk: &mut Walk<'_, '_>, support: NullSupport) -> Next {
    walk.stack.null = Some(support);
    walk.pos += usize::from(support.iv_bytes);
    walk.limit_to(LayerKind::Esp, walk.pos, usize::from(support.inner_bytes));
    Next::Ip(support.next_header)
}

/// One of several ESP messages in a TCP segment, `bytes` long from the cursor: recorded, never followed, decrypted or not.
pub(super) fn esp_message(walk: &mut Walk<'_, '_>, bytes: usize, ports: (u16, u16)) {
    let Some(esp) = Esp::read(walk.bytes()) else { return };
    let sa = SaHeader {
        protocol: Protocol::Esp,
        spi: Spi(esp.spi()),
        sequence: esp.sequence(),
        sequence_seen: true,
        ip: enclosing_ip(walk),
        encapsulation: Encapsulation::Tcp,
        offset: walk.pos as u32,
        bytes: bytes as u32,
        ports,
    };
    let index = record(walk, sa);
    if bytes < ESP_LEAST || !bytes.is_multiple_of(4) {
        walk.stack.notes.push(Note::EspLength { sa: index });
    }
    walk.enter_tunnel();
    if opened(walk, sa.offset).is_some() {
        return;
    }
    let end = walk.end;
    let start = walk.pos;
    walk.end = end.min(start + bytes);
    walk.pos += Esp::BYTES;
    let payload = walk.bytes();
    if look::worth_a_look(payload, walk.captured()) {
        check_null(walk, index, payload, None);
    }
    walk.pos = start;
    walk.end = end;
}

/// IPComp: what is behind its header is compressed, so the walk ends here.
pub(super) fn ipcomp(walk: &mut Walk<'_, '_>) -> Next {
    let Some(comp) = IpComp::read(walk.bytes()) else {
        return walk.too_short(LayerKind::IpComp, IpComp::BYTES);
    };
    let sa = SaHeader {
        protocol: Protocol::IpComp,
        spi: Spi(u32::from(comp.cpi())),
        sequence: 0,
        sequence_seen: false,
        ip: enclosing_ip(walk),
        encapsulation: Encapsulation::Native,
        offset: walk.pos as u32,
        bytes: walk.wire_bytes() as u32,
        ports: (0, 0),
    };
    record(walk, sa);
    walk.costs.ipcomp = walk.costs.ipcomp.saturating_add(IpComp::BYTES as u16);
    walk.enter_tunnel();
    walk.push(LayerKind::IpComp, IpComp::BYTES);
    Next::Done
}

/// Wrapped ESP (RFC 5840). Where it says that ESP is in clear it also says where payload and ICV are.
pub(super) fn wesp(walk: &mut Walk<'_, '_>, encapsulation: Encapsulation, ports: (u16, u16)) -> Next {
    let Some(header) = Wesp::read(walk.bytes()) else {
        return walk.too_short(LayerKind::Wesp, Wesp::BYTES);
    };
    if header.version() != 0 {
        return walk.bad_value(LayerKind::Wesp, "version", "0", u32::from(header.version()));
    }
    let declared = if header.encrypted() { None } else { null::Declared::by(header) };
    walk.costs.udp = walk.costs.udp.saturating_add(header.header_bytes() as u16);
    if !walk.push(LayerKind::Wesp, header.header_bytes()) {
        return Next::Done;
    }
    esp(walk, encapsulation, ports, declared)
}
