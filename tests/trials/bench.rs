//! A bench of its own: loads, a first-in-first-out device, taps, and what must come of them.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use crate::support::build::{Noise, START, in_fragments};
use crate::support::writer::{Order, Out, Step, pcap};
use crate::support::{scratch, write_file};

/// How packets are carried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Carrier {
    /// ESP, AES-CBC and a 96-bit ICV, IPv4 in IPv4.
    Esp,
    /// The same of IPv6 in IPv6.
    Esp6,
    /// AH around it.
    AhEsp,
    /// In UDP.
    NatT,
    /// AH alone: the packet is visible.
    Ah,
    /// IP in IP: the packet is visible, and nothing has a number.
    Ipip,
}

/// What leaves the tunnel at the exit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Left {
    /// What came in.
    Same,
    /// The same from another address.
    Translated,
    /// In two fragments.
    Fragments,
}

impl Left {
    fn of(self, frame: &Out) -> Vec<Out> {
        let mut data = frame.data.clone();
        match self {
            Self::Same => vec![frame.clone()],
            Self::Translated => {
                data[26..30].copy_from_slice(&[203, 0, 113, 7]);
                checksum(&mut data[14..]);
                vec![Out::whole(frame.time_ns, data)]
            }
            Self::Fragments => {
                in_fragments(&data, 104).into_iter().map(|data| Out::whole(frame.time_ns, data)).collect()
            }
        }
    }
}

/// A load: packets per second from a time on, for some seconds.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    pub at: f64,
    pub fps: f64,
    pub seconds: f64,
    pub size: usize,
}

/// The bench.
#[derive(Clone, Debug)]
pub struct Bench {
    pub loads: Vec<Load>,
    pub carrier: Carrier,
    pub vlan: bool,
    /// All packets are the same: no content tells them apart.
    pub constant: bool,
    /// Nanoseconds per packet, and per octet.
    pub per_packet: u64,
    pub per_octet: u64,
    /// By how many nanoseconds less for each tenfold rate above 10 packets a second, but for the first packet of a load: an idle device sleeps.
    pub quicker: u64,
    /// By how many nanoseconds less for each second of a load: the device becomes warm.
    pub warms: u64,
    /// Packets that fit in.
    pub room: usize,
    /// Nanoseconds from the device to the exit.
    pub delay: u64,
    /// Every so many packets one is dropped without a queue, of loads above a rate.
    pub policer: Option<(f64, u64)>,
    /// Every so many packets one is lost after encryption.
    pub link_loss: Option<u64>,
    /// The tunnel's link takes longer packets in two fragments.
    pub mtu: usize,
    /// Out of the tunnel at the plain tap.
    pub reverse: bool,
    /// A packet a second of another flow.
    pub background: bool,
    /// From this time on the clock of the exit tap is behind by that much.
    pub step: Option<(f64, u64)>,
    pub micro: bool,
    /// From this time on the clock of the exit tap is ahead by that much; and that of the plain tap.
    pub forward: Option<(f64, u64)>,
    pub forward_in: Option<(f64, u64)>,
    /// The same of the tunnel's tap.
    pub forward_tunnel: Option<(f64, u64)>,
    /// Of so many frames each tap misses one.
    pub missed: [Option<u64>; 3],
    /// Taps that show each frame twice.
    pub twice: [bool; 3],
    /// From when to when each tap captures.
    pub captured: [Option<(f64, f64)>; 3],
    /// Octets that are captured of a frame.
    pub snap: Option<usize>,
    /// By how much the clocks of the tunnel tap and of the exit are ahead.
    pub offsets: [i64; 2],
    /// Rates rise from this share of the load to the load.
    pub ramp: Option<f64>,
    /// By how much a packet may come earlier or later, in nanoseconds.
    pub jitter: u64,
    /// Packets come in groups of so many, back to back, as software testers send them.
    pub groups: u64,
    /// By how many percent of it the device may take longer or shorter for a packet.
    pub wobble: u64,
    /// Of a million packets so many are lost at random: before the device, and behind the tunnel's tap.
    pub loss: [u64; 2],
    /// With so many packets inside, the device takes that many times as long for each.
    pub collapse: Option<(usize, u64)>,
    /// From this time on another SA is used.
    pub rekey: Option<f64>,
    /// From this time on the SA counts from 1 again.
    pub restart: Option<f64>,
    /// From this time on every so many packets one uses another SA.
    pub second_sa: Option<(f64, u32)>,
    /// So many packets a second of another SA, as long as the load's first one.
    pub other_sa: Option<f64>,
    /// Every so many packets one leaves the device later by that much.
    pub late: Option<(u64, u64)>,
    /// What comes between these times is dropped before the device.
    pub outage: Option<(f64, f64)>,
    /// IP protocol of the load.
    pub protocol: u8,
    /// Source ports of the load.
    pub ports: u64,
    /// Source addresses of the load, in turn.
    pub hosts: u64,
    /// From when to when the device sends nothing.
    pub pause: Option<(f64, f64)>,
    /// From when to when each tap misses everything.
    pub hole: [Option<(f64, f64)>; 3],
    /// Nanoseconds from one time stamp to the next at the taps behind the device.
    pub grain: u64,
    /// Nanoseconds from one time to the next at which the taps fetch what came, and stamp it then.
    pub fetched: Option<u64>,
    /// How much longer the way from the tunnel's tap to the exit is for each source port, in turn.
    pub ways: Vec<u64>,
    /// Queues and processors, each for its own source ports.
    pub cores: usize,
    /// Packets leave the device at multiples of so many nanoseconds, as many as are done.
    pub tick: u64,
    /// The frame of this number is stamped so much too early at the exit.
    pub glitch: Option<(usize, u64)>,
    /// By how many parts of a million the clock of the exit tap is fast.
    pub drift: u64,
    pub left: Left,
    /// Every so many packets one has this size, and is lost behind the tunnel's tap.
    pub black_hole: Option<(u64, usize)>,
}

