//! Transforms: the catalogue of ciphers and integrity algorithms, what people call them, and the exact lengths of
//! packets; pure.

#![expect(
    clippy::arithmetic_side_effects,
    reason = "lengths of packets and parts of them, from 32-bit numbers or the catalogue, in 64 bits"
)]

pub mod ah;
pub mod calculation;
pub mod cipher;
pub mod compression;
pub mod ethernet;
pub mod fit;
pub mod inference;
pub mod integrity;
pub mod iv;
pub mod key;
pub mod layers;
pub mod parse;
pub mod parts;
pub mod path;
pub mod suite;

pub use cipher::Cipher;
pub use compression::Compression;
pub use integrity::Integrity;
pub use key::KeyLengths;
pub use layers::{Layers, Lengths};
pub use parse::ParseError;
pub use parts::{Part, Parts};
pub use path::{Path, Protection};
pub use suite::{Esp, Suite, Weakness};
