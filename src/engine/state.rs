//! Partial states: what a run knows of its captures, as a file that merges with others.
//!
//! A state file is a magic, a format version, a digest and a body. The body holds the streams of the run, because which
//! captures are one tap is decided among all of them together: so the report of merged states is the report of one run over all
//! captures, whatever the grouping and the order. Only files between which nothing else has room are folded into one.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io::{self, Read, Write};
use std::path::Path;

use xxhash_rust::xxh3::xxh3_128;

use super::rotation::assign;
use crate::analysis::finish::{CaptureFacts, TapState, finish};
use crate::analysis::{Expectation, Settings};
use crate::capture::Source;
use crate::engine::rotation::fold::Streams;
use crate::engine::rotation::stream::Stream;
use crate::model::Error;
use crate::model::report::{Exactness, Report};

const MAGIC: &[u8; 16] = b"spiglass state\r\n";
/// Version of the body; other versions are refused.
const VERSION: u32 = 9;
/// What is said of an input that could not be read begins so.
const NOT_READ: &str = "Not read: ";
/// The largest body that is read, in octets.
const LONGEST_BODY: u64 = 4 << 30;

/// The state of a run, or of several.
#[derive(Clone, Debug, Default)]
pub struct State {
    settings: Option<Settings>,
    streams: Streams,
    /// What should be on the wire, where it was not given when the state was made.
    expectation: Option<Expectation>,
    /// What the runs that made it could not read, in words.
    unread: BTreeSet<String>,
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

    /// Names the stream of everything in the state, and the part of it that it is.
    pub fn label(&mut self, stream: Option<&str>, part: Option<u32>) {
        self.streams.label(stream, part);
    }

    /// Takes in another state. The same part twice counts once.
    ///
    /// # Errors
    /// Where the two were made with different settings, or a part of a stream is there twice with different content;
    /// nothing is taken in then.
    pub fn merge(&mut self, other: Self) -> Result<(), String> {
        let Self { settings, streams, expectation: _, unread } = other;
        if let (Some(own), Some(theirs)) = (&self.settings, &settings)
            && let Some(difference) = own.difference(theirs)
        {
            return Err(format!(
                "made with different settings than the states before it ({difference}); make one of them again. Nothing was merged."
            ));
        }
        let streams = streams.into_streams();
        let numbered = streams.iter().any(|stream| stream.part.is_some());
        let parts = if numbered { self.streams.parts() } else { HashSet::new() };
        for stream in &streams {
            let known = stream.part.is_some_and(|part| parts.contains(&(stream.tap.as_deref(), part)));
            if known && !self.streams.holds(stream) {
                return Err(format!(
                    "part {} of stream {} is here with other content than in a state before it. Nothing was merged.",
                    stream.part.unwrap_or(0),
                    stream.tap.as_deref().unwrap_or("without a name")
                ));
            }
            if let Some(why) = self.streams.refusal(stream) {
                return Err(why);
            }
        }
        self.settings = self.settings.take().or(settings);
        streams.into_iter().for_each(|stream| self.streams.insert(stream));
        self.unread.extend(unread);
        Ok(())
    }

    /// Sets the memory that the state may take, in octets, about.
    pub fn limit_memory(&mut self, limit: u64) {
        self.streams.limit_memory(limit);
    }

