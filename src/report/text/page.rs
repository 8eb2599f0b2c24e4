//! The sheet that sections write on: width, colour, time zone, and lines that break between words.

use anstyle::{AnsiColor, Style};
use unicode_width::UnicodeWidthStr;

use crate::model::report::Severity;
use crate::report::words::escape::printable;

/// How a text report looks.
#[derive(Clone, Debug)]
pub struct TextOptions {
    /// Columns of the sheet. Below 60 it is taken as 60.
    pub width: usize,
    /// Colours.
    pub theme: Theme,
}

impl Default for TextOptions {
    fn default() -> Self {
        Self { width: 100, theme: Theme::plain() }
    }
}

/// The colours of a text report.
#[derive(Clone, Copy, Debug)]
pub struct Theme {
    heading: Style,
    faint: Style,
    error: Style,
    warning: Style,
    note: Style,
}

impl Theme {
    /// No colour, no escape sequence at all.
    #[must_use]
    pub const fn plain() -> Self {
        let none = Style::new();
        Self { heading: none, faint: none, error: none, warning: none, note: none }
    }

    /// Bold headings, red errors, yellow warnings.
    #[must_use]
    pub const fn color() -> Self {
        Self {
            heading: Style::new().bold(),
            faint: Style::new().dimmed(),
            error: AnsiColor::Red.on_default().bold(),
            warning: AnsiColor::Yellow.on_default().bold(),
            note: AnsiColor::Cyan.on_default(),
        }
    }
}

/// What a line is, for its colour.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::report) enum Tone {
    Heading,
    Faint,
    Finding(Severity),
}

/// A report on its way to text.
#[derive(Debug)]
pub(in crate::report) struct Page<'a> {
    text: String,
    options: &'a TextOptions,
}

impl<'a> Page<'a> {
    pub(in crate::report) fn new(options: &'a TextOptions) -> Self {
        Self { text: String::new(), options }
    }

    pub(in crate::report) fn width(&self) -> usize {
        self.options.width.max(60)
    }

    pub(in crate::report) fn into_text(self) -> String {
        self.text
    }

    /// A section's heading, with a blank line before it.
    pub(in crate::report) fn heading(&mut self, title: &str) {
        self.separate();
        self.styled(Tone::Heading, 0, title);
    }

