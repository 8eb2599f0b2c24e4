//! Why it is not known how many packets of a direction were lost.

use crate::model::pairs::Undetermined;

/// Pairs by order whose times contradict each other.
pub(in crate::matching) fn untimely(one_clock: bool) -> Undetermined {
    let reason = if one_clock {
        "by one clock packets arrive before they were sent: each capture has its own, or pairs are wrong"
    } else {
        "the times of the pairs contradict one offset and drift of the clocks: a clock was set, the path of one direction changed for good, \
         timestamps are too coarse, or packets are paired wrongly"
    };
    let decide = if one_clock {
        "the same run without --one-clock, or the keys (--config)"
    } else {
        "captures by one clock, the keys (--config), or captures from before or after the step"
    };
    Undetermined { alignments: 1, reason: reason.into(), decide: decide.into(), missing_numbers: 0 }
}

/// Packets of both sides without counterpart out of a tunnel of which numbers are missing.
pub(in crate::matching) fn missed_or_adrift(plain: u64, tunnelled: u64, missing: u64) -> Undetermined {
    Undetermined {
        alignments: 1,
        reason: format!(
            "{plain} plaintext packets and {tunnelled} packets in the tunnel have no counterpart, and {missing} sequence numbers are missing: the tunnel's \
             capture misses frames and those packets were lost, or pairing by order was lost at times"
        )
        .into(),
        decide: "a tunnel capture without drops, or the keys (--config)".into(),
        missing_numbers: 0,
    }
}

/// Packets of both sides that have no counterpart, in one direction.
pub(in crate::matching) fn adrift(plain: u64, tunnelled: u64) -> Undetermined {
    Undetermined {
        alignments: 1,
        reason: format!(
            "{plain} plaintext packets and {tunnelled} packets in the tunnel have no counterpart: pairing by order was lost at times"
        )
        .into(),
        decide: "packets of different sizes in the load, captures without gaps, or the keys (--config)".into(),
        missing_numbers: 0,
    }
}

/// More numbers are missing than plaintext packets.
pub(in crate::matching) fn uncounted(missing: u64, plain: u64) -> Undetermined {
    Undetermined {
        alignments: 1,
        reason: format!(
            "{missing} sequence numbers of the SA are missing, but {plain} plaintext packets: packets that are equal may be paired wrongly, \
             the sender skips numbers, or other networks sent what is missing"
        )
        .into(),
        decide: "packets of different contents in the load, or the plaintext captured where nothing else joins the tunnel".into(),
        missing_numbers: missing,
    }
}

/// Packets whose numbers were there before: some are pairs, and others have no counterpart.
pub(in crate::matching) fn recounted(repeated: u64, pairs: u64) -> Undetermined {
    Undetermined {
        alignments: 1,
        reason: format!(
            "{repeated} packets without counterpart and {pairs} with one bear numbers that were there before: the SA began to count anew, so that the \
             first may be lost, or they were sent again"
        )
        .into(),
        decide: "the gateway's log of that time (a restart, a new SA with the same SPI), or the keys (--config)".into(),
        missing_numbers: 0,
    }
}

/// Numbers that were there before, and plaintext packets without counterpart that may bear them.
pub(in crate::matching) fn restarted(repeated: u64, missed: u64) -> Undetermined {
    Undetermined {
        alignments: 1,
        reason: format!(
            "{repeated} packets bear numbers that were there before, and {missed} plaintext packets have no counterpart: the SA began to count anew, so \
             that they may be the same, or packets were sent again and others lost"
        )
        .into(),
        decide: "the gateway's log of that time (a restart, a new SA with the same SPI), or the keys (--config)".into(),
        missing_numbers: 0,
    }
}

/// Pairs by order after packets were lost, that fit as well when they are shifted.
pub(in crate::matching) fn unproved(open: u64, pairs: u64) -> Undetermined {
    Undetermined {
        alignments: 2,
        reason: format!(
            "{open} of {pairs} pairs by order follow missing packets that no sequence number counts, and fit as well shifted by one packet or more"
        )
        .into(),
        decide: "packets of different sizes in the load, or the keys (--config)".into(),
        missing_numbers: 0,
    }
}

/// Pairs by order that are guesses.
pub(in crate::matching) fn guessed(guessed: u64, pairs: u64) -> Undetermined {
    Undetermined {
        alignments: 2,
        reason: format!(
            "{guessed} of {pairs} pairs by order are guesses: other packets fit as well by length and time"
        )
        .into(),
        decide: "packets of different sizes in the load, captures without gaps, or the keys (--config)".into(),
        missing_numbers: 0,
    }
}

