//! Frames that are taken in together.

use super::{Partial, Parts};
use crate::analysis::observe::express::{BATCH, Brief, Express};
use crate::capture::Frame;

impl Partial {
    /// Takes in the next frames of the stream: many take half the time that they take one by one.
    pub fn observe_all<'a>(&mut self, frames: impl Iterator<Item = Frame<'a>>) {
        if self.interleaved {
            frames.for_each(|frame| self.observe(&frame));
            return;
        }
        let mut briefs = [Brief::VACANT; BATCH];
        // A bit for each frame whose payload may lie in clear: asked about together, they cost no branch here.
        let (mut count, mut doubtful) = (0, 0_u64);
        for frame in frames {
            if let Some(brief) = briefs.get_mut(count) {
                doubtful |= u64::from(self.express.look(frame, brief)) << (count % BATCH);
                count += 1;
            }
            if count == BATCH {
                self.observe_batch(&mut briefs, doubtful);
                (count, doubtful) = (0, 0);
            }
        }
        self.observe_batch(briefs.get_mut(..count).unwrap_or_default(), doubtful);
    }

    /// Takes in frames that were looked at together.
    #[inline(never)]
    fn observe_batch(&mut self, briefs: &mut [Brief<'_>], doubtful: u64) {
        Express::doubt(briefs, doubtful);
        let mut rest = &*briefs;
        let generation = self.express.generation();
        loop {
            let counted = self.express.step(rest, &mut self.copies);
            let Some((odd, later)) = rest.get(counted..).and_then(<[_]>::split_first) else { return };
            if !self.express.take(odd, &mut parts!(self)) {
                self.observe(&odd.frame);
            }
            rest = later;
            if self.express.generation() != generation {
                rest.iter().for_each(|brief| self.observe(&brief.frame));
                return;
            }
        }
    }
}
