//! Pairs over time: what was sent past the first tap and what the second one showed, in bins of absolute time.
//!
//! A packet counts in the bin of its time at the first tap it passes, by that tap's clock, at both taps: so what was sent and not carried was
//! lost. Bins begin at multiples of their width since the epoch, and widths divide each other: wider bins are sums of narrower ones,
//! whenever they were joined.

use std::collections::{BTreeMap, BTreeSet};

use super::limits::{MAX_BINS_OF_ONE, MAX_SPREAD_BINS};
use super::measure::quantiles::{Bucketed, Quantiles};
use super::packets::ledger::{PairedPlain, Tunnelled};

/// Widths of bins in nanoseconds; each divides the next.
const WIDTHS: [i64; 9] = [
    1_000_000,
    10_000_000,
    100_000_000,
    1_000_000_000,
    10_000_000_000,
    60_000_000_000,
    600_000_000_000,
    3_600_000_000_000,
    86_400_000_000_000,
];

/// What one direction carried in one bin.
#[derive(Clone, Debug, Default)]
pub(in crate::matching) struct SpreadTally {
    /// Pairs.
    pub(in crate::matching) pairs: u64,
    /// IP lengths of their packets at the first tap and at the second.
    pub(in crate::matching) sent_bytes: u64,
    pub(in crate::matching) carried_bytes: u64,
    /// Pairs of which a length is not known.
    pub(in crate::matching) unsized_pairs: u64,
    /// Packets of the first tap without a pair, where that is the tunnel's, and their IP lengths.
    pub(in crate::matching) alone: u64,
    pub(in crate::matching) alone_bytes: u64,
    /// Latencies.
    pub(in crate::matching) times: Quantiles,
}

impl SpreadTally {
    fn merge(&mut self, other: &Self) {
        let Self { pairs, sent_bytes, carried_bytes, unsized_pairs, alone, alone_bytes, times } = other;
        self.pairs += pairs;
        self.sent_bytes += sent_bytes;
        self.carried_bytes += carried_bytes;
        self.unsized_pairs += unsized_pairs;
        self.alone += alone;
        self.alone_bytes += alone_bytes;
        self.times.merge(times);
    }
}

/// From when to when a bin of an SA lasts, and where it is.
#[derive(Clone, Copy, Debug)]
struct LatestBin {
    sa: u32,
    from: i64,
    to: i64,
    place: usize,
}

/// Bins of all directions, by SA and place.
#[derive(Clone, Debug, Default)]
pub(in crate::matching) struct TimeSpread {
    /// Index into [`WIDTHS`].
    width: usize,
    /// Where in `tallies` each bin is.
    bins: BTreeMap<(u32, i64), usize>,
    tallies: Vec<SpreadTally>,
    /// The bins that were asked for last: most packets are of the same ones, both ways.
    latest: [Option<LatestBin>; 2],
    /// How many bins each SA has.
    counts: BTreeMap<u32, usize>,
    /// SAs that found no room: theirs are not whole.
    beyond: BTreeSet<u32>,
}

impl TimeSpread {
    /// Width of a bin.
    pub(in crate::matching) fn width_ns(&self) -> i64 {
        WIDTHS.get(self.width).copied().unwrap_or(i64::MAX)
    }

    /// Adds a pair: packets of which the lengths are `known`, and the time between the taps where that is.
    pub(in crate::matching) fn pair(
        &mut self,
        packet: &Tunnelled,
        plain: &PairedPlain,
        encapsulated: Option<bool>,
        known: bool,
        latency: Option<Bucketed>,
    ) {
        let encapsulated = encapsulated != Some(false);
        let sent = if encapsulated { plain.time } else { packet.time };
        let Some(bin) = sent.ns().and_then(|ns| self.at(packet.sa, ns)) else { return };
        let (near, far) = (u64::from(plain.bytes), u64::from(packet.outer_bytes));
        let (first, second) = if encapsulated { (near, far) } else { (far, near) };
        bin.pairs += 1;
        bin.sent_bytes += first;
        bin.carried_bytes += second;
        bin.unsized_pairs += u64::from(!known);
        if let Some(latency) = latency {
            bin.times.add_bucketed(latency);
        }
    }

    /// Adds a packet of the tunnel that has no plaintext packet, where it was to come out of it.
    pub(in crate::matching) fn alone(&mut self, packet: &Tunnelled, encapsulated: Option<bool>) {
        let out = packet.time.ns().filter(|_| encapsulated == Some(false));
        if let Some(bin) = out.and_then(|ns| self.at(packet.sa, ns)) {
            bin.alone += 1;
            bin.alone_bytes += u64::from(packet.outer_bytes);
        }
    }

    /// The bin of an SA at a time; `None` where there is no room.
    fn at(&mut self, sa: u32, ns: i64) -> Option<&mut SpreadTally> {
        let is_it = |bin: &&LatestBin| bin.sa == sa && bin.from <= ns && ns < bin.to;
        let latest = self.latest.iter().flatten().find(is_it).map(|bin| bin.place);
        let place = latest.or_else(|| self.place(sa, ns))?;
        self.tallies.get_mut(place)
    }

