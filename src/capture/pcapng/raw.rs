//! The blocks of a span as the file holds them.

use std::sync::Arc;

use super::blocks::{ENHANCED_PACKET, PACKET, SECTION_HEADER, SIMPLE_PACKET, padded};
use super::section::Section;
use crate::capture::byte_order::ByteOrder;

/// A block with its header, padding and trailer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawBlock<'a> {
    /// Byte order of its section.
    pub(crate) order: ByteOrder,
    /// Its type.
    pub(crate) kind: u32,
    pub(crate) bytes: &'a [u8],
    /// Number of the frame in it, from 1.
    pub(crate) frame: Option<u64>,
}

/// Iterates over blocks that the walker has checked; those that it found damaged have the type [`super::SKIPPED`].
#[derive(Clone, Debug)]
pub(crate) struct RawBlocks<'a> {
    rest: &'a [u8],
    order: ByteOrder,
    later: std::slice::Iter<'a, Arc<Section>>,
    number: u64,
}

impl<'a> RawBlocks<'a> {
    /// The blocks of `bytes`, whose first frame has `number`; `sections` as for [`super::Packets::new`].
    pub(crate) fn new(bytes: &'a [u8], sections: &'a [Arc<Section>], number: u64) -> Option<Self> {
        let mut later = sections.iter();
        let order = later.next()?.order;
        Some(Self { rest: bytes, order, later, number })
    }
}

impl<'a> Iterator for RawBlocks<'a> {
    type Item = RawBlock<'a>;

    #[inline]
    fn next(&mut self) -> Option<RawBlock<'a>> {
        let header = self.rest.first_chunk::<8>()?;
        let kind = self.order.u32_at(header, 0)?;
        if kind == SECTION_HEADER {
            self.order = self.later.next()?.order;
        }
        let length = self.order.u32_at(header, 4)?;
        let (bytes, rest) = self.rest.split_at_checked(padded(length as usize))?;
        self.rest = rest;
        let frame = matches!(kind, ENHANCED_PACKET | PACKET | SIMPLE_PACKET).then_some(self.number);
        self.number += u64::from(frame.is_some());
        Some(RawBlock { order: self.order, kind, bytes, frame })
    }
}
