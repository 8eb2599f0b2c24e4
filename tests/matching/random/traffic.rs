//! Both captures of a scenario, and what is true of them.

use std::collections::{BTreeMap, VecDeque};

use super::frames::{ELSEWHERE, FAR, Form, GROUP, NEAR, Node, R1, R2, R3, TRANSLATED, body, esp, frame, is_fragmented};
use super::scenario::{Scenario, Size, Unusual, pick};
use super::schedule::{place, records, times, within};
use super::trip::{Trip, Truth, truth};
use crate::support::build::{Noise, START};

/// Next header of a packet without content (RFC 4303 section 2.6).
const NO_NEXT_HEADER: u8 = 59;
const IMIX: &[u64] = &[60, 60, 60, 60, 60, 60, 60, 576, 576, 576, 576, 1_400];
/// A frame of one side, and the packet that it is.
pub struct Seen {
    pub ns: u64,
    pub data: Vec<u8>,
    /// 0 is none: way (1 there, 2 back) and number.
    pub packet: (u32, u64),
}

/// All captures, and what is true of them.
#[derive(Default)]
pub struct Made {
    pub plain: Vec<Seen>,
    pub tunnel: Vec<Seen>,
    pub exit: Vec<Seen>,
    pub truth: BTreeMap<u32, Truth>,
    /// Packets without content that no tap can tell from others.
    dummies: u64,
    pub span: u64,
}

/// UDP between ports that no protocol has, and noise.
fn datagram(noise: &mut Noise, identical: bool, bytes: u64) -> Vec<u8> {
    let length = u16::try_from(bytes).expect("a datagram").to_be_bytes();
    let header = [&20_001_u16.to_be_bytes()[..], &20_002_u16.to_be_bytes(), &length, &[0, 0]].concat();
    let rest = bytes as usize - 8;
    [header, if identical { vec![0x55; rest] } else { noise.bytes(rest) }].concat()
}

/// A packet on its way, before the gateway has numbered it.
struct Sent {
    trip: Trip,
    packet: (u32, u64),
    clock: u64,
    /// When the gateway numbers it, and whether it does.
    gate: u64,
    numbered: bool,
    /// Which of several SAs takes it.
    sa: u32,
    plain: Vec<Vec<u8>>,
    exit: Vec<Vec<u8>>,
    /// What ESP carries, one for each fragment that the gateway makes; nothing where the tunnel's tap shows nothing.
    bodies: Vec<Vec<u8>>,
    copies: u64,
}

/// Payload of a packet that was sent before, and the number that its identification is of.
type Again = (Vec<u8>, u64);

/// Packets of one way that are to be sent: when, which, and what again.
struct Load<'t> {
    times: std::slice::Iter<'t, u64>,
    count: u64,
    again: VecDeque<(u64, u64, Vec<u8>, u64)>,
    next: Option<u64>,
}

impl Load<'_> {
    /// The next packet: its number, its time, and its payload and the identification's number where it was sent before.
    fn next(&mut self) -> Option<(u64, u64, Option<Again>)> {
        let fresh = self.next.or_else(|| self.times.next().copied());
        self.next = fresh;
        if self.again.front().is_some_and(|again| fresh.is_none_or(|fresh| again.0 < fresh)) {
            let (clock, at, payload, id) = self.again.pop_front()?;
            return Some((at, clock, Some((payload, id))));
        }
        self.next = None;
        let at = self.count;
        self.count += 1;
        fresh.map(|clock| (at, clock, None))
    }
}

