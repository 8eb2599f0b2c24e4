//! The cursor that walks over one frame, and the few operations every layer is made of.

use super::fast::ShortHead;
use super::layer::LayerKind;
use super::stack::{Costs, Layer, Limit, Note, OpenedEsp, Span, Stack, Stop, StopCause};
use super::{DissectOptions, MAX_LAYERS};
use crate::wire::checksum::Sum;

/// What stands at the cursor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Next {
    /// Nothing that is read further.
    Done,
    /// An Ethernet header: the frame's own, or one inside a tunnel.
    Ethernet(LayerKind),
    /// What an ethertype says.
    EtherType(u16),
    /// What an IP protocol number says.
    Ip(u8),
    /// An IPv4 or IPv6 packet, told apart by its version.
    AnyIp,
    /// An LLC header.
    Llc,
    /// A PPP protocol field, possibly behind address and control.
    Ppp,
    /// A GRE payload whose mirrored Ethernet frame begins here.
    Mirrored(LayerKind),
}

/// A walk over one frame. All positions are offsets in the captured frame.
pub(super) struct Walk<'a, 's> {
    /// The captured octets without FCS.
    pub(super) data: &'a [u8],
    /// Where the next header begins.
    pub(super) pos: usize,
    /// Where, on the wire, what the enclosing headers allow ends.
    pub(super) end: usize,
    /// What set `end`.
    pub(super) limit: Limit,
    /// Where the frame, or the mirrored frame, ends on the wire.
    pub(super) frame_end: usize,
    /// An enclosing IP packet is a first fragment: inner lengths exceed what is here.
    pub(super) fragmented: bool,
    /// A tunnel or IPsec header was passed: mirror shells are payload from here on.
    pub(super) tunnelled: bool,
    /// The length of what is here is not stated anywhere (IP total length 0): whole-word rules say nothing.
    pub(super) length_unknown: bool,
    /// The mirror shell was a first fragment: the mirrored frame goes on in octets that are not here.
    shell_fragmented: bool,
    /// The encapsulated packet is known and stays what it is.
    settled: bool,
    /// Costs of everything passed.
    pub(super) costs: Costs,
    pub(super) stack: &'s mut Stack,
    pub(super) options: &'s DissectOptions,
    /// ESP headers whose payload was decrypted in place.
    pub(super) opened: &'s [OpenedEsp],
}

impl<'a, 's> Walk<'a, 's> {
    #[inline]
    pub(super) fn new(
        data: &'a [u8],
        wire: usize,
        options: &'s DissectOptions,
        opened: &'s [OpenedEsp],
        stack: &'s mut Stack,
    ) -> Self {
        Self {
            data,
            pos: 0,
            end: wire,
            limit: Limit::Frame,
            frame_end: wire,
            fragmented: false,
            tunnelled: false,
            length_unknown: false,
            shell_fragmented: false,
            settled: false,
            costs: Costs::default(),
            stack,
            options,
            opened,
        }
    }

    /// A walk that begins behind the IPv4 header that was read the short way.
    #[inline]
    pub(super) fn behind_ipv4(
        data: &'a [u8],
        wire: usize,
        head: &ShortHead,
        options: &'s DissectOptions,
        stack: &'s mut Stack,
    ) -> Self {
        let costs = Costs { outer_ip: ShortHead::IP as u16, ..Costs::default() };
        let (pos, limit) = (ShortHead::BYTES, Limit::Length(LayerKind::Ipv4));
        Self { pos, end: head.end, limit, costs, ..Self::new(data, wire, options, &[], stack) }
    }

