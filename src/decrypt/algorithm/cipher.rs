//! Ciphers without integrity of their own: CBC, CTR and NULL.

use std::sync::Arc;

use aes::{Aes128, Aes128Dec, Aes192, Aes192Dec, Aes256, Aes256Dec};
use camellia::{Camellia128, Camellia192, Camellia256};
use cbc::cipher::consts::U16;
use cbc::cipher::{
    Array, Block, BlockCipherDecrypt, BlockCipherEncrypt, BlockModeDecrypt, BlockSizeUser, InnerIvInit, KeyInit,
    StreamCipher, StreamCipherCoreWrapper,
};
use ctr::{CtrCore, flavors};
use des::{Des, TdesEde3};

use crate::decrypt::key::{KeyBytes, KeyError, split};
use crate::transform;

/// Decrypts in place.
pub(in crate::decrypt) trait Cipher: Send + Sync {
    /// Decrypts `data`; what is left behind the last whole block of a block mode stays as it is.
    fn decrypt(&self, iv: &[u8], data: &mut [u8]);
}

struct Null;

impl Cipher for Null {
    fn decrypt(&self, _: &[u8], _: &mut [u8]) {}
}

/// Cipher block chaining (RFC 2405, RFC 2451, RFC 3602, RFC 4312).
struct Cbc<C>(C);

impl<C: BlockCipherDecrypt + Send + Sync> Cipher for Cbc<C> {
    fn decrypt(&self, iv: &[u8], data: &mut [u8]) {
        // An IV of another length than the block's is never handed in.
        if let Ok(mut chain) = cbc::Decryptor::inner_iv_slice_init(&self.0, iv) {
            let (blocks, _) = Block::<C>::slice_as_chunks_mut(data);
            chain.decrypt_blocks(blocks);
        }
    }
}

/// Counter mode (RFC 3686 section 4): the counter block is salt, IV and a counter from 1.
struct Ctr<C> {
    cipher: C,
    salt: [u8; 4],
}

impl<C: BlockCipherEncrypt + BlockSizeUser<BlockSize = U16> + Send + Sync> Cipher for Ctr<C> {
    fn decrypt(&self, iv: &[u8], data: &mut [u8]) {
        keystream(&self.cipher, &[&self.salt, iv, &[0, 0, 0, 1]], data);
    }
}

/// XORs `data` with the key stream whose first counter block consists of these parts; the last 32 bits count.
pub(in crate::decrypt) fn keystream<C>(cipher: &C, first: &[&[u8]], data: &mut [u8])
where
    C: BlockCipherEncrypt + BlockSizeUser<BlockSize = U16>,
{
    type Core<'a, C> = CtrCore<&'a C, flavors::Ctr32BE>;
    let mut block = Array::from([0; 16]);
    for (slot, octet) in block.iter_mut().zip(first.iter().copied().flatten()) {
        *slot = *octet;
    }
    // The stream ends after 2^32 blocks, far beyond any packet.
    let _ = StreamCipherCoreWrapper::from_core(Core::<C>::inner_iv_init(cipher, &block)).try_apply_keystream(data);
}

/// The cipher under a key.
///
/// # Errors
/// Key material of a length that the cipher does not take, or a cipher that is not implemented.
pub(in crate::decrypt) fn keyed(
    cipher: &transform::Cipher,
    key_bits: Option<u32>,
    material: &KeyBytes,
) -> Result<Arc<dyn Cipher>, KeyError> {
    let algorithm = cipher.name;
    let unsupported = || KeyError::Unsupported { algorithm };
    type Make = fn(&[u8], &[u8]) -> Option<Arc<dyn Cipher>>;
    // By key length: 128, 192, 256 bits, or the only one there is.
    let make: [Make; 3] = match algorithm {
        "NULL" => [|_, _| Some(Arc::new(Null)); 3],
        "DES-CBC" => [chained::<Des>; 3],
        "3DES-CBC" => [chained::<TdesEde3>; 3],
        "AES-CBC" => [chained::<Aes128Dec>, chained::<Aes192Dec>, chained::<Aes256Dec>],
        "CAMELLIA-CBC" => [chained::<Camellia128>, chained::<Camellia192>, chained::<Camellia256>],
        "AES-CTR" => [counted::<Aes128>, counted::<Aes192>, counted::<Aes256>],
        "CAMELLIA-CTR" => [counted::<Camellia128>, counted::<Camellia192>, counted::<Camellia256>],
        _ => return Err(unsupported()),
    };
    let (key, salt) = split(algorithm, cipher.keys, key_bits, cipher.salt * 8, material)?;
    let [short, middle, long] = make;
    let make = match key.len() {
        24 => middle,
        32 => long,
        _ => short,
    };
    make(key, salt).ok_or_else(unsupported)
}

fn chained<C: BlockCipherDecrypt + KeyInit + Send + Sync + 'static>(key: &[u8], _: &[u8]) -> Option<Arc<dyn Cipher>> {
    Some(Arc::new(Cbc(C::new_from_slice(key).ok()?)))
}

fn counted<C>(key: &[u8], salt: &[u8]) -> Option<Arc<dyn Cipher>>
where
    C: BlockCipherEncrypt + BlockSizeUser<BlockSize = U16> + KeyInit + Send + Sync + 'static,
{
    Some(Arc::new(Ctr { cipher: C::new_from_slice(key).ok()?, salt: salt.try_into().ok()? }))
}
