//! A stream of a run: a capture, the captures of a named tap, or files of a rotation that were folded into one state.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufWriter, Write};

use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_128;

use crate::analysis::finish::CaptureFacts;
use crate::analysis::{Border, CaptureSpan, MergeError, StreamState, Succession};
use crate::model::Timestamp;
use crate::model::counted_name::{SeriesName, SeriesStep};

/// The longest pause between files whose names count on.
const COUNTED_PAUSE_NS: i64 = 1_000_000_000;

/// One stream, or several that follow each other.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(in crate::engine) struct Stream {
    /// The name given with `--tap` or `--stream`.
    pub(in crate::engine) tap: Option<String>,
    /// The number given with `--part`.
    pub(in crate::engine) part: Option<u32>,
    /// What was folded, in order.
    pub(in crate::engine) pieces: Vec<Piece>,
    /// Its captures, in the order that positions count them.
    pub(in crate::engine) captures: Vec<CaptureFacts>,
    /// How each capture goes on from the one before it, where that was looked at.
    pub(in crate::engine) borders: Vec<Option<Succession>>,
    pub(in crate::engine) state: StreamState,
    /// The numbers at the beginning of the first piece and at the end of the last, where there are several.
    edges: Option<Box<Edges>>,
}

/// A stream as it was read.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(in crate::engine) struct Piece {
    /// Digest of its state: the times, lengths, headers and sequence numbers of its frames, and the octets of the first one.
    pub(in crate::engine) digest: u128,
    /// How many captures it has.
    captures: u64,
    /// Paths of captures with the same frames.
    pub(in crate::engine) again: BTreeSet<String>,
}

/// An end of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::engine) enum End {
    First,
    Last,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct Edges {
    head: Border,
    tail: Border,
}

impl Stream {
    /// A stream of a settled state. One that is `alone` is compared with no other, and its state needs no digest.
    pub(in crate::engine) fn new(
        tap: Option<String>,
        captures: Vec<CaptureFacts>,
        state: StreamState,
        alone: bool,
    ) -> Self {
        let has_frames = state.captures().iter().any(|capture| capture.frames > 0);
        // Of a capture without frames nothing is known but its name.
        let named =
            || XxHash3_128::oneshot(captures.first().map_or("", |capture| capture.capture.path.as_str()).as_bytes());
        let digest = (has_frames && !alone).then(|| digest_of(&state)).flatten().unwrap_or_else(named);
        let piece = Piece { digest, captures: captures.len() as u64, again: BTreeSet::new() };
        let borders = vec![None; captures.len()];
        Self { tap, part: None, pieces: vec![piece], captures, borders, state, edges: None }
    }

    /// Whether what was read from a file fits together.
    pub(in crate::engine) fn is_sound(&self) -> bool {
        let counted = self.pieces.iter().try_fold(0u64, |sum, piece| sum.checked_add(piece.captures));
        !self.pieces.is_empty()
            && counted == Some(self.captures.len() as u64)
            && self.borders.len() == self.captures.len()
            && self.state.captures().len() == self.captures.len()
            && (self.pieces.len() == 1 || self.edges.is_some())
    }

    /// The path it is called by.
    pub(in crate::engine) fn path(&self) -> &str {
        self.captures.first().map_or("", |capture| capture.capture.path.as_str())
    }

    /// The path of its last capture.
    pub(in crate::engine) fn last_path(&self) -> &str {
        self.captures.last().map_or("", |capture| capture.capture.path.as_str())
    }

    /// Times of its earliest and its latest frame.
    pub(in crate::engine) fn times(&self) -> (Option<Timestamp>, Option<Timestamp>) {
        times(self.state.captures())
    }

    /// What the first piece covers.
    pub(in crate::engine) fn first_piece(&self) -> &[CaptureSpan] {
        let count = self.pieces.first().map_or(0, |piece| piece.captures as usize);
        self.state.captures().get(..count).unwrap_or_default()
    }

    /// What the last piece covers.
    pub(in crate::engine) fn last_piece(&self) -> &[CaptureSpan] {
        let spans = self.state.captures();
        let count = self.pieces.last().map_or(0, |piece| piece.captures as usize);
        spans.get(spans.len().saturating_sub(count)..).unwrap_or_default()
    }

