//! The streams of a state. Files that follow each other in a rotation for certain are folded into one state as soon as both are
//! here, so that memory grows with the SAs and not with files times SAs; a capture that comes twice is known by its digest.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::stream::{End, Stream};
use crate::analysis::{MEMORY_LIMIT, Succession};
use crate::engine::input::Input;
use crate::engine::state::Repeat;
use crate::model::Error;
use crate::model::counted_name::SeriesName;

/// The tap that was named for a piece, and its digest.
type PieceKey = (Option<String>, u128);

/// The tap that was named for a rotation, and the text of the names of its files.
type Rotation = (Option<String>, String);

/// Streams, each piece once.
#[derive(Clone, Debug, Default)]
pub(in crate::engine) struct Streams {
    held: BTreeMap<u64, Stream>,
    next: u64,
    of_piece: HashMap<PieceKey, u64>,
    /// By the tap and the text of the name: the names of each stream's first file.
    rotations: HashMap<Rotation, BTreeSet<(SeriesName, u64)>>,
    /// Streams that were changed since they were settled.
    unsettled: BTreeSet<u64>,
    /// Octets of memory that each takes, about, and all of them.
    weights: HashMap<u64, u64>,
    weight: u64,
    /// Octets of those that are done and wait for their turn to be taken in.
    waiting: u64,
    /// What they may take together, where that was set.
    limit: Option<u64>,
}

/// Of the names next to one in its series, so many are looked at: those of other ports, and copies in another style.
const NEARBY: usize = 8;

/// What a stream that comes holds of what is here.
enum Known {
    Nothing,
    /// All of it is here already.
    All,
    /// It holds these streams whole, and more.
    Contained(BTreeSet<u64>),
    /// A part of it is here together with others: the path of that part.
    Partly(String),
}

impl Streams {
    /// No streams, which may take so many octets of memory.
    pub(in crate::engine) fn with_limit(limit: u64) -> Self {
        Self { limit: Some(limit), ..Self::default() }
    }

    /// Sets the memory that they may take together.
    pub(in crate::engine) fn limit_memory(&mut self, limit: u64) {
        self.limit = Some(limit);
    }

    /// Octets of memory that are left.
    pub(in crate::engine) fn room(&self) -> u64 {
        self.limit().saturating_sub(self.weight).saturating_sub(self.waiting)
    }

    /// Counts streams that wait until they are taken in.
    pub(in crate::engine) const fn await_turn(&mut self, octets: u64) {
        self.waiting = self.waiting.saturating_add(octets);
    }

    /// Counts them no more.
    pub(in crate::engine) const fn take_turn(&mut self, octets: u64) {
        self.waiting = self.waiting.saturating_sub(octets);
    }

    /// How many of these inputs are neither here nor among the errors.
    pub(in crate::engine) fn without(&self, inputs: &[Input], errors: &[Error]) -> usize {
        let pieces = self.iter().flat_map(|stream| stream.by_piece());
        let known: HashSet<String> = pieces
            .flat_map(|(_, facts, again)| {
                facts.iter().map(|facts| facts.capture.path.clone()).chain(again.iter().cloned())
            })
            .chain(errors.iter().filter_map(|error| Some(error.path()?.to_string_lossy().into_owned())))
            .collect();
        inputs.iter().filter(|input| !known.contains(&*input.source.name().to_string_lossy())).count()
    }

    /// Octets of memory that they take, about.
    pub(in crate::engine) const fn memory(&self) -> u64 {
        self.weight
    }

    fn limit(&self) -> u64 {
        self.limit.unwrap_or(MEMORY_LIMIT)
    }

    pub(in crate::engine) fn iter(&self) -> impl Iterator<Item = &Stream> {
        self.held.values()
    }

    /// Names the tap of every stream, and the part of it that it is.
    pub(in crate::engine) fn label(&mut self, tap: Option<&str>, part: Option<u32>) {
        let own = std::mem::take(self);
        self.limit = own.limit;
        for mut stream in own.held.into_values() {
            stream.tap = tap.map(str::to_owned).or(stream.tap);
            stream.part = part.or(stream.part);
            self.keep(stream);
        }
    }

    /// All streams in their normal form, as whoever takes them may write them without more.
    pub(in crate::engine) fn into_streams(mut self) -> Vec<Stream> {
        self.settle();
        self.held.into_values().collect()
    }

    /// The parts of named streams that are here.
    pub(in crate::engine) fn parts(&self) -> HashSet<(Option<&str>, u32)> {
        self.iter().filter_map(|stream| Some((stream.tap.as_deref(), stream.part?))).collect()
    }

    /// Why a stream cannot be taken in, in words.
    pub(in crate::engine) fn refusal(&self, stream: &Stream) -> Option<String> {
        match self.known(stream) {
            Known::Partly(path) => Some(format!(
                "{path} is in a state before it, too, folded with other files each time; merge states of which none or all files are shared"
            )),
            _ => None,
        }
    }

    /// Whether a stream of this name, with all of this content, is here.
    pub(in crate::engine) fn holds(&self, stream: &Stream) -> bool {
        matches!(self.known(stream), Known::All)
    }

