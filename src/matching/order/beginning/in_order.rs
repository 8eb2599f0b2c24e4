//! Where a lane begins by the succession of lengths, because times tell nothing.

use std::collections::BTreeMap;

use super::telling::gaps_tell;
use super::{Beginning, Search};
use crate::matching::limits::MAX_WAITING;
use crate::matching::order::align;
use crate::matching::order::delay::Delay;
use crate::matching::order::lane::{Lane, Place, PlainItem, TunnelItem};
use crate::matching::order::lengths::{move_together, pieces, succession};
use crate::matching::packets::flows::FlowId;

impl Search<'_> {
    /// The pairs that the succession of lengths makes of all packets of a lane, when no more come or there is no room for more. In the latter
    /// case they are only where it begins: those behind them are still to come.
    pub(super) fn in_order(
        &self,
        lane: &Lane,
        plain: &[align::Plain],
        items: &[PlainItem],
        within: (i64, i64),
    ) -> Option<Beginning> {
        if !self.end && lane.tunnelled().len() <= MAX_WAITING / 2 {
            return None;
        }
        let makes = |mapping: u8, inner: u32, esp: u32| lane.mappings.makes(mapping, inner, esp);
        let rows = |places: &[Place]| -> Vec<align::Tunnelled> {
            places.iter().map(|place| lane.tunnelled_of(place, self.ledger)).collect()
        };
        let numbered = lane.places(lane.tunnelled().len());
        let seen: Vec<Place> = numbered.iter().filter(|place| !place.hole).copied().collect();
        // Behind the numbers packets are lost with them; before they have numbers, without a trace.
        let whole = succession(plain, &rows(&seen), makes).map(|found| (found, &seen));
        let is_whole = whole.is_some();
        let in_part = || {
            let has_holes = seen.len() < numbered.len();
            let found = has_holes.then(|| succession(plain, &rows(&numbered), makes)).flatten();
            found.map(|found| (found, &numbered)).or_else(|| Some((pieces(plain, &rows(&seen), makes)?, &seen)))
        };
        let (found, places) = whole.or_else(in_part)?;
        let pair = |(partner, place): (&Option<usize>, &Place)| {
            let item = items.get((*partner)?)?;
            (!place.hole).then_some((*item, place.item))
        };
        let pairs: Vec<(PlainItem, TunnelItem)> = found.partners.iter().zip(places).filter_map(pair).collect();
        if !is_whole && !move_together(&pairs.iter().map(|(p, t)| (p.ns, t.ns, p.bytes)).collect::<Vec<_>>()) {
            return None;
        }
        let partners = found.partners.iter().zip(places).filter(|(_, place)| !place.hole);
        let partners: Vec<(usize, i64)> = partners.filter_map(|(at, place)| Some(((*at)?, place.item.ns))).collect();
        let differences: Vec<i64> = pairs.iter().map(|(p, t)| t.ns.saturating_sub(p.ns)).collect();
        let delay = Delay::of(&differences)?;
        let base = delay.base.unwrap_or(0.0) as i64;
        let mut flows: BTreeMap<FlowId, u32> = BTreeMap::new();
        // Where packets were lost, those around them say when they would have come: they are settled as they follow each other.
        let pairs = if self.end && is_whole {
            pairs.into_iter().map(|(p, t)| (p.serial, t.serial)).collect()
        } else {
            pairs.iter().for_each(|(plain, _)| *flows.entry(plain.flow).or_default() += 1);
            Vec::new()
        };
        (within.0..=within.1).contains(&base).then(|| Beginning {
            weight: found.weight,
            mappings: lane.mappings.clone(),
            delay,
            partial: false,
            flows: flows.into_iter().map(|(flow, count)| (flow, count, count)).collect(),
            pairs,
            told: gaps_tell(&partners, plain, self.ledger.coarseness),
        })
    }
}
