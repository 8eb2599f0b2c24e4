//! The report as markdown, for tickets and wikis: the same sections as the text, as tables.

mod pairs;

use std::collections::BTreeMap;
use std::fmt::Write;

use jiff::tz::TimeZone;

use super::classes;
use super::escape::printable;
use super::names;
use super::number::{RateUnit, count, decimal, duration, grouped, range};
use crate::model::report::{Exactness, Finding, Report, Size};

pub use pairs::render_pairs;

/// The whole report.
#[must_use]
pub fn render(report: &Report, zone: &TimeZone) -> String {
    let mut page = Page(String::new());
    captures(&mut page, report, zone);
    findings(&mut page, &report.findings, report.taps.len() > 1);
    sas(&mut page, report);
    sizes(&mut page, report);
    padding(&mut page, report);
    rates(&mut page, report);
    page.0
}

/// Captures and findings only.
#[must_use]
pub fn render_findings(report: &Report, zone: &TimeZone) -> String {
    let mut page = Page(String::new());
    captures(&mut page, report, zone);
    findings(&mut page, &report.findings, report.taps.len() > 1);
    page.0
}

struct Page(String);

impl Page {
    fn heading(&mut self, title: &str) {
        if !self.0.is_empty() {
            self.0.push('\n');
        }
        self.line(&format!("## {title}"));
        self.0.push('\n');
    }

    fn line(&mut self, line: &str) {
        self.0.push_str(line);
        self.0.push('\n');
    }

