//! A document as text: what matters first.
//!
//! Text may change freely between versions; scripts read JSON or CSV.

#[cfg(test)]
mod checks;
pub(super) mod page;
mod table;

pub use page::{TextOptions, Theme};

use unicode_width::UnicodeWidthStr;

use super::document::table::Align;
use super::document::{Block, Document, FindingBlock, KeyFigure, Section};
use crate::report::words::escape::printable;
use page::{Page, Tone};

/// Columns before the text of a finding: those of the longest severity.
const FINDING: usize = 11;

/// The whole document.
#[must_use]
pub fn render(document: &Document, options: &TextOptions) -> String {
    let mut page = Page::new(options);
    for section in &document.sections {
        print(&mut page, section);
    }
    page.into_text()
}

fn print(page: &mut Page<'_>, section: &Section) {
    if section.title.is_empty() {
        page.separate();
    } else {
        page.heading(&printable(&section.title));
    }
    if !section.note.is_empty() {
        page.wrapped(2, 2, &section.note);
    }
    // A preamble stands at the edge, and its further lines are indented.
    let (first, next) = if section.title.is_empty() { (0, 4) } else { (2, 2) };
    let code_width = section.blocks.iter().filter_map(code).map(UnicodeWidthStr::width).max().unwrap_or(0);
    let mut before = None;
    for block in section.blocks.iter().filter(|block| !matches!(block, Block::Figure(_))) {
        if before.is_some_and(|before| apart(before, block)) {
            page.separate();
        }
        match block {
            Block::Paragraph(text) => page.wrapped(first, next, text),
            Block::Caption(text) => page.wrapped(2, 6, text),
            Block::List(lines) => lines.iter().for_each(|line| page.wrapped(2, 4, line)),
            Block::Items(items) => page.items(6, items),
            Block::KeyFigures(figures) => key_figures(page, first, figures),
            Block::Alert { severity, label, text } => {
                page.tagged_text(Tone::Finding(*severity), label, &format!(": {text}"));
            }
            Block::Table(rows) => table::print(page, rows),
            Block::Figure(_) => {}
            Block::Finding(block) => finding(page, block, code_width),
            Block::MoreFindings(text) => page.wrapped(FINDING, FINDING, text),
        }
        before = Some(block);
    }
}

/// Whether an empty line parts two blocks: what one table is about from the table before it, sentences of a section from its
/// findings and tables.
fn apart(before: &Block, block: &Block) -> bool {
    match (before, block) {
        (Block::Caption(_), _) | (_, Block::Finding(_) | Block::MoreFindings(_)) => false,
        (Block::Items(_), Block::Caption(_)) => false,
        (_, Block::Caption(_) | Block::Table(_)) => true,
        (Block::Finding(_) | Block::MoreFindings(_), _) => true,
        _ => false,
    }
}

fn code(block: &Block) -> Option<&str> {
    match block {
        Block::Finding(finding) => Some(&finding.code),
        _ => None,
    }
}

/// Figures aligned to the right, names to the left, each before its meaning.
fn key_figures(page: &mut Page<'_>, indent: usize, figures: &[KeyFigure]) {
    let width = figures.iter().map(|one| one.figure.show().width()).max().unwrap_or(0);
    for KeyFigure { figure, meaning } in figures {
        let tag = printable(&figure.show()).into_owned();
        let fill = " ".repeat(width.saturating_sub(tag.width()));
        let tag = match figure.align() {
            Align::Left => format!("{tag}{fill}"),
            Align::Right => format!("{fill}{tag}"),
        };
        page.tagged_line(Tone::Heading, indent, &tag, meaning);
    }
}

