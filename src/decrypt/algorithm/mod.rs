//! The algorithms themselves, over bytes and keys.

pub(super) mod aead;
pub(super) mod cipher;
pub(super) mod mac;
#[cfg(test)]
pub(super) mod vectors;
pub(super) mod xcbc;
