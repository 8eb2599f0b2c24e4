//! Extended sequence numbers: the high half that is not on the wire (RFC 4303 section 2.2.1).

/// What is known of the high half of an SA's sequence numbers.
///
/// A receiver infers it from a window that slides with the packets it has verified (RFC 4303 appendix A2.2). A tap may see packets
/// later than any window would take them, so here it is the half that brings a number nearest to the highest verified one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HighHalf {
    /// The highest number verified; before the first, what the SA was said to begin with.
    highest: u64,
    /// Whether a packet has verified.
    verified: bool,
}

impl HighHalf {
    /// An SA that begins with this high half: 0 unless its state says otherwise.
    #[must_use]
    pub const fn starting(high: u32) -> Self {
        Self { highest: (high as u64) << 32, verified: false }
    }

    /// The high half that this low half most likely has.
    #[must_use]
    pub const fn of(&self, low: u32) -> u32 {
        let high = (self.highest >> 32) as u32;
        if !self.verified {
            return high;
        }
        let ahead = low.wrapping_sub(self.highest as u32) as i32;
        let number = self.highest.saturating_add_signed(ahead as i64);
        // Below zero there is nothing: the number is then half a cycle ahead.
        if self.highest < ahead.unsigned_abs() as u64 && ahead < 0 { 0 } else { (number >> 32) as u32 }
    }

    /// High halves worth trying, the likeliest first: the inferred one, then its neighbours. Before any packet has verified, 0
    /// and 1 besides.
    pub fn candidates(&self, low: u32) -> impl Iterator<Item = u32> + use<> {
        let likeliest = self.of(low);
        let further = [likeliest.checked_add(1), likeliest.checked_sub(1)];
        let blind = if self.verified { [None; 2] } else { [Some(0), Some(1)] };
        let mut seen = Vec::with_capacity(5);
        for high in std::iter::once(Some(likeliest)).chain(further).chain(blind).flatten() {
            if !seen.contains(&high) {
                seen.push(high);
            }
        }
        seen.into_iter()
    }

    /// Takes in that the packet with this number verified.
    pub const fn verified(&mut self, high: u32, low: u32) {
        let number = (high as u64) << 32 | low as u64;
        if !self.verified || number > self.highest {
            self.highest = number;
        }
        self.verified = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(high: u32, low: u32) -> HighHalf {
        let mut half = HighHalf::default();
        half.verified(high, low);
        half
    }

    #[test]
    fn the_half_is_that_of_the_nearest_number() {
        let half = after(7, 0xffff_ff00);
        assert_eq!(half.of(0xffff_ff01), 7);
        assert_eq!(half.of(0x10), 8, "it wraps");
        assert_eq!(half.of(0xffff_0000), 7, "late");
        assert_eq!(after(8, 5).of(0xffff_fff0), 7, "late, from before the wrap");
        assert_eq!(after(0, 5).of(0xffff_fff0), 0, "there is nothing before 0");
        assert_eq!(after(u32::MAX, u32::MAX).of(3), u32::MAX, "nor behind the end");
    }

    #[test]
    fn a_late_packet_moves_nothing() {
        let mut half = after(1, 2);
        half.verified(0, 0xffff_ffff);
        assert_eq!(half, after(1, 2));
        half.verified(1, 3);
        assert_eq!(half, after(1, 3));
    }

    #[test]
    fn candidates_begin_with_the_likeliest_and_repeat_nothing() {
        let all = |half: HighHalf, low| half.candidates(low).collect::<Vec<_>>();
        assert_eq!(all(HighHalf::default(), 9), [0, 1]);
        assert_eq!(all(HighHalf::starting(7), 9), [7, 8, 6, 0, 1]);
        assert_eq!(all(after(7, 9), 10), [7, 8, 6]);
        assert_eq!(all(after(0, 9), 10), [0, 1]);
        assert_eq!(all(HighHalf::starting(u32::MAX), 9), [u32::MAX, u32::MAX - 1, 0, 1]);
    }
}
