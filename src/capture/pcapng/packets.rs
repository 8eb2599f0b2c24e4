//! The frames of a span of blocks that the walker has checked.

use std::sync::Arc;

use super::super::frame::{Frame, snap_bytes, wire_bytes};
use super::blocks::{
    ENHANCED_PACKET, PACKET, PACKET_HEADER, SECTION_HEADER, SIMPLE_HEADER, SIMPLE_PACKET, TRAILER, fcs_of_flags, padded,
};
use super::section::Section;
use super::usual::Reading;
use crate::model::{CaptureId, FramePos, Timestamp};

/// Iterates over the frames of checked blocks, following the sections they belong to.
#[derive(Clone, Debug)]
pub(crate) struct Packets<'a> {
    rest: &'a [u8],
    section: &'a Section,
    later: std::slice::Iter<'a, Arc<Section>>,
    capture: CaptureId,
    number: u64,
    /// Of the interface of the last packet.
    usual: Reading,
}

impl Section {
    /// The captured length of a simple packet of `original` bytes.
    #[inline]
    pub(super) fn simple_captured(&self, original: u32) -> u32 {
        match self.interfaces.first().map(|interface| interface.snaplen) {
            None | Some(0) => original,
            Some(snaplen) => original.min(snaplen),
        }
    }
}

impl<'a> Packets<'a> {
    /// The frames of `bytes`, the first of which has `number`. `sections` holds the section that `bytes` begins in and
    /// one more for every section header in `bytes`; `None` where it is empty.
    pub(crate) fn new(bytes: &'a [u8], sections: &'a [Arc<Section>], capture: CaptureId, number: u64) -> Option<Self> {
        let mut later = sections.iter();
        Some(Self { rest: bytes, section: later.next()?, later, capture, number, usual: Reading::NONE })
    }

    fn packet(&mut self, block: &'a [u8], enhanced: bool) -> Option<Frame<'a>> {
        let order = self.section.order;
        // One bounds check for all fields.
        let header = block.first_chunk::<PACKET_HEADER>()?;
        let id = if enhanced { order.u32_at(header, 8)? } else { u32::from(order.u16_at(header, 8)?) };
        let interface = self.section.interfaces.get(id as usize)?;
        self.usual = Reading::of(self.section, id);
        let ticks = u64::from(order.u32_at(header, 12)?) << 32 | u64::from(order.u32_at(header, 16)?);
        let (captured, original) = (order.u32_at(header, 20)? as usize, order.u32_at(header, 24)?);
        let data = block.get(PACKET_HEADER..PACKET_HEADER + captured)?;
        let options = PACKET_HEADER + padded(captured);
        let mut fcs_bytes = interface.fcs_bytes;
        if block.len() > options + TRAILER {
            let stated = fcs_of_flags(order, block.get(options..block.len() - TRAILER)?);
            if stated != 0 {
                fcs_bytes = stated;
            }
        }
        Some(Frame {
            pos: self.position(),
            time: interface.clock.time(ticks),
            wire_bytes: wire_bytes(original),
            data,
            link: interface.link,
            interface: id,
            fcs_bytes,
            snap_bytes: snap_bytes(interface.snaplen),
        })
    }

    fn simple_packet(&mut self, block: &'a [u8]) -> Option<Frame<'a>> {
        let interface = self.section.interfaces.first()?;
        let original = self.section.order.u32_at(block, 8)?;
        let captured = self.section.simple_captured(original) as usize;
        let data = block.get(SIMPLE_HEADER..SIMPLE_HEADER + captured)?;
        Some(Frame {
            pos: self.position(),
            time: Timestamp::UNKNOWN,
            wire_bytes: wire_bytes(original),
            data,
            link: interface.link,
            interface: 0,
            fcs_bytes: interface.fcs_bytes,
            snap_bytes: snap_bytes(interface.snaplen),
        })
    }

    #[inline(always)]
    fn position(&mut self) -> FramePos {
        let pos = FramePos::new(self.capture, self.number);
        self.number += 1;
        pos
    }
}

impl<'a> Iterator for Packets<'a> {
    type Item = Frame<'a>;

    #[inline(always)]
    fn next(&mut self) -> Option<Frame<'a>> {
        if let Some((frame, rest)) = self.usual.packet(self.rest, FramePos::new(self.capture, self.number)) {
            self.rest = rest;
            self.number += 1;
            return Some(frame);
        }
        self.any()
    }
}

impl<'a> Packets<'a> {
    /// The next frame, of whatever kind its block is.
    #[inline(never)]
    fn any(&mut self) -> Option<Frame<'a>> {
        loop {
            let rest = self.rest;
            let header = rest.first_chunk::<8>()?;
            let kind = self.section.order.u32_at(header, 0)?;
            if kind == SECTION_HEADER {
                // A section header's length is in the byte order of the section that it begins.
                self.section = self.later.next()?;
                self.usual = Reading::NONE;
            }
            let length = self.section.order.u32_at(header, 4)?;
            let (block, rest) = rest.split_at_checked(padded(length as usize))?;
            self.rest = rest;
            let frame = match kind {
                ENHANCED_PACKET => self.packet(block, true),
                PACKET => self.packet(block, false),
                SIMPLE_PACKET => self.simple_packet(block),
                _ => None,
            };
            if frame.is_some() {
                return frame;
            }
        }
    }
}
