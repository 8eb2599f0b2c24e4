//! The kinds of layers a stack is made of.

use serde::{Deserialize, Serialize};

/// One kind of header. The order is arbitrary; [`LayerKind::name`] is what users see.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
#[repr(u8)]
#[non_exhaustive]
#[allow(missing_docs)] // each variant is named by `name`, in the field's own terms
pub enum LayerKind {
    Ethernet = 1,
    Vlan,
    Macsec,
    Mpls,
    PppoeDiscovery,
    Pppoe,
    Ppp,
    Sll,
    Sll2,
    Null,
    Llc,
    Snap,
    Chdlc,
    Raw,
    Arp,
    Ipv4,
    Ipv6,
    /// Any IPv6 extension header other than fragment, AH and ESP (RFC 8200 section 4), one layer each.
    Ipv6Options,
    /// The IPv6 fragment header (RFC 8200 section 4.5).
    Ipv6Fragment,
    Ah,
    Esp,
    IpComp,
    Wesp,
    Gre,
    Udp,
    Tcp,
    /// Length-prefixed ESP or IKE in TCP (RFC 9329).
    TcpEncap,
    Ike,
    /// One octet 0xff on a NAT traversal port (RFC 3948 section 2.3).
    NatKeepalive,
    Icmp,
    Icmpv6,
    /// Data of an IP fragment that is not the first.
    Fragment,
    Vxlan,
    Geneve,
    Erspan,
    Tzsp,
    L2tp,
    EtherIp,
    Pause,
    Pfc,
    Stp,
    Cdp,
    Lldp,
    /// Ethernet configuration test protocol, ethertype 0x9000: router keepalives.
    Loop,
    /// Slow protocols: LACP and marker (IEEE 802.3 annex 57A).
    Lacp,
    Eapol,
    /// Nothing behind ESP or an IPv6 header: next header 59.
    NoNext,
    /// An overlay's own Ethernet inside a tunnel (GRE 0x6558, EtherIP, L2TPv3).
    InnerEthernet,
    /// Cisco metadata, ethertype 0x8909: a security group tag in front of the real ethertype.
    CiscoMetadata,
    /// VN-Tag, ethertype 0x8926: a tag of Cisco fabric extenders.
    VnTag,
    /// High-availability seamless redundancy, ethertype 0x892f (IEC 62439-3).
    Hsr,
    /// GTP-U, the user plane of mobile networks (3GPP TS 29.281); its content is not read.
    GtpU,
}

/// Every kind, in the order of their numbers.
const ALL: [LayerKind; LayerKind::GtpU as usize] = {
    use LayerKind::*;
    [
        Ethernet,
        Vlan,
        Macsec,
        Mpls,
        PppoeDiscovery,
        Pppoe,
        Ppp,
        Sll,
        Sll2,
        Null,
        Llc,
        Snap,
        Chdlc,
        Raw,
        Arp,
        Ipv4,
        Ipv6,
        Ipv6Options,
        Ipv6Fragment,
        Ah,
        Esp,
        IpComp,
        Wesp,
        Gre,
        Udp,
        Tcp,
        TcpEncap,
        Ike,
        NatKeepalive,
        Icmp,
        Icmpv6,
        Fragment,
        Vxlan,
        Geneve,
        Erspan,
        Tzsp,
        L2tp,
        EtherIp,
        Pause,
        Pfc,
        Stp,
        Cdp,
        Lldp,
        Loop,
        Lacp,
        Eapol,
        NoNext,
        InnerEthernet,
        CiscoMetadata,
        VnTag,
        Hsr,
        GtpU,
    ]
};

impl LayerKind {
    /// The word used in stacks: `eth`, `vlan`, `ipv4`, `esp`, ...
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ethernet | Self::InnerEthernet => "eth",
            Self::Vlan => "vlan",
            Self::Macsec => "macsec",
            Self::Mpls => "mpls",
            Self::PppoeDiscovery => "pppoed",
            Self::Pppoe => "pppoe",
            Self::Ppp => "ppp",
            Self::Sll => "sll",
            Self::Sll2 => "sll2",
            Self::Null => "null",
            Self::Llc => "llc",
            Self::Snap => "snap",
            Self::Chdlc => "chdlc",
            Self::Raw => "raw",
            Self::Arp => "arp",
            Self::Ipv4 => "ipv4",
            Self::Ipv6 => "ipv6",
            Self::Ipv6Options => "ipv6-opts",
            Self::Ipv6Fragment => "ipv6-frag",
            Self::Ah => "ah",
            Self::Esp => "esp",
            Self::IpComp => "ipcomp",
            Self::Wesp => "wesp",
            Self::Gre => "gre",
            Self::Udp => "udp",
            Self::Tcp => "tcp",
            Self::TcpEncap => "tcp-encap",
            Self::Ike => "ike",
            Self::NatKeepalive => "nat-keepalive",
            Self::Icmp => "icmp",
            Self::Icmpv6 => "icmpv6",
            Self::Fragment => "fragment",
            Self::Vxlan => "vxlan",
            Self::Geneve => "geneve",
            Self::Erspan => "erspan",
            Self::Tzsp => "tzsp",
            Self::L2tp => "l2tp",
            Self::EtherIp => "etherip",
            Self::Pause => "pause",
            Self::Pfc => "pfc",
            Self::Stp => "stp",
            Self::Cdp => "cdp",
            Self::Lldp => "lldp",
            Self::Loop => "loop",
            Self::Lacp => "lacp",
            Self::Eapol => "eapol",
            Self::NoNext => "no-next",
            Self::CiscoMetadata => "cmd",
            Self::VnTag => "vntag",
            Self::Hsr => "hsr",
            Self::GtpU => "gtpu",
        }
    }

    /// The kind with this number, `None` for 0 and numbers that no kind has.
    #[must_use]
    pub const fn from_number(number: u8) -> Option<Self> {
        #[expect(clippy::indexing_slicing, reason = "the number is checked against the length")]
        if number == 0 || number as usize > ALL.len() { None } else { Some(ALL[number as usize - 1]) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_lead_back_to_their_kinds_and_fit_six_bits() {
        for (index, kind) in ALL.iter().enumerate() {
            assert_eq!(*kind as usize, index + 1);
            assert_eq!(LayerKind::from_number(*kind as u8), Some(*kind));
        }
        assert!(ALL.len() < 64);
        assert_eq!(LayerKind::from_number(0), None);
        assert_eq!(LayerKind::from_number(63), None);
    }
}
