//! Why it is not known what was lost between the two plaintext sides.

use crate::matching::content::ends::OpenEnd;
use crate::model::pairs::Undetermined;

/// Packets that one plaintext side lacks; `None` where its tap was silent meanwhile.
pub(super) fn at_the_ends(why: OpenEnd, count: u64) -> Option<Undetermined> {
    let (reason, decide) = match why {
        OpenEnd::Silent => return None,
        OpenEnd::Repeated => (
            format!(
                "{count} packets that only one plaintext side shows repeat one seen within 10 ms before: the TAP may show packets twice"
            ),
            "captures that show each packet once",
        ),
        OpenEnd::Equal => (
            format!(
                "packets are equal to others, and one plaintext capture begins or ends inside the other: whether {count} packets were lost from end to end \
                 is not known"
            ),
            "packets that differ, or captures that begin before the load and end after it",
        ),
        OpenEnd::Close => (
            format!(
                "{count} packets without counterpart are equal to others, which follow each other as fast as delays differ: a later one may have been taken \
                 for one that was lost"
            ),
            "packets that differ, or a shorter queue",
        ),
        OpenEnd::Changed => (
            format!(
                "{count} packets were seen on one plaintext side only, and the other shows different packets in their place or none of these flows: the \
                 gateway fragments packets or translates addresses, the exit tap shows other traffic or another time, or all were lost"
            ),
            "an exit capture on the same network, without fragmentation or translation of addresses in between",
        ),
        OpenEnd::Elsewhere => (
            format!(
                "{count} packets are missing at one plaintext tap, which shows nothing of the hosts or of the gateway that they go to, or of their way: \
                 these may be in another network, the tap may show one way only, or all were lost"
            ),
            "a tap that shows all networks behind the far gateway, both ways",
        ),
        OpenEnd::Unheard => (
            format!(
                "{count} packets go between networks of the tunnel, and no other packet of their flows was seen in it or on the other side: they were lost, \
                 or take another way"
            ),
            "captures with several packets of each flow, or the counters of the gateways",
        ),
        OpenEnd::Unshown => (
            format!(
                "{count} packets are missing at one plaintext tap, which did not show packets of the other way either that were seen behind it: it shows \
                 a part of the traffic, or its capture misses frames"
            ),
            "captures of both plaintext sides that miss no frames",
        ),
    };
    Some(Undetermined { alignments: 1, reason: reason.into(), decide: decide.into(), missing_numbers: 0 })
}
