//! Evidence from the succession of lengths: packets that keep their order belong together where the rare ones stand at the same places.
//!
//! Where a queue holds packets back for longer than their distance, times tell nothing; a few rare lengths among thousands of equal packets
//! still do. An alignment counts only if every packet fits it, and if each shifted one is contradicted.

use std::collections::BTreeMap;

use super::align::{Plain, Tunnelled};
use super::evidence::{CERTAIN, DECISIVE};

/// Packets of either side that are compared.
const COMPARED: usize = 4_096;
/// Packets that make a succession.
const ENOUGH: usize = 16;
/// What a packet of another length says against an alignment, in nats.
const CONTRADICTED: f64 = 8.0;

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
    if tunnelled.len() > COMPARED || tunnelled.iter().any(|packet| packet.esp.is_none() || packet.hole) {
        return None;
    }
    let mut numbers: BTreeMap<(u8, u32), usize> = BTreeMap::new();
    let mut there: Vec<usize> = Vec::with_capacity(tunnelled.len());
    for packet in tunnelled {
        let next = numbers.len();
        there.push(*numbers.entry((packet.mapping, packet.esp?)).or_insert(next));
    }
    // A plaintext packet of a length that makes none of those was not in the tunnel.
    let mut known: BTreeMap<u32, Option<usize>> = BTreeMap::new();
    let mut here: Vec<(usize, usize)> = Vec::new();
    for (at, packet) in plain.iter().enumerate() {
        let kind = known.entry(packet.bytes).or_insert_with(|| {
            numbers.iter().find(|((mapping, esp), _)| makes(*mapping, packet.bytes, *esp)).map(|(_, kind)| *kind)
        });
        if let Some(kind) = kind {
            here.push((at, *kind));
        }
    }
    let least = there.len().min(here.len());
    if least < ENOUGH || here.len() > 2 * COMPARED {
        return None;
    }
    let mut counts = vec![(0_usize, 0_usize); numbers.len()];
    there.iter().filter_map(|kind| counts.get_mut(*kind).map(|count| count.0 += 1)).for_each(drop);
    here.iter().filter_map(|(_, kind)| counts.get_mut(*kind).map(|count| count.1 += 1)).for_each(drop);
    let share = |(one, other): &(usize, usize)| {
        (*one as f64 / there.len() as f64).max(*other as f64 / here.len() as f64).clamp(1e-4, 1.0)
    };
    let worth: Vec<f64> = counts.iter().map(|count| -share(count).ln()).collect();
    let (mut best, mut second) = ((f64::MIN, 0_isize, 0_usize), f64::MIN);
    let (first, last) = (1 - there.len() as isize, here.len() as isize);
    for shift in first..last {
        let (weight, wrong, pairs) = weigh(&there, &here, &worth, shift);
        // Where they hardly overlap nothing is compared.
        if pairs * 2 < least || wrong > 0 {
            second = second.max(weight);
            continue;
        }
        if weight > best.0 {
            second = second.max(best.0);
            best = (weight, shift, pairs);
        } else {
            second = second.max(weight);
        }
    }
    let (weight, shift, pairs) = best;
    if weight < CERTAIN || weight - second < DECISIVE || pairs * 10 < least * 9 {
        return None;
    }
    let partner = |at: usize| {
        let at = usize::try_from(at as isize + shift).ok()?;
        here.get(at).map(|(plain, _)| *plain)
    };
    Some(Succession { partners: (0..there.len()).map(partner).collect(), weight })
}

/// What a shift is worth, how many packets contradict it, and how many it compares.
fn weigh(there: &[usize], here: &[(usize, usize)], worth: &[f64], shift: isize) -> (f64, usize, usize) {
    let skip = |by: isize| usize::try_from(by).unwrap_or(0);
    let there = there.get(skip(-shift)..).unwrap_or_default();
    let here = here.get(skip(shift)..).unwrap_or_default();
    let (mut weight, mut wrong, mut pairs) = (0.0, 0, 0);
    for (one, (_, other)) in there.iter().zip(here) {
        pairs += 1;
        if one == other {
            weight += worth.get(*one).copied().unwrap_or(0.0);
        } else {
            wrong += 1;
            weight -= CONTRADICTED;
        }
    }
    (weight, wrong, pairs)
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
    }

    #[test]
    fn a_lost_packet_leaves_it_open() {
        let rare = [0, 1, 2, 57, 101, 230, 231, 390, 398, 399];
        let (plain, mut tunnelled) = sides(&transfer(&rare), 0, 400);
        tunnelled.remove(150);
        assert_eq!(succession(&plain, &tunnelled, makes), None);
    }
}
