//! The packets of one side that wait.

use std::collections::VecDeque;

/// Number of a packet of one side, in capture order.
pub(in crate::matching) type Serial = u64;

/// Packets of one side, numbered in capture order. The front is dropped once it is settled.
#[derive(Debug)]
pub(in crate::matching) struct Side<T> {
    first: Serial,
    packets: VecDeque<T>,
}

impl<T> Default for Side<T> {
    fn default() -> Self {
        Self { first: 0, packets: VecDeque::new() }
    }
}

impl<T> Side<T> {
    #[inline]
    pub(in crate::matching) fn push(&mut self, packet: T) -> Serial {
        self.packets.push_back(packet);
        self.next() - 1
    }

    /// The number that the next packet gets.
    #[inline]
    pub(in crate::matching) fn next(&self) -> Serial {
        self.first + self.packets.len() as u64
    }

    pub(in crate::matching) const fn first(&self) -> Serial {
        self.first
    }

    #[inline]
    pub(in crate::matching) fn get(&self, serial: Serial) -> Option<&T> {
        self.packets.get(usize::try_from(serial.checked_sub(self.first)?).ok()?)
    }

    #[inline]
    pub(in crate::matching) fn get_mut(&mut self, serial: Serial) -> Option<&mut T> {
        self.packets.get_mut(usize::try_from(serial.checked_sub(self.first)?).ok()?)
    }

    /// Removes the first packets, this many, without a copy of each.
    pub(in crate::matching) fn skip(&mut self, count: usize) {
        let count = count.min(self.packets.len());
        self.packets.drain(..count);
        self.first += count as u64;
    }

    pub(in crate::matching) fn iter(&self) -> impl DoubleEndedIterator<Item = (Serial, &T)> {
        self.packets.iter().enumerate().map(|(at, packet)| (self.first + at as u64, packet))
    }

    /// The packets of some numbers.
    pub(in crate::matching) fn range(&self, from: Serial, to: Serial) -> impl Iterator<Item = (Serial, &T)> {
        let at = |serial: Serial| {
            let own = serial.clamp(self.first, self.next()) - self.first;
            usize::try_from(own).unwrap_or(usize::MAX).min(self.packets.len())
        };
        let from = at(from);
        let range = self.packets.range(from..at(to).max(from));
        (self.first + from as u64..).zip(range)
    }

    /// The first packet that is not `before`, where those that are stand in front of the others.
    pub(in crate::matching) fn partition_point(&self, before: impl Fn(&T) -> bool) -> Serial {
        self.first + self.packets.partition_point(before) as u64
    }
}