fn finding(page: &mut Page<'_>, finding: &FindingBlock, code_width: usize) {
    let tone = Tone::Finding(finding.severity);
    let severity = format!("{:7}", finding.severity.name());
    let concerns = printable(&finding.concerns);
    let head = format!("  {:code_width$}  {concerns}", finding.code);
    if head.width() + 9 <= page.width() {
        page.tagged(tone, 2, &severity, head.trim_end());
    } else {
        page.tagged(tone, 2, &severity, &format!("  {}", finding.code));
        page.wrapped(FINDING, FINDING, &concerns);
    }
    page.wrapped(FINDING, FINDING, &finding.evidence);
    for line in &finding.config {
        page.wrapped(FINDING, FINDING + 4, line);
    }
    for line in &finding.advice {
        page.wrapped(FINDING, FINDING, line);
    }
    if !finding.filter.is_empty() {
        page.wrapped(FINDING, FINDING + 4, &format!("Wireshark: {}", finding.filter));
    }
    for fix in &finding.fixes {
        page.wrapped(FINDING, FINDING, &format!("On {} type:", fix.host));
        for line in &fix.lines {
            page.indented(FINDING + 4, &printable(line));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::pairs::MatchReport;
    use crate::model::report::Report;
    use crate::report::document::{self, View};
    use crate::report::sample;

    fn shown(report: &Report, options: &TextOptions) -> String {
        render(&document::report(report, &View::default()), options)
    }

    fn shown_pairs(report: &MatchReport, options: &TextOptions) -> String {
        render(&document::pairs(report, &View::default()), options)
    }

    fn text(report: &Report, width: usize) -> String {
        shown(report, &TextOptions { width, ..TextOptions::default() })
    }

    fn text_of_pairs(report: &MatchReport, width: usize) -> String {
        shown_pairs(report, &TextOptions { width, ..TextOptions::default() })
    }

    #[test]
    fn every_line_fits_the_width() {
        for report in [sample::report(), sample::two_taps(), sample::empty()] {
            checks::fits(|options| shown(&report, options));
        }
    }

    #[test]
    fn no_escape_and_no_control_character_without_colour() {
        checks::harmless(&text(&sample::hostile(), 100), |options| shown(&sample::report(), options));
    }

    #[test]
    fn what_matters_comes_first() {
        let text = text(&sample::report(), 100);
        let headings =
            ["tunnel.pcap", "Findings", "Security associations", "Overhead by packet size", "Padding", "Rates"];
        checks::in_order(&text, &headings);
        // Errors before warnings.
        checks::in_order(&text, &["spi-zero", "sequence-gap"]);
        assert!(text.contains("spiglass explain"));
    }

    #[test]
    fn the_tables_of_the_source_documents_are_there() {
        // Cisco 892, ESP-DES-MD5 under AH: 8490 packets/s of 64 octets are 6.93 Mbit/s end to end and 10.73 on the circuit.
        let text = text(&sample::report(), 100);
        let row = text.lines().find(|line| line.trim_start().starts_with("64 ") && line.contains("8 490")).unwrap();
        for figure in ["120", "56", "87.5", "102", "158", "6.93", "10.73", "64.6"] {
            assert!(row.split_whitespace().any(|cell| cell == figure), "{figure} in {row}");
        }
    }

    #[test]
    fn a_capture_without_ipsec_says_so_in_one_line() {
        let text = text(&sample::empty(), 100);
        assert!(text.contains("No IPsec or IP tunnel seen in 120 frames."), "{text}");
        assert!(!text.contains("Security associations"));
    }

    #[test]
    fn every_line_of_pairs_fits_the_width() {
        for report in [sample::pairs::report(), sample::pairs::empty(), sample::pairs::long()] {
            checks::fits(|options| shown_pairs(&report, options));
        }
    }

    #[test]
    fn no_escape_and_no_control_character_of_pairs_without_colour() {
        checks::harmless(&text_of_pairs(&sample::pairs::hostile(), 100), |options| {
            shown_pairs(&sample::pairs::report(), options)
        });
    }

    #[test]
    fn what_matters_of_pairs_comes_first() {
        let headings = [
            "plain.pcap",
            "Findings",
            "Pairs",
            "Directions",
            "Clock",
            "Latency",
            "Overhead by packet size",
            "Outer header",
            "Padding",
            "Plain side to exit side",
            "Outside the tunnel",
            "Lost packets",
        ];
        checks::in_order(&text_of_pairs(&sample::pairs::report(), 100), &headings);
    }

    #[test]
    fn figures_say_how_they_are_known() {
        let text = text_of_pairs(&sample::pairs::report(), 200);
        for said in [
            "by order: paired by length, sequence and timing",
            "assumes equal minimum delay both ways",
            "last bit to last bit",
            "accuracy limited by the clock offset (above)",
            "measured, packets paired by order; predicted with the transform inferred from these same pairs",
            "differs: padded by the device",
            "DSCP copied in all 12 marked packets",
            "0xff on the plain side, none in the tunnel, 0x00 at the exit.",
            "plain frame 1 (0xff) > tunnel frame 1 (none) > exit frame 2 (0x00)",
        ] {
            assert!(text.contains(said), "{said} is missing in\n{text}");
        }
    }

    #[test]
    fn long_tables_say_how_much_they_leave_out_and_what_shows_it() {
        let mut report = sample::pairs::report();
        report.lost = report.lost.iter().cycle().take(25).cloned().collect();
        let text = text_of_pairs(&report, 100);
        assert!(text.contains("and 5 more packets; `--all` or `--format csv --table lost` lists all."), "{text}");
        let all = View { all: true, ..View::default() };
        let text = render(&document::pairs(&report, &all), &TextOptions::default());
        assert!(!text.contains("more packets"), "{text}");
    }

    #[test]
    fn nothing_paired_is_said_in_few_lines() {
        let text = text_of_pairs(&sample::pairs::empty(), 100);
        assert!(text.contains("0  matched"), "{text}");
        assert!(!text.contains("Directions") && !text.contains("Latency") && !text.contains("Padding"), "{text}");
    }
}
