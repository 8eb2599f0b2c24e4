//! What the IVs of an SA look like: a counter, random, or repeated.
//!
//! CBC needs an IV that nobody can predict (RFC 3602 section 3): one that counts is of a counter mode. These need one that never repeats, and
//! most senders count; some make random ones (RFC 4106 section 3.1, RFC 3686 section 2.1), so those say little.

/// The first octets behind the ESP header of one packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IvSample {
    /// The packet's sequence number.
    pub sequence: u32,
    /// Octets 1 to 8, big-endian.
    pub octets: u64,
}

/// What the samples have in common.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum IvPattern {
    /// Too few samples, or no pattern that would say anything.
    Unclear,
    /// A constant XOR the sequence number (the constant may be 0), as Linux makes it.
    SequenceXor,
    /// It counts in small steps.
    Counter,
    /// No two alike, no order: an IV for CBC, a random one of a counter mode, or no IV at all and ciphertext from the start.
    Random,
    /// Packets with different sequence numbers share these octets: one IV for both, which is broken in any mode; or the first half of a
    /// longer IV that counts in its last octets, or no encryption.
    Repeated,
}

/// The fewest packets that show a pattern.
const FEWEST: usize = 3;
/// The largest step of a counter: lost packets and other SAs that share it.
const LARGEST_STEP: u64 = 1 << 20;
/// Bits of the octets in which a counter changes first: some count in steps of 256.
const LAST_OCTETS: u32 = 16;

impl IvPattern {
    /// The pattern of samples in capture order. The same packet twice counts once.
    #[must_use]
    pub fn of(samples: &[IvSample]) -> Self {
        let mut own: Vec<IvSample> = Vec::with_capacity(samples.len());
        for sample in samples {
            if !own.contains(sample) {
                own.push(*sample);
            }
        }
        if own.len() < FEWEST {
            return Self::Unclear;
        }
        let neighbours = || own.iter().zip(own.iter().skip(1));
        let constant = |sample: &IvSample| sample.octets ^ u64::from(sample.sequence);
        let sequences_differ = neighbours().all(|(a, b)| a.sequence != b.sequence);
        if sequences_differ && neighbours().all(|(a, b)| constant(a) == constant(b)) {
            return Self::SequenceXor;
        }
        let counts = |read: fn(u64) -> u64| {
            let step = |a: &IvSample, b: &IvSample| {
                let step = read(b.octets).wrapping_sub(read(a.octets));
                step.min(step.wrapping_neg())
            };
            // What changes in its upper octets alone is a field of a header, such as a length.
            let all = neighbours().fold(0, |all, (a, b)| all | step(a, b));
            all.trailing_zeros() < LAST_OCTETS && neighbours().all(|(a, b)| (1..=LARGEST_STEP).contains(&step(a, b)))
        };
        if counts(|octets| octets) || counts(u64::swap_bytes) {
            return Self::Counter;
        }
        let repeats =
            own.iter().enumerate().any(|(at, one)| own.iter().take(at).any(|other| other.octets == one.octets));
        if repeats {
            return Self::Repeated;
        }
        // Of random octets about half of the bits change; fewer than a quarter in every pair is a structure of some kind.
        let random = neighbours().filter(|(a, b)| (a.octets ^ b.octets).count_ones() >= 16).count();
        if random == own.len() - 1 { Self::Random } else { Self::Unclear }
    }

    /// Whether the first octets of every packet are those of an IPv4 packet, of GRE around IP or Ethernet, of IPComp, or of an MPLS label around IPv4:
    /// what ESP carries stands there in clear.
    #[must_use]
    pub fn is_clear(samples: &[IvSample]) -> bool {
        /// IPv4 without options.
        const IPV4: u64 = 0x45;
        /// GRE with the protocol type of IPv4, IPv6 or Ethernet (RFC 2784), and what else of its first four octets need not be 0: checksum, key
        /// and number are there (RFC 2890).
        const GRE: [u64; 3] = [0x0800, 0x86dd, 0x6558];
        const OPTIONS: u64 = 0xb000_0000;
        /// What compresses (RFC 3173 section 3.3): IP, TCP, UDP or GRE by a well-known method.
        const COMPRESSED: [u8; 5] = [4, 6, 17, 41, 47];
        let clear = |sample: &IvSample| match sample.octets.to_be_bytes() {
            [next, 0, 0, 2..=4, ..] if COMPRESSED.contains(&next) => true,
            // The bottom of the label stack (RFC 3032 section 2.1), and an IPv4 header with ordinary service.
            [_, _, label, _, 0x45, 0, ..] if label & 1 == 1 => true,
            _ => sample.octets >> 56 == IPV4 || GRE.contains(&(sample.octets >> 32 & !OPTIONS)),
        };
        !samples.is_empty() && samples.iter().all(clear)
    }

