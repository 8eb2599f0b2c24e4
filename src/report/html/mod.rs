//! A document as one HTML page that needs nothing else: no script, no font, no request. The same document gives the same bytes.
//!
//! The page begins with subject, answer and key figures; figures and findings follow, then what they rest on, and tables at the end.
//! Everything from captures and configurations is text: it is escaped, and never an id, a class, a style or an address.

mod blocks;
mod chart;
mod front;
mod table;
mod typeset;
mod writer;

use super::document::figures::Data;
use super::document::{Block, Document, Figure, Place, Section};
use crate::model::report::Severity;
use writer::{Anchors, Writer};

const STYLE: &str = include_str!("page.css");

/// What a page may load: nothing but the style that it holds.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// The whole document.
#[must_use]
pub fn render(document: &Document) -> String {
    let mut page = Writer::default();
    page.anchor(anchors(document));
    page.fixed("<!doctype html>\n");
    page.element("html", &[("lang", "en")], |page| {
        page.element("head", &[], |page| head(page, document));
        page.line();
        page.element("body", &[], |page| {
            page.fixed("<a class=\"skip\" href=\"#main\">Skip to the report</a>\n");
            front::header(page, &document.front);
            page.element("main", &[("id", "main")], |page| main(page, document));
            page.line();
            front::footer(page, &document.front);
        });
    });
    page.line();
    page.into_text()
}

/// Rows and findings that are shown and about something.
fn anchors(document: &Document) -> Anchors {
    let mut anchors = Anchors::default();
    for block in document.sections.iter().flat_map(|section| &section.blocks) {
        match block {
            Block::Table(table) => {
                for subject in table.subjects.values() {
                    let next = anchors.rows.len() + 1;
                    anchors.rows.entry(subject.clone()).or_insert(next);
                }
            }
            Block::Finding(finding) => {
                if let Some(subject) = &finding.subject {
                    anchors.findings.entry(subject.clone()).or_default().push(finding.number);
                }
            }
            _ => {}
        }
    }
    anchors
}

fn head(page: &mut Writer, document: &Document) {
    page.line();
    page.void("meta", &[("charset", "utf-8")]);
    page.void("meta", &[("name", "viewport"), ("content", "width=device-width, initial-scale=1")]);
    page.void("meta", &[("name", "color-scheme"), ("content", "light dark")]);
    page.void("meta", &[("http-equiv", "Content-Security-Policy"), ("content", POLICY)]);
    page.void("meta", &[("name", "generator"), ("content", concat!("spiglass ", env!("CARGO_PKG_VERSION")))]);
    if !document.front.author.is_empty() {
        page.void("meta", &[("name", "author"), ("content", &document.front.author)]);
    }
    page.line();
    page.leaf("title", &[], front::title(&document.front));
    page.line();
    page.element("style", &[], |page| page.fixed(STYLE));
    page.line();
}

/// What stands at the end, closed.
enum Table<'d> {
    /// The figures of a chart.
    Data(&'d Data),
    /// A section.
    Section(&'d Section),
}

/// Numbers given so far.
#[derive(Default)]
struct Plan<'d> {
    tables: Vec<Table<'d>>,
    figures: usize,
    sections: usize,
}

impl<'d> Plan<'d> {
    fn table(&mut self, table: Table<'d>) -> usize {
        self.tables.push(table);
        self.tables.len()
    }
}

