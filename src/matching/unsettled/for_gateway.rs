//! Packets out of the tunnel that may be for the gateway itself, or go on into another tunnel.

use std::collections::{BTreeMap, BTreeSet};

use super::are_more_than_few;
use crate::matching::Matcher;
use crate::matching::measure::doubt;
use crate::matching::measure::tally::SaTally;
use crate::model::pairs::Undetermined;

impl Matcher {
    /// Why packets out of the tunnel that the plain tap did not show may not be lost: they have lengths of which none is found there, or which are far
    /// too frequent among them, as what is sent to the gateway itself has (traps, logs, polls); or they go on into another tunnel. What an exit shows
    /// was sent to hosts.
    pub(super) fn for_gateway(&self, at: u32, sa: &SaTally, lost: u64) -> Option<Undetermined> {
        /// Packets of one length of which none is found by no chance.
        const SEVERAL: u64 = 3;
        if self.ends.is_some() || sa.encapsulated != Some(false) || !sa.is_by_order() {
            return None;
        }
        let mapping = sa.mapping?;
        let mut found: BTreeMap<u32, u64> = BTreeMap::new();
        for (esp, size) in sa.sizes.iter().filter_map(|(bytes, size)| Some((mapping.esp(bytes)?, size))) {
            *found.entry(esp).or_default() += size.frames;
        }
        let missing = &sa.alone_frames.lengths;
        let is_apart = |(esp, count): &(&u32, &u64)| **count >= SEVERAL && !found.contains_key(esp);
        let apart: u64 = missing.iter().filter(is_apart).map(|(_, count)| count).sum();
        // Of others, of lengths that are found, enough are lost.
        if apart.saturating_mul(2) >= lost && are_more_than_few(apart, 0) {
            return Some(doubt::for_gateway(apart, lost));
        }
        // Lengths in what looks like a hole are among them, and say nothing.
        if missing.values().sum::<u64>() > lost {
            return None;
        }
        let onward = self.onward(at, missing);
        if onward.saturating_mul(2) >= lost && are_more_than_few(onward, 0) {
            return Some(doubt::onward(onward, lost));
        }
        unusual(missing, &found).map(|count| doubt::of_rare_lengths(count, lost))
    }

    /// How many packets of these lengths have no plaintext in SAs that lead into other tunnels.
    fn onward(&self, at: u32, missing: &BTreeMap<u32, u64>) -> u64 {
        let own = self.tunnel_of(at);
        let mut others: BTreeMap<u32, u64> = BTreeMap::new();
        let into = |(other, sa): &(u32, &SaTally)| sa.encapsulated == Some(true) && self.tunnel_of(*other) != own;
        for (_, sa) in (0..).zip(&self.tally.sas).filter(into) {
            for (esp, count) in &sa.alone_frames.lengths {
                *others.entry(*esp).or_default() += count;
            }
        }
        missing.iter().filter_map(|(esp, count)| Some((*count).min(*others.get(esp)?))).sum()
    }
}

/// How many of the missing packets have lengths of which many are missing, where no loss would have chosen so rare ones.
fn unusual(missing: &BTreeMap<u32, u64>, found: &BTreeMap<u32, u64>) -> Option<u64> {
    /// Missing packets that are too few to tell, and the share of all packets that are too many, as 1 in N.
    const FEWEST: u64 = 5;
    const OF_ALL: u64 = 4;
    /// The share of all packets whose lengths are rare, at most, as 1 in N.
    const OF_RARE: u64 = 5;
    /// How many times as many of a length may be found where many are missing, and the share of the missing ones that have such lengths.
    const TIMES: u64 = 3;
    const MOST: (u64, u64) = (2, 3);
    /// Logarithm of the odds against chance.
    const ODDS: f64 = 9.0;
    let all: u64 = missing.values().sum();
    let total = all + found.values().sum::<u64>();
    if all < FEWEST || all.saturating_mul(OF_ALL) > total {
        return None;
    }
    let counts = |esp: &u32| [missing, found].map(|of| of.get(esp).copied().unwrap_or(0));
    let lengths: BTreeSet<u32> = missing.keys().chain(found.keys()).copied().collect();
    let mut counts: Vec<[u64; 2]> = lengths.iter().map(counts).collect();
    let many = |[gone, here]: &&[u64; 2]| *gone > 0 && gone * TIMES >= *here;
    let unusual: u64 = counts.iter().filter(many).map(|[gone, _]| gone).sum();
    if unusual * MOST.1 < all * MOST.0 {
        return None;
    }
    let (share, of) = (|gone: u64| gone as f64 / all as f64, |here: u64| here as f64 / total as f64);
    // These lengths were picked after the fact, out of all that there are: as many picks as were possible count against them.
    let own = counts.iter().filter(many).count() as f64;
    let choices = own * (1.0 + (counts.len() as f64 / own).ln());
    let of_own: u64 = counts.iter().filter(many).map(|[gone, here]| gone + here).sum();
    if of_own * OF_RARE <= total && odds(share(unusual), of(of_own)) * all as f64 >= ODDS + choices {
        return Some(unusual);
    }
    counts.sort_unstable_by_key(|[gone, here]| gone + here);
    // From the rarest length on: how many packets have these lengths so far (`rare`), and how many of those are missing.
    let (mut rare, mut gone_of_rare) = (0, 0);
    let is_chosen = counts.chunk_by(|one, other| one[0] + one[1] == other[0] + other[1]).any(|alike| {
        for [gone, here] in alike {
            (rare, gone_of_rare) = (rare + gone + here, gone_of_rare + gone);
        }
        rare * OF_RARE <= total && odds(share(gone_of_rare), of(rare)) * all as f64 >= ODDS
    });
    is_chosen.then_some(unusual)
}

/// Chernoff's bound: by how much a share speaks against chance for each packet, where chance makes `usual` of it.
fn odds(share: f64, usual: f64) -> f64 {
    if share <= usual || usual >= 1.0 {
        return 0.0;
    }
    let rest = if share < 1.0 { (1.0 - share) * ((1.0 - share) / (1.0 - usual)).ln() } else { 0.0 };
    share * (share / usual).ln() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(of: &[(u32, u64)]) -> BTreeMap<u32, u64> {
        of.iter().copied().collect()
    }

    #[test]
    fn logs_to_the_gateway_are_told_from_a_loss() {
        let load = counts(&[(104, 200), (152, 12), (168, 9), (600, 150), (1_448, 600)]);
        let logs = counts(&[(152, 5), (168, 8)]);
        assert_eq!(unusual(&logs, &load), Some(13));
        let lost = counts(&[(104, 3), (600, 2), (1_448, 8)]);
        assert_eq!(unusual(&lost, &load), None, "as many as there are of each");
        let queue = counts(&[(1_448, 60)]);
        assert_eq!(unusual(&queue, &load), None, "a queue drops the large ones, and most of them pass");
        let spread: Vec<(u32, u64)> = (0..40).map(|at| (100 + 4 * at, 3)).chain([(1_448, 700)]).collect();
        assert_eq!(
            unusual(&counts(&[(100, 2), (140, 3), (200, 1), (244, 4)]), &counts(&spread)),
            Some(10),
            "beside others"
        );
        assert_eq!(unusual(&counts(&[(100, 1), (140, 1), (1_448, 8)]), &counts(&spread)), None);
        let few = counts(&[(152, 4)]);
        assert_eq!(unusual(&few, &load), None);
        let one_size = counts(&[(200, 1_000)]);
        assert_eq!(unusual(&counts(&[(200, 20)]), &one_size), None);
    }
}