/// The packets of one way, in the order in which they were sent.
fn direction(
    scenario: &Scenario,
    noise: &mut Noise,
    there: bool,
    span: u64,
    times: &[u64],
    made: &mut Made,
) -> Vec<Sent> {
    let way = if there { 1 } else { 2 };
    let v6 = scenario.inner_v6;
    let hosts = if scenario.unusual == Unusual::Group && there { GROUP } else { FAR };
    let (from, to) = if there { (NEAR, hosts) } else { (hosts, NEAR) };
    let first = noise.below(60_000) as u16;
    let unusual = scenario.unusual;
    // A queue does not let packets overtake each other.
    let (mut out, mut free, mut waited) = (0, 0, 0);
    let mut sent = Vec::new();
    let mut load = Load { times: times.iter(), count: 0, again: VecDeque::new(), next: None };
    while let Some((at, clock, again)) = load.next() {
        let least = if v6 { 60 } else { 40 };
        let header = if v6 { 40 } else { 20 };
        let (payload, number) = again.clone().unwrap_or_else(|| {
            let bytes = match scenario.size {
                Size::One(bytes) => bytes,
                Size::Imix => pick(noise, IMIX),
                Size::Any => least + noise.below(1_360),
            };
            (datagram(noise, scenario.identical, bytes - header), at)
        });
        let bytes = payload.len() as u64 + header;
        let id = if scenario.identical { 0 } else { first.wrapping_add(number as u16) };
        let form = |from: Node, to: Node, hops: u8| Form { v6, from, to, id, hops, payload: &payload };
        let packet = (way, at);
        let first_hop = if hosts.is_group() { hosts } else { R1 };
        let link = if there { (NEAR, first_hop) } else { (R1, NEAR) };
        if there && noise.below(1_000) < scenario.elsewhere {
            if records(scenario, span, 0, clock) {
                let data = frame(false, link.0, link.1, v6, &form(from, ELSEWHERE, 64).whole());
                made.plain.push(Seen { ns: clock, data, packet: (0, at) });
            }
            continue;
        }
        let mut full = false;
        if let Unusual::Queue(rate, longest) = unusual {
            full = free > clock + longest;
            free = if full { free } else { free.max(clock) + bytes * 8_000_000_000 / rate };
        }
        out = (clock + scenario.delay_ns + noise.below(scenario.jitter_ns + 1)).max(out + 1_000);
        out = out.max(free);
        let dropped = |noise: &mut Noise, share: u64| noise.below(1_000) < share;
        let before = dropped(noise, scenario.lost_before) || within(span, scenario.outage, clock) || full;
        let after = dropped(noise, scenario.lost_after);
        let behind = dropped(noise, scenario.lost_behind);
        let mut late = if dropped(noise, scenario.overtaken) { 40_000 } else { 0 };
        let (mut gate, mut sa) = (out, 0);
        match unusual {
            Unusual::Parallel(count, apart) => {
                sa = noise.below(count);
                late += sa * apart;
            }
            Unusual::Priority(share, wait) if !dropped(noise, share) => {
                waited = (gate + wait).max(waited + 1_000);
                gate = waited;
            }
            _ => {}
        }
        let held = gate - out;
        let far = gate + late + 500_000;
        // What is overtaken before the gateway is late behind it too.
        let (plain, tunnel, exit) =
            if there { (clock, gate + late, far) } else { (gate + late, clock + late, clock.saturating_sub(500_000)) };
        // There: plain tap, gateway (drops before it numbers), wire (drops after), tunnel tap, exit. Back: exit, tunnel tap, gateway, plain.
        let missed = [0, 1, 2]
            .map(|side| matches!(unusual, Unusual::Missed(own, share) if own == side && dropped(noise, share)));
        let trip = Trip { way, plain, tunnel, exit, on_plain: true, on_tunnel: true, on_exit: true, missed, pieces: 1 };
        let trip = if there {
            let on_tunnel = !(before || after);
            Trip { on_tunnel, on_exit: on_tunnel && !behind, ..trip }
        } else {
            Trip { on_plain: !(before || after), ..trip }
        };
        if let (Unusual::Resent(wait), None) = (unusual, &again)
            && (before || after || behind)
        {
            load.again.push_back((clock + wait, at + (1 << 40), payload.clone(), number));
        }
        // The gateway may translate the near host.
        let inside = |node: Node| if unusual == Unusual::Translated && node.0 == NEAR.0 { TRANSLATED } else { node };
        let cut = match unusual {
            Unusual::Fragmented(most) => Some(most),
            _ => None,
        };
        let fresh = if let Unusual::Routed(routers) = unusual { 64 - routers } else { 64 };
        let (next, last) = (fresh - 1, fresh - 2);
        let pieces = |hops: u8, cut: Option<u64>| form(inside(from), inside(to), hops).pieces(cut);
        let plainly = if there { vec![form(from, to, fresh).whole()] } else { form(from, to, last).pieces(cut) };
        let mut bodies = Vec::new();
        if trip.shows(1) && records(scenario, span, 1, tunnel) {
            let transform = match (unusual, scenario.rekey) {
                (Unusual::Rekeyed(transform), Some(share)) if clock >= place(span, share) => transform,
                _ => scenario.transform,
            };
            let inside = if unusual == Unusual::Unrelated {
                let bytes = least + noise.below(1_360);
                let payload = datagram(noise, false, bytes);
                vec![Form { payload: &payload, ..form(from, to, next) }.whole()]
            } else {
                pieces(next, cut)
            };
            bodies = inside.iter().map(|inner| body(scenario, noise, transform, inner)).collect();
        }
        let trip = Trip { pieces: bodies.len().max(1) as u64, ..trip };
        let single = bodies.len() == 1 && !is_fragmented(scenario, scenario.mtu, &bodies[0]);
        let copies = 1 + u64::from(single && dropped(noise, scenario.copies));
        let beyond = if there { (R2, hosts) } else { (FAR, R2) };
        let inner = if there { pieces(last, cut) } else { pieces(fresh, None) };
        sent.push(Sent {
            trip,
            packet,
            clock,
            gate: if there { gate } else { clock + held },
            numbered: !there || !before,
            sa: sa as u32,
            plain: plainly.iter().map(|inner| frame(false, link.0, link.1, v6, inner)).collect(),
            exit: inner.iter().map(|inner| frame(false, beyond.0, beyond.1, v6, inner)).collect(),
            bodies,
            copies,
        });
    }
    sent
}

