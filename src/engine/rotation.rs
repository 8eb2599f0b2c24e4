//! Which captures are one tap.
//!
//! Captures that `--tap` names together are one stream. Of the others, those whose time spans do not overlap are one
//! tap in rotation, in order of first timestamp; those that overlap are taps of their own. Clocks step a little where one file ends and
//! the next begins: files that overlap by less than [`LEAST_OVERLAP_NS`], or a hundredth of the shorter one, are still one tap, unless
//! both hold the same sequence numbers. Files that overlap by more are one tap where the numbers of the SAs in both go on from one to the
//! other: the clock was set back between them. Files are put in another order than that of their times only where their names count so, or
//! where they overlap and the numbers of several SAs go on. Where these SAs have no number in both and do not go on either, it is said.

pub(super) mod fold;
pub(super) mod interleave;
mod layout;
mod next;
mod parts;
pub(super) mod stream;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use self::layout::Open;
use super::input::Input;
use crate::analysis::{CaptureSpan, MergeError, Succession};
use crate::engine::rotation::stream::{End, Stream, times};
use crate::model::counted_name::{CountedName, SeriesName};
use crate::model::{Error, Timestamp};

/// A tap: its name, its streams in one, and what was assumed about which captures belong together, in words.
pub(super) struct MergedTap {
    pub(super) name: String,
    pub(super) stream: Stream,
    pub(super) assumed: Vec<String>,
}

/// A tap all of whose streams are known.
struct Placed {
    name: Option<String>,
    path: String,
    stream: Stream,
    assumed: Vec<String>,
}

/// Files of a rotation overlap by no more than this, or a hundredth of the shorter one.
const LEAST_OVERLAP_NS: i64 = 10_000_000;

/// Of the taps that end later than a file begins, so many are looked at for numbers that go on in the file.
const LOOKED_AT: usize = 16;

/// Inputs as they are to be read.
pub(super) enum Named<'i> {
    /// A capture of no named tap.
    Alone(&'i Input),
    /// All captures of a named tap.
    Tap(&'i str, Vec<(usize, &'i Input)>),
}

impl Named<'_> {
    /// Where the first of its captures is.
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Alone(input) => input.source.name(),
            Self::Tap(_, inputs) => inputs.first().map_or(Path::new(""), |(_, input)| input.source.name()),
        }
    }
}

/// Groups inputs by the tap that was named for them, in the order of the command line.
pub(super) fn by_tap(inputs: &[Input]) -> Vec<Named<'_>> {
    let mut named: Vec<Named<'_>> = Vec::new();
    let mut known: HashMap<&str, usize> = HashMap::new();
    for (order, input) in inputs.iter().enumerate() {
        let Some(name) = &input.tap else {
            named.push(Named::Alone(input));
            continue;
        };
        let at = *known.entry(name).or_insert(named.len());
        match named.get_mut(at) {
            Some(Named::Tap(_, members)) => members.push((order, input)),
            _ => named.push(Named::Tap(name, vec![(order, input)])),
        }
    }
    named
}

/// Whether the names of some of these captures count on: they may be files that a program wrote one after the other.
pub(super) fn counts(inputs: &[(usize, &Input)]) -> bool {
    let mut names: Vec<SeriesName> =
        inputs.iter().map(|(_, input)| SeriesName::of(&input.source.name().to_string_lossy())).collect();
    names.sort_unstable();
    names.windows(2).any(|pair| match pair {
        [own, next] => own.step_to(next).is_some_and(|step| step.is_next && step.is_last),
        _ => false,
    })
}

/// Whether streams of one named tap follow each other, so that it is not two ports of a TAP that they show at one time.
pub(super) fn follow_each_other(streams: Vec<Stream>) -> bool {
    let mut errors = Vec::new();
    streams.len() < 2 || assign(streams, &mut errors).len() == 1 && errors.is_empty()
}

