//! A span of whole records with all that is needed to read it alone.

use std::sync::Arc;

use crate::capture::frame::Frame;
use crate::capture::input::buffer::ReadBuffer;
use crate::capture::pcap;
use crate::capture::pcap::Records;
use crate::capture::pcapng::{Packets, RawBlocks, Section};
use crate::model::CaptureId;

/// A span of whole records of one capture, filled by [`crate::capture::CaptureReader::next_chunk`].
///
/// It owns its buffer and shares the context of its sections, so it may be handed to another thread. Give it back to
/// `next_chunk` to have its buffer used again.
#[derive(Debug, Default)]
pub struct Chunk {
    pub(in crate::capture) buffer: ReadBuffer,
    pub(in crate::capture) start: usize,
    pub(in crate::capture) end: usize,
    pub(in crate::capture) capture: CaptureId,
    /// Number of the first frame.
    pub(in crate::capture) first: u64,
    pub(in crate::capture) frames: u64,
    pub(in crate::capture) context: Context,
}

/// What the records of a chunk need to be read.
#[derive(Debug, Default)]
pub(in crate::capture) enum Context {
    #[default]
    Empty,
    Pcap(pcap::Header),
    /// The section that the chunk begins in, and one more for each section header in it.
    Pcapng(Vec<Arc<Section>>),
}

/// The records or blocks of a chunk.
pub(in crate::capture) enum Spans<'a> {
    Records { header: pcap::Header, records: Records<'a> },
    Blocks { bytes: &'a [u8], blocks: RawBlocks<'a> },
}

impl Chunk {
    /// An empty chunk; its buffer is allocated when it is first filled.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The frames of the chunk in capture order. Every record was checked when the chunk was filled, so there is no error.
    #[inline]
    #[must_use]
    pub fn frames(&self) -> Frames<'_> {
        let bytes = self.buffer.span(self.start, self.end);
        Frames(match &self.context {
            Context::Empty => Kind::Empty,
            Context::Pcap(header) => Kind::Pcap(Records::new(*header, bytes, self.capture, self.first)),
            Context::Pcapng(sections) => {
                Packets::new(bytes, sections, self.capture, self.first).map_or(Kind::Empty, Kind::Pcapng)
            }
        })
    }

    /// What the chunk holds as the file holds it; nothing before it is filled.
    pub(in crate::capture) fn spans(&self) -> Option<Spans<'_>> {
        let bytes = self.buffer.span(self.start, self.end);
        match &self.context {
            Context::Empty => None,
            Context::Pcap(header) => {
                let records = Records::new(*header, bytes, self.capture, self.first);
                Some(Spans::Records { header: *header, records })
            }
            Context::Pcapng(sections) => {
                Some(Spans::Blocks { bytes, blocks: RawBlocks::new(bytes, sections, self.first)? })
            }
        }
    }

    /// Where the octets of one of this chunk's frames begin, for [`Chunk::octets`].
    #[inline]
    #[must_use]
    pub fn offset_of(&self, frame: &Frame<'_>) -> usize {
        (frame.data.as_ptr() as usize).wrapping_sub(self.buffer.span(self.start, self.end).as_ptr() as usize)
    }

    /// `count` octets of the chunk from `offset` on; none where it has not so many.
    #[inline]
    #[must_use]
    pub fn octets(&self, offset: usize, count: usize) -> &[u8] {
        let bytes = self.buffer.span(self.start, self.end);
        bytes.get(offset..).and_then(|rest| rest.get(..count)).unwrap_or_default()
    }

    /// How many frames [`Chunk::frames`] yields.
    #[must_use]
    pub const fn frame_count(&self) -> u64 {
        self.frames
    }

    /// The capture that the chunk is of, as [`crate::capture::CaptureReader::open`] was told.
    #[must_use]
    pub const fn capture(&self) -> CaptureId {
        self.capture
    }

    /// Number of the chunk's first frame within its capture, from 1.
    #[must_use]
    pub const fn first_frame(&self) -> u64 {
        self.first
    }

    /// Octets of the chunk's records with their headers.
    #[must_use]
    pub const fn byte_count(&self) -> usize {
        self.end - self.start
    }

    pub(in crate::capture) fn clear(&mut self, capture: CaptureId, first: u64) {
        (self.start, self.end, self.frames) = (0, 0, 0);
        (self.capture, self.first) = (capture, first);
        self.context = Context::Empty;
    }
}

/// The frames of a [`Chunk`].
#[derive(Clone, Debug)]
pub struct Frames<'a>(Kind<'a>);

#[derive(Clone, Debug)]
enum Kind<'a> {
    Empty,
    Pcap(Records<'a>),
    Pcapng(Packets<'a>),
}

/// Who takes the frames of a chunk from an iterator of the one kind they are.
pub trait FrameTaker {
    /// Takes all of them.
    fn take<'a>(&mut self, frames: impl Iterator<Item = Frame<'a>>);
}

impl Frames<'_> {
    /// Hands all frames on: a loop over records alone is shorter than one that asks each time what they are.
    pub fn hand_to(self, taker: &mut impl FrameTaker) {
        match self.0 {
            Kind::Empty => {}
            Kind::Pcap(records) => taker.take(records),
            Kind::Pcapng(packets) => taker.take(packets),
        }
    }
}

impl<'a> Iterator for Frames<'a> {
    type Item = Frame<'a>;

    #[inline]
    fn next(&mut self) -> Option<Frame<'a>> {
        match &mut self.0 {
            Kind::Empty => None,
            Kind::Pcap(records) => records.next(),
            Kind::Pcapng(packets) => packets.next(),
        }
    }

    /// One match for the whole chunk instead of one per frame.
    #[inline]
    fn fold<B, F: FnMut(B, Frame<'a>) -> B>(self, init: B, f: F) -> B {
        match self.0 {
            Kind::Empty => init,
            Kind::Pcap(records) => records.fold(init, f),
            Kind::Pcapng(packets) => packets.fold(init, f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_and_readers_can_go_to_other_threads() {
        fn send<T: Send>() {}
        send::<Chunk>();
        send::<crate::capture::CaptureReader>();
        assert_eq!(Chunk::new().frames().count(), 0);
    }
}
