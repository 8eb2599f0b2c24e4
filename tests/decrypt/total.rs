//! No octets and no cut make decryption panic, and it never answers with octets that were not there.

use proptest::prelude::*;
use spiglass::decrypt::{AhVerifier, Decryptor, Icv, Keys, Packet};
use spiglass::transform::algorithm::{cipher, integrity};
use spiglass::transform::{Esp, KeyLengths};

/// A decryptor of every cipher and every integrity algorithm that is implemented, and one without integrity for each cipher.
fn decryptors() -> Vec<Decryptor> {
    let key = |bits: u32| vec![0x5a; bits as usize / 8];
    let lengths = || (0..=64).map(|words: u32| words * 8);
    let mut all = Vec::new();
    for cipher in cipher::CIPHERS {
        let integrities = integrity::INTEGRITIES.iter().map(Some).chain([None]);
        for integrity in integrities {
            for (cipher_bits, mac_bits) in lengths().flat_map(|a| lengths().map(move |b| (a, b))) {
                let fits = |keys: KeyLengths, bits| keys.accept(bits) == Some(true);
                let mac_fits = integrity.map_or(mac_bits == 0, |one| fits(one.keys, mac_bits) || mac_bits == 0);
                if !fits(cipher.keys, cipher_bits) || !mac_fits {
                    continue;
                }
                let keys = Keys {
                    encryption: key(cipher_bits + cipher.salt * 8).into(),
                    authentication: key(mac_bits).into(),
                };
                all.extend(Decryptor::new(&Esp { cipher, key_bits: None, integrity }, &keys));
            }
        }
    }
    all
}

fn verifiers() -> Vec<AhVerifier> {
    let keyed =
        |octets: usize| integrity::INTEGRITIES.iter().map(move |one| AhVerifier::new(one, &vec![0x5a; octets].into()));
    [16, 20, 32, 48, 64].into_iter().flat_map(keyed).flatten().collect()
}

#[test]
fn the_property_covers_every_family() {
    let names: Vec<String> = decryptors().iter().map(|decryptor| format!("{decryptor:?}")).collect();
    for name in [
        "AES-CBC/AES-XCBC-96",
        "AES-GCM-8",
        "AES-CCM-12",
        "CHACHA20-POLY1305",
        "NULL",
        "AES-CBC/ANY-96",
        "3DES-CBC/HMAC-SHA2-512-256",
    ] {
        assert!(names.contains(&format!("Decryptor({name})")), "{name} of {} decryptors", names.len());
    }
    // HMAC with MD5, SHA-1 and SHA-256 in two lengths each, with SHA-384 and SHA-512 in one; XCBC and CMAC.
    assert_eq!(verifiers().len(), 10);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn esp_of_any_octets_is_answered(
        octets in prop::collection::vec(any::<u8>(), 0..200),
        bytes in 0_usize..260,
        high in any::<Option<u32>>(),
        which in any::<prop::sample::Index>(),
    ) {
        thread_local!(static ALL: Vec<Decryptor> = decryptors());
        ALL.with(|all| {
            let decryptor = which.get(all);
            let mut out = vec![7; 5];
            for packet in [Packet::whole(&octets), Packet::captured(&octets, bytes)] {
                let opened = decryptor.open(packet, high, &mut out);
                // Nobody guesses 64 bits of an ICV.
                prop_assert_ne!(opened.icv, Icv::Verified);
                prop_assert!(out.len() <= octets.len());
                match opened.inner {
                    Ok(inner) => {
                        prop_assert!(out.get(inner.payload.clone()).is_some());
                        let trailer = inner.trailer.map_or(0, |trailer| 2 + trailer.tfc.unwrap_or(0));
                        prop_assert!(inner.payload.len() + trailer <= out.len());
                    }
                    Err(_) => prop_assert!(out.is_empty()),
                }
            }
            Ok(())
        })?;
    }

    #[test]
    fn ah_of_any_octets_is_answered(
        mut octets in prop::collection::vec(any::<u8>(), 0..200),
        header in prop::option::of(prop_oneof![
            Just(vec![(0, 0x45), (9, 51), (6, 0), (7, 0), (2, 0), (3, 0)]),
            Just(vec![(0, 0x4a), (9, 51), (6, 0), (7, 0), (2, 0), (3, 90)]),
            Just(vec![(0, 0x60), (6, 51)]),
            Just(vec![(0, 0x60), (6, 43), (40, 51), (41, 4), (42, 0)]),
            Just(vec![(0, 0x60), (6, 0), (40, 60), (41, 0), (48, 51), (49, 1)]),
        ]),
        length in 0_u8..12,
        high in any::<Option<u32>>(),
        which in any::<prop::sample::Index>(),
    ) {
        for (at, octet) in header.iter().flatten() {
            if let Some(slot) = octets.get_mut(*at) {
                *slot = *octet;
            }
        }
        // The length of AH, where an IPv4 header without options leaves it.
        if let Some(slot) = octets.get_mut(21) {
            *slot = length;
        }
        prop_assert_ne!(which.get(&verifiers()).verify(&octets, high), Icv::Verified);
    }
}
