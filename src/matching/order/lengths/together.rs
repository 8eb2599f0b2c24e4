//! Whether pairs that lengths alone have made move together: the same load may be sent twice, and each capture may show another of both.

/// A pair: when it was seen at either tap, and the octets of its plaintext packet.
pub(in crate::matching) type TimedPair = (i64, i64, u32);

/// How far from chance a correlation must be, in usual deviations, and what it is where a line is busy all the time.
const DEVIATIONS: f64 = 3.0;
const BUSY: f64 = 0.5;

/// Whether the gaps between packets of both sides go together, or those in the tunnel follow the lengths, as behind a line that is always busy. Of two loads
/// with the same lengths and times of their own neither does. `pairs`: in the order of the packets.
pub(in crate::matching) fn move_together(pairs: &[TimedPair]) -> bool {
    let steps = || pairs.iter().zip(pairs.iter().skip(1));
    let there: Vec<f64> = steps().map(|(before, after)| after.1.saturating_sub(before.1) as f64).collect();
    let here: Vec<f64> = steps().map(|(before, after)| after.0.saturating_sub(before.0) as f64).collect();
    let bytes: Vec<f64> = steps().map(|(_, after)| f64::from(after.2)).collect();
    let chance = DEVIATIONS / (there.len().max(1) as f64).sqrt();
    correlation(&here, &there) >= chance || correlation(&bytes, &there) >= BUSY
}

/// Pearson's correlation; 0 where one of both never changes.
pub(in crate::matching) fn correlation(one: &[f64], other: &[f64]) -> f64 {
    let count = one.len().max(1) as f64;
    let (mean, other_mean) = (one.iter().sum::<f64>() / count, other.iter().sum::<f64>() / count);
    let deviations = || one.iter().map(|value| value - mean).zip(other.iter().map(|value| value - other_mean));
    let (own, others) = deviations().fold((0.0, 0.0), |(own, others), (a, b)| (own + a * a, others + b * b));
    let both: f64 = deviations().map(|(a, b)| a * b).sum();
    if own > 0.0 && others > 0.0 { both / (own * others).sqrt() } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number below `most` that looks like chance.
    fn mixed(at: u64, most: u64) -> i64 {
        let word = (at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((word ^ word >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33) as i64 % most as i64
    }

    #[test]
    fn a_queue_moves_with_its_packets_and_another_load_does_not() {
        let sent: Vec<i64> = (0..600)
            .scan(0, |ns, at| {
                *ns += mixed(at, 4_000_000);
                Some(*ns)
            })
            .collect();
        let bytes = |at: usize| 64 + mixed(at as u64 + 5_000, 1_300) as u32;
        // The time that the line takes for an octet: idle at times, and busy always.
        let queued = |per_byte: i64| -> Vec<TimedPair> {
            let mut free = 0;
            let pair = |(at, ns): (usize, &i64)| {
                free = free.max(*ns) + i64::from(bytes(at)) * per_byte;
                (*ns, free, bytes(at))
            };
            sent.iter().enumerate().map(pair).collect()
        };
        assert!(move_together(&queued(20)) && move_together(&queued(2_400)) && move_together(&queued(4_000)));
        let another: Vec<TimedPair> = (0..600)
            .scan(0, |ns, at| {
                *ns += mixed(at + 90_000, 4_000_000);
                Some(*ns)
            })
            .enumerate()
            .map(|(at, ns)| (sent[at], ns, bytes(at)))
            .collect();
        assert!(!move_together(&another));
    }
}
