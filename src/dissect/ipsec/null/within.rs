//! Where a packet that ESP-NULL carries is itself a tunnel of the same ends, and its end was cut off: how long the packet in that is.

use super::{NULL_LENGTH_BITS, UNVERIFIED, icv_behind, inner_of, inner_v4, inner_v6};
use crate::dissect::stack::{NullSupport, Within};
use crate::dissect::transport::udp::{L2TP, NAT_TRAVERSAL};
use crate::model::Address;
use crate::wire::gre::Gre;

/// Tunnels of the same ends in each other that are looked into.
const DEEPEST: usize = 3;
const IPV4: u8 = 4;
const IPV6: u8 = 41;
const GRE: u8 = 47;

/// An IP header as far as it is there.
struct Head {
    total_bytes: usize,
    header_bytes: usize,
    protocol: u8,
    /// A fragment that begins its packet, or one that does not.
    fragment: Option<bool>,
    /// `None` where the header was cut.
    ends: Option<(Address, Address)>,
}

impl Head {
    fn read(packet: &[u8], protocol: u8) -> Option<Self> {
        let version = packet.first()? >> 4;
        match (protocol, version) {
            (IPV4, 4) => {
                let &[first, _, high, low, _, _, flags, offset, _, protocol] = packet.first_chunk::<10>()?;
                let place = u16::from_be_bytes([flags, offset]) & 0x3fff;
                let header_bytes = usize::from(first & 0x0f) * 4;
                Some(Self {
                    total_bytes: usize::from(u16::from_be_bytes([high, low])),
                    header_bytes,
                    protocol,
                    fragment: (place != 0).then_some(place & 0x1fff == 0),
                    ends: inner_v4(packet).map(|inner| inner.addresses),
                })
            }
            (IPV6, 6) => {
                let &[_, _, _, _, high, low, protocol] = packet.first_chunk::<7>()?;
                Some(Self {
                    total_bytes: 40 + usize::from(u16::from_be_bytes([high, low])),
                    header_bytes: 40,
                    protocol,
                    fragment: None,
                    ends: inner_v6(packet).map(|inner| inner.addresses),
                })
            }
            _ => None,
        }
    }

    /// Whether what is in this packet may be what counts as the packet in the tunnel, as there is another header in front of it.
    fn may_carry(&self, behind: &[u8]) -> bool {
        match self.protocol {
            IPV4 | IPV6 | GRE | 50 | 51 | 97 | 108 | 115 | 137 | 141 | 143 => true,
            0 | 43 | 44 | 60 | 135 | 139 | 140 => self.header_bytes == 40,
            17 => behind.first_chunk::<4>().is_some_and(|&[s0, s1, d0, d1]| {
                let ports = [u16::from_be_bytes([s0, s1]), u16::from_be_bytes([d0, d1])];
                ports.iter().any(|port| matches!(*port, NAT_TRAVERSAL | L2TP))
            }),
            _ => false,
        }
    }
}

/// What a packet of ESP-NULL in tunnel mode counts as, of which `inner` is the beginning. `protocol`: 4 or 41; `ends`: of the packet around
/// the ESP. The packet in a tunnel is the first one with other ends, or the last that holds no other.
pub(super) fn within(inner: &[u8], protocol: u8, ends: Option<(Address, Address)>) -> Within {
    let (mut packet, mut protocol, mut gre) = (inner, protocol, 0_usize);
    // Bytes before the current packet, and the end of the outermost one.
    let (mut before, mut all) = (0_usize, None);
    for depth in 0..=DEEPEST {
        let Some(head) = Head::read(packet, protocol) else { break };
        if before + head.total_bytes != *all.get_or_insert(head.total_bytes) {
            break;
        }
        let behind = packet.get(head.header_bytes..).unwrap_or_default();
        let others = head.ends.is_some() && ends.is_some() && head.ends != ends;
        if others || head.fragment == Some(false) || !head.may_carry(behind) {
            return match (depth, u16::try_from(head.total_bytes)) {
                (0, _) => Within::Itself,
                (_, Ok(bytes)) => Within::Further { bytes, gre: u16::try_from(gre).unwrap_or(u16::MAX) },
                _ => break,
            };
        }
        if head.fragment.is_some() || head.ends.is_none() {
            break;
        }
        let Some((next, header)) = carried(behind, head.protocol) else { break };
        (packet, protocol) = (behind.get(header..).unwrap_or_default(), next);
        gre += header;
        before += head.header_bytes + header;
    }
    Within::Unknown
}

