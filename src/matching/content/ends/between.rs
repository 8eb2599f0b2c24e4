//! How far apart the two plaintext sides show a packet. Of packets that are equal to others one may be taken for the next, after a lost one, so that
//! theirs is the distance of two packets.

use std::collections::{HashSet, VecDeque};

use foldhash::fast::FixedState;

use super::{EndToEnd, Waiting};
use crate::matching::content::identity::Identity;
use crate::matching::content::queue::{Queue, Wanted};
use crate::matching::limits::ON_ITS_WAY_NS;
use crate::matching::packets::flows::FlowKey;
use crate::matching::packets::reach::Reach;

/// Contents of the latest pairs.
#[derive(Debug, Default)]
struct SeenContents {
    latest: HashSet<u64, FixedState>,
    before: HashSet<u64, FixedState>,
}

impl SeenContents {
    /// Contents after which older ones are forgotten, but for as many.
    const MOST: usize = 1 << 16;

    /// Takes in the content of a pair; whether one of the latest had the same.
    fn is_again(&mut self, key: u64) -> bool {
        let is_again = self.before.contains(&key);
        if !self.latest.insert(key) {
            return true;
        }
        if self.latest.len() >= Self::MOST {
            self.before = std::mem::take(&mut self.latest);
        }
        is_again
    }

    fn contains(&self, key: u64) -> bool {
        self.latest.contains(&key) || self.before.contains(&key)
    }

    fn forget(&mut self, key: u64) {
        self.latest.remove(&key);
        self.before.remove(&key);
    }
}

/// The time of a packet on one side.
#[derive(Clone, Copy, Debug)]
pub(super) struct EndTime {
    pub(super) ns: i64,
    /// Whether it is the far side.
    pub(super) far: bool,
    /// By how much the far side is usually later.
    pub(super) usual: Option<i64>,
    /// Its way: above 0 to the far side, below 0 from there, 0 where that is not known.
    pub(super) way: i64,
    pub(super) ttl: u8,
    /// When the capture of its own side began.
    pub(super) begun: Option<i64>,
}

impl EndTime {
    /// Its way; where its flow does not tell, by the times to live of this packet and of the one that waits.
    fn way_beside(self, waiting: impl FnOnce() -> Option<u8>) -> i64 {
        if self.way != 0 {
            return self.way;
        }
        let there = waiting().map_or(0, |other| other.cmp(&self.ttl) as i64);
        if self.far { there } else { -there }
    }

    /// When the other side shows the packet, if the far one is so much later.
    fn of(self, (least, most): (i64, i64)) -> (i64, i64) {
        if self.far {
            (self.ns.saturating_sub(most), self.ns.saturating_sub(least))
        } else {
            (self.ns.saturating_add(least), self.ns.saturating_add(most))
        }
    }
}

/// Ways of packets: there, back, and where no router lies between the two sides, either.
const WAYS: usize = 3;

/// Which of them a way is: above 0 to the far side, below 0 from there.
pub(super) const fn way_index(way: i64) -> usize {
    match way {
        1.. => 0,
        ..0 => 1,
        0 => 2,
    }
}

/// How far apart the two sides show packets of one way of which no other is equal.
#[derive(Debug, Default)]
struct WayApart {
    usual: Reach,
    /// Content and difference of others. If an equal packet comes later, such a pair may be wrong and is taken out.
    outlying: VecDeque<(u64, i64)>,
}

impl WayApart {
    /// Pairs that show what is usual.
    const ENOUGH: usize = 24;
    /// Pairs after which what lies out no longer does: a queue has filled, or a clock was set.
    const MOST: usize = 64;
    /// Differences that nothing tells apart, in nanoseconds.
    const NEAR_NS: i64 = 100_000;
    /// By how much more than they usually do differences may vary, as a multiple.
    const SLACK: i64 = 4;

