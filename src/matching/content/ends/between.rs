//! How far apart the two plaintext sides show a packet. Of packets that are equal to others one may be taken for the next, after a lost one, so that
//! theirs is the distance of two packets.

use std::collections::HashSet;

use foldhash::fast::FixedState;

use super::{EndToEnd, Waiting};
use crate::matching::limits::ON_ITS_WAY_NS;

/// Contents of the latest pairs.
#[derive(Debug, Default)]
pub(super) struct SeenContents {
    latest: HashSet<u64, FixedState>,
    before: HashSet<u64, FixedState>,
}

impl SeenContents {
    /// Contents after which older ones are forgotten, but for as many.
    const MOST: usize = 1 << 16;

    /// Takes in the content of a pair; whether one of the latest had the same.
    pub(super) fn is_again(&mut self, key: u64) -> bool {
        let is_again = self.before.contains(&key);
        if !self.latest.insert(key) {
            return true;
        }
        if self.latest.len() >= Self::MOST {
            self.before = std::mem::take(&mut self.latest);
        }
        is_again
    }
}

impl EndToEnd {
    /// By how much the far timestamps are usually later, where enough packets without equals say so.
    pub(super) fn usual(&self) -> Option<i64> {
        self.reach.lately().filter(|_| self.reach.is_proved()).map(|(_, usual, _)| usual)
    }

    /// Least and greatest difference of the timestamps of a packet on both sides: of packets without equals, where enough say so.
    pub(super) fn reach(&self) -> (i64, i64) {
        let own = if self.apart.is_proved() { &self.apart } else { &self.reach };
        own.ever().unwrap_or((-ON_ITS_WAY_NS, ON_ITS_WAY_NS))
    }

    /// By how much the far timestamps of a flow are later, at least, usually and at most.
    pub(super) fn later(&mut self, packet: &Waiting) -> Option<(i64, i64, i64)> {
        let all = self.reach.lately();
        self.flow(packet).and_then(|(_, flow)| flow.reach.lately()).or(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_of_the_latest_pairs_are_known_again() {
        let mut seen = SeenContents::default();
        assert!((0..1_000).all(|key| !seen.is_again(key)));
        assert!((0..1_000).all(|key| seen.is_again(key)));
        let most = SeenContents::MOST as u64;
        assert!((1_000..most + 5).all(|key| !seen.is_again(key)));
        assert!(seen.is_again(7), "of the generation before");
        assert!((most + 5..3 * most).all(|key| !seen.is_again(key)));
        assert!(!seen.is_again(500));
    }
}
