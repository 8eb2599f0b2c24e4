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
}

impl EndTime {
    /// When the other side shows the packet, if the far one is so much later.
    fn of(self, (least, most): (i64, i64)) -> (i64, i64) {
        if self.far {
            (self.ns.saturating_sub(most), self.ns.saturating_sub(least))
        } else {
            (self.ns.saturating_add(least), self.ns.saturating_add(most))
        }
    }
}

/// How far apart the two sides show packets of which no other is equal.
#[derive(Debug, Default)]
pub(super) struct Apart {
    /// Of most of them, and of those of each way.
    usual: Reach,
    ways: [Reach; 2],
    /// Content and difference of the others. If an equal packet comes later, such a pair may be wrong and is taken out.
    outlying: VecDeque<(u64, i64)>,
    seen: SeenContents,
}

impl Apart {
    /// Pairs that show what is usual.
    const ENOUGH: usize = 24;
    /// Pairs after which what lies out no longer does: a queue has filled, or a clock was set.
    const MOST: usize = 64;
    /// Differences that nothing tells apart, in nanoseconds.
    const NEAR_NS: i64 = 100_000;

    /// Takes in a pair of a way; whether none of the latest was equal. `more`: an equal packet waits.
    pub(super) fn add(&mut self, key: u64, later_ns: i64, (more, way): (bool, i64)) -> bool {
        if self.seen.is_again(key) {
            self.outlying.retain(|(own, _)| *own != key);
            return false;
        }
        if more {
            return false;
        }
        if self.around(way).is_some_and(|(least, most)| (least..=most).contains(&later_ns)) {
            self.usual.add(later_ns, true);
            self.add_way(later_ns, way);
            return true;
        }
        self.outlying.push_back((key, later_ns));
        if self.usual.is_proved() {
            let evicted = (self.outlying.len() > Self::MOST).then(|| self.outlying.pop_front()).flatten();
            evicted.into_iter().for_each(|(_, later_ns)| self.usual.add(later_ns, true));
        } else if self.outlying.len() >= Self::ENOUGH {
            self.begin();
        }
        true
    }