    fn add(&mut self, key: u64, later_ns: i64) {
        if self.around(1).is_some_and(|(least, most)| (least..=most).contains(&later_ns)) {
            return self.usual.add(later_ns, true);
        }
        self.outlying.push_back((key, later_ns));
        if self.usual.is_proved() {
            let evicted = (self.outlying.len() > Self::MOST).then(|| self.outlying.pop_front()).flatten();
            evicted.into_iter().for_each(|(_, later_ns)| self.usual.add(later_ns, true));
        } else if self.outlying.len() >= Self::ENOUGH {
            self.begin();
        }
    }

    /// Takes the first pairs for usual ones, but for those that lie out.
    fn begin(&mut self) {
        let mut sorted: Vec<i64> = self.outlying.iter().map(|(_, later_ns)| *later_ns).collect();
        sorted.sort_unstable();
        let quarter = sorted.len() / 4;
        let (Some(low), Some(high)) = (sorted.get(quarter), sorted.get(sorted.len() - 1 - quarter)) else { return };
        let slack = high.saturating_sub(*low).saturating_mul(4).max(Self::NEAR_NS);
        let usual = low.saturating_sub(slack)..=high.saturating_add(slack);
        for (key, later_ns) in std::mem::take(&mut self.outlying) {
            if usual.contains(&later_ns) {
                self.usual.add(later_ns, true);
            } else {
                self.outlying.push_back((key, later_ns));
            }
        }
    }

    /// Least and greatest difference of the latest pairs, widened on both sides by their range, `times` times.
    fn around(&self, times: i64) -> Option<(i64, i64)> {
        let (least, _, most) = self.usual.lately().filter(|_| self.usual.is_proved())?;
        let slack = most.saturating_sub(least).max(Self::NEAR_NS).saturating_mul(times);
        Some((least.saturating_sub(slack), most.saturating_add(slack)))
    }

    /// Differences as usual lately, and hardly more.
    fn tight(&self) -> Option<(i64, i64)> {
        let (least, most) = self.around(0)?;
        let slack = (most.saturating_sub(least) / 16).max(Self::NEAR_NS);
        Some((least.saturating_sub(slack), most.saturating_add(slack)))
    }

    /// Least and greatest difference.
    fn ever(&self) -> Option<(i64, i64)> {
        let outlying = self.outlying.iter().map(|(_, later_ns)| (*later_ns, *later_ns));
        outlying.chain(self.usual.ever()).reduce(|(least, most), (low, high)| (least.min(low), most.max(high)))
    }
}

/// How far apart the two sides show packets of which no other is equal, by way.
#[derive(Debug, Default)]
pub(super) struct Apart {
    ways: [WayApart; WAYS],
    seen: SeenContents,
}

impl Apart {
    fn way(&self, way: i64) -> &WayApart {
        let [there, back, either] = &self.ways;
        match way {
            1.. => there,
            ..0 => back,
            0 => either,
        }
    }

    /// Takes in a pair of a way; whether none of the latest was equal. `more`: an equal packet waits.
    pub(super) fn add(&mut self, key: u64, later_ns: i64, (more, way): (bool, i64)) -> bool {
        let Some(own) = self.ways.get_mut(way_index(way)) else { return false };
        if self.seen.is_again(key) {
            own.outlying.retain(|(own, _)| *own != key);
            return false;
        }
        if !more {
            own.add(key, later_ns);
        }
        !more
    }

    /// Whether enough pairs tell the times of a way.
    pub(super) fn is_proved(&self, way: i64) -> bool {
        self.way(way).usual.is_proved()
    }

    /// Least and greatest difference of a way, where enough pairs tell it.
    pub(super) fn ever_of(&self, way: i64) -> Option<(i64, i64)> {
        self.way(way).ever().filter(|_| self.is_proved(way))
    }

    /// By how much the differences of one way may vary. Equal packets that follow each other faster than that keep their order: nothing else tells which is
    /// which.
    pub(super) fn varies(&self, way: i64) -> Option<i64> {
        self.way(way).around(WayApart::SLACK).map(|(least, most)| most.saturating_sub(least))
    }