    fn known(&self, stream: &Stream) -> Known {
        let key = |digest: u128| (stream.tap.clone(), digest);
        let ids: Vec<Option<u64>> =
            stream.pieces.iter().map(|piece| self.of_piece.get(&key(piece.digest)).copied()).collect();
        let hit: BTreeSet<u64> = ids.iter().copied().flatten().collect();
        if hit.is_empty() {
            return Known::Nothing;
        }
        if ids.iter().all(Option::is_some) {
            return Known::All;
        }
        let own: HashSet<u128> = stream.pieces.iter().map(|piece| piece.digest).collect();
        let pieces = |id: &u64| self.held.get(id).into_iter().flat_map(|held| &held.pieces);
        if hit.iter().flat_map(pieces).all(|piece| own.contains(&piece.digest)) {
            return Known::Contained(hit);
        }
        let shared = stream.by_piece().zip(&ids).find(|(_, id)| id.is_some());
        Known::Partly(shared.map_or_else(String::new, |((_, facts, _), _)| {
            facts.first().map_or_else(String::new, |facts| facts.capture.path.clone())
        }))
    }

    /// The captures of a stream that are here.
    pub(in crate::engine) fn repeats(&self, stream: &Stream) -> Vec<Repeat> {
        let pieces = stream.by_piece().filter(|(_, facts, _)| facts.iter().any(|facts| facts.capture.frames > 0));
        let here = pieces.filter(|(digest, ..)| self.of_piece.contains_key(&(stream.tap.clone(), *digest)));
        here.map(|(digest, facts, _)| {
            let path = facts.first().map_or_else(String::new, |facts| facts.capture.path.clone());
            let tap = stream.tap.clone();
            let is_known = self.paths(&(tap.clone(), digest)).contains(&path);
            Repeat { path, digest, tap, is_known }
        })
        .collect()
    }

    /// Notes that a capture that is here came again by a name that it has. Of another name it is noted when it is taken in.
    pub(in crate::engine) fn note(&mut self, repeat: &Repeat) {
        let id = self.of_piece.get(&(repeat.tap.clone(), repeat.digest));
        if let Some(held) = id.filter(|_| repeat.is_known).and_then(|id| self.held.get_mut(id))
            && let Some(piece) = held.pieces.iter_mut().find(|piece| piece.digest == repeat.digest)
        {
            piece.again.insert(repeat.path.clone());
        }
    }

    /// Takes in a stream that is not refused. Where a capture of the same path and content is here, it is harmless; under another path
    /// it is noted.
    pub(in crate::engine) fn insert(&mut self, stream: Stream) {
        match self.known(&stream) {
            Known::Nothing => self.add(stream),
            Known::All => self.note_again(&stream),
            Known::Contained(ids) => {
                let contained: Vec<Stream> = ids.into_iter().filter_map(|id| self.remove(id)).collect();
                self.add(stream);
                contained.iter().for_each(|stream| self.note_again(stream));
            }
            Known::Partly(_) => {}
        }
    }

    /// Takes in a capture that was read: also one of the same path is noted, because it was given twice.
    pub(in crate::engine) fn insert_read(&mut self, stream: Stream) {
        let key = stream.pieces.first().map(|piece| (stream.tap.clone(), piece.digest));
        let (path, frames) = (stream.path().to_owned(), stream.captures.iter().any(|c| c.capture.frames > 0));
        let again = frames && key.as_ref().is_some_and(|key| self.paths(key).contains(&path));
        self.insert(stream);
        if let Some(key) = key.filter(|_| again)
            && let Some(held) = self.of_piece.get(&key).and_then(|id| self.held.get_mut(id))
            && let Some(piece) = held.pieces.iter_mut().find(|piece| piece.digest == key.1)
        {
            piece.again.insert(path);
        }
    }

    /// The paths of a piece and of its copies.
    fn paths(&self, key: &PieceKey) -> Vec<String> {
        let held = self.of_piece.get(key).and_then(|id| self.held.get(id));
        let known = held.and_then(|held| held.by_piece().find(|(digest, ..)| *digest == key.1));
        known.map_or_else(Vec::new, |(_, facts, again)| {
            facts.iter().map(|facts| facts.capture.path.clone()).chain(again.iter().cloned()).collect()
        })
    }

    fn note_again(&mut self, stream: &Stream) {
        let mut renamed = BTreeSet::new();
        for (digest, facts, again) in stream.by_piece() {
            let key = (stream.tap.clone(), digest);
            let known = self.paths(&key);
            let paths = || facts.iter().map(|facts| &facts.capture.path).chain(again);
            if paths().all(|path| known.contains(path)) {
                continue;
            }
            let Some(id) = self.of_piece.get(&key).copied() else { continue };
            // The names of its first file may change: they are taken out before.
            if renamed.insert(id) {
                self.unname(id);
            }
            let Some(held) = self.held.get_mut(&id) else { continue };
            if let [facts] = facts
                && !known.contains(&facts.capture.path)
            {
                held.note_again(digest, facts.clone());
            }
            if let Some(piece) = held.pieces.iter_mut().find(|piece| piece.digest == digest) {
                piece.again.extend(again.iter().cloned());
            }
        }
        renamed.into_iter().for_each(|id| self.fold_anew(id));
    }

