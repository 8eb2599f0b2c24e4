//! A capture as its file holds it.

use std::sync::atomic::Ordering;

use super::{CaptureReader, Walker};
use crate::capture::pcap;
use crate::capture::span::chunk::Chunk;

impl CaptureReader {
    /// As [`Self::next_chunk`], but delivers spans without frames too: blocks before the first packet and after the last.
    pub fn next_span(&mut self, chunk: &mut Chunk) -> bool {
        let more = !self.done;
        chunk.clear(self.capture, self.info.frames + 1);
        if more {
            self.fill_chunk(chunk);
            self.info.bytes_consumed = self.consumed.load(Ordering::Relaxed);
        }
        more
    }

    /// The header of a pcap.
    pub(in crate::capture) fn pcap_header(&self) -> Option<&pcap::Header> {
        match &self.format {
            Walker::Pcap(header) => Some(header),
            Walker::Pcapng(_) => None,
        }
    }
}
