//! Tables whose keys are digests: as good as random, they need no further hash.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A table by digests.
pub(in crate::matching) type Digested<V> = HashMap<u64, V, BuildHasherDefault<DigestHasher>>;

/// Takes the digest for its own hash.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::matching) struct DigestHasher(u64);

impl Hasher for DigestHasher {
    #[inline]
    fn write_u64(&mut self, digest: u64) {
        self.0 ^= digest;
    }

    fn write(&mut self, octets: &[u8]) {
        self.0 ^= octets.iter().fold(0_u64, |word, octet| word.rotate_left(8) ^ u64::from(*octet));
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}