    /// Folds a stream whose names changed with the neighbours that it has by them.
    fn fold_anew(&mut self, id: u64) {
        let unsettled = self.unsettled.contains(&id);
        let Some(stream) = self.remove(id) else { return };
        let key = stream.pieces.first().map(|piece| (stream.tap.clone(), piece.digest));
        self.add(stream);
        if let Some(id) = key.filter(|_| unsettled).and_then(|key| self.of_piece.get(&key)) {
            self.unsettled.insert(*id);
        }
    }

    /// Adds a stream, folded with its neighbours.
    fn add(&mut self, stream: Stream) {
        let (before, after) = (self.before(&stream), self.after(&stream));
        let id = before.or(after).map(|(id, _)| id);
        self.index(&stream, id);
        let mut whole = stream;
        if let Some((id, succession)) = before
            && let Some(mut own) = self.take(id)
        {
            own.state.limit_memory(self.room(), self.limit());
            let Ok(appended) = own.append(whole, succession) else { return };
            whole = appended;
        }
        if let Some((old, succession)) = after
            && let Some(next) = self.take(old)
        {
            self.rename(&next, Some(old), None);
            self.unsettled.remove(&old);
            if before.is_some() {
                self.index(&next, id);
            }
            whole.state.limit_memory(self.room(), self.limit());
            let Ok(appended) = whole.append(next, succession) else { return };
            whole = appended;
            if before.is_none() {
                self.rename(&whole, None, id);
            }
        }
        let Some(id) = id else { return self.keep(whole) };
        self.unsettled.insert(id);
        self.put(id, whole);
    }

    /// Keeps a stream by itself.
    fn keep(&mut self, stream: Stream) {
        let id = self.next;
        self.next = id.saturating_add(1);
        self.rename(&stream, None, Some(id));
        self.index(&stream, Some(id));
        self.put(id, stream);
    }

    fn put(&mut self, id: u64, stream: Stream) {
        let weight = stream.state.weight();
        self.weights.insert(id, weight);
        self.weight = self.weight.saturating_add(weight);
        self.held.insert(id, stream);
    }

    fn take(&mut self, id: u64) -> Option<Stream> {
        self.weight = self.weight.saturating_sub(self.weights.remove(&id).unwrap_or(0));
        self.held.remove(&id)
    }

    /// Says of which stream its pieces are now.
    fn index(&mut self, stream: &Stream, id: Option<u64>) {
        let Some(id) = id else { return };
        for piece in &stream.pieces {
            self.of_piece.insert((stream.tap.clone(), piece.digest), id);
        }
    }

    /// Takes the names of a stream's first file out, or in.
    fn rename(&mut self, stream: &Stream, old: Option<u64>, new: Option<u64>) {
        for name in stream.names(End::First) {
            let names = self.rotations.entry((stream.tap.clone(), name.name.text.clone())).or_default();
            if let Some(old) = old {
                names.remove(&(name.clone(), old));
            }
            names.extend(new.map(|new| (name, new)));
        }
    }

    fn unname(&mut self, id: u64) {
        if let Some(held) = self.take(id) {
            self.rename(&held, Some(id), None);
            self.put(id, held);
        }
    }

    /// The stream that this one goes on from for certain, and how.
    fn before(&self, stream: &Stream) -> Option<(u64, Succession)> {
        let names = stream.names(End::First);
        let mut known = names.iter().filter_map(|name| Some((name, self.series(stream, name)?)));
        known.find_map(|(name, series)| {
            let mut nearby = series.range(..(name.clone(), 0)).rev().take(NEARBY).map(|(_, id)| *id);
            nearby.find_map(|id| Some((id, self.held.get(&id)?.followed_by(stream)?)))
        })
    }

    /// The stream that goes on from this one for certain, and how.
    fn after(&self, stream: &Stream) -> Option<(u64, Succession)> {
        let names = stream.names(End::Last);
        let mut known = names.iter().filter_map(|name| Some((name, self.series(stream, name)?)));
        known.find_map(|(name, series)| {
            let mut nearby = series.range((name.clone(), u64::MAX)..).take(NEARBY).map(|(_, id)| *id);
            nearby.find_map(|id| Some((id, stream.followed_by(self.held.get(&id)?)?)))
        })
    }

    /// The names beside which one stands.
    fn series(&self, stream: &Stream, name: &SeriesName) -> Option<&BTreeSet<(SeriesName, u64)>> {
        self.rotations.get(&(stream.tap.clone(), name.name.text.clone()))
    }

    fn remove(&mut self, id: u64) -> Option<Stream> {
        let stream = self.take(id)?;
        self.unsettled.remove(&id);
        self.rename(&stream, Some(id), None);
        Some(stream)
    }

    /// Brings all states into their normal form.
    pub(in crate::engine) fn settle(&mut self) {
        for id in std::mem::take(&mut self.unsettled) {
            if let Some(stream) = self.held.get_mut(&id) {
                stream.state.settle();
            }
        }
    }
}
