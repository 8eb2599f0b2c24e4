//! States as files: a magic, a format version, the length and digest of a body, and the body.

use std::collections::BTreeSet;
use std::io::{self, Cursor, Read, Write};
use std::path::Path;

use twox_hash::XxHash3_128;

use super::slices::{Slice, Slices};
use super::{State, Unread};
use crate::analysis::Settings;
use crate::capture::Source;
use crate::engine::rotation::fold::Streams;
use crate::engine::rotation::stream::Stream;
use crate::model::Error;
use crate::model::counted_name::CountedName;

const MAGIC: &[u8; 16] = b"spiglass state\r\n";
/// Version of the body; other versions are refused.
pub(super) const VERSION: u32 = 22;
/// The largest body that is read, in octets.
const LONGEST_BODY: u64 = 4 << 30;
/// Octets of a state before its body.
const HEAD: usize = 44;
/// Octets of a body that are read for the name of its first capture.
const NAME: u64 = 1 << 16;
/// How often reading goes on behind a state that is damaged, where states were joined.
const RESUMED: u32 = 1_024;

/// Where a state stands among others: by the name of its first capture, then by its content.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct StatePlace {
    name: CountedName,
    path: String,
    digest: [u8; 16],
}

impl State {
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
        let slices: Vec<&Slice> = self.slices.iter().collect();
        let body =
            postcard::to_stdvec(&(self.first_path(), &self.settings, streams, &self.unread, &self.missing, slices))
                .map_err(io::Error::other)?;
        out.write_all(MAGIC)?;
        out.write_all(&VERSION.to_le_bytes())?;
        out.write_all(&(body.len() as u64).to_le_bytes())?;
        out.write_all(&XxHash3_128::oneshot(&body).to_le_bytes())?;
        out.write_all(&body)?;
        out.flush()
    }

    /// The path of the capture that comes first by its name.
    fn first_path(&self) -> &str {
        let paths = self.streams.iter().map(Stream::path);
        let paths = paths.chain(self.slices.iter().map(|slice| slice.facts.capture.path.as_str()));
        paths.min_by_key(|path| (CountedName::of(path), (*path).to_owned())).unwrap_or_default()
    }

    /// Where the state in a file stands among others, read off its beginning; `None` where that cannot be read, or not twice.
    #[must_use]
    pub(crate) fn place(source: &Source) -> Option<StatePlace> {
        let Source::Path(path) = source else { return None };
        std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
        let mut octets = Vec::new();
        source.open().ok()?.input.take(NAME + HEAD as u64).read_to_end(&mut octets).ok()?;
        let (head, body) = octets.split_at_checked(HEAD)?;
        let own = head.starts_with(MAGIC) && head.get(MAGIC.len()..MAGIC.len() + 4)? == VERSION.to_le_bytes();
        let (path, _) = postcard::take_from_bytes::<String>(body).ok().filter(|_| own)?;
        let digest = head.get(HEAD - 16..)?.try_into().ok()?;
        Some(StatePlace { name: CountedName::of(&path), path, digest })
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
        let body = Body::read(name, &mut input).map_err(|broken| broken.error)?.ok_or_else(|| no_state(name))?;
        let more = input.take(1).read_to_end(&mut Vec::new());
        // States that were joined would otherwise pass for the first of them.
        if more.map_err(|source| Error::Io { path: name.into(), source })? > 0 {
            return Err(wrong(
                name,
                "more data follows the state; name states one by one, or pass joined ones to standard input",
            ));
        }
        body.state(name).map_err(|broken| broken.error)
    }

    /// Hands each state on standard input to `take`, where they follow each other, or the one state in a file. Behind a state that is damaged
    /// it goes on with the next one.
    pub fn each(source: &Source, mut take: impl FnMut(Result<Self, Error>)) {
        if *source != Source::Stdin {
            return take(Self::open(source));
        }
        let name = source.name();
        match source.open() {
            Ok(opened) => Self::each_of(name, Joined { ahead: Cursor::default(), input: opened.input }, take),
            Err(source) => take(Err(Error::Io { path: name.into(), source })),
        }
    }

    fn each_of(name: &Path, mut input: Joined<impl Read>, mut take: impl FnMut(Result<Self, Error>)) {
        let (mut first, mut resumed) = (true, 0);
        loop {
            let broken =
                match Body::read(name, &mut input).and_then(|body| body.map(|body| body.state(name)).transpose()) {
                    Ok(Some(state)) => {
                        take(Ok(state));
                        first = false;
                        continue;
                    }
                    Ok(None) if first => return take(Err(no_state(name))),
                    Ok(None) => return,
                    Err(broken) => broken,
                };
            // What does not begin as a state is something else.
            if first && !broken.octets.starts_with(MAGIC) || resumed == RESUMED {
                return take(Err(broken.error));
            }
            (first, resumed) = (false, resumed + 1);
            match input.resume(broken.octets) {
                Ok(skipped) => {
                    let why = broken.error.to_string();
                    let why = why.strip_prefix(&format!("{}: ", name.display())).unwrap_or(&why);
                    take(Err(wrong(name, format!("{why}. {skipped} bytes were skipped"))));
                }
                Err(source) => return take(Err(Error::Io { path: name.into(), source })),
            }
        }
    }
}

