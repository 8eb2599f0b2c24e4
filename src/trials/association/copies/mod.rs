//! Frames that are no packets of their own: a tap showed them twice, somebody replayed them, or another SA carries what is no test load.

mod twice;

use std::collections::{BTreeMap, HashSet};

use foldhash::fast::FixedState;

use super::row::Sighted;
pub(crate) use twice::shown_once;
pub(super) use twice::{once, once_at_ends};

use crate::trials::limits::{BACKGROUND, REPLAYED};
use crate::trials::read::tap::Outer;

/// Which frames of a tunnel repeat a number of their SA: the packet was there already. Numbers that begin anew are those of a device
/// that was restarted: only where an SA soon returns above its highest number, within one load, and did not count up to it, were frames
/// replayed. `gap`: a longer silence ends a load.
pub(super) fn repeated(records: &[&Outer], gap: i64) -> Vec<bool> {
    let mut sas: BTreeMap<u16, Vec<usize>> = BTreeMap::new();
    for (at, own) in records.iter().enumerate() {
        sas.entry(own.stream).or_default().push(at);
    }
    let mut copies = vec![false; records.len()];
    for places in sas.values() {
        let own: Vec<&Outer> = places.iter().filter_map(|at| records.get(*at).copied()).collect();
        for (at, copy) in places.iter().zip(of_one_sa(&own, gap)) {
            if let Some(slot) = copies.get_mut(*at) {
                *slot = copy;
            }
        }
    }
    copies
}

/// The same of one SA.
fn of_one_sa(records: &[&Outer], gap: i64) -> Vec<bool> {
    let origin = records.first().map_or(0, |own| own.detail.sequence);
    let numbers: Vec<i64> =
        records.iter().map(|own| i64::from(own.detail.sequence.wrapping_sub(origin) as i32)).collect();
    let in_one_load = |from: usize, to: usize| {
        let around = records.get(from.saturating_sub(1)..records.len().min(to + 1)).unwrap_or_default();
        around.iter().zip(around.iter().skip(1)).all(|(a, b)| b.t - a.t <= gap)
    };
    let (mut seen, mut high): (HashSet<i64, FixedState>, i64) = (HashSet::default(), i64::MIN);
    let mut copies = Vec::with_capacity(records.len());
    while let Some(number) = numbers.get(copies.len()).copied() {
        let from = copies.len();
        if number >= high {
            copies.push(number == high && in_one_load(from, from));
            high = number;
            seen.insert(number);
            continue;
        }
        // Frames until the SA is above its highest number again.
        let rest = numbers.get(from..).unwrap_or_default();
        let returns = rest.iter().position(|next| *next > high);
        let fallen = rest.get(..returns.unwrap_or(rest.len())).unwrap_or_default();
        let to = from + fallen.len();
        let soon = returns.is_some() && fallen.len() <= REPLAYED && in_one_load(from, to);
        let replayed = soon && !counts_up(fallen, high);
        copies.extend(fallen.iter().map(|number| !seen.insert(*number) && replayed));
    }
    for (copy, own) in copies.iter_mut().zip(records) {
        *copy &= own.detail.sequence != 0;
    }
    copies
}

/// Whether numbers count up to the highest one: an SA that began anew carries on above it, and replayed frames jump.
fn counts_up(fallen: &[i64], high: i64) -> bool {
    let Some((first, last)) = fallen.first().zip(fallen.last()) else { return false };
    let frames = fallen.len() as i64;
    first < last && high - last <= frames / 8 && last - first < 2 * frames
}

/// An SA's life: first and last frame, and its busiest second.
#[derive(Clone, Copy, Debug)]
struct Life {
    first: i64,
    last: i64,
    second: i64,
    count: u64,
    peak: u64,
}

/// SAs beside the test load's: less busy than any flow of the test is, while another SA is busy. An SA that follows another one carries
/// on what that carried. Where it is known what `came` in, the other SAs must account for all of it in one load: a tester may send a
/// small part of its load over an SA of its own. `gap`: a longer silence ends a load.
pub(super) fn background(records: &[&Outer], came: Option<&[Sighted]>, gap: i64) -> Vec<u16> {
    let quiet = quiet(records);
    let Some(came) = came.filter(|_| !quiet.is_empty()) else { return quiet };
    let rest = records.iter().filter(|own| !quiet.contains(&own.stream));
    let passed = bulks(rest.map(|own| (own.t, u64::from(own.share.frames))), gap);
    let came = bulks(came.iter().filter(|own| own.test).map(|own| (own.t, u64::from(own.frames))), gap);
    if came.len() != passed.len() {
        return Vec::new();
    }
    let accounted = |sa: &u16| {
        came.iter().zip(&passed).any(|(came, passed)| {
            let own = records.iter().filter(|own| own.stream == *sa && (passed.first..=passed.last).contains(&own.t));
            let own: u64 = own.map(|own| u64::from(own.share.frames)).sum();
            // Were they of the load, as many would be missing.
            own > 0 && came.packets.abs_diff(passed.packets) * MISSED_OF <= own
        })
    };
    quiet.into_iter().filter(accounted).collect()
}

/// Packets between two silences.
#[derive(Clone, Copy, Debug)]
struct Bulk {
    first: i64,
    last: i64,
    packets: u64,
}

fn bulks(frames: impl Iterator<Item = (i64, u64)>, gap: i64) -> Vec<Bulk> {
    let mut bulks: Vec<Bulk> = Vec::new();
    for (t, packets) in frames {
        match bulks.last_mut().filter(|bulk| t - bulk.last <= gap) {
            Some(bulk) => {
                bulk.last = t;
                bulk.packets += packets;
            }
            None => bulks.push(Bulk { first: t, last: t, packets }),
        }
    }
    bulks
}

