//! `report --config`, `frames --config` and states, with keys.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::support::{at, fixture, items, read_json, shared, spiglass, text, without_keys};
use serde_json::Value;

const WRONG_KEY: &str = "fixtures/policy/lab-wrong-auth-key.txt";
const CAPTURE: &str = "fixtures/lab/wrong-auth-key-tunnel.pcap";

fn word(path: &Path) -> &str {
    path.to_str().expect("a path of text")
}

fn report(configs: &[&str], captures: &[&str]) -> Value {
    let mut words = vec!["report", "--format", "json", "-q"];
    configs.iter().for_each(|config| words.extend(["--config", config]));
    words.extend(captures);
    spiglass(&words).json()
}

fn findings<'r>(report: &'r Value, code: &str) -> Vec<&'r Value> {
    items(report, "findings").iter().filter(|finding| finding["code"] == code).collect()
}

fn evidence(finding: &Value) -> &str {
    text(finding, "evidence")
}

/// A file for one test.
fn written(name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("keys-{name}"));
    std::fs::write(&path, content).expect("a file can be written");
    path
}

#[test]
fn decrypted_sas_have_exact_figures() {
    let report = report(&[WRONG_KEY], &[CAPTURE]);
    for sa in items(&report, "sas") {
        assert_eq!(at(sa, "overhead.basis"), "decrypted", "{sa:#}");
        assert_eq!((at(sa, "mode"), at(sa, "transform.basis")), (&"tunnel".into(), &"expected".into()));
        assert_eq!(at(sa, "icv_bytes"), 12);
        assert_eq!(
            (at(sa, "icv_checks.verified"), at(sa, "icv_checks.decrypted")),
            (at(sa, "frames"), at(sa, "frames"))
        );
        let (min, max) = (at(sa, "overhead.min_bytes").as_i64(), at(sa, "protection_bytes.min").as_i64());
        assert_eq!(min, max.map(|octets| octets + 20), "the outer IP header is all that is added besides");
    }
    assert!(findings(&report, "tfc-padding").is_empty(), "nothing is padded against traffic analysis");
    for row in items(&report, "sizes") {
        assert_eq!(row["basis"], "decrypted");
        let parts = row["parts"].as_object().expect("parts");
        let sum: f64 = parts.values().filter_map(Value::as_f64).sum();
        assert!((sum - at(row, "overhead_mean_bytes").as_f64().expect("a mean")).abs() < 1e-9, "{row:#}");
        assert_eq!((&parts["iv"], &parts["icv"], &parts["esp_trailer"]), (&16.0.into(), &12.0.into(), &2.0.into()));
    }
    assert_eq!(items(&report, "outer_sizes").len(), 0);
    let padding = items(&report, "padding.esp");
    assert_eq!(padding.len(), 2);
    for row in padding {
        assert_eq!(
            (&row["basis"], &row["other"], &row["longer_than_needed"]),
            (&"decrypted".into(), &0.into(), &0.into())
        );
    }
    for direction in items(&report, "rates.directions") {
        assert!(direction["goodput_bps"].is_number(), "{direction:#}");
    }
}

#[test]
fn a_wrong_key_is_said_to_be_a_wrong_key() {
    let report = report(&[WRONG_KEY], &[CAPTURE]);
    let [invalid] = findings(&report, "icv-invalid")[..] else { panic!("{:#}", report["findings"]) };
    assert_eq!((text(invalid, "severity"), text(invalid, "sa")), ("error", "esp/192.168.1.1/192.168.1.2/0x000003e9"));
    for said in [
        "the key of r1 verifies 80 of 80 packets",
        "None verifies under the key of r2: that is not the key of these packets",
    ] {
        assert!(evidence(invalid).contains(said), "{}", evidence(invalid));
    }
    let [differ] = findings(&report, "config-key-mismatch")[..] else { panic!("{:#}", report["findings"]) };
    assert!(evidence(differ).contains("the key of r1 verifies 80 packets"), "{}", evidence(differ));
    assert!(findings(&report, "transform-mismatch").is_empty());
}

