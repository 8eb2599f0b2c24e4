//! Padding that says more than it should, or less than the RFC asks.

use super::{Draft, Tap, filter, plural};
use crate::analysis::finish::rows::directions::direction_name;
use crate::analysis::finish::rows::padding::may_be_trailer;
use crate::model::report::Finding;
use crate::model::report::Pattern;

pub(crate) fn add(findings: &mut Vec<Finding>, tap: &Tap<'_>) {
    for (direction, pattern, cell) in tap.stream.padding.fill() {
        if pattern == Pattern::Zero || pattern == Pattern::Other && may_be_trailer(tap, direction) {
            continue;
        }
        let (what, means) = match pattern {
            Pattern::Ff => ("0xff", "no memory leak, but RFC 894 asks for zeros"),
            Pattern::Repeated => ("one repeated byte", "no memory leak, but RFC 894 asks for zeros"),
            _ => ("different bytes", "likely stale memory"),
        };
        let direction = direction_name(tap, direction);
        let length = if cell.shortest == cell.longest {
            format!("{} B", cell.longest)
        } else {
            format!("{} to {} B", cell.shortest, cell.longest)
        };
        let carry = if cell.seen.count == 1 { "carries" } else { "carry" };
        let evidence = format!(
            "{direction}: {} {carry} {length} of Ethernet padding, {what}: {means}.",
            plural(cell.seen.count, "frame")
        );
        findings.push(
            Draft::new("ethernet-padding-leak", evidence)
                .of(direction)
                .listed(tap, &cell.seen, "padding that is not zero")
                .done(),
        );
    }
    for sa in &tap.sas {
        if let Some(tail) = sa.state.ah_padding().filter(|tail| tail.zero < tail.frames) {
            let evidence = format!(
                "{} of {} have an AH whose last four bytes are padding and not zero: stale memory, not ICV.",
                plural(tail.frames.saturating_sub(tail.zero), "frame"),
                sa.state.seen.count
            );
            let draft = Draft::new("ah-padding-leak", evidence).of(sa.name.clone()).seen(tap, &sa.state.seen);
            let mut draft = draft.count(tail.frames.saturating_sub(tail.zero));
            if let Some(unclean) = &sa.state.unclean {
                let all = unclean.count == sa.state.seen.count;
                draft = draft
                    .frames(tap, unclean.frames(), unclean, "padding of AH that is not zero")
                    .filter(filter::of_sa(tap, sa).filter(|_| all));
            }
            findings.push(draft.done());
        }
        let of_null = sa.null.map(|(_, votes)| &votes.trailers);
        let of_keyed = sa.state.keyed.as_deref().map(|keyed| &keyed.trailers);
        for trailers in of_null.into_iter().chain(of_keyed) {
            let Some(listed) = trailers.irregular.as_deref() else { continue };
            let sized = trailers.sized();
            let other = plural(listed.count, "packet");
            let evidence = format!("{other} of {sized} have ESP padding that is not 1, 2, 3, ...");
            let draft = Draft::new("esp-padding-irregular", evidence).about(tap, sa);
            findings.push(draft.of_some(tap, sa, listed, "padding that does not count 1, 2, 3").done());
        }
    }
}
