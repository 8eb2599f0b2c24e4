//! What one tap shows of one way, load by load.

use crate::trials::limits::FEWEST;
use crate::trials::segments::silences;

/// A frame of a stream: its time, its IP length, and how many it stands for.
pub(super) type StreamFrame = (i64, u16, u32);

/// Frames between two silences.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrameBunch {
    from: usize,
    to: usize,
    pub(super) begin: i64,
    pub(super) end: i64,
    pub(super) frames: u64,
    /// The length that most have, by the median.
    pub(super) size: i64,
}

impl FrameBunch {
    pub(super) const fn lasts(&self) -> i64 {
        self.end - self.begin
    }

    /// Whether this is what became of `before`, longer by what had to wait.
    pub(super) fn is_stretched(&self, before: &Self) -> bool {
        self.lasts() - before.lasts() > STRETCHED_NS.max(before.lasts() / 100)
    }

    /// Whether so many are missing that no bad link lost them, and none waited.
    pub(super) fn lacks_many(&self, before: &Self) -> bool {
        self.frames * 5 < before.frames * 4 && !self.is_stretched(before)
    }
}

/// What one tap shows of one way.
pub(super) struct TapStream {
    times: Vec<i64>,
    pub(super) bunches: Vec<FrameBunch>,
    /// Whether there were others, of few frames.
    pub(super) beside: bool,
}

impl TapStream {
    /// Loads are told apart by silences longer than `gap`; what few frames there are beside them says nothing.
    pub(super) fn of(frames: impl Iterator<Item = StreamFrame>, gap: i64) -> Self {
        let all: Vec<StreamFrame> = frames.collect();
        let times: Vec<i64> = all.iter().map(|(t, ..)| *t).collect();
        let bunch = |(from, to): (usize, usize)| {
            let (from, to) = trimmed(&times, (from, to));
            let own = all.get(from..to)?;
            let mut sizes: Vec<u16> = own.iter().map(|(_, size, _)| *size).collect();
            sizes.sort_unstable();
            let frames = own.iter().map(|(.., frames)| u64::from(*frames)).sum();
            let size = i64::from(*sizes.get(sizes.len() / 2)?);
            Some(FrameBunch { from, to, begin: own.first()?.0, end: own.last()?.0, frames, size })
        };
        let mut bunches: Vec<FrameBunch> = silences(&times, gap).into_iter().filter_map(bunch).collect();
        let all = bunches.len();
        if bunches.iter().any(|bunch| bunch.frames >= FEWEST as u64) {
            bunches.retain(|bunch| bunch.frames >= FEWEST as u64);
        }
        Self { times, beside: bunches.len() < all, bunches }
    }

    /// Frames of all loads.
    pub(super) fn frames(&self) -> u64 {
        self.bunches.iter().map(|own| own.frames).sum()
    }

    /// Times from the begin of a bunch on.
    pub(super) fn from(&self, bunch: &FrameBunch) -> &[i64] {
        self.times.get(bunch.from..).unwrap_or_default()
    }

    pub(super) fn times_of(&self, bunch: &FrameBunch) -> &[i64] {
        self.times.get(bunch.from..bunch.to).unwrap_or_default()
    }
}

/// A bunch without the few frames before or behind the load that no silence ends.
fn trimmed(times: &[i64], (from, to): (usize, usize)) -> (usize, usize) {
    let own = times.get(from..to).unwrap_or_default();
    let mean = own.last().zip(own.first()).map_or(0, |(b, a)| (b - a) / (own.len() as i64).max(1));
    let gaps = || own.iter().zip(own.iter().skip(1)).map(|(a, b)| b - a);
    let few = FIRSTS.min(own.len() / 2);
    let is_far = |gap: &i64| *gap > FAR * mean;
    let before = gaps().take(few).enumerate().rfind(|(_, gap)| is_far(gap)).map_or(0, |(k, _)| k + 1);
    let behind = gaps().rev().take(few).enumerate().rfind(|(_, gap)| is_far(gap)).map_or(0, |(k, _)| k + 1);
    (from + before, to - behind)
}

/// A frame that is so many periods from the load is none of it.
const FAR: i64 = 20;

/// Packets of either tap that may be the first one of the load.
pub(super) const FIRSTS: usize = 4;
/// What waited makes a load longer by more than this, in nanoseconds, or by more than a hundredth.
const STRETCHED_NS: i64 = 10_000_000;
