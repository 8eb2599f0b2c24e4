//! Records of a pcap: a walk that checks their headers, and the cheap reading of records that were checked.

use super::super::frame::{Frame, snap_bytes, wire_bytes};
use super::super::limits::MAX_RECORD_RAISED;
use super::header::{Header, Lengths, Magic};
use crate::capture::span::walk::{End, Walked};
use crate::model::{CaptureId, DamageKind, FramePos, Timestamp};

/// The fields of a record header as the frame needs them.
struct Record {
    seconds: u32,
    fraction: u32,
    captured: u32,
    original: u32,
}

impl Record {
    /// `None` where `bytes` is shorter than the 16 octets that every variant begins with.
    #[inline(always)]
    fn read(header: &Header, bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.first_chunk::<16>()?;
        // A copy of the header: one that is handed on by reference would keep the loop over records in memory.
        if header.is_usual() { Some(Self::read_usual(*bytes)) } else { Self::read_any(&{ *header }, bytes) }
    }

    /// A record of the kind that almost all captures have: the octet of least weight first, the captured length before the original.
    #[inline(always)]
    const fn read_usual([s0, s1, s2, s3, f0, f1, f2, f3, c0, c1, c2, c3, o0, o1, o2, o3]: [u8; 16]) -> Self {
        Self {
            seconds: u32::from_le_bytes([s0, s1, s2, s3]),
            fraction: u32::from_le_bytes([f0, f1, f2, f3]),
            captured: u32::from_le_bytes([c0, c1, c2, c3]),
            original: u32::from_le_bytes([o0, o1, o2, o3]),
        }
    }

    #[inline(never)]
    fn read_any(header: &Header, bytes: &[u8; 16]) -> Option<Self> {
        let order = header.order;
        let (first, second) = (order.u32_at(bytes, 8)?, order.u32_at(bytes, 12)?);
        let swapped = match header.lengths {
            Lengths::CapturedFirst => false,
            Lengths::OriginalFirst => true,
            Lengths::SmallerIsCaptured => first > second,
        };
        let (captured, original) = if swapped { (second, first) } else { (first, second) };
        Some(Self { seconds: order.u32_at(bytes, 0)?, fraction: order.u32_at(bytes, 4)?, captured, original })
    }

    /// The time, with a fraction beyond one second carried over. `tick_ns`: the unit of fractions.
    ///
    /// A fraction of 2^31 ns or more is garbage that no clock wrote; it is computed in 32 bits as Wireshark does, so
    /// that both show the same time. Seconds are unsigned: 1970 to 2106.
    #[inline(always)]
    fn time(&self, tick_ns: u32) -> Timestamp {
        let fraction = self.fraction.wrapping_mul(tick_ns);
        Timestamp::from_ns(i64::from(self.seconds) * 1_000_000_000 + i64::from(fraction as i32))
    }
}

impl Header {
    /// Size of the record that seems to begin `rest`, with its header: lengths that fit each other, and a time between the
    /// two seconds of `near`.
    pub(crate) fn sound_record(&self, rest: &[u8], near: (u64, u64)) -> Option<usize> {
        let record = Record::read(self, rest)?;
        let ticks = if self.nanoseconds { 1_000_000_000 } else { 1_000_000 };
        let sound = record.captured > 0
            && record.captured <= self.limit
            && record.captured <= record.original
            && record.original <= MAX_RECORD_RAISED
            && record.fraction < ticks
            && (near.0..=near.1).contains(&u64::from(record.seconds));
        sound.then(|| self.record_header + record.captured as usize)
    }
}

/// Walks over the records of `bytes`, which begin with a record header. `at_end` says that no more bytes will follow.
pub(crate) fn walk(header: &Header, bytes: &[u8], at_end: bool) -> Walked {
    let size = header.record_header;
    let (mut at, mut frames) = if header.is_usual() { walk_usual(header, bytes) } else { (0, 0) };
    let end = loop {
        let rest = bytes.get(at..).unwrap_or_default();
        if rest.len() < size {
            break End::More {
                need: size,
                cut: if rest.is_empty() {
                    None
                } else {
                    Some(format!("the capture ends inside a record header, {} of {size} bytes", rest.len()))
                },
            };
        }
        let Some(record) = Record::read(header, rest) else { break End::More { need: size, cut: None } };
        if record.captured == 0
            && record.original == 0
            && let Some(end) = no_record(rest, size, at_end)
        {
            break end;
        }
        if record.captured > header.limit {
            break End::Damaged {
                kind: DamageKind::Corrupt,
                what: format!("the record claims {} bytes, the limit is {}", record.captured, header.limit),
            };
        }
        let need = size + record.captured as usize;
        if rest.len() < need {
            let has = rest.len() - size;
            let cut = Some(format!("the record claims {} bytes, {has} are left", record.captured));
            break End::More { need, cut };
        }
        at += need;
        frames += 1;
    };
    Walked { bytes: at, frames, end }
}

