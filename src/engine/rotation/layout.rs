//! Taps that may still grow, whether a stream is the next file of one of them, and what is said where that is not certain.

use super::{LEAST_OVERLAP_NS, lasts};
use crate::analysis::Likeness;
use crate::engine::rotation::stream::Stream;
use crate::model::Timestamp;

/// A tap that may still grow.
pub(super) struct Open {
    pub(super) name: Option<String>,
    pub(super) path: String,
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

    /// Whether a stream that begins later shows the same packets again: the capture of another tap, whose clock is behind. Of files whose
    /// names follow each other that is not believed.
    pub(super) fn is_seen_again_in(&self, stream: &Stream) -> bool {
        self.overlap_ns(stream) == Some(0) && !self.names_go_on_in(stream) && self.likeness(stream).is_same()
    }

    pub(super) fn likeness(&self, stream: &Stream) -> Likeness {
        self.stream.as_ref().map_or_else(Likeness::default, |own| Likeness::of(&own.state, &stream.state))
    }

    fn names_go_on_in(&self, stream: &Stream) -> bool {
        let names = self.stream.as_ref().and_then(Stream::names).zip(stream.names());
        names.is_some_and(|((_, own), (next, _))| own.text == next.text && own < next)
    }

    /// Keeps in words what is assumed of a stream that is taken for the next file, where no sequence number decides.
    pub(super) fn assume(&mut self, stream: &Stream) {
        let overlap = self.overlap_ns(stream).unwrap_or(0);
        let Some(own) = &self.stream else { return };
        let likeness = self.likeness(stream);
        let said = if overlap == 0 {
            let again = self.name.is_none() && likeness.repeats();
            again.then(|| {
                format!(
                    "{} holds sequence numbers of {} of {} again. Treated as one tap whose counters started again. Alternative: two \
                     taps with clocks that differ. If they are two taps, name them: --tap NAME=FILE",
                    stream.path(),
                    counted(likeness),
                    own.last_path()
                )
            })
        } else {
            let open = !own.succession(stream).goes_on() && !likeness.is_other();
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

/// How many of the SAs in both hold the same numbers.
fn counted(likeness: Likeness) -> String {
    let Likeness { shared, repeated, .. } = likeness;
    format!("{repeated} of {shared} common {}", if shared == 1 { "SA" } else { "SAs" })
}
