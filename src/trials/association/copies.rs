//! Frames that are no packets of their own: a tap showed them twice, somebody replayed them, or another SA carries what is no test load.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::FixedState;

use super::row::Sighted;
use crate::trials::limits::{BACKGROUND, COPY_NS};
use crate::trials::read::tap::{ContentDigest, Outer};

/// An SA's numbers as its frames are read.
#[derive(Clone, Debug, Default)]
struct Numbered {
    origin: u32,
    seen: std::collections::BTreeSet<i64>,
}

/// Which frames of a tunnel repeat a number of their SA while its numbers go on: the packet was there already. Numbers that begin anew
/// and do not come back are those of a device that was restarted.
pub(super) fn repeated(records: &[&Outer]) -> Vec<bool> {
    let mut runs: HashMap<u16, Numbered, FixedState> = HashMap::default();
    let numbers: Vec<i64> = records
        .iter()
        .map(|own| {
            let run = runs
                .entry(own.stream)
                .or_insert_with(|| Numbered { origin: own.detail.sequence, ..Numbered::default() });
            i64::from(own.detail.sequence.wrapping_sub(run.origin) as i32)
        })
        .collect();
    // The greatest number that each SA reaches behind a frame.
    let mut ahead: HashMap<u16, i64, FixedState> = HashMap::default();
    let mut later = vec![i64::MIN; records.len()];
    for ((own, number), later) in records.iter().zip(&numbers).zip(&mut later).rev() {
        let most = ahead.entry(own.stream).or_insert(i64::MIN);
        *later = *most;
        *most = (*most).max(*number);
    }
    let mut copies = Vec::with_capacity(records.len());
    for ((own, number), later) in records.iter().zip(&numbers).zip(later) {
        let Some(run) = runs.get_mut(&own.stream) else { continue };
        let high = run.seen.last().copied().unwrap_or(i64::MIN);
        let copy = own.detail.sequence != 0 && run.seen.contains(number) && (*number == high || later > high);
        if !copy {
            run.seen.insert(*number);
        }
        copies.push(copy);
    }
    copies
}

/// Removes the second of each pair of equal frames where a tap shows nearly every frame twice. A tester that sends the same packet again
/// and again sends it more than twice.
pub(super) fn once(frames: &mut Vec<Sighted>) {
    let mut last: HashMap<ContentDigest, i64, FixedState> = HashMap::default();
    let second: Vec<bool> = frames
        .iter()
        .map(|frame| {
            let before = last.insert(frame.key, frame.t);
            frame.key != ContentDigest::NONE && before.is_some_and(|before| frame.t - before <= COPY_NS)
        })
        .collect();
    let copies = second.iter().filter(|second| **second).count();
    if (49 * frames.len()..=51 * frames.len()).contains(&(copies * 100)) && last.len() * 100 >= 49 * frames.len() {
        let mut second = second.into_iter();
        frames.retain(|_| second.next() != Some(true));
    }
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
/// on what that carried.
pub(super) fn background(records: &[&Outer]) -> Vec<u16> {
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
    use crate::trials::read::tap::InTunnel;

    fn frames(sa: u16, numbers: impl IntoIterator<Item = u32>) -> Vec<Outer> {
        let frame = |(at, sequence): (usize, u32)| Outer {
            t: at as i64 * 1_000_000,
            key: ContentDigest::NONE,
            stream: sa,
            share: Share::one(600, 0),
            detail: InTunnel { sequence, outer: 584, inner: 0, l1: 600 },
        };
        numbers.into_iter().enumerate().map(frame).collect()
    }

    fn copies(frames: &[Outer]) -> Vec<u32> {
        let records: Vec<&Outer> = frames.iter().collect();
        let which = repeated(&records);
        frames.iter().zip(which).filter(|(_, copy)| *copy).map(|(own, _)| own.detail.sequence).collect()
    }

    #[test]
    fn a_replay_repeats_numbers_and_a_restart_begins_anew() {
        assert_eq!(copies(&frames(1, [1, 1, 2, 2, 3, 3])), [1, 2, 3]);
        assert_eq!(copies(&frames(1, [1, 2, 3, 4, 2, 3, 5, 6])), [2, 3]);
        assert_eq!(copies(&frames(1, [1, 3, 2, 4])), Vec::<u32>::new());
        assert_eq!(copies(&frames(1, [1, 2, 3, 4, 1, 2, 3])), Vec::<u32>::new());
        assert_eq!(copies(&frames(1, [u32::MAX - 1, u32::MAX, 0, 1, u32::MAX, 2])), [u32::MAX]);
    }

    #[test]
    fn a_quiet_sa_is_background_unless_it_takes_over() {
        let busy = frames(1, 0..2_000);
        let mut quiet = frames(2, 0..40);
        for (k, own) in quiet.iter_mut().enumerate() {
            own.t = k as i64 * 50_000_000;
        }
        let all: Vec<&Outer> = busy.iter().chain(&quiet).collect();
        assert_eq!(background(&all), [2]);
        let mut next = frames(3, 0..20);
        next.iter_mut().for_each(|own| own.t += 1_999_000_000);
        let all: Vec<&Outer> = busy.iter().chain(&next).collect();
        assert_eq!(background(&all), Vec::<u16>::new());
    }
}
