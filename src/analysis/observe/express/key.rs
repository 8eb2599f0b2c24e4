//! Which lane an SA has.

use crate::dissect::addresses_word;
use crate::model::{Protocol, SaKey};

/// Source and destination of an IPv6 packet as they stand in the frame.
pub(super) type Ipv6Ends = [u8; 32];

/// Where the lane of an SA is looked for: addresses and SPI as a [`Glance`](crate::dissect::Glance) has them, and what tells IPv6 addresses for certain.
#[derive(Clone, Copy, Debug)]
pub(super) struct LaneKey {
    pub(super) addresses: u64,
    pub(super) spi: u32,
    pub(super) ipv6_ends: Option<Ipv6Ends>,
}

/// The lane of an SA; `None` for what has no lane.
pub(super) fn lane_key(key: &SaKey) -> Option<LaneKey> {
    if key.protocol != Protocol::Esp || key.src.is_v4() != key.dst.is_v4() {
        return None;
    }
    let ipv6_ends = (!key.src.is_v4()).then(|| {
        let (src, dst) = (key.src.words(), key.dst.words());
        let mut ends = [0; 32];
        for (place, word) in ends.as_chunks_mut().0.iter_mut().zip([src.0, src.1, dst.0, dst.1]) {
            *place = word.to_be_bytes();
        }
        ends
    });
    Some(LaneKey { addresses: addresses_word(key.src, key.dst), spi: key.spi.0.swap_bytes(), ipv6_ends })
}
