//! The stages of reading one capture on several cores.
//!
//! One thread reads and walks (and decompresses), others take a first look at the frames of a chunk, and one observes the
//! chunks in capture order. A state is built by a single observer whatever the number of threads, so it cannot depend
//! on it; what is spread is what costs most, touching the octets.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use crate::capture::{CaptureReader, Chunk, Frame};
use crate::dissect::{Glance, glance};
use crate::model::{FramePos, LinkType, Timestamp};

/// A chunk with what the first look found of its frames.
#[derive(Default)]
pub(super) struct Batch {
    chunk: Chunk,
    briefs: Vec<Brief>,
}

/// A frame without its octets: the observer of most frames never touches them.
struct Brief {
    glance: Option<Glance>,
    time: Timestamp,
    offset: u32,
    captured_bytes: u32,
    wire_bytes: u32,
    interface: u32,
    link: LinkType,
    fcs_bytes: u8,
    snap_bytes: u32,
}

/// What the observer is told of a chunk's end.
pub(super) struct Seen {
    pub(super) bytes_consumed: u64,
    pub(super) frames: u64,
}

/// Batches on their way between two stages: enough to even out their paces, few enough to stay in the cache.
const IN_FLIGHT: usize = 2;

impl Batch {
    fn look(&mut self) {
        let chunk = &self.chunk;
        self.briefs.clear();
        self.briefs.extend(chunk.frames().map(|frame| Brief {
            glance: glance(&frame),
            time: frame.time,
            offset: chunk.offset_of(&frame) as u32,
            captured_bytes: frame.data.len() as u32,
            wire_bytes: frame.wire_bytes,
            interface: frame.interface,
            link: frame.link,
            fcs_bytes: frame.fcs_bytes,
            snap_bytes: frame.snap_bytes,
        }));
    }

    /// Hands every frame to `observe`, with the first look at it.
    pub(super) fn each(&self, mut observe: impl FnMut(&Frame<'_>, Option<&Glance>)) {
        for (number, brief) in (self.chunk.first_frame()..).zip(&self.briefs) {
            let frame = Frame {
                pos: FramePos::new(self.chunk.capture(), number),
                time: brief.time,
                wire_bytes: brief.wire_bytes,
                data: self.chunk.octets(brief.offset as usize, brief.captured_bytes as usize),
                link: brief.link,
                interface: brief.interface,
                fcs_bytes: brief.fcs_bytes,
                snap_bytes: brief.snap_bytes,
            };
            observe(&frame, brief.glance.as_ref());
        }
    }

    /// Whether it has no frames, because a live input had nothing to say.
    pub(super) fn is_empty(&self) -> bool {
        self.briefs.is_empty()
    }

    /// Time of the first frame that has one.
    pub(super) fn first_time(&self) -> Option<Timestamp> {
        self.briefs.iter().map(|b| b.time).find(|t| *t != Timestamp::UNKNOWN)
    }
}

/// Reads a capture to its end on `jobs` threads (at least two) and hands its batches to `observe` in capture order, until
/// it answers false. Returns the reader.
pub(super) fn read(
    mut reader: CaptureReader,
    jobs: usize,
    mut observe: impl FnMut(&Batch, &Seen) -> bool,
) -> CaptureReader {
    // Where reading is decompressing, that is a thread's work alone; else, with two, the reader looks too.
    let lookers = jobs.saturating_sub(2);
    reader.read_large_chunks();
    let look_first = lookers == 0 && reader.info().compression.is_none();
    thread::scope(|scope| {
        let (empty_in, empty_out) = sync_channel::<Batch>((IN_FLIGHT + 1) * (lookers + 2));
        for _ in 0..(IN_FLIGHT + 1) * (lookers + 1) {
            // The channel holds as many, so this cannot block; nobody has hung up yet.
            drop(empty_in.send(Batch::default()));
        }
        let (mut senders, mut receivers): (Vec<SyncSender<_>>, Vec<Receiver<_>>) = (Vec::new(), Vec::new());
        for _ in 0..lookers.max(1) {
            let (sender, receiver) = sync_channel::<(Batch, Seen)>(IN_FLIGHT);
            if lookers == 0 {
                senders.push(sender);
                receivers.push(receiver);
                continue;
            }
            let (done_in, done_out) = sync_channel::<(Batch, Seen)>(IN_FLIGHT);
            scope.spawn(move || {
                for (mut batch, seen) in receiver {
                    batch.look();
                    if done_in.send((batch, seen)).is_err() {
                        break;
                    }
                }
            });
            senders.push(sender);
            receivers.push(done_out);
        }
        let walker = scope.spawn(move || {
            for sender in senders.iter().cycle() {
                let Ok(mut batch) = empty_out.recv() else { break };
                if !reader.next_chunk(&mut batch.chunk) {
                    break;
                }
                if look_first {
                    batch.look();
                }
                let seen = Seen { bytes_consumed: reader.info().bytes_consumed, frames: reader.info().frames };
                if sender.send((batch, seen)).is_err() {
                    break;
                }
            }
            reader
        });
        for receiver in receivers.iter().cycle() {
            let Ok((mut batch, seen)) = receiver.recv() else { break };
            if lookers == 0 && !look_first {
                batch.look();
            }
            if !observe(&batch, &seen) {
                break;
            }
            // The walker may have ended: then nobody needs it.
            drop(empty_in.send(batch));
        }
        // Hanging up ends every stage that still waits.
        drop((empty_in, receivers));
        match walker.join() {
            Ok(reader) => reader,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}
