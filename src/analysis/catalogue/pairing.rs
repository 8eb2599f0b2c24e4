//! Findings of `spiglass match`.

use super::Entry;
use crate::model::report::Severity;

pub(super) const LOSS: Entry = Entry {
    code: "match-loss",
    severity: Severity::Warning,
    severity_note: "",
    title: "Packets were lost between the two taps",
    meaning: "One tap saw packets that the other did not. Of packets on their way into the tunnel those count that belong to traffic which the \
              tunnel carries; a hole in the sequence numbers names the packet that the gateway encrypted and that was lost behind it. \
              Without a hole it was lost before it was encrypted. Of packets on their way out of the tunnel those count that are on its side \
              and have no plaintext packet.",
    causes: &[
        "The gateway, or a queue behind it, drops packets under this load.",
        "The packet was too long for the tunnel and DF was set: see pmtu-icmp in `spiglass report`.",
        "The receiving gateway dropped it: wrong key, replay window, no SA.",
        "A capture lost frames: see capture-drops in `spiglass report`.",
    ],
    remedy: &[
        "List the packets with `spiglass match --format csv --table lost`.",
        "Compare with the gateway's interface and crypto counters, and with `spiglass report` of both captures.",
    ],
    lines: &[],
    references: &["RFC 2544 section 26.3", "RFC 4303 section 3.3.3"],
};

pub(super) const NOTHING: Entry = Entry {
    code: "match-nothing",
    severity: Severity::Warning,
    severity_note: "",
    title: "No packet of one side is a packet of the other",
    meaning: "Both sides have packets, but neither their contents nor their lengths, order and times let any of them belong together.",
    causes: &[
        "The captures are of different times, or of different gateways.",
        "The plain tap sees other hosts than those whose traffic goes through the tunnel.",
        "The tunnel hides lengths: traffic flow confidentiality, compression, or several packets in one (RFC 9347).",
        "A NAT between the taps changes the packets.",
    ],
    remedy: &[
        "See with `spiglass report` of each capture what it holds and when.",
        "Give the keys with --config: then contents decide.",
    ],
    lines: &[],
    references: &[],
};
