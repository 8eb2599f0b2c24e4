//! What came of the packets of one frame.

use std::fmt;

use crate::capture::Frame;
use crate::decrypt::Icv;
use crate::dissect::{DissectOptions, IpHeader, OpenedEsp, SaHeader, Stack, dissect_opened};
use crate::model::{Protocol, SaKey};
use crate::wire::ipsec;

use super::attempt::{Fit, Hint};

/// A frame, opened as far as there are keys. Used again for the next frame.
#[derive(Clone, Default)]
pub struct Unlocked {
    /// One for each header that has a key, from the outside in.
    pub(super) checks: Vec<Check>,
    opened: Vec<OpenedEsp>,
    octets: Vec<u8>,
    stack: Stack,
}

/// What came of one AH or ESP header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Check {
    /// The header as it stands in the frame.
    pub header: SaHeader,
    /// Its SA.
    pub sa: SaKey,
    /// The integrity check: verified under one key, failed under all, or not checked.
    pub icv: Icv,
    /// The key under which it verified, or, where nothing can be checked, under which the decrypted packet holds together: its number
    /// among [`Keyring::keys_of`](super::Keyring::keys_of) the SA.
    pub by: Option<u16>,
    /// How it verifies under that key.
    pub fit: Fit,
    /// ESP: it was decrypted, to something that holds together.
    pub opened: bool,
    /// Whether it was tried with other transforms and other keys, because it fails under those of the SA.
    pub probed: bool,
    /// What of these it would verify or decrypt with.
    pub hint: Option<Hint>,
}

/// The packet that was protected, without what protects it.
#[derive(Clone, Copy, Debug)]
pub struct InnerPacket<'u> {
    /// Its IP header: in tunnel mode its own, in transport mode the outer one, whose length and protocol are those of the protected packet.
    pub ip: &'u IpHeader,
    /// Octets of the IP header, as they stand in the frame.
    pub header: &'u [u8],
    /// What follows the IP header, as far as it was captured.
    pub payload: &'u [u8],
    /// Octets of the whole packet.
    pub bytes: u32,
    /// The protocol of the payload.
    pub protocol: u8,
    /// Whether it has an IP header of its own.
    pub tunnel: bool,
}

/// What transport mode protects: from where to where in the frame, and the protocol number where ESP said it last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Transported {
    start: u32,
    end: u32,
    /// The innermost SA header.
    last: SaHeader,
}

/// What transport mode protects, where all of it is visible: behind the outermost IP header stand nothing but AH and decrypted ESP.
pub(crate) fn transported(stack: &Stack) -> Option<Transported> {
    let ip = stack.ips.first()?;
    if stack.ips.len() > 1 || stack.opened.is_empty() {
        return None;
    }
    let (mut start, mut end) = (ip.offset + ip.header_bytes, ip.offset + ip.total_bytes);
    for sa in &stack.sas {
        match stack.opened(sa) {
            Some(opened) if !matches!(opened.next_header, 4 | 41 | 59) => {
                start = sa.offset + OpenedEsp::HEADER + u32::from(opened.iv_bytes);
                end = end.min(start + opened.payload_bytes);
            }
            None if sa.protocol == Protocol::Ah => start = sa.offset + sa.bytes,
            _ => return None,
        }
    }
    (start <= end).then_some(Transported { start, end, last: *stack.sas.last()? })
}

impl Transported {
    /// Octets of the packet that was protected, its IP header included.
    pub(crate) const fn bytes(&self, ip: &IpHeader) -> u32 {
        ip.header_bytes + (self.end - self.start)
    }
}

impl Unlocked {
    /// What came of each header that has a key, from the outside in.
    #[must_use]
    pub fn checks(&self) -> &[Check] {
        &self.checks
    }

    /// The dissection of the frame with everything in clear that was decrypted. Offsets are those of [`octets`](Self::octets), and the
    /// same as in the frame. `None` where nothing was decrypted: the frame's own dissection stands.
    #[must_use]
    pub fn stack(&self) -> Option<&Stack> {
        (!self.opened.is_empty()).then_some(&self.stack)
    }

    /// The frame's octets, plaintext in the place of ciphertext; empty where nothing was decrypted.
    #[must_use]
    pub fn octets(&self) -> &[u8] {
        &self.octets
    }

