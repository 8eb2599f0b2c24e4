//! How long functions may be, and how often the name of a type may stand in the crate. What is longer or stands more often today is
//! listed: nothing may be added without a reason, and what has become shorter or unique is taken off.

use std::collections::{BTreeMap, BTreeSet};

use super::architecture::{source, source_files};

/// Lines of a function, at most.
const LINES: usize = 60;

/// Longer functions: file, name, lines at most, and why they are not divided.
const LONG: &[(&str, &str, usize, &str)] = &[
    (
        "analysis/observe/observation.rs",
        "observe",
        90,
        "one pass over the layers of a frame; calls cost on the hot path",
    ),
    ("analysis/state/sa/sequence/run.rs", "append", 70, "one walk over two lists of runs"),
    ("capture/input/format.rs", "refusal", 70, "a list of magics and their names"),
    ("capture/reader.rs", "begin", 100, "the decision by magic, a case after the other"),
    ("capture/reader.rs", "fill_chunk", 80, "one loop over records with its buffer"),
    ("decrypt/algorithm/vectors.rs", "ciphers_with_integrity_of_their_own", 120, "published vectors"),
    ("decrypt/algorithm/vectors.rs", "ciphers_without_integrity", 120, "published vectors"),
    ("decrypt/algorithm/vectors.rs", "integrity_algorithms", 70, "published vectors"),
    ("dissect/ipsec/upper.rs", "upper_layer", 100, "one decision by protocol number"),
    ("engine/pairing.rs", "finish", 70, "a report put together member by member"),
    ("engine/pipeline.rs", "read", 80, "threads share what is borrowed here"),
    ("matching/figures/degraded.rs", "degraded", 110, "a sentence for each limit"),
    ("matching/figures/direction.rs", "direction", 80, "a row put together member by member"),
    ("matching/figures.rs", "figures", 115, "the doubts about a direction, in their order"),
    ("engine/trials.rs", "report", 70, "a report put together member by member"),
    ("matching/measure/silence/verdict.rs", "judge", 80, "the cases of a silence, in their order"),
    ("matching/measure/tally.rs", "count", 120, "everything that one pair adds"),
    ("matching/order/pairs.rs", "advance", 70, "one step of the order, with all that may stop it"),
    ("matching/order/settle.rs", "block", 70, "one block with its neighbours"),
    ("matching/order/settle.rs", "settle", 80, "the states of a lane, in their order"),
    ("matching/packets/trains.rs", "add", 80, "the ways a fragment joins others"),
    ("policy/lint/ends/keys.rs", "unused", 70, "one comparison with its lines to type"),
    ("policy/lint/linux/differ.rs", "difference", 80, "one comparison with its lines to type"),
    ("policy/lint/linux/differ.rs", "verdict", 80, "the members of a state, one after the other"),
    ("policy/lint/linux/pairs.rs", "slipped", 70, "one comparison with its lines to type"),
    ("policy/read/cisco.rs", "command", 70, "a list of commands and who reads them"),
    ("policy/read/list.rs", "one", 90, "the members of an entry, one after the other"),
    ("policy/read/xfrm/state.rs", "line", 70, "a list of words and what they state"),
    ("report/explain/drops.rs", "said", 70, "a list of log lines and what they mean"),
    ("report/sample.rs", "report", 100, "a report for tests, member by member"),
    ("report/sample/pairs.rs", "direction", 70, "a report for tests, member by member"),
    ("report/sample/pairs.rs", "report", 80, "a report for tests, member by member"),
    ("trials/figures/measure.rs", "measure", 150, "a row put together member by member"),
    ("trials/read/mod.rs", "tunnelled", 70, "the ways a tunnelled packet counts, in their order"),
    ("trials/sizes/search.rs", "searches", 70, "one pass over the loads of a size"),
    ("trials/sizes/throughput.rs", "row", 70, "a row put together member by member"),
    ("trials/trial.rs", "measured", 70, "the steps of one trial, in their order"),
];

