//! Ciphers with integrity of their own: GCM, CCM, ChaCha20-Poly1305 and GMAC.

use std::sync::Arc;

use aes::{Aes128, Aes192, Aes256};
use aes_gcm::AesGcm;
use aes_gcm::aead::AeadInOut;
use aes_gcm::aead::array::{Array, ArraySize};
use aes_gcm::aead::consts::{U8, U11, U12, U16};
use ccm::Ccm;
use chacha20::ChaCha20;
use chacha20::cipher::{BlockCipherEncrypt, BlockSizeUser, KeyInit, KeyIvInit, StreamCipher, StreamCipherSeek};
use chacha20poly1305::ChaCha20Poly1305;

use super::cipher::keystream;
use crate::decrypt::key::{KeyBytes, KeyError, split};
use crate::transform::Cipher;

/// Octets of the IV on the wire, or of the sequence number that takes its place (RFC 8750).
pub(in crate::decrypt) const IV: usize = 8;

/// Checks and decrypts in place.
pub(in crate::decrypt) trait Aead: Send + Sync {
    /// Decrypts `data` if `icv` is that of `associated` and `data`; otherwise leaves it and answers false.
    fn open(&self, iv: &[u8; IV], associated: &[u8], data: &mut [u8], icv: &[u8]) -> bool;

    /// Decrypts the beginning of a packet whose end is not there to be checked.
    fn unchecked(&self, iv: &[u8; IV], data: &mut [u8]);
}

/// AES-GCM (RFC 4106): the nonce is salt and IV.
struct Gcm<C, Tag: aes_gcm::TagSize> {
    aead: AesGcm<C, U12, Tag>,
    cipher: C,
    salt: [u8; 4],
}

impl<C, Tag> Aead for Gcm<C, Tag>
where
    C: BlockCipherEncrypt + BlockSizeUser<BlockSize = U16> + Send + Sync,
    Tag: aes_gcm::TagSize + Send + Sync,
{
    fn open(&self, iv: &[u8; IV], associated: &[u8], data: &mut [u8], icv: &[u8]) -> bool {
        sealed(&self.aead, &nonce(&self.salt, iv), associated, data, icv)
    }

    fn unchecked(&self, iv: &[u8; IV], data: &mut [u8]) {
        // Counter 1 encrypts the ICV, data begin with 2 (NIST SP 800-38D section 7.1).
        keystream(&self.cipher, &[&self.salt, iv, &[0, 0, 0, 2]], data);
    }
}

/// NULL-AUTH-AES-GMAC (RFC 4543): everything is associated data, the IV too; nothing is encrypted.
struct Gmac<C> {
    aead: AesGcm<C, U12, U16>,
    salt: [u8; 4],
}

impl<C> Aead for Gmac<C>
where
    C: BlockCipherEncrypt + BlockSizeUser<BlockSize = U16> + Send + Sync,
{
    fn open(&self, iv: &[u8; IV], associated: &[u8], data: &mut [u8], icv: &[u8]) -> bool {
        let everything = [associated, iv, data].concat();
        sealed(&self.aead, &nonce(&self.salt, iv), &everything, &mut [], icv)
    }

    fn unchecked(&self, _: &[u8; IV], _: &mut [u8]) {}
}

/// AES-CCM (RFC 4309): the nonce is a salt of three octets and the IV.
struct CounterMac<C, Tag>
where
    C: BlockCipherEncrypt + BlockSizeUser<BlockSize = U16>,
    Tag: ccm::TagSize + ArraySize,
{
    aead: Ccm<C, Tag, U11>,
    cipher: C,
    salt: [u8; 3],
}

impl<C, Tag> Aead for CounterMac<C, Tag>
where
    C: BlockCipherEncrypt + BlockSizeUser<BlockSize = U16> + Send + Sync,
    Tag: ccm::TagSize + ArraySize + Send + Sync,
{
    fn open(&self, iv: &[u8; IV], associated: &[u8], data: &mut [u8], icv: &[u8]) -> bool {
        sealed(&self.aead, &nonce(&self.salt, iv), associated, data, icv)
    }

    fn unchecked(&self, iv: &[u8; IV], data: &mut [u8]) {
        // Flags of a counter block with a length field of four octets (RFC 3610 section 2.3); data begin with counter 1.
        keystream(&self.cipher, &[&[3], &self.salt, iv, &[0, 0, 0, 1]], data);
    }
}

/// ChaCha20-Poly1305 (RFC 7634): the nonce is salt and IV.
struct ChaCha {
    aead: ChaCha20Poly1305,
    key: [u8; 32],
    salt: [u8; 4],
}

impl Aead for ChaCha {
    fn open(&self, iv: &[u8; IV], associated: &[u8], data: &mut [u8], icv: &[u8]) -> bool {
        sealed(&self.aead, &nonce(&self.salt, iv), associated, data, icv)
    }

