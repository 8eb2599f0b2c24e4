//! Findings about ciphers, ICVs and keys on the wire.

use super::Entry;
use crate::model::report::Severity;

pub(super) const MISMATCH: Entry = Entry {
    code: "transform-mismatch",
    severity: Severity::Warning,
    severity_note: "",
    title: "Packet lengths do not fit the expected transform",
    meaning: "The lengths on the wire are impossible with the transform that the configuration names: wrong block size, IV or ICV length.",
    causes: &[
        "The transform set was changed on one router only, or the SAs were not cleared after the change.",
        "HMAC-SHA-256 cut to 96 bits on one side (the default of older Linux XFRM states) and to 128 on the other.",
        "The configuration given is not the one that is running.",
    ],
    remedy: &[
        "Compare `show crypto ipsec sa` (the transform line of each SA) or `ip -d xfrm state` on both sides.",
        "On Linux give the truncation outright: `auth-trunc hmac(sha256) KEY 128`.",
        "Then clear the SAs on both sides.",
    ],
    lines: &[],
    references: &["RFC 4868 section 2", "RFC 4303 section 2"],
};

pub(super) const MODE_MISMATCH: Entry = Entry {
    code: "mode-mismatch",
    severity: Severity::Warning,
    severity_note: "a note where transport mode is expected: IP in IP in it looks the same, and IOS takes tunnel mode for traffic that it only forwards",
    title: "The mode on the wire is not the expected one",
    meaning: "The configuration asks for tunnel mode and the packets are in transport mode, or the reverse. The overhead is another than \
              the one calculated, and a peer that insists on its mode refuses the SA.",
    causes: &[
        "IOS takes tunnel mode for traffic that is not its own, even with `mode transport` in the transform set.",
        "The transform set was changed and the SAs were not cleared.",
    ],
    remedy: &[
        "`show crypto ipsec sa` shows the mode in force as `in use settings ={Tunnel, }`.",
        "Take `mode transport` only where the router's own packets are protected (GRE, IP in IP), on both sides.",
    ],
    lines: &[],
    references: &["RFC 4301 section 4.1"],
};

pub(super) const ESN_MISMATCH: Entry = Entry {
    code: "esn-mismatch",
    severity: Severity::Error,
    severity_note: "a warning where only a list of SAs says otherwise",
    title: "Extended sequence numbers at one end only",
    meaning: "Packets verify with extended sequence numbers (ESN) while a configuration of their SA has none, or the reverse. The high half \
              of an extended number is covered by the ICV and not transmitted, so a receiver with the other setting drops every packet although its keys \
              are right.",
    causes: &[
        "ESN was enabled on one of the two hosts only (`flag esn` of `ip xfrm state`).",
        "The given configuration is not the one in force.",
    ],
    remedy: &[
        "Use the same setting at both ends. On Linux `ip -d xfrm state` shows `flag esn` and the high half as oseq-hi and seq-hi.",
        "Manual SAs of Cisco IOS have no ESN.",
        "Linux can only set the flag when a state is added: delete the state and add it again with the other setting.",
    ],
    lines: &[],
    references: &["RFC 4303 section 2.2.1", "RFC 4302 section 2.5.1"],
};

pub(super) const ICV_INVALID: Entry = Entry {
    code: "icv-invalid",
    severity: Severity::Error,
    severity_note: "",
    title: "The integrity check fails with the given key",
    meaning: "The key has the right length for its algorithm, and the ICV computed with it is not the one in the packet. The receiver drops \
              such packets if it uses the same key.",
    causes: &[
        "The authentication keys of the two routers differ.",
        "Something between the sender and this TAP changed the packet: NAT (always breaks AH), a faulty device, a rewritten field.",
        "With ESN the upper half of the number enters the ICV; a wrong guess of it fails.",
    ],
    remedy: &[
        "The evidence says whose key verifies how many packets: if one router's key verifies all, correct the other.",
        "If single packets fail, look for a device that alters packets: compare captures before and after it.",
        "For AH behind NAT, use ESP in UDP instead.",
        "On the receiver: `show crypto ipsec sa detail` (`#pkts verify failed`), `XfrmInStateProtoError` in /proc/net/xfrm_stat.",
    ],
    lines: &[],
    references: &["RFC 4302 section 3.4.4", "RFC 4303 section 3.4.4", "RFC 3948"],
};

pub(super) const WEAK: Entry = Entry {
    code: "weak-transform",
    severity: Severity::Note,
    severity_note: "a warning when a configuration names the transform, a note when it is inferred from lengths; a note of a transform set that nothing names",
    title: "A transform that should no longer be used",
    meaning: "DES, 3DES, HMAC-MD5 and ESP without integrity are broken, outworn or forbidden by RFC 8221. NULL encryption is not weak by \
              itself, it is none: everything is readable.",
    causes: &["An old transform set that was never updated.", "A peer that can do nothing better."],
    remedy: &[
        "Use AES-GCM with a 16-byte ICV, or AES-CBC with HMAC-SHA-256-128; for most packet sizes GCM costs fewer bytes too.",
        "On IOS: `crypto ipsec transform-set NAME esp-gcm 256`, or `esp-aes 256 esp-sha256-hmac` on releases without GCM.",
        "AES-GCM must never be used with manual keys: a restart repeats the key stream.",
    ],
    lines: &[],
    references: &["RFC 8221", "RFC 4106 section 3"],
};
