//! Which captures are one tap.
//!
//! Captures that `--tap` names together are one stream. Of the others, those whose time spans do not overlap are one
//! tap in rotation, in order of first timestamp; those that overlap are taps of their own.

use std::collections::BTreeMap;
use std::path::Path;

use super::input::Input;
use super::state::{Stream, times};
use crate::analysis::Partial;
use crate::analysis::finish::CaptureFacts;
use crate::model::{Error, Timestamp};

/// A tap with the merged state of its streams.
pub(super) struct MergedTap {
    pub(super) name: String,
    /// In the order that positions count them.
    pub(super) captures: Vec<CaptureFacts>,
    pub(super) partial: Partial,
}

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
        let follows = match &stream.tap {
            Some(name) => taps.iter_mut().find(|tap| tap.name.as_ref() == Some(name)),
            None => taps
                .iter_mut()
                .filter(|tap| {
                    tap.name.is_none() && first.is_some_and(|first| tap.last.is_some_and(|last| last <= first))
                })
                // Where several taps could go on with this file, its name decides, then nearness.
                .max_by_key(|tap| (common_prefix(&tap.path, &path), tap.last)),
        };
        match follows {
            Some(tap) if tap.last.zip(first).is_some_and(|(last, first)| last > first) => {
                errors.push(Error::Usage(format!(
                    "{path}: overlaps in time with what is there of tap {}; analyse these captures in one run. It was left out.",
                    tap.name.as_deref().unwrap_or_default()
                )));
            }
            Some(tap) => {
                tap.last = last.max(tap.last);
                tap.streams.push(stream);
            }
            None => taps.push(Open { name: stream.tap.clone(), path, last, streams: vec![stream] }),
        }
    }
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    taps.into_iter()
        .filter_map(|tap| {
            let name = unique(tap.name.unwrap_or_else(|| stem(&tap.path)), &tap.path, &mut names);
            merge(name, tap.streams, errors)
        })
        .collect()
}

/// A tap that may still grow.
struct Open {
    name: Option<String>,
    path: String,
    last: Option<Timestamp>,
    streams: Vec<Stream>,
}

fn merge(name: String, streams: Vec<Stream>, errors: &mut Vec<Error>) -> Option<MergedTap> {
    let mut merged: Option<MergedTap> = None;
    for stream in streams {
        merged = Some(match merged.take() {
            None => MergedTap { name: name.clone(), captures: stream.captures, partial: stream.partial },
            Some(MergedTap { name, mut captures, partial }) => match partial.merge(stream.partial) {
                Ok(partial) => {
                    captures.extend(stream.captures);
                    MergedTap { name, captures, partial }
                }
                Err(error) => {
                    errors.push(Error::Usage(error.to_string()));
                    return None;
                }
            },
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
