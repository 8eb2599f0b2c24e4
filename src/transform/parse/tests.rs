use super::*;
use proptest::prelude::*;

use crate::transform::algorithm::cipher::CIPHERS;
use crate::transform::algorithm::integrity::INTEGRITIES;

fn name(text: &str) -> String {
    text.parse::<Suite>().map_or_else(|error| format!("error: {error}"), |suite| suite.to_string())
}

#[test]
fn cisco_transform_sets() {
    for (text, expected) in [
        ("esp-aes 256 esp-sha-hmac", "ESP AES-256-CBC/HMAC-SHA1-96"),
        ("esp-aes esp-sha512-hmac", "ESP AES-CBC/HMAC-SHA2-512-256"),
        ("ah-sha512-hmac esp-aes esp-sha512-hmac", "AH HMAC-SHA2-512-256 + ESP AES-CBC/HMAC-SHA2-512-256"),
        ("ah-md5-hmac", "AH HMAC-MD5-96"),
        ("esp-null esp-md5-hmac", "ESP NULL/HMAC-MD5-96"),
        ("esp-md5-hmac", "ESP NULL/HMAC-MD5-96"),
        ("esp-des", "ESP DES-CBC"),
        ("ah-md5-hmac esp-des", "AH HMAC-MD5-96 + ESP DES-CBC"),
        ("ah-md5-hmac esp-3des esp-md5-hmac", "AH HMAC-MD5-96 + ESP 3DES-CBC/HMAC-MD5-96"),
        ("esp-192-aes esp-sha256-hmac", "ESP AES-192-CBC/HMAC-SHA2-256-128"),
        ("esp-aes-256 esp-sha-hmac", "ESP AES-256-CBC/HMAC-SHA1-96"),
        ("esp-aes 128 ctr esp-sha1-hmac", "ESP AES-128-CTR/HMAC-SHA1-96"),
        ("esp-aes esp-aes-xcbc-mac", "ESP AES-CBC/AES-XCBC-96"),
        ("esp-gcm 256", "ESP AES-256-GCM-16"),
        ("esp-gmac", "ESP NULL-AUTH-AES-GMAC"),
        ("esp-seal esp-sha-hmac", "ESP SEAL/HMAC-SHA1-96"),
        ("esp-3des esp-sha-hmac comp-lzs", "ESP 3DES-CBC/HMAC-SHA1-96 + IPCOMP LZS"),
    ] {
        assert_eq!(name(text), expected, "{text}");
    }
}

#[test]
fn strongswan_proposals() {
    for (text, expected) in [
        ("aes128-sha256", "ESP AES-128-CBC/HMAC-SHA2-256-128"),
        ("aes256-sha1-modp2048!", "ESP AES-256-CBC/HMAC-SHA1-96"),
        ("aes-md5", "ESP AES-CBC/HMAC-MD5-96"),
        ("aes128gcm16", "ESP AES-128-GCM-16"),
        ("aes256gcm128-prfsha256-ecp384-esn", "ESP AES-256-GCM-16"),
        ("aes192ccm96", "ESP AES-192-CCM-12"),
        ("3des-md5", "ESP 3DES-CBC/HMAC-MD5-96"),
        ("null-sha256", "ESP NULL/HMAC-SHA2-256-128"),
        ("aes128ctr-sha2_512", "ESP AES-128-CTR/HMAC-SHA2-512-256"),
        ("aes128-sha256_96", "ESP AES-128-CBC/HMAC-SHA2-256-96"),
        ("chacha20poly1305-curve25519", "ESP CHACHA20-POLY1305"),
        ("blowfish256-aesxcbc", "ESP BLOWFISH-256-CBC/AES-XCBC-96"),
        ("cast128-sha1", "ESP CAST-128-CBC/HMAC-SHA1-96"),
        ("camellia256-sha384", "ESP CAMELLIA-256-CBC/HMAC-SHA2-384-192"),
        ("aes128gmac", "ESP NULL-AUTH-AES-128-GMAC"),
        ("ah sha512", "AH HMAC-SHA2-512-256"),
        ("ah aes128gmac", "AH AES-GMAC"),
    ] {
        assert_eq!(name(text), expected, "{text}");
    }
}

#[test]
fn linux_and_wireshark_names() {
    for (text, expected) in [
        ("cbc(aes) hmac(sha256) 128", "ESP AES-CBC/HMAC-SHA2-256-128"),
        ("cbc(aes) hmac(sha256)", "ESP AES-CBC/HMAC-SHA2-256-96"),
        ("enc cbc(des3_ede) auth-trunc hmac(sha1) 96", "ESP 3DES-CBC/HMAC-SHA1-96"),
        ("cbc(des) digest_null", "ESP DES-CBC"),
        ("hmac(md5) 96 ecb(cipher_null)", "ESP NULL/HMAC-MD5-96"),
        ("rfc4106(gcm(aes)) 128", "ESP AES-GCM-16"),
        ("aead rfc4106(gcm(aes)) icv 64", "ESP AES-GCM-8"),
        ("rfc3686(ctr(aes)) + hmac(sha256) trunc 128", "ESP AES-CTR/HMAC-SHA2-256-128"),
        ("rfc7539esp(chacha20, poly1305) 128", "ESP CHACHA20-POLY1305"),
        ("ah hmac(sha256) 128", "AH HMAC-SHA2-256-128"),
        ("AES-CBC [RFC3602] HMAC-SHA-256-128 [RFC4868]", "ESP AES-CBC/HMAC-SHA2-256-128"),
        ("AES-CBC [RFC3602] HMAC-SHA-1-96 [RFC2404]", "ESP AES-CBC/HMAC-SHA1-96"),
        ("AES-CBC [RFC3602] HMAC-SHA-256-96 [draft-ietf-ipsec-ciph-sha-256-00]", "ESP AES-CBC/HMAC-SHA2-256-96"),
        ("AES-GCM with 16 octet ICV [RFC4106] NULL", "ESP AES-GCM-16"),
        ("AES-GCM [RFC4106] ANY 64 bit authentication [no checking]", "ESP AES-GCM-8"),
        ("TripleDES-CBC [RFC2451] HMAC-MD5-96 [RFC2403]", "ESP 3DES-CBC/HMAC-MD5-96"),
        ("DES-CBC [RFC2405] NULL", "ESP DES-CBC"),
        ("NULL HMAC-SHA-512-256 [RFC4868]", "ESP NULL/HMAC-SHA2-512-256"),
        ("NULL NULL", "ESP NULL"),
        ("CAST5-CBC [RFC2144] MAC-RIPEMD-160-96 [RFC2857]", "ESP CAST-128-CBC/HMAC-RIPEMD160-96"),
        ("AES-CBC [RFC3602] ANY 128 bit authentication [no checking]", "ESP AES-CBC/ANY-128"),
        ("deflate", "IPCOMP DEFLATE"),
    ] {
        assert_eq!(name(text), expected, "{text}");
    }
}

