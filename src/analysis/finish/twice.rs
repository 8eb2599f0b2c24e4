//! A gateway's own capture: it shows what came in encapsulated once more, in clear.

use std::collections::BTreeSet;

use super::tap::Tap;
use crate::analysis::state::base::listed::Listed;

/// Least number of packet lengths of an SA that rules out chance where shorter packets in clear follow it.
const SIZES: usize = 4;
/// Fewer packets of an SA that are followed by what they may have carried are chance.
const FEWEST: u64 = 10;

/// Clear packets that directly follow the packet they came out of, of SAs where that is no chance.
pub(crate) struct Twice {
    pub(crate) listed: Listed,
    /// Whether lengths that change together show it. Of one length, or few, a load that leaves the same sender unprotected looks the same.
    pub(crate) surely: bool,
}

impl Twice {
    pub(super) fn of(tap: &Tap<'_>) -> Option<Self> {
        let mut out = Self { listed: Listed::default(), surely: false };
        let alone = shows_nothing_else_in_clear(tap);
        for sa in &tap.sas {
            let Some(seen) = tap.stream.flows.decapsulated.get(&sa.id).filter(|following| following.fit()) else {
                continue;
            };
            let seen = &seen.listed;
            let follow = seen.count >= FEWEST && seen.count.saturating_mul(2) >= sa.state.seen.count;
            let sizes = sizes_of(tap, sa.id) >= SIZES;
            if follow && (alone || sizes) {
                out.listed.join(seen);
                out.surely |= sizes;
            }
        }
        (out.listed.count > 0).then_some(out)
    }
}

/// Lengths of an SA's packets.
fn sizes_of(tap: &Tap<'_>, id: u32) -> usize {
    let lengths = tap.sizes.opaque.iter().filter(|(key, _)| key.sa == id).map(|(key, _)| key.outer_bytes);
    lengths.collect::<BTreeSet<_>>().len()
}

/// Whether nearly all of what is in clear, in the directions in which packets may be shown again, is just those packets: a load
/// beside the tunnel follows its packets too, and may be just as much shorter.
fn shows_nothing_else_in_clear(tap: &Tap<'_>) -> bool {
    let again = || tap.stream.rates.iter().map(|(_, direction)| (direction, direction.again.sums().clear_bytes));
    let (shown, clear) = again()
        .filter(|(_, shown)| *shown > 0)
        .fold((0_u64, 0_u64), |(sum, clear), (direction, shown)| (sum + shown, clear + direction.sums.clear_bytes));
    shown.saturating_mul(10) >= clear.saturating_mul(9)
}
