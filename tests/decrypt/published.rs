//! Captures of other implementations whose keys their authors published: transport mode in IPv4 and IPv6, and tunnels with an ICV that
//! nobody checks.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

use spiglass::decrypt::{Decryptor, Keys};
use spiglass::transform::Esp;
use spiglass::transform::algorithm::{cipher, integrity};

use crate::keyed::{Check, Id, Outcome, Sa, check, hex};
use crate::support::shared;

fn sa(cipher_name: &str, key: &[u8], authentication: Option<(&str, &[u8])>, tunnel: bool) -> Sa {
    let esp = Esp {
        cipher: cipher::named(cipher_name).expect(cipher_name),
        key_bits: None,
        integrity: authentication.map(|(name, _)| integrity::named(name).expect(name)),
    };
    let keys =
        Keys { encryption: key.into(), authentication: authentication.map(|(_, key)| key).unwrap_or_default().into() };
    let decryptor = Decryptor::new(&esp, &keys).expect("fitting keys");
    Sa { check: Check::Esp(decryptor), esn: None, tunnel }
}

/// The SAs of the first example capture of the Wireshark wiki: four ciphers by HMAC-SHA1, HMAC-MD5 and no integrity, in IPv4
/// and in IPv6. Keys are the octets of a text.
fn wiki() -> HashMap<Id, Sa> {
    let ciphers = [
        ("AES-CBC", "aescbcencryption"),
        ("3DES-CBC", "3descbcencryptiontesting"),
        ("DES-CBC", "descbcte"),
        ("NULL", ""),
    ];
    // Integrity, what the last group of the destination begins with, SPIs in IPv4 and in IPv6.
    let integrities = [
        (Some(("HMAC-SHA1-96", &b"hmacsha1authenticati"[..])), 2, 110, 10),
        (Some(("HMAC-MD5-96", &b"hmacmd5authentic"[..])), 12, 110, 10),
        (None, 22, 120, 20),
    ];
    let mut sas = HashMap::new();
    for (authentication, host, spi4, spi6) in integrities {
        for ((name, key), n) in ciphers.into_iter().zip(0_u8..) {
            let host = host + n;
            let v4 = IpAddr::V4(Ipv4Addr::new(190, 0, 0, host));
            // The groups of the addresses look like decimal numbers.
            let v6 = IpAddr::V6(Ipv6Addr::new(0x3ffe, 0, 0, 0, 0, 0, 0, u16::from(host / 10 * 16 + host % 10)));
            for (spi, dst) in [(spi4, v4), (spi6, v6)] {
                sas.insert(("esp", spi + u32::from(n), dst), sa(name, key.as_bytes(), authentication, false));
            }
        }
    }
    sas
}

fn counts(outcome: &Outcome) -> (u64, u64, u64, &BTreeMap<&'static str, u64>) {
    assert_eq!(outcome.complaints, <[String; 0]>::default());
    (outcome.verified, outcome.failed, outcome.keyless, &outcome.unchecked)
}

#[test]
fn every_packet_with_a_published_key_verifies_and_decrypts() {
    let Some(corpus) = shared("corpus/ipsec") else { return };
    let checked = |name: &str, mut sas| check(&corpus.join(Path::new(name)), &mut sas);
    // Ten packets of each SA.
    let outcome = checked("wireshark-wiki__ipsec_esp_capture_1-capture.pcap", wiki());
    assert_eq!(counts(&outcome), (160, 0, 0, &BTreeMap::from([("no integrity", 80)])));

    let key = hex("0x4043434545464649494a4a4c4c4f4f515152525454575758");
    for name in ["tcpdump__02-sunrise-sunset-esp.pcap", "tcpdump__espudp1.pcap"] {
        let dst: [IpAddr; 2] = [Ipv4Addr::new(192, 1, 2, 45).into(), Ipv4Addr::new(192, 1, 2, 23).into()];
        let sas = dst.map(|dst| (("esp", 0x1234_5678, dst), sa("3DES-CBC", &key, Some(("ANY-96", &[])), true)));
        let outcome = checked(name, sas.into());
        assert_eq!(counts(&outcome), (0, 0, 0, &BTreeMap::from([("length only", 8)])), "{name}");
        assert!(outcome.sizes.iter().all(|(inner, _)| *inner == 84), "{name}: {:?}", outcome.sizes);
    }
}
