//! How well packets in clear agree with frames of a tunnel: of two ways to read its directions, which can be and which cannot.

use super::tap_stream::{FIRSTS, FrameBunch, TapStream};
use crate::trials::association::vote;
use crate::trials::limits::{FEWEST, TAPS_APART};

/// A tap and the next one that packets of a way pass, and which of the two is the tunnel's: 1 the next one, -1 the first, 0 none.
pub(super) type Hop<'s> = (&'s TapStream, &'s TapStream, i64);

/// A way to read the directions of a tunnel: all hops of both ways, and for each end of the tunnel the hop into it and the one out of it.
pub(super) struct WayReading<'s> {
    pub(super) hops: Vec<Hop<'s>>,
    pub(super) ends: Vec<(Hop<'s>, Hop<'s>)>,
}

/// What is known of the taps.
#[derive(Clone, Copy)]
pub(super) struct ReadingRules {
    pub(super) one_clock: bool,
    /// From one time stamp to the next, in nanoseconds.
    pub(super) grain: i64,
    /// Whether every frame is there.
    pub(super) whole: bool,
    /// Whether all packets of a way are in one direction of the tunnel.
    pub(super) counts: bool,
}

impl WayReading<'_> {
    /// Above 0 where this is how packets go, below 0 where it is `other`, and 0 where nothing tells.
    pub(super) fn against(&self, other: &Self, rules: ReadingRules) -> i64 {
        let both = [self, other];
        // What cannot be.
        let unlike = both.map(|own| own.hops.iter().filter(|hop| is_unlike(hop)).count());
        let [grown, others] = both.map(Self::grown);
        let frames = self.hops.iter().flat_map(|(here, ..)| &here.bunches).map(|own| own.frames).sum::<u64>();
        let many = rules.counts && grown.abs_diff(others) > 2 + frames / GROWN_OF;
        let more = if many { [grown, others] } else { [0, 0] };
        let alone = both.map(|own| own.hops.iter().map(|hop| unmet(hop, rules)).sum::<usize>());
        let early = both.map(|own| own.hops.iter().filter(|hop| rules.one_clock && is_early(hop, rules.grain)).count());
        let back = both.map(|own| own.ends.iter().filter(|end| is_negative(&trips(end, rules), rules.grain)).count());
        let impossible = [less(unlike), less(more), less(alone), less(early), less(back)];
        if let Some(own) = impossible.into_iter().find(|own| *own != 0) {
            return own;
        }
        // What is not likely.
        let long = self.longer(other, rules);
        let whole = both.iter().all(|own| own.hops.iter().all(|hop| aligned(hop).is_some()));
        let votes = if rules.counts && whole { self.votes(other) } else { 0 };
        let shrunk = if rules.counts { less(both.map(Self::shrunk)) } else { 0 };
        let told = if rules.whole { -less(both.map(|own| own.told(rules))) } else { 0 };
        let hollow = if rules.counts { less(both.map(Self::hollow)) } else { 0 };
        [hollow, long, told, votes, shrunk].into_iter().find(|own| *own != 0).unwrap_or(0)
    }

    /// By how many frames taps show more than those before them.
    fn grown(&self) -> u64 {
        let pairs = self.hops.iter().filter_map(aligned).flatten();
        pairs.map(|(here, there)| there.frames.saturating_sub(here.frames)).sum()
    }

    /// Hops on which nearly everything would be lost in all.
    fn hollow(&self) -> usize {
        self.hops.iter().filter(|(here, there, _)| there.frames() * 10 < here.frames()).count()
    }

    /// -1 where an idle tunnel would take far longer there and back than in `other`, 1 where it is the other way round.
    fn longer(&self, other: &Self, rules: ReadingRules) -> i64 {
        let usual = |end: &(Hop<'_>, Hop<'_>)| median(trips(end, rules));
        let each = self.ends.iter().zip(&other.ends).filter_map(|(own, other)| Some((usual(own)?, usual(other)?)));
        let is_long = |own: i64, other: i64| own >= LONG_NS && own > 3 * other.max(0);
        each.map(|(own, other)| i64::from(is_long(other, own)) - i64::from(is_long(own, other))).sum::<i64>().signum()
    }

    /// Above 0 where packets are through the tunnel more evenly here, below 0 where they are in `other`. That they are through it sooner tells
    /// nothing by itself: read the wrong way round, it is by how much loads of one direction begin later than those of the other.
    pub(super) fn closer(&self, other: &Self, rules: ReadingRules) -> i64 {
        if !rules.whole || rules.grain != 0 {
            return 0;
        }
        let uneven = [self, other].map(Self::unevenness);
        let [Some((own_least, own)), Some((others_least, others))] = uneven else { return 0 };
        // What is as even as two generators on one way, and as uneven as a device on the other, is no gateway.
        let is_even = |least: i64, most: i64, other: i64| {
            let is_less = |own: i64, other: i64| other > 2 * own + ROUNDED_NS / 2;
            is_less(most, other) && !is_less(least, most)
        };
        let even = i64::from(is_even(own_least, own, others)) - i64::from(is_even(others_least, others, own));
        let [Some(own), Some(others)] = [self, other].map(|reading| reading.trip(rules)) else { return 0 };
        let is_long = |own: i64, other: i64| own > 3 * other.max(0) + CLOSER_NS;
        let sooner = i64::from(is_long(others, own)) - i64::from(is_long(own, others));
        // Where one contradicts the other, nothing tells.
        if sooner * even < 0 { 0 } else { even }
    }

    /// The time into the tunnel and out of it, together, of most loads.
    pub(super) fn trip(&self, rules: ReadingRules) -> Option<i64> {
        median(self.ends.iter().flat_map(|end| trips(end, rules)).collect())
    }

    /// By how much the time between two taps changes from one packet to the next, where none is lost: on the way on which that is least, and
    /// on that on which it is most.
    fn unevenness(&self) -> Option<(i64, i64)> {
        let of = |(here, there, _): &Hop<'_>, a: &FrameBunch, b: &FrameBunch| {
            let (own, next) = (here.times_of(a), there.times_of(b));
            let late: Vec<i64> = own.iter().zip(next).map(|(t, d)| d - t).collect();
            let changes = late.iter().zip(late.iter().skip(1)).map(|(one, next)| (next - one).abs()).collect();
            median(changes).filter(|_| own.len() == next.len())
        };
        let hop = |hop: &Hop<'_>| median(aligned(hop)?.iter().filter_map(|(a, b)| of(hop, a, b)).collect());
        let all = self.hops.iter().map(hop).collect::<Option<Vec<i64>>>()?;
        all.iter().copied().min().zip(all.iter().copied().max())
    }

    /// Whether what a load would lose here is no device's that has no room to let packets wait: it would lose nearly all of them, or carries
    /// more in another load.
    fn is_refuted(&self, k: usize) -> bool {
        let rate = |own: &FrameBunch| own.frames as f64 / own.lasts().max(1) as f64;
        self.hops.iter().any(|(here, there, _)| {
            let (Some(own), Some(next)) = (here.bunches.get(k), there.bunches.get(k)) else { return false };
            let carries = |other: &FrameBunch| other.size >= next.size && rate(other) > CARRIED * rate(own);
            own.frames > next.frames && (next.frames * 10 < own.frames || there.bunches.iter().any(carries))
        })
    }

    /// Loads that lose nothing here, and in `other` would lose packets without any that waited; or would lose very many.
    fn votes(&self, other: &Self) -> i64 {
        let loads = self.hops.iter().chain(&other.hops).map(|(here, ..)| here.bunches.len()).min().unwrap_or(0);
        let at = |own: &Self, k: usize| -> Vec<(FrameBunch, FrameBunch)> {
            own.hops
                .iter()
                .filter_map(|(here, there, _)| Some((*here.bunches.get(k)?, *there.bunches.get(k)?)))
                .collect()
        };
        // Packets beside the load are in the tunnel, too.
        let few = if self.hops.iter().any(|(here, there, _)| here.beside || there.beside) { 2 } else { 0 };
        let all_pass = |own: &[(FrameBunch, FrameBunch)]| {
            own.iter().all(|(here, there)| here.frames.abs_diff(there.frames) <= few)
        };
        let waited = |own: &[(FrameBunch, FrameBunch)]| {
            own.iter().any(|(here, there)| here.frames > there.frames && there.is_stretched(here))
        };
        let lacks = |own: &[(FrameBunch, FrameBunch)]| own.iter().any(|(here, there)| there.lacks_many(here));
        let pass = |own: &[_], other: &[_]| i64::from(all_pass(own) && !all_pass(other) && !waited(other));
        let lack = |own: &[_], other: &[_]| i64::from(lacks(other) && !lacks(own));
        let (mut clean, mut few_lack) = (0, 0);
        for k in 0..loads {
            // A device without room drops as many of equal loads in both directions: read the wrong way round, none is lost.
            let refuted = [self.is_refuted(k), other.is_refuted(k)].map(i64::from);
            let (own, other) = (at(self, k), at(other, k));
            clean += pass(&own, &other) * refuted[1] - pass(&other, &own) * refuted[0];
            few_lack += lack(&own, &other) * refuted[1] - lack(&other, &own) * refuted[0];
        }
        // That counts are equal in one load may be chance.
        let clean = if clean.abs() >= 2 && clean.abs() * 2 >= loads as i64 { clean } else { 0 };
        (clean + few_lack).signum()
    }

    /// Loads of as many frames at the next tap that are shorter there: the first packet waits for none.
    fn shrunk(&self) -> usize {
        let is_shorter = |(here, there): &(FrameBunch, FrameBunch)| {
            here.frames == there.frames && here.lasts() - there.lasts() > SHRUNK_NS.max(here.lasts() / 1_000)
        };
        self.hops.iter().filter_map(aligned).flatten().filter(is_shorter).count()
    }

    /// Taps where packets of most loads are as uneven as they are because they were at the tap before.
    fn told(&self, rules: ReadingRules) -> usize {
        let is_most = |hop: &&Hop<'_>| {
            let pairs = met(hop, rules);
            let told = |(a, b): &&(FrameBunch, FrameBunch)| is_told(hop.0.from(a), hop.1.times_of(b));
            !pairs.is_empty() && pairs.iter().filter(told).count() * 2 > pairs.len()
        };
        self.hops.iter().filter(is_most).count()
    }
}

