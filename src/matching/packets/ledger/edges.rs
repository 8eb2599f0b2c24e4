//! What the captures cover near their edges, and the packets without counterpart there.

use std::collections::BTreeMap;

use super::{Ledger, Lost, Pairing, SURELY, Tunnelled, TunnelledFate};
use crate::matching::limits::MAX_MISSED;
use crate::matching::packets::flows::FlowId;
use crate::matching::packets::reach::Reach;

/// Times of the pairs of one SA: the first and the last one at the plain tap, and at the tunnel's.
#[derive(Clone, Copy, Debug)]
struct Extent {
    plain: (i64, i64),
    tunnel: (i64, i64),
}

/// Packets that are nearer to an edge of the other capture than packets may be on their way, and the pairs that prove otherwise: packets
/// keep their order, so that what lies between two pairs passed while both taps were recording.
#[derive(Debug, Default)]
pub(in crate::matching) struct Edges {
    /// By flow, on the plain clock.
    plain: Vec<(FlowId, i64)>,
    /// By SA, on the tunnel's clock.
    tunnel: Vec<(u32, i64)>,
    /// By SA.
    pairs: Vec<Option<Extent>>,
}

impl Edges {
    /// Takes note of a packet in the tunnel that is paired.
    pub(in crate::matching) fn pair(&mut self, packet: &Tunnelled) {
        let TunnelledFate::Paired(Pairing { plain, confidence, .. }) = &packet.fate else { return };
        let (Some(plain), Some(tunnel), true) = (plain.time.ns(), packet.time.ns(), *confidence >= SURELY) else {
            return;
        };
        let at = packet.sa as usize;
        if self.pairs.len() <= at {
            self.pairs.resize(at + 1, None);
        }
        let Some(own) = self.pairs.get_mut(at) else { return };
        let own = own.get_or_insert(Extent { plain: (plain, plain), tunnel: (tunnel, tunnel) });
        own.plain = (own.plain.0.min(plain), own.plain.1.max(plain));
        own.tunnel = (own.tunnel.0.min(tunnel), own.tunnel.1.max(tunnel));
    }

    /// A packet of an SA has no counterpart and lies near an edge of the plain capture.
    pub(in crate::matching) fn tunnelled(&mut self, sa: u32, ns: i64) {
        if self.tunnel.len() < MAX_MISSED {
            self.tunnel.push((sa, ns));
        }
    }

    /// How many of these packets lie between two pairs of their tunnel. `sa_of`: the SA of a flow; `tunnel_of`: the tunnel of an SA.
    pub(in crate::matching) fn between<T: Copy + Ord>(
        &self,
        sa_of: impl Fn(FlowId) -> Option<u32>,
        tunnel_of: impl Fn(u32) -> Option<T>,
    ) -> BTreeMap<T, u64> {
        let extents = self.extents(&tunnel_of);
        let plain = self.plain.iter().filter_map(|(flow, ns)| Some((tunnel_of(sa_of(*flow)?)?, *ns, true)));
        let tunnel = self.tunnel.iter().filter_map(|(sa, ns)| Some((tunnel_of(*sa)?, *ns, false)));
        let mut counts = BTreeMap::new();
        for (tunnel, ns, is_plain) in plain.chain(tunnel) {
            let extent = extents.get(&tunnel).map(|own| if is_plain { own.plain } else { own.tunnel });
            if extent.is_some_and(|(first, last)| first <= ns && ns <= last) {
                *counts.entry(tunnel).or_default() += 1;
            }
        }
        counts
    }