/// Packets without counterpart right before or behind a silence of a tap.
pub(in crate::matching) fn beside_silence(count: u64, lost: u64) -> Undetermined {
    Undetermined {
        alignments: 1,
        reason: format!(
            "{count} packets without counterpart directly precede or follow a silence of a capture ({lost} are missing in all): pairing by order may \
             have been lost there"
        )
        .into(),
        decide: "captures without gaps, or the keys (--config)".into(),
        missing_numbers: 0,
    }
}

/// Packets without counterpart between pairs, in times that the other capture may not cover.
pub(in crate::matching) fn between(count: u64) -> Undetermined {
    Undetermined {
        alignments: 1,
        reason: format!(
            "{count} packets without counterpart lie between pairs, but nearer to an edge of a capture than the times of the pairs vary: a clock was \
             set, or packets waited that long"
        )
        .into(),
        decide: "captures by one clock, or captures that begin before the load and end after it".into(),
        missing_numbers: 0,
    }
}

/// Packets of both sides that are taken to be beyond the same end of the other capture.
pub(in crate::matching) fn beyond(count: u64) -> Undetermined {
    Undetermined {
        alignments: 1,
        reason: format!(
            "{count} packets of each side lie beyond the same end of the pairs, and outside the other capture by the clocks that the pairs show: a clock \
             was set, or these packets are each other"
        )
        .into(),
        decide: "captures by one clock, or captures from before or after the step".into(),
        missing_numbers: 0,
    }
}

/// Plaintext packets that the tunnel's tap did not show, where it does not show what came out of the tunnel either.
pub(in crate::matching) fn unshown(unseen: u64, lost: u64) -> Undetermined {
    Undetermined {
        alignments: 1,
        reason: format!(
            "{lost} packets are missing at the tunnel tap, and {unseen} packets that came out of the same tunnel were not seen there either: the tunnel \
             capture misses frames, or other packets go beside the tunnel"
        )
        .into(),
        decide: "the drop counters of the tunnel capture, or the counters of the gateway".into(),
        missing_numbers: 0,
    }
}

/// Packets of the plain side that repeat others, among those without counterpart.
pub(in crate::matching) fn repeated(count: u64, missed: u64) -> Undetermined {
    Undetermined {
        alignments: 1,
        reason: format!(
            "{count} plaintext packets repeat one seen within 10 ms before, and {missed} have no counterpart: the TAP may show packets twice"
        )
        .into(),
        decide: "a capture that shows each packet once, or the counters of the gateway".into(),
        missing_numbers: 0,
    }
}

/// Packets without counterpart, of which nothing tells which tap they passed first.
pub(in crate::matching) fn undirected(plain: u64, tunnelled: u64, missing: u64) -> Undetermined {
    let what = if plain == 0 && tunnelled == 0 {
        format!("{missing} sequence numbers are missing in the tunnel")
    } else {
        format!("{plain} plaintext packets and {tunnelled} packets in the tunnel have no counterpart")
    };
    Undetermined {
        alignments: 2,
        reason: format!("{what}, and neither clocks nor TTLs say which tap the packets passed first").into(),
        decide: "captures by one clock (--one-clock), or packets of both directions".into(),
        missing_numbers: missing,
    }
}

/// Packets without counterpart in the tunnel that the exit showed.
pub(in crate::matching) fn arrived(count: u64, missed: u64) -> Undetermined {
    Undetermined {
        alignments: 1,
        reason: format!(
            "{count} of {missed} plaintext packets without counterpart in the tunnel reached the exit: the tunnel capture missed frames, these \
             packets went another way, or others were paired in their place"
        )
        .into(),
        decide: "the drop counters of the tunnel capture, or the keys (--config)".into(),
        missing_numbers: 0,
    }
}

/// Packets in the tunnel without counterpart beside plaintext packets of flows that were not found there.
pub(in crate::matching) fn fitting(count: u64) -> Undetermined {
    Undetermined {
        alignments: 1,
        reason: format!(
            "{count} packets in the tunnel without counterpart fit, by length and time, plaintext packets of flows that were not found in it: they \
             are likely these, and pairs of the others may be shifted"
        )
        .into(),
        decide: "packets of different sizes in the load, uneven gaps between packets, or the keys (--config)".into(),
        missing_numbers: 0,
    }
}

/// Pairs of packets that are equal to others, of which many are elsewhere in time.
pub(in crate::matching) fn far_apart(count: u64, lost: u64) -> Undetermined {
    let left =
        if lost == 0 { "no packet is left over".to_owned() } else { format!("{lost} packets have no counterpart") };
    Undetermined {
        alignments: 1,
        reason: format!(
            "packets are equal to others, and {count} pairs are far off the usual time or out of order, while {left}: their equals may have passed \
             where no tap saw them"
        )
        .into(),
        decide: "packets that differ, or captures that begin before the load and end after it".into(),
        missing_numbers: 0,
    }
}

