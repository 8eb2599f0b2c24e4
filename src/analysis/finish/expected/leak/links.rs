//! Which links of a tap show the outside of a tunnel.

use std::collections::BTreeSet;

use crate::analysis::finish::tap::Tap;
use crate::analysis::state::base::tables::DirectionKey;
use crate::analysis::state::traffic::flows::Marks;
use crate::model::Address;

/// OutsideLinks of a tap that show the outside of a tunnel.
pub(super) enum OutsideLinks {
    /// The tap is on one.
    All,
    /// It is not known to be on any.
    None,
    /// These directions, a bit each.
    Of(u64),
}

impl OutsideLinks {
    /// The links that carry an SA, or anything else, between the ends of tunnels. Without MAC addresses links cannot be told apart.
    pub(super) fn of(tap: &Tap<'_>, ends: &BTreeSet<Address>) -> Self {
        let of_sas = tap.sas.iter().filter(|sa| ends.contains(&sa.key.src) && ends.contains(&sa.key.dst));
        let flows = tap.stream.tables.flows.iter().filter(|(_, flow)| !flow.inner);
        let of_flows = flows.filter(|(_, flow)| ends.contains(&flow.src) && ends.contains(&flow.dst));
        let marks = of_flows.filter_map(|(id, _)| tap.stream.flows.marks(id));
        let known = of_sas.map(|sa| sa.state.directions.first()).chain(marks.map(Marks::directions));
        let carrying = known.fold(0, |all, directions| all | directions);
        let is_carrying = |id: u32| carrying >> id & 1 == 1;
        let macs = || {
            let directions = tap.stream.tables.directions.iter().filter(|(id, _)| *id < u64::BITS);
            directions.filter_map(|(id, key)| match key {
                DirectionKey::Mac(src, dst) => Some((id, *src.min(dst), *src.max(dst))),
                _ => None,
            })
        };
        let pairs: BTreeSet<_> = macs().filter(|(id, ..)| is_carrying(*id)).map(|(_, a, b)| (a, b)).collect();
        if pairs.is_empty() {
            return if macs().next().is_none() { Self::All } else { Self::None };
        }
        let same = macs().filter(|(_, a, b)| pairs.contains(&(*a, *b)));
        Self::Of(same.fold(carrying, |all, (id, ..)| all | 1 << id))
    }

    /// Whether packets of a flow are on one of them, and whether all are.
    pub(super) const fn show(&self, marks: &Marks) -> (bool, bool) {
        match *self {
            Self::All => (true, true),
            Self::None => (false, false),
            Self::Of(directions) => (marks.directions() & directions != 0, marks.directions() & !directions == 0),
        }
    }
}
