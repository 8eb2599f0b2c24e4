//! Bins of the report: what was offered, what was carried, what was lost, and when.

use std::collections::BTreeMap;

use super::Matcher;
use super::limits::MAX_LOST;
use crate::matching::measure::quantiles::Quantiles;
use crate::matching::packets::flows::Flows;
use crate::matching::spread::SpreadTally;
use crate::model::pairs::{Direction, LatencyBucket, SpreadBin, TunnelWay};

/// Packets that were lost on the way into the tunnel, by bin: how many, and their bytes.
type Lost = BTreeMap<i64, (u64, u64)>;

impl Matcher {
    /// The width of the bins and all of them. `order`: the place of each direction's SA in the tally. Directions whose loss is not known bin
    /// by bin are told why.
    pub(super) fn bins(
        &self,
        directions: &mut [Direction],
        order: &[usize],
        flows: &Flows,
    ) -> (Option<u64>, Vec<SpreadBin>) {
        let spread = &self.tally.spread;
        let mut rows = Vec::new();
        for ((index, direction), at) in (0_u32..).zip(directions).zip(order) {
            let sa = *at as u32;
            if spread.is_beyond(sa) {
                direction.bins_why = Some("the directions are more than the bins that are kept".into());
                continue;
            }
            if direction.matched == 0 {
                let why = direction.undetermined.as_ref().map(|open| open.reason.clone());
                direction.bins_why = Some(why.unwrap_or_else(|| "no packet was paired".into()));
                continue;
            }
            let lost = self.lost_by_bin(direction, sa, flows);
            let (lost, why) = match lost {
                Ok(lost) => (Some(lost), None),
                Err(why) => (None, Some(why)),
            };
            direction.bins_why = why.map(Into::into);
            let mut bins: BTreeMap<i64, SpreadBin> =
                spread.of(sa).map(|(start, bin)| (start, row(index, start, bin, lost.is_some()))).collect();
            for (start, (frames, bytes)) in lost.into_iter().flatten() {
                let empty = || row(index, start, &SpreadTally::default(), true);
                let bin = bins.entry(start).or_insert_with(empty);
                bin.offered_frames = bin.offered_frames.map(|own| own + frames);
                bin.offered_bytes = bin.offered_bytes.map(|own| own + bytes);
                bin.lost_frames = bin.lost_frames.map(|own| own + frames);
            }
            rows.extend(bins.into_values());
        }
        let width = u64::try_from(spread.width_ns()).ok().filter(|_| !rows.is_empty());
        (width, rows)
    }

    /// Lost packets that no row of the tally has, by bin; else why they are not known one by one.
    fn lost_by_bin(&self, direction: &Direction, sa: u32, flows: &Flows) -> Result<Lost, String> {
        if let Some(open) = &direction.undetermined {
            return Err(open.reason.to_string());
        }
        let unknown = || "it is not known which packets were lost".to_owned();
        if direction.way == TunnelWay::Decapsulated {
            let alone: u64 = self.tally.spread.of(sa).map(|(_, bin)| bin.alone).sum();
            let known = direction.lost_behind_tunnel == Some(alone) && alone == direction.unmatched_tunnel;
            return if known { Ok(Lost::new()) } else { Err(unknown()) };
        }
        let count = direction.lost_before_tunnel.ok_or_else(unknown)?;
        let own = self.ledger.lost.iter();
        let own = own.filter(|lost| flows.is_selected(lost.flow) && self.tally.sa_of(lost) == Some(sa));
        let (mut lost, mut listed) = (Lost::new(), 0);
        for packet in own {
            let Some(ns) = packet.time.ns() else { return Err(unknown()) };
            let width = self.tally.spread.width_ns();
            let bin = lost.entry(ns.div_euclid(width).saturating_mul(width)).or_default();
            bin.0 += 1;
            bin.1 += u64::from(packet.bytes);
            listed += 1;
        }
        match listed {
            all if all == count => Ok(lost),
            some if some < count && self.ledger.lost.len() >= MAX_LOST => {
                Err(format!("lost packets beyond the {MAX_LOST} that are listed are counted only"))
            }
            _ => Err(unknown()),
        }
    }
}

fn row(direction: u32, start_ns: i64, bin: &SpreadTally, known: bool) -> SpreadBin {
    let whole = bin.unsized_pairs == 0;
    SpreadBin {
        direction,
        start_ns,
        offered_frames: known.then_some(bin.pairs + bin.alone),
        offered_bytes: (known && whole).then_some(bin.sent_bytes + bin.alone_bytes),
        carried_frames: bin.pairs,
        carried_bytes: whole.then_some(bin.carried_bytes),
        lost_frames: known.then_some(bin.alone),
        latency_p50_ns: (!bin.times.is_empty()).then(|| bin.times.at(0.5)),
        latency_max_ns: (!bin.times.is_empty()).then(|| bin.times.most()),
    }
}

/// A distribution as a histogram.
pub(super) fn buckets(times: &Quantiles) -> Option<Vec<LatencyBucket>> {
    let bucket = |(from_ns, to_ns, count)| LatencyBucket { from_ns, to_ns, count };
    (!times.is_empty()).then(|| times.ranges().into_iter().map(bucket).collect())
}
