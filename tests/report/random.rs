//! `spiglass report` on random traffic whose truth is known: no figure and no finding is false, and what is there is found.
//!
//! `SPIGLASS_SCENARIOS=N` runs N scenarios from seed `SPIGLASS_SEED` on; a failure names the seed of its scenario.

mod wire;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::support::build::{Noise, START};
use crate::support::writer::{ETHERNET, Order, Out, Step, pcap};
use crate::support::{at, items, number, scratch, spiglass, text, write_file};
use serde_json::Value;
use wire::{Alike, Esp, Iv, Link, Mode, TRANSFORMS, Transform};

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;
const IMIX: &[u64] = &[40, 40, 40, 40, 40, 40, 40, 576, 576, 576, 576, 1_400];

/// Sizes of the inner packets.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Size {
    One(u64),
    /// A walk in steps of so many octets.
    Walk(u64),
    Imix,
    Any,
}

/// What the sequence numbers do.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Numbers {
    From(u32),
    /// Half of the packets from 90,000 on, then from 1.
    Restart,
    /// Half of the packets, then a step ahead.
    Jump(u32),
}

/// How ESP is carried: natively, or in UDP on a port of either side, after IKE or not.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Carried {
    Native,
    Udp { ports: (u16, u16), ike: bool },
}

/// What stands after the IP packet.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Tail {
    Nothing,
    Fcs,
    /// Octets of a capture card.
    Card(usize),
    /// The padding of short frames is no zeros.
    Leak,
}

/// What befalls the packets of a direction on their way.
#[derive(Clone, Copy, Debug, Default)]
struct Way {
    /// In per mille, duplicated by the network, and how far apart.
    doubled: (u64, u64),
    /// In per mille, and by how much: packets that others overtake.
    late: (u64, u64),
    /// A part of the packets, in per cent: from there on as many are lost.
    outage: Option<(u64, u64)>,
    /// How long the sender is silent in the middle.
    pause: u64,
    /// Whether a new SA takes over at two thirds.
    rekey: bool,
}

#[derive(Clone, Copy, Debug)]
struct Scenario {
    seed: u64,
    way: Way,
    packets: u64,
    period: u64,
    even: bool,
    both_ways: bool,
    size: Size,
    transform: Transform,
    mode: Mode,
    tfc: usize,
    carried: Carried,
    link: Link,
    numbers: Numbers,
    /// In per mille: lost, and sent again later.
    lost: u64,
    again: u64,
    /// Sightings of each frame, their distance, and whether a router lies between them.
    copies: (u64, u64, bool),
    /// Identical clear packets every so many nanoseconds.
    generator: Option<u64>,
    alike: Option<(Alike, u16)>,
    /// Payload of a fragment, what the identifications count modulo, whether the last comes first, per mille of fragments lost.
    fragments: Option<(usize, u64, bool, u64)>,
    tail: Tail,
    snaplen: Option<usize>,
    /// What the clock is set back by in the middle.
    back: u64,
    whole_seconds: bool,
}

/// From this seed on, packets meet with more on their way.
const WIDER: u64 = 3_000_000;

fn pick<T: Copy>(noise: &mut Noise, of: &[T]) -> T {
    of[noise.below(of.len() as u64) as usize]
}