/// 1 where the first is less, -1 where the second is.
fn less<T: Ord>([own, other]: [T; 2]) -> i64 {
    match own.cmp(&other) {
        std::cmp::Ordering::Less => 1,
        std::cmp::Ordering::Equal => 0,
        std::cmp::Ordering::Greater => -1,
    }
}

/// The bunches of both taps, where there are as many.
fn aligned(hop: &Hop<'_>) -> Option<Vec<(FrameBunch, FrameBunch)>> {
    let (here, there, _) = hop;
    (here.bunches.len() == there.bunches.len())
        .then(|| here.bunches.iter().copied().zip(there.bunches.iter().copied()).collect())
}

/// Whether lengths in the tunnel are not those of the packets with what a tunnel adds.
fn is_unlike(hop: &Hop<'_>) -> bool {
    let Some(pairs) = aligned(hop).filter(|pairs| !pairs.is_empty() && hop.2 != 0) else { return false };
    let fits = |(here, there): &&(FrameBunch, FrameBunch)| (0..=ADDED).contains(&((there.size - here.size) * hop.2));
    pairs.iter().filter(fits).count() * 2 < pairs.len()
}

/// Whether loads begin at a tap before they do at the one before it.
fn is_early(hop: &Hop<'_>, grain: i64) -> bool {
    let pairs = aligned(hop).unwrap_or_default();
    let early = pairs.iter().filter(|(here, there)| there.begin < here.begin - TAPS_APART - 2 * grain).count();
    early * 4 > pairs.len()
}

