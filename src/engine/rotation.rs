//! Which captures are one tap.
//!
//! Captures that `--tap` names together are one stream. Of the others, those whose time spans do not overlap are one
//! tap in rotation, in order of first timestamp; those that overlap are taps of their own. Clocks step a little where one file ends and
//! the next begins: files that overlap by less than [`LEAST_OVERLAP_NS`], or a hundredth of the shorter one, are still one tap, unless
//! both hold the same sequence numbers.

use std::collections::BTreeMap;
use std::path::Path;

use super::input::Input;
use super::state::{Stream, times};
use crate::analysis::finish::CaptureFacts;
use crate::analysis::{Partial, Succession};
use crate::model::{Error, Timestamp};

/// A tap with the merged state of its streams.
pub(super) struct MergedTap {
    pub(super) name: String,
    /// In the order that positions count them.
    pub(super) captures: Vec<CaptureFacts>,
    pub(super) partial: Partial,
    /// How each capture goes on from the one before it, where they are files of a rotation.
    pub(super) borders: Vec<Option<Succession>>,
    /// What was assumed about which captures belong together, in words.
    pub(super) assumed: Vec<String>,
}

/// Files of a rotation overlap by no more than this, or a hundredth of the shorter one.
const LEAST_OVERLAP_NS: i64 = 10_000_000;

/// Inputs as they are to be read.
pub(super) enum Named<'i> {
    /// A capture of no named tap.
    Alone(&'i Input),
    /// All captures of a named tap.
    Tap(&'i str, Vec<(usize, &'i Input)>),
}

/// Groups inputs by the tap that was named for them, in the order of the command line.
pub(super) fn by_tap(inputs: &[Input]) -> Vec<Named<'_>> {
    let mut named: Vec<Named<'_>> = Vec::new();
    for (order, input) in inputs.iter().enumerate() {
        match &input.tap {
            None => named.push(Named::Alone(input)),
            Some(name) => {
                let known = named.iter_mut().find_map(|n| match n {
                    Named::Tap(tap, members) if tap == name => Some(members),
                    _ => None,
                });
                match known {
                    Some(members) => members.push((order, input)),
                    None => named.push(Named::Tap(name, vec![(order, input)])),
                }
            }
        }
    }
    named
}

/// Decides which streams are one tap and merges them in time order. The outcome does not depend on the order of `streams`.
pub(super) fn assign(mut streams: Vec<Stream>, errors: &mut Vec<Error>) -> Vec<MergedTap> {
    // A capture without times cannot be placed in a rotation: it stands alone, behind the others.
    streams.sort_by(|a, b| {
        let key = |s: &Stream| {
            let (first, last) = times(&s.partial);
            let paths: Vec<String> = s.captures.iter().map(|c| c.capture.path.clone()).collect();
            (first.is_none(), first, last, paths, s.tap.clone())
        };
        key(a).cmp(&key(b))
    });
    let mut taps: Vec<Open> = Vec::new();
    for stream in streams {
        let (first, last) = times(&stream.partial);
        let path = stream.captures.first().map_or_else(String::new, |c| c.capture.path.clone());
        if let Some(tap) = taps.iter_mut().find(|tap| tap.holds(&stream)) {
            tap.assumed.push(format!("{path} holds the same frames as a capture before it and is counted once"));
            continue;
        }
        let follows = match &stream.tap {
            Some(name) => taps.iter_mut().find(|tap| tap.name.as_ref() == Some(name)),
            None => taps
                .iter_mut()
                .filter(|tap| tap.name.is_none() && tap.goes_on_with(&stream))
                // Where several taps could go on with this file, its name decides, then nearness.
                .max_by_key(|tap| (common_prefix(&tap.path, &path), tap.last)),
        };
        match follows {
            Some(tap)
                if tap.last.zip(first).is_some_and(|(last, first)| last > first) && !tap.goes_on_with(&stream) =>
            {
                errors.push(Error::Usage(format!(
                    "{path}: overlaps in time with what is there of tap {}; analyse these captures in one run. It was left out.",
                    tap.name.as_deref().unwrap_or_default()
                )));
            }
            Some(tap) => {
                tap.assume(&stream, &path);
                tap.last = last.max(tap.last);
                tap.streams.push(stream);
            }
            None => {
                let name = stream.tap.clone();
                taps.push(Open { name, path, last, streams: vec![stream], assumed: Vec::new() });
            }
        }
    }
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    taps.into_iter()
        .filter_map(|tap| {
            let name = unique(tap.name.unwrap_or_else(|| stem(&tap.path)), &tap.path, &mut names);
            let mut merged = merge(name, tap.streams, errors)?;
            merged.assumed = tap.assumed;
            Some(merged)
        })
        .collect()
}

/// A tap that may still grow.
struct Open {
    name: Option<String>,
    path: String,
    last: Option<Timestamp>,
    streams: Vec<Stream>,
    assumed: Vec<String>,
}

