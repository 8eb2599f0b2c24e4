//! A second opinion: a reader of captures and of the headers the laboratory uses that shares no code with the library.
//! It favours plainness over speed and panics on what it does not know, so that a test cannot pass by not looking.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

/// Link types of the captures at hand.
pub const ETHERNET: u32 = 1;
pub const RAW_TCPDUMP: u32 = 12;
pub const RAW: u32 = 101;
pub const SLL: u32 = 113;
pub const SLL2: u32 = 276;

/// One record of a capture.
#[derive(Clone, Debug)]
pub struct Record {
    pub time_ns: i64,
    pub wire_bytes: u64,
    pub data: Vec<u8>,
    pub link: u32,
    pub interface: u32,
}

/// A capture, read whole.
#[derive(Clone, Debug)]
pub struct CaptureFile {
    pub format: &'static str,
    pub compression: Option<&'static str>,
    pub records: Vec<Record>,
    /// Whether the file ends where a record ends.
    pub complete: bool,
    /// Names of the interfaces a pcapng file gives.
    pub interface_names: Vec<Option<String>>,
}

/// Reads pcap (both orders, both steps), pcapng (enhanced packet blocks) and gzip around either.
pub fn read_capture(path: &Path) -> CaptureFile {
    let mut bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut compression = None;
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut plain = Vec::new();
        flate2::read::MultiGzDecoder::new(bytes.as_slice()).read_to_end(&mut plain).expect("gzip decodes");
        bytes = plain;
        compression = Some("gzip");
    }
    let mut file = match bytes.get(..4) {
        Some([0xd4, 0xc3, 0xb2, 0xa1]) => read_pcap(&bytes, true, 1_000),
        Some([0x4d, 0x3c, 0xb2, 0xa1]) => read_pcap(&bytes, true, 1),
        Some([0xa1, 0xb2, 0xc3, 0xd4]) => read_pcap(&bytes, false, 1_000),
        Some([0xa1, 0xb2, 0x3c, 0x4d]) => read_pcap(&bytes, false, 1),
        Some([0x0a, 0x0d, 0x0d, 0x0a]) => read_pcapng(&bytes),
        magic => panic!("{}: unknown magic {magic:?}", path.display()),
    };
    file.compression = compression;
    file
}

fn word(bytes: &[u8], at: usize, little: bool) -> u32 {
    let four: [u8; 4] = bytes[at..at + 4].try_into().expect("four octets");
    if little { u32::from_le_bytes(four) } else { u32::from_be_bytes(four) }
}

fn half(bytes: &[u8], at: usize, little: bool) -> u16 {
    let two: [u8; 2] = bytes[at..at + 2].try_into().expect("two octets");
    if little { u16::from_le_bytes(two) } else { u16::from_be_bytes(two) }
}

fn read_pcap(bytes: &[u8], little: bool, unit_ns: i64) -> CaptureFile {
    let link = word(bytes, 20, little);
    let mut records = Vec::new();
    let mut at = 24;
    let mut complete = true;
    while at < bytes.len() {
        let captured = if bytes.len() >= at + 16 { word(bytes, at + 8, little) as usize } else { usize::MAX };
        if captured == usize::MAX || bytes.len() < at + 16 + captured {
            complete = false;
            break;
        }
        records.push(Record {
            time_ns: i64::from(word(bytes, at, little)) * 1_000_000_000
                + i64::from(word(bytes, at + 4, little)) * unit_ns,
            wire_bytes: u64::from(word(bytes, at + 12, little)),
            data: bytes[at + 16..at + 16 + captured].to_vec(),
            link,
            interface: 0,
        });
        at += 16 + captured;
    }
    CaptureFile { format: "pcap", compression: None, records, complete, interface_names: vec![None] }
}

