//! Both captures of a scenario, and what is true of them.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};

use super::scenario::{Pace, Part, Scenario, Size, Transform, pick};
use crate::support::build::{Noise, START};

const IMIX: &[u64] = &[60, 60, 60, 60, 60, 60, 60, 576, 576, 576, 576, 1_400];
const UDP: u8 = 17;
const ESP: u8 = 50;

/// A host or a gateway.
#[derive(Clone, Copy)]
struct Node(u8, u8);

const NEAR: Node = Node(1, 10);
const FAR: Node = Node(2, 10);
const ELSEWHERE: Node = Node(9, 9);
const R1: Node = Node(0, 1);
const R2: Node = Node(0, 2);

impl Node {
    fn v4(self) -> [u8; 4] {
        Ipv4Addr::new(10, self.0, 0, self.1).octets()
    }

    fn v6(self) -> [u8; 16] {
        Ipv6Addr::new(0xfd00, self.0.into(), 0, 0, 0, 0, 0, self.1.into()).octets()
    }

    fn mac(self) -> [u8; 6] {
        [2, 0, 10, self.0, 0, self.1]
    }
}

/// An IP packet.
struct Ip {
    v6: bool,
    from: Node,
    to: Node,
    protocol: u8,
    id: u16,
    hops: u8,
    /// Fragment: offset in bytes, and whether more follow.
    fragment: (u16, bool),
}

impl Ip {
    fn around(&self, payload: &[u8]) -> Vec<u8> {
        let Self { v6, from, to, protocol, id, hops, fragment } = *self;
        let length = |extra: usize| u16::try_from(payload.len() + extra).expect("a packet").to_be_bytes();
        if v6 {
            let head = [&[0x60, 0, 0, 0][..], &length(0), &[protocol, hops], &from.v6(), &to.v6()].concat();
            return [head, payload.to_vec()].concat();
        }
        let place = ((fragment.0 / 8) | (u16::from(fragment.1) << 13)).to_be_bytes();
        let mut head =
            [&[0x45, 0][..], &length(20), &id.to_be_bytes(), &place, &[hops, protocol, 0, 0], &from.v4(), &to.v4()]
                .concat();
        let sum: u32 = head.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
        let folded = (sum & 0xffff) + (sum >> 16);
        let checksum = !u16::try_from((folded & 0xffff) + (folded >> 16)).expect("folded twice");
        head[10..12].copy_from_slice(&checksum.to_be_bytes());
        [head, payload.to_vec()].concat()
    }
}

/// An Ethernet frame.
fn frame(vlan: bool, from: Node, to: Node, v6: bool, packet: &[u8]) -> Vec<u8> {
    let tag: &[u8] = if vlan { &[0x81, 0, 0, 42] } else { &[] };
    let kind: [u8; 2] = if v6 { [0x86, 0xdd] } else { [8, 0] };
    [&to.mac()[..], &from.mac(), tag, &kind, packet].concat()
}

/// A frame of one side, and the packet that it is.
pub struct Seen {
    pub ns: u64,
    pub data: Vec<u8>,
    /// 0 is none: way (1 there, 2 back) and number.
    pub packet: (u32, u64),
}

/// What is true of one way between plain and tunnel tap.
#[derive(Default, Debug)]
pub struct Truth {
    /// Packets that the first of the two taps showed while the second was recording, and those that did not reach it.
    pub sent: u64,
    pub lost: u64,
    /// The same from the tunnel tap to the exit, of the way there.
    pub passed: u64,
    pub lost_behind: u64,
    /// Packets of either kind near the edge of a recording: they may count or not.
    pub edge: u64,
}

/// All captures, and what is true of them.
#[derive(Default)]
pub struct Made {
    pub plain: Vec<Seen>,
    pub tunnel: Vec<Seen>,
    pub exit: Vec<Seen>,
    pub truth: BTreeMap<u32, Truth>,
    pub span: u64,
}

/// A packet's way past the taps.
struct Trip {
    way: u32,
    plain: u64,
    tunnel: u64,
    exit: u64,
    on_plain: bool,
    on_tunnel: bool,
    on_exit: bool,
}

