//! Evidence from the succession of lengths: packets that keep their order belong together where the rare ones stand at the same places.
//!
//! Where a queue holds packets back for longer than their distance, times tell nothing; a few rare lengths among thousands of equal packets
//! still do. An alignment counts only if every packet fits it, and if each shifted one is contradicted.

mod pieces;
mod together;

use std::cell::Cell;
use std::collections::BTreeMap;

pub(in crate::matching) use self::pieces::pieces;
pub(in crate::matching) use self::together::{correlation, move_together};
use super::align::{Plain, Tunnelled};
use super::evidence::{CERTAIN, DECISIVE};
use crate::matching::limits::MAX_WAITING;

/// Pairs that are compared at most: what is not told by then is open.
const COMPARISONS: usize = 1 << 27;
/// Packets that make a succession.
const ENOUGH: usize = 16;
/// What a packet of another length says against an alignment, in nats.
const CONTRADICTED: f64 = 8.0;
/// In the place of a length, where a number is missing: any may be there.
const HOLE: usize = usize::MAX;
/// Of a plaintext packet whose length no packet in the tunnel has.
const UNSEEN: usize = usize::MAX - 1;

/// One alignment by the order of packets.
#[derive(Clone, PartialEq, Debug)]
pub(in crate::matching) struct Succession {
    /// Index of the plaintext packet of each packet in the tunnel.
    pub(in crate::matching) partners: Vec<Option<usize>>,
    /// How much more likely than chance, in nats.
    pub(in crate::matching) weight: f64,
}

/// The only alignment that the succession of lengths leaves; `None` where there are several, or one packet contradicts it. `tunnelled` is in
/// the order of the sequence numbers.
pub(in crate::matching) fn succession(
    plain: &[Plain],
    tunnelled: &[Tunnelled],
    makes: impl Fn(u8, u32, u32) -> bool,
) -> Option<Succession> {
    let sides = Sides::of(plain, tunnelled, makes)?;
    let Sides { there, here, worth } = &sides;
    let least = there.len().min(here.len());
    let kinds = Kinds { there, here, rest: rest(there, worth), worth, comparisons: Cell::new(COMPARISONS) };
    if kinds.rest.first().is_none_or(|all| *all < CERTAIN) {
        return None;
    }
    let shifts = || 1 - there.len() as isize..here.len() as isize;
    // Where they hardly overlap nothing is compared.
    let overlaps = |shift: &isize| kinds.overlap(*shift) * 2 >= least;
    let fitting = shifts().filter(overlaps).filter_map(|shift| Some((kinds.fits(shift)?, shift)));
    let (weight, shift) = fitting.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)))?;
    // What no packet contradicts explains as much, however little the captures then have in common: traffic may be the same each second.
    let explains = |other: isize| {
        kinds.reaches(other, weight - DECISIVE) || kinds.fits(other).is_some_and(|weight| weight >= CERTAIN)
    };
    if weight < CERTAIN
        || kinds.overlap(shift) * 10 < least * 9
        || shifts().filter(|other| *other != shift).any(explains)
        || kinds.comparisons.get() == 0
    {
        return None;
    }
    let partner = |at: usize| {
        let at = usize::try_from(at as isize + shift).ok()?;
        here.get(at).map(|(plain, _)| *plain)
    };
    Some(Succession { partners: (0..there.len()).map(partner).collect(), weight })
}

/// The lengths of both sides as numbers.
struct Sides {
    /// Of the packets in the tunnel; [`HOLE`] where a number is missing.
    there: Vec<usize>,
    /// Of those plaintext packets that may be in the tunnel, with their indices.
    here: Vec<(usize, usize)>,
    /// What a packet of each length says that fits, in nats.
    worth: Vec<f64>,
}

