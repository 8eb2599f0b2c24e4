//! Writes a large capture of made-up ESP for measurements, the same octets for the same options:
//!
//!     cargo run --release --example generate -- --frames 8000000 --size 134 -o esp.pcap
//!
//! Gateways exchange opaque ESP; the payload is noise from a pool, so it costs nothing to make and does not compress.
//! A size of 134 is a 64-octet packet in ESP-DES-MD5 (outer IP packet 120), 1434 one of 1364. What a report must find is
//! printed on standard error: frames, octets, numbers never seen, numbers seen late.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use clap::{Parser, ValueEnum};

#[derive(Parser)]
#[command(about = "Write a large capture of made-up ESP", version)]
pub struct Options {
    /// Frames to write
    #[arg(long, default_value_t = 1_000_000)]
    pub frames: u64,
    /// Octets of each frame without FCS: 14 of Ethernet, 20 of IP, 8 of ESP, the rest noise; other stacks as they need
    #[arg(long, default_value_t = 134, value_parser = clap::value_parser!(u16).range(62..=9_014))]
    pub size: u16,
    /// Security associations, every other one in the other direction
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub sas: u32,
    /// Leave out every n-th frame; 0 for none
    #[arg(long, default_value_t = 0, value_parser = not_all)]
    pub loss_every: u64,
    /// Leave out frames at random, in per cent
    #[arg(long, default_value_t = 0.0, value_parser = share)]
    pub loss: f64,
    /// Let the next frame of the same association overtake, at random, in per cent
    #[arg(long, default_value_t = 0.0, value_parser = share)]
    pub reorder: f64,
    /// What carries the packets
    #[arg(long, value_enum, default_value_t = Carrier::Esp)]
    pub stack: Carrier,
    /// Container
    #[arg(long, value_enum, default_value_t = Format::Pcap)]
    pub format: Format,
    /// Nanoseconds from frame to frame
    #[arg(long, default_value_t = 1_000)]
    pub gap_ns: u64,
    /// Another seed, another capture
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// The file to write; `-` for standard output
    #[arg(short, long)]
    pub output: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Pcap,
    Pcapng,
}

/// What carries the packets between the gateways. A frame has the same size whatever it is.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Carrier {
    /// ESP in IPv4
    Esp,
    /// The same behind a VLAN tag
    Vlan,
    /// ESP in IPv6
    Esp6,
    /// ESP in UDP, port 4500
    Udp,
    /// UDP in IPv4 in AH (HMAC-SHA-1-96) in IPv4
    Ah,
    /// UDP in IPv4 in IPv4, without IPsec
    Ipip,
}

/// A share that leaves something, in per cent.
fn share(words: &str) -> Result<f64, String> {
    let percent: f64 = words.parse().map_err(|_| "not a number".to_owned())?;
    if (0.0..100.0).contains(&percent) { Ok(percent) } else { Err("must be at least 0 and below 100".to_owned()) }
}

/// Every so many, but not every one.
fn not_all(words: &str) -> Result<u64, String> {
    match words.parse() {
        Ok(1) => Err("1 would leave nothing".to_owned()),
        Ok(every) => Ok(every),
        Err(_) => Err("not a whole number".to_owned()),
    }
}

/// 2026-01-01 00:00:00 UTC.
const START_NS: u64 = 1_767_225_600_000_000_000;

const BUFFER: usize = 1 << 20;

const POOL: usize = 1 << 16;

#[allow(dead_code)] // a test includes this file for `generate`
fn main() -> io::Result<()> {
    let options = Options::parse();
    let sink: Box<dyn Write> = if options.output.as_os_str() == "-" {
        Box::new(io::stdout().lock())
    } else {
        Box::new(File::create(&options.output)?)
    };
    let mut sink = BufWriter::with_capacity(BUFFER, sink);
    let made = generate(&options, &mut sink)?;
    sink.flush()?;
    eprintln!(
        "{} frames, {} octets in them, {} numbers never seen, {} seen late",
        made.frames,
        made.frames * u64::from(options.size),
        made.lost,
        made.late
    );
    Ok(())
}

/// What a report of the capture must find.
#[derive(Default)]
pub struct Made {
    pub frames: u64,
    pub lost: u64,
    pub late: u64,
}

/// One association's counter, and the number it holds back.
#[derive(Clone, Copy, Default)]
struct Counter {
    next: u32,
    held: Option<u32>,
    lowest: Option<u32>,
    highest: u32,
    written: u64,
}

