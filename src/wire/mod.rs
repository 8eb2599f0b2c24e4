//! Byte views of single headers: those that etherparse lacks, or where it reads more than is there.
//!
//! A view wraps a reference to an array of exactly the fixed octets of its header. Its accessors take constant indices
//! into that array, so once a view exists no accessor can panic; `read` answers `None` where the octets do not suffice.
//! A view judges nothing: impossible values are for the floor above to name.

#![expect(
    clippy::arithmetic_side_effects,
    reason = "lengths made of one or two bytes, and sums of 16-bit words in 64 bits"
)]

pub mod checksum;
pub mod crc;
pub mod gre;
pub mod ike;
pub mod ipsec;
pub mod link;
pub mod mirror;
pub mod tunnel;
