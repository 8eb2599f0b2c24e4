//! Likely causes, and what the order of frames and files leaves open.

/// The likely cause where all missing numbers may have passed while nothing was captured.
pub(super) const UNWATCHED: &str =
    "The capture lost frames: a file of a rotation is not there, or the capturing host was overloaded.";

/// The same where frames were cut before their number.
pub(super) const CUT: &str =
    "The snapshot length, or a TAP that slices frames, cut frames off before their sequence number.";

/// The same where they do not fit into the time.
pub(super) const SET_AHEAD: &str = "The counter was set ahead, as by a gateway that takes over and leaves room for what the other had sent; or a burst was lost.";

/// The same of packets that a network card segments.
pub(super) const IN_SEGMENTS: &str = "ESP segmentation offload of the capturing host (`ethtool -k`, esp-hw-offload): on the wire each of these packets is several.";

/// The likely causes where TCP carries the SA.
pub(super) const NOT_IN_TCP: &str = "TCP sends lost segments again, so the network likely lost none of these for good: the capture missed frames, the connection broke, or the sender dropped \
                          packets that it had numbered.";
pub(super) const SENT_AGAIN: &str =
    "TCP sent segments again, of which its receiver takes each octet once: then this is no replay.";

/// The likely causes of numbers that other packets bear again, of one number for all packets, and of old packets that come again.
pub(super) const COUNTED_AGAIN: &str = "The sender began its count again without a new SPI (manual keys, a gateway that was reloaded or took over), or two senders \
                             use the SA.";
pub(super) const NOT_COUNTED: &str = "The sender does not count its packets: manual keys without anti-replay.";
pub(super) const REPLAYED: &str =
    "Old packets came again: captured packets are being replayed, or a device sent stored ones.";

/// The likely cause of numbers that come again around a border of files.
pub(super) const IN_BOTH: &str =
    "The later capture was begun before the other was ended, so that both hold the frames of that time.";

/// Of files that hold the same numbers.
pub(super) const UNPROVED: &str = " A file holds numbers of the one before it again (tap-layout): the counter began anew, or both show the same packets by clocks \
                        that differ; nothing tells which.";

/// Of an SA in several directions.
pub(super) const AT_TWO_PLACES: &str = " It was seen between several pairs of MAC addresses: the TAP may show the same packets at two places of their way, or another device sends them again.";

/// Of an SA on several interfaces, of which nearly all numbers came again.
pub(super) const ON_INTERFACES: &str = " It was captured on several interfaces: each of them may show every packet, so rates are not given. \
                        One interface alone gives them: `tshark -r IN -Y \"frame.interface_id == 0\" -w OUT`.";

/// Of frames of several interfaces in turns.
pub(super) const IN_TURNS: &str = " It was captured on several interfaces, whose frames are in no order of time (capture-order): what came late, what \
                        came twice and where the count began anew is not known before the file is sorted (`reordercap IN OUT`).";
