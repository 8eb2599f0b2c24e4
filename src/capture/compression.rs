//! Compressed captures: which compressor wrote the bytes, and a reader of what it packed.

use std::io::{self, BufRead, BufReader, Read};

/// Octets that a decompressor takes from the raw input at once.
const INPUT_BYTES: usize = 64 << 10;

/// Most memory that an xz stream may ask for: four times what its highest preset needs. (zstd has such a limit by default.)
const XZ_MEMORY: u64 = 256 << 20;

/// A compressor whose output is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Compression {
    Gzip,
    Zstd,
    Lz4,
    Xz,
    Bzip2,
}

impl Compression {
    /// From the first octets of the input (RFC 1952, RFC 8878, the LZ4 frame, .xz and bzip2 formats).
    pub(crate) fn sniff(bytes: &[u8]) -> Option<Self> {
        Some(match bytes {
            [0x1f, 0x8b, 0x08, ..] => Self::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Self::Zstd,
            // Skippable frames are shared by zstd and lz4; in front of a stream only zstd's tools (pzstd) write them.
            [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Self::Zstd,
            [0x04, 0x22, 0x4d, 0x18, ..] => Self::Lz4,
            [0xfd, b'7', b'z', b'X', b'Z', 0x00, ..] => Self::Xz,
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => Self::Bzip2,
            _ => return None,
        })
    }

    /// The name that reports use.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Lz4 => "lz4",
            Self::Xz => "xz",
            Self::Bzip2 => "bzip2",
        }
    }

    /// A reader of the decompressed stream. All read on through concatenated members, frames or streams,
    /// as rotated and then joined captures have them.
    pub(crate) fn reader(self, input: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
        let input = BufReader::with_capacity(INPUT_BYTES, input);
        Ok(match self {
            Self::Gzip => Box::new(Members::<flate2::bufread::GzDecoder<_>>::new(input)?),
            Self::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(input)?),
            Self::Lz4 => Box::new(Lz4Frames::new(input)),
            Self::Xz => Box::new(Members::<liblzma::bufread::XzDecoder<_>>::new(input)?),
            Self::Bzip2 => Box::new(Members::<bzip2::bufread::BzDecoder<_>>::new(input)?),
        })
    }
}

/// The raw input, as decompressors read it.
type Packed = BufReader<Box<dyn Read + Send>>;