pub fn generate(options: &Options, sink: &mut dyn Write) -> io::Result<Made> {
    let mut noise = Noise(options.seed);
    let mut pool = vec![0; POOL + usize::from(options.size)];
    for chunk in pool.chunks_mut(8) {
        chunk.copy_from_slice(&noise.word().to_le_bytes()[..chunk.len()]);
    }
    let mut writer = Writer::begin(options.format, sink)?;
    let mut counters = vec![Counter { next: 1, ..Counter::default() }; options.sas as usize];
    let mut frame = template(options.size, options.stack);
    let mut made = Made::default();
    let mut sent = 0_u64;
    let mut turn = 0_usize;
    let (loss, reorder) = (threshold(options.loss), threshold(options.reorder));
    let mut ready = VecDeque::new();
    while made.frames < options.frames {
        let sa = turn;
        turn = if turn + 1 == counters.len() { 0 } else { turn + 1 };
        let counter = &mut counters[sa];
        let sequence = counter.next;
        counter.next = sequence.wrapping_add(1);
        sent += 1;
        let dropped = options.loss_every > 0 && sent.is_multiple_of(options.loss_every) || noise.word() < loss;
        if dropped {
            continue;
        }
        match counter.held.take() {
            Some(held) => ready.extend([sequence, held]),
            None if noise.word() < reorder => counter.held = Some(sequence),
            None => ready.push_back(sequence),
        }
        while let Some(sequence) = ready.pop_front() {
            if made.frames == options.frames {
                break;
            }
            fill(&mut frame, options.stack, (sa, sequence, made.frames), &pool);
            writer.frame(START_NS + made.frames * options.gap_ns, &frame)?;
            made.frames += 1;
            made.late += u64::from(counter.written > 0 && sequence < counter.highest);
            counter.written += 1;
            counter.lowest = Some(counter.lowest.map_or(sequence, |lowest| lowest.min(sequence)));
            counter.highest = counter.highest.max(sequence);
        }
    }
    made.lost = counters
        .iter()
        .filter_map(|counter| Some(u64::from(counter.highest - counter.lowest?) + 1 - counter.written))
        .sum();
    Ok(made)
}

/// A share of all 64-bit words.
fn threshold(percent: f64) -> u64 {
    (percent / 100.0 * u64::MAX as f64) as u64
}

/// Ethernet, IP and what follows it, with everything that does not change.
fn template(size: u16, stack: Carrier) -> Vec<u8> {
    let mut frame = vec![0; usize::from(size)];
    let link = stack.link_bytes();
    assert!(frame.len() >= link + stack.places().1, "frames of this stack are longer");
    if stack == Carrier::Vlan {
        frame[12..16].copy_from_slice(&[0x81, 0x00, 0x00, 0x05]);
    }
    frame[link - 2..link].copy_from_slice(if stack == Carrier::Esp6 { &[0x86, 0xdd] } else { &[0x08, 0x00] });
    let bytes = size - link as u16;
    match stack {
        Carrier::Esp | Carrier::Vlan => ipv4(&mut frame[link..], bytes, 50),
        Carrier::Esp6 => {
            frame[link] = 0x60;
            frame[link + 4..link + 6].copy_from_slice(&(bytes - 40).to_be_bytes());
            frame[link + 6..link + 8].copy_from_slice(&[50, 64]);
        }
        Carrier::Udp => {
            ipv4(&mut frame[link..], bytes, 17);
            udp(&mut frame[link + 20..], (4500, 4500), bytes - 20);
        }
        Carrier::Ah => {
            ipv4(&mut frame[link..], bytes, 51);
            frame[link + 20..link + 22].copy_from_slice(&[4, 4]);
            inner(&mut frame[link + 44..], bytes - 44);
        }
        Carrier::Ipip => {
            ipv4(&mut frame[link..], bytes, 4);
            inner(&mut frame[link + 20..], bytes - 20);
        }
    }
    frame
}

fn ipv4(to: &mut [u8], bytes: u16, protocol: u8) {
    to[0] = 0x45;
    to[2..4].copy_from_slice(&bytes.to_be_bytes());
    to[8] = 64;
    to[9] = protocol;
}

fn udp(to: &mut [u8], (from, at): (u16, u16), bytes: u16) {
    for (place, word) in to.chunks_exact_mut(2).zip([from, at, bytes]) {
        place.copy_from_slice(&word.to_be_bytes());
    }
}

/// A packet of a user behind one of the gateways: IPv4 and UDP, on a port where ESP is not looked for.
fn inner(to: &mut [u8], bytes: u16) {
    ipv4(to, bytes, 17);
    to[12..20].copy_from_slice(&[192, 168, 1, 10, 192, 168, 2, 20]);
    udp(&mut to[20..], (50_000, 443), bytes - 20);
    seal(to);
}

/// Fills in the header checksum of an IPv4 packet.
fn seal(packet: &mut [u8]) {
    packet[10..12].fill(0);
    let sum: u32 = packet[..20].chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    let checksum = !(((folded & 0xffff) + (folded >> 16)) as u16);
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
}

impl Carrier {
    const fn link_bytes(self) -> usize {
        if matches!(self, Self::Vlan) { 18 } else { 14 }
    }