    /// Whether the memory that it may take is full.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.streams.room() == 0
    }

    /// Brings the states of what was merged into their normal form, as they are written.
    pub fn settle(&mut self) {
        self.streams.settle();
    }

    /// Inputs that the runs that made it could not read.
    #[must_use]
    pub fn unreadable(&self) -> u64 {
        self.unread.iter().filter(|what| what.starts_with(NOT_READ)).count() as u64
    }

    /// Keeps inputs that could not be read, for the reports of states that this one goes into.
    pub fn lacks_inputs(&mut self, errors: &[Error]) {
        self.lacks(errors.iter().map(|error| format!("{NOT_READ}{error}.")));
    }

    /// Keeps what a run could not read, for the reports of states that this one goes into.
    pub fn lacks(&mut self, what: impl IntoIterator<Item = String>) {
        self.unread.extend(what);
    }

    /// The report of everything in the state, and streams that could not be put together.
    #[must_use]
    pub fn report(self) -> (Report, Vec<Error>) {
        let mut errors = Vec::new();
        let taps = assign(self.streams.into_streams(), &mut errors);
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
                partial: &merged.stream.partial,
            })
            .collect();
        let facts: Vec<CaptureFacts> = facts.into_iter().map(|(_, _, facts)| facts).collect();
        let mut settings = self.settings.unwrap_or_default();
        if let Some(expectation) = self.expectation {
            settings.expectation = expectation;
        }
        let mut report = finish(&states, &facts, &settings);
        if !self.unread.is_empty() {
            report.degraded_why.extend(self.unread);
            report.exactness = Exactness::Degraded;
        }
        (report, errors)
    }

    /// Writes the state.
    ///
    /// # Errors
    /// What `out` answers.
    pub fn write(&self, mut out: impl Write) -> io::Result<()> {
        let mut streams: Vec<Vec<u8>> = Vec::new();
        for stream in self.streams.iter() {
            streams.push(postcard::to_stdvec(stream).map_err(io::Error::other)?);
        }
        // The same state whatever the order in which it came together.
        streams.sort_unstable();
        let body = postcard::to_stdvec(&(&self.settings, streams, &self.unread)).map_err(io::Error::other)?;
        out.write_all(MAGIC)?;
        out.write_all(&VERSION.to_le_bytes())?;
        out.write_all(&(body.len() as u64).to_le_bytes())?;
        out.write_all(&xxh3_128(&body).to_le_bytes())?;
        out.write_all(&body)?;
        out.flush()
    }

    /// Reads the state in a file or on standard input.
    ///
    /// # Errors
    /// As [`State::read`].
    pub fn open(source: &Source) -> Result<Self, Error> {
        let name = source.name();
        let opened = source.open().map_err(|source| Error::Io { path: name.into(), source })?;
        Self::read(name, opened.input)
    }

    /// Reads a state; `name` is what messages call it.
    ///
    /// # Errors
    /// [`Error::Io`] or, where it is no sound state of this version, [`Error::Format`].
    pub fn read(name: &Path, mut input: impl Read) -> Result<Self, Error> {
        let io = |source| Error::Io { path: name.into(), source };
        let wrong = |what: String| Error::Format { path: name.into(), what };
        let mut head = [0u8; 44];
        let mut filled = 0;
        while filled < head.len() {
            match input.read(head.get_mut(filled..).unwrap_or_default()) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(io(error)),
            }
        }
        let (magic, rest) = head.split_at(MAGIC.len());
        if filled < head.len() || magic != MAGIC {
            return Err(wrong("this is not a partial state; `spiglass partial` writes them".into()));
        }
        let (version, rest) = rest.split_at(4);
        let version = version.try_into().map_or(0, u32::from_le_bytes);
        if version != VERSION {
            return Err(wrong(format!(
                "the state has format version {version}, this program reads version {VERSION}; make it again with this program"
            )));
        }
        let (length, digest) = rest.split_at(8);
        let length = length.try_into().map_or(0, u64::from_le_bytes);
        if length > LONGEST_BODY {
            return Err(wrong(format!("the state claims {length} bytes, the limit is {LONGEST_BODY}; it is damaged")));
        }
        let mut body = Vec::new();
        input.by_ref().take(length).read_to_end(&mut body).map_err(io)?;
        if body.len() as u64 != length {
            return Err(wrong(format!(
                "the state is cut: {length} bytes expected, {} there; make it again",
                body.len()
            )));
        }
        // States that were joined would otherwise pass for the first of them.
        if input.take(1).read_to_end(&mut Vec::new()).map_err(io)? > 0 {
            return Err(wrong(
                "more data follows the state; name states one by one instead of joining their files".into(),
            ));
        }
        if xxh3_128(&body).to_le_bytes() != digest {
            return Err(wrong("the state is damaged: its digest does not fit its content; make it again".into()));
        }
        let unreadable = |error: postcard::Error| match error {
            postcard::Error::SerdeDeCustom => {
                wrong("the state holds figures that no capture makes; make it again".into())
            }
            error => wrong(format!("the state cannot be read: {error}; make it again")),
        };
        let (settings, bodies, unread): (Option<Settings>, Vec<&[u8]>, BTreeSet<String>) =
            postcard::from_bytes(&body).map_err(unreadable)?;
        let mut streams = Streams::default();
        for body in bodies {
            let stream: Stream = postcard::from_bytes(body).map_err(unreadable)?;
            if !stream.is_sound() {
                return Err(unreadable(postcard::Error::SerdeDeCustom));
            }
            streams.insert(stream);
        }
        streams.settle();
        Ok(Self { settings, streams, expectation: None, unread })
    }
}

/// What captures are listed by.
fn order_of(facts: &CaptureFacts) -> (bool, Option<i64>, Option<i64>, &str, u64, &str) {
    let c = &facts.capture;
    (c.first_ns.is_none(), c.first_ns, c.last_ns, &c.path, c.frames, &c.tap)
}