fn main(page: &mut Writer, document: &Document) {
    front::merits(page, &document.front);
    let mut plan = Plan::default();
    front::stations(page, &document.front);
    let body = |section: &&Section| section.place == Place::Body;
    // What is wrong is read before what it costs.
    let urgent = document.sections.iter().any(is_urgent);
    let (first, rest): (Vec<&Section>, Vec<&Section>) =
        document.sections.iter().filter(body).partition(|section| urgent && is_urgent(section));
    sections(page, &first, &mut plan);
    let closed = |section: &&Section| matches!(section.place, Place::Cost | Place::Reference);
    let drawn = document.sections.iter().filter(closed).filter(|section| figures(section).next().is_some());
    let mut drawn: Vec<&Section> = drawn.collect();
    drawn.sort_by_key(|section| section.place);
    drawn.iter().for_each(|section| charts(page, section, &mut plan));
    sections(page, &rest, &mut plan);
    front::trust(page, &document.front);
    let basis: Vec<&Section> = document.sections.iter().filter(|section| section.place == Place::Basis).collect();
    sections(page, &basis, &mut plan);
    front::commands(page, &document.front);
    for section in document.sections.iter().filter(closed) {
        if figures(section).next().is_none() {
            plan.table(Table::Section(section));
        }
    }
    tables(page, &plan.tables);
}

fn figures(section: &Section) -> impl Iterator<Item = &Figure> {
    section.blocks.iter().filter_map(|block| match block {
        Block::Figure(figure) => Some(&**figure),
        _ => None,
    })
}

/// Whether an error is among its findings.
fn is_urgent(section: &Section) -> bool {
    section.blocks.iter().any(|block| matches!(block, Block::Finding(finding) if finding.severity == Severity::Error))
}

fn heading(section: &Section) -> &str {
    if section.title.is_empty() { section.name } else { &section.title }
}

/// Sections; neighbours of one name are one.
fn sections<'d>(page: &mut Writer, sections: &[&'d Section], plan: &mut Plan<'d>) {
    for group in sections.chunk_by(|a, b| heading(a) == heading(b)) {
        let Some(title) = group.first().map(|section| heading(section)) else { continue };
        part(page, title, plan, |page, plan| {
            for section in group {
                for figure in figures(section) {
                    plan.figures += 1;
                    let data = figure.data.as_ref().map(|data| plan.table(Table::Data(data)));
                    blocks::figure(page, figure, plan.figures, &data.into_iter().collect::<Vec<_>>());
                }
                blocks::section(page, section, title);
            }
        });
    }
}

/// The figures of a section whose tables stand at the end.
fn charts<'d>(page: &mut Writer, section: &'d Section, plan: &mut Plan<'d>) {
    part(page, heading(section), plan, |page, plan| {
        let whole = plan.table(Table::Section(section));
        for figure in figures(section) {
            plan.figures += 1;
            let data = figure.data.as_ref().map(|data| plan.table(Table::Data(data)));
            let tables: Vec<usize> = data.into_iter().chain([whole]).collect();
            blocks::figure(page, figure, plan.figures, &tables);
        }
    });
}

/// A section of the page with its heading.
fn part<'d>(page: &mut Writer, title: &str, plan: &mut Plan<'d>, inside: impl FnOnce(&mut Writer, &mut Plan<'d>)) {
    plan.sections += 1;
    let id = format!("s{}", plan.sections);
    page.element("section", &[("aria-labelledby", &id)], |page| {
        page.leaf("h2", &[("id", &id)], if title.is_empty() { "Report" } else { title });
        page.line();
        inside(page, plan);
    });
    page.line();
}

/// Tables, closed; a link to one opens it, because its target is inside.
fn tables(page: &mut Writer, tables: &[Table<'_>]) {
    if tables.is_empty() {
        return;
    }
    page.element("section", &[("class", "tables"), ("aria-labelledby", "tables")], |page| {
        page.leaf("h2", &[("id", "tables")], "Tables");
        page.line();
        for (number, table) in (1_usize..).zip(tables) {
            let summary = match table {
                Table::Data(data) => &data.caption,
                Table::Section(section) => heading(section),
            };
            page.element("details", &[], |page| {
                page.leaf("summary", &[], &format!("{number}\u{202f}\u{202f}{summary}"));
                page.element("div", &[("id", &format!("t{number}"))], |page| match table {
                    Table::Data(data) => blocks::data(page, data),
                    Table::Section(section) => blocks::section(page, section, summary),
                });
            });
            page.line();
        }
    });
    page.line();
}
