//! Tables: headings with scope, a caption, and a region of its own that scrolls where the page is narrow.

use super::writer::{Anchors, Writer};
use crate::report::document::table::{Align, Cell, Column, Priority, Subject, Table};

/// What scrolls sideways, and can be reached with the keyboard for that.
pub(super) fn region(page: &mut Writer, label: &str, inside: impl FnOnce(&mut Writer)) {
    let label = page.label(&format!("Table: {label}"));
    let attributes = [("class", "scroll"), ("role", "region"), ("aria-label", label.as_str()), ("tabindex", "0")];
    page.element("div", &attributes, inside);
    page.line();
}

/// The class of a column's cells.
pub(super) fn class(column: &Column, narrow: bool) -> &'static str {
    match (column.align, narrow && column.priority == Priority::Optional) {
        (Align::Left, false) => "",
        (Align::Left, true) => "w",
        (Align::Right, false) => "n",
        (Align::Right, true) => "n w",
    }
}

/// The heading of a column, its unit below its name.
pub(super) fn head(page: &mut Writer, column: &Column, class: &'static str) {
    page.element("th", &[("scope", "col"), ("class", class)], |page| {
        for (n, part) in column.name.split('\n').enumerate() {
            // A break after a hyphen is a place where the word may be cut.
            match part.strip_suffix('-') {
                Some(word) => page.text(&format!("{}{word}\u{ad}", if n > 0 { " " } else { "" })),
                None if n > 0 && !column.name.contains("-\n") => page.text(&format!(" {part}")),
                None => page.text(part),
            }
        }
        if !column.unit.is_empty() {
            page.void("br", &[]);
            page.leaf("small", &[], &column.unit);
        }
    });
}

/// A table; columns in which nothing stands are left out, and sentences about a row stand below it.
pub(super) fn table(page: &mut Writer, table: &Table, caption: &str) {
    let shown: Vec<usize> = (0..table.columns.len()).filter(|at| !table.is_blank(*at)).collect();
    let is_remark = |at: usize| table.columns.get(at).is_some_and(|column| column.priority == Priority::Remark);
    let (remarks, cells): (Vec<usize>, Vec<usize>) = shown.into_iter().partition(|at| is_remark(*at));
    region(page, caption, |page| {
        page.element("table", &[], |page| {
            page.leaf("caption", &[("class", "vh")], caption);
            page.element("thead", &[], |page| {
                page.element("tr", &[], |page| {
                    for column in cells.iter().filter_map(|at| table.columns.get(*at)) {
                        head(page, column, class(column, false));
                    }
                });
            });
            page.element("tbody", &[], |page| {
                for (at, row) in table.rows.iter().enumerate() {
                    let subject = table.subjects.get(&at);
                    let said = remarks.iter().filter_map(|at| row.get(*at)).any(|cell| *cell != Cell::Blank);
                    self::row(page, (table, subject), row, &cells, if said { "said" } else { "" });
                    self::remarks(page, row, &remarks, cells.len());
                }
            });
        });
    });
}

/// Findings of a row that are named in it; all are listed with the findings.
const NAMED: usize = 5;

fn row(
    page: &mut Writer,
    (table, subject): (&Table, Option<&Subject>),
    row: &[Cell],
    shown: &[usize],
    said: &'static str,
) {
    page.line();
    let id = subject.and_then(|subject| page.anchors().row(subject)).unwrap_or_default();
    page.element("tr", &[("class", said), ("id", &id)], |page| {
        for (n, at) in shown.iter().enumerate() {
            let (Some(column), Some(cell)) = (table.columns.get(*at), row.get(*at)) else { continue };
            let class = class(column, false);
            if n == 0 && *cell != Cell::Blank {
                page.element("th", &[("scope", "row"), ("class", class)], |page| {
                    set(page, cell);
                    subject.into_iter().for_each(|subject| findings(page, subject));
                });
            } else {
                page.element("td", &[("class", class)], |page| set(page, cell));
            }
        }
    });
}

/// A cell, with the link that it has.
fn set(page: &mut Writer, cell: &Cell) {
    let row = match cell {
        Cell::Link(_, subject) => page.anchors().row(subject),
        _ => None,
    };
    linked(page, row.as_deref(), &show(cell));
}

/// Text that leads to a place of the page, where there is one.
pub(super) fn linked(page: &mut Writer, target: Option<&str>, text: &str) {
    match target {
        Some(target) => page.leaf("a", &[("href", &format!("#{target}"))], text),
        None => page.text(text),
    }
}

/// Numbers of the findings about a row, each a link.
fn findings(page: &mut Writer, subject: &Subject) {
    let numbers = page.anchors().findings.get(subject).cloned().unwrap_or_default();
    for number in numbers.into_iter().take(NAMED) {
        page.text(" ");
        let (target, label) = (Anchors::finding(subject, number), format!("finding {number}"));
        let attributes = [("class", "fn"), ("href", &*format!("#{target}")), ("aria-label", &*label)];
        page.leaf("a", &attributes, &number.to_string());
    }
}

/// What is said of a row, on a row of its own.
fn remarks(page: &mut Writer, row: &[Cell], remarks: &[usize], columns: usize) {
    let said: Vec<String> =
        remarks.iter().filter_map(|at| row.get(*at)).filter(|cell| **cell != Cell::Blank).map(Cell::show).collect();
    if said.is_empty() {
        return;
    }
    page.element("tr", &[("class", "remark")], |page| {
        page.element("td", &[("colspan", &columns.max(1).to_string())], |page| {
            for (n, sentence) in said.iter().enumerate() {
                if n > 0 {
                    page.void("br", &[]);
                }
                super::blocks::rich(page, sentence);
            }
        });
    });
}

/// A cell as it is set: figures with narrow spaces and signs, words as they are.
pub(super) fn show(cell: &Cell) -> String {
    match cell {
        Cell::Blank => String::new(),
        Cell::Unknown => "\u{2013}".to_owned(),
        Cell::Text(text) | Cell::Link(text, _) => text.clone(),
        Cell::Range(from, to) if *from >= 0 && from != to => {
            format!("{}\u{2013}{}", show(&Cell::Signed(*from)), show(&Cell::Signed(*to)))
        }
        figure => {
            let text = figure.show().replace(' ', "\u{202f}").replace("us", "\u{b5}s");
            match text.strip_prefix('-') {
                Some(rest) => format!("\u{2212}{rest}"),
                None => text,
            }
        }
    }
}
