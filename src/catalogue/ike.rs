//! Findings from IKE messages that travel in clear.

use super::Entry;
use crate::model::report::Severity;

pub(super) const INVALID_SPI: Entry = Entry {
    code: "ike-invalid-spi",
    severity: Severity::Warning,
    severity_note: "",
    title: "A peer reports an SPI it does not know",
    meaning: "An IKE notification INVALID-SPI in clear: its sender received AH or ESP with an SPI for which it has no SA and says so. The message \
              is not authenticated; it is a hint, not a proof.",
    causes: &[
        "The peer was reloaded or lost its SAs; the other side still sends on the old ones.",
        "A rekey that only one side finished, or a delete message that was lost.",
        "SAs time out at different moments because lifetimes or idle timers differ.",
    ],
    remedy: &[
        "`clear crypto sa peer ADDRESS` on the router that still sends with the old SPI.",
        "So that it heals by itself: dead peer detection on both (`crypto isakmp keepalive 10 3 periodic`, dpd_delay in swanctl.conf) and \
         `crypto isakmp invalid-spi-recovery`.",
        "Give both sides the same lifetimes.",
    ],
    lines: &["crypto isakmp invalid-spi-recovery", "crypto isakmp keepalive 10 3 periodic"],
    references: &["RFC 7296 section 1.5 and 3.10.1", "RFC 2408 section 3.14.1", "RFC 6290"],
};

pub(super) const DELETE: Entry = Entry {
    code: "ike-delete",
    severity: Severity::Note,
    severity_note: "",
    title: "A peer deletes SAs, in clear",
    meaning: "An IKE delete payload was sent without encryption. A peer should ignore it unless it is protected, so the sender's SA is gone \
              while the receiver may keep sending on it.",
    causes: &[
        "A device that has lost its IKE SA and clears up.",
        "An attacker who wants to tear the tunnel down: the message is not authenticated.",
    ],
    remedy: &[
        "Look whether packets with the deleted SPI still follow, and in that case clear the SA on their sender.",
        "If the sender of the message is not the peer, filter it.",
    ],
    lines: &[],
    references: &["RFC 7296 section 1.4.1 and 3.11", "RFC 2408 section 3.15"],
};
