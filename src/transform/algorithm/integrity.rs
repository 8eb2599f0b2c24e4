//! The catalogue of integrity algorithms for AH and ESP.

use crate::transform::KeyLengths;

/// An integrity algorithm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Integrity {
    /// Name in every output.
    pub name: &'static str,
    /// Words that mean it, lower case without separators.
    pub words: &'static [&'static str],
    /// Name in Linux XFRM and whether the kernel truncates to this length unless told otherwise.
    pub linux: Option<(&'static str, bool)>,
    /// IKEv2 transform ID (type 3).
    pub iana: Option<u16>,
    /// Octets of IV in front of the ICV: 8 for AES-GMAC in AH (RFC 4543 section 4), else 0.
    pub iv: u32,
    /// ICV, in octets, as truncated on the wire.
    pub icv: u32,
    /// Key lengths it takes.
    pub keys: KeyLengths,
    /// Where it may be used.
    pub place: Place,
    /// Where it is defined.
    pub rfc: &'static str,
    /// Why it should not be used any more; none where nothing is wrong with it.
    pub weak: Option<&'static str>,
}

/// Where an integrity algorithm may be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// In AH and in ESP.
    Both,
    /// In AH alone: in ESP it is a cipher of its own (AES-GMAC).
    Ah,
    /// Not an algorithm but a length, as a tool says that does not check the ICV.
    Unnamed,
}

/// The algorithm of this catalogue name; case does not matter.
#[must_use]
pub fn named(name: &str) -> Option<&'static Integrity> {
    INTEGRITIES.iter().find(|integrity| integrity.name.eq_ignore_ascii_case(name))
}

/// The algorithm of a name in Linux XFRM. Without a truncation length it is what the kernel takes by itself:
/// for `hmac(sha256)` that is 96 bits, not the 128 of RFC 4868.
#[must_use]
pub fn linux(name: &str, truncated_bits: Option<u32>) -> Option<&'static Integrity> {
    let name = name.to_ascii_lowercase();
    INTEGRITIES.iter().find(|integrity| {
        integrity.linux.is_some_and(|(linux, by_itself)| {
            linux == name && truncated_bits.map_or(by_itself, |bits| bits == integrity.icv * 8)
        })
    })
}

const WEAK_MD5: &str = "HMAC-MD5 is deprecated; MUST NOT be used (RFC 8221 section 6, RFC 9395)";