impl Scenario {
    fn random(seed: u64) -> Self {
        let mut noise = Noise(seed.wrapping_mul(0x517c_c1b7_2722_0a95));
        let n = &mut noise;
        let transform = pick(n, TRANSFORMS);
        let carried = match n.below(8) {
            0 => Carried::Udp { ports: (4500, 4500), ike: true },
            1 => Carried::Udp { ports: (4500, 33_000), ike: false },
            2 => Carried::Udp { ports: (14_500, 41_000), ike: false },
            _ => Carried::Native,
        };
        let v6 = carried == Carried::Native && n.below(5) == 0;
        let mut scenario = Self {
            seed,
            way: Way::default(),
            packets: 150 + n.below(200),
            period: pick(n, &[50 * US, 400 * US, MS, 5 * MS, 30 * MS]),
            even: n.below(2) == 0,
            both_ways: n.below(4) > 0,
            size: pick(
                n,
                &[Size::One(200), Size::One(1_300), Size::Walk(16), Size::Walk(64), Size::Imix, Size::Any, Size::Any],
            ),
            transform,
            mode: pick(n, &[Mode::Tunnel, Mode::Tunnel, Mode::Transport, Mode::GreTransport, Mode::GreTunnel]),
            tfc: pick(n, &[0, 0, 0, 100]),
            carried,
            link: Link { v6, tags: pick(n, &[0, 0, 0, 1, 2]) },
            numbers: pick(
                n,
                &[
                    Numbers::From(1),
                    Numbers::From(1),
                    Numbers::From(70_000),
                    Numbers::From(0xffff_ffb0),
                    Numbers::Restart,
                    Numbers::Jump(1 << 21),
                    Numbers::Jump(60_000_000),
                ],
            ),
            lost: pick(n, &[0, 0, 10, 50]),
            again: pick(n, &[0, 0, 0, 20]),
            copies: pick(
                n,
                &[(1, 0, false), (1, 0, false), (1, 0, false), (2, 2 * US, false), (2, 30 * US, true), (3, US, false)],
            ),
            generator: pick(n, &[None, None, None, Some(200 * US), Some(MS), Some(9 * MS)]),
            alike: (n.below(3) == 0).then(|| (pick(n, Alike::ALL), pick(n, &[4500, 500, 443, 1_194, 5_004]))),
            fragments: (n.below(5) == 0).then(|| {
                (pick(n, &[552, 800, 1_200]), pick(n, &[1, 7, 60_000, 60_000]), n.below(3) == 0, pick(n, &[0, 0, 20]))
            }),
            tail: pick(
                n,
                &[Tail::Nothing, Tail::Nothing, Tail::Nothing, Tail::Fcs, Tail::Card(8), Tail::Card(16), Tail::Leak],
            ),
            snaplen: pick(n, &[None, None, None, Some(128), Some(96)]),
            back: pick(n, &[0, 0, 0, 0, SECOND, 7 * SECOND]),
            whole_seconds: n.below(12) == 0,
        };
        if seed >= WIDER {
            scenario.widen(&mut Noise(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        }
        scenario.consistent();
        scenario
    }

    /// What befalls packets on their way, and further protocols in UDP.
    fn widen(&mut self, n: &mut Noise) {
        self.way = Way {
            doubled: pick(n, &[(0, 0), (0, 0), (10, 20 * US), (60, 300 * US), (60, 4 * MS), (100, 25 * MS)]),
            late: pick(n, &[(0, 0), (0, 0), (10, 2 * MS), (50, 10 * MS), (20, 200 * MS)]),
            outage: pick(n, &[None, None, Some((30, 10)), Some((50, 40))]),
            pause: pick(n, &[0, 0, 2 * SECOND, 15 * SECOND, 90 * SECOND]),
            rekey: n.below(4) == 0,
        };
        self.alike = (n.below(2) == 0).then(|| {
            (pick(n, Alike::FURTHER), pick(n, &[4500, 500, 4500, 1_234, 5_004, 9_999, 27_015, 40_000, 55_555]))
        });
    }

    /// Takes out what would make the truth itself doubtful.
    fn consistent(&mut self) {
        if self.whole_seconds {
            (self.copies, self.generator, self.back, self.again) = ((1, 0, false), None, 0, 0);
            self.period = self.period.max(5 * MS);
        }
        if self.back > 0 || !matches!(self.numbers, Numbers::From(_)) {
            self.again = 0;
        }
        let Way { doubled, late, pause, rekey, .. } = self.way;
        if doubled.0 + late.0 + pause > 0 || rekey {
            (self.copies, self.fragments, self.again, self.back, self.whole_seconds) =
                ((1, 0, false), None, 0, 0, false);
        }
        if doubled.0 + late.0 > 0 || rekey {
            self.numbers = if matches!(self.numbers, Numbers::From(_)) { self.numbers } else { Numbers::From(1) };
        }
        if matches!(self.carried, Carried::Udp { ike: false, .. }) {
            // Where no IKE says what it is, nine in ten numbers must follow each other.
            (self.way.doubled, self.way.late) = ((0, 0), (0, 0));
        }
        if self.link.v6 || self.carried != Carried::Native {
            self.fragments = None;
        }
        if self.fragments.is_some() {
            // What repeats an identification within its own train cannot be told from it.
            (self.again, self.snaplen) = (0, None);
        }
        if let Some((_, modulo, reverse, _)) = &mut self.fragments {
            // Copies of fragments of one identification that come last first: which packet each belongs to is anybody's guess.
            *reverse &= *modulo == 60_000 || self.copies.0 == 1;
        }
        if self.link.v6 && self.mode == Mode::GreTunnel {
            // The ends of the GRE tunnel would be others than those of the SA: its packets are the customer's.
            self.mode = Mode::Tunnel;
        }
        if self.tail != Tail::Nothing {
            self.snaplen = None;
        }
        if self.carried != Carried::Native && matches!(self.alike, Some((_, 4500 | 500))) {
            self.alike = None;
        }
        if self.transform.null && (self.snaplen.is_some() || self.tfc > 0) {
            (self.snaplen, self.tfc) = (None, 0);
        }
        if self.transform.iv == Iv::Random(8) && self.transform.block == 4 {
            // With lengths that agree modulo a block of CBC, random IVs are those of CBC.
            self.size = Size::Any;
        }
        // Copies are further apart than packets only in another world.
        if self.copies.0 > 1 {
            self.period = self.period.max(400 * US);
            self.generator = self.generator.filter(|period| *period >= MS);
        }
    }

    fn inner(&self, noise: &mut Noise, at: u64) -> usize {
        let bytes = match self.size {
            Size::One(bytes) => bytes,
            Size::Walk(step) => 64 + at * step % 1_280,
            Size::Imix => pick(noise, IMIX),
            Size::Any => 40 + noise.below(1_300),
        };
        bytes as usize
    }
}

struct Seen {
    ns: u64,
    data: Vec<u8>,
}

/// What is true of an SA.
#[derive(Default, Debug)]
struct Truth {
    from_r1: bool,
    /// With ESP's header, without copies.
    frames: u64,
    copies: u64,
    /// IP octets, without copies.
    bytes: u64,
    inner: u64,
    /// By run.
    numbers: Vec<BTreeSet<u32>>,
    again: u64,
    /// When each number arrived first.
    arrivals: Vec<(u64, u32)>,
    /// Packets that lack a fragment.
    incomplete: u64,
    fragmented: u64,
}

impl Truth {
    fn lost(&self) -> u64 {
        let lost = |run: &BTreeSet<u32>| {
            // A run that crosses 2^32 begins below it.
            let base = if run.iter().any(|n| *n > 1 << 31) { 1 << 31 } else { 0_u32 };
            let own: BTreeSet<u32> = run.iter().map(|n| n.wrapping_sub(base)).collect();
            own.last().zip(own.first()).map_or(0, |(last, first)| u64::from(last - first) + 1 - own.len() as u64)
        };
        self.numbers.iter().map(lost).sum()
    }
}

impl Truth {
    /// Whether its numbers pass 2^32.
    fn wraps(&self) -> bool {
        let both = |run: &BTreeSet<u32>| run.range(..1 << 31).next().is_some() && run.range(1 << 31..).next().is_some();
        self.numbers.iter().any(both)
    }

    /// Numbers that arrived behind a higher one.
    fn late(&self) -> u64 {
        let mut arrivals = self.arrivals.clone();
        arrivals.sort_by_key(|(ns, _)| *ns);
        let base = if arrivals.iter().any(|(_, n)| *n > 1 << 31) { 1 << 31 } else { 0_u32 };
        let (mut highest, mut late) = (0, 0);
        for (_, number) in arrivals {
            let number = number.wrapping_sub(base);
            late += u64::from(number < highest);
            highest = highest.max(number);
        }
        late
    }
}

#[derive(Default)]
struct Made {
    frames: Vec<Seen>,
    sas: BTreeMap<u32, Truth>,
    /// Frames and L1 octets on the wire by sender, without copies.
    wire: BTreeMap<bool, (u64, u64)>,
}

impl Made {
    /// A frame on the wire, and its copies at the tap.
    fn send(&mut self, scenario: &Scenario, ns: u64, from_r1: bool, data: Vec<u8>) {
        let (times, apart, routed) = scenario.copies;
        let (frames, octets) = self.wire.entry(from_r1).or_default();
        *frames += 1;
        *octets += (data.len() as u64).max(60) + 24;
        for copy in 0..times {
            let data = if routed && copy > 0 { wire::routed(scenario.link, &data) } else { data.clone() };
            self.frames.push(Seen { ns: ns + copy * apart, data });
        }
    }
}

fn number_at(scenario: &Scenario, at: u64) -> (usize, u32) {
    let half = scenario.packets / 2;
    match scenario.numbers {
        Numbers::From(first) => (0, first.wrapping_add(at as u32)),
        Numbers::Restart if at >= half => (1, (at - half) as u32 + 1),
        Numbers::Restart => (0, 90_000 + at as u32),
        Numbers::Jump(by) if at >= half => (1, 1 + by + at as u32),
        Numbers::Jump(_) => (0, 1 + at as u32),
    }
}

fn direction(scenario: &Scenario, noise: &mut Noise, from_r1: bool, made: &mut Made) {
    let spi = (noise.below(0xfff0_0000) as u32 + 0x1_0000) / 2 * 2 + u32::from(!from_r1);
    let esp =
        Esp { transform: scenario.transform, mode: scenario.mode, tfc: scenario.tfc, spi, base: noise.word(), from_r1 };
    let fresh = || Truth { from_r1, numbers: vec![BTreeSet::new(), BTreeSet::new()], ..Truth::default() };
    let (mut esp, mut truth, mut base) = (esp, fresh(), 0);
    let Way { doubled, late, outage, pause, rekey } = scenario.way;
    let mut clock = START + SECOND / 3 + noise.below(MS);
    for at in 0..scenario.packets {
        clock += if scenario.even {
            scenario.period + noise.below(2_000)
        } else {
            5 * US + noise.below(scenario.period * 2)
        };
        if rekey && at == scenario.packets * 2 / 3 {
            made.sas.insert(esp.spi, std::mem::replace(&mut truth, fresh()));
            (esp.spi, base) = (esp.spi ^ 0x5a5a_0000, at);
        }
        clock += if at == scenario.packets / 2 { pause } else { 0 };
        let (run, number) = if base > 0 { (0, (at - base) as u32 + 1) } else { number_at(scenario, at) };
        let outage = outage.is_some_and(|(from, share)| {
            (scenario.packets * from / 100..scenario.packets * (from + share) / 100).contains(&at)
        });
        let lost = (noise.below(1_000) < scenario.lost || outage) && at > 0;
        let again = noise.below(1_000) < scenario.again;
        let inner = scenario.inner(noise, at);
        let packet = esp.packet(noise, number, inner);
        if lost {
            continue;
        }
        let ports = |(own, far): (u16, u16)| if from_r1 { (own, far) } else { (far, own) };
        let (protocol, payload) = match scenario.carried {
            Carried::Native => (50, packet),
            Carried::Udp { ports: both, .. } => (17, wire::udp(ports(both), &packet)),
        };
        let id = scenario.fragments.map_or(at, |(_, modulo, ..)| at % modulo) as u16;
        let frame = wire::ip(scenario.link, from_r1, protocol, id, &payload);
        let start = wire::before_ip(scenario.link);
        let mut pieces = match scenario.fragments {
            Some((each, ..)) if payload.len() > each => wire::fragments(scenario.link, &frame, each),
            _ => vec![frame.clone()],
        };
        let whole = pieces.len();
        truth.fragmented += u64::from(whole > 1);
        if let Some((.., reverse, missing)) = scenario.fragments.filter(|_| whole > 1) {
            // The first fragment alone names the SA.
            if noise.below(1_000) < missing {
                pieces.pop();
                truth.incomplete += 1;
            }
            if reverse {
                pieces.reverse();
            }
        }
        // In transport mode the IP header is the packet's own.
        let inner = inner as u64 + if scenario.link.v6 && scenario.mode == Mode::Transport { 20 } else { 0 };
        truth.frames += 1;
        truth.copies += scenario.copies.0 - 1;
        truth.inner += inner;
        truth.numbers[run].insert(number);
        let delay = if late.0 > 0 && noise.below(1_000) < late.0 { late.1 } else { 0 };
        truth.arrivals.push((clock + delay, number));
        for (piece, data) in pieces.into_iter().enumerate() {
            truth.bytes += (data.len() - start) as u64;
            made.send(scenario, clock + delay + piece as u64 * 3 * US, from_r1, data);
        }
        if doubled.0 > 0 && noise.below(1_000) < doubled.0 {
            (truth.frames, truth.again) = (truth.frames + 1, truth.again + 1);
            truth.bytes += (frame.len() - start) as u64;
            truth.inner += inner;
            made.send(scenario, clock + delay + doubled.1, from_r1, frame.clone());
        }
        if again {
            (truth.frames, truth.again) = (truth.frames + 1, truth.again + 1);
            truth.copies += scenario.copies.0 - 1;
            truth.bytes += (frame.len() - start) as u64;
            truth.inner += inner;
            made.send(scenario, clock + 15 * MS + noise.below(50 * MS), from_r1, frame);
        }
    }
    made.sas.insert(esp.spi, truth);
}

fn make(scenario: &Scenario) -> Made {
    let mut noise = Noise(scenario.seed ^ 0x0c1a_1395);
    let n = &mut noise;
    let mut made = Made::default();
    let ways = if scenario.both_ways { 2 } else { 1 };
    for way in 0..ways {
        direction(scenario, n, way == 0, &mut made);
    }
    let span = scenario.packets * scenario.period;
    let begin = START + SECOND / 3;
    if let Carried::Udp { ports, ike: true } = scenario.carried {
        // Two messages of IKE_SA_INIT, after the four zeros.
        for (from_r1, flags) in [(true, 0x08), (false, 0x20)] {
            let head =
                [&[0; 4][..], &[1; 8], &[2; 8], &[33, 0x20, 34, flags], &[0; 4], &128_u32.to_be_bytes()].concat();
            let datagram = wire::udp(if from_r1 { ports } else { (ports.1, ports.0) }, &[head, n.bytes(100)].concat());
            let frame = wire::ip(scenario.link, from_r1, 17, 1, &datagram);
            made.send(scenario, begin - 10 * MS + u64::from(!from_r1) * MS, from_r1, frame);
        }
    }
    if let Some(period) = scenario.generator {
        let payload = wire::udp((5_000, 5_001), &[0xa5; 100]);
        for at in 0..(span / period).clamp(30, 600) {
            let frame = wire::ip(scenario.link, true, 17, 0, &payload);
            made.send(scenario, begin + 777 + at * period, true, frame);
        }
    }
    if let Some((alike, port)) = scenario.alike {
        for at in 0..300_u64 {
            let from_r1 = at % 2 == 0 || !scenario.both_ways;
            let payload = alike.payload(n, at as u32 / 2 + 1, from_r1);
            let datagram = wire::udp(if from_r1 { (port, 40_123) } else { (40_123, port) }, &payload);
            let frame = wire::ip(scenario.link, from_r1, 17, at as u16, &datagram);
            made.send(scenario, begin + 333 + at * (span / 300).max(900), from_r1, frame);
        }
    }
    made.frames.sort_by_key(|seen| seen.ns);
    made
}

/// When the clock is set back: not between copies or fragments of one packet.
fn middle(made: &Made) -> Option<u64> {
    let apart = |pair: &&[Seen]| pair[1].ns - pair[0].ns > 100 * US;
    let later = &made.frames[made.frames.len() / 2..];
    later.windows(2).find(apart).map(|pair| pair[1].ns)
}

fn write(scenario: &Scenario, made: &Made) -> PathBuf {
    let mut noise = Noise(scenario.seed ^ 0x7a11);
    let middle = middle(made).unwrap_or(u64::MAX);
    let out = |seen: &Seen| {
        let mut data = seen.data.clone();
        let short = data.len();
        data.resize(short.max(60), 0);
        match scenario.tail {
            Tail::Nothing => {}
            Tail::Fcs => data.extend(wire::crc(&data).to_le_bytes()),
            Tail::Card(bytes) => data.extend(noise.bytes(bytes)),
            Tail::Leak => data[short..].iter_mut().for_each(|octet| *octet = 0x47 + short as u8),
        }
        let back = if seen.ns >= middle { scenario.back } else { 0 };
        let time = seen.ns + 60 * SECOND - back;
        let wire_bytes = u32::try_from(data.len()).expect("32 bits");
        data.truncate(scenario.snaplen.unwrap_or(usize::MAX));
        Out { time_ns: if scenario.whole_seconds { time / SECOND * SECOND } else { time }, data, wire_bytes }
    };
    let frames: Vec<Out> = made.frames.iter().map(out).collect();
    let dir = scratch(&format!("report-random-{}", scenario.seed % 64));
    write_file(&dir, "tap.pcap", &pcap(&frames, ETHERNET, Order::Little, Step::Nano))
}

/// Codes that must be there, and those that may.
fn expected(scenario: &Scenario, made: &Made) -> (BTreeSet<&'static str>, BTreeSet<&'static str>) {
    let any = |of: &dyn Fn(&Truth) -> bool| made.sas.values().any(of);
    let mut wanted = BTreeSet::new();
    let mut want = |code, when: bool| {
        if when {
            wanted.insert(code);
        }
    };
    want("sequence-gap", any(&|sa| sa.lost() > 0));
    want("sequence-duplicate", any(&|sa| sa.again > 0));
    want("sequence-restart", scenario.numbers == Numbers::Restart);
    want("sequence-jump", matches!(scenario.numbers, Numbers::Jump(_)));
    want("sequence-wrap", any(&Truth::wraps));
    want("tap-copies", scenario.copies.0 > 1);
    want("capture-fcs", scenario.tail == Tail::Fcs);
    want("capture-clock-back", scenario.back > 0 && middle(made).is_some());
    want("outer-fragmentation", any(&|sa| sa.fragmented > 0));
    want("capture-snaplen", made.frames.iter().any(|seen| seen.data.len() > scenario.snaplen.unwrap_or(usize::MAX)));
    let mut allowed = BTreeSet::new();
    let mut allow = |code, when: bool| {
        if when {
            allowed.insert(code);
        }
    };
    let clear = scenario.generator.is_some() || scenario.alike.is_some();
    allow("clear-traffic", clear);
    // Packets in clear that keep pace with those of one length may have come out of them: the note leaves open which.
    allow("gateway-view", clear && matches!(scenario.size, Size::One(_)));
    allow("capture-one-direction", !scenario.both_ways);
    allow("sa-one-way", !scenario.both_ways);
    allow("inner-one-way", !scenario.both_ways);
    allow("weak-transform", scenario.transform.name.contains("DES") || scenario.transform.null);
    allow("udp-not-esp", scenario.alike.is_some());
    allow("tfc-padding", scenario.tfc > 0);
    // The header is in the fragment that comes last: meanwhile the next packet may have come.
    let overtaken = scenario.fragments.is_some_and(|(_, _, reverse, _)| reverse) && !scenario.even;
    allow("sequence-late", scenario.again > 0 || overtaken || scenario.way.late.0 > 0);
    // What is sent again after ten seconds may be a replay, and what nobody sent for so long may be a hole.
    allow("sa-rekey", scenario.way.rekey);
    let short = |seen: &Seen| seen.data.len() < 60;
    allow("ethernet-padding-leak", scenario.tail == Tail::Leak && made.frames.iter().any(short));
    (wanted, allowed)
}

/// What of the transform of an SA is false.
fn transform(scenario: &Scenario, sa: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    let own = at(sa, "transform");
    let truth = scenario.transform;
    let kind = match truth {
        Transform { null: true, .. } => "NULL",
        Transform { block: 16, .. } => "AES-CBC",
        Transform { block: 8, .. } => "3DES-CBC or DES-CBC",
        _ => "counter mode",
    };
    if let Some(name) = own["name"].as_str().filter(|name| !name.contains(kind)) {
        wrong.push(format!("named {name}: {}", own["evidence"]));
    }
    let candidates: Vec<&str> = own["candidates"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if !truth.null && !candidates.is_empty() && !candidates.iter().any(|name| name.starts_with(truth.name)) {
        wrong.push(format!("{} is no candidate: {candidates:?}: {}", truth.name, own["evidence"]));
    }
    if let Some(icv) = sa["icv_bytes"].as_u64().filter(|icv| *icv != truth.icv as u64) {
        wrong.push(format!("ICV of {icv}"));
    }
    let least = (8 + 2 + truth.iv.bytes() + truth.icv) as u64;
    let most = least + truth.block as u64 - 1;
    let most = if let Size::One(_) = scenario.size { least } else { most };
    let (min, max) = (sa["protection_bytes"]["min"].as_u64(), sa["protection_bytes"]["max"].as_u64());
    if min.is_some_and(|min| min > least) || max.is_some_and(|max| max < most) {
        wrong.push(format!("protection of {min:?} to {max:?}, it is {least} to {most}"));
    }
    wrong
}

/// The claims about SAs that are false.
fn of_sas(scenario: &Scenario, made: &Made, report: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut seen = BTreeSet::new();
    for sa in items(report, "sas") {
        let spi = number(sa, "spi") as u32;
        let Some(truth) = made.sas.get(&spi) else {
            wrong.push(format!("an SA {} that is none, {} frames", text(sa, "id"), number(sa, "frames")));
            continue;
        };
        seen.insert(spi);
        let mut same = |what: &str, said: u64, truth: u64| {
            if said != truth {
                wrong.push(format!("{spi:#x}: {what} is {said}, it is {truth}"));
            }
        };
        same("frames", number(sa, "frames"), truth.frames);
        same("copies_removed", number(sa, "copies_removed"), truth.copies);
        same("lost", number(sa, "sequence.lost"), truth.lost());
        same("duplicate", number(sa, "sequence.duplicate"), truth.again);
        if scenario.way.late.0 > 0 {
            same("late", number(sa, "sequence.late"), truth.late());
        }
        same("restarts", number(sa, "sequence.restarts"), u64::from(scenario.numbers == Numbers::Restart));
        if scenario.fragments.is_none()
            || truth.fragmented == 0
            || number(sa, "fragments_uncertain") == 0 && truth.incomplete == 0
        {
            same("outer_bytes", number(sa, "outer_bytes"), truth.bytes);
        } else if number(sa, "outer_bytes") > truth.bytes {
            wrong.push(format!("{spi:#x}: outer_bytes is {}, it is {}", number(sa, "outer_bytes"), truth.bytes));
        }
        wrong.extend(transform(scenario, sa).into_iter().map(|what| format!("{spi:#x}: {what}")));
    }
    wrong.extend(made.sas.keys().filter(|spi| !seen.contains(spi)).map(|spi| format!("{spi:#x} is missing")));
    wrong
}

/// The rates that are false.
fn of_rates(scenario: &Scenario, made: &Made, report: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    for row in items(report, "rates.directions") {
        let from_r1 = text(row, "from").ends_with("01");
        let (frames, octets) = made.wire.get(&from_r1).copied().unwrap_or_default();
        // Of a generator's packets with copies, one or two at the beginning of a chain may be taken for copies.
        let doubtful = if scenario.copies.0 > 1 && scenario.generator.is_some() { 2 } else { 0 };
        if number(row, "frames").abs_diff(frames) > doubtful {
            wrong.push(format!("{} frames of {from_r1}, it is {frames}", number(row, "frames")));
        }
        let Some(seconds) = row["seconds"].as_f64() else {
            continue;
        };
        if scenario.whole_seconds && !row["l1_bps"].is_null() {
            wrong.push(format!("a rate of whole seconds: {}", row["l1_bps"]));
        }
        let bits = |value: &Value| value.as_f64().map(|bps| bps * seconds / 8.0);
        let most = 0.5 + 200.0 * doubtful as f64;
        if let Some(said) = bits(&row["l1_bps"]).filter(|said| (said - octets as f64).abs() > most) {
            wrong.push(format!("{said} bytes of L1, it is {octets}"));
        }
        let times: Vec<u64> = made.frames.iter().map(|seen| seen.ns).collect();
        let span = (times[times.len() - 1] - times[0]) as f64 / 1e9;
        if seconds > span * 1.02 + 0.001 {
            wrong.push(format!("{seconds} seconds, the capture has {span}"));
        }
        let own: Vec<&Truth> = made.sas.values().filter(|sa| sa.from_r1 == from_r1).collect();
        let inner = own.iter().map(|sa| sa.inner).sum::<u64>() as f64;
        if let Some(said) = bits(&row["goodput_bps"]).filter(|said| (said - inner).abs() > 0.5) {
            wrong.push(format!("{said} bytes of goodput, it is {inner}"));
        }
        let mut range = |of: &Value, what: &str| {
            let (least, most) = (bits(&of["goodput_min_bps"]), bits(&of["goodput_max_bps"]));
            if least.is_some_and(|least| least > inner + 0.5) || most.is_some_and(|most| most < inner - 0.5) {
                wrong.push(format!("goodput {what} of {least:?} to {most:?}, it is {inner}"));
            }
        };
        range(row, "");
        if scenario.tfc == 0 {
            range(&row["if_no_tfc"], "if no TFC");
        }
    }
    wrong
}

fn false_claims(scenario: &Scenario, made: &Made, report: &Value) -> Vec<String> {
    let (wanted, allowed) = expected(scenario, made);
    let said: BTreeMap<&str, &str> =
        items(report, "findings").iter().map(|finding| (text(finding, "code"), text(finding, "evidence"))).collect();
    let mut wrong = of_sas(scenario, made, report);
    wrong.extend(of_rates(scenario, made, report));
    let unfounded = said.iter().filter(|(code, _)| !wanted.contains(*code) && !allowed.contains(*code));
    wrong.extend(unfounded.map(|(code, evidence)| format!("{code}: {evidence}")));
    wrong.extend(wanted.iter().filter(|code| !said.contains_key(*code)).map(|code| format!("no {code}")));
    wrong
}

/// Seeds whose scenario once brought a false claim: a copy from before a jump of the number that came after it; fragments of one identification
/// whose copies come after the next packet has begun; ESP-NULL in transport mode on an unusual port, of one length and of lengths in steps; copies
/// of copies beside a generator, also on an unusual port; a copy from before a restart and one from before a jump; lengths in steps of which the
/// first ones were lost or came late; IKE that the snapshot length cut; a random payload that three copies make ESP-NULL.
const ONCE_FALSE: [u64; 16] = [
    5_478, 40_085, 2_010_204, 2_010_763, 2_010_931, 2_010_972, 2_013_216, 2_020_005, 2_013_608, 2_025_199, 2_013_600,
    2_018_951, 2_023_351, 2_013_525, 3_018_579, 3_019_823,
];

#[test]
fn random_traffic_brings_no_false_claim() {
    let scenarios = std::env::var("SPIGLASS_SCENARIOS").ok().and_then(|count| count.parse().ok()).unwrap_or(100);
    let first = std::env::var("SPIGLASS_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let (mut wrong, mut sas, mut decided, mut bounded) = (Vec::new(), 0, 0, 0);
    // From the start, and of those that meet with more.
    let wider = WIDER + first..WIDER + first + scenarios;
    for seed in (first..first + scenarios)
        .chain(wider.filter(|_| first < WIDER))
        .chain(ONCE_FALSE.into_iter().filter(|_| scenarios > 1))
    {
        let scenario = Scenario::random(seed);
        let made = make(&scenario);
        let path = write(&scenario, &made);
        let report = spiglass(&["report", "-q", "--format", "json", path.to_str().expect("UTF-8")]).json();
        let claims = false_claims(&scenario, &made, &report);
        if !claims.is_empty() {
            wrong.push(format!("{scenario:?}\n    {}", claims.join("\n    ")));
        }
        sas += items(&report, "sas").len();
        decided += items(&report, "sas").iter().filter(|sa| !sa["transform"]["name"].is_null()).count();
        let rows = items(&report, "rates.directions").iter();
        bounded += rows.filter(|row| !row["goodput_bps"].is_null() || !row["if_no_tfc"].is_null()).count();
    }
    println!("{scenarios} scenarios, {sas} SAs, {decided} transforms decided, {bounded} goodputs bounded");
    assert!(wrong.is_empty(), "{} of {scenarios} scenarios bring false claims:\n{}", wrong.len(), wrong.join("\n"));
    // Saying nothing is no way out.
    assert!(decided * 3 >= sas && bounded * 3 >= sas, "of {sas} SAs {decided} are decided and {bounded} bounded");
}
