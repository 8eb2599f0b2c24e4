//! Timestamp resolutions and what a count of ticks means in nanoseconds.

use std::fmt;

use crate::model::Timestamp;

/// The length of a timestamp's tick.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Resolution {
    /// 10 to the power of minus this many seconds: 6 is microseconds, 9 nanoseconds.
    PowerOfTen(u8),
    /// 2 to the power of minus this many seconds.
    PowerOfTwo(u8),
}

impl Resolution {
    /// Microseconds: pcap's and the default of pcapng.
    pub const MICROSECONDS: Self = Self::PowerOfTen(6);
    /// Nanoseconds.
    pub const NANOSECONDS: Self = Self::PowerOfTen(9);

    /// Length of a tick in nanoseconds.
    #[must_use]
    pub fn step_ns(self) -> f64 {
        match self {
            Self::PowerOfTen(exponent) => 10_f64.powi(9 - i32::from(exponent)),
            Self::PowerOfTwo(exponent) => 1e9 * 2_f64.powi(-i32::from(exponent)),
        }
    }

    /// From the octet of `if_tsresol` (draft-ietf-opsawg-pcapng section 4.2): the top bit chooses the base, the rest is the exponent.
    #[must_use]
    pub const fn from_if_tsresol(octet: u8) -> Self {
        if octet & 0x80 == 0 { Self::PowerOfTen(octet) } else { Self::PowerOfTwo(octet & 0x7f) }
    }
}

impl fmt::Display for Resolution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PowerOfTen(n) => write!(f, "10^-{n} s"),
            Self::PowerOfTwo(n) => write!(f, "2^-{n} s"),
        }
    }
}

/// The clock of an interface: resolution and offset, prepared so that a time costs one multiplication where it can.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Clock {
    /// Nanoseconds per tick; 0 where that is not a whole number, or where the offset does not fit beside it.
    multiplier: u64,
    offset_ns: i64,
    resolution: Resolution,
    offset_seconds: i64,
}

impl Clock {
    /// A clock of `resolution` whose zero lies `offset_seconds` after the Unix epoch (`if_tsoffset`).
    pub(crate) fn new(resolution: Resolution, offset_seconds: i64) -> Self {
        let multiplier = match resolution {
            Resolution::PowerOfTen(n @ 0..=9) => 10_u64.pow(9 - u32::from(n)),
            _ => 0,
        };
        match offset_seconds.checked_mul(1_000_000_000) {
            Some(offset_ns) => Self { multiplier, offset_ns, resolution, offset_seconds },
            None => Self { multiplier: 0, offset_ns: 0, resolution, offset_seconds },
        }
    }

    /// Nanoseconds of a tick, and those of zero after the epoch, where both are whole numbers.
    pub(crate) fn whole_ns(&self) -> Option<(u64, i64)> {
        (self.multiplier != 0).then_some((self.multiplier, self.offset_ns))
    }

    /// The moment of `ticks`, truncated to the nanosecond; unknown where nanoseconds since the epoch do not fit 64 bits.
    #[inline]
    pub(crate) fn time(&self, ticks: u64) -> Timestamp {
        if self.multiplier != 0
            && let Some(ns) = ticks.checked_mul(self.multiplier)
            && let Ok(ns) = i64::try_from(ns)
            && let Some(ns) = ns.checked_add(self.offset_ns)
        {
            return Timestamp::from_ns(ns);
        }
        self.slow_time(ticks)
    }

    #[cold]
    fn slow_time(&self, ticks: u64) -> Timestamp {
        let ticks = u128::from(ticks);
        let ns = match self.resolution {
            // At most 2^64 x 10^9, far below 2^128.
            Resolution::PowerOfTen(n @ 0..=9) => ticks * 10_u128.pow(9 - u32::from(n)),
            // Beyond 10^-28 even 2^64 ticks are less than a nanosecond.
            Resolution::PowerOfTen(n) => 10_u128.checked_pow(u32::from(n) - 9).map_or(0, |divisor| ticks / divisor),
            Resolution::PowerOfTwo(n) => (ticks * 1_000_000_000).checked_shr(u32::from(n)).unwrap_or(0),
        };
        // Below 2^94 + 2^93: no overflow.
        Timestamp::from_wide_ns(ns as i128 + i128::from(self.offset_seconds) * 1_000_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ns(octet: u8, offset: i64, ticks: u64) -> Option<i64> {
        Clock::new(Resolution::from_if_tsresol(octet), offset).time(ticks).ns()
    }

    #[test]
    fn decimal_resolutions_are_exact_and_truncate_below_the_nanosecond() {
        assert_eq!(ns(6, 0, 1_340_954_905_298_858), Some(1_340_954_905_298_858_000));
        assert_eq!(ns(9, 0, 1_340_954_905_298_858_123), Some(1_340_954_905_298_858_123));
        assert_eq!(ns(0, 0, 5), Some(5_000_000_000));
        assert_eq!(ns(3, -2, 1_500), Some(-500_000_000));
    }

    /// pcap-parser's `build_ts` overflows for resolutions finer than 2^-32 and answers in 32-bit seconds.
    #[test]
    fn resolutions_finer_than_a_nanosecond_and_times_beyond_2106_are_right() {
        assert_eq!(ns(12, 0, 1_340_954_905_298_858_999), Some(1_340_954_905_298_858));
        assert_eq!(ns(6, 0, 5_000_000_000_000_000), Some(5_000_000_000_000_000_000));
        assert_eq!(ns(100, 0, u64::MAX), Some(0));
    }

    /// pcap-parser answers `None` for every binary `if_tsresol`.
    #[test]
    fn binary_resolutions_are_read() {
        assert_eq!(ns(0x80 | 10, 0, 1024 + 512), Some(1_500_000_000));
        assert_eq!(ns(0x80 | 32, 0, (7 << 32) | (1 << 31)), Some(7_500_000_000));
        assert_eq!(ns(0xff, 0, u64::MAX), Some(0));
        assert_eq!(ns(0x80, 3, 4), Some(7_000_000_000));
    }

    #[test]
    fn times_out_of_range_are_unknown() {
        assert_eq!(ns(0, 0, u64::MAX), None);
        assert_eq!(ns(6, i64::MAX, 1), None);
        assert_eq!(ns(6, i64::MIN, 1), None);
    }
}
