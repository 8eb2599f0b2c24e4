//! Where the records of one huge file begin, so that processes can analyse parts of it that fit together exactly.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};
use twox_hash::{XxHash3_64, XxHash3_128};

use super::State;
use super::slices::Slice;
use crate::analysis::Observer;
use crate::capture::{CaptureReader, Chunk, Part, Source};
use crate::engine::run::capture_facts;
use crate::engine::start::start_of;
use crate::engine::{Input, Progress, ProgressUpdate, Settings};
use crate::model::Error;
use crate::model::report::Capture;

const MAGIC: &[u8; 16] = b"spiglass index\r\n";
const VERSION: u32 = 1;
/// Places that an index holds at most; more parts than these nobody has machines for.
const MOST_PLACES: u64 = 1 << 16;
/// Octets of a place that are compared before its part is read.
const MARK: usize = 256;

/// Places in a file where a record begins and everything that later records need was said before the first of them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RecordIndex {
    /// Length of the file in octets.
    length: u64,
    places: Vec<Place>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Place {
    offset: u64,
    /// Digest of the octets from there on.
    mark: u64,
}

impl RecordIndex {
    /// Walks over the records of a file. A compressed file, and what is behind a later description of interfaces, is one part.
    ///
    /// # Errors
    /// Where it cannot be read or is no capture.
    pub fn of(path: &Path, progress: &dyn Progress) -> Result<Self, Error> {
        let source = Source::Path(path.into());
        let fail = |source| Error::Io { path: path.into(), source };
        let mut reader = CaptureReader::open(&source, 0)?;
        let Some(length) = reader.info().bytes_total else {
            let what = "an index needs a file, which can be read again; this is none".to_owned();
            return Err(Error::Format { path: path.into(), what });
        };
        let mut marked = File::open(path).map_err(fail)?;
        let step = (length / MOST_PLACES).max(1);
        let (mut chunk, mut places, mut known) = (Chunk::new(), Vec::new(), None);
        let compressed = reader.info().compression.is_some();
        while !progress.interrupted() && reader.next_chunk(&mut chunk) {
            let described = reader.described();
            let known = known.get_or_insert_with(|| described.clone());
            if compressed || reader.info().damage.is_some() || *known != described {
                break;
            }
            progress.update(&ProgressUpdate::of(reader.info()));
            let offset = reader.delivered();
            let last = places.last().map_or(0, |place: &Place| place.offset);
            if offset < length && offset >= last.saturating_add(step) {
                places.push(Place { offset, mark: mark_at(&mut marked, offset).map_err(fail)? });
            }
        }
        Ok(Self { length, places })
    }

    /// How many parts the file can be read in at most.
    #[must_use]
    pub fn most_parts(&self) -> u64 {
        (self.places.len() as u64).saturating_add(1)
    }

    /// Writes it.
    ///
    /// # Errors
    /// What `out` answers.
    pub fn write(&self, mut out: impl Write) -> io::Result<()> {
        let body = postcard::to_stdvec(self).map_err(io::Error::other)?;
        out.write_all(MAGIC)?;
        out.write_all(&VERSION.to_le_bytes())?;
        out.write_all(&XxHash3_128::oneshot(&body).to_le_bytes())?;
        out.write_all(&body)?;
        out.flush()
    }

    /// Reads one.
    ///
    /// # Errors
    /// [`Error::Io`] or, where it is no sound index of this version, [`Error::Format`].
    pub fn read(path: &Path) -> Result<Self, Error> {
        let wrong = |what: &str| Error::Format { path: path.into(), what: what.into() };
        let octets = std::fs::read(path).map_err(|source| Error::Io { path: path.into(), source })?;
        let none = || wrong("this is not an index; `spiglass index` writes them");
        let rest = octets.strip_prefix(MAGIC).ok_or_else(none)?;
        let (version, rest) = rest.split_first_chunk::<4>().ok_or_else(none)?;
        if u32::from_le_bytes(*version) != VERSION {
            return Err(wrong("the index has another version of the format; make it again with this program"));
        }
        let (digest, body) = rest.split_first_chunk::<16>().ok_or_else(none)?;
        let damaged = || wrong("the index is damaged; make it again");
        if XxHash3_128::oneshot(body).to_le_bytes() != *digest {
            return Err(damaged());
        }
        let index: Self = postcard::from_bytes(body).map_err(|_| damaged())?;
        let offsets = || index.places.iter().map(|place| place.offset);
        let sound = offsets().zip(offsets().skip(1)).all(|(a, b)| a < b);
        let inside = offsets().all(|offset| offset > 0 && offset < index.length);
        if sound && inside { Ok(index) } else { Err(damaged()) }
    }

    /// Where part `part` of `of` begins: at the first place behind its share of the file.
    fn begin(&self, part: u32, of: u32) -> Option<&Place> {
        let before = u128::from(part.saturating_sub(1)).saturating_mul(self.length.into());
        let share = before.checked_div(of.into()).and_then(|share| u64::try_from(share).ok()).unwrap_or(u64::MAX);
        let at = self.places.partition_point(|place| place.offset < share);
        self.places.get(at)
    }

