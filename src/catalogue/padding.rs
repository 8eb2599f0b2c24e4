//! Findings about padding.

use super::Entry;
use crate::model::report::Severity;

pub(super) const ETHERNET_LEAK: Entry = Entry {
    code: "ethernet-padding-leak",
    severity: Severity::Warning,
    severity_note: "",
    title: "Ethernet padding is not zero",
    meaning: "Frames shorter than 60 bytes are filled up. IEEE 802.3 leaves the bytes open; RFC 894 and RFC 1042 ask IP senders for zeros. \
              Here other bytes were sent. Where they differ from frame to frame they are often leftovers of other packets in the sender's memory.",
    causes: &[
        "A network card or driver that pads with leftovers of its buffer.",
        "A test generator that pads with its own pattern (0xff is common); harmless.",
    ],
    remedy: &[
        "Find the sender by the direction's MAC address, and update its driver or firmware.",
        "A gateway in between removes the padding of what it tunnels: only the IP packet is carried, and short frames are padded again on the \
         way out.",
    ],
    lines: &[],
    references: &["RFC 894", "RFC 1042", "CVE-2003-0001"],
};

pub(super) const AH_LEAK: Entry = Entry {
    code: "ah-padding-leak",
    severity: Severity::Warning,
    severity_note: "",
    title: "The padding of the AH ICV field is not zero",
    meaning: "Where an ICV does not fill the AH header to its alignment, padding follows it. Its value is free, but bytes that look like other \
              data are stale memory of the sender, sent in clear.",
    causes: &[
        "An implementation that does not clear the buffer. Linux fills it with bytes of the packet's former Ethernet header.",
    ],
    remedy: &[
        "On Linux, `flag align4` on an IPv4 AH state removes the padding of SHA-256 altogether.",
        "Otherwise an update of the sender, or ESP with integrity instead of AH.",
    ],
    lines: &[],
    references: &["RFC 4302 section 2.6 and 3.3.3.2.1"],
};

pub(super) const ESP_IRREGULAR: Entry = Entry {
    code: "esp-padding-irregular",
    severity: Severity::Note,
    severity_note: "",
    title: "ESP padding does not count 1, 2, 3",
    meaning: "Unless the cipher says otherwise, ESP padding counts 1, 2, 3, ... and the receiver may check it. Here it is something else.",
    causes: &[
        "A sender that pads with zeros or random bytes.",
        "The payload was altered or decrypted wrongly: with a wrong key the padding is noise.",
    ],
    remedy: &[
        "If the receiver counts no errors, nothing needs to be done.",
        "If it drops packets, look at `show crypto ipsec sa detail` (`#pkts internal err`) and update the sender.",
    ],
    lines: &[],
    references: &["RFC 4303 section 2.4"],
};

pub(super) const TFC: Entry = Entry {
    code: "tfc-padding",
    severity: Severity::Note,
    severity_note: "",
    title: "Packets carry more padding than alignment needs",
    meaning: "The sender hides the length of packets with traffic flow confidentiality (TFC) padding or long ESP padding. It costs bandwidth: \
              small packets are as large as big ones.",
    causes: &[
        "TFC is switched on: `tfc_padding` in swanctl.conf, `tfcpad` in `ip xfrm state`, a disguise option of the gateway.",
    ],
    remedy: &[
        "Leave it if hiding lengths is wanted; the overhead table shows its price per packet size.",
        "Otherwise switch it off on the sender.",
    ],
    lines: &[],
    references: &["RFC 4303 section 2.4 and 2.7"],
};