fn read_pcapng(bytes: &[u8]) -> CaptureFile {
    struct Interface {
        link: u32,
        ticks_per_second: i128,
    }
    let little = word(bytes, 8, true) == 0x1a2b_3c4d;
    let mut interfaces: Vec<Interface> = Vec::new();
    let mut interface_names = Vec::new();
    let mut records = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let kind = word(bytes, at, little);
        let total = word(bytes, at + 4, little) as usize;
        let body = &bytes[at + 8..at + total - 4];
        match kind {
            1 => {
                let (mut ticks, mut name) = (1_000_000, None);
                let mut option = 8;
                while option + 4 <= body.len() {
                    let (code, length) = (half(body, option, little), half(body, option + 2, little) as usize);
                    let value = &body[option + 4..option + 4 + length];
                    match code {
                        0 => break,
                        2 => name = Some(String::from_utf8_lossy(value).trim_end_matches('\0').to_owned()),
                        9 => {
                            assert_eq!(value[0] & 0x80, 0, "base 2 resolutions are not among the captures at hand");
                            ticks = 10_i128.pow(u32::from(value[0]));
                        }
                        14 => panic!("if_tsoffset is not among the captures at hand"),
                        _ => {}
                    }
                    option += 4 + length.next_multiple_of(4);
                }
                interfaces.push(Interface { link: u32::from(half(body, 0, little)), ticks_per_second: ticks });
                interface_names.push(name);
            }
            6 => {
                let interface = word(body, 0, little);
                let captured = word(body, 12, little) as usize;
                let ticks = i128::from(word(body, 4, little)) << 32 | i128::from(word(body, 8, little));
                let known = &interfaces[interface as usize];
                records.push(Record {
                    time_ns: i64::try_from(ticks * 1_000_000_000 / known.ticks_per_second).expect("a time of our days"),
                    wire_bytes: u64::from(word(body, 16, little)),
                    data: body[20..20 + captured].to_vec(),
                    link: known.link,
                    interface,
                });
            }
            2 | 3 => panic!("block type {kind} is not among the captures at hand"),
            _ => {}
        }
        at += total;
    }
    CaptureFile { format: "pcapng", compression: None, records, complete: true, interface_names }
}

/// An IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ip {
    pub version: u8,
    pub src: IpAddr,
    pub dst: IpAddr,
    /// IPv4 total length, or 40 + IPv6 payload length.
    pub bytes: u64,
    /// The header with IPv4 options or IPv6 extension headers.
    pub header_bytes: usize,
    pub protocol: u8,
    pub id: u16,
    pub more_fragments: bool,
    /// In octets.
    pub fragment_offset: u64,
    /// Whether IPv6 extension headers lie between header and payload.
    pub options: bool,
}

/// A header that names an SA, as found in one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SaSeen {
    pub proto: &'static str,
    pub spi: u32,
    pub sequence: u32,
    /// AH: header octets.
    pub ah_bytes: usize,
}

/// What the second opinion makes of one frame.
#[derive(Clone, Debug)]
pub struct Packet {
    /// From 1.
    pub frame: u64,
    pub time_ns: i64,
    pub wire_bytes: u64,
    pub captured_bytes: u64,
    /// Source and destination MAC.
    pub macs: Option<([u8; 6], [u8; 6])>,
    pub outer: Option<Ip>,
    /// The layers up to the encapsulated IP header or the last header before opaque octets.
    pub stack: Vec<&'static str>,
    /// Octets of an Ethernet frame behind the outer IP packet. A cooked frame holds them too, but it is no Ethernet frame.
    pub trailer: Vec<u8>,
    pub sas: Vec<SaSeen>,
    /// `native` or `udp`.
    pub encapsulation: &'static str,
    /// The encapsulated packet, where it is visible.
    pub inner: Option<Ip>,
    /// The octets of the AH integrity check value field.
    pub ah_icv: Vec<u8>,
    /// ESP padding of an ESP-NULL packet, pad octets and the ICV behind the trailer.
    pub esp_null: Option<EspNull>,
    /// ICMP type, code and the MTU field.
    pub icmp: Option<(u8, u8, u16)>,
    /// A NAT keepalive.
    pub control: bool,
    pub ike: bool,
    /// The octets of the outermost IP packet with what routers change masked; the identity of a copy.
    pub masked: Vec<u8>,
}

/// The trailer of an ESP-NULL packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EspNull {
    pub pad: Vec<u8>,
    pub next_header: u8,
}