/// With the receiver's state alone nothing verifies, and the lengths still fit.
#[test]
fn without_the_right_key_nothing_is_decrypted() {
    let both = std::fs::read_to_string(fixture("policy/lab-wrong-auth-key.txt")).expect("a fixture");
    let at = both.find("##### r2: ip -s xfrm state").expect("the second router");
    let r2 = written("r2.txt", &both[at..]);
    let report = report(&[word(&r2)], &[CAPTURE]);
    let [invalid] = findings(&report, "icv-invalid")[..] else { panic!("{:#}", report["findings"]) };
    let said = "None of 80 packets verifies under the key of r2. The lengths fit the transform: the key is wrong";
    assert!(evidence(invalid).contains(said), "{}", evidence(invalid));
    assert_eq!(invalid["count"], 80);
    assert!(findings(&report, "transform-mismatch").is_empty());
    let basis: Vec<&Value> = items(&report, "sas").iter().map(|sa| &sa["overhead"]["basis"]).collect();
    assert_eq!(basis, ["modelled", "decrypted"]);
}

/// The key of the integrity check is right and that of the cipher is not: the ICV vouches for octets that decrypt to rubbish.
#[test]
fn a_wrong_encryption_key_under_a_right_icv_is_told() {
    let both = std::fs::read_to_string(fixture("policy/lab-wrong-auth-key.txt")).expect("a fixture");
    let end = both.find("##### r2: ip -s xfrm state").expect("the second router");
    let wrong = both[..end].replace("0xd43537638bf4ff2b37ef819e35aa0000", "0x00112233445566778899aabbccddeeff");
    let config = written("wrong-cipher.txt", wrong);
    let report = report(&[word(&config)], &[CAPTURE]);
    let [differ] = findings(&report, "config-key-mismatch")[..] else { panic!("{:#}", report["findings"]) };
    assert!(
        evidence(differ).contains("80 packets of 80 verify under the authentication key of r1"),
        "{}",
        evidence(differ)
    );
    assert!(evidence(differ).contains("the encryption key is wrong"));
    assert!(findings(&report, "icv-invalid").is_empty());
}

#[test]
fn a_key_of_a_wrong_length_is_not_checked() {
    let both = std::fs::read_to_string(fixture("policy/lab-wrong-auth-key.txt")).expect("a fixture");
    let end = both.find("##### r2: ip -s xfrm state").expect("the second router");
    let short = both[..end].replace("0x34fe9909a47338a648a94bfb7c9f7552cde786e4", "0x34fe9909a47338a6");
    let config = written("short.txt", short);
    let report = report(&[word(&config)], &[CAPTURE]);
    let [length] = findings(&report, "config-key-length")[..] else { panic!("{:#}", report["findings"]) };
    assert!(evidence(length).contains("The ICV of 80 packets on the wire was not checked."), "{}", evidence(length));
    assert!(findings(&report, "icv-invalid").is_empty());
}

#[test]
fn rows_of_frames_show_what_was_decrypted() {
    let header = spiglass::report::frame_row::COLUMNS.join(",");
    let rows = spiglass(&["frames", "--sa", WRONG_KEY, CAPTURE]).expect(0).csv(&header);
    assert_eq!(rows.len(), 129);
    for row in &rows {
        assert!(row.get("stack").starts_with("eth/ipv4/esp/ipv4"), "{}", row.get("stack"));
        assert!(row.get("inner_src").starts_with("192.168."));
        let number = |column: &str| row.get(column).parse::<u64>().unwrap_or_else(|_| panic!("{column} is a number"));
        assert_eq!(number("outer_bytes") - number("inner_bytes"), number("overhead_bytes"));
        assert_eq!(number("overhead_bytes"), 20 + 8 + 16 + 2 + 12 + number("esp_pad_bytes"));
    }
    let without = spiglass(&["frames", CAPTURE]).expect(0).csv(&header);
    assert!(without.iter().all(|row| row.get("stack") == "eth/ipv4/esp" && row.get("inner_src").is_empty()));
}

