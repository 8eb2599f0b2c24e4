//! Why an SA has no pairs.

use crate::model::pairs::Undetermined;

/// A direction of which no packet was found on the plain side, while the other was found. `missing`: numbers that the tunnel's tap did not see.
pub(in crate::matching) fn unfound(missing: u64) -> Undetermined {
    Undetermined {
        alignments: 0,
        reason: "no alignment with the plain side is sure: the packets are too few, the plain tap does not see them, or more are on their \
                 way at once than lengths and times tell apart"
            .into(),
        decide: "the keys (--config), longer captures, or a lower load".into(),
        missing_numbers: missing,
    }
}

/// An SA between other gateways than those whose packets are paired by order.
pub(in crate::matching) fn elsewhere(missing: u64) -> Undetermined {
    Undetermined {
        alignments: 0,
        reason: "the SA is between other gateways than most packets of the tunnel capture: pairing by order follows one gateway".into(),
        decide: "a tunnel capture of this pair of gateways alone, or the keys (--config)".into(),
        missing_numbers: missing,
    }
}

/// An SA whose packets show what is inside, but not as far as they were captured.
pub(in crate::matching) fn cut(count: u64, packets: u64, missing: u64) -> Undetermined {
    Undetermined {
        alignments: 0,
        reason: format!(
            "{count} of its {packets} packets were captured only in part and show too little of the packet inside: the tunnel's capture was taken with \
             a short snap length, or frames were sliced"
        )
        .into(),
        decide: "a tunnel capture of whole frames".into(),
        missing_numbers: missing,
    }
}

/// An SA without any pair, while others of its way have some.
pub(in crate::matching) fn absent(packets: u64, missing: u64) -> Undetermined {
    Undetermined {
        alignments: 0,
        reason: format!(
            "none of its {packets} packets has a plaintext packet, while those of other SAs have: they are of hosts that the plain tap does not \
             see, or what comes out of this SA is dropped"
        )
        .into(),
        decide: "a plain tap on all links of the gateway, its counters for this SA, or the keys (--config)".into(),
        missing_numbers: missing,
    }
}

/// Numbers that were lost before both taps.
pub(in crate::matching) fn before_both(open: Undetermined, numbers: u64) -> Undetermined {
    let reason = format!(
        "{}; the {numbers} sequence numbers that are missing were lost on their way to the gateway",
        open.reason
    );
    Undetermined { reason: reason.into(), ..open }
}

/// Numbers that the tunnel's tap did not see, as it did not see packets of the other direction.
pub(in crate::matching) fn unseen_numbers(open: Undetermined, numbers: u64, unseen: u64) -> Undetermined {
    let reason = format!(
        "{}; {numbers} sequence numbers are missing, and {unseen} packets that came out of the same tunnel were not seen either: the tunnel's capture misses \
         frames, or other packets go beside the tunnel",
        open.reason
    );
    Undetermined { reason: reason.into(), ..open }
}

/// Numbers that are missing of an SA out of the tunnel, some of whose packets came out of it all the same.
pub(in crate::matching) fn missed_numbers(numbers: u64, plain: u64) -> Undetermined {
    Undetermined {
        alignments: 1,
        reason: format!(
            "{numbers} sequence numbers are missing, and {plain} packets that came out of the tunnel were not seen in it: the tunnel's capture misses \
             frames, or other packets come beside the tunnel, and how many were lost before it is not known"
        )
        .into(),
        decide: "a tunnel capture without drops, or a capture at the far gateway".into(),
        missing_numbers: 0,
    }
}

/// Numbers that were lost before the tunnel's tap, of packets of which is not known which tap they passed first.
pub(in crate::matching) fn somewhere(open: Undetermined, numbers: u64) -> Undetermined {
    let reason = format!(
        "{}; {numbers} sequence numbers are missing, lost between the taps or before both: which tap the packets passed first is not known",
        open.reason
    );
    Undetermined { reason: reason.into(), ..open }
}

/// Packets out of the tunnel of lengths that no packet on the plain side has.
pub(in crate::matching) fn for_gateway(count: u64, lost: u64) -> Undetermined {
    Undetermined {
        alignments: 1,
        reason: format!(
            "{count} of {lost} packets out of the tunnel that the plain tap did not show have lengths of which it showed none: they may be for the gateway \
             itself, or all packets of that size were lost"
        )
        .into(),
        decide: "the keys (--config), or the gateway's counters for what it receives and drops".into(),
        missing_numbers: 0,
    }
}

/// Packets out of the tunnel of lengths that are rare among those that the plain tap showed.
pub(in crate::matching) fn of_rare_lengths(count: u64, lost: u64) -> Undetermined {
    Undetermined {
        alignments: 1,
        reason: format!(
            "{count} of {lost} packets out of the tunnel that the plain tap did not show have lengths of which it showed few: they may be for the \
             gateway itself (logs, traps, probes) or for a network that this tap does not see, or such packets were dropped more than others"
        )
        .into(),
        decide: "the keys (--config), or the gateway's counters for what it receives and drops".into(),
        missing_numbers: 0,
    }
}

/// Packets out of the tunnel that go into another one.
pub(in crate::matching) fn onward(count: u64, lost: u64) -> Undetermined {
    Undetermined {
        alignments: 1,
        reason: format!(
            "{count} of {lost} packets out of the tunnel that the plain tap did not show have the lengths of packets that other tunnels carry without a \
             plaintext packet: the gateway may send them on from tunnel to tunnel"
        )
        .into(),
        decide: "the keys (--config), or a capture in which no traffic goes from tunnel to tunnel".into(),
        missing_numbers: 0,
    }
}

/// Fragments of packets that a gateway puts together.
pub(in crate::matching) fn torn(count: u64) -> Undetermined {
    Undetermined {
        alignments: 1,
        reason: format!(
            "a gateway puts the plain side's fragments together or fragments what comes out, and {count} fragments were not found, or packets lack some: \
             how many packets that are is not known"
        )
        .into(),
        decide: "hosts that send no fragments (a smaller MTU or MSS)".into(),
        missing_numbers: 0,
    }
}
