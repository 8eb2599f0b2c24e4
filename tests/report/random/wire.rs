//! Frames of random reports: IP of either version, ESP of a transform, fragments, and protocols in UDP that are no ESP.

use std::net::Ipv4Addr;

use crate::support::build::{self, Noise, R1, R2};

/// What protects packets: block, IV, ICV; `null` leaves them in clear.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transform {
    pub name: &'static str,
    pub block: usize,
    pub iv: Iv,
    pub icv: usize,
    pub null: bool,
}

/// What stands after the header of ESP.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Iv {
    None,
    Random(usize),
    /// A counter, from anywhere.
    Counter,
    /// A constant XOR the sequence number.
    Sequence,
}

impl Iv {
    pub fn bytes(self) -> usize {
        match self {
            Self::None => 0,
            Self::Random(bytes) => bytes,
            Self::Counter | Self::Sequence => 8,
        }
    }
}

const fn cbc(name: &'static str, block: usize, icv: usize) -> Transform {
    Transform { name, block, iv: Iv::Random(block), icv, null: false }
}

const fn counter(name: &'static str, iv: Iv, icv: usize) -> Transform {
    Transform { name, block: 4, iv, icv, null: false }
}

pub const TRANSFORMS: &[Transform] = &[
    cbc("AES-CBC/HMAC-SHA1-96", 16, 12),
    cbc("AES-CBC/HMAC-SHA2-256-128", 16, 16),
    cbc("AES-CBC/HMAC-SHA2-512-256", 16, 32),
    cbc("3DES-CBC/HMAC-SHA1-96", 8, 12),
    cbc("3DES-CBC/HMAC-MD5-96", 8, 12),
    cbc("DES-CBC/HMAC-SHA2-256-128", 8, 16),
    counter("AES-GCM-16", Iv::Sequence, 16),
    counter("AES-GCM-8", Iv::Counter, 8),
    counter("AES-GCM-16", Iv::Random(8), 16),
    counter("AES-CTR/HMAC-SHA2-256-128", Iv::Counter, 16),
    counter("CHACHA20-POLY1305", Iv::Sequence, 16),
    Transform { name: "NULL/HMAC-SHA1-96", block: 4, iv: Iv::None, icv: 12, null: true },
    Transform { name: "NULL/HMAC-SHA2-256-128", block: 4, iv: Iv::None, icv: 16, null: true },
];

/// What is inside ESP.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mode {
    Tunnel,
    Transport,
    GreTransport,
    GreTunnel,
}

/// Where packets run.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    pub v6: bool,
    pub tags: u64,
}

fn addresses(from_r1: bool) -> (Ipv4Addr, Ipv4Addr) {
    if from_r1 { (R1, R2) } else { (R2, R1) }
}

/// A frame with an IP packet between the gateways.
pub fn ip(link: Link, from_r1: bool, protocol: u8, id: u16, payload: &[u8]) -> Vec<u8> {
    let (src, dst) = addresses(from_r1);
    let frame = build::ipv4(src, dst, protocol, id, payload);
    let frame = if link.v6 {
        let mut next = frame[..12].to_vec();
        next.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
        next.extend(u16::try_from(payload.len()).expect("a length").to_be_bytes());
        next.extend([protocol, 64]);
        for address in [src, dst] {
            next.extend([0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0]);
            next.extend(address.octets());
        }
        [&next[..], payload].concat()
    } else {
        frame
    };
    tagged(frame, link.tags)
}

/// The frame with so many VLAN tags.
fn tagged(mut frame: Vec<u8>, tags: u64) -> Vec<u8> {
    for tag in 0..tags {
        frame.splice(12..12, [if tag > 0 { 0x88 } else { 0x81 }, if tag > 0 { 0xa8 } else { 0 }, 0, 100 + tag as u8]);
    }
    frame
}

/// Octets of the frame before its IP header.
pub fn before_ip(link: Link) -> usize {
    14 + 4 * link.tags as usize
}

/// The fragments of an IPv4 packet, `each` octets of payload in all but the last.
pub fn fragments(link: Link, frame: &[u8], each: usize) -> Vec<Vec<u8>> {
    let start = before_ip(link);
    let (header, payload) = (&frame[start..start + 20], &frame[start + 20..]);
    let pieces: Vec<&[u8]> = payload.chunks(each).collect();
    let last = pieces.len() - 1;
    let fragment = |(at, piece): (usize, &&[u8])| {
        let mut head = header.to_vec();
        head[2..4].copy_from_slice(&u16::try_from(20 + piece.len()).expect("a length").to_be_bytes());
        let offset = u16::try_from(at * each / 8).expect("an offset") | if at < last { 0x2000 } else { 0 };
        head[6..8].copy_from_slice(&offset.to_be_bytes());
        checksum(&mut head);
        [&frame[..start], &head, piece].concat()
    };
    pieces.iter().enumerate().map(fragment).collect()
}