impl Packet {
    /// Layer 1 octets: at least 60 without FCS, FCS, preamble and gap; a frame without Ethernet counted as if it had it.
    pub fn l1_bytes(&self) -> u64 {
        self.l2_bytes() + 20
    }

    pub fn l2_bytes(&self) -> u64 {
        let frame = match (self.macs, self.outer) {
            (None, Some(ip)) => 14 + ip.bytes,
            _ => self.wire_bytes,
        };
        frame.max(60) + 4
    }

    /// Whether it is a fragment other than the first.
    pub fn later_fragment(&self) -> bool {
        self.outer.is_some_and(|ip| ip.fragment_offset > 0)
    }

    pub fn is_fragment(&self) -> bool {
        self.outer.is_some_and(|ip| ip.fragment_offset > 0 || ip.more_fragments)
    }

    /// Whether the frame carries IP that is neither protected nor tunnelled nor part of keeping a tunnel alive.
    pub fn clear(&self) -> bool {
        let fragment_of_sa = self.later_fragment() && matches!(self.outer.map(|ip| ip.protocol), Some(50 | 51 | 108));
        self.outer.is_some()
            && self.sas.is_empty()
            && self.inner.is_none()
            && !fragment_of_sa
            && !self.control
            && !self.ike
    }
}

/// Dissects one record. `null_icv` says that ESP in this capture is NULL encryption with an ICV of so many octets.
pub fn dissect(number: u64, record: &Record, null_icv: Option<usize>) -> Packet {
    let data = record.data.as_slice();
    let mut packet = Packet {
        frame: number,
        time_ns: record.time_ns,
        wire_bytes: record.wire_bytes,
        captured_bytes: data.len() as u64,
        macs: None,
        outer: None,
        stack: Vec::new(),
        trailer: Vec::new(),
        sas: Vec::new(),
        encapsulation: "native",
        inner: None,
        ah_icv: Vec::new(),
        esp_null: None,
        icmp: None,
        control: false,
        ike: false,
        masked: Vec::new(),
    };
    let ip_at = match record.link {
        ETHERNET => {
            packet.macs = Some((data[6..12].try_into().expect("six"), data[..6].try_into().expect("six")));
            packet.stack.push("eth");
            let mut at = 12;
            if half(data, at, false) == 0x8100 {
                packet.stack.push("vlan");
                at += 4;
            }
            match half(data, at, false) {
                0x0800 | 0x86dd => at + 2,
                other => panic!("frame {number}: ethertype {other:#06x} is not among the captures at hand"),
            }
        }
        SLL => {
            packet.stack.push("sll");
            16
        }
        SLL2 => {
            packet.stack.push("sll2");
            20
        }
        RAW | RAW_TCPDUMP => {
            packet.stack.push("raw");
            0
        }
        other => panic!("frame {number}: link type {other} is not among the captures at hand"),
    };
    let outer = ip_header(&data[ip_at..]).unwrap_or_else(|| panic!("frame {number}: the IP header is not there"));
    push_ip(&mut packet.stack, &outer);
    packet.outer = Some(outer);
    let end = (ip_at + outer.bytes as usize).min(data.len());
    if packet.macs.is_some() {
        packet.trailer = data[end..].to_vec();
    }
    packet.masked = masked(&data[ip_at..end], outer.version);
    if outer.fragment_offset == 0 {
        upper(&mut packet, outer.protocol, &data[ip_at + outer.header_bytes..end], null_icv);
    }
    packet
}

