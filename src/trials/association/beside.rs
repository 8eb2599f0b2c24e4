//! Packets beside the load that are in the tunnel with it: by their length there nothing tells them from packets of the load, but the first
//! tap shows when they come.

use std::collections::BTreeMap;

use super::clocks::Clocks;
use super::pair::TapTimes;
use super::queue::Leaving;
use super::row::{At, Sighted};
use crate::trials::read::Place;

/// A packet beside the load.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct PacketBeside {
    /// When it comes.
    pub(crate) t: i64,
    /// The time that it takes to the tunnel tap where the device holds nothing else.
    pub(crate) late: i64,
    /// Outer IP length in the tunnel; `None` where no packet of its flow was alone, so that it is not known whether it is in the tunnel.
    pub(crate) outer: Option<u16>,
    /// IP length.
    size: u16,
}

impl PacketBeside {
    /// Whether it is known to have become a frame of this length, at this time, where the device held nothing else.
    fn is_at(&self, size: u16, t: i64, slack: i64) -> bool {
        let due = self.t + self.late;
        self.outer == Some(size) && (due - slack - AS_LATE_NS..=due + slack + AS_LATE_NS).contains(&t)
    }
}

/// Whether a frame in the tunnel is a packet beside the load.
pub(super) fn is_beside(beside: &[PacketBeside], (frame, t): (&Sighted, i64), slack: i64) -> bool {
    within(beside, t - ALONE_NS - 2 * slack, t + 2 * slack + AS_LATE_NS)
        .iter()
        .any(|own| own.is_at(frame.size, t, slack))
}

/// Those that come between two times.
fn within(beside: &[PacketBeside], from: i64, to: i64) -> &[PacketBeside] {
    let (from, to) = (beside.partition_point(|own| own.t < from), beside.partition_point(|own| own.t <= to));
    beside.get(from..to).unwrap_or_default()
}

/// By how much a packet that is alone takes longer than others that are, in nanoseconds.
const AS_LATE_NS: i64 = 2_000_000;

/// A packet is alone where for so long nothing passes before it, and it is in the tunnel within the same time, in nanoseconds.
const ALONE_NS: i64 = 50_000_000;

/// How packets of one flow and length are seen in the tunnel: how often not at all, and with which length and how late.
#[derive(Default)]
struct SeenAlone {
    absent: usize,
    met: BTreeMap<u16, (usize, i64)>,
}

impl SeenAlone {
    /// The outer length, and the least time to the tunnel tap, where most of them have one.
    fn known(&self) -> Option<(u16, i64)> {
        let all: usize = self.absent + self.met.values().map(|(count, _)| count).sum::<usize>();
        let (outer, (count, late)) = self.met.iter().max_by_key(|(_, (count, _))| *count)?;
        (count * 2 > all).then_some((*outer, *late))
    }
}

/// Packets that are no test load at the first tap and that are seen in the tunnel behind it. Which flows go into the tunnel, and with
/// which length, shows where nothing else passes. `slack`: by how much departures may seem to precede arrivals.
pub(crate) fn packets_beside(seen: &[(Place, At)], clocks: &Clocks, slack: i64) -> Vec<PacketBeside> {
    let [(first, came), (second, passed), ..] = seen else { return Vec::new() };
    if came.tunnel || !passed.tunnel || passed.visible || came.others.is_empty() {
        return Vec::new();
    }
    let times =
        |place: Place, frames: &[Sighted]| -> Vec<i64> { frames.iter().map(|own| clocks.map(place, own.t)).collect() };
    let (test, tunnel) = (times(*first, &came.frames), times(*second, &passed.frames));
    let between =
        |times: &[i64], from: i64, to: i64| (times.partition_point(|t| *t < from), times.partition_point(|t| *t < to));
    let mut flows: BTreeMap<(u16, u16), SeenAlone> = BTreeMap::new();
    let others: Vec<(i64, &Sighted)> = came.others.iter().map(|own| (clocks.map(*first, own.t), own)).collect();
    for (k, (t, own)) in others.iter().enumerate() {
        let (from, to) = between(&test, t - ALONE_NS, t + ALONE_NS);
        let (before, begin) = between(&tunnel, t - ALONE_NS - slack, t - slack);
        let near =
            |other: Option<&(i64, &Sighted)>| other.is_some_and(|(other, _)| (other - t).abs() <= ALONE_NS + slack);
        if to > from || begin > before || near(k.checked_sub(1).and_then(|k| others.get(k))) || near(others.get(k + 1))
        {
            continue;
        }
        let (from, to) = between(&tunnel, t - slack, t + ALONE_NS);
        let alone = flows.entry((own.stream, own.size)).or_default();
        match (passed.frames.get(from..to), tunnel.get(from)) {
            (Some([frame]), Some(d)) => {
                let met = alone.met.entry(frame.size).or_insert((0, i64::MAX));
                *met = (met.0 + 1, met.1.min(d - t));
            }
            (Some([]), _) => alone.absent += 1,
            _ => {}
        }
    }
    let least = flows.values().filter_map(SeenAlone::known).map(|(_, late)| late).min().unwrap_or(0);
    let of = |(t, own): (i64, &Sighted)| match flows.get(&(own.stream, own.size)) {
        Some(alone) => alone.known().map(|(outer, late)| PacketBeside { t, late, outer: Some(outer), size: own.size }),
        None => Some(PacketBeside { t, late: least, outer: None, size: own.size }),
    };
    let mut beside: Vec<PacketBeside> = others.into_iter().filter_map(of).collect();
    beside.sort_unstable();
    beside
}

