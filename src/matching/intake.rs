//! What each side's frames bring: packets that wait for their counterpart.

pub(super) mod again;

use super::limits::MAX_SAS;
use super::{Matcher, Side, TunnelKey};
use crate::capture::Frame;
use crate::dissect::{IpHeader, Note, Stack};
use crate::keys::Sight;
use crate::matching::content::identity::Kin;
use crate::matching::measure::watch::Watch;
use crate::matching::order::lane::PlainItem;
use crate::matching::order::pairs::{Null, SaInfo};
use crate::matching::packets::flows::FlowKey;
use crate::matching::packets::ledger::{Plain, Serial, Tunnelled, TunnelledFate};
use crate::matching::packets::links::Macs;
use crate::matching::packets::reach::Reach;
use crate::matching::packets::tunnel::Role;
use crate::model::SaKey;
use crate::transform::iv::IvSample;

/// Which way opaque ESP goes: the MACs of its frame, or their number.
enum EspWay {
    Macs(Option<Macs>),
    Known(Option<u32>),
}

/// Where a plaintext packet goes, and what else its frame says.
struct PlainWay<'s> {
    /// The link of the frame; `None` under IPsec. Such a packet passes through the gateway, or is the gateway's own tunnel packet.
    link: Option<u16>,
    /// Its header, where packets are compared end to end.
    outer: Option<&'s IpHeader>,
    is_tunnelled: bool,
}

impl Matcher {
    /// Takes in a frame of the plain side.
    pub(crate) fn plain(&mut self, sight: Sight<'_>) {
        self.see_plain(&sight.frame);
        if self.note_too_big(sight.stack) {
            self.refuse(&sight);
        }
        self.plain_packet(sight);
    }

    #[inline]
    fn see_plain(&mut self, frame: &Frame<'_>) {
        self.plain.see(frame.time);
        if let Some(ns) = frame.time.ns() {
            let [plain, _] = &mut self.ledger.silences;
            plain.see(ns, frame.pos.capture());
            if let Some(ends) = &mut self.ends {
                let [near, _] = &mut ends.silences;
                near.see(ns, frame.pos.capture());
            }
        }
    }

    #[inline]
    fn see_tunnel(&mut self, frame: &Frame<'_>) {
        self.tunnel.see(frame.time);
        if let Some(ns) = frame.time.ns() {
            let [_, tunnel] = &mut self.ledger.silences;
            tunnel.see(ns, frame.pos.capture());
        }
    }

    #[inline]
    fn see_both(&mut self, frame: &Frame<'_>) {
        self.plain.see(frame.time);
        self.tunnel.see(frame.time);
    }

    /// Takes note of the time of a frame of a side, or of `both`.
    #[inline]
    fn see(&mut self, side: Side, both: bool, frame: &Frame<'_>) {
        match side {
            _ if both => self.see_both(frame),
            Side::Plain => self.see_plain(frame),
            Side::Tunnel => self.see_tunnel(frame),
            Side::Exit => {}
        }
    }

    fn plain_packet(&mut self, sight: Sight<'_>) {
        let role = sight.role();
        let Some(outer) = sight.stack.outer().filter(|_| role != Role::None) else { return };
        let key = FlowKey { src: outer.src, dst: outer.dst, protocol: outer.protocol };
        let flow = self.ledger.flows.number(key);
        let packet = sight.plain(outer, flow);
        let link = sight.stack.sas.is_empty().then(|| {
            let link = self.order.link(sight.stack.macs, (key, flow), &mut self.ledger.flows);
            self.know_plain(&sight, &packet, link);
            link
        });
        self.take_plain(packet, PlainWay { link, outer: Some(outer), is_tunnelled: role == Role::Tunnelled });
    }

    fn take_plain(&mut self, mut packet: Plain, way: PlainWay<'_>) {
        let PlainWay { link, outer, is_tunnelled } = way;
        let [copies, _] = &mut self.copies;
        let again = copies.repeats(&packet);
        if again.is_some() && self.once.plain {
            self.plain.copies += 1;
            return;
        }
        let again = again == Some(true);
        self.plain.packets += 1;
        self.plain.tunnelled += u64::from(is_tunnelled);
        if again && let Some(flow) = self.ledger.flows.get_mut(packet.flow) {
            flow.repeated += 1;
        }
        if let Some((ends, outer)) = self.ends.as_mut().zip(outer) {
            ends.read(self.plain, self.exit);
            ends.plain(&packet, outer, (self.exit.until(), again));
        }
        self.ledger.has_fragments |= matches!(packet.kin, Kin::Joined(_));
        let Plain { identity, time, bytes, flow, .. } = packet;
        if let Some(flow) = self.ledger.flows.get_mut(flow).filter(|_| link.is_none()) {
            flow.hidden += 1;
        }
        if let Some(identity) = identity {
            if self.beside.take(identity) {
                let serial = self.ledger.plain.push(packet);
                self.ledger.clear(serial);
                return;
            }
            if let Some((tunnelled, more)) = self.tunnelled_with(identity, &packet) {
                let serial = self.ledger.plain.push(packet);
                self.pair_content(serial, tunnelled, more, true);
                if let Some(index) = &mut self.plain_index {
                    index.note(identity);
                }
                return;
            }
        }
        if let Some((index, identity)) = self.plain_index.as_mut().zip(identity) {
            index.insert(identity, self.ledger.plain.next());
            packet.indexed = true;
        }
        let serial = self.ledger.plain.push(packet);
        if let Some((ns, link)) = time.ns().zip(link) {
            self.order.plain(link, PlainItem { serial, ns, bytes, flow });
        }
    }