impl Sides {
    /// `None` where there are too few packets or too many, or some have no length.
    fn of(plain: &[Plain], tunnelled: &[Tunnelled], makes: impl Fn(u8, u32, u32) -> bool) -> Option<Self> {
        if tunnelled.len() > MAX_WAITING || tunnelled.iter().any(|packet| packet.esp.is_none() && !packet.hole) {
            return None;
        }
        let mut numbers: BTreeMap<(u8, u32), usize> = BTreeMap::new();
        let mut there: Vec<usize> = Vec::with_capacity(tunnelled.len());
        for packet in tunnelled {
            if packet.hole {
                there.push(HOLE);
                continue;
            }
            let next = numbers.len();
            there.push(*numbers.entry((packet.mapping, packet.esp?)).or_insert(next));
        }
        // A plaintext packet of a length that makes none of those was not in the tunnel, or was lost with its number.
        let unseen = tunnelled.iter().any(|packet| packet.hole).then_some(UNSEEN);
        let mut known: BTreeMap<u32, Option<usize>> = BTreeMap::new();
        let mut here: Vec<(usize, usize)> = Vec::new();
        for (at, packet) in plain.iter().enumerate() {
            let kind = known.entry(packet.bytes).or_insert_with(|| {
                let made = numbers.iter().find(|((mapping, esp), _)| makes(*mapping, packet.bytes, *esp));
                made.map(|(_, kind)| *kind).or(unseen)
            });
            if let Some(kind) = kind {
                here.push((at, *kind));
            }
        }
        if there.len().min(here.len()) < ENOUGH {
            return None;
        }
        let mut counts = vec![(0_usize, 0_usize); numbers.len()];
        there.iter().filter_map(|kind| counts.get_mut(*kind).map(|count| count.0 += 1)).for_each(drop);
        here.iter().filter_map(|(_, kind)| counts.get_mut(*kind).map(|count| count.1 += 1)).for_each(drop);
        let share = |(one, other): &(usize, usize)| {
            (*one as f64 / there.len() as f64).max(*other as f64 / here.len() as f64).clamp(1e-4, 1.0)
        };
        let worth: Vec<f64> = counts.iter().map(|count| -share(count).ln()).collect();
        Some(Self { there, here, worth })
    }
}

/// The lengths of both sides as numbers, those of the plain side with their packets.
struct Kinds<'k> {
    there: &'k [usize],
    here: &'k [(usize, usize)],
    /// What a packet of each length says that fits.
    worth: &'k [f64],
    /// What the packets in the tunnel from each on say at most.
    rest: Vec<f64>,
    /// How many pairs may still be compared.
    comparisons: Cell<usize>,
}

impl Kinds<'_> {
    /// The packets in the tunnel and the plaintext packets that stand at the same places, and how many of the former are before them.
    fn sides(&self, shift: isize) -> (impl Iterator<Item = (&usize, &(usize, usize))>, usize) {
        let skip = |by: isize| usize::try_from(by).unwrap_or(0);
        let there = self.there.get(skip(-shift)..).unwrap_or_default();
        let here = self.here.get(skip(shift)..).unwrap_or_default();
        (there.iter().zip(here), skip(-shift))
    }

    fn overlap(&self, shift: isize) -> usize {
        let skip = |by: isize| usize::try_from(by).unwrap_or(0);
        self.there.len().saturating_sub(skip(-shift)).min(self.here.len().saturating_sub(skip(shift)))
    }

    fn worth(&self, kind: usize) -> f64 {
        self.worth.get(kind).copied().unwrap_or(0.0)
    }

    /// What a shift is worth that no packet contradicts.
    fn fits(&self, shift: isize) -> Option<f64> {
        self.weigh(shift, |_, _| true)
    }

    /// Whether a shift is worth more than `least`. It is known early that it is not: every packet that contradicts it costs.
    fn reaches(&self, shift: isize, least: f64) -> bool {
        let weight = self.weigh(shift, |weight, at| weight + self.rest.get(at + 1).copied().unwrap_or(0.0) <= least);
        weight.is_some_and(|weight| weight > least)
    }

    fn weigh(&self, shift: isize, is_in_vain: impl Fn(f64, usize) -> bool) -> Option<f64> {
        let (pairs, first) = self.sides(shift);
        let left = self.comparisons.get();
        let (mut weight, mut compared) = (0.0, 0);
        for ((one, (_, other)), at) in pairs.take(left).zip(first..) {
            compared += 1;
            if *one == HOLE {
                continue;
            }
            weight += if one == other { self.worth(*one) } else { -CONTRADICTED };
            if one != other && is_in_vain(weight, at) {
                weight = f64::NAN;
                break;
            }
        }
        self.comparisons.set(left - compared);
        (!weight.is_nan()).then_some(weight)
    }
}

