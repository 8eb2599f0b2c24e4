//! A fragment as it was observed, and what its first octets tell of the packet.

use super::super::trains::{FirstFragment, NullFirst, Piece, ike_of, suspects_of};
use crate::analysis::limits::{MAX_DIRECTIONS, MAX_FLOWS};
use crate::analysis::observe::observation::{Observation, SaSight};
use crate::analysis::state::base::intern::NONE;
use crate::dissect::{Costs, IpHeader, NullPeek};
use crate::model::Protocol;

/// What dissection knows of a fragment besides its observation.
pub(crate) struct Fragment<'f> {
    pub(crate) outer: &'f IpHeader,
    pub(crate) costs: Costs,
    pub(crate) sights: &'f [SaSight],
    pub(crate) peeks: &'f [NullPeek],
    pub(crate) ike: bool,
    /// It may begin a packet of ESP in UDP on an unusual port.
    pub(crate) suspect: bool,
    /// A carrier's tunnel encloses the SA, and the fragments are of the carrier's packets.
    pub(crate) carried: bool,
    pub(crate) copy: bool,
}

impl Fragment<'_> {
    pub(super) fn piece(&self, o: &Observation) -> Piece {
        let outer = self.outer;
        let payload = outer.total_bytes.saturating_sub(outer.header_bytes);
        Piece {
            pos: o.pos,
            time: o.time,
            start: outer.fragment_offset,
            end: outer.fragment_offset.saturating_add(payload),
            more: outer.more_fragments,
            copy: self.copy,
            ip_bytes: outer.total_bytes,
            header_bytes: outer.header_bytes,
            l1_bytes: o.l1_bytes(),
            digest: o.digest,
            flow: if o.class.user && matches!(outer.protocol, 6 | 17) { o.flow } else { NONE },
            first: (outer.fragment_offset == 0).then(|| Box::new(self.first(o))),
        }
    }

    fn first(&self, o: &Observation) -> FirstFragment {
        let esp = self
            .sights
            .iter()
            .find(|sight| sight.protocol == Protocol::Esp)
            .filter(|_| !self.peeks.is_empty() && !self.carried);
        FirstFragment {
            path: if self.carried { NONE } else { o.path },
            inner_bytes: o.inner_bytes,
            needed: if o.path == NONE || self.carried {
                0
            } else {
                o.inner_bytes.saturating_add(self.costs.behind_ip())
            },
            sas: match self.sights {
                [] if self.ike && (o.direction as usize) < MAX_DIRECTIONS => vec![(ike_of(o.direction), false)],
                [] if self.suspect && (o.flow as usize) < MAX_FLOWS => vec![(suspects_of(o.flow), false)],
                sights => sights.iter().map(|s| (s.sa, s.opaque && !self.carried)).collect(),
            },
            null: esp.map(|sight| NullFirst {
                sa: sight.sa,
                owner: self.sights.first().map_or(sight.sa, |s| s.sa),
                costs: self.costs,
                stack: o.stack,
                direction: o.direction,
                esp_bytes: sight.bytes,
                peeks: self.peeks.to_vec(),
            }),
        }
    }
}
