//! A gateway's own capture: it shows what came in encapsulated once more, in clear or in a tunnel without IPsec.

use std::collections::BTreeSet;

use super::tap::{SaView, Tap};
use crate::analysis::state::base::intern::NONE;
use crate::analysis::state::base::listed::Listed;
use crate::analysis::state::base::tables::FlowKey;
use crate::analysis::state::sa::sizes::VisibleKey;
use crate::analysis::state::traffic::flows::Decapsulation;
use crate::analysis::state::traffic::rates::Again;
use crate::model::FramePos;

/// Least number of packet lengths of an SA that rules out chance where shorter packets without IPsec follow it.
const SIZES: usize = 4;
/// Fewer packets of an SA that are followed by what they may have carried are chance.
const FEWEST: u64 = 10;

/// Packets without IPsec that directly follow the packet they came out of, of SAs where that is no chance.
#[derive(Default)]
pub(crate) struct Twice {
    pub(crate) in_clear: ShownTwice,
    pub(crate) in_tunnels: ShownTwice,
}

/// Such packets of one kind.
#[derive(Default)]
pub(crate) struct ShownTwice {
    pub(crate) listed: Listed,
    /// Whether the answers to such packets are in clear, too, as at the only port of a gateway.
    pub(crate) answered: bool,
    /// Whether lengths that change together show it. Of one length, or few, a load that leaves the same sender unprotected looks the same.
    pub(crate) surely: bool,
}

impl Twice {
    pub(super) fn of(tap: &Tap<'_>) -> Self {
        let flows = &tap.stream.flows;
        Self {
            in_clear: ShownTwice::of(tap, &flows.decapsulated, shows_nothing_else_in_clear(tap)),
            in_tunnels: ShownTwice::of(tap, &flows.decapsulated_tunnels, shows_no_other_tunnels(tap)),
        }
    }

    /// Of the frames that may be shown a second time, those that surely are.
    pub(crate) fn surely_of(&self, again: &Again) -> Again {
        Again {
            in_clear: if self.in_clear.surely { again.in_clear } else { Default::default() },
            in_tunnels: if self.in_tunnels.surely { again.in_tunnels } else { Default::default() },
        }
    }

    /// Whether it is not known of some of these frames.
    pub(crate) fn doubts(&self, again: &Again) -> bool {
        self.in_clear.doubts(again.in_clear.frames) || self.in_tunnels.doubts(again.in_tunnels.frames)
    }
}

impl ShownTwice {
    /// `alone`: the tap shows hardly any others of the kind.
    fn of(tap: &Tap<'_>, shown: &Decapsulation, alone: bool) -> Self {
        let mut out = Self::default();
        for sa in &tap.sas {
            let Some(seen) = shown.of_sa(sa.id).filter(|following| following.fit()) else { continue };
            let seen = &seen.listed;
            let follow = seen.count >= FEWEST && seen.count.saturating_mul(2) >= sa.state.seen.count;
            let sizes = sizes_of(tap, sa) >= SIZES;
            if follow && (alone || sizes) {
                out.listed.join(seen);
                let answered = is_answered(tap, seen);
                out.answered |= answered;
                out.surely |= sizes && !answered;
            }
        }
        out
    }

    fn doubts(&self, frames: u64) -> bool {
        frames > 0 && self.listed.count > 0 && !self.surely
    }
}

/// Whether packets in clear are answered in clear, between pairs of MAC addresses: then each of them may be what the far side of the gateway got, and
/// its answer followed the next packet of an SA.
fn is_answered(tap: &Tap<'_>, seen: &Listed) -> bool {
    let tables = &tap.stream.tables;
    let frames: BTreeSet<FramePos> = seen.frames().iter().map(|(pos, _)| *pos).collect();
    let answers = |key: &FlowKey| {
        let back = FlowKey { src: key.dst, dst: key.src, inner: false };
        tables.flows.find(&back).and_then(|id| tap.stream.flows.get(id)).map_or(0, |back| back.count)
    };
    let follows = |id: u32| {
        let listed = tap.stream.flows.listed_of(id);
        listed.is_some_and(|listed| listed.frames().iter().any(|(pos, _)| frames.contains(pos)))
    };
    let own = tables.flows.iter().filter(|(id, key)| !key.inner && follows(*id));
    let (packets, answered) = own.fold((0_u64, 0_u64), |(packets, answered), (id, key)| {
        let count = tap.stream.flows.get(id).map_or(0, |flow| flow.count);
        (packets.saturating_add(count), answered.saturating_add(answers(key).min(count)))
    });
    tap.has_macs() && answered.saturating_mul(2) >= packets && packets > 0
}

/// Lengths of an SA's packets.
fn sizes_of(tap: &Tap<'_>, sa: &SaView<'_>) -> usize {
    let opaque = tap.sizes.opaque.iter().filter(|(key, _)| key.sa == sa.id).map(|(key, _)| key.outer_bytes);
    let decrypted = tap.sizes.decrypted.iter().filter(|(key, _)| key.sa == sa.id).map(|(key, _)| key.outer_bytes);
    let of_sa = |key: &VisibleKey| tap.stream.tables.paths.get(key.path).is_some_and(|path| path.sa == sa.id);
    let visible = tap.sizes.visible.iter().filter(|(key, _)| of_sa(key)).map(|(key, _)| key.outer_bytes);
    opaque.chain(decrypted).chain(visible).collect::<BTreeSet<_>>().len()
}

/// Whether nearly all of what is in clear, in the directions in which packets may be shown again, is just those packets: a load
/// beside the tunnel follows its packets too, and may be just as much shorter.
fn shows_nothing_else_in_clear(tap: &Tap<'_>) -> bool {
    is_nearly_all(
        tap.stream.rates.iter().map(|(_, direction)| (direction.again.in_clear.l3_bytes, direction.sums.clear_bytes)),
    )
}

/// The same of what is in tunnels without IPsec.
fn shows_no_other_tunnels(tap: &Tap<'_>) -> bool {
    let octets = |direction: u32| -> u64 {
        let here = |key: &VisibleKey| {
            tap.stream.tables.paths.get(key.path).is_some_and(|path| path.sa == NONE && path.direction == direction)
        };
        let cells = tap.sizes.visible.iter().filter(|(key, _)| here(key));
        cells.map(|(key, cell)| u64::from(key.inner_bytes).saturating_mul(cell.seen.count)).sum()
    };
    is_nearly_all(tap.stream.rates.iter().map(|(id, direction)| (direction.again.in_tunnels.inner_bytes, octets(id))))
}

/// Whether the first of each two is nine tenths of the second, summed where it is not 0.
fn is_nearly_all(parts: impl Iterator<Item = (u64, u64)>) -> bool {
    let (part, all) = parts
        .filter(|(part, _)| *part > 0)
        .fold((0_u64, 0_u64), |(part, all), (more, of)| (part.saturating_add(more), all.saturating_add(of)));
    part.saturating_mul(10) >= all.saturating_mul(9)
}