    /// The captured octets from the cursor to what the enclosing headers allow.
    #[inline]
    pub(super) fn bytes(&self) -> &'a [u8] {
        let end = self.end.min(self.data.len());
        self.data.get(self.pos..end).unwrap_or_default()
    }

    /// Octets on the wire from the cursor to what the enclosing headers allow.
    #[inline]
    pub(super) const fn wire_bytes(&self) -> usize {
        self.end.saturating_sub(self.pos)
    }

    /// Whether everything the enclosing headers allow was captured.
    #[inline]
    pub(super) const fn captured(&self) -> bool {
        self.end <= self.data.len()
    }

    /// Records a layer whose header is `bytes` long and moves behind it. False where the stack is full.
    #[inline]
    pub(super) fn push(&mut self, kind: LayerKind, bytes: usize) -> bool {
        if self.stack.layers.len() >= MAX_LAYERS {
            self.stop(kind, StopCause::TooDeep);
            return false;
        }
        // What was cut away begins where the capture ends.
        let start = self.pos.min(self.data.len());
        let captured = self.end.min(self.data.len()).saturating_sub(start).min(bytes);
        let span = Span { start: start as u32, bytes: captured as u32 };
        self.stack.layers.push(Layer { kind, span });
        self.stack.shape.layers = self.stack.shape.layers << 6 | kind as u128;
        self.pos += bytes;
        true
    }

    /// Ends the walk: the layer at the cursor could not be read.
    #[cold]
    pub(super) fn stop(&mut self, layer: LayerKind, cause: StopCause) -> Next {
        self.stack.stop = Some(Stop { layer, offset: self.pos as u32, cause });
        Next::Done
    }

    /// Ends the walk: the header at the cursor needs `needed` octets and they are not there.
    #[cold]
    pub(super) fn too_short(&mut self, layer: LayerKind, needed: usize) -> Next {
        let limit = if self.wire_bytes() >= needed { Limit::Snaplen } else { self.limit };
        let had = self.bytes().len() as u32;
        self.stop(layer, StopCause::TooShort { needed: needed as u32, had, limit })
    }

    /// Ends the walk: a field of the header at the cursor cannot be what it is.
    #[cold]
    pub(super) fn bad_value(
        &mut self,
        layer: LayerKind,
        field: &'static str,
        expected: &'static str,
        actual: u32,
    ) -> Next {
        self.stop(layer, StopCause::BadValue { field, expected, actual })
    }

    /// Ends the walk behind `layer`: what follows is of a number that is not read.
    pub(super) fn unknown(&mut self, layer: LayerKind, number: u32) -> Next {
        self.stop(layer, StopCause::Unknown { number })
    }

    /// Lets `bytes` from the cursor be all there is, as the header `layer` states.
    /// Where that is more than there is, what is there remains, and outside fragments the contradiction is noted.
    #[inline]
    pub(super) fn limit_to(&mut self, layer: LayerKind, from: usize, bytes: usize) {
        let end = from + bytes;
        if end <= self.end {
            self.end = end;
            self.limit = Limit::Length(layer);
        } else if self.shell_fragmented && self.stack.ips.is_empty() {
            self.extend_mirrored(end);
        } else {
            self.contradiction(layer, bytes, self.end.saturating_sub(from));
        }
    }

    /// The mirrored frame is longer than the fragment of the shell that holds its beginning: what is missing counts as
    /// on the wire and not captured.
    #[cold]
    fn extend_mirrored(&mut self, end: usize) {
        self.end = end;
        self.frame_end = end;
        self.stack.frame_bytes = end.saturating_sub(self.stack.start as usize) as u32;
        self.stack.flags.in_shell_fragment = !self.stack.flags.cut_by_snaplen;
        self.stack.flags.cut_by_snaplen = true;
        self.stack.flags.offloaded |= self.stack.frame_bytes > super::LONGEST_FRAME;
    }

    #[cold]
    fn contradiction(&mut self, layer: LayerKind, claims: usize, has: usize) {
        if self.stack.ips.is_empty() && self.is_sound(layer, claims) {
            self.stack.flags.sliced = true;
            // What is missing was on the wire and was not captured.
            self.end = self.end.saturating_sub(has).saturating_add(claims);
            self.limit = Limit::Length(layer);
            return;
        }
        self.length_unknown = true;
        if !self.fragmented {
            self.stack.notes.push(Note::LengthMismatch { layer, claims: claims as u32, has: has as u32 });
        }
    }

    /// Whether the header at the cursor is whole and states a length that a frame can have: then it is the frame that is too short, and
    /// not the length that is wrong.
    fn is_sound(&self, layer: LayerKind, claims: usize) -> bool {
        claims <= super::LONGEST_FRAME as usize
            && match layer {
                LayerKind::Ipv4 => {
                    let header = self.bytes();
                    let bytes = header.first().map_or(0, |first| usize::from(first & 0x0f) * 4);
                    header
                        .get(..bytes)
                        .is_some_and(|header| !header.is_empty() && Sum::default().octets(header).verifies())
                }
                LayerKind::Ipv6 | LayerKind::Llc => true,
                _ => false,
            }
    }

    /// An IPsec or tunnel header was passed, and its cost counted.
    #[inline]
    pub(super) fn enter_tunnel(&mut self) {
        self.tunnelled = true;
        if !self.settled {
            self.stack.encapsulated = None;
            self.stack.costs = self.costs;
        }
    }

    /// An IP header inside another was met and stands at `index` of the IP headers.
    /// It is the encapsulated packet unless it encapsulates further and shares its endpoints with the outermost, or the innermost is asked for.
    pub(super) fn enter_inner_ip(&mut self, index: usize) {
        self.tunnelled = true;
        if self.settled {
            return;
        }
        self.stack.encapsulated = Some(index as u8);
        self.stack.costs = self.costs;
        if let (Some(outer), Some(inner)) = (self.stack.ips.first(), self.stack.ips.get(index)) {
            self.settled = !self.options.innermost && (outer.src != inner.src || outer.dst != inner.dst);
        }
    }

    /// A mirror shell was passed: the frame at the cursor is what the figures describe, and the stack begins again.
    pub(super) fn peel(&mut self, shell: LayerKind) {
        // What was captured behind the shell's end is not the mirrored frame's.
        self.data = self.data.get(..self.end).unwrap_or(self.data);
        let sliced = self.stack.flags.sliced;
        self.stack.clear();
        self.stack.flags.sliced = sliced;
        self.stack.captured_bytes = self.data.len() as u32;
        self.stack.flags.cut_by_snaplen = self.data.len() < self.end;
        self.stack.shape.shell = shell as u8;
        self.frame_end = self.end;
        self.limit = Limit::Frame;
        self.costs = Costs::default();
        self.settled = false;
        self.tunnelled = false;
        self.length_unknown = false;
        self.shell_fragmented |= self.fragmented;
        self.fragmented = false;
        self.begin();
    }

    /// States where the described frame begins and how long it is on the wire.
    #[inline]
    pub(super) fn begin(&mut self) {
        let bytes = self.frame_end.saturating_sub(self.pos) as u32;
        self.stack.start = self.pos as u32;
        self.stack.frame_bytes = bytes;
        self.stack.flags.offloaded = bytes > super::LONGEST_FRAME;
    }
}
