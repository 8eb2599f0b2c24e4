//! What is said of the edges of captures whose pairs are guesses.

use crate::model::pairs::{Direction, Pairs};

/// Pairs that are guesses do not tell how long packets were on their way, and so not which of them the other capture covers.
pub(super) fn leave_open(pairs: &mut Pairs, directions: &mut [Direction]) {
    /// As few of the pairs, as 1 in N, may lie at an edge of any capture.
    const OF: u64 = 100;
    let is_open = |own: &Direction| {
        own.is_guesswork() && own.uncovered_plain.max(own.uncovered_tunnel).saturating_mul(OF) > own.matched
    };
    let all = directions.iter().filter(|own| own.matched > 0).all(is_open);
    let mut plain = if all && directions.iter().any(|own| own.matched > 0) { pairs.uncovered_plain } else { 0 };
    let mut tunnel = 0;
    for own in directions.iter_mut().filter(|own| is_open(own)) {
        plain += if all { 0 } else { own.uncovered_plain };
        tunnel += own.uncovered_tunnel;
        (own.uncovered_plain, own.uncovered_tunnel) = (0, 0);
    }
    pairs.uncovered_plain -= plain;
    pairs.undetermined_plain += plain;
    pairs.uncovered_tunnel -= tunnel;
    pairs.undetermined_tunnel += tunnel;
}
