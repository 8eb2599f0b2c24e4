//! Compressed captures: which compressor wrote the bytes, and a reader of what it packed.

#[cfg(feature = "lz4")]
mod lz4;
mod members;

use std::io::{self, BufReader, Read};

/// Octets that a decompressor takes from the raw input at once.
const INPUT_BYTES: usize = 64 << 10;

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
        match self {
            Self::Gzip => Ok(Box::new(members::Members::<flate2::bufread::GzDecoder<_>>::new(input)?)),
            #[cfg(feature = "zstd")]
            Self::Zstd => Ok(Box::new(zstd::stream::read::Decoder::with_buffer(input)?)),
            #[cfg(feature = "lz4")]
            Self::Lz4 => Ok(Box::new(lz4::Lz4Frames::new(input))),
            #[cfg(feature = "xz")]
            Self::Xz => Ok(Box::new(members::Members::<liblzma::bufread::XzDecoder<_>>::new(input)?)),
            #[cfg(feature = "bzip2")]
            Self::Bzip2 => Ok(Box::new(members::Members::<bzip2::bufread::BzDecoder<_>>::new(input)?)),
            #[cfg(not(all(feature = "zstd", feature = "lz4", feature = "xz", feature = "bzip2")))]
            left_out => {
                let name = left_out.name();
                let message = format!("this build of spiglass does not read {name}; build it with `--features {name}`");
                Err(io::Error::new(io::ErrorKind::Unsupported, message))
            }
        }
    }
}

/// The raw input, as decompressors read it.
type Packed = BufReader<Box<dyn Read + Send>>;

/// What follows a complete stream is no further one.
fn foreign() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the stream is complete, and other data follows it")
}

#[cfg(all(test, feature = "zstd", feature = "lz4", feature = "xz", feature = "bzip2"))]
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
            assert_eq!(error.to_string(), "the stream is complete, and other data follows it", "{compression:?}");
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
