//! Packets that have equals, by two clocks, as long as no pair without equals tells how far apart these are.
//!
//! The first of equal packets on one side need not be the first on the other: one capture may have begun earlier. So they wait for pairs that are sure,
//! and what waits until the end is paired by its time, as far as that is known.

use super::{FARTHEST_ALIKE, PROVED};
use crate::matching::Matcher;
use crate::matching::content::identity::Identity;
use crate::matching::content::index::{Index, Search};
use crate::matching::limits::ON_ITS_WAY_NS;
use crate::matching::packets::ledger::{Plain, PlainFate, Serial, Tunnelled, TunnelledFate};

/// Packets that wait at most. Of more, as where a generator sends nothing else, the first of both sides are each other.
const MOST: u32 = 1 << 10;
/// How many times as far from the usual time as any pair without equals an equal packet may be.
const TIMES: u64 = 4;
/// How far from the usual time a pair is that seems to have no equals and waits for such, in nanoseconds.
const FAR: u64 = ON_ITS_WAY_NS.unsigned_abs() / 2;

impl Matcher {
    /// Whether packets with this content came more than once on either side.
    pub(super) fn is_repeated(&self, identity: Identity) -> bool {
        self.tunnel_index.is_repeated(identity)
            || self.plain_index.as_ref().is_some_and(|index| index.is_repeated(identity))
    }

    /// Whether packets wait until the difference of the clocks is known.
    pub(super) const fn may_hesitate(&self) -> bool {
        !self.settings.one_clock && self.hesitated < MOST
    }

    /// Lets one more packet wait; whether it does. If it is the one too many, those that wait are paired as they came.
    pub(super) fn let_wait(&mut self) -> bool {
        if !self.may_hesitate() {
            return false;
        }
        self.hesitated += 1;
        if self.hesitated < MOST {
            return true;
        }
        let waits = |(serial, t): (Serial, &Tunnelled)| {
            let is_waiting = t.indexed && matches!(t.fate, TunnelledFate::Waiting);
            t.identity.filter(|_| is_waiting).map(|identity| (serial, identity, t.sa))
        };
        let waiting: Vec<(Serial, Identity, u32)> = self.ledger.tunnel.iter().filter_map(waits).collect();
        for (serial, identity, sa) in waiting {
            if self.base(sa).is_none()
                && self.is_repeated(identity)
                && let Some((plain, _)) = self.plain_with(identity)
            {
                self.pair_content(plain, serial, true, true);
            }
        }
        false
    }

    /// By how much an equal packet may be off the usual time of its SA.
    fn reach(&self, sa: u32) -> u64 {
        let usual = self.usual.get(sa as usize).copied().flatten().filter(|usual| usual.anchors >= PROVED);
        usual.map_or(u64::MAX, |usual| usual.widest.saturating_mul(TIMES).max(FARTHEST_ALIKE))
    }

    /// Lets two packets of one content, the only ones so far, wait for equal ones that fit better, where they are far off the usual time; whether it does.
    pub(super) fn hold_back(&mut self, plain: &Plain, own: &Tunnelled) -> bool {
        let Some(usual) = self.usual.get(own.sa as usize).copied().flatten() else { return false };
        if self.settings.one_clock || usual.anchors < PROVED {
            return false;
        }
        let misfit = self.misfit(plain, own, usual.base);
        misfit > FAR && misfit > self.reach(own.sa) && self.let_wait()
    }

    /// Of packets that are alike as many belong together as there are, whichever they are, as far as their times allow: what is further apart than any
    /// other pair passed where one side was not recorded. Two that were held back and turned out to have no equals are a pair.
    pub(in crate::matching) fn count_alike(&mut self, serial: Serial) -> bool {
        let Some(own) = self.ledger.tunnel.get(serial).copied() else { return false };
        let Some(identity) = own.identity else { return false };
        if !self.is_repeated(identity) {
            let only = self.plain_with(identity).filter(|(plain, _)| self.may_be(*plain, serial));
            only.into_iter().for_each(|(plain, more)| self.pair_content(plain, serial, more, true));
            return only.is_some();
        }
        self.index_plain();
        let base = self.base(own.sa);
        if let Some(plain) = base.and_then(|base| self.nearest_plain(identity, &own, base)) {
            self.pair_content(plain, serial, true, true);
            return true;
        }
        let Some(plain) = self.within_reach(identity, &own, base).filter(|plain| self.may_be(*plain, serial)) else {
            return false;
        };
        self.pair_content(plain, serial, true, false);
        true
    }

    /// The plaintext packet that waits with this content, is as far off the usual time as packets of its SA may be, and is the nearest to it; the earliest,
    /// where that time is not known. A search that ended before all were compared is counted.
    fn within_reach(&mut self, identity: Identity, own: &Tunnelled, base: Option<i64>) -> Option<Serial> {
        let reach = self.reach(own.sa);
        let misfit = |serial| {
            let plain = self.ledger.plain.get(serial).filter(|p| p.fate == PlainFate::Waiting)?;
            plain.identity.filter(|other| other.agrees(identity))?;
            Some(base.map_or(0, |base| self.misfit(plain, own, base))).filter(|misfit| *misfit <= reach)
        };
        // How far plaintext packets lie before the one that is due.
        let early = |serial| {
            let due = own.time.ns()?.saturating_sub(base?);
            Some(due.saturating_sub(self.ledger.plain.get(serial)?.time.ns()?))
        };
        let index: &Index = self.plain_index.as_ref()?;
        let near = base.and_then(|_| index.nearest(identity, |own| early(own).is_some_and(|early| early > 0), misfit));
        if let Some((plain, _)) = near {
            return Some(plain);
        }
        let far = |serial| early(serial).is_some_and(|early| u64::try_from(early).is_ok_and(|early| early > reach));
        match index.find_from(identity, far, |serial| misfit(serial).is_some()) {
            Search::Found(plain) => Some(plain),
            Search::None => None,
            Search::Ended => {
                if let Some(sa) = self.tally.sas.get_mut(own.sa as usize) {
                    sa.unsearched += 1;
                }
                None
            }
        }
    }
}
