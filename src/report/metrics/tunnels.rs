//! Figures of tunnels, over all SAs from one address to another: SAs come and go with every rekeying.

use std::collections::BTreeMap;

use crate::model::report::Report;

/// Tap, source and destination.
pub(in crate::report) type Ends = (String, String, String);

/// Figures of the SAs from one address to another.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(in crate::report) struct TunnelSums {
    pub(in crate::report) frames: u64,
    /// Numbers that were never seen; `None` where no SA has numbers.
    pub(in crate::report) lost: Option<u64>,
    seen: u64,
    overhead: f64,
    known: u64,
}

impl TunnelSums {
    /// The part of the numbers that was never seen, from 0 to 1.
    pub(in crate::report) fn loss(&self) -> Option<f64> {
        let lost = self.lost?;
        let numbers = self.seen.saturating_add(lost);
        (numbers > 0).then(|| lost as f64 / numbers as f64)
    }

    /// Mean overhead in octets, where it is known of all frames.
    pub(in crate::report) fn overhead_bytes(&self) -> Option<f64> {
        (self.known > 0 && self.known == self.frames).then(|| self.overhead / self.known as f64)
    }
}

/// By tap, source and destination.
pub(in crate::report) fn carried(report: &Report) -> BTreeMap<Ends, TunnelSums> {
    let mut all = BTreeMap::<Ends, TunnelSums>::new();
    for sa in &report.sas {
        let sum = all.entry((sa.tap.to_string(), sa.src.to_string(), sa.dst.to_string())).or_default();
        sum.frames = sum.frames.saturating_add(sa.frames);
        if let Some(sequence) = &sa.sequence {
            sum.seen = sum.seen.saturating_add(sa.frames.saturating_sub(sequence.duplicate));
            sum.lost = Some(sum.lost.unwrap_or(0).saturating_add(sequence.lost));
        }
        if let Some(mean) = sa.overhead.mean_bytes {
            sum.known = sum.known.saturating_add(sa.frames);
            sum.overhead += mean * sa.frames as f64;
        }
    }
    all
}