/// Fills in the checksum of an IPv4 header.
pub fn checksum(header: &mut [u8]) {
    header[10..12].fill(0);
    let sum: u32 = header[..20].chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    header[10..12].copy_from_slice(&sum.to_be_bytes());
}

/// The same packet after one more router.
pub fn routed(link: Link, frame: &[u8]) -> Vec<u8> {
    let start = before_ip(link);
    let mut next = frame.to_vec();
    if link.v6 {
        next[start + 7] -= 1;
    } else {
        next[start + 8] -= 1;
        checksum(&mut next[start..start + 20]);
    }
    next
}

/// An ESP packet with a packet of `inner` octets in it, from the SPI on.
#[derive(Clone, Copy)]
pub struct Esp {
    pub transform: Transform,
    pub mode: Mode,
    pub tfc: usize,
    pub spi: u32,
    /// What the IV counts from.
    pub base: u64,
    pub from_r1: bool,
}

impl Esp {
    pub fn packet(&self, noise: &mut Noise, number: u32, inner: usize) -> Vec<u8> {
        let (here, there) = (Ipv4Addr::new(10, 1, 0, 9), Ipv4Addr::new(10, 2, 0, 9));
        let (src, dst) = if self.from_r1 { (here, there) } else { (there, here) };
        let udp = build::udp(src, dst, (20_001, 20_002), number as u16, &noise.bytes(inner - 28));
        let packet = &udp[14..];
        let gre = [0, 0, 8, 0];
        let (next, mut plain): (u8, Vec<u8>) = match self.mode {
            Mode::Tunnel => (4, packet.to_vec()),
            Mode::Transport => (17, packet[20..].to_vec()),
            Mode::GreTransport => (47, [&gre[..], packet].concat()),
            Mode::GreTunnel => {
                let carried = [&gre[..], packet].concat();
                let (src, dst) = addresses(self.from_r1);
                (4, build::ipv4(src, dst, 47, number as u16, &carried)[14..].to_vec())
            }
        };
        plain.extend(noise.bytes(self.tfc));
        let pad = (self.transform.block - (plain.len() + 2) % self.transform.block) % self.transform.block;
        plain.extend((1..=pad).map(|octet| octet as u8));
        plain.extend([pad as u8, next]);
        let body = if self.transform.null { plain } else { noise.bytes(plain.len()) };
        let iv = match self.transform.iv {
            Iv::None => Vec::new(),
            Iv::Random(bytes) => noise.bytes(bytes),
            Iv::Counter => self.base.wrapping_add(number.into()).to_be_bytes().to_vec(),
            Iv::Sequence => (self.base ^ u64::from(number)).to_be_bytes().to_vec(),
        };
        let icv = noise.bytes(self.transform.icv);
        [&self.spi.to_be_bytes()[..], &number.to_be_bytes(), &iv, &body, &icv].concat()
    }
}

pub fn udp(ports: (u16, u16), payload: &[u8]) -> Vec<u8> {
    let length = u16::try_from(8 + payload.len()).expect("a length");
    [&ports.0.to_be_bytes()[..], &ports.1.to_be_bytes(), &length.to_be_bytes(), &[0, 0], payload].concat()
}

/// Protocols in UDP that look like ESP.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Alike {
    Quic,
    Wireguard,
    Dtls,
    Rtp,
    OpenVpn,
    Game,
    Ticks,
    Srtp,
    Sctp,
    Kcp,
    Mosh,
    TransportStream,
    Srt,
    RakNet,
    Source,
    Turn,
    Statsd,
    Radio,
}

impl Alike {
    pub const FURTHER: &[Self] = &[
        Self::Kcp,
        Self::Mosh,
        Self::TransportStream,
        Self::Srt,
        Self::RakNet,
        Self::Source,
        Self::Turn,
        Self::Statsd,
        Self::Radio,
        Self::Rtp,
        Self::Quic,
        Self::Dtls,
    ];

    pub const ALL: &[Self] = &[
        Self::Quic,
        Self::Wireguard,
        Self::Dtls,
        Self::Rtp,
        Self::OpenVpn,
        Self::Game,
        Self::Ticks,
        Self::Srtp,
        Self::Sctp,
    ];

