//! What is wrong or worth knowing. A finding never claims more than the capture shows.

pub(crate) mod capture;
mod config;
pub(crate) mod filter;
pub(crate) mod occurrences;
mod overhead;
mod padding;
mod sequence;
mod signalling;
mod spi;
mod traffic;
mod transform;

pub(in crate::analysis::finish) use self::sequence::may_be_shown_twice;
use super::CaptureFacts;
use super::tap::{SaView, Tap};
use super::time::rfc3339;
use crate::analysis::settings::Settings;
pub(crate) use crate::analysis::state::base::listed::Listed;
use crate::analysis::state::base::seen::Seen;
use crate::catalogue;
use crate::model::Timestamp;
use crate::model::report::{ConfigLine, Finding, Fix, FrameRef, Name, Report, Severity};
use crate::policy::View;

/// All findings of a run, most severe first, then in the order of the catalogue.
pub(crate) fn all(
    taps: &[Tap<'_>],
    captures: &[CaptureFacts],
    settings: &Settings,
    view: Option<&View<'_>>,
    report: &Report,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for tap in taps {
        spi::add(&mut findings, tap, settings);
        // Numbers may be missing in holes, which are known first.
        capture::add_tap(&mut findings, tap, settings, report);
        sequence::add(&mut findings, tap, settings, &report.captures);
        traffic::add(&mut findings, tap, settings);
        overhead::add(&mut findings, tap, settings);
        transform::add(&mut findings, tap);
        padding::add(&mut findings, tap);
        signalling::add(&mut findings, tap);
    }
    capture::numbered::add(&mut findings, taps, report);
    capture::add(&mut findings, captures);
    if let Some(view) = view {
        config::add(&mut findings, view);
        super::expected::add(&mut findings, taps, settings, view, report);
        config::agree(&mut findings);
    }
    filter::by_frames(&mut findings);
    sort(&mut findings);
    findings
}

/// Most severe first, then in the order of the catalogue.
pub(crate) fn sort(findings: &mut [Finding]) {
    let place = |f: &Finding| catalogue::all().iter().position(|entry| entry.code == f.code);
    findings.sort_by(|a, b| {
        let key = |f: &Finding| (std::cmp::Reverse(f.severity), place(f));
        key(a).cmp(&key(b)).then_with(|| (&a.tap, &a.sa, &a.evidence).cmp(&(&b.tap, &b.sa, &b.evidence)))
    });
}

/// A finding under construction.
pub(crate) struct Draft {
    finding: Finding,
}

impl Draft {
    /// A finding of `code` with the texts and severity of the catalogue.
    pub(crate) fn new(code: &'static str, evidence: String) -> Self {
        let entry = catalogue::lookup(code);
        Self {
            finding: Finding {
                code: code.into(),
                severity: entry.map_or(Severity::Note, |e| e.severity),
                title: entry.map_or_else(|| code.to_owned(), |e| e.title.to_owned()),
                tap: Name::from(""),
                sa: None,
                count: 1,
                first_frame: None,
                last_frame: None,
                first: None,
                last: None,
                first_ns: None,
                last_ns: None,
                evidence,
                occurrences: Vec::new(),
                occurrences_total: None,
                filter: None,
                accepted: None,
                cause: entry.map_or_else(String::new, |e| e.cause().to_owned()),
                remedy: entry.map_or_else(String::new, catalogue::Entry::remedy_text),
                config: Vec::new(),
                fix: Vec::new(),
            },
        }
    }

    /// Names the tap.
    pub(crate) fn at(mut self, tap: &Tap<'_>) -> Self {
        self.finding.tap.clone_from(&tap.name);
        self
    }

    /// Names the SA or flow.
    pub(crate) fn of(mut self, sa: impl Into<Name>) -> Self {
        self.finding.sa = Some(sa.into());
        self
    }

    /// States where it was seen; what rests on a single frame is only a note.
    pub(crate) fn seen(mut self, tap: &Tap<'_>, seen: &Seen) -> Self {
        self = self.at(tap).spanning(tap, seen);
        self.finding.count = seen.count;
        if seen.count == 1 {
            self.finding.severity = Severity::Note;
        }
        self
    }

    /// States the first and the last frame.
    pub(crate) fn spanning(mut self, tap: &Tap<'_>, seen: &Seen) -> Self {
        if let Some(ends) = seen.ends() {
            self = self.between(tap.frame(ends.first), ends.first_time, tap.frame(ends.last), ends.last_time);
        }
        self
    }

    /// States the first and the last frame as they are.
    pub(crate) fn between(mut self, first: FrameRef, t0: Timestamp, last: FrameRef, t1: Timestamp) -> Self {
        let f = &mut self.finding;
        f.first_frame = Some(first);
        f.last_frame = Some(last);
        (f.first, f.first_ns) = (rfc3339(t0), t0.ns());
        (f.last, f.last_ns) = (rfc3339(t1), t1.ns());
        self
    }

    /// Concerns a whole SA.
    pub(crate) fn about(self, tap: &Tap<'_>, sa: &SaView<'_>) -> Self {
        self.at(tap).of(sa.name.clone()).spanning(tap, &sa.state.seen).filter(filter::of_sa(tap, sa))
    }

    pub(crate) fn count(mut self, count: u64) -> Self {
        self.finding.count = count;
        self
    }

    pub(crate) fn severity(mut self, severity: Severity) -> Self {
        self.finding.severity = severity;
        self
    }

    /// Names another cause than the catalogue's likeliest.
    pub(crate) fn cause(mut self, cause: &str) -> Self {
        cause.clone_into(&mut self.finding.cause);
        self
    }

    /// Names the lines of configuration that cause it, and lines to type.
    pub(crate) fn caused_by(mut self, config: Vec<ConfigLine>, fix: Vec<Fix>) -> Self {
        self.finding.config = config;
        self.finding.fix = fix;
        self
    }

    pub(crate) fn done(self) -> Finding {
        self.finding
    }
}

/// `1 frame`, `2 frames`.
pub(crate) fn plural(n: u64, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

/// Per cent with as many digits as it takes to tell it from zero.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "0 %".into();
    }
    let pct = 100.0 * part as f64 / whole as f64;
    if pct >= 0.1 || part == 0 { format!("{pct:.1} %") } else { format!("{pct:.4} %") }
}
