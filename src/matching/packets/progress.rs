//! How far a side has been read.

use crate::model::Timestamp;

/// One capture stream, as far as it has been read.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::matching) struct Progress {
    pub(in crate::matching) first: Option<i64>,
    /// Time of the latest frame.
    pub(in crate::matching) latest: i64,
    pub(in crate::matching) frames: u64,
    pub(in crate::matching) packets: u64,
    /// Packets in a tunnel.
    pub(in crate::matching) tunnelled: u64,
    /// Packets that were left out as copies.
    pub(in crate::matching) copies: u64,
    pub(in crate::matching) ended: bool,
    /// Frames whose time is before that of an earlier one.
    pub(in crate::matching) late: u64,
    pub(in crate::matching) stamps: Stamps,
}

/// How exact the timestamps of a capture are.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::matching) struct Stamps {
    /// What all times are multiples of, in nanoseconds.
    step: i64,
    frames: u64,
    /// Those that share their time with the one before.
    same: u64,
    /// The latest of them.
    latest: i64,
}

impl Stamps {
    #[inline]
    pub(in crate::matching) fn see(&mut self, ns: i64) {
        self.frames += 1;
        if self.step != 1 {
            self.learn(ns);
        }
    }

    fn learn(&mut self, ns: i64) {
        // Where it is near the one before, which is a multiple, a short division tells.
        let near = u32::try_from(ns.abs_diff(self.latest)).ok().zip(u32::try_from(self.step).ok());
        self.same += u64::from(ns == self.latest);
        self.latest = ns;
        let rest = match near {
            Some((apart, step)) => apart.checked_rem(step).map(i64::from),
            None => ns.checked_rem(self.step),
        };
        if rest != Some(0) {
            self.step = common(self.step, ns);
        }
    }

    /// The step of timestamps that are coarse: milliseconds or more, in nanoseconds; 0 of others.
    pub(in crate::matching) fn coarseness(&self) -> i64 {
        /// Frames that are no chance; fewer where nearly all share their times.
        const FRAMES: u64 = 64;
        const FEW: u64 = 16;
        const OF: u64 = 4;
        const LEAST: i64 = 1_000_000;
        const STEPS: [i64; 4] = [1_000_000_000, 100_000_000, 10_000_000, LEAST];
        let coarse = |step: &i64| self.step.checked_rem(*step) == Some(0);
        // The step of most is smaller than any of these.
        let is_fine = 0 < self.step && self.step < LEAST;
        let is_few = self.frames < FRAMES && (self.frames < FEW || self.same * OF < self.frames * (OF - 1));
        if is_few || is_fine { 0 } else { STEPS.into_iter().find(coarse).unwrap_or(0) }
    }
}

/// The greatest common divisor.
fn common(one: i64, other: i64) -> i64 {
    let (mut one, mut other) = (one, other);
    while let Some(rest) = one.checked_rem(other) {
        (one, other) = (other, rest);
    }
    one.saturating_abs()
}

impl Progress {
    #[inline]
    pub(in crate::matching) fn see(&mut self, time: Timestamp) {
        self.frames += 1;
        if let Some(ns) = time.ns() {
            self.stamps.see(ns);
            // Most come in order.
            if self.first.is_some() && ns >= self.latest {
                self.latest = ns;
                return;
            }
            self.first = Some(self.first.map_or(ns, |first| first.min(ns)));
            self.late += u64::from(self.frames > 1 && ns < self.latest);
            self.latest = if self.frames == 1 { ns } else { self.latest.max(ns) };
        }
    }

    /// What all times are multiples of, in nanoseconds.
    pub(in crate::matching) const fn step(&self) -> i64 {
        self.stamps.step
    }

    /// The step of timestamps that are coarse, in nanoseconds; 0 of others.
    pub(in crate::matching) fn coarseness(&self) -> i64 {
        self.stamps.coarseness()
    }

    /// No frame before this time is still to come.
    pub(in crate::matching) const fn until(&self) -> i64 {
        if self.ended { i64::MAX } else { self.latest }
    }
}
