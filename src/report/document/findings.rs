//! Findings with their evidence; errors also with their cause and lines to type.

use std::collections::BTreeMap;

use super::table::Subject;
use super::{Block, FindingBlock, Section, Typed, View, at_tap};
use crate::catalogue;
use crate::model::report::{AcceptedBy, Capture, Exactness, Finding, FrameRef, KnownFinding, Report, Sa, Severity};
use crate::report::judge;
use crate::report::words::names;
use crate::report::words::number::{count, grouped};

/// Of one code at most this many findings are printed unless all are asked for; the rest are counted.
const PER_CODE: usize = 5;

/// Filters that are longer are in JSON and CSV only.
const LONGEST_FILTER: usize = 160;

/// Findings, and what they are about.
pub(super) struct Found<'r> {
    pub(super) findings: &'r [Finding],
    /// Captures, as the findings count them.
    pub(super) captures: &'r [Capture],
    pub(super) sas: &'r [Sa],
    pub(super) several_taps: bool,
    /// Whether nothing was read of what they would be about.
    pub(super) is_unread: bool,
}

/// Whether there are captures, and none of them could be read.
fn is_unread(captures: &[Capture]) -> bool {
    !captures.is_empty() && captures.iter().all(|capture| capture.error.is_some())
}

pub(super) fn of_report(report: &Report, view: &View) -> Section {
    let Report { findings, captures, sas, taps, .. } = report;
    let counted: Vec<Finding> = findings.iter().filter(|one| view.all || one.accepted.is_none()).cloned().collect();
    let (several_taps, is_unread) = (taps.len() > 1, is_unread(captures));
    let mut section = section(&Found { findings: &counted, captures, sas, several_taps, is_unread }, view);
    accepted(&mut section, report);
    section
}

/// Findings that do not count, by what accepts them; and what is gone since the baseline.
fn accepted(section: &mut Section, report: &Report) {
    let baseline = report.baseline.as_ref();
    for (by, codes) in judge::accepted(&report.findings) {
        let by = match by {
            AcceptedBy::Baseline => {
                baseline.map_or("Known".to_owned(), |baseline| format!("Known to {}", baseline.file))
            }
            AcceptedBy::Ignore => "Ignored".to_owned(),
            AcceptedBy::Threshold => "Not above --threshold".to_owned(),
        };
        let codes: Vec<String> = codes.into_iter().map(|(code, n)| format!("{} {code}", grouped(n))).collect();
        section.say(format!("{by}: {}.", codes.join(", ")));
    }
    let gone = |known: &KnownFinding| {
        let of = known.sa.as_deref().map(|sa| format!(" {}", names::sa_title(sa))).unwrap_or_default();
        format!("{}{of}", known.code)
    };
    if let Some(fixed) = baseline.map(|baseline| &baseline.fixed).filter(|fixed| !fixed.is_empty()) {
        // What a report lacks is not gone.
        let what = match report.exactness {
            Exactness::Exact => "Gone since the baseline",
            Exactness::Degraded => "Known to the baseline and not seen in this report, which is not exact",
        };
        section.say(format!("{what}: {}.", fixed.iter().map(gone).collect::<Vec<_>>().join(", ")));
    }
}

/// The section.
pub(super) fn section(found: &Found<'_>, view: &View) -> Section {
    let mut section = Section::titled("Findings");
    if found.findings.is_empty() {
        section.say(if found.is_unread { "Not determined: what would show them could not be read." } else { "None." });
        return section;
    }
    let per_code = if view.all { usize::MAX } else { PER_CODE };
    let mut printed: BTreeMap<&str, usize> = BTreeMap::new();
    for (n, finding) in found.findings.iter().enumerate() {
        let so_far = printed.entry(&*finding.code).or_default();
        *so_far += 1;
        if *so_far <= per_code {
            section.blocks.push(Block::Finding(Box::new(one(found, finding, n + 1, *so_far == 1))));
        }
        // Findings are sorted by severity and code, so the last of a code is followed by another code.
        let last = found.findings.get(n + 1).is_none_or(|next| next.code != finding.code);
        if last && *so_far > per_code {
            let more = grouped((*so_far - per_code) as u64);
            let text = format!("and {more} more {}; `--all` or `--format json` lists all.", finding.code);
            section.blocks.push(Block::MoreFindings(text));
        }
    }
    // Errors carry their own hint.
    let plain = |finding: &&Finding| finding.severity != Severity::Error || !finding.fix.is_empty();
    let mut codes: Vec<&str> = found.findings.iter().filter(plain).map(|finding| &*finding.code).collect();
    codes.sort_unstable();
    codes.dedup();
    match codes.as_slice() {
        [] => {}
        [code] => section.say(format!("`spiglass explain {code}` gives causes and remedies.")),
        _ => section.say("`spiglass explain CODE` gives causes and remedies of a finding."),
    }
    section
}

