//! The beginning and the end of a page: subject, answer, key figures, where it was measured, and how sure it is.

use super::blocks::{code, glyph, rich};
use super::typeset::typeset;
use super::writer::Writer;
use crate::model::report::Severity;
use crate::report::document::front::{Front, Merit, Station, TrustMark};

/// What the page is called.
pub(super) fn title(front: &Front) -> &str {
    if front.subject.is_empty() { "spiglass report" } else { &front.subject }
}

pub(super) fn header(page: &mut Writer, front: &Front) {
    page.element("header", &[], |page| {
        page.element("div", &[("class", "bar")], |page| {
            page.leaf("span", &[("class", "brand")], "spiglass");
            let by = Some(&front.author).filter(|author| !author.is_empty()).map(|author| format!("by {author}"));
            let parts = by.into_iter().chain(Some(front.date.clone()).filter(|date| !date.is_empty()));
            page.leaf("span", &[], &parts.collect::<Vec<_>>().join(", "));
        });
        page.line();
        page.leaf("h1", &[], title(front));
        page.line();
        if !front.lede.is_empty() {
            page.element("p", &[("class", "lede")], |page| {
                for (n, sentence) in front.lede.iter().enumerate() {
                    if n > 0 {
                        page.text(" ");
                    }
                    for (strong, text) in &sentence.0 {
                        if *strong {
                            page.leaf("b", &[], &typeset(text));
                        } else {
                            page.text(&typeset(text));
                        }
                    }
                }
            });
            page.line();
        }
        if !front.marks.is_empty() {
            page.element("p", &[("class", "status")], |page| front.marks.iter().for_each(|mark| pill(page, mark)));
        }
    });
    page.line();
}

fn pill(page: &mut Writer, mark: &TrustMark) {
    let class = match mark.severity {
        Some(Severity::Error) => "pill err",
        Some(Severity::Warning) => "pill warn",
        Some(Severity::Note) => "pill note",
        None => "pill ok",
    };
    page.element("span", &[("class", class)], |page| {
        glyph(page, mark.severity);
        page.text(&mark.text);
    });
    page.text(" ");
}

pub(super) fn merits(page: &mut Writer, front: &Front) {
    if front.merits.is_empty() {
        return;
    }
    page.element("dl", &[("class", "kpi")], |page| {
        for Merit { figure, unit, what, detail } in &front.merits {
            page.element("div", &[], |page| {
                page.leaf("dt", &[], &typeset(what));
                page.element("dd", &[("class", "v")], |page| {
                    page.leaf("span", &[("class", "big")], &typeset(figure));
                    if !unit.is_empty() {
                        page.text(" ");
                        page.leaf("span", &[("class", "unit")], &typeset(unit).replace("us", "\u{b5}s"));
                    }
                });
                if !detail.is_empty() {
                    page.leaf("dd", &[("class", "d")], &typeset(detail));
                }
            });
        }
    });
    page.line();
}

pub(super) fn stations(page: &mut Writer, front: &Front) {
    if front.stations.is_empty() {
        return;
    }
    page.element("section", &[("aria-labelledby", "way")], |page| {
        page.leaf("h2", &[("id", "way")], "Where it was measured");
        page.line();
        page.element("ol", &[("class", "path")], |page| {
            for Station { tapped, name, seen } in &front.stations {
                page.element("li", &[("class", if *tapped { "tap" } else { "box" })], |page| {
                    page.leaf("b", &[], name);
                    if !seen.is_empty() {
                        page.leaf("span", &[], &typeset(seen));
                    }
                });
            }
        });
    });
    page.line();
}

pub(super) fn trust(page: &mut Writer, front: &Front) {
    if front.trust.is_empty() {
        return;
    }
    page.element("section", &[("aria-labelledby", "trust")], |page| {
        page.leaf("h2", &[("id", "trust")], "How sure this is");
        page.line();
        page.element("dl", &[("class", "trust")], |page| {
            for (word, sentence) in &front.trust {
                page.element("div", &[], |page| {
                    page.leaf("dt", &[], word);
                    page.element("dd", &[], |page| rich(page, &typeset(sentence)));
                });
            }
        });
    });
    page.line();
}

pub(super) fn commands(page: &mut Writer, front: &Front) {
    if front.commands.is_empty() {
        return;
    }
    page.element("section", &[("aria-labelledby", "again")], |page| {
        page.leaf("h2", &[("id", "again")], "How to repeat this");
        page.line();
        code(page, "Commands", &front.commands);
        if !front.captures.is_empty() {
            page.leaf("p", &[], "With these captures, each with the digest of the file as it is stored:");
            page.line();
            code(page, "Digests of captures", &front.captures);
        }
    });
    page.line();
}

pub(super) fn footer(page: &mut Writer, front: &Front) {
    page.element("footer", &[], |page| {
        page.text("Made by spiglass");
        if !front.sources.is_empty() {
            page.text(&format!(" from {}", front.sources.join(", ")));
        }
        page.fixed(". Causes and remedies of every finding: <code>spiglass explain</code>.");
    });
    page.line();
}
