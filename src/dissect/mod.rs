//! A frame becomes a [`Stack`]: the layers that parsed, and where and why parsing stopped. Never fails.
//!
//! [`dissect`] walks a frame header by header. Lengths on the wire and captured octets are kept apart: what enclosing
//! length fields allow decides what belongs to a packet, the snapshot length only what of it can be read.
//!
//! - A later IP fragment ends the walk ([`LayerKind::Fragment`]); a first fragment is walked as far as it goes.
//! - Mirror shells (VXLAN, GENEVE, ERSPAN, TZSP) outside every tunnel are peeled: the stack begins again with the
//!   mirrored frame. Inside a tunnel they are payload, and the walk ends with them.
//! - ESP is opaque, unless one frame alone shows beyond doubt that it is ESP-NULL ([`Stack::null`]), or whoever has its key decrypted
//!   it in place ([`dissect_opened`]).
//! - A packet quoted in an ICMP error is never part of the stack; what it says is in [`Note::TooBig`].

#![expect(
    clippy::arithmetic_side_effects,
    reason = "offsets and lengths in a frame are below 2^32, in usize, and costs saturate; scores are sums of a few constants"
)]

pub(crate) mod digest;
mod fast;
mod glance;
mod ip;
mod ipsec;
mod layer;
mod link;
mod name;
mod outline;
mod stack;
mod transport;
mod walk;

pub(crate) use crate::dissect::ipsec::null::NULL_LENGTH_BITS;
pub use crate::dissect::ipsec::null::{NULL_DECISIVE, NULL_ICVS, NULL_IVS};
pub(crate) use fast::again::{HeadersAgain, SharedHeaders, ShortPacket, ShownInside};
pub use glance::{Form, Glance, glance};
pub(crate) use glance::{
    IN_IPV6, IN_UDP, OUTLINED, PLAIN, TAGGED, any_look, behind_esp, ipv6_ends, is_opaque, kind_look, kind_of, tos,
};
pub use layer::LayerKind;
pub use name::stack_name;
pub(crate) use outline::{Outline, outline};
pub use stack::{
    Costs, IpHeader, Layer, Limit, Note, NullPeek, NullSupport, OpenedEsp, SaHeader, Shape, Span, Stack, StackFlags,
    Stop, StopCause, Within,
};

use crate::capture::Frame;
use crate::model::LinkType;
use walk::{Next, Walk};

/// The most layers a stack holds; deeper frames stop with [`StopCause::TooDeep`].
pub const MAX_LAYERS: usize = 20;

/// Frames longer than this many octets were never on the wire like this: segmentation offload.
pub const LONGEST_FRAME: u32 = 9_600;

/// What the user knows about the network that frames do not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DissectOptions {
    /// UDP ports besides 500 and 4500 that carry ESP in UDP (RFC 3948), on either side.
    pub udp_ports: Vec<u16>,
    /// TCP ports besides 4500 that carry IKE and ESP in TCP (RFC 9329), on either side.
    pub tcp_ports: Vec<u16>,
    /// VXLAN and GENEVE outside IPsec are overlay tunnels, not mirror shells.
    pub overlay: bool,
    /// The encapsulated packet is the innermost one, not the first inside with other endpoints than the outermost header.
    pub innermost: bool,
}

/// Dissects one frame into `stack`, which is cleared first and keeps its memory.
#[inline]
pub fn dissect(frame: &Frame<'_>, options: &DissectOptions, stack: &mut Stack) {
    let (data, wire) = extent(frame);
    either_way(data, wire, frame.link, options, stack);
    if frame.fcs_bytes == 0
        && frame.link == LinkType::ETHERNET
        && data.len() == wire
        && let Some(bare) = crate::dissect::link::fcs::follows(data, stack)
    {
        if crate::dissect::link::fcs::is_right(data) {
            either_way(bare, bare.len(), frame.link, options, stack);
            stack.flags.fcs_found = true;
        } else {
            stack.flags.fcs_absent = crate::dissect::link::fcs::is_all(bare, stack);
        }
    }
}

/// The short way where it fits, else the walk.
#[inline]
fn either_way(data: &[u8], wire: usize, link: LinkType, options: &DissectOptions, stack: &mut Stack) {
    begin(data, wire, stack);
    let head = if link == LinkType::ETHERNET { fast::ethernet_ipv4(data, wire, stack) } else { None };
    match head {
        None => general(data, wire, link, options, &[], stack),
        Some(head) if fast::opaque_esp(data, &head, stack) || fast::behind(data, &head, options, stack) => {}
        Some(head) => go_on(Walk::behind_ipv4(data, wire, &head, options, stack), Next::Ip(head.protocol)),
    }
}

/// Dissects a frame in whose octets ESP was decrypted in place: the walk goes on into what each ESP header of `opened` carries.
pub fn dissect_opened(frame: &Frame<'_>, options: &DissectOptions, opened: &[OpenedEsp], stack: &mut Stack) {
    let (data, wire) = extent(frame);
    begin(data, wire, stack);
    general(data, wire, frame.link, options, opened, stack);
}

/// The octets of a frame without FCS, and how many of them were on the wire.
#[inline]
fn extent<'a>(frame: &Frame<'a>) -> (&'a [u8], usize) {
    // A capture that holds more octets than it says were on the wire is wrong about the wire.
    let wire = (frame.wire_bytes as usize).max(frame.data.len()).saturating_sub(usize::from(frame.fcs_bytes));
    (frame.data.get(..wire).unwrap_or(frame.data), wire)
}

/// A clear stack that knows what of the frame was captured.
#[inline]
fn begin(data: &[u8], wire: usize, stack: &mut Stack) {
    stack.clear();
    stack.captured_bytes = data.len() as u32;
    stack.flags.cut_by_snaplen = data.len() < wire;
}

/// The walk over any frame, header by header.
fn general(
    data: &[u8],
    wire: usize,
    link: LinkType,
    options: &DissectOptions,
    opened: &[OpenedEsp],
    stack: &mut Stack,
) {
    let mut walk = Walk::new(data, wire, options, opened, stack);
    walk.begin();
    let next = link::first(&mut walk, link);
    go_on(walk, next);
}

/// The rest of a walk, from what stands at its cursor on.
fn go_on(mut walk: Walk<'_, '_>, mut next: Next) {
    loop {
        next = match next {
            Next::Done => break,
            Next::Ethernet(kind) => crate::dissect::link::ethernet::ethernet(&mut walk, kind),
            Next::EtherType(number) => crate::dissect::link::ethernet::by_ethertype(&mut walk, number),
            Next::Ip(protocol) => ip::by_protocol(&mut walk, protocol),
            Next::AnyIp => ip::by_version(&mut walk),
            Next::Llc => crate::dissect::link::ethernet::llc(&mut walk),
            Next::Ppp => link::ppp(&mut walk),
            Next::Mirrored(shell) => crate::dissect::link::overlay::mirrored(&mut walk, shell),
        };
    }
}
