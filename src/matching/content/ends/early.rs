//! The first pairs, until packets without equals tell how far apart the two sides show one. Which of several equal packets is the pair of another is not
//! known before: one capture may begin later, and lack the first of them.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use super::{EndToEnd, Waiting};
use crate::matching::content::identity::Identity;
use crate::matching::content::queue::Queue;
use crate::matching::packets::reach::Reach;

/// The most pairs that are held back. If the delay is not known by then, equal packets are paired as they come.
const MOST: usize = 1 << 14;

/// A pair that may be taken back.
#[derive(Clone, Copy, Debug)]
struct EarlyPair {
    identity: Identity,
    plain: Waiting,
    exit: Waiting,
    /// Whether others were equal.
    more: bool,
}

/// Pairs that are not counted yet.
#[derive(Debug, Default)]
pub(super) struct Early {
    pairs: Vec<EarlyPair>,
    /// Whether pairs are counted as they come.
    over: bool,
}

impl EndToEnd {
    /// Pairs two packets. `more`: others are equal, so that it may have been one of these.
    pub(super) fn pair(&mut self, plain: Waiting, exit: Waiting, (identity, more): (Identity, bool)) {
        let later_ns = exit.ns.saturating_sub(plain.ns);
        self.ahead.get_or_insert(later_ns);
        self.reach.add(later_ns, !more);
        let way = plain.ttl.cmp(&exit.ttl) as i64;
        let is_single = self.apart.add(identity.key, later_ns, (more, way));
        if self.early.over {
            let timed = if self.apart.is_proved() { is_single } else { !more };
            return self.count(plain, exit, (more, timed));
        }
        self.early.pairs.push(EarlyPair { identity, plain, exit, more });
        if self.apart.is_proved() {
            self.pair_again();
        } else if self.early.pairs.len() >= MOST {
            self.leave_early();
        }
    }

    /// Pairs the packets so far again, by what is known of the times now.
    fn pair_again(&mut self) {
        self.early.over = true;
        let pairs = std::mem::take(&mut self.early.pairs);
        let mut plain: Vec<(Identity, Waiting)> = self.plain.drain().collect();
        let mut exit: Vec<(Identity, Waiting)> = self.exit.drain().collect();
        plain.extend(pairs.iter().map(|pair| (pair.identity, pair.plain)));
        exit.extend(pairs.iter().map(|pair| (pair.identity, pair.exit)));
        let order = |(_, packet): &(Identity, Waiting)| (packet.ns, packet.pos);
        plain.sort_unstable_by_key(order);
        exit.sort_unstable_by_key(order);
        self.reach = Reach::default();
        self.apart.forget_contents();
        let mut seen: HashMap<u64, u32, FixedState> = HashMap::default();
        pairs.iter().for_each(|pair| *seen.entry(pair.identity.key).or_default() += 1);
        for pair in pairs.iter().filter(|pair| !pair.more && seen.get(&pair.identity.key) == Some(&1)) {
            self.apart.add_way(pair.exit.ns.saturating_sub(pair.plain.ns), pair.plain.ttl.cmp(&pair.exit.ttl) as i64);
        }
        // A packet comes when all are there that may be its pair.
        let (least, _) = self.reach();
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

    /// Counts the pairs so far as they are.
    pub(super) fn leave_early(&mut self) {
        self.early.over = true;
        for EarlyPair { plain, exit, more, .. } in std::mem::take(&mut self.early.pairs) {
            self.count(plain, exit, (more, !more));
        }
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
