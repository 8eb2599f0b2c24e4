//! AES-XCBC-MAC (RFC 3566), for which there is no crate.

use aes::Aes128;
use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};

use super::mac::Mac;

const BLOCK: usize = 16;

/// The keys that RFC 3566 section 4 derives from one.
pub(in crate::decrypt) struct Xcbc {
    /// K1, scheduled.
    chain: Aes128,
    /// K2, for a message of whole blocks.
    whole: [u8; BLOCK],
    /// K3, for one that had to be padded.
    padded: [u8; BLOCK],
}

impl Xcbc {
    /// Derives the keys; `None` unless the key has 128 bits.
    pub(in crate::decrypt) fn new(key: &[u8]) -> Option<Self> {
        let root = Aes128::new_from_slice(key).ok()?;
        let derived = |octet: u8| {
            let mut block = Array::from([octet; BLOCK]);
            root.encrypt_block(&mut block);
            block
        };
        Some(Self { chain: Aes128::new(&derived(1)), whole: derived(2).into(), padded: derived(3).into() })
    }

    /// The 128 bits before truncation, of all parts one after the other.
    fn code(&self, parts: &[&[u8]]) -> [u8; BLOCK] {
        let mut chained = Array::from([0; BLOCK]);
        // The last block is treated apart, so a full one waits until it is known that more follows.
        let mut waiting = 0;
        for octet in parts.iter().copied().flatten() {
            if waiting == BLOCK {
                self.chain.encrypt_block(&mut chained);
                waiting = 0;
            }
            if let Some(slot) = chained.get_mut(waiting) {
                *slot ^= octet;
            }
            waiting += 1;
        }
        let last = if waiting == BLOCK { &self.whole } else { &self.padded };
        if let Some(slot) = chained.get_mut(waiting) {
            *slot ^= 0x80;
        }
        for (slot, octet) in chained.iter_mut().zip(last) {
            *slot ^= octet;
        }
        self.chain.encrypt_block(&mut chained);
        chained.into()
    }
}

impl Mac for Xcbc {
    fn verifies(&self, parts: &[&[u8]], icv: &[u8]) -> bool {
        !icv.is_empty() && self.code(parts).get(..icv.len()) == Some(icv)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3566 section 4.6, test cases 1 to 7 (without the 1000 octets of the last).
    #[test]
    fn the_vectors_of_rfc_3566() {
        let key: Vec<u8> = (0..16).collect();
        let xcbc = Xcbc::new(&key).expect("128 bits");
        let expected = [
            (0, 0x75f0_251d_528a_c01c_4573_dfd5_84d7_9f29),
            (3, 0x5b37_6580_ae2f_19af_e721_9cee_f172_756f),
            (16, 0xd2a2_46fa_349b_68a7_9998_a439_4ff7_a263),
            (20, 0x47f5_1b45_6496_6215_b898_5c63_055e_d308),
            (32, 0xf54f_0ec8_d2b9_f3d3_6807_734b_d528_3fd4),
            (34, 0xbecb_b3bc_cdb5_18a3_0677_d548_1fb6_b4d8_u128),
        ];
        for (octets, code) in expected {
            let message: Vec<u8> = (0..octets).collect();
            assert_eq!(u128::from_be_bytes(xcbc.code(&[&message])), code, "{octets} octets");
            for cut in 0..message.len() {
                let (a, b) = message.split_at(cut);
                assert_eq!(u128::from_be_bytes(xcbc.code(&[a, b])), code, "{octets} octets cut at {cut}");
            }
        }
        let zeroes = u128::from_be_bytes(xcbc.code(&[&[0; 1000]]));
        assert_eq!(zeroes, 0xf0da_fee8_95db_3025_3761_103b_5d84_528f);
    }

    #[test]
    fn truncation_is_from_the_left_and_never_to_nothing() {
        let xcbc = Xcbc::new(&(0..16).collect::<Vec<u8>>()).expect("128 bits");
        let code = 0x75f0_251d_528a_c01c_4573_dfd5_84d7_9f29_u128.to_be_bytes();
        assert!(xcbc.verifies(&[], &code[..12]));
        assert!(!xcbc.verifies(&[], &code[1..13]));
        assert!(!xcbc.verifies(&[], &[]));
        assert!(!xcbc.verifies(&[], &[&code[..], &[0]].concat()));
        assert!(Xcbc::new(&[0; 15]).is_none());
    }
}
