//! What of a tap is traffic in clear.

use super::{SaView, Tap};
use crate::analysis::state::base::seen::Seen;
use crate::analysis::state::base::tables;
use crate::dissect::LayerKind;
use crate::model::{Address, Protocol, SaKey, Spi};

impl<'a> Tap<'a> {
    /// User packets in clear. What looked clear frame by frame and is not: flows that turned out to be ESP in UDP, and
    /// later fragments of such packets, which show nothing but an IP header of protocol 17. Later fragments between the ends of ESP in UDP or of IKE are
    /// of unknown packets, if the first fragment was not seen.
    pub(crate) fn clear(&self) -> Seen {
        let mut clear = self.stream.flows.clear;
        let hidden: u64 = self.sas.iter().map(|sa| sa.taken_for_clear().0).sum();
        let flows = self.stream.tables.flows.iter().filter(|(_, flow)| !flow.inner);
        let copies: u64 = flows.map(|(id, flow)| self.copies_taken_for_clear(id, flow)).sum();
        clear.count = clear.count.saturating_sub(hidden).saturating_sub(self.loose.later_of_ike());
        let headless: u64 = self.headless_of_tunnels().map(|(_, (frames, _))| frames).sum();
        clear.count = clear.count.saturating_sub(copies).saturating_sub(headless);
        self.foreign.iter().for_each(|sa| clear.join(&sa.state.seen));
        clear
    }

    /// Copies that the TAP makes of later fragments of ESP in UDP and of IKE, in the flow between their ends.
    pub(crate) fn copies_taken_for_clear(&self, id: u32, flow: &tables::FlowKey) -> u64 {
        let pieces = self.stream.flows.pieces(id);
        if pieces.are_first() {
            return 0;
        }
        let headless = self.headless_of(id, flow).map_or(0, |(frames, _)| frames);
        let sums = self.esp_between(flow.src, flow.dst).filter(|sa| sa.flow.is_none() && sa.taken_for_clear().0 > 0);
        // Copies that were taken for what a packet lacked are among its fragments already.
        let (later, filled) = sums.filter_map(|sa| sa.fragments.as_ref()).fold((0, 0), |(later, filled), own| {
            (later + own.later.saturating_sub(own.filled.0), filled + own.filled.0)
        });
        let ike = self.stream.notices.speak_ike(flow.src, flow.dst);
        let own = later + headless + if ike { self.loose.later_of_ike() } else { 0 };
        pieces.copies_of(own).saturating_sub(filled)
    }

    /// Later fragments of a flow whose first fragments were not seen, with their octets, if the packets may be of ESP in UDP or TCP or of IKE between
    /// the same ends, or those of a mirror's shell, whose first fragments show the mirrored frame.
    pub(crate) fn headless_of(&self, id: u32, flow: &tables::FlowKey) -> Option<(u64, u64)> {
        let own = *self.loose.headless.get(&id)?;
        let is_carried = |sa: &SaView<'_>| {
            let [_, udp, tcp, _] = sa.state.encapsulations;
            sa.flow.is_some() || udp + tcp > 0
        };
        let is_of_tunnel = self.stream.notices.speak_ike(flow.src, flow.dst)
            || self.esp_between(flow.src, flow.dst).any(is_carried)
            || self.esp_between(flow.dst, flow.src).any(is_carried);
        let frames = self.stream.flows.get(id).map_or(0, |seen| seen.count);
        let is_of_shell = || {
            let is_in_udp =
                |shell: u8| matches!(LayerKind::from_number(shell), Some(kind) if kind != LayerKind::Erspan);
            let mut shells = self.stream.tables.stacks.iter().map(|(_, shape)| shape.shell);
            self.stream.flows.pieces(id).are_all_headless(frames, own.0)
                && shells.any(|shell| shell != 0 && is_in_udp(shell))
        };
        (is_of_tunnel || is_of_shell()).then_some(own)
    }

    /// These of all flows, by the number of the flow.
    pub(crate) fn headless_of_tunnels(&self) -> impl Iterator<Item = (u32, (u64, u64))> {
        let flow = |id: u32| self.stream.tables.flows.get(id);
        self.loose.headless.keys().filter_map(move |&id| Some((id, self.headless_of(id, flow(id)?)?)))
    }

    /// What carries ESP from one end to another.
    pub(crate) fn esp_between(&self, src: Address, dst: Address) -> impl Iterator<Item = &SaView<'a>> {
        self.sas_between(SaKey { protocol: Protocol::Esp, src, dst, spi: Spi(0) })
    }
}

impl SaView<'_> {
    /// Frames of the SA, and their IP octets, that looked like traffic in clear one by one.
    pub(crate) fn taken_for_clear(&self) -> (u64, u64) {
        if self.flow.is_some() {
            let later = self.fragments.as_ref().map_or((0, 0), |own| (own.later, own.later_bytes));
            return (self.state.seen.count + later.0, self.state.outer_bytes.saturating_add(later.1));
        }
        let [native, udp, tcp, _] = self.state.encapsulations;
        match &self.fragments {
            Some(later) if udp + tcp > native => (later.later, later.later_bytes),
            _ => (0, 0),
        }
    }
}
