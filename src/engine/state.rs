//! Partial states: what a run knows of its captures. As files they merge with others.
//!
//! A state holds the streams of the run, because which captures are one tap is decided among all of them together: so the report of
//! merged states is the report of one run over all captures, whatever the grouping and the order. Only files between which nothing
//! else has room are folded into one.

pub(super) mod dir;
mod file;
pub(super) mod index;
pub(super) mod running;
mod slices;

use std::collections::{BTreeSet, HashMap, HashSet};

use serde::{Deserialize, Serialize};

use self::slices::{Slice, Slices};
use super::rotation::{MergedTap, assign};
use crate::analysis::finish::{CaptureFacts, TapState, finish};
use crate::analysis::{Expectation, Settings};
use crate::engine::rotation::fold::Streams;
use crate::model::Error;
use crate::model::report::{Capture, Exactness, Report, RunSummary};

/// The state of a run, or of several.
#[derive(Clone, Debug, Default)]
pub struct State {
    settings: Option<Settings>,
    streams: Streams,
    /// Parts of files of which others are missing.
    slices: Slices,
    /// What should be on the wire, where it was not given when the state was made.
    expectation: Option<Expectation>,
    /// What the runs that made it could not read.
    unread: BTreeSet<Unread>,
    /// What else is missing, in words.
    missing: BTreeSet<String>,
}

/// A capture that is in two states.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Repeat {
    /// As it was named when the later state was made.
    pub path: String,
    /// Digest of what is known of its frames.
    pub digest: u128,
    /// The tap that was named for it.
    pub(super) tap: Option<String>,
    /// It was here by the same path.
    pub(super) is_known: bool,
}

/// An input that could not be read.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
struct Unread {
    /// As it was named.
    path: String,
    /// The error, with its path.
    error: String,
}

impl State {
    pub(super) fn new(settings: Settings, mut streams: Streams) -> Self {
        streams.settle();
        Self { settings: Some(settings), streams, ..Self::default() }
    }

    /// Compares with what should be on the wire, given again or for the first time.
    ///
    /// # Errors
    /// Where the state was made with other policies, or with policies and none are given now.
    pub fn expect(&mut self, expectation: Expectation) -> Result<(), String> {
        let made_with = self.settings.as_ref().map(|settings| &settings.expectation);
        match made_with {
            Some(own) if own.is_absent() && expectation.policies().is_none() => {
                Err("the states were made with --config; a state holds no configuration, so give it again".into())
            }
            Some(own) if own.is_absent() && *own != expectation => {
                Err("the states were made with another --config; give the same, under the same names".into())
            }
            _ => {
                self.expectation = Some(expectation);
                Ok(())
            }
        }
    }

    /// The state of a part of a file.
    fn of_slice(settings: Settings, slice: Slice) -> Self {
        let mut state = Self { settings: Some(settings), ..Self::default() };
        state.slices.insert(slice);
        state
    }

    /// Names the stream of everything in the state, and the part of it that it is.
    pub fn label(&mut self, stream: Option<&str>, part: Option<u32>) {
        self.streams.label(stream, part);
        if let Some(stream) = stream {
            self.slices.label(stream);
        }
    }

    /// Why another state cannot be taken in, in words. One that shares a part of what it folded may be taken in once the rest of it is here.
    #[must_use]
    pub fn refusal(&self, other: &Self) -> Option<String> {
        if let Some(difference) = self.difference(other) {
            return Some(format!(
                "made with different settings than the states before it ({difference}); make one of them again"
            ));
        }
        let numbered = other.streams.iter().any(|stream| stream.part.is_some());
        let parts = if numbered { self.streams.parts() } else { HashSet::new() };
        other.streams.iter().find_map(|stream| {
            let known = stream.part.is_some_and(|part| parts.contains(&(stream.tap.as_deref(), part)));
            if known && !self.streams.holds(stream) {
                return Some(format!(
                    "part {} of stream {} is here with other content than in a state before it",
                    stream.part.unwrap_or(0),
                    stream.tap.as_deref().unwrap_or("without a name")
                ));
            }
            self.streams.refusal(stream)
        })
    }

