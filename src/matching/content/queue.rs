//! Packets in clear that wait to be seen again.

use std::collections::VecDeque;

use super::identity::Identity;
use crate::matching::content::index::Index;
use crate::matching::limits::MAX_WAITING;
use crate::matching::packets::ledger::{Crowded, Serial};

/// Which of the equal packets that wait is taken.
#[derive(Clone, Copy, Debug)]
pub(in crate::matching) enum Wanted {
    /// The one that came first.
    Earliest,
    /// The one nearest to a time.
    Nearest(i64),
    /// The first one from a time on; before it the nearest.
    From(i64),
}

/// Packets by identity, each with what is to be remembered of it. Beyond [`MAX_WAITING`] the oldest make room.
#[derive(Debug)]
pub(in crate::matching) struct Queue<T> {
    index: Index,
    first: Serial,
    packets: VecDeque<Option<(Identity, T)>>,
    pub(in crate::matching) crowded: Crowded,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self { index: Index::default(), first: 0, packets: VecDeque::new(), crowded: Crowded::default() }
    }
}

impl<T> Queue<T> {
    /// Lets a packet wait; the one that makes room for it. `read`: how far the other side was read, on this one's clock; `ns`: the time
    /// of a packet.
    pub(in crate::matching) fn push(
        &mut self,
        identity: Identity,
        packet: T,
        read: Option<i64>,
        ns: fn(&T) -> Option<i64>,
    ) -> Option<(Identity, T)> {
        let mut evicted = None;
        self.index.insert(identity, self.first + self.packets.len() as u64);
        self.packets.push_back(Some((identity, packet)));
        while self.packets.len() > MAX_WAITING || self.packets.front().is_some_and(Option::is_none) {
            if let Some(Some((old, packet))) = self.packets.pop_front() {
                self.index.remove(old, self.first);
                self.crowded.add(ns(&packet), read);
                evicted = Some((old, packet));
            }
            self.first += 1;
        }
        evicted
    }

    /// All that wait; they wait no longer.
    pub(in crate::matching) fn drain(&mut self) -> impl Iterator<Item = (Identity, T)> {
        self.index = Index::default();
        let waiting = std::mem::take(&mut self.packets);
        self.first += waiting.len() as u64;
        waiting.into_iter().flatten()
    }

    /// Takes out those that wait and are wanted.
    pub(in crate::matching) fn take_out(&mut self, is_wanted: impl Fn(&(Identity, T)) -> bool) -> Vec<(Identity, T)> {
        let wanted = self.packets.iter_mut().zip(self.first..);
        let taken = wanted.filter_map(|(waiting, serial)| Some((waiting.take_if(|own| is_wanted(own))?, serial)));
        let taken: Vec<((Identity, T), Serial)> = taken.collect();
        taken.iter().for_each(|((identity, _), serial)| self.index.remove(*identity, *serial));
        taken.into_iter().map(|(packet, _)| packet).collect()
    }

    /// Packets for which none was found among those compared, while there were more.
    pub(in crate::matching) fn missed(&self) -> u64 {
        self.index.missed()
    }

    /// The packet that waits with this identity and is the nearest to a time; `ns`: the time of a packet.
    pub(in crate::matching) fn nearest_mut(
        &mut self,
        identity: Identity,
        due: i64,
        ns: fn(&T) -> i64,
    ) -> Option<&mut T> {
        let (serial, _) = self.find(identity, Wanted::Nearest(due), ns)?;
        let at = usize::try_from(serial.checked_sub(self.first)?).ok()?;
        self.packets.get_mut(at)?.as_mut().map(|(_, packet)| packet)
    }

    /// Whether none waits.
    #[inline]
    pub(in crate::matching) const fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// The packet that waits with this identity, and whether others do that are equal; it waits no longer. Of equal ones it is the nearest to
    /// the time `due`, where that is known, and the earliest else; `ns`: the time of a packet.
    pub(in crate::matching) fn take(
        &mut self,
        identity: Identity,
        due: Option<i64>,
        ns: fn(&T) -> i64,
    ) -> Option<(T, bool)> {
        self.take_if(identity, due.map_or(Wanted::Earliest, Wanted::Nearest), ns, |_, _| true)
    }

    /// The packet that is wanted, if it `fits`; it waits on if not. `fits` gets the packet, and whether equal ones wait, too.
    pub(in crate::matching) fn take_if(
        &mut self,
        identity: Identity,
        wanted: Wanted,
        ns: fn(&T) -> i64,
        fits: impl Fn(&T, bool) -> bool,
    ) -> Option<(T, bool)> {
        let (serial, more) = self.find(identity, wanted, ns)?;
        let at = usize::try_from(serial.checked_sub(self.first)?).ok()?;
        let (own, packet) = self.packets.get_mut(at)?.take_if(|(_, packet)| fits(packet, more))?;
        self.index.remove(own, serial);
        Some((packet, more))
    }

