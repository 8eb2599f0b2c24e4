//! A document as markdown (GitHub Flavored Markdown), for tickets and wikis: the sections of the text, as lists and tables.

use super::document::table::{Align, Table};
use super::document::{Block, Document, FindingBlock, Section};
use crate::report::words::escape::printable;

/// The whole document.
#[must_use]
pub fn render(document: &Document) -> String {
    let mut page = Page(String::new());
    for section in &document.sections {
        page.section(section);
    }
    page.0
}

struct Page(String);

impl Page {
    fn section(&mut self, section: &Section) {
        self.separate();
        if !section.title.is_empty() {
            self.line(&format!("## {}", safe(&section.title)));
            self.separate();
        }
        if !section.note.is_empty() {
            self.line(&safe(&section.note));
            self.separate();
        }
        let mut before = None;
        for block in section.blocks.iter().filter(|block| !matches!(block, Block::Figure(_))) {
            // Items of one list stand together; everything else is a paragraph of its own.
            if !before.is_some_and(is_item) || !is_item(block) {
                self.separate();
            }
            self.block(block);
            before = Some(block);
        }
    }

    fn block(&mut self, block: &Block) {
        match block {
            Block::Paragraph(text) | Block::Caption(text) => self.line(&safe(text)),
            Block::List(lines) => lines.iter().for_each(|line| self.line(&format!("- {}", safe(line)))),
            Block::Items(items) => self.line(&safe(&items.join(", "))),
            Block::KeyFigures(figures) => {
                for one in figures {
                    self.line(&format!("- **{}** {}", safe(&one.figure.show()), safe(&one.meaning)));
                }
            }
            Block::Alert { severity, label, text } => {
                self.line(&format!("- **{}** {}: {}", severity.name(), safe(label), safe(text)));
            }
            Block::Table(table) => self.table(table),
            Block::Figure(_) => {}
            Block::Finding(finding) => self.finding(finding),
            Block::MoreFindings(text) => self.line(&format!("- {}", safe(text))),
        }
    }

    /// A list item, with lists below it of what it rests on and of what is to be typed.
    fn finding(&mut self, finding: &FindingBlock) {
        let concerns =
            if finding.concerns.is_empty() { String::new() } else { format!(" {}", safe(&finding.concerns)) };
        let (severity, code) = (finding.severity.name(), &finding.code);
        self.line(&format!("- **{severity}** `{code}`{concerns}: {}", safe(&finding.evidence)));
        for line in finding.config.iter().chain(&finding.advice) {
            self.line(&format!("  - {}", safe(line)));
        }
        if !finding.filter.is_empty() {
            self.line(&format!("  - Wireshark: `{}`", finding.filter));
        }
        for fix in &finding.fixes {
            self.line(&format!("  - On {} type:", safe(&fix.host)));
            fix.lines.iter().for_each(|line| self.line(&format!("    - {}", typed(line))));
        }
    }

    /// Columns in which something stands, remarks as a column like others.
    fn table(&mut self, table: &Table) {
        let shown: Vec<usize> = (0..table.columns.len()).filter(|at| !table.is_blank(*at)).collect();
        let columns = || shown.iter().filter_map(|at| table.columns.get(*at));
        let names: Vec<String> = columns().map(|column| safe(&column.title())).collect();
        self.line(&format!("| {} |", names.join(" | ")));
        let rule = columns().map(|column| if column.align == Align::Right { "---:" } else { "---" });
        self.line(&format!("| {} |", rule.collect::<Vec<_>>().join(" | ")));
        for row in &table.rows {
            let cells: Vec<String> =
                shown.iter().map(|at| row.get(*at).map_or_else(String::new, |cell| safe(&cell.show()))).collect();
            self.line(&format!("| {} |", cells.join(" | ")));
        }
    }

    fn line(&mut self, line: &str) {
        self.0.push_str(line);
        self.0.push('\n');
    }

