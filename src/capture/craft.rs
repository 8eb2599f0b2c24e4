//! Captures crafted octet by octet for tests, and inputs that deliver them badly.

use std::io::{self, Read};

use super::byte_order::ByteOrder;

/// Writes integers in one byte order.
#[derive(Clone, Copy)]
pub(crate) struct Pen(pub(crate) ByteOrder);

pub(crate) const LE: Pen = Pen(ByteOrder::Little);
pub(crate) const BE: Pen = Pen(ByteOrder::Big);

impl Pen {
    pub(crate) fn u16(self, value: u16) -> [u8; 2] {
        if self.0 == ByteOrder::Little { value.to_le_bytes() } else { value.to_be_bytes() }
    }

    pub(crate) fn u32(self, value: u32) -> [u8; 4] {
        if self.0 == ByteOrder::Little { value.to_le_bytes() } else { value.to_be_bytes() }
    }

    pub(crate) fn u64(self, value: u64) -> [u8; 8] {
        if self.0 == ByteOrder::Little { value.to_le_bytes() } else { value.to_be_bytes() }
    }

    /// A pcap file header, version 2.4, Ethernet.
    pub(crate) fn pcap(self, magic: u32, snaplen: u32) -> Vec<u8> {
        let mut out = self.u32(magic).to_vec();
        out.extend([self.u16(2), self.u16(4)].concat());
        out.extend([0; 8]);
        out.extend([self.u32(snaplen), self.u32(1)].concat());
        out
    }

    /// A record header; data is to follow.
    pub(crate) fn record(self, seconds: u32, fraction: u32, captured: u32, original: u32) -> Vec<u8> {
        [self.u32(seconds), self.u32(fraction), self.u32(captured), self.u32(original)].concat()
    }

    /// A pcapng block around `body`, which is padded.
    pub(crate) fn block(self, kind: u32, body: &[u8]) -> Vec<u8> {
        let padding = body.len().wrapping_neg() % 4;
        let length = self.u32((12 + body.len() + padding) as u32);
        [&self.u32(kind), &length, body, &vec![0; padding], &length].concat()
    }

    /// A section header block with `options`.
    pub(crate) fn section(self, options: &[u8]) -> Vec<u8> {
        let body = [&self.u32(0x1a2b_3c4d)[..], &self.u16(1), &self.u16(0), &[0xff; 8], options].concat();
        self.block(0x0a0d_0d0a, &body)
    }

    /// An option with its padding.
    pub(crate) fn option(self, code: u16, value: &[u8]) -> Vec<u8> {
        let padding = value.len().wrapping_neg() % 4;
        [&self.u16(code)[..], &self.u16(value.len() as u16), value, &vec![0; padding]].concat()
    }

    /// An interface description block.
    pub(crate) fn interface(self, link: u16, snaplen: u32, options: &[u8]) -> Vec<u8> {
        self.block(1, &[&self.u16(link)[..], &[0, 0], &self.u32(snaplen), options].concat())
    }

    /// An enhanced packet block with `data` whole.
    pub(crate) fn packet(self, interface: u32, ticks: u64, data: &[u8], options: &[u8]) -> Vec<u8> {
        self.lying_packet(interface, ticks, data.len() as u32, data, options)
    }

    /// An enhanced packet block that claims `captured` octets of data.
    pub(crate) fn lying_packet(
        self,
        interface: u32,
        ticks: u64,
        captured: u32,
        data: &[u8],
        options: &[u8],
    ) -> Vec<u8> {
        let mut body =
            [interface, (ticks >> 32) as u32, ticks as u32, captured, captured].map(|word| self.u32(word)).concat();
        body.extend(data);
        body.resize(body.len().next_multiple_of(4), 0);
        body.extend(options);
        self.block(6, &body)
    }
}

/// An input that delivers at most `step` octets at a time and is interrupted before each.
pub(crate) struct Dribble {
    pub(crate) bytes: Vec<u8>,
    pub(crate) at: usize,
    pub(crate) step: usize,
    pub(crate) interrupted: bool,
    /// What comes instead of an end of the input.
    pub(crate) failure: Option<&'static str>,
}

impl Dribble {
    pub(crate) fn new(bytes: &[u8], step: usize) -> Self {
        Self { bytes: bytes.to_vec(), at: 0, step, interrupted: false, failure: None }
    }
}

impl Read for Dribble {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.interrupted = !self.interrupted;
        if self.interrupted {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let n = self.step.min(buffer.len()).min(self.bytes.len() - self.at);
        if n == 0
            && let Some(failure) = self.failure
        {
            return Err(io::Error::other(failure));
        }
        buffer[..n].copy_from_slice(&self.bytes[self.at..self.at + n]);
        self.at += n;
        Ok(n)
    }
}
