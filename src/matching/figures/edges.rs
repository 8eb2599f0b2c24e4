//! What is said of the edges of captures whose pairs are guesses.

use crate::model::pairs::{Direction, Pairs};

/// Pairs that are guesses do not tell how long packets were on their way, and so not which of them the other capture covers.
pub(super) fn leave_open(pairs: &mut Pairs, directions: &mut [Direction], one_clock: bool) {
    // Without a pair nothing tells how long packets are on their way, nor which tap they pass first.
    for own in directions.iter_mut().filter(|own| own.matched == 0 && own.undetermined.is_some()) {
        let uncovered = std::mem::take(&mut own.uncovered_tunnel);
        pairs.uncovered_tunnel -= uncovered;
        pairs.undetermined_tunnel += uncovered;
    }
    // By one clock the times of the captures alone decide.
    if one_clock {
        return;
    }
    let mut paired = directions.iter().filter(|own| own.matched > 0).peekable();
    // Where no direction tells, one without any pair does not either, and what belongs to none does not.
    let all = paired.peek().is_some() && paired.all(Direction::is_guesswork);
    let (mut plain, mut tunnel) = (0, 0);
    for own in directions.iter_mut().filter(|own| own.is_guesswork() || all && own.matched == 0) {
        if is_many(own.uncovered_plain, own.matched) && !all {
            plain += std::mem::take(&mut own.uncovered_plain);
        }
        if is_many(own.uncovered_tunnel, own.matched) {
            tunnel += std::mem::take(&mut own.uncovered_tunnel);
        }
    }
    // Packets of flows that were found nowhere were judged by all pairs, guesses among them.
    let found: u64 = directions.iter().map(|own| own.uncovered_plain).sum();
    let unfound = pairs.uncovered_plain.saturating_sub(found + plain);
    if !all && directions.iter().any(Direction::is_guesswork) && is_many(unfound, pairs.matched) {
        plain += unfound;
    }
    if all && is_many(pairs.uncovered_plain, pairs.matched) {
        directions.iter_mut().for_each(|own| own.uncovered_plain = 0);
        plain = pairs.uncovered_plain;
    }
    pairs.uncovered_plain -= plain;
    pairs.undetermined_plain += plain;
    pairs.uncovered_tunnel -= tunnel;
    pairs.undetermined_tunnel += tunnel;
}

/// Whether these are more than may lie at an edge of any capture: one for a hundred pairs.
const fn is_many(uncovered: u64, pairs: u64) -> bool {
    uncovered.saturating_mul(100) > pairs
}
