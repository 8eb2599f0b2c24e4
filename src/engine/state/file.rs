//! States as files: a magic, a format version, the length and digest of a body, and the body.

use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::path::Path;

use twox_hash::XxHash3_128;

use super::slices::{Slice, Slices};
use super::{State, Unread};
use crate::analysis::Settings;
use crate::capture::Source;
use crate::engine::rotation::fold::Streams;
use crate::engine::rotation::stream::Stream;
use crate::model::Error;

const MAGIC: &[u8; 16] = b"spiglass state\r\n";
/// Version of the body; other versions are refused.
pub(super) const VERSION: u32 = 13;
/// The largest body that is read, in octets.
const LONGEST_BODY: u64 = 4 << 30;

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
        let body = postcard::to_stdvec(&(&self.settings, streams, &self.unread, &self.missing, slices))
            .map_err(io::Error::other)?;
        out.write_all(MAGIC)?;
        out.write_all(&VERSION.to_le_bytes())?;
        out.write_all(&(body.len() as u64).to_le_bytes())?;
        out.write_all(&XxHash3_128::oneshot(&body).to_le_bytes())?;
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
        let body = Body::read(name, &mut input)?.ok_or_else(|| no_state(name))?;
        let more = input.take(1).read_to_end(&mut Vec::new());
        // States that were joined would otherwise pass for the first of them.
        if more.map_err(|source| Error::Io { path: name.into(), source })? > 0 {
            return Err(wrong(
                name,
                "more data follows the state; name states one by one, or pass joined ones to standard input",
            ));
        }
        body.state(name)
    }

    /// Hands each state on standard input to `take`, where they follow each other, or the one state in a file.
    pub fn each(source: &Source, mut take: impl FnMut(Result<Self, Error>)) {
        if *source != Source::Stdin {
            return take(Self::open(source));
        }
        let name = source.name();
        let mut input = match source.open() {
            Ok(opened) => opened.input,
            Err(source) => return take(Err(Error::Io { path: name.into(), source })),
        };
        let mut states = 0u64;
        loop {
            match Body::read(name, &mut input) {
                Ok(Some(body)) => take(body.state(name)),
                Ok(None) if states == 0 => return take(Err(no_state(name))),
                Ok(None) => return,
                // Where the next one begins is not known then.
                Err(error) => return take(Err(error)),
            }
            states = states.saturating_add(1);
        }
    }
}

fn wrong(name: &Path, what: impl Into<String>) -> Error {
    Error::Format { path: name.into(), what: what.into() }
}

fn no_state(name: &Path) -> Error {
    wrong(name, "this is not a partial state; `spiglass partial` writes them")
}

/// What a body holds: settings, streams, inputs that could not be read, what else is missing, parts of files.
type Content<'b> = (Option<Settings>, Vec<&'b [u8]>, BTreeSet<Unread>, BTreeSet<String>, Vec<Slice>);

/// The body of a state with the digest it should have.
struct Body {
    octets: Vec<u8>,
    digest: [u8; 16],
}

impl Body {
    /// Reads the next one; `None` where the input ends before it.
    fn read(name: &Path, mut input: impl Read) -> Result<Option<Self>, Error> {
        let io = |source| Error::Io { path: name.into(), source };
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
        if filled == 0 {
            return Ok(None);
        }
        let (magic, rest) = head.split_at(MAGIC.len());
        if filled < head.len() || magic != MAGIC {
            return Err(no_state(name));
        }
        let (version, rest) = rest.split_at(4);
        let version = version.try_into().map_or(0, u32::from_le_bytes);
        if version != VERSION {
            return Err(wrong(
                name,
                format!(
                    "the state has format version {version}, this program reads version {VERSION}; make it again with this program"
                ),
            ));
        }
        let (length, digest) = rest.split_at(8);
        let length = length.try_into().map_or(0, u64::from_le_bytes);
        if length > LONGEST_BODY {
            let what = format!("the state claims {length} bytes, the limit is {LONGEST_BODY}; it is damaged");
            return Err(wrong(name, what));
        }
        let mut octets = Vec::new();
        input.take(length).read_to_end(&mut octets).map_err(io)?;
        if octets.len() as u64 != length {
            let what = format!("the state is cut: {length} bytes expected, {} there; make it again", octets.len());
            return Err(wrong(name, what));
        }
        Ok(Some(Self { octets, digest: digest.try_into().unwrap_or_default() }))
    }

    fn state(self, name: &Path) -> Result<State, Error> {
        if XxHash3_128::oneshot(&self.octets).to_le_bytes() != self.digest {
            return Err(wrong(name, "the state is damaged: its digest does not fit its content; make it again"));
        }
        let unreadable = |error: postcard::Error| match error {
            postcard::Error::SerdeDeCustom => {
                wrong(name, "the state holds figures that no capture makes; make it again")
            }
            error => wrong(name, format!("the state cannot be read: {error}; make it again")),
        };
        let (settings, bodies, unread, missing, parts): Content<'_> =
            postcard::from_bytes(&self.octets).map_err(unreadable)?;
        let mut streams = Streams::default();
        for body in bodies {
            let stream: Stream = postcard::from_bytes(body).map_err(unreadable)?;
            if !stream.is_sound() {
                return Err(unreadable(postcard::Error::SerdeDeCustom));
            }
            streams.insert(stream);
        }
        streams.settle();
        let mut slices = Slices::default();
        for slice in parts {
            if slice.part == 0 || slice.part > slice.of || slice.state.captures().len() != 1 {
                return Err(unreadable(postcard::Error::SerdeDeCustom));
            }
            slices.insert(slice);
        }
        Ok(State { settings, streams, slices, expectation: None, unread, missing })
    }
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
        postcard::to_stdvec(&(settings, streams, unread, missing, Vec::<&Slice>::new())).unwrap()
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
