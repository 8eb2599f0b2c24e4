//! Packets in clear that wait to be seen again.

use std::collections::VecDeque;

use super::content::Index;
use super::identity::Identity;
use super::ledger::Serial;
use super::limits::MAX_WAITING;

/// Packets by identity, each with what is to be remembered of it. Beyond [`MAX_WAITING`] the oldest are forgotten.
#[derive(Debug)]
pub(super) struct Queue<T> {
    index: Index,
    first: Serial,
    packets: VecDeque<Option<(Identity, T)>>,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self { index: Index::default(), first: 0, packets: VecDeque::new() }
    }
}

impl<T> Queue<T> {
    /// Lets a packet wait.
    pub(super) fn push(&mut self, identity: Identity, packet: T) {
        self.index.insert(identity, self.first + self.packets.len() as u64);
        self.packets.push_back(Some((identity, packet)));
        while self.packets.len() > MAX_WAITING || self.packets.front().is_some_and(Option::is_none) {
            if let Some(Some((old, _))) = self.packets.pop_front() {
                self.index.remove(old, self.first);
            }
            self.first += 1;
        }
    }

    /// The packet that waits with this identity; it waits no longer.
    pub(super) fn take(&mut self, identity: Identity) -> Option<T> {
        let at = |serial: Serial| usize::try_from(serial.checked_sub(self.first)?).ok();
        let agrees = |serial| {
            let own = at(serial).and_then(|at| self.packets.get(at)?.as_ref());
            own.is_some_and(|(own, _)| own.agrees(identity))
        };
        let (serial, _) = self.index.find(identity, agrees)?;
        let (own, packet) = self.packets.get_mut(at(serial)?)?.take()?;
        self.index.remove(own, serial);
        Some(packet)
    }
}
