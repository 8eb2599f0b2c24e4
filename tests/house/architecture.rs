//! The house's rules, read off the source: which floor may use which, who may touch threads, files, clocks and the
//! terminal, and how states merge. ARCHITECTURE.md says why.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The floors from the ground up. A file may use its own floor and those below.
const FLOORS: &[&str] = &[
    "model", "capture", "wire", "dissect", "decrypt", "keys", "analysis", "matching", "trials", "engine", "report",
    "cli",
];

/// Pure rooms beside the floors: what each may use. Any floor above `wire` may use a room.
const ROOMS: &[(&str, &[&str])] =
    &[("transform", &["model"]), ("policy", &["model", "transform"]), ("catalogue", &["model"])];

/// The lowest floor that may use a room.
const ROOMS_OPEN_FROM: &str = "dissect";

/// Doors that stay shut although the order of the floors would open them: from, to, the names that may pass, and why.
const SHUT: &[(&str, &str, &[&str], &str)] = &[
    ("wire", "capture", &[], "a view of a header knows no captures"),
    ("dissect", "capture", &["Frame"], "dissection takes a frame, never how it was read"),
    ("keys", "capture", &["Frame"], "keys open frames, never knowing how they were read"),
    (
        "analysis",
        "capture",
        &["Frame", "FrameTaker"],
        "analysis takes frames and observations, never how they were read",
    ),
    ("trials", "capture", &["Frame"], "trials takes frames, never how they were read"),
    ("matching", "capture", &["Frame"], "matching takes frames, never how they were read"),
    ("report", "engine", &[], "rendering is a function of a report, it does not run anything"),
    ("report", "capture", &["Frame"], "rendering reads no captures"),
];

/// What only some floors may name: a path's beginning (a macro with its `!`), who may, and why nobody else.
/// `main` and `lib` are the files at the root.
const ONLY: &[(&str, &[&str], &str)] = &[
    ("std::thread", &["engine"], "only the engine has threads"),
    ("std::fs", &["capture", "engine", "cli"], "files are opened by whoever reads captures or writes results"),
    ("std::env", &["cli", "main"], "what was typed and set is the command line's business"),
    ("std::process", &["cli", "main"], "only the command line ends the process"),
    ("std::time::Instant", &["engine", "cli"], "time comes from the capture"),
    ("std::time::SystemTime", &["engine", "cli"], "time comes from the capture"),
    ("Instant", &["engine", "cli"], "time comes from the capture"),
    ("SystemTime", &["engine", "cli"], "time comes from the capture"),
    ("std::io::stdout", &["cli"], "only the command line prints"),
    ("std::io::stderr", &["cli"], "only the command line prints"),
    ("std::io::stdin", &["capture", "cli"], "standard input is a capture"),
    ("println!", &["cli"], "only the command line prints"),
    ("print!", &["cli"], "only the command line prints"),
    ("eprintln!", &["cli"], "only the command line prints"),
    ("eprint!", &["cli"], "only the command line prints"),
    (
        "crate::dissect::dissect",
        &["dissect", "keys", "matching"],
        "keys::Dissector alone turns frames into packets; only what IPComp held is dissected by itself",
    ),
    ("dbg!", &[], "a leftover"),
    ("todo!", &[], "a leftover"),
    ("unimplemented!", &[], "a leftover"),
];

/// The floor whose states merge.
const MERGING: &str = "analysis";

#[test]
fn every_file_uses_only_what_its_floor_may() {
    let mut violations = Vec::new();
    let mut seen = 0;
    // Files of unit tests are declared with `cfg(test)`, and may use what they test with.
    for file in source_files().into_iter().filter(|file| !file.ends_with("tests.rs")) {
        let text = std::fs::read_to_string(source().join(&file)).expect("a source file");
        violations.extend(check(&file, &text));
        seen += 1;
    }
    assert!(seen > 10, "the sources were found");
    assert!(violations.is_empty(), "{} violations:\n  {}\n", violations.len(), violations.join("\n  "));
}

#[test]
fn every_directory_is_a_floor_or_a_room() {
    let known: BTreeSet<&str> = FLOORS.iter().copied().chain(ROOMS.iter().map(|(room, _)| *room)).collect();
    for file in source_files() {
        let place = place(&file);
        assert!(matches!(place, "lib" | "main") || known.contains(place), "{} is on no floor", file.display());
    }
}

