//! Lengths that packets of the load have in the tunnel and that none has where packets come out: all of them were lost behind the tap.

use std::collections::BTreeMap;

use crate::trials::association::row::Sighted;
use crate::trials::limits::{BACKGROUND, FEWEST};
use crate::trials::segments::silences;

/// What the lengths of frames in the tunnel are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum KnownLength {
    /// The load's.
    Load,
    /// That of something that came out beside it.
    Beside,
    /// Nothing of this length came out.
    Unseen,
}

/// Frames of a length that never came out.
#[derive(Default)]
struct Unseen {
    during: u64,
    beside: u64,
    times: Vec<(i64, u64)>,
}

/// Outer lengths of the load of which no packet came out. They pass the tap while the load does, in its SAs; what goes on in its pauses is
/// something else, and so is what is too rare to tell. `gap`: a longer silence ends a load.
pub(crate) fn lost_whole(frames: &[Sighted], known: impl Fn(u16) -> KnownLength, gap: i64) -> Vec<u16> {
    let load: Vec<(i64, u64)> = frames
        .iter()
        .filter(|own| known(own.size) == KnownLength::Load)
        .map(|own| (own.t, u64::from(own.frames)))
        .collect();
    let loads = loads(&load, gap);
    let is_during = |t: i64| {
        let next = loads.partition_point(|(_, end)| *end < t);
        loads.get(next).is_some_and(|(begin, _)| *begin <= t)
    };
    let mut sas: BTreeMap<u16, [u64; 2]> = BTreeMap::new();
    let mut lengths: BTreeMap<u16, Unseen> = BTreeMap::new();
    for own in frames {
        let frames = u64::from(own.frames);
        let [load, unseen] = sas.entry(own.stream).or_default();
        match known(own.size) {
            KnownLength::Load => *load += frames,
            KnownLength::Beside => {}
            KnownLength::Unseen => *unseen += frames,
        }
    }
    let carries = |sa: u16| sas.get(&sa).is_some_and(|[load, unseen]| load * FEW_OF >= *unseen);
    for own in frames.iter().filter(|own| known(own.size) == KnownLength::Unseen && carries(own.stream)) {
        let frames = u64::from(own.frames);
        let length = lengths.entry(own.size).or_default();
        *(if is_during(own.t) { &mut length.during } else { &mut length.beside }) += frames;
        length.times.push((own.t, frames));
    }
    lengths.retain(|_, own| own.beside * FEW_OF <= own.during);
    let during: u64 = lengths.values().map(|own| own.during).sum();
    let mut times: Vec<(i64, u64)> = lengths.values().flat_map(|own| own.times.iter().copied()).collect();
    times.sort_unstable();
    let (first, last) = (frames.first().map_or(0, |own| own.t), frames.last().map_or(0, |own| own.t));
    let loaded: i64 = loads.iter().map(|(begin, end)| *end.min(&last) - *begin.max(&first)).sum();
    let part = (loaded as f64 / (last - first).max(1) as f64).clamp(f64::MIN_POSITIVE, 1.0);
    let by_chance = -part.ln() * (during as f64) < SURE;
    let rare = (peak(&times) as f64) < BACKGROUND * peak(&load) as f64;
    if by_chance && rare {
        return Vec::new();
    }
    // Of a few packets only a length beyond all that come out tells why none of them does: others are polls of a gateway or of another network.
    let longest = frames.iter().filter(|own| known(own.size) == KnownLength::Load).map(|own| own.size).max();
    lengths.into_keys().filter(|size| !rare || longest.is_none_or(|longest| *size > longest)).collect()
}

/// When loads begin and end, each with some of its periods more.
fn loads(load: &[(i64, u64)], gap: i64) -> Vec<(i64, i64)> {
    let times: Vec<i64> = load.iter().map(|(t, _)| *t).collect();
    let of = |(from, to): (usize, usize)| {
        let (begin, end) = (*times.get(from)?, *times.get(to.checked_sub(1)?)?);
        let frames: u64 = load.get(from..to)?.iter().map(|(_, frames)| frames).sum();
        let margin = (PERIODS * (end - begin) / frames.max(1) as i64).min(gap / 2);
        (frames >= FEWEST as u64).then_some((begin - margin, end + margin))
    };
    silences(&times, gap).into_iter().filter_map(of).collect()
}

/// Frames of the busiest second.
fn peak(frames: &[(i64, u64)]) -> u64 {
    let mut seconds: BTreeMap<i64, u64> = BTreeMap::new();
    frames.iter().for_each(|(t, frames)| *seconds.entry(t.div_euclid(1_000_000_000)).or_default() += frames);
    seconds.into_values().max().unwrap_or(0)
}

/// Of so many frames one may be beside the load.
const FEW_OF: u64 = 20;
/// A load does not fall silent for so many of its periods.
const PERIODS: i64 = 20;
/// What would be chance in one of ten thousand cases is none: the logarithm.
const SURE: f64 = 9.2;