    /// An empty line, except at the top and after another one.
    fn separate(&mut self) {
        if !self.0.is_empty() && !self.0.ends_with("\n\n") {
            self.0.push('\n');
        }
    }
}

/// A line to type: as code, unless it holds what a careless renderer might take for markup.
fn typed(line: &str) -> String {
    let plain = !line.contains(['<', '>', '[', ']', '`', '|', '&']) && !line.contains("://");
    if plain { format!("`{}`", printable(line.trim_end())) } else { safe(line) }
}

/// Whether a block is written as items of a list.
fn is_item(block: &Block) -> bool {
    matches!(
        block,
        Block::List(_) | Block::KeyFigures(_) | Block::Alert { .. } | Block::Finding(_) | Block::MoreFindings(_)
    )
}

/// Text from outside, unable to leave its cell or to become markup, links to web pages included. Our own sentences put what is to be typed between backticks: where
/// these are paired one by one they keep their meaning, and nothing between them is markup; else they are characters like others.
fn safe(text: &str) -> String {
    let text = printable(text);
    let paired = text.matches('`').count().is_multiple_of(2) && !text.contains("``");
    let mut out = String::with_capacity(text.len());
    let mut code = false;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let escaped = match c {
            '`' if paired => {
                code = !code;
                false
            }
            // A table ends its cell here even within code.
            '|' => true,
            // `http://` and `www.` make links of themselves (GitHub Flavored Markdown section 6.9).
            ':' => !code && chars.peek() == Some(&'/'),
            '.' => !code && out.ends_with("www"),
            '`' | '\\' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '!' | '~' | '&' => !code,
            _ => false,
        };
        if escaped {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::document::{self, View};
    use crate::report::sample;

    /// Every form of every report.
    fn documents() -> Vec<Document> {
        let view = View::default();
        let reports = [sample::report(), sample::two_taps(), sample::empty(), sample::hostile()];
        let pairs = [sample::pairs::report(), sample::pairs::empty(), sample::pairs::long(), sample::pairs::hostile()];
        let reports = reports.iter().map(|report| document::report(report, &view));
        reports.chain(pairs.iter().map(|report| document::pairs(report, &view))).collect()
    }

    #[test]
    fn rows_have_as_many_cells_as_their_heading() {
        for document in documents() {
            let text = render(&document);
            let mut cells = None;
            for line in text.lines() {
                if !line.starts_with('|') {
                    cells = None;
                    continue;
                }
                let n = line.replace("\\|", "").matches('|').count();
                assert_eq!(*cells.get_or_insert(n), n, "{line}");
            }
            assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text}");
        }
    }

    #[test]
    fn every_section_of_the_text_is_there() {
        for document in documents() {
            let text = crate::report::text::render(&document, &crate::report::text::TextOptions::default());
            let markdown = render(&document);
            for section in document.sections.iter().filter(|section| !section.title.is_empty()) {
                assert!(text.lines().any(|line| line == printable(&section.title)), "{}", section.title);
                assert!(
                    markdown.lines().any(|line| line == format!("## {}", safe(&section.title))),
                    "{}",
                    section.title
                );
            }
        }
    }

    #[test]
    fn strangers_write_no_markup() {
        assert_eq!(safe("a|b<script>[x](y)"), "a\\|b\\<script\\>\\[x\\](y)");
        assert_eq!(safe("~~gone~~ &lt;"), "\\~\\~gone\\~\\~ \\&lt;");
        assert_eq!(safe("http://a www.b. 1.2"), "http\\://a www\\.b. 1.2");
        // One backtick of a stranger takes the meaning of ours, too; our own, paired, hold what is to be typed.
        assert_eq!(safe("it`s: see `cmd`"), "it\\`s: see \\`cmd\\`");
        assert_eq!(safe("see `tcpdump -i any_if 'a|b'`, a_b"), "see `tcpdump -i any_if 'a\\|b'`, a\\_b");
        assert_eq!(safe("``x`` *y*"), "\\`\\`x\\`\\` \\*y\\*");
    }
}
