//! What it takes to check and decrypt one ESP packet, by transform: octets of ciphertext per second, short packets and long ones.
//!
//!     cargo bench --bench decrypt

use std::hint::black_box;

use aes_gcm::aead::{AeadInOut, KeyInit, Nonce};
use ccm::consts::{U11, U16};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use hmac::{Hmac, Mac};
use spiglass::decrypt::{Decryptor, Icv, Keys, Packet};
use spiglass::transform::Suite;

/// Ciphertext of a packet of 40 octets, and of one that fills an MTU of 1,438: multiples of all blocks.
const SIZES: [usize; 2] = [64, 1376];

/// Octets of key material that every algorithm here finds its key at the beginning of.
const MATERIAL: [u8; 64] = [0x5a; 64];

/// Makes the ICV of SPI to ciphertext, or encrypts as well.
enum Seal {
    Sha1,
    Sha256,
    Gcm128,
    Gcm256,
    Ccm,
    ChaCha,
}

/// Name of the transform, octets of key material and of the authentication key, octets of IV, how a packet is made.
const TRANSFORMS: &[(&str, usize, usize, usize, Seal)] = &[
    ("NULL/HMAC-SHA1-96", 0, 20, 0, Seal::Sha1),
    ("3DES-CBC/HMAC-SHA1-96", 24, 20, 8, Seal::Sha1),
    ("AES-128-CBC/HMAC-SHA1-96", 16, 20, 16, Seal::Sha1),
    ("AES-256-CBC/HMAC-SHA2-256-128", 32, 32, 16, Seal::Sha256),
    ("AES-128-CTR/HMAC-SHA2-256-128", 20, 32, 8, Seal::Sha256),
    ("AES-128-GCM-16", 20, 0, 8, Seal::Gcm128),
    ("AES-256-GCM-16", 36, 0, 8, Seal::Gcm256),
    ("AES-128-CCM-16", 19, 0, 8, Seal::Ccm),
    ("CHACHA20-POLY1305", 36, 0, 8, Seal::ChaCha),
];

fn packet(size: usize, key: usize, iv: usize, seal: &Seal) -> Vec<u8> {
    let mut packet = vec![0, 0, 0x03, 0xe9, 0, 0, 0, 1];
    packet.extend((0..iv + size).map(|n| (n * 37) as u8));
    let (clear, data) = packet.split_at_mut(8 + iv);
    let nonce = |salt: usize| [&MATERIAL[..salt], &clear[8..]].concat();
    let icv = match seal {
        Seal::Sha1 => mac::<Hmac<sha1::Sha1>>(20, &packet)[..12].to_vec(),
        Seal::Sha256 => mac::<Hmac<sha2::Sha256>>(32, &packet)[..16].to_vec(),
        Seal::Gcm128 => encrypt::<aes_gcm::Aes128Gcm>(key - 4, &nonce(4), &clear[..8], data),
        Seal::Gcm256 => encrypt::<aes_gcm::Aes256Gcm>(key - 4, &nonce(4), &clear[..8], data),
        Seal::Ccm => encrypt::<ccm::Ccm<aes::Aes128, U16, U11>>(key - 3, &nonce(3), &clear[..8], data),
        Seal::ChaCha => encrypt::<chacha20poly1305::ChaCha20Poly1305>(key - 4, &nonce(4), &clear[..8], data),
    };
    packet.extend(icv);
    packet
}

fn mac<M: Mac + KeyInit>(key: usize, octets: &[u8]) -> Vec<u8> {
    let mac = <M as KeyInit>::new_from_slice(&MATERIAL[..key]).expect("any key");
    mac.chain_update(octets).finalize().into_bytes().to_vec()
}

fn encrypt<A: AeadInOut + KeyInit>(key: usize, nonce: &[u8], associated: &[u8], data: &mut [u8]) -> Vec<u8> {
    let aead = A::new_from_slice(&MATERIAL[..key]).expect("a fitting key");
    let nonce = Nonce::<A>::try_from(nonce).expect("a fitting nonce");
    aead.encrypt_inout_detached(&nonce, associated, data.into()).expect("a short packet").to_vec()
}

fn open(c: &mut Criterion) {
    let mut group = c.benchmark_group("decrypt");
    for (name, key, authentication, iv, seal) in TRANSFORMS {
        let suite: Suite = format!("ESP {name}").parse().expect(name);
        let keys = Keys { encryption: MATERIAL[..*key].into(), authentication: MATERIAL[..*authentication].into() };
        let decryptor = Decryptor::new(&suite.esp.expect("ESP"), &keys).expect(name);
        for size in SIZES {
            let packet = packet(size, *key, *iv, seal);
            let mut out = Vec::new();
            group.throughput(Throughput::Bytes(size as u64));
            group.bench_function(format!("{name}/{size}"), |b| {
                b.iter(|| {
                    let opened = decryptor.open(Packet::whole(black_box(&packet)), None, &mut out);
                    assert_eq!(opened.icv, Icv::Verified, "{name}");
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, open);
criterion_main!(benches);
