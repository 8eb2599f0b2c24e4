//! What is inferred of SAs whose transform nobody gave, against what the lab configured.

use crate::support;
use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use spiglass::transform::algorithm::{cipher, integrity};
use spiglass::transform::{Esp, Suite};

use crate::support::build::{self, Noise, R1, R2, START};
use crate::support::writer::{Out, plain_pcap};
use crate::support::{Checks, at, items, number, text};

/// Source, destination and SPI of an ESP SA.
type Key = (String, String, u64);

/// The ESP transforms that a scenario configured.
fn configured(truth: &Value) -> BTreeMap<Key, Esp> {
    let esp = items(truth, "sas").iter().filter(|sa| text(sa, "proto") == "esp");
    let transforms = esp.map(|sa| {
        let field = |name: &str| sa.get(name).and_then(Value::as_str);
        let bits = sa.get("icv_bits").and_then(Value::as_u64).and_then(|bits| u32::try_from(bits).ok());
        let name = field("aead").or_else(|| field("enc")).expect("a cipher");
        let cipher = cipher::linux(name, bits).unwrap_or_else(|| panic!("{name}"));
        let integrity = field("auth").map(|name| integrity::linux(name, bits).unwrap_or_else(|| panic!("{name}")));
        let spi = u64::from_str_radix(text(sa, "spi").trim_start_matches("0x"), 16).expect("an SPI");
        let key = (text(sa, "src").to_owned(), text(sa, "dst").to_owned(), spi);
        (key, Esp { cipher, key_bits: None, integrity })
    });
    transforms.collect()
}

/// The transform of a candidate's name.
fn named(candidate: &str) -> Esp {
    let suite: Suite = candidate.parse().unwrap_or_else(|error| panic!("{candidate}: {error}"));
    suite.esp.unwrap_or_else(|| panic!("{candidate} is no ESP"))
}

fn blocks(esp: &Esp) -> (u32, u32) {
    (esp.cipher.alignment, esp.cipher.iv)
}

/// Holds one SA against its truth; whether block and IV, and whether the ICV were decided.
fn hold(checks: &mut Checks, sa: &Value, truth: &Esp) -> (bool, bool) {
    let transform = at(sa, "transform");
    let candidates: Vec<Esp> = items(transform, "candidates").iter().filter_map(Value::as_str).map(named).collect();
    checks.ok(candidates.contains(truth), || format!("{truth} is no candidate"));
    let evidence = text(transform, "evidence");
    let first = candidates.first().copied();
    let decided = text(transform, "basis") == "inferred";
    if decided {
        checks.eq("block and IV of the first candidate", first.as_ref().map(blocks), Some(blocks(truth)));
        checks.ok(transform.get("name").is_some_and(Value::is_string), || "it has no name".to_owned());
    } else {
        checks.eq("basis", text(transform, "basis"), "unknown");
        checks.ok(evidence.contains("cannot decide the cipher"), || format!("it does not say so: {evidence}"));
    }
    let icv = sa.get("icv_bytes").and_then(Value::as_u64);
    match icv {
        Some(icv) => {
            checks.eq("ICV", icv, u64::from(truth.icv()));
            checks.eq("ICV of the first candidate", first.map(|esp| esp.icv()), Some(truth.icv()));
        }
        None => checks.ok(evidence.contains("cannot decide"), || format!("it does not say so: {evidence}")),
    }
    // Header, IV, trailer, ICV, and no more padding than the block asks for.
    let least = 8 + 2 + u64::from(truth.cipher.iv + truth.icv());
    let most = least + u64::from(truth.cipher.alignment) - 1;
    let (min, max) = (number(sa, "protection_bytes.min"), number(sa, "protection_bytes.max"));
    checks.ok(min <= least && most <= max, || format!("{least} to {most} is not within {min} to {max}"));
    if decided && icv.is_some() {
        checks.eq("protection", (min, max), (least, most));
    }
    (decided, icv.is_some())
}

#[test]
fn every_encrypted_sa_of_the_lab() {
    let Some(lab) = support::shared("lab") else { return };
    let mut checks = Checks::new("lab");
    let (mut seen, mut blocks, mut icvs) = (0, 0, 0);
    for entry in std::fs::read_dir(&lab).expect("the lab can be listed") {
        let scenario = entry.expect("an entry").path();
        let (truth, tunnel) = (scenario.join("truth.json"), scenario.join("tunnel.pcap"));
        if !truth.exists() || !tunnel.exists() {
            continue;
        }
        let configured = configured(&support::read_json(&truth));
        let report = support::report(&[&tunnel]).json();
        for sa in items(&report, "sas").iter().filter(|sa| text(sa, "proto") == "esp") {
            let key = (text(sa, "src").to_owned(), text(sa, "dst").to_owned(), number(sa, "spi"));
            // A few frames whose addresses or SPI a fault of the lab altered belong to no SA that was configured.
            let Some(truth) = configured.get(&key).filter(|truth| truth.cipher.encrypts()) else { continue };
            checks.about(format!("{}: {}", scenario.display(), text(sa, "id")));
            let (decided, icv) = hold(&mut checks, sa, truth);
            seen += 1;
            blocks += u32::from(decided);
            icvs += u32::from(icv);
        }
    }
    checks.finish();
    // The other scenarios send packets of one or two sizes, which fit every block.
    assert!(seen > 90 && blocks > 60 && icvs > 35, "{seen} SAs, {blocks} blocks and {icvs} ICVs decided");
}

