//! Where the plain side is silent for so long that its tap may not have recorded.

use crate::matching::order::align::Plain;

/// Times without plaintext packets that are much longer than the longest usual ones: all packets that are missing there are missing for one
/// reason, and say no more against an alignment than those beyond either end.
pub(super) fn holes(plain: &[Plain]) -> Vec<(i64, i64)> {
    /// How many times the longest usual gap, and one of how many gaps is longer than that.
    const TIMES: i64 = 4;
    const ONE_OF: usize = 32;
    let between = |two: &[Plain]| Some((two.first()?.ns, two.get(1)?.ns));
    let gaps: Vec<(i64, i64)> = plain.windows(2).filter_map(between).collect();
    let mut lasts: Vec<i64> = gaps.iter().map(|(from, to)| to.saturating_sub(*from)).collect();
    let longer = lasts.len() / ONE_OF + 1;
    if lasts.len() <= longer {
        return Vec::new();
    }
    let usual = *lasts.select_nth_unstable_by(longer, |a, b| b.cmp(a)).1;
    gaps.into_iter().filter(|(from, to)| to.saturating_sub(*from) > usual.max(1).saturating_mul(TIMES)).collect()
}
