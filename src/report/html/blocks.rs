//! The blocks of a section.

use super::chart;
use super::table;
use super::typeset::typeset;
use super::writer::{Anchors, Writer};
use crate::model::report::Severity;
use crate::report::document::figures::{Chart, Data, Figure, LegendKey};
use crate::report::document::table::Table;
use crate::report::document::{Block, FindingBlock, KeyFigure, Section, Typed};

/// All blocks of a section but its figures; tables are called after what stands before them.
pub(super) fn section(page: &mut Writer, section: &Section, title: &str) {
    if !section.note.is_empty() {
        page.leaf("p", &[("class", "sub")], &section.note);
        page.line();
    }
    let mut caption = String::new();
    let mut blocks = section.blocks.iter().peekable();
    while let Some(block) = blocks.next() {
        match block {
            Block::Caption(text) => {
                if caption.is_empty() {
                    caption = format!("{title}: {text}");
                }
                sentence(page, "sub", text);
            }
            Block::Table(rows) => {
                let named = if caption.is_empty() { title } else { &caption };
                table::table(page, rows, named);
                caption.clear();
            }
            Block::Items(items) => {
                page.leaf("p", &[("class", "items")], &items.join(", "));
                caption.clear();
            }
            Block::Paragraph(text) => sentence(page, "", text),
            Block::List(lines) => page.element("ul", &[], |page| {
                lines.iter().for_each(|line| page.element("li", &[], |page| rich(page, line)));
            }),
            Block::KeyFigures(figures) => facts(page, figures),
            Block::Alert { severity, label, text } => alert(page, *severity, label, text),
            Block::Figure(_) => {}
            Block::Finding(_) | Block::MoreFindings(_) => {
                page.element("ol", &[("class", "findings")], |page| {
                    item(page, block);
                    while let Some(next) =
                        blocks.next_if(|next| matches!(next, Block::Finding(_) | Block::MoreFindings(_)))
                    {
                        item(page, next);
                    }
                });
            }
        }
    }
}

fn sentence(page: &mut Writer, class: &'static str, text: &str) {
    page.element("p", &[("class", class)], |page| rich(page, text));
    page.line();
}

/// Text in which what is to be typed stands between backticks, where these are paired one by one.
pub(super) fn rich(page: &mut Writer, text: &str) {
    if !text.matches('`').count().is_multiple_of(2) || text.contains("``") {
        page.text(text);
        return;
    }
    for (n, part) in text.split('`').enumerate() {
        if n % 2 == 1 {
            page.leaf("code", &[], part);
        } else {
            page.text(part);
        }
    }
}

fn facts(page: &mut Writer, figures: &[KeyFigure]) {
    page.element("dl", &[("class", "facts")], |page| {
        for KeyFigure { figure, meaning } in figures {
            page.element("div", &[], |page| {
                page.leaf("dt", &[], &table::show(figure));
                page.element("dd", &[], |page| rich(page, meaning));
            });
        }
    });
    page.line();
}

fn alert(page: &mut Writer, severity: Severity, label: &str, text: &str) {
    page.element("p", &[("class", "alert")], |page| {
        glyph(page, Some(severity));
        page.leaf("b", &[], label);
        page.text(": ");
        page.text(text);
    });
    page.line();
}

/// A shape for a severity: colour alone says nothing. `None` is good.
pub(super) fn glyph(page: &mut Writer, severity: Option<Severity>) {
    page.fixed(match severity {
        Some(Severity::Error) => {
            "<svg class=\"sev err\" viewBox=\"0 0 16 16\" width=\"16\" height=\"16\" aria-hidden=\"true\">\
             <path d=\"M5 1h6l4 4v6l-4 4H5l-4-4V5z\"/></svg>"
        }
        Some(Severity::Warning) => {
            "<svg class=\"sev warn\" viewBox=\"0 0 16 16\" width=\"16\" height=\"16\" aria-hidden=\"true\">\
             <path d=\"M8 1.5 15 14.5H1z\"/></svg>"
        }
        Some(Severity::Note) => {
            "<svg class=\"sev note\" viewBox=\"0 0 16 16\" width=\"16\" height=\"16\" aria-hidden=\"true\">\
             <circle cx=\"8\" cy=\"8\" r=\"6\"/></svg>"
        }
        None => {
            "<svg class=\"sev good\" viewBox=\"0 0 16 16\" width=\"16\" height=\"16\" aria-hidden=\"true\">\
             <path d=\"M2 8.5l4 4 8-9\"/></svg>"
        }
    });
}

fn item(page: &mut Writer, block: &Block) {
    match block {
        Block::Finding(block) => finding(page, block),
        Block::MoreFindings(text) => page.element("li", &[("class", "more")], |page| rich(page, text)),
        _ => {}
    }
    page.line();
}