#[test]
fn the_map_names_every_floor_there_is() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("ARCHITECTURE.md");
    let map = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let places: BTreeSet<String> = source_files().iter().map(|file| place(file).to_owned()).collect();
    for place in places.iter().filter(|place| !matches!(place.as_str(), "lib" | "main")) {
        assert!(
            map.contains(&format!("`{place}`")) || map.contains(&format!("`{place}/`")),
            "ARCHITECTURE.md does not name {place}"
        );
    }
}

#[test]
fn the_check_finds_what_it_is_for() {
    let finds = |file: &str, text: &str| !check(Path::new(file), text).is_empty();
    assert!(finds("wire/esp.rs", "use crate::analysis::StreamState;"));
    assert!(finds("wire/esp.rs", "use crate::{model::Spi, dissect};"));
    assert!(finds("wire/mod.rs", "use super::dissect::Stack;"));
    assert!(finds("analysis/a/b.rs", "fn f() { super::super::super::engine::run() }"));
    assert!(finds("analysis/a.rs", "use crate::capture::{Frame, Reader};"));
    assert!(finds("analysis/a.rs", "use std::{collections::BTreeMap, thread};"));
    assert!(finds("analysis/a.rs", "fn f() { let t = std::time::Instant::now(); }"));
    assert!(finds("dissect/a.rs", "fn f() { println!(\"x\") }"));
    assert!(finds("engine/a.rs", "use crate::dissect::{Stack, dissect};"));
    assert!(finds("report/a.rs", "fn f() { std::process::exit(2) }"));
    assert!(finds("model/a.rs", "use crate::transform::X;"));
    assert!(finds("wire/a.rs", "use crate::transform::X;"));
    assert!(finds("transform/a.rs", "use crate::dissect::X;"));
    assert!(finds("main.rs", "fn main() { std::thread::spawn(f); }"));
    assert!(finds("analysis/a.rs", "impl A { fn merge(&mut self, later: Self) { self.n += later.n; } }"));
    assert!(finds(
        "analysis/a.rs",
        "impl A { fn merge(&mut self, later: Self) { let Self { n, .. } = later; self.n += n; } }"
    ));

    assert!(!finds("dissect/a.rs", "use crate::{model::Spi, wire, capture::Frame, transform::X}; use super::b::C;"));
    assert!(!finds(
        "dissect/a.rs",
        "// crate::engine\n/* crate::cli /* nested */ */ const S: &str = \"crate::cli\"; const C: char = '\"';"
    ));
    assert!(!finds("dissect/a.rs", "fn f<'a>(x: &'a str) -> &'a str { r#\"crate::cli\"#; x }"));
    assert!(!finds("wire/a.rs", "#[cfg(test)]\nmod tests { use crate::engine::run; }"));
    assert!(finds("wire/a.rs", "#[cfg(test)]\nmod tests { use crate::model::X; }\nuse crate::engine::run;"));
    assert!(!finds("analysis/a.rs", "use crate::capture::Frame;"));
    assert!(!finds("wire/a.rs", "mod inner { use super::super::esp::View; }"));
    assert!(finds("wire/a.rs", "mod inner { use super::super::super::cli; }"));
    assert!(!finds("cli/a.rs", "use crate::{engine, report}; fn f() { eprintln!(\"x\"); std::process::exit(1) }"));
    assert!(!finds(
        "analysis/a.rs",
        "impl A { fn merge(&mut self, later: Self) { let Self { n } = later; self.n += n; } }"
    ));
    assert!(!finds("analysis/a.rs", "impl A { fn merge(&mut self, other: B) { self.n += other.n; } }"));
}

/// Files of one folder, at most.
const FILES: usize = 12;
/// Folders with more, and why: none may be added, and none may grow.
const LARGE: &[(&str, usize, &str)] = &[];

