//! Logical lines: commands that a backslash continues, and the one-line form of `ip -o xfrm`.

use crate::policy::limits::MAX_LINE;

/// The lines with commands joined that go on over several lines, under the number of the first, and with the one-line form, which has
/// backslashes in place of line ends, taken apart.
pub(in crate::policy) fn logical(lines: Vec<(u32, String)>) -> Vec<(u32, String)> {
    let mut whole: Vec<(u32, String)> = Vec::with_capacity(lines.len());
    let mut rest = lines.into_iter();
    while let Some((number, first)) = rest.next() {
        if let Some(parts) = one_line_form(&first) {
            whole.extend(parts.into_iter().map(|part| (number, part)));
            continue;
        }
        let Some(begun) = continued(&first).filter(|line| is_command(line)) else {
            whole.push((number, first));
            continue;
        };
        let mut command = begun.to_owned();
        for (_, next) in rest.by_ref() {
            command.push(' ');
            // A command that never ends is not read on for ever.
            if let Some(part) = continued(&next).filter(|_| command.len() < MAX_LINE) {
                command.push_str(part);
            } else {
                command.push_str(&next);
                break;
            }
        }
        whole.push((number, command));
    }
    whole
}

/// The parts of a line of `ip -o xfrm`; `None` for any other line.
fn one_line_form(line: &str) -> Option<Vec<String>> {
    let text = line.trim();
    let begins = text.starts_with("src ") && text.contains('\\');
    // Those below the first are indented in the listing.
    let parts: Vec<String> = text
        .split('\\')
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .enumerate()
        .map(|(at, part)| if at == 0 { part.to_owned() } else { format!(" {part}") })
        .collect();
    (begins && parts.len() > 1).then_some(parts)
}

/// A line that goes on in the next, without its backslash.
fn continued(line: &str) -> Option<&str> {
    line.trim_end().strip_suffix('\\')
}

fn is_command(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().take(12).collect();
    let at = words.iter().position(|word| *word == "ip" || word.ends_with("/ip"));
    at.is_some_and(|at| words.iter().skip(at + 1).any(|word| word.starts_with('x') && "xfrm".starts_with(word)))
}
