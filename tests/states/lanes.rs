//! Streams in flow, and everything that disturbs one: the lanes of opaque ESP, in batches and frame by frame, give the state that
//! looking at every frame gives, and the state of the pieces.

use crate::merge_laws::{Owned, Random, check, numbered, settings, state};
use crate::support::build::{Noise, START, esp, ipv4, ipv6, udp};
use spiglass::analysis::{Observer, Settings};
use spiglass::model::{LinkType, Timestamp};
use std::net::Ipv4Addr;

const US: i64 = 1_000;
const MS: i64 = 1_000_000;

/// What carries the packets of an SA.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Carrier {
    Ipv4,
    Ipv6,
    /// UDP of NAT traversal, with this port on the side of the sender.
    Udp(u16),
    /// AH and a tunnel behind it, or the upper layer itself; ICVs have so many octets.
    Ah(usize, bool),
    /// IP in IP without IPsec.
    Ipip,
}

const ALL: &[Carrier] = &[Carrier::Ipv4, Carrier::Ipv6, Carrier::Udp(4500), Carrier::Udp(61_000)];

/// Those that show what is in them.
const SHOWN: &[Carrier] = &[Carrier::Ah(12, true), Carrier::Ipip, Carrier::Ah(16, false), Carrier::Ah(20, true)];

/// A packet of a user, without Ethernet header: UDP on a port where ESP is not looked for or on another, TCP, or something else.
fn inner(number: u32, payload: &[u8]) -> (u8, Vec<u8>) {
    let (src, dst) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 1, 1 + (number / 5 % 3) as u8));
    let datagram = |ports| (17, udp(src, dst, ports, number as u16, payload)[14..].to_vec());
    match number % 97 {
        0 => datagram((50_000, 5_001)),
        1 => datagram((443, 4_500)),
        2 => (1, ipv4(src, dst, 1, number as u16, payload)[14..].to_vec()),
        3 => (6, ipv4(src, dst, 6, number as u16, payload)[14..].to_vec()),
        at if at % 3 == 0 => {
            let mut segment = vec![0xc0, number as u8, 0, 80, 0, 0, 0, 1, 0, 0, 0, 2, 0x50, 0x10, 1, 0, 0, 0, 0, 0];
            if at == 96 {
                segment.extend(b"IKETCP");
            }
            segment.extend(payload);
            (6, ipv4(src, dst, 6, number as u16, &segment)[14..].to_vec())
        }
        _ => datagram((50_000, 443)),
    }
}

impl Carrier {
    /// What else may carry a packet of the SA.
    fn others(self) -> [Self; 3] {
        match self {
            Self::Udp(port) => [self, Self::Udp(port ^ 1), Self::Ipv6],
            _ => [Self::Ipv4, Self::Ipv6, Self::Ipv6],
        }
    }

    fn frame(self, (src, dst): (Ipv4Addr, Ipv4Addr), spi: u32, number: u32, payload: &[u8]) -> Vec<u8> {
        let plain = esp(src, dst, spi, number, payload);
        match self {
            Self::Ipv4 => plain,
            Self::Ipv6 => ipv6(src, dst, 50, &plain[34..]),
            Self::Udp(port) => udp(src, dst, (port, 4500), number as u16, &plain[34..]),
            Self::Ah(icv, tunnel) => {
                let (protocol, packet) = inner(number, payload);
                let words = (12 + icv) / 4 - 2;
                let mut behind = vec![if tunnel { 4 } else { protocol }, words as u8, 0, 0];
                behind.extend([spi, number].into_iter().flat_map(u32::to_be_bytes));
                behind.extend((0..icv).map(|at| (number as usize * 31 + at * 7) as u8 ^ payload[0]));
                behind.extend(if tunnel { &packet } else { &packet[20..] });
                ipv4(src, dst, 51, number as u16, &behind)
            }
            Self::Ipip => ipv4(src, dst, 4, number as u16, &inner(number, payload).1),
        }
    }
}

/// One stream: who sends, how its clock runs, and how often something happens to a frame (one of so many; 0: never).
struct Stream {
    random: Random,
    noise: Noise,
    sas: usize,
    /// Steps of the clock.
    gaps: &'static [i64],
    sizes: &'static [usize],
    disturbed: usize,
    snaplen: usize,
    /// Frames bear a VLAN tag.
    tagged: bool,
    /// What carries the packets of the SAs, one after the other.
    carriers: &'static [Carrier],
    numbers: Vec<u32>,
    time: i64,
    frames: Vec<Owned>,
}

