//! The byte order of a capture file or of a pcapng section.

/// Which end of an integer comes first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ByteOrder {
    Little,
    Big,
}

impl ByteOrder {
    /// The 16-bit integer at `at`, `None` where `bytes` ends before it does.
    #[inline(always)]
    pub(crate) fn u16_at(self, bytes: &[u8], at: usize) -> Option<u16> {
        let octets = *bytes.get(at..)?.first_chunk()?;
        Some(match self {
            Self::Little => u16::from_le_bytes(octets),
            Self::Big => u16::from_be_bytes(octets),
        })
    }

    /// The 32-bit integer at `at`, `None` where `bytes` ends before it does.
    #[inline(always)]
    pub(crate) fn u32_at(self, bytes: &[u8], at: usize) -> Option<u32> {
        let octets = *bytes.get(at..)?.first_chunk()?;
        Some(match self {
            Self::Little => u32::from_le_bytes(octets),
            Self::Big => u32::from_be_bytes(octets),
        })
    }

    /// The 64-bit integer at `at`, `None` where `bytes` ends before it does.
    #[inline]
    pub(crate) fn u64_at(self, bytes: &[u8], at: usize) -> Option<u64> {
        let octets = *bytes.get(at..)?.first_chunk()?;
        Some(match self {
            Self::Little => u64::from_le_bytes(octets),
            Self::Big => u64::from_be_bytes(octets),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::ByteOrder::{Big, Little};

    #[test]
    fn integers_are_read_in_their_order_and_never_beyond_the_end() {
        let bytes = [1, 2, 3, 4, 5, 6, 7, 8];
        assert_eq!(Little.u16_at(&bytes, 0), Some(0x0201));
        assert_eq!(Big.u32_at(&bytes, 4), Some(0x0506_0708));
        assert_eq!(Big.u64_at(&bytes, 0), Some(0x0102_0304_0506_0708));
        assert_eq!(Little.u32_at(&bytes, 5), None);
        assert_eq!(Little.u64_at(&bytes, 9), None);
    }
}
