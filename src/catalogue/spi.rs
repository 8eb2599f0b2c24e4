//! Findings about the value of an SPI.

use super::Entry;
use crate::model::report::Severity;

pub(super) const ZERO: Entry = Entry {
    code: "spi-zero",
    severity: Severity::Error,
    severity_note: "",
    title: "IPsec packets leave with SPI 0",
    meaning: "An SPI of 0 must never be sent on the wire. The receiver finds no SA for it and drops every one of these packets, \
              while the sender shows its SAs as active and counts the packets as encrypted.",
    causes: &[
        "On Cisco IOS: a manual crypto map whose keys do not fit its transform set, that is `set session-key ... ah` while the transform \
         set has only esp-* transforms (or `... esp` keys under an ah-* transform set). The router installs an SA without the SPI that was \
         meant for the other protocol and sends all packets with SPI 0.",
        "On other systems: an SA installed by hand or by a script with an SPI variable that was empty.",
    ],
    remedy: &[
        "On the sending router compare the words in `show running-config | section crypto`: for every esp-* transform there must be \
         `set session-key inbound esp` and `set session-key outbound esp`, for every ah-* transform the same with ah.",
        "Correct both routers (the lines below), then `clear crypto sa`: manual SAs keep their old SPI until they are built again.",
        "Check the counters: `show crypto engine connections active` shows Encrypt growing and Decrypt at 0 while the fault lasts; \
         `show crypto ipsec sa` must list the configured SPIs under esp sas, and `#pkts decaps` must grow.",
        "The receiver logs %CRYPTO-4-RECVD_PKT_INV_SPI (some releases write RECV_PKT_INV_SPI) with spi=0x0(0), one line a minute at any packet rate: a single line represents all packets of that minute.",
        "On Linux: `ip xfrm state` shows the SPI in use.",
    ],
    lines: &[
        "crypto map MAP 10 ipsec-manual",
        " no set session-key inbound ah",
        " no set session-key outbound ah",
        " set session-key inbound esp SPI-IN cipher HEX-KEY authenticator HEX-KEY",
        " set session-key outbound esp SPI-OUT cipher HEX-KEY authenticator HEX-KEY",
        "end",
        "clear crypto sa",
    ],
    references: &["RFC 4302 section 2.4", "RFC 4303 section 2.1", "RFC 4301 section 4.5.1 (manual keys)"],
};

pub(super) const RESERVED: Entry = Entry {
    code: "spi-reserved",
    severity: Severity::Warning,
    severity_note: "",
    title: "An SPI from the reserved range 1 to 255",
    meaning: "SPIs 1 to 255 are reserved by IANA and no ordinary SA may use them. Some systems accept them, others refuse the configuration \
              or drop the packets, so a tunnel that works today may not work with the next peer.",
    causes: &[
        "A manual SPI chosen too small, such as 100 or 200.",
        "In UDP on port 4500, the value 2 in place of an SPI is the marker of Wrapped ESP (WESP), not an SPI.",
    ],
    remedy: &[
        "Choose a manual SPI of 256 or above on the receiving router, and the same value as outbound SPI on its peer.",
        "Then `clear crypto sa` (Cisco IOS) or `ip xfrm state delete` and `add` (Linux) on both, at the same time.",
    ],
    lines: &[],
    references: &["RFC 4302 section 2.4", "RFC 4303 section 2.1", "RFC 5840 section 2.1", "IANA spi-numbers"],
};

pub(super) const SHARED: Entry = Entry {
    code: "spi-shared",
    severity: Severity::Note,
    severity_note: "",
    title: "One SPI serves several SAs",
    meaning: "The same SPI is used by more than one sender or in both directions. Each of them has a sequence counter of its own, so a tool \
              that looks at the SPI alone sees false gaps and duplicates. spiglass counts them apart.",
    causes: &[
        "Manual keys with one SPI for both directions, as routing protocols over IPsec (OSPFv3) usually have it.",
        "By chance between unrelated peers: an SPI belongs to its receiver and means nothing elsewhere.",
    ],
    remedy: &[
        "Nothing needs to be done for the packets' sake.",
        "With manual keys, different SPIs and keys per direction make logs readable and keep the two directions from sharing one key.",
    ],
    lines: &[],
    references: &["RFC 4301 section 4.1", "RFC 4552"],
};