    /// Where the bin of an SA at a time is, which is made if there is room for it.
    fn place(&mut self, sa: u32, ns: i64) -> Option<usize> {
        if self.beyond.contains(&sa) {
            return None;
        }
        loop {
            let at = ns.div_euclid(self.width_ns());
            if !self.bins.contains_key(&(sa, at)) {
                let own = self.counts.get(&sa).copied().unwrap_or(0);
                let is_full = self.bins.len() >= MAX_SPREAD_BINS || own >= MAX_BINS_OF_ONE;
                if is_full && self.widen() {
                    continue;
                }
                if is_full {
                    self.beyond.insert(sa);
                    self.drop_all_of(sa);
                    return None;
                }
            }
            let place = self.bin(sa, at);
            let begin = |at: i64| at.saturating_mul(self.width_ns());
            let bin = LatestBin { sa, from: begin(at), to: begin(at + 1), place };
            self.latest = [Some(bin), self.latest[0]];
            return Some(place);
        }
    }

    /// Where a bin is, which is made if there is none yet.
    fn bin(&mut self, sa: u32, at: i64) -> usize {
        *self.bins.entry((sa, at)).or_insert_with(|| {
            *self.counts.entry(sa).or_default() += 1;
            self.tallies.push(SpreadTally::default());
            self.tallies.len() - 1
        })
    }

    /// Makes room: an SA that has found none keeps no bins.
    fn drop_all_of(&mut self, sa: u32) {
        self.latest = [None; 2];
        self.bins.retain(|(own, _), _| *own != sa);
        let mut tallies = std::mem::take(&mut self.tallies);
        for place in self.bins.values_mut() {
            self.tallies.extend(tallies.get_mut(*place).map(std::mem::take));
            *place = self.tallies.len() - 1;
        }
    }

    /// Joins bins to those of the next width; whether there is one.
    fn widen(&mut self) -> bool {
        let Some(next) = WIDTHS.get(self.width + 1) else { return false };
        let factor = next / self.width_ns();
        self.counts.clear();
        self.latest = [None; 2];
        let tallies = std::mem::take(&mut self.tallies);
        for ((sa, at), narrow) in std::mem::take(&mut self.bins) {
            let wide = self.bin(sa, at.div_euclid(factor));
            if let (Some(wide), Some(narrow)) = (self.tallies.get_mut(wide), tallies.get(narrow)) {
                wide.merge(narrow);
            }
        }
        self.width += 1;
        true
    }

    /// Bins of an SA by where they start, in order.
    pub(in crate::matching) fn of(&self, sa: u32) -> impl Iterator<Item = (i64, &SpreadTally)> {
        let width = self.width_ns();
        let own = self.bins.range((sa, i64::MIN)..=(sa, i64::MAX));
        own.filter_map(move |((_, at), place)| Some((at.saturating_mul(width), self.tallies.get(*place)?)))
    }

    /// Whether the bins of an SA found no room.
    pub(in crate::matching) fn is_beyond(&self, sa: u32) -> bool {
        self.beyond.contains(&sa)
    }

    /// SAs whose bins found no room.
    pub(in crate::matching) fn beyond(&self) -> u64 {
        self.beyond.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(of: impl Iterator<Item = (u32, i64)>) -> TimeSpread {
        let mut spread = TimeSpread::default();
        for (sa, ns) in of {
            if let Some(bin) = spread.at(sa, ns) {
                bin.pairs += 1;
                bin.sent_bytes += 100;
                bin.times.add(ns % 1_000);
            }
        }
        spread
    }

    /// Half a year, packets far apart and close together: the sums are the same in any order, and bins begin at multiples of the width.
    #[test]
    fn the_order_of_packets_changes_nothing() {
        let packets = |n: i64| (n as u32 % 3, n * n * 1_700_000 - 40_000_000_000);
        let shown = |spread: &TimeSpread| -> Vec<_> {
            let rows = (0..3).flat_map(|sa| spread.of(sa).map(move |(start, bin)| (sa, start, bin)));
            rows.map(|(sa, start, bin)| (sa, start, bin.pairs, bin.sent_bytes, bin.times.ranges())).collect()
        };
        let rising = spread((0..3_000).map(packets));
        assert_eq!(shown(&spread((0..3_000).rev().map(packets))), shown(&rising));
        assert_eq!(shown(&spread((0..3_000).map(|n| packets(n * 1_409 % 3_000)))), shown(&rising));
        assert!(rising.width > 0 && rising.bins.len() <= MAX_SPREAD_BINS);
        let all: u64 = (0..3).flat_map(|sa| rising.of(sa)).map(|(_, bin)| bin.pairs).sum();
        assert_eq!((all, rising.beyond()), (3_000, 0));
        for sa in 0..3 {
            assert!(rising.of(sa).all(|(start, _)| start % rising.width_ns() == 0));
        }
    }

    #[test]
    fn more_directions_than_bins_are_counted() {
        let many = MAX_SPREAD_BINS as u32 + 5;
        let spread = spread((0..many).map(|sa| (sa, i64::from(sa))));
        assert_eq!((spread.beyond(), spread.bins.len()), (5, MAX_SPREAD_BINS));
        assert!(spread.is_beyond(many - 1) && !spread.is_beyond(0));
    }
}
