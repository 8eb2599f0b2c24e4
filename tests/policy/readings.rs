//! Pairs in `fixtures/policy-pairs`, of several makers: healthy ones written in a way that a narrow reading would accuse, and faults beside them.

use std::collections::BTreeMap;
use std::path::Path;

use crate::pairs::loud;
use crate::support::spiglass;
use serde_json::Value;

/// Codes of errors and warnings that a folder's texts give.
fn codes(folder: &Path) -> Vec<String> {
    let mut texts: Vec<_> = folder.read_dir().expect("a folder").map(|file| file.expect("a file").path()).collect();
    texts.sort();
    let mut words = vec!["check".to_owned(), "--format".to_owned(), "json".to_owned()];
    for text in &texts {
        words.extend(["--config".to_owned(), text.to_str().expect("a path of text").to_owned()]);
    }
    let findings: Vec<Value> = spiglass(&words).json()["findings"].as_array().expect("findings").clone();
    let mut codes: Vec<String> = loud(&findings).into_iter().map(str::to_owned).collect();
    codes.sort_unstable();
    codes.dedup();
    codes
}

#[test]
fn each_pair_has_the_findings_that_are_true_of_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/policy-pairs");
    let expected = std::fs::read_to_string(root.join("expected.txt")).expect("expected codes");
    let expected: BTreeMap<&str, Vec<String>> = expected
        .lines()
        .map(|line| line.split_once(':').expect("a name and its codes"))
        .map(|(name, codes)| (name, codes.split_whitespace().map(str::to_owned).collect()))
        .collect();
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
