//! Octets as a capture: reading ends, and pieces of any size make the same frames as the whole.
#![no_main]

use std::io::{Cursor, Read};
use std::path::Path;

use libfuzzer_sys::fuzz_target;
use spiglass::capture::{CaptureReader, Chunk};
use twox_hash::XxHash3_128;

/// Unpacked octets after which a reading is given up: a small compressed input may hold gigabytes.
const ENOUGH: u64 = 4 << 20;

/// A reader that gives no more than so many octets at a time.
struct Pieces(Cursor<Vec<u8>>, usize);

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let most = buffer.len().min(self.1);
        self.0.read(&mut buffer[..most])
    }
}

/// What a reading came to: a digest of all frames, and what the capture says of itself; `None` where it was given up.
fn read(data: &[u8], piece: usize) -> Option<Result<String, String>> {
    let input = Pieces(Cursor::new(data.to_vec()), piece);
    let mut reader = match CaptureReader::from_reader(Path::new("capture"), Box::new(input), 0) {
        Ok(reader) => reader,
        // How much of a broken stream is unpacked depends on the pieces.
        Err(error) if error.to_string().contains("stream") => return None,
        Err(error) => return Some(Err(error.to_string())),
    };
    let (mut chunk, mut digest, mut frames) = (Chunk::new(), XxHash3_128::new(), 0);
    while reader.next_chunk(&mut chunk) {
        let before = frames;
        for frame in chunk.frames() {
            frames += 1;
            assert_eq!(frame.pos.number(), frames);
            digest.write(&frame.time.raw().to_le_bytes());
            digest.write(&frame.wire_bytes.to_le_bytes());
            digest.write(&frame.link.0.to_le_bytes());
            digest.write(&frame.interface.to_le_bytes());
            digest.write(&[frame.fcs_bytes]);
            digest.write(frame.data);
        }
        assert_eq!(chunk.frame_count(), frames - before);
        assert!(frames > before, "a chunk without a frame");
        if reader.info().bytes_read > ENOUGH {
            return None;
        }
    }
    assert!(!reader.next_chunk(&mut chunk), "the end is the end");
    let info = reader.info();
    assert_eq!(info.frames, frames);
    assert!(info.damage.is_some() || reader.ended_whole());
    if info.compression.is_some() && info.damage.is_some() {
        return None;
    }
    Some(Ok(format!("{:x} {frames} {:?} {:?} {:?}", digest.finish_128(), info.interfaces, info.snaplen, info.damage)))
}

fuzz_target!(|data: &[u8]| {
    let whole = read(data, usize::MAX);
    let pieces = read(data, 1 + data.len() % 61);
    if let (Some(whole), Some(pieces)) = (whole, pieces) {
        assert_eq!(whole, pieces);
    }
});
