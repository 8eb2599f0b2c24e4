//! Taps that may still grow, whether a stream is the next file of one of them, and what is said where that is not certain.

use std::collections::{BTreeMap, BTreeSet};

use super::{LEAST_OVERLAP_NS, Placed, lasts};
use crate::analysis::{CaptureSpan, Likeness, Succession};
use crate::engine::rotation::stream::{Stream, times};
use crate::model::Timestamp;
use crate::model::counted_name::SeriesName;

/// A tap that may still grow.
pub(super) struct Open {
    pub(super) name: Option<String>,
    pub(super) path: String,
    /// The names of its last file.
    pub(super) names: BTreeSet<SeriesName>,
    pub(super) last: Option<Timestamp>,
    pub(super) stream: Option<Stream>,
    /// What came before it by its times, where no number of it goes on in the stream.
    pub(super) set_aside: Vec<Stream>,
    pub(super) assumed: Vec<String>,
    /// The tap that it shares the traffic with, by its first files, and what is said of that.
    pub(super) divided: Option<(usize, String)>,
}

impl Open {
    /// By how much a stream begins before this tap ends, in nanoseconds; 0 where it does not.
    fn overlap_ns(&self, stream: &Stream) -> Option<i64> {
        let (first, _) = stream.times();
        Some(self.last?.since(first?).unwrap_or(i64::MAX).max(0))
    }

    /// Whether so much of an overlap is little. Two short captures of two taps overlap as a whole.
    fn is_little(&self, overlap: i64, stream: &Stream) -> bool {
        let own = self.stream.as_ref().map_or(0, |own| lasts(own.last_piece()));
        let shorter = own.min(lasts(stream.first_piece()));
        overlap <= (shorter / 100).max(LEAST_OVERLAP_NS.min(shorter / 2))
    }

    /// Whether a stream may be the next file of the rotation.
    pub(super) fn goes_on_with(&self, stream: &Stream) -> bool {
        let Some(overlap) = self.overlap_ns(stream) else { return false };
        if overlap == 0 {
            return true;
        }
        let Some(own) = &self.stream else { return false };
        self.is_little(overlap, stream) && (!own.succession(stream).is_parallel() || self.likeness(stream).is_other())
    }

    /// Whether a stream of this tap's name may be the next one. Parts that were numbered are in their order, whatever their times are: the
    /// next one has no time in common with the one before it, or its numbers go on.
    pub(super) fn may_be_followed_by(&self, stream: &Stream) -> bool {
        let (first, last) = stream.times();
        let overlaps = self.last.zip(first).is_some_and(|(last, first)| last > first);
        let numbered = || self.stream.as_ref().filter(|own| own.part.is_some() && own.part < stream.part);
        let follows = |own: &Stream| {
            let (begin, end) = times(own.last_piece());
            let is_apart = end.zip(first).is_some_and(|(end, first)| end <= first)
                || last.zip(begin).is_some_and(|(last, begin)| last <= begin);
            is_apart || own.succession(stream).is_close()
        };
        !overlaps || self.goes_on_with(stream) || numbered().is_some_and(follows)
    }

    /// Whether a stream that begins later shows the same packets again: the capture of another tap, whose clock is behind. Of files whose
    /// names follow each other that is not believed.
    pub(super) fn is_seen_again_in(&self, stream: &Stream) -> bool {
        self.overlap_ns(stream) == Some(0) && !self.names_go_on_in(stream) && self.likeness(stream).is_same()
    }

    pub(super) fn likeness(&self, stream: &Stream) -> Likeness {
        self.stream.as_ref().map_or_else(Likeness::default, |own| Likeness::of(&own.state, &stream.state))
    }

    fn names_go_on_in(&self, stream: &Stream) -> bool {
        self.stream.as_ref().is_some_and(|own| !own.name_steps(stream).is_empty())
    }

    /// Keeps in words what is assumed of a stream that is taken for the next file, where no sequence number decides. How many SAs have numbers
    /// that may be those of the same packets.
    pub(super) fn assume(&mut self, stream: &Stream, how: Succession) -> u64 {
        // Of a tap that was named nothing is assumed. Where the numbers go on, a counter that begins anew later does not concern the border.
        if self.name.is_some() || how.is_close() {
            return 0;
        }
        let overlap = self.overlap_ns(stream).unwrap_or(0);
        let Some(own) = &self.stream else { return 0 };
        let likeness = self.likeness(stream);
        let said = if overlap == 0 {
            likeness.repeats().then(|| {
                format!(
                    "{} holds sequence numbers of {} of {} again. Treated as one tap whose counters started again. Alternative: two \
                     taps with clocks that differ. If they are two taps, name them: --tap NAME=FILE",
                    stream.path(),
                    counted(likeness),
                    own.last_path()
                )
            })
        } else {
            let open = !how.goes_on() && !likeness.is_other();
            open.then(|| {
                format!(
                    "{} begins {:.3} ms before {} ends; they are taken for files of one tap in rotation. If they are two taps, \
                     name them: --tap NAME=FILE",
                    stream.path(),
                    overlap as f64 / 1e6,
                    own.last_path()
                )
            })
        };
        self.assumed.extend(said);
        unproved(own, stream, how)
    }

