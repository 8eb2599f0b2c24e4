//! What is said of which frame.

use std::net::IpAddr;

use crate::capture::Comments;
use crate::engine::Expectation;
use crate::model::pairs::Pair;
use crate::model::report::{Finding, Occurrence, Report};
use crate::report::words::escape::printable;
use crate::report::words::number::{count, duration};

/// Most characters of the summary.
const MAX_SUMMARY: usize = 8_000;

/// Comments by frame, up to a number of frames.
pub(super) struct Remarks {
    pub(super) comments: Comments,
    pub(super) limit: usize,
    /// Comments beyond the limit.
    pub(super) beyond: u64,
}

/// Which packet of a pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ends {
    /// The plaintext packet.
    Plain,
    /// The tunnelled one.
    Tunnel,
}

impl Remarks {
    pub(super) fn new(only: Option<u64>, limit: usize) -> Self {
        Self { comments: Comments::new(only), limit, beyond: 0 }
    }

    /// The places of findings in the one capture of a report. What no single frame shows is in the summary alone.
    pub(super) fn findings(&mut self, findings: &[Finding]) {
        for finding in findings {
            for Occurrence { frame, what, .. } in &finding.occurrences {
                self.add(*frame, &format!("spiglass {}: {what}", finding.code));
            }
        }
    }

    /// The other packet of a pair, at the frame of one end. Pairs that are guesses are left out.
    pub(super) fn pair(&mut self, pair: &Pair, at: Ends) {
        if pair.confidence <= GUESS {
            return;
        }
        let (own, other, of) = match at {
            Ends::Tunnel => (pair.tunnel, pair.plain, "plain"),
            Ends::Plain => (pair.plain, pair.tunnel, "tunnel"),
        };
        let mut comment = format!("spiglass pair: {of} frame {}", other.frame);
        if let Some(delay) = pair.delay_ns {
            let when = if delay < 0 { "earlier" } else { "later" };
            comment += &format!(", {} {when}", duration(delay.unsigned_abs()));
        }
        comment += &match (pair.overhead_bytes, pair.outer_bytes) {
            (Some(overhead), Some(outer)) => {
                format!(", overhead {overhead} B ({} B in, {outer} B out)", pair.inner_bytes)
            }
            _ => format!(", {} B in", pair.inner_bytes),
        };
        comment += &format!("; by {}, confidence {:.2}", pair.basis, pair.confidence);
        self.add(own.frame, &comment);
    }

    /// Adds a comment to a frame.
    pub(super) fn add(&mut self, frame: u64, comment: &str) {
        if self.comments.frames() < self.limit {
            // Control characters from a capture or a configuration are escaped.
            self.comments.add(frame, printable(comment).into_owned());
        } else {
            self.beyond += 1;
        }
    }
}

/// Confidence up to which a pair is a guess.
const GUESS: f64 = 0.5;

/// What is said of the capture as a whole: each finding in a line, the first ones where they are many.
pub(super) fn summary(report: &Report) -> String {
    let mut summary = format!("spiglass {}: {}", env!("CARGO_PKG_VERSION"), count(report.totals.frames, "frame"));
    if report.findings.is_empty() {
        summary += ", no findings";
    }
    for (at, finding) in report.findings.iter().enumerate() {
        let of = finding.sa.as_deref().map(|sa| format!(" {sa}")).unwrap_or_default();
        let line = printable(&format!("{} {}{of}: {}", finding.severity, finding.code, finding.evidence)).into_owned();
        if summary.len() + line.len() > MAX_SUMMARY {
            summary += &format!("\n{} more", count((report.findings.len() - at) as u64, "finding"));
            break;
        }
        summary = summary + "\n" + &line;
    }
    summary
}

/// Names of the gateways that configurations state, by address.
pub(super) fn gateways(expectation: &Expectation) -> Vec<(IpAddr, String)> {
    let routers = expectation.policies().map(|policies| policies.routers.as_slice()).unwrap_or_default();
    let mut names: Vec<(IpAddr, String)> = routers
        .iter()
        .filter(|router| router.named)
        .flat_map(|router| router.addresses().map(|address| (address.to_ip(), printable(&router.name).into_owned())))
        .collect();
    names.sort();
    names.dedup();
    names
}
