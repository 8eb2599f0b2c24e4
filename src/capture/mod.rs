//! Bytes become frames: pcap and pcapng, plain or compressed, from files or standard input.
//!
//! [`CaptureReader`] hops over record headers, checks them, and hands out a [`Chunk`] of whole records at a time;
//! [`Chunk::frames`] reads them without errors, on any thread.
//!
//! # What is read
//!
//! Content decides, never the name.
//!
//! - pcap in both byte orders: microseconds (magic `a1b2c3d4`), nanoseconds (`a1b23c4d`), Kuznetsov's modified form with
//!   24-octet record headers (`a1b2cd34`), Ixia's `lcap` from hardware (`1c0001ac`, nanoseconds) and software
//!   (`1c0001ab`). Versions 2.x, with the two lengths of a record in the order of the version, DG/UX's 543.0, and AIX's
//!   2.2 with its own interface types and nanoseconds. The FCS length in the link type field.
//! - pcapng 1.0 and 1.2: any number of sections, each in its byte order; several interfaces; `if_tsresol` in both bases,
//!   `if_tsoffset`, `if_fcslen`, the FCS length in the packet flags; enhanced, simple and obsolete packet blocks; drops
//!   from interface statistics and as packets count them. All other blocks are skipped.
//! - Either of them inside gzip, zstd, lz4 (frame format), xz or bzip2, also several of these in a row.
//!
//! # What is refused
//!
//! - Navtel's magic `a12b3c4d` and the reserved `a1b234cd`: their layouts were never published.
//! - pcap whose link type field has reserved bits set, and versions of either format that do not exist: what such a
//!   header means would be a guess.
//! - Other capture formats (snoop, Sniffer, NetXray, Network Monitor, iptrace, ...), by name where their magic is known.
//! - pcap from old patched libpcaps and from Nokia devices has longer record headers under the standard magics, which no
//!   magic tells; it is read as what it says it is and ends as damage at its second record.
//!
//! # Damage
//!
//! Everything before damage is delivered, and the damage is named in [`CaptureInfo::damage`]. In pcap nothing behind it
//! can be trusted, so reading ends. In pcapng a block whose two length fields agree can be skipped, and reading goes on
//! behind it. A magic is never searched for. pcapng files may be joined octet by octet; where a second pcap header stands
//! in the place of a record, that is named. Every claimed length is checked against [`limits`] before it is believed.

#![expect(
    clippy::arithmetic_side_effects,
    reason = "bytes and frames of a file are below 2^63; sizes of records and blocks are checked against `limits` before they are used"
)]

mod byte_order;
mod compression;
#[cfg(test)]
mod craft;
mod frame;
mod info;
mod input;
pub mod limits;
mod pcap;
mod pcapng;
mod reader;
mod resolution;
mod rewrite;
mod span;

pub use crate::capture::input::digest::DigestRequest;
pub(crate) use crate::capture::input::digest::Hasher;
pub use crate::capture::input::memory::MemoryCapture;
pub use crate::capture::input::source::Source;
pub use crate::capture::span::chunk::{Chunk, FrameTaker, Frames};
pub use crate::capture::span::parts::Part;
pub use frame::Frame;
pub(crate) use info::unread_options;
pub use info::{CaptureInfo, InterfaceInfo};
pub use reader::CaptureReader;
pub use resolution::Resolution;
pub use rewrite::{About, Comments, Rewrite, Rewritten};
