//! The kinds of layers a stack is made of.

use serde::{Deserialize, Serialize};

/// One kind of header. The order is arbitrary; [`LayerKind::name`] is what users see.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
#[repr(u8)]
#[non_exhaustive]
pub enum LayerKind {
    /// An Ethernet header (IEEE 802.3 clause 3).
    Ethernet = 1,
    /// A VLAN tag, customer or service (IEEE 802.1Q).
    Vlan,
    /// The MACsec tag (IEEE 802.1AE); what it protects is not read.
    Macsec,
    /// An MPLS label (RFC 3032).
    Mpls,
    /// PPPoE discovery, ethertype 0x8863 (RFC 2516).
    PppoeDiscovery,
    /// The header of a PPPoE session, ethertype 0x8864 (RFC 2516).
    Pppoe,
    /// A PPP header (RFC 1661).
    Ppp,
    /// Linux cooked capture, link type 113.
    Sll,
    /// Linux cooked capture, second version, link type 276.
    Sll2,
    /// The BSD loopback header, link types 0 and 108.
    Null,
    /// An LLC header (IEEE 802.2).
    Llc,
    /// A SNAP header behind LLC (IEEE 802).
    Snap,
    /// Cisco HDLC.
    Chdlc,
    /// No link header: the frame begins with IP.
    Raw,
    /// ARP (RFC 826).
    Arp,
    /// An IPv4 header (RFC 791).
    Ipv4,
    /// An IPv6 header (RFC 8200).
    Ipv6,
    /// Any IPv6 extension header other than fragment, AH and ESP (RFC 8200 section 4), one layer each.
    Ipv6Options,
    /// The IPv6 fragment header (RFC 8200 section 4.5).
    Ipv6Fragment,
    /// The Authentication Header (RFC 4302).
    Ah,
    /// The Encapsulating Security Payload (RFC 4303).
    Esp,
    /// IP payload compression (RFC 3173).
    IpComp,
    /// Wrapped ESP (RFC 5840).
    Wesp,
    /// GRE (RFC 2784, RFC 2890).
    Gre,
    /// A UDP header (RFC 768).
    Udp,
    /// A TCP header (RFC 9293).
    Tcp,
    /// Length-prefixed ESP or IKE in TCP (RFC 9329).
    TcpEncap,
    /// IKE, first or second version (RFC 2408, RFC 7296).
    Ike,
    /// One octet 0xff on a NAT traversal port (RFC 3948 section 2.3).
    NatKeepalive,
    /// ICMP for IPv4 (RFC 792).
    Icmp,
    /// ICMPv6 (RFC 4443).
    Icmpv6,
    /// Data of an IP fragment that is not the first.
    Fragment,
    /// VXLAN (RFC 7348).
    Vxlan,
    /// GENEVE (RFC 8926).
    Geneve,
    /// ERSPAN: mirrored Ethernet in GRE.
    Erspan,
    /// TZSP: frames that a sniffer forwards in UDP.
    Tzsp,
    /// L2TP (RFC 2661, RFC 3931).
    L2tp,
    /// Ethernet in IP (RFC 3378).
    EtherIp,
    /// A PAUSE frame (IEEE 802.3 annex 31B).
    Pause,
    /// Priority-based flow control (IEEE 802.1Qbb).
    Pfc,
    /// Spanning tree protocol (IEEE 802.1D).
    Stp,
    /// Cisco Discovery Protocol.
    Cdp,
    /// LLDP (IEEE 802.1AB).
    Lldp,
    /// Ethernet configuration test protocol, ethertype 0x9000: router keepalives.
    Loop,
    /// Slow protocols: LACP and marker (IEEE 802.3 annex 57A).
    Lacp,
    /// EAP over LAN (IEEE 802.1X).
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
