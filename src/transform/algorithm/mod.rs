//! Ciphers, integrity algorithms and compression, and the keys they take.

pub mod cipher;
pub mod compression;
pub mod integrity;
pub mod key;
