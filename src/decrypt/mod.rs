//! ESP and AH with given keys: the ICV is checked, then the packet is decrypted. Pure: octets and keys in, octets and a verdict out.
//!
//! A [`Decryptor`] (ESP) and an [`AhVerifier`] (AH) belong to one SA. Key schedule and MAC state are made once, when the
//! keys are given; a clone shares them. Which SA a packet belongs to, which high half of an extended sequence number it
//! bears, and what the inner packet is, are questions for the caller.
//!
//! No octets can make these functions panic or read outside of what they were given, and no length that a packet claims
//! extends what is read. Keys appear in no output: not in errors, not in debug text.

#![expect(
    clippy::arithmetic_side_effects,
    reason = "lengths of one packet and of its keys, and constants of the algorithms"
)]

mod ah;
mod algorithm;
mod esp;
mod extended;
mod key;
mod mutable;
mod opened;
mod trailer;

pub use ah::AhVerifier;
pub use esp::{Decryptor, Packet};
pub use extended::HighHalf;
pub use key::{KeyBytes, KeyError, Keys};
pub use opened::{Closed, Icv, Inner, Opened, Padding, Trailer, Unchecked};
