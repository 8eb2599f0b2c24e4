//! Datagrams of other protocols on ports where ESP in UDP is looked for, where one packet alone shows what it is.
//!
//! Each signature fits a random ESP header at most once in a million packets. Protocols without one (RTP, QUIC short headers, OpenVPN,
//! games) show themselves only over many packets; `analysis` decides about them. So does a length in front: an SA has one SPI and packets
//! of many lengths, one of which the SPI may spell.

/// Whether a payload of `wire` octets is DTLS, QUIC with a long header, STUN, RTCP, WireGuard, text, a message of BitTorrent's table, MPEG
/// transport packets or GTP-U.
pub(in crate::dissect) fn is_foreign(bytes: &[u8], wire: usize) -> bool {
    is_wireguard(bytes, wire)
        || is_dtls(bytes, wire)
        || is_quic(bytes)
        || is_stun(bytes, wire)
        || is_rtcp(bytes, wire)
        || is_text(bytes)
        || is_table_of_peers(bytes)
        || is_mpeg(bytes, wire)
        || is_gtp(bytes, wire)
}

/// Whether [`is_foreign`] could say so of a payload that begins with these octets: a quick question in front of it.
#[inline(always)]
pub(in crate::dissect) fn may_be_foreign(bytes: &[u8]) -> bool {
    let Some(&[first, second, third, fourth, numbers @ ..]) = bytes.first_chunk::<8>() else { return true };
    let three = u32::from_be_bytes([0, second, third, fourth]);
    // WireGuard's zeros and versions of QUIC, of which the fourth octet follows; DTLS; RTCP; STUN's cookie.
    matches!(three, 0 | 0x006b_3343 | 0x00ff_0000)
        || second == 0xfe && matches!(first, 20..=26)
        || matches!(second, 200..=207) && first >> 6 == 2
        || numbers == [0x21, 0x12, 0xa4, 0x42]
        || first == MPEG_SYNC
        || second == GTP_PACKET && first & 0xf8 == GTP_VERSION
        || [first, second, third, fourth].iter().all(|octet| is_printed(*octet))
}

/// Whether an octet is a character of ASCII, or ends a line.
const fn is_printed(octet: u8) -> bool {
    matches!(octet, b' '..=b'~' | b'\t' | b'\r' | b'\n')
}

/// Text (SIP, syslog, SSDP): of 24 random octets all are printed once in ten thousand million times.
fn is_text(bytes: &[u8]) -> bool {
    const ENOUGH: usize = 24;
    bytes.first_chunk::<ENOUGH>().is_some_and(|octets| octets.iter().all(|octet| is_printed(*octet)))
}

/// BitTorrent's distributed table: a dictionary whose first key is one of its messages (BEP 5).
fn is_table_of_peers(bytes: &[u8]) -> bool {
    [&b"d1:ad2:id20:"[..], b"d1:rd2:id20:", b"d2:ip6:", b"d1:eli"].iter().any(|begin| bytes.starts_with(begin))
}

const MPEG_SYNC: u8 = 0x47;

/// MPEG transport packets (ISO/IEC 13818-1 section 2.4.3): three or more of 188 octets, each with its first octet.
fn is_mpeg(bytes: &[u8], wire: usize) -> bool {
    const PACKET: usize = 188;
    const LEAST: usize = 3;
    let all = wire >= LEAST * PACKET && wire.is_multiple_of(PACKET) && bytes.len() > (LEAST - 1) * PACKET;
    all && bytes.iter().step_by(PACKET).all(|octet| *octet == MPEG_SYNC)
}

const GTP_VERSION: u8 = 0x30;
const GTP_PACKET: u8 = 255;

/// A user packet of GTP-U (3GPP TS 29.281 section 5.1): version 1, and the length of what follows eight octets.
fn is_gtp(bytes: &[u8], wire: usize) -> bool {
    const HEADER: usize = 8;
    let Some(&[flags, GTP_PACKET, l0, l1]) = bytes.first_chunk::<4>() else { return false };
    flags & 0xf8 == GTP_VERSION && HEADER + usize::from(u16::from_be_bytes([l0, l1])) == wire
}