/// Numbers the packets of one way and writes down what the taps show.
fn show(scenario: &Scenario, there: bool, span: u64, sent: &mut [Sent], noise: &mut Noise, made: &mut Made) {
    let way = if there { 1 } else { 2 };
    let ends = if there { (R1, R2) } else { (R2, R1) };
    let mut numbers: BTreeMap<u32, u32> = BTreeMap::new();
    sent.sort_by_key(|own| own.gate);
    for own in sent.iter() {
        let Sent { trip, packet, clock, gate, numbered, sa, ref plain, ref exit, ref bodies, copies } = *own;
        let renewed = scenario.rekey.is_some_and(|share| clock >= place(span, share));
        let spi = (0x1000 * way + 1 + 0x10 * sa) | if renewed { 0x100 } else { 0 };
        if trip.shows(0) && records(scenario, span, 0, trip.plain) {
            let shift = match scenario.unusual {
                Unusual::Mirrored(shift) => Some(shift),
                _ => None,
            };
            for again in [Some(0), shift].into_iter().flatten() {
                for (piece, data) in (0..).zip(plain) {
                    made.plain.push(Seen { ns: trip.plain + again + piece * 120, data: data.clone(), packet });
                }
            }
        }
        let mtu = match scenario.unusual {
            Unusual::Narrowed(share, mtu) if gate >= place(span, share) => Some(mtu),
            _ => scenario.mtu,
        };
        let mut at = 0;
        for number in 0..u32::from(numbered) * bodies.len().max(1) as u32 {
            let next = numbers.entry(spi).or_default();
            *next += 1;
            if let Unusual::Failover(share, by) = scenario.unusual
                && gate >= place(span, share)
                && *next < by
            {
                *next += by;
            }
            let Some(body) = bodies.get(number as usize) else { continue };
            let frames = esp(scenario, mtu, ends, (spi, *next), body);
            for copy in 0..copies {
                for (piece, data) in (0..).zip(&frames) {
                    // The last one is the packet itself: of copies either is it, of fragments the first.
                    let ns = trip.tunnel + copy * 300 + (piece + at) * 120;
                    let packet = if scenario.unusual == Unusual::Unrelated { (0, u64::MAX) } else { packet };
                    made.tunnel.push(Seen { ns, data: data.clone(), packet });
                }
            }
            at += frames.len() as u64;
            if scenario.unusual == Unusual::Twin && there {
                let second = esp(scenario, mtu, (R1, R3), (spi | 0x3000, *next), body);
                made.tunnel.extend(second.into_iter().map(|data| Seen { ns: trip.tunnel + 2_000, data, packet }));
            }
        }
        if matches!(scenario.unusual, Unusual::Dummies(share) if noise.below(1_000) < share) {
            // Traffic flow confidentiality (RFC 4303 section 2.6).
            let next = numbers.entry(spi).or_default();
            *next += 1;
            let ns = trip.tunnel + 200 + noise.below(20_000);
            if records(scenario, span, 1, ns) {
                let bytes = 60 + noise.below(1_200) / 16 * 16;
                let mut dummy = noise.bytes(bytes as usize);
                if scenario.transform.clear {
                    let (pad, icv) = (0, scenario.transform.icv as usize);
                    dummy.truncate(dummy.len() / 4 * 4);
                    let trailer = dummy.len() - icv - 2;
                    dummy[trailer..trailer + 2].copy_from_slice(&[pad, NO_NEXT_HEADER]);
                } else if !there {
                    // Nothing tells them from packets that did not reach the plain side.
                    made.dummies += 1;
                }
                for data in esp(scenario, mtu, ends, (spi, *next), &dummy) {
                    made.tunnel.push(Seen { ns, data, packet: (0, u64::MAX) });
                }
            }
        }
        if scenario.exit && trip.shows(2) && records(scenario, span, 2, trip.exit) {
            for (piece, data) in (0..).zip(exit) {
                made.exit.push(Seen { ns: trip.exit + piece * 120, data: data.clone(), packet });
            }
        }
    }
}