/// Lines of a file, at most.
const LINES: usize = 400;
/// Longer files, and why: none may be added, and none may grow beyond the next hundred.
const LONG: &[(&str, usize, &str)] = &[
    ("cli/args.rs", 500, "the options in the order of the help"),
    ("decrypt/algorithm/vectors.rs", 600, "published test vectors"),
    ("dissect/stack.rs", 600, "the result of dissection, mostly documentation"),
    ("model/pairs.rs", 500, "a published document, member by member"),
    ("model/report.rs", 500, "a published document, member by member"),
    ("policy/facts/router.rs", 500, "the facts of a router, member by member"),
];

#[test]
fn folders_and_files_are_small_enough_to_know() {
    let mut folders: std::collections::BTreeMap<String, usize> = std::collections::BTreeMap::new();
    let mut wrong = Vec::new();
    let allowed = |list: &[(&str, usize, &str)], name: &str, usual: usize| {
        list.iter().find(|(known, ..)| *known == name).map_or(usual, |(_, most, _)| *most)
    };
    for file in source_files() {
        let name = file.to_string_lossy().replace('\\', "/");
        let folder = file.parent().map(|folder| folder.to_string_lossy().into_owned()).unwrap_or_default();
        *folders.entry(folder).or_default() += 1;
        let lines = std::fs::read_to_string(source().join(&file)).expect("a source file").lines().count();
        let most = allowed(LONG, &name, LINES);
        if lines > most {
            wrong.push(format!("{name} has {lines} lines, more than {most}"));
        }
        if lines <= LINES && LONG.iter().any(|(known, ..)| *known == name) {
            wrong.push(format!("{name} has {lines} lines: take it off the list of long files"));
        }
    }
    for (folder, files) in folders {
        let most = allowed(LARGE, &folder, FILES);
        if files > most {
            wrong.push(format!("{folder} has {files} files, more than {most}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

pub(crate) fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// Every Rust file, relative to `src`.
pub(crate) fn source_files() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut directories = vec![source()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(&directory).expect("src can be listed") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path.strip_prefix(source()).expect("it is below src").to_owned());
            }
        }
    }
    found.sort();
    found
}

/// The floor or room of a file; `lib` and `main` for the files at the root.
fn place(file: &Path) -> &str {
    let first = file.iter().next().and_then(|name| name.to_str()).expect("a UTF-8 name");
    first.trim_end_matches(".rs")
}

/// The module path of a file: `dissect/ip.rs` is `dissect::ip`.
fn module(file: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        file.with_extension("").iter().map(|name| name.to_string_lossy().into_owned()).collect();
    if matches!(names.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        names.pop();
    }
    names
}

/// What a file does that its floor may not.
fn check(file: &Path, text: &str) -> Vec<String> {
    let here = place(file);
    let tokens = without_tests(&tokens(text));
    let mut violations = Vec::new();
    for path in paths(&tokens, &module(file)) {
        let words = path.join("::");
        if let ["crate", target, rest @ ..] = path.iter().map(String::as_str).collect::<Vec<_>>().as_slice()
            && let Some(why) = forbidden(here, target, rest.first().copied().unwrap_or_default())
        {
            violations.push(format!("{}: {here} uses {target} ({words}): {why}", file.display()));
        }
        for (what, who, why) in ONLY {
            let starts = words == *what || words.strip_prefix(what).is_some_and(|rest| rest.starts_with("::"));
            if starts && !who.contains(&here) {
                violations.push(format!("{}: {words}: {why}", file.display()));
            }
        }
    }
    if here == MERGING {
        for what in careless_merges(&tokens) {
            violations.push(format!("{}: {what}", file.display()));
        }
    }
    violations
}

/// Why a place may not use an item of another; `None` where it may.
fn forbidden(here: &str, target: &str, item: &str) -> Option<String> {
    let floor = |name: &str| FLOORS.iter().position(|floor| *floor == name);
    let room = |name: &str| ROOMS.iter().find(|(room, _)| *room == name);
    let shut = SHUT.iter().find(|(from, to, _, _)| *from == here && *to == target);
    if let Some((_, _, _, why)) = shut.filter(|(_, _, may, _)| !may.contains(&item)) {
        return Some((*why).to_owned());
    }
    if here == target || matches!(here, "lib" | "main") {
        return None;
    }
    match (floor(here), room(here), floor(target), room(target)) {
        // Not the name of a place: an item that the root of the crate declares itself.
        (_, _, None, None) => None,
        (Some(own), _, Some(other), _) => (other > own).then(|| "a floor uses only floors below".to_owned()),
        (Some(own), _, _, Some(_)) => {
            (Some(own) < floor(ROOMS_OPEN_FROM)).then(|| format!("rooms open from {ROOMS_OPEN_FROM} on"))
        }
        (_, Some((_, may)), _, _) => {
            (!may.contains(&target)).then(|| format!("this room uses only {}", may.join(", ")))
        }
        (None, None, _, _) => Some("this place is on no floor".to_owned()),
    }
}

/// Merges of a state with a later one that do not take it apart field by field: a new field could be forgotten.
fn careless_merges(tokens: &[String]) -> Vec<String> {
    let mut careless = Vec::new();
    for at in 0..tokens.len() {
        if tokens[at] != "fn" || tokens.get(at + 1).is_none_or(|name| name != "merge") {
            continue;
        }
        let Some(open) = (at..tokens.len()).find(|n| tokens[*n] == "{") else { continue };
        let takes_later = tokens[at..open].windows(3).any(|three| three == ["later", ":", "Self"]);
        let body = &tokens[open..closing(tokens, open)];
        let whole = body.windows(3).enumerate().any(|(n, three)| {
            let fields = &body[n + 2..closing(body, (n + 2).min(body.len() - 1))];
            three == ["let", "Self", "{"] && !fields.windows(2).any(|two| two == [".", "."])
        });
        if takes_later && !whole {
            careless.push("merge does not destructure `later` with `let Self { every field } = later`".to_owned());
        }
    }
    careless
}

/// Splits source into identifiers, `::` and single characters; comments, strings and numbers' suffixes do not matter here.
fn tokens(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let mut tokens = Vec::new();
    let mut at = 0;
    let word = |c: char| c.is_alphanumeric() || c == '_';
    while let Some(&c) = chars.get(at) {
        let next = chars.get(at + 1).copied().unwrap_or(' ');
        match c {
            '/' if next == '/' => at += chars[at..].iter().take_while(|c| **c != '\n').count(),
            '/' if next == '*' => {
                let mut depth = 0;
                loop {
                    match (chars.get(at), chars.get(at + 1)) {
                        (Some('/'), Some('*')) => (depth, at) = (depth + 1, at + 2),
                        (Some('*'), Some('/')) => (depth, at) = (depth - 1, at + 2),
                        _ => at += 1,
                    }
                    if depth == 0 || at >= chars.len() {
                        break;
                    }
                }
            }
            'r' | 'b' | 'c' if raw_string(&chars[at..]).is_some() => {
                let (prefix, hashes) = raw_string(&chars[at..]).expect("just seen");
                at += prefix;
                loop {
                    let ends = chars[at] == '"'
                        && chars[at + 1..].iter().take_while(|c| **c == '#').take(hashes).count() == hashes;
                    at += 1;
                    if ends {
                        at += hashes;
                        break;
                    }
                }
            }
            '"' => {
                at += 1;
                while chars[at] != '"' {
                    at += if chars[at] == '\\' { 2 } else { 1 };
                }
                at += 1;
            }
            '\'' => {
                // A character, unless it is a lifetime: a word that no quote closes.
                if next == '\\' {
                    at += 3;
                    while chars[at] != '\'' {
                        at += 1;
                    }
                    at += 1;
                } else if chars.get(at + 2) == Some(&'\'') {
                    at += 3;
                } else {
                    at += 1 + chars[at + 1..].iter().take_while(|c| word(**c)).count();
                }
            }
            ':' if next == ':' => {
                tokens.push("::".to_owned());
                at += 2;
            }
            c if word(c) => {
                let length = chars[at..].iter().take_while(|c| word(**c)).count();
                tokens.push(chars[at..at + length].iter().collect());
                at += length;
            }
            c if c.is_whitespace() => at += 1,
            c => {
                tokens.push(c.to_string());
                at += 1;
            }
        }
    }
    tokens
}

/// Length of a raw string's opening and its number of hashes.
fn raw_string(chars: &[char]) -> Option<(usize, usize)> {
    let letters = chars.iter().take_while(|c| matches!(c, 'r' | 'b' | 'c')).count();
    let hashes = chars[letters..].iter().take_while(|c| **c == '#').count();
    let raw = letters <= 2 && chars[..letters].contains(&'r') && chars.get(letters + hashes) == Some(&'"');
    raw.then_some((letters + hashes + 1, hashes))
}

/// Leaves out what is compiled for tests only: a test may look at the house from anywhere.
fn without_tests(tokens: &[String]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at..].starts_with(&["#", "[", "cfg", "(", "test", ")", "]"].map(str::to_owned)) {
            let end = (at..tokens.len()).find(|n| matches!(tokens[*n].as_str(), "{" | ";")).unwrap_or(tokens.len() - 1);
            at = if tokens[end] == "{" { closing(tokens, end) } else { end } + 1;
        } else {
            kept.push(tokens[at].clone());
            at += 1;
        }
    }
    kept
}

