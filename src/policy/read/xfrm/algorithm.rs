//! Names of algorithms and keys as `ip xfrm` has them.

use crate::policy::facts::builder::Builder;
use crate::policy::facts::secret::Secret;

/// Old short names of the kernel, and what they stand for (`compat` of `net/xfrm/xfrm_algo.c`).
const SHORT: [(&str, &str); 16] = [
    ("digest_null", "hmac(digest_null)"),
    ("md5", "hmac(md5)"),
    ("sha1", "hmac(sha1)"),
    ("sha256", "hmac(sha256)"),
    ("sha384", "hmac(sha384)"),
    ("sha512", "hmac(sha512)"),
    ("rmd160", "hmac(rmd160)"),
    ("ripemd160", "hmac(rmd160)"),
    ("cipher_null", "ecb(cipher_null)"),
    ("des", "cbc(des)"),
    ("des3_ede", "cbc(des3_ede)"),
    ("cast5", "cbc(cast5)"),
    ("blowfish", "cbc(blowfish)"),
    ("aes", "cbc(aes)"),
    ("serpent", "cbc(serpent)"),
    ("camellia", "cbc(camellia)"),
];

/// ICV bits of an `auth` without its own: the kernel's defaults (`icv_truncbits` of `net/xfrm/xfrm_algo.c`).
const DEFAULT_BITS: [(&str, &str); 9] = [
    ("hmac(md5)", "96"),
    ("hmac(sha1)", "96"),
    ("hmac(sha256)", "96"),
    ("hmac(sha384)", "192"),
    ("hmac(sha512)", "256"),
    ("hmac(sha3-256)", "128"),
    ("hmac(rmd160)", "96"),
    ("xcbc(aes)", "96"),
    ("cmac(aes)", "96"),
];

/// A name as the kernel has it, such as `rfc4106(gcm(aes))`; a key that took its place is not shown.
pub(super) fn name(word: &str) -> &str {
    if let Some((_, long)) = SHORT.iter().find(|(short, _)| *short == word) {
        return long;
    }
    let letters = word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"()_-,".contains(&b));
    let named = word.contains('(') || word.contains('_') || word.len() <= 10;
    if letters && named && !word.starts_with("0x") { word } else { "unknown" }
}

/// ICV bits of an `auth` line without its own.
pub(super) fn default_bits(name: &str) -> Option<&'static str> {
    DEFAULT_BITS.iter().find(|(known, _)| *known == name).map(|(_, bits)| *bits)
}

/// `-` and nothing stand for no key; unprivileged users see none.
pub(super) fn key(word: &str, builder: &mut Builder) -> Option<Secret> {
    if matches!(word, "" | "-" | "0x") || hidden(word) {
        return None;
    }
    let key = Secret::new(word);
    if key.bits().is_none() {
        builder.wrong("a key that is not in hex digits");
        return None;
    }
    Some(key)
}

/// The beginning of `<<Keys hidden>>`.
pub(super) fn hidden(word: &str) -> bool {
    word.starts_with("<<Keys")
}
