//! Pairs in `fixtures/policy-pairs`, of several makers: healthy ones written in a way that a narrow reading would accuse, and faults beside them.

use std::collections::BTreeMap;
use std::path::Path;

use crate::pairs::loud;
use crate::support::spiglass;
use serde_json::Value;

/// What the texts of a folder give.
fn findings(folder: &Path) -> Vec<Value> {
    let mut texts: Vec<_> = folder.read_dir().expect("a folder").map(|file| file.expect("a file").path()).collect();
    texts.sort();
    let mut words = vec!["check".to_owned(), "--format".to_owned(), "json".to_owned()];
    for text in &texts {
        words.extend(["--config".to_owned(), text.to_str().expect("a path of text").to_owned()]);
    }
    spiglass(&words).json()["findings"].as_array().expect("findings").clone()
}

/// Codes of errors and warnings that a folder's texts give.
fn codes(folder: &Path) -> Vec<String> {
    sorted(loud(&findings(folder)).into_iter().map(str::to_owned).collect())
}

/// Hosts that get lines to type.
fn accused(folder: &Path) -> Vec<String> {
    let findings = findings(folder);
    let fixes = findings.iter().filter_map(|finding| finding["fix"].as_array()).flatten();
    sorted(fixes.map(|fix| fix["host"].as_str().expect("a host").to_owned()).collect())
}

fn sorted(mut words: Vec<String>) -> Vec<String> {
    words.sort_unstable();
    words.dedup();
    words
}

/// Lines such as `NAME: WORD WORD`.
fn listed(text: &str) -> BTreeMap<&str, Vec<String>> {
    let lines = text.lines().map(|line| line.split_once(':').expect("a name and its words"));
    lines.map(|(name, words)| (name, words.split_whitespace().map(str::to_owned).collect())).collect()
}

#[test]
fn each_pair_has_the_findings_that_are_true_of_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/policy-pairs");
    let expected = std::fs::read_to_string(root.join("expected.txt")).expect("expected codes");
    let expected = listed(&expected);
    let folders =
        root.read_dir().expect("fixtures").filter(|entry| entry.as_ref().is_ok_and(|own| own.path().is_dir()));
    assert_eq!(folders.count(), expected.len(), "a folder that is not expected");
    let wrong: Vec<(&str, Vec<String>)> = expected
        .iter()
        .map(|(name, codes_expected)| (*name, codes(&root.join(name)), codes_expected))
        .filter(|(_, found, expected)| found != *expected)
        .map(|(name, found, _)| (name, found))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn lines_to_type_are_for_the_router_at_fault() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/policy-pairs");
    let expected = std::fs::read_to_string(root.join("accused.txt")).expect("hosts");
    let wrong: Vec<(&str, Vec<String>)> = listed(&expected)
        .into_iter()
        .map(|(name, hosts)| (name, accused(&root.join(name)), hosts))
        .filter(|(_, found, hosts)| found != hosts)
        .map(|(name, found, _)| (name, found))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Codes of errors and warnings of a text beside the other end's.
fn codes_of(name: &str, text: &str, other: &Path) -> Vec<String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("readings-{name}"));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("1.txt"), text).expect("a text");
    std::fs::copy(other, folder.join("2.txt")).expect("the other end");
    codes(&folder)
}

#[test]
fn a_text_that_ends_early_is_no_fault_of_its_router() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/policy-pairs");
    for (pair, pager) in [
        ("ike-key", ""),
        ("gre-to-third-site", ""),
        ("lan-filter-one-of-two-lines", ""),
        ("vti-reserve", " --More-- \n"),
    ] {
        let whole = std::fs::read_to_string(root.join(pair).join("1.txt")).expect("a text");
        let lines: Vec<&str> = whole.lines().collect();
        for end in 4..lines.len() {
            let text = lines[..end].join("\n") + "\n" + pager;
            let codes = codes_of("early", &text, &root.join(pair).join("2.txt"));
            assert!(codes.is_empty(), "{pair} up to {:?}: {codes:?}", lines[end - 1]);
        }
    }
}

#[test]
fn a_mark_hides_a_fault_only_where_its_lines_may_have_stood() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/policy-pairs/cut-after-list");
    let whole = std::fs::read_to_string(root.join("1.txt")).expect("a text");
    let other = root.join("2.txt");
    for mark in ["<snip>", "...", "! output omitted", "[removed]"] {
        let within = whole.replace("<snip>\n", "").replace(" permit ip", &format!("{mark}\n permit ip"));
        assert!(codes_of("within", &within, &other).is_empty(), "{mark} within the list");
        let after = whole.replace("<snip>", mark);
        assert_eq!(codes_of("after", &after, &other), ["config-acl-mismatch"], "{mark} after the list");
        let unended = whole.replace("!\n<snip>\n!\nend", &format!("{mark}\n!\nend"));
        assert!(codes_of("unended", &unended, &other).is_empty(), "{mark} at the end of the list");
    }
}