impl Leaving<'_, '_> {
    /// The same with the packets beside the load that its frames in the tunnel may be: they wait in the same queue. Of these it is not asked
    /// which frames they became.
    pub(super) fn with_beside(mut self, beside: &[PacketBeside], rules: TapTimes) -> Self {
        let (begin, following) = (self.span.begin - rules.slack, self.span.following - rules.slack);
        let beside = within(beside, begin - ALONE_NS - rules.slack, following + rules.slack);
        let during = |own: &&PacketBeside| (begin..following).contains(&(own.t + own.late));
        let (asked, end) = (&self.asked, self.came.last().copied().unwrap_or(i64::MAX));
        let known = |own: &PacketBeside| {
            let outer = own.outer.filter(|outer| asked.may_have(*outer))?;
            Some((own.t, asked.told_as(outer)))
        };
        let mut others: Vec<(i64, u16)> = beside.iter().filter(during).filter_map(known).collect();
        // Of which it is not known whether they are in the tunnel: as many frames more than packets say that they are.
        let may_be = |own: &&PacketBeside| own.outer.is_none() && asked.made.len() == 1 && asked.may_hold(own.size);
        let open: Vec<&PacketBeside> = beside.iter().filter(during).filter(may_be).collect();
        if !open.is_empty() && self.left.len() == self.came.len() + others.len() + open.len() {
            others.extend(open.iter().filter_map(|own| Some((own.t, *asked.made.first()?))));
        }
        if !others.is_empty() {
            let own = self.came.iter().zip(&self.asked.lengths).enumerate().map(|(at, (t, size))| (*t, at, *size));
            let mut all: Vec<(i64, usize, u16)> =
                own.chain(others.into_iter().map(|(t, size)| (t, Self::BESIDE, size))).collect();
            all.sort_unstable();
            self.came = all.iter().map(|(t, ..)| *t).collect();
            self.spots = all.iter().map(|(_, at, _)| *at).collect();
            self.asked.lengths = all.iter().map(|(.., size)| *size).collect();
        }
        without_strays(&mut self.left, &self.came, end, rules.gap);
        self
    }
}

/// Leaves out frames far behind the load: a few between two silences, of which nothing that came in can have become one. A queue that drains
/// sends on. `came`: all that came in, in order; `end`: the last packet of the load; `gap`: a longer silence ends a load.
fn without_strays(left: &mut Vec<(&Sighted, i64)>, came: &[i64], end: i64, gap: i64) {
    let mut stray = vec![false; left.len()];
    let (mut group, mut before) = (0, i64::MIN / 2);
    let time = |at: usize| left.get(at).map_or(i64::MAX / 2, |(_, t)| *t);
    for at in 0..=left.len() {
        if at < left.len() && time(at) - before <= gap {
            before = time(at);
            continue;
        }
        let begin = time(group);
        let arrived = came.partition_point(|t| *t <= begin).checked_sub(1).and_then(|last| came.get(last));
        if group > 0 && begin > end && at - group < FEW && arrived.is_none_or(|last| begin - last > gap) {
            stray.iter_mut().take(at).skip(group).for_each(|own| *own = true);
        }
        (group, before) = (at, time(at));
    }
    let mut stray = stray.into_iter();
    left.retain(|_| stray.next() != Some(true));
}

/// What a queue still held comes in a greater number.
const FEW: usize = 4;