/// A payload in transport mode whose end a snapshot length cut: GRE around IP (GRE over IPsec), of lengths that leave what ESP needs, as
/// [`cut_tunnel`](super::cut_tunnel) asks of IP. The packet in the GRE is the encapsulated one.
pub(super) fn cut_gre(payload: &[u8], wire_bytes: usize, around: Option<(Address, Address)>) -> Option<NullSupport> {
    /// Flags, version and protocol of GRE.
    const HEADER_BITS: u8 = 24;
    let (next_header, header) =
        carried(payload, GRE).filter(|_| payload.first().is_some_and(|first| first & 0x4f == 0))?;
    let inner = payload.get(header..)?;
    let (total_bytes, version, bits, addresses) = inner_of(inner)?;
    let carried_bytes = header + total_bytes;
    let icv_bytes = icv_behind(carried_bytes, wire_bytes).filter(|_| version == next_header)?;
    let gre = u16::try_from(header).ok()?;
    let within = match within(inner, next_header, around) {
        Within::Itself => Within::Further { bytes: u16::try_from(total_bytes).ok()?, gre },
        Within::Further { bytes, gre: further } => Within::Further { bytes, gre: gre.saturating_add(further) },
        Within::Unknown => Within::Unknown,
    };
    Some(NullSupport {
        icv_bytes,
        iv_bytes: 0,
        bits: (bits + HEADER_BITS + NULL_LENGTH_BITS).min(UNVERIFIED),
        pad_bytes: None,
        tfc_bytes: 0,
        pad_monotonic: true,
        next_header: GRE,
        inner_bytes: u16::try_from(carried_bytes).ok()?,
        inner: Some(addresses),
        within,
    })
}

/// The IP version that is next, as its protocol number, and the octets of GRE in front of it.
fn carried(behind: &[u8], protocol: u8) -> Option<(u8, usize)> {
    match protocol {
        IPV4 | IPV6 => Some((protocol, 0)),
        GRE => {
            let gre = Gre::read(behind).filter(|gre| gre.version() == 0 && !gre.has_routing())?;
            match gre.protocol() {
                0x0800 => Some((IPV4, gre.header_bytes())),
                0x86dd => Some((IPV6, gre.header_bytes())),
                _ => None,
            }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(protocol: u8, total: u16, last: u8) -> Vec<u8> {
        let [high, low] = total.to_be_bytes();
        vec![0x45, 0, high, low, 0, 1, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, last]
    }

    fn ends() -> Option<(Address, Address)> {
        Some((Address::v4([10, 0, 0, 1]), Address::v4([10, 0, 0, 2])))
    }

    #[test]
    fn the_packet_in_a_tunnel_of_the_same_ends_is_further_in() {
        let plain = header(17, 500, 2);
        assert_eq!(within(&plain, 4, ends()), Within::Itself);
        let gre = [header(47, 524, 2), vec![0, 0, 8, 0], header(6, 500, 9)].concat();
        assert_eq!(within(&gre, 4, ends()), Within::Further { bytes: 500, gre: 4 });
        let keyed = [header(47, 528, 2), vec![0x20, 0, 8, 0, 0, 0, 0, 7], header(6, 500, 9)].concat();
        assert_eq!(within(&keyed, 4, ends()), Within::Further { bytes: 500, gre: 8 });
        let twice = [header(4, 540, 2), header(4, 520, 2), header(6, 500, 2)].concat();
        assert_eq!(within(&twice, 4, ends()), Within::Further { bytes: 500, gre: 0 });
    }

    #[test]
    fn a_tunnel_of_others_is_the_packet() {
        let gre = [header(47, 524, 3), vec![0, 0, 8, 0], header(6, 500, 9)].concat();
        assert_eq!(within(&gre, 4, ends()), Within::Itself);
        let further = [header(4, 544, 2), header(47, 524, 3), vec![0, 0, 8, 0], header(6, 500, 9)].concat();
        assert_eq!(within(&further, 4, ends()), Within::Further { bytes: 524, gre: 0 });
    }

    #[test]
    fn what_is_cut_or_does_not_fit_is_not_known() {
        let gre = [header(47, 524, 2), vec![0, 0, 8, 0], header(6, 500, 9)].concat();
        for shown in 20..34 {
            assert_eq!(within(&gre[..shown], 4, ends()), Within::Unknown, "{shown}");
        }
        assert_eq!(within(&gre[..34], 4, ends()), Within::Further { bytes: 500, gre: 4 });
        let shorter = [header(47, 524, 2), vec![0, 0, 8, 0], header(6, 499, 9)].concat();
        assert_eq!(within(&shorter, 4, ends()), Within::Unknown);
        let ethernet = [header(47, 524, 2), vec![0, 0, 0x65, 0x58], header(6, 500, 9)].concat();
        assert_eq!(within(&ethernet, 4, ends()), Within::Unknown);
    }
}
