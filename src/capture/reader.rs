//! Reading a capture chunk by chunk.

mod digested;
mod raw;
mod supply;

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use super::compression::Compression;
use super::info::{CaptureInfo, InterfaceInfo};
use super::pcap;
use super::pcapng::{self, Place};
use crate::capture::input::digest::DigestRequest;
use crate::capture::input::format::{Format, REFUSAL_BYTES, refusal};
use crate::capture::input::head::Head;
use crate::capture::input::source::{Counted, Opened, Source};
use crate::capture::span::chunk::{Chunk, Context};
use crate::capture::span::walk::{End, Walked};
use crate::model::report::CaptureDigest;
use crate::model::{CaptureId, Damage, DamageKind, Error};
use supply::Supply;

/// Reads one capture, from its first octet to its last or to damage that ends the reading.
pub struct CaptureReader {
    input: Box<dyn io::Read + Send>,
    consumed: Arc<AtomicU64>,
    /// Digest of the input, once it has ended.
    digest: Arc<OnceLock<CaptureDigest>>,
    live: bool,
    pub(super) format: Walker,
    capture: CaptureId,
    /// Octets that were read and not delivered: the head of a record that the last chunk cut.
    carry: Vec<u8>,
    /// How many octets the record that `carry` begins needs in all, as far as is known.
    need: usize,
    /// Offset of `carry` in the decompressed stream.
    pub(super) offset: u64,
    done: bool,
    /// The input had nothing to say when it was last asked.
    idle: bool,
    chunk_bytes: usize,
    ended: Option<Ended>,
    /// Offset at which the reading began: 0, or where a part of a file begins.
    pub(super) origin: u64,
    info: CaptureInfo,
}

/// The walk over records, with what it knows of the file.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Walker {
    Pcap(pcap::Header),
    Pcapng(pcapng::Walker),
}

/// How the reading ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ended {
    /// Behind a whole record.
    Whole,
    /// Inside a record.
    Cut,
    /// At something that is no record.
    Damaged,
}

/// Octets of a compressed stream's magic that tell it from others.
const MAGIC_BYTES: usize = 6;
/// Octets of a pcapng section header that say whether it can be read.
const SECTION_BYTES: usize = 16;

impl CaptureReader {
    /// Opens a capture. Compression and format are decided by content, never by name. `capture` goes into the position
    /// of every frame.
    ///
    /// # Errors
    /// Only where nothing can be read at all: [`Error::Io`] where the source cannot be opened or its first octets not
    /// be read, [`Error::Format`] where it is not a capture of a kind that is read. Everything found later is
    /// [`CaptureInfo::damage`].
    pub fn open(source: &Source, capture: CaptureId) -> Result<Self, Error> {
        Self::open_with_digest(source, capture, None)
    }

    /// Reads a capture from `input`, which may deliver in pieces of any size; `name` is what messages call it.
    /// What is complete is delivered before a chunk is full.
    ///
    /// # Errors
    /// As [`CaptureReader::open`].
    pub fn from_reader(name: &Path, input: Box<dyn io::Read + Send>, capture: CaptureId) -> Result<Self, Error> {
        Self::of_input(name, input, capture, None)
    }

