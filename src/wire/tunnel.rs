//! Layer-2 tunnels: L2TP (RFC 2661 section 3.1, RFC 3931 section 4.1) and EtherIP (RFC 3378 section 2).

/// An L2TP header in UDP, version 2 or 3.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct L2tp {
    /// Version: 2 carries PPP, 3 what was negotiated.
    pub version: u8,
    /// Whether this is a control message.
    pub control: bool,
    /// Octets of the header; in version 3 up to and with the session id, without the cookie that only the endpoints know of.
    pub header_bytes: usize,
}

impl L2tp {
    /// The header at the start of `bytes`.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (&[high, low], _) = bytes.split_first_chunk()?;
        let version = low & 0x0f;
        let control = high & 0x80 != 0;
        let header_bytes = match version {
            2 => {
                let length = if high & 0x40 != 0 { 2 } else { 0 };
                let sequence = if high & 0x08 != 0 { 4 } else { 0 };
                let fixed = 6 + length + sequence;
                if high & 0x02 == 0 {
                    fixed
                } else {
                    let (&[size_high, size_low], _) = bytes.get(fixed..)?.split_first_chunk()?;
                    fixed + 2 + usize::from(u16::from_be_bytes([size_high, size_low]))
                }
            }
            3 => 8,
            _ => return None,
        };
        Some(Self { version, control, header_bytes })
    }
}

/// Octets of an EtherIP header: version 3 in the high nibble, the rest zero.
pub const ETHERIP_BYTES: usize = 2;

/// Whether the two octets are an EtherIP header; the reserved bits are not looked at.
#[must_use]
pub const fn is_etherip(header: [u8; ETHERIP_BYTES]) -> bool {
    header[0] >> 4 == 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn l2tp_lengths() {
        let read = |bytes: &[u8]| L2tp::read(bytes).map(|l| (l.version, l.control, l.header_bytes));
        assert_eq!(read(&[0x00, 0x02]), Some((2, false, 6)));
        assert_eq!(read(&[0xc8, 0x02, 0, 20]), Some((2, true, 12)));
        assert_eq!(read(&[0x02, 0x02, 0, 1, 0, 1, 0, 4]), Some((2, false, 12)));
        assert_eq!(read(&[0x02, 0x02, 0, 1, 0, 1, 0]), None);
        assert_eq!(read(&[0x00, 0x03]), Some((3, false, 8)));
        assert_eq!(read(&[0x00, 0x01]), None);
        assert!(is_etherip([0x30, 0]) && !is_etherip([0x45, 0]));
    }
}
