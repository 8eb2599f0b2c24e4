use super::chosen::is_sweep;
use super::*;
use crate::transform::size::layers::{Carried, Layer, Layers};

/// Lengths of ESP around packets of these sizes.
fn lengths(transform: &str, inner: impl IntoIterator<Item = u64>) -> Vec<u32> {
    let suite: crate::transform::Suite = transform.parse().expect(transform);
    let esp = suite.esp.expect("ESP");
    let layers = Layers { carried: Carried::Packet, around: vec![Layer::Esp { esp, tfc: 0 }] };
    let mut lengths: Vec<u32> = inner
        .into_iter()
        .map(|inner| u32::try_from(layers.lengths(inner).expect("a length").outer).expect("short"))
        .collect();
    lengths.sort_unstable();
    lengths.dedup();
    lengths
}

fn infer(lengths: &[u32], iv: IvPattern) -> Option<Inference> {
    Catalogue::new().infer(lengths, iv)
}

const MANY: [u64; 12] = [40, 52, 64, 77, 128, 190, 341, 576, 702, 1013, 1280, 1420];

#[test]
fn many_sizes_decide_block_and_iv() {
    for (transform, iv, block, iv_bytes, icv) in [
        ("aes128-sha1", IvPattern::Random, 16, 16, Some(12)),
        ("aes128-sha384", IvPattern::Random, 16, 16, Some(24)),
        ("aes128-sha256", IvPattern::Random, 16, 16, None),
        ("3des-sha1", IvPattern::Random, 8, 8, Some(12)),
        ("des-sha256", IvPattern::Random, 8, 8, None),
        ("aes128gcm16", IvPattern::SequenceXor, 4, 8, None),
        ("aes128ctr-sha256", IvPattern::Counter, 4, 8, None),
    ] {
        let found = infer(&lengths(transform, MANY), iv).expect(transform);
        let family = found.family;
        assert!(found.decided, "{transform}: {}", found.evidence);
        assert_eq!((family.block, family.iv, found.icv), (block, iv_bytes, icv), "{transform}: {}", found.evidence);
        let suite: crate::transform::Suite = transform.parse().expect(transform);
        let esp = suite.esp.expect("ESP");
        let same = |one: &Esp| one.cipher == esp.cipher && one.integrity == esp.integrity;
        assert!(found.candidates.iter().any(same), "{transform}");
    }
}

#[test]
fn one_size_does_not_decide_the_block() {
    for iv in [IvPattern::Random, IvPattern::Unclear] {
        let found = infer(&lengths("aes128-sha1", [64]), iv).expect("something fits");
        assert!(!found.decided && found.icv.is_none() && found.name().is_none(), "{}", found.evidence);
        assert!(found.evidence.contains("cannot decide"), "{}", found.evidence);
    }
    // Nor do the sizes of RFC 2544, which all leave the same remainder.
    let grid = lengths("aes128gcm16", [46, 110, 238, 494, 1006, 1262]);
    assert!(!infer(&grid, IvPattern::Unclear).expect("something fits").decided);
    // A counter does, with a single size.
    assert!(infer(&lengths("aes128gcm16", [64]), IvPattern::SequenceXor).expect("something fits").decided);
}

#[test]
fn names_protection_and_weakness() {
    let cbc = infer(&lengths("aes256-sha1", MANY), IvPattern::Random).expect("it fits");
    assert_eq!(cbc.name().as_deref(), Some("AES-CBC, 96-bit ICV"));
    assert_eq!(cbc.protection, (38, 53));
    assert_eq!(cbc.weak, None);
    let des = infer(&lengths("des-md5", MANY), IvPattern::Random).expect("it fits");
    assert_eq!(des.name().as_deref(), Some("3DES-CBC or DES-CBC, 96-bit ICV"));
    assert_eq!(des.protection, (30, 37));
    assert!(des.weak.is_some());
    let gcm = infer(&lengths("aes256gcm16", MANY), IvPattern::SequenceXor).expect("it fits");
    assert_eq!(gcm.name().as_deref(), Some("AES-GCM or another counter mode"));
    // The ICV has 8 to 32 octets: the lengths do not say.
    assert_eq!(gcm.protection, (18 + 8, 18 + 32 + 3));
    assert!(gcm.evidence.contains("cannot decide the ICV"), "{}", gcm.evidence);
}

#[test]
fn lengths_contradict_a_transform() {
    let seen = lengths("aes128-sha256", MANY);
    let fits = |transform: &str| {
        let suite: crate::transform::Suite = transform.parse().expect(transform);
        Family::of(&suite.esp.expect("ESP")).fits(&seen)
    };
    assert!(fits("aes128-sha256") && fits("aes256-sha512") && fits("aes128gcm16"));
    // The usual mistake: 96 bits of SHA-256 on one side, 128 on the other.
    assert!(!fits("aes128-sha256_96") && !fits("aes128-sha1") && !fits("3des-sha1"));
}

#[test]
fn a_walk_through_sizes_hides_the_block() {
    for (transform, step) in [("3des-sha1", 16), ("3des-sha1", 32), ("aes128-sha1", 16), ("aes128gcm16", 16)] {
        let all = lengths(transform, (64..1420).step_by(step));
        let sizes: Vec<(u32, u64)> = all.iter().map(|length| (*length, 3)).collect();
        assert!(is_sweep(&sizes), "{transform}");
        let found = Catalogue::new().infer_from(&all, IvPattern::Random, true).expect("something fits");
        assert!(!found.decided && found.name().is_none() && found.weak.is_none(), "{}", found.evidence);
        assert!(found.evidence.contains("chosen ones") && found.evidence.contains("3DES-CBC"), "{}", found.evidence);
        // A counter decides all the same.
        let found = Catalogue::new().infer_from(&all, IvPattern::Counter, true).expect("something fits");
        assert_eq!((found.decided, found.family.block, found.family.iv), (true, 4, 8), "{}", found.evidence);
    }
    // Sizes as they come are no walk: uneven steps, or uneven counts.
    assert!(!is_sweep(&[(84, 3), (100, 3), (148, 3), (340, 3), (356, 3)]));
    assert!(!is_sweep(&[(84, 3), (100, 7), (116, 1), (132, 4), (148, 2)]));
}

