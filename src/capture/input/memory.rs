//! A capture of frames that a program holds in memory.

use std::fmt;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::model::{LinkType, Timestamp};

/// pcap with nanoseconds, little-endian, version 2.4.
const MAGIC: u32 = 0xa1b2_3c4d;
const SECOND_NS: i64 = 1_000_000_000;

/// Frames in memory, read as a capture file with nanoseconds would be.
#[derive(Clone, PartialEq, Eq)]
pub struct MemoryCapture {
    name: PathBuf,
    octets: Arc<Vec<u8>>,
}

impl MemoryCapture {
    /// A capture without frames; `name` is what reports call it.
    #[must_use]
    pub fn new(name: impl Into<PathBuf>, link: LinkType) -> Self {
        let mut octets = Vec::new();
        octets.extend(MAGIC.to_le_bytes());
        octets.extend([2_u16.to_le_bytes(), 4_u16.to_le_bytes()].as_flattened());
        octets.extend([0; 8]);
        // No snapshot length is known.
        octets.extend([0; 4]);
        octets.extend(u32::from(link.0).to_le_bytes());
        Self { name: name.into(), octets: Arc::new(octets) }
    }

    /// Appends a frame: when it was captured, its length on the wire, and the octets that were captured of it. A time outside 1970 to 2106
    /// becomes the nearest one within, and octets beyond 2^32 are left out.
    pub fn push(&mut self, time: Timestamp, wire_bytes: u32, octets: &[u8]) {
        let ns = time.ns().unwrap_or_default().max(0);
        let seconds = u32::try_from(ns / SECOND_NS).unwrap_or(u32::MAX);
        let fraction = u32::try_from(ns % SECOND_NS).unwrap_or_default();
        let captured = u32::try_from(octets.len()).unwrap_or(u32::MAX);
        let own = Arc::make_mut(&mut self.octets);
        for word in [seconds, fraction, captured, wire_bytes.max(captured)] {
            own.extend(word.to_le_bytes());
        }
        own.extend(octets.iter().take(captured as usize));
    }

    /// The same with frames, each captured whole.
    #[must_use]
    pub fn with<O: AsRef<[u8]>>(mut self, frames: impl IntoIterator<Item = (Timestamp, O)>) -> Self {
        for (time, octets) in frames {
            let octets = octets.as_ref();
            self.push(time, u32::try_from(octets.len()).unwrap_or(u32::MAX), octets);
        }
        self
    }

    pub(super) fn name(&self) -> &Path {
        &self.name
    }

    pub(super) fn len(&self) -> u64 {
        self.octets.len() as u64
    }

    pub(super) fn reader(&self) -> impl Read + Send + 'static {
        Cursor::new(Shared(Arc::clone(&self.octets)))
    }
}

/// Octets that several readers share.
struct Shared(Arc<Vec<u8>>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for MemoryCapture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryCapture").field("name", &self.name).field("bytes", &self.octets.len()).finish()
    }
}