/// The loads of both taps that are the same ones: where one tap shows fewer, because a queue did not drain between two, those that begin
/// together.
fn met(hop: &Hop<'_>, rules: ReadingRules) -> Vec<(FrameBunch, FrameBunch)> {
    if let Some(pairs) = aligned(hop) {
        return pairs;
    }
    let (here, there, _) = hop;
    let offset = offset(hop, rules);
    let with = |own: &FrameBunch| {
        let late = |other: &&FrameBunch| (other.begin - offset - own.begin).abs();
        let next = there.bunches.iter().min_by_key(late).filter(|other| late(other) <= NEAR_NS)?;
        Some((*own, *next))
    };
    here.bunches.iter().filter_map(with).collect()
}

/// By how much the clock of the second tap is ahead, if nothing is on the way.
fn offset((here, there, _): &Hop<'_>, rules: ReadingRules) -> i64 {
    let begins = |stream: &TapStream| -> Vec<(i64, u16)> {
        stream.bunches.iter().take(MAX_BEGINS).map(|bunch| (bunch.begin, 0)).collect()
    };
    if rules.one_clock { 0 } else { vote(&begins(here), &begins(there)).map_or(0, |(_, offset)| offset) }
}

/// Loads at either tap while the other one shows no load at all.
fn unmet(hop: &Hop<'_>, rules: ReadingRules) -> usize {
    let (here, there, _) = hop;
    let offset = offset(hop, rules);
    // Few frames are no load.
    let meets = |one: &FrameBunch, other: &FrameBunch| {
        one.frames.min(other.frames) >= FEWEST as u64
            && other.begin - offset <= one.end + 2 * NEAR_NS
            && one.begin <= other.end - offset + NEAR_NS
    };
    let is_load = |own: &&FrameBunch| own.frames >= FEWEST as u64;
    let gone =
        here.bunches.iter().filter(is_load).filter(|own| !there.bunches.iter().any(|other| meets(own, other))).count();
    gone + there
        .bunches
        .iter()
        .filter(is_load)
        .filter(|other| !here.bunches.iter().any(|own| meets(own, other)))
        .count()
}

