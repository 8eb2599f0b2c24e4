//! The catalogue of ESP ciphers: what each costs on the wire, and what it is worth.
//!
//! Lengths are of the wire format: the salt of counter modes is part of the key material and never sent.

use crate::transform::KeyLengths;

/// How a cipher works, as far as the wire shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    /// No encryption.
    Null,
    /// Cipher block chaining: padded to blocks, an IV of one block that must be unpredictable.
    Cbc,
    /// Counter mode without integrity of its own.
    Ctr,
    /// Authenticated encryption, or authentication alone (GMAC), with an IV that never repeats.
    Aead,
    /// Authenticated encryption whose IV is the sequence number (RFC 8750).
    ImplicitIv,
    /// A stream cipher of its vendor's own.
    Stream,
}

/// An ESP cipher.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cipher {
    /// Name in every output.
    pub name: &'static str,
    /// What stands before and after the key length where a name says it: `AES-256-CBC`.
    pub keyed_name: Option<(&'static str, &'static str)>,
    /// Words that mean it, lower case without separators; `{}` stands for an optional key length.
    pub words: &'static [&'static str],
    /// Name in Linux XFRM.
    pub linux: Option<&'static str>,
    /// IKEv2 transform ID (type 1).
    pub iana: Option<u16>,
    /// How it works.
    pub family: Family,
    /// Plaintext with padding, pad length and next header is a multiple of this, in octets (RFC 4303 section 2.4: at least 4).
    pub alignment: u32,
    /// Explicit IV, in octets.
    pub iv: u32,
    /// ICV of its own, in octets; 0 where integrity is a matter of another algorithm.
    pub icv: u32,
    /// Octets at the end of the key material that are no key; never on the wire.
    pub salt: u32,
    /// Key lengths it takes, without salt.
    pub keys: KeyLengths,
    /// Where it is defined.
    pub rfc: &'static str,
    /// Why it should not be used any more; none where nothing is wrong with it.
    pub weak: Option<&'static str>,
}

impl Cipher {
    /// Whether what it carries cannot be read.
    #[must_use]
    pub fn encrypts(&self) -> bool {
        self.family != Family::Null && !self.is_gmac()
    }

    /// Whether it has integrity of its own, so that no second algorithm belongs to it.
    #[must_use]
    pub const fn is_combined(&self) -> bool {
        matches!(self.family, Family::Aead | Family::ImplicitIv)
    }

    fn is_gmac(&self) -> bool {
        self.iana == Some(21)
    }

    /// Whether key material of this many bits is what it takes, with its salt or (as some write it) without;
    /// `None` where nobody knows.
    #[must_use]
    pub fn accepts_key_material(&self, bits: u32) -> Option<bool> {
        let without_salt = bits.checked_sub(self.salt * 8).map(|bits| self.keys.accept(bits));
        match (self.keys.accept(bits), without_salt) {
            (None, _) => None,
            (Some(plain), salted) => Some(plain || salted.flatten() == Some(true)),
        }
    }

    /// The name, with a key length where there is a choice of them.
    #[must_use]
    pub fn keyed(&self, key_bits: Option<u32>) -> String {
        match (self.keyed_name, key_bits) {
            (Some((before, after)), Some(bits)) => format!("{before}{bits}{after}"),
            _ => self.name.to_owned(),
        }
    }
}

/// The cipher of this catalogue name; case does not matter.
#[must_use]
pub fn named(name: &str) -> Option<&'static Cipher> {
    CIPHERS.iter().find(|cipher| cipher.name.eq_ignore_ascii_case(name))
}

/// The cipher of a name in Linux XFRM; `icv_bits` is the number that `ip xfrm state` prints behind an AEAD's key.
/// Without it an AEAD is taken to have the full 128 bits.
#[must_use]
pub fn linux(name: &str, icv_bits: Option<u32>) -> Option<&'static Cipher> {
    let name = name.to_ascii_lowercase();
    let mut of_name = CIPHERS.iter().filter(|cipher| cipher.linux == Some(name.as_str()));
    of_name.find(|cipher| cipher.icv == 0 || cipher.icv * 8 == icv_bits.unwrap_or(128))
}