    /// The first or the last piece with its span, where it has only one capture and may be a part of a rotation.
    fn end(&self, end: End) -> Option<(&Piece, &CaptureSpan)> {
        let spans = self.state.captures();
        let (piece, span) = match end {
            End::First => (self.pieces.first()?, spans.first()?),
            End::Last => (self.pieces.last()?, spans.last()?),
        };
        (piece.captures == 1 && self.part.is_none()).then_some((piece, span))
    }

    /// The names of its first or its last file, where it may be a part of a rotation: its own and those of its copies, so that it does
    /// not matter which of them came first.
    pub(in crate::engine) fn names(&self, end: End) -> BTreeSet<SeriesName> {
        let path = match end {
            End::First => self.path(),
            End::Last => self.last_path(),
        };
        let known = self.end(end).into_iter();
        known.flat_map(|(piece, _)| piece.again.iter().map(String::as_str).chain([path])).map(SeriesName::of).collect()
    }

    /// How the names of `next` follow those of this stream.
    pub(in crate::engine) fn name_steps(&self, next: &Self) -> Vec<SeriesStep> {
        let (own, later) = (self.names(End::Last), next.names(End::First));
        own.iter().flat_map(|own| later.iter().filter_map(|later| own.step_to(later))).collect()
    }

    fn head(&self) -> Cow<'_, Border> {
        self.edges.as_ref().map_or_else(|| Cow::Owned(Border::head(&self.state)), |edges| Cow::Borrowed(&edges.head))
    }

    fn tail(&self) -> Cow<'_, Border> {
        self.edges.as_ref().map_or_else(|| Cow::Owned(Border::tail(&self.state)), |edges| Cow::Borrowed(&edges.tail))
    }

    /// How `next` goes on from this stream.
    pub(in crate::engine) fn succession(&self, next: &Self) -> Succession {
        Succession::of(&self.tail(), &next.head())
    }

    /// How `next` goes on, if it is the next file of the same rotation for certain, whatever else is given: its name comes after this
    /// one's, it begins where this one ends, with no longer a pause than within the two (or a hundredth of the shorter one, where a counter in
    /// their names has a number between them), and hardly an SA misses a number, so that nothing has room between them; or its name is the
    /// next one, within a second; or its name is the next one and the numbers go on, whatever the clock did between them. It is a rule over
    /// the two files at the border alone, so that it holds or not whatever was folded before.
    pub(in crate::engine) fn followed_by(&self, next: &Self) -> Option<Succession> {
        let ((_, own), (_, later)) = (self.end(End::Last)?, next.end(End::First)?);
        let ((_, last), (first, _)) = (own.times?, later.times?);
        let mut steps = self.name_steps(next);
        steps.retain(|step| step.is_alike);
        if self.tap != next.tap || steps.is_empty() {
            return None;
        }
        let counts = steps.iter().any(|step| step.is_next);
        let usual = own.longest_pause_ns().max(later.longest_pause_ns()).max(if counts { COUNTED_PAUSE_NS } else { 0 });
        // Where a file may be missing, hardly any time has room for it.
        let shortest = |span: &CaptureSpan| span.times.and_then(|(first, last)| last.since(first)).unwrap_or(0) / 100;
        let room = steps.iter().all(|step| step.leaves_room);
        let usual = if room { usual.min(shortest(own)).min(shortest(later)) } else { usual };
        let near = first.since(last).is_some_and(|pause| (0..=usual).contains(&pause));
        if !near && !counts {
            return None;
        }
        let succession = self.succession(next);
        // Without numbers, the counter must be that of the files.
        let counts_files = steps.iter().any(|step| step.is_next && step.is_last);
        (succession.is_close() || near && succession.parallel == 0 && counts_files).then_some(succession)
    }

    /// Appends the stream that follows as `succession` says. The state should be settled afterwards.
    ///
    /// # Errors
    /// As [`StreamState::merge`].
    pub(in crate::engine) fn append(self, next: Self, succession: Succession) -> Result<Self, MergeError> {
        let Self { tap, part, mut pieces, mut captures, mut borders, state, edges } = self;
        let head = edges.map_or_else(|| Border::head(&state), |edges| edges.head);
        let tail = next.edges.map_or_else(|| Border::tail(&next.state), |edges| edges.tail);
        let state = state.merge(next.state)?;
        pieces.extend(next.pieces);
        captures.extend(next.captures);
        borders.push(Some(succession));
        borders.extend(next.borders.into_iter().skip(1));
        borders.resize(captures.len(), None);
        let edges = Some(Box::new(Edges { head, tail }));
        Ok(Self { tap, part, pieces, captures, borders, state, edges })
    }

    /// Takes note of a capture that holds the frames of piece `digest` again. The one of both that is whole, or else is named first,
    /// is the one that counts: so it does not matter which of them came first.
    pub(in crate::engine) fn note_again(&mut self, digest: u128, mut facts: CaptureFacts) {
        let Some(at) = self.pieces.iter().position(|piece| piece.digest == digest) else { return };
        let place: u64 = self.pieces.iter().take(at).map(|piece| piece.captures).sum();
        let (Some(piece), Some(own)) = (self.pieces.get_mut(at), self.captures.get_mut(place as usize)) else { return };
        let rank = |facts: &CaptureFacts| (facts.damage.is_some(), facts.capture.path.clone());
        if rank(&facts) < rank(own) {
            std::mem::swap(own, &mut facts);
        }
        if facts.capture.frames > 0 {
            piece.again.insert(facts.capture.path);
        }
    }

    /// The first capture of each piece with the paths of its copies.
    pub(in crate::engine) fn twice(&self) -> impl Iterator<Item = (&str, &str)> {
        let starts = self.pieces.iter().scan(0u64, |place, piece| {
            let start = *place;
            *place += piece.captures;
            Some(start)
        });
        self.pieces.iter().zip(starts).flat_map(|(piece, start)| {
            let path = self.captures.get(start as usize).map_or("", |capture| capture.capture.path.as_str());
            piece.again.iter().map(move |again| (path, again.as_str()))
        })
    }

    /// Captures of one piece that begin with the same frame and have as many frames, in the same time: read as one stream, they were
    /// counted twice.
    pub(in crate::engine) fn doubled(&self) -> Vec<(&str, &str)> {
        let mut known = BTreeMap::new();
        let mut doubled = Vec::new();
        let spans = self.state.captures().iter();
        let of_piece = (0..).zip(&self.pieces).flat_map(|(at, piece)| (0..piece.captures).map(move |_| at));
        for ((facts, span), piece) in self.captures.iter().zip(spans).zip(of_piece) {
            let (at, path): (u64, &str) = (piece, facts.capture.path.as_str());
            if let Some(first) = span.mark().and_then(|mark| known.insert((at, mark), path)) {
                doubled.push((first, path));
            }
        }
        doubled
    }

    /// The facts and the copies of each piece, and its digest.
    pub(in crate::engine) fn by_piece(&self) -> impl Iterator<Item = (u128, &[CaptureFacts], &BTreeSet<String>)> {
        self.pieces.iter().scan(0usize, |place, piece| {
            let facts = self.captures.get(*place..).and_then(|rest| rest.get(..piece.captures as usize));
            *place += piece.captures as usize;
            Some((piece.digest, facts.unwrap_or_default(), &piece.again))
        })
    }
}

/// Takes the digest of what is written, without keeping it.
#[derive(Default)]
struct Digest(XxHash3_128);

impl Write for Digest {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The digest of a settled state.
fn digest_of(state: &StreamState) -> Option<u128> {
    let mut written = postcard::to_io(state, BufWriter::new(Digest::default())).ok()?;
    written.flush().ok()?;
    Some(written.get_ref().0.finish_128())
}

/// Times of the earliest and the latest frame of some captures.
pub(in crate::engine) fn times(spans: &[CaptureSpan]) -> (Option<Timestamp>, Option<Timestamp>) {
    let spans = || spans.iter().filter_map(|c| c.times);
    (spans().map(|t| t.0).min(), spans().map(|t| t.1).max())
}
