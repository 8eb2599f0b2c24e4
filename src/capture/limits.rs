//! Every limit of the reader in one place: what a record, block or description may claim before it is damage.
//!
//! A claim above its limit is called damage and never allocated for, so a hostile length field costs nothing.

/// Octets of a chunk's read buffer: 256 KiB to 1 MiB is the flat optimum of `read()`.
pub const CHUNK_BYTES: usize = 1 << 18;
/// The same where each chunk goes to another thread, which costs more than what a cache spares.
pub const LARGE_CHUNK_BYTES: usize = 1 << 20;

/// Address to which the large `read()` goes is a multiple of this; an unaligned one was measured four to six times slower.
pub(crate) const PAGE_BYTES: usize = 4096;

/// Largest captured length of a record unless the capture's snapshot length says more: the largest that libpcap and
/// Wireshark write for network link types.
pub const MAX_RECORD: u32 = 262_144;

/// Largest captured length of a record whatever the snapshot length says.
pub const MAX_RECORD_RAISED: u32 = 16 << 20;

/// Largest pcapng block: the largest record with 128 KiB for its fixed part and options.
pub const MAX_BLOCK: u32 = MAX_RECORD_RAISED + 131_072;

/// Largest interface description or interface statistics block. Their options are decoded into a list, so this bounds
/// the list.
pub const MAX_DESCRIPTION: u32 = 1 << 20;

/// Most interfaces of one pcapng section, and most that [`super::CaptureInfo::interfaces`] lists.
pub const MAX_INTERFACES: usize = 65_536;

/// Most options that are looked at in one packet block, to find its flags.
pub(crate) const MAX_PACKET_OPTIONS: usize = 32;

/// Most characters of an interface name that are kept.
pub(crate) const MAX_NAME: usize = 256;

/// The captured length a record may claim where the capture states `snaplen` (0 states nothing).
#[inline]
#[must_use]
pub(crate) const fn record_limit(snaplen: u32) -> u32 {
    if snaplen <= MAX_RECORD {
        MAX_RECORD
    } else if snaplen >= MAX_RECORD_RAISED {
        MAX_RECORD_RAISED
    } else {
        snaplen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_larger_snaplen_raises_the_limit_but_not_without_end() {
        assert_eq!(record_limit(0), MAX_RECORD);
        assert_eq!(record_limit(96), MAX_RECORD);
        assert_eq!(record_limit(1_000_000), 1_000_000);
        assert_eq!(record_limit(u32::MAX), MAX_RECORD_RAISED);
    }
}
