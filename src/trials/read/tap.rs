//! What one tap saw.

use std::collections::HashMap;

use super::flows::Starts;
use crate::model::{Address, SaKey};
use crate::trials::limits::{FURTHEST_NS, MAX_CONTROL, MAX_RECORDS, STEP_BACK_NS};

/// A packet in clear.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TapPacket {
    /// Time in nanoseconds, clock steps undone.
    pub(crate) t: i64,
    /// Digest of what no router changes; 0 where too little was captured.
    pub(crate) key: u32,
    /// IP length.
    pub(crate) size: u16,
    /// Its flow.
    pub(crate) flow: u16,
}

/// A packet in a tunnel or under IPsec.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Outer {
    /// Time in nanoseconds, clock steps undone.
    pub(crate) t: i64,
    /// Sequence number as it is on the wire.
    pub(crate) sequence: u32,
    /// Digest of the packet inside, where that is visible; else 0.
    pub(crate) key: u32,
    /// IP length, fragments put together.
    pub(crate) outer: u16,
    /// IP length of the packet inside; 0 where it is not visible.
    pub(crate) inner: u16,
    /// Number of its SA.
    pub(crate) sa: u16,
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

/// A moment at which the clock was set back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ClockStep {
    /// Time of the last frame before, steps undone.
    pub(crate) at: i64,
    /// By how much times are moved from here on, in all.
    pub(crate) shift: i64,
}

/// A tap.
#[derive(Default, Debug)]
pub(crate) struct Tap {
    pub(crate) plain: Vec<TapPacket>,
    pub(crate) tunnelled: Vec<Outer>,
    /// Control frames: time and octets at layer 1.
    pub(crate) control: Vec<(i64, u32)>,
    pub(crate) frames: u64,
    pub(crate) packets: u64,
    pub(crate) opaque: u64,
    pub(crate) decrypted: u64,
    pub(crate) steps: Vec<ClockStep>,
    /// Records that found no room.
    pub(crate) refused: u64,
    /// Time of the latest frame, steps undone.
    pub(crate) latest: Option<i64>,
    /// Pairs of outer addresses: bunches, and which way each SA goes.
    pub(crate) directions: Vec<TunnelWay>,
    pub(crate) sas: Vec<SaId>,
    pub(crate) numbers: HashMap<SaId, u16>,
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
    /// Time of a frame, clock steps undone.
    pub(crate) fn time(&mut self, raw: i64) -> i64 {
        let shift = self.steps.last().map_or(0, |step| step.shift);
        let ns = raw.saturating_add(shift).clamp(-FURTHEST_NS, FURTHEST_NS);
        let Some(latest) = self.latest else {
            self.latest = Some(ns);
            return ns;
        };
        if ns < latest - STEP_BACK_NS {
            let step = ClockStep { at: latest, shift: shift.saturating_add(latest - ns) };
            self.steps.push(step);
            return latest;
        }
        self.latest = Some(latest.max(ns));
        ns
    }

    /// Time as the capture states it, of a time with the steps undone.
    pub(crate) fn raw(&self, ns: i64) -> i64 {
        let step = self.steps.iter().rev().find(|step| step.at < ns);
        ns.saturating_sub(step.map_or(0, |step| step.shift))
    }

    pub(crate) fn push_plain(&mut self, packet: TapPacket) {
        if self.plain.len() < MAX_RECORDS { self.plain.push(packet) } else { self.refused += 1 }
    }

    pub(crate) fn push_outer(&mut self, outer: Outer) -> Option<usize> {
        if self.tunnelled.len() < MAX_RECORDS {
            self.tunnelled.push(outer);
            Some(self.tunnelled.len() - 1)
        } else {
            self.refused += 1;
            None
        }
    }

    pub(crate) fn push_control(&mut self, ns: i64, l1: u32) {
        if self.control.len() < MAX_CONTROL {
            self.control.push((ns, l1));
        }
    }

    /// Frames that two interfaces stamped may be out of order by less than a step.
    pub(crate) fn sort(&mut self) {
        if !self.plain.is_sorted_by_key(|p| p.t) {
            self.plain.sort_by_key(|p| p.t);
        }
        if !self.tunnelled.is_sorted_by_key(|p| p.t) {
            self.tunnelled.sort_by_key(|p| p.t);
        }
    }
}