    /// Takes in another state. The same part twice counts once.
    ///
    /// # Errors
    /// Where the two were made with different settings, a part of a stream is there twice with different content, or a file is in both
    /// folded with other files each time; nothing of the other state is taken in then.
    pub fn merge(&mut self, other: Self) -> Result<(), String> {
        if let Some(why) = self.refusal(&other) {
            return Err(why);
        }
        let Self { settings, streams, slices, expectation: _, unread, missing } = other;
        let streams = streams.into_streams();
        self.settings = self.settings.take().or(settings);
        streams.into_iter().for_each(|stream| self.streams.insert(stream));
        slices.into_vec().into_iter().for_each(|slice| self.slices.insert(slice));
        self.unread.extend(unread);
        self.missing.extend(missing);
        Ok(())
    }

    /// Sets the memory that the state may take, in octets, about.
    pub fn limit_memory(&mut self, limit: u64) {
        self.streams.limit_memory(limit);
    }

    /// Sets the shortest pause between two files of a rotation that may be a hole in the capture, in nanoseconds. A state does not keep it.
    pub fn set_hole(&mut self, hole_ns: Option<u64>) {
        if let Some(settings) = &mut self.settings {
            settings.hole_ns = hole_ns;
        }
    }

    /// Octets of memory that are left of what it may take.
    #[must_use]
    pub fn room(&self) -> u64 {
        self.streams.room()
    }

    /// Octets of memory that it takes, about.
    #[must_use]
    pub fn memory(&self) -> u64 {
        self.streams.memory()
    }

    /// Brings the states of what was merged into their normal form, as they are written.
    pub fn settle(&mut self) {
        self.slices.take_whole().into_iter().for_each(|stream| self.streams.insert_read(stream));
        self.streams.settle();
    }

