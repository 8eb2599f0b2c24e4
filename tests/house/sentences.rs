//! Every distinct sentence that the program prints about the fixtures, so that its wording is reviewed in one place:
//! `sentences.txt`. Words with a digit in them, paths and names of captures are `#`. Write it anew with
//! `SPIGLASS_SENTENCES=write cargo test --test house sentences`, and read the differences as a stranger would.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::fixture;

/// A sentence has at least so many words; headings and columns have fewer.
const WORDS: usize = 4;

#[test]
fn sentences_are_those_that_were_reviewed() {
    let mut said = BTreeSet::new();
    for args in runs() {
        for line in output(&args).lines() {
            said.extend(sentences(line));
        }
    }
    assert!(said.len() > 50, "{} sentences", said.len());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/house/sentences.txt");
    let now: String = said.iter().map(|sentence| format!("{sentence}\n")).collect();
    if std::env::var_os("SPIGLASS_SENTENCES").is_some() {
        std::fs::write(&path, now).expect("the sentences can be written");
        return;
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    let before: BTreeSet<&str> = kept.lines().collect();
    let new: Vec<&str> = said.iter().map(String::as_str).filter(|sentence| !before.contains(sentence)).collect();
    let gone: Vec<&&str> = before.iter().filter(|sentence| !said.contains(**sentence)).collect();
    assert!(
        new.is_empty() && gone.is_empty(),
        "read these, then SPIGLASS_SENTENCES=write cargo test --test house sentences\nnew:\n  {}\ngone: {gone:#?}",
        new.join("\n  ")
    );
}

/// What is run: reports and checks of all captures, `match` of all pairs of sides, lint of all configurations, calculations.
fn runs() -> Vec<Vec<String>> {
    let words = |args: &[&str]| args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>();
    let root = fixture("README.md");
    let below = |folder: &str, ends: &[&str]| {
        let mut found: Vec<String> = std::fs::read_dir(root.with_file_name(folder))
            .expect("fixtures can be listed")
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .filter(|name| ends.iter().any(|end| name.ends_with(end)))
            .map(|name| format!("{folder}/{name}"))
            .collect();
        found.sort();
        found
    };
    let mut runs = Vec::new();
    let captures = [&[".pcap", ".pcapng", ".gz", ".zst"][..]; 3];
    for capture in ["lab", "seeds", "crashes"].into_iter().zip(captures).flat_map(|(folder, ends)| below(folder, ends))
    {
        runs.push(words(&["report", "--format", "markdown", &capture]));
    }
    let policies = below("policy", &[".txt"]);
    for policy in &policies {
        runs.push(words(&["check", "--format", "markdown", "--config", policy]));
        if let Some(other) = policy.strip_suffix("-1.txt").map(|stem| format!("{stem}-2.txt")) {
            runs.push(words(&["check", "--format", "markdown", "--config", policy, "--config", &other]));
        }
    }
    let with = |capture: &str, policy: &str| words(&["report", "--format", "markdown", "--config", policy, capture]);
    runs.push(with("seeds/test06-esp-null-broken.pcap", "policy/test06-broken-pair.txt"));
    runs.push(with("seeds/test06-esp-null-fixed.pcap", "policy/test06-fixed-pair.txt"));
    runs.push(with("seeds/test05-ah-md5.pcap", "policy/test05-ah-pair.txt"));
    runs.push(with("lab/wrong-auth-key-tunnel.pcap", "policy/lab-wrong-auth-key.txt"));
    runs.push(with("seeds/plain.pcap", "policy/test06-fixed-pair.txt"));
    for name in ["ah-sha256", "loss-before-tap", "wrong-auth-key"] {
        let (plain, tunnel) = (format!("lab/{name}-plain-a.pcap"), format!("lab/{name}-tunnel.pcap"));
        runs.push(words(&["match", "--format", "markdown", "--plain", &plain, "--tunnel", &tunnel]));
    }
    for transform in ["esp-3des esp-sha-hmac", "ah-md5-hmac esp-des", "aes128gcm16", "wireguard"] {
        runs.push(words(&["calc", "--format", "markdown", "--transform", transform, "--sizes", "imix"]));
    }
    runs
}

fn output(args: &[String]) -> String {
    let run = Command::new(env!("CARGO_BIN_EXE_spiglass"))
        .args(args)
        .current_dir(fixture("README.md").parent().expect("a folder"))
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("spiglass {args:?}: {error}"));
    let stderr = String::from_utf8_lossy(&run.stderr).into_owned();
    let stdout = String::from_utf8_lossy(&run.stdout).into_owned();
    // Lines to type are code, not sentences.
    let mut code = false;
    let kept = stdout.lines().filter(|line| {
        let fence = line.trim_start().starts_with("```");
        code ^= fence;
        !code && !fence
    });
    kept.chain(stderr.lines()).map(|line| format!("{line}\n")).collect()
}

/// The sentences of a line, or of the cells of a row.
fn sentences(line: &str) -> Vec<String> {
    let cells = if line.starts_with('|') { line.split('|').collect::<Vec<_>>() } else { vec![line] };
    let parts = cells.into_iter().flat_map(|cell| cell.split_inclusive(". ").map(str::trim).collect::<Vec<_>>());
    let plain = parts.map(|part| part.split_whitespace().map(placeholder).collect::<Vec<_>>());
    plain.filter(|words| words.len() >= WORDS).map(|words| words.join(" ")).collect()
}

/// `#` for a word that is of the capture or configuration and not of the program.
fn placeholder(word: &str) -> String {
    let end: String = word.chars().rev().take_while(|c| matches!(c, '.' | ',' | ';' | ':' | ')')).collect();
    if word.chars().any(|c| c.is_ascii_digit()) || word.contains('/') {
        format!("#{}", end.chars().rev().collect::<String>())
    } else {
        word.to_owned()
    }
}
