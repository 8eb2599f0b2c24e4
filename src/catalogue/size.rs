//! Findings about lengths, fragments and the path MTU.

use super::Entry;
use crate::model::report::Severity;

pub(super) const AH_LENGTH: Entry = Entry {
    code: "ah-length-invalid",
    severity: Severity::Warning,
    severity_note: "",
    title: "An AH length that cannot be",
    meaning: "The length field of AH counts 32-bit words less two. It is shorter than the fixed part, longer than the packet, or in IPv6 not a \
              multiple of 8 bytes.",
    causes: &[
        "An implementation that counts the field in 64-bit words as other IPv6 extension headers do.",
        "Damaged packets, or packets that are not AH at all.",
    ],
    remedy: &[
        "Look at the frame in the evidence. If all packets of a sender are so, its implementation is wrong: update it.",
        "If single ones are, look for a device that damages packets.",
    ],
    lines: &[],
    references: &["RFC 4302 section 2.2 and 2.6"],
};

pub(super) const ESP_LENGTH: Entry = Entry {
    code: "esp-length-invalid",
    severity: Severity::Warning,
    severity_note: "",
    title: "An ESP length that cannot be",
    meaning: "ESP ends on a 32-bit boundary and needs room for SPI, sequence number and trailer. These packets are too short or not whole \
              words, so the receiver cannot decrypt them.",
    causes: &[
        "Damaged or cut packets, or an intermediate device that shortened them.",
        "Something that is not ESP on protocol 50 or UDP port 4500.",
    ],
    remedy: &[
        "Look at the frame in the evidence and at its IP total length.",
        "If it is another protocol on port 4500, move it to a port of its own.",
    ],
    lines: &[],
    references: &["RFC 4303 section 2.4"],
};

pub(super) const HEADER: Entry = Entry {
    code: "header-invalid",
    severity: Severity::Note,
    severity_note: "",
    title: "Headers that cannot be what they say",
    meaning: "A header has a value that cannot be, has no room in the packet around it, or states more bytes than that packet has. What comes \
              before it counts. What lies behind it was not read, or, where only lengths contradict each other, is in no table of sizes.",
    causes: &[
        "Damaged packets, or packets made to probe a receiver.",
        "Another protocol on a port or number that is read as this one.",
        "A device that rewrites packets and does not correct their lengths.",
    ],
    remedy: &[
        "Look at the frame in the evidence: where reading ended at the header, the column `stop` of `spiglass frames` names it, its offset and \
         what was expected; where it is empty, compare `outer_bytes` and `inner_bytes` with `wire_bytes`.",
        "If all such packets have one sender, look there; if they have many, look at the path between them.",
    ],
    lines: &["spiglass frames --format csv CAPTURE"],
    references: &[],
};

pub(super) const OUTER_FRAGMENTATION: Entry = Entry {
    code: "outer-fragmentation",
    severity: Severity::Warning,
    severity_note: "",
    title: "Tunnelled packets are fragmented on the outside",
    meaning: "The gateway encrypts first and fragments the result. Each further fragment costs 20 bytes of IPv4 header (48 in IPv6) and 38 of \
              Ethernet, and the receiver must reassemble before it can decrypt, usually in software and with limited buffers.",
    causes: &[
        "Inner packets plus overhead exceed the MTU of the link, and DF is not set or not honoured.",
        "TCP inside negotiates its segment size without knowing of the tunnel.",
    ],
    remedy: &[
        "Clamp the segment size on the inside interface: `ip tcp adjust-mss 1360` (IOS), or the iptables line below.",
        "Let the gateway fragment before encryption: `crypto ipsec fragmentation before-encryption` (IOS).",
        "Or raise the MTU of the link between the gateways by the overhead: `spiglass report` shows it per packet size.",
        "On the receiver look at `show ip traffic` (reassembly timeouts) and `show crypto ipsec sa` (path mtu, ip mtu).",
    ],
    lines: &[
        "interface INSIDE",
        " ip tcp adjust-mss 1360",
        "iptables -t mangle -A FORWARD -p tcp --tcp-flags SYN,RST SYN \\",
        "  -j TCPMSS --clamp-mss-to-pmtu",
    ],
    references: &["RFC 4301 section 8", "RFC 4303 section 3.3.4", "RFC 791"],
};

pub(super) const PMTU_ICMP: Entry = Entry {
    code: "pmtu-icmp",
    severity: Severity::Warning,
    severity_note: "",
    title: "A router says that packets are too big",
    meaning: "ICMP \"fragmentation needed\" (IPv6: packet too big) was seen. The evidence says which MTU it states and whether it quotes an SA \
              or a plaintext packet. If the addressee ignores it or never gets it, big packets vanish while small ones pass.",
    causes: &[
        "The tunnel makes packets larger than a link on the way, with DF set.",
        "A firewall that drops ICMP turns this into a black hole: connections open, then hang with the first full packet.",
    ],
    remedy: &[
        "Let ICMP type 3 code 4 (IPv6: ICMPv6 type 2) through to the gateway and to the hosts.",
        "Clamp the TCP segment size on the inside interface: `ip tcp adjust-mss 1360`, or the iptables line below.",
        "For hosts that set DF wrongly: `crypto ipsec df-bit clear` (IOS), at the price of outer fragments.",
        "See what the gateway believes: `show crypto ipsec sa` (path mtu), `ip route get ADDRESS` (mtu).",
    ],
    lines: &["iptables -t mangle -A FORWARD -p tcp --tcp-flags SYN,RST SYN \\", "  -j TCPMSS --clamp-mss-to-pmtu"],
    references: &["RFC 1191", "RFC 8201", "RFC 4301 section 8.2", "RFC 2923"],
};
