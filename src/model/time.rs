//! Capture time: the only clock the analysis knows.

use serde::{Deserialize, Serialize};

use super::all_bits;

/// A moment in nanoseconds since the Unix epoch, as the capture states it.
///
/// Covers 1677 to 2262. A time the capture does not state (pcapng simple packet blocks) or that lies outside
/// this range is [`Timestamp::UNKNOWN`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Timestamp(#[serde(serialize_with = "all_bits")] i64);

impl Timestamp {
    /// No time is known. Sorts before every known time.
    pub const UNKNOWN: Self = Self(i64::MIN);

    /// A moment from nanoseconds since the epoch.
    #[inline]
    #[must_use]
    pub const fn from_ns(ns: i64) -> Self {
        Self(ns)
    }

    /// A moment from a wide count of nanoseconds; out of range becomes [`Timestamp::UNKNOWN`].
    #[must_use]
    pub const fn from_wide_ns(ns: i128) -> Self {
        if ns > i64::MIN as i128 && ns <= i64::MAX as i128 { Self(ns as i64) } else { Self::UNKNOWN }
    }

    /// Nanoseconds since the epoch, `None` where no time is known.
    #[inline]
    #[must_use]
    pub const fn ns(self) -> Option<i64> {
        if self.0 == i64::MIN { None } else { Some(self.0) }
    }

    /// The raw value: nanoseconds, or `i64::MIN` for unknown. For state, not for arithmetic.
    #[inline]
    #[must_use]
    pub const fn raw(self) -> i64 {
        self.0
    }

    /// Nanoseconds from `earlier` to `self`, negative when the clock stepped back; `None` where either is unknown.
    #[inline]
    #[must_use]
    pub const fn since(self, earlier: Self) -> Option<i64> {
        match (self.ns(), earlier.ns()) {
            (Some(a), Some(b)) => Some(a.saturating_sub(b)),
            _ => None,
        }
    }
}
