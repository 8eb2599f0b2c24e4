//! Block types and the parts of a block that every reader of it needs.

use super::super::byte_order::ByteOrder;
use super::super::limits::MAX_PACKET_OPTIONS;

/// Section header; a palindrome, so it reads the same in either byte order.
pub(crate) const SECTION_HEADER: u32 = 0x0a0d_0d0a;
/// Interface description.
pub(crate) const INTERFACE: u32 = 1;
/// The obsolete packet block.
pub(super) const PACKET: u32 = 2;
/// Simple packet: no time, no interface.
pub(crate) const SIMPLE_PACKET: u32 = 3;
/// Name resolution.
pub(crate) const NAMES: u32 = 4;
/// Interface statistics.
pub(super) const STATISTICS: u32 = 5;
/// Enhanced packet.
pub(crate) const ENHANCED_PACKET: u32 = 6;
/// A reserved type that no writer uses: the walker gives it to blocks that it found damaged, so that they are skipped
/// when the frames of the chunk are read.
pub(crate) const SKIPPED: u32 = 0;

/// Octets in front of the packet data of an enhanced or obsolete packet block.
pub(crate) const PACKET_HEADER: usize = 28;
/// Octets in front of the packet data of a simple packet block.
pub(super) const SIMPLE_HEADER: usize = 12;
/// Octets of the length that ends every block.
pub(crate) const TRAILER: usize = 4;

/// `length` with padding to a multiple of four. Some early writers state lengths without the padding that they write.
#[inline(always)]
pub(crate) const fn padded(length: usize) -> usize {
    length.saturating_add(3) & !3
}

/// The byte order of the section whose header begins `bytes` (16 octets are enough), if its version is read.
///
/// Versions 1.0 and 1.2 are the same format (draft-ietf-opsawg-pcapng section 4.1); Wireshark refuses others too.
pub(crate) fn section_order(bytes: &[u8]) -> Result<ByteOrder, String> {
    let magic = bytes.get(8..12).unwrap_or_default();
    let order = match magic {
        [0x4d, 0x3c, 0x2b, 0x1a] => ByteOrder::Little,
        [0x1a, 0x2b, 0x3c, 0x4d] => ByteOrder::Big,
        _ => return Err("the pcapng section header has no byte-order magic; the file is damaged".into()),
    };
    match (order.u16_at(bytes, 12), order.u16_at(bytes, 14)) {
        (Some(1), Some(0 | 2)) => Ok(order),
        (Some(major), Some(minor)) => {
            Err(format!("this is pcapng version {major}.{minor}; versions 1.0 and 1.2 are read"))
        }
        _ => Err("the file ends inside the pcapng section header".into()),
    }
}

/// The octets of frame check sequence that the flags option of a packet block states (bits 5 to 8); 0 says nothing.
///
/// `options` is what lies between the packet data and the trailer of the block.
#[inline(never)]
pub(super) fn fcs_of_flags(order: ByteOrder, options: &[u8]) -> u8 {
    let mut looked = Options { order, rest: options }.take(MAX_PACKET_OPTIONS);
    let flags = looked.find(|(code, _)| *code == FLAGS).and_then(|(_, value)| order.u32_at(value, 0));
    flags.map_or(0, |flags| (flags >> 5 & 0xf) as u8)
}

/// What the options of a packet block say besides the length of its frame check sequence.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct PacketNotes {
    /// There are more options than are looked at, and no flags among the first: they may be among the others.
    pub(super) more: bool,
    /// Packets that were lost since the one before on the same interface (`epb_dropcount`, or the count in an obsolete block).
    pub(super) dropped: u64,
}

impl PacketNotes {
    #[inline(never)]
    pub(super) fn of(order: ByteOrder, options: &[u8]) -> Self {
        let (mut notes, mut flags) = (Self::default(), false);
        for (looked, (code, value)) in (Options { order, rest: options }).enumerate() {
            if looked == MAX_PACKET_OPTIONS {
                notes.more = !flags;
                break;
            }
            flags |= code == FLAGS;
            if code == DROP_COUNT && notes.dropped == 0 {
                notes.dropped = order.u64_at(value, 0).unwrap_or(0);
            }
        }
        notes
    }
}

const FLAGS: u16 = 2;
const DROP_COUNT: u16 = 4;

/// Codes and values up to the end of the options; a value that is cut off is as long as what is there.
struct Options<'o> {
    order: ByteOrder,
    rest: &'o [u8],
}

impl<'o> Iterator for Options<'o> {
    type Item = (u16, &'o [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        const END: u16 = 0;
        /// Octets of code and length.
        const HEAD: usize = 4;
        let (code, length) = (self.order.u16_at(self.rest, 0)?, usize::from(self.order.u16_at(self.rest, 2)?));
        if code == END {
            return None;
        }
        let behind = self.rest.get(HEAD..)?;
        self.rest = behind.get(padded(length)..).unwrap_or_default();
        Some((code, behind.get(..length).unwrap_or(behind)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_other_than_one_are_refused_with_their_number() {
        let mut header = [0; 16];
        header[8..12].copy_from_slice(&[0x1a, 0x2b, 0x3c, 0x4d]);
        header[13] = 1;
        assert_eq!(section_order(&header), Ok(ByteOrder::Big));
        header[15] = 2;
        assert_eq!(section_order(&header), Ok(ByteOrder::Big));
        header[15] = 1;
        assert!(section_order(&header).unwrap_err().contains("1.1"));
        header[8] = 0;
        assert!(section_order(&header).unwrap_err().contains("magic"));
    }

    #[test]
    fn flags_are_found_behind_other_options() {
        let options = [1, 0, 3, 0, b'h', b'e', b'y', 0, 2, 0, 4, 0, 0x80, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(fcs_of_flags(ByteOrder::Little, &options), 4);
        assert_eq!(fcs_of_flags(ByteOrder::Little, &options[..10]), 0);
        assert_eq!(fcs_of_flags(ByteOrder::Little, &[0, 0, 0, 0, 2, 0, 4, 0, 0x80, 0, 0, 0]), 0);
    }

    #[test]
    fn lost_packets_are_counted_behind_other_options() {
        let options = [2, 0, 4, 0, 1, 0, 0, 0, 4, 0, 8, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let notes = |options| PacketNotes::of(ByteOrder::Little, options);
        assert_eq!(notes(&options), PacketNotes { more: false, dropped: 7 });
        assert_eq!(notes(&options[..16]), PacketNotes::default(), "half a count is none");
        assert_eq!(notes(&[1, 0, 0, 0].repeat(MAX_PACKET_OPTIONS + 1)), PacketNotes { more: true, dropped: 0 });
    }
}
