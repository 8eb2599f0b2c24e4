//! TCP connections, as each tap sees them.

use std::collections::HashMap;

use super::flows::FlowKey;
use crate::trials::limits::{MAX_STRETCHES, MAX_TRANSFERS};

/// What a TCP header says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TcpSegment {
    pub(crate) sequence: u32,
    pub(crate) acknowledged: u32,
    pub(crate) flags: u8,
    pub(crate) payload: u32,
}

impl TcpSegment {
    const FIN: u8 = 1;
    const SYN: u8 = 2;
    const ACK: u8 = 16;

    /// What the octets of a TCP header say; `payload_end` is where the packet ends, counted from the header.
    pub(crate) fn read(octets: &[u8], payload_end: u32) -> Option<Self> {
        let word = |at: usize| octets.get(at..at + 4)?.first_chunk::<4>().map(|word| u32::from_be_bytes(*word));
        let header = u32::from(*octets.get(12)? >> 4) * 4;
        let payload = payload_end.saturating_sub(header);
        Some(Self { sequence: word(4)?, acknowledged: word(8)?, flags: *octets.get(13)?, payload })
    }
}

/// Stretches of payload that were seen: beginning and end, in order.
#[derive(Clone, Debug, Default)]
struct Stretches {
    seen: Vec<(i64, i64)>,
}

impl Stretches {
    fn has(&self, octet: i64) -> bool {
        let at = self.seen.partition_point(|(_, to)| *to <= octet);
        self.seen.get(at).is_some_and(|(from, _)| *from <= octet)
    }

    /// Of too many stretches, the two first become one: it is over for them.
    fn put(&mut self, from: i64, to: i64) {
        let first = self.seen.partition_point(|(_, end)| *end < from);
        let last = self.seen.partition_point(|(begin, _)| *begin <= to).max(first);
        let touched = self.seen.get(first..last).unwrap_or_default();
        let from = touched.first().map_or(from, |(begin, _)| from.min(*begin));
        let to = touched.last().map_or(to, |(_, end)| to.max(*end));
        self.seen.splice(first..last, [(from, to)]);
        if self.seen.len() > MAX_STRETCHES {
            let (_, end) = self.seen.remove(1);
            if let Some((_, to)) = self.seen.first_mut() {
                *to = end;
            }
        }
    }
}

/// One direction of a connection at one tap.
#[derive(Clone, Debug, Default)]
pub(crate) struct OneWay {
    /// Sequence number of the first octet of payload; others are counted from it.
    first: Option<u32>,
    /// Least and greatest end of the payload, from `first`.
    low: i64,
    high: i64,
    pub(crate) segments: u64,
    pub(crate) repeated: u64,
    seen: Stretches,
    pub(crate) first_data: Option<i64>,
    pub(crate) syn: Option<i64>,
    pub(crate) fin: Option<i64>,
    /// Greatest acknowledgement of the other direction, and when an acknowledgement first reached `high`.
    reached: Option<(i64, i64)>,
}

impl OneWay {
    fn see(&mut self, ns: i64, segment: &TcpSegment) {
        if segment.flags & TcpSegment::SYN != 0 {
            self.syn.get_or_insert(ns);
        }
        if segment.flags & TcpSegment::FIN != 0 {
            self.fin = Some(ns);
        }
        if segment.payload == 0 {
            return;
        }
        let first = *self.first.get_or_insert(segment.sequence);
        self.first_data.get_or_insert(ns);
        // 32 bits are unwrapped against the furthest octet.
        let against = first.wrapping_add(self.high as u32);
        let start = self.high + i64::from(segment.sequence.wrapping_sub(against) as i32);
        self.low = self.low.min(start);
        self.high = self.high.max(start + i64::from(segment.payload));
        self.segments += 1;
        self.repeated += u64::from(self.seen.has(start));
        self.seen.put(start, start + i64::from(segment.payload));
    }

    fn acknowledge(&mut self, ns: i64, segment: &TcpSegment) {
        let Some(first) = self.first.filter(|_| segment.flags & TcpSegment::ACK != 0) else { return };
        let against = first.wrapping_add(self.high as u32);
        let at = self.high + i64::from(segment.acknowledged.wrapping_sub(against) as i32);
        if at >= self.high && self.reached.is_none_or(|(high, _)| high < self.high) {
            self.reached = Some((self.high, ns));
        }
    }

    /// Octets of payload, each once.
    pub(crate) const fn payload(&self) -> u64 {
        (self.high - self.low).unsigned_abs()
    }

    /// When the last octet was acknowledged.
    pub(crate) fn acknowledged(&self) -> Option<i64> {
        self.reached.filter(|(high, _)| *high == self.high).map(|(_, ns)| ns)
    }
}

/// Connections by flow and tap.
#[derive(Default, Debug)]
pub(crate) struct Connections {
    pub(crate) all: HashMap<FlowKey, [OneWay; 3]>,
    pub(crate) order: Vec<FlowKey>,
    pub(crate) refused: u64,
}

impl Connections {
    /// Takes note of a segment of a flow at a tap.
    pub(crate) fn see(&mut self, key: FlowKey, tap: usize, ns: i64, segment: &TcpSegment) {
        if !self.all.contains_key(&key) {
            if self.order.len() >= MAX_TRANSFERS {
                self.refused += 1;
                return;
            }
            self.order.push(key);
            self.all.insert(key, Default::default());
        }
        if let Some(own) = self.all.get_mut(&key).and_then(|taps| taps.get_mut(tap)) {
            own.see(ns, segment);
        }
        let back = FlowKey { src: key.dst, dst: key.src, ports: (key.ports.1, key.ports.0), ..key };
        if let Some(own) = self.all.get_mut(&back).and_then(|taps| taps.get_mut(tap)) {
            own.acknowledge(ns, segment);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_is_repeated_in_whatever_pieces() {
        let mut seen = Stretches::default();
        for (from, to) in [(0, 100), (200, 300), (100, 150), (400, 500)] {
            assert!(!seen.has(from));
            seen.put(from, to);
        }
        assert_eq!(seen.seen, [(0, 150), (200, 300), (400, 500)]);
        assert!(seen.has(149) && !seen.has(150) && seen.has(250));
        seen.put(120, 450);
        assert_eq!(seen.seen, [(0, 500)]);
        for i in 0..2 * MAX_STRETCHES as i64 {
            seen.put(1_000 + 10 * i, 1_005 + 10 * i);
        }
        assert_eq!(seen.seen.len(), MAX_STRETCHES);
    }
}