/// Walks over records of the usual kind that raise no question, and stops in front of the first one that does: octets and frames.
#[inline(always)]
fn walk_usual(header: &Header, bytes: &[u8]) -> (usize, u64) {
    let (mut rest, mut frames) = (bytes, 0);
    while let Some(&[_, _, _, _, _, _, _, _, c0, c1, c2, c3, ..]) = rest.first_chunk::<16>() {
        let captured = u32::from_le_bytes([c0, c1, c2, c3]);
        if captured == 0 || captured > header.limit {
            break;
        }
        let Some(behind) = rest.get(header.record_header + captured as usize..) else { break };
        rest = behind;
        frames += 1;
    }
    (bytes.len() - rest.len(), frames)
}

/// Tells a zero-filled tail and a second file header from a record of length zero; `None` says that it is a record.
///
/// A disk that ran full, or a file that was preallocated, leaves zeros where record headers should be, and each 16 of
/// them look like an empty record of 1970-01-01. One such header may be a record; one that another follows is not.
/// Captures that were joined octet by octet have a file header where a record should be, which looks like an empty
/// record of 2055.
#[cold]
fn no_record(rest: &[u8], size: usize, at_end: bool) -> Option<End> {
    if Magic::sniff(rest).is_some() {
        return Some(End::Damaged {
            kind: DamageKind::Corrupt,
            what: "another pcap begins here; captures are not joined with cat but with `mergecap -a`".into(),
        });
    }
    let both = rest.get(..2 * size).unwrap_or(rest);
    if both.iter().any(|&b| b != 0) {
        return None;
    }
    if both.len() < 2 * size {
        return if at_end { None } else { Some(End::More { need: 2 * size, cut: None }) };
    }
    Some(End::Damaged {
        kind: DamageKind::Corrupt,
        what: "zeros in place of a record header, as a full disk or an interrupted writer leaves them".into(),
    })
}

/// The frames of a span of whole records that [`walk`] has checked.
#[derive(Clone, Debug)]
pub(crate) struct Records<'a> {
    header: Header,
    rest: &'a [u8],
    /// Of the next frame.
    pos: FramePos,
    /// The unit of fractions of a second, in nanoseconds.
    tick_ns: u32,
    snap_bytes: u32,
}

impl<'a> Records<'a> {
    /// The frames of `bytes`, the first of which has `number`.
    pub(crate) fn new(header: Header, bytes: &'a [u8], capture: CaptureId, number: u64) -> Self {
        let tick_ns = if header.nanoseconds { 1 } else { 1_000 };
        let snap_bytes = snap_bytes(header.snaplen);
        Self { header, rest: bytes, pos: FramePos::new(capture, number), tick_ns, snap_bytes }
    }

    /// Number of the next frame.
    pub(crate) const fn next_number(&self) -> u64 {
        self.pos.number()
    }

    /// The next frame, and the octets from its first one to the end of the span.
    #[inline(always)]
    pub(crate) fn next_onwards(&mut self) -> Option<(Frame<'a>, &'a [u8])> {
        let onwards = self.rest.get(self.header.record_header..)?;
        Some((self.next()?, onwards))
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Frame<'a>;

    #[inline(always)]
    fn next(&mut self) -> Option<Frame<'a>> {
        let record = Record::read(&self.header, self.rest)?;
        let (_, rest) = self.rest.split_at_checked(self.header.record_header)?;
        let (data, rest) = rest.split_at_checked(record.captured as usize)?;
        self.rest = rest;
        let pos = self.pos;
        self.pos = pos.following();
        Some(Frame {
            pos,
            time: record.time(self.tick_ns),
            wire_bytes: wire_bytes(record.original),
            data,
            link: self.header.link,
            interface: 0,
            fcs_bytes: self.header.fcs_bytes,
            snap_bytes: self.snap_bytes,
        })
    }
}