/// Threads, parts and states give the same report, octet for octet; without the keys, or with others, states are refused.
#[test]
fn states_with_keys_merge() {
    let report = |jobs: &str| {
        spiglass(&["report", "--format", "json", "-q", "--config", WRONG_KEY, "--jobs", jobs, CAPTURE]).expect(0).stdout
    };
    assert_eq!(report("1"), report("4"));
    let state = |name: &str, config: &[&str]| {
        let to = written(name, "");
        let words = [&["partial", "-q", CAPTURE, "-o", word(&to)][..], config].concat();
        spiglass(&words).expect(0);
        to
    };
    let keyed = state("keyed.state", &["--config", WRONG_KEY]);
    let merged = spiglass(&["merge", "--format", "json", "-q", "--config", WRONG_KEY, word(&keyed)]).expect(0).stdout;
    assert_eq!(merged, report("1"));
    assert_eq!(spiglass(&["merge", word(&keyed)]).status, 2);
    let plain = state("plain.state", &[]);
    assert_eq!(spiglass(&["merge", "--config", WRONG_KEY, word(&keyed), word(&plain)]).status, 2);
    // The same configuration but for a key that now agrees with the other end's.
    let text = std::fs::read_to_string(fixture("policy/lab-wrong-auth-key.txt")).expect("a fixture");
    let octets = std::fs::read(&keyed).expect("a state");
    for key in text.split_whitespace().filter(|word| word.starts_with("0x") && word.len() >= 34) {
        let raw: Vec<u8> = key.as_bytes()[2..]
            .chunks(2)
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).expect("hex"), 16).expect("hex"))
            .collect();
        assert!(!octets.windows(8).any(|window| window == &raw[..8]), "a key is in the state");
        assert!(!octets.windows(16).any(|window| window == &key.as_bytes()[2..18]), "a key is in the state");
    }
}

