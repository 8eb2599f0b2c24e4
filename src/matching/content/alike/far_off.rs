//! Pairs that are far off the usual time while packets have equals: the pair of one may be another that no tap showed.

use std::collections::BTreeMap;

use super::crowded::crowded;
use super::{ALIKE, FARTHEST_ALIKE, GUESSED};
use crate::matching::Matcher;
use crate::matching::order::delay::median;
use crate::matching::packets::ledger::{PairBasis, Tunnelled, TunnelledFate};

impl Matcher {
    /// Counts the pairs of packets that are alike, or whose equals no tap may show, that are much further apart than those that are sure: they may have been
    /// made before the usual difference was known.
    pub(in crate::matching) fn count_strays(&mut self, held: &[Tunnelled]) {
        if !self.has_repeats() {
            return;
        }
        for packet in held {
            let TunnelledFate::Paired(pairing) = packet.fate else { continue };
            let usual = self.usual.get(packet.sa as usize).copied().flatten();
            let apart = pairing.plain.time.ns().zip(packet.time.ns()).map(|(plain, own)| own.saturating_sub(plain));
            let is_guessed = pairing.basis != PairBasis::Order && pairing.confidence <= GUESSED;
            if let Some((usual, apart)) = usual.zip(apart).filter(|_| is_guessed)
                && apart.abs_diff(usual.base) > FARTHEST_ALIKE
                && let Some(own) = self.tally.sas.get_mut(packet.sa as usize)
            {
                own.far_guesses += 1;
            }
        }
    }

    /// Where packets are alike, one that seems to be the only one may have equals that no tap shows: pairs whose times are far from those of
    /// the others are such.
    pub(in crate::matching) fn doubt_alike(&mut self, held: &mut [Tunnelled]) {
        /// Steps of timestamps that tell no order of packets.
        const COARSE: i64 = 100_000_000;
        const DOUBTED: f32 = 0.6;
        if !self.has_repeats() {
            return;
        }
        let usual = usual_by_sa(held);
        // Timestamps that tell no order of packets tell no equal ones apart.
        let coarse = self.plain.coarseness().min(self.tunnel.coarseness()) >= COARSE;
        let unanchored = self.unanchored(held);
        let unfounded = self.unfounded(held);
        let crowded = crowded(held);
        for packet in held {
            let Some((own, confidence)) = apart_by_content(packet) else { continue };
            if (confidence <= ALIKE && (unanchored.contains(&packet.sa) || crowded.contains(&packet.pos))
                || unfounded.contains(&packet.sa))
                && let TunnelledFate::Paired(pairing) = &mut packet.fate
            {
                pairing.confidence = GUESSED;
                continue;
            }
            let off = usual.get(&packet.sa).map(|(middle, most)| (own.abs_diff(*middle), *most));
            let far = off.is_some_and(|(off, most)| off > most);
            if far
                && off.is_some_and(|(off, _)| off > FARTHEST_ALIKE)
                && let Some(own) = self.tally.sas.get_mut(packet.sa as usize)
            {
                own.far_guesses += 1;
            }
            if let TunnelledFate::Paired(pairing) = &mut packet.fate {
                pairing.confidence = match (far, coarse) {
                    (true, _) => GUESSED,
                    (false, true) => pairing.confidence.min(DOUBTED),
                    (false, false) => pairing.confidence,
                };
            }
        }
    }
}

/// How far apart the two sights of a packet are whose pair is by content, and how sure the pair is, if it is no guess.
fn apart_by_content(packet: &Tunnelled) -> Option<(i64, f32)> {
    match packet.fate {
        TunnelledFate::Paired(pairing) if pairing.basis != PairBasis::Order => {
            let apart = packet.time.ns()?.saturating_sub(pairing.plain.time.ns()?);
            Some((apart, pairing.confidence)).filter(|(_, confidence)| *confidence >= ALIKE)
        }
        _ => None,
    }
}

/// How far apart sure pairs of each SA usually are, and from where on that is no reason for doubt, where enough tell.
fn usual_by_sa(held: &[Tunnelled]) -> BTreeMap<u32, (i64, u64)> {
    /// Pairs that tell what is usual.
    const PAIRS: usize = 16;
    /// Nanoseconds, and usual deviations, that are no reason for doubt.
    const LEAST: u64 = 1_000_000;
    const TIMES: u64 = 64;
    let mut by_sa: BTreeMap<u32, Vec<i64>> = BTreeMap::new();
    for packet in held {
        let sure = apart_by_content(packet).filter(|(_, confidence)| *confidence > ALIKE);
        by_sa.entry(packet.sa).or_default().extend(sure.map(|(apart, _)| apart));
    }
    by_sa
        .into_iter()
        .filter(|(_, differences)| differences.len() >= PAIRS)
        .filter_map(|(sa, differences)| {
            let middle = median(differences.clone())?;
            let apart = differences.iter().map(|own| own.saturating_sub(middle).saturating_abs()).collect();
            Some((sa, (middle, median(apart)?.unsigned_abs().saturating_mul(TIMES).max(LEAST))))
        })
        .collect()
}
