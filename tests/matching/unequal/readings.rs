//! Lengths that several transforms make alike, until others come that only one of them makes.

use super::{FAR, NEAR, Shown, TAPS, Taps, WAY, direction, report};
use crate::support::build::{self, Noise, START};
use crate::support::{items, number};

const GAP: u64 = 2_500_000;

/// AES-GCM in tunnel mode.
fn gcm(noise: &mut Noise, inner: &[u8]) -> Vec<u8> {
    noise.bytes(8 + (inner.len() + 2).next_multiple_of(4) + 16)
}

/// AES-GCM around GRE in transport mode.
fn gcm_gre(noise: &mut Noise, inner: &[u8]) -> Vec<u8> {
    noise.bytes(8 + (inner.len() + 4 + 2).next_multiple_of(4) + 16)
}

/// Packets of 40, 576 and 1,400 bytes both ways, and of `others` from the 1,000th on, one in 40, of which one in 60 is `lost` between the taps.
fn mix(seed: u64, others: &[u64], lost: bool) -> Vec<Shown> {
    const SIZES: [u64; 12] = [40, 40, 40, 40, 40, 40, 40, 576, 576, 576, 576, 1_400];
    let mut noise = Noise(seed);
    let mut all = Vec::new();
    for packet in 0..3_000_u64 {
        for there in [true, false] {
            let is_other = packet >= 1_000 && packet % 40 == 7;
            let sizes = if is_other { others } else { &SIZES };
            let bytes = sizes[noise.below(sizes.len() as u64) as usize];
            let (src, dst, port) = if there { (NEAR, FAR, 20_001) } else { (FAR, NEAR, 20_002) };
            let port = if is_other { port + 100 } else { port };
            let frame = build::udp(src, dst, (port, port), packet as u16, &noise.bytes(bytes as usize - 28));
            let ns = START + packet * GAP + noise.below(GAP / 2) + if there { 0 } else { GAP / 2 };
            let delay = WAY / 2 + noise.below(WAY / 5);
            let (plain, tunnel) = if there { (ns, ns + delay) } else { (ns + delay, ns) };
            let is_lost = lost && packet % 60 == 11;
            let (plain_ns, tunnel_ns) = match (is_lost, there) {
                (true, true) => (Some(plain), None),
                (true, false) => (None, Some(tunnel)),
                (false, _) => (Some(plain), Some(tunnel)),
            };
            all.push(Shown { there, plain_ns, tunnel_ns, frame });
        }
    }
    all
}

#[test]
fn packets_that_contradict_the_first_reading_change_it() {
    for (name, body, others, lost) in [
        ("gcm", gcm as super::Body, &[44, 100, 108][..], false),
        ("gcm-one", gcm, &[60], false),
        ("gcm-lost", gcm, &[44, 100, 108], true),
        ("gcm-gre", gcm_gre, &[44, 100, 108], false),
    ] {
        let shown = mix(51, others, lost);
        let both = |own: &&Shown| own.plain_ns.is_some() && own.tunnel_ns.is_some();
        let report = report(&format!("readings-{name}"), &shown, &Taps { body, ..TAPS }, &[]);
        for there in [true, false] {
            let own = direction(&report, there);
            let all = shown.iter().filter(|own| own.there == there).filter(both).count() as u64;
            assert_eq!(number(own, "matched"), all, "{name}: {own:#}");
            let candidates = items(own, "transform.candidates");
            let has_gcm = candidates.iter().any(|own| own.as_str().is_some_and(|own| own.contains("AES-GCM")));
            assert!(has_gcm, "{name}: {own:#}");
            let member = if there { "lost_before_tunnel" } else { "lost_behind_tunnel" };
            assert_eq!(own[member].as_u64(), Some(if lost { 50 } else { 0 }), "{name}: {own:#}");
        }
    }
}
