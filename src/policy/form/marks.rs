//! Marks before, in and around lines: overwritten pager prompts, quotes, line numbers, marks of a diff, prefixes of a log.

use std::collections::BTreeSet;

use super::snip;

/// Lines of which this many in a hundred have a mark are marked; the rest is what somebody wrote between them.
const MOST: usize = 90;

/// A line as a terminal shows it, backspaces, carriage returns and cursor movements carried out: usually one.
pub(super) fn overwritten(raw: &str) -> Vec<String> {
    let plain = if raw.contains('\x1b') { without_escapes(raw) } else { raw.to_owned() };
    let erased = |part: &str| {
        let mut shown = String::with_capacity(part.len());
        for c in part.chars() {
            if c == '\x08' {
                shown.pop();
            } else if !matches!(c, '\u{200b}' | '\u{200c}' | '\u{200d}' | '\u{2060}' | '\u{feff}') {
                shown.push(c);
            }
        }
        without_pager(&shown).to_owned()
    };
    let parts: Vec<String> = plain.split('\r').map(erased).filter(|part| !part.trim().is_empty()).collect();
    if parts.is_empty() { vec![String::new()] } else { parts }
}

/// ANSI control sequences end with a letter.
fn without_escapes(raw: &str) -> String {
    let mut shown = String::with_capacity(raw.len());
    let mut rest = raw.chars();
    while let Some(c) = rest.next() {
        if c != '\x1b' {
            shown.push(c);
        } else if rest.next() == Some('[') {
            let _end = rest.find(char::is_ascii_alphabetic);
        }
    }
    shown
}

/// The prompts of pagers: `--More--`, `<--- More --->`, `---- More ----`, `---(more 45%)---`.
fn without_pager(line: &str) -> &str {
    let trimmed = line.trim_start();
    if !trimmed.starts_with("--") && !trimmed.starts_with("<--") {
        return line;
    }
    let bare = trimmed.trim_start_matches(['<', '-', ' ', '(']);
    let Some(rest) = bare.strip_prefix("More").or_else(|| bare.strip_prefix("more")) else { return line };
    let rest = rest.trim_start_matches(|c: char| c == ' ' || c.is_ascii_digit() || c == '%').trim_start_matches(')');
    let behind = rest.trim_start_matches([' ', '-', '>']);
    if behind.len() == rest.len() && !rest.is_empty() { line } else { behind }
}

/// Whether a line is the prompt of a pager and nothing else.
pub(super) fn is_pager(line: &str) -> bool {
    overwritten(line).iter().all(|shown| shown.trim().is_empty()) && line.to_ascii_lowercase().contains("more")
}

/// Takes off what stands before many lines.
pub(super) fn take_off(lines: &mut Vec<(u32, String)>) {
    for (_, line) in lines.iter_mut() {
        if let Some(bare) = unquoted(line) {
            *line = bare;
        }
    }
    numbers(lines);
    diff(lines);
    for (_, line) in lines.iter_mut() {
        if let Some(bare) = logged(line) {
            *line = bare.to_owned();
        }
    }
}

/// `> `, `>> `, `> > ` and `| ` of quoted mail.
fn unquoted(line: &str) -> Option<String> {
    let quoted = line.trim_start();
    if !quoted.starts_with(['>', '|']) {
        return None;
    }
    let mut bare = quoted;
    while let Some(rest) = bare.strip_prefix(['>', '|']) {
        // One blank belongs to the mark; more is indentation.
        bare = rest.strip_prefix(' ').unwrap_or(rest);
    }
    Some(bare.to_owned())
}

/// A number and what stands behind it.
fn numbered(line: &str) -> Option<(u32, &str)> {
    let line = line.trim_start();
    let end = line.find(|c: char| !c.is_ascii_digit())?;
    let (number, rest) = line.split_at_checked(end)?;
    let rest = rest.strip_prefix([':', '|', '.', ')']).or(Some(rest).filter(|rest| rest.starts_with([' ', '\t'])))?;
    Some((number.parse().ok()?, rest))
}

