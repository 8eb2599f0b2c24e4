//! A capture written again as pcapng, with comments: every block, option, time and octet as it was.
//!
//! Blocks of a pcapng are copied as they are; where a comment goes in, the block gets one more option, and its lengths and that of its
//! section follow. A pcap becomes a section with one interface of the pcap's resolution. What has no place in pcapng is left out: damaged
//! blocks, what comes after damage that ended the reading, and the additional fields of modified pcap records.
//! Format: draft-ietf-opsawg-pcapng.

mod marks;
mod options;
mod packets;
mod records;

use std::borrow::Cow;
use std::io::{self, Write};
use std::net::IpAddr;

use super::byte_order::ByteOrder;
use super::pcap::{Header, Records};
use super::pcapng::{PACKET_HEADER, RawBlock, RawBlocks, SECTION_HEADER, SIMPLE_PACKET, SKIPPED, padded};
use super::reader::CaptureReader;
use super::span::chunk::{Chunk, Spans};
pub use marks::Comments;
use marks::{Cursor, Keeping};
use options::with_comments;
use packets::BarePackets;

/// Octets that are gathered before they are written.
const GATHERED: usize = 1 << 18;

/// What is said of the whole capture.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// A comment for the section.
    pub comment: Option<String>,
    /// Names of addresses.
    pub names: Vec<(IpAddr, String)>,
    /// Name of the interface that a pcap does not name.
    pub interface: Option<String>,
    /// Of which capture this is an excerpt: each frame then says its number there.
    pub excerpt_of: Option<String>,
}

/// What was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Rewritten {
    /// Frames.
    pub frames: u64,
    /// Frames with comments.
    pub commented: u64,
    /// Frames whose block has no place for a comment: simple packet blocks, and those whose options contradict their lengths.
    pub bare: u64,
    /// Damaged blocks that were left out.
    pub left_out: u64,
}

/// Writes a capture again while [`CaptureReader::next_span`] reads it.
pub struct Rewrite<'m, W> {
    out: W,
    about: About,
    cursor: Cursor<'m>,
    begun: bool,
    gathered: Vec<u8>,
    packets: BarePackets,
    written: Rewritten,
}

impl<'m, W: Write> Rewrite<'m, W> {
    /// Writes to `out`, with the comments of `marks`.
    pub fn new(out: W, about: About, marks: &'m Comments) -> Self {
        let cursor = marks.cursor();
        let (gathered, packets) = (Vec::new(), BarePackets::default());
        Self { out, about, cursor, begun: false, gathered, packets, written: Rewritten::default() }
    }

    /// Writes what a chunk holds.
    ///
    /// # Errors
    /// Of the output.
    pub fn chunk(&mut self, chunk: &Chunk) -> io::Result<()> {
        match chunk.spans() {
            Some(Spans::Records { header, records }) => {
                self.begin(&header)?;
                self.records(&header, records, chunk)
            }
            Some(Spans::Blocks { bytes, blocks }) => self.blocks(bytes, blocks),
            None => Ok(()),
        }
    }

    /// Writes the records of a pcap: those without comments together.
    fn records(&mut self, header: &Header, mut records: Records<'_>, chunk: &Chunk) -> io::Result<()> {
        self.packets.make_room(chunk.byte_count(), chunk.frame_count());
        loop {
            let quiet = self.cursor.quiet(records.next_number());
            if quiet > 0 {
                self.written.frames += self.packets.take(header, &mut records, quiet);
            }
            let Some(frame) = records.next() else { break };
            let Keeping::Keep(comments) = self.cursor.verdict(frame.pos.number()) else { continue };
            self.written.frames += 1;
            self.written.commented += u64::from(!comments.is_empty());
            let comments = self.with_number(frame.pos.number(), comments);
            // What was gathered comes behind the packets: these go first.
            if !self.packets.is_empty() {
                self.flush()?;
            }
            records::packet(&mut self.gathered, header, &frame, &comments);
            if self.gathered.len() >= GATHERED {
                self.flush()?;
            }
        }
        if self.packets.is_empty() { Ok(()) } else { self.flush() }
    }

