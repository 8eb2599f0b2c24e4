//! Published test vectors, and ESP packets made with another implementation.

use super::{aead, cipher, mac};
use crate::decrypt::{Closed, Decryptor, Icv, Inner, KeyBytes, Keys, Opened, Packet, Padding, Unchecked};
use crate::transform::Esp;
use crate::transform::algorithm::{cipher as ciphers, integrity};

/// Octets from hex digits; blanks do not count.
pub(in crate::decrypt) fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits.chars().filter_map(|c| c.to_digit(16)).map(|digit| digit as u8).collect();
    assert_eq!(digits.len() % 2, 0, "whole octets");
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// A transform by its catalogue names.
fn esp(cipher: &str, integrity: Option<&str>) -> Esp {
    let integrity = integrity.map(|name| integrity::named(name).expect(name));
    Esp { cipher: ciphers::named(cipher).expect(cipher), key_bits: None, integrity }
}

/// Octets of the IV on the wire.
fn iv_bytes(cipher: &str) -> usize {
    ciphers::named(cipher).expect(cipher).iv as usize
}

fn decryptor(esp: &Esp, encryption: &str, authentication: &str) -> Decryptor {
    let keys = Keys { encryption: hex(encryption).into(), authentication: hex(authentication).into() };
    Decryptor::new(esp, &keys).expect("keys of the right length")
}

#[test]
fn ciphers_without_integrity() {
    // Source, cipher, key material, IV, ciphertext, plaintext.
    let block16 = "53696e676c6520626c6f636b206d7367";
    let counting = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
    let cases = [
        (
            "RFC 3602 case 1",
            "AES-CBC",
            "06a9214036b8a15b512e03d534120006",
            "3dafba429d9eb430b422da802c9fac41",
            "e353779c1079aeb82708942dbe77181a",
            block16,
        ),
        (
            "RFC 3602 case 2",
            "AES-CBC",
            "c286696d887c9aa0611bbb3e2025a45a",
            "562e17996d093d28ddb3ba695a2e6f58",
            "d296cd94c2cccf8a3a863028b5e1dc0a7586602d253cfff91b8266bea6d61ab1",
            counting,
        ),
        (
            "NIST SP 800-38A F.2.4",
            "AES-CBC",
            "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b",
            "000102030405060708090a0b0c0d0e0f",
            "4f021db243bc633d7178183a9fa071e8",
            "6bc1bee22e409f96e93d7e117393172a",
        ),
        (
            "NIST SP 800-38A F.2.6",
            "AES-CBC",
            "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
            "000102030405060708090a0b0c0d0e0f",
            "f58c4c04d6e5f1ba779eabfb5f7bfbd6",
            "6bc1bee22e409f96e93d7e117393172a",
        ),
        (
            "RFC 3686 #1",
            "AES-CTR",
            "ae6852f8121067cc4bf7a5765577f39e 00000030",
            "0000000000000000",
            "e4095d4fb7a7b3792d6175a3261311b8",
            block16,
        ),
        (
            "RFC 3686 #3",
            "AES-CTR",
            "7691be035e5020a8ac6e618529f9a0dc 00e0017b",
            "27777f3f4a1786f0",
            "c1cf48a89f2ffdd9cf4652e9efdb72d74540a42bde6d7836d59a5ceaaef3105325b2072f",
            "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20212223",
        ),
        (
            "RFC 3686 #4",
            "AES-CTR",
            "16af5b145fc9f579c175f93e3bfb0eed863d06ccfdb78515 00000048",
            "36733c147d6d93cb",
            "4b55384fe259c9c84e7935a003cbe928",
            block16,
        ),
        (
            "RFC 3686 #7",
            "AES-CTR",
            "776beff2851db06f4c8a0542c8696f6c6a81af1eec96b4d37fc1d689e6c1c104 00000060",
            "db5672c97aa8f0b2",
            "145ad01dbf824ec7560863dc71e3e0c0",
            block16,
        ),
        (
            "FIPS 81 table C2",
            "DES-CBC",
            "0123456789abcdef",
            "1234567890abcdef",
            "e5c7cdde872bf27c43e934008c389c0f683788499a7c05f6",
            "4e6f77206973207468652074696d6520666f7220616c6c20",
        ),
        (
            "NIST SP 800-67 B.1, first block",
            "3DES-CBC",
            "0123456789abcdef 23456789abcdef01 456789abcdef0123",
            "0000000000000000",
            "a826fd8ce53b855f",
            "5468652071756663",
        ),
        (
            "RFC 3713, 128 bits",
            "CAMELLIA-CBC",
            "0123456789abcdeffedcba9876543210",
            "00000000000000000000000000000000",
            "67673138549669730857065648eabe43",
            "0123456789abcdeffedcba9876543210",
        ),
        (
            "RFC 3713, 256 bits",
            "CAMELLIA-CBC",
            "0123456789abcdeffedcba987654321000112233445566778899aabbccddeeff",
            "00000000000000000000000000000000",
            "9acc237dff16d76c20ef7c919e3a7509",
            "0123456789abcdeffedcba9876543210",
        ),
    ];
    for (source, name, key, iv, ciphertext, plaintext) in cases {
        let cipher = ciphers::named(name).expect(name);
        let keyed = cipher::keyed(cipher, None, &hex(key).into()).expect(source);
        let mut data = hex(ciphertext);
        keyed.decrypt(&hex(iv), &mut data);
        assert_eq!(data, hex(plaintext), "{source}");
    }
}

