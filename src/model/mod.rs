//! The words every floor uses: addresses, security associations, times, frame positions, errors.
//!
//! Nothing here reads a file, a clock or the environment, and there is no logic to speak of.

#![expect(clippy::arithmetic_side_effects, reason = "a position is 40 bits and a shift below 2^56")]

mod address;
mod all_bits;
pub(crate) mod counted_name;
mod error;
mod link;
pub mod pairs;
mod position;
pub mod report;
mod sa;
#[cfg(test)]
mod schema;
mod time;
pub mod trials;
pub mod vocabulary;

pub use address::Address;
pub(crate) use all_bits::{ALL_BITS, all_bits};
pub use error::{Damage, DamageKind, Error};
pub use link::LinkType;
pub use position::{CaptureId, FramePos, Shift};
pub use sa::{Encapsulation, Protocol, SaKey, Spi};
pub use time::Timestamp;
