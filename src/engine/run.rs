//! A run: every capture is analysed into a state of its own, states of one tap are merged in time order, as soon as their neighbours
//! are known, and the report is made of the taps.

mod in_order;
mod named;

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use self::in_order::{Analysis, InOrder};
use super::input::{Input, Outcome, Progress, ProgressUpdate, Settings};
use super::live;
use super::pipeline;
use super::rotation::Named;
use super::start::start_of;
use super::state::State;
use crate::analysis::finish::CaptureFacts;
use crate::analysis::{self, Observer, StreamState};
use crate::capture::{CaptureInfo, CaptureReader, Chunk, Source};
use crate::engine::rotation::fold::Streams;
use crate::engine::rotation::stream::Stream;
use crate::model::counted_name::CountedName;
use crate::model::report::{Capture, DamageReport, Interface};
use crate::model::{Error, Timestamp};

/// Smaller captures than this many octets are read on one thread: starting others would cost more.
const WORTH_THREADS: u64 = 1 << 22;

/// With at least this many captures for each thread, threads take captures; with fewer, they share each one.
const MANY: usize = 2;

/// What came of analysing captures.
#[derive(Debug)]
#[must_use = "`errors` names the inputs that could not be read"]
pub struct Analysed {
    /// All that could be read.
    pub state: State,
    /// Inputs that could not be read at all.
    pub errors: Vec<Error>,
}

/// The machine's cores, as far as this process may use them.
#[must_use]
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Reads and analyses `inputs` on up to `jobs` threads into a state.
pub fn analyse(inputs: &[Input], settings: &Settings, jobs: usize, progress: &dyn Progress) -> Analysed {
    take_in(inputs, settings, jobs, progress, false)
}

/// `alone`: no other capture comes, here or from a state, so it is compared with none.
fn take_in(inputs: &[Input], settings: &Settings, jobs: usize, progress: &dyn Progress, alone: bool) -> Analysed {
    let start = start_of(inputs, settings);
    let streams = Mutex::new(Streams::with_limit(settings.memory_limit));
    let mut run = Run {
        resolved: (!settings.is_relative() || start != Timestamp::UNKNOWN).then(|| settings.resolve(start)),
        settings,
        jobs,
        progress,
        alone,
        errors: Vec::new(),
        streams: &streams,
        held: None,
    };
    let mut named = super::rotation::by_tap(inputs);
    if run.resolved.is_some() {
        // Files of a rotation in their order, so that each is folded as soon as it is read.
        named.sort_by_cached_key(|named| CountedName::of(&named.path().to_string_lossy()));
    }
    run.each(&named);
    let settings = run.resolved.unwrap_or_else(|| settings.resolve(Timestamp::UNKNOWN));
    let mut errors = run.errors;
    let order: HashMap<&Path, usize> = inputs.iter().map(|input| input.source.name()).zip(0..).collect();
    errors.sort_by_key(|error| error.path().and_then(|path| order.get(path)));
    let streams = streams.into_inner().unwrap_or_else(PoisonError::into_inner);
    let left_out = progress.interrupted().then(|| in_order::left_out(&streams, inputs, &errors)).flatten();
    let mut state = State::new(settings, streams);
    state.lacks(left_out);
    Analysed { state, errors }
}

/// Reads and analyses `inputs` on up to `jobs` threads and reports what was found in all that could be read. The report does
/// not depend on `jobs`.
pub fn run(inputs: &[Input], settings: &Settings, jobs: usize, progress: &dyn Progress) -> Outcome {
    let Analysed { mut state, mut errors } = take_in(inputs, settings, jobs, progress, inputs.len() == 1);
    state.lacks_inputs(&errors);
    let (report, more) = state.report();
    errors.extend(more);
    Outcome { report, errors }
}

/// Analyses one capture that comes while it is read, a pipe or a file that grows, and goes on with the next one where a file is followed by
/// another of its name. Reports of what was read so far go to [`Progress::interim`].
pub fn watch(input: &Input, settings: &Settings, progress: &dyn Progress) -> Outcome {
    let streams = Mutex::new(Streams::with_limit(settings.memory_limit));
    let (alone, errors) = (false, Vec::new());
    let mut run = Run { resolved: None, settings, jobs: 1, progress, alone, errors, streams: &streams, held: None };
    match &input.source {
        Source::Path(path) if progress.follows() => run.follow(input, path),
        _ => {
            run.one(input);
        }
    }
    let settings = run.resolved.unwrap_or_else(|| settings.resolve(Timestamp::UNKNOWN));
    let mut errors = run.errors;
    let streams = streams.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut state = State::new(settings, streams);
    state.lacks_inputs(&errors);
    let (report, more) = state.report();
    errors.extend(more);
    Outcome { report, errors }
}

