//! Integrity algorithms: is this ICV that of these octets?

use std::sync::Arc;

use aes::Aes128;
use cmac::Cmac;
use hmac::{Hmac, KeyInit};
use md5::Md5;
use sha1::Sha1;
use sha2::{Sha256, Sha384, Sha512};

use super::xcbc::Xcbc;
use crate::decrypt::key::{KeyBytes, KeyError, split};
use crate::transform::Integrity;

/// A keyed message authentication code.
pub(in crate::decrypt) trait Mac: Send + Sync {
    /// Whether the code of all parts one after the other begins with `icv`.
    fn verifies(&self, parts: &[&[u8]], icv: &[u8]) -> bool;
}

/// A MAC of the digest family: its state after the key, cloned for each packet.
struct Digested<M>(M);

impl<M: hmac::Mac + Clone + Send + Sync> Mac for Digested<M> {
    fn verifies(&self, parts: &[&[u8]], icv: &[u8]) -> bool {
        let mut state = self.0.clone();
        for part in parts {
            state.update(part);
        }
        state.verify_truncated_left(icv).is_ok()
    }
}

/// The MAC of an integrity algorithm under a key.
///
/// # Errors
/// A key of a length that the algorithm does not take, or an algorithm that is not implemented.
pub(in crate::decrypt) fn keyed(integrity: &Integrity, key: &KeyBytes) -> Result<Arc<dyn Mac>, KeyError> {
    let (octets, _) = split(integrity.name, integrity.keys, None, 0, key)?;
    of_any_length(integrity, octets)
}

/// The MAC of an integrity algorithm under a key that may be one of another algorithm: HMAC takes keys of every length.
///
/// # Errors
/// An algorithm that is not implemented, or that takes no key of this length.
pub(in crate::decrypt) fn of_any_length(integrity: &Integrity, key: &[u8]) -> Result<Arc<dyn Mac>, KeyError> {
    let algorithm = integrity.name;
    let unsupported = || KeyError::Unsupported { algorithm };
    let make: fn(&[u8]) -> Option<Arc<dyn Mac>> = match algorithm {
        "HMAC-MD5-96" | "HMAC-MD5-128" => digested::<Hmac<Md5>>,
        "HMAC-SHA1-96" | "HMAC-SHA1-160" => digested::<Hmac<Sha1>>,
        "HMAC-SHA2-256-96" | "HMAC-SHA2-256-128" => digested::<Hmac<Sha256>>,
        "HMAC-SHA2-384-192" => digested::<Hmac<Sha384>>,
        "HMAC-SHA2-512-256" => digested::<Hmac<Sha512>>,
        "AES-CMAC-96" => digested::<Cmac<Aes128>>,
        "AES-XCBC-96" => |key| Some(Arc::new(Xcbc::new(key)?)),
        _ => return Err(unsupported()),
    };
    make(key).ok_or_else(unsupported)
}

fn digested<M: hmac::Mac + KeyInit + Clone + Send + Sync + 'static>(key: &[u8]) -> Option<Arc<dyn Mac>> {
    let state = <M as KeyInit>::new_from_slice(key).ok()?;
    Some(Arc::new(Digested(state)))
}
