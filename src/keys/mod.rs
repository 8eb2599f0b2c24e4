//! Keys that the policies state, and packets opened with them.
//!
//! A [`Keyring`] takes a dissected frame, checks the ICV of every AH and ESP header whose SA has a key, from the outside in, decrypts ESP
//! and goes on inside: AH in ESP, ESP in ESP, GRE, all that dissection knows. The routers of one SA may state different keys; each distinct
//! one is tried, whoever states it, and each [`Check`] says under which key a packet verifies. What fails is tried with what a sender may
//! have made of the same keys: extended sequence numbers or none, an ICV of another length, another integrity algorithm, the key of
//! another SA between the same ends.
//!
//! What comes of a packet depends on that packet and the keys alone, never on the packets before it: analysis counts it, and counts
//! must not change with where a stream is cut. So the high halves that extended sequence numbers may have are a fixed set for each key,
//! and the half that verified last is only the first to be tried.
//!
//! Packets in IP fragments are not opened; a capture that holds the whole packet, reassembled, opens like any other.

#![expect(
    clippy::arithmetic_side_effects,
    reason = "offsets and lengths of headers that dissection found in a frame of less than 2^32 bytes, each with what it had room for"
)]

mod alternatives;
mod attempt;
mod dissector;
pub(crate) mod expectation;
mod holder;
mod limits;
mod lock;
mod tool;
mod unlocked;

use std::fmt;
use std::sync::Arc;

pub use attempt::{Fit, Hint};
pub use holder::{Ends, Holder, Unusable};
pub use unlocked::{Check, InnerPacket, Unlocked};

pub(crate) use dissector::{Dissector, Sight};
pub(crate) use limits::MAX_HIGH_HALVES;
pub(crate) use unlocked::transported;

use crate::capture::Frame;
use crate::decrypt::{Packet, Unchecked};
use crate::dissect::{DissectOptions, IpHeader, OpenedEsp, SaHeader, Stack};
use crate::keys::expectation::Expectation;
use crate::model::{Protocol, SaKey};
use attempt::{Attempt, Memory};
pub(crate) use lock::{Lock, Locks};

/// The keys of all SAs that have one, and the buffers to open packets with. A clone shares the keys.
#[derive(Clone)]
pub struct Keyring {
    locks: Arc<Locks>,
    options: DissectOptions,
    memory: Memory,
    unlocked: Unlocked,
    plain: Vec<u8>,
    rebuilt: Vec<u8>,
}

impl Keyring {
    /// The keys that the policies state. `options` are those that the frames are dissected with.
    #[must_use]
    pub fn new(expectation: &Expectation, options: &DissectOptions) -> Self {
        let locks = Arc::clone(expectation.locks());
        let memory = Memory::new(&locks);
        let (unlocked, plain, rebuilt) = Default::default();
        Self { locks, options: options.clone(), memory, unlocked, plain, rebuilt }
    }