/// UDP between ports that no protocol has, and noise.
fn datagram(noise: &mut Noise, identical: bool, bytes: u64) -> Vec<u8> {
    let length = u16::try_from(bytes).expect("a datagram").to_be_bytes();
    let header = [&20_001_u16.to_be_bytes()[..], &20_002_u16.to_be_bytes(), &length, &[0, 0]].concat();
    let rest = bytes as usize - 8;
    [header, if identical { vec![0x55; rest] } else { noise.bytes(rest) }].concat()
}

/// Time of a share of the scenario.
fn place(span: u64, share: u64) -> u64 {
    START + span / 1_000 * share
}

fn within(span: u64, part: Option<Part>, ns: u64) -> bool {
    part.is_some_and(|(from, to)| (place(span, from)..place(span, to)).contains(&ns))
}

/// Whether a side records at this time.
fn records(scenario: &Scenario, span: u64, side: usize, ns: u64) -> bool {
    let (from, to) = scenario.windows[side];
    let open = (from == 0 || ns >= place(span, from)) && (to == 1_000 || ns <= place(span, to));
    open && !within(span, scenario.holes[side], ns)
}

/// Times of the packets of one way.
fn times(scenario: &Scenario, noise: &mut Noise, back: bool) -> Vec<u64> {
    let share = if back { scenario.back } else { scenario.there };
    let stretch = |gap: u64| gap * 8 / share.max(1);
    let mut clock = START + 1_000_000 + noise.below(1_000_000);
    (0..scenario.packets * share / 8)
        .map(|at| {
            clock += match scenario.pace {
                Pace::Even(gap) => stretch(gap) + noise.below(2_000),
                Pace::Random(gap) => {
                    let draw = -(1.0 - noise.below(1 << 30) as f64 / f64::from(1 << 30)).ln();
                    (stretch(gap) as f64 * draw) as u64 + 700
                }
                Pace::Bursts(gap) => {
                    if at % 8 == 0 {
                        stretch(gap) * 8
                    } else {
                        12_000
                    }
                }
            };
            clock
        })
        .collect()
}

/// Frames of ESP around a packet; several where the wire's MTU asks for fragments.
fn esp(scenario: &Scenario, noise: &mut Noise, there: bool, spi: u32, number: u32, inner: &[u8]) -> Vec<Vec<u8>> {
    let Transform { block, iv, icv, clear } = scenario.transform;
    let header = if scenario.inner_v6 { 40 } else { 20 };
    let (content, next) = match (scenario.transport, scenario.inner_v6) {
        (true, _) => (&inner[header..], UDP),
        (false, true) => (inner, 41),
        (false, false) => (inner, 4),
    };
    let bytes = content.len() as u64;
    let pad = (block - (bytes + 2) % block) % block;
    let body = if clear {
        let pads: Vec<u8> = (1..=pad as u8).collect();
        [content, &pads, &[pad as u8, next], &noise.bytes(icv as usize)].concat()
    } else {
        noise.bytes((iv + bytes + pad + 2 + icv) as usize)
    };
    let mut payload = [&spi.to_be_bytes()[..], &number.to_be_bytes(), &body].concat();
    let mut protocol = ESP;
    if scenario.nat_t {
        let length = u16::try_from(payload.len() + 8).expect("a datagram").to_be_bytes();
        payload = [&4_500_u16.to_be_bytes()[..], &4_500_u16.to_be_bytes(), &length, &[0, 0], &payload].concat();
        protocol = UDP;
    }
    let (gateway, peer) = if there { (R1, R2) } else { (R2, R1) };
    let (from, to) = match (scenario.transport, there) {
        (false, _) => (gateway, peer),
        (true, true) => (NEAR, FAR),
        (true, false) => (FAR, NEAR),
    };
    let v6 = scenario.outer_v6;
    let id = (number & 0xffff) as u16;
    let whole = Ip { v6, from, to, protocol, id, hops: 63, fragment: (0, false) };
    let around = |ip: &Ip, payload: &[u8]| frame(scenario.vlan, gateway, peer, v6, &ip.around(payload));
    match scenario.mtu {
        Some(mtu) if payload.len() as u64 + 20 > mtu => {
            let cut = (mtu as usize - 20) / 8 * 8;
            let (one, other) = payload.split_at(cut);
            let first = Ip { fragment: (0, true), ..whole };
            let last = Ip { v6, from, to, protocol, id, hops: 63, fragment: (cut as u16, false) };
            vec![around(&first, one), around(&last, other)]
        }
        _ => vec![around(&whole, &payload)],
    }
}