    pub(super) fn begin(
        path: &Path,
        opened: Opened,
        capture: CaptureId,
        request: Option<DigestRequest>,
    ) -> Result<Self, Error> {
        let refuse = |what: String| Error::Format { path: path.to_path_buf(), what };
        let counted = Counted::new(opened.input, request);
        let (consumed, digest) = (Arc::clone(&counted.count), Arc::clone(&counted.digest));
        let mut head = Head::new(Box::new(counted));
        head.fill(MAGIC_BYTES).map_err(|source| Error::Io { path: path.to_path_buf(), source })?;
        if head.bytes().is_empty() {
            return Err(refuse("the file is empty; a capture begins with a pcap or pcapng header".into()));
        }
        let compression = Compression::sniff(head.bytes());
        let unreadable = |error: io::Error| match compression.map(Compression::name) {
            Some(name) if error.kind() == io::ErrorKind::UnexpectedEof => {
                refuse(format!("the file is cut: the {name} stream ends before anything in it can be unpacked"))
            }
            Some(name) => refuse(format!("the {name} stream cannot be read: {error}")),
            None => Error::Io { path: path.to_path_buf(), source: error },
        };
        if let Some(compression) = compression {
            head = Head::new(compression.reader(head.unread()).map_err(unreadable)?);
            head.fill(MAGIC_BYTES).map_err(unreadable)?;
            if head.bytes().is_empty() {
                return Err(refuse(format!("the {} stream holds nothing; name a capture", compression.name())));
            }
            if let Some(inner) = Compression::sniff(head.bytes()) {
                return Err(refuse(format!(
                    "this is {} inside {}, one compression is undone; unpack it once before",
                    inner.name(),
                    compression.name()
                )));
            }
        }
        let mut info = CaptureInfo {
            compression: compression.map(Compression::name),
            bytes_consumed: consumed.load(Ordering::Relaxed),
            bytes_total: opened.total,
            digest_most: request.map(|request| request.most_bytes),
            ..CaptureInfo::of(path)
        };
        let (format, header_bytes) = match Format::sniff(head.bytes()) {
            Some(Format::Pcap(magic)) => {
                head.fill(magic.header_bytes()).map_err(unreadable)?;
                let header = pcap::Header::parse(magic, head.bytes()).map_err(refuse)?;
                info.format = "pcap";
                info.describe(InterfaceInfo::of_pcap(header.link, header.snaplen, header.resolution()));
                (Walker::Pcap(header), magic.header_bytes())
            }
            Some(Format::Pcapng) => {
                head.fill(SECTION_BYTES).map_err(unreadable)?;
                pcapng::section_order(head.bytes()).map_err(refuse)?;
                (Walker::Pcapng(pcapng::Walker::new()), 0)
            }
            None => {
                // What it is shows in what could be read.
                let _ = head.fill(REFUSAL_BYTES);
                let what = refusal(head.bytes());
                return Err(refuse(match compression.map(Compression::name) {
                    // Damaged octets are handed out before the checksum behind them can be seen to fail.
                    Some(name) => {
                        format!(
                            "inside the {name} stream: {what}; if it should be a capture, see what `{name} -t` says of it"
                        )
                    }
                    None => what,
                }));
            }
        };
        info.bytes_read = head.bytes().len() as u64;
        let (bytes, input) = head.into_parts();
        Ok(Self {
            input,
            consumed,
            digest,
            live: opened.live,
            format,
            capture,
            carry: bytes.get(header_bytes..).unwrap_or_default().to_vec(),
            need: 0,
            offset: header_bytes as u64,
            done: false,
            idle: false,
            chunk_bytes: super::limits::CHUNK_BYTES,
            ended: None,
            origin: 0,
            info,
        })
    }

    /// A reader for `opened`, the same file from octet `begin` on, where a record begins that this reader could go on with.
    pub(super) fn fork(&self, opened: Opened, begin: u64) -> Self {
        let counted = Counted::new(opened.input, None);
        let (consumed, digest) = (Arc::clone(&counted.count), Arc::clone(&counted.digest));
        let info = CaptureInfo {
            frames: 0,
            bytes_read: 0,
            bytes_consumed: 0,
            unread_options: 0,
            damage: None,
            interfaces: self.info.interfaces.iter().map(InterfaceInfo::before_packets).collect(),
            ..self.info.clone()
        };
        Self {
            input: Box::new(counted),
            consumed,
            digest,
            live: opened.live,
            format: self.format.clone(),
            capture: self.capture,
            carry: Vec::new(),
            need: 0,
            offset: begin,
            done: false,
            idle: false,
            chunk_bytes: super::limits::CHUNK_BYTES,
            ended: None,
            origin: begin,
            info,
        }
    }

    /// What records behind this point need to be read: the format, and the interfaces that were described.
    pub(crate) fn described(&self) -> (impl Clone + PartialEq + use<>, Vec<InterfaceInfo>) {
        (self.format.clone(), self.info.interfaces.clone())
    }

    /// Octet of the file behind the last record that was delivered.
    pub(crate) fn delivered(&self) -> u64 {
        self.offset
    }

    /// Whether everything was read, and what was read ends with a whole record.
    #[must_use]
    pub fn ended_whole(&self) -> bool {
        self.ended == Some(Ended::Whole)
    }

    /// Whether damage ended the reading: what stands there is no record, however much follows it.
    #[must_use]
    pub fn ended_damaged(&self) -> bool {
        self.ended == Some(Ended::Damaged)
    }

    /// Takes back that the input ended inside a record: it did because the reading of a part was to end there.
    pub fn forgive_cut(&mut self) {
        if self.ended == Some(Ended::Cut) {
            self.info.forgive_last();
        }
    }

    /// Takes over from `before`, which has read the part of the file before this reader's: its frames and its damage come
    /// before this one's.
    pub fn continue_from(&mut self, before: &Self) {
        self.info.follow(&before.info);
        self.origin = before.origin;
    }

    /// What the capture says of itself and how far it has been read.
    #[must_use]
    pub fn info(&self) -> &CaptureInfo {
        &self.info
    }

    /// Reads [`super::limits::LARGE_CHUNK_BYTES`] at a time from now on: for chunks that go to another thread.
    pub fn read_large_chunks(&mut self) {
        self.chunk_bytes = super::limits::LARGE_CHUNK_BYTES;
    }