#[test]
fn ciphers_with_integrity_of_their_own() {
    let gcm_plain = "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525
        b16aedf5aa0de657ba637b391aafd255";
    let gcm_sealed = "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84aa05
        1ba30b396a0aac973d58e091473f5985";
    let gcm_associated = "feedfacedeadbeeffeedfacedeadbeefabaddad2";
    // Source, cipher, key material, IV, associated data, ciphertext, ICV, plaintext.
    let cases = [
        (
            "GCM specification, test case 3",
            "AES-GCM-16",
            "feffe9928665731c6d6a8f9467308308 cafebabe",
            "facedbaddecaf888",
            "",
            gcm_sealed,
            "4d5c2af327cd64a62cf35abd2ba6fab4",
            gcm_plain,
        ),
        (
            "GCM specification, test case 3, ICV of 12 octets",
            "AES-GCM-12",
            "feffe9928665731c6d6a8f9467308308 cafebabe",
            "facedbaddecaf888",
            "",
            gcm_sealed,
            "4d5c2af327cd64a62cf35abd",
            gcm_plain,
        ),
        (
            "GCM specification, test case 3, ICV of 8 octets",
            "AES-GCM-8",
            "feffe9928665731c6d6a8f9467308308 cafebabe",
            "facedbaddecaf888",
            "",
            gcm_sealed,
            "4d5c2af327cd64a6",
            gcm_plain,
        ),
        (
            "GCM specification, test case 4",
            "AES-GCM-16",
            "feffe9928665731c6d6a8f9467308308 cafebabe",
            "facedbaddecaf888",
            gcm_associated,
            &gcm_sealed[..gcm_sealed.len() - 8],
            "5bc94fbc3221a5db94fae95ae7121a47",
            &gcm_plain[..gcm_plain.len() - 8],
        ),
        (
            "GCM specification, test case 16",
            "AES-GCM-16",
            "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308 cafebabe",
            "facedbaddecaf888",
            gcm_associated,
            "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838
             c5f61e6393ba7a0abcc9f662",
            "76fc6ece0f4e1768cddf8853bb2d551b",
            &gcm_plain[..gcm_plain.len() - 8],
        ),
        (
            "NIST CAVS (nonces of 11 octets), 128 bits",
            "AES-CCM-16",
            "1e2c7e01419aefc00d58966e5ca24bd3 4fa319",
            "d3015ad830601556",
            "dae6289c452dfd635eda4cb6e6fcf9b70c56cbe4e0057ae10a630978bc2c55de",
            "8a1e11f0026be219fc70c46d8eb799abc54ba2acd3f348ff3bb5ce53efdebb02",
            "a986156c13feda0a22b8293dd8399a23",
            "87a336fd96b39378a92863ba12a31485571e06c97b21ef767f387e8e29a43e7e",
        ),
        (
            "NIST CAVS (nonces of 11 octets), 192 bits",
            "AES-CCM-8",
            "585da096651a04d796e5c568aa9535e029a0ba9e4878d1ba ee4983",
            "e9a9ffe957bafd9e",
            "44a62c05e9e143b1587cf25c6d390a64a4f01305d177996711c4c6db00563661",
            "fbe55d34bee5e8e75aef2fbf1f7fd4b266ca611e967a61b31c164552ba049c9f",
            "b1d240bc527c6fb1",
            "85346642c8920f3658e06b913c985cbb0a85cc02ad7a96e96543a4c30fdc5581",
        ),
        (
            "NIST CAVS (nonces of 11 octets), 256 bits",
            "AES-CCM-12",
            "7cc8183b8d99e07c4541b8bd5ca7c2328ab80259a4fea92c09759a9b3c9b2739 f9d94e",
            "63b53d9d43f61e50",
            "57f56b8b575c3d3b1302010c834c96358ed639cf7d149b94b03936e68f57e013",
            "b0885a33aae5c71d8523c7c62ff41e3dcc63442507784f9e96b888ebbc481f06",
            "39af39acd84a80397b728af7",
            "3b6c2936b6ef07a68372074fcffa66895fcab1bad58f2c2730db750993d465e4",
        ),
    ];
    for (source, name, key, iv, associated, sealed, icv, plain) in cases {
        let cipher = ciphers::named(name).expect(name);
        let keyed = aead::keyed(cipher, None, &hex(key).into()).expect(source);
        let iv: [u8; aead::IV] = hex(iv).try_into().expect("eight octets");
        let (associated, icv, plain) = (hex(associated), hex(icv), hex(plain));
        let mut data = hex(sealed);
        assert!(keyed.open(&iv, &associated, &mut data, &icv), "{source}");
        assert_eq!(data, plain, "{source}");

        let mut unchecked = hex(sealed);
        unchecked.truncate(23);
        keyed.unchecked(&iv, &mut unchecked);
        assert_eq!(unchecked, plain[..23], "{source}: the beginning alone");

        let mut data = hex(sealed);
        data[0] ^= 1;
        assert!(!keyed.open(&iv, &associated, &mut data, &icv), "{source}: one bit is another packet");
        assert!(!keyed.open(&iv, &associated, &mut hex(sealed), &icv[1..]), "{source}: an ICV of another length");
    }
}

