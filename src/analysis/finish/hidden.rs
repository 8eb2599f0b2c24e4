//! What hides packets: layers that nobody reads, and fragments that show no header.

use std::collections::BTreeMap;

use crate::analysis::StreamState;
use crate::analysis::state::base::intern::NONE;
use crate::analysis::state::traffic::fragment_sums::FragmentSums;
use crate::analysis::state::traffic::trains::{direction_of_ike, flow_of_headless};
use crate::dissect::stack_name;

/// Layers that packets were seen in which nobody reads.
#[derive(Clone, Copy, Default)]
pub(crate) struct Hidden {
    pub(crate) macsec: bool,
    pub(crate) gtp: bool,
    /// Frames with an EtherType that is not known, with more octets than signalling has.
    pub(crate) unread: bool,
}

impl Hidden {
    pub(super) fn of(stream: &StreamState) -> Self {
        let stacks = || stream.tables.stacks.iter().map(|(_, shape)| stack_name(*shape));
        Self {
            macsec: stacks().any(|name| name.ends_with("/macsec")),
            gtp: stacks().any(|name| name.ends_with("/gtpu")),
            unread: is_unread(stream),
        }
    }
}

/// Whether a tenth of the octets is in frames of which nothing is known behind the Ethernet header and its tags. Clocks, keepalives and the
/// like have EtherTypes of their own, and of LLC nothing is expected but signalling.
fn is_unread(stream: &StreamState) -> bool {
    const OF: u64 = 10;
    let is_unread = |name: &str| matches!(name.rsplit('/').next(), Some("eth" | "vlan" | "vntag" | "hsr"));
    let unread = stream.tables.stacks.iter().filter(|(_, shape)| is_unread(&stack_name(**shape)));
    let octets: u64 =
        unread.filter_map(|(id, _)| stream.totals.stacks.get(id as usize)).map(|(_, octets)| *octets).sum();
    let all: u64 = stream.totals.stacks.iter().map(|(_, octets)| *octets).sum();
    octets > 0 && octets.saturating_mul(OF) >= all
}

/// Whether `frames` are at least one in a hundred of `all`: fewer are stray ones.
pub(crate) const fn is_more_than_stray(frames: u64, all: u64) -> bool {
    frames > 0 && frames.saturating_mul(100) >= all
}

/// Fragments that no SA carries.
#[derive(Default)]
pub(crate) struct Loose {
    /// Later fragments of IKE by direction, with their octets: they look like traffic in clear.
    pub(crate) ike: BTreeMap<u32, (u64, u64)>,
    /// Later fragments of UDP and TCP without their first one by flow, with their octets.
    pub(crate) headless: BTreeMap<u32, (u64, u64)>,
    /// Whether it is uncertain which of the others are one packet.
    pub(crate) is_torn: bool,
}

impl Loose {
    /// Of what became of fragmented packets, by SA number.
    pub(super) fn of(sums: &BTreeMap<u32, FragmentSums>) -> Self {
        let of_ike = |(id, sums): (&u32, &FragmentSums)| Some((direction_of_ike(*id)?, (sums.later, sums.later_bytes)));
        let headless =
            |(id, sums): (&u32, &FragmentSums)| Some((flow_of_headless(*id)?, (sums.later, sums.later_bytes)));
        let is_torn = sums.get(&NONE).is_some_and(|sums| sums.uncertain > 0);
        let (ike, headless) = (sums.iter().filter_map(of_ike).collect(), sums.iter().filter_map(headless).collect());
        Self { ike, headless, is_torn }
    }

    /// Fragments of IKE other than the first ones.
    pub(crate) fn later_of_ike(&self) -> u64 {
        self.ike.values().map(|(frames, _)| frames).sum()
    }

    /// Of these, those in directions of the first 64, a bit each.
    pub(crate) fn later_of_ike_in(&self, directions: u64) -> u64 {
        let own = self.ike.iter().filter(|(id, _)| **id < u64::BITS && directions >> **id & 1 == 1);
        own.map(|(_, (frames, _))| frames).sum()
    }
}