/// What the packets from each on say at most.
fn rest(there: &[usize], worth: &[f64]) -> Vec<f64> {
    let mut rest: Vec<f64> = there
        .iter()
        .rev()
        .scan(0.0, |sum, kind| {
            *sum += worth.get(*kind).copied().unwrap_or(0.0);
            Some(*sum)
        })
        .collect();
    rest.reverse();
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn makes(_: u8, inner: u32, esp: u32) -> bool {
        (inner + 2).next_multiple_of(16) + 36 == esp
    }

    fn sides(lengths: &[u32], from: usize, to: usize) -> (Vec<Plain>, Vec<Tunnelled>) {
        let plain = |bytes: &u32| Plain { ns: 0, bytes: *bytes, skip: 1.0 };
        let tunnelled = |bytes: &u32| Tunnelled {
            ns: 0,
            esp: Some((bytes + 2).next_multiple_of(16) + 36),
            mapping: 0,
            hole: false,
            skip: 1.0,
        };
        (lengths.iter().map(plain).collect(), lengths[from..to].iter().map(tunnelled).collect())
    }

    /// A transfer: long packets with a few short ones.
    fn transfer(rare: &[usize]) -> Vec<u32> {
        (0..400).map(|at| if rare.contains(&at) { 100 + 16 * (at as u32 % 5) } else { 1_400 }).collect()
    }

    #[test]
    fn rare_lengths_decide() {
        let rare = [0, 1, 2, 57, 101, 230, 231, 390, 398, 399];
        let (plain, tunnelled) = sides(&transfer(&rare), 0, 400);
        let found = succession(&plain, &tunnelled, makes).expect("one alignment");
        assert!(found.partners.iter().enumerate().all(|(at, partner)| *partner == Some(at)));
        // What the tunnel never carries does not count.
        let mut longer = plain.clone();
        (0..6).for_each(|at| longer.insert(3 + at, Plain { ns: 0, bytes: 1_500, skip: 1.0 }));
        let found = succession(&longer, &tunnelled, makes).expect("one alignment");
        assert_eq!((found.partners[2], found.partners[3]), (Some(2), Some(9)));
    }

    #[test]
    fn equal_or_periodic_lengths_do_not() {
        let (plain, tunnelled) = sides(&[512; 400], 0, 400);
        assert_eq!(succession(&plain, &tunnelled, makes), None);
        let periodic: Vec<u32> = (0..400)
            .map(|at| {
                if at % 12 < 7 {
                    40
                } else if at % 12 < 11 {
                    576
                } else {
                    1_400
                }
            })
            .collect();
        let (plain, tunnelled) = sides(&periodic, 12, 388);
        assert_eq!(succession(&plain, &tunnelled, makes), None);
        let (plain, tunnelled) = sides(&periodic, 0, 400);
        assert_eq!(succession(&plain, &tunnelled, makes), None);
        // The captures have most in common where they are a long period apart.
        let period = transfer(&[0, 1, 2, 57, 101, 230, 231, 390, 398, 399]);
        let (plain, tunnelled) = sides(&period.repeat(3), 0, 1_200);
        assert_eq!(succession(&plain, &tunnelled, makes), None);
    }

    #[test]
    fn as_many_as_wait_are_compared() {
        let random = |at: u32| 64 + 16 * (at.wrapping_mul(2_654_435_761) >> 16) % 80;
        let lengths: Vec<u32> = (0..30_000).map(random).collect();
        let (plain, tunnelled) = sides(&lengths, 700, 30_000);
        let found = succession(&plain, &tunnelled, makes).expect("one alignment");
        assert!(found.partners.iter().enumerate().all(|(at, partner)| *partner == Some(at + 700)));
    }

    #[test]
    fn what_takes_too_long_is_open() {
        let lengths: Vec<u32> = (0..60_000)
            .map(|at| if matches!(at, 13_000 | 19_500 | 31_000 | 44_000 | 50_000) { 100 } else { 1_400 })
            .collect();
        let (plain, tunnelled) = sides(&lengths, 0, 60_000);
        assert_eq!(succession(&plain, &tunnelled, makes), None);
    }

    #[test]
    fn a_number_that_is_missing_keeps_its_place() {
        let rare = [0, 1, 2, 57, 101, 230, 231, 390, 398, 399];
        let (plain, mut tunnelled) = sides(&transfer(&rare), 0, 400);
        for at in [7, 57, 150, 151, 398] {
            (tunnelled[at].hole, tunnelled[at].esp) = (true, None);
        }
        let found = succession(&plain, &tunnelled, makes).expect("one alignment");
        assert!(found.partners.iter().enumerate().all(|(at, partner)| *partner == Some(at)));
    }

    /// Packets that were lost without a number: what lies between them is found piece by piece.
    #[test]
    fn pieces_between_losses_are_found() {
        let lengths: Vec<u32> =
            (0..600_u32).map(|at| [64, 128, 200, 512, 1_000, 1_300][mixed(at) as usize % 6]).collect();
        let (plain, whole) = sides(&lengths, 0, 600);
        let lost = |at: &usize| mixed(*at as u32 + 9_000).is_multiple_of(50);
        let kept: Vec<usize> = (0..600).filter(|at| !lost(at)).collect();
        let tunnelled: Vec<Tunnelled> = kept.iter().map(|at| whole[*at]).collect();
        assert_eq!(succession(&plain, &tunnelled, makes), None);
        let found = pieces(&plain, &tunnelled, makes).expect("pieces");
        let pairs = || found.partners.iter().zip(&kept).filter_map(|(partner, at)| Some(((*partner)?, *at)));
        assert!(pairs().count() > 200, "{}", pairs().count());
        // Of two equal packets in a row either may be the lost one.
        let is_equal = |partner: usize, at: usize| lengths[partner] == lengths[at] && partner.abs_diff(at) == 1;
        assert!(pairs().all(|(partner, at)| partner == at || is_equal(partner, at)));
        // Of what repeats itself no piece is where it is found.
        let (plain, whole) = sides(&lengths[..150].repeat(4), 0, 600);
        let tunnelled: Vec<Tunnelled> = kept.iter().map(|at| whole[*at]).collect();
        assert_eq!(pieces(&plain, &tunnelled, makes), None);
        // Nor are there pieces of other traffic, or of equal packets.
        let others: Vec<u32> = (0..600_u32).map(|at| lengths[mixed(at + 70_000) as usize % 600]).collect();
        assert_eq!(pieces(&sides(&others, 0, 600).0, &tunnelled, makes), None);
        let (plain, whole) = sides(&[512; 600], 0, 600);
        assert_eq!(pieces(&plain, &kept.iter().map(|at| whole[*at]).collect::<Vec<_>>(), makes), None);
    }

    /// A number that looks like chance.
    fn mixed(at: u32) -> u32 {
        let word = (u64::from(at) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((word ^ word >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33) as u32
    }

    #[test]
    fn a_lost_packet_leaves_it_open() {
        let rare = [0, 1, 2, 57, 101, 230, 231, 390, 398, 399];
        let (plain, mut tunnelled) = sides(&transfer(&rare), 0, 400);
        tunnelled.remove(150);
        assert_eq!(succession(&plain, &tunnelled, makes), None);
    }
}
