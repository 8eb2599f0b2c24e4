//! ESP and AH with the keys of the laboratory: every packet verifies and decrypts, and no packet verifies under another key.

#[path = "../support/mod.rs"]
mod support;

mod keyed;
mod keyring;
mod published;
mod report;
mod total;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use keyed::{Check, Outcome, Sa, check, expected_sizes, hex, sa_of, sas};
use serde_json::Value;
use spiglass::decrypt::{AhVerifier, Decryptor, HighHalf, Keys};
use spiglass::transform::Suite;
use spiglass::transform::algorithm::integrity;
use support::{at, fixture, items, read_json, shared, text};

/// The captures of a scenario, by name.
fn captures(scenario: &Path) -> Vec<(String, PathBuf)> {
    let mut found: Vec<(String, PathBuf)> = std::fs::read_dir(scenario)
        .expect("a scenario can be listed")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "pcap" || extension == "pcapng"))
        .map(|path| (path.file_name().expect("a name").to_string_lossy().into_owned(), path))
        // What the sender's kernel was given is no packet of the wire.
        .filter(|(name, _)| name != "sent.pcap")
        .collect();
    found.sort();
    found
}

#[test]
fn every_packet_of_the_laboratory_verifies_and_decrypts() {
    let Some(lab) = shared("lab") else { return };
    let mut problems = Vec::new();
    let (mut scenarios, mut verified, mut opened) = (0, 0, 0);
    for scenario in std::fs::read_dir(&lab).expect("the laboratory can be listed") {
        let scenario = scenario.expect("an entry").path();
        let name = scenario.file_name().expect("a name").to_string_lossy().into_owned();
        if !scenario.join("observed.json").is_file() {
            continue;
        }
        let truth = read_json(&scenario.join("truth.json"));
        if sas(&truth).is_empty() {
            continue;
        }
        let observed = read_json(&scenario.join("observed.json"));
        scenarios += 1;
        for (tap, capture) in captures(&scenario) {
            let outcome = check(&capture, &mut sas(&truth));
            verified += outcome.verified;
            opened += outcome.sizes.len();
            let of_tunnel = (tap == "tunnel.pcap").then_some(&observed);
            problems.extend(
                judge(&name, &truth, of_tunnel, &outcome).into_iter().map(|what| format!("{name} {tap}: {what}")),
            );
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(scenarios >= 57, "only {scenarios} scenarios with keys were found");
    assert!(verified >= 23_801 && opened >= 19_866, "{verified} packets verified, {opened} inner packets");
}

/// What is wrong with the outcome of one capture.
fn judge(name: &str, truth: &Value, tunnel: Option<&Value>, outcome: &Outcome) -> Vec<String> {
    let mut wrong = outcome.complaints.clone();
    let mut expect = |what: &str, got: u64, want: u64| {
        if got != want {
            wrong.push(format!("{what}: {got}, not {want}"));
        }
    };
    let cut: u64 = outcome.unchecked.get("cut").copied().unwrap_or(0);
    let unauthenticated: u64 = outcome.unchecked.get("no integrity").copied().unwrap_or(0);
    if name != "corrupt-before-tap" {
        expect("failed", outcome.failed, 0);
    }
    if name != "spi-zero" {
        expect("without a key", outcome.keyless, 0);
    }
    if let Some(observed) = tunnel {
        // A second opinion counts the packets of each SA, and checks the ICV of those that are no AEAD.
        let packets: u64 = items_of(observed, "sequence").map(|sa| at(sa, "frames").as_u64().expect("a count")).sum();
        let (ok, bad) = (at(observed, "icv_checked.ok").as_u64(), at(observed, "icv_checked.bad").as_u64());
        let seen = outcome.verified + outcome.failed + cut + unauthenticated + outcome.keyless;
        // With two SAs around each packet, both are looked at here and the outer one is counted there.
        let layers = if name.starts_with("ah-md5+") || name == "esp-over-ah" { 2 } else { 1 };
        expect("packets", seen, packets * layers);
        expect("failed", outcome.failed, bad.expect("a count"));
        // It reassembles nothing, and of AH in ESP it checks the ESP.
        let checked_there = ok.expect("a count") * if name == "esp-over-ah" { 2 } else { 1 };
        if checked_there > 0 && name != "frag-outer-1500" {
            expect("verified by the second opinion", outcome.verified, checked_there);
        }
        expect("cut", cut, outcome.short_frames);
        let zero = observed.pointer("/sequence/esp 0x00000000/frames").and_then(Value::as_u64);
        expect("without a key", outcome.keyless, zero.unwrap_or(0));
        expect(
            "without integrity",
            unauthenticated,
            if name == "esp-des-noauth" || name == "ah-md5+esp-des" { packets } else { 0 },
        );
    }
    if name != "esp-tfc-gcm" {
        expect("TFC padding", outcome.tfc.iter().sum::<usize>() as u64, 0);
    } else if tunnel.is_some() && outcome.tfc.iter().all(|tfc| *tfc == 0) {
        wrong.push("there is no TFC padding".into());
    }
    let sizes = expected_sizes(truth);
    for (inner, outer) in &outcome.sizes {
        if let Some(expected) = sizes.get(inner).filter(|expected| *expected != outer) {
            wrong.push(format!("{inner} bytes became {outer}, not {expected}"));
        }
    }
    if tunnel.is_some() {
        let expected: Option<&[Option<u32>]> = match name {
            "esn-hi" => Some(&[Some(7)]),
            "esn-wrap-aes128-sha256" => Some(&[Some(0), Some(1)]),
            "reorder-esn128" => Some(&[Some(0)]),
            _ => None,
        };
        let highs: Vec<Option<u32>> = outcome.highs.keys().copied().collect();
        if highs != expected.unwrap_or(&[None]) && outcome.verified > 0 {
            wrong.push(format!("high halves {highs:?}"));
        }
    }
    wrong
}

fn items_of<'a>(value: &'a Value, field: &str) -> impl Iterator<Item = &'a Value> {
    at(value, field).as_object().expect("an object").values()
}