fn only_sa(capture: &Path) -> Value {
    items(&support::report(&[capture]).json(), "sas")[0].clone()
}

#[test]
fn one_size_leaves_the_block_open() {
    // 1200 packets of 64 octets in AES-CBC with SHA-1: as 3DES they would be as long.
    let sa = only_sa(&support::fixture("lab/loss-before-tap-tunnel.pcap"));
    assert_eq!(text(&sa, "transform.basis"), "unknown");
    assert!(at(&sa, "transform.name").is_null() && at(&sa, "icv_bytes").is_null());
    let candidates: Vec<&str> = items(&sa, "transform.candidates").iter().filter_map(Value::as_str).collect();
    for name in ["AES-CBC/HMAC-SHA1-96", "3DES-CBC/HMAC-SHA1-96"] {
        assert!(candidates.contains(&name), "{name}: {candidates:?}");
    }
    assert_eq!(candidates[0], "AES-CBC/HMAC-SHA1-96");
    // The IVs are random, as few counter modes make them, and those that do may (RFC 4106 section 3.1).
    assert!(candidates.contains(&"AES-GCM-16") && candidates[1] != "AES-GCM-16", "{candidates:?}");
    assert_eq!(text(&sa, "overhead.basis"), "unknown");
}

#[test]
fn a_weak_cipher_is_a_note_and_goodput_a_range() {
    let Some(lab) = support::shared("lab") else { return };
    let report = support::report(&[&lab.join("esp-3des-sha1/tunnel.pcap")]).json();
    let weak: Vec<&Value> =
        items(&report, "findings").iter().filter(|finding| text(finding, "code") == "weak-transform").collect();
    assert_eq!(weak.len(), 2, "one for each direction");
    for finding in weak {
        assert_eq!(text(finding, "severity"), "note");
        assert!(text(finding, "evidence").contains("64 bits"), "{finding}");
    }
    let observed = support::read_json(&lab.join("esp-3des-sha1/observed.json"));
    let (mut packets, mut inner_octets) = (0, 0);
    for (inner, outers) in at(&observed, "order_match").as_object().expect("sizes") {
        let count: u64 = outers.as_object().expect("counts").values().filter_map(Value::as_u64).sum();
        packets += count;
        inner_octets += count * inner.parse::<u64>().expect("a length");
    }
    assert_eq!(packets, items(&report, "sas").iter().map(|sa| number(sa, "frames")).sum::<u64>());
    // Nothing shows that the SAs do not pad for traffic flow confidentiality.
    assert!(items(&report, "rates.directions").iter().all(|row| at(row, "goodput_min_bps").is_null()));
    let (least, most) = goodput_octets(&report);
    #[allow(clippy::cast_precision_loss)] // some tens of thousands of octets
    let inner_octets = inner_octets as f64;
    assert!(least <= inner_octets && inner_octets <= most, "{inner_octets} bytes inside, {least} to {most} said");
    // The range is as wide as the padding of 0 to 7, the IP header if it is transport mode, and GRE of 16 octets with its IP header.
    #[allow(clippy::cast_precision_loss)]
    let width = packets as f64 * (7.0 + 20.0 + 36.0);
    assert!((most - least - width).abs() < 1.0, "{least} to {most}");
    // What is configured leaves the padding and GRE inside the tunnel, and the keys leave nothing.
    let (capture, keyed) = (lab.join("esp-3des-sha1/tunnel.pcap"), lab.join("esp-3des-sha1/sa.txt"));
    let config = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("inference");
    let states = std::fs::read_to_string(&keyed).expect("a file of the laboratory");
    std::fs::write(&config, support::without_keys(&states)).expect("a file can be written");
    let (capture, config) = (capture.to_str().expect("UTF-8"), config.to_str().expect("UTF-8"));
    let exact =
        support::spiglass(&["report", "--format", "json", "--sa", keyed.to_str().expect("UTF-8"), capture]).json();
    let octets = |row: &Value| {
        at(row, "goodput_bps").as_f64().expect("goodput") * at(row, "seconds").as_f64().expect("seconds") / 8.0
    };
    let sum: f64 = items(&exact, "rates.directions").iter().map(octets).sum();
    assert!((sum - inner_octets).abs() < 1.0, "{sum} bytes, not {inner_octets}");
    let report = support::spiglass(&["report", "--format", "json", "--config", config, capture]).json();
    let (least, most) = goodput_octets(&report);
    assert!(least <= inner_octets && inner_octets <= most, "{inner_octets} bytes inside, {least} to {most} said");
    #[allow(clippy::cast_precision_loss)]
    let width = packets as f64 * (7.0 + 36.0);
    assert!((most - least - width).abs() < 1.0, "{least} to {most}");
}