impl Default for Bench {
    fn default() -> Self {
        Self {
            loads: Vec::new(),
            carrier: Carrier::Esp,
            vlan: false,
            constant: false,
            per_packet: 1_000_000,
            per_octet: 0,
            quicker: 0,
            warms: 0,
            room: 30,
            delay: 200_000,
            policer: None,
            link_loss: None,
            mtu: 9_000,
            reverse: false,
            background: false,
            step: None,
            micro: false,
            forward: None,
            forward_in: None,
            forward_tunnel: None,
            missed: [None; 3],
            twice: [false; 3],
            captured: [None; 3],
            snap: None,
            offsets: [0; 2],
            ramp: None,
            jitter: 0,
            groups: 1,
            wobble: 0,
            loss: [0; 2],
            collapse: None,
            rekey: None,
            restart: None,
            second_sa: None,
            other_sa: None,
            late: None,
            outage: None,
            protocol: 17,
            ports: 1,
            hosts: 1,
            pause: None,
            hole: [None; 3],
            grain: 1,
            fetched: None,
            ways: Vec::new(),
            cores: 1,
            tick: 1,
            glitch: None,
            drift: 0,
            left: Left::Same,
            black_hole: None,
        }
    }
}

/// What one load must be found to be.
#[derive(Clone, Debug)]
pub struct Truth {
    pub sent: u64,
    pub tunnelled: u64,
    pub received: u64,
    pub fps: f64,
    /// Median and greatest latency.
    pub p50: f64,
    pub max: f64,
}

/// The captures and the truth.
pub struct Made {
    pub plain: PathBuf,
    pub tunnel: PathBuf,
    pub exit: PathBuf,
    pub truth: Vec<Truth>,
    pub dir: PathBuf,
}

impl Made {
    /// Arguments for all three taps of one clock.
    pub fn all(&self) -> Vec<String> {
        let name = |path: &Path| path.to_str().expect("text").to_owned();
        [
            "trials",
            "--format",
            "json",
            "--one-clock",
            "--plain",
            &name(&self.plain),
            "--tunnel",
            &name(&self.tunnel),
            "--exit",
            &name(&self.exit),
        ]
        .map(str::to_owned)
        .to_vec()
    }