/// A gateway pair of an SA, and its MACs: several SAs share one direction, several directions one pair of addresses.
fn ends(sa: usize) -> (Ipv4Addr, Ipv4Addr) {
    let (near, far) = (Ipv4Addr::new(192, 0, 2, 1 + (sa / 8 % 3) as u8), Ipv4Addr::new(192, 0, 2, 200));
    if sa.is_multiple_of(2) { (near, far) } else { (far, near) }
}

impl Stream {
    fn new(seed: u64, sas: usize, gaps: &'static [i64], sizes: &'static [usize], disturbed: usize) -> Self {
        let mut random = Random(0x1a_4e * seed + 7);
        let firsts = [1, 40_000, u32::MAX - 700, u32::MAX - (1 << 17) - 200, 0x8000_0000];
        let numbers = (0..sas).map(|_| firsts[random.below(firsts.len())]).collect();
        let snaplen = [usize::MAX, usize::MAX, 96, 60][random.below(4)];
        let (time, tagged) = (START as i64, random.below(3) == 0);
        Self {
            random,
            noise: Noise(seed),
            sas,
            gaps,
            sizes,
            disturbed,
            snaplen,
            tagged,
            carriers: &[Carrier::Ipv4],
            numbers,
            time,
            frames: Vec::new(),
        }
    }

    fn push(&mut self, time: i64, mut data: Vec<u8>) {
        if self.tagged {
            data.splice(12..12, [0x81, 0x00, 0x00, 0x05]);
        }
        let wire_bytes = data.len() as u32;
        data.truncate(self.snaplen);
        self.frames.push(Owned {
            time: Timestamp::from_ns(time),
            wire_bytes,
            data,
            link: LinkType::ETHERNET,
            interface: 0,
            fcs_bytes: 0,
            snap_bytes: u32::MAX,
        });
    }

    /// The next frame of an SA.
    fn packet(&mut self, sa: usize) -> Vec<u8> {
        let number = self.numbers[sa];
        self.numbers[sa] = number.wrapping_add(1);
        let size = self.sizes[self.random.below(self.sizes.len())];
        let payload = self.noise.bytes(size);
        self.carrier(sa).frame(ends(sa), 0x1000 + sa as u32, number, &payload)
    }

    fn carrier(&self, sa: usize) -> Carrier {
        self.carriers[sa % self.carriers.len()]
    }

    fn carried(mut self, carriers: &'static [Carrier]) -> Self {
        self.carriers = carriers;
        self
    }

    /// A packet of an SA that is carried in another way, or by headers that say something else than those before.
    fn divert(&mut self, sa: usize) {
        let own = self.carrier(sa);
        let mut packet = self.packet(sa);
        match (own, self.random.below(4)) {
            (Carrier::Ah(..) | Carrier::Ipip, _) => {
                // Anything in the headers.
                let at = self.random.below(packet.len().min(90));
                packet[at] ^= 1 << self.random.below(8);
            }
            (_, 0) | (Carrier::Ipv4, _) => {
                let number = self.numbers[sa].wrapping_sub(1);
                let payload = self.noise.bytes(92);
                packet = own.others()[self.random.below(3)].frame(ends(sa), 0x1000 + sa as u32, number, &payload);
            }
            // Traffic class and flow label; another address in the half that IPv4 has no room for; hop limit.
            (Carrier::Ipv6, 1) => packet[14..18].copy_from_slice(&[0x6b, 0x91, 0x23, 0x45]),
            (Carrier::Ipv6, 2) => packet[25] ^= 1,
            (Carrier::Ipv6, _) => packet[21] = 3,
            // Another port; a checksum; a datagram that does not fill its packet.
            (Carrier::Udp(_), 1) => packet[34..36].copy_from_slice(&61_001_u16.to_be_bytes()),
            (Carrier::Udp(_), 2) => packet[40..42].copy_from_slice(&[0x12, 0x34]),
            (Carrier::Udp(_), _) => packet[39] ^= 4,
        }
        self.push(self.time, packet);
    }