/// The same cipher with an ICV of its own of another length.
#[must_use]
pub(in crate::transform) fn with_icv(cipher: &'static Cipher, icv: u32) -> Option<&'static Cipher> {
    let same = |other: &&Cipher| other.rfc == cipher.rfc && other.family == cipher.family && other.salt == cipher.salt;
    CIPHERS.iter().find(|other| same(other) && other.icv == icv)
}

const AES: KeyLengths = KeyLengths::OneOf(&[128, 192, 256]);
const DES: KeyLengths = KeyLengths::OneOf(&[64]);

const WEAK_DES: &str = "a 56-bit key can be searched; MUST NOT be used (RFC 8221 section 5)";
const WEAK_3DES: &str =
    "blocks of 64 bits repeat after some ten gigabytes under one key; SHOULD NOT be used (RFC 8221 section 5)";
const WEAK_BLOCK: &str = "blocks of 64 bits repeat after some ten gigabytes under one key; deprecated (RFC 9395)";
const WEAK_BLOWFISH: &str =
    "blocks of 64 bits repeat after some ten gigabytes under one key; MUST NOT be used (RFC 8221 section 5)";
const WEAK_SEAL: &str = "a vendor's own stream cipher that no RFC specifies";

/// A cipher block chaining mode: the IV is one block.
const fn cbc(name: &'static str, words: &'static [&'static str], block: u32, keys: KeyLengths) -> Cipher {
    Cipher {
        name,
        keyed_name: None,
        words,
        linux: None,
        iana: None,
        family: Family::Cbc,
        alignment: block,
        iv: block,
        icv: 0,
        salt: 0,
        keys,
        rfc: "",
        weak: None,
    }
}

/// A counter mode with an explicit IV of 8 octets; `icv` is 0 for plain CTR.
const fn counter(name: &'static str, words: &'static [&'static str], icv: u32, salt: u32) -> Cipher {
    let family = if icv == 0 { Family::Ctr } else { Family::Aead };
    Cipher { family, alignment: 4, iv: 8, icv, salt, ..cbc(name, words, 4, AES) }
}

/// The same with the sequence number as IV (RFC 8750).
const fn implicit(name: &'static str, words: &'static [&'static str], icv: u32, salt: u32) -> Cipher {
    Cipher { family: Family::ImplicitIv, iv: 0, rfc: "RFC8750", ..counter(name, words, icv, salt) }
}

/// All of them, roughly by how often they are met. Sources: the RFC of each; IANA, Internet Key Exchange Version 2
/// parameters, transform type 1.
pub static CIPHERS: &[Cipher] = &[
    Cipher {
        keyed_name: Some(("AES-", "-CBC")),
        linux: Some("cbc(aes)"),
        iana: Some(12),
        rfc: "RFC3602",
        ..cbc("AES-CBC", &["aes{}", "aes{}cbc", "aescbc{}"], 16, AES)
    },
    Cipher {
        keyed_name: Some(("AES-", "-GCM-16")),
        linux: Some("rfc4106(gcm(aes))"),
        iana: Some(20),
        rfc: "RFC4106",
        ..counter("AES-GCM-16", &["aes{}gcm16", "aes{}gcm128", "aes{}gcm", "aesgcm{}", "aesgcm16{}", "gcm{}"], 16, 4)
    },
    Cipher {
        linux: Some("cbc(des3_ede)"),
        iana: Some(3),
        rfc: "RFC2451",
        weak: Some(WEAK_3DES),
        ..cbc("3DES-CBC", &["3des", "3descbc", "tripledes", "tripledescbc"], 8, KeyLengths::OneOf(&[192]))
    },
    Cipher {
        linux: Some("cbc(des)"),
        iana: Some(2),
        rfc: "RFC2405",
        weak: Some(WEAK_DES),
        ..cbc("DES-CBC", &["des", "descbc"], 8, DES)
    },
    Cipher {
        linux: Some("ecb(cipher_null)"),
        iana: Some(11),
        rfc: "RFC2410",
        family: Family::Null,
        alignment: 4,
        iv: 0,
        ..cbc("NULL", &["null", "none", "ciphernull"], 4, KeyLengths::None)
    },
    Cipher {
        linux: Some("rfc7539esp(chacha20,poly1305)"),
        iana: Some(28),
        rfc: "RFC7634",
        keys: KeyLengths::OneOf(&[256]),
        ..counter("CHACHA20-POLY1305", &["chacha20poly1305", "chacha20poly1305compat"], 16, 4)
    },
    Cipher {
        keyed_name: Some(("AES-", "-CTR")),
        linux: Some("rfc3686(ctr(aes))"),
        iana: Some(13),
        rfc: "RFC3686",
        ..counter("AES-CTR", &["aes{}ctr", "aesctr{}"], 0, 4)
    },
    Cipher {
        keyed_name: Some(("AES-", "-GCM-12")),
        linux: Some("rfc4106(gcm(aes))"),
        iana: Some(19),
        rfc: "RFC4106",
        ..counter("AES-GCM-12", &["aes{}gcm12", "aes{}gcm96", "aesgcm12{}"], 12, 4)
    },
    Cipher {
        keyed_name: Some(("AES-", "-GCM-8")),
        linux: Some("rfc4106(gcm(aes))"),
        iana: Some(18),
        rfc: "RFC4106",
        ..counter("AES-GCM-8", &["aes{}gcm8", "aes{}gcm64", "aesgcm8{}"], 8, 4)
    },
    Cipher {
        keyed_name: Some(("AES-", "-CCM-16")),
        linux: Some("rfc4309(ccm(aes))"),
        iana: Some(16),
        rfc: "RFC4309",
        ..counter("AES-CCM-16", &["aes{}ccm16", "aes{}ccm128", "aes{}ccm", "aesccm{}", "aesccm16{}"], 16, 3)
    },
    Cipher {
        keyed_name: Some(("AES-", "-CCM-12")),
        linux: Some("rfc4309(ccm(aes))"),
        iana: Some(15),
        rfc: "RFC4309",
        ..counter("AES-CCM-12", &["aes{}ccm12", "aes{}ccm96", "aesccm12{}"], 12, 3)
    },
    Cipher {
        keyed_name: Some(("AES-", "-CCM-8")),
        linux: Some("rfc4309(ccm(aes))"),
        iana: Some(14),
        rfc: "RFC4309",
        ..counter("AES-CCM-8", &["aes{}ccm8", "aes{}ccm64", "aesccm8{}"], 8, 3)
    },
    Cipher {
        keyed_name: Some(("NULL-AUTH-AES-", "-GMAC")),
        linux: Some("rfc4543(gcm(aes))"),
        iana: Some(21),
        rfc: "RFC4543",
        ..counter("NULL-AUTH-AES-GMAC", &["aes{}gmac", "aesgmac{}", "gmac{}", "nullauthaes{}gmac"], 16, 4)
    },
    Cipher {
        keyed_name: Some(("AES-", "-GCM-16-IIV")),
        iana: Some(30),
        ..implicit("AES-GCM-16-IIV", &["aes{}gcm16iiv", "aesgcm16iiv{}"], 16, 4)
    },
    Cipher {
        keyed_name: Some(("AES-", "-CCM-8-IIV")),
        iana: Some(29),
        ..implicit("AES-CCM-8-IIV", &["aes{}ccm8iiv", "aesccm8iiv{}"], 8, 3)
    },
    Cipher {
        iana: Some(31),
        keys: KeyLengths::OneOf(&[256]),
        ..implicit("CHACHA20-POLY1305-IIV", &["chacha20poly1305iiv"], 16, 4)
    },
    Cipher {
        keyed_name: Some(("CAMELLIA-", "-CBC")),
        linux: Some("cbc(camellia)"),
        iana: Some(23),
        rfc: "RFC4312",
        ..cbc("CAMELLIA-CBC", &["camellia{}", "camellia{}cbc", "camelliacbc{}"], 16, AES)
    },
    Cipher {
        keyed_name: Some(("CAMELLIA-", "-CTR")),
        linux: Some("rfc3686(ctr(camellia))"),
        iana: Some(24),
        rfc: "RFC5529",
        ..counter("CAMELLIA-CTR", &["camellia{}ctr", "camelliactr{}"], 0, 4)
    },
    Cipher {
        keyed_name: Some(("CAMELLIA-", "-CCM-16")),
        iana: Some(27),
        rfc: "RFC5529",
        ..counter(
            "CAMELLIA-CCM-16",
            &["camellia{}ccm16", "camellia{}ccm128", "camellia{}ccm", "camelliaccm16{}"],
            16,
            3,
        )
    },
    Cipher {
        keyed_name: Some(("CAMELLIA-", "-CCM-12")),
        iana: Some(26),
        rfc: "RFC5529",
        ..counter("CAMELLIA-CCM-12", &["camellia{}ccm12", "camellia{}ccm96", "camelliaccm12{}"], 12, 3)
    },
    Cipher {
        keyed_name: Some(("CAMELLIA-", "-CCM-8")),
        iana: Some(25),
        rfc: "RFC5529",
        ..counter("CAMELLIA-CCM-8", &["camellia{}ccm8", "camellia{}ccm64", "camelliaccm8{}"], 8, 3)
    },
    Cipher {
        rfc: "RFC4196",
        linux: Some("cbc(seed)"),
        ..cbc("SEED-CBC", &["seed", "seedcbc"], 16, KeyLengths::OneOf(&[128]))
    },
    Cipher {
        keyed_name: Some(("SERPENT-", "-CBC")),
        linux: Some("cbc(serpent)"),
        rfc: "none",
        ..cbc("SERPENT-CBC", &["serpent{}", "serpent{}cbc", "serpentcbc{}"], 16, AES)
    },
    Cipher {
        keyed_name: Some(("TWOFISH-", "-CBC")),
        linux: Some("cbc(twofish)"),
        rfc: "none",
        ..cbc("TWOFISH-CBC", &["twofish{}", "twofish{}cbc", "twofishcbc{}"], 16, AES)
    },
    Cipher {
        linux: Some("cbc(cast5)"),
        iana: Some(6),
        rfc: "RFC2451",
        weak: Some(WEAK_BLOCK),
        ..cbc("CAST-128-CBC", &["cast", "cast128", "cast5", "cast5cbc", "cast128cbc"], 8, KeyLengths::Between(40, 128))
    },
    Cipher {
        keyed_name: Some(("BLOWFISH-", "-CBC")),
        linux: Some("cbc(blowfish)"),
        iana: Some(7),
        rfc: "RFC2451",
        weak: Some(WEAK_BLOWFISH),
        ..cbc("BLOWFISH-CBC", &["blowfish{}", "blowfish{}cbc", "blowfishcbc{}"], 8, KeyLengths::Between(40, 448))
    },
    Cipher {
        iana: Some(1),
        rfc: "RFC1829",
        weak: Some(WEAK_DES),
        ..cbc("DES-CBC-IV64", &["descbciv64", "desiv64", "rfc1829"], 8, DES)
    },
    Cipher {
        iana: Some(9),
        rfc: "RFC1829",
        iv: 4,
        weak: Some(WEAK_DES),
        ..cbc("DES-CBC-IV32", &["descbciv32", "desiv32"], 8, DES)
    },
    Cipher {
        rfc: "none",
        family: Family::Stream,
        iv: 0,
        weak: Some(WEAK_SEAL),
        ..cbc("SEAL", &["seal"], 4, KeyLengths::OneOf(&[160]))
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cipher_aligns_to_four_at_least_and_has_an_rfc() {
        for cipher in CIPHERS {
            assert!(cipher.alignment >= 4 && cipher.alignment.is_power_of_two(), "{}", cipher.name);
            assert!(!cipher.rfc.is_empty(), "{}", cipher.name);
            assert_eq!(named(cipher.name), Some(cipher), "names are unique");
            assert_eq!(cipher.is_combined(), cipher.icv > 0, "{}", cipher.name);
        }
    }

    #[test]
    fn linux_names_need_the_icv_where_it_is_the_ciphers_own() {
        assert_eq!(linux("cbc(aes)", None).map(|c| c.name), Some("AES-CBC"));
        assert_eq!(linux("rfc4106(gcm(aes))", Some(64)).map(|c| c.name), Some("AES-GCM-8"));
        assert_eq!(linux("rfc4106(gcm(aes))", Some(128)).map(|c| c.name), Some("AES-GCM-16"));
        assert_eq!(linux("rfc4106(gcm(aes))", Some(40)), None);
        assert_eq!(linux("cbc(unheard)", None), None);
    }

    #[test]
    fn key_material_may_end_in_a_salt() {
        let gcm = named("AES-GCM-16").expect("in the catalogue");
        assert_eq!(gcm.accepts_key_material(160), Some(true));
        assert_eq!(gcm.accepts_key_material(128), Some(true));
        assert_eq!(gcm.accepts_key_material(136), Some(false));
        let des = named("DES-CBC").expect("in the catalogue");
        assert_eq!(des.accepts_key_material(8), Some(false));
        assert_eq!(named("NULL").and_then(|null| null.accepts_key_material(0)), Some(true));
    }
}