/// WireGuard: a type of one octet, three reserved zeros, and the length that belongs to the type.
fn is_wireguard(bytes: &[u8], wire: usize) -> bool {
    match *bytes {
        [1, 0, 0, 0, ..] => wire == 148,
        [2, 0, 0, 0, ..] => wire == 92,
        [3, 0, 0, 0, ..] => wire == 64,
        [4, 0, 0, 0, ..] => wire >= 32 && wire.is_multiple_of(16),
        _ => false,
    }
}

/// DTLS (RFC 6347 section 4.1, RFC 9146 section 4): content type, version, epoch, number, length.
fn is_dtls(bytes: &[u8], wire: usize) -> bool {
    /// Record header without a connection identifier.
    const HEADER: usize = 13;
    /// Content type of records that carry a connection identifier in front of the length.
    const WITH_IDENTIFIER: u8 = 25;
    let [kind @ 20..=26, 0xfe, 0xff | 0xfd | 0xfc, rest @ ..] = bytes else { return false };
    let length = rest.get(8..10).and_then(|octets| octets.try_into().ok()).map(u16::from_be_bytes);
    wire >= HEADER && (*kind == WITH_IDENTIFIER || length.is_none_or(|length| HEADER + usize::from(length) <= wire))
}

/// QUIC with a long header (RFC 9000 section 17.2): version 1, version 2, a draft, or version negotiation.
fn is_quic(bytes: &[u8]) -> bool {
    let Some(&[form, v0, v1, v2, v3, identifier, ..]) = bytes.first_chunk::<6>() else { return false };
    let version = u32::from_be_bytes([v0, v1, v2, v3]);
    let known = matches!(version, 1 | 0x6b33_43cf | 0xff00_0000..=0xff00_00ff);
    // Connection identifiers have at most 20 octets.
    identifier <= 20 && (known && form & 0xc0 == 0xc0 || version == 0 && form & 0x80 != 0 && identifier > 0)
}

/// STUN (RFC 8489 section 5): the magic cookie and the exact length.
fn is_stun(bytes: &[u8], wire: usize) -> bool {
    const HEADER: usize = 20;
    let Some(&[kind, _, l0, l1, 0x21, 0x12, 0xa4, 0x42]) = bytes.first_chunk::<8>() else { return false };
    kind & 0xc0 == 0 && HEADER + usize::from(u16::from_be_bytes([l0, l1])) == wire
}

/// What has its exact length in the third and fourth octet: TURN channel data (RFC 8656 section 12.4, channels 0x4000 to 0x4fff, without
/// padding) and IPFIX (RFC 7011 section 3.1, version 10). Only for ports that do not speak for ESP.
pub(in crate::dissect) fn has_length(bytes: &[u8], wire: usize) -> bool {
    const CHANNEL_HEADER: usize = 4;
    let Some(&[high, low, l0, l1]) = bytes.first_chunk::<4>() else { return false };
    let length = usize::from(u16::from_be_bytes([l0, l1]));
    high >> 4 == 4 && length + CHANNEL_HEADER == wire || (high, low) == (0, 10) && length == wire
}

/// RTCP (RFC 3550 section 6.4): packets of version 2 whose lengths add up to the datagram.
fn is_rtcp(bytes: &[u8], wire: usize) -> bool {
    let mut rest = bytes;
    let mut left = wire;
    while left > 0 {
        let Some(&[version, kind, l0, l1]) = rest.first_chunk::<4>() else { return left < wire && rest.is_empty() };
        let length = (usize::from(u16::from_be_bytes([l0, l1])) + 1) * 4;
        if version >> 6 != 2 || !(200..=207).contains(&kind) || length > left {
            return false;
        }
        left -= length;
        rest = rest.get(length..).unwrap_or_default();
    }
    wire > 0
}

#[cfg(test)]
mod tests {
    use super::{has_length, is_foreign, may_be_foreign};