    /// How many of these packets of both sides lie beyond the same end of the pairs of their tunnel: they may be each other.
    pub(in crate::matching) fn beyond<T: Copy + Ord>(
        &self,
        sa_of: impl Fn(FlowId) -> Option<u32>,
        tunnel_of: impl Fn(u32) -> Option<T>,
    ) -> BTreeMap<T, u64> {
        let extents = self.extents(&tunnel_of);
        // Before and behind, of the plain side and of the tunnel's.
        let mut counts: BTreeMap<T, [[u64; 2]; 2]> = BTreeMap::new();
        let plain = self.plain.iter().filter_map(|(flow, ns)| Some((tunnel_of(sa_of(*flow)?)?, *ns, true)));
        let tunnel = self.tunnel.iter().filter_map(|(sa, ns)| Some((tunnel_of(*sa)?, *ns, false)));
        for (tunnel, ns, is_plain) in plain.chain(tunnel) {
            let Some(own) = extents.get(&tunnel) else { continue };
            let (first, last) = if is_plain { own.plain } else { own.tunnel };
            let [before, behind] = counts.entry(tunnel).or_default();
            let [of_plain, of_tunnel] = if ns < first { before } else { behind };
            *if is_plain { of_plain } else { of_tunnel } += u64::from(ns < first || ns > last);
        }
        let both = |[plain, tunnel]: [u64; 2]| plain.min(tunnel);
        counts.into_iter().map(|(tunnel, [before, behind])| (tunnel, both(before) + both(behind))).collect()
    }

    /// When the pairs of each tunnel begin and end.
    fn extents<T: Copy + Ord>(&self, tunnel_of: &impl Fn(u32) -> Option<T>) -> BTreeMap<T, Extent> {
        let mut extents: BTreeMap<T, Extent> = BTreeMap::new();
        for (sa, own) in (0..).zip(&self.pairs) {
            let Some((own, tunnel)) = own.as_ref().zip(tunnel_of(sa)) else { continue };
            let all = extents.entry(tunnel).or_insert(*own);
            all.plain = (all.plain.0.min(own.plain.0), all.plain.1.max(own.plain.1));
            all.tunnel = (all.tunnel.0.min(own.tunnel.0), all.tunnel.1.max(own.tunnel.1));
        }
        extents
    }
}

impl Ledger {
    /// A plaintext packet has no counterpart and lies near an edge of the tunnel's capture.
    pub(super) fn beyond(&mut self, flow: FlowId, ns: i64) {
        self.uncovered += 1;
        if let Some(own) = self.flows.get_mut(flow) {
            own.uncovered += 1;
        }
        if self.edges.plain.len() < MAX_MISSED {
            self.edges.plain.push((flow, ns));
        }
    }

    /// Whether the tunnel's capture shows what the plain one does at this time: both were recording, however long the packet was on its
    /// way. `numbered`: a later number was seen.
    pub(super) fn covers_plain(&self, flow: FlowId, ns: i64, numbered: bool) -> bool {
        let own = Some(self.flows.get(flow).reach).filter(Reach::is_proved).unwrap_or(self.reach);
        let Some((least, most)) = own.ever().or(self.supposed) else { return true };
        let [_, (from, to)] = self.recorded;
        ns.saturating_add(least) >= from && (numbered || ns.saturating_add(most) <= to)
    }

    /// Whether the plain capture shows what the tunnel's does at this time.
    pub(in crate::matching) fn covers_tunnel(&self, sa: u32, ns: i64) -> bool {
        let own = self.sas.get(sa as usize).map(|(reach, _)| *reach).filter(Reach::is_proved).unwrap_or(self.reach);
        let Some((least, most)) = own.ever().or(self.supposed) else { return true };
        let [(from, to), _] = self.recorded;
        ns.saturating_sub(most) >= from && ns.saturating_sub(least) <= to
    }

    /// Looks once more at the packets that are taken for lost, now that all pairs say how long packets are on their way: near the edges
    /// of a capture that was not known when they were given up.
    pub(in crate::matching) fn judge_edges(&mut self) {
        let mut lost = std::mem::take(&mut self.lost);
        let is_covered = |own: &Lost| {
            self.is_refused(own.flow, own.bytes)
                || own.time.ns().is_none_or(|ns| self.covers_plain(own.flow, ns, own.hole.is_some()))
        };
        let outside: Vec<Lost> = lost.extract_if(.., |own| !is_covered(own)).collect();
        self.lost = lost;
        for Lost { flow, bytes, silence, time, .. } in outside {
            self.beyond(flow, time.ns().unwrap_or(i64::MIN));
            self.was_not_missed(flow, bytes, silence);
        }
    }
}