    /// What is said of a stream that is a tap of its own because it holds numbers of this one.
    pub(super) fn apart_from(&self, stream: &Stream) -> Option<String> {
        let own = self.stream.as_ref()?;
        let overlap = self.overlap_ns(stream)?;
        let likeness = self.likeness(stream);
        if overlap == 0 && self.is_seen_again_in(stream) {
            return Some(format!(
                "{} holds packets of {} that {} holds, with later times. Treated as two taps with clocks that differ. \
                 Alternative: one tap at which the packets were replayed: --tap NAME=FILE,FILE",
                stream.path(),
                counted(likeness),
                own.path()
            ));
        }
        let doubtful = overlap > 0 && self.is_little(overlap, stream) && self.names_go_on_in(stream);
        (doubtful && likeness.repeats() && !likeness.is_same()).then(|| {
            format!(
                "{} begins {:.3} ms before {} ends and holds sequence numbers of {} again. Treated as two taps. Alternative: one tap \
                 whose counters started again: --tap NAME=FILE,FILE",
                stream.path(),
                overlap as f64 / 1e6,
                own.last_path(),
                counted(likeness)
            )
        })
    }

    /// What is said of a stream whose name is the next one and that has a common time with this one, where no SA is in both.
    pub(super) fn counted_on_in(&self, stream: &Stream) -> Option<String> {
        let own = self.stream.as_ref()?;
        let forth = overlap_of_next(own, stream).map(|overlap| (own, stream, overlap));
        let (own, next, overlap) = forth.or_else(|| Some((stream, own, overlap_of_next(stream, own)?)))?;
        let own = own.last_path();
        Some(format!(
            "{} begins {:.3} ms before {own} ends, its name is the next one, and no SA is in both. Treated as two taps. Alternative: one tap \
             whose clock was set back: --tap NAME=FILE,FILE",
            next.path(),
            overlap as f64 / 1e6
        ))
    }

    /// What is said of a stream that begins before the end of this one and holds other packets with its numbers.
    pub(super) fn anew_in(&self, stream: &Stream) -> Option<String> {
        let (own, likeness) = (self.stream.as_ref()?, self.likeness(stream));
        likeness.is_other().then(|| {
            format!(
                "{} begins before {} ends and holds the sequence numbers of {} with other packets: the counters started again. Treated as \
                 two taps. Alternative: one tap whose clock was set back",
                stream.path(),
                own.last_path(),
                counted(likeness)
            )
        })
    }
}

/// Where the name of one of two files is the next one and both have a common time, by how much: two ports of a TAP begin and end together.
fn overlap_of_next(own: &Stream, next: &Stream) -> Option<i64> {
    let is_next = own.name_steps(next).iter().any(|step| step.is_next && step.is_last);
    let spans = (is_next && own.tap.is_none()).then(|| (own.last_piece(), next.first_piece()))?;
    let since = |end: Option<Timestamp>, begin: Option<Timestamp>| end?.since(begin?);
    let ((own_first, own_last), (first, last)) = (times(spans.0), times(spans.1));
    let quarter = lasts(spans.0).min(lasts(spans.1)) / 4;
    let differ =
        |a: Option<Timestamp>, b: Option<Timestamp>| since(a, b).is_some_and(|ns| ns.saturating_abs() > quarter);
    let overlap = since(own_last, first).filter(|ns| *ns > 0)?;
    (differ(first, own_first) && differ(last, own_last)).then_some(overlap)
}

/// Says of taps that begin with the same frame and end at the same times, with as many frames, that they may be one capture that was cut
/// in two ways.
pub(super) fn say_cut_otherwise(taps: &mut [Placed]) {
    let mut known: BTreeMap<_, String> = BTreeMap::new();
    for Placed { path, stream, assumed, .. } in taps.iter_mut() {
        let spans = stream.state.captures();
        let (Some(first), Some(last)) = times(spans) else { continue };
        let frames = spans.iter().fold(0u64, |sum, span| sum.saturating_add(span.frames));
        let opening = spans.iter().filter_map(CaptureSpan::mark).find(|(_, (begin, _), ..)| *begin == first);
        let mark = (first, last, frames, opening.map(|(.., opening)| opening));
        if let Some(other) = known.get(&mark) {
            let files = stream.captures.len();
            let own =
                if files == 1 { path.clone() } else { format!("{path} with {} more", plural(files.saturating_sub(1))) };
            assumed.push(format!(
                "{own} and the tap of {other} begin with the same frame, end at the same time and have {frames} frames each. Treated as two \
                 taps. Alternative: one capture cut in two ways, whose frames are counted twice; then give one of them only"
            ));
        } else {
            known.insert(mark, path.clone());
        }
    }
}

fn plural(files: usize) -> String {
    if files == 1 { "1 file".into() } else { format!("{files} files") }
}

/// How many of the SAs in both hold the same numbers.
fn counted(likeness: Likeness) -> String {
    let Likeness { shared, repeated, .. } = likeness;
    format!("{repeated} of {shared} common {}", if shared == 1 { "SA" } else { "SAs" })
}

/// SAs of which a stream that is taken for the next file holds numbers again, where nothing tells whether the packets are the same ones.
pub(super) fn unproved(own: &Stream, next: &Stream, how: Succession) -> u64 {
    let (ends, begins) = (own.times().1, next.times().0);
    let is_apart = ends.zip(begins).is_some_and(|(ends, begins)| ends <= begins);
    let likeness = Likeness::of(&own.state, &next.state);
    if is_apart && !how.is_close() && likeness.repeats() && !likeness.is_same() { likeness.repeated } else { 0 }
}
