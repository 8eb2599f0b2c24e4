//! Values of options: durations, rates, times, addresses, SPIs.

use std::net::IpAddr;

use crate::engine::TimeBound;
use crate::model::{Address, Spi, Timestamp};
use crate::report::explain::parse_spi;

/// A named tap and its captures.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct TapArg {
    pub(super) name: String,
    pub(super) files: Vec<String>,
}

/// `NAME=FILE[,FILE]`.
pub(super) fn tap(text: &str) -> Result<TapArg, String> {
    let (name, files) = text.split_once('=').ok_or("expected NAME=FILE[,FILE], such as west=a.pcap,b.pcap")?;
    let files: Vec<String> = files.split(',').map(str::to_owned).collect();
    if name.trim().is_empty() {
        return Err("the name before `=` is empty".into());
    }
    if files.iter().any(String::is_empty) {
        return Err("a file name is empty".into());
    }
    Ok(TapArg { name: name.trim().to_owned(), files })
}

/// A width of time bins, at least a microsecond.
pub(super) fn bin(text: &str) -> Result<u64, String> {
    match duration(text)? {
        0..1_000 => Err("a bin must be at least 1us wide".into()),
        ns => Ok(ns),
    }
}

/// `100ms`, `1.5s`, `5m`, in nanoseconds.
pub(super) fn duration(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u64); 7] = [
        ("ns", 1),
        ("us", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("min", 60_000_000_000),
        ("m", 60_000_000_000),
        ("h", 3_600_000_000_000),
    ];
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let Some((_, scale)) = UNITS.iter().find(|(name, _)| *name == unit) else {
        return Err("expected a number with ns, us, ms, s, m or h, such as 100ms".into());
    };
    scaled(number, *scale).ok_or_else(|| "expected a number with a unit, such as 1.5s".into())
}

/// `100M`, `1G`, `2.5Gbit/s` or plain bits per second.
pub(super) fn rate(text: &str) -> Result<u64, String> {
    let plain = ["bit/s", "bps", "b/s"].iter().find_map(|unit| text.strip_suffix(unit)).unwrap_or(text).trim_end();
    let split = plain.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(plain.len());
    let (number, unit) = plain.split_at(split);
    let scale = match unit {
        "" => 1,
        "k" | "K" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "T" => 1_000_000_000_000,
        _ => return Err("expected bit/s with k, M, G or T, such as 100M or 1G".into()),
    };
    match scaled(number.trim_end(), scale) {
        Some(0) => Err("a rate must be above 0".into()),
        Some(bps) => Ok(bps),
        None => Err("expected bit/s with k, M, G or T, such as 100M or 1G".into()),
    }
}

/// `512M`, `4G` or plain bytes, in powers of 1,024; at least a megabyte.
pub(super) fn bytes(text: &str) -> Result<u64, String> {
    let plain = ["iB", "B"].iter().find_map(|unit| text.strip_suffix(unit)).unwrap_or(text);
    let split = plain.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(plain.len());
    let (number, unit) = plain.split_at(split);
    let scale = match unit {
        "" => 1,
        "k" | "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        "T" => 1 << 40,
        _ => return Err("expected bytes with K, M, G or T, such as 512M".into()),
    };
    match scaled(number.trim_end(), scale) {
        Some(0..1_048_576) => Err("the analysis needs at least 1M".into()),
        Some(bytes) => Ok(bytes),
        None => Err("expected bytes with K, M, G or T, such as 512M".into()),
    }
}

/// A decimal number times a scale, exactly; `None` where it is no number or too large.
fn scaled(number: &str, scale: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if (whole.is_empty() && fraction.is_empty()) || !digits(whole) || !digits(fraction) || fraction.len() > 12 {
        return None;
    }
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let places = u128::from(10_u64.pow(u32::try_from(fraction.len()).ok()?));
    let part: u128 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    let total = u128::from(whole) * u128::from(scale) + part * u128::from(scale) / places;
    u64::try_from(total).ok()
}

/// RFC 3339, or `+30s` from the first frame.
pub(super) fn time(text: &str) -> Result<TimeBound, String> {
    if let Some(after) = text.strip_prefix('+') {
        let ns = duration(after)?;
        return i64::try_from(ns).map(TimeBound::Relative).map_err(|_| "too far from the start".into());
    }
    let time: jiff::Timestamp = text
        .parse()
        .map_err(|_| "expected RFC 3339 with a zone, such as 2026-11-21T04:41:02Z, or +30s from the first frame")?;
    match Timestamp::from_wide_ns(time.as_nanosecond()) {
        Timestamp::UNKNOWN => Err("outside the years 1677 to 2262".into()),
        time => Ok(TimeBound::Absolute(time)),
    }
}