/// Reads what lies behind the outermost IP header or behind an AH or UDP header in it.
fn upper(packet: &mut Packet, protocol: u8, payload: &[u8], null_icv: Option<usize>) {
    match protocol {
        51 => {
            let bytes = (usize::from(payload[1]) + 2) * 4;
            packet.stack.push("ah");
            packet.sas.push(SaSeen {
                proto: "ah",
                spi: word(payload, 4, false),
                sequence: word(payload, 8, false),
                ah_bytes: bytes,
            });
            packet.ah_icv = payload[12..bytes].to_vec();
            upper(packet, payload[0], &payload[bytes..], null_icv);
        }
        50 => {
            packet.stack.push("esp");
            packet.sas.push(SaSeen {
                proto: "esp",
                spi: word(payload, 0, false),
                sequence: word(payload, 4, false),
                ah_bytes: 0,
            });
            if let Some(icv) = null_icv {
                let inner = ip_header(&payload[8..]).expect("ESP-NULL carries an IP packet");
                let trailer = payload.len() - icv;
                let pad = usize::from(payload[trailer - 2]);
                assert_eq!(
                    8 + inner.bytes as usize + pad + 2,
                    trailer,
                    "frame {}: ESP-NULL lengths agree",
                    packet.frame
                );
                packet.inner = Some(inner);
                packet.esp_null = Some(EspNull {
                    pad: payload[trailer - 2 - pad..trailer - 2].to_vec(),
                    next_header: payload[trailer - 1],
                });
            }
        }
        108 => {
            packet.stack.push("ipcomp");
            let cpi = u32::from(half(payload, 2, false));
            packet.sas.push(SaSeen { proto: "ipcomp", spi: cpi, sequence: 0, ah_bytes: 0 });
        }
        4 | 41 => {
            let inner = ip_header(payload).expect("an IP header in IP");
            push_ip(&mut packet.stack, &inner);
            packet.inner = Some(inner);
        }
        47 => {
            packet.stack.push("gre");
            assert_eq!(half(payload, 0, false), 0, "GRE without options");
            let inner = ip_header(&payload[4..]).expect("an IP header in GRE");
            push_ip(&mut packet.stack, &inner);
            packet.inner = Some(inner);
        }
        17 => {
            packet.stack.push("udp");
            let ports = [half(payload, 0, false), half(payload, 2, false)];
            let body = &payload[8..];
            if ports.contains(&4500) {
                if body == [0xff] {
                    packet.stack.push("nat-keepalive");
                    packet.control = true;
                } else if body.starts_with(&[0; 4]) {
                    packet.stack.push("ike");
                    packet.ike = true;
                } else {
                    packet.encapsulation = "udp";
                    upper(packet, 50, body, null_icv);
                }
            } else if ports.contains(&500) {
                packet.stack.push("ike");
                packet.ike = true;
            }
        }
        1 => {
            packet.stack.push("icmp");
            packet.icmp = Some((payload[0], payload[1], half(payload, 6, false)));
        }
        58 => packet.stack.push("icmpv6"),
        _ => {}
    }
}

fn push_ip(stack: &mut Vec<&'static str>, ip: &Ip) {
    stack.push(if ip.version == 4 { "ipv4" } else { "ipv6" });
    if ip.options {
        stack.push("ipv6-opts");
    }
}

/// Reads an IP header with its IPv6 options; `None` where there is none.
pub fn ip_header(data: &[u8]) -> Option<Ip> {
    match data.first()? >> 4 {
        4 if data.len() >= 20 => {
            let flags = half(data, 6, false);
            Some(Ip {
                version: 4,
                src: IpAddr::V4(Ipv4Addr::from(word(data, 12, false))),
                dst: IpAddr::V4(Ipv4Addr::from(word(data, 16, false))),
                bytes: u64::from(half(data, 2, false)),
                header_bytes: usize::from(data[0] & 15) * 4,
                protocol: data[9],
                id: half(data, 4, false),
                more_fragments: flags & 0x2000 != 0,
                fragment_offset: u64::from(flags & 0x1fff) * 8,
                options: false,
            })
        }
        6 if data.len() >= 40 => {
            let address =
                |at: usize| IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(&data[at..at + 16]).expect("sixteen")));
            let (mut protocol, mut header_bytes, mut options) = (data[6], 40, false);
            while matches!(protocol, 0 | 60) {
                protocol = data[header_bytes];
                header_bytes += (usize::from(data[header_bytes + 1]) + 1) * 8;
                options = true;
            }
            assert_ne!(protocol, 44, "IPv6 fragments are not among the captures at hand");
            Some(Ip {
                version: 6,
                src: address(8),
                dst: address(24),
                bytes: 40 + u64::from(half(data, 4, false)),
                header_bytes,
                protocol,
                id: 0,
                more_fragments: false,
                fragment_offset: 0,
                options,
            })
        }
        _ => None,
    }
}