    /// Takes in a pair of a way, if it is usual.
    pub(super) fn add_way(&mut self, later_ns: i64, way: i64) {
        let is_usual = self.around(way).is_some_and(|(least, most)| (least..=most).contains(&later_ns));
        if let Some(own) = way_index(way).and_then(|at| self.ways.get_mut(at)).filter(|_| is_usual) {
            own.add(later_ns, true);
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

    /// The differences of a way, where enough pairs tell it.
    fn usual_of(&self, way: i64) -> Option<(i64, i64)> {
        let own = way_index(way).and_then(|at| self.ways.get(at)).filter(|own| own.is_proved());
        let (least, _, most) = own.unwrap_or(&self.usual).lately().filter(|_| self.usual.is_proved())?;
        Some((least, most))
    }

    /// Least and greatest difference of a way, where enough pairs tell it.
    pub(super) fn ever_of(&self, way: i64) -> Option<(i64, i64)> {
        way_index(way).and_then(|at| self.ways.get(at)).filter(|own| own.is_proved())?.ever()
    }

    /// Differences as usual lately, and a little beyond.
    fn around(&self, way: i64) -> Option<(i64, i64)> {
        let (least, most) = self.usual_of(way)?;
        let slack = most.saturating_sub(least).max(Self::NEAR_NS);
        Some((least.saturating_sub(slack), most.saturating_add(slack)))
    }

    /// Takes the packet that waits on the other side and is the pair of this one, of which the other sight is so much `later` (negative: earlier) than
    /// this one as pairs without equals are. Of equal packets it is the first that may be: none overtakes another. One that is out of time waits on if equal
    /// packets were seen, for it may be one of those; so does any packet that is a second or more out.
    pub(super) fn take(&self, queue: &mut Queue<Waiting>, identity: Identity, own: EndTime) -> Option<(Waiting, bool)> {
        let Some((around, (low, _))) =
            self.around(own.way).zip(self.tight(own.way)).map(|(wide, tight)| (own.of(wide), own.of(tight)))
        else {
            let wanted = own.usual.map_or(Wanted::Earliest, |usual| Wanted::Nearest(own.of((usual, usual)).0));
            return queue.take_if(identity, wanted, |waiting| waiting.ns, |_, _| true);
        };
        let (least, most) = around;
        queue.take_if(
            identity,
            Wanted::From(low),
            |waiting| waiting.ns,
            |waiting, more| {
                let off = least.saturating_sub(waiting.ns).max(waiting.ns.saturating_sub(most));
                off <= 0 || off < ON_ITS_WAY_NS && !more && !self.knows(identity)
            },
        )
    }

    /// Differences as usual lately, and hardly more.
    fn tight(&self, way: i64) -> Option<(i64, i64)> {
        let (least, most) = self.usual_of(way)?;
        let slack = (most.saturating_sub(least) / 16).max(Self::NEAR_NS);
        Some((least.saturating_sub(slack), most.saturating_add(slack)))
    }

    /// Forgets which contents were seen, not how far apart they were.
    pub(super) fn forget_contents(&mut self) {
        self.seen = SeenContents::default();
        self.outlying.clear();
    }

    /// Whether enough pairs are there.
    pub(super) fn is_proved(&self) -> bool {
        self.usual.is_proved()
    }

    /// Whether a packet of which an equal one was seen is so far from the usual time that it is another. Others are the pair of what is equal.
    fn is_another(&self, identity: Identity, later_ns: i64) -> bool {
        let is_far = |(least, most): (i64, i64)| {
            let slack = most.saturating_sub(least).max(ON_ITS_WAY_NS);
            !(least.saturating_sub(slack)..=most.saturating_add(slack)).contains(&later_ns)
        };
        self.is_proved() && self.knows(identity) && self.ever().is_some_and(is_far)
    }

    /// Whether one of the latest pairs had this content.
    pub(super) fn knows(&self, identity: Identity) -> bool {
        self.seen.contains(identity.key)
    }

    /// Least and greatest difference.
    fn ever(&self) -> Option<(i64, i64)> {
        let outlying = self.outlying.iter().map(|(_, later_ns)| (*later_ns, *later_ns));
        outlying.chain(self.usual.ever()).reduce(|(least, most), (low, high)| (least.min(low), most.max(high)))
    }
}

/// Which of the two ways a way is.
const fn way_index(way: i64) -> Option<usize> {
    match way {
        1.. => Some(0),
        0 => None,
        ..0 => Some(1),
    }
}

impl EndToEnd {
    /// The way of a packet's flow, by the times to live of its pairs so far.
    pub(super) fn way(&mut self, packet: &Waiting) -> i64 {
        let key = FlowKey { src: packet.src, dst: packet.dst, protocol: packet.protocol };
        let flow = self.numbers.get(key).and_then(|at| self.flows.get(at as usize));
        flow.map_or(0, |(_, flow)| flow.balance.signum())
    }

    /// By how much the far timestamps are usually later, where enough packets without equals say so.
    pub(super) fn usual(&self) -> Option<i64> {
        let own = if self.apart.is_proved() { &self.apart.usual } else { &self.reach };
        own.lately().filter(|_| own.is_proved()).map(|(_, usual, _)| usual)
    }

    /// Least and greatest difference of the timestamps of a packet on both sides: of packets without equals, where enough say so.
    pub(super) fn reach(&self) -> (i64, i64) {
        let own = if self.apart.is_proved() { self.apart.ever() } else { self.reach.ever() };
        own.unwrap_or((-ON_ITS_WAY_NS, ON_ITS_WAY_NS))
    }

    /// By how much the far timestamps of a flow are later, at least, usually and at most.
    pub(super) fn later(&mut self, packet: &Waiting) -> Option<(i64, i64, i64)> {
        let all = self.reach.lately();
        self.flow(packet).and_then(|(_, flow)| flow.reach.lately()).or(all)
    }

    /// A packet of the near side waits no longer: an equal one of the far side that waits, too, is its pair, unless others show that it is another.
    pub(super) fn leave_plain(&mut self, (identity, packet): (Identity, Waiting)) {
        let (least, most) = self.reach();
        let is_beyond = self.far.first.is_some_and(|first| packet.ns.saturating_add(most) < first)
            || packet.ns.saturating_add(least) > self.far.latest;
        if is_beyond && self.apart.knows(identity) {
            // Those that were shown take what waits.
            return self.only_plain(&packet, true);
        }
        let due = self.usual().map(|later| packet.ns.saturating_add(later));
        let fits = |other: &Waiting, _| !self.apart.is_another(identity, other.ns.saturating_sub(packet.ns));
        let wanted = due.map_or(Wanted::Earliest, Wanted::Nearest);
        match self.exit.take_if(identity, wanted, |waiting| waiting.ns, fits) {
            Some((other, more)) => self.pair(packet, other, (identity, more)),
            None => self.only_plain(&packet, self.apart.knows(identity)),
        }
    }

    /// The same of the far side.
    pub(super) fn leave_exit(&mut self, (identity, packet): (Identity, Waiting)) {
        let due = self.usual().map(|later| packet.ns.saturating_sub(later));
        let fits = |other: &Waiting, _| !self.apart.is_another(identity, packet.ns.saturating_sub(other.ns));
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