    /// Whether there is no key at all.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.locks.len() == 0
    }

    /// Whether there is a key for this SA.
    #[must_use]
    pub fn holds(&self, sa: &SaKey) -> bool {
        self.locks.of(sa).next().is_some()
    }

    /// Who states each key of this SA, in the order of the numbers in [`Check::by`].
    pub fn keys_of(&self, sa: &SaKey) -> impl Iterator<Item = &[Holder]> {
        self.locks.of(sa).map(|candidate| candidate.lock.holders())
    }

    /// Keys that cannot be used, and why: with them nothing is checked.
    #[must_use]
    pub fn unusable(&self) -> &[Unusable] {
        self.locks.unusable()
    }

    /// Checks and opens what there are keys for in a frame, of which `stack` is the dissection. `None` where no header of the frame has
    /// a key; that is decided before anything is copied.
    #[inline]
    pub fn open(&mut self, frame: &Frame<'_>, stack: &Stack) -> Option<&Unlocked> {
        if self.is_empty() || stack.sas.is_empty() { None } else { self.open_keyed(frame, stack) }
    }

    fn open_keyed(&mut self, frame: &Frame<'_>, stack: &Stack) -> Option<&Unlocked> {
        self.unlocked.clear();
        let mut at = 0;
        // Decrypting may bring further headers, behind those that were there.
        while let Some((header, ip, sa)) = self.header(stack, at) {
            if self.locks.of(&sa).next().is_some() {
                let attempt = match header.protocol {
                    Protocol::Esp => self.esp(frame, stack, &header, &sa),
                    _ => Some(self.ah(frame, stack, &header, &ip, &sa)),
                };
                if let Some(Attempt { icv, by, fit, opened, probed, hint }) = attempt {
                    let check = Check { header, sa, icv, by, fit, opened: opened.is_some(), probed, hint };
                    self.unlocked.checks.push(check);
                    if let Some(opened) = opened {
                        let opened = OpenedEsp { offset: header.offset, ..opened };
                        self.unlocked.open(frame, opened, &self.plain, &self.options);
                    }
                }
            }
            at += 1;
        }
        (!self.unlocked.checks.is_empty()).then_some(&self.unlocked)
    }

    /// Header number `at` of what is known of the frame so far, the IP header around it, and its SA.
    fn header(&self, stack: &Stack, at: usize) -> Option<(SaHeader, IpHeader, SaKey)> {
        let stack = self.unlocked.stack().unwrap_or(stack);
        let header = *stack.sas.get(at)?;
        let ip = *stack.ips.get(usize::from(header.ip))?;
        let sa = SaKey { protocol: header.protocol, src: ip.src, dst: ip.dst, spi: header.spi };
        Some((header, ip, sa))
    }

    /// Tries the keys of an ESP packet; its plaintext is in `plain` where there is one.
    fn esp(&mut self, frame: &Frame<'_>, stack: &Stack, header: &SaHeader, sa: &SaKey) -> Option<Attempt> {
        let Self { locks, memory, unlocked, plain, .. } = self;
        let known = unlocked.stack().unwrap_or(stack);
        // The end of a sliced frame is not the packet's.
        if stack.flags.sliced {
            let own = locks.of(sa).any(|candidate| candidate.own);
            return own.then(|| Attempt::unchecked(Unchecked::Cut));
        }
        if known.ips.iter().take(usize::from(header.ip) + 1).any(IpHeader::is_fragment) {
            let own = locks.of(sa).any(|candidate| candidate.own);
            return own.then(|| Attempt::unchecked(Unchecked::Fragment));
        }
        let octets = if unlocked.stack().is_some() { unlocked.octets() } else { frame.data };
        let behind = octets.get(header.offset as usize..).unwrap_or_default();
        let packet = Packet::captured(behind, header.bytes as usize);
        attempt::esp(locks, memory, sa, packet, plain)
    }

    /// Tries the keys of an AH packet.
    fn ah(&mut self, frame: &Frame<'_>, stack: &Stack, header: &SaHeader, ip: &IpHeader, sa: &SaKey) -> Attempt {
        let Self { locks, memory, unlocked, rebuilt, .. } = self;
        if stack.flags.sliced {
            return Attempt::unchecked(Unchecked::Cut);
        }
        let packet = if header.offset == ip.offset + ip.header_bytes {
            let octets = if unlocked.stack().is_some() { unlocked.octets() } else { frame.data };
            octets.get(ip.offset as usize..).unwrap_or_default()
        } else if unlocked.packet_of(frame, stack, header, ip, rebuilt) {
            rebuilt
        } else {
            return Attempt::unchecked(Unchecked::NoAh);
        };
        attempt::ah(locks, memory, sa, header.sequence, packet)
    }
}

impl fmt::Debug for Keyring {
    /// How many keys there are, nothing of them and nothing of what was decrypted.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keyring({} keys)", self.locks.len())
    }
}
