//! A capture written again with comments, while it is read.

use std::io::{self, Write};

use super::input::{Progress, ProgressUpdate};
use crate::capture::{About, CaptureInfo, CaptureReader, Chunk, Comments, Rewrite, Rewritten};

/// What came of it.
#[derive(Clone, Debug)]
pub struct Annotated {
    /// What was written.
    pub written: Rewritten,
    /// What the capture says of itself, and its damage.
    pub info: CaptureInfo,
}

/// Writes the capture of `reader` again as pcapng, with `comments`. Everything before damage or an interrupt is written.
///
/// # Errors
/// Of the output.
pub fn annotate(
    mut reader: CaptureReader,
    comments: &Comments,
    about: About,
    out: impl Write,
    progress: &dyn Progress,
) -> io::Result<Annotated> {
    let mut rewrite = Rewrite::new(out, about, comments);
    let mut chunk = Chunk::new();
    while !progress.interrupted() && reader.next_span(&mut chunk) {
        rewrite.chunk(&chunk)?;
        progress.update(&ProgressUpdate::of(reader.info()));
    }
    let written = rewrite.finish(&reader)?;
    Ok(Annotated { written, info: reader.info().clone() })
}