    fn disturb(&mut self, sa: usize) {
        match self.random.below(15) {
            0 => self.numbers[sa] = self.numbers[sa].wrapping_add(1 + self.random.below(3) as u32),
            1 => self.numbers[sa] = self.numbers[sa].wrapping_add(3_000_000),
            2 => self.numbers[sa] = 1,
            3 => {
                // Two change places.
                let (first, second) = (self.packet(sa), self.packet(sa));
                self.push(self.time, second);
                self.push(self.time + 5 * US, first);
            }
            4 => {
                let packet = self.packet(sa);
                self.push(self.time, packet.clone());
                self.push(self.time + 2 * US, packet);
            }
            5 => {
                let (src, dst) = ends(sa);
                let payload = self.noise.bytes(60);
                self.push(self.time, udp(src, dst, (9, 9), 7, &payload));
            }
            6 => {
                // By way of another router.
                let mut packet = self.packet(sa);
                packet[11] ^= 0x40;
                self.push(self.time, packet);
            }
            7 => {
                // What looks like the trailer of a packet in clear.
                let mut packet = self.packet(sa);
                let end = packet.len() - [0, 12, 16][self.random.below(3)];
                packet[end - 3..end].copy_from_slice(&[2, 2, 17]);
                self.push(self.time, packet);
            }
            8 => {
                // Without Ethernet's padding, and an odd length.
                let payload = self.noise.bytes([16, 37][self.random.below(2)]);
                let packet = self.carrier(sa).frame(ends(sa), 0x1000 + sa as u32, self.numbers[sa], &payload);
                self.numbers[sa] = self.numbers[sa].wrapping_add(1);
                self.push(self.time, packet);
            }
            9 => self.time -= self.random.below(9) as i64 * MS,
            10 => self.time -= 40 * MS,
            11 => self.tagged = !self.tagged,
            12 => self.divert(sa),
            13 => self.time += [90 * MS, 2_500 * MS, 12_000 * MS][self.random.below(3)],
            _ => {
                let packet = self.packet(sa);
                self.push(i64::MIN, packet);
            }
        }
    }

    fn run(mut self, frames: usize) -> Vec<Owned> {
        while self.frames.len() < frames {
            self.time += self.gaps[self.random.below(self.gaps.len())];
            let sa = self.random.below(self.sas);
            if self.disturbed > 0 && self.random.below(self.disturbed) == 0 {
                self.disturb(sa);
            }
            let packet = self.packet(sa);
            self.push(self.time, packet);
        }
        self.frames
    }
}

#[test]
fn lanes_give_the_state_of_frame_by_frame_observation() {
    const EVEN: &[i64] = &[40 * US];
    const UNEVEN: &[i64] = &[0, US, 30 * US, 300 * US, 2 * MS];
    const WHOLE: &[i64] = &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1_000 * MS];
    const ONE: &[usize] = &[92];
    const SMALLEST: &[usize] = &[16];
    const MIXED: &[usize] = &[16, 20, 36, 92, 92, 92, 572, 1_340];
    let mut exact = 0;
    for seed in 1..=150 {
        let gaps = [EVEN, UNEVEN, WHOLE][seed as usize % 3];
        let sizes = [ONE, MIXED, SMALLEST, MIXED][seed as usize % 4];
        let disturbed = [0, 100, 25, 400, 7][seed as usize % 5];
        let sas = [1, 2, 8, 40, 200][seed as usize / 5 % 5];
        let carriers: &'static [Carrier] =
            [&[Carrier::Ipv4][..], &[Carrier::Ipv6], &[Carrier::Udp(4500)], ALL][seed as usize / 3 % 4];
        let frames = Stream::new(seed, sas, gaps, sizes, disturbed).carried(carriers).run(4_000);
        exact += usize::from(check(&settings(), &format!("seed {seed}, {sas} SAs of {carriers:?}"), &frames));
    }
    assert!(exact >= 100, "{exact}");
}

#[test]
fn lanes_of_frames_that_show_what_is_in_them_give_the_state_of_frame_by_frame_observation() {
    const EVEN: &[i64] = &[40 * US];
    const UNEVEN: &[i64] = &[0, US, 30 * US, 300 * US, 2 * MS];
    const ONE: &[usize] = &[92];
    const MIXED: &[usize] = &[16, 17, 36, 92, 92, 92, 572, 1_340];
    const WITH_ESP: &[Carrier] = &[Carrier::Ah(12, true), Carrier::Ipv4, Carrier::Ipip, Carrier::Udp(4500)];
    let mut exact = 0;
    for seed in 1..=120 {
        let gaps = [EVEN, UNEVEN][seed as usize % 2];
        let sizes = [ONE, MIXED, ONE][seed as usize % 3];
        let disturbed = [0, 100, 25, 400, 7][seed as usize % 5];
        let sas = [1, 2, 8, 40][seed as usize / 5 % 4];
        let carriers: &'static [Carrier] = [SHOWN, WITH_ESP, &SHOWN[1..2], &SHOWN[..1]][seed as usize / 3 % 4];
        let frames = Stream::new(seed, sas, gaps, sizes, disturbed).carried(carriers).run(4_000);
        exact += usize::from(check(&settings(), &format!("seed {seed}, {sas} SAs of {carriers:?}"), &frames));
    }
    assert!(exact >= 60, "{exact}");
}