    /// Payload number `n` of one side.
    pub fn payload(self, noise: &mut Noise, n: u32, from_r1: bool) -> Vec<u8> {
        let any = |noise: &mut Noise, least: u64, most: u64| {
            let bytes = usize::try_from(least + noise.below(most - least)).expect("a length");
            noise.bytes(bytes)
        };
        let short = (n as u16).to_be_bytes();
        let words = |noise: &mut Noise, least: u64, most: u64| {
            let bytes = 4 * usize::try_from(least + noise.below(most - least)).expect("a length");
            noise.bytes(bytes)
        };
        match self {
            // A conversation, a command, a window, a time, a number and what was received; words of the sender's own order.
            Self::Kcp => {
                let data = words(noise, 4, 300);
                let (time, number, length) = (n * 20, n, data.len() as u32);
                let head = [&[0x11, 0x22, 0x33, 0x44, 81, 0, 128, 0][..], &time.to_le_bytes(), &number.to_le_bytes()];
                [&head.concat()[..], &number.to_le_bytes(), &length.to_le_bytes(), &data].concat()
            }
            // A nonce that counts, its first bit the direction.
            Self::Mosh => {
                let way = if from_r1 { 0 } else { 1_u64 << 63 };
                [&(way | u64::from(n)).to_be_bytes()[..], &any(noise, 20, 500)].concat()
            }
            Self::TransportStream => {
                let packet = |noise: &mut Noise, at: u32| {
                    [&[0x47, 1, 0, 0x10 | ((n * 7 + at) % 16) as u8][..], &noise.bytes(184)].concat()
                };
                (0..7).flat_map(|at| packet(noise, at)).collect()
            }
            // A number, a message, a time and a socket.
            Self::Srt => {
                let (number, message) = (0x1234_0000 + n, 0xe000_0000 | n);
                let head = [number.to_be_bytes(), message.to_be_bytes(), (n * 1_316).to_be_bytes(), [1, 2, 3, 4]];
                [&head.concat()[..], &noise.bytes(1_316)].concat()
            }
            Self::RakNet => {
                let [a, b, c, _] = n.to_le_bytes();
                [&[0x84, a, b, c, 0x60][..], &any(noise, 20, 600)].concat()
            }
            Self::Source => [&n.to_le_bytes()[..], &n.saturating_sub(1).to_le_bytes(), &words(noise, 4, 200)].concat(),
            // Channel data around RTP.
            Self::Turn => {
                let data =
                    [&[0x80, 96][..], &short, &(n * 960).to_be_bytes(), &[9, 9, 9, 9], &words(noise, 20, 40)].concat();
                [&[0x40, 1][..], &(data.len() as u16).to_be_bytes(), &data].concat()
            }
            Self::Statsd => {
                format!("cpu.load:{}|g\ncpu.idle:{}|g\nfans:{n:08}|c", noise.below(100), noise.below(100)).into_bytes()
            }
            // A stream, a number that counts samples, and samples.
            Self::Radio => [&[0, 3, 0, 7][..], &(n * 360).to_be_bytes(), &noise.bytes(1_440)].concat(),
            Self::Quic => {
                let flags = 0x40 | noise.below(64) as u8;
                let identifier: &[u8] = if from_r1 { &[9, 8, 7, 6, 5, 4, 3, 2] } else { &[] };
                [&[flags][..], identifier, &any(noise, 40, 1_200)].concat()
            }
            Self::Wireguard => {
                let index = if from_r1 { [7; 4] } else { [8; 4] };
                let bytes = 16 * (2 + noise.below(60)) as usize;
                [&[4, 0, 0, 0][..], &index, &u64::from(n).to_le_bytes(), &noise.bytes(bytes)].concat()
            }
            Self::Dtls => {
                let body = any(noise, 40, 440);
                let number = u64::from(n).to_be_bytes();
                let length = (body.len() as u16).to_be_bytes();
                [&[23, 0xfe, 0xfd, 0, 1][..], &number[2..], &length, &body].concat()
            }
            Self::Rtp => {
                [&[0x80, 96][..], &short, &(n / 3 * 3_000).to_be_bytes(), &[1, 2, 3, 4], &any(noise, 400, 1_200)]
                    .concat()
            }
            Self::Srtp => [&[0x80, 8][..], &short, &(n * 160).to_be_bytes(), &[1, 2, 3, 4], &noise.bytes(172)].concat(),
            Self::OpenVpn => {
                let identifier = [0x48, 0, 0, u8::from(from_r1)];
                [&identifier[..], &(n + 1).to_be_bytes(), &any(noise, 40, 1_200)].concat()
            }
            Self::Game => {
                let kind = [2, noise.below(256) as u8];
                [&[0x32, 0xab, 0x98, 0x64][..], &kind, &short, &any(noise, 20, 300)].concat()
            }
            Self::Ticks => [&[0x47, 0x41, 0x4d, 0x45][..], &(n / 2 * 16).to_be_bytes(), &noise.bytes(64)].concat(),
            Self::Sctp => {
                // SCTP in UDP (WebRTC): ports, verification tag, checksum, a DATA chunk.
                let tag = if from_r1 { [0xa1, 2, 3, 4] } else { [0x51, 6, 7, 8] };
                let sum = noise.bytes(4);
                [&[0x13, 0x88, 0x13, 0x88][..], &tag, &sum, &[0, 3], &short, &any(noise, 16, 900)].concat()
            }
        }
    }
}

/// CRC-32 of a frame, bit by bit.
pub fn crc(data: &[u8]) -> u32 {
    !data.iter().fold(u32::MAX, |crc, octet| {
        (0..8).fold(crc ^ u32::from(*octet), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 })
    })
}
