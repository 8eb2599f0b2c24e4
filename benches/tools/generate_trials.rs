//! Writes two captures of one made-up benchmark run for measurements of `trials`, the same octets for the same options:
//!
//!     cargo run --release --example generate_trials -- --packets 20000000 --plain plain.pcap --tunnel tunnel.pcap
//!
//! A load generator sends packets of one size at one rate for a trial, size by size and load by load, with a pause between trials. The gateway takes a
//! fixed time and a time by length for each packet (`--fixed-ns`, `--rate-bps`), one after the other, and drops what finds its queue full. The
//! loads are shares of what the gateway can do with the size, so the last ones lose packets.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::Parser;

#[allow(dead_code)] // only its captures and packets are used
#[path = "generate_pair.rs"]
mod pair;

use pair::{START_NS, container, esp, ethernet, file, packet};

#[derive(Parser)]
#[command(about = "Write two captures of one made-up benchmark run", version)]
struct Options {
    /// Packets to send in all trials together
    #[arg(long, default_value_t = 1_000_000)]
    packets: u64,
    /// IP lengths of the packets
    #[arg(long, value_delimiter = ',', default_values_t = [64, 512, 1_408], value_parser = clap::value_parser!(u16).range(40..=9_000))]
    sizes: Vec<u16>,
    /// Offered loads, in per cent of what the gateway can do with the size
    #[arg(long, value_delimiter = ',', default_values_t = [20, 40, 60, 80, 90, 95, 99, 101, 105, 120])]
    loads: Vec<u64>,
    /// Nanoseconds that every packet takes the gateway
    #[arg(long, default_value_t = 1_000)]
    fixed_ns: u64,
    /// Bits of packets that the gateway encrypts in a second
    #[arg(long, default_value_t = 1_000_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    rate_bps: u64,
    /// Packets that wait at most
    #[arg(long, default_value_t = 256)]
    queue: usize,
    /// Nanoseconds between trials
    #[arg(long, default_value_t = 1_000_000_000)]
    pause_ns: u64,
    /// The capture of the plaintext side
    #[arg(long)]
    plain: PathBuf,
    /// The capture of the tunnel
    #[arg(long)]
    tunnel: PathBuf,
}

fn main() -> io::Result<()> {
    let options = Options::parse();
    let (mut plain_file, mut tunnel_file) = (file(&options.plain)?, file(&options.tunnel)?);
    let mut plain = container::Writer::begin(container::Format::Pcap, &mut plain_file)?;
    let mut tunnel = container::Writer::begin(container::Format::Pcap, &mut tunnel_file)?;
    let mut noise = container::Noise(1);
    let trials = (options.sizes.len() * options.loads.len()).max(1) as u64;
    let (mut start, mut number, mut sequence, mut lost) = (START_NS, 0_u64, 0_u32, 0_u64);
    for bytes in &options.sizes {
        let service = options.fixed_ns + u64::from(*bytes) * 8 * 1_000_000_000 / options.rate_bps;
        for load in &options.loads {
            let mut waiting = VecDeque::new();
            let (mut sent, mut done) = (start, 0_u64);
            for at in 0..options.packets / trials {
                sent = start + at * service * 100 / (*load).max(1);
                let inner = packet(pair::HOSTS[0], pair::HOSTS[1], *bytes, number, &mut noise);
                number += 1;
                plain.frame(sent, &ethernet(0, &inner))?;
                while waiting.front().is_some_and(|finished| *finished <= sent) {
                    waiting.pop_front();
                }
                if waiting.len() >= options.queue {
                    lost += 1;
                    continue;
                }
                done = done.max(sent) + service;
                waiting.push_back(done);
                sequence += 1;
                tunnel.frame(done, &ethernet(0, &esp(0, sequence, usize::from(*bytes), &mut noise)))?;
            }
            start = sent.max(done) + options.pause_ns;
        }
    }
    plain_file.flush()?;
    tunnel_file.flush()?;
    eprintln!("{trials} trials, {number} packets, {lost} lost");
    Ok(())
}
