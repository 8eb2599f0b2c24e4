//! Losses beside traffic that goes past the tunnel.

use super::are_more_than_few;
use crate::matching::measure::doubt;
use crate::matching::measure::losses::Losses;
use crate::matching::measure::tally::SaTally;
use crate::model::pairs::Undetermined;

/// Why a loss is not known where its packets are of flows of which hardly any other was found, or of a kind that is not compared.
pub(super) fn hardly_found(at: u32, sa: &SaTally, missed: u64, losses: &Losses) -> Option<Undetermined> {
    if let Some(count) = losses.sparse.get(&at) {
        return Some(doubt::sparse(*count));
    }
    // Beside traffic past the tunnel a wrong pair may be all that was found of a flow.
    let hardly = losses.hardly.get(&at).copied().filter(|_| sa.is_by_order() && losses.in_no_sa > missed);
    if let Some(count) = hardly.filter(|count| are_more_than_few(*count, missed)) {
        return Some(doubt::sparse(count));
    }
    // Each may have taken the place of one of them.
    let strayed = losses.strayed.get(&at).copied().filter(|_| sa.is_by_order() && missed > 0).unwrap_or(0);
    if strayed * 2 >= missed.max(1) || are_more_than_few(strayed, missed) {
        return Some(doubt::strayed(strayed, missed));
    }
    let customers = losses.customers.get(&at).copied().filter(|count| are_more_than_few(*count, sa.alone));
    customers.map(doubt::customers)
}