    /// Writes blocks; what needs no change is written as one piece.
    fn blocks(&mut self, bytes: &[u8], blocks: RawBlocks<'_>) -> io::Result<()> {
        let (mut from, mut at) = (0, 0);
        for block in blocks {
            let change = self.change(&block);
            if !matches!(change, Change::Copy) {
                self.gather(bytes.get(from..at).unwrap_or_default())?;
                from = at + block.bytes.len();
            }
            at += block.bytes.len();
            if let Change::Replace(new) = change {
                self.gather(&new)?;
            }
        }
        self.gather(bytes.get(from..at).unwrap_or_default())
    }

    /// What becomes of a block.
    fn change(&mut self, block: &RawBlock<'_>) -> Change {
        let Some(frame) = block.frame else {
            return match block.kind {
                SKIPPED => {
                    self.written.left_out += 1;
                    Change::LeaveOut
                }
                SECTION_HEADER => self.section(block),
                _ => Change::Copy,
            };
        };
        let Keeping::Keep(comments) = self.cursor.verdict(frame) else { return Change::LeaveOut };
        self.written.frames += 1;
        let of_findings = u64::from(!comments.is_empty());
        let comments = self.with_number(frame, comments);
        if comments.is_empty() {
            return Change::Copy;
        }
        match packet_options(block).and_then(|options| with_comments(block.order, block.bytes, options, &comments)) {
            Some(new) => {
                self.written.commented += of_findings;
                Change::Replace(new)
            }
            None => {
                self.written.bare += 1;
                Change::Copy
            }
        }
    }

    /// The comments of a frame, and in an excerpt its number in the capture.
    fn with_number<'c>(&self, frame: u64, comments: &'c [String]) -> Cow<'c, [String]> {
        match &self.about.excerpt_of {
            Some(capture) => {
                let number = format!("spiglass frame {frame} of {capture}");
                comments.iter().cloned().chain(std::iter::once(number)).collect()
            }
            None => Cow::Borrowed(comments),
        }
    }

    /// A section header: its length is left open, because the section may grow, and the first one carries what is said of the capture.
    fn section(&mut self, block: &RawBlock<'_>) -> Change {
        let first = !std::mem::replace(&mut self.begun, true);
        let comment = self.about.comment.as_slice();
        let commented = first.then(|| with_comments(block.order, block.bytes, SECTION_OPTIONS, comment)).flatten();
        let mut new = commented.unwrap_or_else(|| block.bytes.to_vec());
        if let Some(length) = new.get_mut(SECTION_LENGTH) {
            length.fill(0xff);
        }
        if first {
            records::names(&mut new, block.order, &self.about.names);
        }
        Change::Replace(new)
    }

    /// Adds octets to what is written next.
    fn gather(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.gathered.len() + bytes.len() < GATHERED {
            self.gathered.extend_from_slice(bytes);
            return Ok(());
        }
        self.flush()?;
        self.out.write_all(bytes)
    }

    /// Writes what was gathered, and then the packets.
    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(&self.gathered)?;
        self.gathered.clear();
        self.packets.write(&mut self.out)
    }

    /// Writes what is left, and the headers of a capture without frames.
    ///
    /// # Errors
    /// Of the output.
    pub fn finish(mut self, reader: &CaptureReader) -> io::Result<Rewritten> {
        if let Some(header) = reader.pcap_header() {
            self.begin(header)?;
        }
        self.flush()?;
        self.out.flush()?;
        Ok(self.written)
    }

    /// Begins the section of a pcap.
    fn begin(&mut self, header: &Header) -> io::Result<()> {
        if !std::mem::replace(&mut self.begun, true) {
            records::section(&mut self.gathered, self.about.comment.as_deref());
            records::interface(&mut self.gathered, header, self.about.interface.as_deref());
            records::names(&mut self.gathered, ByteOrder::Little, &self.about.names);
        }
        Ok(())
    }
}

/// What becomes of a block.
enum Change {
    Copy,
    LeaveOut,
    Replace(Vec<u8>),
}

/// Where the options of a packet block begin, if its kind has any.
fn packet_options(block: &RawBlock<'_>) -> Option<usize> {
    let captured = block.order.u32_at(block.bytes, 20).filter(|_| block.kind != SIMPLE_PACKET)?;
    Some(PACKET_HEADER + padded(captured as usize))
}

/// Octets of a section header that state the section's length.
const SECTION_LENGTH: std::ops::Range<usize> = 16..24;
/// Where its options begin.
const SECTION_OPTIONS: usize = 24;
