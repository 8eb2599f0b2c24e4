//! Text that came from a capture, a path or the command line, made safe to print.
//!
//! A capture is written by strangers: an interface name may hold terminal escapes, line breaks or characters that
//! turn the reading direction around. None of these reach an output as they are.

use std::borrow::Cow;
use std::fmt::Write;

/// `text` with every character that could move a cursor, break a line or hide text written as `\n` or `\u{202e}`.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\n' => safe.push_str("\\n"),
            '\r' => safe.push_str("\\r"),
            '\t' => safe.push_str("\\t"),
            c if is_unsafe(c) => {
                // Writing to a String cannot fail.
                let _ = write!(safe, "\\u{{{:x}}}", u32::from(c));
            }
            c => safe.push(c),
        }
    }
    Cow::Owned(safe)
}

/// `text` as a CSV cell: printable, and with a leading quote where a spreadsheet would take it for a formula.
#[must_use]
pub fn cell(text: &str) -> Cow<'_, str> {
    let text = printable(text);
    // A dash alone is standard input, not a formula.
    if text != "-" && text.starts_with(['=', '+', '-', '@']) { Cow::Owned(format!("'{text}")) } else { text }
}

/// Control characters of both sets, bidirectional controls, separators of lines and paragraphs, the byte order mark.
pub(in crate::report) fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{061c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_escapes_and_direction_marks_are_written_out() {
        assert_eq!(printable("eth0"), "eth0");
        assert_eq!(printable("Gi0/1 größer"), "Gi0/1 größer");
        assert_eq!(printable("\x1b[2Jeth0\n"), "\\u{1b}[2Jeth0\\n");
        assert_eq!(printable("a\u{202e}b\u{9b}c"), "a\\u{202e}b\\u{9b}c");
    }

    #[test]
    fn formulas_are_quoted_in_cells() {
        assert_eq!(cell("=cmd|' /C calc'!A0"), "'=cmd|' /C calc'!A0");
        assert_eq!(cell("+1"), "'+1");
        assert_eq!(cell("-1"), "'-1");
        assert_eq!(cell("-"), "-");
        assert_eq!(cell("@x"), "'@x");
        assert_eq!(cell("\t=x"), "\\t=x");
        assert_eq!(cell("tap-a"), "tap-a");
    }
}