/// States that follow each other.
struct Joined<R> {
    /// What was read already.
    ahead: Cursor<Vec<u8>>,
    input: R,
}

impl<R: Read> Read for Joined<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self.ahead.read(into) {
            Ok(0) => self.input.read(into),
            read => read,
        }
    }
}

impl<R: Read> Joined<R> {
    /// Goes to where the next state begins, or to the end: behind the first octet of what was `read` of one. How many octets were skipped.
    fn resume(&mut self, mut read: Vec<u8>) -> io::Result<u64> {
        let (mut from, mut skipped) = (1, 0u64);
        loop {
            let found = read.get(from..).and_then(|rest| rest.windows(MAGIC.len()).position(|octets| octets == MAGIC));
            if let Some(at) = found.map(|at| from.saturating_add(at)) {
                let mut ahead = read.split_off(at);
                // What is ahead already comes behind what was read of it.
                let place = usize::try_from(self.ahead.position()).unwrap_or(usize::MAX);
                ahead.extend_from_slice(self.ahead.get_ref().get(place..).unwrap_or_default());
                self.ahead = Cursor::new(ahead);
                return Ok(skipped.saturating_add(at as u64));
            }
            // A magic may have begun.
            let kept = read.len().saturating_sub(MAGIC.len() - 1).max(from.min(read.len()));
            skipped = skipped.saturating_add(kept as u64);
            read.drain(..kept);
            from = 0;
            let before = read.len();
            self.by_ref().take(NAME).read_to_end(&mut read)?;
            if read.len() == before {
                return Ok(skipped.saturating_add(before as u64));
            }
        }
    }
}

/// Why a state cannot be read, and what was read of it.
struct Broken {
    error: Error,
    octets: Vec<u8>,
}

fn wrong(name: &Path, what: impl Into<String>) -> Error {
    Error::Format { path: name.into(), what: what.into() }
}

fn no_state(name: &Path) -> Error {
    wrong(name, "this is not a partial state; `spiglass partial` writes them")
}

/// What a body holds: the path of its first capture, settings, streams, inputs that could not be read, what else is missing, parts of files.
type Content<'b> = (&'b str, Option<Settings>, Vec<&'b [u8]>, BTreeSet<Unread>, BTreeSet<String>, Vec<Slice>);

/// A state as it was read.
struct Body {
    /// With the head.
    octets: Vec<u8>,
}

impl Body {
    /// Reads the next one; `None` where the input ends before it.
    fn read(name: &Path, mut input: impl Read) -> Result<Option<Self>, Broken> {
        let mut octets = Vec::new();
        let mut read = |length: u64, octets: &mut Vec<u8>| match input.by_ref().take(length).read_to_end(octets) {
            Ok(_) => Ok(()),
            Err(source) => Err(Broken { error: Error::Io { path: name.into(), source }, octets: Vec::new() }),
        };
        read(HEAD as u64, &mut octets)?;
        if octets.is_empty() {
            return Ok(None);
        }
        let length = match length_of(name, &octets) {
            Ok(length) => length,
            Err(error) => return Err(Broken { error, octets }),
        };
        read(length, &mut octets)?;
        let there = octets.len().saturating_sub(HEAD) as u64;
        if there != length {
            let what = format!("the state is cut: {length} bytes expected, {there} there; make it again");
            return Err(Broken { error: wrong(name, what), octets });
        }
        Ok(Some(Self { octets }))
    }