/// Pairs of packets that are equal to others and nearer in time to one of these.
pub(in crate::matching) fn shifted(count: u64, lost: u64) -> Undetermined {
    Undetermined {
        alignments: 2,
        reason: format!(
            "packets are equal to others, some of them outside the other capture: of {count}, another is nearer in time than the one that each was paired \
             with, so that any of the {lost} without counterpart may be one of these"
        )
        .into(),
        decide: "packets that differ, or captures that begin before the load and end after it".into(),
        missing_numbers: 0,
    }
}

/// Packets that may be left out as copies.
pub(in crate::matching) fn at_once(count: u64, lost: u64) -> Undetermined {
    Undetermined {
        alignments: 1,
        reason: format!(
            "{lost} packets are missing at the plain tap, of which {count} came right beside an equal one: theirs may be among those that are left out \
             as copies of the TAP"
        )
        .into(),
        decide: "a plain capture that shows each packet once, or packets that differ".into(),
        missing_numbers: 0,
    }
}

/// Packets that were not compared with all that may be their counterpart.
pub(in crate::matching) fn unsearched(count: u64, lost: u64) -> Undetermined {
    Undetermined {
        alignments: 1,
        reason: format!(
            "{lost} packets have no counterpart, and {count} packets were not compared with all that begin alike: their counterparts may be among these"
        )
        .into(),
        decide: "captures of whole packets, or packets that differ".into(),
        missing_numbers: 0,
    }
}

/// Packets of both sides that have no counterpart, where packets are equal to others and nothing tells which of them make a pair.
pub(in crate::matching) fn equal_on_both_sides(plain: u64, tunnelled: u64) -> Undetermined {
    Undetermined {
        alignments: 2,
        reason: format!(
            "{plain} plaintext packets and {tunnelled} packets in the tunnel have no counterpart, and packets are equal to others: they may be each other, or a tap missed frames"
        )
        .into(),
        decide: "packets that differ".into(),
        missing_numbers: 0,
    }
}

/// Packets of both sides that have no counterpart by content, where some content is hidden.
pub(in crate::matching) fn unread(plain: u64, tunnelled: u64) -> Undetermined {
    Undetermined {
        alignments: 2,
        reason: format!(
            "{plain} plaintext packets and {tunnelled} packets in the tunnel have no counterpart: compressed, encrypted or truncated content may hide \
             that they belong together"
        )
        .into(),
        decide: "captures of whole packets, the keys (--config), or a tunnel without compression".into(),
        missing_numbers: 0,
    }
}

/// Packets out of the tunnel that the plain tap did not show, where it does not show what goes into the tunnel either.
pub(in crate::matching) fn partial(unseen: u64, lost: u64) -> Undetermined {
    Undetermined {
        alignments: 1,
        reason: format!(
            "{lost} packets are missing at the plain tap, and {unseen} packets of the other direction in the tunnel were not seen there either: the plain \
             tap shows a part of the traffic, misses frames, or the tunnel carries dummy packets"
        )
        .into(),
        decide: "a plain capture of all traffic of the tunnel, or the keys (--config)".into(),
        missing_numbers: 0,
    }
}

/// Equal packets near the edge of a capture, whose pairs do not say how long they are on their way.
pub(in crate::matching) fn equal_at_an_edge(edge: u64) -> Undetermined {
    Undetermined {
        alignments: edge,
        reason: format!(
            "packets are equal to others, and one capture begins or ends inside the other: which of about {edge} packets near that edge both \
             captures cover is not known"
        )
        .into(),
        decide: "packets that differ, or captures that begin before the load and end after it".into(),
        missing_numbers: 0,
    }
}

/// Pairs of equal packets that no clock tells apart.
pub(in crate::matching) fn timeless() -> Undetermined {
    Undetermined {
        alignments: 1,
        reason:
            "packets are equal to others and the clocks are not known: the times that the captures cover cannot be compared"
                .into(),
        decide: "captures by one clock (--one-clock), or packets that differ".into(),
        missing_numbers: 0,
    }
}

/// Packets that are missing together, by timestamps that many frames share.
pub(in crate::matching) fn in_a_tick(count: u64, tap: &str) -> Undetermined {
    Undetermined {
        alignments: 1,
        reason: format!(
            "{count} packets are missing together, and many frames of the {tap} capture share each timestamp: a hole in the capture or an outage"
        )
        .into(),
        decide: "timestamps of microseconds, or the drop counters of the capture".into(),
        missing_numbers: 0,
    }
}
