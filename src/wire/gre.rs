//! Generic Routing Encapsulation (RFC 2784, RFC 2890) and its version 1 that carries PPTP (RFC 2637 section 4.1).

/// The first four octets of a GRE header.
#[derive(Clone, Copy, Debug)]
pub struct Gre<'a>(&'a [u8; Gre::BYTES]);

impl<'a> Gre<'a> {
    /// Octets of the part that is always there.
    pub const BYTES: usize = 4;

    /// The header at the start of `bytes`.
    #[must_use]
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        bytes.first_chunk().map(Self)
    }

    /// Whether a checksum (and an offset) follow.
    #[must_use]
    pub const fn has_checksum(self) -> bool {
        self.0[0] & 0x80 != 0
    }

    /// Whether source routes follow: RFC 1701, withdrawn by RFC 2784 section 2.3.
    #[must_use]
    pub const fn has_routing(self) -> bool {
        self.0[0] & 0x40 != 0
    }

    /// Whether a key follows (version 1: payload length and call id).
    #[must_use]
    pub const fn has_key(self) -> bool {
        self.0[0] & 0x20 != 0
    }

    /// Whether a sequence number follows.
    #[must_use]
    pub const fn has_sequence(self) -> bool {
        self.0[0] & 0x10 != 0
    }

    /// Whether, in version 1, an acknowledgement number follows.
    #[must_use]
    pub const fn has_acknowledgement(self) -> bool {
        self.0[1] & 0x80 != 0
    }

    /// Version: 0, or 1 for PPTP.
    #[must_use]
    pub const fn version(self) -> u8 {
        self.0[1] & 0x07
    }

    /// Ethertype of the payload.
    #[must_use]
    pub const fn protocol(self) -> u16 {
        u16::from_be_bytes([self.0[2], self.0[3]])
    }

    /// Octets of the whole header, source routes aside.
    #[must_use]
    pub const fn header_bytes(self) -> usize {
        let mut bytes = Self::BYTES;
        if self.has_checksum() || self.has_routing() {
            bytes += 4;
        }
        if self.has_key() {
            bytes += 4;
        }
        if self.has_sequence() {
            bytes += 4;
        }
        if self.version() == 1 && self.has_acknowledgement() {
            bytes += 4;
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_add_a_word_each() {
        let bytes = |first, second| Gre(&[first, second, 0x08, 0x00]).header_bytes();
        assert_eq!([bytes(0, 0), bytes(0x20, 0), bytes(0x30, 0), bytes(0xb0, 0)], [4, 8, 12, 16]);
        assert_eq!([bytes(0x30, 0x01), bytes(0x20, 0x81), bytes(0x30, 0x81)], [12, 12, 16]);
        assert_eq!(bytes(0, 0x80), 4, "the acknowledgement bit means nothing in version 0");
    }
}
