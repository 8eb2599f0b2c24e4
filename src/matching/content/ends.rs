//! Packets from the near plaintext side to the far one. Both are in clear, so identity decides, and what one side lacks was lost.

mod between;
mod early;
mod judge;
mod missed;

use std::collections::BTreeMap;

use self::between::{Apart, EndTime};
use self::early::{Early, leave_repeated};
pub(in crate::matching) use self::judge::may_be_unshown;
pub(in crate::matching) use self::missed::PlainFrames;
use super::identity::Identity;
use super::queue::Queue;
use crate::dissect::IpHeader;
use crate::matching::limits::{HELD_PAIRS, MAX_EXAMPLES, MAX_FLOWS, MAX_SIZES};
use crate::matching::measure::clock::{Clock, Difference, Differences};
use crate::matching::measure::doubt::Silent;
use crate::matching::measure::quantiles::Quantiles;
use crate::matching::measure::silence::Silences;
use crate::matching::packets::flows::FlowKey;
use crate::matching::packets::ledger::Plain;
use crate::matching::packets::numbers::Numbers;
use crate::matching::packets::prefix::Prefix;
use crate::matching::packets::progress::Progress;
use crate::matching::packets::reach::Reach;
use crate::model::report::Pattern;
use crate::model::{Address, FramePos};

/// What is remembered of a packet that waits for its other sight.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    pos: FramePos,
    ns: i64,
    src: Address,
    dst: Address,
    protocol: u8,
    bytes: u32,
    ttl: u8,
    pattern: Option<Pattern>,
    /// Whether it repeats a packet seen shortly before.
    again: bool,
}

/// Why it is not known whether packets that one side lacks were lost.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in crate::matching) enum OpenEnd {
    /// The tap showed no frame meanwhile.
    #[default]
    Silent,
    /// They repeat others.
    Repeated,
    /// They are equal to others that follow each other as fast as delays differ.
    Close,
    /// They are equal to others.
    Equal,
    /// The other side shows other packets in their place, or none of any flow.
    Changed,
    /// The tap that lacks them did not show as many others that passed it, as the other one proves.
    Unshown,
    /// The tap that lacks them shows no packet from or to the host that they go to, or none of their way at all.
    Elsewhere,
    /// They go from and to networks of the tunnel, and no other packet of their flows was seen in it or on the other side.
    Unheard,
}

/// What became of the packets of one flow.
#[derive(Clone, Copy, Default, Debug)]
pub(in crate::matching) struct FlowEnds {
    /// Packets seen on both sides, more of them on their way from the plain side to the far one.
    balance: i64,
    pub(in crate::matching) matched: u64,
    /// Pairs that may be others, for packets are equal.
    equal: u64,
    /// Pairs of packets that are equal to earlier ones, and such packets that only the plain side showed, or only the far one.
    repeats: u64,
    only_repeats: [u64; 2],
    /// Packets from a time that the other side does not cover.
    uncovered: u64,
    /// Packets that only the plain side showed, and only the far one, while both were recording.
    pub(in crate::matching) only_plain: u64,
    pub(in crate::matching) only_exit: u64,
    /// Packets that one side lacks while its tap showed no frame at all, which nothing explains, or that repeat others.
    pub(in crate::matching) open: u64,
    pub(in crate::matching) why: OpenEnd,
    /// Packets that only the plain side showed, and only the far one, of which it is not known whether they go to the other tap.
    pub(in crate::matching) elsewhere: [u64; 2],
    /// Differences of the timestamps of its pairs.
    reach: Reach,
}

/// A packet that only the plain side showed.
#[derive(Clone, Copy, Debug)]
pub(in crate::matching) struct Gone {
    pub(in crate::matching) pos: FramePos,
    pub(in crate::matching) ns: i64,
    pub(in crate::matching) bytes: u32,
    pub(in crate::matching) flow: u32,
    /// Silence of the far tap in which it was expected.
    silence: Option<i64>,
    /// Whether earlier packets were equal.
    repeats: bool,
}

/// A packet seen on both sides, until the clocks are compared.
#[derive(Clone, Copy, Debug)]
struct Held {
    difference: Difference,
    src: Address,
    dst: Address,
    way: std::cmp::Ordering,
    /// Whether no equal packet may have been the one.
    timed: bool,
}

/// Packets of one way.
#[derive(Debug)]
pub(in crate::matching) struct EndsTally {
    pub(in crate::matching) src: Prefix,
    pub(in crate::matching) dst: Prefix,
    pub(in crate::matching) matched: u64,
    pub(in crate::matching) times: Quantiles,
}

/// A packet seen at both ends whose Ethernet padding changed, or did not.
#[derive(Clone, Copy, Debug)]
pub(in crate::matching) struct Padded {
    pub(in crate::matching) plain: FramePos,
    pub(in crate::matching) plain_pattern: Option<Pattern>,
    pub(in crate::matching) exit: FramePos,
    pub(in crate::matching) exit_pattern: Option<Pattern>,
}