/// The IP packet with TTL (hop limit) and header checksum masked.
fn masked(packet: &[u8], version: u8) -> Vec<u8> {
    let mut bytes = packet.to_vec();
    if version == 4 {
        bytes[8] = 0;
        bytes[10] = 0;
        bytes[11] = 0;
    } else {
        bytes[7] = 0;
    }
    bytes
}

/// Every packet of a capture.
pub fn dissect_all(file: &CaptureFile, null_icv: Option<usize>) -> Vec<Packet> {
    file.records.iter().zip(1..).map(|(record, number)| dissect(number, record, null_icv)).collect()
}

/// Which SA: protocol, source, destination, SPI.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SaId {
    pub proto: &'static str,
    pub src: IpAddr,
    pub dst: IpAddr,
    pub spi: u32,
}

impl std::fmt::Display for SaId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}/{}/0x{:08x}", self.proto, self.src, self.dst, self.spi)
    }
}

/// What the second opinion counts for one SA.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SaCount {
    pub frames: u64,
    pub fragments: u64,
    pub outer_bytes: u64,
    /// Frames left out of the figures below because their tap copies frames.
    pub copies_removed: u64,
    pub first_ns: i64,
    pub last_ns: i64,
    pub first_frame: u64,
    pub last_frame: u64,
    pub encapsulation: String,
    pub sequence: SequenceCount,
    /// Outer IP octets of a packet, fragments summed, and how many packets.
    pub outer_sizes: BTreeMap<u64, u64>,
    /// Whether an inner packet was visible in any frame.
    pub visible: bool,
}

/// Sequence figures of one SA, by DEFINITIONS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SequenceCount {
    pub first: u32,
    pub last: u32,
    pub highest: u64,
    pub lost: u64,
    pub gaps: u64,
    pub longest_gap: u64,
    pub duplicate: u64,
    pub late: u64,
    pub restarts: u64,
    pub wraps: u64,
    /// What a window of so many packets drops, simulated packet by packet; only windows that drop.
    pub would_drop: BTreeMap<u64, u64>,
}

/// The anti-replay windows a report speaks about.
pub const WINDOWS: [u64; 7] = [32, 64, 128, 256, 512, 1024, 4096];

/// A gap in time after which a lower number means a restart, not a replay.
const RESTART_GAP_NS: i64 = 10_000_000_000;

/// A step forward that no loss explains: a jump.
const JUMP: i64 = 1 << 20;
/// A step back that is another count at once.
const RUN_STEP: i64 = 1 << 24;
/// A step back beyond any anti-replay window is another count if the next number goes on from it, by this much at the most.
const LARGEST_WINDOW: i64 = 4_096;
const GOES_ON: u32 = 64;

