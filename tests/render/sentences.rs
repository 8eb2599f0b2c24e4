//! No sentence stands on a page without its figure; nothing that strangers wrote is markup.

use serde_json::{Value, json};

use crate::markup::read;
use crate::support::{fixture, scratch, spiglass, write_file};

/// The page of a JSON report.
fn rendered(dir: &std::path::Path, report: &Value) -> String {
    let file = write_file(dir, "report.json", report.to_string().as_bytes());
    let run = spiglass(&["render", file.to_str().expect("UTF-8")]).expect(0);
    read(run.text()).text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn report() -> Value {
    let capture = fixture("lab/ah-sha256-tunnel.pcap");
    spiglass(&["report", "--bin", "10ms", "--format", "json", capture.to_str().expect("UTF-8")]).expect(0).json()
}

#[test]
fn no_sentence_without_its_figure() {
    let dir = scratch("render-sentences");
    let whole = rendered(&dir, &report());
    let has = |text: &str, words: &[&str]| words.iter().map(|word| text.contains(word)).collect::<Vec<_>>();
    let said = ["for the tunnel", "A circuit full of", "No sequence number", "at most on layer 1"];
    assert_eq!(has(&whole, &said), [true; 4], "{whole}");

    let mut none = report();
    none["sizes"] = json!([]);
    assert_eq!(has(&rendered(&dir, &none), &said), [false, false, true, true], "no size, no cost");

    let mut none = report();
    for sa in none["sas"].as_array_mut().expect("SAs") {
        sa["sequence"] = Value::Null;
    }
    assert_eq!(has(&rendered(&dir, &none), &said), [true, true, false, true], "no numbers, no loss");

    let mut none = report();
    for direction in none["rates"]["directions"].as_array_mut().expect("directions") {
        direction["peak"] = Value::Null;
        direction["l1_bps"] = Value::Null;
    }
    assert_eq!(has(&rendered(&dir, &none), &said), [true, true, true, false], "no peak, no rate");
}

#[test]
fn sentences_say_what_the_figures_are() {
    let dir = scratch("render-figures");
    let mut lossy = report();
    lossy["sas"][0]["sequence"]["lost"] = json!(20);
    let text = rendered(&dir, &lossy);
    assert!(text.contains("20 of") && !text.contains("No sequence number"), "{text}");
    // Sizes that differ in more than padding have no part that varies alone.
    let mut two = report();
    two["sizes"][0]["parts"]["esp_pad"] = json!(3.0);
    two["sizes"][0]["parts"]["iv"] = json!(9.0);
    assert!(!rendered(&dir, &two).contains("is what varies"));
    // Compression gains: no share of the circuit, no cost.
    let mut gain = report();
    for size in gain["sizes"].as_array_mut().expect("sizes") {
        size["overhead_min_bytes"] = json!(-20);
        size["circuit_share_pct"] = json!(104.0);
        size["l1_tunnel_bytes"] = json!(size["l1_plain_bytes"].as_f64().expect("a length") * 0.9);
    }
    let text = rendered(&dir, &gain);
    assert!(!text.contains("A circuit full of") && !text.contains("bytes for the tunnel"), "{text}");
    // Limits that were hit are said.
    let mut part = report();
    part["exactness"] = json!("degraded");
    part["degraded_why"] = json!(["No room."]);
    let text = rendered(&dir, &part);
    assert!(text.contains("not exact") && text.contains("No room."), "{text}");
}

#[test]
fn pairs_that_are_not_determined_have_no_figures() {
    let Some(lab) = crate::support::shared("lab") else { return };
    let of = |name: &str| lab.join("esp-aes128-cbc-sha1").join(name).to_str().expect("UTF-8").to_owned();
    let args = ["match", "--plain", &of("plain-a.pcap"), "--tunnel", &of("tunnel.pcap"), "--format", "json"]
        .map(str::to_owned);
    let pairs = spiglass(&args).expect(0).json();
    let dir = scratch("render-undetermined");
    let said = ["median packet takes", "was lost on the way", "for the tunnel"];
    let has = |text: &str| said.map(|words| text.contains(words));
    assert_eq!(has(&rendered(&dir, &pairs)), [true; 3]);
    let mut open = pairs.clone();
    for direction in open["directions"].as_array_mut().expect("directions") {
        direction["undetermined"] =
            json!({ "alignments": 3, "reason": "Several fit.", "decide": "A key.", "missing_numbers": 0 });
        direction["loss_pct"] = Value::Null;
        direction["lost_before_tunnel"] = Value::Null;
    }
    let text = rendered(&dir, &open);
    assert_eq!(has(&text), [false; 3], "{text}");
    assert!(text.contains("Not determined"));
    let mut clock = pairs.clone();
    for direction in clock["directions"].as_array_mut().expect("directions") {
        direction["clock"]["basis"] = json!("one-direction");
    }
    let text = rendered(&dir, &clock);
    assert_eq!(has(&text), [false, true, true], "the offset is not known");
    assert!(text.contains("longer than the fastest"), "{text}");
}

/// Markup, controls, direction marks, quotes, in every string of a report.
const HOSTILE: &str =
    "\"><script>alert(1)</script><img src=x onerror=y>&lt;'\u{202e}\u{1b}[2J\n*b* `c` http://x \u{fffe}";

/// Puts it into every string that is no word of the program.
fn poison(value: &mut Value, key: &str) {
    // Words of the program, addresses and moments are checked when they are read.
    const OURS: [&str; 23] = [
        "algorithm",
        "schema",
        "exactness",
        "severity",
        "code",
        "proto",
        "spi_hex",
        "src",
        "dst",
        "encapsulation",
        "mode",
        "basis",
        "first",
        "last",
        "time",
        "role",
        "what",
        "kind",
        "pattern",
        "l1_basis",
        "version",
        "id",
        "sa",
    ];
    match value {
        Value::String(text) if !OURS.contains(&key) => text.push_str(HOSTILE),
        Value::Array(values) => values.iter_mut().for_each(|value| poison(value, key)),
        Value::Object(members) => members.iter_mut().for_each(|(key, value)| poison(value, key)),
        _ => {}
    }
}

#[test]
fn nothing_that_strangers_wrote_is_markup() {
    let dir = scratch("render-hostile");
    let mut report = report();
    poison(&mut report, "");
    let file = write_file(&dir, "report.json", report.to_string().as_bytes());
    let run = spiglass(&["render", file.to_str().expect("UTF-8"), "--title", HOSTILE, "--author", HOSTILE, "--all"])
        .expect(0);
    let page = read(run.text());
    assert!(page.text.contains("<script>alert(1)</script>"), "it is text");
    assert!(page.text.contains("\\u{202e}") && !run.text().contains("<script"), "{}", page.text);
    assert!(page.title().contains("<img src=x"));
}
