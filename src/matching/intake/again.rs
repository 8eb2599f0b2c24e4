//! Packets whose headers came before: what was taken of the first of them holds for all, but for lengths, numbers and content.
//!
//! Most frames of either side are such. They are not dissected: a table by their headers keeps the packet that the first one became.

use super::PlainWay;
use crate::capture::Frame;
use crate::dissect::{DissectOptions, HeadersAgain, Note, SharedHeaders, ShownInside, digest};
use crate::keys::Sight;
use crate::matching::content::identity::{Identity, Kin};
use crate::matching::packets::ledger::{Plain, Tunnelled};
use crate::matching::{Matcher, Side};
use crate::model::Protocol;
use crate::model::report::Pattern;

/// Headers that are kept on either side.
const PLACES: usize = 512;

/// What the headers of packets say.
#[derive(Debug)]
struct ByHeaders<T> {
    places: Vec<Option<(SharedHeaders, T)>>,
}

impl<T> Default for ByHeaders<T> {
    fn default() -> Self {
        Self { places: Vec::new() }
    }
}

impl<T> ByHeaders<T> {
    #[inline(always)]
    const fn place(headers: &SharedHeaders) -> usize {
        headers.number() as usize % PLACES
    }

    #[inline]
    fn get(&self, headers: &SharedHeaders) -> Option<&T> {
        match self.places.get(Self::place(headers)) {
            Some(Some((own, value))) if own.are(headers) => Some(value),
            _ => None,
        }
    }

    fn put(&mut self, headers: SharedHeaders, value: T) {
        if self.places.is_empty() {
            self.places.resize_with(PLACES, || None);
        }
        if let Some(place) = self.places.get_mut(Self::place(&headers)) {
            *place = Some((headers, value));
        }
    }
}

/// A plaintext packet, its link, and the digest of its addresses.
#[derive(Clone, Copy, Debug)]
struct KnownPlain {
    packet: Plain,
    link: u16,
    addresses: u64,
}

/// A packet in the tunnel, and the digest of the addresses inside.
#[derive(Clone, Copy, Debug)]
struct KnownTunnelled {
    packet: Tunnelled,
    /// Number of its way, where it is opaque ESP.
    way: Option<u32>,
    addresses: u64,
}

/// Packets of both sides by their headers.
#[derive(Debug, Default)]
pub(in crate::matching) struct KnownHeaders {
    /// How frames are dissected; `None` where all of them are.
    options: Option<DissectOptions>,
    plain: ByHeaders<KnownPlain>,
    tunnelled: ByHeaders<KnownTunnelled>,
    /// Whether some of them are of ESP-NULL, and room for what shows that others are.
    has_null: bool,
    notes: Vec<Note>,
}

#[inline(always)]
fn pad(frame: &HeadersAgain<'_>) -> (u32, Option<Pattern>) {
    (frame.pad_bytes, frame.pad.and_then(Pattern::of))
}

impl Matcher {
    /// Frames are dissected with these options, and none of them is opened: those whose headers came before need not be dissected.
    pub(crate) fn know_headers(&mut self, options: &DissectOptions) {
        // What is compared end to end asks for more than these packets have.
        self.known.options = self.ends.is_none().then(|| options.clone());
    }

    /// Takes in a frame of a side (of `both` at once) whose headers came before. False where it has to be dissected.
    #[inline]
    pub(crate) fn again(&mut self, side: Side, both: bool, frame: &Frame<'_>) -> bool {
        if self.known.options.is_none() {
            return false;
        }
        match HeadersAgain::of(frame) {
            Some(own) => self.read_again(side, both, frame, own),
            None => self.otherwise_again(side, both, frame),
        }
    }

    #[inline(never)]
    fn otherwise_again(&mut self, side: Side, both: bool, frame: &Frame<'_>) -> bool {
        HeadersAgain::otherwise(frame).is_some_and(|own| self.read_again(side, both, frame, own))
    }

    #[inline(always)]
    fn read_again(&mut self, side: Side, both: bool, frame: &Frame<'_>, own: HeadersAgain<'_>) -> bool {
        match side {
            Side::Plain => self.plain_again(frame, &own, false),
            Side::Tunnel => self.tunnelled_again(frame, own, both) || both && self.plain_again(frame, &own, true),
            Side::Exit => false,
        }
    }

    fn plain_again(&mut self, frame: &Frame<'_>, own: &HeadersAgain<'_>, both: bool) -> bool {
        let Some(known) = self.known.plain.get(&own.headers).filter(|_| own.is_unprefixed()) else { return false };
        if !self.order.link_again(known.link) {
            return false;
        }
        let (pad_bytes, pattern) = pad(own);
        let (addresses, protocol) = (known.addresses, own.protocol);
        let packet = Plain {
            pos: frame.pos,
            time: frame.time,
            bytes: own.outer.total_bytes,
            pad_bytes,
            pattern,
            identity: Identity::between(addresses, protocol, &own.outer),
            kin: Kin::of_whole_between(addresses, protocol, &own.outer),
            frame_bytes: own.wire_bytes,
            ..known.packet
        };
        let way = PlainWay { link: Some(known.link), outer: None, is_tunnelled: false };
        self.see(Side::Plain, both, frame);
        self.take_plain(packet, way);
        true
    }

