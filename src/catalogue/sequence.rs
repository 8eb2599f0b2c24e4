//! Findings about sequence numbers.

use super::Entry;
use crate::model::report::Severity;

pub(super) const GAP: Entry = Entry {
    code: "sequence-gap",
    severity: Severity::Warning,
    severity_note: "a note up to --max-loss (0.1 % unless changed) of what is missing within the files, was not dropped by the capturing host and not skipped at once",
    title: "Sequence numbers never seen at this TAP",
    meaning: "The sender numbers the packets of an SA one by one, and some numbers between the first and the highest did not appear here. \
              They were lost before this TAP, took another path, or the capture missed them; which of these, the numbers alone do not say.",
    causes: &[
        "Packets were dropped between the sender's encryption and this TAP: an output queue, a policer, a bad link.",
        "The capture lost frames: an overloaded SPAN port or capture host. Then every kind of traffic has holes, and capture-drops may say so.",
        "Part of the traffic takes another link (ECMP, a port channel with one member tapped).",
    ],
    remedy: &[
        "Compare with the sender's counter: `show crypto ipsec sa` (`#pkts encaps`) or `ip -s xfrm state` before and after the capture.",
        "On the sender: `show interfaces` (output drops), `show policy-map interface`; QoS that acts after the encryption drops numbered packets.",
        "On the capture host: `tcpdump` prints packets dropped by kernel; a passive TAP with both monitor ports captured rules out SPAN overload.",
        "To find where they are lost, capture at two places at once and compare.",
    ],
    lines: &[],
    references: &["RFC 4303 section 2.2", "RFC 4302 section 2.5"],
};

pub(super) const DUPLICATE: Entry = Entry {
    code: "sequence-duplicate",
    severity: Severity::Warning,
    severity_note: "",
    title: "Sequence numbers seen more than once",
    meaning: "A packet number of an SA occurs in more than one frame. A receiver with anti-replay accepts the first and drops the rest.",
    causes: &[
        "The network duplicates packets: a layer 2 loop, a switch that floods, redundant links without duplicate removal.",
        "Captured packets are being replayed.",
        "The sender's counter began anew, by fewer than 4096 numbers and within 10 s: the evidence says where packets with one number differ.",
        "The capture point sees some packets twice, but fewer than a copying TAP would (that is tap-copies).",
    ],
    remedy: &[
        "Compare the two frames: an equal IP id and a TTL that is lower by one or more point to a loop; equal in everything, to the capture.",
        "On the receiver: %CRYPTO-4-PKT_REPLAY_ERR, `show crypto ipsec sa detail` (`#pkts replay failed`), or `XfrmInStateSeqError` in \
         /proc/net/xfrm_stat.",
        "Look for spanning-tree changes and MAC flapping on the switches between.",
    ],
    lines: &[],
    references: &["RFC 4303 section 3.4.3", "RFC 4302 section 3.4.3"],
};

pub(super) const LATE: Entry = Entry {
    code: "sequence-late",
    severity: Severity::Note,
    severity_note: "",
    title: "Packets arrived out of order",
    meaning: "Packets appear after others with higher numbers. That is harmless as long as the receiver's anti-replay window is wide enough; \
              the evidence says which window sizes would have dropped how many.",
    causes: &[
        "QoS after the encryption: packets are numbered first and queued by class afterwards.",
        "Load sharing per packet, or a path change while packets were in flight.",
        "Several cores of the sender encrypt packets of one SA.",
        "Cloud mirrors deliver out of order by themselves.",
    ],
    remedy: &[
        "Widen the window on the receiver: `crypto ipsec security-association replay window-size 1024` (IOS), replay-window in `ip xfrm state` \
         or replay_window in swanctl.conf.",
        "Or keep one SA per traffic class, or classify before encryption with `qos pre-classify`.",
    ],
    lines: &["crypto ipsec security-association replay window-size 1024"],
    references: &["RFC 4303 section 3.4.3", "RFC 4301 section 4.1 (one SA per class)"],
};

pub(super) const RESTART: Entry = Entry {
    code: "sequence-restart",
    severity: Severity::Warning,
    severity_note: "note where it fell by less than 4,096 within 10 s and packets that came late look the same",
    title: "The sequence number fell back on the same SPI",
    meaning: "The counter of an SA fell back, after a pause or by more than any anti-replay window, and counts up again with the same SPI. IKE would have made a new SPI. A receiver \
              with anti-replay drops everything until the counter has passed the highest number it had seen.",
    causes: &[
        "A router with manual keys was reloaded, or its SAs were cleared; manual keys keep the SPI.",
        "Two routers (a redundant pair) send with the same SA and counters of their own.",
    ],
    remedy: &[
        "`clear crypto sa` on the receiver too, so that its window begins anew.",
        "Turn anti-replay off for manual keys, where it cannot be relied on: `crypto ipsec security-association replay disable`.",
        "Better, use IKE: it gives every SA new keys. A restarted counter with counter-mode ciphers repeats the key stream.",
    ],
    lines: &[],
    references: &["RFC 4303 section 3.3.3", "RFC 4301 section 4.5.1"],
};

