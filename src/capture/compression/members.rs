//! Compressed files of several members or streams in a row: gzip, xz, bzip2.

use std::io::{self, BufRead, Read};

use super::{Packed, foreign};

/// Most memory that an xz stream may ask for: four times what its highest preset needs. (zstd has such a limit by default.)
#[cfg(feature = "xz")]
const XZ_MEMORY: u64 = 256 << 20;

/// A decompressor of one member (gzip) or stream (xz, bzip2).
pub(super) trait Member: Read + Send + Sized {
    /// The first octets of every member.
    const MAGIC: &'static [u8];
    /// Octets taken from it at once: what it has unpacked in the same step before it fails, it does not hand out. Short steps
    /// cost time.
    const STEP_BYTES: usize;

    fn begin(input: Packed) -> io::Result<Self>;

    /// The input behind the member.
    fn end(self) -> Packed;
}

impl Member for flate2::bufread::GzDecoder<Packed> {
    const MAGIC: &'static [u8] = &[0x1f, 0x8b];
    const STEP_BYTES: usize = 16 << 10;

    fn begin(input: Packed) -> io::Result<Self> {
        Ok(Self::new(input))
    }

    fn end(self) -> Packed {
        self.into_inner()
    }
}

#[cfg(feature = "xz")]
impl Member for liblzma::bufread::XzDecoder<Packed> {
    const MAGIC: &'static [u8] = &[0xfd, b'7', b'z', b'X', b'Z', 0x00];
    const STEP_BYTES: usize = 1 << 10;

    fn begin(input: Packed) -> io::Result<Self> {
        Ok(Self::new_stream(input, liblzma::stream::Stream::new_stream_decoder(XZ_MEMORY, 0)?))
    }

    fn end(self) -> Packed {
        self.into_inner()
    }
}

#[cfg(feature = "bzip2")]
impl Member for bzip2::bufread::BzDecoder<Packed> {
    const MAGIC: &'static [u8] = b"BZh";
    /// It unpacks blocks of hundreds of kilobytes, each as a whole.
    const STEP_BYTES: usize = 64 << 10;

    fn begin(input: Packed) -> io::Result<Self> {
        Ok(Self::new(input))
    }

    fn end(self) -> Packed {
        self.into_inner()
    }
}

/// Concatenated members, with zeros between and behind them, as `xz` pads its streams and block devices their files.
/// What else stands behind a member is an error of its own, not a cut.
pub(super) struct Members<D> {
    /// None at the end, and behind what is no member.
    member: Option<D>,
    /// Members in a row that held nothing.
    empty: u32,
}

/// Zeros behind a member that are taken for padding. Whoever waits for the end of more cannot be told from one that hangs.
const MAX_PADDING: u64 = 64 << 20;
/// Members in a row that may hold nothing: each costs the time of a new decompressor, and no octet of the file's length.
const MAX_EMPTY: u32 = 4_096;

impl<D: Member> Members<D> {
    pub(super) fn new(input: Packed) -> io::Result<Self> {
        Ok(Self { member: Some(D::begin(input)?), empty: 0 })
    }

    /// The member behind one that is complete.
    fn next(mut input: Packed) -> io::Result<Option<D>> {
        let mut padding = 0;
        loop {
            let bytes = input.fill_buf()?;
            let zeros = bytes.iter().take_while(|octet| **octet == 0).count();
            let (all, rest) = (bytes.len(), bytes.get(zeros..).unwrap_or_default());
            if all == 0 {
                return Ok(None);
            }
            if zeros == all {
                padding += all as u64;
                input.consume(all);
                if padding > MAX_PADDING {
                    return Err(foreign());
                }
            } else if D::MAGIC.iter().zip(rest).all(|(expected, octet)| expected == octet) {
                input.consume(zeros);
                return D::begin(input).map(Some);
            } else {
                return Err(foreign());
            }
        }
    }
}

impl<D: Member> Read for Members<D> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let room = buffer.len().min(D::STEP_BYTES);
        let Some(buffer) = buffer.get_mut(..room).filter(|buffer| !buffer.is_empty()) else { return Ok(0) };
        while let Some(member) = &mut self.member {
            let n = member.read(buffer)?;
            if n > 0 {
                self.empty = 0;
                return Ok(n);
            }
            self.empty += 1;
            if self.empty > MAX_EMPTY {
                self.member = None;
                return Err(io::Error::new(io::ErrorKind::InvalidData, "thousands of members in a row hold nothing"));
            }
            self.member = match self.member.take() {
                Some(ended) => Self::next(ended.end())?,
                None => None,
            };
        }
        Ok(0)
    }
}