    /// Takes in a frame of the tunnel's side.
    pub(crate) fn tunnel(&mut self, sight: Sight<'_>) {
        self.see_tunnel(&sight.frame);
        self.note_too_big(sight.stack);
        match sight.role() {
            Role::None => {}
            Role::Plain if sight.stack.outer().is_some_and(|outer| self.trains.awaits(outer)) => {
                self.trains.piece(&mut self.ledger, sight);
            }
            Role::Plain => self.beside(&sight),
            Role::Piece => self.trains.piece(&mut self.ledger, sight),
            Role::Tunnelled => self.tunnelled(sight),
        }
    }

    /// Takes in a frame of a capture that serves as both sides: what it is decides.
    pub(crate) fn both(&mut self, sight: Sight<'_>) {
        self.see_both(&sight.frame);
        if self.note_too_big(sight.stack) {
            self.refuse(&sight);
        }
        match sight.role() {
            Role::None => {}
            Role::Plain if sight.stack.outer().is_some_and(|outer| self.trains.awaits(outer)) => {
                self.trains.piece(&mut self.ledger, sight);
            }
            Role::Plain => self.plain_packet(sight),
            Role::Piece => self.trains.piece(&mut self.ledger, sight),
            Role::Tunnelled => self.tunnelled(sight),
        }
    }

    /// Takes in a frame of the far plain side.
    pub(crate) fn exit(&mut self, sight: Sight<'_>) {
        self.exit.see(sight.frame.time);
        if let (Some(ns), Some(ends)) = (sight.frame.time.ns(), &mut self.ends) {
            let [_, far] = &mut ends.silences;
            far.see(ns, sight.frame.pos.capture());
        }
        self.note_too_big(sight.stack);
        self.exit.tunnelled += u64::from(sight.role() == Role::Tunnelled);
        if let Some(outer) = sight.stack.outer().filter(|_| sight.role() != Role::None)
            && let Some(ends) = &mut self.ends
        {
            let packet = sight.plain(outer, 0);
            let [_, copies] = &mut self.copies;
            let again = copies.repeats(&packet);
            if again.is_some() && self.once.exit {
                self.exit.copies += 1;
                return;
            }
            let again = again == Some(true);
            self.exit.packets += 1;
            ends.read(self.plain, self.exit);
            ends.exit(&packet, outer, (self.plain.until(), again));
        }
    }

    /// Takes note of an ICMP error that says a packet was too big; whether it is one.
    fn note_too_big(&mut self, stack: &Stack) -> bool {
        /// Pairs of addresses whose MTU is kept.
        const PAIRS: usize = 4_096;
        let mut is_one = false;
        for note in &stack.notes {
            let Note::TooBig { mtu, src, dst, sa: None } = note else { continue };
            is_one = true;
            if *mtu > 0 && (self.ledger.too_big.len() < PAIRS || self.ledger.too_big.contains_key(&(*src, *dst))) {
                let own = self.ledger.too_big.entry((*src, *dst)).or_insert(*mtu);
                *own = (*own).min(*mtu);
            }
        }
        is_one
    }

    fn tunnelled(&mut self, sight: Sight<'_>) {
        let stack = sight.stack;
        let Some(outer) = stack.outer() else { return };
        self.tunnel.packets += 1;
        self.tunnel.tunnelled += 1;
        self.nested |= stack.encapsulated.is_some_and(|at| usize::from(at) + 1 < stack.ips.len());
        let key = match stack.carriers().last() {
            Some(header) => {
                let ip = stack.ips.get(usize::from(header.ip)).unwrap_or(outer);
                TunnelKey::Sa(SaKey { protocol: header.protocol, src: ip.src, dst: ip.dst, spi: header.spi })
            }
            None => TunnelKey::Bare(outer.protocol, outer.src, outer.dst),
        };
        let id = self.number(key);
        let null = self.order.sas.get(id as usize).map_or(Null::default(), |own| own.null);
        let mut packet = sight.tunnelled(outer, id, null);
        self.know_tunnelled(&sight, &packet);
        self.watch(&mut packet);
        self.note_cut(&sight.frame, &packet);
        if self.has_no_counterpart(&sight, id) {
            return;
        }
        let serial = self.ledger.tunnel.push(packet);
        if outer.more_fragments {
            self.trains.first(&mut self.ledger, outer, serial, &sight);
        }
        if self.find(serial, &packet, EspWay::Macs(stack.macs))
            && let Some(raw) = packet.sequence
        {
            self.iv(&sight, id, raw);
        }
    }

