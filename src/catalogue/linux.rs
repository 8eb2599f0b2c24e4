//! Findings from states, policies and counters of Linux hosts.

use super::Entry;
use crate::model::report::Severity;

pub(super) const POLICY_MISSING: Entry = Entry {
    code: "config-policy-missing",
    severity: Severity::Error,
    severity_note: "warning if only `in` is missing on a host that forwards",
    title: "A policy of the tunnel is missing",
    meaning: "A Linux tunnel needs an `out` policy, an `in` policy and, on a host that forwards, a `fwd` policy. Without `out` the packets leave \
              in clear; without `in` or `fwd` decapsulated packets are dropped (XfrmInNoPols).",
    causes: &[
        "Only some of the three policies were added.",
        "A policy was added with a wrong `dir`.",
        "The policies were flushed or replaced by a script.",
    ],
    remedy: &[
        "Add the missing policy with the selector, template and reqid of the others.",
        "`ip xfrm policy` lists them; `/proc/net/xfrm_stat` counts the drops.",
    ],
    lines: &["ip xfrm policy add src LAN-B dst LAN-A dir fwd tmpl src B dst A", "    proto esp reqid N mode tunnel"],
    references: &["RFC 4301 section 4.4.1 and 5.2"],
};

pub(super) const POLICY_SHADOWED: Entry = Entry {
    code: "config-policy-shadowed",
    severity: Severity::Error,
    severity_note: "",
    title: "Another policy takes the tunnel's packets before its own does",
    meaning: "A policy with a lower priority number, or the tunnel's own policy with `action block`, takes all packets of the tunnel before \
              they are encapsulated or accepted: it drops them, lets them pass in clear or leads them to another peer.",
    causes: &[
        "A bypass or block policy has a lower priority number than the tunnel's.",
        "A tunnel policy to another peer selects more packets and has a lower priority number.",
        "`action block` was left in the policy.",
    ],
    remedy: &[
        "Give the tunnel's policy a lower priority number, or delete the other policy.",
        "`ip xfrm policy` shows priority and action.",
    ],
    lines: &[],
    references: &["RFC 4301 section 4.4.1"],
};

pub(super) const STATE_MISSING: Entry = Entry {
    code: "config-state-missing",
    severity: Severity::Error,
    severity_note: "warning if the peer has no such state either: IKE may be about to negotiate it",
    title: "A state that a policy or the peer needs is missing",
    meaning: "The peer sends or receives with an SA for which this host has no state, or a policy asks for a state that does not exist. Packets \
              are dropped (XfrmInNoStates, XfrmOutNoStates).",
    causes: &["The state was not added, or deleted.", "It expired and was not renewed."],
    remedy: &[
        "Add the state with the SPI, algorithms and keys of the peer, and the reqid of the policy.",
        "`ip xfrm state` lists what is there.",
    ],
    lines: &[],
    references: &["RFC 4301 section 4.4.2 and 5.2"],
};

pub(super) const STATE_DUPLICATE: Entry = Entry {
    code: "config-state-duplicate",
    severity: Severity::Error,
    severity_note: "",
    title: "Two states have one destination, protocol and SPI",
    meaning: "A receiver finds the SA of a packet by destination, protocol and SPI. The kernel refuses a second state with the same three.",
    causes: &["One SPI was given to two peers.", "A script adds a state twice with other values."],
    remedy: &["Give each inbound SA of a host an SPI of its own, the same at the sender."],
    lines: &[],
    references: &["RFC 4301 section 4.1"],
};

pub(super) const REQID_MISMATCH: Entry = Entry {
    code: "config-reqid-mismatch",
    severity: Severity::Error,
    severity_note: "",
    title: "The template's reqid is not the state's",
    meaning: "The kernel takes only a state with the reqid of the policy's template (0 in an inbound template takes any). Policy and state of \
              this host have different ones, so that the state is never used.",
    causes: &["A mistyped reqid in one of the two.", "The state was added again without its reqid."],
    remedy: &["Give template and state one reqid; it is the host's own affair and need not be that of the peer."],
    lines: &[],
    references: &["ip-xfrm(8)"],
};

pub(super) const MARK_MISMATCH: Entry = Entry {
    code: "config-mark-mismatch",
    severity: Severity::Error,
    severity_note: "",
    title: "State and policy have different marks",
    meaning: "An outbound state with a mark is found only by packets of a policy whose mark fits it under the state's mask.",
    causes: &["The mark was set on the state and not on the policy, or the reverse."],
    remedy: &["Give state and policy the same mark and mask, or neither."],
    lines: &[],
    references: &["ip-xfrm(8)"],
};

