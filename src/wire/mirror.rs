//! Encapsulations that mirror ports and overlays use: VXLAN, GENEVE, ERSPAN II and III, TZSP.

/// A VXLAN header (RFC 7348 section 5).
#[derive(Clone, Copy, Debug)]
pub struct Vxlan<'a>(&'a [u8; Vxlan::BYTES]);

impl<'a> Vxlan<'a> {
    /// Octets of the header.
    pub const BYTES: usize = 8;

    /// The header at the start of `bytes`.
    #[must_use]
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        bytes.first_chunk().map(Self)
    }

    /// Whether the network identifier is valid, without which this is not VXLAN.
    #[must_use]
    pub const fn is_valid(self) -> bool {
        self.0[0] & 0x08 != 0
    }

    /// Whether a next-protocol field says that something other than Ethernet follows (the GPE draft's P bit).
    #[must_use]
    pub const fn has_next_protocol(self) -> bool {
        self.0[0] & 0x04 != 0
    }
}

/// The fixed part of a GENEVE header (RFC 8926 section 3.1).
#[derive(Clone, Copy, Debug)]
pub struct Geneve<'a>(&'a [u8; Geneve::BYTES]);

impl<'a> Geneve<'a> {
    /// Octets of the fixed part.
    pub const BYTES: usize = 8;

    /// The header at the start of `bytes`.
    #[must_use]
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        bytes.first_chunk().map(Self)
    }

    /// Version, 0.
    #[must_use]
    pub const fn version(self) -> u8 {
        self.0[0] >> 6
    }

    /// Octets of header and options.
    #[must_use]
    pub const fn header_bytes(self) -> usize {
        Self::BYTES + (self.0[0] & 0x3f) as usize * 4
    }

    /// Ethertype of the payload.
    #[must_use]
    pub const fn protocol(self) -> u16 {
        u16::from_be_bytes([self.0[2], self.0[3]])
    }
}

/// An ERSPAN header of type II or III behind GRE (draft-foschiano-erspan-03 sections 4.2 and 4.3). Type I has none.
#[derive(Clone, Copy, Debug)]
pub struct Erspan<'a>(&'a [u8; Erspan::BYTES]);

impl<'a> Erspan<'a> {
    /// Octets of a type II header, and of the part of a type III header that is like it.
    pub const BYTES: usize = 8;

    /// The header at the start of `bytes`.
    #[must_use]
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        bytes.first_chunk().map(Self)
    }

    /// Version: 1 is type II, 2 is type III.
    #[must_use]
    pub const fn version(self) -> u8 {
        self.0[0] >> 4
    }
}

/// The fixed part of an ERSPAN type III header (draft-foschiano-erspan-03 section 4.3).
#[derive(Clone, Copy, Debug)]
pub struct Erspan3<'a>(&'a [u8; Erspan3::BYTES]);

impl<'a> Erspan3<'a> {
    /// Octets without the platform subheader.
    pub const BYTES: usize = 12;

    /// The header at the start of `bytes`.
    #[must_use]
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        bytes.first_chunk().map(Self)
    }

    /// Octets with the optional platform-specific subheader of 8 octets.
    #[must_use]
    pub const fn header_bytes(self) -> usize {
        if self.0[11] & 1 != 0 { Self::BYTES + 8 } else { Self::BYTES }
    }

    /// Frame type: 0 Ethernet, 2 IP.
    #[must_use]
    pub const fn frame_type(self) -> u8 {
        self.0[10] >> 2 & 0x1f
    }
}

/// A TZSP header (TaZmen Sniffer Protocol, as Wireshark and RouterOS write it).
#[derive(Clone, Copy, Debug)]
pub struct Tzsp {
    /// Octets of header and tags, the end tag included.
    pub header_bytes: usize,
    /// What is carried: 1 is Ethernet.
    pub protocol: u16,
}

impl Tzsp {
    /// Octets of the part before the tags.
    pub const BYTES: usize = 4;

    /// The header at the start of `bytes`; `None` where it is not a packet (keepalives) or the tags do not end.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (&[version, kind, high, low], tags) = bytes.split_first_chunk()?;
        if version != 1 || kind > 1 {
            return None;
        }
        let mut rest = tags;
        loop {
            rest = match rest {
                [0, tail @ ..] => tail,
                [1, tail @ ..] => {
                    let header_bytes = bytes.len() - tail.len();
                    return Some(Self { header_bytes, protocol: u16::from_be_bytes([high, low]) });
                }
                [_, length, tail @ ..] => tail.get(usize::from(*length)..)?,
                _ => return None,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vxlan_and_geneve() {
        assert!(Vxlan::read(&[8, 0, 0, 0, 0, 0, 42, 0]).is_some_and(|v| v.is_valid() && !v.has_next_protocol()));
        assert!(Vxlan::read(&[0; 8]).is_some_and(|v| !v.is_valid()));
        let geneve = [0x02, 0, 0x65, 0x58, 0, 0, 1, 0];
        assert!(Geneve::read(&geneve).is_some_and(|g| g.header_bytes() == 16 && g.protocol() == 0x6558));
    }

    #[test]
    fn erspan_three_may_carry_a_subheader() {
        let mut bytes = [0u8; 12];
        bytes[0] = 0x20;
        assert!(Erspan::read(&bytes).is_some_and(|e| e.version() == 2));
        assert_eq!(Erspan3::read(&bytes).map(Erspan3::header_bytes), Some(12));
        bytes[11] = 1;
        assert_eq!(Erspan3::read(&bytes).map(Erspan3::header_bytes), Some(20));
    }

    #[test]
    fn tzsp_skips_tags_to_the_end_tag() {
        let read = |bytes: &[u8]| Tzsp::read(bytes).map(|t| (t.header_bytes, t.protocol));
        assert_eq!(read(&[1, 0, 0, 1, 1, 0xff]), Some((5, 1)));
        assert_eq!(read(&[1, 0, 0, 1, 0, 10, 2, 9, 9, 1]), Some((10, 1)));
        assert_eq!(read(&[1, 0, 0, 1, 10, 2, 9]), None);
        assert_eq!(read(&[1, 4, 0, 1, 1]), None, "a keepalive carries nothing");
    }
}
