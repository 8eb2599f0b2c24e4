//! Findings of `spiglass match`.

pub(super) mod trials;

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
        "The gateway, or a queue after it, drops packets under this load.",
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

pub(super) const LOSS_BEHIND: Entry = Entry {
    code: "match-loss-behind",
    severity: Severity::Warning,
    severity_note: "",
    title: "Packets were lost on the far side of the tunnel tap",
    meaning: "The tunnel tap and the exit tap do not show the same packets: what the one saw did not reach the other. The packets are known by \
              their content on both plaintext sides. Packets from a time that one of the captures does not cover are not counted.",
    causes: &[
        "The network between the tunnel tap and the far gateway drops packets.",
        "The far gateway dropped them: ICV invalid, outside the replay window, no SA, or against its policy.",
        "A queue or a filter between the far gateway and the exit tap drops them.",
        "The exit capture lost frames: see capture-drops in `spiglass report`.",
    ],
    remedy: &[
        "List the packets with `spiglass match --format csv --table lost`: `verdict` says where each was lost.",
        "Compare with the counters of the far gateway: replay, integrity and policy errors (`ip -s xfrm state`, `show crypto ipsec sa`).",
    ],
    lines: &[],
    references: &["RFC 4303 section 3.4", "RFC 2544 section 26.3"],
};

pub(super) const UNDETERMINED: Entry = Entry {
    code: "match-undetermined",
    severity: Severity::Note,
    severity_note: "",
    title: "Pairs or losses cannot be determined",
    meaning: "Encrypted packets of equal length at an even pace look the same when they are shifted by one or more. Loss, latency and pairs \
              would differ with each alignment, so none of them is stated. Packets that are missing \
              while the other capture shows no frame at all, with nothing that tells a hole in the capture from an outage, are neither \
              lost nor not.",
    causes: &[
        "A traffic generator or a voice stream sends packets of one size at a constant rate.",
        "Both directions carry the same load.",
        "A capture shows no frame for a time: it was not recording, or nothing passed.",
    ],
    remedy: &[
        "Use a load of several sizes, uneven gaps, or add one marker packet of another size.",
        "Give the keys with --config: then contents decide.",
    ],
    lines: &[],
    references: &[],
};

pub(super) const HOLE: Entry = Entry {
    code: "match-hole",
    severity: Severity::Note,
    severity_note: "",
    title: "A capture has a hole: its tap was not recording for a time",
    meaning: "One capture shows no frame at all for a time in which packets passed its tap: the other tap shows packets that had passed it, \
              sequence numbers go on after the hole, or one file ends and the next begins. Packets of the other side in that time are not \
              covered; they are not counted as lost. A time in which the capture shows any other frame is no hole: packets missing then \
              were lost.",
    causes: &[
        "The capture process or its disk stopped for a moment.",
        "Frames between two files of a rotation were not written, or one file is missing.",
        "The capture card or the kernel dropped all frames: see capture-drops in `spiglass report`.",
    ],
    remedy: &["Check the drop counters of the capture, and that all files of the rotation were given."],
    lines: &[],
    references: &[],
};

pub(super) const SWAPPED: Entry = Entry {
    code: "match-swapped",
    severity: Severity::Warning,
    severity_note: "",
    title: "The plaintext side and the side of the tunnel are likely swapped",
    meaning: "The captures given with --plain or --exit hold packets in tunnels, those given with --tunnel hold none. Nothing can be paired.",
    causes: &["--tunnel was exchanged with --plain, or with --exit."],
    remedy: &["Swap the captures as the finding says."],
    lines: &[],
    references: &[],
};

pub(super) const NOTHING: Entry = Entry {
    code: "match-nothing",
    severity: Severity::Warning,
    severity_note: "",
    title: "No packet of one side could be paired with a packet of the other",
    meaning: "Both sides have packets, but neither their contents nor their lengths, order and times let any of them belong together; or one side shows \
              none of its kind.",
    causes: &[
        "The mirror shows another port, or the tunnel is down, so that the capture of the tunnel holds no IPsec.",
        "The captures are of different times, or of different gateways.",
        "The plain tap sees other hosts than those whose traffic goes through the tunnel.",
        "The tunnel's capture shows the plaintext, too: then nothing says that it went through the tunnel.",
        "The tunnel hides lengths: traffic flow confidentiality, compression, or several packets in one (RFC 9347).",
        "A NAT between the taps changes the packets.",
        "More packets are on their way at once than lengths and times tell apart, and some of them were lost.",
    ],
    remedy: &[
        "See with `spiglass report` of each capture what it holds and when.",
        "Give the keys with --config: then contents decide.",
        "Give a capture that holds both sides as --plain and as --tunnel.",
    ],
    lines: &[],
    references: &[],
};