/// For each load the time into the tunnel and the time out of it, together: whatever the clocks are, they cancel out.
fn trips((into, out): &(Hop<'_>, Hop<'_>), rules: ReadingRules) -> Vec<i64> {
    let (into, out) = (met(into, rules), met(out, rules));
    let first = |(here, there): &(FrameBunch, FrameBunch)| there.begin - here.begin;
    if into.len() == out.len() {
        return into.iter().zip(&out).map(|(into, out)| first(into) + first(out)).collect();
    }
    // Both are in clear at the same tap.
    let apart = |into: &(FrameBunch, FrameBunch), out: &(FrameBunch, FrameBunch)| (into.0.begin - out.1.begin).abs();
    let with = |own: &(FrameBunch, FrameBunch)| {
        let next = out.iter().min_by_key(|other| apart(own, other)).filter(|other| apart(own, other) <= 2 * NEAR_NS)?;
        Some(first(own) + first(next))
    };
    into.iter().filter_map(with).collect()
}

fn is_negative(trips: &[i64], grain: i64) -> bool {
    trips.iter().filter(|trip| **trip < -TAPS_APART - 2 * grain).count() * 4 > trips.len()
}

/// Whether packets of a bunch are as uneven as they are because those at the tap before were: each comes as late after one of them.
fn is_told(here: &[i64], there: &[i64]) -> bool {
    // One of the taps may show some packets that are none of the load's before it.
    let firsts = |times: &[i64]| times.iter().take(FIRSTS).copied().collect::<Vec<i64>>();
    let (from, to) = (firsts(here), firsts(there));
    let lates =
        from.iter().zip(to.first().into_iter().cycle()).chain(from.first().into_iter().cycle().zip(to.iter().skip(1)));
    lates.map(|(t, d)| d - t).any(|late| is_told_at(here, there, late))
}

/// The same where packets are about so late.
fn is_told_at(here: &[i64], there: &[i64], way: i64) -> bool {
    let gaps = |times: &[i64]| -> Vec<i64> { times.iter().zip(times.iter().skip(1)).map(|(a, b)| b - a).collect() };
    let own = gaps(there);
    let uneven = median(own.iter().zip(own.iter().skip(1)).map(|(a, b)| (b - a).abs()).collect()).unwrap_or(0);
    let until = there.last().map_or(0, |last| last - way);
    let here = here.get(..here.partition_point(|t| *t <= until)).unwrap_or_default();
    let pace = median(gaps(here)).unwrap_or(0);
    let late = |d: &i64| {
        let t = d - way;
        let next = here.partition_point(|own| *own < t);
        let around = [next.checked_sub(1), Some(next)].into_iter().flatten().filter_map(|at| here.get(at));
        around.map(|own| t - own).min_by_key(|late| late.abs())
    };
    let late: Vec<i64> = there.iter().filter_map(late).collect();
    // Clocks drift.
    let rest = median(late.iter().zip(late.iter().skip(1)).map(|(a, b)| (b - a).abs()).collect()).unwrap_or(0);
    there.len() >= FEWEST && uneven > ROUNDED_NS && rest * TOLD < uneven.min(pace / 4)
}

fn median(mut own: Vec<i64>) -> Option<i64> {
    own.sort_unstable();
    own.get(own.len() / 2).copied()
}

/// Loads that begin so close to each other at two taps are the same one, in nanoseconds.
const NEAR_NS: i64 = 250_000_000;
/// Loads whose begins are compared.
const MAX_BEGINS: usize = 96;
/// Of so many frames one may be more at a tap than at the one before.
const GROWN_OF: u64 = 100;
/// What a tunnel adds to a packet, in octets, at most.
const ADDED: i64 = 200;
/// Less may be what packets take differently long, in nanoseconds.
const SHRUNK_NS: i64 = 2_000_000;
/// No device that is idle takes so long there and back, in nanoseconds, where it may as well take a third of it.
const LONG_NS: i64 = 20_000_000;
/// Differences of less may be what packets take differently long, in nanoseconds.
const CLOSER_NS: i64 = 20_000;
/// By what factor a device carries more than a load.
const CARRIED: f64 = 1.02;
/// Times that are rounded to microseconds are as uneven as this, in nanoseconds.
const ROUNDED_NS: i64 = 4_000;
/// By what factor times between taps are more even than those at the tap behind.
const TOLD: i64 = 5;
