//! Times as the report prints them.

use crate::model::Timestamp;
use crate::model::report::Rfc3339;

/// RFC 3339 in UTC with nine digits; `None` for an unknown time.
pub(crate) fn rfc3339(time: Timestamp) -> Option<String> {
    moment(time).map(|moment| moment.to_string())
}

/// The same, not yet written out.
pub(crate) fn moment(time: Timestamp) -> Option<Rfc3339> {
    time.ns().map(Rfc3339)
}

/// A duration in words: `13.3 s`, `2.5 ms`.
pub(crate) fn duration(ns: i64) -> String {
    let ns = ns.unsigned_abs();
    let (value, unit) = match ns {
        0..1_000 => return format!("{ns} ns"),
        1_000..1_000_000 => (ns as f64 / 1e3, "us"),
        1_000_000..1_000_000_000 => (ns as f64 / 1e6, "ms"),
        _ => (ns as f64 / 1e9, "s"),
    };
    format!("{value:.1} {unit}")
}

/// `count` per `ns`, per second; `None` where no time passed.
pub(crate) fn per_second(count: u64, ns: Option<i64>) -> Option<f64> {
    let ns = ns.filter(|&ns| ns > 0)?;
    Some(count as f64 * 1e9 / ns as f64)
}

/// Octets per `ns` as bits per second.
pub(crate) fn bits_per_second(bytes: u64, ns: Option<i64>) -> Option<f64> {
    per_second(bytes.saturating_mul(8), ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_nine_digits() {
        assert_eq!(rfc3339(Timestamp::from_ns(1_500_000_000)).as_deref(), Some("1970-01-01T00:00:01.500000000Z"));
        assert_eq!(rfc3339(Timestamp::UNKNOWN), None);
    }
}
