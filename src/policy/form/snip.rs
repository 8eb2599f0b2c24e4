//! Marks that stand for what was cut out of a paste: `<snip>`, `<omitted>`.

/// What such marks say.
const CUT: [&str; 14] = [
    "snip",
    "snipped",
    "omitted",
    "cut",
    "removed",
    "redacted",
    "truncated",
    "deleted",
    "skipped",
    "output",
    "more",
    "shortened",
    "stripped",
    "abridged",
];

/// Beginnings of lines that only VRP (Huawei, H3C) has, whose prompt is a name in angle brackets.
const VRP: [&str; 10] = [
    "sysname ",
    "ipsec policy",
    "ipsec proposal",
    "ipsec transform-set",
    "ipsec sa",
    "ike peer",
    "ike proposal",
    "acl number",
    "security acl",
    "sa spi ",
];

/// What stands for lines that were cut out of the text.
pub(in crate::policy) const MARK: &str = "<...>";

/// Words of `CUT` that say so only in brackets.
const WEAK: [&str; 2] = ["more", "output"];

/// Words that stand beside those of `CUT`: `... rest of the output omitted ...`.
const BESIDE: [&str; 20] = [
    "output",
    "line",
    "lines",
    "rest",
    "of",
    "the",
    "config",
    "configuration",
    "text",
    "is",
    "was",
    "some",
    "other",
    "parts",
    "for",
    "brevity",
    "here",
    "irrelevant",
    "unrelated",
    "more",
];

/// Takes out lines that are one word in angle brackets and no prompt; the numbers of those that say that something was cut out.
pub(super) fn take_out(lines: &mut Vec<(u32, String)>) -> Vec<u32> {
    let cuts = lines.iter().filter(|(_, line)| is_cut(line)).map(|(number, _)| *number).collect();
    lines.retain(|(_, line)| !is_cut(line));
    if !lines.iter().any(|(_, line)| bracketed(line).is_some_and(|(_, rest)| rest.is_empty())) {
        return cuts;
    }
    let vrp = lines.iter().any(|(_, line)| {
        let line = line.trim_start();
        let rest = bracketed(line).map_or(line, |(_, rest)| rest);
        let prompted = rest.len() < line.len() && rest.starts_with(|c: char| c.is_ascii_lowercase());
        prompted || VRP.iter().any(|start| rest.starts_with(start))
    });
    lines.retain(|(_, line)| match bracketed(line) {
        Some((word, "")) => vrp && !CUT.contains(&word.to_ascii_lowercase().as_str()),
        _ => true,
    });
    cuts
}

/// Whether a line says that others were cut out here.
fn is_cut(line: &str) -> bool {
    let line = line.trim();
    let text = line.trim_start_matches(['!', '#', ' ']);
    if matches!(text.trim_matches(['.', '<', '>', '[', ']', '(', ')']), "") {
        return text.contains("...");
    }
    if text.trim_matches('\u{2026}').is_empty() {
        return !text.is_empty();
    }
    let core = text.to_ascii_lowercase();
    let words: Vec<&str> = core.split(|c: char| !c.is_ascii_alphabetic()).filter(|word| !word.is_empty()).collect();
    let says = |word: &&&str| CUT.contains(*word) && !WEAK.contains(*word);
    let enclosed = text.starts_with(['<', '[', '(', '{']) && text.ends_with(['>', ']', ')', '}']);
    let only = words.iter().all(|word| CUT.contains(word) || BESIDE.contains(word));
    words.len() <= 6 && (enclosed || only) && words.iter().any(|word| says(&word))
}

/// The word in angle brackets that a line begins with, and what follows.
fn bracketed(line: &str) -> Option<(&str, &str)> {
    let (word, rest) = line.trim().strip_prefix('<')?.split_once('>')?;
    (!word.is_empty() && !word.contains([' ', '<', '-'])).then_some((word, rest.trim_start()))
}
