//! A glance at the frame that captures of IPsec are made of, without a stack.
//!
//! Ethernet with one VLAN tag or none, IPv4 without options, opaque ESP, nothing behind it: what a frame of this kind says fits a few words, and
//! analysis can take in a stream of them without looking further. Whatever is not exactly this frame is no such frame.

use super::digest;
use crate::capture::Frame;
use crate::dissect::ipsec::{look, null};
use crate::model::{Address, LinkType};

/// Octets of the Ethernet header without tag.
const ETHERNET: usize = 14;
/// Octets of a VLAN tag (IEEE 802.1Q clause 9.3).
const TAG: usize = 4;
/// Octets of the headers in front of the payload.
const HEADERS: usize = 20 + 8;
/// Payload octets that must have been captured.
const LEAST: usize = 16;
/// The octets that a glance reads: those of a frame without tag, or what follows its first four.
type Head = [u8; ETHERNET + HEADERS + LEAST];

/// What a frame of opaque ESP says, in words as they stand in the frame (the first octet weighs least), so that comparing two frames
/// takes an operation for each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Glance {
    /// Destination MAC and the first two octets of the source MAC.
    pub macs: u64,
    /// The other four octets of the source MAC.
    pub macs_end: u32,
    /// Source and destination address.
    pub addresses: u64,
    /// SPI.
    pub spi: u32,
    /// Sequence number, as a number.
    pub sequence: u32,
    /// Its lengths.
    pub form: Form,
    /// The packet's digest: addresses, length, identification, SPI, sequence number and sixteen octets more.
    pub digest: u64,
}

/// The lengths of a frame that has a [`Glance`], as one word: IPv4 total length, octets in front of it, and captured octets in the
/// upper half.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Form(u64);

impl Form {
    /// Bits that no frame's form has: its users may mark their own with them.
    pub(crate) const FREE: u64 = 0xffff_0000_0000_0000;

    #[inline(always)]
    const fn new(total_bytes: u16, link_bytes: usize, captured_bytes: usize) -> Self {
        Self(total_bytes as u64 | (link_bytes as u64) << 16 | (captured_bytes as u64) << 32)
    }

    /// The word.
    #[inline(always)]
    pub(crate) const fn word(self) -> u64 {
        self.0
    }

    /// A form whose bits of [`Form::FREE`] are masked.
    #[inline(always)]
    pub(crate) const fn of_word(word: u64) -> Self {
        Self(word & !Self::FREE)
    }

    /// IPv4 total length.
    #[inline(always)]
    #[must_use]
    pub const fn total_bytes(self) -> u32 {
        self.0 as u16 as u32
    }

    /// Octets of the Ethernet header with its tag.
    #[inline(always)]
    #[must_use]
    pub const fn link_bytes(self) -> u32 {
        (self.0 >> 16) as u16 as u32
    }

    /// Octets of the frame on the wire, without FCS.
    #[inline(always)]
    #[must_use]
    pub const fn wire_bytes(self) -> u32 {
        self.link_bytes() + self.total_bytes()
    }

    /// Captured octets of the frame.
    #[inline(always)]
    #[must_use]
    pub const fn captured_bytes(self) -> u32 {
        (self.0 >> 32) as u16 as u32
    }

    /// Whether a snapshot length cut the frame.
    #[must_use]
    pub const fn is_cut(self) -> bool {
        self.captured_bytes() < self.wire_bytes()
    }

    /// Whether the payload was checked against the ESP-NULL candidates: [`super::Stack::null_checked`].
    #[must_use]
    pub const fn is_null_checked(self) -> bool {
        // An ESP header, eight octets of IV and an IPv6 header's forty.
        !self.is_cut() || self.captured_bytes() >= self.link_bytes() + 20 + 56
    }
}

/// The octets behind the ESP header of a frame of this form.
#[inline]
pub(crate) fn behind_esp(data: &[u8], form: Form) -> &[u8] {
    data.get(form.link_bytes() as usize + HEADERS..).unwrap_or_default()
}

/// Looks at a frame; `None` for every frame that is not exactly of this kind.
#[inline]
#[must_use]
pub fn glance(frame: &Frame<'_>) -> Option<Glance> {
    let (glance, doubtful) = first_look(frame)?;
    (!doubtful || is_opaque(frame, &glance)).then_some(glance)
}

