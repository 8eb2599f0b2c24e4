//! Marks that stand for what was cut out of a paste: `<snip>`, `<omitted>`.

use super::line;

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
const BESIDE: [&str; 18] = [
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
];

/// Takes out lines that are one word in angle brackets and no prompt; the numbers of those that say that something was cut out.
pub(super) fn take_out(lines: &mut Vec<(u32, String)>) -> Vec<u32> {
    let cuts = marks(lines);
    lines.retain(|(number, _)| cuts.binary_search(number).is_err());
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

/// Lines of a banner that its end is looked for in.
const BANNER: usize = 200;
/// Lines below the heading of a `ping` that its marks stand in.
const PING: usize = 4;
/// The longest mark.
const LONGEST: usize = 80;

/// The numbers of lines that say that others were cut out. The text of a banner and the output of a `ping` have no such lines.
fn marks(lines: &[(u32, String)]) -> Vec<u32> {
    let mut found = Vec::new();
    let (mut at, mut pinged) = (0, None::<usize>);
    while let Some((number, line)) = lines.get(at) {
        if let Some(length) = banner(line, lines.get(at + 1..).unwrap_or_default()) {
            at += length;
        } else if pings(line) {
            pinged = Some(at);
        } else if is_cut(line) && !(is_dotted(line) && pinged.is_some_and(|from| at - from <= PING)) {
            found.push(*number);
        }
        at += 1;
    }
    found
}

/// How many lines the text of a banner has that begins here: up to the next line with its delimiter. A letter or a digit delimits only
/// where it stands alone: ASA has banners without delimiters, each of one line.
fn banner(line: &str, after: &[(u32, String)]) -> Option<usize> {
    let line = line.trim_start();
    let rest = line::prompt(line).map_or(line, |(_, rest)| rest).strip_prefix("banner ")?.trim_start();
    let text = rest.split_once(' ').filter(|(kind, _)| kind.bytes().all(|b| b.is_ascii_alphabetic() || b == b'-'));
    let text = text.map_or(rest, |(_, text)| text.trim_start());
    let first = text.chars().next()?;
    let delimiter = if text.starts_with("^C") { text.get(..2)? } else { text.get(..first.len_utf8())? };
    let behind = text.get(delimiter.len()..)?;
    if first.is_alphanumeric() && !behind.is_empty() {
        return None;
    }
    if behind.contains(delimiter) {
        return Some(0);
    }
    let end = after.iter().take(BANNER).position(|(_, line)| line.contains(delimiter))?;
    Some(end + 1)
}

/// The delimiter of a banner that begins in a line, where a line of it alone says nothing else.
pub(super) fn delimiter(octets: &[u8]) -> Option<u8> {
    let text = octets.windows(7).position(|seven| seven == b"banner ").and_then(|at| octets.get(at..))?;
    let delimiter = text.iter().copied().find(|octet| matches!(octet, b'#' | b'!'))?;
    (text.iter().filter(|octet| **octet == delimiter).count() == 1).then_some(delimiter)
}

/// Takes out the texts of banners, which may be anything.
pub(super) fn take_out_banners(lines: &mut Vec<(u32, String)>) {
    let mut texts: Vec<(u32, u32)> = Vec::new();
    let mut at = 0;
    while let Some((number, line)) = lines.get(at) {
        let length = banner(line, lines.get(at + 1..).unwrap_or_default()).unwrap_or_default();
        if let Some((last, _)) = lines.get(at + length).filter(|_| length > 0) {
            texts.push((*number, *last));
        }
        at += length + 1;
    }
    let within = |number: u32| {
        let next = texts.partition_point(|(heading, _)| *heading < number);
        next.checked_sub(1).and_then(|one| texts.get(one)).is_some_and(|(_, last)| number <= *last)
    };
    lines.retain(|(number, _)| !within(*number));
}

/// Whether a line is the heading of the marks of a `ping`.
fn pings(line: &str) -> bool {
    line.contains("ICMP Echo") || line.contains("Packet sent with")
}

fn is_dotted(line: &str) -> bool {
    line.trim().trim_matches('.').is_empty()
}

/// Whether a line says that others were cut out here.
pub(super) fn is_cut(line: &str) -> bool {
    let line = line.trim();
    if line.len() > LONGEST {
        return false;
    }
    let text = line.trim_start_matches(['!', '#', ' ']);
    if matches!(text.trim_matches(['.', '<', '>', '[', ']', '(', ')']), "") {
        return text.contains("...");
    }
    let dots = text.bytes().all(|b| matches!(b, b'.' | b' ')) && text.bytes().filter(|b| *b == b'.').count() > 2;
    if dots || is_scissors(text) {
        return true;
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

/// `-----8<-----`, with or without a word beside it.
fn is_scissors(text: &str) -> bool {
    let core: String = text.chars().filter(|c| !matches!(c, '-' | '=' | '~' | '_' | ' ' | '.')).collect();
    let core = core.to_ascii_lowercase().replace("snip", "").replace("cuthere", "").replace("cut", "");
    let whole = core.replace("8<", "").replace(">8", "").replace("%<", "").replace(['\u{2702}', '\u{2704}'], "");
    whole.is_empty() && !core.is_empty()
}

/// The word in angle brackets that a line begins with, and what follows.
fn bracketed(line: &str) -> Option<(&str, &str)> {
    let (word, rest) = line.trim().strip_prefix('<')?.split_once('>')?;
    (!word.is_empty() && !word.contains([' ', '<', '-'])).then_some((word, rest.trim_start()))
}
