//! Pairs that turn out to be none.

use super::{Ledger, Lost, PairedPlain, Tunnelled, TunnelledFate};
use crate::matching::limits::MAX_LOST;

impl Ledger {
    /// A packet in the tunnel has no plaintext packet after all: the one that it was paired with is another's. Its number may have been there before.
    pub(in crate::matching) fn part(&mut self, packet: &mut Tunnelled) -> Option<PairedPlain> {
        let TunnelledFate::Paired(pairing) = packet.fate else { return None };
        packet.fate = if packet.again { TunnelledFate::Repeated } else { TunnelledFate::Alone };
        if let Some(anew) = self.anew.get_mut(&packet.sa).filter(|_| packet.again) {
            *anew = anew.saturating_sub(1);
        }
        Some(pairing.plain)
    }

    /// A plaintext packet that was paired was not found in the tunnel after all.
    pub(in crate::matching) fn left_over(&mut self, plain: &PairedPlain) {
        /// How sure it is that it was this one: it has equals.
        const CONFIDENCE: f32 = 0.5;
        let PairedPlain { pos, time, bytes, flow, .. } = *plain;
        self.not_in_tunnel(pos);
        if let Some(own) = self.flows.get_mut(flow) {
            own.matched = own.matched.saturating_sub(1);
        }
        let refused = self.is_refused(flow, bytes);
        if let Some(ns) = time.ns().filter(|ns| !refused && !self.covers_plain(flow, *ns, false)) {
            self.beyond(flow, ns);
            return;
        }
        if let Some(own) = self.flows.get_mut(flow) {
            own.first = Some(own.first.map_or(pos, |first| first.min(pos)));
        }
        let expected = self.expected_in_tunnel(flow, time).filter(|_| !refused);
        let [_, tunnel] = &mut self.silences;
        let silence = expected.and_then(|expected| tunnel.miss(flow, bytes, expected));
        if silence.is_none() {
            self.miss_tunnel(flow, bytes, 1);
        }
        if self.lost.len() < MAX_LOST {
            let lost = Lost { pos, time, bytes, flow, hole: None, refused: false, confidence: CONFIDENCE, silence };
            self.lost.push(lost);
        }
    }
}