    fn state(self, name: &Path) -> Result<State, Broken> {
        let (head, body) = self.octets.split_at_checked(HEAD).unwrap_or_default();
        if !head.ends_with(&XxHash3_128::oneshot(body).to_le_bytes()) {
            let error = wrong(name, "the state is damaged: its digest does not fit its content; make it again");
            return Err(Broken { error, octets: self.octets });
        }
        let state = content(body).map_err(|error| match error {
            postcard::Error::SerdeDeCustom => {
                wrong(name, "the state holds figures that no capture makes; make it again")
            }
            error => wrong(name, format!("the state cannot be read: {error}; make it again")),
        });
        state.map_err(|error| Broken { error, octets: self.octets })
    }
}

/// The length of the body that the head of a state claims.
fn length_of(name: &Path, head: &[u8]) -> Result<u64, Error> {
    let (magic, rest) = head.split_at_checked(MAGIC.len()).unwrap_or_default();
    if head.len() < HEAD || magic != MAGIC {
        return Err(no_state(name));
    }
    let (version, rest) = rest.split_at_checked(4).unwrap_or_default();
    let version = version.try_into().map_or(0, u32::from_le_bytes);
    if version != VERSION {
        return Err(wrong(
            name,
            format!(
                "the state has format version {version}, this program reads version {VERSION}; make it again with this program"
            ),
        ));
    }
    let length = rest.get(..8).and_then(|length| length.try_into().ok()).map_or(0, u64::from_le_bytes);
    if length > LONGEST_BODY {
        let what = format!("the state claims {length} bytes, the limit is {LONGEST_BODY}; it is damaged");
        return Err(wrong(name, what));
    }
    Ok(length)
}

/// The state that a body holds.
fn content(body: &[u8]) -> postcard::Result<State> {
    let unsound = Err(postcard::Error::SerdeDeCustom);
    let (_, settings, bodies, unread, missing, parts): Content<'_> = postcard::from_bytes(body)?;
    let mut streams = Streams::default();
    for body in bodies {
        let stream: Stream = postcard::from_bytes(body)?;
        if !stream.is_sound() {
            return unsound;
        }
        streams.insert(stream);
    }
    streams.settle();
    let mut slices = Slices::default();
    for slice in parts {
        if slice.part == 0 || slice.part > slice.of || slice.state.captures().len() != 1 {
            return unsound;
        }
        slices.insert(slice);
    }
    Ok(State { settings, streams, slices, expectation: None, unread, missing })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::StreamState;
    use crate::engine::{Input, Quiet, analyse};

    /// The body of the state of a capture, with figures that no capture makes.
    fn made_up(change: impl FnOnce(&mut StreamState)) -> Vec<u8> {
        let capture = Path::new("fixtures/seeds/test06-esp-null.pcap").to_owned();
        let input = Input { source: Source::Path(capture), tap: None };
        let state = analyse(&[input], &Settings::default(), 1, &Quiet).state;
        let State { settings, streams, unread, missing, .. } = state;
        let [mut stream]: [Stream; 1] = streams.into_streams().try_into().unwrap();
        change(&mut stream.state);
        let streams = vec![postcard::to_stdvec(&stream).unwrap()];
        postcard::to_stdvec(&("", settings, streams, unread, missing, Vec::<&Slice>::new())).unwrap()
    }

    /// States that once ended the program are replayed from files: they must be of this format, or they are refused for their version alone.
    /// `SPIGLASS_CRASHES=write cargo test --lib crashes` writes them anew.
    #[test]
    fn states_of_crashes_are_of_this_format() {
        let bodies = [
            ("more-tunnel-mode-than-frames", made_up(|state| state.claim_tunnel_mode(0, 127))),
            ("time-bins-joined-zero-times", made_up(|state| state.rates.join_zero_times())),
        ];
        for (name, body) in bodies {
            let path = format!("fixtures/crashes/state-{name}.body");
            if std::env::var_os("SPIGLASS_CRASHES").is_some() {
                std::fs::write(&path, &body).unwrap();
            }
            assert!(
                std::fs::read(&path).unwrap() == body,
                "{path} is old: SPIGLASS_CRASHES=write cargo test --lib crashes"
            );
        }
    }
}
