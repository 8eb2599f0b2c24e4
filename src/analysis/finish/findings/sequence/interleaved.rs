//! SAs without figures of their numbers: those of several counters, of a count that may have begun anew, of segments.

use super::causes::IN_SEGMENTS;
use super::{Draft, SaView, Tap, Who, plural};
use crate::analysis::finish::several::Several;
use crate::analysis::limits::RESTART_FALL;
use crate::analysis::state::sa::sequence::steps::Leap;
use crate::model::report::{Finding, Severity};

/// What is said instead of figures.
pub(super) fn unfigured(tap: &Tap<'_>, sa: &SaView<'_>, several: &Several) -> Finding {
    match several {
        Several::Fell(fall) => fallen(tap, sa, fall),
        Several::Segmented(packets) => segmented(tap, sa, *packets),
        Several::Counts(begins) => interleaved(tap, sa, of_counts(begins)),
        Several::Numbers(numbers) => interleaved(tap, sa, of_numbers(numbers)),
    }
}

/// Numbers that fall below all before them, by less than a restart falls for certain.
fn fallen(tap: &Tap<'_>, sa: &SaView<'_>, fall: &Leap) -> Finding {
    let evidence = format!(
        "{}: the number fell from {} to {} (frame {}), by less than {RESTART_FALL}, and counted on from there; the count before it did not go on. \
         Likely a new count on the same SPI; packets that came late look the same. Loss, duplicates and order are not determined.",
        Who(&sa.key),
        fall.before.number as u32,
        fall.after.number as u32,
        tap.frame(fall.after.pos).frame
    );
    let (from, to) = (tap.frame(fall.before.pos), tap.frame(fall.after.pos));
    let draft = Draft::new("sequence-restart", evidence).at(tap).of(sa.name.clone()).count(1).severity(Severity::Note);
    draft.between(from, fall.before.time, to, fall.after.time).done()
}

/// Numbers of packets that a network card segments.
fn segmented(tap: &Tap<'_>, sa: &SaView<'_>, packets: u64) -> Finding {
    let evidence = format!(
        "{}: {} longer than on any wire, captured before a network card segments them. Each takes as many numbers as it has segments. Loss, \
         duplicates and order are not determined.",
        Who(&sa.key),
        if packets == 1 { "1 packet is".into() } else { format!("{} are", plural(packets, "packet")) }
    );
    let draft = Draft::new("sequence-gap", evidence).about(tap, sa).count(packets).severity(Severity::Note);
    draft.cause(IN_SEGMENTS).done()
}

/// Numbers of several counters.
fn interleaved(tap: &Tap<'_>, sa: &SaView<'_>, (shown, counts): (String, usize)) -> Finding {
    let evidence = format!("{}: {shown}. Loss, duplicates and order are not determined.", Who(&sa.key));
    Draft::new("sequence-interleaved", evidence).about(tap, sa).count(counts as u64).done()
}

fn of_counts(begins: &[u32]) -> (String, usize) {
    let (counts, begin) = (begins.len(), listed(begins));
    let shown = format!(
        "the numbers alternate between {counts} counts, first seen at {begin}; each goes on where it had stopped"
    );
    (shown, counts)
}

fn of_numbers(numbers: &[u32]) -> (String, usize) {
    let shown = format!(
        "different packets bear each of the numbers {}: several senders count at a time, and what comes again is not told \
         from a replay",
        listed(numbers)
    );
    (shown, 2)
}

fn listed(numbers: &[u32]) -> String {
    numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}
