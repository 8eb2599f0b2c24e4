//! LZ4 frames in a row.

use std::io::{self, BufRead, BufReader, Read};

use super::foreign;

/// Concatenated LZ4 frames.
///
/// `lz4_flex` answers `Ok(0)` at the end of every frame, and also where the input ends between two blocks of an
/// unfinished frame; this tells the three cases apart.
pub(super) struct Lz4Frames<R: Read> {
    frames: lz4_flex::frame::FrameDecoder<EndSeen<BufReader<R>>>,
}

/// Notes whether the input was asked for octets at its end.
struct EndSeen<R> {
    input: R,
    ended: bool,
}

impl<R: Read> Read for EndSeen<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.input.read(buffer)?;
        self.ended |= n == 0 && !buffer.is_empty();
        Ok(n)
    }
}

impl<R: Read> Lz4Frames<R> {
    pub(super) fn new(input: BufReader<R>) -> Self {
        Self { frames: lz4_flex::frame::FrameDecoder::new(EndSeen { input, ended: false }) }
    }
}

impl<R: Read> Read for Lz4Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            match self.frames.read(buffer) {
                Ok(0) => {
                    let inner = self.frames.get_mut();
                    if inner.ended {
                        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the lz4 frame is not complete"));
                    }
                    let next = inner.input.fill_buf()?;
                    if next.is_empty() {
                        return Ok(0);
                    }
                    let begins = |magic: &[u8]| magic.iter().zip(next).all(|(expected, octet)| expected == octet);
                    let skippable = next.first().is_some_and(|octet| octet & 0xf0 == 0x50)
                        && next.iter().skip(1).zip([0x2a, 0x4d, 0x18]).all(|(octet, expected)| *octet == expected);
                    if !begins(&[0x04, 0x22, 0x4d, 0x18]) && !begins(&[0x02, 0x21, 0x4c, 0x18]) && !skippable {
                        return Err(foreign());
                    }
                }
                Ok(n) => return Ok(n),
                Err(error) => {
                    let Some(length) = skippable(&error) else { return Err(error) };
                    let inner = self.frames.get_mut();
                    let skipped = io::copy(&mut inner.by_ref().take(length), &mut io::sink())?;
                    if skipped < length || inner.input.fill_buf()?.is_empty() {
                        return Ok(0);
                    }
                }
            }
        }
    }
}

/// The length of the skippable frame that made the decoder stop, if one did.
fn skippable(error: &io::Error) -> Option<u64> {
    match error.get_ref()?.downcast_ref::<lz4_flex::frame::Error>()? {
        lz4_flex::frame::Error::SkippableFrame(length) => Some(u64::from(*length)),
        _ => None,
    }
}