/// Fewer than this part of an SA's packets may be missing beside it.
const MISSED_OF: u64 = 4;

/// SAs that are far less busy than one that lives at the same time.
fn quiet(records: &[&Outer]) -> Vec<u16> {
    let mut lives: BTreeMap<u16, Life> = BTreeMap::new();
    for own in records {
        let second = own.t.div_euclid(1_000_000_000);
        let life = lives.entry(own.stream).or_insert(Life { first: own.t, last: own.t, second, count: 0, peak: 0 });
        if life.second != second {
            (life.second, life.count) = (second, 0);
        }
        life.last = life.last.max(own.t);
        life.count += u64::from(own.share.frames);
        life.peak = life.peak.max(life.count);
    }
    let most = lives.values().map(|life| life.peak).max().unwrap_or(0);
    let busy = |life: &Life| life.peak as f64 >= BACKGROUND * most as f64;
    let beside = |own: &Life| {
        lives.values().filter(|life| busy(life)).any(|other| {
            let both = other.last.min(own.last) - other.first.max(own.first);
            both > 0 && both * 2 > own.last - own.first
        })
    };
    lives.iter().filter(|(_, life)| !busy(life) && beside(life)).map(|(sa, _)| *sa).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trials::read::kept::Share;
    use crate::trials::read::tap::ContentDigest;
    use crate::trials::read::tap::InTunnel;

    fn frames(sa: u16, numbers: impl IntoIterator<Item = u32>) -> Vec<Outer> {
        let frame = |(at, sequence): (usize, u32)| Outer {
            t: at as i64 * 1_000_000,
            pos: crate::model::FramePos::new(0, at as u64),
            key: ContentDigest::NONE,
            stream: sa,
            share: Share::one(600, 0),
            detail: InTunnel { sequence, outer: 584, inner: 0, l1: 600 },
        };
        numbers.into_iter().enumerate().map(frame).collect()
    }

    fn copies(frames: &[Outer]) -> Vec<u32> {
        let records: Vec<&Outer> = frames.iter().collect();
        let which = repeated(&records, 500_000_000);
        frames.iter().zip(which).filter(|(_, copy)| *copy).map(|(own, _)| own.detail.sequence).collect()
    }

    #[test]
    fn a_replay_repeats_numbers_and_a_restart_begins_anew() {
        assert_eq!(copies(&frames(1, [1, 1, 2, 2, 3, 3])), [1, 2, 3]);
        assert_eq!(copies(&frames(1, [1, 2, 3, 4, 2, 3, 5, 6])), [2, 3]);
        assert_eq!(copies(&frames(1, [1, 3, 2, 4])), Vec::<u32>::new());
        assert_eq!(copies(&frames(1, [1, 2, 3, 4, 1, 2, 3])), Vec::<u32>::new());
        assert_eq!(copies(&frames(1, [u32::MAX - 1, u32::MAX, 0, 1, u32::MAX, 2])), [u32::MAX]);
        assert_eq!(copies(&frames(1, [1, 2, 3, 4, 3, 3, 5])), [3, 3]);
        let replay: Vec<u32> = (6..26).chain(181..201).collect();
        assert_eq!(copies(&frames(1, (1..201).chain(replay.clone()).chain(201..250))), replay);
    }

    #[test]
    fn a_restarted_counter_that_passes_its_old_end_is_no_replay() {
        // At once, after a silence, with a hole, and with each frame there twice.
        assert_eq!(copies(&frames(1, (1..200).chain(1..400))), Vec::<u32>::new());
        let mut paused = frames(1, (1..200).chain(1..400));
        paused.iter_mut().skip(199).for_each(|own| own.t += 2_000_000_000);
        assert_eq!(copies(&paused), Vec::<u32>::new());
        assert_eq!(copies(&frames(1, (1..200).chain(1..190).chain(201..400))), Vec::<u32>::new());
        let twice = (1..200).chain(1..400).flat_map(|number| [number; 2]);
        assert!(copies(&frames(1, twice)).len() < 400);
        // The same number of a later load.
        let mut later = frames(1, [1, 2, 3, 4, 2, 5, 6]);
        later.iter_mut().skip(4).for_each(|own| own.t += 2_000_000_000);
        assert_eq!(copies(&later), Vec::<u32>::new());
    }

    #[test]
    fn a_quiet_sa_is_background_unless_it_takes_over() {
        let busy = frames(1, 0..2_000);
        let mut quiet = frames(2, 0..40);
        for (k, own) in quiet.iter_mut().enumerate() {
            own.t = k as i64 * 50_000_000;
        }
        let all: Vec<&Outer> = busy.iter().chain(&quiet).collect();
        assert_eq!(background(&all, None, 0), [2]);
        // The other SA lacks as many: the quiet one carries part of the load.
        let came = |packets: u32| -> Vec<Sighted> {
            let frame = |at: u32| Sighted {
                t: i64::from(at) * 1_000_000,
                key: ContentDigest::NONE,
                size: 512,
                record: at,
                frames: 1,
                stream: 0,
                test: true,
            };
            (0..packets).map(frame).collect()
        };
        for (packets, expected) in [(2_000, vec![2]), (2_010, vec![2]), (2_040, Vec::new())] {
            assert_eq!(background(&all, Some(&came(packets)), 500_000_000), expected, "{packets}");
        }
        let mut next = frames(3, 0..20);
        next.iter_mut().for_each(|own| own.t += 1_999_000_000);
        let all: Vec<&Outer> = busy.iter().chain(&next).collect();
        assert_eq!(background(&all, None, 0), Vec::<u16>::new());
    }
}