fn one(found: &Found<'_>, finding: &Finding, number: usize, first_of_code: bool) -> FindingBlock {
    let concerns = finding.sa.as_deref().map(names::sa_title).unwrap_or_default();
    let place = at_tap(found.several_taps, &finding.tap);
    let config =
        finding.config.iter().map(|line| format!("{} line {} ({}): {}", line.file, line.line, line.host, line.text));
    let mut advice = Vec::new();
    if finding.severity == Severity::Error && first_of_code {
        advice.extend(cause(finding));
        if finding.fix.is_empty() {
            advice.push(format!("Do: see `spiglass explain {}` for what to check and what to type.", finding.code));
        }
    }
    FindingBlock {
        severity: finding.severity,
        code: finding.code.clone(),
        number,
        title: finding.title.clone(),
        cause: if first_of_code { finding.cause.clone() } else { String::new() },
        remedy: if first_of_code { finding.remedy.clone() } else { String::new() },
        concerns: format!("{concerns}{place}").trim().to_owned(),
        subject: finding.sa.as_deref().map(|id| Subject::new(&finding.tap, id)),
        evidence: sentence(finding, found),
        config: config.collect(),
        advice,
        filter: finding.filter.clone().filter(|filter| filter.len() <= LONGEST_FILTER).unwrap_or_default(),
        fixes: finding.fix.iter().map(|fix| Typed { host: fix.host.to_string(), lines: fix.lines.clone() }).collect(),
    }
}

/// The cause of an error, unless its evidence says it; one of the catalogue's is a usual one, and no more.
fn cause(finding: &Finding) -> Option<String> {
    let usual = catalogue::lookup(&finding.code).is_some_and(|entry| entry.causes.contains(&finding.cause.as_str()));
    let word = if usual { "Usual cause" } else { "Cause" };
    // `On RIGHT: its line ...` behind `The fault is`.
    let said = finding.cause.get(1..).is_some_and(|rest| !rest.is_empty() && finding.evidence.contains(rest));
    (!finding.cause.is_empty() && !said).then(|| format!("{word}: {}", finding.cause))
}

/// The evidence; where it is empty the title; with the first frame unless the evidence names a frame, and the count unless
/// the evidence says it.
fn sentence(finding: &Finding, found: &Found<'_>) -> String {
    let mut text = if finding.evidence.is_empty() { format!("{}.", finding.title) } else { evidence(finding) };
    let names_a_frame = ["at frame ", "(frame ", "(between frame"].iter().any(|words| text.contains(words));
    if !names_a_frame && let Some(frame) = finding.first_frame {
        let said = text.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word.parse() == Ok(finding.count));
        let times =
            if finding.count > 1 && !said { format!(", {}", count(finding.count, "time")) } else { String::new() };
        // What concerns an SA as a whole did not begin where the SA did.
        let listed = finding.occurrences.first().map(|one| FrameRef { capture: one.capture, frame: one.frame });
        let begins =
            if listed.is_none() && concerns_whole_sa(finding, found) { "The SA begins at" } else { "First at" };
        let frame = listed.unwrap_or(frame);
        text = format!("{} {begins} {}{times}.", text.trim_end(), names::frame_of(found.captures, frame));
    }
    text
}

/// Whether the finding spans all frames of its SA.
fn concerns_whole_sa(finding: &Finding, found: &Found<'_>) -> bool {
    found.sas.iter().filter(|sa| finding.sa.as_deref() == Some(&*sa.id) && sa.tap == finding.tap).any(|sa| {
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
