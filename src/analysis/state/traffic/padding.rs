//! Octets behind the IP packet in Ethernet frames.

use serde::{Deserialize, Serialize};

use std::collections::BTreeMap;

use crate::analysis::observe::observation::Observation;
use crate::analysis::state::base::intern::remap;
use crate::analysis::state::base::listed::Listed;
use crate::dissect::{LayerKind, Stack};
use crate::model::report::Pattern;
use crate::model::{FramePos, Shift};
use crate::transform::size::ethernet;

impl Pattern {
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
    /// The same, of what fills frames up to the minimum alone: what follows beyond it is a trailer that a switch or card appended.
    fill: BTreeMap<(u32, Pattern), PadCell>,
}

/// Padding of one direction and pattern.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct PadCell {
    pub(crate) seen: Listed,
    pub(crate) shortest: u32,
    pub(crate) longest: u32,
    /// The first frames.
    pub(crate) examples: Vec<FramePos>,
}

const EXAMPLES: usize = 3;
/// Octets of an 802.1Q tag.
const VLAN_BYTES: u32 = 4;

impl EthernetPadding {
    #[inline]
    pub(crate) fn observe(&mut self, o: &Observation, stack: &Stack, data: &[u8]) {
        let Some(trailer) = stack.trailer else { return };
        if stack.flags.not_ethernet {
            return;
        }
        let octets = data.get(trailer.start as usize..).and_then(|d| d.get(..trailer.bytes as usize));
        let Some((octets, pattern)) = octets.and_then(|octets| Some((octets, Pattern::of(octets)?))) else { return };
        self.cells.entry((o.direction, pattern)).or_default().add(o, stack.trailer_bytes);
        // A tagged frame may be filled up to the minimum with its tag or without it (IEEE 802.1Q clause G.2.3).
        let tags = stack.layers.iter().filter(|layer| layer.kind == LayerKind::Vlan).count() as u32;
        let minimum = stack.start + ethernet::MINIMUM_WITHOUT_FCS;
        let with_tags = minimum + VLAN_BYTES * tags;
        // What goes on beyond either is a trailer, and may begin at the lower one.
        let filled = if trailer.start + stack.trailer_bytes == with_tags { with_tags } else { minimum };
        let most = filled.saturating_sub(trailer.start).min(stack.trailer_bytes);
        if let Some(pattern) = octets.get(..(most as usize).min(octets.len())).and_then(Pattern::of) {
            self.fill.entry((o.direction, pattern)).or_default().add(o, most);
        }
    }

    /// What fills frames up to the minimum.
    pub(crate) fn fill(&self) -> impl Iterator<Item = (u32, Pattern, &PadCell)> {
        self.fill.iter().map(|(&(direction, pattern), cell)| (direction, pattern, cell))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, Pattern, &PadCell)> {
        self.cells.iter().map(|(&(direction, pattern), cell)| (direction, pattern, cell))
    }

    pub(crate) fn merge(&mut self, later: Self, shift: Shift, directions: &[u32]) {
        let Self { cells, fill } = later;
        for ((direction, pattern), theirs) in cells {
            self.cells.entry((remap(directions, direction), pattern)).or_default().merge(theirs, shift);
        }
        for ((direction, pattern), theirs) in fill {
            self.fill.entry((remap(directions, direction), pattern)).or_default().merge(theirs, shift);
        }
    }
}

impl PadCell {
    fn add(&mut self, o: &Observation, bytes: u32) {
        self.shortest = if self.seen.count == 0 { bytes } else { self.shortest.min(bytes) };
        self.longest = self.longest.max(bytes);
        self.seen.add(o.pos, o.time);
        if self.examples.len() < EXAMPLES {
            self.examples.push(o.pos);
        }
    }

    fn merge(&mut self, later: Self, shift: Shift) {
        let Self { seen, shortest, longest, examples } = later;
        self.shortest = if self.seen.count == 0 { shortest } else { self.shortest.min(shortest) };
        self.longest = self.longest.max(longest);
        self.seen.merge(seen, shift);
        self.examples.extend(examples.into_iter().map(|pos| pos.shifted(shift)));
        self.examples.sort_unstable();
        self.examples.truncate(EXAMPLES);
    }
}
