//! The packets of one side that wait.

/// Number of a packet of one side, in capture order.
pub(in crate::matching) type Serial = u64;

/// Packets of one side, numbered in capture order. The front is dropped once it is settled, or held until all that is settled is taken.
#[derive(Debug)]
pub(in crate::matching) struct Side<T> {
    /// Number of the first one that waits.
    first: Serial,
    /// How many are in front of it.
    settled: usize,
    packets: Vec<T>,
}

impl<T> Default for Side<T> {
    fn default() -> Self {
        Self { first: 0, settled: 0, packets: Vec::new() }
    }
}

impl<T> Side<T> {
    #[inline]
    pub(in crate::matching) fn push(&mut self, packet: T) -> Serial {
        self.packets.push(packet);
        self.next() - 1
    }

    /// Packets that wait.
    #[inline]
    fn waiting(&self) -> &[T] {
        self.packets.get(self.settled..).unwrap_or_default()
    }

    /// The number that the next packet gets.
    #[inline]
    pub(in crate::matching) fn next(&self) -> Serial {
        self.first + self.waiting().len() as u64
    }

    pub(in crate::matching) const fn first(&self) -> Serial {
        self.first
    }

    #[inline]
    fn place(&self, serial: Serial) -> Option<usize> {
        Some(usize::try_from(serial.checked_sub(self.first)?).ok()? + self.settled)
    }

    #[inline]
    pub(in crate::matching) fn get(&self, serial: Serial) -> Option<&T> {
        self.packets.get(self.place(serial)?)
    }

    #[inline]
    pub(in crate::matching) fn get_mut(&mut self, serial: Serial) -> Option<&mut T> {
        let place = self.place(serial)?;
        self.packets.get_mut(place)
    }

    /// Removes the first packets, this many, without a copy of each.
    pub(in crate::matching) fn skip(&mut self, count: usize) {
        self.hold(count);
        // Those behind are moved when they are fewer.
        if self.settled * 2 >= self.packets.len() {
            self.packets.drain(..self.settled);
            self.settled = 0;
        }
    }

    /// Puts the first packets, this many, to those that are held.
    pub(in crate::matching) fn hold(&mut self, count: usize) {
        let count = count.min(self.waiting().len());
        self.settled += count;
        self.first += count as u64;
    }

    /// Packets that are held.
    pub(in crate::matching) fn held(&self) -> &[T] {
        self.packets.get(..self.settled).unwrap_or_default()
    }

    /// Hands out the packets that are held, with those that wait behind them and are to be put back, and how many are held. Until then none waits.
    pub(in crate::matching) fn take_all(&mut self) -> (Vec<T>, usize) {
        (std::mem::take(&mut self.packets), std::mem::take(&mut self.settled))
    }

    /// Takes back what waits behind the packets that were held.
    pub(in crate::matching) fn put_back(&mut self, mut packets: Vec<T>, held: usize) {
        packets.drain(..held.min(packets.len()));
        self.packets = packets;
    }

    pub(in crate::matching) fn iter(&self) -> impl DoubleEndedIterator<Item = (Serial, &T)> {
        self.waiting().iter().enumerate().map(|(at, packet)| (self.first + at as u64, packet))
    }

    pub(in crate::matching) fn iter_mut(&mut self) -> impl Iterator<Item = (Serial, &mut T)> {
        (self.first..).zip(self.packets.iter_mut().skip(self.settled))
    }

    /// The packets of some numbers.
    pub(in crate::matching) fn range(&self, from: Serial, to: Serial) -> impl Iterator<Item = (Serial, &T)> {
        let waiting = self.waiting();
        let at = |serial: Serial| {
            let own = serial.clamp(self.first, self.next()) - self.first;
            usize::try_from(own).unwrap_or(usize::MAX).min(waiting.len())
        };
        let from = at(from);
        let range = waiting.get(from..at(to).max(from)).unwrap_or_default();
        (self.first + from as u64..).zip(range)
    }

    /// The first packet that is not `before`, where those that are stand in front of the others.
    pub(in crate::matching) fn partition_point(&self, before: impl Fn(&T) -> bool) -> Serial {
        self.first + self.waiting().partition_point(before) as u64
    }
}
