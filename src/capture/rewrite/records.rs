//! RawBlocks that a pcap does not have.

use std::net::IpAddr;

use super::options::{COMMENT, MAX_COMMENT, add, close, cut, put_u16, put_u32};
use crate::capture::byte_order::ByteOrder;
use crate::capture::frame::Frame;
use crate::capture::pcap::Header;
use crate::capture::pcapng::{ENHANCED_PACKET, INTERFACE, NAMES, PACKET_HEADER, SECTION_HEADER, TRAILER, padded};

const ORDER: ByteOrder = ByteOrder::Little;
/// `if_name`.
const NAME: u16 = 2;
/// `if_tsresol`.
const RESOLUTION: u16 = 9;
/// `if_fcslen`.
const FCS_LENGTH: u16 = 13;
/// Records of a name resolution block (draft-ietf-opsawg-pcapng section 4.5).
const IPV4_NAME: u16 = 1;
const IPV6_NAME: u16 = 2;

/// A section of unknown length.
pub(super) fn section(to: &mut Vec<u8>, comment: Option<&str>) {
    let begin = open(to, ORDER, SECTION_HEADER);
    put_u32(to, ORDER, 0x1a2b_3c4d);
    put_u16(to, ORDER, 1);
    put_u16(to, ORDER, 0);
    to.extend([0xff; 8]);
    if let Some(comment) = comment {
        add(to, ORDER, COMMENT, cut(comment, MAX_COMMENT).as_bytes());
    }
    close(to, begin, ORDER);
}

/// The interface of a pcap.
pub(super) fn interface(to: &mut Vec<u8>, header: &Header, name: Option<&str>) {
    let begin = open(to, ORDER, INTERFACE);
    put_u16(to, ORDER, header.link.0);
    put_u16(to, ORDER, 0);
    put_u32(to, ORDER, header.snaplen);
    if let Some(name) = name {
        add(to, ORDER, NAME, name.as_bytes());
    }
    add(to, ORDER, RESOLUTION, &[if header.nanoseconds { 9 } else { 6 }]);
    if header.fcs_bytes > 0 {
        add(to, ORDER, FCS_LENGTH, &[header.fcs_bytes]);
    }
    close(to, begin, ORDER);
}

/// Names of addresses; nothing where there are none.
pub(super) fn names(to: &mut Vec<u8>, order: ByteOrder, names: &[(IpAddr, String)]) {
    if names.is_empty() {
        return;
    }
    let begin = open(to, order, NAMES);
    for (address, name) in names {
        let (kind, mut value) = match address {
            IpAddr::V4(address) => (IPV4_NAME, address.octets().to_vec()),
            IpAddr::V6(address) => (IPV6_NAME, address.octets().to_vec()),
        };
        value.extend(name.as_bytes());
        value.push(0);
        add(to, order, kind, &value);
    }
    // The end of the records; that of the options follows.
    put_u32(to, order, 0);
    close(to, begin, order);
}

/// The packet of a record, with comments.
pub(super) fn packet(to: &mut Vec<u8>, header: &Header, frame: &Frame<'_>, comments: &[String]) {
    let padded = padded(frame.data.len());
    let begin = to.len();
    to.extend_from_slice(&packet_header(header, frame, PACKET_HEADER + padded + TRAILER));
    to.extend_from_slice(frame.data);
    to.resize(begin + PACKET_HEADER + padded, 0);
    for comment in comments {
        add(to, ORDER, COMMENT, cut(comment, MAX_COMMENT).as_bytes());
    }
    close(to, begin, ORDER);
}

/// The beginning of an enhanced packet block of `bytes` octets.
#[inline(always)]
pub(super) fn packet_header(header: &Header, frame: &Frame<'_>, bytes: usize) -> [u8; PACKET_HEADER] {
    // A time before 1970 is garbage, and has no place in either format.
    let ns = u64::try_from(frame.time.ns().unwrap_or(0)).unwrap_or(0);
    let ticks = if header.nanoseconds { ns } else { ns / 1_000 };
    let fields = [
        ENHANCED_PACKET,
        bytes as u32,
        0,
        (ticks >> 32) as u32,
        ticks as u32,
        frame.data.len() as u32,
        frame.wire_bytes,
    ];
    let mut head = [0; PACKET_HEADER];
    for (place, field) in head.as_chunks_mut().0.iter_mut().zip(fields) {
        *place = field.to_le_bytes();
    }
    head
}

/// Begins a block, whose length [`close`] states.
fn open(to: &mut Vec<u8>, order: ByteOrder, kind: u32) -> usize {
    let begin = to.len();
    put_u32(to, order, kind);
    put_u32(to, order, 0);
    begin
}
