//! The first moment of a run, for limits that count from it.

use super::input::{Input, Settings};
use crate::capture::{CaptureReader, Chunk, Source};
use crate::model::Timestamp;

/// The earliest first frame of the captures that can be read twice, where a limit counts from it.
pub(super) fn start_of(inputs: &[Input], settings: &Settings) -> Timestamp {
    if !settings.is_relative() {
        return Timestamp::UNKNOWN;
    }
    inputs.iter().filter_map(|input| first_time(&input.source)).min().unwrap_or(Timestamp::UNKNOWN)
}

/// Time of a capture's first frame that has one; `None` for what can be read only once.
pub(super) fn first_time(source: &Source) -> Option<Timestamp> {
    let Source::Path(path) = source else { return None };
    if !path.is_file() {
        return None;
    }
    let mut reader = CaptureReader::open(source, 0).ok()?;
    let mut chunk = Chunk::new();
    while reader.next_chunk(&mut chunk) {
        if let Some(time) = chunk.frames().map(|frame| frame.time).find(|time| *time != Timestamp::UNKNOWN) {
            return Some(time);
        }
    }
    None
}
