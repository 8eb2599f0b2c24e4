//! Writes two captures of one made-up tunnel for measurements of `match`, the same octets for the same options:
//!
//!     cargo run --release --example generate_pair -- --packets 5000000 --plain plain.pcap --tunnel tunnel.pcap
//!
//! Two hosts send packets of random sizes both ways through ESP (AES-128-CBC with HMAC-SHA1-96, opaque) or, with `--ah`, AH; a gateway takes 20 to
//! 60 microseconds for each, and the tunnel's clock is ahead and drifts. The plain tap is beside the first gateway: it sees one
//! direction before encapsulation and the other after decapsulation.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use clap::Parser;

#[allow(dead_code)] // only its container and its noise are used
#[path = "generate.rs"]
pub mod container;

use container::{Format, Noise, Writer};

#[derive(Parser)]
#[command(about = "Write two captures of one made-up tunnel", version)]
pub struct Options {
    /// Packets to send, both ways together
    #[arg(long, default_value_t = 1_000_000)]
    pub packets: u64,
    /// Least IP length of a packet
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u16).range(40..=9_000))]
    pub least: u16,
    /// Greatest IP length
    #[arg(long, default_value_t = 128, value_parser = clap::value_parser!(u16).range(40..=9_000))]
    pub most: u16,
    /// Lose packets behind the gateway at random, in per cent
    #[arg(long, default_value_t = 0.0)]
    pub loss: f64,
    /// AH instead of ESP: the inner packet is visible
    #[arg(long)]
    pub ah: bool,
    /// Nanoseconds from packet to packet
    #[arg(long, default_value_t = 2_000)]
    pub gap_ns: u64,
    /// What the tunnel's clock is ahead, in nanoseconds
    #[arg(long, default_value_t = 0)]
    pub ahead_ns: u64,
    /// By how much it runs fast, in parts per million
    #[arg(long, default_value_t = 0)]
    pub drift_ppm: u64,
    /// Another seed, other captures
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// The capture of the plaintext side
    #[arg(long)]
    pub plain: PathBuf,
    /// The capture of the tunnel
    #[arg(long)]
    pub tunnel: PathBuf,
}

/// 2026-01-01 00:00:00 UTC.
pub const START_NS: u64 = 1_767_225_600_000_000_000;

const GATEWAYS: [[u8; 4]; 2] = [[192, 0, 2, 1], [192, 0, 2, 2]];
pub const HOSTS: [[u8; 4]; 2] = [[10, 0, 1, 1], [10, 0, 2, 1]];

#[allow(dead_code)] // a bench includes this file for `generate`
fn main() -> io::Result<()> {
    let options = Options::parse();
    let lost = generate(&options)?;
    eprintln!("{} packets, {lost} lost", options.packets);
    Ok(())
}

/// Writes both captures; how many packets were lost.
pub fn generate(options: &Options) -> io::Result<u64> {
    let (mut plain_file, mut tunnel_file) = (file(&options.plain)?, file(&options.tunnel)?);
    let mut plain = Writer::begin(Format::Pcap, &mut plain_file)?;
    let mut tunnel = Writer::begin(Format::Pcap, &mut tunnel_file)?;
    let mut noise = Noise(options.seed);
    let mut sequences = [0_u32; 2];
    // Frames of each tap that wait for their time.
    let mut later: [std::collections::BTreeMap<(u64, u64), Vec<u8>>; 2] = Default::default();
    let (mut last, mut lost) = ([0_u64; 2], 0_u64);
    let threshold = (options.loss / 100.0 * u64::MAX as f64) as u64;
    for number in 0..options.packets {
        let sent = START_NS + number * options.gap_ns;
        let way = (noise.word() & 1) as usize;
        let span = u64::from(options.most - options.least) + 1;
        let bytes = options.least + (noise.word() % span) as u16;
        let packet = packet(HOSTS[way], HOSTS[1 - way], bytes, number, &mut noise);
        sequences[way] += 1;
        let around = if options.ah {
            ah(way, sequences[way], &packet, &mut noise)
        } else {
            esp(way, sequences[way], packet.len(), &mut noise)
        };
        let through = sent + 20_000 + noise.word() % 40_000;
        // First in, first out.
        last[way] = last[way].max(through) + 1;
        let ahead = |ns: u64| ns + options.ahead_ns + (ns - START_NS) * options.drift_ppm / 1_000_000;
        let drop = noise.word() < threshold;
        let routed = routed(&packet);
        lost += u64::from(drop);
        if way == 0 {
            let near = ethernet(way, &packet);
            later[0].insert((sent, number), near);
            if !drop {
                later[1].insert((ahead(last[way]), number), ethernet(way, &around));
            }
        } else {
            later[1].insert((ahead(sent), number), ethernet(way, &around));
            if !drop {
                later[0].insert((last[way], number), ethernet(way, &routed));
            }
        }
        for (tap, writer) in [&mut plain, &mut tunnel].into_iter().enumerate() {
            let now = if tap == 0 { sent } else { ahead(sent) };
            while let Some(entry) = later[tap].first_entry().filter(|entry| entry.key().0 < now) {
                writer.frame(entry.key().0, entry.get())?;
                entry.remove();
            }
        }
    }
    for (frames, writer) in later.iter().zip([&mut plain, &mut tunnel]) {
        for ((time, _), frame) in frames {
            writer.frame(*time, frame)?;
        }
    }
    plain_file.flush()?;
    tunnel_file.flush()?;
    Ok(lost)
}

