//! Pieces of a succession between packets that were lost without a number.
//!
//! Where times tell nothing and some packets have no counterpart, no alignment fits as a whole. Between two losses each does: a few dozen lengths in a
//! row that stand at one place of either side alone belong together.

use super::{CERTAIN, ENOUGH, HOLE, Sides, Succession};
use crate::matching::order::align::{Plain, Tunnelled};

/// Packets in a row that make a piece, at least and at most.
const LEAST: usize = 8;
const MOST: usize = 64;
/// Pieces that are looked for, and those that must be found: losses leave some whole.
const LOOKED_FOR: usize = 256;
const FOUND: usize = 4;
/// Of the pieces that were looked for, those that are found, as 1 in N.
const OF_LOOKED_FOR: usize = 8;

/// A run of packets that stands at one place of either side alone.
#[derive(Clone, Copy)]
struct Piece {
    there: usize,
    here: usize,
    packets: usize,
    weight: f64,
}

/// The pieces of the succession of lengths, as an alignment without what is between them; `None` where there are few, they are not in one order, or the
/// captures have little in common. `tunnelled` is in the order of the sequence numbers.
pub(in crate::matching) fn pieces(
    plain: &[Plain],
    tunnelled: &[Tunnelled],
    makes: impl Fn(u8, u32, u32) -> bool,
) -> Option<Succession> {
    let sides = Sides::of(plain, tunnelled, makes)?;
    let here: Vec<usize> = sides.here.iter().map(|(_, kind)| *kind).collect();
    let (mut pieces, mut looked_for): (Vec<Piece>, usize) = (Vec::new(), 0);
    let step = (sides.there.len() / LOOKED_FOR).max(1);
    let mut at = 0;
    while at + LEAST <= sides.there.len() {
        let Some((packets, weight)) = sides.piece(at) else { break };
        looked_for += 1;
        let run = sides.there.get(at..at + packets)?;
        if only(&sides.there, run).is_some()
            && let Some(here) = only(&here, run)
        {
            pieces.push(Piece { there: at, here, packets, weight });
            at += packets.max(step);
        } else {
            at += step.max(ENOUGH / 4);
        }
    }
    let in_order =
        pieces.iter().zip(pieces.iter().skip(1)).all(|(before, after)| before.here + before.packets <= after.here);
    let (first, last) = (pieces.first()?, pieces.last()?);
    // Traffic may be the same each second: where the captures have little in common, they may have nothing.
    let common = last.there - first.there
        + first.there.min(first.here)
        + (sides.there.len() - last.there).min(here.len() - last.here);
    let is_much = common * 10 >= sides.there.len().min(here.len()) * 9;
    if pieces.len() < FOUND.max(looked_for / OF_LOOKED_FOR) || !in_order || !is_much {
        return None;
    }
    let mut partners = vec![None; sides.there.len()];
    for piece in &pieces {
        for (partner, (plain, _)) in
            partners.iter_mut().skip(piece.there).zip(sides.here.iter().skip(piece.here)).take(piece.packets)
        {
            *partner = Some(*plain);
        }
    }
    Some(Succession { partners, weight: pieces.iter().map(|piece| piece.weight).sum() })
}

impl Sides {
    /// How many packets from here on are no chance in a row, and what they say in nats; `None` where equal ones go on for long, or the packets end.
    fn piece(&self, from: usize) -> Option<(usize, f64)> {
        let mut weight = 0.0;
        for (count, kind) in self.there.get(from..)?.iter().take(MOST).enumerate() {
            if *kind == HOLE {
                return None;
            }
            weight += self.worth.get(*kind).copied().unwrap_or(0.0);
            if count + 1 >= LEAST && weight >= CERTAIN {
                return Some((count + 1, weight));
            }
        }
        None
    }
}

/// Where a run of lengths stands; `None` where it stands nowhere, or at several places.
fn only(all: &[usize], run: &[usize]) -> Option<usize> {
    let mut places = all.windows(run.len()).enumerate().filter(|(_, own)| *own == run).map(|(at, _)| at);
    let place = places.next()?;
    places.next().is_none().then_some(place)
}