    /// All three taps, each with a clock of its own.
    pub fn clocks(&self) -> Vec<String> {
        self.all().into_iter().filter(|own| own != "--one-clock").collect()
    }

    /// Without the plain tap.
    pub fn far(&self) -> Vec<String> {
        let mut args = self.all();
        let plain = args.iter().position(|own| own == "--plain").expect("a plain tap");
        args.drain(plain..plain + 2);
        args
    }

    /// Without the exit.
    pub fn near(&self) -> Vec<String> {
        let mut args = self.all();
        args.truncate(args.len() - 2);
        args
    }
}

/// Frames of the three taps as they passed, and the truth.
pub type Passed = ([Vec<Out>; 3], Vec<Truth>);

/// A time since the start.
pub const fn since(at: f64) -> u64 {
    START + (at * 1e9) as u64
}

impl Bench {
    pub fn make(&self, name: &str) -> Made {
        let (taps, truth) = self.passed();
        self.written(name, taps, truth)
    }

    /// This bench and another one at the same time on the same links.
    pub fn with(&self, other: &Self, name: &str) -> (Made, Vec<Truth>) {
        let (mut taps, truth) = self.passed();
        let (more, others) = other.passed();
        taps.iter_mut().zip(more).for_each(|(tap, more)| tap.extend(more));
        (self.written(name, taps, truth), others)
    }

    /// Times at which the packets of a load come in.
    fn arrivals(&self, load: &Load, noise: &mut Noise) -> Vec<u64> {
        let n = (load.fps * load.seconds * self.ramp.map_or(1.0, |from| f64::midpoint(from, 1.0))).round() as u64;
        let at = |k: u64| match self.ramp {
            // So many packets have come by then: from x t + (1 - from) x t^2 / 2 T.
            Some(from) => {
                let (slope, want) = ((1.0 - from) / load.seconds, k as f64 / load.fps);
                ((from * from + 2.0 * slope * want).sqrt() - from) / slope
            }
            None => (k - k % self.groups) as f64 / load.fps + (k % self.groups) as f64 * 6e-6,
        };
        let mut times: Vec<u64> = (0..n).map(|k| since(load.at) + (at(k) * 1e9).round() as u64).collect();
        if self.jitter > 0 {
            times.iter_mut().for_each(|t| *t = *t + noise.below(2 * self.jitter) - self.jitter);
            times.sort_unstable();
        }
        times
    }

