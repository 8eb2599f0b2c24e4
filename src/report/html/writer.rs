//! Markup that is sound by the way it is written: names of elements, attributes and classes are words of this program, everything
//! else is escaped, and every element that is opened is closed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::report::document::table::Subject;
use crate::report::words::escape::is_unsafe;

/// A page in the making.
#[derive(Debug, Default)]
pub(super) struct Writer {
    out: String,
    labels: BTreeSet<String>,
    anchors: Anchors,
}

/// What links can lead to. What things are called comes from outside, so targets are numbered.
#[derive(Debug, Default)]
pub(super) struct Anchors {
    /// Rows that are shown, by what they are about.
    pub(super) rows: BTreeMap<Subject, usize>,
    /// Numbers of the findings that are shown, by what they are about.
    pub(super) findings: BTreeMap<Subject, Vec<usize>>,
}

impl Anchors {
    /// The target of a row; `None` where it is not shown.
    pub(super) fn row(&self, subject: &Subject) -> Option<String> {
        self.rows.get(subject).map(|row| format!("r{row}"))
    }

    /// The target of a finding.
    pub(super) fn finding(subject: &Subject, number: usize) -> String {
        format!("f{}n{number}", subject.output)
    }
}

/// The attributes of an element: words of this program, with values from anywhere.
pub(super) type Attributes<'a> = &'a [(&'static str, &'a str)];

impl Writer {
    /// Names what links can lead to.
    pub(super) fn anchor(&mut self, anchors: Anchors) {
        self.anchors = anchors;
    }

    pub(super) const fn anchors(&self) -> &Anchors {
        &self.anchors
    }

    pub(super) fn into_text(self) -> String {
        self.out
    }

    /// Markup of our own: a text that comes from outside is no constant.
    pub(super) fn fixed(&mut self, markup: &'static str) {
        self.out.push_str(markup);
    }

    /// Text.
    pub(super) fn text(&mut self, text: &str) {
        escape(&mut self.out, text);
    }

    /// An element with what is in it.
    pub(super) fn element(&mut self, name: &'static str, attributes: Attributes<'_>, inside: impl FnOnce(&mut Self)) {
        self.open(name, attributes);
        self.out.push('>');
        inside(self);
        self.out.push_str("</");
        self.out.push_str(name);
        self.out.push('>');
    }

    /// An element with text in it.
    pub(super) fn leaf(&mut self, name: &'static str, attributes: Attributes<'_>, text: &str) {
        self.element(name, attributes, |page| page.text(text));
    }

    /// An element of a drawing with nothing in it.
    pub(super) fn shape(&mut self, name: &'static str, attributes: Attributes<'_>) {
        self.open(name, attributes);
        self.out.push_str("/>");
    }

    /// An element of HTML that has no end.
    pub(super) fn void(&mut self, name: &'static str, attributes: Attributes<'_>) {
        self.open(name, attributes);
        self.out.push('>');
    }

    pub(super) fn line(&mut self) {
        self.out.push('\n');
    }

    /// A label that no other region of the page has.
    pub(super) fn label(&mut self, wanted: &str) -> String {
        let mut label = wanted.to_owned();
        let mut n = 1_usize;
        while !self.labels.insert(label.clone()) {
            n += 1;
            label = format!("{wanted} ({n})");
        }
        label
    }

    /// An attribute with an empty value is left out, but for those of which the emptiness says something.
    fn open(&mut self, name: &'static str, attributes: Attributes<'_>) {
        self.out.push('<');
        self.out.push_str(name);
        for (name, value) in attributes {
            if value.is_empty() && matches!(*name, "class" | "id") {
                continue;
            }
            self.out.push(' ');
            self.out.push_str(name);
            self.out.push_str("=\"");
            escape(&mut self.out, value);
            self.out.push('"');
        }
    }
}

/// `text` as text or as the value of an attribute: no character in it is markup, moves a cursor, hides text or turns its direction.
fn escape(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_unsafe(c) || is_no_text(c) => {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
}

/// Code points that are no characters: validators refuse them.
fn is_no_text(c: char) -> bool {
    let code = u32::from(c);
    code & 0xfffe == 0xfffe || (0xfdd0..=0xfdef).contains(&code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_from_outside_is_markup() {
        let mut page = Writer::default();
        page.element("p", &[("title", "a\" onclick='x' <b>&"), ("class", "")], |page| {
            page.text("</p><script>alert(1)</script>\u{202e}\u{1b}[2J\n\u{fffe}&amp;");
        });
        assert_eq!(
            page.into_text(),
            "<p title=\"a&quot; onclick=&#39;x&#39; &lt;b&gt;&amp;\">&lt;/p&gt;&lt;script&gt;alert(1)&lt;/script&gt;\\u{202e}\\u{1b}[2J\
             \\n\\u{fffe}&amp;amp;</p>"
        );
    }
}
