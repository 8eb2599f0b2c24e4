//! What one word means.

use crate::transform::algorithm::cipher::CIPHERS;
use crate::transform::algorithm::compression::COMPRESSIONS;
use crate::transform::algorithm::integrity::{INTEGRITIES, Place};
use crate::transform::{Cipher, Compression, Integrity};

/// The protocol that a word belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Proto {
    Ah,
    Esp,
    IpComp,
}

/// The meaning of a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Word {
    /// What follows belongs to this protocol.
    Protocol(Proto),
    /// A cipher, the protocol if the word says it, the key length if the word says it.
    Cipher(Option<Proto>, &'static Cipher, Option<u32>),
    /// A name of Linux XFRM; the number behind it may decide.
    LinuxCipher(&'static str),
    /// The same for integrity.
    LinuxIntegrity(&'static str),
    /// An integrity algorithm.
    Integrity(Option<Proto>, &'static Integrity),
    /// A compression algorithm.
    Compression(&'static Compression),
    /// NULL: no cipher or no integrity, by where it stands.
    Null,
    /// Belongs to a proposal and changes no length: groups, pseudo-random functions, extended sequence numbers.
    Nothing,
}

/// What a word in lower case means.
pub(super) fn meaning(word: &str) -> Option<Word> {
    if let Some(word) = fixed(word) {
        return Some(word);
    }
    if let Some(cipher) = CIPHERS.iter().find_map(|cipher| cipher.linux.filter(|name| *name == word)) {
        return Some(Word::LinuxCipher(cipher));
    }
    let linux = |integrity: &'static Integrity| integrity.linux.map(|(name, _)| name).filter(|name| *name == word);
    if let Some(integrity) = INTEGRITIES.iter().find_map(linux) {
        return Some(Word::LinuxIntegrity(integrity));
    }
    let (proto, bare) = match word.split_once('-') {
        Some(("esp", rest)) => (Some(Proto::Esp), rest),
        Some(("ah", rest)) => (Some(Proto::Ah), rest),
        _ => (None, word),
    };
    let plain: String = bare.chars().filter(|c| c.is_ascii_alphanumeric()).collect();
    if proto != Some(Proto::Ah) {
        // Cisco writes the key length in front, too: `esp-192-aes`.
        let reversed = ["128", "192", "256"].iter().find(|bits| proto.is_some() && plain == format!("{bits}aes"));
        let plain = reversed.map_or(plain.clone(), |bits| format!("aes{bits}"));
        if let Some((cipher, bits)) = cipher(&plain) {
            return Some(Word::Cipher(proto, cipher, bits));
        }
    }
    let fits = |integrity: &&Integrity| proto.is_none() || integrity.place == Place::Both || proto == Some(Proto::Ah);
    if let Some(integrity) = INTEGRITIES.iter().filter(fits).find(|one| is(one.name, one.words, &plain)) {
        return Some(Word::Integrity(proto, integrity));
    }
    COMPRESSIONS.iter().find(|one| is(one.name, one.words, &plain)).map(Word::Compression)
}

/// Whether a word begins as Cisco's do, so that its parts mean nothing by themselves.
pub(super) fn is_prefixed(word: &str) -> bool {
    ["esp-", "ah-", "comp-"].iter().any(|prefix| word.starts_with(prefix))
}

/// Words that are no algorithm.
fn fixed(word: &str) -> Option<Word> {
    Some(match word {
        "esp" => Word::Protocol(Proto::Esp),
        "ah" => Word::Protocol(Proto::Ah),
        "ipcomp" | "comp" => Word::Protocol(Proto::IpComp),
        "null" | "none" | "digest_null" => Word::Null,
        "esn" | "noesn" | "aead" | "enc" | "auth" | "auth-trunc" | "icv" | "trunc" => Word::Nothing,
        _ if is_group(word) => Word::Nothing,
        _ => return None,
    })
}

/// Key exchange and pseudo-random functions in a strongSwan proposal.
fn is_group(word: &str) -> bool {
    let numbered =
        |stem: &str| word.strip_prefix(stem).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    word.starts_with("prf")
        || word.starts_with("ke1_")
        || matches!(word, "curve25519" | "curve448" | "x25519" | "x448" | "modpnull")
        || ["modp", "ecp", "mlkem"].iter().any(|stem| numbered(stem))
        || word.strip_prefix("ecp").is_some_and(|rest| rest.ends_with("bp"))
}

fn is(name: &str, words: &[&str], plain: &str) -> bool {
    let same = name.chars().filter(|c| c.is_ascii_alphanumeric()).map(|c| c.to_ascii_lowercase()).eq(plain.chars());
    same || words.contains(&plain)
}

/// A cipher by its plain name, with the key length in it.
fn cipher(plain: &str) -> Option<(&'static Cipher, Option<u32>)> {
    // Names as they are come first: the 128 of `aesgcm128` is an ICV before it is a key.
    let exact = CIPHERS.iter().find(|cipher| {
        is(cipher.name, &[], plain) || cipher.words.iter().any(|pattern| pattern.replace("{}", "") == plain)
    });
    if let Some(cipher) = exact {
        return Some((cipher, None));
    }
    CIPHERS.iter().find_map(|cipher| {
        let keyed =
            cipher.keyed_name.map(|(before, after)| format!("{before}{{}}{after}").to_lowercase().replace('-', ""));
        let bits = |pattern: &str| {
            let (before, after) = pattern.split_once("{}")?;
            let bits: u32 = plain.strip_prefix(before)?.strip_suffix(after)?.parse().ok()?;
            cipher.keys.accept(bits)?.then_some(bits)
        };
        let found = cipher.words.iter().copied().chain(keyed.as_deref()).find_map(bits)?;
        Some((cipher, Some(found)))
    })
}

/// Every word that could have been meant, for suggestions.
pub(super) fn all() -> Vec<String> {
    const CISCO: &[&str] = &[
        "esp-null",
        "esp-des",
        "esp-3des",
        "esp-aes",
        "esp-gcm",
        "esp-gmac",
        "esp-seal",
        "esp-md5-hmac",
        "esp-sha-hmac",
        "esp-sha256-hmac",
        "esp-sha384-hmac",
        "esp-sha512-hmac",
        "ah-md5-hmac",
        "ah-sha-hmac",
        "ah-sha256-hmac",
        "ah-sha384-hmac",
        "ah-sha512-hmac",
        "comp-lzs",
    ];
    let mut words: Vec<String> = CISCO.iter().map(|word| (*word).to_owned()).collect();
    for cipher in CIPHERS {
        words.push(cipher.name.to_lowercase());
        words.extend(cipher.linux.map(str::to_owned));
        for pattern in cipher.words {
            words.push(pattern.replace("{}", ""));
            if pattern.contains("{}") {
                words.extend(["128", "192", "256"].iter().map(|bits| pattern.replace("{}", bits)));
            }
        }
    }
    for integrity in INTEGRITIES.iter().filter(|integrity| integrity.place != Place::Unnamed) {
        words.push(integrity.name.to_lowercase());
        words.extend(integrity.linux.map(|(name, _)| name.to_owned()));
        words.extend(integrity.words.iter().map(|word| (*word).to_owned()));
    }
    words.extend(COMPRESSIONS.iter().map(|compression| compression.name.to_lowercase()));
    words
}
