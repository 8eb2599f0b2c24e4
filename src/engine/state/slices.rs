//! Parts of one file that were analysed apart, until all of them are here.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Unread;
use crate::analysis::StreamState;
use crate::analysis::finish::CaptureFacts;
use crate::capture::unread_options;
use crate::engine::rotation::stream::Stream;
use crate::model::report::DamageReport;

/// A part of a file.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Slice {
    /// Digest of the index that divides the file.
    pub(super) file: u128,
    /// Which part, from 1.
    pub(super) part: u32,
    /// Of how many.
    pub(super) of: u32,
    /// The tap that was named for the file.
    pub(super) tap: Option<String>,
    pub(super) facts: CaptureFacts,
    pub(super) unread_options: u64,
    pub(super) state: StreamState,
}

/// Which file, divided into how many parts, of which tap.
type Divided = (u128, u32, Option<String>);

/// Parts of files, each once.
#[derive(Clone, Debug, Default)]
pub(super) struct Slices(BTreeMap<Divided, BTreeMap<u32, Slice>>);

impl Slices {
    pub(super) fn insert(&mut self, slice: Slice) {
        let divided = (slice.file, slice.of, slice.tap.clone());
        self.0.entry(divided).or_default().entry(slice.part).or_insert(slice);
    }

    /// All of them, in a fixed order.
    pub(super) fn into_vec(self) -> Vec<Slice> {
        self.0.into_values().flat_map(BTreeMap::into_values).collect()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Slice> {
        self.0.values().flat_map(BTreeMap::values)
    }

    /// Names the tap of every file.
    pub(super) fn label(&mut self, tap: &str) {
        for mut slice in std::mem::take(self).into_vec() {
            slice.tap = Some(tap.to_owned());
            self.insert(slice);
        }
    }

    /// Takes out the files of which all parts are here.
    pub(super) fn take_whole(&mut self) -> Vec<Stream> {
        let is_whole = |(divided, parts): &(Divided, BTreeMap<u32, Slice>)| parts.len() as u64 == u64::from(divided.1);
        let (whole, rest) = std::mem::take(&mut self.0).into_iter().partition(is_whole);
        self.0 = rest;
        let whole: BTreeMap<Divided, BTreeMap<u32, Slice>> = whole;
        whole.into_values().filter_map(|parts| joined(parts.into_values())).collect()
    }

    /// Takes out of the other files what is before their first missing part: the frames behind it have no numbers. Which parts are
    /// missing is told.
    pub(super) fn take_beginnings(&mut self) -> (Vec<Stream>, Vec<Unread>) {
        let (mut streams, mut unread) = (Vec::new(), Vec::new());
        for ((_, of, _), mut parts) in std::mem::take(&mut self.0) {
            let missing: Vec<u32> = (1..=of).filter(|part| !parts.contains_key(part)).collect();
            let (Some(first), Some(one)) = (missing.first().copied(), parts.values().next()) else { continue };
            let path = one.facts.capture.path.clone();
            let listed: Vec<String> = missing.iter().take(8).map(ToString::to_string).collect();
            let more = missing.len().saturating_sub(listed.len());
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let error = format!(
                "{path}: it was analysed in {of} parts, of which number {}{more} {} not here; {} is left out: merge all of its parts",
                listed.join(", "),
                if missing.len() == 1 { "is" } else { "are" },
                match first.saturating_sub(1) {
                    0 => "what is in the others".to_owned(),
                    last => format!("what is behind part {last}"),
                }
            );
            unread.push(Unread { path, error });
            drop(parts.split_off(&first));
            streams.extend(joined(parts.into_values()).map(|mut stream| {
                stream.captures.iter_mut().for_each(|facts| facts.capture.complete = false);
                stream
            }));
        }
        (streams, unread)
    }
}

/// Parts that follow each other as the stream that they are.
fn joined(parts: impl Iterator<Item = Slice>) -> Option<Stream> {
    let whole = parts.reduce(|before, next| {
        // States of one file have the same settings: they were merged.
        let state = before.state.clone().merge(next.state).unwrap_or(before.state);
        let unread_options = before.unread_options.saturating_add(next.unread_options);
        let facts = follow(before.facts, next.facts, unread_options);
        Slice { facts, unread_options, state, ..before }
    })?;
    let mut state = whole.state;
    state.settle();
    let mut facts = whole.facts;
    let times = state.captures().first().and_then(|span| span.times);
    facts.span(times);
    Some(Stream::new(whole.tap, vec![facts], state, false))
}

/// What is known of a file after the part that `next` is of.
fn follow(before: CaptureFacts, next: CaptureFacts, options: u64) -> CaptureFacts {
    let moved =
        |damage: DamageReport| DamageReport { frame: damage.frame.saturating_add(before.capture.frames), ..damage };
    let mut capture = next.capture;
    let later = capture.damage.take().map(moved);
    let both = before.damage.is_some() && next.damage.is_some();
    let further = before.further_damage.saturating_add(next.further_damage).saturating_add(u64::from(both));
    capture.damage = before.capture.damage.or(later);
    capture.frames = capture.frames.saturating_add(before.capture.frames);
    capture.bytes = capture.bytes.saturating_add(before.capture.bytes);
    capture.complete = before.capture.complete && capture.complete;
    let damage = before.damage.or(next.damage);
    CaptureFacts { capture, damage, further_damage: further, unread: unread_options(options) }
}