    /// Takes note of a packet that would show what is inside, had more of its frame been captured.
    fn note_cut(&mut self, frame: &Frame<'_>, packet: &Tunnelled) {
        let is_cut = packet.identity.is_none() && packet.esp.is_none() && frame.data.len() < frame.wire_bytes as usize;
        if is_cut && let Some(sa) = self.order.sas.get_mut(packet.sa as usize) {
            sa.cut += 1;
        }
    }

    /// Takes in a packet in the tunnel that is whole, like one that was taken in before.
    fn take_tunnelled(&mut self, mut packet: Tunnelled, way: Option<u32>) {
        self.tunnel.packets += 1;
        self.tunnel.tunnelled += 1;
        self.watch(&mut packet);
        let serial = self.ledger.tunnel.push(packet);
        self.find(serial, &packet, EspWay::Known(way));
    }

    /// Takes note of the number of a packet.
    #[inline]
    fn watch(&mut self, packet: &mut Tunnelled) {
        packet.again = match (packet.sequence, packet.time.ns(), self.watches.get_mut(packet.sa as usize)) {
            (Some(raw), Some(ns), Some(watch)) => {
                let again = watch.see(raw, ns);
                let [_, silences] = &self.ledger.silences;
                self.jumps.note(silences, packet.sa, raw, ns, watch.step());
                again
            }
            _ => false,
        };
    }

    /// Looks for the counterpart of a packet in the tunnel; whether it is one of opaque ESP, which waits for others.
    #[inline]
    fn find(&mut self, serial: Serial, packet: &Tunnelled, way: EspWay) -> bool {
        let Tunnelled { identity, again, esp, sequence, time, sa, .. } = *packet;
        if let Some(identity) = identity {
            // A copy in the tunnel is the same packet under the same number.
            if again && self.tunnel_index.is_latest(identity) {
                self.ledger.leave(serial, TunnelledFate::Repeated);
            } else {
                self.find_plain(identity, serial);
            }
        } else if let (Some(bytes), Some(raw), Some(ns)) = (esp, sequence, time.ns()) {
            match way {
                EspWay::Macs(macs) => self.beside.esp(macs, ns, bytes),
                EspWay::Known(Some(number)) => self.beside.esp_of(number, ns, bytes),
                EspWay::Known(None) => {}
            }
            self.order.tunnelled(&mut self.ledger, serial, ns, sa, raw);
            return true;
        } else {
            self.ledger.leave(serial, TunnelledFate::Alone);
        }
        false
    }

    /// Keeps the first IVs of an SA: they tell counter modes from CBC.
    fn iv(&mut self, sight: &Sight<'_>, id: u32, sequence: u32) {
        if self.order.has_ivs(id) {
            return;
        }
        let Some(info) = self.order.sas.get_mut(id as usize) else { return };
        let Some(header) = sight.stack.carriers().last() else { return };
        let behind = sight.octets.get(header.offset as usize + 8..).and_then(<[u8]>::first_chunk::<8>);
        if let Some(octets) = behind {
            info.ivs.push(IvSample { sequence, octets: u64::from_be_bytes(*octets) });
        }
    }

    /// Takes in a packet that was put together again and opened.
    pub(crate) fn opened(&mut self, serial: Serial, sight: Sight<'_>) {
        let Some(outer) = sight.stack.outer() else { return };
        let Some(t) = self.ledger.tunnel.get(serial) else { return };
        let inside = sight.tunnelled(outer, t.sa, Null::default());
        let Some(identity) = inside.identity else { return };
        let is_copy = t.again && self.tunnel_index.is_latest(identity);
        if let Some(t) = self.ledger.tunnel.get_mut(serial) {
            (t.inner, t.identity, t.kin, t.costs, t.esp) =
                (inside.inner, inside.identity, inside.kin, inside.costs, None);
        }
        if is_copy {
            self.ledger.leave(serial, TunnelledFate::Repeated);
        } else {
            self.find_plain(identity, serial);
        }
        self.order.opened();
    }

    fn number(&mut self, key: TunnelKey) -> u32 {
        if let Some(id) = self.numbers.get(key) {
            return id;
        }
        // Those beyond the limit share the first number.
        if self.numbers.len() >= MAX_SAS {
            self.tally.refused_sas += 1;
            return 0;
        }
        let id = self.numbers.len() as u32;
        self.numbers.insert(key, id);
        let (src, dst) = key.ends();
        if let TunnelKey::Sa(sa) = key
            && let Some(mapping) = self.given.of(&sa)
        {
            self.order.given.insert(id, mapping);
        }
        self.watches.push(Watch::default());
        self.ledger.sas.push((Reach::default(), usize::from(src < dst)));
        self.usual.push(None);
        self.order.sas.push(SaInfo { src, dst, ivs: Vec::new(), null: Null::default(), cut: 0 });
        self.tally.name(key);
        id
    }
}
