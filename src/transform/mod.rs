//! Transforms: the catalogue of ciphers and integrity algorithms, what people call them, and the exact lengths of
//! packets; pure.

#![expect(
    clippy::arithmetic_side_effects,
    reason = "lengths of packets and parts of them, from 32-bit numbers or the catalogue, in 64 bits"
)]

pub mod algorithm;
pub mod calculation;
pub mod inference;
pub mod iv;
pub mod parse;
pub mod size;
pub mod suite;

pub use crate::transform::algorithm::cipher::Cipher;
pub use crate::transform::algorithm::compression::Compression;
pub use crate::transform::algorithm::integrity::Integrity;
pub use crate::transform::algorithm::key::KeyLengths;
pub use crate::transform::size::layers::{Layers, Lengths};
pub use crate::transform::size::parts::{Part, Parts};
pub use crate::transform::size::path::{Path, Protection};
pub use parse::ParseError;
pub use suite::{Esp, Suite, Weakness};