#[test]
fn every_suite_can_be_read_back_from_its_own_name() {
    for cipher in CIPHERS {
        let integrities: Vec<Option<&'static Integrity>> = if cipher.is_combined() {
            vec![None]
        } else {
            INTEGRITIES.iter().filter(|one| one.place != Place::Ah).map(Some).chain([None]).collect()
        };
        for integrity in integrities {
            for key_bits in [None, Some(256)].into_iter().filter(|bits| bits.is_none() || cipher.keyed_name.is_some()) {
                for ah in [None, integrity::named("AES-GMAC"), integrity::named("HMAC-SHA1-160")] {
                    let suite = Suite { ah, esp: Some(Esp { cipher, key_bits, integrity }), ipcomp: None };
                    assert_eq!(suite.to_string().parse(), Ok(suite), "{suite}");
                }
            }
        }
    }
    for integrity in INTEGRITIES {
        let suite = Suite::ah(integrity);
        assert_eq!(suite.to_string().parse(), Ok(suite), "{suite}");
    }
}

#[test]
fn errors_name_the_word_and_what_was_nearly_said() {
    for (text, expected) in [
        ("esp-eas esp-sha-hmac", "\"esp-eas\" names no algorithm; did you mean esp-aes?"),
        ("esp-aes 512 esp-sha-hmac", "\"512\" names no algorithm"),
        ("esp-aes esp-sha-hmca", "\"esp-sha-hmca\" names no algorithm; did you mean esp-sha-hmac?"),
        ("aes128-sah256", "\"sah256\" names no algorithm; did you mean sha256?"),
        ("hmac(sha265)", "\"hmac(sha265)\" names no algorithm; did you mean hmac(sha256)?"),
        ("", "no transform is named: say for example \"esp-aes 256 esp-sha-hmac\" or aes256-sha256"),
        ("esp", "no transform is named: say for example \"esp-aes 256 esp-sha-hmac\" or aes256-sha256"),
        ("sha256", "HMAC-SHA2-256-128 has no cipher beside it: say null for ESP-NULL, or ah for AH"),
        ("aes128 3des", "\"3des\" does not fit: there is a cipher already"),
        ("esp-gcm esp-sha-hmac", "\"HMAC-SHA1-96\" does not fit: AES-GCM-16 has integrity of its own"),
        ("ah aes128", "\"aes128\" does not fit: AH has no cipher"),
    ] {
        assert_eq!(name(text), format!("error: {expected}"), "{text}");
    }
}

#[test]
fn what_may_be_a_key_is_not_repeated() {
    for text in ["esp-aes 0xdeadbeef", "esp-aes 00112233445566778899aabbccddeeff", "esp-aes 0011:2233:4455"] {
        let error = name(text);
        assert!(error.starts_with("error: ") && !error.contains("33") && !error.contains("dead"), "{error}");
    }
    // Few digits behind 0x, and words longer than any transform's: nobody means a transform.
    for word in ["0x1234567", "0xpassphrase", &"z".repeat(41)] {
        let error = name(&format!("esp-aes {word}"));
        assert!(error.contains("a word that may be a key") && !error.contains(word), "{error}");
    }
    for word in ["1234567", "cafe", &"z".repeat(40)] {
        let error = name(&format!("esp-aes {word}"));
        assert!(error.contains(&format!("\"{word}\"")), "{error}");
    }
    assert!(name(&"esp-aes ".repeat(1000)).contains("too long"));
}

proptest! {
    /// Whatever is typed, there is an answer, and what is understood has a name that means the same.
    #[test]
    fn anything_can_be_typed(words in proptest::collection::vec(
        prop_oneof![
            proptest::sample::select(super::vocabulary::all()),
            "[ -~]{0,12}",
            "\\PC{0,8}",
            proptest::sample::select(vec!["esp".to_owned(), "ah".into(), "128".into(), "with".into(), "any".into(), "[".into(), "(".into()]),
        ],
        0..6,
    )) {
        let text = words.join(" ");
        match text.parse::<Suite>() {
            Ok(suite) => prop_assert_eq!(suite.to_string().parse(), Ok(suite)),
            Err(error) => prop_assert!(error.to_string().chars().all(|c| !c.is_control())),
        }
    }
}