/// Decides which streams are one tap and merges them in time order. The outcome does not depend on the order of `streams`.
pub(super) fn assign(mut streams: Vec<Stream>, errors: &mut Vec<Error>) -> Vec<MergedTap> {
    // A capture without times has a place in a rotation by its name alone: it stands behind the others.
    streams.sort_by_cached_key(|stream| {
        let (first, last) = stream.times();
        let paths: Vec<CountedName> = stream.captures.iter().map(|c| CountedName::of(&c.capture.path)).collect();
        (first.is_none(), first, last, paths, stream.tap.clone())
    });
    let mut taps = Taps::default();
    parts::in_order(streams).into_iter().for_each(|stream| taps.take(stream, errors));
    taps.divide();
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    let mut whole: Vec<_> = Vec::with_capacity(taps.open.len());
    for open in taps.open {
        match in_order(open.set_aside.into_iter().chain(open.stream).collect(), open.name.is_some()) {
            Ok(Some(stream)) => whole.push(Placed { name: open.name, path: open.path, stream, assumed: open.assumed }),
            Ok(None) => {}
            Err(error) => errors.push(Error::Usage(error.to_string())),
        }
    }
    layout::say_cut_otherwise(&mut whole);
    let open = whole.into_iter();
    open.map(|Placed { name, path, mut stream, mut assumed }| {
        stream.state.settle();
        assumed.extend(stream.twice().map(|(path, again)| match path == again {
            true => format!("{path} is given more than once and is counted once"),
            false => format!("{again} holds the same frames as {path} and is counted once"),
        }));
        let doubled = stream.doubled();
        assumed.extend(doubled.into_iter().map(|(path, again)| {
            format!("{again} begins with the same frame as {path} and has as many in the same time: if it is the same capture, leave it out")
        }));
        MergedTap { name: unique(name.unwrap_or_else(|| stem(&path)), &path, &mut names), stream, assumed }
    })
    .collect()
}

/// Streams of one tap, which follow each other by their times, as one: the one whose numbers go on in another one comes before that one. `named`:
/// the user named this tap.
fn in_order(mut streams: Vec<Stream>, named: bool) -> Result<Option<Stream>, MergeError> {
    while let Some((first, next, how)) = neighbours(&streams) {
        let later = streams.remove(next);
        let place = first - usize::from(next < first);
        let own = streams.remove(place);
        streams.insert(place.min(next), own.append(later, how)?);
    }
    let mut whole: Option<Stream> = None;
    for next in streams {
        whole = Some(match whole {
            Some(own) => {
                let mut how = own.succession(&next);
                how.unproved = if named { 0 } else { layout::unproved(&own, &next, how) };
                own.append(next, how)?
            }
            None => next,
        });
    }
    Ok(whole)
}

/// Two of these streams of which the second goes on where the first ends.
fn neighbours(streams: &[Stream]) -> Option<(usize, usize, Succession)> {
    let pairs = (0..streams.len()).flat_map(|first| (0..streams.len()).map(move |next| (first, next)));
    let mut known = pairs
        .filter(|(first, next)| first != next)
        .filter_map(|(first, next)| Some((first, next, streams.get(first)?, streams.get(next)?)))
        .map(|(first, next, own, later)| (first, next, own, later, own.succession(later)));
    known
        .find(|(first, next, own, later, how)| how.is_close() && (first + 1 == *next || may_turn(own, later, *how)))
        .map(|(first, next, _, _, how)| (first, next, how))
}

/// Whether `later`, which stands before `own` by its times or not next to it, may be what goes on from it. A counter that begins anew may
/// end where another file begins, so numbers alone do not outweigh times that are in order.
fn may_turn(own: &Stream, later: &Stream, how: Succession) -> bool {
    /// One SA may go on by chance.
    const SEVERAL: u64 = 2;
    let counts = !own.name_steps(later).is_empty();
    let ((own_first, own_last), (first, last)) = (own.times(), later.times());
    let overlaps = own_last.zip(first).is_some_and(|(end, begin)| begin < end)
        && last.zip(own_first).is_some_and(|(end, begin)| begin < end);
    counts || overlaps && how.joined >= SEVERAL
}

/// Taps that may still grow.
#[derive(Default)]
struct Taps {
    open: Vec<Open>,
    by_name: HashMap<String, usize>,
    /// Those without a name, by the time of their latest frame.
    by_end: BTreeSet<(Timestamp, usize)>,
}

impl Taps {
    fn take(&mut self, stream: Stream, errors: &mut Vec<Error>) {
        let follows = match &stream.tap {
            Some(name) => self.by_name.get(name).copied(),
            None => self.continued_by(&stream),
        };
        let Some(at) = follows else { return self.begin(stream) };
        let Some(tap) = self.open.get_mut(at) else { return };
        if tap.name.is_some() && !tap.may_be_followed_by(&stream) {
            let what = format!(
                "overlaps in time with what is there of tap {}; analyse these captures in one run. It was left out",
                tap.name.as_deref().unwrap_or_default()
            );
            errors.push(Error::Format { path: stream.path().into(), what });
            return;
        }
        let mut succession = tap.stream.as_ref().map(|own| own.succession(&stream)).unwrap_or_default();
        succession.unproved = tap.assume(&stream, succession);
        tap.names = stream.names(End::Last);
        let before = tap.last;
        tap.last = stream.times().1.max(before);
        if let (Some(before), Some(after)) = (before, tap.last)
            && self.by_end.remove(&(before, at))
        {
            self.by_end.insert((after, at));
        }
        let Some(own) = tap.stream.take() else { return };
        // By its numbers it may be of the time before, which the clock was set back to.
        if tap.name.is_none() && succession.turns_back() && tap.set_aside.len() < LOOKED_AT {
            tap.set_aside.push(own);
            tap.stream = Some(stream);
            return;
        }
        match own.append(stream, succession) {
            Ok(whole) => tap.stream = Some(whole),
            Err(error) => errors.push(Error::Usage(error.to_string())),
        }
    }

