//! How many frames passed up to each moment, where some stand for others.

use super::Share;

/// A record: its flow or SA, when, and what it stands for.
#[derive(Clone, Copy, Debug)]
pub(super) struct PassedFrames {
    pub(super) stream: u16,
    pub(super) t: i64,
    pub(super) frames: f64,
}

impl PassedFrames {
    pub(super) fn new(stream: u16, t: i64, share: Share) -> Self {
        Self { stream, t, frames: f64::from(share.frames) }
    }
}

/// Numbers of frames at the times of records, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Curve {
    pub(super) t: Vec<i64>,
    pub(super) n: Vec<f64>,
}

impl Curve {
    /// Of records in order of time. What a record stands for besides itself passed evenly since the record of its stream before.
    pub(super) fn of(records: &[PassedFrames]) -> Self {
        let streams = records.iter().map(|own| usize::from(own.stream) + 1).max().unwrap_or(0);
        let mut later: Vec<Option<usize>> = vec![None; streams];
        let mut next: Vec<Option<usize>> = vec![None; records.len()];
        for (at, own) in records.iter().enumerate().rev() {
            if let (Some(slot), Some(next)) = (later.get_mut(usize::from(own.stream)), next.get_mut(at)) {
                *next = slot.replace(at);
            }
        }
        let origin = records.first().map_or(0, |own| own.t);
        let seconds = |t: i64| (t - origin) as f64 / 1e9;
        let ramp = |from: &PassedFrames, to: &PassedFrames| {
            if to.frames > 1.0 && to.t > from.t { (to.frames - 1.0) / (seconds(to.t) - seconds(from.t)) } else { 0.0 }
        };
        // Of the streams that are between two records: sum of their rates, and of their rates by their beginnings.
        let (mut rate, mut begun, mut open) = (0.0, 0.0, 0_usize);
        let mut ramps: Vec<Option<(f64, f64)>> = vec![None; streams];
        let (mut done, mut n) = (0.0, Vec::with_capacity(records.len()));
        for (at, own) in records.iter().enumerate() {
            let now = seconds(own.t);
            let Some(slot) = ramps.get_mut(usize::from(own.stream)) else { continue };
            if let Some((slope, from)) = slot.take() {
                rate -= slope;
                begun -= slope * from;
                open -= 1;
            }
            if open == 0 {
                (rate, begun) = (0.0, 0.0);
            }
            done += own.frames;
            n.push(done + rate * now - begun);
            let slope = next.get(at).copied().flatten().and_then(|to| records.get(to)).map_or(0.0, |to| ramp(own, to));
            if slope > 0.0 {
                *slot = Some((slope, now));
                rate += slope;
                begun += slope * now;
                open += 1;
            }
        }
        let mut most: f64 = 0.0;
        for n in &mut n {
            most = most.max(*n);
            *n = most;
        }
        Self { t: records.iter().map(|own| own.t).collect(), n }
    }

    /// All frames.
    pub(super) fn total(&self) -> f64 {
        self.n.last().copied().unwrap_or(0.0)
    }

    /// Frames up to a time, that time included.
    pub(super) fn at(&self, t: i64) -> f64 {
        let next = self.t.partition_point(|own| *own <= t);
        let known = |at: usize| Some((*self.t.get(at)?, *self.n.get(at)?));
        let Some((from, low)) = next.checked_sub(1).and_then(known) else { return 0.0 };
        let Some((to, high)) = known(next) else { return low };
        low + (high - 1.0 - low).max(0.0) * (t - from) as f64 / (to - from).max(1) as f64
    }

    /// Time at which `n` frames had passed.
    pub(super) fn when(&self, n: f64) -> Option<i64> {
        let next = self.n.partition_point(|own| *own < n - 1e-6).min(self.n.len().checked_sub(1)?);
        let (to, high) = (*self.t.get(next)?, *self.n.get(next)?);
        let before = next.checked_sub(1).and_then(|at| Some((*self.t.get(at)?, *self.n.get(at)?)));
        match before {
            Some((from, low)) if high - 1.0 > low && n < high => {
                let part = (n - low).max(0.0) / (high - low);
                Some(from + (part * (to - from) as f64).round() as i64)
            }
            _ => Some(to),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(stream: u16, t: i64, frames: f64) -> PassedFrames {
        PassedFrames { stream, t, frames }
    }

    #[test]
    fn without_thinning_the_curve_is_a_count() {
        let curve = Curve::of(&[record(0, 10, 1.0), record(1, 20, 1.0), record(0, 30, 1.0)]);
        assert_eq!(curve.n, [1.0, 2.0, 3.0]);
        assert_eq!((curve.at(9), curve.at(10), curve.at(29), curve.at(99)), (0.0, 1.0, 2.0, 3.0));
        assert_eq!((curve.when(1.0), curve.when(2.0), curve.when(3.0)), (Some(10), Some(20), Some(30)));
    }

    #[test]
    fn frames_between_records_pass_evenly() {
        // Of two streams of a frame each 10 ns, every tenth frame is kept, half a period apart.
        let mut records: Vec<PassedFrames> = Vec::new();
        for k in 0..100 {
            records.push(record(0, k * 100, if k == 0 { 1.0 } else { 10.0 }));
            records.push(record(1, k * 100 + 50, if k == 0 { 1.0 } else { 10.0 }));
        }
        let curve = Curve::of(&records);
        for k in 1..99 {
            assert!((curve.at(k * 100) - (20.0 * k as f64 - 4.0)).abs() < 6.0, "{} at {k}", curve.at(k * 100));
            let when = curve.when(20.0 * k as f64).unwrap();
            assert!((when - k * 100).abs() < 60, "{when} at {k}");
        }
        assert_eq!(curve.total(), 2.0 * 991.0);
    }
}