#[test]
fn integrity_algorithms() {
    let block = "6bc1bee22e409f96e93d7e117393172a";
    let repeated = |octet: &str, count| octet.repeat(count);
    // Source, algorithm, key, data, ICV.
    let cases = [
        ("RFC 2202 HMAC-MD5 #1", "HMAC-MD5-96", repeated("0b", 16), "4869205468657265", "9294727a3638bb1c13f48ef8"),
        (
            "RFC 2202 HMAC-MD5 #1",
            "HMAC-MD5-128",
            repeated("0b", 16),
            "4869205468657265",
            "9294727a3638bb1c13f48ef8158bfc9d",
        ),
        ("RFC 2202 HMAC-MD5 #3", "HMAC-MD5-96", repeated("aa", 16), &"dd".repeat(50), "56be34521d144c88dbb8c733"),
        ("RFC 2202 HMAC-SHA-1 #1", "HMAC-SHA1-96", repeated("0b", 20), "4869205468657265", "b617318655057264e28bc0b6"),
        (
            "RFC 2202 HMAC-SHA-1 #3",
            "HMAC-SHA1-160",
            repeated("aa", 20),
            &"dd".repeat(50),
            "125d7342b9ac11cd91a39af48aa17b4f63f175d3",
        ),
        (
            "RFC 4868 AUTH256-1",
            "HMAC-SHA2-256-128",
            repeated("0b", 32),
            "4869205468657265",
            "198a607eb44bfbc69903a0f1cf2bbdc5",
        ),
        (
            "RFC 4868 AUTH256-1, 96 bits",
            "HMAC-SHA2-256-96",
            repeated("0b", 32),
            "4869205468657265",
            "198a607eb44bfbc69903a0f1",
        ),
        (
            "RFC 4868 AUTH384-1",
            "HMAC-SHA2-384-192",
            repeated("0b", 48),
            "4869205468657265",
            "b6a8d5636f5c6a7224f9977dcf7ee6c7fb6d0c48cbdee973",
        ),
        (
            "RFC 4868 AUTH512-1",
            "HMAC-SHA2-512-256",
            repeated("0b", 64),
            "4869205468657265",
            "637edc6e01dce7e6742a99451aae82df23da3e92439e590e43e761b33e910fb8",
        ),
        ("RFC 3566 #1", "AES-XCBC-96", "000102030405060708090a0b0c0d0e0f".into(), "", "75f0251d528ac01c4573dfd5"),
        ("RFC 4493 #1", "AES-CMAC-96", "2b7e151628aed2a6abf7158809cf4f3c".into(), "", "bb1d6929e95937287fa37d12"),
        ("RFC 4493 #2", "AES-CMAC-96", "2b7e151628aed2a6abf7158809cf4f3c".into(), block, "070a16b46b4d4144f79bdd9d"),
    ];
    for (source, name, key, data, icv) in cases {
        let integrity = integrity::named(name).expect(name);
        let mac = mac::keyed(integrity, &hex(&key).into()).expect(source);
        let (data, mut icv) = (hex(data), hex(icv));
        assert_eq!(icv.len(), integrity.icv as usize, "{source}");
        let (before, behind) = data.split_at(data.len() / 3);
        assert!(mac.verifies(&[before, behind], &icv), "{source}");
        icv[0] ^= 0x80;
        assert!(!mac.verifies(&[&data], &icv), "{source}: one bit is another ICV");
        assert!(!mac.verifies(&[&data], &[]), "{source}: no ICV is none");
    }
}