pub fn file(path: &PathBuf) -> io::Result<BufWriter<File>> {
    Ok(BufWriter::with_capacity(1 << 20, File::create(path)?))
}

/// The packet behind a router: one hop less, and another header checksum.
fn routed(packet: &[u8]) -> Vec<u8> {
    let mut packet = packet.to_vec();
    packet[8] -= 1;
    let sum = u32::from(u16::from_be_bytes([packet[10], packet[11]])) + 0x100;
    packet[10..12].copy_from_slice(&((sum + (sum >> 16)) as u16).to_be_bytes());
    packet
}

pub fn ethernet(way: usize, packet: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x02, 0, 0, 0, 0, 2 - way as u8, 0x02, 0, 0, 0, 0, 1 + way as u8, 0x08, 0x00];
    frame.extend_from_slice(packet);
    frame.resize(frame.len().max(60), 0);
    frame
}

fn ip(src: [u8; 4], dst: [u8; 4], bytes: usize, id: u16, protocol: u8) -> Vec<u8> {
    let mut head = vec![0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, protocol, 0, 0];
    head[2..4].copy_from_slice(&(bytes as u16).to_be_bytes());
    head[4..6].copy_from_slice(&id.to_be_bytes());
    head.extend(src);
    head.extend(dst);
    let sum: u32 = head.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    head[10..12].copy_from_slice(&(!(((folded & 0xffff) + (folded >> 16)) as u16)).to_be_bytes());
    head
}

pub fn packet(src: [u8; 4], dst: [u8; 4], bytes: u16, number: u64, noise: &mut Noise) -> Vec<u8> {
    let mut packet = ip(src, dst, usize::from(bytes), number as u16, 17);
    // A flow of each host: ports at random would now and then be those of ESP in UDP.
    packet.extend([0x13, 0x89, 0x14, 0x51]);
    fill(&mut packet, usize::from(bytes), noise);
    packet
}

fn fill(packet: &mut Vec<u8>, bytes: usize, noise: &mut Noise) {
    while packet.len() < bytes {
        packet.extend(noise.word().to_le_bytes());
    }
    packet.truncate(bytes);
}

pub fn esp(way: usize, sequence: u32, inner: usize, noise: &mut Noise) -> Vec<u8> {
    let bytes = 20 + 8 + 16 + (inner + 2).next_multiple_of(16) + 12;
    let mut packet = ip(GATEWAYS[way], GATEWAYS[1 - way], bytes, 0, 50);
    packet.extend((0x1000_0001 + way as u32).to_be_bytes());
    packet.extend(sequence.to_be_bytes());
    fill(&mut packet, bytes, noise);
    packet
}

fn ah(way: usize, sequence: u32, inner: &[u8], noise: &mut Noise) -> Vec<u8> {
    let mut packet = ip(GATEWAYS[way], GATEWAYS[1 - way], 20 + 24 + inner.len(), 0, 51);
    packet.extend([4, 4, 0, 0]);
    packet.extend((0x1000_0001 + way as u32).to_be_bytes());
    packet.extend(sequence.to_be_bytes());
    let with_icv = packet.len() + 12;
    fill(&mut packet, with_icv, noise);
    packet.extend_from_slice(inner);
    packet
}
