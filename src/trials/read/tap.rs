//! What one tap saw.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use super::flows::Starts;
use super::kept::{Kept, KeptRecord};
use super::skipped::SkippedNumbers;
use crate::model::{Address, SaKey};
use crate::trials::limits::{COARSE_FRAMES, COARSE_NS, COARSEST_NS, FURTHEST_NS, MAX_CONTROL, STEP_BACK_NS};

/// 48 bits of a digest: of millions of packets hardly two share 32 bits and are taken for each other. 0 for none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(crate) struct ContentDigest {
    low: u32,
    high: u16,
}

impl ContentDigest {
    pub(crate) const NONE: Self = Self { low: 0, high: 0 };

    /// 32 bits of it; 0 for none.
    pub(crate) const fn low(self) -> u32 {
        self.low
    }

    pub(crate) fn of(key: u64) -> Self {
        Self { low: ((key ^ key >> 32) as u32).max(1), high: (key >> 16) as u16 }
    }
}

/// A packet in clear: its stream is its flow. Octets of its share are IP lengths, and what fills short frames up.
pub(crate) type TapPacket = KeptRecord<InClear>;

/// What is known of a packet in clear.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct InClear {
    /// IP length.
    pub(crate) size: u16,
}

/// A packet in a tunnel or under IPsec: its stream is its SA, its digest that of the packet inside. Octets of its share are those at layer
/// 1, and IP lengths of the packets inside.
pub(crate) type Outer = KeptRecord<InTunnel>;

/// What is known of a packet in a tunnel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct InTunnel {
    /// Sequence number as it is on the wire.
    pub(crate) sequence: u32,
    /// IP length, fragments put together.
    pub(crate) outer: u16,
    /// IP length of the packet inside; 0 where it is not visible.
    pub(crate) inner: u16,
    /// Octets of its frames at layer 1.
    pub(crate) l1: u16,
}

/// An SA, or a tunnel without.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct SaId {
    pub(crate) key: Option<SaKey>,
    pub(crate) src: Address,
    pub(crate) dst: Address,
}

/// The records of a tap.
#[derive(Clone, Copy)]
pub(crate) struct TapRecords<'t> {
    pub(crate) plain: &'t [TapPacket],
    pub(crate) tunnelled: &'t [Outer],
}

/// A moment at which the clock was set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ClockStep {
    /// Time of the last frame before, steps undone.
    pub(crate) at: i64,
    /// By how much times are moved from here on, in all.
    pub(crate) shift: i64,
    /// Whether the path may have become longer instead: latencies after it are not known.
    pub(crate) doubtful: bool,
}

/// How fine the times of a tap are: they are multiples of one step apart, and gaps between frames change all the time, or most frames have the
/// time of the one before. A tester that sends one packet in ten milliseconds has even gaps.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct TimeGrain {
    /// The greatest time of which all gaps are multiples; 0 before the first gap.
    grid: i64,
    /// The least gap between different times; 0 before the first.
    least: i64,
    last: Option<(i64, i64)>,
    frames: u64,
    uneven: u64,
    equal: u64,
}

impl TimeGrain {
    fn see(&mut self, raw: i64) {
        let gap = self.last.map_or(0, |(last, _)| raw.saturating_sub(last));
        if gap > 0 && self.grid != 1 {
            self.grid = gcd(self.grid, gap);
        }
        if gap > 0 && (self.least == 0 || gap < self.least) {
            self.least = gap;
        }
        self.frames += 1;
        self.uneven += u64::from(self.last.is_some_and(|(_, before)| before != gap));
        self.equal += u64::from(self.last.is_some() && gap == 0);
        self.last = Some((raw, gap));
    }

    /// Nanoseconds from one time to the next; 0 for less than a millisecond, or not known.
    pub(crate) fn step(&self) -> i64 {
        let repeated = self.equal * 2 >= self.frames;
        let step = match () {
            () if self.frames < COARSE_FRAMES => 0,
            () if self.grid >= COARSE_NS && (repeated || self.uneven * 50 >= self.frames) => self.grid,
            // Ticks of a clock that are rounded to another unit.
            () if self.least >= COARSE_NS && repeated => self.least,
            () => 0,
        };
        step.min(COARSEST_NS)
    }
}

fn gcd(mut one: i64, mut other: i64) -> i64 {
    while other != 0 {
        (one, other) = (other, one.checked_rem(other).unwrap_or(0));
    }
    one
}