/// The ICMP echo that RFC 3602 encrypts in its sections 4.5 and following: transport mode, no integrity.
#[test]
fn the_packet_of_rfc_3602() {
    let decryptor = decryptor(&esp("AES-CBC", None), "90d382b410eeba7ad938c46cec1a82bf", "");
    let packet = hex("00004321 00000001 e96e8c08ab465763fd098d45dd3ff893
        f663c25d325c18c6a9453e194e120849a4870b66cc6b9965330013b4898dc856a4699e523a55db080b59ec3a8e4b7e52
        775b07d1db34ed9c538ab50c551b874aa269add047ad2d5913ac19b7cfbad4a6");
    let mut out = vec![1; 9];
    let opened = decryptor.open(Packet::whole(&packet), None, &mut out);
    assert_eq!(opened.icv, Icv::NotChecked(Unchecked::NoIntegrity));
    let inner = opened.inner.expect("decrypted");
    assert_eq!(
        out[inner.payload],
        hex("08000ebda70a00008e9c083db95b0700 08090a0b0c0d0e0f1011121314151617
        18191a1b1c1d1e1f2021222324252627 28292a2b2c2d2e2f3031323334353637")
    );
    let trailer = inner.trailer.expect("a whole packet");
    assert_eq!(
        (trailer.next_header, trailer.pad_length, trailer.padding, trailer.tfc),
        (1, 14, Padding::Counting, None)
    );
}

#[test]
fn the_packet_of_rfc_7634() {
    let key = "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f a0a1a2a3";
    let decryptor = decryptor(&esp("CHACHA20-POLY1305", None), key, "");
    let packet =
        hex("01020304 00000005 1011121314151617 24039428b97f417e3c13753a4f05087b67c352e6a7fab1b982d466ef407ae5c6
        14ee8099d52844eb61aa95dfab4c02f72aa71e7c4c4f64c9befe2facc638e8f3cbec163fac469b502773f6fb94e664da9165b82829f641e0
        76aaa8266b7fb0f7b11b369907e1ad43");
    let mut out = Vec::new();
    let opened = decryptor.open(Packet::whole(&packet), None, &mut out);
    assert_eq!(opened.icv, Icv::Verified);
    let inner = opened.inner.expect("decrypted");
    assert_eq!(out[inner.payload.clone()][..20], hex("45000054a6f200004001e778c6336405c0000205"));
    assert_eq!((inner.payload, inner.trailer.and_then(|trailer| trailer.tfc)), (0..84, Some(0)));
}

/// The GMAC packet of draft-mcgrew-gcm-test-01.
#[test]
fn a_packet_that_gmac_authenticates() {
    let decryptor = decryptor(&esp("NULL-AUTH-AES-GMAC", None), "4c80cdefbb5d10da906ac73c3613a634 22433c64", "");
    let packet =
        hex("00004321 00000007 0000000000000000 45000030da3a00008001df3bc0a80005c0a800010800c6cd0200070061626364
        65666768696a6b6c6d6e6f707172737401020201 f2a9a836e155106aa8dcd618e4099aaa");
    let mut out = Vec::new();
    let opened = decryptor.open(Packet::whole(&packet), None, &mut out);
    assert_eq!(opened.icv, Icv::Verified);
    assert_eq!(out[opened.inner.expect("in clear").payload][..4], hex("45000030"));
    for at in 0..packet.len() {
        let mut changed = packet.clone();
        changed[at] ^= 1;
        assert_eq!(decryptor.open(Packet::whole(&changed), None, &mut out).icv, Icv::Failed, "octet {at}");
        assert!(out.is_empty());
    }
}

/// ESP packets made with OpenSSL: cipher, key material (counting octets), high half, packet. All carry the same IPv4 packet.
const OPENSSL: &[(&str, &str, Option<u32>, &str)] = &[
    (
        "AES-GCM-16",
        "000102030405060708090a0b0c0d0e0fa0a1a2a3",
        Some(7),
        "000003e900000005505152535455565776da1b3c2e9e5bd1b859b5ec5c6fb73fd9dd10d2889ae74fe68d757d360d98a2
         19487b3412e82a5369037068ee3ddda2",
    ),
    (
        "AES-GCM-12",
        "000102030405060708090a0b0c0d0e0f1011121314151617a0a1a2a3",
        None,
        "000003e9000000055051525354555657d1f48d05b0d7b25fc0ad8dd70b15ceaa719b825af28d6691cc7219b5a3bab398
         5478d680d6beb87d974d459c",
    ),
    (
        "AES-GCM-8",
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1fa0a1a2a3",
        Some(0),
        "000003e9000000055051525354555657a781957c8cc701951cefe9f1cd32211865143ece24878a8b43fcdbf32adf986d
         6f22b9224af0f26b",
    ),
    (
        "AES-CCM-16",
        "000102030405060708090a0b0c0d0e0fa0a1a2",
        None,
        "000003e9000000055051525354555657280a1abad800a6f44bd6fec39630d1f4378e8f4cd67e8be0ff80874da81a1fc3
         3f483d48fef601574ceaa543c5146329",
    ),
    (
        "AES-CCM-12",
        "000102030405060708090a0b0c0d0e0f1011121314151617a0a1a2",
        Some(7),
        "000003e900000005505152535455565722436254c84436c55bfc514d84d1c5e46afeecf023e1b6d038af69a9f97b331f
         b7ab809422aaa741713cd924",
    ),
    (
        "AES-CCM-8",
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1fa0a1a2",
        None,
        "000003e9000000055051525354555657a2cedf0c6cc4cead4cbd8b3a4b6c8cac15d5aca165aa13344ad4d0f048c448c9
         a631562c68092c0e",
    ),
    (
        "CHACHA20-POLY1305",
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1fa0a1a2a3",
        Some(7),
        "000003e9000000055051525354555657e7e0846909a9930d2be0cd2a92ebe4a690900c540048d306ddf8cdfa9be0dbd2
         2bab1a2770a085ec01bcd93fb7f19c74",
    ),
    (
        "AES-GCM-16-IIV",
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1fa0a1a2a3",
        None,
        "000003e900000005dcc9e81438d67c3ff6949eea020e47bfa2c11f5097af778b3f21166707180510cd22369b0bceddcd
         ae800b9ae3d89a99",
    ),
    (
        "AES-CCM-8-IIV",
        "000102030405060708090a0b0c0d0e0fa0a1a2",
        Some(7),
        "000003e90000000551e13e9ef225a0056b9bfd4d2c042135f931e40e28e2ff25522fce20b8a97fd31e2dc9be8c4f208d",
    ),
    (
        "CHACHA20-POLY1305-IIV",
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1fa0a1a2a3",
        Some(7),
        "000003e90000000537a6bc02bbc8cc1f1711dc97a705c79e983fc3147bfe3d84c2103d1085bb7b20a2e8e4dbce9aa41b
         ac98c9ac1716c107",
    ),
];

#[test]
fn packets_of_another_implementation() {
    for (name, key, high, packet) in OPENSSL {
        let decryptor = decryptor(&esp(name, None), key, "");
        let packet = hex(packet);
        let mut out = Vec::new();
        let Opened { icv, inner } = decryptor.open(Packet::whole(&packet), *high, &mut out);
        assert_eq!(icv, Icv::Verified, "{name}");
        let Inner { payload, trailer } = inner.expect(name);
        let trailer = trailer.expect(name);
        let plain = hex("4500001c00010000401100000a0000010a000002 0001000200080000");
        assert_eq!(out[payload], plain, "{name}");
        assert_eq!((trailer.next_header, trailer.pad_length, trailer.tfc), (4, 2, Some(0)), "{name}");

        // Another high half, or none, is another packet.
        for other in [None, Some(0), Some(7), Some(8)].into_iter().filter(|other| other != high) {
            let opened = decryptor.open(Packet::whole(&packet), other, &mut out);
            assert_eq!(opened, Opened { icv: Icv::Failed, inner: Err(Closed::IcvFailed) }, "{name} {other:?}");
            assert!(out.is_empty());
        }
        let found = decryptor.open_esn(Packet::whole(&packet), [Some(3), None, Some(0), Some(7)], &mut out);
        assert_eq!((found.0, found.1.icv), (Some(*high), Icv::Verified), "{name}");
        let found = decryptor.open_esn(Packet::whole(&packet), [Some(3), Some(9)], &mut out);
        assert_eq!((found.0, found.1.icv), (None, Icv::Failed), "{name}");

        let iv = iv_bytes(name);
        // Cut after each octet: nothing is checked, and what is there decrypts to the beginning of the same packet.
        for cut in 0..packet.len() {
            let opened = decryptor.open(Packet::captured(&packet[..cut], packet.len()), *high, &mut out);
            assert_eq!(opened.icv, Icv::NotChecked(Unchecked::Cut), "{name} cut at {cut}");
            let seen = out.len().min(plain.len());
            assert_eq!(out[..seen], plain[..seen], "{name} cut at {cut}");
            assert_eq!(opened.inner.is_ok(), cut >= 8 + iv, "{name} cut at {cut}");
            let trailer = opened.inner.ok().and_then(|inner| inner.trailer);
            let icv = ciphers::named(name).expect(name).icv as usize;
            assert_eq!(trailer.is_some(), cut >= packet.len() - icv, "{name} cut at {cut}");
        }
    }
}

#[test]
fn every_algorithm_of_the_catalogue_is_implemented_or_known_not_to_be() {
    let without_cipher = [
        "CAMELLIA-CCM-16",
        "CAMELLIA-CCM-12",
        "CAMELLIA-CCM-8",
        "SEED-CBC",
        "SERPENT-CBC",
        "TWOFISH-CBC",
        "CAST-128-CBC",
        "BLOWFISH-CBC",
        "DES-CBC-IV64",
        "DES-CBC-IV32",
        "SEAL",
    ];
    for cipher in ciphers::CIPHERS {
        let lengths = (0..=64).map(|octets| {
            let keys = Keys { encryption: vec![1; octets].into(), authentication: KeyBytes::default() };
            Decryptor::new(&Esp { cipher, key_bits: None, integrity: None }, &keys).map(|_| octets * 8)
        });
        let taken: Vec<usize> = lengths.flatten().collect();
        let wanted: Vec<usize> = (0..=64 * 8_u32)
            .filter(|bits| bits % 8 == 0)
            .filter(|bits| bits.checked_sub(cipher.salt * 8).and_then(|key| cipher.keys.accept(key)) == Some(true))
            .map(|bits| bits as usize)
            .collect();
        let expected = if without_cipher.contains(&cipher.name) { vec![] } else { wanted };
        assert_eq!(taken, expected, "{}", cipher.name);
    }
    let without_mac = ["HMAC-RIPEMD160-96", "CAMELLIA-XCBC-96", "AES-GMAC"];
    for integrity in integrity::INTEGRITIES {
        let unnamed = integrity.place == integrity::Place::Unnamed;
        let taken: Vec<u32> = (0..=64)
            .filter(|octets| mac::keyed(integrity, &vec![1; *octets as usize].into()).is_ok())
            .map(|octets| octets * 8)
            .collect();
        let wanted = (0..=512).filter(|bits| integrity.keys.accept(*bits) == Some(true)).collect::<Vec<_>>();
        let expected = if unnamed || without_mac.contains(&integrity.name) { vec![] } else { wanted };
        assert_eq!(taken, expected, "{}", integrity.name);
    }
}