/// IPv4 or IPv6.
pub(super) fn address(text: &str) -> Result<Address, String> {
    text.parse::<IpAddr>().map(Address::from).map_err(|_| "expected an IPv4 or IPv6 address".into())
}

/// Decimal, or hex with 0x.
pub(super) fn spi(text: &str) -> Result<Spi, String> {
    parse_spi(text).ok_or_else(|| "expected a number up to 4294967295, or hex such as 0x3ea".into())
}

/// 0 to 100.
pub(super) fn per_cent(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').trim_end();
    match number.parse::<f64>() {
        Ok(pct) if (0.0..=100.0).contains(&pct) => Ok(pct),
        _ => Err("expected per cent between 0 and 100".into()),
    }
}

/// The number of a part, and of how many where that was said.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PartArg {
    pub(super) number: u32,
    pub(super) of: Option<u32>,
}

/// `3`, or `3/64`.
pub(super) fn part(text: &str) -> Result<PartArg, String> {
    let number = |word: &str| word.parse::<u32>().map_err(|_| format!("`{word}` is no number of a part"));
    match text.split_once('/') {
        None => Ok(PartArg { number: number(text)?, of: None }),
        Some((part, of)) => {
            let (part, of) = (number(part)?, number(of)?);
            if part == 0 || part > of || of > 65_536 {
                return Err("expected K/N with K from 1 to N, and N no more than 65536".into());
            }
            Ok(PartArg { number: part, of: Some(of) })
        }
    }
}

/// 0 or more.
pub(super) fn amount(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(amount) if amount >= 0.0 && amount.is_finite() => Ok(amount),
        _ => Err("expected a number that is not negative".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        assert_eq!(duration("100ms"), Ok(100_000_000));
        assert_eq!(duration("1.5s"), Ok(1_500_000_000));
        assert_eq!(duration("5m"), Ok(300_000_000_000));
        assert_eq!(duration("0.1us"), Ok(100));
        for wrong in ["", "1", "s", "1 s", "-1s", "1e3s", "1.2.3s", "99999999999h", "1d"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
        assert!(bin("0s").is_err() && bin("1ns").is_err() && bin("1us").is_ok());
    }

    #[test]
    fn rates_have_powers_of_ten() {
        assert_eq!(rate("100M"), Ok(100_000_000));
        assert_eq!(rate("2.5G"), Ok(2_500_000_000));
        assert_eq!(rate("1Gbit/s"), Ok(1_000_000_000));
        assert_eq!(rate("64000"), Ok(64_000));
        for wrong in ["0", "1m", "M", "-1G", "1GB", "1Gi"] {
            assert!(rate(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_are_moments_or_offsets() {
        assert_eq!(time("+30s"), Ok(TimeBound::Relative(30_000_000_000)));
        let moment = TimeBound::Absolute(Timestamp::from_ns(1_795_236_062_500_000_000));
        assert_eq!(time("2026-11-21T04:41:02.5Z"), Ok(moment));
        assert_eq!(time("2026-11-21T05:41:02.5+01:00"), Ok(moment));
        for wrong in ["2026-11-21", "2026-11-21T04:41:02", "30s", "+30", "9999-01-01T00:00:00Z"] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn spis_are_decimal_or_hex() {
        assert_eq!(spi("1002"), Ok(Spi(1002)));
        assert_eq!(spi("0x3EA"), Ok(Spi(1002)));
        for wrong in ["3ea", "", "0x", "4294967296", "-1", "0x100000000"] {
            assert!(spi(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn memory_is_told_in_powers_of_1024() {
        assert_eq!((bytes("512M"), bytes("4G"), bytes("1.5GiB")), (Ok(512 << 20), Ok(4 << 30), Ok(3 << 29)));
        assert_eq!(bytes("2097152"), Ok(2 << 20));
        assert!(bytes("1K").is_err() && bytes("4X").is_err() && bytes("-1G").is_err() && bytes("").is_err());
    }

    #[test]
    fn taps_have_names_and_files() {
        assert_eq!(tap("west=a.pcap,b.pcap").map(|tap| tap.files.len()), Ok(2));
        for wrong in ["a.pcap", "=a.pcap", "west=", "west=a,,b"] {
            assert!(tap(wrong).is_err(), "{wrong}");
        }
        assert!(per_cent("101").is_err() && per_cent("NaN").is_err() && per_cent("0.5%").is_ok());
    }
}