/// Numbers of lines count up by one; those of access list entries and of counters do not.
fn numbers(lines: &mut [(u32, String)]) {
    let some = || lines.iter().filter(|(_, line)| !line.trim().is_empty());
    let found: Vec<u32> = some().filter_map(|(_, line)| Some(numbered(line)?.0)).collect();
    let steps = found.windows(2).filter(|pair| matches!(pair, [a, b] if a.checked_add(1) == Some(*b))).count();
    if found.len() < 4 || found.len() * 100 < some().count() * MOST || (steps + 1) * 100 < found.len() * MOST {
        return;
    }
    for (_, line) in lines {
        if let Some((_, rest)) = numbered(line) {
            *line = rest.strip_prefix(' ').unwrap_or(rest).to_owned();
        }
    }
}

/// Of a diff, what it leaves in place and what it adds.
fn diff(lines: &mut Vec<(u32, String)>) {
    let is = lines.iter().any(|(_, line)| {
        (line.starts_with("@@ -") && line.contains(" @@")) || line.contains("Contextual Config Diffs:")
    });
    if !is && !is_bare_diff(lines) {
        return;
    }
    let mark = |line: &str, mark: &str| line.starts_with(mark);
    lines.retain(|(_, line)| {
        (!mark(line, "-") || snip::is_cut(line)) && !mark(line, "+++") && !mark(line, "@@") && !mark(line, "!Context")
    });
    for (_, line) in lines.iter_mut() {
        if let Some(added) = line.strip_prefix('+') {
            *line = added.to_owned();
        }
    }
}

/// Whether lines are a whole diff without its headings: each begins with a mark or the blank that stands for none.
fn is_bare_diff(lines: &[(u32, String)]) -> bool {
    let some = || lines.iter().filter(|(_, line)| !line.trim().is_empty() && !snip::is_cut(line));
    let count = |mark: char| some().filter(|(_, line)| line.starts_with(mark)).count();
    let (kept, added, removed) = (count(' '), count('+'), count('-'));
    added + removed > 0 && kept > added + removed && kept + added + removed == some().count()
}

/// What a log line has behind its time, its host and its program. Log lines of events stay as they are.
fn logged(line: &str) -> Option<&str> {
    if let Some((_, command)) = line.split_once("logged command:") {
        return Some(command);
    }
    let line = line.trim_start();
    let mut words = line.splitn(4, ' ').filter(|word| !word.is_empty());
    let first = words.next()?;
    let clock = |word: &str| {
        let bare = word.trim_end_matches(':');
        bare.len() >= 8
            && bare.bytes().filter(|b| *b == b':').count() == 2
            && bare.bytes().all(|b| b.is_ascii_digit() || matches!(b, b':' | b'.'))
    };
    let iso = first.len() >= 19
        && first.get(4..5) == Some("-")
        && first.get(10..11) == Some("T")
        && first.starts_with(|c: char| c.is_ascii_digit());
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let rest = if iso {
        line.split_once(' ')?.1
    } else if months.contains(&first.trim_start_matches('*')) {
        let (_, rest) = line.split_once(' ')?;
        let (_, rest) = rest.trim_start().split_once(' ')?;
        let (time, rest) = rest.split_once(' ')?;
        clock(time).then_some(rest)?
    } else {
        return None;
    };
    // `gw1 root[812]: text`; a line without a program is left as it is behind its time.
    let mut parts = rest.splitn(3, ' ');
    let (_, program, text) = (parts.next()?, parts.next()?, parts.next()?);
    Some(if program.ends_with(':') && !program.starts_with('%') { text } else { rest })
}
/// What a device answers to a command that it does not take.
const REFUSALS: [&str; 8] = [
    "% Invalid input detected",
    "% Incomplete command",
    "% Ambiguous command",
    "% Unrecognized command",
    "ERROR: % Invalid input",
    "ERROR: % Incomplete command",
    "Error: Unrecognized command",
    "Error: Incomplete command",
];

/// Takes out commands that the device refused, with the mark below the word that it did not take; the answer stays.
pub(super) fn take_out_refused(raw: &mut Vec<(u32, String)>) {
    let mut refused: BTreeSet<usize> = BTreeSet::new();
    for (at, (_, line)) in raw.iter().enumerate() {
        if !REFUSALS.iter().any(|answer| line.trim_start().starts_with(answer)) {
            continue;
        }
        let is_mark = |at: usize| raw.get(at).is_some_and(|(_, line)| line.trim() == "^");
        let Some(before) = at.checked_sub(1) else { continue };
        let command = if is_mark(before) { before.checked_sub(1) } else { Some(before) };
        refused.extend([Some(before), command].into_iter().flatten());
    }
    let mut at = 0usize..;
    raw.retain(|_| at.next().is_none_or(|at| !refused.contains(&at)));
}
