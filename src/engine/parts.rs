//! One large file on several cores, each reading and observing a part of it.
//!
//! The states of the parts merge in order, and where a file was divided leaves no trace in what they merge to. Where a
//! part began is a guess until the part before it ends there; parts that do not fit together are read again as one.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use super::input::{Progress, ProgressUpdate};
use crate::analysis::{Observer, Settings, StreamState};
use crate::capture::limits::CHUNK_BYTES;
use crate::capture::{CaptureReader, Chunk, DigestRequest, Hasher, Part, Source};
use crate::model::report::CaptureDigest;

/// A part shorter than this many octets is not worth a thread: the first milliseconds of each part are observed at length,
/// because they may hold copies of frames before it.
const LEAST_PART: u64 = 16 << 20;
/// Each part has a state of its own until they merge: more would trade memory for little time.
const MOST_PARTS: usize = 16;

/// How many threads a file of `bytes` is worth.
pub(super) fn worth(bytes: u64, jobs: usize) -> usize {
    let most = usize::try_from(bytes / LEAST_PART).unwrap_or(MOST_PARTS);
    jobs.min(most).min(MOST_PARTS)
}

/// Reads and observes a regular file on `threads` threads. Returns a reader that knows of the file what one reader would,
/// and the state, whose parts may take `room` octets of memory together; `None` where the file cannot be divided or the parts do not fit
/// together: then it must be read as one. `alone`: no other capture comes before the file.
pub(super) fn analyse(
    source: &Source,
    threads: usize,
    (settings, room): (&Settings, u64),
    alone: bool,
    progress: &dyn Progress,
) -> Option<(CaptureReader, StreamState)> {
    let mut parts = Part::split(source, threads)?.into_iter();
    let first = parts.next()?;
    let done = Done::default();
    let begin = || {
        let mut observer = Observer::new(settings);
        observer.limit_memory(room / threads.max(1) as u64);
        observer
    };
    let (read, digest): (Vec<(Part, StreamState)>, _) = thread::scope(|scope| {
        let done = &done;
        // A digest is of the octets in order, which the parts are not read in.
        let digest =
            progress.digest().map(|request| (request, scope.spawn(move || digest_of(source, request, progress))));
        let workers: Vec<_> = parts
            .map(|part| {
                let mut observer = begin();
                observer.continue_capture();
                scope.spawn(move || observe(part, observer, done, progress))
            })
            .collect();
        // The first part's state is the one that grows, so it is this thread's.
        let mut observer = begin();
        observer.begins_stream(alone);
        let first = observe(first, observer, done, progress);
        let rest = workers.into_iter().map(|worker| match worker.join() {
            Ok(read) => read,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        let read = std::iter::once(first).chain(rest).collect();
        (
            read,
            digest.map(|(request, digest)| {
                (request, digest.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            }),
        )
    });
    let (mut reader, state) = join(read, progress.interrupted())?;
    if let Some((request, digest)) = digest {
        reader.want_digest(request);
        // A file that was written or replaced meanwhile may have been read otherwise than its digest was taken.
        let is_same = |octets: &u64| reader.info().bytes_total == Some(*octets);
        let digest = digest.filter(|(_, octets)| is_same(octets));
        reader.keep_digest(digest.map(|(digest, _)| digest));
    }
    Some((reader, state))
}

/// Digest of a file, and of how many octets it is; `None` where it cannot be read, or the run is to end.
fn digest_of(source: &Source, request: DigestRequest, progress: &dyn Progress) -> Option<(CaptureDigest, u64)> {
    let Source::Path(path) = source else { return None };
    let mut file = File::open(path).ok()?;
    if file.metadata().is_ok_and(|file| file.len() > request.most_bytes) {
        return None;
    }
    let (mut hasher, mut piece, mut octets) = (Hasher::new(request), vec![0; CHUNK_BYTES], 0);
    while !progress.interrupted() {
        match file.read(&mut piece) {
            Ok(0) => return Some((hasher.finish()?, octets)),
            Ok(n) => {
                hasher.add(piece.get(..n).unwrap_or_default());
                octets += n as u64;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
    None
}

/// How far all threads have come together. Progress figures: nothing is ordered by them.
#[derive(Default)]
struct Done {
    bytes: AtomicU64,
    frames: AtomicU64,
}

impl Done {
    fn tell(&self, reader: &CaptureReader, bytes: u64, frames: u64, progress: &dyn Progress) {
        let bytes_done = self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let frames = self.frames.fetch_add(frames, Ordering::Relaxed) + frames;
        let info = reader.info();
        progress.update(&ProgressUpdate { path: &info.path, bytes_done, bytes_total: info.bytes_total, frames });
    }
}

fn observe(mut part: Part, mut observer: Observer, done: &Done, progress: &dyn Progress) -> (Part, StreamState) {
    let mut chunk = Chunk::new();
    let reader = &mut part.reader;
    let mut consumed = 0;
    while !progress.interrupted() && reader.next_chunk(&mut chunk) {
        chunk.frames().hand_to(&mut observer);
        let bytes = reader.info().bytes_consumed;
        done.tell(reader, bytes - consumed, chunk.frame_count(), progress);
        consumed = bytes;
    }
    (part, observer.finish(1))
}

/// Merges the parts in order, up to where one reader would have ended.
fn join(parts: Vec<(Part, StreamState)>, interrupted: bool) -> Option<(CaptureReader, StreamState)> {
    // A limit was hit: what it refused depends on where the parts began.
    if parts.iter().any(|(_, state)| !state.is_exact()) {
        return None;
    }
    let mut joined: Option<(CaptureReader, StreamState)> = None;
    let last = parts.len().saturating_sub(1);
    for (place, (part, state)) in parts.into_iter().enumerate() {
        let (mut reader, state) = match joined {
            None => (part.reader, state),
            Some((before, earlier)) if part.follows(&before) => {
                let mut reader = part.reader;
                reader.continue_from(&before);
                (reader, earlier.merge(state).ok()?)
            }
            Some(before) => return interrupted.then_some(before),
        };
        if reader.ended_whole() || place == last {
            joined = Some((reader, state));
            continue;
        }
        if reader.ended_damaged() {
            return Some((reader, state)).filter(|(_, state)| state.is_exact());
        }
        // A part that ends inside a record says nothing: perhaps the next one began at the wrong place.
        reader.forgive_cut();
        return interrupted.then_some((reader, state));
    }
    joined.filter(|(_, state)| state.is_exact())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_files_are_worth_one_thread() {
        assert_eq!(worth(LEAST_PART, 8), 1);
        assert_eq!(worth(2 * LEAST_PART, 8), 2);
        assert_eq!(worth(u64::MAX, 64), MOST_PARTS);
        assert_eq!(worth(u64::MAX, 1), 1);
    }

    /// Division that quietly failed would be seen nowhere but in the time it takes.
    #[test]
    fn a_sound_file_is_really_divided() {
        let source = Source::Path("fixtures/lab/loss-before-tap-tunnel.pcap".into());
        let settings = Settings::default();
        let usual = Some(DigestRequest::default());
        let mut reader = CaptureReader::open_with_digest(&source, 0, usual).unwrap();
        let (mut chunk, mut observer) = (Chunk::new(), Observer::new(&settings));
        while reader.next_chunk(&mut chunk) {
            chunk.frames().for_each(|frame| observer.observe(&frame));
        }
        let whole = observer.finish(1);
        let digest = reader.info().digest.clone();
        assert!(digest.is_some());
        for threads in [2, 3, 5] {
            let (read, mut state) =
                analyse(&source, threads, (&settings, u64::MAX), false, &super::super::Quiet).expect("it is divided");
            state.settle();
            assert_eq!(state.difference(&whole), None, "{threads} threads");
            assert_eq!((read.info().frames, read.ended_whole()), (1_250, true));
            // The digest is that of one reading in order.
            assert_eq!(read.info().digest, digest);
        }
    }
}
