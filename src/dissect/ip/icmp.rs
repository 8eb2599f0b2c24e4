//! ICMP and ICMPv6: errors that say a packet was too big, and which packet that was.

use etherparse::{Ipv4HeaderSlice, Ipv6HeaderSlice};

use crate::dissect::layer::LayerKind;
use crate::dissect::stack::Note;
use crate::dissect::transport::udp::{IKE, NAT_TRAVERSAL};
use crate::dissect::walk::{Next, Walk};
use crate::model::{Address, Protocol, Spi};
use crate::wire::ipsec::IpComp;

const ICMP_BYTES: usize = 8;

/// ICMP (RFC 792); destination unreachable, fragmentation needed carries the next-hop MTU (RFC 1191 section 4).
pub(in crate::dissect) fn icmp(walk: &mut Walk<'_, '_>) -> Next {
    if let Some((&[3, 4, _, _, _, _, high, low], quoted)) = walk.bytes().split_first_chunk::<ICMP_BYTES>() {
        too_big(walk, u32::from(u16::from_be_bytes([high, low])), quoted);
    }
    leaf(walk, LayerKind::Icmp)
}

/// ICMPv6 (RFC 4443); packet too big carries the MTU (section 3.2).
pub(in crate::dissect) fn icmpv6(walk: &mut Walk<'_, '_>) -> Next {
    if let Some((&[2, _, _, _, mtu @ ..], quoted)) = walk.bytes().split_first_chunk::<ICMP_BYTES>() {
        too_big(walk, u32::from_be_bytes(mtu), quoted);
    }
    leaf(walk, LayerKind::Icmpv6)
}

fn leaf(walk: &mut Walk<'_, '_>, kind: LayerKind) -> Next {
    if walk.bytes().is_empty() {
        return walk.too_short(kind, 4);
    }
    let bytes = walk.wire_bytes();
    walk.push(kind, bytes);
    Next::Done
}

fn too_big(walk: &mut Walk<'_, '_>, mtu: u32, quoted: &[u8]) {
    if let Some(Quoted { src, dst, sa }) = Quoted::read(quoted) {
        walk.stack.notes.push(Note::TooBig { mtu, src, dst, sa });
    }
}

/// What the quoted start of a packet says.
struct Quoted {
    src: Address,
    dst: Address,
    sa: Option<(Protocol, Spi)>,
}

impl Quoted {
    fn read(bytes: &[u8]) -> Option<Self> {
        if bytes.first()? >> 4 == 4 {
            let header = Ipv4HeaderSlice::from_slice(bytes).ok()?;
            let upper = bytes.get(header.slice().len()..)?;
            let later = header.fragments_offset().value() != 0;
            let sa = if later { None } else { quoted_sa(header.protocol().0, upper) };
            Some(Self { src: Address::v4(header.source()), dst: Address::v4(header.destination()), sa })
        } else {
            let header = Ipv6HeaderSlice::from_slice(bytes).ok()?;
            let mut protocol = header.next_header().0;
            let mut upper = bytes.get(header.slice().len()..)?;
            let mut later = false;
            while let (0 | 43 | 44 | 60, Some(&[next, words, high, low])) = (protocol, upper.first_chunk::<4>()) {
                let bytes = if protocol == 44 { 8 } else { (usize::from(words) + 1) * 8 };
                later |= protocol == 44 && u16::from_be_bytes([high, low]) & !7 != 0;
                protocol = next;
                upper = upper.get(bytes..).unwrap_or_default();
            }
            let sa = if later { None } else { quoted_sa(protocol, upper) };
            Some(Self { src: Address::v6(header.source()), dst: Address::v6(header.destination()), sa })
        }
    }
}

/// The SPI of a quoted AH, ESP (native or in UDP) or IPComp header; a quoted packet may end behind eight octets.
fn quoted_sa(protocol: u8, upper: &[u8]) -> Option<(Protocol, Spi)> {
    let word = |offset: usize| upper.get(offset..)?.first_chunk::<4>().map(|octets| Spi(u32::from_be_bytes(*octets)));
    match protocol {
        50 => Some((Protocol::Esp, word(0)?)),
        51 => Some((Protocol::Ah, word(4)?)),
        108 => Some((Protocol::IpComp, Spi(u32::from(IpComp::read(upper)?.cpi())))),
        17 => {
            let &[s0, s1, d0, d1] = upper.first_chunk::<4>()?;
            let ports = [u16::from_be_bytes([s0, s1]), u16::from_be_bytes([d0, d1])];
            let spi = word(8)?;
            let esp = ports.contains(&NAT_TRAVERSAL) && !ports.contains(&IKE) && spi.0 > 255;
            esp.then_some((Protocol::Esp, spi))
        }
        _ => None,
    }
}
