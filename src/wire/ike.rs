//! IKE: the ISAKMP header and the generic payload header (RFC 2408 section 3, RFC 7296 section 3).

/// The header of an IKE message; the same octets in IKEv1 and IKEv2.
///
/// ```text
/// | initiator SPI (8) | responder SPI (8) | next payload | version | exchange | flags | message id (4) | length (4) |
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Header<'a>(&'a [u8; Header::BYTES]);

impl<'a> Header<'a> {
    /// Octets of the header.
    pub const BYTES: usize = 28;

    /// The header at the start of `bytes`.
    #[must_use]
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        bytes.first_chunk().map(Self)
    }

    /// Whether octets that end before the header does can begin one: a version in use and an exchange that it knows, as far as they go.
    #[must_use]
    pub fn is_possible_start(bytes: &[u8]) -> bool {
        let version = bytes.get(17).copied();
        let known = |exchange: &u8| version.is_some_and(|version| is_known_exchange(version >> 4, *exchange));
        version.is_none_or(|version| matches!(version, 0x10 | 0x20)) && bytes.get(18).is_none_or(known)
    }

    /// The major version, where the octets that end before the header does are those of IKE beyond chance: with a first payload, flags and an
    /// exchange of their version.
    #[must_use]
    pub fn begun(bytes: &[u8]) -> Option<u8> {
        let &[payload, version, exchange, flags] = bytes.get(16..)?.first_chunk::<4>()?;
        let (payloads, flag_bits) = match version {
            0x10 => (1..=30, 0x07),
            0x20 => (33..=54, 0x38),
            _ => return None,
        };
        let has_payload = payloads.contains(&payload) || payload == 0;
        (has_payload && flags & !flag_bits == 0 && is_known_exchange(version >> 4, exchange)).then_some(version >> 4)
    }

    /// Whether the SPIs can be those of a message: the initiator's is never zero but in a notification outside any IKE SA, where neither means
    /// anything (RFC 7296 section 1.5: INVALID_SPI).
    #[must_use]
    pub const fn has_possible_spi(self) -> bool {
        const INFORMATIONAL: u8 = 37;
        const NOTIFY: u8 = 41;
        const INITIATOR: u8 = 0x08;
        let is_outside = self.0[17] == 0x20 && self.exchange() == INFORMATIONAL && self.next_payload() == NOTIFY;
        self.initiator() != 0 || is_outside && self.0[19] == INITIATOR
    }

    /// Initiator's SPI (IKEv1: cookie).
    #[must_use]
    pub const fn initiator(self) -> u64 {
        let b = self.0;
        u64::from_be_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]])
    }

    /// Type of the first payload.
    #[must_use]
    pub const fn next_payload(self) -> u8 {
        self.0[16]
    }

    /// Major version: 1 or 2 where this is IKE.
    #[must_use]
    pub const fn major_version(self) -> u8 {
        self.0[17] >> 4
    }

    /// Minor version: 0 in everything published.
    #[must_use]
    pub const fn minor_version(self) -> u8 {
        self.0[17] & 0x0f
    }

    /// Exchange type.
    #[must_use]
    pub const fn exchange(self) -> u8 {
        self.0[18]
    }

    /// IKEv1: whether the payloads are encrypted (RFC 2408 section 3.1).
    #[must_use]
    pub const fn encrypted_v1(self) -> bool {
        self.0[19] & 1 != 0
    }

    /// Octets of the whole message.
    #[must_use]
    pub const fn message_bytes(self) -> u32 {
        u32::from_be_bytes([self.0[24], self.0[25], self.0[26], self.0[27]])
    }

    /// Whether the exchange type is one that either version knows.
    #[must_use]
    pub const fn known_exchange(self) -> bool {
        is_known_exchange(self.major_version(), self.exchange())
    }
}

/// Whether a major version knows an exchange type.
const fn is_known_exchange(version: u8, exchange: u8) -> bool {
    match version {
        1 => matches!(exchange, 1..=6 | 32..=33),
        2 => matches!(exchange, 34..=45),
        _ => false,
    }
}

/// One payload: its type as the one before named it, and its octets behind the generic header.
#[derive(Clone, Copy, Debug)]
pub struct Payload<'a> {
    /// Payload type.
    pub kind: u8,
    /// Octets behind the generic header.
    pub body: &'a [u8],
}

/// The payloads of a message, as far as they are there and whole.
#[derive(Clone, Debug)]
pub struct Payloads<'a> {
    next: u8,
    bytes: &'a [u8],
}

impl<'a> Payloads<'a> {
    /// The payloads in `bytes`, the first being of type `first`.
    #[must_use]
    pub const fn new(first: u8, bytes: &'a [u8]) -> Self {
        Self { next: first, bytes }
    }
}

impl<'a> Iterator for Payloads<'a> {
    type Item = Payload<'a>;

    fn next(&mut self) -> Option<Payload<'a>> {
        let kind = self.next;
        let (&[next, _, high, low], _) = self.bytes.split_first_chunk()?;
        let bytes = usize::from(u16::from_be_bytes([high, low]));
        let body = self.bytes.get(4..bytes)?;
        if kind == 0 {
            return None;
        }
        self.next = next;
        self.bytes = self.bytes.get(bytes..)?;
        Some(Payload { kind, body })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_follow_each_other_and_end_with_the_octets() {
        let bytes = [12, 0, 0, 6, 0xaa, 0xbb, 0, 0, 0, 5, 0xcc, 9];
        let found: Vec<_> = Payloads::new(11, &bytes).map(|p| (p.kind, p.body.to_vec())).collect();
        assert_eq!(found, [(11, vec![0xaa, 0xbb]), (12, vec![0xcc])]);
        assert_eq!(Payloads::new(11, &bytes[..5]).count(), 0);
        assert_eq!(Payloads::new(11, &[0, 0, 0, 3]).count(), 0);
    }

    #[test]
    fn header_fields() {
        let mut bytes = [0u8; 28];
        bytes[7] = 1;
        bytes[16..20].copy_from_slice(&[11, 0x10, 5, 1]);
        bytes[27] = 28;
        let header = Header::read(&bytes).unwrap();
        assert_eq!((header.initiator(), header.next_payload(), header.exchange()), (1, 11, 5));
        assert_eq!((header.major_version(), header.minor_version()), (1, 0));
        assert!(header.encrypted_v1() && header.known_exchange());
        assert_eq!(header.message_bytes(), 28);
    }
}
