//! The columns of the rows of frames. Their cells are written by [`crate::report::frame_row`], which has no time to build values.

use super::FieldKind::{self, Integer, List, Text};

/// A column: its name, what its cells are, what it means.
type Described = (&'static str, FieldKind, &'static str);

/// The columns, in order.
pub(in crate::report) const FRAMES: [Described; 24] = [
    ("capture", Text, "The capture as it was named."),
    ("frame", Integer, "The frame's number in its capture, from 1."),
    ("time_ns", Integer, "Nanoseconds since the Unix epoch."),
    ("interface", Integer, "Index of the pcapng interface within its section; 0 in pcap."),
    ("wire_bytes", Integer, "Length on the wire as the capture states it."),
    ("captured_bytes", Integer, "Captured octets as the capture states them."),
    ("stack", Text, "Headers from the outside in, a peeled mirror shell in brackets."),
    ("outer_src", Text, "Source of the outermost IP header."),
    ("outer_dst", Text, "Destination of the outermost IP header."),
    ("outer_bytes", Integer, "Length that the outermost IP header states."),
    (
        "encapsulation",
        Text,
        "How AH and ESP are carried: `native`, `udp`, `tcp` or `wesp`; one word where all headers agree.",
    ),
    ("ah_spi", List, "SPI of AH, in decimal; several headers joined with `;`, outermost first."),
    ("ah_sequence", List, "Sequence number of AH, joined likewise."),
    ("ah_bytes", List, "Length of AH, joined likewise."),
    ("esp_spi", List, "SPI of ESP, in decimal, joined likewise."),
    ("esp_sequence", List, "Sequence number of ESP, joined likewise."),
    ("inner_src", Text, "Source of the innermost visible IP header, where it is not the outermost."),
    ("inner_dst", Text, "Its destination."),
    ("inner_bytes", Integer, "Length that it states."),
    (
        "overhead_bytes",
        Integer,
        "Outer IP length less that of the encapsulated packet, where it is visible and the outer packet is no fragment.",
    ),
    ("ethernet_pad_bytes", Integer, "Octets after the IP packet on the wire, without FCS."),
    (
        "esp_pad_bytes",
        List,
        "Pad length, where ESP was decrypted or the frame alone shows ESP-NULL; several joined with `;`.",
    ),
    ("fragment", Text, "`offset:more` of the outermost IP fragment: offset in octets, 1 if more fragments follow."),
    ("stop", Text, "Where and why dissection ended early: `ah: needs 24 bytes, had 12 (snaplen)`."),
];

/// Their names.
#[expect(clippy::indexing_slicing, reason = "the compiler makes it, below the length of both")]
pub(in crate::report) const NAMES: [&str; FRAMES.len()] = {
    let mut names = [""; FRAMES.len()];
    let mut at = 0;
    while at < FRAMES.len() {
        names[at] = FRAMES[at].0;
        at += 1;
    }
    names
};
