//! Tables of a document: columns with name, unit, alignment and priority, and rows of typed cells.

use std::collections::BTreeMap;

use crate::report::words::number::{decimal, duration, grouped, range, signed};

/// On which side a column's cells are aligned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// What becomes of a column where a form is too narrow for all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Priority {
    /// It stays.
    Keep,
    /// It is left out; other columns give what it says.
    Optional,
    /// It moves to a line of its own after its row.
    Detail,
    /// It moves to a line of its own before its row: the row's name.
    Title,
    /// A sentence about the row; never a column where width counts.
    Remark,
}

/// One column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    /// Its name. A line break is where a narrow form may break it: a space elsewhere, nothing after a hyphen.
    pub name: String,
    /// The unit of its figures; may be empty.
    pub unit: String,
    /// On which side its cells are aligned.
    pub align: Align,
    /// What becomes of it where there is no room.
    pub priority: Priority,
}

impl Column {
    /// A column of words.
    pub(super) fn words(name: &str) -> Self {
        Self { name: name.to_owned(), unit: String::new(), align: Align::Left, priority: Priority::Keep }
    }

    /// A column of figures, with their unit.
    pub(super) fn figures(name: &str, unit: &str) -> Self {
        Self { name: name.to_owned(), unit: unit.to_owned(), align: Align::Right, priority: Priority::Keep }
    }

    /// A column of counts.
    pub(super) fn counts(name: &str) -> Self {
        Self::figures(name, "")
    }

    /// A sentence for each row.
    pub(super) fn remark() -> Self {
        Self { priority: Priority::Remark, ..Self::words("remarks") }
    }

    pub(super) fn priority(self, priority: Priority) -> Self {
        Self { priority, ..self }
    }

    /// The name on one line, with its unit: `overhead B`.
    #[must_use]
    pub fn title(&self) -> String {
        let name = self.name.replace("-\n", "").replace('\n', " ");
        if self.unit.is_empty() { name } else { format!("{name} {}", self.unit) }
    }
}

/// What a row or a finding is about: a form that has links leads from one to the other.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Subject {
    /// The output that it is of, where a document has several.
    pub output: usize,
    /// The tap.
    pub tap: String,
    /// Id of the SA, or the direction.
    pub id: String,
}

impl Subject {
    pub(super) fn new(tap: &str, id: &str) -> Self {
        Self { output: 0, tap: tap.to_owned(), id: id.to_owned() }
    }
}

/// Rows under columns.
#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows, each with a cell for every column.
    pub rows: Vec<Vec<Cell>>,
    /// What rows are about, by their place.
    pub subjects: BTreeMap<usize, Subject>,
}

impl Table {
    pub(super) fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Self { columns: columns.into_iter().collect(), rows: Vec::new(), subjects: BTreeMap::new() }
    }

    /// Adds a row that findings and other rows lead to.
    pub(super) fn row_about(&mut self, subject: Subject, cells: impl IntoIterator<Item = Cell>) {
        self.subjects.insert(self.rows.len(), subject);
        self.row(cells);
    }

    /// Says which of several outputs the table is of.
    pub(super) fn of_output(&mut self, output: usize) {
        self.subjects.values_mut().for_each(|subject| subject.output = output);
        for cell in self.rows.iter_mut().flatten() {
            if let Cell::Link(_, subject) = cell {
                subject.output = output;
            }
        }
    }

    /// Adds a row; missing cells are blank.
    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let mut cells: Vec<Cell> = cells.into_iter().collect();
        cells.resize(self.columns.len(), Cell::Blank);
        self.rows.push(cells);
    }

    /// Whether no row has anything in this column.
    #[must_use]
    pub fn is_blank(&self, column: usize) -> bool {
        self.rows.iter().all(|row| row.get(column).is_none_or(|cell| matches!(cell, Cell::Blank | Cell::Unknown)))
    }
}

/// One figure or word.
#[derive(Clone, PartialEq, Debug)]
pub enum Cell {
    /// Nothing: the column does not concern this row.
    Blank,
    /// A figure that is not determined.
    Unknown,
    /// Words.
    Text(String),
    /// Words that lead to the row about something, where a form has links and the row is shown.
    Link(String, Subject),
    /// A number of frames, packets or bytes.
    Count(u64),
    /// A difference.
    Signed(i64),
    /// A number with that many decimals.
    Decimal(f64, usize),
    /// From least to most.
    Range(i64, i64),
    /// Nanoseconds.
    Time(i64),
}

impl Cell {
    /// Words; empty ones are blank.
    pub(super) fn text(text: impl Into<String>) -> Self {
        let text = text.into();
        if text.is_empty() { Self::Blank } else { Self::Text(text) }
    }

    /// A count that matters only where it is not 0.
    pub(super) const fn some(n: u64) -> Self {
        if n == 0 { Self::Blank } else { Self::Count(n) }
    }

    /// A count that may not be determined.
    pub(super) fn count(n: Option<u64>) -> Self {
        n.map_or(Self::Unknown, Self::Count)
    }

    /// A number with decimals that may not be determined.
    pub(in crate::report) fn decimal(value: Option<f64>, decimals: usize) -> Self {
        value.map_or(Self::Unknown, |value| Self::Decimal(value, decimals))
    }

    /// A mean: without decimals where it is whole.
    pub(in crate::report) fn mean(value: f64) -> Self {
        Self::Decimal(value, usize::from((value - value.round()).abs() >= 0.05))
    }

    /// On which side it is aligned where it has no column.
    #[must_use]
    pub const fn align(&self) -> Align {
        match self {
            Self::Blank | Self::Text(_) | Self::Link(..) => Align::Left,
            _ => Align::Right,
        }
    }

    /// As it is printed.
    #[must_use]
    pub fn show(&self) -> String {
        match self {
            Self::Blank => String::new(),
            Self::Unknown => "-".to_owned(),
            Self::Text(text) | Self::Link(text, _) => text.clone(),
            Self::Count(n) => grouped(*n),
            Self::Signed(n) => signed(*n),
            Self::Decimal(value, decimals) => decimal(*value, *decimals),
            // Short enough for a column; a negative end needs the word.
            Self::Range(from, to) if *from < 0 || from == to => range(*from, *to),
            Self::Range(from, to) => format!("{from}-{to}"),
            Self::Time(ns) => {
                let sign = if *ns < 0 { "-" } else { "" };
                format!("{sign}{}", duration(ns.unsigned_abs()))
            }
        }
    }
}
