//! TCP connections, as each tap sees them.

use std::collections::{HashMap, HashSet};

use super::flows::FlowKey;
use crate::trials::limits::{MAX_SEGMENTS, MAX_TRANSFERS};

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
    seen: HashSet<u32>,
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
        if self.seen.len() < MAX_SEGMENTS {
            self.repeated += u64::from(!self.seen.insert(segment.sequence));
        } else {
            self.repeated += u64::from(self.seen.contains(&segment.sequence));
        }
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
