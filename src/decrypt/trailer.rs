//! Reads the ESP trailer of a decrypted packet.

use super::opened::{Inner, Padding, Trailer};

/// Pad length and next header, in octets.
pub(super) const BYTES: usize = 2;

/// Protocol numbers whose headers say how long their packet is.
const IPV4: u8 = 4;
const IPV6: u8 = 41;
const UDP: u8 = 17;
/// Protocol number of a dummy packet (RFC 4303 section 2.6).
const NO_NEXT: u8 = 59;

/// Reads what was decrypted: payload, TFC padding, padding, pad length, next header. `None` where there is no trailer.
pub(super) fn read(plain: &[u8]) -> Option<Inner> {
    let (before, &[pad_length, next_header]) = plain.split_last_chunk()?;
    let Some((body, padding)) = before.len().checked_sub(usize::from(pad_length)).map(|at| before.split_at(at)) else {
        let trailer = Trailer { next_header, pad_length, padding: Padding::Beyond, tfc: None };
        return Some(Inner { payload: 0..0, trailer: Some(trailer) });
    };
    let counts = padding.iter().zip(1..=u8::MAX).all(|(octet, number)| *octet == number);
    let padding = if counts { Padding::Counting } else { Padding::Other };
    let said = said_bytes(body, next_header).filter(|said| *said <= body.len());
    let trailer = Trailer { next_header, pad_length, padding, tfc: said.map(|said| body.len() - said) };
    Some(Inner { payload: 0..said.unwrap_or(body.len()), trailer: Some(trailer) })
}

/// Octets that a payload says it has.
fn said_bytes(payload: &[u8], protocol: u8) -> Option<usize> {
    let word = |at: usize| payload.get(at..)?.first_chunk().map(|octets| usize::from(u16::from_be_bytes(*octets)));
    let version = payload.first().map(|octet| octet >> 4);
    match protocol {
        IPV4 if version == Some(4) => word(2).filter(|total| *total >= 20),
        // Length 0 is a jumbogram's, which says its length elsewhere.
        IPV6 if version == Some(6) => word(4).filter(|length| *length > 0).map(|length| 40 + length),
        UDP => word(4).filter(|length| *length >= 8),
        NO_NEXT => Some(0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ipv4(total: u8, octets: usize) -> Vec<u8> {
        let mut packet = vec![0; octets];
        packet[..4].copy_from_slice(&[0x45, 0, 0, total]);
        packet
    }

    #[track_caller]
    fn check(parts: &[&[u8]], payload: usize, pad_length: u8, padding: Padding, tfc: Option<usize>) {
        let plain = parts.concat();
        let inner = read(&plain).expect("a trailer");
        let trailer = inner.trailer.expect("a trailer");
        assert_eq!(inner.payload, 0..payload);
        assert_eq!((trailer.pad_length, trailer.padding, trailer.tfc), (pad_length, padding, tfc));
    }

    #[test]
    fn payload_padding_and_tfc_padding_are_told_apart() {
        check(&[&ipv4(24, 24), &[1, 2, 2, IPV4]], 24, 2, Padding::Counting, Some(0));
        check(&[&ipv4(24, 24), &[0, 0, 2, IPV4]], 24, 2, Padding::Other, Some(0));
        check(&[&ipv4(24, 40), &[1, 1, IPV4]], 24, 1, Padding::Counting, Some(16));
        check(&[&ipv4(24, 24), &[0, IPV4]], 24, 0, Padding::Counting, Some(0));
        check(&[&[7; 30], &[0, NO_NEXT]], 0, 0, Padding::Counting, Some(30));
        // UDP says its length, TCP does not.
        check(&[&[0, 1, 0, 2, 0, 9, 0, 0, 5, 0, 0, 0], &[0, UDP]], 9, 0, Padding::Counting, Some(3));
        check(&[&[0; 24], &[1, 1, 6]], 24, 1, Padding::Counting, None);
    }

    #[test]
    fn contradictions_change_nothing() {
        // A total length beyond the payload, IPv6 where IPv4 is said, a jumbogram.
        check(&[&ipv4(60, 24), &[0, IPV4]], 24, 0, Padding::Counting, None);
        check(&[&ipv4(24, 24), &[0, IPV6]], 24, 0, Padding::Counting, None);
        check(&[&[0x60; 1], &[0; 43], &[0, IPV6]], 44, 0, Padding::Counting, None);
    }

    #[test]
    fn a_pad_length_beyond_the_packet_is_said() {
        check(&[&[1, 2, 3], &[4, IPV4]], 0, 4, Padding::Beyond, None);
        assert_eq!(read(&[4]), None);
        check(&[&[0, 6]], 0, 0, Padding::Counting, None);
    }
}