/// Both sides.
#[derive(Debug, Default)]
pub(in crate::matching) struct EndToEnd {
    plain: Queue<Waiting>,
    exit: Queue<Waiting>,
    differences: Differences,
    held: Vec<Held>,
    /// By way: 1 from the plain side to the far one, -1 back, 0 unknown.
    pub(in crate::matching) ways: BTreeMap<i8, EndsTally>,
    pub(in crate::matching) padded: Vec<Padded>,
    pub(in crate::matching) rewritten: u64,
    pub(in crate::matching) pads: crate::matching::measure::tally::Pads,
    ahead: Option<i64>,
    pub(in crate::matching) clock: Clock,
    numbers: Numbers<FlowKey>,
    pub(in crate::matching) flows: Vec<(FlowKey, FlowEnds)>,
    /// Packets that one side lacks, by flow, length and whether it is the plain side.
    pub(in crate::matching) sizes: BTreeMap<(u32, u32, bool), u64>,
    pub(in crate::matching) gone: Vec<Gone>,
    /// Packets of the plain side of which the far one says nothing.
    untold: PlainFrames,
    /// Whether more packets were only on the plain side than are listed.
    unlisted: bool,
    /// Differences of the timestamps of pairs, by way.
    reach: [Reach; 3],
    /// The same of packets without equals.
    apart: Apart,
    early: [Early; 3],
    /// Times without frames on the near side, and on the far one.
    pub(in crate::matching) silences: [Silences; 2],
    /// What they were, where they are no loss.
    pub(in crate::matching) silent: Vec<Silent>,
    /// Packets from a time that the other side does not cover.
    pub(in crate::matching) uncovered: u64,
    near: Progress,
    far: Progress,
    /// Whether one clock stamps both sides.
    one_clock: bool,
}

impl EndToEnd {
    pub(in crate::matching) fn new(one_clock: bool) -> Self {
        Self { one_clock, ..Self::default() }
    }

    /// By how much the far clock is ahead, as far as it is known.
    pub(in crate::matching) fn ahead(&self) -> i64 {
        self.ahead.unwrap_or(0)
    }

    /// How far the sides were read.
    pub(in crate::matching) const fn read(&mut self, near: Progress, far: Progress) {
        (self.near, self.far) = (near, far);
    }

    /// A packet of the near side; the far one was read up to `until`.
    pub(in crate::matching) fn plain(&mut self, packet: &Plain, outer: &IpHeader, (until, again): (i64, bool)) {
        let Some((identity, own)) = waiting(packet, outer, again) else {
            self.leave_untold(packet.pos);
            return;
        };
        self.meet_exit(identity, own, self.ahead.map(|ahead| until.saturating_sub(ahead)));
    }

    /// Pairs a packet of the near side with one of the far side that waits, or lets it wait.
    fn meet_exit(&mut self, identity: Identity, own: Waiting, read: Option<i64>) {
        self.take_back(identity);
        let way = self.way(&own);
        let sight =
            EndTime { ns: own.ns, far: false, usual: self.usual(way), way, ttl: own.ttl, begun: self.near.first };
        match self.apart.take(&mut self.exit, identity, sight) {
            Some((other, more)) => {
                leave_repeated(&mut self.exit, identity, (other, more));
                self.pair(own, other, (identity, more));
            }
            None => {
                let evicted = self.plain.push(identity, own, read, |waiting| Some(waiting.ns));
                evicted.into_iter().for_each(|evicted| self.leave_plain(evicted));
            }
        }
    }

    /// A packet of the far side; the near one was read up to `until`.
    pub(in crate::matching) fn exit(&mut self, packet: &Plain, outer: &IpHeader, (until, again): (i64, bool)) {
        self.pads.add(packet.pad_bytes, packet.pattern);
        let Some((identity, own)) = waiting(packet, outer, again) else { return };
        self.meet_plain(identity, own, self.ahead.map(|ahead| until.saturating_add(ahead)));
    }

    /// Pairs a packet of the far side with one of the near side that waits, or lets it wait.
    fn meet_plain(&mut self, identity: Identity, own: Waiting, read: Option<i64>) {
        self.take_back(identity);
        let way = self.way(&own);
        let sight = EndTime { ns: own.ns, far: true, usual: self.usual(way), way, ttl: own.ttl, begun: self.far.first };
        match self.apart.take(&mut self.plain, identity, sight) {
            Some((other, more)) => {
                leave_repeated(&mut self.plain, identity, (other, more));
                self.pair(other, own, (identity, more));
            }
            None => {
                let evicted = self.exit.push(identity, own, read, |waiting| Some(waiting.ns));
                evicted.into_iter().for_each(|evicted| self.leave_exit(evicted));
            }
        }
    }