    /// What passes the taps.
    pub fn passed(&self) -> Passed {
        let mut noise = Noise(7);
        let mut taps = [const { Vec::new() }; 3];
        let mut sequence = 0_u32;
        let mut cores: Vec<(u64, VecDeque<u64>)> = vec![(0, VecDeque::new()); self.cores];
        let mut truth = Vec::new();
        let mut number = 0_u64;
        let (mut spi, mut restarted, mut second) = (0x1001, false, 0_u32);
        let (entry, exit) = if self.reverse { (2, 0) } else { (0, 2) };
        for load in &self.loads {
            let mut lates = Vec::new();
            let (mut tunnelled, mut received) = (0, 0);
            let arrivals = self.arrivals(load, &mut noise);
            for (k, t) in arrivals.iter().copied().enumerate() {
                number += 1;
                let long = self.black_hole.filter(|(every, _)| number.is_multiple_of(*every));
                let packet = self.packet(number, long.map_or(load.size, |(_, size)| size), &mut noise);
                taps[entry].push(Out::whole(t, self.frame(&packet, 1)));
                let core = (number % self.ports) as usize % self.cores;
                let (free, inside) = &mut cores[core];
                while inside.front().is_some_and(|gone| *gone <= t) {
                    inside.pop_front();
                }
                let k = k as u64;
                let policed = self.policer.is_some_and(|(rate, every)| load.fps > rate && k % every == every - 1);
                let out_of_order = self.outage.is_some_and(|(from, to)| (since(from)..since(to)).contains(&t));
                let lost = self.loss.map(|part| part > 0 && noise.below(1_000_000) < part);
                if policed || out_of_order || lost[0] || inside.len() >= self.room {
                    continue;
                }
                let slower = self.collapse.map_or(1, |(most, by)| if inside.len() >= most { by } else { 1 });
                let service = slower * (self.per_packet + self.per_octet * load.size as u64);
                let awake = if k > 0 { (self.quicker as f64 * (load.fps / 10.0).log10()) as u64 } else { 0 };
                let service = service - awake - (self.warms as f64 * k as f64 / load.fps) as u64;
                let more = if self.wobble > 0 { service * noise.below(2 * self.wobble) / 100 } else { 0 };
                let done = t.max(*free) + service + more - service * self.wobble / 100;
                let paused = self.pause.filter(|(from, to)| (since(*from)..since(*to)).contains(&done));
                let done = paused.map_or(done, |(_, to)| since(to) + service);
                *free = done;
                inside.push_back(done);
                let done = done.next_multiple_of(self.tick);
                if spi == 0x1001 && self.rekey.is_some_and(|at| t >= since(at)) {
                    (spi, sequence) = (0x3003, 0);
                }
                if !restarted && self.restart.is_some_and(|at| t >= since(at)) {
                    (restarted, sequence) = (true, 0);
                }
                let beside =
                    self.second_sa.is_some_and(|(at, every)| t >= since(at) && number.is_multiple_of(u64::from(every)));
                let counter = if beside { &mut second } else { &mut sequence };
                *counter += 1;
                let numbered = (if beside { 0x4004 } else { spi }, *counter);
                if self.link_loss.is_some_and(|every| u64::from(sequence) % every == 0) {
                    continue;
                }
                tunnelled += 1;
                let done = done + self.late.map_or(0, |(every, by)| if number.is_multiple_of(every) { by } else { 0 });
                for (i, octets) in self.outer(&packet, numbered, &mut noise).into_iter().enumerate() {
                    taps[1].push(Out::whole(done + i as u64, self.frame(&octets, 2)));
                }
                if lost[1] || long.is_some() {
                    continue;
                }
                received += 1;
                let own_way = self.ways.get((number % self.ports) as usize).copied().unwrap_or(0);
                let out = done + self.delay + own_way;
                lates.push((out - t) as f64);
                taps[exit].push(Out::whole(out, self.frame(&packet, 3)));
            }
            lates.sort_by(f64::total_cmp);
            let p50 = lates.get(lates.len().div_ceil(2).max(1) - 1).copied().unwrap_or(0.0);
            let max = lates.last().copied().unwrap_or(0.0);
            let sent = arrivals.len() as u64;
            truth.push(Truth { sent, tunnelled, received, fps: load.fps, p50, max });
        }
        self.beside(&mut taps, &mut noise);
        (taps, truth)
    }

    /// Traffic that is no test load.
    fn beside(&self, taps: &mut [Vec<Out>; 3], noise: &mut Noise) {
        let end = self.loads.iter().map(|load| load.at + load.seconds).fold(0.0, f64::max);
        if self.background {
            for second in 0..end as u64 {
                let t = START + second * 1_000_000_000 + 123_456_789;
                let packet = ipv4([10, 9, 0, 1], [10, 9, 1, 1], 1, second as u16, &[8, 0, 0, 0, 1, 2, 3, 4]);
                taps[0].push(Out::whole(t, self.frame(&packet, 1)));
                taps[2].push(Out::whole(t + 900_000, self.frame(&packet, 3)));
            }
        }
        if let (Some(fps), Some(load)) = (self.other_sa, self.loads.first()) {
            for k in 0..(fps * end) as u32 {
                let t = START + (f64::from(k) * 1e9 / fps) as u64 + 77_777;
                let inner = vec![0; load.size];
                for octets in self.outer(&inner, (0x7007, k + 1), noise) {
                    taps[1].push(Out::whole(t, self.frame(&octets, 2)));
                }
            }
        }
    }