/// A decompressor of one member (gzip) or stream (xz, bzip2).
trait Member: Read + Send + Sized {
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
struct Members<D> {
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
    fn new(input: Packed) -> io::Result<Self> {
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

/// Concatenated LZ4 frames.
///
/// `lz4_flex` answers `Ok(0)` at the end of every frame, and also where the input ends between two blocks of an
/// unfinished frame; this tells the three cases apart.
struct Lz4Frames<R: Read> {
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
    fn new(input: BufReader<R>) -> Self {
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

/// What stands behind a complete stream is no further one.
fn foreign() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "it is complete, and something else stands behind it")
}

/// The length of the skippable frame that made the decoder stop, if one did.
fn skippable(error: &io::Error) -> Option<u64> {
    match error.get_ref()?.downcast_ref::<lz4_flex::frame::Error>()? {
        lz4_flex::frame::Error::SkippableFrame(length) => Some(u64::from(*length)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write};

    use super::*;

    fn pack(compression: Compression, bytes: &[u8]) -> Vec<u8> {
        match compression {
            Compression::Gzip => {
                let mut w = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
                w.write_all(bytes).unwrap();
                w.finish().unwrap()
            }
            Compression::Zstd => zstd::stream::encode_all(bytes, 1).unwrap(),
            Compression::Lz4 => {
                let mut w = lz4_flex::frame::FrameEncoder::new(Vec::new());
                w.write_all(bytes).unwrap();
                w.finish().unwrap()
            }
            Compression::Xz => {
                let mut w = liblzma::write::XzEncoder::new(Vec::new(), 1);
                w.write_all(bytes).unwrap();
                w.finish().unwrap()
            }
            Compression::Bzip2 => {
                let mut w = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
                w.write_all(bytes).unwrap();
                w.finish().unwrap()
            }
        }
    }

    const ALL: [Compression; 5] =
        [Compression::Gzip, Compression::Zstd, Compression::Lz4, Compression::Xz, Compression::Bzip2];

    fn noise(n: usize) -> Vec<u8> {
        let mut x = 1_u32;
        std::iter::repeat_with(|| {
            x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (x >> 24) as u8
        })
        .take(n)
        .collect()
    }

    #[test]
    fn concatenated_parts_read_as_one_stream() {
        for compression in ALL {
            let mut packed = pack(compression, b"first ");
            packed.extend(pack(compression, b""));
            packed.extend(pack(compression, b"second"));
            assert_eq!(Compression::sniff(&packed), Some(compression));
            let mut out = String::new();
            compression.reader(Box::new(Cursor::new(packed))).unwrap().read_to_string(&mut out).unwrap();
            assert_eq!(out, "first second", "{compression:?}");
        }
    }

    /// A cut stream ends in an error at every length, never as if it were whole, and what came before it is delivered.
    #[test]
    fn a_cut_stream_is_an_error_after_what_could_be_read() {
        let bytes = noise(300_000);
        for compression in ALL {
            let packed = pack(compression, &bytes);
            for cut in [packed.len() - 1, packed.len() - 4, packed.len() - 9, packed.len() / 2] {
                let mut out = Vec::new();
                let input = Cursor::new(packed[..cut].to_vec());
                let error = compression.reader(Box::new(input)).unwrap().read_to_end(&mut out).unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{compression:?} cut at {cut}: {error}");
                assert_eq!(out, bytes[..out.len()]);
            }
        }
    }

    #[test]
    fn an_lz4_frame_cut_between_blocks_is_an_error() {
        let mut w = lz4_flex::frame::FrameEncoder::new(Vec::new());
        w.write_all(&noise(5_000_000)).unwrap();
        w.flush().unwrap();
        // No end mark yet: the input stops where a block may begin.
        let cut = w.get_ref().clone();
        let mut out = Vec::new();
        let error = Compression::Lz4.reader(Box::new(Cursor::new(cut))).unwrap().read_to_end(&mut out).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        assert_eq!(out.len(), 5_000_000);
    }

    /// Zeros fill the last block of a device or tape; anything else is said, and is not taken for a cut.
    #[test]
    fn what_stands_behind_a_whole_stream_is_told_from_a_cut() {
        let bytes = noise(10_000);
        for compression in ALL {
            for garbage in [1, 3, 9, 600] {
                let mut packed = pack(compression, &bytes);
                packed.extend(std::iter::repeat_n(0xa5, garbage));
                let mut out = Vec::new();
                let error =
                    compression.reader(Box::new(Cursor::new(packed))).unwrap().read_to_end(&mut out).unwrap_err();
                assert_eq!(out, bytes, "{compression:?}");
                if compression != Compression::Zstd || garbage > 4 {
                    assert_ne!(error.kind(), io::ErrorKind::UnexpectedEof, "{compression:?} {garbage}: {error}");
                }
            }
        }
        for compression in [Compression::Gzip, Compression::Xz, Compression::Bzip2] {
            let mut packed = pack(compression, b"one ");
            packed.extend([0; 512]);
            packed.extend(pack(compression, b"two"));
            packed.extend([0; 70_000]);
            let mut out = String::new();
            compression.reader(Box::new(Cursor::new(packed))).unwrap().read_to_string(&mut out).unwrap();
            assert_eq!(out, "one two", "{compression:?}");
        }
    }

    #[test]
    fn padding_and_empty_members_have_an_end() {
        let read = |compression: Compression, packed: Box<dyn Read + Send>| {
            let mut out = Vec::new();
            compression.reader(packed).unwrap().read_to_end(&mut out).map(|_| out)
        };
        for compression in [Compression::Gzip, Compression::Xz, Compression::Bzip2] {
            let one = pack(compression, b"one");
            let error = read(compression, Box::new(Cursor::new(one.clone()).chain(io::repeat(0)))).unwrap_err();
            assert_eq!(error.to_string(), "it is complete, and something else stands behind it", "{compression:?}");
            let empty = pack(compression, b"").repeat(5_000);
            let error = read(compression, Box::new(Cursor::new(empty))).unwrap_err();
            assert_eq!(error.to_string(), "thousands of members in a row hold nothing", "{compression:?}");
            let between =
                [pack(compression, b"").repeat(3_000), one.clone(), pack(compression, b"").repeat(3_000)].concat();
            assert_eq!(read(compression, Box::new(Cursor::new(between))).unwrap(), b"one", "{compression:?}");
        }
    }

    /// What was unpacked before the damage is delivered, but for the last step: as much as of a stream that is cut there.
    #[test]
    fn damage_in_the_middle_leaves_what_is_before_it() {
        let text: Vec<u8> = (0..40_000_u32).flat_map(|n| format!("{n} ").into_bytes()).collect();
        for (compression, step) in [(Compression::Gzip, 16 << 10), (Compression::Xz, 1 << 10)] {
            let packed = pack(compression, &text);
            for damaged in [packed.len() / 4, packed.len() / 2, packed.len() * 3 / 4] {
                let [cut, broken] = [packed[..damaged].to_vec(), {
                    let mut packed = packed.clone();
                    packed[damaged..damaged + 40].fill(0xff);
                    packed
                }]
                .map(|packed| {
                    let mut out = Vec::new();
                    let _ =
                        compression.reader(Box::new(Cursor::new(packed))).unwrap().read_to_end(&mut out).unwrap_err();
                    out.iter().zip(&text).take_while(|(a, b)| a == b).count()
                });
                assert!(cut > text.len() / 20 && broken + step >= cut, "{compression:?}: {broken} of {cut}");
            }
        }
    }

    #[test]
    fn skippable_lz4_frames_are_skipped() {
        let mut packed = pack(Compression::Lz4, b"one ");
        packed.extend([0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 9, 9, 9]);
        packed.extend(pack(Compression::Lz4, b"two"));
        let mut out = String::new();
        Compression::Lz4.reader(Box::new(Cursor::new(packed))).unwrap().read_to_string(&mut out).unwrap();
        assert_eq!(out, "one two");
    }
}