/// Hosts of both links look for services of their own link.
fn discover(scenario: &Scenario, span: u64, noise: &mut Noise, made: &mut Made) {
    const EVERY_NS: u64 = 12_000_000;
    for (site, side) in [(NEAR.0, &mut made.plain), (FAR.0, &mut made.exit)] {
        for (id, ns) in (0..).zip((START..START + span).step_by(EVERY_NS as usize)) {
            let (from, to) = (Node(site, 77), Node(GROUP.0, 1));
            let bytes = 100 + noise.below(200);
            let payload = datagram(noise, false, bytes);
            let packet = Form { v6: scenario.inner_v6, from, to, id, hops: 4, payload: &payload }.whole();
            let data = frame(false, from, to, scenario.inner_v6, &packet);
            side.push(Seen { ns: ns + noise.below(EVERY_NS / 2), data, packet: (0, u64::MAX) });
        }
    }
}

pub fn make(scenario: &Scenario) -> Made {
    let mut noise = Noise(scenario.seed ^ 0x5ce0_a210);
    let mut made = Made::default();
    let (there, back) = (times(scenario, &mut noise, false), times(scenario, &mut noise, true));
    let span = there.last().max(back.last()).map_or(1, |last| last - START);
    made.span = span;
    let mut trips: Vec<Vec<Trip>> = Vec::new();
    let mut unusual = Noise(scenario.seed ^ 0x0dd0_0dd0);
    for (there, share, times) in [(true, scenario.there, &there), (false, scenario.back, &back)] {
        if share > 0 {
            let mut sent = direction(scenario, &mut noise, there, span, times, &mut made);
            show(scenario, there, span, &mut sent, &mut unusual, &mut made);
            trips.push(sent.iter().map(|own| own.trip).collect());
        }
    }
    if scenario.unusual == Unusual::Group {
        discover(scenario, span, &mut noise, &mut made);
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
    if let Unusual::Shuffled(side) = scenario.unusual {
        // Queues of a network card hand over their frames one after the other.
        let frames = [&mut made.plain, &mut made.tunnel, &mut made.exit].into_iter().nth(side).expect("a side");
        for at in 3..frames.len() {
            if unusual.below(5) == 0 {
                frames[at - 1 - unusual.below(3) as usize..=at].rotate_left(1);
            }
        }
    }
    let shown = [&made.plain, &made.tunnel, &made.exit].map(|side| {
        (side.iter().map(|seen| seen.ns).min().unwrap_or(u64::MAX), side.iter().map(|seen| seen.ns).max().unwrap_or(0))
    });
    for trips in trips {
        if let Some(trip) = trips.first() {
            if trip.way == 1 && scenario.unusual == Unusual::Twin {
                // The second tunnel carries what the first one does.
                made.truth.insert(3, truth(scenario, span, &trips, &shown));
            }
            let mut truth = truth(scenario, span, &trips, &shown);
            truth.edge += if trip.way == 2 { made.dummies } else { 0 };
            made.truth.insert(trip.way, truth);
        }
    }
    made
}