    /// Takes the packet that waits on the other side and is the pair of this one, of which the other sight is so much `later` (negative: earlier) than
    /// this one as pairs without equals are. Of equal packets it is the first that may be: none overtakes another. One that is out of time waits on if equal
    /// packets were seen, for it may be one of those; so does any packet that is a second or more out.
    pub(super) fn take(&self, queue: &mut Queue<Waiting>, identity: Identity, own: EndTime) -> Option<(Waiting, bool)> {
        let known = self.knows(identity);
        let own = EndTime { way: own.way_beside(|| queue.earliest(identity).map(|waiting| waiting.ttl)), ..own };
        let times = if known { WayApart::SLACK } else { 1 };
        let Some(around) = self.way(own.way).around(times).map(|around| own.of(around)) else {
            // Of equal packets the first is the pair of the first.
            let usual = own.usual.filter(|_| !known);
            let wanted = usual.map_or(Wanted::Earliest, |usual| Wanted::Nearest(own.of((usual, usual)).0));
            return queue.take_if(identity, wanted, |waiting| waiting.ns, |_, _| true);
        };
        let (least, most) = around;
        // What passed before the capture of this side began is not this packet.
        let first = own.begun.zip(self.way(own.way).tight()).map(|(ns, tight)| EndTime { ns, ..own }.of(tight).0);
        let from = if known { first.map_or(least, |first| first.max(least)) } else { least };
        queue.take_if(
            identity,
            Wanted::From(from),
            |waiting| waiting.ns,
            |waiting, more| {
                let off = least.saturating_sub(waiting.ns).max(waiting.ns.saturating_sub(most));
                off <= 0 || off < ON_ITS_WAY_NS && !more && !known
            },
        )
    }

    /// Whether a difference is not as usual, where enough pairs tell what is.
    pub(super) fn is_outlying(&self, way: i64, later_ns: i64) -> bool {
        self.way(way).around(1).is_some_and(|(least, most)| !(least..=most).contains(&later_ns))
    }

    /// Forgets a pair of a content that was out of time.
    pub(super) fn take_back(&mut self, key: u64, way: i64) {
        self.seen.forget(key);
        if let Some(own) = self.ways.get_mut(way_index(way)) {
            own.outlying.retain(|(own, _)| *own != key);
        }
    }

    /// Forgets which contents of a way were seen, not how far apart they were.
    pub(super) fn forget(&mut self, contents: impl Iterator<Item = u64>, way: i64) {
        contents.for_each(|key| self.seen.forget(key));
        if let Some(own) = self.ways.get_mut(way_index(way)) {
            own.outlying.clear();
        }
    }

    /// Whether a packet of which an equal one was seen is so far from the usual time that it is another. Others are the pair of what is equal.
    fn is_another(&self, identity: Identity, (later_ns, way): (i64, i64)) -> bool {
        let is_far = |(least, most): (i64, i64)| {
            let slack = most.saturating_sub(least).max(ON_ITS_WAY_NS);
            !(least.saturating_sub(slack)..=most.saturating_add(slack)).contains(&later_ns)
        };
        self.knows(identity) && self.ever_of(way).is_some_and(is_far)
    }

    /// Whether one of the latest pairs had this content.
    pub(super) fn knows(&self, identity: Identity) -> bool {
        self.seen.contains(identity.key)
    }
}

impl EndToEnd {
    /// The way of a packet's flow, by the times to live of its pairs so far.
    pub(super) fn way(&mut self, packet: &Waiting) -> i64 {
        let key = FlowKey { src: packet.src, dst: packet.dst, protocol: packet.protocol };
        let flow = self.numbers.get(key).and_then(|at| self.flows.get(at as usize));
        flow.map_or(0, |(_, flow)| flow.balance.signum())
    }

    /// By how much the far timestamps of a way are usually later, where enough packets without equals say so.
    pub(super) fn usual(&self, way: i64) -> Option<i64> {
        let reach = self.reach.get(way_index(way)).copied().unwrap_or_default();
        let own = if self.apart.is_proved(way) { self.apart.way(way).usual } else { reach };
        own.lately().filter(|_| own.is_proved()).map(|(_, usual, _)| usual)
    }

