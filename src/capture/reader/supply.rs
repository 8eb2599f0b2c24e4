//! What the input of a reader delivers.

use std::io;

use super::CaptureReader;
use crate::capture::input::buffer::ReadBuffer;
use crate::model::DamageKind;

/// What reading on has brought.
pub(super) enum Supply {
    /// There may be more.
    More,
    /// There is nothing now.
    Idle,
    /// The input has ended.
    Ended,
    /// The system or the decompressor cannot go on.
    Failed(io::Error),
}

impl CaptureReader {
    /// Reads into the buffer behind `filled`: all there is room for, or what a live input has.
    pub(super) fn read(&mut self, buffer: &mut ReadBuffer, filled: &mut usize) -> Supply {
        let room = buffer.len();
        while *filled < room {
            match self.input.read(buffer.span_mut(*filled, room)) {
                Ok(0) => return Supply::Ended,
                Ok(n) => {
                    *filled += n;
                    self.info.bytes_read += n as u64;
                    if self.live {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && self.live => return Supply::Idle,
                Err(error) => return Supply::Failed(error),
            }
        }
        Supply::More
    }

    /// The damage that a failure half-way means. A compressed stream that ends early is a cut file.
    pub(super) fn failure(&self, error: &io::Error) -> (DamageKind, String) {
        match (self.info.compression, error.kind()) {
            (Some(compression), io::ErrorKind::UnexpectedEof) => {
                (DamageKind::Cut, format!("the {compression} stream ends before it is complete"))
            }
            (Some(compression), _) => {
                (DamageKind::Read, format!("the {compression} stream cannot be read on: {error}"))
            }
            (None, _) => (DamageKind::Read, format!("reading failed: {error}")),
        }
    }
}