/// A tap.
#[derive(Debug)]
pub(crate) struct Tap {
    pub(crate) plain: Kept<InClear>,
    pub(crate) tunnelled: Kept<InTunnel>,
    /// Control frames: time, number, and octets at layer 1.
    pub(crate) control: Vec<(i64, u32, u64)>,
    pub(crate) frames: u64,
    pub(crate) packets: u64,
    pub(crate) opaque: u64,
    pub(crate) decrypted: u64,
    pub(crate) steps: Vec<ClockStep>,
    /// Whether frames are none of Ethernet: their lengths on the wire are assumed.
    pub(crate) assumed: bool,
    /// Sequence numbers that SAs skipped.
    pub(crate) skipped: SkippedNumbers,
    /// How fine its times are.
    pub(crate) grain: TimeGrain,
    /// Time of the first frame.
    pub(crate) earliest: Option<i64>,
    /// Time of the latest frame, steps undone.
    pub(crate) latest: Option<i64>,
    /// Pairs of outer addresses: bunches, and which way each SA goes.
    pub(crate) directions: Vec<TunnelWay>,
    pub(crate) sas: Vec<SaId>,
    pub(crate) numbers: HashMap<SaId, u16, FixedState>,
}

/// A direction of a tunnel.
#[derive(Clone, Debug)]
pub(crate) struct TunnelWay {
    pub(crate) src: Address,
    pub(crate) dst: Address,
    pub(crate) starts: Starts,
    /// Packets of each pair of inner addresses that were visible.
    pub(crate) inside: HashMap<usize, u64>,
}

impl Tap {
    pub(crate) fn records(&self) -> TapRecords<'_> {
        TapRecords { plain: &self.plain.records, tunnelled: &self.tunnelled.records }
    }

    /// A tap that keeps at most `room` records; a silence longer than `gap` nanoseconds ends a bunch.
    pub(crate) fn new(room: usize, gap: i64) -> Self {
        Self {
            plain: Kept::new(room, gap),
            tunnelled: Kept::new(room, gap),
            control: Vec::new(),
            frames: 0,
            packets: 0,
            opaque: 0,
            decrypted: 0,
            steps: Vec::new(),
            assumed: false,
            skipped: SkippedNumbers::default(),
            grain: TimeGrain::default(),
            earliest: None,
            latest: None,
            directions: Vec::new(),
            sas: Vec::new(),
            numbers: HashMap::default(),
        }
    }

    /// Time of a frame, clock steps undone.
    pub(crate) fn time(&mut self, raw: i64) -> i64 {
        self.grain.see(raw);
        let shift = self.steps.last().map_or(0, |step| step.shift);
        let ns = raw.saturating_add(shift).clamp(-FURTHEST_NS, FURTHEST_NS);
        let Some(latest) = self.latest else {
            (self.earliest, self.latest) = (Some(ns), Some(ns));
            return ns;
        };
        if ns < latest - STEP_BACK_NS {
            let step = ClockStep { at: latest, shift: shift.saturating_add(latest - ns), doubtful: false };
            self.steps.push(step);
            return latest;
        }
        self.latest = Some(latest.max(ns));
        ns
    }

    /// Takes back that the clock was set forward after a time.
    pub(crate) fn undo(&mut self, after: i64, by: i64, doubtful: bool) {
        let back = |t: &mut i64| *t = if *t > after { t.saturating_sub(by) } else { *t };
        self.plain.records.iter_mut().for_each(|own| back(&mut own.t));
        self.tunnelled.records.iter_mut().for_each(|own| back(&mut own.t));
        self.control.iter_mut().for_each(|(t, ..)| back(t));
        self.earliest.iter_mut().chain(&mut self.latest).for_each(back);
        self.skipped.times().for_each(back);
        self.directions.iter_mut().flat_map(|way| &mut way.starts.starts).for_each(back);
        let known = self.steps.iter().rev().find(|step| step.at <= after).map_or(0, |step| step.shift);
        for step in self.steps.iter_mut().filter(|step| step.at > after) {
            back(&mut step.at);
            step.shift = step.shift.saturating_sub(by);
        }
        self.steps.push(ClockStep { at: after, shift: known.saturating_sub(by), doubtful });
        self.steps.sort_by_key(|step| step.at);
    }

    /// Time as the capture states it, of a time with the steps undone.
    pub(crate) fn raw(&self, ns: i64) -> i64 {
        let step = self.steps.iter().rev().find(|step| step.at < ns);
        ns.saturating_sub(step.map_or(0, |step| step.shift))
    }

    pub(crate) fn push_control(&mut self, ns: i64, l1: u32) {
        if self.control.len() >= MAX_CONTROL {
            let two = |two: &[(i64, u32, u64)]| match two {
                [(t, n, l1), (_, m, more), ..] => Some((*t, n + m, l1 + more)),
                one => one.first().copied(),
            };
            self.control = self.control.chunks(2).filter_map(two).collect();
        }
        self.control.push((ns, 1, u64::from(l1)));
    }

    /// Whether not every record was kept.
    pub(crate) const fn is_thinned(&self) -> bool {
        self.plain.thinned > 0 || self.tunnelled.thinned > 0
    }

    /// Puts all records in order of time.
    pub(crate) fn sort(&mut self) {
        self.plain.finish();
        self.tunnelled.finish();
    }
}