#[test]
fn functions_are_short_enough_to_read() {
    let mut wrong = Vec::new();
    let mut met = BTreeSet::new();
    for file in source_files() {
        let name = file.to_string_lossy().replace('\\', "/");
        let text = std::fs::read_to_string(source().join(&file)).expect("a source file");
        for (function, lines) in functions(&text) {
            let listed = LONG.iter().find(|(path, own, _, _)| *path == name && *own == function);
            let most = listed.map_or(LINES, |(_, _, most, _)| *most);
            if lines > most {
                wrong.push(format!("{name}: {function} has {lines} lines, more than {most}"));
            }
            if lines > LINES {
                met.insert((name.clone(), function));
            }
        }
    }
    for (path, own, _, _) in LONG {
        if !met.contains(&((*path).to_owned(), (*own).to_owned())) {
            wrong.push(format!("{path}: {own} has no more than {LINES} lines: take it off the list"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Types that stand in several places under one name and are visible beyond their files.
const SHARED: &[&str] = &[
    "Alignment",
    "Bin",
    "Candidate",
    "Cell",
    "Cipher",
    "Class",
    "Clock",
    "Compression",
    "Context",
    "Costs",
    "Difference",
    "Direction",
    "Display",
    "End",
    "Ends",
    "Entry",
    "Esp",
    "EthernetPadding",
    "Expected",
    "Family",
    "Flow",
    "FlowKey",
    "Flows",
    "Format",
    "Found",
    "Fragments",
    "Header",
    "Inner",
    "Interface",
    "Judged",
    "Known",
    "Layer",
    "Lengths",
    "Line",
    "Lost",
    "Marks",
    "Opened",
    "Padding",
    "Parts",
    "Piece",
    "Place",
    "Plain",
    "Progress",
    "Rates",
    "Read",
    "Search",
    "Section",
    "Seen",
    "Side",
    "Size",
    "Span",
    "Stated",
    "Streams",
    "Succession",
    "Sums",
    "Suspect",
    "Table",
    "Tap",
    "Tool",
    "Totals",
    "Tunnel",
    "Tunnelled",
    "Typed",
    "Verdict",
    "View",
    "Walker",
    "When",
];

#[test]
fn the_name_of_a_type_stands_for_one_type() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in source_files() {
        let text = std::fs::read_to_string(source().join(&file)).expect("a source file");
        for name in types(&text) {
            places.entry(name).or_default().push(file.to_string_lossy().into_owned());
        }
    }
    let shared: BTreeMap<&str, &Vec<String>> =
        places.iter().filter(|(_, files)| files.len() > 1).map(|(name, files)| (name.as_str(), files)).collect();
    let added: Vec<String> = shared
        .iter()
        .filter(|(name, _)| !SHARED.contains(*name))
        .map(|(name, files)| format!("{name} stands for several types: {}", files.join(", ")))
        .collect();
    assert!(added.is_empty(), "{}", added.join("\n"));
    let unique: Vec<&&str> = SHARED.iter().filter(|name| !shared.contains_key(**name)).collect();
    assert!(unique.is_empty(), "these names stand for one type now, take them off the list: {unique:?}");
}

/// Functions that are not tests, with their lines, as rustfmt sets them.
fn functions(text: &str) -> Vec<(String, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if line.starts_with("mod tests {") {
            break;
        }
        let code = line.trim_start();
        let words: Vec<&str> = code.split([' ', '(', '<']).collect();
        let Some(place) = words.iter().position(|word| *word == "fn") else { continue };
        let leads =
            |word: &&str| word.starts_with("pub") || word.ends_with(')') || matches!(*word, "const" | "in" | "crate");
        let modifiers =
            words[..place].iter().all(|word| leads(word) || word.contains("::") || matches!(*word, "super)" | "super"));
        if !modifiers || code.starts_with("//") || line.ends_with('}') {
            continue;
        }
        let indent = &line[..line.len() - code.len()];
        let closing = format!("{indent}}}");
        let end = lines[at..].iter().position(|line| **line == closing);
        let declared =
            lines[at..].iter().position(|line| line.ends_with(';') && !line.starts_with(&format!("{indent} ")));
        match (end, declared) {
            (Some(end), declared) if declared.is_none_or(|declared| end < declared) => {
                found.push((words.get(place + 1).copied().unwrap_or_default().to_owned(), end + 1));
            }
            _ => {}
        }
    }
    found
}

/// Structures, enumerations and traits that are visible beyond their file.
fn types(text: &str) -> Vec<String> {
    let lines = text.lines().take_while(|line| !line.starts_with("mod tests {"));
    let declared = lines.filter_map(|line| {
        let rest = line.strip_prefix("pub")?;
        let rest = rest.strip_prefix('(').map_or(Some(rest), |rest| rest.split_once(')').map(|(_, rest)| rest))?;
        let (word, name) = rest.trim_start().split_once(' ')?;
        let name: String = name.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        matches!(word, "struct" | "enum" | "trait").then_some(name)
    });
    declared.collect()
}
