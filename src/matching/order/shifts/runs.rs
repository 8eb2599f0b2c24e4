//! Runs of pairs that are all shifted: behind a packet that was lost, until the order is found again.

use super::Stretches;
use super::pair::{LONGEST, Made, PlacedPair};

/// Pairs of a run.
const RUN: usize = 6;
/// Packets by which it may be shifted.
const BY: [isize; 6] = [-1, 1, -2, 2, -3, 3];
/// Deviations from the usual delay, in usual ones, that all pairs may have on the average.
const TIMES: f64 = 2.0;

impl<M: Fn(u32, u32) -> Made> Stretches<'_, M> {
    /// Pairs in a row whose delay is off the usual one, while with the packets beside theirs it is not; `base`, `spread`: the usual delay, and how
    /// much it varies.
    pub(super) fn shifted_runs(&self, (from, to): (usize, usize), base: i64, spread: f64) -> Vec<usize> {
        let most = TIMES * spread * RUN as f64;
        let mut found = Vec::new();
        let own = self.members.get(from..to).unwrap_or_default();
        let mut offs = [0.0; LONGEST];
        offs.iter_mut().zip(own).for_each(|(off, own)| *off = own.off(own, base));
        let runs = (from..to.saturating_sub(RUN - 1)).step_by(RUN / 2);
        for (at, offs) in runs.zip(offs.windows(RUN).step_by(RUN / 2)) {
            let [a, b, c, d, e, f] = offs else { break };
            let off = a + b + c + d + e + f;
            let is_better =
                |shift: &isize| self.shifted(at, *shift, base).is_some_and(|own| own <= most && 2.0 * own < off);
            if off > most && BY.iter().any(is_better) {
                found.extend(at..at + RUN);
            }
        }
        found
    }

    /// By how much the delays of a run are off when each pair takes another packet; `None` where one does not fit.
    fn shifted(&self, at: usize, shift: isize, base: i64) -> Option<f64> {
        let mut sum = 0.0;
        for at in at..at + RUN {
            let (own, other) = (self.members.get(at)?, self.members.get(at.checked_add_signed(shift)?)?);
            if !self.fits(own, other) {
                return None;
            }
            sum += own.off(other, base);
        }
        Some(sum)
    }
}

impl PlacedPair {
    /// By how much the delay is off the usual one where another packet is the plaintext one.
    #[inline]
    fn off(&self, other: &Self, base: i64) -> f64 {
        self.tunnel_ns.saturating_sub(other.plain_ns).saturating_sub(base).saturating_abs() as f64
    }
}
