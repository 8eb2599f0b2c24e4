//! The CRC-32 of Ethernet frames (IEEE 802.3 clause 3.2.9).

/// Remainders of all octets, least significant bit first.
#[expect(clippy::indexing_slicing, reason = "an byte is less than the 256 entries, and a mistake does not compile")]
const TABLE: [u32; 256] = {
    let mut table = [0u32; 256];
    let mut octet = 0;
    while octet < 256 {
        let mut rest = octet as u32;
        let mut bit = 0;
        while bit < 8 {
            rest = if rest & 1 == 1 { rest >> 1 ^ 0xedb8_8320 } else { rest >> 1 };
            bit += 1;
        }
        table[octet] = rest;
        octet += 1;
    }
    table
};

/// The FCS of a frame; on the wire its least significant octet comes first.
#[must_use]
#[expect(clippy::indexing_slicing, reason = "an byte is less than the 256 entries of the table")]
pub fn ethernet(frame: &[u8]) -> u32 {
    !frame.iter().fold(u32::MAX, |crc, octet| crc >> 8 ^ TABLE[usize::from(crc as u8 ^ octet)])
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_check_value_of_the_catalogue() {
        assert_eq!(super::ethernet(b"123456789"), 0xcbf4_3926);
    }
}
