//! Writes small captures, byte for byte the same every time. Shared by the tests and by `benches/tools/make_fixtures.rs`.
#![allow(dead_code)] // each user needs a part of it

/// One frame to be written.
#[derive(Clone, Debug)]
pub struct Out {
    /// Nanoseconds since the epoch.
    pub time_ns: u64,
    /// Captured octets.
    pub data: Vec<u8>,
    /// Octets on the wire; more than `data` holds where a snapshot length cut the frame.
    pub wire_bytes: u32,
}

impl Out {
    /// A frame that was captured whole.
    pub fn whole(time_ns: u64, data: Vec<u8>) -> Self {
        let wire_bytes = u32::try_from(data.len()).expect("a frame fits 32 bits");
        Self { time_ns, data, wire_bytes }
    }
}

/// Byte order of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Least significant octet first.
    Little,
    /// Most significant octet first.
    Big,
}

impl Order {
    fn u16(self, value: u16) -> [u8; 2] {
        if self == Self::Little { value.to_le_bytes() } else { value.to_be_bytes() }
    }

    fn u32(self, value: u32) -> [u8; 4] {
        if self == Self::Little { value.to_le_bytes() } else { value.to_be_bytes() }
    }
}

/// Resolution of a pcap file's timestamps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Magic 0xa1b2c3d4.
    Micro,
    /// Magic 0xa1b23c4d.
    Nano,
}

/// The link type of Ethernet.
pub const ETHERNET: u32 = 1;

const SNAPLEN: u32 = 262_144;

/// A pcap file.
pub fn pcap(frames: &[Out], link: u32, order: Order, step: Step) -> Vec<u8> {
    let magic = if step == Step::Micro { 0xa1b2_c3d4 } else { 0xa1b2_3c4d };
    let mut file = Vec::new();
    file.extend(order.u32(magic));
    file.extend(order.u16(2));
    file.extend(order.u16(4));
    for word in [0, 0, SNAPLEN, link] {
        file.extend(order.u32(word));
    }
    for frame in frames {
        let ns = frame.time_ns % 1_000_000_000;
        let fraction = if step == Step::Micro { ns / 1_000 } else { ns };
        for word in [
            u32::try_from(frame.time_ns / 1_000_000_000).expect("before 2106"),
            u32::try_from(fraction).expect("below one second"),
            u32::try_from(frame.data.len()).expect("a frame fits 32 bits"),
            frame.wire_bytes,
        ] {
            file.extend(order.u32(word));
        }
        file.extend(&frame.data);
    }
    file
}

/// A little-endian microsecond pcap file with Ethernet frames: what `tcpdump -w` writes.
pub fn plain_pcap(frames: &[Out]) -> Vec<u8> {
    pcap(frames, ETHERNET, Order::Little, Step::Micro)
}

/// A pcapng file: one section, one Ethernet interface with nanosecond timestamps, enhanced packet blocks.
pub fn pcapng(frames: &[Out], order: Order) -> Vec<u8> {
    pcapng_of_interfaces(frames.iter().map(|frame| (0, frame)), 1, order)
}

/// The same of several interfaces, each frame with its own.
pub fn pcapng_of_interfaces<'a>(
    frames: impl Iterator<Item = (u32, &'a Out)>,
    interfaces: usize,
    order: Order,
) -> Vec<u8> {
    let mut file = Vec::new();
    let mut section = Vec::new();
    section.extend(order.u32(0x1a2b_3c4d));
    section.extend(order.u16(1));
    section.extend(order.u16(0));
    section.extend([0xff; 8]);
    block(&mut file, order, 0x0a0d_0d0a, &section);
    let mut interface = Vec::new();
    interface.extend(order.u16(u16::try_from(ETHERNET).expect("one")));
    interface.extend(order.u16(0));
    interface.extend(order.u32(SNAPLEN));
    // if_tsresol (9): 10^-9 seconds; then the end of the options.
    interface.extend(order.u16(9));
    interface.extend(order.u16(1));
    interface.extend([9, 0, 0, 0]);
    interface.extend([0; 4]);
    (0..interfaces).for_each(|_| block(&mut file, order, 1, &interface));
    for (interface, frame) in frames {
        let mut packet = Vec::new();
        for word in [
            interface,
            u32::try_from(frame.time_ns >> 32).expect("the upper half"),
            u32::try_from(frame.time_ns & 0xffff_ffff).expect("the lower half"),
            u32::try_from(frame.data.len()).expect("a frame fits 32 bits"),
            frame.wire_bytes,
        ] {
            packet.extend(order.u32(word));
        }
        packet.extend(&frame.data);
        packet.resize(packet.len().next_multiple_of(4), 0);
        block(&mut file, order, 6, &packet);
    }
    file
}

fn block(file: &mut Vec<u8>, order: Order, kind: u32, body: &[u8]) {
    let bytes = u32::try_from(body.len() + 12).expect("a block fits 32 bits");
    file.extend(order.u32(kind));
    file.extend(order.u32(bytes));
    file.extend(body);
    file.extend(order.u32(bytes));
}