/// R2 has other keys for the SPI of the forward SA: under R1's every packet verifies, under R2's none does.
#[test]
fn a_wrong_key_is_a_wrong_key() {
    let Some(lab) = shared("lab") else { return };
    let scenario = lab.join("wrong-auth-key");
    let truth = read_json(&scenario.join("truth.json"));
    let mut by_owner: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for entry in items(&truth, "sas").iter().filter(|sa| text(sa, "spi") == "0x000003e9") {
        let owner = items(entry, "on")[0].as_str().expect("a host");
        let (id, sa) = sa_of(entry).expect("ESP");
        let outcome = check(&scenario.join("tunnel.pcap"), &mut [(id, sa)].into());
        assert_eq!(outcome.complaints, <[String; 0]>::default());
        by_owner.insert(owner, (outcome.verified, outcome.failed));
    }
    assert_eq!(by_owner, BTreeMap::from([("r1", (80, 0)), ("r2", (0, 80))]));
}

const R1: [u8; 4] = [192, 168, 1, 1];
const R2: [u8; 4] = [192, 168, 1, 2];

fn esp_sa(suite: &str, encryption: &str, authentication: &str, esn: Option<HighHalf>) -> Sa {
    let suite: Suite = suite.parse().expect(suite);
    let keys = Keys { encryption: hex(encryption).into(), authentication: hex(authentication).into() };
    let decryptor = Decryptor::new(&suite.esp.expect("ESP"), &keys).expect("fitting keys");
    Sa { check: Check::Esp(decryptor), esn, tunnel: true }
}

/// The same on the captures that are part of the repository.
#[test]
fn the_fixtures_verify_and_decrypt() {
    let tunnel = [
        (
            ("esp", 0x3e9, R2.into()),
            esp_sa(
                "esp-aes esp-sha-hmac",
                "0x5eaf2fafacda2d686fc8d73019729212",
                "0x0402df643484a172fd00440774151718934a53b9",
                None,
            ),
        ),
        (
            ("esp", 0x3ea, R1.into()),
            esp_sa(
                "esp-aes esp-sha-hmac",
                "0x3ed0eed6c143d2a6275ee6e82caa1a04",
                "0xcc6dd46a76607ea3a1f577fdd29239fd7a0cc7cb",
                None,
            ),
        ),
    ];
    let outcome = check(&fixture("lab/loss-before-tap-tunnel.pcap"), &mut tunnel.into());
    assert_eq!((outcome.verified, outcome.failed, outcome.keyless), (1_250, 0, 0));
    assert_eq!(outcome.complaints, <[String; 0]>::default());
    assert!(outcome.sizes.iter().all(|sizes| *sizes == (64, 136)), "{:?}", outcome.sizes.first());

    let ah = |key: &str| {
        let verifier = AhVerifier::new(integrity::named("HMAC-SHA2-256-128").expect("known"), &hex(key).into());
        Sa { check: Check::Ah(verifier.expect("256 bits")), esn: None, tunnel: true }
    };
    let keys = [
        (("ah", 0x3e9, R2.into()), ah("0x3c354fc1f2747f801cbfa9da1c4e20d92a3999140448504aa17d4676d48b1d26")),
        (("ah", 0x3ea, R1.into()), ah("0xab3b10dd508b9023b79e1d248f0552ef8c24410a4e12a1fca9d7850d1949bf0c")),
    ];
    let outcome = check(&fixture("lab/ah-sha256-tunnel.pcap"), &mut keys.into());
    assert_eq!((outcome.verified, outcome.failed, outcome.keyless), (129, 0, 0));
}

/// The high half is 7 from the beginning: it takes part in the ICV and is nowhere on the wire.
#[test]
fn a_high_half_that_nobody_said_verifies_nothing() {
    let outcome = |esn: Option<HighHalf>| {
        let sa = |encryption, authentication| esp_sa("esp-aes esp-sha256-hmac", encryption, authentication, esn);
        let forward = sa(
            "0x2816293d2f306b06f72aed76404ad9a8",
            "0xbf3a049bfb36f9f40cd9b86b498ab39217cd544b9f840226db46d4f77b6e5a20",
        );
        let reverse = sa(
            "0xe4350f3ca63591c5d28ff4c3c6008436",
            "0x90d650f708a4ac326de9a390521bda6e4c1811805513a0fc349f789cbb554d78",
        );
        let mut sas = [(("esp", 0x3e9, R2.into()), forward), (("esp", 0x3ea, R1.into()), reverse)].into();
        check(&fixture("lab/esn-hi-tunnel.pcap"), &mut sas)
    };
    let known = outcome(Some(HighHalf::starting(7)));
    assert_eq!((known.verified, known.failed), (160, 0));
    assert_eq!(known.highs, BTreeMap::from([(Some(7), 160)]));
    assert_eq!(known.complaints, <[String; 0]>::default());
    for unknown in [None, Some(HighHalf::default())] {
        let unknown = outcome(unknown);
        assert_eq!((unknown.verified, unknown.failed), (0, 160));
    }
}
