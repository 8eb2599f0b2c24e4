//! Why it is not known how many packets of a direction were lost: flows that may have gone another way.

use crate::model::pairs::Undetermined;

/// Flows without any pair, and about as many unpaired packets in the tunnel.
pub(in crate::matching) fn left_out(plain: u64, tunnelled: u64) -> Undetermined {
    Undetermined {
        alignments: 1,
        reason: format!(
            "{plain} plaintext packets belong to flows without any pair, and {tunnelled} packets in the tunnel have no counterpart: they may be the \
             same packets, delayed in a queue"
        )
        .into(),
        decide: "the keys (--config), or captures on which the gateway's queue is short".into(),
        missing_numbers: 0,
    }
}

/// Lost packets of flows that go through several SAs at a time.
pub(in crate::matching) fn shared(count: u64) -> Undetermined {
    Undetermined {
        alignments: 1,
        reason: format!(
            "{count} plaintext packets without counterpart are of flows that go through several SAs, at a time or from one to the next: which SA each of \
             them would have gone through is not known"
        )
        .into(),
        decide: "the counters of the gateway for each SA".into(),
        missing_numbers: 0,
    }
}

/// Packets out of the tunnel between addresses that the plain tap never showed.
pub(in crate::matching) fn strange(count: u64) -> Undetermined {
    Undetermined {
        alignments: 1,
        reason: format!(
            "{count} packets in the tunnel without counterpart are between addresses that the plain tap never showed: it does not see these hosts, the \
             gateway translates their addresses, or all these packets were lost"
        )
        .into(),
        decide: "a plain capture that shows these hosts, or the drop counters of the gateway".into(),
        missing_numbers: 0,
    }
}

/// Packets out of the tunnel without counterpart, of which both plaintext sides lack fewer.
pub(in crate::matching) fn let_through(count: u64, gone: u64) -> Undetermined {
    Undetermined {
        alignments: 1,
        reason: format!(
            "{count} packets in the tunnel have no counterpart at the plain tap, but of what the exit shows only {gone} are missing there: the order \
             of packets was lost"
        )
        .into(),
        decide: "packets of different sizes in the load, or the keys (--config)".into(),
        missing_numbers: 0,
    }
}

/// Flows of which nothing is known but that their packets were too big.
pub(in crate::matching) fn refused(mtu: u32, count: u64) -> Undetermined {
    Undetermined {
        alignments: 1,
        reason: format!(
            "{count} packets of flows of which no other packet was found were refused as too big for an MTU of {mtu} B: whether they would have gone into \
             the tunnel is not known"
        )
        .into(),
        decide: "the traffic selectors or the crypto ACL of the gateway, or smaller packets of these flows".into(),
        missing_numbers: 0,
    }
}

/// Flows of which few packets were found in the tunnel.
pub(in crate::matching) fn sparse(missed: u64) -> Undetermined {
    Undetermined {
        alignments: 1,
        reason: format!(
            "{missed} packets of a flow of which few others were found in the tunnel have no counterpart: they were lost, go another way, or \
             passed while the tunnel's capture did not show them"
        )
        .into(),
        decide: "a tunnel capture that covers the same time, or the counters of the gateway".into(),
        missing_numbers: 0,
    }
}

/// Pairs of flows that go past the tunnel, beside plaintext packets without counterpart.
pub(in crate::matching) fn strayed(pairs: u64, missed: u64) -> Undetermined {
    Undetermined {
        alignments: 1,
        reason: format!(
            "{pairs} packets in the tunnel were paired with packets of flows that go past it, for want of others, and {missed} plaintext packets have \
             no counterpart: they may be each other"
        )
        .into(),
        decide: "keys of the SA, a capture of the tunnel's traffic alone, or the counters of the gateway".into(),
        missing_numbers: 0,
    }
}

/// Packets that hosts behind the gateways had encrypted themselves.
pub(in crate::matching) fn customers(count: u64) -> Undetermined {
    Undetermined {
        alignments: 1,
        reason: format!(
            "{count} plaintext packets are in ESP, AH or another tunnel of hosts behind the gateways, which is not compared by order, and packets in the \
             tunnel without counterpart have the lengths for them"
        )
        .into(),
        decide: "the keys (--config), or the counters of the gateway".into(),
        missing_numbers: 0,
    }
}

/// Plaintext packets of a port of which few or none were found in the tunnel, while others of the same addresses were.
pub(in crate::matching) fn unserved(port: u16, missed: u64) -> Undetermined {
    Undetermined {
        alignments: 1,
        reason: format!(
            "{missed} plaintext packets of port {port} have no counterpart, while packets of other ports between these addresses have: a policy keeps the \
             port out of the tunnel, or all its packets were lost"
        )
        .into(),
        decide: "the traffic selectors or the crypto ACL of the gateway, or its drop counters".into(),
        missing_numbers: 0,
    }
}

/// Plaintext packets that a network card divided.
pub(in crate::matching) fn offloaded(count: u64) -> Undetermined {
    Undetermined {
        alignments: 1,
        reason: format!(
            "{count} plaintext packets are longer than any in the tunnel, and packets of their flows there have no counterpart: a network card divided or \
             joined them (segmentation offload), and what was lost of them is not known"
        )
        .into(),
        decide: "captures from a passive TAP, or without segmentation offload on the host that captured".into(),
        missing_numbers: 0,
    }
}

/// Flows without any pair between networks whose other flows use the tunnel.
pub(in crate::matching) fn gone(count: u64) -> Undetermined {
    Undetermined {
        alignments: 1,
        reason: format!(
            "{count} plaintext packets belong to flows without any pair, although other flows between the same networks use the tunnel: they may be \
             lost, or take another way"
        )
        .into(),
        decide: "the gateway's policy and its counters for these addresses, or a tap on its other links".into(),
        missing_numbers: 0,
    }
}
