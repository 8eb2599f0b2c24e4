//! The best alignment shifted by packets: its rivals, looked for with as much luck as it had.

use super::{Alignment, BESIDE, Choice, EARLY, Lengths, Partner, SHIFTS, Search, median};

impl<M: Fn(u8, u32, u32) -> bool> Search<'_, M> {
    /// The offset at the beginning if each packet in the tunnel is paired with the plaintext packet `shift` places after its partner, among
    /// those whose length fits.
    fn shifted(&self, best: &Alignment, shift: isize) -> Option<i64> {
        let offset = |(at, partner): (usize, &Partner)| {
            let Partner::Found(plain, _) = partner else { return None };
            let (own, place) = self.place(at, *plain)?;
            let other = place.checked_add_signed(shift)?;
            Some(self.streams.tunnelled.get(at)?.ns.saturating_sub(self.ns(*own.at.get(other)?)))
        };
        // An alignment follows clocks that drift from where it begins.
        median(best.partners.iter().enumerate().filter_map(offset).take(EARLY).collect())
    }

    /// Where a plaintext packet stands among those of its length, if that fits a packet in the tunnel.
    fn place(&self, tunnelled: usize, plain: usize) -> Option<(&Lengths, usize)> {
        self.fitting(tunnelled).find_map(|own| Some((own, own.at.binary_search(&plain).ok()?)))
    }

    /// By how many packets of its length a rival pairs each packet later than the best alignment does.
    fn shift_of(&self, rival: &Alignment, best: &Alignment) -> Option<isize> {
        let pairs = rival.partners.iter().zip(&best.partners).enumerate();
        let shift = |(at, (theirs, ours)): (usize, (&Partner, &Partner))| {
            let (Partner::Found(theirs, _), Partner::Found(ours, _)) = (theirs, ours) else { return None };
            let (theirs, ours) = (self.place(at, *theirs)?, self.place(at, *ours)?);
            (theirs.0.bytes == ours.0.bytes)
                .then(|| i64::try_from(theirs.1).ok()?.checked_sub(i64::try_from(ours.1).ok()?))?
        };
        isize::try_from(median(pairs.filter_map(shift).collect())?).ok()
    }

    /// The best alignment, shifted by packets to where its rivals are. A rival that was looked for with less luck than the best is no less likely:
    /// each gets the best one's offset, shifted. In a burst a rival may be a packet or two beside the place where it explains most.
    pub(super) fn shifts_of(&self, best: &Alignment, all: &[Alignment]) -> Vec<Alignment> {
        let mut shifts = SHIFTS.to_vec();
        let others = all.iter().skip(1).filter_map(|rival| self.shift_of(rival, best));
        shifts.extend(others.flat_map(|shift| (-BESIDE..=BESIDE).filter_map(move |by| shift.checked_add(by))));
        shifts.sort_unstable();
        shifts.dedup();
        let begins = self.shifted(best, 0).unwrap_or(best.offset);
        let anchor = best.nth_found(EARLY / 2);
        let offsets = shifts.into_iter().filter_map(|shift| self.shifted(best, shift));
        let others = offsets.filter(|offset| offset.saturating_sub(begins).saturating_abs() > best.width);
        others.map(|offset| self.in_order(self.align(offset, best.width, anchor, Choice::Nearest))).collect()
    }
}