    /// The frame with plaintext in the place of ciphertext; `None` where nothing was decrypted.
    #[must_use]
    pub fn frame<'u>(&'u self, frame: &Frame<'_>) -> Option<Frame<'u>> {
        let Frame { pos, time, wire_bytes, data: _, link, interface, fcs_bytes, snap_bytes } = *frame;
        let data = self.octets.as_slice();
        self.stack().map(|_| Frame { pos, time, wire_bytes, data, link, interface, fcs_bytes, snap_bytes })
    }

    /// The packet that was protected, by the rule of the overhead figures; `None` where nothing was decrypted, in dummy packets, and where
    /// what was decrypted hides it in turn.
    #[must_use]
    pub fn inner(&self) -> Option<InnerPacket<'_>> {
        let stack = self.stack()?;
        let slice = |from: u32, to: u32| {
            let to = (to as usize).min(self.octets.len());
            self.octets.get(from as usize..to).unwrap_or_default()
        };
        if let Some(ip) = stack.encapsulated.and_then(|at| stack.ips.get(usize::from(at))) {
            let behind = ip.offset + ip.header_bytes;
            return Some(InnerPacket {
                ip,
                header: slice(ip.offset, behind),
                payload: slice(behind, ip.offset + ip.total_bytes),
                bytes: ip.total_bytes,
                protocol: ip.protocol,
                tunnel: true,
            });
        }
        let (ip, inside) = (stack.outer()?, transported(stack)?);
        let protocol = match stack.opened(&inside.last) {
            Some(opened) => opened.next_header,
            None => *self.octets.get(inside.last.offset as usize)?,
        };
        Some(InnerPacket {
            ip,
            header: slice(ip.offset, ip.offset + ip.header_bytes),
            payload: slice(inside.start, inside.end),
            bytes: inside.bytes(ip),
            protocol,
            tunnel: false,
        })
    }

    pub(super) fn clear(&mut self) {
        self.checks.clear();
        self.opened.clear();
        self.octets.clear();
    }

    /// Puts the plaintext of an ESP packet in the place of its ciphertext and dissects the frame again.
    pub(super) fn open(&mut self, frame: &Frame<'_>, opened: OpenedEsp, plain: &[u8], options: &DissectOptions) {
        if self.opened.is_empty() {
            self.octets.extend_from_slice(frame.data);
        }
        let start = opened.offset as usize + ipsec::Esp::BYTES + usize::from(opened.iv_bytes);
        if let Some(place) = self.octets.get_mut(start..start + plain.len()) {
            place.copy_from_slice(plain);
        }
        self.opened.push(opened);
        let frame = Frame { data: &self.octets, ..*frame };
        dissect_opened(&frame, options, &self.opened, &mut self.stack);
    }

    /// Writes the packet as it was when this AH was made: without the headers between it and its IP header, and without what stands
    /// behind it. False where that cannot be told.
    pub(super) fn packet_of(
        &self,
        frame: &Frame<'_>,
        stack: &Stack,
        ah: &SaHeader,
        ip: &IpHeader,
        out: &mut Vec<u8>,
    ) -> bool {
        out.clear();
        let (stack, octets) = self.stack().map_or((stack, frame.data), |stack| (stack, &self.octets));
        let around = stack.sas.iter().filter(|sa| sa.ip == ah.ip && sa.offset < ah.offset);
        let ends = around
            .filter_map(|sa| stack.opened(sa))
            .map(|opened| opened.offset + OpenedEsp::HEADER + u32::from(opened.iv_bytes) + opened.payload_bytes);
        let end = ends.chain(std::iter::once(ip.offset + ip.total_bytes)).min().unwrap_or(0);
        let behind = (ip.offset + ip.header_bytes) as usize;
        let parts = (octets.get(ip.offset as usize..behind), octets.get(ah.offset as usize..end as usize));
        let (Some(header), Some(rest)) = parts else { return false };
        out.extend_from_slice(header);
        out.extend_from_slice(rest);
        // The first header names AH as what follows, and the length is that of this packet.
        let (length_at, length, next_at) = match ip.version {
            4 => (2, out.len(), 9),
            6 if header.len() == 40 => (4, rest.len(), 6),
            _ => return false,
        };
        let (Ok(length), Some(field)) = (u16::try_from(length), out.get_mut(length_at..length_at + 2)) else {
            return false;
        };
        field.copy_from_slice(&length.to_be_bytes());
        if let Some(next) = out.get_mut(next_at) {
            *next = 51;
        }
        true
    }
}

impl fmt::Debug for Unlocked {
    /// The verdicts, nothing of what was decrypted.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unlocked").field("checks", &self.checks).finish_non_exhaustive()
    }
}
