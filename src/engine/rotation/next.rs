//! The tap that a capture is the next file of, where several may go on with it: names decide, then sequence numbers, then nearness.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::layout::Open;
use super::{LOOKED_AT, Taps};
use crate::analysis::Succession;
use crate::engine::rotation::stream::{End, Stream};
use crate::model::Timestamp;
use crate::model::counted_name::SeriesName;

/// How well a name goes on from another one: numbers alone differ, the fewer the better; characters that both have at their ends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
struct NameRank {
    differing: Option<Reverse<usize>>,
    alike: usize,
}

/// What the sequence numbers say, the better the later.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum NumberRank {
    /// They begin anew, or both hold the same.
    Contradict,
    /// No SA is in both.
    Nothing,
    GoOn,
    /// Hardly one is missing.
    Close,
}

type Rank = (Option<Reverse<usize>>, NumberRank, usize, Option<Timestamp>);

impl Taps {
    /// The tap without a name that a stream may be the next file of.
    pub(super) fn continued_by(&self, stream: &Stream) -> Option<usize> {
        if stream.times().0.is_none() {
            return self.counted_on_to(stream);
        }
        let ended = self.ended_before(stream).filter_map(|at| Some((at, self.open.get(at)?)));
        let follows: Vec<(usize, &Open)> = ended.filter(|(_, tap)| tap.goes_on_with(stream)).collect();
        let likely = by_likelihood(follows, stream);
        let follows = likely.into_iter().find(|(_, tap)| !tap.is_seen_again_in(stream)).map(|(at, _)| at);
        follows.or_else(|| self.set_back_before(stream))
    }

    /// The tap that ends later than a stream begins, and whose numbers go on in it: the clock was set back.
    fn set_back_before(&self, stream: &Stream) -> Option<usize> {
        let names = stream.names(End::First);
        let close = self.overlapping(stream).filter(|(_, how)| how.is_close());
        let known = close.filter_map(|(at, _)| Some((Reverse(self.open.get(at)?.name_rank(&names)), at)));
        known.enumerate().min_by_key(|(place, (rank, _))| (*rank, *place)).map(|(_, (_, at))| at)
    }

    /// The tap whose names go on in that of a capture without frames, as a program that writes files leaves one behind.
    fn counted_on_to(&self, stream: &Stream) -> Option<usize> {
        let names = stream.names(End::First);
        let step = |own: &SeriesName| names.iter().any(|name| own.step_to(name).is_some());
        let unnamed = self.open.iter().enumerate().filter(|(_, tap)| tap.name.is_none() && tap.last.is_some());
        let before = unnamed.filter_map(|(at, tap)| Some((tap.names.iter().filter(|name| step(name)).max()?, at)));
        before.max().map(|(_, at)| at)
    }
}

/// The likeliest of these taps first, so many as are looked at.
fn by_likelihood<'t>(mut taps: Vec<(usize, &'t Open)>, stream: &Stream) -> Vec<(usize, &'t Open)> {
    if taps.len() < 2 {
        return taps;
    }
    let names = stream.names(End::First);
    taps.sort_by_cached_key(|(_, tap)| Reverse((tap.name_rank(&names), tap.last)));
    taps.truncate(LOOKED_AT);
    taps.sort_by_cached_key(|(_, tap)| Reverse(tap.rank(&names, stream)));
    taps
}

impl Open {
    fn name_rank(&self, names: &BTreeSet<SeriesName>) -> NameRank {
        let pairs = self.names.iter().flat_map(|own| names.iter().map(move |next| (own, next)));
        pairs.map(|(own, next)| NameRank::of(own, next)).max().unwrap_or_default()
    }

    fn rank(&self, names: &BTreeSet<SeriesName>, stream: &Stream) -> Rank {
        let NameRank { differing, alike } = self.name_rank(names);
        let numbers = self.stream.as_ref().map_or(NumberRank::Nothing, |own| NumberRank::of(own.succession(stream)));
        (differing, numbers, alike, self.last)
    }
}

impl NameRank {
    fn of(own: &SeriesName, next: &SeriesName) -> Self {
        Self { differing: own.name.differing(&next.name).map(Reverse), alike: alike(&own.path, &next.path) }
    }
}

impl NumberRank {
    fn of(how: Succession) -> Self {
        match how {
            how if how.shared == 0 => Self::Nothing,
            how if how.is_close() => Self::Close,
            how if how.goes_on() && !how.turns_back() => Self::GoOn,
            _ => Self::Contradict,
        }
    }
}

/// How many characters two names have in common at their beginning and their end.
fn alike(a: &str, b: &str) -> usize {
    let same = |(x, y): &(u8, u8)| x == y;
    let before = a.bytes().zip(b.bytes()).take_while(same).count();
    let behind = a.bytes().rev().zip(b.bytes().rev()).take_while(same).count();
    before.saturating_add(behind).min(a.len()).min(b.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_series_are_likelier_than_those_of_others() {
        let rank = |own: &str, next: &str| NameRank::of(&SeriesName::of(own), &SeriesName::of(next));
        for (next, own, other) in [
            ("20261126-1210-west.pcap", "20261126-1200-west.pcap", "20261126-1200-east.pcap"),
            ("2026-11-26T12:10:00_west.pcap", "2026-11-26T12:00:00_west.pcap", "2026-11-26T12:00:00_east.pcap"),
            ("eth1_00002.pcap", "eth1_00001.pcap", "eth0_00001.pcap"),
            ("cap1_b.pcap", "cap1_a.pcap", "cap0_a.pcap"),
            ("b_west.pcap", "a_west.pcap", "a_east.pcap"),
            ("west-noon.pcap", "west-dawn.pcap", "east-dawn.pcap"),
            ("13/west.pcap", "12/west.pcap", "12/east.pcap"),
        ] {
            assert!(rank(own, next) > rank(other, next), "{next}");
        }
    }
}