    /// Column headings; those that begin with `>` are aligned right.
    fn table(&mut self, columns: &[&str], rows: impl IntoIterator<Item = Vec<String>>) {
        let names: Vec<&str> = columns.iter().map(|name| name.trim_start_matches('>')).collect();
        self.line(&format!("| {} |", names.join(" | ")));
        let rule: Vec<&str> = columns.iter().map(|name| if name.starts_with('>') { "---:" } else { "---" }).collect();
        self.line(&format!("| {} |", rule.join(" | ")));
        for row in rows {
            self.line(&format!("| {} |", row.join(" | ")));
        }
    }
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

fn captures(page: &mut Page, report: &Report, zone: &TimeZone) {
    page.heading("Captures");
    page.table(
        &["capture", "tap", "format", ">frames", "from", ">for", "state"],
        report.captures.iter().map(|capture| {
            let seconds = match (capture.first_ns, capture.last_ns) {
                (Some(first), Some(last)) => duration(u64::try_from(last.saturating_sub(first)).unwrap_or(0)),
                _ => String::new(),
            };
            let state = match &capture.damage {
                Some(damage) => format!("byte {} (frame {}): {}", damage.offset, damage.frame, safe(&damage.what)),
                None if capture.complete => "complete".to_owned(),
                None => "not complete".to_owned(),
            };
            vec![
                safe(&capture.path),
                safe(&capture.tap),
                safe(&capture.format),
                grouped(capture.frames),
                capture.first_ns.map(|ns| names::moment(ns, zone)).unwrap_or_default(),
                seconds,
                state,
            ]
        }),
    );
    if !report.filters.is_empty() {
        page.line(&format!("\nOnly frames that {} leaves.", safe(&report.filters.join(" "))));
    }
    not_exact(page, report.exactness, &report.degraded_why);
    if report.sas.is_empty() && report.sizes.is_empty() && report.tunnels.is_empty() {
        page.line(&format!("\nNo IPsec or IP tunnel seen in {}.", count(report.totals.frames, "frame")));
    }
}

/// Why figures are not exact, where they are not.
fn not_exact(page: &mut Page, exactness: Exactness, why: &[String]) {
    if exactness == Exactness::Degraded {
        page.line(&format!("\nNot exact: {}", safe(&why.join(" "))));
    }
}

fn findings(page: &mut Page, findings: &[Finding], several_taps: bool) {
    page.heading("Findings");
    if findings.is_empty() {
        page.line("None.");
        return;
    }
    for finding in findings {
        let concerns = finding.sa.as_deref().map(|sa| format!(" {}", safe(&names::sa_title(sa)))).unwrap_or_default();
        let tap = if several_taps && !finding.tap.is_empty() {
            format!(" at tap {}", safe(&finding.tap))
        } else {
            String::new()
        };
        let evidence = if finding.evidence.is_empty() { &finding.title } else { &finding.evidence };
        page.line(&format!("- **{}** `{}`{concerns}{tap}: {}", finding.severity.name(), finding.code, safe(evidence)));
    }
}

fn sas(page: &mut Page, report: &Report) {
    if report.sas.is_empty() {
        return;
    }
    page.heading("Security associations");
    page.table(
        &["tap", "SA", "from > to", ">frames", ">lost", ">dup", ">late", "transform", ">overhead B"],
        report.sas.iter().map(|sa| {
            let number = |n: Option<u64>| n.map(grouped).unwrap_or_default();
            let sequence = sa.sequence.as_ref();
            let overhead = match (sa.overhead.min_bytes, sa.overhead.max_bytes) {
                (Some(min), Some(max)) => format!("{} ({})", range(min, max), sa.overhead.basis),
                _ => "unknown".to_owned(),
            };
            vec![
                safe(&sa.tap),
                format!("{} {}", sa.proto.to_uppercase(), sa.spi_hex),
                format!("{} > {}", sa.src, sa.dst),
                grouped(sa.frames),
                number(sequence.map(|s| s.lost)),
                number(sequence.map(|s| s.duplicate)),
                number(sequence.map(|s| s.late)),
                safe(&names::transform(sa)),
                overhead,
            ]
        }),
    );
}

fn sizes(page: &mut Page, report: &Report) {
    if report.sizes.is_empty() {
        return;
    }
    page.heading("Overhead by packet size");
    let mut groups: BTreeMap<_, Vec<&Size>> = BTreeMap::new();
    for size in &report.sizes {
        groups.entry((&size.tap, &size.direction, &size.sa, &size.encapsulation, size.basis)).or_default().push(size);
    }
    for (n, ((tap, direction, sa, encapsulation, basis), mut group)) in groups.into_iter().enumerate() {
        if n > 0 {
            page.line("");
        }
        group.sort_by_key(|size| size.inner_bytes);
        let sa = sa.as_deref().map(|sa| format!(", {}", safe(&sa_short(sa)))).unwrap_or_default();
        page.line(&format!("{}, {}{sa}, {basis}, tap {}\n", safe(direction), safe(encapsulation), safe(tap)));
        let rows = if group.len() > classes::EXACT_ROWS { classes::fold(&group) } else { classes::exact(&group) };
        let unit = RateUnit::for_rates(rows.iter().map(|row| row.l1_tunnel_bps));
        let mut end_to_end = String::from(">end to end ");
        let mut circuit = String::from(">circuit ");
        // Writing to a String cannot fail.
        let _ = write!(end_to_end, "{}", unit.name);
        let _ = write!(circuit, "{}", unit.name);
        page.table(
            &[
                ">inner B",
                ">frames",
                ">frames/s",
                ">outer B",
                ">overhead B",
                ">of inner %",
                ">L1 plain B",
                ">L1 tunnel B",
                &end_to_end,
                &circuit,
                ">plain share %",
            ],
            rows.iter().map(|row| {
                vec![
                    row.label.clone(),
                    grouped(row.frames),
                    row.frames_per_s.map(|rate| decimal(rate, 1)).unwrap_or_default(),
                    range(row.outer_bytes.0, row.outer_bytes.1),
                    range(row.overhead_bytes.0, row.overhead_bytes.1),
                    decimal(row.overhead_of_inner_pct, 1),
                    decimal(row.l1_plain_bytes, 0),
                    decimal(row.l1_tunnel_bytes, 0),
                    unit.show(row.l1_plain_bps),
                    unit.show(row.l1_tunnel_bps),
                    decimal(row.circuit_share_pct, 1),
                ]
            }),
        );
    }
}

/// `ESP 0x000003ea`; the direction stands beside it.
fn sa_short(id: &str) -> String {
    names::sa_parts(id).map_or_else(|| id.to_owned(), |(protocol, spi, _)| format!("{protocol} {spi}"))
}

fn padding(page: &mut Page, report: &Report) {
    if report.padding.ethernet.is_empty() {
        return;
    }
    page.heading("Ethernet padding");
    page.table(
        &["tap", "from > to", ">frames", ">octets", "pattern"],
        report.padding.ethernet.iter().map(|row| {
            vec![
                safe(&row.tap),
                safe(&row.direction),
                grouped(row.frames),
                format!("{} to {}", row.pad_bytes_min, row.pad_bytes_max),
                row.pattern.to_owned(),
            ]
        }),
    );
}

fn rates(page: &mut Page, report: &Report) {
    if report.rates.directions.is_empty() {
        return;
    }
    let directions = &report.rates.directions;
    let unit = RateUnit::for_rates(directions.iter().map(|direction| direction.l1_with_control_bps));
    page.heading(&format!("Rates by direction, {}", unit.name));
    page.table(
        &["tap", "from > to", ">frames", ">frames/s", ">L1", ">L1 with control", ">L2", ">L3", ">goodput", ">peak L1"],
        directions.iter().map(|direction| {
            vec![
                safe(&direction.tap),
                safe(&direction.direction),
                grouped(direction.frames),
                direction.frames_per_s.map(|rate| decimal(rate, 1)).unwrap_or_default(),
                unit.show(direction.l1_bps),
                unit.show(direction.l1_with_control_bps),
                unit.show(direction.l2_bps),
                unit.show(direction.l3_bps),
                unit.show(direction.goodput_bps),
                unit.show(direction.peak.map(|peak| peak.l1_bps)),
            ]
        }),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn rows_have_as_many_cells_as_their_heading() {
        for report in [sample::report(), sample::two_taps(), sample::hostile()] {
            let text = render(&report, &TimeZone::UTC);
            let mut cells = None;
            for line in text.lines() {
                if !line.starts_with('|') {
                    cells = None;
                    continue;
                }
                let n = line.replace("\\|", "").matches('|').count();
                assert_eq!(*cells.get_or_insert(n), n, "{line}");
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