const fn entry(name: &'static str, words: &'static [&'static str], icv: u32, key: &'static [u32]) -> Integrity {
    Integrity {
        name,
        words,
        linux: None,
        iana: None,
        iv: 0,
        icv,
        keys: KeyLengths::OneOf(key),
        place: Place::Both,
        rfc: "",
        weak: None,
    }
}

const fn unnamed(name: &'static str, words: &'static [&'static str], icv: u32) -> Integrity {
    Integrity { keys: KeyLengths::Unknown, place: Place::Unnamed, rfc: "none", ..entry(name, words, icv, &[]) }
}

/// All of them. Sources: the RFC of each; IANA, Internet Key Exchange Version 2 parameters, transform type 3.
pub static INTEGRITIES: &[Integrity] = &[
    Integrity {
        linux: Some(("hmac(sha1)", true)),
        iana: Some(2),
        rfc: "RFC2404",
        ..entry("HMAC-SHA1-96", &["sha", "sha1", "shahmac", "sha1hmac", "hmacsha1", "hmacsha", "sha196"], 12, &[160])
    },
    Integrity {
        linux: Some(("hmac(sha256)", false)),
        iana: Some(12),
        rfc: "RFC4868",
        ..entry(
            "HMAC-SHA2-256-128",
            &[
                "sha256",
                "sha2256",
                "sha256hmac",
                "hmacsha256",
                "hmacsha2256",
                "hmacsha256128",
                "sha256128",
                "sha2256128",
            ],
            16,
            &[256],
        )
    },
    Integrity {
        linux: Some(("hmac(sha512)", true)),
        iana: Some(14),
        rfc: "RFC4868",
        ..entry(
            "HMAC-SHA2-512-256",
            &[
                "sha512",
                "sha2512",
                "sha512hmac",
                "hmacsha512",
                "hmacsha2512",
                "hmacsha512256",
                "sha512256",
                "sha2512256",
            ],
            32,
            &[512],
        )
    },
    Integrity {
        linux: Some(("hmac(sha384)", true)),
        iana: Some(13),
        rfc: "RFC4868",
        ..entry(
            "HMAC-SHA2-384-192",
            &[
                "sha384",
                "sha2384",
                "sha384hmac",
                "hmacsha384",
                "hmacsha2384",
                "hmacsha384192",
                "sha384192",
                "sha2384192",
            ],
            24,
            &[384],
        )
    },
    Integrity {
        linux: Some(("hmac(md5)", true)),
        iana: Some(1),
        rfc: "RFC2403",
        weak: Some(WEAK_MD5),
        ..entry("HMAC-MD5-96", &["md5", "md5hmac", "hmacmd5", "md596"], 12, &[128])
    },
    Integrity {
        linux: Some(("hmac(sha256)", true)),
        rfc: "draft-ietf-ipsec-ciph-sha-256-00",
        ..entry("HMAC-SHA2-256-96", &["sha25696", "sha225696", "hmacsha25696"], 12, &[256])
    },
    Integrity {
        linux: Some(("xcbc(aes)", true)),
        iana: Some(5),
        rfc: "RFC3566",
        ..entry("AES-XCBC-96", &["aesxcbc", "aesxcbcmac", "aesxcbcmac96", "xcbc"], 12, &[128])
    },
    Integrity {
        linux: Some(("cmac(aes)", true)),
        iana: Some(8),
        rfc: "RFC4494",
        ..entry("AES-CMAC-96", &["aescmac", "cmac"], 12, &[128])
    },
    Integrity {
        linux: Some(("hmac(rmd160)", true)),
        rfc: "RFC2857",
        ..entry("HMAC-RIPEMD160-96", &["ripemd160", "rmd160", "macripemd16096", "hmacripemd160"], 12, &[160])
    },
    Integrity {
        linux: Some(("xcbc(camellia)", true)),
        rfc: "none",
        ..entry("CAMELLIA-XCBC-96", &["camelliaxcbc"], 12, &[128])
    },
    Integrity {
        linux: Some(("hmac(md5)", false)),
        iana: Some(6),
        rfc: "RFC4595",
        weak: Some(WEAK_MD5),
        ..entry("HMAC-MD5-128", &["md5128"], 16, &[128])
    },
    Integrity {
        linux: Some(("hmac(sha1)", false)),
        iana: Some(7),
        rfc: "RFC4595",
        ..entry("HMAC-SHA1-160", &["sha1160"], 20, &[160])
    },
    Integrity {
        iv: 8,
        place: Place::Ah,
        rfc: "RFC4543",
        ..entry("AES-GMAC", &["aesgmac", "aes128gmac", "aes192gmac", "aes256gmac"], 16, &[128, 192, 256])
    },
    unnamed("ANY-64", &["any64"], 8),
    unnamed("ANY-96", &["any96"], 12),
    unnamed("ANY-128", &["any128"], 16),
    unnamed("ANY-192", &["any192"], 24),
    unnamed("ANY-256", &["any256"], 32),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linux_truncates_sha256_to_96_bits_unless_told_otherwise() {
        assert_eq!(linux("hmac(sha256)", None).map(|i| i.name), Some("HMAC-SHA2-256-96"));
        assert_eq!(linux("hmac(sha256)", Some(128)).map(|i| i.name), Some("HMAC-SHA2-256-128"));
        assert_eq!(linux("hmac(sha1)", None).map(|i| i.icv), Some(12));
        assert_eq!(linux("hmac(sha512)", None).map(|i| i.icv), Some(32));
        assert_eq!(linux("hmac(sha1)", Some(80)), None);
    }

    #[test]
    fn names_are_unique_and_every_algorithm_has_a_source() {
        for integrity in INTEGRITIES {
            assert_eq!(named(integrity.name), Some(integrity));
            assert!(!integrity.rfc.is_empty(), "{}", integrity.name);
            assert_eq!(integrity.icv % 4, 0, "{}", integrity.name);
        }
    }
}