    /// Whether the first octets of every packet are those of UDP between the same ports, which ESP in transport mode carries in clear: its
    /// length (RFC 768) is that of the packet without what ESP-NULL adds. `is_length`: whether ESP has packets of so many octets, from its
    /// header to the ICV.
    #[must_use]
    pub fn is_clear_udp(samples: &[IvSample], is_length: impl Fn(u32) -> bool) -> bool {
        /// Header and trailer of ESP; what a packet is padded to.
        const ADDED: u32 = 8 + 2;
        const BLOCK: u32 = 4;
        /// ICVs of the usual algorithms for ESP-NULL.
        const ICVS: [u32; 4] = [12, 16, 24, 32];
        /// Fewer octets are no UDP header.
        const LEAST: u32 = 8;
        let ports = |sample: &IvSample| sample.octets >> 32;
        let length = |sample: &IvSample| (sample.octets >> 16) as u32 & 0xffff;
        let Some(first) = samples.first() else { return false };
        let fits = |icv: &u32| {
            let made = |udp: u32| (udp + 2).next_multiple_of(BLOCK) - 2 + ADDED + icv;
            samples.iter().all(|sample| length(sample) >= LEAST && is_length(made(length(sample))))
        };
        let has_ports = ports(first) >> 16 > 0 && ports(first) & 0xffff > 0;
        has_ports && samples.iter().all(|sample| ports(sample) == ports(first)) && ICVS.iter().any(fits)
    }

    /// Whether the octets grow from one packet to the next and shrink to another, as no counter does in either order of its octets.
    #[must_use]
    pub fn moves_both_ways(samples: &[IvSample]) -> bool {
        let both = |read: fn(u64) -> u64| {
            let steps =
                || samples.iter().zip(samples.iter().skip(1)).map(move |(a, b)| (read(a.octets), read(b.octets)));
            steps().any(|(a, b)| a < b) && steps().any(|(a, b)| a > b)
        };
        both(|octets| octets) && both(u64::swap_bytes)
    }

    /// Whether the first octets of every packet are those of TCP between the same ports, which ESP in transport mode carries in clear: the
    /// sequence number behind the ports (RFC 9293 section 3.1) moves with the octets that were sent, a counter with the packets.
    #[must_use]
    pub fn is_clear_tcp(samples: &[IvSample]) -> bool {
        /// Least step that is taken for the length of a segment. A counter that busy SAs share may move as far: this is asked only of packets
        /// that were cut, where ESP-NULL is not excluded.
        const SEGMENT: u64 = 256;
        let ports = |sample: &IvSample| sample.octets >> 32;
        let Some(first) = samples.first().filter(|first| ports(first) >> 16 > 0 && ports(first) & 0xffff > 0) else {
            return false;
        };
        let steps: Vec<(u64, u64)> = samples
            .iter()
            .zip(samples.iter().skip(1))
            .filter(|(a, b)| a.sequence != b.sequence)
            .map(|(a, b)| {
                let octets = (b.octets as u32).wrapping_sub(a.octets as u32);
                let (octets, packets) = (octets.min(octets.wrapping_neg()), b.sequence.abs_diff(a.sequence));
                (u64::from(octets), u64::from(packets))
            })
            .collect();
        let same_ports = samples.iter().all(|sample| ports(sample) == ports(first));
        let near = steps.iter().all(|(octets, _)| *octets <= LARGEST_STEP);
        // A counter may leave out numbers, but by the same for each packet, and by a power of two.
        let counts = steps.first().is_some_and(|(octets, packets)| {
            let stride = octets / packets.max(&1);
            stride.is_power_of_two() && steps.iter().all(|(octets, packets)| *octets == packets * stride)
        });
        let moves = steps.iter().any(|(octets, _)| *octets == 0 || *octets >= SEGMENT);
        steps.len() + 1 >= FEWEST && same_ports && near && moves && !counts
    }