impl Open {
    /// Whether a capture of it, perhaps compressed otherwise, holds exactly the frames of this one.
    fn holds(&self, stream: &Stream) -> bool {
        let any = stream.partial.captures().iter().any(|capture| capture.frames > 0);
        let same = |own: &Stream| times(&own.partial) == times(&stream.partial) && own.partial == stream.partial;
        any && self.name == stream.tap && self.streams.iter().any(same)
    }

    /// By how much a stream begins before this tap ends, in nanoseconds; 0 where it does not.
    fn overlap_ns(&self, stream: &Stream) -> Option<i64> {
        let (first, _) = times(&stream.partial);
        Some(self.last?.since(first?).unwrap_or(i64::MAX).max(0))
    }

    /// Whether a stream may be the next file of the rotation.
    fn goes_on_with(&self, stream: &Stream) -> bool {
        let Some(overlap) = self.overlap_ns(stream) else { return false };
        if overlap == 0 {
            return true;
        }
        let Some(own) = self.streams.last() else { return false };
        let lasts = |stream: &Stream| match times(&stream.partial) {
            (Some(first), Some(last)) => last.since(first).unwrap_or(0),
            _ => 0,
        };
        let shorter = lasts(own).min(lasts(stream));
        // Two short captures of two taps overlap as a whole.
        let little = overlap <= (shorter / 100).max(LEAST_OVERLAP_NS.min(shorter / 2));
        little && !Succession::of(&own.partial, &stream.partial).is_parallel()
    }

    /// Keeps in words what is assumed of a stream that overlaps, where no sequence number decides.
    fn assume(&mut self, stream: &Stream, path: &str) {
        let overlap = self.overlap_ns(stream).unwrap_or(0);
        let Some(own) = self.streams.last().filter(|_| overlap > 0) else { return };
        if !Succession::of(&own.partial, &stream.partial).goes_on() {
            let before = own.captures.last().map_or("", |capture| capture.capture.path.as_str());
            self.assumed.push(format!(
                "{path} begins {:.3} ms before {before} ends; they are taken for files of one tap in rotation. If they are two taps, \
                 name them: --tap NAME=FILE",
                overlap as f64 / 1e6
            ));
        }
    }
}

fn merge(name: String, streams: Vec<Stream>, errors: &mut Vec<Error>) -> Option<MergedTap> {
    let pairs = streams.iter().zip(streams.iter().skip(1));
    let successions: Vec<_> = pairs.map(|(own, next)| Some(Succession::of(&own.partial, &next.partial))).collect();
    let mut successions = successions.into_iter();
    let mut merged: Option<MergedTap> = None;
    for stream in streams {
        merged = Some(match merged.take() {
            None => MergedTap {
                name: name.clone(),
                borders: vec![None; stream.captures.len()],
                captures: stream.captures,
                assumed: Vec::new(),
                partial: stream.partial,
            },
            Some(MergedTap { name, mut captures, partial, mut borders, assumed }) => {
                match partial.merge(stream.partial) {
                    Ok(partial) => {
                        borders.push(successions.next().flatten());
                        captures.extend(stream.captures);
                        borders.resize(captures.len(), None);
                        MergedTap { name, captures, partial, borders, assumed }
                    }
                    Err(error) => {
                        errors.push(Error::Usage(error.to_string()));
                        return None;
                    }
                }
            }
        });
    }
    if let Some(tap) = &mut merged {
        tap.partial.settle();
    }
    merged
}

fn common_prefix(a: &str, b: &str) -> usize {
    a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count()
}

/// A file name without its folder and extensions.
fn stem(path: &str) -> String {
    let name = Path::new(path).file_name().map_or(path, |n| n.to_str().unwrap_or(path));
    let stem = name.split('.').find(|part| !part.is_empty()).unwrap_or(name);
    if stem == "-" { "stdin".into() } else { stem.to_owned() }
}

/// The name, made unique with its folder's name or a number.
fn unique(name: String, path: &str, names: &mut BTreeMap<String, usize>) -> String {
    let mut candidate = name.clone();
    if names.contains_key(&candidate)
        && let Some(folder) = Path::new(path).parent().and_then(Path::file_name).and_then(|f| f.to_str())
    {
        candidate = format!("{folder}/{name}");
    }
    let count = names.entry(candidate.clone()).or_default();
    *count += 1;
    if *count == 1 {
        return candidate;
    }
    let numbered = format!("{candidate}-{count}");
    names.insert(numbered.clone(), 1);
    numbered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taps_are_named_after_files_and_told_apart() {
        let mut names = BTreeMap::new();
        assert_eq!(stem("a/tunnel.pcap.gz"), "tunnel");
        assert_eq!(stem("-"), "stdin");
        assert_eq!(unique("tunnel".into(), "a/tunnel.pcap", &mut names), "tunnel");
        assert_eq!(unique("tunnel".into(), "b/tunnel.pcap", &mut names), "b/tunnel");
        assert_eq!(unique("tunnel".into(), "b/tunnel.pcap", &mut names), "b/tunnel-2");
    }
}
