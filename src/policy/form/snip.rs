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

/// Takes out lines that are one word in angle brackets and no prompt.
pub(super) fn take_out(lines: &mut Vec<(u32, String)>) {
    if !lines.iter().any(|(_, line)| bracketed(line).is_some_and(|(_, rest)| rest.is_empty())) {
        return;
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
}

/// The word in angle brackets that a line begins with, and what follows.
fn bracketed(line: &str) -> Option<(&str, &str)> {
    let (word, rest) = line.trim().strip_prefix('<')?.split_once('>')?;
    (!word.is_empty() && !word.contains([' ', '<', '-'])).then_some((word, rest.trim_start()))
}
