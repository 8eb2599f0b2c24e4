//! Missing numbers that may have passed uncaptured: in a hole between two files, or among packets that the capturing host dropped.

use super::super::{Tap, plural};
use crate::analysis::state::sa::sequence::history::{History, Skipped};
use crate::model::report::{Capture, Finding};

/// Of the numbers that an SA misses, those that may have passed while nothing was captured.
pub(super) struct Unwatched {
    lost: u64,
    in_holes: u64,
    /// Packets that the capturing host says it dropped, of all traffic.
    dropped: u64,
}

/// A hole between two files of a tap: the captures before and after it, and its time.
pub(super) struct HoleSpan {
    captures: (u32, u32),
    times: (i64, i64),
}

impl HoleSpan {
    /// The holes of a tap that were found.
    pub(super) fn of(findings: &[Finding], tap: &Tap<'_>) -> Vec<Self> {
        let own = findings.iter().filter(|finding| finding.code == "capture-hole" && finding.tap == tap.name);
        let span = |finding: &Finding| {
            let captures = (finding.first_frame?.capture, finding.last_frame?.capture);
            Some(Self { captures, times: (finding.first_ns?, finding.last_ns?) })
        };
        own.filter_map(span).collect()
    }

    /// Whether the hole is most of the time between the frames on both sides of skipped numbers.
    fn explains(&self, gap: &Skipped, tap: &Tap<'_>) -> bool {
        let (before, after) = (tap.frame(gap.before.pos).capture, tap.frame(gap.after.pos).capture);
        let within = before <= self.captures.0 && self.captures.1 <= after;
        let lasts = gap.after.time.since(gap.before.time).unwrap_or(i64::MAX);
        within && self.times.1.saturating_sub(self.times.0) >= lasts / 2
    }
}

impl Unwatched {
    pub(super) fn of(
        tap: &Tap<'_>,
        holes: &[HoleSpan],
        history: Option<&History>,
        lost: u64,
        captures: &[Capture],
    ) -> Self {
        let gaps = history.map_or(&[][..], |history| &history.gaps);
        let unseen = gaps.iter().filter(|gap| holes.iter().any(|hole| hole.explains(gap, tap)));
        let missing = unseen.filter_map(|gap| gap.missing.as_ref()).flatten();
        let in_holes = missing.map(|(start, end)| start.abs_diff(*end)).sum::<u64>().min(lost);
        // Whoever rotates files counts on in the next one.
        let drops =
            |capture: &Capture| capture.interfaces.iter().filter_map(|own| own.drops).fold(0, u64::saturating_add);
        let own = tap.captures.iter().filter_map(|id| captures.get(*id as usize));
        Self { lost, in_holes, dropped: own.map(drops).max().unwrap_or(0) }
    }

    /// Those that are missing although the capture was looking, as far as it says.
    pub(super) fn watched(&self) -> u64 {
        let within = self.lost.saturating_sub(self.in_holes);
        if self.dropped >= within { 0 } else { within }
    }

    /// What is said of the others, to follow a sentence.
    pub(super) fn said(&self) -> String {
        let mut said = String::new();
        if self.in_holes > 0 {
            let are = if self.in_holes == 1 { "is" } else { "are" };
            said = format!(" {} of them {are} missing in a hole between two files.", self.in_holes);
        }
        if self.dropped > 0 {
            let dropped = plural(self.dropped, "packet");
            said.push_str(&format!(" The capturing host dropped {dropped}, which may be among them."));
        }
        said
    }
}
