//! File names that count on: `trace.pcap3` after `trace.pcap2`, `cap_00002_20261122.pcap.gz` after `cap_00001_20261121.pcap`.

mod series;

use std::path::Path;

pub(crate) use series::{SeriesName, SeriesStep};

/// Suffixes that a compressed file has after its own name.
const COMPRESSED: [&str; 6] = [".gz", ".zst", ".zstd", ".xz", ".bz2", ".lz4"];

/// A path as its text, with a mark in the place of each number of the file name, and the numbers.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct CountedName {
    /// Equal in all files of a rotation.
    pub(crate) text: String,
    numbers: Vec<Number>,
}

/// From one name to another with the same text: the first number that differs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NameStep {
    /// Which number of the name it is, from 0.
    pub(crate) place: usize,
    pub(crate) from: u128,
    pub(crate) to: u128,
}

/// A number of any length: how many digits, and the digits without leading zeros.
type Number = (usize, String);

impl CountedName {
    pub(crate) fn of(path: &str) -> Self {
        let (path, name) = uncompressed(path);
        let mut text = path.strip_suffix(name).unwrap_or_default().to_owned();
        let mut numbers: Vec<Number> = Vec::new();
        let mut digits = String::new();
        // A name without a number at its end is the one before number 1: `trace.pcap`, `trace.pcap1`.
        let end = if name.ends_with(|c: char| c.is_ascii_digit()) { "" } else { "0" };
        for c in name.chars().chain(end.chars()).map(Some).chain([None]) {
            match c {
                Some(digit) if digit.is_ascii_digit() => digits.push(digit),
                other => {
                    if !digits.is_empty() {
                        let significant = digits.trim_start_matches('0');
                        numbers.push((significant.len(), significant.to_owned()));
                        text.push('#');
                        digits.clear();
                    }
                    text.extend(other);
                }
            }
        }
        Self { text, numbers }
    }

    /// How many numbers differ from those of `other`; `None` where the texts do.
    pub(crate) fn differing(&self, other: &Self) -> Option<usize> {
        let same = self.text == other.text;
        same.then(|| self.numbers.iter().zip(&other.numbers).filter(|(own, other)| own != other).count())
    }

    /// The first number that differs; `None` where the texts do, or no number.
    pub(crate) fn step_to(&self, next: &Self) -> Option<NameStep> {
        self.steps_to(next).next()
    }

    /// All numbers that differ, in their order.
    fn steps_to<'n>(&'n self, next: &'n Self) -> impl Iterator<Item = NameStep> + 'n {
        let value = |number: &Number| if number.0 == 0 { Some(0) } else { number.1.parse::<u128>().ok() };
        let same = self.text == next.text && self.numbers.len() == next.numbers.len();
        let numbers = self.numbers.iter().zip(&next.numbers).enumerate().filter(move |_| same);
        // A number too large to be read differs in an unknown way.
        numbers.filter(|(_, (own, next))| own != next).map(move |(place, (own, next))| NameStep {
            place,
            from: value(own).unwrap_or(u128::MAX),
            to: value(next).unwrap_or(u128::MAX),
        })
    }
}

/// The path and the name of a file without the suffix of its compression.
fn uncompressed(path: &str) -> (&str, &str) {
    let path = COMPRESSED.iter().find_map(|suffix| path.strip_suffix(suffix)).unwrap_or(path);
    (path, Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or(path))
}

/// The numbers of a file name as they are written; the one that a name without a number at its end stands for has no digits.
pub(crate) fn digits(path: &str) -> Vec<&str> {
    let (_, name) = uncompressed(path);
    let implied = Some("").filter(|_| !name.ends_with(|c: char| c.is_ascii_digit()));
    name.split(|c: char| !c.is_ascii_digit()).filter(|digits| !digits.is_empty()).chain(implied).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_those_of_the_numbers() {
        for path in ["a1/cap_00003_20261122060000.pcap.gz", "t.pcap", "t.pcap9", "-", "007"] {
            assert_eq!(digits(path).len(), CountedName::of(path).numbers.len(), "{path}");
        }
        assert_eq!(digits("a1/cap_00003_20261122060000.pcap.gz"), ["00003", "20261122060000", ""]);
        assert_eq!(digits("t.pcap9"), ["9"]);
    }

    #[test]
    fn numbers_that_differ_are_counted_where_the_text_is_the_same() {
        let differing = |own: &str, other: &str| CountedName::of(own).differing(&CountedName::of(other));
        assert_eq!(differing("20261126-1210-west.pcap", "20261126-1220-west.pcap"), Some(1));
        assert_eq!(differing("eth0_00001.pcap", "eth1_00002.pcap"), Some(2));
        assert_eq!(differing("t1.pcap", "t01.pcap.gz"), Some(0));
        assert_eq!(differing("20261126-1210-west.pcap", "20261126-1220-east.pcap"), None);
    }
}
