//! What both plaintext sides say of packets out of the tunnel that seem to be lost.

use crate::matching::Matcher;
use crate::matching::measure::doubt;
use crate::matching::measure::losses::Losses;
use crate::matching::measure::tally::SaTally;
use crate::model::pairs::Undetermined;

impl Matcher {
    /// Why packets out of the tunnel without counterpart at the plain tap were not lost: the exit showed them before, and fewer of what it showed are
    /// missing at the plain tap, which shows nearly all of it. The order of packets was lost.
    pub(super) fn let_through(&self, at: u32, sa: &SaTally, lost: u64, losses: &Losses) -> Option<Undetermined> {
        /// By how many more packets may be missing at the ends of the captures, and by which factor.
        const FEW: u64 = 8;
        const TIMES: u64 = 2;
        /// The share of the pairs that both plaintext sides must show, in tenths.
        const SHOWN: u64 = 9;
        if sa.encapsulated != Some(false) || !sa.is_by_order() {
            return None;
        }
        let (gone, _) = losses.behind(at, None, None);
        // What the exit did not cover it did not show, and losses may all be of that time.
        let uncovered = self.ends.as_ref().map_or(0, |ends| ends.uncovered);
        let may_be = |gone: u64| gone.saturating_mul(TIMES).saturating_add(FEW).saturating_add(uncovered);
        let gone = gone.filter(|gone| lost > may_be(*gone))?;
        let matched = losses.ends.as_ref()?.matched.get(&-1).copied().unwrap_or(0);
        let out = self.tally.sas.iter().filter(|own| own.encapsulated == Some(false));
        let pairs: u64 = out.map(|own| own.matched).sum();
        (matched.saturating_mul(10) >= pairs.saturating_mul(SHOWN)).then(|| doubt::let_through(lost, gone))
    }
}