pub(super) const GROUP: Entry = Entry {
    code: "spi-group",
    severity: Severity::Note,
    severity_note: "a warning where more than --max-loss of the group's numbers are missing",
    title: "One SPI and one counter between several pairs of addresses",
    meaning: "Packets between several pairs of addresses bear one SPI, and their sequence numbers interleave: a sender numbers the packets of a \
              group SA together, whoever they are for, and an end that moves goes on counting. By pair, numbers would be missing that others have, so sequence figures are given for all \
              pairs together, or not at all.",
    causes: &[
        "Group encryption that preserves the addresses of the packets: GETVPN (`crypto gdoi`), where all members share an SA.",
        "A multicast SA that is also used for unicast receivers.",
        "An end of the tunnel that moves to another address for a while (MOBIKE), or whose NAT gives it another one.",
    ],
    remedy: &[
        "Nothing needs to be done for the packets' sake.",
        "On a group member: `show crypto gdoi` and `show crypto ipsec sa` show the group's SAs. For loss, compare the sender's `#pkts encaps` \
         with what was captured.",
    ],
    lines: &[],
    references: &["RFC 6407", "RFC 4301 section 4.1", "RFC 4555"],
};

pub(super) const UNEXPECTED: Entry = Entry {
    code: "spi-unexpected",
    severity: Severity::Error,
    severity_note: "",
    title: "An SPI that no configuration expects",
    meaning: "Packets carry an SPI that the given configuration does not contain for this receiver. Unless the receiver knows more than the \
              configuration says, it drops them.",
    causes: &[
        "One of the two routers was changed and the other was not, or its SAs were not cleared after the change.",
        "After a reload or a rekey one side still sends on the old SA; the other has deleted it.",
        "The configuration given to spiglass is not the one that is running.",
    ],
    remedy: &[
        "Compare `show crypto ipsec sa` on both routers: the outbound SPI of one must be the inbound SPI of the other, per protocol.",
        "Then `clear crypto sa peer ADDRESS` on both. With IKE, `crypto isakmp invalid-spi-recovery` lets IOS delete the stale SA by itself.",
        "On Linux: `ip xfrm state` on both sides; `XfrmInNoStates` in /proc/net/xfrm_stat counts what the receiver drops.",
    ],
    lines: &[],
    references: &["RFC 4301 section 5.2", "RFC 7296 section 1.5"],
};

pub(super) const MISTYPED: Entry = Entry {
    code: "spi-mistyped",
    severity: Severity::Error,
    severity_note: "",
    title: "The SPI on the wire looks like a mistyped expected SPI",
    meaning: "The SPI on the wire is not the expected one, but it is what becomes of it by a common slip: decimal digits read as hex or the \
              reverse, bytes in the wrong order, two digits swapped, or one digit wrong.",
    causes: &[
        "The SPI was copied from a hex display into a field that takes decimal, or the reverse: Cisco IOS takes decimal and shows \
         `0x3EA(1002)`, `ip xfrm` takes either and needs 0x for hex.",
        "A script wrote the number in host instead of network byte order.",
        "A digit was mistyped on one of the two routers.",
    ],
    remedy: &[
        "`spiglass explain SPI` shows every reading of the number.",
        "Correct the side that is wrong: the receiver's inbound SPI decides, the sender's outbound SPI must equal it.",
        "Then `clear crypto sa` on the router that was corrected.",
    ],
    lines: &[],
    references: &["RFC 4301 section 4.1"],
};
