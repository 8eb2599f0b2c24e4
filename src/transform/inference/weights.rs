//! How common transforms are, and what IVs say for and against them, in bits.

use super::{Esp, Fit, NARROWEST, WIDEST};
use crate::transform::algorithm::cipher::{Cipher, Family as Mode};
use crate::transform::algorithm::integrity::Integrity;
use crate::transform::iv::IvPattern;

/// What a counter mode loses where IVs are random, and what IVs lose that are the same in several packets. Most senders count, and a sender
/// may break the rules.
const WRONG_IV: i32 = -12;
/// What a CBC or an implicit IV loses where IVs count: unpredictable octets count with a chance of 2^-40 at most.
const COUNTING_IV: i32 = -40;

/// Whether IVs speak against a transform, whatever lengths say.
#[must_use]
pub fn is_unlike(esp: &Esp, iv: IvPattern) -> bool {
    iv_cost(esp, iv, WIDEST) < 0
}

/// Bits that an IV pattern costs a family, where all lengths agree modulo the grain.
pub(super) fn iv_bits(fit: &Fit, iv: IvPattern, grain: u32) -> i32 {
    fit.members.iter().map(|(_, esp)| iv_cost(esp, iv, grain)).max().unwrap_or(0)
}

/// What of it excludes the family. Random IVs do not exclude a counter mode, which asks that none comes twice (RFC 3686 section 2.1, RFC 4106
/// section 3.1): that few senders make them so is no observation.
pub(super) fn excluding_bits(fit: &Fit, iv: IvPattern, grain: u32) -> i32 {
    if iv == IvPattern::Random { 0 } else { iv_bits(fit, iv, grain) }
}

fn iv_cost(esp: &Esp, iv: IvPattern, grain: u32) -> i32 {
    match (iv, esp.cipher.family) {
        // Lengths exclude CBC: what is left is a counter mode with random IVs or one without explicit IV, and either is unusual.
        (IvPattern::Random, Mode::Ctr | Mode::Aead) if grain == NARROWEST => 0,
        (IvPattern::SequenceXor | IvPattern::Counter, Mode::Cbc | Mode::ImplicitIv | Mode::Stream) => COUNTING_IV,
        (IvPattern::Random | IvPattern::Repeated, Mode::Ctr | Mode::Aead) => WRONG_IV,
        (IvPattern::Repeated, Mode::ImplicitIv | Mode::Stream) => WRONG_IV,
        // All of the IV is the same, and not the first half of one that counts.
        (IvPattern::Repeated, Mode::Cbc) if esp.cipher.iv <= 8 => WRONG_IV,
        _ => 0,
    }
}

/// How often a cipher is met, in bits; a judgement that only orders what lengths leave open.
pub(super) fn cipher_common(cipher: &Cipher) -> i32 {
    match cipher.name {
        "AES-CBC" | "AES-GCM-16" => 0,
        "3DES-CBC" | "CHACHA20-POLY1305" => -2,
        "DES-CBC" => -3,
        "AES-CTR" | "AES-GCM-8" | "AES-GCM-12" => -4,
        "AES-CCM-8" | "AES-CCM-12" | "AES-CCM-16" => -5,
        "AES-GCM-16-IIV" | "AES-CCM-8-IIV" | "CHACHA20-POLY1305-IIV" => -7,
        "DES-CBC-IV32" | "DES-CBC-IV64" | "SEAL" => -9,
        _ => -6,
    }
}

/// The same for the integrity algorithm beside it.
pub(super) fn integrity_common(cipher: &Cipher, integrity: Option<&Integrity>) -> i32 {
    match integrity.map(|integrity| integrity.name) {
        None if cipher.is_combined() => 0,
        Some("HMAC-SHA1-96" | "HMAC-SHA2-256-128") => 0,
        Some("HMAC-MD5-96" | "HMAC-SHA2-512-256") => -1,
        Some("HMAC-SHA2-384-192" | "HMAC-SHA2-256-96") => -3,
        None => -4,
        Some("AES-XCBC-96" | "AES-CMAC-96") => -5,
        Some("HMAC-MD5-128" | "HMAC-SHA1-160") => -9,
        Some(_) => -7,
    }
}