/// Overhead by inner size is that of the laboratory's own table, and every SA that has a key is decrypted.
#[test]
fn overhead_in_the_laboratory_is_exact() {
    let Some(lab) = shared("lab") else { return };
    let (mut scenarios, mut rows) = (0, 0);
    let mut problems = Vec::new();
    for scenario in std::fs::read_dir(&lab).expect("the laboratory can be listed") {
        let scenario = scenario.expect("an entry").path();
        let name = scenario.file_name().expect("a name").to_string_lossy().into_owned();
        let (capture, truth) = (scenario.join("tunnel.pcap"), scenario.join("truth.json"));
        if !capture.is_file() || !truth.is_file() {
            continue;
        }
        let truth = read_json(&truth);
        let expected: BTreeMap<u64, u64> = truth
            .get("expected_sizes")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|row| Some((row.get("inner")?.as_u64()?, row.get("outer")?.as_u64()?)))
            .collect();
        for file in ["sa.txt", "esp_sa"].map(|file| scenario.join(file)) {
            if !file.is_file() {
                continue;
            }
            let report = report(&[word(&file)], &[word(&capture)]);
            let mut say =
                |what: String| problems.push(format!("{name} {}: {what}", file.file_name().unwrap().display()));
            scenarios += 1;
            for row in items(&report, "sizes").iter().filter(|row| row["basis"] == "decrypted") {
                rows += 1;
                let inner = row["inner_bytes"].as_u64().expect("a length");
                let outer = (row["outer_bytes_min"].as_u64(), row["outer_bytes_max"].as_u64());
                if let Some(&want) = expected.get(&inner).filter(|&&want| outer != (Some(want), Some(want))) {
                    say(format!("{inner} bytes became {outer:?}, not {want}"));
                }
                let sum: f64 = row["parts"].as_object().expect("parts").values().filter_map(Value::as_f64).sum();
                let mean = at(row, "overhead_mean_bytes").as_f64().expect("a mean");
                let parts_fit = (sum - mean).abs() < 1e-9;
                let negative = row["parts"].as_object().expect("parts").values().any(|part| part.as_f64() < Some(0.0));
                if !parts_fit || negative {
                    say(format!("parts {:?} of {mean}", row["parts"]));
                }
            }
            for sa in items(&report, "sas").iter().filter(|sa| sa["icv_checks"].is_object()) {
                let count = |name: &str| sa["icv_checks"][name].as_u64().expect("a count");
                // Truly corrupted, cut by the snapshot length, in fragments, or without anything to check.
                let whole = count("verified") == sa["frames"].as_u64().expect("a count");
                let known = [
                    "corrupt-before-tap",
                    "frag-outer-1500",
                    "steps-long-aes128-sha1-1024",
                    "tcp-transfer",
                    "two-clocks",
                ];
                let unchecked = sa["transform"]["name"] == "DES-CBC" || known.contains(&name.as_str());
                if !whole && !unchecked {
                    say(format!("{}: {}", sa["id"], sa["icv_checks"]));
                }
            }
            let invalid = findings(&report, "icv-invalid").len();
            let wanted =
                usize::from(name == "corrupt-before-tap" || name == "wrong-auth-key" && file.ends_with("sa.txt"));
            if invalid != wanted {
                say(format!("{invalid} icv-invalid, not {wanted}"));
            }
            for code in ["transform-mismatch", "mode-mismatch", "esp-padding-irregular", "config-key-length"] {
                if let Some(finding) = findings(&report, code).first() {
                    say(format!("{code}: {}", evidence(finding)));
                }
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(scenarios >= 100 && rows > 2_000, "{scenarios} files of keys, {rows} rows");
}

/// Without keys the overhead is modelled, and TFC padding that a state names belongs to it.
#[test]
fn tfc_padding_is_part_of_what_is_modelled() {
    let Some(lab) = shared("lab") else { return };
    let states = std::fs::read_to_string(lab.join("esp-tfc-gcm/sa.txt")).expect("a file of the laboratory");
    let config = written("tfc.txt", without_keys(&states));
    let report = report(&[word(&config)], &[word(&lab.join("esp-tfc-gcm/tunnel.pcap"))]);
    for sa in items(&report, "sas") {
        assert_eq!(at(sa, "overhead.basis"), "modelled", "{sa:#}");
        let most = at(sa, "overhead.max_bytes").as_i64().expect("a number");
        assert!((1_016..1_060).contains(&most), "40 bytes are padded to 1000: {most}");
    }
}

/// No form of any output shows a key, whatever became of it.
#[test]
fn no_output_shows_a_key() {
    let states = std::fs::read_to_string(fixture("policy/lab-wrong-auth-key.txt")).expect("a fixture");
    let keys: Vec<&str> = states.split_whitespace().filter(|word| word.starts_with("0x") && word.len() >= 34).collect();
    assert!(keys.len() >= 8);
    let short = written("shown.txt", states.replace(keys[0], &keys[0][..20]));
    for config in [WRONG_KEY, word(&short)] {
        for words in [
            &["report", "-v", "--format", "text"][..],
            &["report", "-v", "--format", "json"],
            &["report", "--format", "markdown"],
            &["check", "--format", "ndjson"],
            &["frames", "-v", "--format", "ndjson"],
        ] {
            let run = spiglass(&[words, &["--config", config, CAPTURE]].concat());
            let shown = format!("{}{}", String::from_utf8_lossy(&run.stdout), run.stderr).to_lowercase();
            assert!(shown.len() > 100);
            for key in &keys {
                assert!(!shown.contains(&key[2..14]), "{words:?} show a key");
            }
        }
    }
}