/// An SA of each kind, behind whose frames come those of an SA that agrees with it in all but what the kind alone has.
#[test]
fn lanes_are_of_one_kind_of_frame() {
    for carriers in ALL.iter().flat_map(|one| ALL.iter().map(move |other| [*one, *other])) {
        let mut stream = Stream::new(17, 1, &[50 * US], &[92], 0);
        stream.tagged = false;
        for at in 0..3_000_u32 {
            stream.time += 50 * US;
            let payload = stream.noise.bytes(92);
            // In turn, in stretches, and then together.
            let carrier = carriers[(if at < 2_000 { at / 400 } else { at }) as usize % 2];
            let packet = carrier.frame(ends(0), 0x1000, at + 1, &payload);
            stream.push(stream.time, packet);
        }
        check(&settings(), &format!("{carriers:?}"), &stream.frames);
    }
}

/// An SA whose frames are in UDP at times: which of its first frames are listed does not depend on where the capture is cut.
#[test]
fn frames_in_udp_and_others_of_one_association_merge() {
    for seed in 1..=24 {
        let mut stream = Stream::new(seed, 1, &[50 * US], &[92], 0);
        let mut left = 0;
        let mut carrier = Carrier::Ipv4;
        for at in 0..300_u32 {
            if left == 0 {
                carrier = [Carrier::Ipv4, Carrier::Udp(4500)][stream.random.below(2)];
                left = 1 + stream.random.below(60);
            }
            left -= 1;
            stream.time += 50 * US;
            let payload = stream.noise.bytes(92);
            let packet = carrier.frame(ends(0), 0x1000, at + 1, &payload);
            stream.push(stream.time, packet);
        }
        check(&settings(), &format!("in UDP at times, seed {seed}"), &stream.frames);
    }
}

/// A gateway's own capture: packets of a tunnel follow those of the SA they came out of, after and before some that have no SA.
#[test]
fn tunnels_that_come_out_of_an_association_merge() {
    for seed in 1..=12 {
        let mut stream = Stream::new(seed, 1, &[50 * US], &[92], 0);
        let (src, dst) = ends(0);
        for at in 0..1_200_u32 {
            stream.time += 50 * US;
            let payload = stream.noise.bytes(40 + at as usize % 5 * 20);
            let shown = if seed % 2 == 0 {
                Carrier::Ipip.frame((src, dst), 0, at, &payload)
            } else {
                let (_, packet) = inner(at, &payload);
                ipv4(src, dst, 47, at as u16, &[&[0, 0, 8, 0][..], &packet].concat())
            };
            if (400..800).contains(&at) && stream.random.below(20) > 0 {
                let sealed = stream.noise.bytes(shown.len());
                let packet = Carrier::Ipv4.frame((src, dst), 0x1000, at - 399, &sealed);
                stream.push(stream.time, packet);
                stream.time += 5 * US;
            }
            stream.push(stream.time, shown);
        }
        check(&settings(), &format!("shown again, seed {seed}"), &stream.frames);
    }
}

/// The limits of time are within a stretch that lanes count.
#[test]
fn lanes_count_what_lies_between_two_times() {
    let frames = Stream::new(3, 4, &[50 * US], &[92], 90).run(4_000);
    let at = |ms: i64| Some(Timestamp::from_ns(START as i64 + ms * MS));
    for (from, to) in [(at(60), at(140)), (None, at(120)), (at(100), None), (at(70), at(70))] {
        check(&Settings { from, to, ..settings() }, "between two times", &frames);
    }
}

/// A stream of more SAs than are looked at together, each with a frame in turn.
#[test]
fn many_associations_in_turn_have_lanes() {
    let mut stream = Stream::new(11, 3_000, &[10 * US], &[92], 0);
    for round in 0..4 {
        for sa in 0..3_000 {
            stream.time += 10 * US;
            let packet = stream.packet(sa);
            let time = stream.time;
            if round != 2 || sa % 500 != 0 {
                stream.push(time, packet);
            }
        }
    }
    assert!(check(&settings(), "3000 SAs", &stream.frames));
}

/// What a state holds does not depend on when it is asked.
#[test]
fn a_state_that_is_settled_in_between_is_the_same() {
    let frames = Stream::new(5, 6, &[50 * US], &[92, 572], 300).run(3_000);
    let whole = state(&settings(), &frames, false);
    let mut asked = Observer::new(&settings());
    for (at, piece) in (0..).step_by(700).zip(frames.chunks(700)) {
        asked.observe_all(numbered(piece, at + 1));
        let so_far = asked.clone().finish(0);
        assert_eq!(so_far.captures()[0].frames, (at as usize + piece.len()) as u64);
    }
    assert_eq!(asked.finish(0).difference(&whole), None);
}