    /// Least and greatest difference of the timestamps of a packet on both sides: of packets of this way without equals, where enough say so; of all, where
    /// the way is not known.
    pub(super) fn reach(&self, way: i64) -> (i64, i64) {
        let of = |way: i64| {
            let reach = self.reach.get(way_index(way)).copied().unwrap_or_default();
            self.apart.ever_of(way).or_else(|| reach.ever())
        };
        let all = || [1, -1, 0].into_iter().filter_map(of).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        let own = if way == 0 { None } else { of(way) };
        own.or_else(all).unwrap_or((-ON_ITS_WAY_NS, ON_ITS_WAY_NS))
    }

    /// By how much the far timestamps of a flow are later, at least, usually and at most.
    pub(super) fn later(&mut self, packet: &Waiting) -> Option<(i64, i64, i64)> {
        let way = self.way(packet);
        let own = self.reach.get(way_index(way)).and_then(Reach::lately);
        let both = || {
            let all = self.reach.iter().filter_map(Reach::lately).map(|(least, _, most)| (least, most));
            let (least, most) = all.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
            Some((least, i64::midpoint(least, most), most))
        };
        let all = own.or_else(both);
        self.flow(packet).and_then(|(_, flow)| flow.reach.lately()).or(all)
    }

    /// A packet of the near side waits no longer: an equal one of the far side that waits, too, is its pair, unless others show that it is another.
    pub(super) fn leave_plain(&mut self, (identity, packet): (Identity, Waiting)) {
        let way = self.way(&packet);
        let (least, most) = self.reach(way);
        let is_beyond = self.far.first.is_some_and(|first| packet.ns.saturating_add(most) < first)
            || packet.ns.saturating_add(least) > self.far.latest;
        if is_beyond && self.apart.knows(identity) {
            // Those that were shown take what waits.
            return self.only_plain(&packet, true);
        }
        let due = self.usual(way).map(|later| packet.ns.saturating_add(later));
        let fits = |other: &Waiting, _| !self.apart.is_another(identity, packet.later_than(other));
        let wanted = due.map_or(Wanted::Earliest, Wanted::Nearest);
        match self.exit.take_if(identity, wanted, |waiting| waiting.ns, fits) {
            Some((other, more)) => self.pair(packet, other, (identity, more)),
            None => self.only_plain(&packet, self.apart.knows(identity)),
        }
    }

    /// The same of the far side.
    pub(super) fn leave_exit(&mut self, (identity, packet): (Identity, Waiting)) {
        let way = self.way(&packet);
        let due = self.usual(way).map(|later| packet.ns.saturating_sub(later));
        let fits = |other: &Waiting, _| !self.apart.is_another(identity, other.later_than(&packet));
        let wanted = due.map_or(Wanted::Earliest, Wanted::Nearest);
        match self.plain.take_if(identity, wanted, |waiting| waiting.ns, fits) {
            Some((other, more)) => self.pair(other, packet, (identity, more)),
            None => self.only_exit(&packet, self.apart.knows(identity)),
        }
    }

    /// No packet waits any longer. Those without equals come first: they tell the times of the others.
    pub(super) fn leave_all(&mut self) {
        let plain: Vec<(Identity, Waiting)> = self.plain.drain().collect();
        let (known, single): (Vec<_>, Vec<_>) =
            plain.into_iter().partition(|(identity, _)| self.apart.knows(*identity));
        single.into_iter().chain(known).for_each(|packet| self.leave_plain(packet));
        let exit: Vec<(Identity, Waiting)> = self.exit.drain().collect();
        exit.iter().for_each(|(identity, packet)| self.only_exit(packet, self.apart.knows(*identity)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_of_the_latest_pairs_are_known_again() {
        let mut seen = SeenContents::default();
        assert!((0..1_000).all(|key| !seen.is_again(key)));
        assert!((0..1_000).all(|key| seen.is_again(key)));
        let most = SeenContents::MOST as u64;
        assert!((1_000..most + 5).all(|key| !seen.is_again(key)));
        assert!(seen.is_again(7), "of the generation before");
        assert!((most + 5..3 * most).all(|key| !seen.is_again(key)));
        assert!(!seen.is_again(500));
    }
}