fn direction(
    scenario: &Scenario,
    noise: &mut Noise,
    there: bool,
    span: u64,
    times: &[u64],
    made: &mut Made,
) -> Vec<Trip> {
    let way = if there { 1 } else { 2 };
    let v6 = scenario.inner_v6;
    let (from, to) = if there { (NEAR, FAR) } else { (FAR, NEAR) };
    let (mut number, mut spi) = (0, 0x1000 * way + 1);
    let first = noise.below(60_000) as u16;
    // A queue does not let packets overtake each other.
    let mut out = 0;
    let mut trips = Vec::new();
    for (at, clock) in (0..).zip(times.iter().copied()) {
        let least = if v6 { 60 } else { 40 };
        let bytes = match scenario.size {
            Size::One(bytes) => bytes,
            Size::Imix => pick(noise, IMIX),
            Size::Any => least + noise.below(1_360),
        };
        let payload = datagram(noise, scenario.identical, bytes - if v6 { 40 } else { 20 });
        let id = if scenario.identical { 0 } else { first.wrapping_add(at as u16) };
        let ip = |to: Node, hops: u8, payload: &[u8]| {
            Ip { v6, from, to, protocol: UDP, id, hops, fragment: (0, false) }.around(payload)
        };
        let packet = (way, at);
        let onto_plain = |inner: &[u8]| {
            let (from, to) = if there { (NEAR, R1) } else { (R1, NEAR) };
            frame(false, from, to, v6, inner)
        };
        if there && noise.below(1_000) < scenario.elsewhere {
            if records(scenario, span, 0, clock) {
                made.plain.push(Seen { ns: clock, data: onto_plain(&ip(ELSEWHERE, 64, &payload)), packet: (0, at) });
            }
            continue;
        }
        out = (clock + scenario.delay_ns + noise.below(scenario.jitter_ns + 1)).max(out + 1_000);
        let dropped = |noise: &mut Noise, share: u64| noise.below(1_000) < share;
        let before = dropped(noise, scenario.lost_before) || within(span, scenario.outage, clock);
        let after = dropped(noise, scenario.lost_after);
        let behind = dropped(noise, scenario.lost_behind);
        let late = if dropped(noise, scenario.overtaken) { 40_000 } else { 0 };
        if scenario.rekey.is_some_and(|share| clock >= place(span, share) && spi & 0x100 == 0) {
            (number, spi) = (0, spi | 0x100);
        }
        // There: plain tap, gateway (drops before it numbers), wire (drops after), tunnel tap, exit. Back: exit, tunnel tap, gateway, plain.
        let far = out + late + 500_000;
        // What is overtaken before the gateway is late behind it too.
        let (plain, tunnel, exit) =
            if there { (clock, out + late, far) } else { (out + late, clock + late, clock.saturating_sub(500_000)) };
        let trip = if there {
            let on_tunnel = !(before || after);
            Trip { way, plain, tunnel, exit, on_plain: true, on_tunnel, on_exit: on_tunnel && !behind }
        } else {
            Trip { way, plain, tunnel, exit, on_plain: !(before || after), on_tunnel: true, on_exit: true }
        };
        let (fresh, next, last) = (ip(to, 64, &payload), ip(to, 63, &payload), ip(to, 62, &payload));
        if !there || !before {
            number += 1;
        }
        if trip.on_plain && records(scenario, span, 0, plain) {
            made.plain.push(Seen { ns: plain, data: onto_plain(if there { &fresh } else { &last }), packet });
        }
        if trip.on_tunnel && records(scenario, span, 1, tunnel) {
            let frames = esp(scenario, noise, there, spi, number, &next);
            let copies = 1 + u64::from(frames.len() == 1 && dropped(noise, scenario.copies));
            for copy in 0..copies {
                for (piece, data) in (0..).zip(&frames) {
                    // The last one is the packet itself: of copies either is it, of fragments the first.
                    made.tunnel.push(Seen { ns: tunnel + copy * 300 + piece * 120, data: data.clone(), packet });
                }
            }
        }
        if scenario.exit && trip.on_exit && records(scenario, span, 2, exit) {
            let (a, b) = if there { (R2, FAR) } else { (FAR, R2) };
            let inner = if there { &last } else { &fresh };
            made.exit.push(Seen { ns: exit, data: frame(false, a, b, v6, inner), packet });
        }
        trips.push(trip);
    }
    trips
}

