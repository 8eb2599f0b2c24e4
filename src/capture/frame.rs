//! One frame as the capture holds it.

use crate::model::{FramePos, LinkType, Timestamp};

/// A captured frame, borrowed from the chunk that holds it.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Where the frame stands: capture of the run and number from 1 within it, as Wireshark counts.
    pub pos: FramePos,
    /// When it was captured; [`Timestamp::UNKNOWN`] where the capture does not say.
    pub time: Timestamp,
    /// Length on the wire as the capture states it (with the FCS only if `fcs_bytes` is not zero); lengths beyond
    /// 2^31 - 1 stick there.
    pub wire_bytes: u32,
    /// The captured octets; shorter than `wire_bytes` where a snapshot length cut them.
    pub data: &'a [u8],
    /// Link type of the interface it was captured on.
    pub link: LinkType,
    /// Index of the pcapng interface within its section; 0 in pcap.
    pub interface: u32,
    /// Octets of frame check sequence at the end of the frame, as link type, `if_fcslen` or the packet flags say; 0 where nothing says so.
    pub fcs_bytes: u8,
    /// Snapshot length that the capture states: no longer frame was captured to its end. `u32::MAX` where it states none.
    pub snap_bytes: u32,
}

impl Frame<'_> {
    /// Whether both frames were captured on one interface: link type, interface, FCS and snapshot length are equal.
    #[inline(always)]
    pub(crate) fn is_captured_as(&self, other: &Self) -> bool {
        let differs = (self.snap_bytes ^ other.snap_bytes) | (self.interface ^ other.interface);
        differs == 0 && (self.link, self.fcs_bytes) == (other.link, other.fcs_bytes)
    }
}

/// The length on the wire that a stated one stands for. No frame has 2^31 bytes or more, so such a length is garbage; it
/// sticks at the value that Wireshark shows for it.
#[inline(always)]
pub(super) const fn wire_bytes(stated: u32) -> u32 {
    if stated > i32::MAX as u32 { i32::MAX as u32 } else { stated }
}

/// Snapshot length in bytes of a header field, in which 0 means unlimited.
pub(super) const fn snap_bytes(stated: u32) -> u32 {
    if stated == 0 { u32::MAX } else { stated }
}