/// Counts one SA's numbers, given in capture order with their times.
pub fn count_sequence(numbers: &[(u32, i64)]) -> SequenceCount {
    let mut count = SequenceCount::default();
    let Some((first, last)) = numbers.first().zip(numbers.last()) else {
        return count;
    };
    count.first = first.0;
    count.last = last.0;
    let mut runs: Vec<Vec<i64>> = Vec::new();
    let mut previous: Option<(u32, i64)> = None;
    for (index, &(number, time)) in numbers.iter().enumerate() {
        let begins = numbers.get(index + 1).is_some_and(|(next, _)| next.wrapping_sub(number) <= GOES_ON);
        let step = previous.map(|(before, then)| (i64::from(number.wrapping_sub(before).cast_signed()), time - then));
        match (step, runs.last_mut()) {
            (Some((step, gap)), Some(run))
                if !(step < 0 && gap >= RESTART_GAP_NS
                    || !(-RUN_STEP..=JUMP).contains(&step)
                    || step < -LARGEST_WINDOW && begins) =>
            {
                let unwrapped = run.last().expect("a run is never empty") + step;
                run.push(unwrapped);
            }
            (Some(_), _) => {
                if previous.is_some_and(|(before, _)| number < before) {
                    count.restarts += 1;
                }
                runs.push(vec![i64::from(number)]);
            }
            (None, _) => runs.push(vec![i64::from(number)]),
        }
        previous = Some((number, time));
    }
    for run in &runs {
        let mut seen = BTreeSet::new();
        let mut highest = i64::MIN;
        for &number in run {
            if !seen.insert(number) {
                count.duplicate += 1;
            } else if number < highest {
                count.late += 1;
            }
            highest = highest.max(number);
        }
        let (low, high) = (*seen.first().expect("not empty"), *seen.last().expect("not empty"));
        count.lost += (high - low + 1).unsigned_abs() - seen.len() as u64;
        for (a, b) in seen.iter().zip(seen.iter().skip(1)) {
            if b - a > 1 {
                count.gaps += 1;
                count.longest_gap = count.longest_gap.max((b - a - 1).unsigned_abs());
            }
        }
        count.wraps += ((high >> 32) - (low >> 32)).unsigned_abs();
        count.highest = high.unsigned_abs();
        for window in WINDOWS {
            *count.would_drop.entry(window).or_default() += simulate_window(run, window);
        }
    }
    count.would_drop.retain(|_, dropped| *dropped > 0);
    count
}

/// An anti-replay window as RFC 4303 appendix A2 describes it, without its bit map.
fn simulate_window(run: &[i64], window: u64) -> u64 {
    let window = i64::try_from(window).expect("a small window");
    let mut accepted = BTreeSet::new();
    let mut top = i64::MIN;
    let mut dropped = 0;
    for &number in run {
        if top != i64::MIN && number <= top - window || !accepted.insert(number) {
            dropped += 1;
        }
        top = top.max(number);
    }
    dropped
}

/// A copy is counted where the same bytes were seen within this time.
const COPY_WINDOW_NS: i64 = 10_000_000;

/// Which frames (by index) repeat an earlier one within the copy window.
pub fn copies(packets: &[Packet]) -> BTreeSet<usize> {
    let mut seen: HashMap<(&[u8], u64), Vec<i64>> = HashMap::new();
    let mut found = BTreeSet::new();
    for (index, packet) in packets.iter().enumerate() {
        let Some(outer) = packet.outer else { continue };
        let times = seen.entry((&packet.masked, outer.bytes)).or_default();
        if times.last().is_some_and(|last| packet.time_ns - last > COPY_WINDOW_NS) {
            times.clear();
        }
        if ends_cluster(times, packet.time_ns) {
            found.insert(index);
        }
        times.push(packet.time_ns);
    }
    found
}

/// Whether a packet at `time` is one of two to four equal ones that are much nearer to each other than to the equal ones before them.
fn ends_cluster(times: &[i64], time: i64) -> bool {
    (1..=3.min(times.len())).any(|back| {
        let at = times.len() - back;
        let cluster = time - times[at];
        let short = match at.checked_sub(1) {
            Some(before) => cluster * 10 <= times[at] - times[before],
            // The first ones: about equally far apart.
            None if back == 1 => true,
            None => time - times[times.len() - 1] <= 100 * (times[times.len() - 1] - times[times.len() - 2]),
        };
        cluster <= COPY_WINDOW_NS && short
    })
}

/// Whether so many copies make a tap a copying one.
pub fn copying_tap(packets: &[Packet], copies: &BTreeSet<usize>) -> bool {
    !copies.is_empty() && copies.len() * 5 >= packets.len()
}