    /// Digest of the index: which file it is of.
    fn digest(&self) -> u128 {
        postcard::to_stdvec(self).map_or(0, |body| XxHash3_128::oneshot(&body))
    }

    /// Analyses part `part` of `of`, from 1. States of all parts merge to the state of the whole file.
    ///
    /// # Errors
    /// Where the file cannot be read, or is not the one that the index was made of.
    pub fn analyse(
        &self,
        input: &Input,
        (part, of): (u32, u32),
        settings: &Settings,
        progress: &dyn Progress,
    ) -> Result<State, Error> {
        let path = input.source.name();
        let changed = || Error::Format {
            path: path.into(),
            what: "this is not the file that the index was made of, or it changed since; make the index again".into(),
        };
        let length = std::fs::metadata(path).map_err(|source| Error::Io { path: path.into(), source })?.len();
        if length != self.length {
            return Err(changed());
        }
        let begin = if part == 1 { None } else { self.begin(part, of) };
        let end = if part == of { None } else { self.begin(part.saturating_add(1), of) };
        let mut file = File::open(path).map_err(|source| Error::Io { path: path.into(), source })?;
        for place in [begin, end].into_iter().flatten() {
            if mark_at(&mut file, place.offset).ok() != Some(place.mark) {
                return Err(changed());
            }
        }
        let resolved = settings.resolve(start_of(std::slice::from_ref(input), settings));
        let mut observer = Observer::new(&resolved);
        if part > 1 {
            observer.continue_capture();
        }
        // What begins behind the last place is empty, as is what begins where it ends.
        let empty = part > 1 && (begin.is_none() || begin == end);
        let range = if empty {
            (length, Some(length))
        } else {
            (begin.map_or(0, |place| place.offset), end.map(|place| place.offset))
        };
        let mut reader = Part::of_range(&input.source, range.0, range.1)?.reader;
        let mut chunk = Chunk::new();
        while !progress.interrupted() && reader.next_chunk(&mut chunk) {
            chunk.frames().hand_to(&mut observer);
            progress.update(&ProgressUpdate::of(reader.info()));
        }
        if end.is_some() && !empty && !progress.interrupted() && !reader.ended_whole() {
            return Err(changed());
        }
        let state = observer.finish(1);
        let times = state.captures().first().and_then(|span| span.times);
        let unread_options = reader.info().unread_options;
        let mut facts = capture_facts(reader.info(), progress.interrupted(), times);
        // As of the whole file, where that has none either.
        let missing = match progress.digest() {
            None => Capture::NO_DIGEST_WANTED,
            Some(asked) if self.length > asked.most_bytes => Capture::TOO_LONG_FOR_DIGEST,
            Some(_) => "the file was read in parts",
        };
        facts.capture.digest_missing = Some(missing.to_owned());
        let slice = Slice { file: self.digest(), part, of, tap: None, facts, unread_options, state };
        Ok(State::of_slice(resolved, slice))
    }
}

fn mark_at(file: &mut File, offset: u64) -> io::Result<u64> {
    file.seek(SeekFrom::Start(offset))?;
    let mut octets = Vec::with_capacity(MARK);
    file.take(MARK as u64).read_to_end(&mut octets)?;
    Ok(XxHash3_64::oneshot(&octets))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_octet_is_in_one_part() {
        let places = [100, 200, 250, 900].map(|offset| Place { offset, mark: 0 }).to_vec();
        let index = RecordIndex { length: 1_000, places };
        for of in 1..20 {
            let begins: Vec<Option<u64>> =
                (2..=of).map(|part| index.begin(part, of).map(|place| place.offset)).collect();
            let known: Vec<u64> = begins.iter().copied().flatten().collect();
            assert!(
                known.is_sorted() && begins.iter().skip_while(|begin| begin.is_some()).all(Option::is_none),
                "{begins:?}"
            );
        }
        assert_eq!(index.begin(2, 2).map(|place| place.offset), Some(900));
        assert_eq!(index.begin(2, 4).map(|place| place.offset), Some(250));
    }

    #[test]
    fn nothing_but_an_index_is_read_as_one() {
        let dir = std::env::temp_dir().join(format!("spiglass-index-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let index = RecordIndex { length: 1_000, places: vec![Place { offset: 100, mark: 7 }] };
        let mut written = Vec::new();
        index.write(&mut written).unwrap();
        let read = |octets: &[u8]| {
            let path = dir.join("f.idx");
            std::fs::write(&path, octets).unwrap();
            RecordIndex::read(&path)
        };
        assert_eq!(read(&written).unwrap(), index);
        for cut in 0..written.len() {
            assert!(read(&written[..cut]).is_err(), "{cut}");
        }
        let backwards =
            RecordIndex { length: 1_000, places: [200, 100].map(|offset| Place { offset, mark: 0 }).to_vec() };
        let mut octets = Vec::new();
        backwards.write(&mut octets).unwrap();
        assert!(read(&octets).is_err());
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
