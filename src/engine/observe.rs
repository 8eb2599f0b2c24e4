//! The frames of a chunk go to the state that observes them.

use crate::analysis::Partial;
use crate::capture::{Chunk, Frame, FrameTaker};

struct Observer<'p>(&'p mut Partial);

impl FrameTaker for Observer<'_> {
    fn take<'a>(&mut self, frames: impl Iterator<Item = Frame<'a>>) {
        self.0.observe_all(frames);
    }
}

/// Takes in all frames of a chunk.
pub(super) fn observe_chunk(partial: &mut Partial, chunk: &Chunk) {
    chunk.frames().hand_to(&mut Observer(partial));
}