/// Inner octets of both directions, at least and at most.
fn goodput_octets(report: &Value) -> (f64, f64) {
    let mut ranges = 0;
    let (mut least, mut most) = (0.0, 0.0);
    for direction in items(report, "rates.directions") {
        let bps = |name: &str| at(direction, name).as_f64();
        let conditional = direction.get("if_no_tfc").filter(|range| !range.is_null());
        let range = conditional.unwrap_or(direction);
        let limit = |name: &str| at(range, name).as_f64();
        let (Some(min), Some(max), Some(l3)) = (limit("goodput_min_bps"), limit("goodput_max_bps"), bps("l3_bps"))
        else {
            continue;
        };
        assert!(bps("goodput_bps").is_none());
        assert!(min < max && max < l3, "{direction}");
        let seconds = bps("seconds").expect("seconds");
        least += min * seconds / 8.0;
        most += max * seconds / 8.0;
        ranges += 1;
    }
    assert_eq!(ranges, 2);
    (least, most)
}

/// Counter modes with a random IV in front, around packets of few sizes: what protection adds, and what is inside, is within what is said.
#[test]
fn random_ivs_of_counter_modes_stay_possible() {
    for (name, icv) in [("AES-CTR/HMAC-SHA2-512-256", 32), ("AES-CTR/HMAC-SHA2-384-192", 24), ("AES-GCM-16", 16)] {
        for sizes in [&[200_usize][..], &[40, 576, 1400], &[52, 1420], &[40, 56, 72, 88, 104, 136, 200, 1336]] {
            let mut noise = Noise(7);
            let mut inner_octets = 0;
            let frames: Vec<Out> = (1..=200_u32)
                .map(|number| {
                    let inner = sizes[noise.below(sizes.len() as u64) as usize];
                    inner_octets += inner;
                    let content = 8 + (inner + 2).next_multiple_of(4) + icv;
                    let frame = build::esp(R1, R2, 0x1001, number, &noise.bytes(content));
                    Out::whole(START + u64::from(number) * 10_000_000, frame)
                })
                .collect();
            let path = support::write_file(&support::scratch("random-ivs"), "made-up.pcap", &plain_pcap(&frames));
            let report = support::report(&[&path]).json();
            let sa = at(&report, "sas.0");
            let candidates: Vec<&str> = items(sa, "transform.candidates").iter().filter_map(Value::as_str).collect();
            assert!(candidates.contains(&name), "{name} {sizes:?}: {candidates:?}");
            assert!(at(sa, "transform.name").is_null(), "{name} {sizes:?}");
            let least = 8 + 8 + 2 + icv as u64;
            let said = (number(sa, "protection_bytes.min"), number(sa, "protection_bytes.max"));
            assert!(said.0 <= least && least + 3 <= said.1, "{name} {sizes:?}: {said:?}");
            let range = at(&report, "rates.directions.0.if_no_tfc");
            let octets = |limit| at(range, limit).as_f64().expect("a limit") * 1.99 / 8.0;
            #[allow(clippy::cast_precision_loss)]
            let inner = inner_octets as f64;
            let (min, max) = (octets("goodput_min_bps"), octets("goodput_max_bps"));
            assert!(min <= inner && inner <= max, "{name} {sizes:?}: {inner}, {min} to {max}");
        }
    }
}

/// ESP directly in ESP-NULL, as a bundle has it: an SPI and its numbers where an IV would count.
#[test]
fn esp_in_esp_that_does_not_encrypt_has_no_counting_iv() {
    for icv in [12, 16] {
        let mut noise = Noise(icv);
        let frame = |n: u32| {
            let bytes = 60 + 16 * noise.below(60) as usize;
            let inner = [&0x00c0_ffee_u32.to_be_bytes()[..], &(n + 70).to_be_bytes(), &noise.bytes(bytes)].concat();
            let pad = (4 - (inner.len() + 2) % 4) % 4;
            let pads: Vec<u8> = (1..=pad as u8).collect();
            build::esp(
                R1,
                R2,
                0x1001,
                n + 1,
                &[&inner[..], &pads, &[pad as u8, 50], &noise.bytes(icv as usize)].concat(),
            )
        };
        let frames: Vec<Out> =
            (0..).zip((0..200).map(frame)).map(|(at, f)| Out::whole(START + at * 1_000_000, f)).collect();
        let path = support::write_file(
            &support::scratch(&format!("esp-in-esp-{icv}")),
            "esp-in-esp.pcap",
            &plain_pcap(&frames),
        );
        let report = support::report(&[&path]).json();
        let outer = at(&report, "sas.0");
        let told = format!("{outer}");
        assert!(!told.contains("AES-GCM") && !told.contains("CBC"), "ICV {icv}: {told}");
    }
}
