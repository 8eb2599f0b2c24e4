//! A frame check sequence that the capture holds and does not declare: the four octets at a frame's end that are its CRC-32.
//!
//! Each frame proves its own: other octets agree with the CRC once in 2^32 frames.

use crate::dissect::stack::Stack;
use crate::transform::size::ethernet;
use crate::wire::crc;

/// Octets of an FCS.
const BYTES: usize = ethernet::FCS as usize;
/// The shortest frame with one.
const SHORTEST: usize = ethernet::MINIMUM_WITHOUT_FCS as usize + BYTES;

/// The frame without its last four octets, where they may be an FCS: nothing that was dissected needs them.
#[inline]
pub(in crate::dissect) fn follows<'a>(data: &'a [u8], stack: &Stack) -> Option<&'a [u8]> {
    let free = stack.trailer_bytes as usize >= BYTES || stack.ips.is_empty();
    if data.len() < SHORTEST || !free || stack.shape.shell != 0 {
        return None;
    }
    data.get(..data.len().checked_sub(BYTES)?)
}

/// Whether the last four octets are the CRC-32 of those before.
pub(in crate::dissect) fn is_right(data: &[u8]) -> bool {
    let at = data.len().saturating_sub(BYTES);
    match (data.get(..at), data.get(at..).and_then(|fcs| fcs.first_chunk())) {
        (Some(bare), Some(fcs)) => crc::ethernet(bare) == u32::from_le_bytes(*fcs),
        _ => false,
    }
}

/// Whether four octets are all that follows the packet and its padding.
pub(in crate::dissect) fn is_all(bare: &[u8], stack: &Stack) -> bool {
    !stack.ips.is_empty() && (stack.trailer_bytes as usize == BYTES || bare.len() + BYTES == SHORTEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Frame;
    use crate::dissect::{DissectOptions, dissect};
    use crate::model::{FramePos, LinkType, Timestamp};

    fn dissected(data: &[u8]) -> Stack {
        let frame = Frame {
            pos: FramePos::new(0, 1),
            time: Timestamp::from_ns(0),
            wire_bytes: data.len() as u32,
            data,
            link: LinkType::ETHERNET,
            interface: 0,
            fcs_bytes: 0,
            snap_bytes: u32::MAX,
        };
        let mut stack = Stack::default();
        dissect(&frame, &DissectOptions::default(), &mut stack);
        stack
    }

    /// A UDP packet of `bytes` IP octets in a frame of at least 60.
    fn udp(bytes: u8) -> Vec<u8> {
        let mut data = vec![0u8; 14 + usize::from(bytes)];
        data[12..24].copy_from_slice(&[8, 0, 0x45, 0, 0, bytes, 0, 1, 0, 0, 64, 17]);
        data[26..34].copy_from_slice(&[192, 0, 2, 1, 192, 0, 2, 2]);
        data.resize(data.len().max(60), 0xa5);
        data
    }

    #[test]
    fn a_frame_that_ends_in_its_crc_is_dissected_without_it() {
        for bytes in [40, 46, 200] {
            let bare = udp(bytes);
            let without = dissected(&bare);
            let with_fcs = [bare.as_slice(), &crc::ethernet(&bare).to_le_bytes()].concat();
            let stack = dissected(&with_fcs);
            assert!(stack.flags.fcs_found && !stack.flags.fcs_absent);
            assert_eq!((stack.frame_bytes, stack.trailer_bytes), (without.frame_bytes, without.trailer_bytes));
            let mut wrong = with_fcs.clone();
            wrong[20] ^= 1;
            let stack = dissected(&wrong);
            assert!(!stack.flags.fcs_found && stack.flags.fcs_absent, "{bytes}");
            assert_eq!(stack.trailer_bytes, without.trailer_bytes + 4);
            assert!(!without.flags.fcs_found && !without.flags.fcs_absent);
        }
    }
}
