//! Transforms: the catalogue of ciphers and integrity algorithms, what people call them, and size arithmetic; pure.

pub mod ah;
pub mod cipher;
pub mod compression;
pub mod ethernet;
pub mod integrity;
pub mod key;
pub mod parse;
pub mod suite;

pub use cipher::Cipher;
pub use compression::Compression;
pub use integrity::Integrity;
pub use key::KeyLengths;
pub use parse::ParseError;
pub use suite::{Esp, Suite, Weakness};