    /// What the taps wrote of what passed them.
    pub fn written(&self, name: &str, taps: [Vec<Out>; 3], truth: Vec<Truth>) -> Made {
        let dir = scratch(name);
        let ahead = |step: Option<(f64, u64)>, t: u64| step.map_or(0, |(at, by)| if t >= since(at) { by } else { 0 });
        let files = ["plain.pcap", "tunnel.pcap", "exit.pcap"];
        let write = |tap: usize, mut frames: Vec<Out>| {
            frames.sort_by_key(|frame| frame.time_ns);
            if tap == 2 {
                frames = frames.iter().flat_map(|frame| self.left.of(frame)).collect();
            }
            let window = self.captured[tap].map_or((0, u64::MAX), |(from, to)| (since(from), since(to)));
            let mut kept = Vec::new();
            let (mut fetch, mut behind) = (0, 0);
            for (number, frame) in frames.into_iter().enumerate() {
                let t = frame.time_ns;
                let t = if tap == 2 { t + (t - START) / 1_000_000 * self.drift } else { t };
                let missed = self.missed[tap].is_some_and(|every| number as u64 % every == every / 2);
                let hole = self.hole[tap].is_some_and(|(from, to)| (since(from)..since(to)).contains(&t));
                if missed || hole || !(window.0..=window.1).contains(&t) {
                    continue;
                }
                let stamped = match (tap, self.step) {
                    (0, _) => t + ahead(self.forward_in, t),
                    (2, Some((at, back))) if t >= since(at) => t - back,
                    (2, _) => (t + ahead(self.forward, t)).wrapping_add_signed(self.offsets[1]),
                    _ => (t + ahead(self.forward_tunnel, t)).wrapping_add_signed(self.offsets[0]),
                };
                let stamped = if tap > 0 { stamped - stamped % self.grain } else { stamped };
                let early = self.glitch.filter(|(own, _)| tap == 2 && *own == number).map_or(0, |(_, by)| by);
                let mut stamped = stamped - early;
                if let Some(every) = self.fetched {
                    let next = stamped.next_multiple_of(every);
                    behind = if next == fetch { behind + 1 } else { 0 };
                    fetch = next;
                    stamped = next + behind * 800;
                }
                for copy in 0..1 + u64::from(self.twice[tap]) {
                    let mut frame = Out { time_ns: stamped + 700 * copy, ..frame.clone() };
                    frame.data.truncate(self.snap.unwrap_or(usize::MAX));
                    kept.push(frame);
                }
            }
            let step = if self.micro { Step::Micro } else { Step::Nano };
            write_file(&dir, files[tap], &pcap(&kept, 1, Order::Little, step))
        };
        let [plain, tunnel, exit] = taps;
        let (plain, tunnel, exit) = (write(0, plain), write(1, tunnel), write(2, exit));
        Made { plain, tunnel, exit, truth, dir }
    }

    /// An IP packet of the test load.
    pub fn packet(&self, number: u64, size: usize, noise: &mut Noise) -> Vec<u8> {
        let header = if self.carrier == Carrier::Esp6 { 48 } else { 28 };
        let payload = if self.constant { vec![0xff; size - header] } else { noise.bytes(size - header) };
        let mut udp = Vec::new();
        udp.extend((5_000 + (number % self.ports) as u16).to_be_bytes());
        udp.extend(6_000_u16.to_be_bytes());
        udp.extend(((payload.len() + 8) as u16).to_be_bytes());
        udp.extend([0, 0]);
        udp.extend(payload);
        let id = if self.constant { 0 } else { number as u16 };
        if self.carrier == Carrier::Esp6 {
            ipv6(2, 17, &udp)
        } else {
            let far = [10, 0, 2, 1];
            let near = [10, 0, 1, 1 + (number % self.hosts) as u8];
            let (src, dst) = if self.reverse { (far, near) } else { (near, far) };
            ipv4(src, dst, self.protocol, id, &udp)
        }
    }