    /// The packet that came first of those that wait with this identity.
    pub(in crate::matching) fn earliest(&self, identity: Identity) -> Option<&T> {
        let (serial, _) = self.find(identity, Wanted::Earliest, |_| 0)?;
        let at = usize::try_from(serial.checked_sub(self.first)?).ok()?;
        self.packets.get(at)?.as_ref().map(|(_, packet)| packet)
    }

    fn find(&self, identity: Identity, wanted: Wanted, ns: fn(&T) -> i64) -> Option<(Serial, bool)> {
        let at = |serial: Serial| usize::try_from(serial.checked_sub(self.first)?).ok();
        let agrees = |serial| {
            let own = at(serial).and_then(|at| self.packets.get(at)?.as_ref());
            own.is_some_and(|(own, _)| own.agrees(identity))
        };
        let (first, more) = self.index.find(identity, agrees)?;
        let (time, from) = match wanted {
            Wanted::Earliest => return Some((first, more)),
            Wanted::Nearest(due) => (due, false),
            Wanted::From(from) => (from, true),
        };
        let sent = |serial| at(serial).and_then(|at| Some(ns(&self.packets.get(at)?.as_ref()?.1)));
        let before = |serial| sent(serial).is_none_or(|ns| ns < time);
        let cost = |serial| {
            let sent = sent(serial).filter(|_| agrees(serial))?;
            Some(sent.abs_diff(time).saturating_add(if from && sent < time { u64::MAX / 2 } else { 0 }))
        };
        let near = more.then(|| self.index.nearest(identity, before, cost)).flatten().map(|(serial, _)| serial);
        Some((near.unwrap_or(first), more))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn packet(key: u64, whole: Option<u64>) -> Identity {
        Identity { key, whole }
    }

    fn queue(waiting: &[(Identity, char)]) -> Queue<char> {
        let mut queue = Queue::default();
        for (identity, name) in waiting {
            assert_eq!(queue.push(*identity, *name, None, |_| None), None);
        }
        queue
    }

    /// Packets that begin alike are told apart by what is behind; where that was cut away, the earliest is taken.
    #[test]
    fn of_packets_that_begin_alike_the_one_that_agrees_is_taken() {
        let mut queue = queue(&[(packet(7, Some(1)), 'a'), (packet(7, Some(2)), 'b'), (packet(7, Some(3)), 'c')]);
        assert_eq!(queue.take(packet(7, Some(2)), None, |_| 0), Some(('b', false)));
        assert_eq!(queue.take(packet(7, Some(2)), None, |_| 0), None, "it waits no longer");
        assert_eq!(queue.take(packet(8, Some(1)), None, |_| 0), None);
        assert_eq!(queue.take(packet(7, None), None, |_| 0), Some(('a', true)));
        assert_eq!(queue.take(packet(7, Some(3)), None, |_| 0), Some(('c', false)));
        assert_eq!(queue.take(packet(7, None), None, |_| 0), None);
        assert_eq!(queue.missed(), 0);
    }

    /// Equal packets sent far apart: the time says which one it is.
    #[test]
    fn of_equal_packets_the_one_that_is_due_is_taken() {
        let mut queue = Queue::default();
        for ns in [10_i64, 500, 900] {
            queue.push(packet(7, None), ns, None, |ns| Some(*ns));
        }
        assert_eq!(queue.take(packet(7, None), Some(520), |ns| *ns), Some((500, true)));
        assert_eq!(queue.take(packet(7, None), Some(520), |ns| *ns), Some((900, true)));
        assert_eq!(queue.take(packet(7, None), Some(520), |ns| *ns), Some((10, false)));
        assert_eq!(queue.take(packet(7, None), Some(520), |ns| *ns), None);
    }

    #[test]
    fn beyond_the_limit_the_oldest_make_room_and_the_others_are_still_found() {
        let more = 3;
        let mut queue = Queue::default();
        for at in 0..MAX_WAITING as u64 + more {
            let evicted = queue.push(packet(at, None), at, None, |_| None);
            assert_eq!(evicted.map(|(_, at)| at), at.checked_sub(MAX_WAITING as u64));
        }
        for gone in 0..more {
            assert_eq!(queue.take(packet(gone, None), None, |_| 0), None);
        }
        assert_eq!(queue.take(packet(more, None), None, |_| 0), Some((more, false)));
        let last = MAX_WAITING as u64 + more - 1;
        assert_eq!(queue.take(packet(last, None), None, |_| 0), Some((last, false)));
    }
}
