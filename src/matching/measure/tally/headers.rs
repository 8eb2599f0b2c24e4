//! What gateways make of the marks of a packet's header.

use crate::matching::packets::ledger::Marks;
use crate::model::pairs::HeaderCopy;

/// Marks of pairs: inside and outside. Most follow pairs that are alike, which are counted, and summed up when another comes.
#[derive(Clone, Debug, Default)]
pub(in crate::matching) struct HeaderRuns {
    sums: HeaderCopy,
    /// Outer and inner marks of the latest pairs, and how many these are: not in the sums yet.
    alike: Option<(Marks, Marks, u64)>,
}

impl HeaderRuns {
    #[inline]
    pub(in crate::matching) fn add(&mut self, outer: Marks, inner: Marks) {
        match &mut self.alike {
            Some((own, plain, count)) if *own == outer && *plain == inner => *count += 1,
            _ => {
                self.settle();
                self.alike = Some((outer, inner, 1));
            }
        }
    }

    /// The sums, once all is settled.
    pub(in crate::matching) const fn sums(&self) -> HeaderCopy {
        self.sums
    }

    /// Sums up the pairs that are only counted yet.
    pub(in crate::matching) fn settle(&mut self) {
        let Some((outer, inner, count)) = self.alike.take() else { return };
        let header = &mut self.sums;
        let same = |mask: u8| outer.tos & mask == inner.tos & mask;
        let (dscp, ecn) = (0xfc, 0x03);
        *if same(dscp) { &mut header.dscp_same } else { &mut header.dscp_other } += count;
        *if same(ecn) { &mut header.ecn_same } else { &mut header.ecn_other } += count;
        if inner.tos & dscp != 0 {
            header.dscp_marked += count;
            header.dscp_marked_same += u64::from(same(dscp)) * count;
        }
        if let (Some(outer), Some(inner)) = (outer.dont_fragment, inner.dont_fragment) {
            *match (inner, outer) {
                (true, true) => &mut header.df_copied,
                (false, true) => &mut header.df_set,
                (true, false) => &mut header.df_cleared,
                (false, false) => &mut header.df_unset,
            } += count;
        }
        let copied = outer.ttl == inner.ttl || outer.ttl == inner.ttl.saturating_sub(1);
        *if copied { &mut header.ttl_copied } else { &mut header.ttl_own } += count;
        header.outer_ttl_min = Some(header.outer_ttl_min.map_or(outer.ttl, |least| least.min(outer.ttl)));
        header.outer_ttl_max = Some(header.outer_ttl_max.map_or(outer.ttl, |most| most.max(outer.ttl)));
    }
}
