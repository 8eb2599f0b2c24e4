//! The packets of a span before a device and behind it.

use super::both_ways::QueuedSpan;
use super::row::{FrameRow, MISSING};

/// Where a packet was seen behind a device.
#[derive(Clone, Copy)]
pub(super) struct SeenBehind {
    pub(super) t: i64,
    middle: (i64, u16),
    out: i64,
}

/// The packets of a span before a device and behind it.
pub(super) struct AtDevice {
    /// When they came, and which they are.
    pub(super) came: Vec<(i64, usize)>,
    pub(super) left: Vec<SeenBehind>,
    /// The least time between.
    pub(super) least: i64,
}

impl AtDevice {
    /// The device between the tap of this number and the next one. `None` where it is not known which frames belong together.
    pub(super) fn of(row: &FrameRow, stage: usize, (from, to): (usize, usize)) -> Option<Self> {
        let seen = |stage: usize| (from..to).filter(move |i| row.times(stage, *i) != MISSING);
        let mut came: Vec<(i64, usize)> = seen(stage).map(|i| (row.times(stage, i), i)).collect();
        came.sort_unstable();
        let last = row.places.len() - 1;
        let middle = |i: usize| row.middle.get(i).copied().unwrap_or((MISSING, 0));
        let mut left: Vec<SeenBehind> = seen(stage + 1)
            .map(|i| SeenBehind { t: row.times(stage + 1, i), middle: middle(i), out: row.times(last, i) })
            .collect();
        left.sort_by_key(|own| own.t);
        if stage + 1 < last && seen(last).any(|i| row.times(stage + 1, i) == MISSING) {
            // What came out was at the tap between, in the same order.
            let mut out: Vec<i64> = seen(last).map(|i| row.times(last, i)).collect();
            out.sort_unstable();
            if out.len() != left.len() {
                return None;
            }
            left.iter_mut().zip(out).for_each(|(own, out)| own.out = out);
        }
        // No packet takes less time than the fastest of those that both places show.
        let all = 0..row.t.len();
        let both = all.filter(|i| row.times(stage, *i) != MISSING && row.times(stage + 1, *i) != MISSING);
        let least = both.map(|i| row.times(stage + 1, i) - row.times(stage, i)).min().unwrap_or(0);
        Some(Self { came, left, least })
    }

    /// Puts what left where the chosen packets are, unless content tells which packets came out: no rule of a queue at the tap between does.
    pub(super) fn put(&self, row: &mut FrameRow, stage: usize, (from, to): (usize, usize), chosen: &[usize]) {
        let (last, next) = (row.places.len() - 1, stage + 1);
        let by_order = |own: &QueuedSpan| row.last() == Some(own.place) && own.from < to && from < own.to;
        if next < last && !row.queued.iter().any(by_order) {
            return;
        }
        if let Some(own) = row.out.get_mut(from..to) {
            own.fill(MISSING);
        }
        if let Some(own) = row.middle.get_mut(from..to).filter(|_| next < last) {
            own.fill((MISSING, 0));
        }
        for (seen, at) in self.left.iter().zip(chosen) {
            let Some((_, i)) = self.came.get(*at) else { continue };
            if let Some(out) = row.out.get_mut(*i) {
                *out = seen.out;
            }
            if let Some(middle) = row.middle.get_mut(*i).filter(|_| next < last) {
                *middle = seen.middle;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::lengths::Lengths;
    use super::*;
    use crate::model::trials::Direction;
    use crate::trials::read::Place;

    /// The ends are paired by content, so it is known what came out: a queue that is guessed from equal lengths at the tap between does not change it.
    #[test]
    fn what_content_tells_no_queue_changes() {
        let places = [Place::Near, Place::Middle, Place::Far];
        let mut row = FrameRow::of_places(Direction::Fwd, places.to_vec(), Lengths::default(), false);
        row.t = vec![0, 10, 20];
        row.out = vec![5, MISSING, 25];
        row.middle = vec![(2, 600), (MISSING, 0), (22, 600)];
        let at = AtDevice::of(&row, 0, (0, 3)).expect("both taps show them");
        at.put(&mut row, 0, (0, 3), &[0, 1]);
        assert_eq!(row.out, [5, MISSING, 25]);
        assert_eq!(row.middle, [(2, 600), (MISSING, 0), (22, 600)]);
    }
}