fn finding(page: &mut Writer, finding: &FindingBlock) {
    let number = finding.number.to_string();
    let id = finding.subject.as_ref().map(|subject| Anchors::finding(subject, finding.number));
    let row = finding.subject.as_ref().and_then(|subject| page.anchors().row(subject));
    let attributes = [("class", "finding"), ("id", id.as_deref().unwrap_or_default())];
    page.element("li", &attributes, |page| {
        page.element("h3", &[], |page| {
            glyph(page, Some(finding.severity));
            page.leaf("span", &[("class", "fn")], &number);
            page.leaf("span", &[("class", "vh")], &format!("{}: ", finding.severity.name()));
            page.leaf("span", &[], &finding.title);
            page.text(" ");
            page.leaf("code", &[], finding.code.as_ref());
        });
        if !finding.concerns.is_empty() {
            page.element("p", &[("class", "concerns")], |page| table::linked(page, row.as_deref(), &finding.concerns));
        }
        page.element("p", &[], |page| rich(page, &finding.evidence));
        lines(page, "Lines of the configurations", finding, &finding.config);
        if !finding.filter.is_empty() {
            lines(page, "Display filter for Wireshark", finding, std::slice::from_ref(&finding.filter));
        }
        for Typed { host, lines: typed } in &finding.fixes {
            lines(page, &format!("On {host} type"), finding, typed);
        }
        if !finding.cause.is_empty() || !finding.remedy.is_empty() {
            page.element("dl", &[("class", "why")], |page| {
                for (word, text) in [("Likely cause", &finding.cause), ("What to do", &finding.remedy)] {
                    if !text.is_empty() {
                        page.element("div", &[], |page| {
                            page.leaf("dt", &[], word);
                            page.element("dd", &[], |page| rich(page, text));
                        });
                    }
                }
            });
        }
    });
}

/// Lines of a configuration, as they stand there or are to be typed.
fn lines(page: &mut Writer, what: &str, finding: &FindingBlock, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    page.leaf("p", &[("class", "typed")], &format!("{what}:"));
    code(page, &format!("{what}, finding {}", finding.number), lines);
}

/// Lines as they are typed, in a region that scrolls.
pub(super) fn code(page: &mut Writer, label: &str, lines: &[String]) {
    let label = page.label(label);
    page.element("pre", &[("tabindex", "0"), ("role", "region"), ("aria-label", &label)], |page| {
        page.element("code", &[], |page| {
            for (n, line) in lines.iter().enumerate() {
                if n > 0 {
                    page.line();
                }
                page.text(line);
            }
        });
    });
    page.line();
}

/// A figure with its number, and links to the tables that hold its figures.
pub(super) fn figure(page: &mut Writer, figure: &Figure, number: usize, tables: &[usize]) {
    let number_text = number.to_string();
    page.element("figure", &[("id", &format!("fig{number}"))], |page| {
        page.element("figcaption", &[], |page| {
            page.element("h3", &[], |page| {
                page.leaf("span", &[("class", "fn")], &number_text);
                page.text(" ");
                page.text(&typeset(&figure.title));
            });
            page.leaf("p", &[("class", "sub")], &typeset(&figure.about));
            keys(page, &figure.key);
        });
        for panel in &figure.panels {
            if !panel.caption.is_empty() {
                page.leaf("p", &[("class", "panel")], &panel.caption);
            }
            match &panel.chart {
                Chart::Bars(bars) => chart::bars(page, bars, &format!("figure {number}, {}", bars.stacked)),
                Chart::Plot(plot) => chart::plot(page, panel, plot),
            }
        }
        if !figure.note.is_empty() {
            page.leaf("p", &[("class", "note")], &typeset(&figure.note));
        }
        if !tables.is_empty() {
            page.element("p", &[("class", "tab")], |page| {
                for (n, table) in tables.iter().enumerate() {
                    if n > 0 {
                        page.text(", ");
                    }
                    page.leaf("a", &[("href", &format!("#t{table}"))], &format!("Table {table}"));
                }
            });
        }
    });
    page.line();
}

fn keys(page: &mut Writer, keys: &[LegendKey]) {
    page.element("p", &[("class", "keys")], |page| {
        for key in keys {
            page.element("span", &[("class", "key")], |page| {
                page.element("i", &[("class", chart::class(key.ink))], |_| {});
                page.text(&typeset(&key.text));
            });
            page.text(" ");
        }
    });
}

/// The figures of a chart, as a table.
pub(super) fn data(page: &mut Writer, Data { caption, table }: &Data) {
    let rows: &Table = table;
    table::table(page, rows, caption);
}
