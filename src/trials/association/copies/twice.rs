//! Frames that a tap shows twice.

use std::collections::{HashMap, VecDeque};

use foldhash::fast::FixedState;

use super::super::row::{At, Sighted};
use super::bulks;
use crate::transform::size::ethernet::{FCS, MINIMUM_WITHOUT_FCS, PREAMBLE_AND_IFG};
use crate::trials::limits::{COPY_NS, FEWEST};
use crate::trials::read::Place;
use crate::trials::read::tap::ContentDigest;

/// Removes the second of each pair of equal frames where a tap shows nearly every frame twice: far closer to each other than packets are.
/// A tester may send each packet twice, or the same one again and again.
pub(in super::super) fn once(frames: &mut Vec<Sighted>) {
    if let Some(second) = seconds(frames, true) {
        without(frames, second);
    }
}

/// The same. Whether half of the frames look like copies all the same, and contents do not tell.
pub(crate) fn shown_once(frames: &mut Vec<Sighted>) -> bool {
    let all = frames.len();
    once(frames);
    frames.len() == all && seconds(frames, false).is_some()
}

/// Leaves out what plain taps show twice where packets are all the same: by the time that frames take on the link, or as other taps tell.
/// `gap`: a longer silence ends a load; `rate`: that of the link, in bits per second.
pub(in super::super) fn once_at_ends(seen: &mut [(Place, At)], gap: i64, rate: Option<u64>) {
    let on_link = |(_, at): &(Place, At)| rate.filter(|_| !at.tunnel).and_then(|rate| too_close(&at.frames, rate));
    let close: Vec<Option<Vec<bool>>> = seen.iter().map(on_link).collect();
    let agree = |which: usize| {
        let others =
            seen.iter().zip(&close).enumerate().filter(|(other, (_, close))| *other != which && close.is_none());
        let own = seen.get(which).map_or(&[][..], |(_, at)| &at.frames);
        others.into_iter().all(|(other, ((_, at), _))| {
            Halves::of(own, &at.frames, gap).is_some_and(|halves| halves.may_be(which < other))
        })
    };
    let sure: Vec<bool> = (0..seen.len()).map(agree).collect();
    for (((_, at), close), sure) in seen.iter_mut().zip(close).zip(sure) {
        if let Some(second) = close.filter(|_| sure) {
            without(&mut at.frames, second);
        }
    }
    // The tunnel's packets are numbered; without them, one end tells of the other.
    let last = seen.len().saturating_sub(1);
    let numbered = seen.iter().position(|(_, at)| at.tunnel && !at.visible);
    for (which, end) in [(0, last), (last, 0)] {
        let known = numbered.unwrap_or(end);
        let other = seen.get(known).map(|(_, at)| at.frames.clone()).unwrap_or_default();
        let Some((_, at)) = seen.get_mut(which).filter(|(_, at)| which != known && !at.tunnel) else { continue };
        let halves = Halves::of(&at.frames, &other, gap).filter(|halves| halves.must_be(which < known));
        if let Some(second) = halves.and_then(|_| seconds(&at.frames, false)) {
            without(&mut at.frames, second);
        }
    }
}

fn without(frames: &mut Vec<Sighted>, second: Vec<bool>) {
    let mut second = second.into_iter();
    frames.retain(|_| second.next() != Some(true));
}

/// Packets of each load at a tap, and at another one.
struct Halves(Vec<(u64, u64)>);

impl Halves {
    /// `None` where loads are not the same at both.
    fn of(own: &[Sighted], other: &[Sighted], gap: i64) -> Option<Self> {
        let of = |frames: &[Sighted]| -> Vec<u64> {
            let all = bulks(frames.iter().filter(|own| own.test).map(|own| (own.t, 1)), gap);
            all.into_iter().map(|bulk| bulk.packets).filter(|packets| *packets >= FEWEST as u64).collect()
        };
        let (own, other) = (of(own), of(other));
        (own.len() == other.len()).then(|| Self(own.into_iter().zip(other).collect()))
    }

    /// Whether in every load half of the frames may be copies. `behind`: whether the other tap is behind this one, where as many may be
    /// lost; before it, none more come out than went in.
    fn may_be(&self, behind: bool) -> bool {
        let fits = |(own, other): &(u64, u64)| if behind { other * 100 <= own * 51 } else { own * 49 <= other * 100 };
        // That as many came out as went in is no chance.
        let same = |(own, other): &(u64, u64)| !behind && own.abs_diff(*other) * 50 <= *other;
        self.0.iter().all(fits) && !self.0.iter().any(same)
    }

