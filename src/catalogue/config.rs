//! Findings from configurations: one against the other, or against the wire.

use super::Entry;
use crate::model::report::Severity;

pub(super) const UNUSED_KEY: Entry = Entry {
    code: "config-unused-key",
    severity: Severity::Error,
    severity_note: "a note of a crypto map that no interface carries, beside one that is in use",
    title: "Manual keys for a protocol that the transform set does not use",
    meaning: "A manual crypto map has `set session-key` lines for AH while its transform set has only esp-* transforms, or the reverse. The keys \
              are not used, and the SA that is needed gets none: packets leave with SPI 0 and are dropped by the peer.",
    causes: &[
        "The transform set was exchanged and the session keys were left as they were.",
        "A slip between `ah` and `esp` in the session-key lines.",
    ],
    remedy: &[
        "Replace the lines by ones of the protocol that the transform set uses, on both routers, then `clear crypto sa`.",
        "`spiglass explain spi-zero` shows the lines and the signs on the router.",
    ],
    lines: &[],
    references: &["RFC 4301 section 4.5.1"],
};

pub(super) const SPI_MISMATCH: Entry = Entry {
    code: "config-spi-mismatch",
    severity: Severity::Error,
    severity_note: "a note where IKE chose the SPIs and the displays may be of two times, a warning where these agree on the way back",
    title: "One router's outbound SPI is not the other's inbound SPI",
    meaning: "With manual keys the sender must use the number that the receiver waits for. These two configurations do not agree, so the \
              receiver drops the packets and logs %CRYPTO-4-RECVD_PKT_INV_SPI.",
    causes: &["Only one router was changed.", "A mistyped digit, or decimal and hex mixed up."],
    remedy: &[
        "Make the outbound SPI of each router equal to the inbound SPI of its peer, for each protocol.",
        "Then `clear crypto sa` on the router that was changed.",
        "Of SAs that IKE made: display both ends at one moment. If they still differ, delete the SAs at both.",
    ],
    lines: &[],
    references: &["RFC 4301 section 4.1 and 4.5.1"],
};

pub(super) const PEER_MISMATCH: Entry = Entry {
    code: "config-peer-mismatch",
    severity: Severity::Error,
    severity_note: "a note of one SA with the same keys and other ends: a NAT may be between them",
    title: "The peer address is not an address of the other router",
    meaning: "`set peer` names an address that the other router does not use as the source of its tunnel: it has it on another interface, or not \
              at all. Packets go astray, or arrive with a source that matches no SA.",
    causes: &[
        "The crypto map sits on another interface than the peer expects.",
        "An address was changed on one side only.",
    ],
    remedy: &[
        "Set the peer to the address of the interface that carries the crypto map, or `crypto map NAME local-address INTERFACE` on the other side.",
        "Then `clear crypto sa` on both.",
    ],
    lines: &[],
    references: &["RFC 4301 section 4.4.1"],
};

pub(super) const ACL_MISMATCH: Entry = Entry {
    code: "config-acl-mismatch",
    severity: Severity::Error,
    severity_note: "",
    title: "The access lists of the two routers are not mirrors of each other",
    meaning: "What one router selects for the tunnel, the other must select with source and destination exchanged. Where they differ, IKE refuses \
              the proposal, or traffic goes into the tunnel and its answers do not.",
    causes: &[
        "A network was added on one side only.",
        "A wrong wildcard mask.",
        "The list was copied without exchanging the sides.",
    ],
    remedy: &[
        "Write the second list as the mirror of the first, line by line, then `clear crypto sa` on both.",
        "`show crypto ipsec sa` prints what is in force as local ident and remote ident.",
    ],
    lines: &["R1:  permit ip host 192.168.2.2 host 192.168.3.2", "R2:  permit ip host 192.168.3.2 host 192.168.2.2"],
    references: &["RFC 4301 section 4.4.1", "RFC 7296 section 2.9"],
};

pub(super) const KEY_MISMATCH: Entry = Entry {
    code: "config-key-mismatch",
    severity: Severity::Error,
    severity_note: "",
    title: "The two routers have different keys for one SA",
    meaning: "The sender's outbound key and the receiver's inbound key of the same SPI differ. The SPI is found, the integrity check fails, and the \
              packets are dropped.",
    causes: &["A mistyped or shortened key.", "Inbound and outbound keys swapped on one side."],
    remedy: &[
        "Enter the same key on both, then `clear crypto sa`.",
        "spiglass never prints keys; compare the lines it names on the routers.",
    ],
    lines: &[],
    references: &["RFC 4301 section 4.5.1"],
};

