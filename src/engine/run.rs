//! A run: every capture is analysed into a state of its own, states of one tap are merged in time order, and the
//! report is made of the taps.

use super::input::{Input, Outcome, Progress, ProgressUpdate, Settings};
use super::rotation::{Named, Stream, assign};
use super::start::start_of;
use crate::analysis::finish::{CaptureFacts, TapState, finish};
use crate::analysis::{self, Partial};
use crate::capture::{CaptureInfo, CaptureReader, Chunk};
use crate::model::report::{Capture, DamageReport, Interface};
use crate::model::{Error, Timestamp};

/// A capture that was read, as far as it could be.
pub(super) struct Analysed {
    pub(super) info: CaptureInfo,
    pub(super) interrupted: bool,
}

/// Reads and analyses `inputs` and reports what was found in all that could be read.
#[must_use]
pub fn run(inputs: &[Input], settings: &Settings, progress: &dyn Progress) -> Outcome {
    let start = start_of(inputs, settings);
    let mut run = Run {
        resolved: (!settings.is_relative() || start != Timestamp::UNKNOWN).then(|| settings.resolve(start)),
        settings,
        progress,
        errors: Vec::new(),
        captures: Vec::new(),
        streams: Vec::new(),
    };
    for named in super::rotation::by_tap(inputs) {
        if progress.interrupted() {
            break;
        }
        match named {
            Named::Alone(input) => run.one(input),
            Named::Tap(name, inputs) => run.merged(name, &inputs),
        }
    }
    run.report()
}

struct Run<'r> {
    /// Settings with all limits as moments; `None` until the first frame is known, where a limit counts from it.
    resolved: Option<analysis::Settings>,
    settings: &'r Settings,
    progress: &'r dyn Progress,
    errors: Vec<Error>,
    captures: Vec<(usize, Analysed)>,
    streams: Vec<Stream>,
}

impl Run<'_> {
    fn settings_from(&mut self, first: Timestamp) -> analysis::Settings {
        self.resolved.get_or_insert_with(|| self.settings.resolve(first)).clone()
    }

    /// Analyses a capture that no `--tap` names.
    fn one(&mut self, (order, input): (usize, &Input)) {
        let mut reader = match CaptureReader::open(&input.source, 0) {
            Ok(reader) => reader,
            Err(error) => {
                self.errors.push(error);
                return;
            }
        };
        let mut chunk = Chunk::new();
        let mut partial: Option<Partial> = None;
        while !self.progress.interrupted() && reader.next_chunk(&mut chunk) {
            let partial = match &mut partial {
                Some(partial) => partial,
                None => {
                    let first = chunk.frames().map(|f| f.time).find(|t| *t != Timestamp::UNKNOWN);
                    let settings = self.settings_from(first.unwrap_or(Timestamp::UNKNOWN));
                    partial.insert(Partial::new(&settings))
                }
            };
            for frame in chunk.frames() {
                partial.observe(&frame);
            }
            self.tell(&reader);
        }
        let mut partial = partial.unwrap_or_else(|| Partial::new(&self.settings_from(Timestamp::UNKNOWN)));
        partial.declare_captures(1);
        self.streams.push(Stream { tap: None, captures: vec![order], partial });
        self.keep(order, &reader);
    }

    /// Analyses the captures of a named tap as one stream, frame by frame in time order.
    fn merged(&mut self, name: &str, inputs: &[(usize, &Input)]) {
        let mut merge = super::interleave::Interleave::open(inputs, &mut self.errors);
        if merge.is_empty() {
            return;
        }
        let settings = self.settings_from(merge.first_time());
        let mut partial = Partial::new(&settings);
        partial.interleave_captures();
        while !self.progress.interrupted() && merge.next(|frame| partial.observe(frame)) {
            if let Some(reader) = merge.current() {
                self.tell(reader);
            }
        }
        let captures = merge.orders();
        partial.declare_captures(captures.len());
        for (order, reader) in merge.into_readers() {
            self.keep(order, &reader);
        }
        self.streams.push(Stream { tap: Some(name.to_owned()), captures, partial });
    }

    fn tell(&self, reader: &CaptureReader) {
        let info = reader.info();
        self.progress.update(&ProgressUpdate {
            path: &info.path,
            bytes_done: info.bytes_consumed,
            bytes_total: info.bytes_total,
            frames: info.frames,
        });
    }

    fn keep(&mut self, order: usize, reader: &CaptureReader) {
        let analysed = Analysed { info: reader.info().clone(), interrupted: self.progress.interrupted() };
        self.captures.push((order, analysed));
    }

    fn report(mut self) -> Outcome {
        self.captures.sort_by_key(|(order, _)| *order);
        let mut facts: Vec<CaptureFacts> = self.captures.iter().map(|(_, analysed)| capture_facts(analysed)).collect();
        let orders: Vec<usize> = self.captures.iter().map(|(order, _)| *order).collect();
        let index = |order: &usize| orders.binary_search(order).unwrap_or(0) as u32;
        for stream in &self.streams {
            for (order, span) in stream.captures.iter().zip(stream.partial.captures()) {
                if let Some(facts) = facts.get_mut(index(order) as usize) {
                    set_times(&mut facts.capture, span.times);
                }
            }
        }
        let paths: Vec<String> = facts.iter().map(|f| f.capture.path.clone()).collect();
        let name_of = |order: &usize| paths.get(index(order) as usize).cloned().unwrap_or_default();
        let taps = assign(std::mem::take(&mut self.streams), name_of, &mut self.errors);
        let states: Vec<TapState<'_>> = taps
            .iter()
            .map(|tap| TapState {
                name: tap.name.clone(),
                captures: tap.captures.iter().map(index).collect(),
                partial: &tap.partial,
            })
            .collect();
        for state in &states {
            for &capture in &state.captures {
                if let Some(facts) = facts.get_mut(capture as usize) {
                    facts.capture.tap.clone_from(&state.name);
                }
            }
        }
        let settings = self.resolved.unwrap_or_else(|| self.settings.resolve(Timestamp::UNKNOWN));
        Outcome { report: finish(&states, &facts, &settings), errors: self.errors }
    }
}

fn set_times(capture: &mut Capture, times: Option<(Timestamp, Timestamp)>) {
    let Some((first, last)) = times else { return };
    capture.first = analysis::finish::rfc3339(first);
    capture.last = analysis::finish::rfc3339(last);
    capture.first_ns = first.ns();
    capture.last_ns = last.ns();
}

fn capture_facts(analysed: &Analysed) -> CaptureFacts {
    let info = &analysed.info;
    let damage = info.damage.as_ref();
    CaptureFacts {
        capture: Capture {
            path: info.path.to_string_lossy().into_owned(),
            tap: String::new(),
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
                    drops: match (i.drops, i.os_drops) {
                        (None, None) => None,
                        (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
                    },
                })
                .collect(),
            frames: info.frames,
            bytes: info.bytes_read,
            first: None,
            last: None,
            first_ns: None,
            last_ns: None,
            complete: damage.is_none() && !analysed.interrupted,
            damage: damage.map(|d| DamageReport {
                offset: d.offset,
                frame: d.frame,
                what: d.what.clone(),
                kind: d.kind.name(),
            }),
        },
        damage: damage.map(|d| d.kind),
        further_damage: damage.map_or(0, |d| d.further),
    }
}
