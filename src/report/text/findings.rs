//! Findings with their evidence; errors also with their cause and lines to type.

use std::collections::BTreeMap;

use super::page::{Page, Tone};
use crate::model::report::{Capture, Finding, Report, Sa, Severity};
use crate::report::escape::printable;
use crate::report::names;
use crate::report::number::count;

/// Of one code at most this many findings are printed; the rest are counted.
const PER_CODE: usize = 5;

/// Findings, and what they are about.
pub(super) struct Told<'r> {
    pub(super) findings: &'r [Finding],
    /// Captures, as the findings count them.
    pub(super) captures: &'r [Capture],
    pub(super) sas: &'r [Sa],
    pub(super) several_taps: bool,
}

pub(super) fn print(page: &mut Page<'_>, report: &Report) {
    let Report { findings, captures, sas, taps, .. } = report;
    told(page, &Told { findings, captures, sas, several_taps: taps.len() > 1 });
}

/// The section.
pub(super) fn told(page: &mut Page<'_>, report: &Told<'_>) {
    page.heading("Findings");
    if report.findings.is_empty() {
        page.wrapped(2, 2, "None.");
        return;
    }
    let code_width = report.findings.iter().map(|finding| finding.code.len()).max().unwrap_or(0);
    let mut printed: BTreeMap<&str, usize> = BTreeMap::new();
    for (n, finding) in report.findings.iter().enumerate() {
        let so_far = printed.entry(finding.code).or_default();
        *so_far += 1;
        if *so_far <= PER_CODE {
            one(page, report, finding, code_width, *so_far == 1);
        }
        // Findings are sorted by severity and code, so the last of a code is followed by another code.
        let last = report.findings.get(n + 1).is_none_or(|next| next.code != finding.code);
        if last && *so_far > PER_CODE {
            let more = *so_far - PER_CODE;
            page.wrapped(11, 11, &format!("and {} {} like it; `--format json` lists all.", more, finding.code));
        }
    }
    // Errors carry their own hint.
    let plain = |finding: &&Finding| finding.severity != Severity::Error || !finding.fix.is_empty();
    let mut codes: Vec<&str> = report.findings.iter().filter(plain).map(|finding| finding.code).collect();
    codes.sort_unstable();
    codes.dedup();
    match codes.as_slice() {
        [] => {}
        [code] => {
            page.blank();
            page.wrapped(2, 2, &format!("`spiglass explain {code}` says what causes it and what to do."));
        }
        _ => {
            page.blank();
            page.wrapped(2, 2, "`spiglass explain CODE` says what causes a finding and what to do.");
        }
    }
}

fn one(page: &mut Page<'_>, report: &Told<'_>, finding: &Finding, code_width: usize, first_of_code: bool) {
    const INDENT: usize = 11;
    let concerns = finding.sa.as_deref().map(names::sa_title).unwrap_or_default();
    let tap = super::tap_suffix_of(report.several_taps, &finding.tap);
    let head = format!("  {:code_width$}  {concerns}{tap}", finding.code);
    let width = page.width();
    if unicode_width::UnicodeWidthStr::width(head.as_str()) + 9 <= width {
        page.tagged(Tone::Finding(finding.severity), 2, &format!("{:7}", finding.severity.name()), head.trim_end());
    } else {
        page.tagged(
            Tone::Finding(finding.severity),
            2,
            &format!("{:7}", finding.severity.name()),
            &format!("  {}", finding.code),
        );
        page.wrapped(INDENT, INDENT, &format!("{concerns}{tap}"));
    }
    page.wrapped(INDENT, INDENT, &sentence(finding, report));
    for line in &finding.config {
        let place = format!("{} line {} ({})", printable(&line.file), line.line, printable(&line.host));
        page.wrapped(INDENT, INDENT + 4, &format!("{place}: {}", printable(&line.text)));
    }
    if finding.severity == Severity::Error && first_of_code {
        if !finding.cause.is_empty() {
            page.wrapped(INDENT, INDENT, &format!("Cause: {}", finding.cause));
        }
        if finding.fix.is_empty() {
            page.wrapped(
                INDENT,
                INDENT,
                &format!("Do: `spiglass explain {}` says what to check and what to type.", finding.code),
            );
        }
    }
    for fix in &finding.fix {
        page.wrapped(INDENT, INDENT, &format!("On {} type:", printable(&fix.host)));
        for line in &fix.lines {
            page.indented(INDENT + 4, &printable(line));
        }
    }
}

/// The evidence; where it is empty the title; with the first frame unless the evidence names a frame, and the count unless
/// the evidence says it.
fn sentence(finding: &Finding, report: &Told<'_>) -> String {
    let mut text = if finding.evidence.is_empty() { format!("{}.", finding.title) } else { evidence(finding) };
    let names_a_frame = text.contains("at frame ") || text.contains("(frame ");
    if !names_a_frame && let Some(frame) = finding.first_frame {
        let said = text.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word.parse() == Ok(finding.count));
        let times =
            if finding.count > 1 && !said { format!(", {}", count(finding.count, "time")) } else { String::new() };
        // What concerns an SA as a whole did not begin where the SA did.
        let begins = if concerns_whole_sa(finding, report) { "The SA begins at" } else { "First at" };
        text = format!("{} {begins} {}{times}.", text.trim_end(), names::frame_of(report.captures, frame));
    }
    text
}

/// Whether the finding spans all frames of its SA.
fn concerns_whole_sa(finding: &Finding, report: &Told<'_>) -> bool {
    report.sas.iter().filter(|sa| finding.sa.as_deref() == Some(&*sa.id) && sa.tap == finding.tap).any(|sa| {
        sa.frames > 1 && Some(sa.first_frame) == finding.first_frame && Some(sa.last_frame) == finding.last_frame
    })
}

/// The evidence, without what it concerns where it begins with that: the heading has said it.
fn evidence(finding: &Finding) -> String {
    let Some(concerned) = finding.sa.as_deref() else { return finding.evidence.clone() };
    let said = match names::sa_parts(concerned) {
        Some((protocol, spi, direction)) => format!("{protocol} {spi} from {}: ", direction.replace(" > ", " to ")),
        None => format!("{concerned}: "),
    };
    let Some(rest) = finding.evidence.strip_prefix(&said) else { return finding.evidence.clone() };
    let mut letters = rest.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