struct Run<'r> {
    /// Settings with all limits as moments; `None` until the first frame is known, where a limit counts from it.
    resolved: Option<analysis::Settings>,
    settings: &'r Settings,
    jobs: usize,
    progress: &'r dyn Progress,
    /// Its one capture is compared with no other.
    alone: bool,
    errors: Vec<Error>,
    streams: &'r Mutex<Streams>,
    /// What was read and waits for its turn; `None` where it is taken in at once.
    held: Option<Vec<Stream>>,
}

impl Run<'_> {
    /// Side by side where there are many, else one after another.
    fn each(&mut self, named: &[Named<'_>]) {
        if self.jobs > 1 && named.len() >= MANY * self.jobs && self.resolved.is_some() {
            self.side_by_side(named);
        } else {
            self.all(named);
        }
    }

    /// One after another, each on all threads.
    fn all(&mut self, named: &[Named<'_>]) {
        for named in named {
            if self.progress.interrupted() {
                break;
            }
            match named {
                Named::Alone(input) => {
                    self.one(input);
                }
                Named::Tap(name, inputs) => {
                    if !self.in_turn(inputs) {
                        self.merged(name, inputs);
                    }
                }
            }
        }
    }

    /// Each on one thread, as many at a time as there are threads.
    fn side_by_side(&mut self, named: &[Named<'_>]) {
        /// Captures for each thread that may be done before their turn.
        const AHEAD: usize = 32;
        let (next, order) = (AtomicUsize::new(0), InOrder::new(self.streams, AHEAD * self.jobs));
        let worker = || {
            let mut done = Vec::new();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(one) = named.get(at) else { return done };
                let place = order.place(at);
                let mut run = Run {
                    resolved: self.resolved.clone(),
                    settings: self.settings,
                    jobs: 1,
                    progress: self.progress,
                    alone: self.alone,
                    errors: Vec::new(),
                    streams: self.streams,
                    held: Some(Vec::new()),
                };
                run.all(std::slice::from_ref(one));
                place.take(Analysis::of(run.held.unwrap_or_default(), &run.errors, self.progress));
                done.push((at, run.errors));
            }
        };
        let mut done: Vec<(usize, Vec<Error>)> = thread::scope(|scope| {
            let workers: Vec<_> = (0..self.jobs).map(|_| scope.spawn(worker)).collect();
            workers
                .into_iter()
                .flat_map(|worker| match worker.join() {
                    Ok(done) => done,
                    Err(panic) => std::panic::resume_unwind(panic),
                })
                .collect()
        });
        done.sort_unstable_by_key(|(at, _)| *at);
        self.errors.extend(done.into_iter().flat_map(|(_, errors)| errors));
    }

    fn settings_from(&mut self, first: Timestamp) -> analysis::Settings {
        self.resolved.get_or_insert_with(|| self.settings.resolve(first)).clone()
    }

    /// The observer of a capture that begins at `first`, with the memory that is left.
    fn begin(&mut self, first: Timestamp) -> Observer {
        let mut observer = Observer::new(&self.settings_from(first));
        observer.limit_memory(self.room());
        observer.begins_stream(self.alone);
        observer
    }

    fn room(&self) -> u64 {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner).room()
    }

    /// Analyses the files that have a name one after another. What stands after damage is no capture: the next file is waited for.
    fn follow(&mut self, input: &Input, path: &Path) {
        let _drained = self.progress.interrupt().map(live::Drained::growing);
        while !self.progress.interrupted() && self.errors.is_empty() {
            let begun = live::growing::FollowedName::new(path);
            if self.one(input) {
                begun.wait_for_next(|| {
                    self.interim(None);
                    self.progress.interrupted()
                });
            }
        }
    }

    /// Analyses a capture by itself; whether it is damaged.
    fn one(&mut self, input: &Input) -> bool {
        let mut reader = match live::open(&input.source, 0, self.progress) {
            Ok(reader) => reader,
            // A pipe that had not said anything yet is no error.
            Err(_) if self.progress.interrupted() => return false,
            Err(error) => {
                self.errors.push(error);
                return false;
            }
        };
        let (bytes, compressed) = (reader.info().bytes_total, reader.info().compression.is_some());
        if let Some(interrupt) = self.progress.interrupt() {
            interrupt.allow_pauses(!compressed);
        }
        let threads = bytes.filter(|_| !compressed).map_or(1, |bytes| super::parts::worth(bytes, self.jobs));
        let in_parts = match &self.resolved {
            Some(settings) if threads > 1 => {
                super::parts::analyse(&input.source, threads, (settings, self.room()), self.alone, self.progress)
            }
            _ => None,
        };
        let state = match in_parts {
            Some((read, state)) => {
                reader = read;
                state
            }
            None if self.jobs > 1 && bytes.is_none_or(|bytes| bytes >= WORTH_THREADS) => {
                let (read, state) = self.on_threads(reader);
                reader = read;
                state
            }
            None => self.on_one(&mut reader),
        };
        if self.progress.interrupted() {
            reader.forgive_cut();
        }
        self.keep(input.tap.clone(), state, &[&reader]);
        reader.info().damage.is_some()
    }

    /// Reads and observes on this thread.
    fn on_one(&mut self, reader: &mut CaptureReader) -> StreamState {
        let mut chunk = Chunk::new();
        let mut begun: Option<Observer> = None;
        while !self.progress.interrupted() && reader.next_chunk(&mut chunk) {
            if chunk.frame_count() == 0 && begun.is_none() {
                continue;
            }
            let observer = match &mut begun {
                Some(observer) => observer,
                None => {
                    let first = chunk.frames().map(|f| f.time).find(|t| *t != Timestamp::UNKNOWN);
                    begun.insert(self.begin(first.unwrap_or(Timestamp::UNKNOWN)))
                }
            };
            chunk.frames().hand_to(observer);
            self.tell(reader);
            self.interim(Some((observer, reader.info())));
        }
        begun.unwrap_or_else(|| self.begin(Timestamp::UNKNOWN)).finish(1)
    }

    /// Observes on this thread what others read.
    fn on_threads(&mut self, reader: CaptureReader) -> (CaptureReader, StreamState) {
        let mut begun: Option<Observer> = None;
        let (path, bytes_total) = (reader.info().path.clone(), reader.info().bytes_total);
        let (jobs, progress) = (self.jobs, self.progress);
        let mut info = reader.info().clone();
        let reader = pipeline::read(reader, jobs, |batch, seen| {
            if batch.is_empty() && begun.is_none() {
                return !progress.interrupted();
            }
            let observer = match &mut begun {
                Some(observer) => observer,
                None => begun.insert(self.begin(batch.first_time().unwrap_or(Timestamp::UNKNOWN))),
            };
            batch.each(|frame, glance| observer.observe_glanced(frame, glance));
            progress.update(&ProgressUpdate {
                path: &path,
                bytes_done: seen.bytes_consumed,
                bytes_total,
                frames: seen.frames,
            });
            info.frames = seen.frames;
            self.interim(Some((observer, &info)));
            !progress.interrupted()
        });
        (reader, begun.unwrap_or_else(|| self.begin(Timestamp::UNKNOWN)).finish(1))
    }

    /// Reports what was read so far, of a capture that is being read too, where that is wanted now.
    fn interim(&self, reading: Option<(&Observer, &CaptureInfo)>) {
        let Some(interrupt) = self.progress.interrupt().filter(|interrupt| interrupt.is_report_due()) else { return };
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((observer, info)) = reading {
            let state = observer.clone().finish(1);
            let times = state.captures().first().and_then(|span| span.times);
            streams.insert_read(Stream::new(None, vec![capture_facts(info, true, times)], state, self.alone));
        }
        let settings = self.resolved.clone().unwrap_or_else(|| self.settings.resolve(Timestamp::UNKNOWN));
        self.progress.interim(State::new(settings, streams).report().0);
        interrupt.reported();
    }

    fn tell(&self, reader: &CaptureReader) {
        self.progress.update(&ProgressUpdate::of(reader.info()));
    }

    fn keep(&mut self, tap: Option<String>, state: StreamState, readers: &[&CaptureReader]) {
        let interrupted = self.progress.interrupted();
        let captures = readers
            .iter()
            .zip(state.captures())
            .map(|(reader, span)| capture_facts(reader.info(), interrupted, span.times))
            .collect();
        self.take(Stream::new(tap, captures, state, self.alone));
    }

    fn take(&mut self, stream: Stream) {
        match &mut self.held {
            Some(held) => held.push(stream),
            None => self.streams.lock().unwrap_or_else(PoisonError::into_inner).insert_read(stream),
        }
    }
}

