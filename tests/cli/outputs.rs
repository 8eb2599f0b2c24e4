//! No output interprets what strangers wrote: names of interfaces, files, taps and routers, in every form.

use std::path::Path;

use crate::support::build::{R1, R2, START, esp};
use crate::support::writer::{Out, plain_pcap};
use crate::support::{scratch, spiglass, write_file};

/// What a stranger would like to have interpreted: a terminal's escapes, a spreadsheet's formulas, markup, a line of one's own.
const HOSTILE: [&str; 8] = [
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "\u{1b}[31m\u{1b}]0;owned\u{7}",
    "<script>alert(1)</script>|[x](javascript:1)",
    "a\r\n\"quoted\",=1\u{202e}",
];

fn option(code: u16, value: &[u8]) -> Vec<u8> {
    let mut option = code.to_le_bytes().to_vec();
    option.extend(u16::try_from(value.len()).unwrap().to_le_bytes());
    option.extend(value);
    option.resize(option.len().next_multiple_of(4), 0);
    option
}

fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let total = u32::try_from(body.len().next_multiple_of(4) + 12).unwrap().to_le_bytes();
    let mut block = kind.to_le_bytes().to_vec();
    block.extend(total);
    block.extend(body);
    block.resize(block.len().next_multiple_of(4), 0);
    block.extend(total);
    block
}

/// A pcapng whose interface has this name.
fn named(name: &str) -> Vec<u8> {
    let mut file = block(0x0a0d_0d0a, &[&0x1a2b_3c4d_u32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xff; 8]].concat());
    file.extend(block(1, &[&[1, 0, 0, 0, 0, 0, 0, 0][..], &option(2, name.as_bytes())].concat()));
    for n in [1, 5, 9] {
        let frame = esp(R1, R2, 300, n, &[0xa5; 36]);
        let length = u32::try_from(frame.len()).unwrap().to_le_bytes();
        file.extend(block(6, &[&[0; 12][..], &length, &length, &frame].concat()));
    }
    file
}

fn harmless(what: &str, text: &str) {
    let odd = text.chars().find(|c| (c.is_control() && *c != '\n') || matches!(c, '\u{202a}'..='\u{202e}'));
    assert_eq!(odd, None, "{what}: {text:?}");
}

/// Cells as a spreadsheet has them: none begins a formula. Numbers below zero are numbers.
fn no_formula(what: &str, csv: &str) {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(csv.as_bytes());
    for row in reader.records() {
        for cell in &row.expect("a row") {
            let formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r']);
            assert!(!formula || cell == "-" || cell.parse::<f64>().is_ok(), "{what}: {cell:?}");
        }
    }
}

fn check(what: &str, args: &[&str]) {
    for format in ["text", "json", "csv", "ndjson", "markdown"] {
        let tables: &[&str] = if format == "csv" {
            &["findings", "sas", "tunnels", "sizes", "padding", "rates", "layers", "captures"]
        } else {
            &[""]
        };
        for table in tables {
            let mut line = vec!["report", "-v", "--color", "never", "--format", format];
            if !table.is_empty() {
                line.extend(["--table", table]);
            }
            line.extend(args);
            let run = spiglass(&line);
            assert!((0..=2).contains(&run.status), "{run}");
            let what = format!("{what} as {format} {table}");
            harmless(&what, run.text());
            harmless(&what, &run.stderr);
            if format == "csv" {
                no_formula(&what, run.text());
            }
            if format == "markdown" {
                assert!(!run.text().replace("\\<", "").contains("<script"), "{what}: {}", run.text());
                assert!(!run.text().replace("\\[", "").contains("[x]"), "{what}: {}", run.text());
            }
        }
    }
}

fn path(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

#[test]
fn names_of_interfaces_are_names() {
    let dir = scratch("outputs-interfaces");
    for (n, name) in HOSTILE.iter().enumerate() {
        let capture = write_file(&dir, &format!("{n}.pcapng"), &named(name));
        check(name, &[path(&capture)]);
        let rows = spiglass(&["frames", path(&capture)]).expect(0);
        harmless(name, rows.text());
        no_formula(name, rows.text());
    }
}

#[test]
fn names_of_files_and_taps_are_names() {
    let dir = scratch("outputs-files");
    let bytes = plain_pcap(&[1, 5, 9].map(|n| Out::whole(START + u64::from(n), esp(R1, R2, 300, n, &[0xa5; 36]))));
    for name in HOSTILE {
        let file = name.replace('/', "_");
        let capture = write_file(&dir, &file, &bytes);
        check(name, &[path(&capture)]);
        let tap = name.replace(['=', ','], "_");
        check(name, &["--tap", &format!("{tap}={}", path(&write_file(&dir, "tap.pcap", &bytes)))]);
        // As a name without a folder, which a cell may begin with.
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_spiglass"))
            .current_dir(&dir)
            .args(["frames", "--", file.as_str()])
            .output()
            .expect("it runs");
        let rows = String::from_utf8(output.stdout).expect("UTF-8");
        harmless(name, &rows);
        no_formula(name, &rows);
    }
}

#[test]
fn names_in_configurations_are_names() {
    let dir = scratch("outputs-configurations");
    let capture = write_file(&dir, "a.pcap", &plain_pcap(&[Out::whole(START, esp(R1, R2, 300, 1, &[0xa5; 36]))]));
    for (n, name) in HOSTILE.iter().enumerate() {
        let word = name.replace([' ', '\t', '\r', '\n'], "_");
        let text = format!(
            "hostname {word}\ncrypto ipsec transform-set {word} esp-null esp-md5-hmac\ncrypto map {word} 10 ipsec-manual\n \
             set peer 192.168.1.2\n set session-key inbound ah 2001 00112233445566778899aabbccddeeff\n \
             set session-key outbound ah 300 00112233445566778899aabbccddeeff\n set transform-set {word}\n \
             match address {word}\ninterface {word}\n ip address 192.168.1.1 255.255.255.0\n crypto map {word}\n{name}\n"
        );
        let config = write_file(&dir, &format!("{n}.cfg"), text.as_bytes());
        check(name, &["--config", path(&config), path(&capture)]);
        let list = format!(
            "[[sa]]\nprotocol = \"esp\"\nsrc = \"192.168.1.1\"\ndst = \"192.168.1.2\"\nspi = 301\nname = {}\n",
            serde_json::to_string(name).unwrap().replace("\\u001b", "\\u001B")
        );
        let list = write_file(&dir, &format!("{n}.toml"), list.as_bytes());
        check(name, &["--config", path(&list), path(&capture)]);
    }
}

#[test]
fn words_to_explain_are_words() {
    for word in HOSTILE {
        let run = spiglass(&["explain", "--", word]);
        harmless(word, run.text());
        harmless(word, &run.stderr);
        let run = spiglass(&["calc", "--transform", word]);
        harmless(word, &run.stderr);
        let run = spiglass(&["report", "--bin", word, "x"]);
        assert_eq!(run.status, 2);
        harmless(word, &run.stderr);
    }
}