    /// Whether they also must be: as many as a half in some load, or more than went in.
    fn must_be(&self, behind: bool) -> bool {
        let half = |(own, other): &(u64, u64)| *own > HALVED && (own / 2).abs_diff(*other) * 100 <= *own;
        let more = |(own, other): &(u64, u64)| *own > HALVED && *own > other + own / 20;
        self.may_be(behind) && if behind { self.0.iter().any(half) } else { self.0.iter().any(more) }
    }
}

/// Which frames are copies, where the link's rate tells: far more frames follow each other than pass in that time, and each is there a
/// second time, as late after the first one as all others. Without them, the others are as far from each other as frames are.
fn too_close(frames: &[Sighted], rate: u64) -> Option<Vec<bool>> {
    let wire = |size: u16| {
        let octets =
            u64::from(size).max(u64::from(MINIMUM_WITHOUT_FCS) - LINK) + LINK + u64::from(FCS) + PREAMBLE_AND_IFG;
        i64::try_from(octets * 8_000_000_000 / rate.max(1)).unwrap_or(i64::MAX / 8)
    };
    let within = |(a, b): &(&Sighted, &Sighted), of_five: i64| (b.t - a.t) * 5 < wire(a.size.min(b.size)) * of_five;
    let close = frames.iter().zip(frames.iter().skip(1)).filter(|pair| within(pair, 4)).count();
    if close * 3 < frames.len() || frames.is_empty() {
        return None;
    }
    // A capture that stamps what it fetches together shows as few or as many together as came since the last time.
    let ends = frames.iter().zip(frames.iter().skip(1)).zip(1..).filter(|(pair, _)| !within(pair, 6)).map(|(_, at)| at);
    let ends: Vec<usize> = ends.chain([frames.len()]).collect();
    let odd = [0].iter().chain(&ends).zip(&ends).filter(|(from, to)| (*to - *from) % 2 == 1).count();
    if odd * ODD_OF > ends.len() {
        return None;
    }
    later_by_one_time(frames).filter(|second| {
        let firsts: Vec<&Sighted> =
            frames.iter().zip(second).filter(|(_, second)| !**second).map(|(own, _)| own).collect();
        let close = firsts.iter().zip(firsts.iter().skip(1)).filter(|(a, b)| within(&(*a, *b), 4)).count();
        close * ODD_OF <= firsts.len()
    })
}

/// Of so many groups of frames with copies one has lost a frame.
const ODD_OF: usize = 20;

/// Which frames are there a second time, where each is, and as late after the first one as all others.
fn later_by_one_time(frames: &[Sighted]) -> Option<Vec<bool>> {
    let starts = (0..4).map(|part| part * frames.len() / 4);
    let from = |at: usize| frames.get(at..frames.len().min(at + NEXT_ONES)).unwrap_or_default();
    let mut delays: Vec<i64> = starts
        .flat_map(|at| from(at).iter().skip(1).filter_map(move |own| Some(own.t - frames.get(at)?.t)))
        .filter(|delay| *delay <= COPY_NS)
        .collect();
    delays.sort_unstable();
    delays.dedup();
    delays.into_iter().find_map(|delay| {
        let second = later_by(frames, delay);
        let copies = second.iter().filter(|second| **second).count();
        (copies * 100 >= frames.len() * 49).then_some(second)
    })
}

/// Which frames are as late as `delay` after one of the same content that is none of these.
fn later_by(frames: &[Sighted], delay: i64) -> Vec<bool> {
    let about = (delay / 8).max(1_000);
    let mut firsts: VecDeque<&Sighted> = VecDeque::new();
    let mut copies = Vec::with_capacity(frames.len());
    for own in frames {
        while firsts.front().is_some_and(|first| own.t - first.t > delay + about) {
            firsts.pop_front();
        }
        let first = firsts.front().filter(|first| own.t - first.t >= delay - about);
        let is_copy = first.is_some_and(|first| (first.key, first.size) == (own.key, own.size));
        if is_copy {
            firsts.pop_front();
        } else {
            firsts.push_back(own);
        }
        copies.push(is_copy);
    }
    copies
}

/// Octets before the IP header, without tags.
const LINK: u64 = 14;
/// Frames behind one that may be its copy.
const NEXT_ONES: usize = 16;

/// Frames of a load that tell whether half of them are copies.
const HALVED: u64 = 100;

