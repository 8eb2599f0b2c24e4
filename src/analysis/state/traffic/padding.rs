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
    /// By direction: frames longer than the minimum whose trailer lies beyond what was captured.
    cut: BTreeMap<u32, Cut>,
}

/// Trailers that were not captured.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Cut {
    pub(crate) frames: u64,
    pub(crate) shortest: u32,
}

impl Cut {
    fn add(&mut self, frames: u64, shortest: u32) {
        self.shortest = if self.frames == 0 { shortest } else { self.shortest.min(shortest) };
        self.frames += frames;
    }
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

/// Octets of a redundancy control trailer (IEC 62439-3, PRP) that ends the frame, which is on the wire: its suffix, and the size of what the
/// frame carries.
fn redundancy_bytes(octets: &[u8], stack: &Stack, tags: u32) -> u32 {
    const BYTES: u32 = 6;
    const SIZE: u16 = 0x0fff;
    let Some(&[_, _, high, low, 0x88, 0xfb]) = octets.last_chunk() else { return 0 };
    let size = u32::from(u16::from_be_bytes([high, low]) & SIZE);
    let carried = stack.frame_bytes.saturating_sub(ethernet::HEADER + VLAN_BYTES * tags);
    let whole = octets.len() == stack.trailer_bytes as usize && stack.shape.shell == 0;
    if whole && (size == carried || size + BYTES == carried) { BYTES } else { 0 }
}

impl EthernetPadding {
    #[inline]
    pub(crate) fn observe(&mut self, o: &Observation, stack: &Stack, data: &[u8]) {
        if stack.flags.not_ethernet || stack.trailer_bytes == 0 {
            return;
        }
        let Some(trailer) = stack.trailer else {
            let longer = stack.frame_bytes.saturating_sub(stack.trailer_bytes) >= ethernet::MINIMUM_WITHOUT_FCS;
            if stack.shape.shell == 0 && longer {
                self.cut.entry(o.direction).or_default().add(1, stack.trailer_bytes);
            }
            return;
        };
        let octets = data.get(trailer.start as usize..).and_then(|d| d.get(..trailer.bytes as usize));
        // A tagged frame may be filled up to the minimum with its tag or without it (IEEE 802.1Q clause G.2.3).
        let tags = stack.layers.iter().filter(|layer| layer.kind == LayerKind::Vlan).count() as u32;
        let redundancy = octets.map_or(0, |octets| redundancy_bytes(octets, stack, tags));
        let trailer_bytes = stack.trailer_bytes.saturating_sub(redundancy);
        let octets = octets.and_then(|octets| octets.get(..octets.len().saturating_sub(redundancy as usize)));
        let Some((octets, pattern)) = octets.and_then(|octets| Some((octets, Pattern::of(octets)?))) else { return };
        self.cells.entry((o.direction, pattern)).or_default().add(o, trailer_bytes);
        let minimum = stack.start + ethernet::MINIMUM_WITHOUT_FCS;
        let with_tags = minimum + VLAN_BYTES * tags;
        // What goes on beyond either is a trailer, and may begin at the lower one.
        let filled = if trailer.start + trailer_bytes == with_tags { with_tags } else { minimum };
        let most = filled.saturating_sub(trailer.start).min(trailer_bytes);
        if let Some(pattern) = octets.get(..(most as usize).min(octets.len())).and_then(Pattern::of) {
            self.fill.entry((o.direction, pattern)).or_default().add(o, most);
        }
    }

    /// What fills frames up to the minimum.
    pub(crate) fn fill(&self) -> impl Iterator<Item = (u32, Pattern, &PadCell)> {
        self.fill.iter().map(|(&(direction, pattern), cell)| (direction, pattern, cell))
    }

    /// Trailers that were not captured, by direction.
    pub(crate) fn cut(&self) -> impl Iterator<Item = (u32, Cut)> {
        self.cut.iter().map(|(direction, cut)| (*direction, *cut))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, Pattern, &PadCell)> {
        self.cells.iter().map(|(&(direction, pattern), cell)| (direction, pattern, cell))
    }

    pub(crate) fn merge(&mut self, later: Self, shift: Shift, directions: &[u32]) {
        let Self { cells, fill, cut } = later;
        for (direction, theirs) in cut {
            self.cut.entry(remap(directions, direction)).or_default().add(theirs.frames, theirs.shortest);
        }
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