    fn unchecked(&self, iv: &[u8; IV], data: &mut [u8]) {
        let mut stream = ChaCha20::new(&self.key.into(), &nonce(&self.salt, iv));
        // Block 0 makes the key of Poly1305 (RFC 8439 section 2.8). No packet reaches the end of the stream.
        if stream.try_seek(64).is_ok() {
            let _ = stream.try_apply_keystream(data);
        }
    }
}

/// Salt and IV, one behind the other.
fn nonce<N: ArraySize>(salt: &[u8], iv: &[u8; IV]) -> Array<u8, N> {
    let mut octets = salt.iter().chain(iv).copied();
    Array::from_fn(|_| octets.next().unwrap_or_default())
}

fn sealed<A: AeadInOut>(
    aead: &A,
    nonce: &Array<u8, A::NonceSize>,
    associated: &[u8],
    data: &mut [u8],
    icv: &[u8],
) -> bool {
    Array::try_from(icv).is_ok_and(|icv| aead.decrypt_inout_detached(nonce, associated, data.into(), &icv).is_ok())
}

/// The AEAD under a key.
///
/// # Errors
/// Key material of a length that it does not take, or an AEAD that is not implemented.
pub(in crate::decrypt) fn keyed(
    cipher: &Cipher,
    key_bits: Option<u32>,
    material: &KeyBytes,
) -> Result<Arc<dyn Aead>, KeyError> {
    let algorithm = cipher.name;
    let unsupported = || KeyError::Unsupported { algorithm };
    type Make = fn(&[u8], &[u8]) -> Option<Arc<dyn Aead>>;
    // By key length: 128, 192, 256 bits.
    let make: [Make; 3] = match algorithm {
        "AES-GCM-16" | "AES-GCM-16-IIV" => [gcm::<Aes128, U16>, gcm::<Aes192, U16>, gcm::<Aes256, U16>],
        "AES-GCM-12" => [gcm::<Aes128, U12>, gcm::<Aes192, U12>, gcm::<Aes256, U12>],
        "AES-GCM-8" => [gcm::<Aes128, U8>, gcm::<Aes192, U8>, gcm::<Aes256, U8>],
        "AES-CCM-16" => [ccm::<Aes128, U16>, ccm::<Aes192, U16>, ccm::<Aes256, U16>],
        "AES-CCM-12" => [ccm::<Aes128, U12>, ccm::<Aes192, U12>, ccm::<Aes256, U12>],
        "AES-CCM-8" | "AES-CCM-8-IIV" => [ccm::<Aes128, U8>, ccm::<Aes192, U8>, ccm::<Aes256, U8>],
        "NULL-AUTH-AES-GMAC" => [gmac::<Aes128>, gmac::<Aes192>, gmac::<Aes256>],
        "CHACHA20-POLY1305" | "CHACHA20-POLY1305-IIV" => [chacha; 3],
        _ => return Err(unsupported()),
    };
    let (key, salt) = split(algorithm, cipher.keys, key_bits, cipher.salt * 8, material)?;
    let [short, middle, long] = make;
    let make = match key.len() {
        16 => short,
        24 => middle,
        _ => long,
    };
    make(key, salt).ok_or_else(unsupported)
}

fn gcm<C, Tag>(key: &[u8], salt: &[u8]) -> Option<Arc<dyn Aead>>
where
    C: BlockCipherEncrypt + BlockSizeUser<BlockSize = U16> + KeyInit + Clone + Send + Sync + 'static,
    Tag: aes_gcm::TagSize + Send + Sync + 'static,
{
    let cipher = C::new_from_slice(key).ok()?;
    Some(Arc::new(Gcm::<C, Tag> { aead: cipher.clone().into(), cipher, salt: salt.try_into().ok()? }))
}

fn gmac<C>(key: &[u8], salt: &[u8]) -> Option<Arc<dyn Aead>>
where
    C: BlockCipherEncrypt + BlockSizeUser<BlockSize = U16> + KeyInit + Send + Sync + 'static,
{
    let aead = C::new_from_slice(key).ok()?.into();
    Some(Arc::new(Gmac { aead, salt: salt.try_into().ok()? }))
}

fn ccm<C, Tag>(key: &[u8], salt: &[u8]) -> Option<Arc<dyn Aead>>
where
    C: BlockCipherEncrypt + BlockSizeUser<BlockSize = U16> + KeyInit + Clone + Send + Sync + 'static,
    Tag: ccm::TagSize + ArraySize + Send + Sync + 'static,
{
    let cipher = C::new_from_slice(key).ok()?;
    Some(Arc::new(CounterMac::<C, Tag> { aead: cipher.clone().into(), cipher, salt: salt.try_into().ok()? }))
}

fn chacha(key: &[u8], salt: &[u8]) -> Option<Arc<dyn Aead>> {
    let aead = ChaCha20Poly1305::new_from_slice(key).ok()?;
    Some(Arc::new(ChaCha { aead, key: key.try_into().ok()?, salt: salt.try_into().ok()? }))
}