/// Which frames are the second of two, where half of them are. `differ`: contents must tell packets apart.
fn seconds(frames: &[Sighted], differ: bool) -> Option<Vec<bool>> {
    let mut last: HashMap<ContentDigest, i64, FixedState> = HashMap::default();
    let mut apart: Vec<Option<i64>> = frames
        .iter()
        .map(|frame| {
            let before = last.insert(frame.key, frame.t).filter(|_| frame.key != ContentDigest::NONE)?;
            Some(frame.t - before).filter(|apart| *apart <= COPY_NS)
        })
        .collect();
    if !differ {
        apart = followed(frames);
    }
    let firsts: Vec<i64> =
        frames.iter().zip(&apart).filter(|(_, apart)| apart.is_none()).map(|(own, _)| own.t).collect();
    let mut periods: Vec<i64> = firsts.iter().zip(firsts.iter().skip(1)).map(|(a, b)| b - a).collect();
    periods.sort_unstable();
    let period = periods.get(periods.len() / 2).copied().unwrap_or(0);
    let second: Vec<bool> = apart.iter().map(|apart| apart.is_some_and(|apart| apart * COPY_OF < period)).collect();
    let copies = second.iter().filter(|second| **second).count();
    let half = (49 * frames.len()..=51 * frames.len()).contains(&(copies * 100));
    (half && (!differ || last.len() * 100 >= 49 * frames.len())).then_some(second)
}

/// Frames that follow at once on one of the same content, far closer than most, and by how much.
fn followed(frames: &[Sighted]) -> Vec<Option<i64>> {
    let mut gaps: Vec<i64> = frames.iter().zip(frames.iter().skip(1)).map(|(a, b)| b.t - a.t).collect();
    gaps.sort_unstable();
    let long = gaps.get(gaps.len() / 4 * 3).copied().unwrap_or(0);
    let mut before: Option<&Sighted> = None;
    let mut apart = Vec::with_capacity(frames.len());
    for own in frames {
        let gap = before.filter(|before| before.key == own.key).map(|before| own.t - before.t);
        let close = gap.filter(|gap| gap * COPY_OF < long && *gap <= COPY_NS);
        // A third one is the next packet.
        before = close.is_none().then_some(own);
        apart.push(close);
    }
    apart
}

/// Two copies are closer than this part of the period of the load.
const COPY_OF: i64 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tester_that_sends_each_packet_twice_shows_no_copies() {
        let pairs = |apart: i64| -> Vec<Sighted> {
            let frame = |at: i64| {
                let (k, second) = (at / 2, at % 2);
                let key = ContentDigest::of(0x1234_5678_9abc * (k as u64 + 1));
                let t = k * 2_000_000 + second * apart;
                Sighted { t, key, size: 512, record: at as u32, frames: 1, stream: 0, test: true }
            };
            (0..400).map(frame).collect()
        };
        for (apart, left) in [(700, 200), (200_000, 200), (300_000, 400), (1_000_000, 400)] {
            let mut frames = pairs(apart);
            once(&mut frames);
            assert_eq!(frames.len(), left, "{apart}");
        }
    }

    #[test]
    fn copies_behind_the_next_frame_of_a_burst_are_told_by_the_link() {
        // Bursts of eight frames of 128 octets at 100 Mbit/s, 13.28 us each.
        let burst = |late: i64| {
            let frame = move |at: i64| (at / 8 * 10_000_000 + at % 8 * 13_280 + late, ContentDigest::of(7));
            (0..400).map(frame)
        };
        let frames = |times: Vec<(i64, ContentDigest)>| -> Vec<Sighted> {
            let mut times = times;
            times.sort_unstable();
            let one = |(t, key)| Sighted { t, key, size: 128, record: 0, frames: 1, stream: 0, test: true };
            times.into_iter().map(one).collect()
        };
        for late in [1_000, 5_000, 15_000] {
            let both = frames(burst(0).chain(burst(late)).collect());
            let second = too_close(&both, 100_000_000).expect("copies");
            assert_eq!(second.iter().filter(|second| **second).count(), 400, "{late}");
        }
        assert_eq!(too_close(&frames(burst(0).collect()), 100_000_000), None);
    }

    #[test]
    fn frames_that_are_stamped_together_are_no_copies() {
        // One frame of 256 octets each 416 us, at 10 Mbit/s, and a capture that fetches what came each 600 us or each millisecond.
        for every in [600_000, 1_000_000, 2_100_000] {
            let (mut before, mut number) = (0, 0);
            let frame = |k: i64| {
                let t = (k * 416_667 / every + 1) * every;
                number = if t == before { number + 1 } else { 0 };
                before = t;
                let key = ContentDigest::of(7);
                Sighted { t: t + number * 800, key, size: 256, record: 0, frames: 1, stream: 0, test: true }
            };
            let frames: Vec<Sighted> = (0..1_000).map(frame).collect();
            assert_eq!(too_close(&frames, 10_000_000), None, "{every}");
        }
    }
}
