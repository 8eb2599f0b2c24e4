//! The parts of an overhead, in packet order.

use crate::model::report::Parts;

/// A part of an overhead.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[allow(missing_docs)] // the names are those of the figures
pub enum StackPart {
    OuterIp,
    Udp,
    Tcp,
    Gre,
    Link,
    Ah,
    Esp,
    Iv,
    Icv,
    Padding,
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