/// The brace that closes the one at `open`.
fn closing(tokens: &[String], open: usize) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.as_str() {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    tokens.len() - 1
}

/// Every path that is named, groups of `use` spelled out, `super`, `self` and the crate's own name resolved to `crate`.
fn paths(tokens: &[String], module: &[String]) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    // Names of the modules opened inside the file with the depth of their brace.
    let mut inside: Vec<(String, usize)> = Vec::new();
    let mut depth = 0;
    let mut at = 0;
    while at < tokens.len() {
        match tokens[at].as_str() {
            "{" => depth += 1,
            "}" => {
                depth -= 1;
                inside.retain(|(_, opened)| *opened <= depth);
            }
            "mod" if tokens.get(at + 2).is_some_and(|token| token == "{") => {
                inside.push((tokens[at + 1].clone(), depth + 1));
            }
            word if starts_word(word) && (at == 0 || tokens[at - 1] != "::") => {
                let mut trees = Vec::new();
                let end = tree(tokens, at, &mut Vec::new(), &mut trees);
                let here: Vec<String> =
                    module.iter().cloned().chain(inside.iter().map(|(name, _)| name.clone())).collect();
                found.extend(trees.into_iter().map(|path| resolve(path, &here)));
                // A group has been read whole; a plain path ends where it ends.
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    found
}

fn starts_word(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Reads one path, or tree of paths, that begins at `at`; returns where it ends.
fn tree(tokens: &[String], mut at: usize, prefix: &mut Vec<String>, found: &mut Vec<Vec<String>>) -> usize {
    let base = prefix.len();
    loop {
        match tokens.get(at).map(String::as_str) {
            Some("{") if prefix.len() > base || base > 0 => {
                at += 1;
                while tokens.get(at).is_some_and(|token| token != "}") {
                    if starts_word(&tokens[at]) {
                        at = tree(tokens, at, prefix, found);
                    } else {
                        at += 1;
                    }
                    // `as name` renames, it names nothing else.
                    if tokens.get(at).is_some_and(|token| token == "as") {
                        at += 2;
                    }
                }
                prefix.truncate(base);
                return at + 1;
            }
            Some(word) if starts_word(word) => {
                let mac = tokens.get(at + 1).is_some_and(|token| token == "!")
                    && tokens.get(at + 2).is_none_or(|token| token != "=");
                prefix.push(if mac { format!("{word}!") } else { word.to_owned() });
                at += 1;
            }
            _ => break,
        }
        if tokens.get(at).is_none_or(|token| token != "::") {
            break;
        }
        let goes_on = tokens.get(at + 1).is_some_and(|token| starts_word(token) || token == "{");
        if !goes_on {
            break;
        }
        at += 1;
    }
    found.push(prefix.clone());
    prefix.truncate(base);
    at
}

/// `super::x` in `a::b` is `crate::a::x`.
fn resolve(path: Vec<String>, module: &[String]) -> Vec<String> {
    let mut words = path.into_iter().peekable();
    match words.peek().map(String::as_str) {
        Some("spiglass") => {
            words.next();
            std::iter::once("crate".to_owned()).chain(words).collect()
        }
        Some("super" | "self") => {
            let mut here = module.to_vec();
            while words.peek().is_some_and(|word| word == "super" || word == "self") {
                if words.next().is_some_and(|word| word == "super") {
                    here.pop();
                }
            }
            std::iter::once("crate".to_owned()).chain(here).chain(words).collect()
        }
        _ => words.collect(),
    }
}