/// Counts every SA of a capture. On a copying tap the figures are given without the copies.
pub fn count_sas(packets: &[Packet]) -> BTreeMap<SaId, SaCount> {
    struct Open {
        sas: Vec<SaId>,
        time_ns: i64,
        /// Which packet of each SA the fragment belongs to.
        sizes_at: usize,
    }
    let copied = copies(packets);
    let copying = copying_tap(packets, &copied);
    let mut counts: BTreeMap<SaId, SaCount> = BTreeMap::new();
    let mut numbers: BTreeMap<SaId, Vec<(u32, i64)>> = BTreeMap::new();
    // Outer octets of every packet by its place here; fragments add to it.
    let mut sizes: Vec<(Vec<SaId>, u64)> = Vec::new();
    let mut open: HashMap<(IpAddr, IpAddr, u16, u8), Open> = HashMap::new();
    for (index, packet) in packets.iter().enumerate() {
        let Some(outer) = packet.outer else { continue };
        let train = (outer.src, outer.dst, outer.id, outer.protocol);
        if packet.later_fragment() {
            if let Some(head) = open.get_mut(&train).filter(|head| packet.time_ns - head.time_ns <= 2_000_000_000) {
                head.time_ns = packet.time_ns;
                sizes[head.sizes_at].1 += outer.bytes;
                for id in &head.sas {
                    let count = counts.get_mut(id).expect("a head was counted");
                    count.fragments += 1;
                    count.outer_bytes += outer.bytes;
                }
            }
            continue;
        }
        let ids: Vec<SaId> =
            packet.sas.iter().map(|sa| SaId { proto: sa.proto, src: outer.src, dst: outer.dst, spi: sa.spi }).collect();
        if ids.is_empty() {
            continue;
        }
        let removed = copying && copied.contains(&index);
        for (id, sa) in ids.iter().zip(&packet.sas) {
            let count = counts.entry(*id).or_insert_with(|| SaCount {
                first_ns: packet.time_ns,
                first_frame: packet.frame,
                encapsulation: packet.encapsulation.to_owned(),
                ..SaCount::default()
            });
            count.last_ns = packet.time_ns;
            count.last_frame = packet.frame;
            count.visible |= packet.inner.is_some();
            if removed {
                count.copies_removed += 1;
            } else {
                count.frames += 1;
                count.outer_bytes += outer.bytes;
                numbers.entry(*id).or_default().push((sa.sequence, packet.time_ns));
            }
        }
        if packet.is_fragment() {
            open.insert(train, Open { sas: ids.clone(), time_ns: packet.time_ns, sizes_at: sizes.len() });
        }
        if !removed {
            sizes.push((ids, outer.bytes));
        }
    }
    for (ids, bytes) in sizes {
        for id in ids {
            *counts.get_mut(&id).expect("counted").outer_sizes.entry(bytes).or_default() += 1;
        }
    }
    for (id, numbers) in numbers {
        counts.get_mut(&id).expect("counted").sequence = count_sequence(&numbers);
    }
    counts
}

/// One row of the overhead table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SizeCount {
    pub frames: u64,
    pub outer_min: u64,
    pub outer_max: u64,
    pub outer_sum: u64,
    pub l1_sum: u64,
    pub pad_sum: u64,
    pub first_ns: i64,
    pub last_ns: i64,
}

/// Rows of visible encapsulation: by source and destination of the outer header, SA where there is one, encapsulation and inner length.
pub type SizeKey = (IpAddr, IpAddr, Option<SaId>, String, u64);

/// Overhead of every visible encapsulated packet.
pub fn count_sizes(packets: &[Packet]) -> BTreeMap<SizeKey, SizeCount> {
    let copied = copies(packets);
    let copying = copying_tap(packets, &copied);
    let mut rows: BTreeMap<SizeKey, SizeCount> = BTreeMap::new();
    for (index, packet) in packets.iter().enumerate() {
        let (Some(outer), Some(inner)) = (packet.outer, packet.inner) else { continue };
        if copying && copied.contains(&index) {
            continue;
        }
        let sa = packet.sas.first().map(|sa| SaId { proto: sa.proto, src: outer.src, dst: outer.dst, spi: sa.spi });
        let from = packet.stack.iter().position(|layer| layer.starts_with("ipv")).expect("an IP layer");
        let to = if packet.esp_null.is_some() {
            packet.stack.len()
        } else {
            packet.stack.iter().rposition(|layer| matches!(*layer, "ipv4" | "ipv6")).expect("an inner IP layer")
        };
        let row = rows.entry((outer.src, outer.dst, sa, packet.stack[from..to].join("/"), inner.bytes)).or_default();
        if row.frames == 0 {
            row.first_ns = packet.time_ns;
            row.outer_min = u64::MAX;
        }
        row.frames += 1;
        row.outer_min = row.outer_min.min(outer.bytes);
        row.outer_max = row.outer_max.max(outer.bytes);
        row.outer_sum += outer.bytes;
        row.l1_sum += packet.l1_bytes();
        row.pad_sum += packet.esp_null.as_ref().map_or(0, |null| null.pad.len() as u64);
        row.last_ns = packet.time_ns;
    }
    rows
}

