//! The gaps between the sequence numbers of SAs.

use super::super::Tap;
use crate::analysis::state::sa::sequence::history::Skipped;
use crate::model::report;
use crate::model::report::Report;

/// Gaps of an SA that are listed.
const OF_AN_SA: usize = 250;
/// Gaps of a report that are listed.
const OF_ALL: usize = 10_000;

pub(in crate::analysis::finish) fn add(report: &mut Report, tap: &Tap<'_>) {
    for sa in &tap.sas {
        let Some(history) = &sa.history else { continue };
        let room = OF_ALL.saturating_sub(report.gaps.len()).min(OF_AN_SA);
        let row = |gap: &Skipped| report::Gap {
            tap: tap.name.clone(),
            sa: sa.name.clone(),
            first_missing: gap.numbers.0 as u32,
            last_missing: gap.numbers.1 as u32,
            count: gap.count(),
            frame_before: tap.frame(gap.before.pos),
            frame_after: tap.frame(gap.after.pos),
            time_before_ns: gap.before.time.ns(),
            time_after_ns: gap.after.time.ns(),
            filled_late: gap.filled_late(),
        };
        report.gaps.extend(history.gaps.iter().take(room).map(row));
        // What is beyond the listed steps is known by its holes only.
        let beyond = history.gaps.get(room..).unwrap_or_default();
        let left: u64 = beyond.len() as u64;
        let holes = |gap: &Skipped| gap.missing.as_ref().map_or(0, |missing| missing.len() as u64);
        let known: u64 = history.gaps.iter().map(holes).sum();
        let all = sa.sequence.as_ref().map_or(0, |figures| figures.gaps);
        report.gaps_beyond += left + if history.is_whole { 0 } else { all.saturating_sub(known) };
    }
}
