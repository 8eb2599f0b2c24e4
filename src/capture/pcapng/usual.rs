//! Enhanced packets as almost all writers make them: the octet of least weight first, and no options.
//!
//! Of such a block seven words say all. What is not exactly so goes the long way, which says what is wrong with it.

use super::super::frame::{Frame, snap_bytes, wire_bytes};
use super::blocks::{ENHANCED_PACKET, PACKET_HEADER, TRAILER, padded};
use super::section::{Interface, Section};
use crate::capture::byte_order::ByteOrder;
use crate::model::{FramePos, LinkType, Timestamp};

/// The header of an enhanced packet block without options.
struct Header {
    id: u32,
    ticks: u64,
    captured: u32,
    original: u32,
    length: u32,
}

impl Header {
    /// The header that begins `rest`; `None` for every other block.
    #[inline(always)]
    fn read(rest: &[u8]) -> Option<Self> {
        let words = rest.first_chunk::<PACKET_HEADER>()?.as_chunks::<4>().0;
        let &[kind, length, id, high, low, captured, original] = words else { return None };
        let word = u32::from_le_bytes;
        let header = Self {
            id: word(id),
            ticks: u64::from(word(high)) << 32 | u64::from(word(low)),
            captured: word(captured),
            original: word(original),
            length: word(length),
        };
        let size = (PACKET_HEADER + TRAILER).checked_add(padded(header.captured as usize));
        (word(kind) == ENHANCED_PACKET && size == Some(header.length as usize)).then_some(header)
    }
}

/// Walks over such blocks that raise no question, and stops in front of the first one that does: octets and frames.
#[inline]
pub(super) fn walk(section: &Section, bytes: &[u8]) -> (usize, u64) {
    let (mut rest, mut frames) = (bytes, 0);
    if section.order == ByteOrder::Big {
        return (0, 0);
    }
    // An interface that no packet has.
    let (mut id, mut limit) = (u32::MAX, 0);
    while let Some(header) = Header::read(rest) {
        if header.id != id {
            let Some(own) = section.interfaces.get(header.id as usize).and_then(|interface| interface.limit) else {
                break;
            };
            (id, limit) = (header.id, own);
        }
        let Some((block, behind)) = rest.split_at_checked(header.length as usize) else { break };
        if header.captured > limit || block.last_chunk() != Some(&header.length.to_le_bytes()) {
            break;
        }
        rest = behind;
        frames += 1;
    }
    (bytes.len() - rest.len(), frames)
}

/// What the packets of one interface need to be read in the short way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    id: u32,
    /// Nanoseconds of a tick, and those of its zero after the epoch.
    tick_ns: u64,
    zero_ns: i64,
    link: LinkType,
    fcs_bytes: u8,
    snap_bytes: u32,
}

impl Reading {
    /// Reads no packet.
    pub(super) const NONE: Self =
        Self { id: u32::MAX, tick_ns: 0, zero_ns: 0, link: LinkType(0), fcs_bytes: 0, snap_bytes: u32::MAX };

    /// Reads the packets of an interface, where its ticks are whole nanoseconds.
    pub(super) fn of(section: &Section, id: u32) -> Self {
        let whole = |interface: &Interface| {
            let Interface { clock, link, fcs_bytes, .. } = *interface;
            let snap_bytes = snap_bytes(interface.snaplen);
            clock.whole_ns().map(|(tick_ns, zero_ns)| Self { id, tick_ns, zero_ns, link, fcs_bytes, snap_bytes })
        };
        let interface = section.interfaces.get(id as usize).filter(|_| section.order == ByteOrder::Little);
        interface.and_then(whole).unwrap_or(Self::NONE)
    }

    /// The packet whose block begins `rest`, which the walk has checked, and what follows the block.
    #[inline(always)]
    pub(super) fn packet<'a>(&self, rest: &'a [u8], pos: FramePos) -> Option<(Frame<'a>, &'a [u8])> {
        let header = Header::read(rest).filter(|header| header.id == self.id)?;
        let ns = i64::try_from(header.ticks.checked_mul(self.tick_ns)?).ok()?.checked_add(self.zero_ns)?;
        let (block, behind) = rest.split_at_checked(header.length as usize)?;
        let frame = Frame {
            pos,
            time: Timestamp::from_ns(ns),
            wire_bytes: wire_bytes(header.original),
            data: block.get(PACKET_HEADER..PACKET_HEADER + header.captured as usize)?,
            link: self.link,
            interface: header.id,
            fcs_bytes: self.fcs_bytes,
            snap_bytes: self.snap_bytes,
        };
        Some((frame, behind))
    }
}
