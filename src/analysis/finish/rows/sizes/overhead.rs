//! Overhead by SA, over packets of all sizes.

use std::collections::{BTreeMap, BTreeSet};

use super::null_cells;
use crate::analysis::finish::tap::Tap;
use crate::analysis::state::base::intern::NONE;

/// One encapsulation's overhead over all its packets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OverheadSum {
    pub(crate) packets: u64,
    pub(crate) sum: i64,
    pub(crate) range: Option<(i64, i64)>,
    /// Whether some of the inner packets were decrypted.
    pub(crate) decrypted: bool,
}

impl OverheadSum {
    fn add(&mut self, overhead: i64, packets: u64) {
        self.packets += packets;
        self.sum = self.sum.saturating_add(overhead.saturating_mul(i64::try_from(packets).unwrap_or(i64::MAX)));
        self.range =
            Some(self.range.map_or((overhead, overhead), |(low, high)| (low.min(overhead), high.max(overhead))));
    }
}

/// Overheads of every SA number whose packets are sized, the SAs around and inside it included.
pub(crate) fn overheads(tap: &Tap<'_>) -> BTreeMap<u32, OverheadSum> {
    let mut sums: BTreeMap<u32, OverheadSum> = BTreeMap::new();
    for (key, cell) in tap.sizes.visible.iter() {
        if let Some(path) = tap.stream.tables.paths.get(key.path)
            && path.sa != NONE
            && let (packets @ 1.., _) = tap.counted_of(path.sa, cell)
        {
            let overhead = i64::from(key.outer_bytes) - i64::from(key.inner_bytes);
            sums.entry(path.sa).or_default().add(overhead, packets);
        }
    }
    for (key, cell) in tap.sizes.decrypted.iter() {
        let owner = tap.stream.tables.paths.get(key.path).map_or(NONE, |path| path.sa);
        let around = BTreeSet::from([owner, key.sa, key.innermost]);
        let counted = |&sa: &u32| Some((sa, tap.counted_of(sa, cell).0)).filter(|own| own.0 != NONE && own.1 > 0);
        for (sa, packets) in around.iter().filter_map(counted) {
            let sum = sums.entry(sa).or_default();
            sum.add(i64::from(key.outer_bytes) - i64::from(key.inner_bytes), packets);
            sum.decrypted = true;
        }
    }
    for (key, cell) in null_cells(tap) {
        let (packets, _) = tap.counted_of(key.sa, cell);
        if packets > 0 {
            let overhead = i64::from(key.outer_bytes) - i64::from(key.inner_bytes);
            sums.entry(key.sa).or_default().add(overhead, packets);
            if key.owner != key.sa && key.owner != NONE {
                sums.entry(key.owner).or_default().add(overhead, packets);
            }
        }
    }
    sums
}