/// Octets and frames of one direction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DirectionCount {
    pub frames: u64,
    pub first_ns: i64,
    pub last_ns: i64,
    pub l1: u64,
    pub control_l1: u64,
    pub l2: u64,
    pub l3: u64,
    pub clear_l3: u64,
    pub inner_l3: u64,
    pub has_opaque: bool,
    pub has_control: bool,
    pub has_ike: bool,
}

/// Sums per sender: its MAC as text, or its address on links without. On a copying tap the copies are left out; a sender
/// of nothing but copies has no frames.
pub fn count_directions(packets: &[Packet]) -> BTreeMap<String, DirectionCount> {
    let copied = copies(packets);
    let copying = copying_tap(packets, &copied);
    let mut directions: BTreeMap<String, DirectionCount> = BTreeMap::new();
    for (index, packet) in packets.iter().enumerate() {
        let from = match (packet.macs, packet.outer) {
            (Some((src, _)), _) => mac_text(src),
            (None, Some(ip)) => ip.src.to_string(),
            (None, None) => continue,
        };
        let sum = directions.entry(from).or_default();
        if copying && copied.contains(&index) {
            continue;
        }
        if sum.frames == 0 {
            (sum.first_ns, sum.last_ns) = (packet.time_ns, packet.time_ns);
        }
        sum.frames += 1;
        sum.first_ns = sum.first_ns.min(packet.time_ns);
        sum.last_ns = sum.last_ns.max(packet.time_ns);
        sum.has_ike |= packet.ike;
        if packet.control {
            sum.has_control = true;
            sum.control_l1 += packet.l1_bytes();
            continue;
        }
        sum.l1 += packet.l1_bytes();
        sum.l2 += packet.l2_bytes();
        if let Some(ip) = packet.outer {
            sum.l3 += ip.bytes;
            if packet.clear() {
                sum.clear_l3 += ip.bytes;
            }
        }
        match packet.inner {
            Some(inner) => sum.inner_l3 += inner.bytes,
            None => sum.has_opaque |= !packet.sas.is_empty(),
        }
    }
    directions
}

/// A MAC as reports write it.
pub fn mac_text(mac: [u8; 6]) -> String {
    mac.map(|octet| format!("{octet:02x}")).join(":")
}

/// Ethernet padding of one sender: what octets it is made of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Pattern {
    Zero,
    Ff,
    Repeated,
    Other,
}

impl Pattern {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Zero => "zero",
            Self::Ff => "ff",
            Self::Repeated => "repeated",
            Self::Other => "other",
        }
    }

    fn of(pad: &[u8]) -> Self {
        match pad {
            [first, rest @ ..] if rest.iter().all(|octet| octet == first) => match first {
                0 => Self::Zero,
                0xff => Self::Ff,
                _ => Self::Repeated,
            },
            _ => Self::Other,
        }
    }
}

/// Frames, shortest and longest padding per sender and pattern.
pub fn count_padding(packets: &[Packet]) -> BTreeMap<(String, Pattern), (u64, u64, u64)> {
    let mut rows = BTreeMap::new();
    for packet in packets {
        let Some((src, _)) = packet.macs.filter(|_| !packet.trailer.is_empty()) else { continue };
        let bytes = packet.trailer.len() as u64;
        let row = rows.entry((mac_text(src), Pattern::of(&packet.trailer))).or_insert((0, u64::MAX, 0));
        *row = (row.0 + 1, row.1.min(bytes), row.2.max(bytes));
    }
    rows
}
