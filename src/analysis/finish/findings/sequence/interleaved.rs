//! SAs whose numbers are those of several counters.

use super::{Draft, SaView, Tap, Who};
use crate::analysis::finish::several::Several;
use crate::model::report::Finding;

/// Numbers of several counters.
pub(super) fn interleaved(tap: &Tap<'_>, sa: &SaView<'_>, several: &Several) -> Finding {
    let listed = |numbers: &[u32]| numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    let (shown, count) = match several {
        Several::Counts(begins) => {
            let (counts, begin) = (begins.len(), listed(begins));
            let shown = format!(
                "the numbers alternate between {counts} counts, first seen at {begin}; each goes on where it had stopped"
            );
            (shown, counts)
        }
        Several::Numbers(numbers) => {
            let shown = format!(
                "different packets bear each of the numbers {}: several senders count at a time, and what comes again is not told \
                 from a replay",
                listed(numbers)
            );
            (shown, 2)
        }
    };
    let evidence = format!("{}: {shown}. Loss, duplicates and order are not determined.", Who(&sa.key));
    Draft::new("sequence-interleaved", evidence).about(tap, sa).count(count as u64).done()
}