    fn padded(head: &[u8], to: usize) -> Vec<u8> {
        let mut bytes = head.to_vec();
        bytes.resize(to, 0x9c);
        bytes
    }

    fn foreign(bytes: &[u8]) -> bool {
        let foreign = is_foreign(bytes, bytes.len());
        assert!(may_be_foreign(bytes) || !foreign, "{bytes:02x?}");
        foreign
    }

    #[test]
    fn the_quick_question_lets_every_signature_through() {
        let firsts = [0, 1, 2, 3, 4, 20, 23, 26, 0x7f, 0x80, 0x9c, 0xbf, 0xc0, 0xff];
        let seconds = [0, 1, 0x6b, 0xfe, 0xff, 199, 200, 207, 208];
        let thirds =
            [[0, 0, 0], [0, 0, 1], [0x33, 0x43, 0xcf], [0xfd, 0, 1], [0, 0, 0xff], [0, 15, 0x21], [0, 44, 0x21]];
        let ends = [[0; 3], [1, 8, 0], [0x12, 0xa4, 0x42], [8, 9, 9]];
        let mut signs = 0;
        for (first, second) in firsts.into_iter().flat_map(|first| seconds.map(|second| (first, second))) {
            for (third, end) in thirds.into_iter().flat_map(|third| ends.map(|end| (third, end))) {
                for size in [32, 64, 92, 96, 148] {
                    let head = [&[first, second][..], &third, &end].concat();
                    signs += usize::from(foreign(&padded(&head, size)));
                }
            }
        }
        assert!(signs > 100, "{signs}");
    }

    #[test]
    fn each_protocol_shows_itself() {
        assert!(foreign(&padded(&[1, 0, 0, 0], 148)) && foreign(&padded(&[4, 0, 0, 0, 7, 7, 7, 7], 96)));
        assert!(foreign(&padded(&[23, 0xfe, 0xfd, 0, 1, 0, 0, 0, 0, 0, 9, 0, 51], 64)));
        assert!(foreign(&padded(&[0xc3, 0, 0, 0, 1, 8], 1200)));
        assert!(foreign(&padded(&[0, 1, 0, 8, 0x21, 0x12, 0xa4, 0x42], 28)));
        let with_length = [padded(&[0x40, 1, 0, 172], 176), padded(&[0, 10, 1, 0x90], 400)];
        assert!(with_length.iter().all(|bytes| has_length(bytes, bytes.len()) && !foreign(bytes)));
        let mpeg = [0x47, 1, 0, 0x10].into_iter().chain([0x9c; 184]).collect::<Vec<u8>>().repeat(7);
        assert!(foreign(&mpeg) && !foreign(&mpeg[..188]));
        assert!(foreign(&padded(&[0x30, 255, 0, 92, 1, 2, 3, 4], 100)));
        assert!(foreign(b"OPTIONS sip:100@192.0.2.1 SIP/2.0\r\n") && !foreign(b"OPTIONS sip:100@"));
        assert!(foreign(b"d1:ad2:id20:\x01\x02\xff\x00\x9ce1:q4:ping1:t2:aa1:y1:qe"));
        let report = [&[0x80, 200, 0, 6][..], &[7; 24], &[0x81, 202, 0, 2], &[7; 8]].concat();
        assert!(foreign(&report));
    }

    #[test]
    fn esp_is_none_of_them() {
        // SPIs that begin like the others, with numbers and lengths that do not go with them.
        for spi in [
            [0x40, 1, 0, 100],
            [0, 10, 0, 96],
            [1, 0, 0, 0],
            [4, 0, 0, 0],
            [23, 0xfe, 0xfd, 0],
            [0xc3, 0, 0, 0],
            [0, 1, 0, 8],
            [0x80, 200, 0, 6],
            *b"d1:a",
            [0x47, 1, 0, 0x10],
            [0x30, 255, 0, 90],
        ] {
            let mut esp = spi.to_vec();
            esp.extend([0, 0, 0x30, 1]);
            let esp = padded(&esp, 100);
            assert!(!foreign(&esp) && !has_length(&esp, esp.len()), "{spi:02x?}");
        }
    }
}
