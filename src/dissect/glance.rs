//! A glance at the frame that captures of IPsec are made of, without a stack.
//!
//! Ethernet, IPv4 without options, opaque ESP, nothing behind it: what a frame of this kind says fits a few words, and
//! analysis can take in a stream of them without looking further. Whatever is not exactly this frame is no such frame.

use super::digest;
use crate::capture::Frame;
use crate::dissect::ipsec::look;
use crate::model::{Address, LinkType};

const IP_AT: usize = 14;
const PAYLOAD_AT: usize = IP_AT + 20 + 8;
/// Payload octets that must have been captured.
const LEAST: usize = 16;

/// What a frame of opaque ESP says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Glance {
    /// Destination and source MAC, in wire order.
    pub macs: [u8; 12],
    /// Source and destination address, in wire order.
    pub addresses: [u8; 8],
    /// SPI, in wire order.
    pub spi: [u8; 4],
    /// Sequence number.
    pub sequence: u32,
    /// IPv4 total length.
    pub total_bytes: u16,
    /// The packet's digest: addresses, length, type of service, identification, SPI, sequence number and sixteen octets more.
    pub digest: u64,
    /// Whether a snapshot length cut it.
    pub cut: bool,
    /// Whether the payload was checked against the ESP-NULL candidates: [`super::Stack::null_checked`].
    pub null_checked: bool,
}

/// The octets behind the ESP header of a frame that has a [`Glance`].
#[inline]
pub(crate) fn behind_esp(data: &[u8]) -> &[u8] {
    data.get(PAYLOAD_AT..).unwrap_or_default()
}

/// Looks at a frame; `None` for every frame that is not exactly of this kind.
#[inline(always)]
#[must_use]
#[expect(clippy::indexing_slicing, reason = "`word` is asked for eight bytes from 34, 42 and 50, and `head` has 58")]
pub fn glance(frame: &Frame<'_>) -> Option<Glance> {
    let data = frame.data;
    let head = data.first_chunk::<{ PAYLOAD_AT + LEAST }>()?;
    let wire = frame.wire_bytes as usize;
    let total_bytes = u16::from_be_bytes([head[16], head[17]]);
    let total = usize::from(total_bytes);
    let fragment = u16::from_be_bytes([head[20], head[21]]);
    let right = frame.link == LinkType::ETHERNET
        && frame.fcs_bytes == 0
        && [head[12], head[13], head[14]] == [0x08, 0x00, 0x45]
        && head[23] == 50
        && fragment & 0x3fff == 0
        && total.is_multiple_of(4)
        && IP_AT + total == wire
        && data.len() <= wire
        && wire <= super::LONGEST_FRAME as usize;
    if !right {
        return None;
    }
    let whole = data.len() == wire;
    let payload = data.get(PAYLOAD_AT..)?;
    if look::worth_a_look(payload, whole) {
        return None;
    }
    let [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, ..] = *head;
    let word = |at: usize| {
        u64::from_le_bytes([
            head[at],
            head[at + 1],
            head[at + 2],
            head[at + 3],
            head[at + 4],
            head[at + 5],
            head[at + 6],
            head[at + 7],
        ])
    };
    Some(Glance {
        macs: [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11],
        addresses: [head[26], head[27], head[28], head[29], head[30], head[31], head[32], head[33]],
        spi: [head[34], head[35], head[36], head[37]],
        sequence: u32::from_be_bytes([head[38], head[39], head[40], head[41]]),
        total_bytes,
        digest: [word(34), word(42), word(50)].into_iter().fold(
            digest::begin(
                Address::v4([head[26], head[27], head[28], head[29]]),
                Address::v4([head[30], head[31], head[32], head[33]]),
                u32::from(total_bytes),
                head[15],
                u32::from_be_bytes([head[18], head[19], head[20], head[21]]),
                50,
            ),
            digest::mix,
        ),
        cut: !whole,
        // An ESP header, eight octets of IV and an IPv6 header's forty.
        null_checked: whole || data.len() >= IP_AT + 20 + 56,
    })
}
