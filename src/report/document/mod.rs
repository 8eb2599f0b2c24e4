//! What a report says to people, once for all forms: sections of paragraphs, key figures, tables and findings.
//!
//! A [`Document`] is plain data. [`text`](super::text), [`markdown`](super::markdown) and [`html`](super::html) render any document; a new
//! table or section of a report is written here and needs no line in a renderer. Text and markdown show neither its front nor its figures. Strings hold what captures and configurations say
//! unescaped: each renderer escapes every string for its own form.

mod calc;
mod captures;
pub mod classes;
pub mod combined;
mod diff;
mod events;
pub mod figures;
mod findings;
pub mod front;
mod overhead;
mod padding;
mod pairs;
mod rates;
mod sas;
pub mod table;
mod trials;

use jiff::tz::TimeZone;
use std::borrow::Cow;

use crate::model::pairs::MatchReport;
use crate::model::report::diff::DiffReport;
use crate::model::report::{Report, Severity};
use crate::model::trials::TrialsReport;
use crate::transform::calculation::Calculation;
pub use figures::Figure;
pub use front::Front;
use table::{Cell, Subject, Table};

/// Rows that a table shows unless all are asked for.
const ROWS: usize = 20;

/// How a document is made of a report.
#[derive(Clone, Debug)]
pub struct View {
    /// The zone that times are shown in.
    pub zone: TimeZone,
    /// Every row of every table, instead of the first or busiest 20.
    pub all: bool,
}

impl Default for View {
    fn default() -> Self {
        Self { zone: TimeZone::UTC, all: false }
    }
}

impl View {
    /// How many of `rows` are shown.
    fn shown(&self, rows: usize) -> usize {
        if self.all { rows } else { rows.min(ROWS) }
    }
}

/// What a report says, in the order in which it is read.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Document {
    /// Subject, answer and key figures.
    pub front: Front,
    /// Its sections; one without a title is a preamble or a closing remark.
    pub sections: Vec<Section>,
}

/// A part of a document under one title.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Section {
    /// The title; empty where the section has none.
    pub title: String,
    /// What a form calls it that needs a title for every section.
    pub name: &'static str,
    /// Where a page has it.
    pub place: Place,
    /// What the whole section is about, in one sentence; may be empty.
    pub note: String,
    /// Its contents.
    pub blocks: Vec<Block>,
}

/// Where a page has a section. Text and markdown have all in one order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Place {
    /// Among what is read first.
    #[default]
    Body,
    /// After what is read first: what it rests on.
    Basis,
    /// Its figures first of all figures, its tables at the end, closed.
    Cost,
    /// Its figures among what is read first, its tables at the end, closed.
    Reference,
}

/// A part of a section.
#[derive(Clone, PartialEq, Debug)]
pub enum Block {
    /// Sentences.
    Paragraph(String),
    /// What the next table is about.
    Caption(String),
    /// Sentences that do not belong together, each a line or more.
    List(Vec<String>),
    /// Short items, separated by commas.
    Items(Vec<String>),
    /// Figures or names, each with what it means.
    KeyFigures(Vec<KeyFigure>),
    /// Something that must not be overlooked, outside the findings.
    Alert {
        /// How bad it is.
        severity: Severity,
        /// One word for it.
        label: String,
        /// The sentence.
        text: String,
    },
    /// Rows and columns.
    Table(Table),
    /// A chart. Forms without charts leave it out: the tables have its figures.
    Figure(Box<Figure>),
    /// A finding with its evidence.
    Finding(Box<FindingBlock>),
    /// How many findings of one code are not listed.
    MoreFindings(String),
}

/// A figure and what it means.
#[derive(Clone, PartialEq, Debug)]
pub struct KeyFigure {
    /// The figure, or a name.
    pub figure: Cell,
    /// What it is.
    pub meaning: String,
}

/// A finding as people read it.
#[derive(Clone, PartialEq, Debug)]
pub struct FindingBlock {
    /// How bad it is.
    pub severity: Severity,
    /// Its published code.
    pub code: Cow<'static, str>,
    /// Its place among all findings of the report, from 1.
    pub number: usize,
    /// What it is about, in a line.
    pub title: String,
    /// The likely cause; empty where a finding of the same code before it has it.
    pub cause: String,
    /// What to do; empty where the cause is.
    pub remedy: String,
    /// The SA or the flow, with its tap where there are several; may be empty.
    pub concerns: String,
    /// The SA or the direction that it is about.
    pub subject: Option<Subject>,
    /// What was seen.
    pub evidence: String,
    /// Lines of configurations, each with its place before it.
    pub config: Vec<String>,
    /// What most likely caused it, and where to read on; may be empty.
    pub advice: Vec<String>,
    /// A display filter of Wireshark that shows its frames; may be empty.
    pub filter: String,
    /// What to type, on which host.
    pub fixes: Vec<Typed>,
}

