//! TCP, and ESP and IKE in it (RFC 9329).

use etherparse::TcpHeaderSlice;

use super::esp_port::{self, Kind};
use super::ike;
use super::udp::NAT_TRAVERSAL;
use crate::dissect::ipsec;
use crate::dissect::layer::LayerKind;
use crate::dissect::walk::{Next, Walk};
use crate::dissect::{DissectOptions, Note};
use crate::model::Encapsulation;
use crate::wire::ipsec::Esp;

const TCP_BYTES: usize = 20;
/// How a stream of encapsulated messages begins (RFC 9329 section 4).
pub(in crate::dissect) const STREAM_PREFIX: &[u8] = b"IKETCP";
/// The length in front of each message, which counts itself (section 3).
const LENGTH_BYTES: usize = 2;
/// The one octet of a NAT keepalive (RFC 3948 section 2.3).
const KEEPALIVE: u8 = 0xff;
/// SAs of a stack beyond which further messages of a segment are not recorded; a segment holds fewer.
const MOST_SAS: usize = 250;

/// A TCP header (RFC 9293 section 3.1) and, on port 4500 or behind the prefix, the messages behind it.
pub(in crate::dissect) fn tcp(walk: &mut Walk<'_, '_>) -> Next {
    let bytes = walk.bytes();
    let Some(fixed) = bytes.first_chunk::<TCP_BYTES>() else {
        return walk.too_short(LayerKind::Tcp, TCP_BYTES);
    };
    let header_bytes = usize::from(fixed[12] >> 4) * 4;
    if header_bytes < TCP_BYTES {
        return walk.bad_value(LayerKind::Tcp, "data offset", "at least 5 words", u32::from(fixed[12] >> 4));
    }
    let Ok(header) = TcpHeaderSlice::from_slice(bytes) else {
        return walk.too_short(LayerKind::Tcp, header_bytes);
    };
    let ports = (header.source_port(), header.destination_port());
    if !walk.push(LayerKind::Tcp, header_bytes) {
        return Next::Done;
    }
    let payload = walk.bytes();
    let begins = payload.starts_with(STREAM_PREFIX);
    let is_named = carries_esp(ports.0, walk.options) || carries_esp(ports.1, walk.options);
    if begins {
        // The initiator writes it (RFC 9329 section 4): the port is that of the responder.
        walk.stack.notes.push(Note::TcpStream { port: ports.1 });
    }
    walk.stack.flags.tcp_encapsulation = begins || is_named;
    if (begins || is_named) && walk.wire_bytes() != 0 {
        return segment(walk, ports, header_bytes, if begins { STREAM_PREFIX.len() } else { 0 });
    }
    Next::Done
}

/// Whether TCP from or to this port is read as IKE and ESP in TCP even without the stream prefix.
pub(in crate::dissect) fn carries_esp(port: u16, options: &DissectOptions) -> bool {
    port == NAT_TRAVERSAL || options.tcp_ports.contains(&port)
}

/// The payload of a segment of an encapsulated stream. Only one that is whole messages from its first octet to its
/// last is read: anything else may begin in the middle of a message, and a length is then no length.
fn segment(walk: &mut Walk<'_, '_>, ports: (u16, u16), header_bytes: usize, prefix: usize) -> Next {
    walk.pos += prefix;
    if walk.wire_bytes() == 0 {
        walk.pos -= prefix;
        walk.push(LayerKind::TcpEncap, prefix);
        return Next::Done;
    }
    // A keepalive of TCP repeats one octet (RFC 9293 section 3.8.4), and what a message loses to a segment of one, its other pieces show.
    if walk.wire_bytes() == 1 {
        return Next::Done;
    }
    if walk.fragmented || !whole(walk.bytes(), walk.wire_bytes()) {
        walk.stack.flags.tcp_continuation = true;
        return Next::Done;
    }
    walk.costs.tcp = walk.costs.tcp.saturating_add(header_bytes as u16);
    walk.costs.udp = walk.costs.udp.saturating_add(LENGTH_BYTES as u16);
    walk.pos -= prefix;
    if !walk.push(LayerKind::TcpEncap, prefix + LENGTH_BYTES) {
        return Next::Done;
    }
    walk.pos -= LENGTH_BYTES;
    messages(walk, ports)
}

/// Octets of the message behind the length at the start of `bytes`, if it can be one.
fn message_bytes(bytes: &[u8]) -> Option<usize> {
    let (&length, rest) = bytes.split_first_chunk::<LENGTH_BYTES>()?;
    let message = usize::from(u16::from_be_bytes(length)).checked_sub(LENGTH_BYTES)?;
    // The least of ESP is its header; a message whose first word was cut off cannot be told.
    let is_message = message >= Esp::BYTES && rest.len() >= 4;
    (is_message || message == 1 && rest.first() == Some(&KEEPALIVE)).then_some(message)
}

fn whole(mut bytes: &[u8], mut wire: usize) -> bool {
    while wire != 0 {
        let Some(message) = message_bytes(bytes) else { return false };
        let Some(left) = wire.checked_sub(LENGTH_BYTES + message) else { return false };
        wire = left;
        bytes = bytes.get(LENGTH_BYTES + message..).unwrap_or_default();
    }
    true
}

fn messages(walk: &mut Walk<'_, '_>, ports: (u16, u16)) -> Next {
    let segment_end = walk.end;
    let (mut esp_named, mut ike_named) = (false, false);
    while let Some(message) = message_bytes(walk.bytes()) {
        walk.pos += LENGTH_BYTES;
        let next = walk.pos + message;
        let alone = next == segment_end && !esp_named && !ike_named;
        let kind = esp_port::kind(walk.bytes().get(..message).unwrap_or(walk.bytes()), message, false);
        walk.end = next;
        match kind {
            Kind::Ike(marker) if !ike_named => {
                ike_named = true;
                walk.pos += marker;
                ike::message(walk);
            }
            Kind::Esp if alone => return ipsec::esp(walk, Encapsulation::Tcp, ports, None),
            Kind::Esp if walk.stack.sas.len() < MOST_SAS => {
                ipsec::esp_message(walk, message, ports);
                if !esp_named {
                    esp_named = true;
                    walk.push(LayerKind::Esp, Esp::BYTES);
                }
            }
            _ => {}
        }
        walk.pos = next;
        walk.end = segment_end;
        if walk.stack.stop.is_some() {
            break;
        }
    }
    Next::Done
}