    /// Fills `chunk` with the next span of whole records, at least one frame of it, using the chunk's buffer again.
    /// `false` at the end of the input, or at damage that ends the reading ([`CaptureInfo::damage`]).
    ///
    /// A file is read in chunks of [`super::limits::CHUNK_BYTES`]; from a pipe, what is complete is delivered at once. Where a reader that
    /// was given to [`Self::from_reader`] answers [`io::ErrorKind::WouldBlock`], the chunk may be empty.
    pub fn next_chunk(&mut self, chunk: &mut Chunk) -> bool {
        while !self.done {
            chunk.clear(self.capture, self.info.frames + 1);
            self.fill_chunk(chunk);
            self.info.bytes_consumed = self.consumed.load(Ordering::Relaxed);
            if chunk.frames > 0 || self.idle {
                return true;
            }
        }
        chunk.clear(self.capture, self.info.frames + 1);
        self.keep_digest(self.digest.get().cloned());
        false
    }

    fn fill_chunk(&mut self, chunk: &mut Chunk) {
        let room = self.need.saturating_sub(self.carry.len()).max(self.chunk_bytes);
        let (mut start, mut filled) = chunk.buffer.prepare(&self.carry, room);
        let mut walked = start;
        let mut sections = Vec::new();
        // Whole records may have been read ahead, and a live input may have no more for a long time.
        let mut look_first = self.live;
        loop {
            let supply = if look_first { Supply::More } else { self.read(&mut chunk.buffer, &mut filled) };
            let at_end = matches!(supply, Supply::Ended | Supply::Failed(_));
            self.idle = matches!(supply, Supply::Idle);
            look_first = false;
            let place =
                Place { offset: self.offset + (walked - start) as u64, frame: self.info.frames + chunk.frames + 1 };
            let bytes = chunk.buffer.span_mut(walked, filled);
            let Walked { bytes, frames, end } = match &mut self.format {
                Walker::Pcap(header) => pcap::walk(header, bytes, at_end),
                Walker::Pcapng(walker) => walker.walk(bytes, place, &mut self.info, &mut sections),
            };
            walked += bytes;
            chunk.frames += frames;
            match (end, supply) {
                (End::Damaged { kind, what }, _) => {
                    self.ended = Some(Ended::Damaged);
                    // What lies behind was read only because reads are large.
                    self.info.bytes_read = place.offset + bytes as u64 - self.origin;
                    self.damaged(place, bytes, frames, kind, what);
                    break;
                }
                (End::More { cut, .. }, Supply::Ended) => {
                    self.done = true;
                    let whole = cut.is_none() && walked == filled;
                    self.ended = Some(if whole { Ended::Whole } else { Ended::Cut });
                    let cut = cut.or_else(|| (walked < filled).then(|| "the capture ends inside a record".into()));
                    if let Some(what) = cut {
                        self.damaged(place, bytes, frames, DamageKind::Cut, what);
                    }
                    break;
                }
                (End::More { .. }, Supply::Failed(error)) => {
                    let (kind, what) = self.failure(&error);
                    if kind == DamageKind::Cut {
                        self.ended = Some(Ended::Cut);
                    }
                    self.damaged(place, bytes, frames, kind, what);
                    break;
                }
                (End::More { need, .. }, Supply::More | Supply::Idle) => {
                    self.need = need;
                    if chunk.frames > 0 || self.idle {
                        break;
                    }
                    if filled == chunk.buffer.len() {
                        if walked > start {
                            break;
                        }
                        // One record fills the whole buffer and goes on.
                        (start, filled) = chunk.buffer.grow(start, filled, need);
                        walked = start;
                    }
                }
            }
        }
        self.carry.clear();
        if !self.done {
            self.carry.extend_from_slice(chunk.buffer.span(walked, filled));
        }
        self.offset += (walked - start) as u64;
        self.info.frames += chunk.frames;
        (chunk.start, chunk.end) = (start, walked);
        chunk.context = match &self.format {
            Walker::Pcap(header) => Context::Pcap(*header),
            Walker::Pcapng(walker) => {
                sections.push(walker.section());
                Context::Pcapng(sections)
            }
        };
    }

    /// Notes damage that ends the reading, `bytes` and `frames` behind `place`.
    fn damaged(&mut self, place: Place, bytes: usize, frames: u64, kind: DamageKind, what: String) {
        self.done = true;
        let (offset, frame) = (place.offset + bytes as u64, place.frame + frames);
        self.info.damaged(Damage { kind, offset, frame, what, further: 0 });
    }
}

#[cfg(test)]
mod tests;