pub(super) const INTERLEAVED: Entry = Entry {
    code: "sequence-interleaved",
    severity: Severity::Warning,
    severity_note: "a note where only MAC addresses tell senders apart",
    title: "Several sequence counters on one SPI",
    meaning: "The packets of an SA bear numbers of two or more counts, or one number is that of different packets: likely several senders \
              use the same SA. Then a receiver with anti-replay drops the packets of the lower count. The numbers do not tell what was lost, so no loss \
              is given.",
    causes: &[
        "Two gateways of a cluster, or an old and a new one, are active at the same time with the same keys and SPI.",
        "Two peers behind one NAT address have the same SPI to the same receiver, and the capture does not tell them apart.",
        "The same addresses and SPIs are used in several VLANs or routing tables (VRFs), which the capture shows together.",
        "Several processes or hardware queues of one gateway number the packets of an SA each on their own.",
        "Captures of taps whose clocks differ by seconds were merged into one file: the counts are then parts of one. `capinfos` and the \
         interfaces of a pcapng tell.",
    ],
    remedy: &[
        "Check which gateways hold the SA: `show crypto ipsec sa` or `ip xfrm state` on each of them; only one may send with it.",
        "Give every sender an SA of its own. With counter-mode ciphers (GCM, CTR, ChaCha20) two counters on one key can repeat the key stream: \
         renew the keys.",
    ],
    lines: &[],
    references: &["RFC 4303 section 2.2", "RFC 4301 section 4.1", "RFC 6027 (clusters)"],
};

pub(super) const JUMP: Entry = Entry {
    code: "sequence-jump",
    severity: Severity::Warning,
    severity_note: "",
    title: "The sequence number jumped ahead",
    meaning: "From one packet of an SA to the next the number rises by more than a million. Loss of that many packets is unlikely within the \
              pause that the evidence states, so the numbers between are not counted as lost.",
    causes: &[
        "A failover: the new active gateway continues the SA some way ahead, so that no number is used twice.",
        "The SA's state was restored from a checkpoint.",
        "An outage of the path or the capture, if the pause has room for the packets skipped.",
    ],
    remedy: &[
        "Compare with failover logs of the sending gateway at that time: `show redundancy states`, `show crypto ha`, or the log of the cluster.",
        "If the pause has room for the packets skipped, compare `#pkts encaps` of the sender before and after.",
    ],
    lines: &[],
    references: &["RFC 6311 section 5 (sequence numbers after a failover)", "RFC 4303 section 3.3.3"],
};

pub(super) const OUTLIER: Entry = Entry {
    code: "sequence-outlier",
    severity: Severity::Note,
    severity_note: "",
    title: "Sequence numbers far from those before and after them",
    meaning: "Single packets of an SA have a number more than a million away from those of the packets before and after. They are not part \
              of the count: they make no loss, no restart and no jump.",
    causes: &[
        "A damaged header, or a test tool that sends packets with any number.",
        "Where most packets are so: what is in them is not ESP or AH, or several senders use one SPI.",
    ],
    remedy: &[
        "Look at the packets: a bad ICV at the receiver (`#pkts verify failed`, `XfrmInStateProtoError`) points to damage.",
        "Give the keys with --config: then the ICV decides whether the sender made them.",
    ],
    lines: &[],
    references: &["RFC 4303 section 2.2", "RFC 4302 section 2.5"],
};

pub(super) const WRAP: Entry = Entry {
    code: "sequence-wrap",
    severity: Severity::Warning,
    severity_note: "",
    title: "The 32-bit sequence number wrapped",
    meaning: "The number passed 4294967295 on one SPI. That is proper only with extended sequence numbers (ESN), whose upper half is not on \
              the wire. Without ESN a sender with anti-replay must rekey before.",
    causes: &[
        "ESN is in use; then nothing is wrong.",
        "Manual keys, which never rekey.",
        "A volume or time lifetime that is too long for the packet rate.",
    ],
    remedy: &[
        "Check whether ESN was negotiated: `ip -d xfrm state` (flag esn), `swanctl --list-sas` (ESN), `show crypto ipsec sa` on releases that know ESN.",
        "Without ESN, shorten the lifetime: `crypto ipsec security-association lifetime kilobytes` or `rekey_packets` in swanctl.conf.",
    ],
    lines: &[],
    references: &["RFC 4303 section 2.2.1 and 3.3.3"],
};
