//! How the sequence numbers of an SA in UDP follow each other: what tells ESP from other protocols on the same port.
//!
//! Sums over neighbours in capture order, so they merge exactly.

use serde::{Deserialize, Serialize};

/// A step that ESP makes between two packets at one tap: below this, either way (lost and reordered packets).
const SMALL: u32 = 64;
/// A step beyond this, either way, is no loss of a working SA.
const FAR: u32 = 1 << 16;

/// Steps between neighbouring numbers.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Steps {
    /// Packets with a number.
    pub(crate) packets: u64,
    /// Steps of less than 64 either way, and not of 0.
    pub(crate) small: u64,
    /// Steps of 0.
    pub(crate) still: u64,
    /// Steps of more than 2^16.
    pub(crate) far: u64,
    first: Option<u32>,
    last: Option<u32>,
}

impl Steps {
    /// Takes in the number of the next packet.
    pub(crate) fn add(&mut self, number: u32) {
        if let Some(last) = self.last {
            self.step(last, number);
        }
        self.packets += 1;
        self.first = self.first.or(Some(number));
        self.last = Some(number);
    }

    /// Takes in `count` numbers that follow the last one and each other, up to `last`.
    pub(crate) fn go_on(&mut self, count: u64, last: u32) {
        self.packets += count;
        self.small += count;
        self.last = Some(last);
    }

    fn step(&mut self, before: u32, after: u32) {
        let forward = after.wrapping_sub(before);
        let step = forward.min(forward.wrapping_neg());
        self.still += u64::from(step == 0);
        self.small += u64::from((1..SMALL).contains(&step));
        self.far += u64::from(step > FAR);
    }

    /// Takes in the steps of the span that follows.
    pub(crate) fn merge(&mut self, later: Self) {
        let Self { packets, small, still, far, first, last } = later;
        if let (Some(before), Some(after)) = (self.last, first) {
            self.step(before, after);
        }
        self.packets += packets;
        self.small += small;
        self.still += still;
        self.far += far;
        self.first = self.first.or(first);
        self.last = last.or(self.last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(numbers: &[u32]) -> Steps {
        let mut steps = Steps::default();
        numbers.iter().for_each(|number| steps.add(*number));
        steps
    }

    #[test]
    fn merging_is_what_one_state_would_have_seen() {
        let numbers = [u32::MAX - 1, u32::MAX, 0, 3, 2, 2, 70, 1 << 20, 5];
        for cut in 0..=numbers.len() {
            let mut merged = steps(&numbers[..cut]);
            merged.merge(steps(&numbers[cut..]));
            assert_eq!(merged, steps(&numbers));
        }
        let mut gone_on = steps(&numbers[..1]);
        gone_on.go_on(1, u32::MAX);
        assert_eq!(gone_on, steps(&numbers[..2]));
        let all = steps(&numbers);
        assert_eq!((all.packets, all.small, all.still, all.far), (9, 4, 1, 2));
    }
}