    /// What it was asked for differently than another state, as an option; states that differ do not merge.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Option<String> {
        self.settings.as_ref().zip(other.settings.as_ref()).and_then(|(own, theirs)| own.difference(theirs))
    }

    /// The captures that another state holds and this one holds already.
    #[must_use]
    pub fn repeats(&self, other: &Self) -> Vec<Repeat> {
        other.streams.iter().flat_map(|stream| self.streams.repeats(stream)).collect()
    }

    /// Says of a capture that came again, and counts once, that it did.
    pub fn note(&mut self, repeat: &Repeat) {
        self.streams.note(repeat);
    }

    /// The captures that it holds, in no order, and the inputs that could not be read.
    #[must_use]
    pub fn captures(&self) -> Vec<Capture> {
        let slices = self.slices.iter().map(|slice| &slice.facts);
        let read =
            self.streams.iter().flat_map(|stream| &stream.captures).chain(slices).map(|facts| facts.capture.clone());
        read.chain(self.unread.iter().map(|one| Capture::unread(one.path.clone(), one.error.clone()))).collect()
    }

    /// Calls captures of one name by another.
    pub fn rename_input(&mut self, old: &str, new: &str) {
        for mut stream in std::mem::take(&mut self.streams).into_streams() {
            let named = stream.captures.iter_mut().map(|facts| &mut facts.capture.path).filter(|path| *path == old);
            named.for_each(|path| new.clone_into(path));
            self.streams.insert(stream);
        }
        // An error begins with the name of its input.
        let renamed = |one: Unread| match one.error.strip_prefix(&format!("{old}: ")) {
            Some(what) if one.path == old => Unread { path: new.to_owned(), error: format!("{new}: {what}") },
            _ => one,
        };
        self.unread = std::mem::take(&mut self.unread).into_iter().map(renamed).collect();
        self.settle();
    }

    /// Keeps inputs that could not be read, for its report and those of states that it goes into.
    pub fn lacks_inputs(&mut self, errors: &[Error]) {
        self.unread.extend(errors.iter().map(|error| Unread {
            path: error.path().map(|path| path.to_string_lossy().into_owned()).unwrap_or_default(),
            error: error.to_string(),
        }));
    }

    /// Keeps in words what else a run did not read, for the reports of states that this one goes into.
    pub fn lacks(&mut self, what: impl IntoIterator<Item = String>) {
        self.missing.extend(what);
    }

    /// Paths of inputs that are no capture of a tap: copies of captures, what could not be read or placed.
    fn also_given(&self, taps: &[MergedTap], errors: &[Error]) -> Vec<String> {
        let copies = taps.iter().flat_map(|tap| tap.stream.twice()).map(|(_, again)| again.to_owned());
        let unread = self.unread.iter().map(|one| one.path.clone());
        let unplaced = errors.iter().filter_map(Error::path).map(|path| path.to_string_lossy().into_owned());
        copies.chain(unread).chain(unplaced).collect()
    }

    /// The report of everything in the state, and streams that could not be put together.
    #[must_use]
    pub fn report(mut self) -> (Report, Vec<Error>) {
        let mut errors = Vec::new();
        self.settle();
        let (beginnings, missing) = self.slices.take_beginnings();
        beginnings.into_iter().for_each(|stream| self.streams.insert_read(stream));
        self.unread.extend(missing);
        let taps = assign(std::mem::take(&mut self.streams).into_streams(), &mut errors);
        let also_given = self.also_given(&taps, &errors);
        // Captures are listed by time, so that the order in which they were given or merged leaves no trace.
        let mut facts: Vec<(usize, usize, CaptureFacts)> = Vec::new();
        for (tap, merged) in taps.iter().enumerate() {
            for (place, capture) in merged.stream.captures.iter().enumerate() {
                let mut capture = capture.clone();
                capture.capture.tap.clone_from(&merged.name);
                facts.push((tap, place, capture));
            }
        }
        facts.sort_by(|(_, _, a), (_, _, b)| order_of(a).cmp(&order_of(b)));
        let index: HashMap<(usize, usize), u32> =
            (0u32..).zip(&facts).map(|(at, (tap, place, _))| ((*tap, *place), at)).collect();
        let index_of = |tap: usize, place: usize| index.get(&(tap, place)).copied().unwrap_or(0);
        let states: Vec<TapState<'_>> = taps
            .iter()
            .enumerate()
            .map(|(tap, merged)| TapState {
                name: merged.name.clone(),
                captures: (0..merged.stream.captures.len()).map(|place| index_of(tap, place)).collect(),
                borders: merged.stream.borders.clone(),
                assumed: merged.assumed.clone(),
                also_given: &also_given,
                stream: &merged.stream.state,
            })
            .collect();
        let facts: Vec<CaptureFacts> = facts.into_iter().map(|(_, _, facts)| facts).collect();
        let mut settings = self.settings.unwrap_or_default();
        if let Some(expectation) = self.expectation {
            settings.expectation = expectation;
        }
        let mut report = finish(&states, &facts, &settings);
        let unplaced = errors.iter().map(ToString::to_string);
        let left_out = errors.iter().filter_map(|error| Some((error.path()?, error.to_string())));
        let left_out = left_out.map(|(path, error)| Capture::unread(path.to_string_lossy().into_owned(), error));
        report.degraded_why.extend(
            self.unread.iter().map(|one| one.error.clone()).chain(unplaced).map(|error| format!("Not read: {error}.")),
        );
        report.degraded_why.extend(self.missing);
        if !report.degraded_why.is_empty() {
            report.exactness = Exactness::Degraded;
        }
        // Behind all others, so that the references of frames stay what they are.
        report.captures.extend(self.unread.into_iter().map(|one| Capture::unread(one.path, one.error)).chain(left_out));
        report.run = RunSummary::of(&report.captures, 0, &report.findings);
        (report, errors)
    }
}

/// What captures are listed by.
fn order_of(facts: &CaptureFacts) -> (bool, Option<i64>, Option<i64>, &str, u64, &str) {
    let c = &facts.capture;
    (c.first_ns.is_none(), c.first_ns, c.last_ns, &c.path, c.frames, &c.tap)
}