    /// The packet in its tunnel, perhaps in fragments.
    pub fn outer(&self, inner: &[u8], (spi, sequence): (u32, u32), noise: &mut Noise) -> Vec<Vec<u8>> {
        let (near, far) = ([192, 168, 1, 1], [192, 168, 1, 2]);
        let gates = if self.reverse { (far, near) } else { (near, far) };
        let mut esp = Vec::new();
        esp.extend(spi.to_be_bytes());
        esp.extend(sequence.to_be_bytes());
        esp.extend(noise.bytes(16 + (inner.len() + 2).next_multiple_of(16) + 12));
        let ah = |next: u8, what: &[u8]| {
            let mut ah = vec![next, 4, 0, 0];
            ah.extend(0x2002_u32.to_be_bytes());
            ah.extend(sequence.to_be_bytes());
            ah.extend([7; 12]);
            ah.extend(what);
            ah
        };
        let packet = match self.carrier {
            Carrier::Esp => ipv4(gates.0, gates.1, 50, sequence as u16, &esp),
            Carrier::Esp6 => ipv6(1, 50, &esp),
            Carrier::AhEsp => ipv4(gates.0, gates.1, 51, sequence as u16, &ah(50, &esp)),
            Carrier::Ipip => ipv4(gates.0, gates.1, 4, sequence as u16, inner),
            Carrier::Ah => ipv4(gates.0, gates.1, 51, sequence as u16, &ah(4, inner)),
            Carrier::NatT => {
                let mut udp = Vec::new();
                udp.extend(4_500_u16.to_be_bytes());
                udp.extend(4_500_u16.to_be_bytes());
                udp.extend(((esp.len() + 8) as u16).to_be_bytes());
                udp.extend([0, 0]);
                udp.extend(esp);
                ipv4(gates.0, gates.1, 17, sequence as u16, &udp)
            }
        };
        if packet.len() <= self.mtu {
            return vec![packet];
        }
        let (head, body) = packet.split_at(20);
        let first = (self.mtu - 20) / 8 * 8;
        let piece = |from: usize, to: usize, more: bool| {
            let mut octets = head.to_vec();
            let flags = (from / 8) as u16 | if more { 0x2000 } else { 0 };
            octets[2..4].copy_from_slice(&((20 + to - from) as u16).to_be_bytes());
            octets[6..8].copy_from_slice(&flags.to_be_bytes());
            octets.extend(&body[from..to]);
            checksum(&mut octets);
            octets
        };
        vec![piece(0, first, true), piece(first, body.len(), false)]
    }

    /// An Ethernet frame. Routers lower the time to live on the way.
    pub fn frame(&self, packet: &[u8], tap: u8) -> Vec<u8> {
        let left = tap == 3;
        let (tap, [to, from]) = if self.reverse { (4 - tap, [1, 2]) } else { (tap, [2, 1]) };
        let mut frame = vec![2, 0, 0, 0, tap, to, 2, 0, 0, 0, tap, from];
        if self.vlan {
            frame.extend([0x81, 0x00, 0x00, 0x07]);
        }
        frame.extend(if packet[0] >> 4 == 6 { [0x86, 0xdd] } else { [0x08, 0x00] });
        let begin = frame.len();
        frame.extend(packet);
        if left && packet[0] >> 4 == 4 {
            frame[begin + 8] -= 1;
            checksum(&mut frame[begin..]);
        }
        frame.resize(frame.len().max(60), 0);
        frame
    }
}

pub fn ipv4(src: [u8; 4], dst: [u8; 4], protocol: u8, id: u16, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45, 0];
    packet.extend(((20 + payload.len()) as u16).to_be_bytes());
    packet.extend(id.to_be_bytes());
    packet.extend([0, 0, 64, protocol, 0, 0]);
    packet.extend(src);
    packet.extend(dst);
    packet.extend(payload);
    checksum(&mut packet);
    packet
}

fn ipv6(net: u8, next: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 0];
    packet.extend((payload.len() as u16).to_be_bytes());
    packet.extend([next, 64]);
    for host in [1, 2] {
        packet.extend([0x20, 0x01, 0x0d, 0xb8, 0, net, 0, host, 0, 0, 0, 0, 0, 0, 0, 1]);
    }
    packet.extend(payload);
    packet
}

fn checksum(packet: &mut [u8]) {
    packet[10..12].fill(0);
    let sum: u32 = packet[..20].chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    packet[10..12].copy_from_slice(&(!(folded as u16)).to_be_bytes());
}
