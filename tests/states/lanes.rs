//! Streams in flow, and everything that disturbs one: the lanes of opaque ESP, in batches and frame by frame, give the state that
//! looking at every frame gives, and the state of the pieces.

use crate::merge_laws::{Owned, Random, check, numbered, settings, state};
use crate::support::build::{Noise, START, esp, udp};
use spiglass::analysis::{Observer, Settings};
use spiglass::model::{LinkType, Timestamp};
use std::net::Ipv4Addr;

const US: i64 = 1_000;
const MS: i64 = 1_000_000;

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
        });
    }

    /// The next frame of an SA.
    fn packet(&mut self, sa: usize) -> Vec<u8> {
        let number = self.numbers[sa];
        self.numbers[sa] = number.wrapping_add(1);
        let size = self.sizes[self.random.below(self.sizes.len())];
        let payload = self.noise.bytes(size);
        let (src, dst) = ends(sa);
        esp(src, dst, 0x1000 + sa as u32, number, &payload)
    }

    fn disturb(&mut self, sa: usize) {
        match self.random.below(14) {
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
                let (src, dst) = ends(sa);
                let payload = self.noise.bytes([16, 37][self.random.below(2)]);
                let packet = esp(src, dst, 0x1000 + sa as u32, self.numbers[sa], &payload);
                self.numbers[sa] = self.numbers[sa].wrapping_add(1);
                self.push(self.time, packet);
            }
            9 => self.time -= self.random.below(9) as i64 * MS,
            10 => self.time -= 40 * MS,
            11 => self.tagged = !self.tagged,
            12 => self.time += [90 * MS, 2_500 * MS, 12_000 * MS][self.random.below(3)],
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
    for seed in 1..=60 {
        let gaps = [EVEN, UNEVEN, WHOLE][seed as usize % 3];
        let sizes = [ONE, MIXED, SMALLEST, MIXED][seed as usize % 4];
        let disturbed = [0, 100, 25, 400, 7][seed as usize % 5];
        let sas = [1, 2, 8, 40, 200][seed as usize / 5 % 5];
        let frames = Stream::new(seed, sas, gaps, sizes, disturbed).run(4_000);
        exact += usize::from(check(&settings(), &format!("seed {seed}, {sas} SAs"), &frames));
    }
    assert!(exact >= 40, "{exact}");
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
