//! What speaks against another alignment than the best, packet by packet.

use super::{Alignment, CERTAIN, DECISIVE, Partner};

/// Windows of alignments that differ by more are not alike.
const APART: i64 = 4;
/// Evidence of a packet that has a partner in one alignment and none in the other.
const CONTRADICTED: f64 = 3.0;
/// How many times more packets must contradict a rival than contradict the best alignment, so that each of them counts.
const ONE_SIDED: f64 = 4.0;

/// Whether two alignments are one: most packets that have a partner in both have the same.
pub(super) fn is_same(one: &Alignment, other: &Alignment) -> bool {
    let (mut same, mut both) = (0_usize, 0_usize);
    for pair in one.partners.iter().zip(&other.partners) {
        if let (Partner::Found(a, _), Partner::Found(b, _)) = pair {
            both += 1;
            same += usize::from(a == b);
        }
    }
    both > 0 && same * 2 > both
}

/// Whether the packets contradict a rival of the best alignment.
pub(super) fn is_refuted(rival: &Alignment, best: &Alignment) -> bool {
    let (mut common, mut closer, mut further, mut against, mut for_it) = (0_usize, 0.0_f64, 0.0_f64, 0.0_f64, 0.0_f64);
    let mut weightier = 0.0;
    for (pair, weights) in rival.partners.iter().zip(&best.partners).zip(rival.weights.iter().zip(&best.weights)) {
        let (theirs, ours) = weights;
        match pair {
            (Partner::Unseen, _) | (_, Partner::Unseen) => continue,
            (Partner::Missing, Partner::Found(..)) => against += 1.0,
            (Partner::Found(..), Partner::Missing) => for_it += 1.0,
            (Partner::Missing, Partner::Missing) => {}
            (Partner::Found(a, _), Partner::Found(b, _)) if a == b => continue,
            (Partner::Found(_, theirs), Partner::Found(_, ours)) => {
                closer += f64::from(u8::from(ours < theirs));
                further += f64::from(u8::from(theirs < ours));
            }
        }
        common += 1;
        weightier += ours - theirs;
    }
    // Where they have few packets in common, what each explains by itself decides.
    if common * 8 < best.seen.max(16) {
        return best.weight - rival.weight >= CERTAIN;
    }
    // In a much wider window partners are found by chance: what they weigh decides.
    if rival.width > APART * best.width || best.width > APART * rival.width {
        return weightier >= CERTAIN;
    }
    // At the edges of a window packets fall in and out by chance; only where nearly all speak against it, each does.
    let missing = if against > ONE_SIDED * (for_it + 1.0) {
        CONTRADICTED * (against - for_it)
    } else {
        sign_test(against, for_it)
    };
    missing + sign_test(closer, further) >= DECISIVE
}

/// What it says, in nats, that one of two is the smaller so often; negative where it is the other.
pub(super) fn sign_test(one: f64, other: f64) -> f64 {
    let all = one + other;
    if all == 0.0 {
        return 0.0;
    }
    let part = |own: f64| if own == 0.0 { 0.0 } else { own * (2.0 * own / all).ln() };
    let evidence = part(one) + part(other);
    // Neighbours share a packet, so they count for less than as many that do not.
    0.75 * evidence * if one < other { -1.0 } else { 1.0 }
}