/// Looks at a frame, but for the question whether its payload may lie in clear: for most it is answered at once, for the others
/// [`worth_dissecting`] and [`glance`] answer it.
#[inline(always)]
pub(crate) fn first_look(frame: &Frame<'_>) -> Option<(Glance, bool)> {
    match frame.data.get(12..14)? {
        [0x08, 0x00] => look_at::<ETHERNET>(frame),
        [0x81, 0x00] => look_behind_tag(frame),
        _ => None,
    }
}

#[inline(never)]
fn look_behind_tag(frame: &Frame<'_>) -> Option<(Glance, bool)> {
    look_at::<{ ETHERNET + TAG }>(frame)
}

/// Looks at a frame whose IP packet begins at `IP_AT`.
#[inline(always)]
fn look_at<const IP_AT: usize>(frame: &Frame<'_>) -> Option<(Glance, bool)> {
    let data = frame.data;
    let behind_tag = data.get(IP_AT - ETHERNET..)?;
    let (head, ends) = (behind_tag.first_chunk()?, data.first_chunk()?);
    let (macs, kind, lengths) = (word::<0>(ends), word::<8>(head), word::<16>(head));
    let total_bytes = (lengths as u16).swap_bytes();
    // Two words hold EtherType, version and header length (8, 0, 0x45), and fragment and protocol (50).
    let wrong = ((kind ^ 0x0045_0008_0000_0000) & 0x00ff_ffff_0000_0000)
        | ((lengths ^ 0x3200_0000_0000_0000) & 0xff00_ff3f_0000_0000)
        | u64::from(frame.wire_bytes ^ (IP_AT as u32 + u32::from(total_bytes)))
        | u64::from(total_bytes % 4)
        | u64::from(frame.link.0 ^ LinkType::ETHERNET.0)
        | u64::from(frame.fcs_bytes);
    let wire = frame.wire_bytes as usize;
    if wrong != 0 || data.len() > wire || wire > super::LONGEST_FRAME as usize {
        return None;
    }
    let (addresses, esp) = (word::<26>(head), word::<34>(head));
    let glance = Glance {
        macs,
        macs_end: word::<8>(ends) as u32,
        addresses,
        spi: esp as u32,
        sequence: ((esp >> 32) as u32).swap_bytes(),
        form: Form::new(total_bytes, IP_AT, data.len()),
        digest: [esp, word::<42>(head), word::<50>(head)].into_iter().fold(
            digest::begin(
                Address::v4((addresses as u32).to_le_bytes()),
                Address::v4(((addresses >> 32) as u32).to_le_bytes()),
                u32::from(total_bytes),
                ((lengths >> 16) as u32).swap_bytes(),
                50,
            ),
            digest::mix,
        ),
    };
    Some((glance, look::may_be_worth_a_look(behind_esp(data, glance.form), data.len() == wire)))
}

/// The eight octets from `AT` on.
#[inline(always)]
fn word<const AT: usize>(head: &Head) -> u64 {
    const { assert!(AT + 8 <= size_of::<Head>()) };
    // One load: put together of single octets, it is taken apart again for each use.
    head.get(AT..).and_then(<[u8]>::first_chunk).map_or(0, |octets| u64::from_le_bytes(*octets))
}

/// Whether the payload of a frame of this form, which a first look doubts, may still lie in clear.
#[inline]
pub(crate) fn worth_dissecting(frame: &Frame<'_>, form: Form) -> bool {
    look::worth_a_second_look(behind_esp(frame.data, form), !form.is_cut())
}

/// Whether dissection would find nothing in the payload of a frame that a first look doubts.
#[inline(never)]
fn is_opaque(frame: &Frame<'_>, glance: &Glance) -> bool {
    if !worth_dissecting(frame, glance.form) {
        return true;
    }
    let address = |word: u64| Address::v4((word as u32).to_le_bytes());
    let suspect = null::Suspect {
        sa: 0,
        payload: behind_esp(frame.data, glance.form),
        wire_bytes: glance.form.total_bytes() as usize - HEADERS,
        endpoints: Some((address(glance.addresses), address(glance.addresses >> 32))),
        declared: None,
    };
    let mut notes = Vec::new();
    suspect.check(&mut notes);
    notes.is_empty()
}