    #[inline(always)]
    fn tunnelled_again(&mut self, frame: &Frame<'_>, own: HeadersAgain<'_>, both: bool) -> bool {
        if own.is_ah() {
            return own.into_ah().is_some_and(|own| self.inside_again(frame, &own, both));
        }
        let Some(known) = self.known.tunnelled.get(&own.headers) else { return self.null_again(frame, own, both) };
        let Some(sequence) = own.opaque_sequence() else { return false };
        let (pad_bytes, pattern) = pad(&own);
        let packet = Tunnelled {
            pos: frame.pos,
            time: frame.time,
            sequence: Some(sequence),
            outer_bytes: own.outer.total_bytes,
            esp: Some(own.esp_bytes() as u32),
            frame_bytes: own.wire_bytes,
            pad_bytes,
            pattern,
            ..known.packet
        };
        let way = known.way;
        self.see(Side::Tunnel, both, frame);
        self.take_tunnelled(packet, way);
        true
    }

    /// ESP whose headers are not those of opaque ESP.
    fn null_again(&mut self, frame: &Frame<'_>, own: HeadersAgain<'_>, both: bool) -> bool {
        if !self.known.has_null || !own.is_esp() {
            return false;
        }
        let Some(own) = own.into_null(&mut self.known.notes) else { return false };
        let Some(support) = own.null else { return false };
        let Some(known) = self.known.tunnelled.get(&own.frame.headers) else { return false };
        if let Some(sa) = self.order.sas.get_mut(known.packet.sa as usize) {
            sa.null.show(support.icv_bytes, support.iv_bytes, true);
        }
        self.inside_again(frame, &own, both)
    }

    /// AH or ESP-NULL that shows the packet inside.
    fn inside_again(&mut self, frame: &Frame<'_>, own: &ShownInside<'_>, both: bool) -> bool {
        let Some(known) = self.known.tunnelled.get(&own.frame.headers) else { return false };
        let (pad_bytes, pattern) = pad(&own.frame);
        let mut packet = Tunnelled {
            pos: frame.pos,
            time: frame.time,
            sequence: Some(own.sequence),
            outer_bytes: own.frame.outer.total_bytes,
            identity: Identity::between(known.addresses, own.protocol, &own.inner),
            kin: Kin::of_part_between(known.addresses, own.protocol, &own.inner),
            frame_bytes: own.frame.wire_bytes,
            pad_bytes,
            pattern,
            ..known.packet
        };
        if let Some(inner) = &mut packet.inner {
            let mut of_esp = 0;
            if let Some(null) = &own.null {
                inner.esp.pad = null.pad_bytes.unwrap_or(0).into();
                of_esp = inner.esp.behind();
            }
            (inner.bytes, inner.carried_pad) = (own.inner.total_bytes, own.behind_bytes.saturating_sub(of_esp));
        }
        self.see(Side::Tunnel, both, frame);
        self.note_cut(frame, &packet);
        self.take_tunnelled(packet, None);
        true
    }

    /// Keeps what a plaintext packet became, for those with the same headers.
    pub(super) fn know_plain(&mut self, sight: &Sight<'_>, packet: &Plain, link: u16) {
        let Some(options) = &self.known.options else { return };
        let Some((own, outer)) = HeadersAgain::any(&sight.frame).zip(sight.stack.outer()) else { return };
        // What found no room shares its numbers with others.
        let has_room = packet.flow != 0 && self.order.is_link(link, sight.stack.macs);
        if has_room && own.is_by_headers(sight.stack, options) {
            let addresses = digest::pair(outer.src, outer.dst);
            self.known.plain.put(own.headers, KnownPlain { packet: *packet, link, addresses });
        }
    }

    /// Keeps what a packet in the tunnel became, for those with the same headers.
    pub(super) fn know_tunnelled(&mut self, sight: &Sight<'_>, packet: &Tunnelled) {
        let Some(options) = &self.known.options else { return };
        let stack = sight.stack;
        let (Some(own), [sa], false) = (HeadersAgain::any(&sight.frame), stack.sas.as_slice(), sight.decrypted) else {
            return;
        };
        let Some(inner) = stack.ips.last().filter(|_| own.is_by_headers(stack, options)) else { return };
        let way = self.beside.number(stack.macs);
        let known = KnownTunnelled { packet: *packet, way, addresses: digest::pair(inner.src, inner.dst) };
        let shows_inside = stack.encapsulated == Some(1) && packet.inner.is_some();
        let headers = match sa.protocol {
            Protocol::Ah if shows_inside => own.into_ah().map(|own| own.frame.headers),
            Protocol::Esp if shows_inside && stack.null.is_some() => {
                let own = own.into_null(&mut self.known.notes);
                self.known.has_null |= own.is_some();
                own.map(|own| own.frame.headers)
            }
            // Of the first packets the IVs are kept.
            Protocol::Esp if packet.esp.is_some() && way.is_some() && self.order.has_ivs(packet.sa) => {
                own.opaque_sequence().map(|_| own.headers)
            }
            _ => None,
        };
        if let Some(headers) = headers {
            self.known.tunnelled.put(headers, known);
        }
    }
}

#[cfg(test)]
mod tests;
