//! The internet checksum (RFC 1071).

use crate::model::Address;

/// The running one's complement sum of 16-bit words (RFC 1071 section 1), not folded.
#[derive(Clone, Copy, Default, Debug)]
pub struct Sum(u64);

impl Sum {
    /// Adds octets; an odd last one counts as the high half of a word, so only the last call may be odd.
    #[must_use]
    pub fn octets(mut self, bytes: &[u8]) -> Self {
        let (words, rest) = bytes.as_chunks::<2>();
        for word in words {
            self.0 += u64::from(u16::from_be_bytes(*word));
        }
        if let [last] = rest {
            self.0 += u64::from(*last) << 8;
        }
        self
    }

    /// Adds one number as two words.
    #[must_use]
    pub const fn number(mut self, number: u32) -> Self {
        self.0 += (number >> 16) as u64 + (number & 0xffff) as u64;
        self
    }

    /// Adds the pseudo header of an upper layer of `bytes` octets (RFC 793 section 3.1, RFC 8200 section 8.1).
    #[must_use]
    pub const fn pseudo_header(self, src: Address, dst: Address, protocol: u8, bytes: u32) -> Self {
        self.number(protocol as u32).number(bytes).address(src).address(dst)
    }

    const fn address(self, address: Address) -> Self {
        let (high, low) = address.words();
        let sum = if address.is_v4() {
            self
        } else {
            self.number((high >> 32) as u32).number(high as u32).number((low >> 32) as u32)
        };
        sum.number(low as u32)
    }

    /// Whether octets that include their checksum field are consistent: the folded sum is all ones.
    #[must_use]
    pub const fn verifies(self) -> bool {
        let mut sum = self.0;
        while sum >> 16 != 0 {
            sum = (sum >> 16) + (sum & 0xffff);
        }
        sum == 0xffff
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_real_ipv4_header_verifies_and_a_flipped_bit_does_not() {
        let mut header =
            [0x45, 0, 0, 0x6c, 0xe5, 0x29, 0x40, 0, 0xff, 0x33, 0x12, 0xe1, 0xc0, 0xa8, 1, 1, 0xc0, 0xa8, 1, 2];
        assert!(Sum::default().octets(&header).verifies());
        header[3] ^= 1;
        assert!(!Sum::default().octets(&header).verifies());
    }

    #[test]
    fn a_udp_datagram_verifies_over_its_pseudo_header() {
        let (src, dst) = (Address::v4([10, 0, 0, 1]), Address::v4([10, 0, 0, 2]));
        // Ports 1 and 2, length 9, payload "a": 0x1403 + 0x11 + 9, and 1 + 2 + 9 + 0x6100, is 0x7529.
        let datagram = [0, 1, 0, 2, 0, 9, 0x8a, 0xd6, b'a'];
        assert!(Sum::default().pseudo_header(src, dst, 17, 9).octets(&datagram).verifies());
    }
}
