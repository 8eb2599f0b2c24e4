//! SAs whose numbers are those of several counters.

use super::{Draft, SaView, Tap, Who};
use crate::analysis::finish::several::Several;
use crate::model::report::{Finding, Severity};

/// Numbers of several counters.
pub(super) fn interleaved(tap: &Tap<'_>, sa: &SaView<'_>, several: &Several) -> Finding {
    let (shown, count) = match several {
        Several::Counts(begins) => {
            let numbers: Vec<String> = begins.iter().map(u32::to_string).collect();
            let counts = numbers.len();
            let begin = numbers.join(", ");
            let shown = format!(
                "the numbers alternate between {counts} counts, first seen at {begin}; each goes on where it had stopped"
            );
            (shown, counts)
        }
        Several::Number(number) => (format!("different packets bear number {number}, so none of them is a replay"), 2),
        Several::Senders(senders) => {
            let shown = format!(
                "packets from {senders} MAC addresses bear numbers that overlap: several senders, or the same packets at several places of their way"
            );
            (shown, *senders)
        }
    };
    let evidence = format!("{}: {shown}. Loss, duplicates and order are not determined.", Who(&sa.key));
    let draft = Draft::new("sequence-interleaved", evidence).about(tap, sa).count(count as u64);
    if matches!(several, Several::Senders(_)) { draft.severity(Severity::Note).done() } else { draft.done() }
}
