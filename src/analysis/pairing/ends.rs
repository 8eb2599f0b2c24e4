//! Packets from the near plaintext side to the far one. Both are in clear, so identity decides.

use std::collections::BTreeMap;

use super::clock::{Clock, Difference, Differences};
use super::identity::Identity;
use super::ledger::Plain;
use super::limits::{HELD_PAIRS, MAX_EXAMPLES};
use super::prefix::Prefix;
use super::quantiles::Quantiles;
use super::queue::Queue;
use crate::analysis::padding::Pattern;
use crate::dissect::IpHeader;
use crate::model::{Address, FramePos};

/// What is remembered of a packet that waits for its other sight.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    pos: FramePos,
    ns: i64,
    src: Address,
    dst: Address,
    ttl: u8,
    pattern: Option<Pattern>,
}

/// Packets of one way.
#[derive(Debug)]
pub(super) struct EndsTally {
    pub(super) src: Prefix,
    pub(super) dst: Prefix,
    pub(super) matched: u64,
    pub(super) times: Quantiles,
}

/// A packet seen at both ends whose Ethernet padding changed, or did not.
#[derive(Clone, Copy, Debug)]
pub(super) struct Padded {
    pub(super) plain: FramePos,
    pub(super) plain_pattern: Option<Pattern>,
    pub(super) exit: FramePos,
    pub(super) exit_pattern: Option<Pattern>,
}

/// Both sides.
#[derive(Debug, Default)]
pub(super) struct EndToEnd {
    plain: Queue<Waiting>,
    exit: Queue<Waiting>,
    differences: Differences,
    held: Vec<(Difference, Address, Address, std::cmp::Ordering)>,
    /// By way: 1 from the plain side to the far one, -1 back, 0 unknown.
    pub(super) ways: BTreeMap<i8, EndsTally>,
    pub(super) padded: Vec<Padded>,
    pub(super) rewritten: u64,
    pub(super) pads: super::tally::Pads,
    ahead: Option<i64>,
    pub(super) clock: Clock,
}

impl EndToEnd {
    /// By how much the far clock is ahead, as far as it is known.
    pub(super) fn ahead(&self) -> i64 {
        self.ahead.unwrap_or(0)
    }

    /// A packet of the near side; the far one was read up to `until`.
    pub(super) fn plain(&mut self, packet: &Plain, outer: &IpHeader, until: i64) {
        let Some((identity, own)) = waiting(packet, outer) else { return };
        match self.exit.take(identity) {
            Some(other) => self.pair(own, other),
            None => {
                let read = self.ahead.map(|ahead| until.saturating_sub(ahead));
                self.plain.push(identity, own, read, |waiting| Some(waiting.ns));
            }
        }
    }

    /// A packet of the far side; the near one was read up to `until`.
    pub(super) fn exit(&mut self, packet: &Plain, outer: &IpHeader, until: i64) {
        self.pads.add(packet.pad_bytes, packet.pattern);
        let Some((identity, own)) = waiting(packet, outer) else { return };
        match self.plain.take(identity) {
            Some(other) => self.pair(other, own),
            None => {
                let read = self.ahead.map(|ahead| until.saturating_add(ahead));
                self.exit.push(identity, own, read, |waiting| Some(waiting.ns));
            }
        }
    }

    /// Packets that made room before the other side was read so far; `first`: the first times of the two sides.
    pub(super) fn crowded(&self, first: (Option<i64>, Option<i64>)) -> u64 {
        let on_plain = first.1.zip(self.ahead).map(|(exit, ahead)| exit.saturating_sub(ahead));
        let on_exit = first.0.zip(self.ahead).map(|(plain, ahead)| plain.saturating_add(ahead));
        self.plain.crowded.count(on_plain) + self.exit.crowded.count(on_exit)
    }

    /// Packets for which none was found among those compared, while there were more.
    pub(super) fn missed(&self) -> u64 {
        self.plain.missed() + self.exit.missed()
    }

    fn pair(&mut self, plain: Waiting, exit: Waiting) {
        let later_ns = exit.ns.saturating_sub(plain.ns);
        self.ahead.get_or_insert(later_ns);
        let difference = Difference { plain_ns: plain.ns, later_ns, encapsulated: plain.ttl > exit.ttl };
        self.held.push((difference, plain.src, plain.dst, plain.ttl.cmp(&exit.ttl)));
        if plain.pattern.is_some() || exit.pattern.is_some() {
            self.rewritten +=
                u64::from(plain.pattern.is_some() && exit.pattern.is_some() && plain.pattern != exit.pattern);
            if self.padded.len() < MAX_EXAMPLES {
                self.padded.push(Padded {
                    plain: plain.pos,
                    plain_pattern: plain.pattern,
                    exit: exit.pos,
                    exit_pattern: exit.pattern,
                });
            }
        }
        if self.held.len() >= HELD_PAIRS {
            self.flush();
        }
    }

    /// Compares the clocks and counts what was held back.
    pub(super) fn flush(&mut self) {
        for (difference, _, _, way) in &self.held {
            if way.is_ne() {
                self.differences.add(*difference);
            }
        }
        self.clock = self.differences.clock();
        for (difference, src, dst, way) in std::mem::take(&mut self.held) {
            let way = way as i8;
            let tally = self.ways.entry(way).or_insert_with(|| EndsTally {
                src: Prefix::of(src),
                dst: Prefix::of(dst),
                matched: 0,
                times: Quantiles::default(),
            });
            tally.matched += 1;
            tally.src.cover(src);
            tally.dst.cover(dst);
            let passed = difference.later_ns.saturating_sub(self.clock.ahead(difference.plain_ns));
            tally.times.add(if way < 0 { passed.saturating_neg() } else { passed });
        }
    }
}

fn waiting(packet: &Plain, outer: &IpHeader) -> Option<(Identity, Waiting)> {
    let waiting = Waiting {
        pos: packet.pos,
        ns: packet.time.ns()?,
        src: outer.src,
        dst: outer.dst,
        ttl: packet.marks.ttl,
        pattern: packet.pattern,
    };
    Some((packet.identity?, waiting))
}
