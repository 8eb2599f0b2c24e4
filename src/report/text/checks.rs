//! What every text report must be.

use unicode_width::UnicodeWidthStr;

use super::{TextOptions, Theme};

/// No line is wider than it may be, at any width.
pub(super) fn fits(render: impl Fn(&TextOptions) -> String) {
    for width in [80, 100, 140] {
        for line in render(&TextOptions { width, ..TextOptions::default() }).lines() {
            assert!(line.width() <= width, "{} > {width}: {line}", line.width());
        }
    }
}

/// Whatever a capture says, a terminal is told nothing but text; escapes are our own colours.
pub(super) fn harmless(hostile: &str, render: impl Fn(&TextOptions) -> String) {
    assert!(hostile.chars().all(|c| c == '\n' || !(c.is_control() || c == '\u{202e}')), "{hostile}");
    let options = TextOptions { theme: Theme::color(), ..TextOptions::default() };
    assert!(render(&options).contains("\x1b["));
}

/// These stand one after the other.
pub(super) fn in_order(text: &str, headings: &[&str]) {
    let mut before = 0;
    for heading in headings {
        let at = text.find(heading).unwrap_or_else(|| panic!("{heading} is missing in\n{text}"));
        assert!(at >= before, "{heading} stands too early in\n{text}");
        before = at;
    }
}
