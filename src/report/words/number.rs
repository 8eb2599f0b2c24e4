//! Numbers for people: grouped by thousands, with few decimals, and rates in one unit per table.

use crate::report::document::table::Cell;

/// `1545` as `1 545`.
#[must_use]
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// A signed count, grouped.
#[must_use]
pub fn signed(n: i64) -> String {
    let text = grouped(n.unsigned_abs());
    if n < 0 { format!("-{text}") } else { text }
}

/// `value` with `decimals` decimals, its whole part grouped.
#[must_use]
pub fn decimal(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return "-".to_owned();
    }
    let text = format!("{:.*}", decimals, value.abs());
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let mut out = String::new();
    // A value that rounds to zero has no sign.
    if value < 0.0 && text.bytes().any(|b| (b'1'..=b'9').contains(&b)) {
        out.push('-');
    }
    out.push_str(&whole.parse().map_or_else(|_| whole.to_owned(), grouped));
    if !fraction.is_empty() {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

/// `n` and a noun in the right number: `1 frame`, `1 545 frames`.
#[must_use]
pub fn count(n: u64, noun: &str) -> String {
    count_of(n, noun, &format!("{noun}s"))
}

/// `n` and a noun whose plural takes more than an `s`: `1 copy`, `2 copies`.
#[must_use]
pub fn count_of(n: u64, one: &str, many: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{} {many}", grouped(n)) }
}

/// `from` and `to` as one number or a range: `72`, `58 to 73`.
#[must_use]
pub fn range(from: i64, to: i64) -> String {
    if from == to { signed(from) } else { format!("{} to {}", signed(from), signed(to)) }
}

/// Octets with a unit that keeps the number short: `512 B`, `1.5 MB`.
#[must_use]
pub fn bytes(n: u64) -> String {
    // Precision beyond 2^53 octets is of no interest to a reader.
    let value = n as f64;
    match n {
        0..10_000 => format!("{} B", grouped(n)),
        10_000..1_000_000 => format!("{} kB", decimal(value / 1e3, 1)),
        1_000_000..1_000_000_000 => format!("{} MB", decimal(value / 1e6, 1)),
        _ => format!("{} GB", decimal(value / 1e9, 1)),
    }
}

/// A length of time: `15.02 s`, `820 ms`, `2 h 05 min`.
#[must_use]
pub fn duration(ns: u64) -> String {
    let seconds = ns as f64 / 1e9;
    match ns {
        0..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => format!("{} us", decimal(ns as f64 / 1e3, 1)),
        1_000_000..1_000_000_000 => format!("{} ms", decimal(ns as f64 / 1e6, 1)),
        _ if seconds < 600.0 => format!("{} s", decimal(seconds, 2)),
        _ => {
            let minutes = ns / 60_000_000_000;
            if minutes < 60 {
                format!("{minutes} min {:02} s", ns / 1_000_000_000 % 60)
            } else if minutes < 2880 {
                format!("{} h {:02} min", minutes / 60, minutes % 60)
            } else {
                format!("{} d {:02} h", minutes / 1440, minutes / 60 % 24)
            }
        }
    }
}

/// The unit of all rates of one table, chosen by the largest of them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RateUnit {
    /// `Mbit/s` or its neighbours.
    pub name: &'static str,
    divisor: f64,
}

impl RateUnit {
    /// The unit in which the largest of `rates` is readable; Mbit/s for as long as that serves.
    #[must_use]
    pub fn for_rates(rates: impl IntoIterator<Item = Option<f64>>) -> Self {
        let largest = rates.into_iter().flatten().fold(0.0, f64::max);
        if largest >= 1e10 {
            Self { name: "Gbit/s", divisor: 1e9 }
        } else if largest >= 1e5 || largest == 0.0 {
            Self { name: "Mbit/s", divisor: 1e6 }
        } else {
            Self { name: "kbit/s", divisor: 1e3 }
        }
    }

    /// A rate in this unit without its name; `-` where there is none.
    #[must_use]
    pub fn show(self, bps: Option<f64>) -> String {
        self.cell(bps).show()
    }

    /// A rate in this unit.
    #[must_use]
    pub fn of(self, bps: f64) -> f64 {
        bps / self.divisor
    }

    /// A rate in this unit as a cell.
    #[must_use]
    pub fn cell(self, bps: Option<f64>) -> Cell {
        Cell::decimal(bps.map(|bps| self.of(bps)), 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_grouped() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1545), "1 545");
        assert_eq!(grouped(u64::MAX), "18 446 744 073 709 551 615");
        assert_eq!(signed(-20), "-20");
        assert_eq!(signed(i64::MIN), "-9 223 372 036 854 775 808");
    }

    #[test]
    fn decimals_round_and_keep_their_sign() {
        assert_eq!(decimal(212.5, 1), "212.5");
        assert_eq!(decimal(-0.001, 1), "0.0");
        assert_eq!(decimal(-20.25, 1), "-20.2");
        assert_eq!(decimal(8490.04, 1), "8 490.0");
        assert_eq!(decimal(f64::NAN, 1), "-");
    }

    #[test]
    fn times_and_octets_take_a_fitting_unit() {
        assert_eq!(duration(820_000_000), "820.0 ms");
        assert_eq!(duration(15_020_000_000), "15.02 s");
        assert_eq!(duration(7_500_000_000_000), "2 h 05 min");
        assert_eq!(duration(u64::MAX), "213503 d 23 h");
        assert_eq!(bytes(9_999), "9 999 B");
        assert_eq!(bytes(1_500_000), "1.5 MB");
    }

    #[test]
    fn one_unit_serves_a_table() {
        let unit = RateUnit::for_rates([Some(6.93e6), None, Some(12.0)]);
        assert_eq!(unit.name, "Mbit/s");
        assert_eq!(unit.show(Some(6.928e6)), "6.93");
        assert_eq!(unit.show(None), "-");
        assert_eq!(RateUnit::for_rates([Some(2e4)]).name, "kbit/s");
        assert_eq!(RateUnit::for_rates([Some(4e10)]).name, "Gbit/s");
    }
}