    /// Taps without a name that end before a stream begins, or not much later: those that end last first.
    fn ended_before(&self, stream: &Stream) -> impl Iterator<Item = usize> {
        // No overlap is tolerated beyond this.
        let slack = LEAST_OVERLAP_NS.max(lasts(stream.state.captures()) / 100);
        let first = stream.times().0.and_then(|first| first.ns());
        let latest = first.map(|first| Timestamp::from_ns(first.saturating_add(slack)));
        let ended = latest.map(|latest| self.by_end.range(..=(latest, usize::MAX)).rev());
        ended.into_iter().flatten().map(|(_, at)| *at)
    }

    /// Taps without a name that end later than a stream begins, and how it goes on from them.
    fn overlapping(&self, stream: &Stream) -> impl Iterator<Item = (usize, Succession)> {
        let first = stream.times().0;
        let later = first.map(|first| self.by_end.range((first, 0)..).take(LOOKED_AT)).into_iter().flatten();
        later.filter_map(move |(_, at)| Some((*at, self.open.get(*at)?.stream.as_ref()?.succession(stream))))
    }

    /// What is said of a stream that begins before a tap ends and has none of the numbers of their SAs in common with it.
    fn divided(&self, stream: &Stream) -> Option<(usize, String)> {
        let (at, how) = self.overlapping(stream).find(|(_, how)| how.goes_on())?;
        let path = self.open.get(at)?.stream.as_ref()?.last_path();
        let what = format!(
            "{} begins before {path} ends, and their {} common {} disjoint sequence numbers. Treated as two taps that share the traffic. \
             Alternative: one tap whose clock was set back. Numbers missing at one tap may be at the other",
            stream.path(),
            how.shared,
            if how.shared == 1 { "SA has" } else { "SAs have" }
        );
        Some((at, what))
    }

    /// What is said of a stream that is a tap of its own because it holds numbers of another one that ended.
    fn apart(&self, stream: &Stream) -> Option<String> {
        let ended = self.ended_before(stream).filter_map(|at| self.open.get(at));
        let said = ended.take(LOOKED_AT).find_map(|tap| tap.apart_from(stream));
        let overlapping = || self.overlapping(stream).filter(|(_, how)| how.is_parallel());
        let said = said.or_else(|| overlapping().find_map(|(at, _)| self.open.get(at)?.anew_in(stream)));
        let unlike = || self.overlapping(stream).filter(|(_, how)| how.shared == 0);
        said.or_else(|| unlike().find_map(|(at, _)| self.open.get(at)?.counted_on_in(stream)))
    }

    /// Keeps what was said of taps that share the traffic where all that came later does not contradict.
    fn divide(&mut self) {
        for at in 0..self.open.len() {
            let Some((other, what)) = self.open.get_mut(at).and_then(|tap| tap.divided.take()) else { continue };
            let stream = self.open.get(at).and_then(|tap| tap.stream.as_ref());
            let pair = stream.zip(self.open.get(other));
            if pair.is_some_and(|(stream, other)| other.likeness(stream).repeated == 0)
                && let Some(tap) = self.open.get_mut(at)
            {
                tap.assumed.insert(0, what);
            }
        }
    }

    fn begin(&mut self, stream: Stream) {
        let (at, (_, last)) = (self.open.len(), stream.times());
        let unnamed = Some(&stream).filter(|stream| stream.tap.is_none());
        let divided = unnamed.and_then(|stream| self.divided(stream));
        let assumed = unnamed.and_then(|stream| self.apart(stream)).into_iter().collect();
        match (&stream.tap, last) {
            (Some(name), _) => drop(self.by_name.insert(name.clone(), at)),
            (None, Some(last)) => drop(self.by_end.insert((last, at))),
            (None, None) => {}
        }
        let (name, path, names) = (stream.tap.clone(), stream.path().to_owned(), stream.names(End::Last));
        let (stream, set_aside) = (Some(stream), Vec::new());
        self.open.push(Open { name, path, names, last, stream, set_aside, assumed, divided });
    }
}

/// Nanoseconds between the earliest and the latest frame.
fn lasts(spans: &[CaptureSpan]) -> i64 {
    match times(spans) {
        (Some(first), Some(last)) => last.since(first).unwrap_or(0),
        _ => 0,
    }
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
