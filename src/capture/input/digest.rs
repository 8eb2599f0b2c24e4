//! Digests of inputs: of the octets as they are stored, compressed or not, in the order in which they are read.

use sha2::{Digest as _, Sha256};
use twox_hash::XxHash3_128;

use crate::model::report::{Capture, CaptureDigest, DigestAlgorithm};

/// Which digest is taken of inputs, and of which.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DigestRequest {
    /// How it is computed.
    pub algorithm: DigestAlgorithm,
    /// Octets of the longest input of which it is taken.
    pub most_bytes: u64,
}

impl Default for DigestRequest {
    /// XXH3 of inputs of up to 256 MiB. Of longer ones it costs what matters: a file that several threads read is read once more.
    fn default() -> Self {
        Self { algorithm: DigestAlgorithm::Xxh3128, most_bytes: Capture::USUAL_DIGEST_BYTES }
    }
}

/// Takes the digest of octets in order.
pub(crate) struct Hasher {
    state: HashState,
    /// Octets that may still come.
    left: Option<u64>,
}

enum HashState {
    Xxh3(Box<XxHash3_128>),
    Sha256(Box<Sha256>),
}

impl Hasher {
    pub(crate) fn new(request: DigestRequest) -> Self {
        let state = match request.algorithm {
            DigestAlgorithm::Xxh3128 => HashState::Xxh3(Box::new(XxHash3_128::new())),
            DigestAlgorithm::Sha256 => HashState::Sha256(Box::default()),
        };
        Self { state, left: Some(request.most_bytes) }
    }

    pub(crate) fn add(&mut self, octets: &[u8]) {
        self.left = self.left.and_then(|left| left.checked_sub(octets.len() as u64));
        if self.left.is_some() {
            match &mut self.state {
                HashState::Xxh3(hasher) => hasher.write(octets),
                HashState::Sha256(hasher) => hasher.update(octets),
            }
        }
    }

    /// The digest; `None` where there were more octets than one was asked for.
    pub(crate) fn finish(self) -> Option<CaptureDigest> {
        self.left?;
        let (algorithm, hex) = match self.state {
            // The canonical form of XXH3 is big-endian, as `xxhsum` prints it.
            HashState::Xxh3(hasher) => (DigestAlgorithm::Xxh3128, format!("{:032x}", hasher.finish_128())),
            HashState::Sha256(hasher) => {
                let octets = hasher.finalize();
                (DigestAlgorithm::Sha256, octets.iter().map(|octet| format!("{octet:02x}")).collect())
            }
        };
        Some(CaptureDigest { algorithm, hex })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `xxhsum -H2` and `sha256sum` of nothing, and SHA-256 of `abc` (FIPS 180-4).
    #[test]
    fn digests_are_those_of_the_usual_tools() {
        let of = |algorithm, pieces: &[&[u8]]| {
            let mut hasher = Hasher::new(DigestRequest { algorithm, ..DigestRequest::default() });
            pieces.iter().for_each(|piece| hasher.add(piece));
            hasher.finish().expect("a digest").hex
        };
        assert_eq!(of(DigestAlgorithm::Xxh3128, &[]), "99aa06d3014798d86001c324468d497f");
        assert_eq!(
            of(DigestAlgorithm::Sha256, &[]),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
        assert_eq!(
            of(DigestAlgorithm::Sha256, &[b"a", b"bc"]),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        // Of longer inputs there is none.
        let mut short = Hasher::new(DigestRequest { most_bytes: 3, ..DigestRequest::default() });
        [&b"ab"[..], b"c"].iter().for_each(|piece| short.add(piece));
        assert!(short.left == Some(0));
        short.add(b"d");
        assert_eq!(short.finish(), None);
        // The pieces in which the octets come do not matter.
        let octets: Vec<u8> = (0..3_000_u32).map(|n| (n * 7) as u8).collect();
        let whole = format!("{:032x}", XxHash3_128::oneshot(&octets));
        for size in [1, 7, 64, 1_000, 4_000] {
            assert_eq!(of(DigestAlgorithm::Xxh3128, &octets.chunks(size).collect::<Vec<_>>()), whole, "{size}");
        }
    }
}