pub(super) const KEY_LENGTH: Entry = Entry {
    code: "config-key-length",
    severity: Severity::Warning,
    severity_note: "an error where a Linux kernel refuses the state; a note where two routers of Cisco IOS have the same short key",
    title: "A key that is shorter or longer than its algorithm wants",
    meaning: "The key does not have the length that the algorithm needs. Some systems refuse it; Cisco IOS accepts and expands it in a way that \
              its documents do not state. The ICV was therefore not checked; that is not the same as invalid.",
    causes: &["A short key typed for a test, such as 00 or 10.", "A key of another algorithm."],
    remedy: &[
        "Use whole keys: 16 bytes for MD5, 20 for SHA-1, 32 for SHA-256, 64 for SHA-512; 8 for DES, 24 for 3DES, 16, 24 or 32 for AES.",
        "Equal short keys on two IOS routers work with each other, but not necessarily with another make.",
    ],
    lines: &[],
    references: &["RFC 2403", "RFC 2404", "RFC 4868"],
};

pub(super) const KEY_REUSED: Entry = Entry {
    code: "config-key-reused",
    severity: Severity::Warning,
    severity_note: "",
    title: "One key serves both directions",
    meaning: "The SA that a router sends on and the one it receives on have the same key. A packet that the router sent is then valid where it \
              comes back, so it can be reflected; with counter modes the key stream of the two directions repeats.",
    causes: &["One key was typed into all lines.", "A script that makes one key for a tunnel."],
    remedy: &[
        "Give each direction a key of its own, the same on both routers, then `clear crypto sa`.",
        "spiglass compares keys and never shows them.",
    ],
    lines: &[],
    references: &["RFC 4301 section 4.5.1", "RFC 3686 section 2.1"],
};

pub(super) const TRANSFORM_MISMATCH: Entry = Entry {
    code: "config-transform-mismatch",
    severity: Severity::Error,
    severity_note: "a note if both routers have proposals of IKEv2 besides, which are not compared",
    title: "The two routers have different transform sets",
    meaning: "The transform sets of the two sides share no common proposal, or with manual keys are not the same. Packets cannot be decrypted, or \
              no SA comes up.",
    causes: &["The transform set was changed on one side only.", "Different defaults of the two makes."],
    remedy: &[
        "Give both the same transform set and mode (tunnel or transport), then `clear crypto sa` on both.",
        "`show crypto ipsec transform-set` shows what is in force.",
    ],
    lines: &[],
    references: &["RFC 4301 section 4.4.1", "RFC 7296 section 2.7"],
};

pub(super) const IKE_MISMATCH: Entry = Entry {
    code: "config-ike-mismatch",
    severity: Severity::Error,
    severity_note: "a note of proposals that no policy names",
    title: "The IKE policies of the two routers cannot agree",
    meaning: "No policy of one side has encryption, hash, group and authentication in common with a policy of the other. Phase 1 ends with \
              NO-PROPOSAL-CHOSEN and no SA comes up.",
    causes: &[
        "Policies were edited on one side.",
        "The defaults of a release (DES, SHA-1, group 1) apply where a line is missing.",
    ],
    remedy: &[
        "Give both routers one policy with the same lines: `show crypto isakmp policy` shows them with the defaults filled in.",
        "Then `clear crypto isakmp` and send traffic.",
    ],
    lines: &[],
    references: &["RFC 7296 section 2.7", "RFC 2409 section 5"],
};

pub(super) const STALE: Entry = Entry {
    code: "config-stale",
    severity: Severity::Note,
    severity_note: "",
    title: "The given configuration is not the one in force",
    meaning: "A configuration and a state display of the same router contradict each other, or the wire agrees with neither. The comparison is \
              only as good as its input.",
    causes: &[
        "The configuration was changed after the SAs were built and they were not cleared.",
        "The pasted output belongs to the other router.",
    ],
    remedy: &[
        "Take both again at the same time: `show running-config | section crypto` and `show crypto ipsec sa`, with the prompt so that the host \
         name is visible.",
        "`clear crypto sa` puts a changed manual configuration into force.",
    ],
    lines: &[],
    references: &["RFC 4301 section 4.4.2"],
};
