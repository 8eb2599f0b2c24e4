//! Aligned columns that fit a width: what does not fit is set closer, left out where it is said to be optional,
//! or moved below its row with its name. Numbers are never cut.

use unicode_width::UnicodeWidthStr;

use super::page::{Page, Tone};

/// Where a column's text stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Align {
    Left,
    Right,
}

/// What happens to a column where the table is too wide.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fit {
    /// It stays.
    Keep,
    /// It goes; it repeats what other columns say.
    Drop,
    /// It moves to a line of its own below the row; its name goes with it.
    Below,
    /// It moves to a line of its own above the row.
    Above,
    /// It always stands below its row, without its name.
    Remark,
}

/// One column: its heading may have several lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column<'a> {
    pub(super) head: &'a str,
    pub(super) align: Align,
    pub(super) fit: Fit,
}

impl<'a> Column<'a> {
    pub(super) const fn left(head: &'a str) -> Self {
        Self { head, align: Align::Left, fit: Fit::Keep }
    }

    pub(super) const fn right(head: &'a str) -> Self {
        Self { head, align: Align::Right, fit: Fit::Keep }
    }

    pub(super) const fn fit(self, fit: Fit) -> Self {
        Self { fit, ..self }
    }
}

/// Rows under headings. Build it, then hand it to [`Table::print`].
#[derive(Debug)]
pub(super) struct Table<'a> {
    columns: Vec<Column<'a>>,
    rows: Vec<Vec<String>>,
}

impl<'a> Table<'a> {
    pub(super) fn new(columns: Vec<Column<'a>>) -> Self {
        Self { columns, rows: Vec::new() }
    }

    /// Adds a row; missing cells are empty.
    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let mut cells: Vec<String> = cells.into_iter().collect();
        cells.resize(self.columns.len(), String::new());
        self.rows.push(cells);
    }

    /// Whether it has rows.
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Prints it, indented by two columns.
    pub(super) fn print(&self, page: &mut Page<'_>) {
        const INDENT: usize = 2;
        let layout = self.layout(page.width().saturating_sub(INDENT));
        let inline = |fit: Fit| match fit {
            Fit::Keep => true,
            Fit::Drop => !layout.drop,
            Fit::Below => !layout.below,
            Fit::Above => !layout.above,
            Fit::Remark => false,
        };
        let shown: Vec<(usize, &Column<'_>, usize)> = self
            .columns
            .iter()
            .zip(self.widths())
            .enumerate()
            .filter(|(i, (column, _))| inline(column.fit) && !self.is_blank(*i))
            .map(|(i, (column, width))| (i, column, width))
            .collect();

        let head_lines = shown.iter().map(|(_, column, _)| column.head.lines().count()).max().unwrap_or(0);
        if layout.above {
            let above = self.columns.iter().filter(|column| column.fit == Fit::Above);
            let names: Vec<&str> = above.map(|column| column.head).collect();
            page.styled(Tone::Faint, INDENT, &names.join("  "));
        }
        let extra = if layout.above { 2 } else { 0 };
        for n in 0..head_lines {
            let cells = shown.iter().map(|(_, column, width)| {
                // Short headings stand at the bottom, next to their numbers.
                let skip = head_lines - column.head.lines().count();
                let text = n.checked_sub(skip).and_then(|n| column.head.lines().nth(n)).unwrap_or("");
                (text, column.align, *width)
            });
            page.styled(Tone::Faint, INDENT + extra, &join(cells, layout.gap));
        }
        for row in &self.rows {
            for (column, cell) in self.columns.iter().zip(row) {
                if column.fit == Fit::Above && layout.above && !cell.is_empty() {
                    page.wrapped(INDENT, INDENT + 4, cell);
                }
            }
            let cells =
                shown.iter().map(|(i, column, width)| (row.get(*i).map_or("", String::as_str), column.align, *width));
            page.indented(INDENT + extra, &join(cells, layout.gap));
            if layout.below {
                let moved: Vec<String> = self
                    .columns
                    .iter()
                    .zip(row)
                    .filter(|(column, cell)| column.fit == Fit::Below && !cell.is_empty() && *cell != "-")
                    .map(|(column, cell)| format!("{} {cell}", column.head.replace('\n', " ")))
                    .collect();
                if !moved.is_empty() {
                    page.wrapped(INDENT + 4, INDENT + 6, &moved.join(", "));
                }
            }
            for (column, cell) in self.columns.iter().zip(row) {
                if column.fit == Fit::Remark && !cell.is_empty() {
                    page.wrapped(INDENT + 4, INDENT + 6, cell);
                }
            }
        }
    }

    /// Columns in which no row has anything are not worth a heading.
    fn is_blank(&self, column: usize) -> bool {
        self.rows.iter().all(|row| row.get(column).is_none_or(|cell| cell.is_empty() || cell == "-"))
    }

    fn widths(&self) -> Vec<usize> {
        let cell = |row: &Vec<String>, i: usize| row.get(i).map_or(0, |cell| cell.width());
        self.columns
            .iter()
            .enumerate()
            .map(|(i, column)| {
                let head = column.head.lines().map(UnicodeWidthStr::width).max().unwrap_or(0);
                self.rows.iter().map(|row| cell(row, i)).max().unwrap_or(0).max(head)
            })
            .collect()
    }

    /// The first way of setting the table that fits `width`; the last one where none does.
    fn layout(&self, width: usize) -> Layout {
        let widths = self.widths();
        let total = |layout: &Layout| {
            let shown = self.columns.iter().zip(&widths).enumerate().filter(|(i, (column, _))| {
                !self.is_blank(*i)
                    && match column.fit {
                        Fit::Keep => true,
                        Fit::Drop => !layout.drop,
                        Fit::Below => !layout.below,
                        Fit::Above => !layout.above,
                        Fit::Remark => false,
                    }
            });
            let (mut sum, mut n) = (if layout.above { 2 } else { 0 }, 0);
            for (_, (_, width)) in shown {
                sum += width;
                n += 1;
            }
            sum + layout.gap * usize::saturating_sub(n, 1)
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
}

/// One way of setting a table.
struct Layout {
    gap: usize,
    drop: bool,
    below: bool,
    above: bool,
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
