//! Numbers that are missing where nobody looked: between two files, and among the packets that the capturing host dropped.

use super::super::{Tap, plural};
use crate::analysis::state::sa::sequence::history::History;
use crate::model::report::Capture;

/// Of the numbers that an SA misses, those that may have passed while nothing was captured.
pub(super) struct Unwatched {
    lost: u64,
    between_files: u64,
    /// Packets that the capturing host says it dropped, of all traffic.
    dropped: u64,
}

impl Unwatched {
    pub(super) fn of(tap: &Tap<'_>, history: Option<&History>, lost: u64, captures: &[Capture]) -> Self {
        let gaps = history.map_or(&[][..], |history| &history.gaps);
        let borders = gaps.iter().filter(|gap| gap.before.pos.capture() != gap.after.pos.capture());
        let missing = borders.filter_map(|gap| gap.missing.as_ref()).flatten();
        let between_files = missing.map(|(start, end)| start.abs_diff(*end)).sum::<u64>().min(lost);
        let own = tap.captures.iter().filter_map(|id| captures.get(*id as usize));
        let drops = own.flat_map(|capture| &capture.interfaces).filter_map(|interface| interface.drops);
        Self { lost, between_files, dropped: drops.fold(0, u64::saturating_add) }
    }

    /// Those that are missing although the capture was looking, as far as it says.
    pub(super) fn watched(&self) -> u64 {
        let within = self.lost.saturating_sub(self.between_files);
        if self.dropped >= within { 0 } else { within }
    }

    /// What is said of the others, to follow a sentence.
    pub(super) fn said(&self) -> String {
        let mut said = String::new();
        if self.between_files > 0 {
            let are = if self.between_files == 1 { "is" } else { "are" };
            said = format!(
                " {} of them {are} missing between the end of one file and the beginning of the next, where nothing was captured.",
                self.between_files
            );
        }
        if self.dropped > 0 {
            let dropped = plural(self.dropped, "packet");
            said.push_str(&format!(" The capturing host dropped {dropped}, which may be among them."));
        }
        said
    }
}
