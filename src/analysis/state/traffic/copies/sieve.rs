//! A set of digests that tells of most others at once that they are not in it.

/// A bit for each digest, at the place that its lowest bits say.
pub(super) struct Sieve(Vec<u64>);

impl Sieve {
    /// The sieve of up to `count` digests, each of which sets one bit of about 32.
    pub(super) fn of(digests: impl Iterator<Item = u64>, count: usize) -> Self {
        let mut words = vec![0; (count / 2).next_power_of_two()];
        for digest in digests {
            let place = place(&words, digest);
            if let Some(word) = words.get_mut(place) {
                *word |= bit(digest);
            }
        }
        Self(words)
    }

    /// Whether a digest may be one of them.
    pub(super) fn may_hold(&self, digest: u64) -> bool {
        self.0.get(place(&self.0, digest)).is_some_and(|word| word & bit(digest) != 0)
    }
}

const fn bit(digest: u64) -> u64 {
    1 << (digest % 64)
}

const fn place(words: &[u64], digest: u64) -> usize {
    (digest / 64) as usize & words.len().wrapping_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sieve_holds_its_digests_and_few_others() {
        let spread = |n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ n.wrapping_mul(0x2d35_8dcc_aa6c_78a5) >> 32;
        for count in [0, 1, 2, 3, 1_000, 30_000_u64] {
            let sieve = Sieve::of((0..count).map(spread), count as usize);
            assert!((0..count).all(|n| sieve.may_hold(spread(n))), "{count}");
            let others = (count..count + 100_000).filter(|n| sieve.may_hold(spread(*n))).count();
            assert!(others < 8_000, "{others} of 100000 beside {count}");
        }
    }
}