/// Lines to type on a host.
#[derive(Clone, PartialEq, Debug)]
pub struct Typed {
    /// The host's name.
    pub host: String,
    /// The lines, as they are typed.
    pub lines: Vec<String>,
}

impl Section {
    /// Says which of several outputs the section is of.
    fn of_output(&mut self, output: usize) {
        for block in &mut self.blocks {
            match block {
                Block::Table(table) => table.of_output(output),
                Block::Finding(finding) => {
                    finding.subject.iter_mut().for_each(|subject| subject.output = output);
                }
                _ => {}
            }
        }
    }

    fn titled(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    fn noted(title: impl Into<String>, note: impl Into<String>) -> Self {
        Self { title: title.into(), note: note.into(), ..Self::default() }
    }

    fn at(self, place: Place) -> Self {
        Self { place, ..self }
    }

    /// Adds a figure where there is one.
    fn figure(&mut self, figure: Option<Figure>) {
        self.blocks.extend(figure.map(|figure| Block::Figure(Box::new(figure))));
    }

    fn say(&mut self, sentence: impl Into<String>) {
        self.blocks.push(Block::Paragraph(sentence.into()));
    }

    fn caption(&mut self, sentence: impl Into<String>) {
        self.blocks.push(Block::Caption(sentence.into()));
    }

    /// Adds a table; one without rows says nothing.
    fn table(&mut self, table: Table) {
        if !table.rows.is_empty() {
            self.blocks.push(Block::Table(table));
        }
    }

    /// Says how many of `rows` are not shown, and what shows them.
    fn more(&mut self, view: &View, rows: usize, what: &str, shows: &str) {
        let shown = view.shown(rows);
        if rows > shown {
            let left = crate::report::words::number::grouped(rows.saturating_sub(shown) as u64);
            self.say(format!("and {left} more {what}; `--all` or `{shows}` lists all."));
        }
    }
}

impl Document {
    fn push(&mut self, section: Section) {
        if !section.blocks.is_empty() || !section.note.is_empty() {
            self.sections.push(section);
        }
    }
}

/// The document of `report`.
#[must_use]
pub fn report(report: &Report, view: &View) -> Document {
    let mut document = check(report, view);
    document.push(sas::section(report, view));
    document.push(overhead::sizes(report, view).at(Place::Cost));
    document.push(overhead::outer_sizes(report, view).at(Place::Reference));
    document.push(padding::section(report, view).at(Place::Reference));
    document.push(rates::directions(report, view).at(Place::Reference));
    document.push(rates::pause(report, view).at(Place::Reference));
    document.push(events::section(report, view).at(Place::Reference));
    document
}

/// The document of `check`: captures and findings.
#[must_use]
pub fn check(report: &Report, view: &View) -> Document {
    let mut document = Document { front: front::report::front(report, view), ..Document::default() };
    for section in captures::sections(report, view) {
        document.push(Section { name: "Captures", ..section.at(Place::Basis) });
    }
    document.push(findings::of_report(report, view));
    document
}

/// The document of `match`.
#[must_use]
pub fn pairs(report: &MatchReport, view: &View) -> Document {
    pairs::document(report, view)
}

/// The document of `trials`.
#[must_use]
pub fn trials(report: &TrialsReport, view: &View) -> Document {
    trials::document(report, view)
}

/// The document of `diff`.
#[must_use]
pub fn diff(report: &DiffReport, view: &View) -> Document {
    diff::document(report, view)
}

/// The document of `calc`.
#[must_use]
pub fn calculation(answer: &Calculation) -> Document {
    calc::document(answer)
}

/// A sentence and a table under it: columns by name and unit, the first in words.
#[must_use]
pub fn figures(answer: &str, columns: &[(&str, &str)], rows: Vec<Vec<Cell>>) -> Document {
    let mut section = Section::default();
    section.say(answer);
    let mut table = Table::new(columns.iter().map(|(name, unit)| table::Column::figures(name, unit)));
    rows.into_iter().for_each(|row| table.row(row));
    section.table(table);
    Document { sections: vec![section], ..Document::default() }
}

/// ` at tap T` where the report has several taps.
fn at_tap(several: bool, tap: &str) -> String {
    if several && !tap.is_empty() { format!(" at tap {tap}") } else { String::new() }
}