pub(super) fn capture_facts(
    info: &CaptureInfo,
    interrupted: bool,
    times: Option<(Timestamp, Timestamp)>,
) -> CaptureFacts {
    let damage = info.damage.as_ref();
    let mut facts = CaptureFacts {
        capture: Capture {
            format: info.format.to_owned(),
            compression: info.compression.map(str::to_owned),
            link_types: info.link_types.iter().map(ToString::to_string).collect(),
            interfaces: info
                .interfaces
                .iter()
                .map(|i| Interface {
                    name: i.name.clone(),
                    link_type: i.link.to_string(),
                    snaplen: (i.snaplen > 0).then_some(i.snaplen),
                    drops: i.lost(),
                })
                .collect(),
            frames: info.frames,
            bytes: info.bytes_read,
            complete: damage.is_none() && !interrupted,
            damage: damage.map(|d| DamageReport {
                offset: d.offset,
                frame: d.frame,
                what: d.what.clone(),
                kind: d.kind.name().into(),
            }),
            error: None,
            digest: info.digest.clone().filter(|_| !interrupted),
            digest_missing: info.digest_missing(interrupted).map(str::to_owned),
            ..Capture::unread(info.path.to_string_lossy().into_owned(), String::new())
        },
        damage: damage.map(|d| d.kind),
        further_damage: damage.map_or(0, |d| d.further),
        unread: info.unread(),
    };
    facts.span(times);
    facts
}
