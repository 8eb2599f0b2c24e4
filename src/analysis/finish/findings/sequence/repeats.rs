//! Numbers of an SA that were seen before: repeated by the sender or the network, or shown twice by the capture.

use super::causes::{AT_TWO_PLACES, IN_BOTH, IN_TURNS, ON_INTERFACES, SENT_AGAIN, UNPROVED};
use super::{Edge, Numbered};
use crate::analysis::finish::copying::CopiesAre;
use crate::analysis::finish::findings::occurrences::of_repeats;
use crate::analysis::finish::findings::{Draft, filter, plural};
use crate::analysis::finish::several::{is_at_two_places, is_on_interfaces};
use crate::analysis::finish::tap::{SaView, Tap};
use crate::analysis::limits::FIRST_LISTED;
use crate::analysis::state::traffic::rates::Direction;
use crate::model::report::{Finding, Severity};

/// Whether repeated numbers of an SA may be packets that the capture shows twice: whether a receiver dropped any is not known.
pub(in crate::analysis::finish) fn may_be_shown_twice(tap: &Tap<'_>, sa: &SaView<'_>) -> bool {
    Numbered::of(tap, sa, &[]).is_some_and(|own| own.figures.duplicate > 0 && own.may_be_shown_twice())
}

/// Numbers that two captures of a tap hold both, where the later one begins before the other ends.
fn in_overlaps(tap: &Tap<'_>) -> u64 {
    let captures = tap.stream.captures();
    let pairs = captures
        .iter()
        .zip(captures.iter().skip(1))
        .zip(tap.borders.iter().skip(1).copied().map(Option::unwrap_or_default));
    pairs.filter(|((own, next), _)| own.overlaps(next)).map(|(_, border)| border.again).sum()
}

impl Numbered<'_> {
    /// Numbers that were seen before.
    pub(super) fn repeats(&self) -> Finding {
        let Self { tap, sa, figures, who, copies, frames, .. } = self;
        let mut evidence = format!(
            "{who}: {} with a number seen before, of {}.",
            plural(figures.duplicate, "frame"),
            plural(*frames, "frame")
        );
        let in_both = self.is_in_both();
        if sa.copies_are == CopiesAre::Open && !in_both && sa.state.copies.get().frames > 0 {
            let whose = ": duplicated in the network or by the TAP, the capture does not show which";
            evidence.push_str(&format!(
                " {} followed the same packet within 10 ms{}.",
                sa.state.copies.get().frames,
                if self.is_copied_elsewhere() { "" } else { whose }
            ));
        }
        if in_both {
            evidence.push_str(
                " As many numbers stand at the end of one file and at the beginning of the next: files that overlap may hold the same frames.",
            );
        }
        // Where a TAP copies, its copies repeat numbers too, and which of them are more than that is not known frame by frame.
        let history = sa.history.as_deref().filter(|_| *copies == 0);
        let again = history.map(|history| of_repeats(tap, history)).unwrap_or_default();
        let repeated =
            history.and_then(|own| filter::of_behind(tap, sa, &own.again, own.last_again.as_ref(), FIRST_LISTED));
        let again_total = history.filter(|history| history.is_whole_again).map(|history| history.again.len() as u64);
        evidence.push_str(self.twice_shown().unwrap_or_default());
        let (content, content_cause) = self.content();
        evidence.push_str(&content);
        if self.is_untimed() {
            evidence.push_str(" The capture has no times: copies of the TAP and duplicates look alike.");
        }
        let is_told = self.in_tcp || self.may_be_shown_twice();
        let severity = if figures.duplicate == 1 || is_told { Severity::Note } else { Severity::Warning };
        evidence.push_str(self.order(None));
        let draft = Draft::new("sequence-duplicate", evidence);
        let draft = match in_both {
            true => draft.cause(IN_BOTH),
            false if self.in_tcp => draft.cause(SENT_AGAIN),
            false => match content_cause.filter(|_| !is_told) {
                Some(cause) => draft.cause(cause),
                None => draft,
            },
        };
        draft
            .about(tap, sa)
            .count(figures.duplicate)
            .severity(severity)
            .occurring(again, again_total)
            .filter(repeated)
            .done()
    }

    /// Whether the capture may show packets twice that were on the wire once.
    fn may_be_shown_twice(&self) -> bool {
        self.is_in_both()
            || self.is_untimed()
            || self.twice_shown().is_some()
            || self.in_turns
            || self.is_unproved(None)
    }

    /// Whether files that overlap may hold the frames whose numbers were seen before.
    fn is_in_both(&self) -> bool {
        self.figures.duplicate <= in_overlaps(self.tap)
    }

    fn is_untimed(&self) -> bool {
        self.sa.state.seen.ends().is_none_or(|ends| ends.first_time.ns().is_none())
    }

    /// What the order of its frames and files leaves open.
    pub(super) fn order(&self, restart: Option<&Edge>) -> &'static str {
        if self.in_turns {
            IN_TURNS
        } else if self.is_unproved(restart) {
            UNPROVED
        } else {
            ""
        }
    }

    /// Whether the tap shows its packets at two places, or on two interfaces; in words.
    fn twice_shown(&self) -> Option<&'static str> {
        let Self { tap, sa, figures, frames, .. } = self;
        if is_at_two_places(figures, *frames, sa.state, tap) || self.is_copied_elsewhere() {
            Some(AT_TWO_PLACES)
        } else {
            is_on_interfaces(tap, sa).then_some(ON_INTERFACES)
        }
    }

    /// Whether nearly all packets that came again did so as copies, in directions that show nothing else. What comes again although the copies of the TAP
    /// are left out is none of them.
    fn is_copied_elsewhere(&self) -> bool {
        let most = |part: u64, all: u64| part.saturating_mul(10) >= all.saturating_mul(9);
        let Self { tap, sa, figures, .. } = self;
        let (copies, own) = (sa.state.copies.get().frames, sa.state.directions.first());
        let is_own = |(id, _): &(u32, &Direction)| *id < u64::BITS && own >> *id & 1 == 1;
        let only_copies = |(_, direction): &(u32, &Direction)| most(direction.copies.frames, direction.sums.frames);
        let apart = tap.stream.rates.iter().filter(is_own).filter(only_copies);
        let apart: u64 = apart.map(|(_, direction)| direction.copies.frames).sum();
        let loops = tap.stream.copies.pattern.loops();
        sa.copies_are == CopiesAre::Open
            && !loops
            && copies > 0
            && most(copies, figures.duplicate)
            && most(apart, copies)
    }

    /// Whether a file may show the packets of this SA that the one before it shows; of a restart, whether it is the first frame there.
    pub(super) fn is_unproved(&self, restart: Option<&Edge>) -> bool {
        let Some(ends) = self.sa.state.seen.ends() else { return false };
        let open = (0..).zip(&self.tap.borders).filter(|(_, own)| own.is_some_and(|own| own.unproved > 0));
        let mut captures = open.map(|(capture, _)| capture);
        captures.any(|capture| {
            let is_in_both = ends.first.capture() < capture && capture <= ends.last.capture();
            is_in_both && restart.is_none_or(|edge| edge.pos.capture() == capture)
        })
    }
}