/// Sizes that are all multiples of sixteen make lengths agree that a small block would not.
#[test]
fn chosen_sizes_do_not_decide_the_block() {
    let few = [64_u64, 80, 112, 144, 160, 208, 272, 560, 720, 1136];
    for transform in ["aes128-sha1", "3des-sha1", "aes128gcm16"] {
        let lengths = lengths(transform, few);
        let sizes: Vec<(u32, u64)> = lengths.iter().map(|length| (*length, 30)).collect();
        assert!(are_chosen(&sizes) && !is_sweep(&sizes), "{transform}");
        let found = Catalogue::new().infer_from(&lengths, IvPattern::Random, true).expect("something fits");
        assert!(!found.decided && found.weak.is_none(), "{transform}: {}", found.evidence);
    }
    // An IV that counts decides.
    let found = Catalogue::new().infer_from(&lengths("aes128gcm16", few), IvPattern::Counter, true);
    assert!(found.as_ref().is_some_and(|found| found.decided), "{found:?}");
    // AES-GCM without an explicit IV: no cipher with a block of sixteen makes such lengths, so the sizes were chosen, however many.
    let iiv: Vec<u32> = (3..60).map(|n| 8 + 16 * n + 4 + 16).collect();
    let found = infer(&iiv, IvPattern::Random).expect("something fits");
    assert!(!found.decided && found.weak.is_none(), "{}", found.evidence);
    // Steps of other sizes hide the block as well.
    for step in [24, 32, 48, 80] {
        let sizes = lengths("3des-sha1", [0, 1, 3, 4, 7, 12, 20].map(|n| 61 + step * n));
        assert!(are_chosen(&sizes.into_iter().map(|length| (length, 1)).collect::<Vec<_>>()), "{step}");
    }
    // Lengths of single packets are no choice.
    assert!(!are_chosen(&[(84, 3), (100, 40), (148, 3), (340, 1), (356, 90)]));
}

#[test]
fn a_verdict_names_what_it_excluded() {
    let found = infer(&lengths("aes128-sha1", MANY), IvPattern::Random).expect("it fits");
    assert!(found.evidence.contains("Excluded:"), "{}", found.evidence);
    // Random IVs may be those of a counter mode.
    assert!(found.evidence.contains("AES-GCM or another counter mode, "), "{}", found.evidence);
    assert!(!found.evidence.contains("by the IVs"), "{}", found.evidence);
    assert!(found.evidence.contains("3DES-CBC or DES-CBC by lengths that all agree modulo 16"), "{}", found.evidence);
    let found = infer(&lengths("aes128gcm16", MANY), IvPattern::SequenceXor).expect("it fits");
    assert!(
        found.evidence.contains("AES-CBC, 3DES") || found.evidence.contains("AES-CBC by impossible lengths"),
        "{}",
        found.evidence
    );
}

/// Counter modes ask for an IV that does not come twice, and some senders make random ones: where few lengths agree further than their block,
/// these remain, behind what is commoner.
#[test]
fn random_ivs_exclude_no_counter_mode() {
    for transform in ["aes128ctr-sha512", "aes128ctr-sha384", "aes128gcm16", "aes128ccm8", "aes128ctr-sha1"] {
        let suite: crate::transform::Suite = transform.parse().expect(transform);
        let esp = suite.esp.expect("ESP");
        for sizes in [&[200_u64][..], &[40, 576, 1400], &[52, 1420], &[40, 56, 72, 88, 104, 136, 200, 1336]] {
            let lengths = lengths(transform, sizes.iter().copied());
            for chosen in [false, true] {
                let found = Catalogue::new().infer_from(&lengths, IvPattern::Random, chosen).expect("something fits");
                let same = |one: &Esp| one.cipher == esp.cipher && one.integrity == esp.integrity;
                if found.candidates.len() > 1 && (chosen || sizes.len() < 4) {
                    assert!(found.candidates.iter().any(same), "{transform} {sizes:?}: {:?}", found.candidates);
                    let (least, most) = Family::of(&esp).protection();
                    let (min, max) = found.protection;
                    assert!(min <= least && most <= max, "{transform} {sizes:?}: {min} to {max}");
                    assert!(!found.decided && found.name().is_none(), "{transform} {sizes:?}: {}", found.evidence);
                }
            }
        }
    }
    let found = infer(&lengths("aes128-sha1", [64]), IvPattern::Random).expect("something fits");
    assert_eq!(found.candidates.first().map(|esp| esp.cipher.name), Some("AES-CBC"));
}

#[test]
fn a_length_that_only_rare_ciphers_make_names_none() {
    let found = infer(&[12], IvPattern::Unclear).expect("something fits");
    assert!(!found.decided && found.name().is_none() && found.weak.is_none(), "{}", found.evidence);
}

#[test]
fn impossible_lengths_fit_nothing() {
    assert_eq!(infer(&[], IvPattern::Random), None);
    assert_eq!(infer(&[8], IvPattern::Random), None);
    assert_eq!(infer(&[101, 102], IvPattern::Random), None);
}