    /// In words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Unclear => "the IVs show no pattern",
            Self::SequenceXor => "the IV is a constant XOR the sequence number: a counter mode",
            Self::Counter => "the IV counts: a counter mode",
            Self::Random => "the first bytes are random: CBC, a counter mode with random IVs, or no explicit IV",
            Self::Repeated => {
                "packets share the first 8 bytes: an IV that repeats or counts in its last bytes, or no encryption"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(octets: &[u64]) -> IvPattern {
        let samples: Vec<IvSample> =
            octets.iter().zip(10..).map(|(&octets, sequence)| IvSample { sequence, octets }).collect();
        IvPattern::of(&samples)
    }

    #[test]
    fn patterns_are_told_apart() {
        let salt = 0x1234_5678_9abc_def0_u64;
        assert_eq!(pattern(&[salt ^ 10, salt ^ 11, salt ^ 12]), IvPattern::SequenceXor);
        assert_eq!(pattern(&[10, 11, 12, 13]), IvPattern::SequenceXor);
        assert_eq!(pattern(&[501, 502, 504, 509]), IvPattern::Counter);
        assert_eq!(pattern(&[1_u64, 2, 3, 5].map(u64::swap_bytes)), IvPattern::Counter);
        let random = [0x8f3a_11c0_77de_02b5, 0x10e4_9d5f_c36a_b871, 0xe7c2_583b_0496_fd1e];
        assert_eq!(pattern(&random), IvPattern::Random);
        assert_eq!(pattern(&[random[0], random[1], random[0]]), IvPattern::Repeated);
        assert_eq!(pattern(&random[..2]), IvPattern::Unclear);
        assert_eq!(pattern(&[7 << 30, 9 << 30, 4 << 30]), IvPattern::Unclear);
    }

    #[test]
    fn a_length_in_clear_is_no_counter() {
        let header = |length: u64| 0x4e21_4e22_0000_0000 | length << 16;
        let lengths = [100, 116, 132, 148, 164];
        let octets = lengths.map(header);
        assert_eq!(pattern(&octets), IvPattern::Unclear);
        let samples: Vec<IvSample> = octets.iter().map(|&octets| IvSample { sequence: 1, octets }).collect();
        let with_icv_of = |icv: u32| move |length: u32| lengths.iter().any(|own| *own as u32 + 12 + icv == length);
        assert!(IvPattern::is_clear_udp(&samples, with_icv_of(12)));
        assert!(!IvPattern::is_clear_udp(&samples, with_icv_of(13)));
        let others: Vec<IvSample> =
            samples.iter().zip(0..).map(|(own, n)| IvSample { octets: own.octets ^ n << 40, ..*own }).collect();
        assert!(!IvPattern::is_clear_udp(&others, with_icv_of(12)));
    }

    #[test]
    fn headers_that_count_are_clear() {
        let samples = |high: u64| -> Vec<IvSample> {
            (1..5).map(|n| IvSample { sequence: n, octets: (high << 32) | (0x4500_0100 + 3 * u64::from(n)) }).collect()
        };
        for (high, what) in [(0x0400_0002, "IPComp"), (0x003e_8140, "an MPLS label")] {
            assert_eq!(IvPattern::of(&samples(high)), IvPattern::Counter, "{what}");
            assert!(IvPattern::is_clear(&samples(high)), "{what}");
        }
        assert!(!IvPattern::is_clear(&samples(0x003e_8040)), "an IV");
    }

    #[test]
    fn a_number_that_moves_with_octets_is_tcp() {
        let samples = |numbers: &[u64]| -> Vec<IvSample> {
            let all = numbers.iter().zip(7..);
            all.map(|(number, sequence)| IvSample { sequence, octets: 0xc001_01bb_0000_0000 | number }).collect()
        };
        let is_tcp = |numbers: &[u64]| IvPattern::is_clear_tcp(&samples(numbers));
        assert!(is_tcp(&[1_000, 2_448, 3_896, 5_344]), "segments of one length");
        assert!(is_tcp(&[1_000, 1_000, 1_000, 1_000]), "acknowledgements");
        assert!(is_tcp(&[1_000, 1_517, 1_517, 1_730]));
        assert!(!is_tcp(&[1_000, 1_001, 1_002, 1_003]), "a counter");
        assert!(!is_tcp(&[0x100, 0x200, 0x300, 0x400]), "a counter in the upper octets");
        assert!(!is_tcp(&[1_000, 1_003, 1_004, 1_009]), "a counter that SAs share");
        assert!(!is_tcp(&[0x8f3a_11c0, 0x10e4_9d5f, 0xe7c2_583b, 0x0496_fd1e]), "random");
        assert!(!is_tcp(&[1_000, 2_448]), "too few");
    }

    #[test]
    fn the_same_packet_twice_is_no_repetition() {
        let sample = IvSample { sequence: 1, octets: 0x8f3a_11c0_77de_02b5 };
        assert_eq!(IvPattern::of(&[sample, sample, sample]), IvPattern::Unclear);
    }
}
