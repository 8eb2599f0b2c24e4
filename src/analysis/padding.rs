//! Octets behind the IP packet in Ethernet frames.

use serde::{Deserialize, Serialize};

use std::collections::BTreeMap;

use super::intern::remap;
use super::observation::Observation;
use super::seen::Seen;
use crate::dissect::Stack;
use crate::model::{FramePos, Shift};
use crate::transform::ethernet;

/// What the padding octets look like.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub(crate) enum Pattern {
    Zero,
    Ff,
    /// One other octet, repeated.
    Repeated,
    Other,
}

impl Pattern {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Zero => "zero",
            Self::Ff => "ff",
            Self::Repeated => "repeated",
            Self::Other => "other",
        }
    }

    /// The pattern of some octets; `None` for none.
    pub(crate) fn of(octets: &[u8]) -> Option<Self> {
        let first = *octets.first()?;
        let uniform = octets.iter().all(|&o| o == first);
        Some(match (uniform, first) {
            (true, 0) => Self::Zero,
            (true, 0xff) => Self::Ff,
            (true, _) if octets.len() > 1 => Self::Repeated,
            _ => Self::Other,
        })
    }
}

/// Padding seen in a span, by direction and pattern.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct EthernetPadding {
    cells: BTreeMap<(u32, Pattern), PadCell>,
}

/// Padding of one direction and pattern.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct PadCell {
    pub(crate) seen: Seen,
    pub(crate) shortest: u32,
    pub(crate) longest: u32,
    /// Frames no longer than the minimum: there it is padding, behind longer packets it is a trailer.
    pub(crate) in_short_frames: u64,
    /// The first frames.
    pub(crate) examples: Vec<FramePos>,
}

const EXAMPLES: usize = 3;

impl EthernetPadding {
    #[inline]
    pub(crate) fn observe(&mut self, o: &Observation, stack: &Stack, data: &[u8]) {
        let Some(trailer) = stack.trailer else { return };
        if stack.flags.not_ethernet {
            return;
        }
        let octets = data.get(trailer.start as usize..).and_then(|d| d.get(..trailer.bytes as usize));
        let Some(pattern) = octets.and_then(Pattern::of) else { return };
        let cell = self.cells.entry((o.direction, pattern)).or_default();
        let bytes = stack.trailer_bytes;
        cell.shortest = if cell.seen.count == 0 { bytes } else { cell.shortest.min(bytes) };
        cell.longest = cell.longest.max(bytes);
        cell.in_short_frames += u64::from(stack.frame_bytes <= ethernet::MINIMUM_WITHOUT_FCS + ethernet::FCS);
        cell.seen.add(o.pos, o.time);
        if cell.examples.len() < EXAMPLES {
            cell.examples.push(o.pos);
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, Pattern, &PadCell)> {
        self.cells.iter().map(|(&(direction, pattern), cell)| (direction, pattern, cell))
    }

    pub(crate) fn merge(&mut self, later: Self, shift: Shift, directions: &[u32]) {
        let Self { cells } = later;
        for ((direction, pattern), theirs) in cells {
            let own = self.cells.entry((remap(directions, direction), pattern)).or_default();
            let PadCell { seen, shortest, longest, in_short_frames, examples } = theirs;
            own.shortest = if own.seen.count == 0 { shortest } else { own.shortest.min(shortest) };
            own.longest = own.longest.max(longest);
            own.in_short_frames += in_short_frames;
            own.seen.merge(seen, shift);
            own.examples.extend(examples.into_iter().map(|pos| pos.shifted(shift)));
            own.examples.sort_unstable();
            own.examples.truncate(EXAMPLES);
        }
    }
}