    /// Where, behind the Ethernet header, SPI and sequence number stand, and where what changes otherwise begins.
    const fn places(self) -> (Option<usize>, usize) {
        match self {
            Self::Esp | Self::Vlan => (Some(20), 28),
            Self::Esp6 => (Some(40), 48),
            Self::Udp => (Some(28), 36),
            Self::Ah => (Some(24), 72),
            Self::Ipip => (None, 48),
        }
    }
}

/// Addresses, identification, checksum, SPI, sequence number and payload of one frame.
fn fill(frame: &mut [u8], stack: Carrier, (sa, sequence, number): (usize, u32, u64), pool: &[u8]) {
    // The gateways of a pair: one pair for every 64 associations, so that many associations are many peers.
    let pair = u16::try_from(sa / 64 % 65_536).expect("sixteen bits").to_be_bytes();
    let forward = [10, pair[0], pair[1], 1];
    let reverse = [10, pair[0], pair[1], 2];
    let (src, dst) = if sa.is_multiple_of(2) { (forward, reverse) } else { (reverse, forward) };
    frame[..6].copy_from_slice(&[0x02, 0, dst[0], dst[1], dst[2], dst[3]]);
    frame[6..12].copy_from_slice(&[0x02, 0, src[0], src[1], src[2], src[3]]);
    let packet = &mut frame[stack.link_bytes()..];
    if stack == Carrier::Esp6 {
        for (at, address) in [(8, src), (24, dst)] {
            packet[at..at + 4].copy_from_slice(&[0x20, 0x01, 0x0d, 0xb8]);
            packet[at + 12..at + 16].copy_from_slice(&address);
        }
    } else {
        packet[4..6].copy_from_slice(&number.to_be_bytes()[6..]);
        packet[12..16].copy_from_slice(&src);
        packet[16..20].copy_from_slice(&dst);
        seal(packet);
    }
    let (header, changing) = stack.places();
    if let Some(at) = header {
        let spi = 0x1000_0001 + u32::try_from(sa).expect("at most a million");
        packet[at..at + 4].copy_from_slice(&spi.to_be_bytes());
        packet[at + 4..at + 8].copy_from_slice(&sequence.to_be_bytes());
    }
    // An odd stride visits the pool's offsets in an order that no frame repeats soon.
    let from = usize::try_from(number.wrapping_mul(40_503) % POOL as u64).expect("below the pool's size");
    if stack == Carrier::Ah {
        packet[32..44].copy_from_slice(&pool[from + 1..from + 13]);
    }
    let payload = &mut packet[changing..];
    let octets = payload.len();
    payload.copy_from_slice(&pool[from..from + octets]);
}

/// Writes records of one container.
pub struct Writer<'a> {
    format: Format,
    sink: &'a mut dyn Write,
}

impl<'a> Writer<'a> {
    pub fn begin(format: Format, sink: &'a mut dyn Write) -> io::Result<Self> {
        match format {
            Format::Pcap => {
                // Magic of nanosecond pcap, version 2.4, no zone, no accuracy, snapshot length, Ethernet.
                for word in [0xa1b2_3c4d, 0x0004_0002, 0, 0, 262_144, 1_u32] {
                    sink.write_all(&word.to_le_bytes())?;
                }
            }
            Format::Pcapng => {
                // A section of unknown length, then one Ethernet interface with if_tsresol 9.
                let section = [0x0a0d_0d0a, 28, 0x1a2b_3c4d, 0x0000_0001, u32::MAX, u32::MAX, 28];
                let interface = [1, 32, 1, 262_144, 0x0001_0009, 9, 0, 32_u32];
                for word in section.into_iter().chain(interface) {
                    sink.write_all(&word.to_le_bytes())?;
                }
            }
        }
        Ok(Self { format, sink })
    }

    pub fn frame(&mut self, time_ns: u64, frame: &[u8]) -> io::Result<()> {
        let bytes = frame.len() as u32;
        match self.format {
            Format::Pcap => {
                let mut head = [0; 16];
                let words = [(time_ns / 1_000_000_000) as u32, (time_ns % 1_000_000_000) as u32, bytes, bytes];
                put(&mut head, &words);
                self.sink.write_all(&head)?;
                self.sink.write_all(frame)
            }
            Format::Pcapng => {
                let padded = bytes.next_multiple_of(4);
                let mut head = [0; 28];
                put(&mut head, &[6, 32 + padded, 0, (time_ns >> 32) as u32, time_ns as u32, bytes, bytes]);
                self.sink.write_all(&head)?;
                self.sink.write_all(frame)?;
                self.sink.write_all(&[0; 3][..(padded - bytes) as usize])?;
                self.sink.write_all(&(32 + padded).to_le_bytes())
            }
        }
    }
}

fn put(head: &mut [u8], words: &[u32]) {
    for (place, word) in head.chunks_exact_mut(4).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
}

/// Repeatable noise (SplitMix64).
pub struct Noise(pub u64);

impl Noise {
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
