//! Tables as aligned columns that fit a width: a table too wide is set closer, its details move below their row with their
//! names, and what is optional is left out. Numbers are never cut.

use unicode_width::UnicodeWidthStr;

use super::page::{Page, Tone};
use crate::report::document::table::{Align, Column, Priority, Table};
use crate::report::words::escape::printable;

const INDENT: usize = 2;

/// A column on its way to the page.
struct Set<'t> {
    column: &'t Column,
    head: Vec<String>,
    cells: Vec<String>,
    width: usize,
    blank: bool,
}

/// One way of setting a table.
struct Layout {
    gap: usize,
    drop: bool,
    below: bool,
    above: bool,
}

impl Layout {
    fn inline(&self, priority: Priority) -> bool {
        match priority {
            Priority::Keep => true,
            Priority::Optional => !self.drop,
            Priority::Detail => !self.below,
            Priority::Title => !self.above,
            Priority::Remark => false,
        }
    }
}

/// Prints it, indented by two columns.
pub(super) fn print(page: &mut Page<'_>, table: &Table) {
    let sets: Vec<Set<'_>> = table.columns.iter().enumerate().map(|(n, column)| set(table, n, column)).collect();
    let layout = layout(&sets, page.width().saturating_sub(INDENT));
    let shown: Vec<&Set<'_>> = sets.iter().filter(|set| layout.inline(set.column.priority) && !set.blank).collect();
    heads(page, &sets, &shown, &layout);
    let extra = if layout.above { 2 } else { 0 };
    for n in 0..table.rows.len() {
        let of = |priority: Priority| {
            let sets = sets.iter().filter(move |set| set.column.priority == priority);
            sets.filter_map(move |set| set.cells.get(n).filter(|cell| !cell.is_empty()).map(|cell| (set, cell)))
        };
        if layout.above {
            of(Priority::Title).for_each(|(_, cell)| page.wrapped(INDENT, INDENT + 4, cell));
        }
        let cells = shown.iter().map(|set| (set.cells.get(n).map_or("", String::as_str), set.column.align, set.width));
        page.indented(INDENT + extra, &join(cells, layout.gap));
        if layout.below {
            let details = of(Priority::Detail).filter(|(_, cell)| *cell != "-");
            let moved: Vec<String> = details.map(|(set, cell)| format!("{} {cell}", set.column.title())).collect();
            if !moved.is_empty() {
                page.wrapped(INDENT + 4, INDENT + 6, &moved.join(", "));
            }
        }
        of(Priority::Remark).for_each(|(_, cell)| page.wrapped(INDENT + 4, INDENT + 6, cell));
    }
}

/// The heading: names of rows on a line of their own where they stand above them; short names next to their numbers.
fn heads(page: &mut Page<'_>, sets: &[Set<'_>], shown: &[&Set<'_>], layout: &Layout) {
    let lines = shown.iter().map(|set| set.head.len()).max().unwrap_or(0);
    if layout.above {
        let above = sets.iter().filter(|set| set.column.priority == Priority::Title && !set.blank);
        let names: Vec<String> = above.map(|set| set.column.title()).collect();
        page.styled(Tone::Faint, INDENT, &names.join("  "));
    }
    let extra = if layout.above { 2 } else { 0 };
    for n in 0..lines {
        let cells = shown.iter().map(|set| {
            let skip = lines.saturating_sub(set.head.len());
            let text = n.checked_sub(skip).and_then(|n| set.head.get(n)).map_or("", String::as_str);
            (text, set.column.align, set.width)
        });
        page.styled(Tone::Faint, INDENT + extra, &join(cells, layout.gap));
    }
}

fn set<'t>(table: &Table, n: usize, column: &'t Column) -> Set<'t> {
    let mut head: Vec<String> = column.name.lines().map(str::to_owned).collect();
    // Units stand below the names where several columns have them, else beside them.
    let stacked = table.columns.iter().any(|column| column.name.contains('\n'))
        || table.columns.iter().filter(|column| !column.unit.is_empty()).count() >= 3;
    if stacked {
        head.extend((!column.unit.is_empty()).then(|| column.unit.clone()));
    } else {
        head = vec![column.title()];
    }
    let cells: Vec<String> = table
        .rows
        .iter()
        .map(|row| row.get(n).map_or_else(String::new, |cell| printable(&cell.show()).into_owned()))
        .collect();
    let width = head.iter().chain(&cells).map(|text| text.width()).max().unwrap_or(0);
    Set { column, head, cells, width, blank: table.is_blank(n) }
}

/// The first way of setting the table that fits `width`; the last one where none does.
fn layout(sets: &[Set<'_>], width: usize) -> Layout {
    let total = |layout: &Layout| {
        let shown = sets.iter().filter(|set| !set.blank && layout.inline(set.column.priority));
        let (sum, n) = shown.fold((0, 0_usize), |(sum, n), set| (sum + set.width, n + 1));
        sum + layout.gap * n.saturating_sub(1) + if layout.above { 2 } else { 0 }
    };
    let last = Layout { gap: 1, drop: true, below: true, above: true };
    [
        Layout { gap: 2, drop: false, below: false, above: false },
        Layout { gap: 1, drop: false, below: false, above: false },
        Layout { gap: 2, drop: false, below: true, above: false },
        Layout { gap: 2, drop: false, below: true, above: true },
        Layout { gap: 1, drop: false, below: true, above: true },
        Layout { gap: 2, drop: true, below: true, above: true },
    ]
    .into_iter()
    .find(|layout| total(layout) <= width)
    .unwrap_or(last)
}

fn join<'t>(cells: impl Iterator<Item = (&'t str, Align, usize)>, gap: usize) -> String {
    let mut line = String::new();
    for (n, (text, align, width)) in cells.enumerate() {
        if n > 0 {
            line.extend(std::iter::repeat_n(' ', gap));
        }
        let fill = std::iter::repeat_n(' ', width.saturating_sub(text.width()));
        if align == Align::Right {
            line.extend(fill);
            line.push_str(text);
        } else {
            line.push_str(text);
            line.extend(fill);
        }
    }
    line
}
