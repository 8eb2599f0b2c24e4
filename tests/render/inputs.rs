//! What `render` reads: every JSON output of this program, several on one page, and nothing else.

use serde_json::{Value, json};

use crate::markup::read;
use crate::pages::page;
use crate::support::{fixture, scratch, spiglass, write_file};

fn capture(name: &str) -> String {
    fixture(name).to_str().expect("UTF-8").to_owned()
}

#[test]
fn a_page_from_json_is_the_page_of_the_run() {
    let dir = scratch("render-same");
    let (ah, null) = (capture("lab/ah-sha256-tunnel.pcap"), capture("seeds/test06-esp-null.pcap"));
    let (pair, plain) = (capture("policy/test06-broken-pair.txt"), capture("seeds/plain.pcap"));
    let commands: [&[&str]; 8] = [
        &["report", &ah],
        &["report", "--bin", "10ms", "--link-rate", "1G", "--spi", "1001", &ah],
        &["report", "--config", &pair, &null],
        &["report", &plain],
        &["match", "--plain", &plain, "--tunnel", &null],
        &["match", "--plain", &ah, "--tunnel", &ah],
        &["calc", "--transform", "aes256-sha1"],
        &["calc", "--transform", "3des-md5", "--transform", "ah-sha256-hmac", "--sizes", "imix"],
    ];
    for (n, command) in commands.into_iter().enumerate() {
        let direct = page(command).0;
        let json = spiglass(&[command, &["--format", "json"]].concat());
        let file = write_file(&dir, &format!("{n}.json"), json.text().as_bytes());
        let out = dir.join(format!("{n}.html"));
        let name = file.to_str().expect("UTF-8");
        spiglass(&["render", name, "-o", out.to_str().expect("UTF-8")]).expect(0);
        assert_eq!(std::fs::read_to_string(&out).expect("the page"), direct, "{command:?}");
    }
}

#[test]
fn different_runs_are_different_measurements() {
    let dir = scratch("render-two");
    let json = |name: &str, capture: &str| {
        let run = spiglass(&["report", "--format", "json", capture]);
        write_file(&dir, name, run.text().as_bytes()).to_str().expect("UTF-8").to_owned()
    };
    let one = json("one.json", &capture("lab/ah-sha256-tunnel.pcap"));
    let two = json("two.json", &capture("seeds/test11-ah-esp-aes-sha512.pcap"));
    let run = spiglass(&["render", &one, &two]).expect(0);
    let page = read(run.text());
    for words in ["Findings (measurement 1)", "Findings (measurement 2)", "Measurements"] {
        assert!(page.headings.iter().any(|(_, text)| text == words), "{words}: {:?}", page.headings);
    }
    assert!(page.text.contains("Figures of different measurements are not added."));
    assert_eq!(run.text(), spiglass(&["render", &one, &two]).text(), "the same bytes");
    // The report and the pairs of one capture are one measurement.
    let ah = capture("lab/ah-sha256-tunnel.pcap");
    let pairs = spiglass(&["match", "--plain", &ah, "--tunnel", &ah, "--format", "json"]);
    let pairs = write_file(&dir, "match.json", pairs.text().as_bytes());
    let calc = spiglass(&["calc", "--transform", "aes256-sha1", "--format", "json"]);
    let calc = write_file(&dir, "calc.json", calc.text().as_bytes());
    let (pairs, calc) = (pairs.to_str().expect("UTF-8"), calc.to_str().expect("UTF-8"));
    let run = spiglass(&["render", &one, pairs, calc, "--title", "Acceptance", "--author", "A. Person"]).expect(0);
    let page = read(run.text());
    assert_eq!(page.title(), "Acceptance");
    assert!(page.text.contains("by A. Person") && !page.text.contains("measurement 1"), "{:?}", page.headings);
    for words in ["Findings (report)", "Findings (match)"] {
        assert!(page.headings.iter().any(|(_, text)| text == words), "{words}: {:?}", page.headings);
    }
}

#[test]
fn what_is_no_output_of_ours_is_named() {
    let dir = scratch("render-wrong");
    let refuse = |name: &str, content: &str, words: &[&str]| {
        let file = write_file(&dir, name, content.as_bytes());
        let run = spiglass(&["render", file.to_str().expect("UTF-8")]).expect(2);
        assert_eq!(run.text(), "", "{name}");
        for word in words.iter().chain(&[name]) {
            assert!(run.stderr.contains(word), "{name}: {word} is not in {}", run.stderr);
        }
    };
    let known = ["spiglass.report/1", "spiglass.match/1", "spiglass.calc/1"];
    refuse(
        "newer.json",
        "{\"schema\":\"spiglass.report/2\"}",
        &["spiglass.report/2", "newer", known[0], known[1], known[2]],
    );
    refuse("other.json", "{\"schema\":\"acme/1\"}", &["acme/1", known[0], known[1], known[2]]);
    refuse("none.json", "{\"frames\":3}", &["no schema", known[0]]);
    refuse("list.json", "[1,2]", &["JSON"]);
    refuse("text.json", "hello", &["not JSON"]);
    refuse("empty.json", "", &["not JSON"]);
    refuse("lack.json", "{\"schema\":\"spiglass.report/1\"}", &["spiglass.report/1"]);
    refuse("hostile.json", "{\"schema\":\"\\u001b[2J<b>\"}", &["\\u{1b}[2J<b>"]);
    let rows = spiglass(&["report", "--format", "ndjson", &capture("lab/ah-sha256-tunnel.pcap")]);
    refuse("rows.ndjson", rows.text(), &["--format json"]);
    let missing = spiglass(&["render", dir.join("missing.json").to_str().expect("UTF-8")]).expect(2);
    assert!(missing.stderr.contains("missing.json"));
    spiglass::<&str>(&["render"]).expect(2);
}

#[test]
fn members_of_later_versions_are_passed_over() {
    let dir = scratch("render-later");
    let ah = capture("lab/ah-sha256-tunnel.pcap");
    let mut json: Value = spiglass(&["report", "--format", "json", &ah]).json();
    json["later"] = json!({ "a": 1 });
    json["sas"][0]["later"] = json!([1]);
    let file = write_file(&dir, "later.json", json.to_string().as_bytes());
    let run = spiglass(&["render", file.to_str().expect("UTF-8")]).expect(0);
    assert_eq!(run.text(), page(&["report", &ah]).0);
}
