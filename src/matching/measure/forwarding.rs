//! Latency as RFC 1242 section 3.8 defines it for devices that store frames and forward them.

/// Last bit in to first bit out, of last bit in to last bit out: the time that the frame which goes out takes on the wire is taken off.
/// `frame_bytes`: without FCS. Preamble is not part of a frame.
pub(super) fn last_to_first(last_to_last: i64, frame_bytes: u32, rate: u64) -> i64 {
    let bits = u64::from(frame_bytes.max(60).saturating_add(4)).saturating_mul(8);
    last_to_last.saturating_sub((bits as f64 * 1e9 / rate.max(1) as f64).round() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_frame_that_goes_out_is_taken_off() {
        // 1,500 octets with FCS take 120 us at 100 Mbit/s; a short frame is filled up to 64.
        assert_eq!(last_to_first(200_000, 1_496, 100_000_000), 80_000);
        assert_eq!(last_to_first(10_000, 20, 1_000_000_000), 10_000 - 512);
    }
}