    /// An empty line, except at the top and after another one.
    pub(in crate::report) fn separate(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    /// One line as it is.
    pub(in crate::report) fn indented(&mut self, indent: usize, line: &str) {
        self.spaces(indent);
        self.text.push_str(line.trim_end());
        self.end();
    }

    /// One line in a colour.
    pub(in crate::report) fn styled(&mut self, tone: Tone, indent: usize, line: &str) {
        self.spaces(indent);
        let style = self.style(tone);
        let line = line.trim_end();
        if style == Style::new() {
            self.text.push_str(line);
        } else {
            self.text.push_str(&format!("{style}{line}{style:#}"));
        }
        self.end();
    }

    /// A line that begins in a colour and goes on without.
    pub(in crate::report) fn tagged(&mut self, tone: Tone, indent: usize, tag: &str, rest: &str) {
        self.spaces(indent);
        let style = self.style(tone);
        if style == Style::new() {
            self.text.push_str(tag);
        } else {
            self.text.push_str(&format!("{style}{tag}{style:#}"));
        }
        self.text.push_str(rest);
        self.end();
    }

    /// A paragraph that begins in a colour.
    pub(in crate::report) fn tagged_text(&mut self, tone: Tone, tag: &str, rest: &str) {
        let text = printable(rest);
        let room = self.width().saturating_sub(tag.width());
        for (n, line) in wrap(&text, room, self.width().saturating_sub(4)).into_iter().enumerate() {
            if n == 0 {
                self.tagged(tone, 0, tag, &line);
            } else {
                self.indented(4, &line);
            }
        }
    }

    /// A coloured word with text behind it; the text's further lines stand below its first.
    pub(in crate::report) fn tagged_line(&mut self, tone: Tone, indent: usize, tag: &str, text: &str) {
        let column = indent + tag.width() + 2;
        let room = self.width().saturating_sub(column);
        for (n, line) in wrap(&printable(text), room, room).into_iter().enumerate() {
            if n == 0 {
                self.tagged(tone, indent, tag, &format!("  {line}"));
            } else {
                self.indented(column, &line);
            }
        }
    }

    /// Text broken between words: the first line indented by `first`, the others by `next`.
    pub(in crate::report) fn wrapped(&mut self, first: usize, next: usize, text: &str) {
        let text = printable(text);
        let width = self.width();
        for (n, line) in wrap(&text, width.saturating_sub(first), width.saturating_sub(next)).into_iter().enumerate() {
            self.indented(if n == 0 { first } else { next }, &line);
        }
    }

    /// A list of short items, broken only between them.
    pub(in crate::report) fn items(&mut self, indent: usize, items: &[String]) {
        let items: Vec<_> = items.iter().map(|item| printable(item)).collect();
        let room = self.width().saturating_sub(indent);
        let mut line = String::new();
        for (n, item) in items.iter().enumerate() {
            let comma = if n + 1 < items.len() { "," } else { "" };
            if !line.is_empty() && line.width() + 1 + item.width() + comma.len() > room {
                self.indented(indent, &line);
                line.clear();
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(item);
            line.push_str(comma);
        }
        self.indented(indent, &line);
    }

    /// An empty line.
    pub(in crate::report) fn blank(&mut self) {
        self.text.push('\n');
    }

    fn style(&self, tone: Tone) -> Style {
        let theme = &self.options.theme;
        match tone {
            Tone::Heading => theme.heading,
            Tone::Faint => theme.faint,
            Tone::Finding(Severity::Error) => theme.error,
            Tone::Finding(Severity::Warning) => theme.warning,
            Tone::Finding(Severity::Note) => theme.note,
        }
    }

    fn spaces(&mut self, n: usize) {
        self.text.extend(std::iter::repeat_n(' ', n));
    }

    fn end(&mut self) {
        self.text.push('\n');
    }
}

/// Breaks text between words, never inside a number grouped by spaces (`1 500`) and never between a number and its
/// unit of one or two characters (`1.0 %`, `72 B`). A word longer than a line stands on a line of its own.
pub(in crate::report) fn wrap(text: &str, first: usize, next: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut room = first;
    for word in unbreakable(text) {
        // `lines` is never empty: it starts with one line and only grows.
        let Some(line) = lines.last_mut() else { break };
        let needed = word.width() + usize::from(!line.is_empty());
        if line.width() + needed > room && !line.is_empty() {
            lines.push(word);
            room = next;
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(&word);
        }
    }
    lines
}

/// Words, with those that belong together joined.
fn unbreakable(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let starts_digit = word.starts_with(|c: char| c.is_ascii_digit());
        let group = starts_digit
            && word.trim_end_matches(|c: char| !c.is_ascii_digit()).split('.').next().is_some_and(|w| w.len() == 3);
        let unit = matches!(
            word.trim_end_matches([',', ';', '.', ')', ':']),
            "%" | "B" | "s" | "ms" | "us" | "ns" | "kB" | "MB" | "GB"
        );
        match words.last_mut() {
            Some(previous) if previous.ends_with(|c: char| c.is_ascii_digit()) && (group || unit) => {
                previous.push(' ');
                previous.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_and_not_inside_numbers() {
        let lines = wrap("15 of 1 500 numbers never seen (1.0 %), first", 10, 12);
        assert!(lines.iter().all(|line| line.len() <= 12), "{lines:?}");
        assert!(lines.iter().any(|line| line.contains("1 500")), "{lines:?}");
        assert!(lines.iter().any(|line| line.contains("(1.0 %)")), "{lines:?}");
    }

    #[test]
    fn a_word_longer_than_the_line_stands_alone() {
        assert_eq!(wrap("a 2001:db8:1111:2222:3333 b", 10, 10), ["a", "2001:db8:1111:2222:3333", "b"]);
        assert_eq!(wrap("", 10, 10), [""]);
    }
}
