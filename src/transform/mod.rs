//! Transforms: the catalogue of ciphers and integrity algorithms, what people call them, and the exact lengths of
//! packets; pure.

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
