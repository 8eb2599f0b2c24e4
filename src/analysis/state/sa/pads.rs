//! ESP trailers of an SA, where they can be read: what their padding is, and which frames show it.

use serde::{Deserialize, Serialize};

use std::collections::BTreeMap;

use crate::analysis::state::base::listed::{At, Listed};
use crate::model::Shift;

/// A trailer that can be read: of ESP-NULL, or of a packet that was decrypted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SeenTrailer {
    pub(crate) next_header: u8,
    /// Pad length; `None` where the capture was cut before the trailer.
    pub(crate) pad_bytes: Option<u8>,
    /// Whether the padding is 1, 2, 3, ... or none (RFC 4303 section 2.4).
    pub(crate) is_counting: bool,
    /// Whether there is more padding than alignment needs; TFC padding counts.
    pub(crate) is_longer: bool,
    /// Whether TFC padding follows the inner packet (RFC 4303 section 2.7).
    pub(crate) has_tfc: bool,
}

/// Sums over trailers.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Trailers {
    /// Dummy packets: next header 59 (RFC 4303 section 2.6).
    pub(crate) dummy: u64,
    /// Packets with more padding than alignment needs.
    pub(crate) longer_than_needed: u64,
    /// Packets by pad length.
    pub(crate) pads: BTreeMap<u8, u64>,
    /// Frames whose padding is not 1, 2, 3, ...
    pub(crate) irregular: Option<Box<Listed>>,
    /// Frames with TFC padding.
    pub(crate) tfc: Option<Box<Listed>>,
}

impl Trailers {
    pub(crate) const NONE: Self =
        Self { dummy: 0, longer_than_needed: 0, pads: BTreeMap::new(), irregular: None, tfc: None };

    pub(crate) fn add(&mut self, (pos, time): At, trailer: SeenTrailer) {
        self.dummy += u64::from(trailer.next_header == 59);
        let Some(pad) = trailer.pad_bytes else { return };
        self.longer_than_needed += u64::from(trailer.is_longer);
        *self.pads.entry(pad).or_default() += 1;
        for (list, is_in_it) in [(&mut self.irregular, !trailer.is_counting), (&mut self.tfc, trailer.has_tfc)] {
            if is_in_it {
                list.get_or_insert_default().add(pos, time);
            }
        }
    }

    pub(crate) fn merge(&mut self, later: Self, shift: Shift) {
        let Self { dummy, longer_than_needed, pads, irregular, tfc } = later;
        self.dummy += dummy;
        self.longer_than_needed += longer_than_needed;
        for (length, packets) in pads {
            *self.pads.entry(length).or_default() += packets;
        }
        for (own, later) in [(&mut self.irregular, irregular), (&mut self.tfc, tfc)] {
            if let Some(later) = later {
                own.get_or_insert_default().merge(*later, shift);
            }
        }
    }

    /// Packets whose pad length was read.
    pub(crate) fn sized(&self) -> u64 {
        self.pads.values().sum()
    }

    /// Of these, packets whose padding is not 1, 2, 3, ...
    pub(crate) fn irregular(&self) -> u64 {
        self.irregular.as_ref().map_or(0, |listed| listed.count)
    }

    /// How many frames are listed where each list has at most `most`.
    pub(crate) fn listed(&self, most: u64) -> u64 {
        [&self.irregular, &self.tfc].into_iter().flatten().map(|listed| listed.count.min(most)).sum()
    }

    pub(crate) fn truncate(&mut self, most: usize) {
        [&mut self.irregular, &mut self.tfc].into_iter().flatten().for_each(|listed| listed.truncate(most));
    }
}