pub(super) const IF_ID_MISMATCH: Entry = Entry {
    code: "config-if-id-mismatch",
    severity: Severity::Error,
    severity_note: "",
    title: "State and policy have different interface ids",
    meaning: "A state with an `if_id` belongs to the xfrm interface of that number and is found only under policies with the same one.",
    causes: &[
        "The `if_id` was set on the state and not on the policy, or the reverse.",
        "The xfrm interface has another number.",
    ],
    remedy: &[
        "Give state and policy the `if_id` of the xfrm interface, or neither.",
        "`ip -d link show type xfrm` shows it.",
    ],
    lines: &[],
    references: &["ip-xfrm(8)", "ip-link(8)"],
};

pub(super) const TEMPLATE_MISMATCH: Entry = Entry {
    code: "config-template-mismatch",
    severity: Severity::Error,
    severity_note: "",
    title: "A policy's template and the host's state do not fit",
    meaning: "The template of a policy names addresses, protocol, mode and perhaps SPI of the state to be used. No state of this host has them, \
              so that packets wait for a state that never comes, or arrive and are dropped (XfrmInTmplMismatch).",
    causes: &[
        "A mistyped address, protocol or mode in the template or in the state.",
        "Source and destination are exchanged.",
    ],
    remedy: &["Make template and state agree; the finding names the one that disagrees with the rest of the host."],
    lines: &[],
    references: &["RFC 4301 section 4.4.1.2", "ip-xfrm(8)"],
};

pub(super) const ESN_MISMATCH: Entry = Entry {
    code: "config-esn-mismatch",
    severity: Severity::Error,
    severity_note: "",
    title: "Extended sequence numbers at one end only",
    meaning: "With extended sequence numbers the ICV covers the high 32 bits of the number, which are not sent. An end without them computes \
              another ICV and drops every packet, although SPI, keys and algorithms are right.",
    causes: &["`flag esn` was given at one end only."],
    remedy: &["Give both states `flag esn`, or neither.", "Do not change any key for this."],
    lines: &[],
    references: &["RFC 4303 section 2.2.1"],
};

pub(super) const ENCAP_MISMATCH: Entry = Entry {
    code: "config-encap-mismatch",
    severity: Severity::Error,
    severity_note: "warning if only the UDP destination ports differ",
    title: "UDP encapsulation differs between the two ends",
    meaning: "A state with `encap` sends and takes ESP only in UDP, a state without it only plain ESP. Packets of the other kind are dropped \
              (XfrmInStateMismatch).",
    causes: &["`encap` was given at one end only.", "The ports of the two ends differ."],
    remedy: &[
        "Give both states `encap espinudp 4500 4500 0.0.0.0`, or neither; the receiver needs a UDP socket for ESP on the port.",
    ],
    lines: &[],
    references: &["RFC 3948 section 2"],
};

pub(super) const INTEGRITY_FAILED: Entry = Entry {
    code: "counter-integrity-failed",
    severity: Severity::Error,
    severity_note: "warning if most packets pass, note if the keys of both ends were compared and agree",
    title: "The receiver drops packets that fail their integrity check",
    meaning: "The state's own counter `failed` says how many packets arrived with its SPI and were dropped because the ICV did not verify. Keys, \
              algorithms, ICV length or extended sequence numbers of the two ends differ, or the packets are changed on the way.",
    causes: &[
        "The authentication keys of the two ends differ.",
        "Algorithm, ICV length or ESN differ.",
        "Packets are damaged or changed on the way.",
    ],
    remedy: &[
        "Compare `ip xfrm state` of both ends as root, so that keys are shown.",
        "Capture the packets and give spiglass the keys: it says which of them verifies.",
    ],
    lines: &[],
    references: &["RFC 4303 section 3.4.4", "linux: Documentation/networking/xfrm_proc.rst"],
};

pub(super) const REPLAY: Entry = Entry {
    code: "counter-replay",
    severity: Severity::Warning,
    severity_note: "a note of a few packets among many that pass",
    title: "The receiver drops packets by its anti-replay check",
    meaning: "The state's own counters say how many packets arrived with a sequence number received before (`replay`), or older than the window \
              (`replay-window`). Keys and SPI are right.",
    causes: &[
        "Packets are reordered on the way by more than the window.",
        "Packets are copied on the way.",
        "The sender counts from 1 again with the same SPI and keys.",
    ],
    remedy: &[
        "Look for `sequence-late`, `sequence-duplicate` and `sequence-restart` in a capture before the receiver.",
        "Against reordering, raise `replay-window` at the receiver.",
    ],
    lines: &[],
    references: &["RFC 4303 section 3.4.3"],
};