/// What was lost among the packets that the first tap showed while the next one was recording, as far as its frames show that it was.
fn truth(scenario: &Scenario, span: u64, trips: &[Trip], shown: &[(u64, u64); 3]) -> Truth {
    let mut truth = Truth::default();
    // Near an edge latency decides, which differs from packet to packet.
    let slack = scenario.jitter_ns + 60_000 + scenario.step_ns + 2 * scenario.delay_ns;
    let sure = |side: usize, ns: u64| {
        let inside = shown[side].0 + slack <= ns && ns + slack <= shown[side].1;
        inside && [ns - slack, ns, ns + slack].iter().all(|ns| records(scenario, span, side, *ns))
    };
    for trip in trips {
        let (first, second, there) = match trip.way {
            1 => ((0, trip.plain, trip.on_plain), (1, trip.tunnel, trip.on_tunnel), true),
            _ => ((1, trip.tunnel, trip.on_tunnel), (0, trip.plain, trip.on_plain), false),
        };
        if first.2 && records(scenario, span, first.0, first.1) {
            if sure(second.0, second.1) {
                truth.sent += 1;
                truth.lost += u64::from(!second.2);
            } else {
                truth.edge += u64::from(records(scenario, span, second.0, second.1));
            }
        }
        if there && scenario.exit && trip.on_tunnel && records(scenario, span, 1, trip.tunnel) && sure(2, trip.exit) {
            truth.passed += 1;
            truth.lost_behind += u64::from(!trip.on_exit);
        }
    }
    truth
}

pub fn make(scenario: &Scenario) -> Made {
    let mut noise = Noise(scenario.seed ^ 0x5ce0_a210);
    let mut made = Made::default();
    let (there, back) = (times(scenario, &mut noise, false), times(scenario, &mut noise, true));
    let span = there.last().max(back.last()).map_or(1, |last| last - START);
    made.span = span;
    let mut trips: Vec<Vec<Trip>> = Vec::new();
    for (there, share, times) in [(true, scenario.there, &there), (false, scenario.back, &back)] {
        if share > 0 {
            trips.push(direction(scenario, &mut noise, there, span, times, &mut made));
        }
    }
    if let Some(every) = scenario.others_ns {
        let mut ns = START + noise.below(every);
        while ns < START + span {
            for (side, frames) in [&mut made.plain, &mut made.tunnel, &mut made.exit].into_iter().enumerate() {
                if records(scenario, span, side, ns) && (side < 2 || scenario.exit) {
                    // ARP for the gateway.
                    let data = [&[0xff; 6][..], &ELSEWHERE.mac(), &[8, 6, 0, 1, 8, 0, 6, 4, 0, 1], &[0; 32]].concat();
                    frames.push(Seen { ns, data, packet: (0, u64::MAX) });
                }
            }
            ns += every + noise.below(every / 4);
        }
    }
    [&mut made.plain, &mut made.tunnel, &mut made.exit].into_iter().for_each(|side| side.sort_by_key(|seen| seen.ns));
    let shown = [&made.plain, &made.tunnel, &made.exit]
        .map(|side| (side.first().map_or(u64::MAX, |seen| seen.ns), side.last().map_or(0, |seen| seen.ns)));
    for trips in trips {
        if let Some(trip) = trips.first() {
            made.truth.insert(trip.way, truth(scenario, span, &trips, &shown));
        }
    }
    made
}

/// What the tunnel's clock shows more than the plain one.
pub fn ahead(scenario: &Scenario, span: u64, ns: u64) -> i64 {
    let set = scenario.set.map_or(0, |(at, by)| if ns >= place(span, at) { by } else { 0 });
    scenario.ahead_ns + ((ns - START) as f64 * scenario.drift_ppm / 1e6).round() as i64 + set
}
