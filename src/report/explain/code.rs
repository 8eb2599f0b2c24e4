//! A finding code in full.

use super::super::text::page::{Page, Tone};
use crate::catalogue;
use crate::catalogue::Entry;

pub(super) fn print(page: &mut Page<'_>, entry: &Entry) {
    page.tagged_line(Tone::Finding(entry.severity), 0, entry.code, entry.title);
    let severity = if entry.severity_note.is_empty() {
        entry.severity.name().to_owned()
    } else {
        format!("{}; {}", entry.severity.name(), entry.severity_note)
    };
    page.wrapped(2, 2, &format!("Severity: {severity}."));
    page.blank();
    page.wrapped(2, 2, entry.meaning);
    page.heading("Causes");
    for cause in entry.causes {
        page.wrapped(2, 4, &format!("- {cause}"));
    }
    page.heading("What to do");
    for (n, step) in entry.remedy.iter().enumerate() {
        page.wrapped(2, 5, &format!("{}. {step}", n + 1));
    }
    if !entry.lines.is_empty() {
        page.blank();
        for line in entry.lines {
            page.indented(6, line);
        }
    }
    if !entry.references.is_empty() {
        page.blank();
        page.wrapped(2, 4, &format!("See {}.", entry.references.join("; ")));
    }
}

/// The code nearest to a word, if one is near enough to be meant.
pub(super) fn nearest(word: &str) -> Option<&'static str> {
    if word.len() > 40 {
        return None;
    }
    let word = word.to_ascii_lowercase().replace(['_', ' '], "-");
    let near = catalogue::all().iter().map(|entry| (distance(&word, entry.code), entry.code)).min()?;
    (near.0 <= near.1.len() / 4).then_some(near.1)
}

/// Edits that turn one word into the other (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut previous = i;
        let mut left = i + 1;
        for (cell, y) in row.iter_mut().skip(1).zip(b.bytes()) {
            let edit = previous + usize::from(x != y);
            previous = *cell;
            left = edit.min(previous + 1).min(left + 1);
            *cell = left;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::distance;

    #[test]
    fn edits_are_counted() {
        assert_eq!(distance("spi-zero", "spi-zero"), 0);
        assert_eq!(distance("spi-zerro", "spi-zero"), 1);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
