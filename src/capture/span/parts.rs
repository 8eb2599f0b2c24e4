//! A large file in parts that are read at the same time.
//!
//! Where a record begins is known for certain only by walking over all records before it. A part begins where records
//! seem to begin, behind a chain of sound record headers. That is a guess, so it counts for nothing by itself: a part
//! is read for certain if the part before it ends exactly where it begins, in the state it began with
//! ([`Part::follows`]). The first part begins at the file's beginning; the rest follows.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use super::chunk::Chunk;
use crate::capture::info::InterfaceInfo;
use crate::capture::input::source::{Opened, Source};
use crate::capture::reader::{CaptureReader, Walker};
use crate::model::{Error, Timestamp};

/// Octets in which a part's beginning is looked for; no record begins in a window that one fills.
const WINDOW_BYTES: usize = 1 << 20;
/// Sound record headers in a row that make a beginning, where the window holds so many.
const CHAIN: usize = 16;
/// The same where records are so large that it does not.
const SHORTEST_CHAIN: usize = 3;
/// Seconds between a record and the file's first one; a header further away is not taken for sound.
const SPAN_S: u64 = 1 << 26;

/// One part of a file, with its reader.
pub struct Part {
    /// Reads the part. Frames are numbered from the part's beginning.
    pub reader: CaptureReader,
    began: Began,
}

/// What a part's reader took for granted when it began.
struct Began {
    format: Walker,
    interfaces: Vec<InterfaceInfo>,
}

impl Part {
    /// Divides a regular file into `count` parts of about the same length. `None` where that cannot be done: the file is
    /// compressed, damaged at its beginning, or does not show where its records begin.
    #[must_use]
    pub fn split(source: &Source, count: usize) -> Option<Vec<Self>> {
        let Source::Path(path) = source else { return None };
        let mut probe = CaptureReader::open(source, 0).ok()?;
        let total = probe.info().bytes_total?;
        let mut chunk = Chunk::new();
        let readable = probe.info().compression.is_none() && probe.next_chunk(&mut chunk);
        if !readable || probe.info().damage.is_some() {
            return None;
        }
        let first = chunk.frames().map(|frame| frame.time).find(|time| *time != Timestamp::UNKNOWN)?;
        let mut begins = vec![0];
        for part in 1..count as u64 {
            let about = (u128::from(total) * u128::from(part) / count as u128) as u64;
            let about = about.max(begins.last().copied()? + 1);
            begins.push(beginning(&mut File::open(path).ok()?, about, &probe.format, first).ok()??);
        }
        let ends = begins.iter().skip(1).copied().map(Some).chain([None]);
        begins.iter().zip(ends).map(|(&begin, end)| Self::open(source, &probe, begin, end).ok()).collect()
    }

    /// The part of a file between two octets at which records are known to begin, or its end.
    ///
    /// # Errors
    /// Where it cannot be read or is no capture.
    pub fn of_range(source: &Source, begin: u64, end: Option<u64>) -> Result<Self, Error> {
        let mut probe = CaptureReader::open(source, 0)?;
        // Interfaces are described before the first record.
        probe.next_chunk(&mut Chunk::new());
        Self::open(source, &probe, begin, end).map_err(|error| Error::Io { path: source.name().into(), source: error })
    }

    fn open(source: &Source, probe: &CaptureReader, begin: u64, end: Option<u64>) -> io::Result<Self> {
        let Opened { input, total, live } = source.open_at(begin)?;
        let input: Box<dyn Read + Send> = match end {
            Some(end) => Box::new(input.take(end.saturating_sub(begin))),
            None => input,
        };
        let opened = Opened { input, total, live };
        let reader = if begin == 0 {
            CaptureReader::begin(source.name(), opened, 0, None).map_err(io::Error::other)?
        } else {
            probe.fork(opened, begin)
        };
        let began = Began { format: reader.format.clone(), interfaces: reader.info().interfaces.clone() };
        Ok(Self { reader, began })
    }

    /// Whether this part is what follows where `before` has ended: then both have read what one reader would have.
    #[must_use]
    pub fn follows(&self, before: &CaptureReader) -> bool {
        before.ended_whole()
            && before.offset == self.reader.origin
            && before.format == self.began.format
            && before.info().interfaces.iter().map(InterfaceInfo::before_packets).eq(self
                .began
                .interfaces
                .iter()
                .cloned())
    }
}

/// Where a chain of sound records seems to begin, in the window from `about` on.
fn beginning(file: &mut File, about: u64, format: &Walker, first: Timestamp) -> io::Result<Option<u64>> {
    // Blocks of a pcapng begin at multiples of four octets.
    let about = about.next_multiple_of(4);
    file.seek(SeekFrom::Start(about))?;
    let mut window = Vec::new();
    file.take(WINDOW_BYTES as u64).read_to_end(&mut window)?;
    let step = if matches!(format, Walker::Pcapng(_)) { 4 } else { 1 };
    let seconds = u64::try_from(first.raw() / 1_000_000_000).unwrap_or(0);
    let near = (seconds.saturating_sub(SPAN_S), seconds.saturating_add(SPAN_S));
    let found = (0..window.len()).step_by(step).find(|&at| {
        let mut rest = window.get(at..).unwrap_or_default();
        let mut chain = 0;
        while chain < CHAIN && !rest.is_empty() {
            let size = match format {
                Walker::Pcap(header) => header.sound_record(rest, near),
                Walker::Pcapng(walker) => walker.sound_block(rest, chain == 0),
            };
            let Some(size) = size else { return false };
            // A record that reaches beyond the window says nothing against the chain.
            let Some(behind) = rest.get(size..) else { break };
            rest = behind;
            chain += 1;
        }
        chain >= SHORTEST_CHAIN
    });
    Ok(found.map(|at| about + at as u64))
}