    /// Packets that made room before the other side was read so far; `first`: the first times of the two sides.
    pub(in crate::matching) fn crowded(&self, first: (Option<i64>, Option<i64>)) -> u64 {
        let on_plain = first.1.zip(self.ahead).map(|(exit, ahead)| exit.saturating_sub(ahead));
        let on_exit = first.0.zip(self.ahead).map(|(plain, ahead)| plain.saturating_add(ahead));
        self.plain.crowded.count(on_plain) + self.exit.crowded.count(on_exit)
    }

    /// Packets for which none was found among those compared, while there were more.
    pub(in crate::matching) fn missed(&self) -> u64 {
        self.plain.missed() + self.exit.missed()
    }

    /// Counts a pair. `timed`: no equal packet may have been the one.
    fn count(&mut self, plain: Waiting, exit: Waiting, (more, timed): (bool, bool)) {
        let later_ns = exit.ns.saturating_sub(plain.ns);
        if let Some(way) = match plain.ttl.cmp(&exit.ttl) {
            std::cmp::Ordering::Greater => Some(0),
            std::cmp::Ordering::Less => Some(1),
            std::cmp::Ordering::Equal => None,
        } {
            let [near, far] = &mut self.silences;
            near.pair(way, plain.ns);
            far.pair(way, exit.ns);
        }
        if let Some((_, flow)) = self.flow(&plain) {
            flow.matched += 1;
            flow.equal += u64::from(more);
            flow.repeats += u64::from(!timed);
            flow.reach.add(later_ns, !more);
            flow.balance += i64::from(plain.ttl.cmp(&exit.ttl) as i8);
        }
        let difference = Difference {
            plain_ns: plain.ns,
            later_ns,
            encapsulated: plain.ttl > exit.ttl,
            by_order: false,
            guessed: false,
        };
        let held = Held { difference, src: plain.src, dst: plain.dst, way: plain.ttl.cmp(&exit.ttl), timed };
        self.held.push(held);
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

    fn flow(&mut self, packet: &Waiting) -> Option<(u32, &mut FlowEnds)> {
        let key = FlowKey { src: packet.src, dst: packet.dst, protocol: packet.protocol };
        let number = match self.numbers.get(key) {
            Some(number) => number,
            None if self.flows.len() >= MAX_FLOWS => return None,
            None => {
                let number = self.flows.len() as u32;
                self.numbers.insert(key, number);
                self.flows.push((key, FlowEnds::default()));
                number
            }
        };
        self.flows.get_mut(number as usize).map(|(_, flow)| (number, flow))
    }

    fn size(&mut self, flow: u32, bytes: u32, exit: bool, count: u64) {
        if self.sizes.len() < MAX_SIZES || self.sizes.contains_key(&(flow, bytes, exit)) {
            *self.sizes.entry((flow, bytes, exit)).or_default() += count;
        }
    }

    /// Nothing more comes: what waits was not seen on the other side.
    pub(in crate::matching) fn end(&mut self) {
        self.flush();
        self.leave_all_early();
        self.leave_all();
        self.flush();
        self.judge();
        self.doubt_equal();
        self.doubt_repeats();
        // Before what changed is left open: such flows prove that frames are missing.
        self.doubt_unshown();
        self.doubt_changed();
        self.doubt_elsewhere();
    }

    /// Packets seen on both sides so far.
    pub(in crate::matching) fn matched(&self) -> u64 {
        self.flows.iter().map(|(_, flow)| flow.matched).sum()
    }

    /// Compares the clocks and counts what was held back.
    pub(in crate::matching) fn flush(&mut self) {
        if self.held.iter().any(|held| held.way.is_eq()) {
            let balances = self.balances();
            for held in self.held.iter_mut().filter(|held| held.way.is_eq()) {
                held.way = balances.get(&(held.src, held.dst)).copied().unwrap_or(0).cmp(&0);
                held.difference.encapsulated = held.way.is_gt();
            }
        }
        for held in self.held.iter().filter(|held| held.way.is_ne() && held.timed) {
            self.differences.add(held.difference);
        }
        self.clock = if self.one_clock { Clock::ONE } else { self.differences.clock() };
        for Held { difference, src, dst, way, timed } in std::mem::take(&mut self.held) {
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
            if timed {
                tally.times.add(if way < 0 { passed.saturating_neg() } else { passed });
            }
        }
    }
}

fn waiting(packet: &Plain, outer: &IpHeader, again: bool) -> Option<(Identity, Waiting)> {
    let waiting = Waiting {
        pos: packet.pos,
        ns: packet.time.ns()?,
        src: outer.src,
        dst: outer.dst,
        protocol: outer.protocol,
        bytes: packet.bytes,
        ttl: packet.marks.ttl,
        pattern: packet.pattern,
        again,
    };
    Some((packet.identity?, waiting))
}
