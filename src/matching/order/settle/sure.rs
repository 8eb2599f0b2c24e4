//! How sure a pair by order is.

use super::smooth::NEAR;
use crate::matching::order::lane::{Lane, PlainItem};

/// The surest that a pair by order is.
const SUREST: f32 = 0.99;

impl Lane {
    /// How sure a pair can be at most. In the order of their numbers packets do not change places; behind the other gateway they may,
    /// and then one as long as its neighbour cannot be told from it but by its time.
    pub(super) fn distinct(&self, candidates: &[(usize, PlainItem)], at: usize, ns: i64) -> f32 {
        const ALIKE: f32 = 0.9;
        const CROWDED: f32 = 0.85;
        const BETTER: f32 = 0.7;
        let (Some(delay), false) = (self.delay, self.encapsulated) else { return 1.0 };
        let (Some((_, own)), Some(base)) = (candidates.get(at), delay.base) else { return 1.0 };
        let off = |item: &PlainItem| (ns.saturating_sub(item.ns) as f64 - base).abs();
        let near = candidates.get(at.saturating_sub(NEAR)..candidates.len().min(at + NEAR + 1)).unwrap_or_default();
        let alike =
            near.iter().map(|(_, item)| item).filter(|item| item.bytes == own.bytes && item.serial != own.serial);
        alike.fold(1.0_f32, |sure, other| {
            let apart = other.ns.saturating_sub(own.ns).abs() as f64;
            if off(other) + delay.jitter < off(own) {
                sure.min(BETTER)
            } else if apart < 4.0 * delay.jitter {
                sure.min(CROWDED)
            } else {
                sure.min(ALIKE)
            }
        })
    }

    pub(super) fn confidence(&self, gap: f32) -> f32 {
        (1.0 / (1.0 + (-gap).exp())).min(SUREST)
    }
}
