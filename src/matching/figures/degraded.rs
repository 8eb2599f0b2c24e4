//! Which limits pairing hit, and what that did, in words. Nothing that a limit turns away is passed over in silence.

use crate::matching::Matcher;
use crate::matching::content::ends::EndToEnd;
use crate::matching::content::index::Index;
use crate::matching::limits::{
    MAX_ALIKE, MAX_COLOURS, MAX_FLOWS, MAX_HOLES, MAX_HOLES_AT_ONCE, MAX_KEPT, MAX_LINKS, MAX_LOST, MAX_OUTSIDE,
    MAX_PIECES, MAX_SAS, MAX_SIZES, MAX_SPREAD_BINS, MAX_TIMED_SIZES, MAX_TRAINS, MAX_WAITING,
};
use crate::matching::packets::progress::Progress;

/// What is said of plaintext packets of which only the parts were found in the tunnel.
const DIVIDED: &str = "plaintext packets are longer than the link carries (segmentation offload): as many octets of their flows were in the tunnel, \
                       in parts that are no pairs";

/// What the tables of the report have no row for.
#[derive(Clone, Copy, Debug)]
pub(super) struct LeftOut {
    /// Flows outside the tunnel.
    pub(super) outside: u64,
    /// Lost packets.
    pub(super) lost: u64,
    /// Lost packets that are in the loss of no size.
    pub(super) missed: u64,
    /// Packets whose flow has no number of its own.
    pub(super) flows: u64,
}

impl Matcher {
    /// One sentence for each limit that was hit.
    pub(super) fn degraded(&self, left_out: &LeftOut) -> Vec<String> {
        let mut why = Vec::new();
        let mut say = |count: u64, what: String| {
            if count > 0 {
                why.push(format!("{count} {what}."));
            }
        };
        let (tally, trains) = (&self.tally, &self.trains);
        let first = |side: &Progress, ahead: i64| {
            side.first.zip(self.ahead).map(|(ns, own)| ns.saturating_add(own.saturating_mul(ahead)))
        };
        say(
            self.ledger.crowded_plain.count(first(&self.tunnel, -1)),
            format!("plaintext packets were evicted before they could be matched ({MAX_WAITING} wait)"),
        );
        say(
            self.ledger.crowded_tunnel.count(first(&self.plain, 1)),
            format!("packets in the tunnel were evicted before they could be matched ({MAX_WAITING} wait)"),
        );
        say(
            self.beside.crowded().count(first(&self.plain, 1)),
            format!(
                "packets in clear beside the tunnel were evicted before the plain side showed them ({MAX_WAITING} wait)"
            ),
        );
        say(
            self.ends.as_ref().map_or(0, |ends| ends.crowded((self.plain.first, self.exit.first))),
            format!("packets were evicted before they could be matched ({MAX_WAITING} wait)"),
        );
        let plain = self.plain_index.as_ref().map_or(0, Index::missed);
        say(
            plain + self.tunnel_index.missed() + self.beside.missed() + self.ends.as_ref().map_or(0, EndToEnd::missed),
            format!("packets were compared with {MAX_ALIKE} that begin alike and with no more, and none was the same"),
        );
        say(self.ledger.divided, DIVIDED.into());
        say(
            left_out.flows,
            format!(
                "plaintext packets were of flows beyond the {MAX_FLOWS} that are kept apart; they count as one flow"
            ),
        );
        say(
            self.order.refused(),
            format!(
                "plaintext packets had addresses beyond the {MAX_LINKS} pairs of MAC or {MAX_COLOURS} IP addresses that are kept \
                 apart; which way they went is a guess"
            ),
        );
        say(
            tally.refused_sas,
            format!(
                "packets were of SAs or tunnels beyond the {MAX_SAS} that are kept apart; they count for the first"
            ),
        );
        say(
            tally.refused_sizes,
            format!("packets were of sizes beyond the {MAX_SIZES} that are kept apart; they are in no row of sizes"),
        );
        say(
            tally.untimed,
            format!(
                "pairs were of sizes beyond the {MAX_TIMED_SIZES} whose times are kept apart; their rows of sizes have no latency"
            ),
        );
        say(
            tally.spread.beyond(),
            format!("directions came when the {MAX_SPREAD_BINS} time bins were taken; they are in no bin"),
        );
        let (late, jumped) = self.order.late_and_jumped();
        say(
            jumped,
            format!(
                "sequence numbers are missing in gaps beyond the {MAX_HOLES_AT_ONCE} that are looked into at once; lost packets \
                 there are named without a number"
            ),
        );
        say(
            late,
            format!(
                "packets came too late to say whether their number was missing, of which {MAX_HOLES} are remembered; they \
                 count as repeated"
            ),
        );
        say(
            trains.refused,
            format!(
                "fragments came while {MAX_TRAINS} other packets were incomplete, or after {MAX_PIECES} of the same packet; the \
                 sizes of their packets are not known"
            ),
        );
        say(
            trains.unkept,
            format!("fragments came while {MAX_KEPT} bytes of others were kept; their packets were not opened"),
        );
        say(left_out.lost, format!("lost packets beyond the {MAX_LOST} that are listed are counted only"));
        say(
            left_out.missed,
            format!(
                "lost packets were of flows and sizes beyond the {MAX_SIZES} that are kept apart; they are in the loss of no size"
            ),
        );
        say(
            left_out.outside,
            format!(
                "flows outside the tunnel beyond the {MAX_OUTSIDE} largest are in no row; their packets are counted"
            ),
        );
        why
    }
}
