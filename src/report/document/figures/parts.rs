//! The parts of an overhead, in packet order.

use crate::model::report::Parts;

/// A part of an overhead.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum StackPart {
    /// The outer IP header.
    OuterIp,
    /// UDP of NAT traversal (RFC 3948).
    Udp,
    /// TCP encapsulation (RFC 9329).
    Tcp,
    /// GRE inside or outside ESP.
    Gre,
    /// An Ethernet header inside.
    Link,
    /// The AH header with its ICV (RFC 4302).
    Ah,
    /// Header and trailer of ESP (RFC 4303).
    Esp,
    /// The IV of ESP.
    Iv,
    /// The ICV of ESP.
    Icv,
    /// Padding of ESP.
    Padding,
    /// Further headers of fragments.
    Fragmentation,
}

impl StackPart {
    /// All of them, in packet order; what varies stands last.
    pub const ALL: [Self; 11] = [
        Self::OuterIp,
        Self::Udp,
        Self::Tcp,
        Self::Gre,
        Self::Link,
        Self::Ah,
        Self::Esp,
        Self::Iv,
        Self::Icv,
        Self::Padding,
        Self::Fragmentation,
    ];

    /// Its bytes of an overhead. ESP header and trailer are one part.
    #[must_use]
    pub fn of(self, parts: &Parts) -> f64 {
        match self {
            Self::OuterIp => parts.outer_ip,
            Self::Udp => parts.udp,
            Self::Tcp => parts.tcp,
            Self::Gre => parts.gre,
            Self::Link => parts.link,
            Self::Ah => parts.ah,
            Self::Esp => parts.esp_header + parts.esp_trailer,
            Self::Iv => parts.iv,
            Self::Icv => parts.icv,
            Self::Padding => parts.esp_pad,
            Self::Fragmentation => parts.fragmentation,
        }
    }

    /// What it is called.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OuterIp => "outer IP",
            Self::Udp => "UDP",
            Self::Tcp => "TCP",
            Self::Gre => "GRE",
            Self::Link => "inner link",
            Self::Ah => "AH",
            Self::Esp => "ESP header and trailer",
            Self::Iv => "IV",
            Self::Icv => "ICV",
            Self::Padding => "padding",
            Self::Fragmentation => "fragmentation",
        }
    }

    /// The same where room is short.
    #[must_use]
    pub const fn short(self) -> &'static str {
        match self {
            Self::OuterIp => "IP",
            Self::Link => "link",
            Self::Esp => "ESP",
            Self::Padding => "pad",
            Self::Fragmentation => "frag",
            other => other.name(),
        }
    }
}
