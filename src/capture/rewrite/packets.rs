//! Packets without comments, which most packets of a capture are: put together in a buffer that does not grow, with copies of a size that
//! the compiler knows.

use std::io::{self, Write};

use super::records::packet_header;
use crate::capture::pcap::{Header, Records};
use crate::capture::pcapng::{PACKET_HEADER, TRAILER, padded};

/// Octets of an enhanced packet block besides its packet and the padding.
const AROUND: usize = PACKET_HEADER + TRAILER;
/// Octets of a piece in which short packets are copied; the last piece may go on into what follows the packet.
const PIECE: usize = 32;
/// Packets beyond this are copied in one call.
const SHORT: usize = 16 * PIECE;
/// The padding and the length that ends a block, and an octet or more that the next block is written over.
const TAIL: usize = 8;
/// Octets behind the last block that may be written over.
const SLACK: usize = PIECE + TAIL;

/// Packets on their way to the output.
#[derive(Debug, Default)]
pub(super) struct BarePackets {
    buffer: Vec<u8>,
    used: usize,
}

impl BarePackets {
    /// Makes room for the packets of a chunk. `bytes`, `frames`: how much the chunk holds.
    pub(super) fn make_room(&mut self, bytes: usize, frames: u64) {
        let frames = usize::try_from(frames).unwrap_or(usize::MAX);
        let most = bytes.saturating_add(frames.saturating_mul(AROUND)).saturating_add(SLACK);
        // One huge packet must not leave the buffer huge.
        if most > self.buffer.len() || most < self.buffer.len() / 8 {
            self.buffer = vec![0; most];
        }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Takes up to `most` of the records; how many it took.
    #[inline(never)]
    pub(super) fn take(&mut self, header: &Header, records: &mut Records<'_>, most: u64) -> u64 {
        let mut count = 0;
        while count < most
            && let Some((frame, onwards)) = records.next_onwards()
        {
            let captured = frame.data.len();
            let bytes = AROUND + padded(captured);
            let pieces = captured.next_multiple_of(PIECE);
            let short = onwards.get(..pieces).filter(|_| captured <= SHORT);
            let end = self.used + PACKET_HEADER + pieces + TAIL;
            if end > self.buffer.len() {
                // There is room for all of a chunk; a packet is lost in no case.
                self.buffer.resize(end, 0);
            }
            let own = self.buffer.get_mut(self.used..end).and_then(<[u8]>::split_first_chunk_mut);
            let Some((head, body)) = own else { break };
            *head = packet_header(header, &frame, bytes);
            if let Some(from) = short {
                for (to, from) in body.as_chunks_mut::<PIECE>().0.iter_mut().zip(from.as_chunks().0) {
                    *to = *from;
                }
            } else if let Some(to) = body.get_mut(..captured) {
                to.copy_from_slice(frame.data);
            }
            if let Some(tail) = body.get_mut(captured..).and_then(<[u8]>::first_chunk_mut) {
                let padding = padded(captured) - captured;
                *tail = ((bytes as u64) << (8 * padding)).to_le_bytes();
            }
            self.used += bytes;
            count += 1;
        }
        count
    }

    /// Writes what there is.
    pub(super) fn write(&mut self, out: &mut impl Write) -> io::Result<()> {
        let used = std::mem::take(&mut self.used);
        out.write_all(self.buffer.get(..used).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::pcap::Magic;

    /// Packets of every length, the last of them at the end of what there is to read: each is the block that the format describes.
    #[test]
    fn packets_of_every_length_are_whole_blocks() {
        let header =
            [&0xa1b2_3c4d_u32.to_le_bytes()[..], &[2, 0, 4, 0], &[0; 8], &[0, 0, 4, 0], &[1, 0, 0, 0]].concat();
        let header = Header::parse(Magic::sniff(&header).unwrap(), &header).unwrap();
        let lengths: Vec<usize> = (0..600).chain([1, 31, 33, 2_000]).collect();
        let (mut bytes, mut blocks) = (Vec::new(), Vec::new());
        for (at, &length) in lengths.iter().enumerate() {
            let packet = vec![at as u8 | 1; length];
            let words = [9, at as u32, length as u32, length as u32 + 1];
            bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
            bytes.extend(&packet);
            let ticks = 9_000_000_000 + at as u64;
            let size = (32 + length).next_multiple_of(4) as u32;
            let words = [6, size, 0, (ticks >> 32) as u32, ticks as u32, length as u32, length as u32 + 1];
            blocks.extend(words.iter().flat_map(|word| word.to_le_bytes()));
            blocks.extend(&packet);
            blocks.resize(blocks.len().next_multiple_of(4), 0);
            blocks.extend(size.to_le_bytes());
        }
        let mut packets = BarePackets::default();
        let mut records = Records::new(header, &bytes, 0, 1);
        packets.make_room(bytes.len(), lengths.len() as u64);
        let room = packets.buffer.len();
        assert_eq!(packets.take(&header, &mut records, 7), 7);
        assert_eq!((packets.take(&header, &mut records, u64::MAX), records.next_number()), (597, 605));
        assert_eq!(packets.buffer.len(), room, "there was room for all");
        let mut out = Vec::new();
        packets.write(&mut out).unwrap();
        assert!(out == blocks && packets.is_empty());
    }
}
