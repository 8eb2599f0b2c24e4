//! A device that both directions pass, with a rule of its own for what it drops.

use std::collections::VecDeque;

use crate::bench::{Bench, Load, Made, since};
use crate::support::build::Noise;
use crate::support::writer::Out;

/// What a device drops.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Rule {
    /// What finds no room, in one queue for both directions.
    Full,
    /// What finds no room in the queue of its direction; both are served in turn.
    Rings,
    /// At random, ever more often, where from so many packets to so many wait by a running mean; all beyond.
    Random { from: f64, to: f64, weight: f64 },
}

/// The device: at the plain tap, before the tunnel.
#[derive(Clone, Copy, Debug)]
pub struct Device {
    pub service: u64,
    /// By how many percent of it the device may take longer or shorter.
    pub wobble: u64,
    pub room: usize,
    pub rule: Rule,
    /// Nanoseconds from the tunnel's tap to the exit.
    pub delay: u64,
    /// Whether each packet has octets of its own.
    pub told: bool,
    pub seed: u64,
}

/// What a load must be found to be.
#[derive(Clone, Debug)]
pub struct Waited {
    pub reverse: bool,
    pub at: f64,
    pub sent: u64,
    pub received: u64,
    pub p50: f64,
    pub p99: f64,
    pub max: f64,
    pub backlog: f64,
}

struct Packet {
    load: usize,
    reverse: bool,
    size: usize,
    came: u64,
    /// When it reaches the device, and when it leaves it.
    there: u64,
    done: Option<u64>,
}

impl Device {
    /// Loads into the tunnel and out of it.
    pub fn make(&self, [fwd, rev]: [&[Load]; 2], jitter: u64, name: &str) -> (Made, Vec<Waited>) {
        let mut noise = Noise(self.seed);
        let mut packets: Vec<Packet> = Vec::new();
        for (load, (own, reverse)) in
            fwd.iter().map(|own| (own, false)).chain(rev.iter().map(|own| (own, true))).enumerate()
        {
            for k in 0..(own.fps * own.seconds) as u64 {
                let came = since(own.at) + (k as f64 * 1e9 / own.fps) as u64 + noise.below(jitter + 1);
                let there = came + if reverse { self.delay } else { 0 };
                packets.push(Packet { load, reverse, size: own.size, came, there, done: None });
            }
        }
        packets.sort_by_key(|own| own.there);
        self.serve(&mut packets, &mut noise);
        let taps = self.frames(&packets, &mut noise);
        let truth = fwd.iter().map(|own| (own, false)).chain(rev.iter().map(|own| (own, true))).enumerate();
        let truth = truth.map(|(load, (own, reverse))| self.truth(&packets, load, own.at, reverse)).collect();
        (Bench::default().written(name, taps, Vec::new()), truth)
    }

    fn serve(&self, packets: &mut [Packet], noise: &mut Noise) {
        let mut queues: [VecDeque<usize>; 2] = Default::default();
        let (mut now, mut busy, mut last, mut mean): (u64, Option<usize>, usize, f64) = (0, None, 1, 0.0);
        for at in 0..=packets.len() {
            let t = packets.get(at).map_or(u64::MAX, |own| own.there);
            while let Some(own) = busy.filter(|_| now <= t) {
                packets[own].done = Some(now);
                let next = if queues[1 - last].is_empty() { last } else { 1 - last };
                busy = queues[next].pop_front();
                last = next;
                now += if busy.is_some() { self.time(noise) } else { 0 };
            }
            let Some(own) = packets.get(at) else { break };
            let inside = queues[0].len() + queues[1].len() + usize::from(busy.is_some());
            let queue = usize::from(self.rule == Rule::Rings && own.reverse);
            let dropped = match self.rule {
                Rule::Full => inside >= self.room,
                Rule::Rings => queues[queue].len() >= self.room,
                Rule::Random { from, to, weight } => {
                    mean += weight * (inside as f64 - mean);
                    inside >= self.room || noise.below(1_000) as f64 <= 1_000.0 * (mean - from) / (to - from)
                }
            };
            if !dropped && busy.is_none() {
                (busy, now) = (Some(at), t + self.time(noise));
            } else if !dropped {
                queues[queue].push_back(at);
            }
        }
    }

    fn time(&self, noise: &mut Noise) -> u64 {
        let part = self.service * self.wobble / 100;
        self.service - part + noise.below(2 * part + 1)
    }

    fn frames(&self, packets: &[Packet], noise: &mut Noise) -> [Vec<Out>; 3] {
        let benches = [false, true].map(|reverse| Bench { reverse, constant: !self.told, ..Bench::default() });
        let mut taps = [const { Vec::new() }; 3];
        let mut numbers = [0_u32; 2];
        let mut inside: Vec<&Packet> = packets.iter().filter(|own| own.reverse || own.done.is_some()).collect();
        inside.sort_by_key(|own| if own.reverse { own.there } else { own.done.unwrap_or(0) });
        for own in packets {
            let bench = &benches[usize::from(own.reverse)];
            let packet = bench.packet(0, own.size, &mut Noise(own.came));
            let (entry, exit) = if own.reverse { (2, 0) } else { (0, 2) };
            taps[entry].push(Out::whole(own.came, bench.frame(&packet, 1)));
            if let Some(done) = own.done {
                let out = done + if own.reverse { 0 } else { self.delay };
                taps[exit].push(Out::whole(out, bench.frame(&packet, 3)));
            }
        }
        for own in inside {
            let (way, bench) = (usize::from(own.reverse), &benches[usize::from(own.reverse)]);
            numbers[way] += 1;
            let t = if own.reverse { own.there } else { own.done.unwrap_or(0) };
            let packet = bench.packet(0, own.size, &mut Noise(own.came));
            for octets in bench.outer(&packet, (0x1001 + way as u32, numbers[way]), noise) {
                taps[1].push(Out::whole(t, bench.frame(&octets, 2)));
            }
        }
        taps
    }

    fn truth(&self, packets: &[Packet], load: usize, at: f64, reverse: bool) -> Waited {
        let own = || packets.iter().filter(|own| own.load == load);
        let out = |own: &Packet| Some(own.done? + if own.reverse { 0 } else { self.delay });
        let mut waited: Vec<(u64, u64)> = own().filter_map(|own| Some((own.came, out(own)?))).collect();
        waited.sort_unstable();
        let mut outs: Vec<u64> = waited.iter().map(|(_, out)| *out).collect();
        outs.sort_unstable();
        let most = waited.iter().enumerate().map(|(k, (t, _))| k + 1 - outs.partition_point(|out| out <= t)).max();
        let mut late: Vec<u64> = waited.iter().map(|(t, out)| out - t).collect();
        late.sort_unstable();
        let rank = |part: f64| late[(part * late.len() as f64).ceil() as usize - 1] as f64;
        let (sent, received) = (own().count() as u64, late.len() as u64);
        let backlog = most.unwrap_or(0) as f64;
        Waited { reverse, at, sent, received, p50: rank(0.5), p99: rank(0.99), max: rank(1.0), backlog }
    }
}
