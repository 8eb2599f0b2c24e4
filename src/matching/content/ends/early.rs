//! Pairs that may be taken back: the first ones, until packets without equals tell how far apart the two sides show one, and later ones that are out of
//! time. Which of several equal packets is the pair of another is not known before: one capture may begin later, and lack the first of them.

use std::collections::{HashMap, HashSet, VecDeque};

use foldhash::fast::FixedState;

use super::between::way_index;
use super::{EndToEnd, Waiting};
use crate::matching::content::identity::Identity;
use crate::matching::content::queue::Queue;
use crate::matching::packets::reach::Reach;

/// The most pairs that are held back. If the delay is not known by then, equal packets are paired as they come.
const MOST: usize = 1 << 14;

/// The most pairs out of time that are held back.
const MOST_OUTLYING: usize = 64;

/// A pair that may be taken back.
#[derive(Clone, Copy, Debug)]
struct EarlyPair {
    identity: Identity,
    plain: Waiting,
    exit: Waiting,
    /// Whether others were equal.
    more: bool,
}

/// Pairs of one way that are not counted yet.
#[derive(Debug, Default)]
pub(super) struct Early {
    pairs: Vec<EarlyPair>,
    /// Whether pairs are counted as they come.
    over: bool,
    /// Later pairs out of time, whose content had not been seen before.
    outlying: VecDeque<EarlyPair>,
}

impl Waiting {
    /// By how much the far sight of a packet is later than this one of the near side, and its way by the times to live.
    pub(super) fn later_than(&self, far: &Self) -> (i64, i64) {
        (far.ns.saturating_sub(self.ns), self.ttl.cmp(&far.ttl) as i64)
    }
}

impl EndToEnd {
    /// Pairs two packets. `more`: others are equal, so that it may have been one of these.
    pub(super) fn pair(&mut self, plain: Waiting, exit: Waiting, (identity, more): (Identity, bool)) {
        let (later_ns, way) = plain.later_than(&exit);
        self.ahead.get_or_insert(later_ns);
        let is_outlying = self.apart.is_outlying(way, later_ns);
        let is_single = self.apart.add(identity.key, later_ns, (more, way));
        let at = way_index(way);
        if let Some(reach) = self.reach.get_mut(at) {
            reach.add(later_ns, is_single);
        }
        let pair = EarlyPair { identity, plain, exit, more };
        let Some(early) = self.early.get_mut(at).filter(|early| !early.over || is_outlying && is_single) else {
            return self.count(plain, exit, (more, is_single));
        };
        if early.over {
            early.outlying.push_back(pair);
            if early.outlying.len() > MOST_OUTLYING
                && let Some(pair) = early.outlying.pop_front()
            {
                self.count(pair.plain, pair.exit, (pair.more, true));
            }
            return;
        }
        early.pairs.push(pair);
        let is_full = early.pairs.len() >= MOST;
        if self.apart.is_proved(way) {
            self.pair_again(way);
        } else if is_full {
            self.leave_early(at);
        }
    }

    /// Pairs the packets of a way so far again, by what is known of their times now.
    fn pair_again(&mut self, way: i64) {
        let Some(early) = self.early.get_mut(way_index(way)) else { return };
        early.over = true;
        let pairs = std::mem::take(&mut early.pairs);
        let contents: HashSet<u64, FixedState> = pairs.iter().map(|pair| pair.identity.key).collect();
        let is_own = |(identity, _): &(Identity, Waiting)| contents.contains(&identity.key);
        let mut plain = self.plain.take_out(is_own);
        let mut exit = self.exit.take_out(is_own);
        plain.extend(pairs.iter().map(|pair| (pair.identity, pair.plain)));
        exit.extend(pairs.iter().map(|pair| (pair.identity, pair.exit)));
        let order = |(_, packet): &(Identity, Waiting)| (packet.ns, packet.pos);
        plain.sort_unstable_by_key(order);
        exit.sort_unstable_by_key(order);
        if let Some(reach) = self.reach.get_mut(way_index(way)) {
            *reach = Reach::default();
        }
        self.apart.forget(contents.into_iter(), way);
        // A packet comes when all are there that may be its pair.
        let (least, _) = self.reach(way);
        let mut plain = plain.into_iter().peekable();
        for (identity, packet) in exit {
            let sent = packet.ns.saturating_sub(least);
            while let Some((identity, packet)) = plain.next_if(|(_, packet)| packet.ns <= sent) {
                self.meet_exit(identity, packet, None);
            }
            self.meet_plain(identity, packet, None);
        }
        plain.for_each(|(identity, packet)| self.meet_exit(identity, packet, None));
    }

    /// Takes back the pair out of time of a content that comes again: it may have been one of two equal packets.
    pub(super) fn take_back(&mut self, identity: Identity) {
        for at in 0..self.early.len() {
            let Some(early) = self.early.get_mut(at).filter(|early| !early.outlying.is_empty()) else { continue };
            let Some(found) = early.outlying.iter().position(|pair| pair.identity.key == identity.key) else {
                continue;
            };
            let Some(EarlyPair { identity, plain, exit, .. }) = early.outlying.remove(found) else { continue };
            let (_, way) = plain.later_than(&exit);
            self.apart.take_back(identity.key, way);
            let left = self.plain.push(identity, plain, None, |waiting| Some(waiting.ns));
            left.into_iter().for_each(|left| self.leave_plain(left));
            let left = self.exit.push(identity, exit, None, |waiting| Some(waiting.ns));
            left.into_iter().for_each(|left| self.leave_exit(left));
        }
    }

    /// Counts the pairs of a way so far as they are. Packets that have equals have no time: which one each is, nothing tells.
    fn leave_early(&mut self, at: usize) {
        let Some(early) = self.early.get_mut(at) else { return };
        early.over = true;
        let (pairs, outlying) = (std::mem::take(&mut early.pairs), std::mem::take(&mut early.outlying));
        outlying.into_iter().for_each(|pair| self.count(pair.plain, pair.exit, (pair.more, true)));
        let mut seen: HashMap<u64, u32, FixedState> = HashMap::default();
        pairs.iter().for_each(|pair| *seen.entry(pair.identity.key).or_default() += 1);
        for EarlyPair { identity, plain, exit, more } in pairs {
            let is_single = !more && seen.get(&identity.key) == Some(&1);
            self.count(plain, exit, (more, is_single));
        }
    }

    /// Counts all pairs that are held back.
    pub(super) fn leave_all_early(&mut self) {
        (0..self.early.len()).for_each(|at| self.leave_early(at));
    }
}

/// Of a packet and the one that repeats it either may be the pair: the one that is left over repeats the other.
pub(super) fn leave_repeated(waiting: &mut Queue<Waiting>, identity: Identity, (taken, more): (Waiting, bool)) {
    if more
        && taken.again
        && let Some(left) = waiting.nearest_mut(identity, taken.ns, |waiting| waiting.ns)
    {
        left.again = true;
    }
}
