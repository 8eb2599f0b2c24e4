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
            whole.extend(commands(first).into_iter().map(|command| (number, command)));
            continue;
        };
        let mut command = begun.to_owned();
        for (_, next) in rest.by_ref() {
            if next.trim().is_empty() {
                break;
            }
            command.push(' ');
            // A command that never ends is not read on for ever.
            if let Some(part) = continued(&next).filter(|_| command.len() < MAX_LINE) {
                command.push_str(part);
            } else {
                command.push_str(&next);
                break;
            }
        }
        whole.extend(commands(command).into_iter().map(|command| (number, command)));
    }
    whole
}

/// The commands of a line of a shell that sets up states or policies: `;`, `&&` and `||` end one, outside quotes and comments.
fn commands(line: String) -> Vec<String> {
    if !line.contains("xfrm") || !line.contains([';', '&', '|']) {
        return vec![line];
    }
    let (mut commands, mut command, mut quote, mut last) = (Vec::new(), String::new(), None, ' ');
    let mut rest = line.chars().peekable();
    while let Some(c) = rest.next() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, '#') if last.is_whitespace() => break,
            (None, '&' | '|') if rest.next_if_eq(&c).is_some() => {
                commands.push(std::mem::take(&mut command));
                last = ' ';
                continue;
            }
            (None, ';') => {
                commands.push(std::mem::take(&mut command));
                last = ' ';
                continue;
            }
            _ => {}
        }
        command.push(c);
        last = c;
    }
    commands.push(command);
    commands.retain(|command| !command.trim().is_empty() && !matches!(command.trim(), "do" | "done" | "then" | "fi"));
    commands
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
